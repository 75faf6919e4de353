"""One request in the many forms that files have for it: each form gets the finding that the plainest one gets."""

import pytest

from compat.app.lint import lint_files
from compat.matrix import matrix

MATRIX = matrix()
PYTORCH = "https://download.pytorch.org/whl"
JAX = "https://storage.googleapis.com/jax-releases/jax_cuda_releases.html"
PIN = "torch==2.2.0+cu121"  # not on the default index
PROJECT = f'[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.8"\ndependencies = ["{PIN}"]\n'
POETRY = '[tool.poetry.dependencies]\npython = "^3.9"\ntorch = "2.2.0+cu121"\n'
UV = "COPY --from=ghcr.io/astral-sh/uv:0.5 /uv /bin/\n"
SLIM = "FROM python:3.10-slim\n"


def told(folder, monkeypatch, files, name="Dockerfile"):
    monkeypatch.chdir(folder)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return {(one.code, one.severity) for one in lint_files([name], MATRIX).findings if one.severity != "info"}


@pytest.mark.parametrize(
    "run",
    [
        f"pip install {PIN}",
        f'["/bin/bash", "-lc", "pip install {PIN}"]',
        f'["bash", "-xec", "cd /tmp && pip install {PIN}"]',
        f'["pip", "install", "{PIN}"]',
        f"bash -lc 'pip install {PIN}'",
        f"python3 -m pip --no-cache-dir install {PIN}",
        f"pip config set global.index-url {PYTORCH}/cu121 && pip config unset global.index-url && pip install {PIN}",
    ],
)
def test_a_command_in_any_form_installs(tmp_path, monkeypatch, run):
    assert ("index-missing", "error") in told(tmp_path, monkeypatch, {"Dockerfile": f"{SLIM}RUN {run}\n"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Dockerfile", f"{SLIM}RUN <<E\npip install {{}}\nE\n"),
        ("train.sbatch", "#!/bin/bash\n#SBATCH --gpus=1\npip install {}\n"),
        (
            ".github/workflows/a.yml",
            "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n    - run: |\n        pip install {}\n",
        ),
    ],
)
def test_a_command_over_two_lines_is_one_in_a_script(tmp_path, monkeypatch, name, text):
    given, over = ("torch scipy", "torch \\\n          scipy")
    assert not told(tmp_path, monkeypatch, {name: text.format(over)}, name)
    pinned = {name: text.format(over.replace("scipy", PIN))}
    assert told(tmp_path, monkeypatch, pinned, name) == told(
        tmp_path, monkeypatch, {name: text.format(given.replace("scipy", PIN))}, name
    )


@pytest.mark.parametrize(
    "before",
    [
        f"RUN pip config set global.index-url {PYTORCH}/cu121\n",
        f"RUN printf '[global]\\nindex-url = {PYTORCH}/cu121\\n' > /etc/pip.conf\n",
        f"COPY <<EOF /etc/pip.conf\n[global]\nextra-index-url =\n    {PYTORCH}/cu121\n    https://a.example/simple\nEOF\n",
        "COPY pip.conf /etc/pip.conf\n",
    ],
)
def test_a_configuration_of_pip_names_the_index(tmp_path, monkeypatch, before):
    assert told(tmp_path, monkeypatch, {"Dockerfile": f"{SLIM}{before}RUN pip install {PIN}\n"}) == set()


@pytest.mark.parametrize(
    ("steps", "files"),
    [
        (f"{UV}COPY pyproject.toml .\nRUN uv sync\n", {"pyproject.toml": PROJECT}),
        (f"{UV}WORKDIR /app\nCOPY . .\nRUN uv sync --no-dev\n", {"pyproject.toml": PROJECT}),
        (f"{UV}COPY . /app\nWORKDIR /app\nRUN pip install .\n", {"pyproject.toml": PROJECT}),
        ("COPY pyproject.toml .\nRUN poetry install --no-root\n", {"pyproject.toml": POETRY}),
        ("COPY Pipfile .\nRUN pipenv install --system\n", {"Pipfile": '[packages]\ntorch = "==2.2.0+cu121"\n'}),
        (
            "COPY requirements.txt limits.txt ./\nRUN pip install -r requirements.txt -c limits.txt\n",
            {"requirements.txt": "torch\n", "limits.txt": f'{PIN} ; python_version >= "3.9"\ntorch==1 ; os_name=="nt"\n'},
        ),
        (
            f"{UV}COPY pyproject.toml uv.lock ./\nRUN uv sync --frozen\n",
            {
                "pyproject.toml": PROJECT.replace(PIN, "torch"),
                "uv.lock": 'version = 1\n[[package]]\nname = "torch"\nversion = "2.2.0+cu121"\n',
            },
        ),
    ],
)  # fmt: skip
def test_a_project_in_an_image_is_what_its_file_and_its_lock_say(tmp_path, monkeypatch, steps, files):
    assert ("index-missing", "error") in told(tmp_path, monkeypatch, {**files, "Dockerfile": SLIM + steps})


@pytest.mark.parametrize(
    ("steps", "project"),
    [
        (f"{UV}COPY . /app\nWORKDIR /app/sub\nRUN pip install .\n", PROJECT),  # another project's folder
        (f"{UV}RUN uv sync\n", PROJECT.replace(PIN, "torch==1.13.1").replace(">=3.8", ">=3.11")),  # uv brings a Python
        (f"{UV}ENV UV_PYTHON=3.12\nRUN uv sync\n", PROJECT.replace(PIN, "torch==2.6.0")),
        (f"{UV}RUN uv sync --python 3.12\n", PROJECT.replace(PIN, "torch==2.6.0")),
    ],
)
def test_what_is_another_folders_or_another_pythons_is_left_alone(tmp_path, monkeypatch, steps, project):
    base = "FROM python:3.14-slim\n" if "3.12" in steps else SLIM
    found = told(tmp_path, monkeypatch, {"pyproject.toml": project, "Dockerfile": base + steps})
    assert not {code for code, level in found if level == "error"}


WORKFLOW = (
    "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: pip install -r requirements.txt\n"
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (WORKFLOW, "requirements.txt"),
        (f"{WORKFLOW}        working-directory: server\n", "server/requirements.txt"),
        (WORKFLOW.replace("run: ", "run: cd server && "), "server/requirements.txt"),
    ],
)
def test_a_workflow_reads_the_files_of_its_repository(tmp_path, monkeypatch, text, path):
    files = {".github/workflows/ci.yml": text, path: f"{PIN}\n"}
    assert ("index-missing", "error") in told(tmp_path, monkeypatch, files, ".github/workflows/ci.yml")


@pytest.mark.parametrize(
    ("python", "errors"), [(">=3.8", set()), (">=3.8,<3.9", {"python-unsupported"}), ("=3.8", {"python-unsupported"})]
)
def test_a_range_of_pythons_is_no_version(tmp_path, monkeypatch, python, errors):
    text = f"dependencies:\n  - python{python}\n  - pip:\n      - torch==2.6.0\n"
    found = told(tmp_path, monkeypatch, {"environment.yml": text}, "environment.yml")
    assert {code for code, level in found if level == "error"} == errors


def test_a_build_that_takes_cudnn_from_the_system_may_be_of_a_stage_that_the_last_one_continues(tmp_path, monkeypatch):
    base = "FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04 AS one\nRUN apt-get update && apt-get install -y python3 python3-pip\n"
    text = f"{base}RUN pip3 install tensorflow==2.12.0 numpy==1.23.5\nFROM one\nRUN pip3 install tqdm\n"
    assert ("library-missing", "error") in told(tmp_path, monkeypatch, {"Dockerfile": text})


def test_uv_looks_at_a_page_of_links_beside_the_index(tmp_path, monkeypatch):
    text = f'FROM python:3.12\n{UV}RUN uv pip install --system --upgrade "jax[cuda12_pip]" -f {JAX}\n'
    assert ("accidental-cpu-wheel", "error") in told(tmp_path, monkeypatch, {"Dockerfile": text})


@pytest.mark.parametrize("joint", [" && ", "\nRUN "])
def test_a_library_of_today_takes_the_place_of_an_old_jaxlib_on_one_line_too(tmp_path, monkeypatch, joint):
    base = "FROM nvidia/cuda:11.2.2-cudnn8-devel-ubuntu20.04\nRUN apt-get update && apt-get install -y python3 python3-pip\n"
    steps = (f"pip install jaxlib==0.1.65+cuda112 -f {JAX}", "pip install jax==0.2.17", "pip install --upgrade flax")
    text = f"{base}RUN {joint.join(steps)}\n"
    assert ("accidental-cpu-wheel", "error") in told(tmp_path, monkeypatch, {"Dockerfile": text})


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("", True),
        ('[tool.uv]\nno-build-isolation-package = ["flash-attn"]\n', False),
        ('[tool.uv.extra-build-dependencies]\nflash-attn = ["torch"]\n', False),
    ],
)
def test_a_project_may_say_how_an_extension_is_built(tmp_path, monkeypatch, tool, said):
    text = PROJECT.replace(f'"{PIN}"', '"torch==2.6.0", "flash-attn==2.7.4.post1"') + tool
    found = told(tmp_path, monkeypatch, {"pyproject.toml": text}, "pyproject.toml")
    assert found == ({("build-tools-missing", "error")} if said else set())


def test_what_a_project_builds_is_mended_in_uv_s_words_too(tmp_path, monkeypatch):
    project = PROJECT.replace(f'"{PIN}"', '"torch==2.6.0", "flash-attn==2.7.4.post1"')
    told(tmp_path, monkeypatch, {"pyproject.toml": project}, "pyproject.toml")
    (found,) = (one for one in lint_files(["pyproject.toml"], MATRIX).findings if one.severity == "error")
    assert "name flash-attn in no-build-isolation-package of [tool.uv]" in found.fix.text


UV_TOLD = '[tool.uv]\nno-build-isolation-package = ["flash-attn"]\n'


@pytest.mark.parametrize(
    ("step", "tool", "level"),
    [
        ("uv pip install --system -e '.[fast]'", "", "error"),
        ("uv pip install --system -e '.[fast]'", UV_TOLD, ""),
        ("uv pip install --system -e '.[fast]'", "[tool.uv.pip]\nno-build-isolation = true\n", ""),
        ("uv pip install --system flash-attn", UV_TOLD, ""),
        ("uv pip install --system flash-attn", '[tool.uv]\nno-build-isolation-package = ["apex"]\n', "error"),
        ("uv pip install --system flash-attn", None, "warning"),  # whose project is not at hand
        ("pip install -U pip && pip install flash-attn", UV_TOLD, "error"),
    ],
)
def test_what_uv_heeds_of_the_project_beside_an_install(tmp_path, monkeypatch, step, tool, level):
    extra = '[project]\nname = "x"\nversion = "1"\n[project.optional-dependencies]\nfast = ["flash-attn>=2.7.3"]\n'
    text = f"FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\nWORKDIR /app\nCOPY . ./\nRUN {step}\n"
    files = {"Dockerfile": text} | ({} if tool is None else {"pyproject.toml": extra + tool})
    found = [one for code, one in told(tmp_path, monkeypatch, files) if code == "build-tools-missing"]
    assert found == ([level] if level else [])


@pytest.mark.parametrize(("pins", "level"), [("torch>=2.4\n", "error"), ("torch==2.6.0\n", "warning")])
def test_a_list_of_exact_pins_alone_records_what_was_built(tmp_path, monkeypatch, pins, level):
    files = {"requirements.txt": f"{pins}flash-attn==2.7.4.post1\n"}
    assert told(tmp_path, monkeypatch, files, "requirements.txt") == {("build-tools-missing", level)}


def test_a_matrix_names_the_images_of_a_job(tmp_path, monkeypatch):
    image = "nvidia/cuda:{}-base-ubuntu22.04"
    flow = (
        "on: push\njobs:\n  a:\n    runs-on: x\n    container:\n      image: ${{ matrix.base }}\n    strategy:\n      matrix:\n"
        f"        base: ['{image.format('12.4.1')}']\n        include:\n          - base: {image.format('10.0')}\n"
        "    steps:\n      - run: echo\n"
    )
    files = {".github/workflows/ci.yml": flow}
    assert ("base-tag-gone", "error") in told(tmp_path, monkeypatch, files, ".github/workflows/ci.yml")


def errors(found):
    return {code for code, level in found if level == "error"}


@pytest.mark.parametrize(
    ("steps", "installs"),
    [
        ("COPY pyproject.toml .\nRUN uv run python -c 1\n", True),
        ("COPY pyproject.toml .\nRUN uv run --no-sync python -c 1\n", False),
        ("COPY pyproject.toml .\nRUN uv run --no-project pip install tqdm\n", False),
        ('COPY pyproject.toml .\nCMD ["uv", "run", "serve.py"]\n', False),
    ],
)
def test_uv_installs_the_project_before_it_runs_a_command(tmp_path, monkeypatch, steps, installs):
    files = {"pyproject.toml": PROJECT, "Dockerfile": f"{SLIM}{UV}{steps}"}
    assert errors(told(tmp_path, monkeypatch, files)) == ({"index-missing"} if installs else set())


def test_a_project_is_solved_as_a_whole(tmp_path, monkeypatch):
    project = (
        '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch==2.9.0+cu128", "flash-attn>=2.7.3", "vllm>=0.11.1"]\n'
        '[tool.uv]\nno-build-isolation-package = ["flash-attn"]\n[tool.uv.sources]\ntorch = { index = "pt" }\n'
        f'[[tool.uv.index]]\nname = "pt"\nurl = "{PYTORCH}/cu128"\nexplicit = true\n'
    )
    base = "FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\nRUN apt-get update && apt-get install -y python3\n"
    files = {"pyproject.toml": project, "Dockerfile": f"{base}{UV}COPY pyproject.toml .\nRUN uv sync\n"}
    assert "abi-mismatch" not in errors(told(tmp_path, monkeypatch, files))


@pytest.mark.parametrize(
    ("lines", "level"),
    [
        ('numpy==1.22.0\nnumba==0.55.1 ; python_version < "3.9"\nnumba>=0.57 ; python_version >= "3.9"\n', "warning"),
        ("numpy==1.22.0\nnumba==0.55.1\n", "error"),
        ('numpy==1.22.0\nnumba==0.55.1 ; python_version >= "3.8"\n', "error"),
    ],
)
def test_a_clash_on_some_pythons_alone_is_no_error(tmp_path, monkeypatch, lines, level):
    found = told(tmp_path, monkeypatch, {"requirements.txt": lines}, "requirements.txt")
    assert ("framework-pair-mismatch", level) in found


def test_a_list_with_python_in_it_is_one_for_conda(tmp_path, monkeypatch):
    text = "matplotlib\nnumpy\npython>=3.10\nscipy\n"
    assert told(tmp_path, monkeypatch, {"requirements.txt": text}, "requirements.txt") == set()


def test_a_bound_holds_for_what_another_stage_copies(tmp_path, monkeypatch):
    build = f"FROM python:3.10-slim AS one\nRUN pip install torch==2.1.2+cu118 'numpy<2' --extra-index-url {PYTORCH}/cu118\n"
    text = f"{build}FROM python:3.10-slim\nCOPY --from=one /usr/local/lib/python3.10/site-packages /usr/local/lib/python3.10/\n"
    assert told(tmp_path, monkeypatch, {"Dockerfile": text}) == set()


def test_of_an_unknown_python_a_pin_says_most(tmp_path, monkeypatch):
    text = "tensorflow-gpu==2.4\nonnxruntime-gpu\n"  # no Python has both that TensorFlow and ONNX Runtime of today
    found = told(tmp_path, monkeypatch, {"requirements.txt": text}, "requirements.txt")
    assert "cuda-major-mixed-in-env" not in {code for code, _ in found}


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        ("requirements.txt", "tf-nightly==2.20.0.dev20250101\ntb-nightly==1.8.0a20180420\n", set()),
        ("requirements.txt", "tf-nightly\n", {"nightly-unpinned"}),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: nvcr.io/nvidia/tritonserver:22.01-py3\n",
            set(),
        ),
    ],
)
def test_what_is_pinned_does_not_move_and_a_cluster_ships_no_compiler(tmp_path, monkeypatch, name, text, codes):
    assert {code for code, _ in told(tmp_path, monkeypatch, {name: text}, name)} == codes


@pytest.mark.parametrize(
    ("base", "version", "codes"),
    [
        ("vllm/vllm-openai:v0.8.5", "2.5.0", {"framework-pair-mismatch"}),
        ("docker.io/vllm/vllm-openai:v0.8.5.post1", "2.5.0", {"framework-pair-mismatch"}),
        ("vllm/vllm-openai:v0.8.5", "2.6.0", set()),
        ("lmsysorg/sglang:v0.4.6.post5-cu124", "2.5.0", {"framework-pair-mismatch"}),
        ("vllm/vllm-openai:latest", "2.5.0", set()),
    ],
)
def test_a_servers_image_has_what_its_release_pins(tmp_path, monkeypatch, base, version, codes):
    found = told(tmp_path, monkeypatch, {"Dockerfile": f"FROM {base}\nRUN pip install torch=={version}\n"})
    assert {code for code, _ in found} == codes


@pytest.mark.parametrize(
    ("run", "refused"),
    [
        ("pip3 --no-cache-dir install -U tqdm", True),
        ("python3 -m pip install -q tqdm", True),
        ("pip3 install --target /app tqdm", False),
        ("pip3 install --prefix=/app tqdm", False),
        ("/opt/app/bin/pip install tqdm", False),
        ("pip3 uninstall -y tqdm", False),
    ],
)
def test_the_systems_pip_is_refused_in_any_form(tmp_path, monkeypatch, run, refused):
    text = f"FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN {run}\n"
    found = errors(told(tmp_path, monkeypatch, {"Dockerfile": text}))
    assert ("python-externally-managed" in found) is refused


@pytest.mark.parametrize(
    ("setup", "code"),
    [
        (f"from setuptools import setup\nsetup(name='x', install_requires=['{PIN}'])\n", {"index-missing"}),
        ("print 'a setup.py of Python 2'\n", set()),
    ],
)
def test_a_project_may_say_it_in_its_setup_py(tmp_path, monkeypatch, setup, code):
    files = {"setup.py": setup, "Dockerfile": f"{SLIM}WORKDIR /app\nCOPY . .\nRUN pip install -e .\n"}
    assert errors(told(tmp_path, monkeypatch, files)) == code


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("torch>=2.1.0\ntorchvision>=0.16.2\nxformers>=0.0.22\n", set()),  # the installer goes back to a pair that fits
        ("torch==2.5.0\ncupy-cuda11x\n", {"cuda-major-mixed-in-env"}),
    ],
)
def test_open_companions_of_one_framework_get_releases_that_fit(tmp_path, monkeypatch, text, codes):
    found = {code for code, _ in told(tmp_path, monkeypatch, {"requirements.txt": text}, "requirements.txt")}
    assert found & {"cuda-major-mixed-in-env"} == codes


def test_an_extension_in_condas_list_for_pip_is_built_without_its_framework(tmp_path, monkeypatch):
    text = "channels: [pytorch, nvidia]\ndependencies:\n  - python=3.10\n  - pytorch=2.5\n  - pip:\n    - flash-attn\n"
    found = told(tmp_path, monkeypatch, {"environment.yml": text}, "environment.yml")
    assert ("build-tools-missing", "warning") in found
    newest = told(
        tmp_path, monkeypatch, {"environment.yml": text.replace("  - pip:", "  - pip\n  - pip:")}, "environment.yml"
    )
    assert ("build-tools-missing", "error") in newest  # pip of today, which conda runs without options


@pytest.mark.parametrize(
    ("lines", "level"),
    [
        ("torch==2.0.0;\nnumpy<2\n", ""),  # pip takes an empty marker for none
        (f"-f {PYTORCH}/torch_stable.html torch==1.13.1+cpu\nnumpy<2\nsix\npillow\n", "warning"),  # not installed
        (f"-f {PYTORCH}/torch_stable.html\ntorch==1.13.1+cpu\nnumpy<2\n", ""),
        (f"-i {PYTORCH}/cu118 --extra-index-url https://a.example/simple\ntorch==2.0.0\nnumpy<2\n", ""),
    ],
)
def test_lines_are_read_as_pip_reads_them(tmp_path, monkeypatch, lines, level):
    found = told(tmp_path, monkeypatch, {"requirements.txt": lines}, "requirements.txt")
    assert {one for code, one in found if code == "requirement-unreadable"} == ({level} if level else set())


def test_a_list_that_a_step_made_anew_is_not_known_wherever_it_is_named(tmp_path, monkeypatch):
    steps = (
        "COPY *.txt /t/\nRUN awk '!/torch/' /t/base.txt > /t/x && mv /t/x /t/base.txt && pip install -r /t/dev.txt\n"
    )
    files = {"base.txt": f"{PIN}\n", "dev.txt": "-r base.txt\nsix\n"}
    assert not told(tmp_path, monkeypatch, {"Dockerfile": SLIM + steps, **files})
    kept = SLIM + "COPY *.txt /t/\nRUN pip install -r /t/dev.txt\n"
    assert ("index-missing", "error") in told(tmp_path, monkeypatch, {"Dockerfile": kept, **files})


def test_an_index_without_the_release_has_its_neighbour_named(tmp_path, monkeypatch):
    (tmp_path / "requirements.txt").write_text(f"--extra-index-url {PYTORCH}/cu116\ntorch>=2.0.0,<2.1\nnumpy<2\n")
    monkeypatch.chdir(tmp_path)
    found = lint_files(["requirements.txt"], MATRIX).findings
    assert [one.fix.text for one in found if one.code == "extra-index-shadowed"] == [
        f"Name {PYTORCH}/cu117 in its place: it has torch 2.0.1."
    ]


@pytest.mark.parametrize(
    ("lines", "clash"),
    [
        ("torch==2.4.*\ntorchvision==0.20.*\n", True),
        ("torch~=2.4.0\ntorchvision~=0.20.0\n", True),
        ("torch>=2.4,<2.5\ntorchvision>=0.20,<0.21\n", True),
        ("torch==2.4.1\ntorchaudio==2.5.*\n", True),
        ("torch==2.5.*\ntorchvision==0.20.*\n", False),
        ("torch>=2.4,<2.6\ntorchvision>=0.20,<0.21\n", False),
        ("torch==2.4.*\ntorchvision>=0.20\n", False),  # a release from after the matrix may fit
        ("torch==2.5.1\nvllm~=0.7.0\n", False),
    ],
)
def test_two_ranges_clash_where_no_release_of_the_one_takes_one_of_the_other(tmp_path, monkeypatch, lines, clash):
    found = errors(told(tmp_path, monkeypatch, {"requirements.txt": lines}, "requirements.txt"))
    assert ("framework-pair-mismatch" in found) is clash


@pytest.mark.parametrize("asks", ["#SBATCH --gpus-per-task=1\n", ""])
def test_a_batch_script_is_checked_whether_it_asks_for_a_gpu_or_not(tmp_path, asks):
    (tmp_path / "a.sbatch").write_text(f"#!/bin/bash\n#SBATCH -N 2\n{asks}srun python train.py\n")
    assert lint_files([str(tmp_path / "a.sbatch")], MATRIX).judged
