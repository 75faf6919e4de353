"""What the commands answer, end to end on the shipped matrix."""

import json

import pytest
from published_schemas import schemas


def document(envcheck, *words):
    code, out, err = envcheck(*words, "--format", "json")
    return code, json.loads(out), err


def test_the_tutorials_are_wrong_about_torch_and_tensorflow(envcheck):
    import jsonschema

    code, answer, _ = document(
        envcheck, "resolve", "torch==2.0.1", "tensorflow==2.12.0", "--gpu", "NVIDIA A100", "--driver", "525.85.12"
    )
    jsonschema.validate(answer, schemas()["envcheck.resolve/1"])
    assert code == 0
    plan = answer["plan"]
    builds = {build["name"]: build for build in plan["builds"]}
    assert plan["runtime"] == "cuda11.8"
    assert builds["torch"]["version"] == "2.0.1+cu118"
    assert builds["torch"]["index"] == "https://download.pytorch.org/whl/cu118"
    assert builds["tensorflow"]["version"] == "2.12.0"
    assert plan["base_image"]["image"].startswith("nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu")
    assert any(item.startswith("numpy") and "<1.24" in item for item in plan["constraints"])


def test_its_dockerfile_takes_each_package_from_its_place(envcheck):
    code, text, _ = envcheck(
        "dockerfile",
        "--framework",
        "torch==2.0.1",
        "--framework",
        "tensorflow==2.12.0",
        "--gpu",
        "A100",
        "--driver",
        "525.85.12",
    )
    assert code == 0
    assert "nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu" in text
    assert "torch==2.0.1+cu118" in text
    assert "\nUSER 10001" in text


def test_a_package_without_rows_rides_along_in_every_form_of_a_plan(envcheck):
    import jsonschema

    asked = ("torch==2.9.1", "accelerate", "my-package[x]>=1", "--gpu", "RTX 4090", "--driver", "570.86.10")
    code, answer, _ = document(envcheck, "resolve", *asked)
    jsonschema.validate(answer, schemas()["envcheck.resolve/1"])
    assert (code, answer["plan"]["unjudged"]) == (0, ["my-package[x]>=1"])
    assert any("not judged" in text and "my-package" in text for text in answer["conditions"])
    _, text, _ = envcheck("resolve", *asked)
    (installed,) = [line for line in text.splitlines() if line.startswith("  $ pip install")]
    assert '"my-package[x]>=1"' in installed
    for form in ("requirements", "uv", "conda"):
        assert "my-package[x]>=1" in envcheck("resolve", *asked, "--format", form)[1]
    for form in ((), ("--form", "factory")):
        code, text, err = envcheck("dockerfile", *asked, *form)
        assert code == 0
        assert "not judged, since the matrix has no rows of it: my-package" in err
        assert "'my-package[x]>=1'" in text


def test_a_name_that_looks_like_a_framework_is_asked_back(envcheck):
    for typed, meant in (("troch", "torch"), ("tensorlfow==2.12", "tensorflow")):
        for command in ("resolve", "dockerfile", "doctor"):
            code, _, err = envcheck(command, "numpy", typed)
            assert (code, f"did you mean {meant}" in err) == (2, True), err


def test_a_gpu_without_kernels_is_a_conflict_with_a_checked_fix(envcheck):
    code, answer, _ = document(envcheck, "resolve", "torch==2.6.0", "--gpu", "RTX 5090", "--driver", "570.26")
    assert (code, answer["status"]) == (1, "conflict")
    members = answer["conflicts"][0]["members"]
    assert members[0]["kind"] == "wish"
    assert any("5090" in member["text"] or "sm_120" in member["text"] for member in members)
    assert answer["fixes"]
    assert all(fix["status"] == "plan" for fix in answer["fixes"])


def test_no_plan_is_ever_a_cpu_build_unasked(envcheck, host_file):
    code, answer, _ = document(
        envcheck, "resolve", "torch==2.9.1", "--host", host_file("gpus = []\ndriver = '535.54.03'")
    )
    assert code == 1
    assert answer["plan"] is None
    code, answer, _ = document(envcheck, "resolve", "torch==2.9.1", "--cpu")
    assert (code, answer["plan"]["runtime"]) == (0, "cpu")


@pytest.mark.parametrize(
    ("words", "runtime"),
    [
        (["tensorflow==2.15.1", "--gpu", "A100", "--driver", "535.54.03"], "cuda12.2"),
        (["jax==0.4.30", "--gpu", "A100", "--driver", "535.54.03"], "cuda12"),
        (["paddlepaddle==2.6.2", "--gpu", "A100", "--driver", "535.54.03"], "cuda1"),
        (["torch==2.6.0", "--gpu", "MI300X"], "rocm6.2"),
        (["torch==2.9.1", "--gpu", "GTX 1080 Ti", "--driver", "580.65.06"], "cuda12.6"),
    ],
)
def test_each_framework_gets_a_build_for_the_device(envcheck, words, runtime):
    code, answer, _ = document(envcheck, "resolve", *words)
    assert code == 0
    assert answer["plan"]["runtime"].startswith(runtime)


def test_host_prints_what_host_reads(envcheck, tmp_path):
    import jsonschema

    code, out, _ = envcheck("host")
    assert code == 0
    machine = json.loads(out)
    jsonschema.validate(machine, schemas()["envcheck.host/1"])
    assert machine["read"]["python"]
    path = tmp_path / "here.json"
    path.write_text(out)
    assert envcheck("doctor", "--host", str(path), "--fail-on", "never")[0] == 0


def test_the_doctors_document_follows_its_schema_on_this_machine(envcheck):
    import jsonschema

    _, answer, _ = document(envcheck, "doctor", "--fail-on", "never")
    jsonschema.validate(answer, schemas()["envcheck.doctor/1"])


def test_a_pasted_issue_is_answered_in_markdown(envcheck, tmp_path):
    issue = tmp_path / "issue.md"
    issue.write_text(
        "### Bug\nIt crashes:\n```\nPyTorch version: 2.6.0+cu124\nIs debug build: False\nCUDA used to build PyTorch: 12.4\n"
        "OS: Ubuntu 22.04.4 LTS (x86_64)\nPython version: 3.10.12\nGPU models and configuration: GPU 0: NVIDIA GeForce RTX 5090\n"
        "Nvidia driver version: 570.86.16\n```\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    )
    code, out, _ = envcheck("doctor", "--report", str(issue), "--format", "markdown")
    assert code == 1
    assert out.splitlines()[2].startswith("### Problem:")
    assert "arch-too-new-for-build" in out
    assert "sm_120" in out


def test_the_same_message_means_different_things_on_different_machines(envcheck, host_file):
    error = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    new = host_file(
        'gpus=[{name="NVIDIA GeForce RTX 5090", target="sm_120"}]\ndriver="570.86.16"\npackages={torch="2.6.0"}\nbuilds={torch={runtime="cuda12.4", kernels=["sm_50","sm_80","sm_86","sm_90"]}}'
    )
    assert (
        document(envcheck, "doctor", "--host", new, "--error", error)[1]["findings"][0]["code"]
        == "arch-too-new-for-build"
    )
    old = host_file(
        'gpus=[{name="Tesla K80", target="sm_37"}]\ndriver="470.82.01"\npackages={torch="2.1.0"}\nbuilds={torch={runtime="cuda11.8", kernels=["sm_50","sm_80","sm_86","sm_90"]}}'
    )
    assert (
        document(envcheck, "doctor", "--host", old, "--error", error)[1]["findings"][0]["code"]
        == "arch-too-old-for-build"
    )


def test_lint_finds_the_escaped_index_and_passes_the_lean_form(envcheck, tmp_path):
    bad = tmp_path / "Dockerfile"
    bad.write_text(
        "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\nRUN pip install torch==2.0.1+cu117 --extra-index-url https://download.pytorch.org/whl/cu117\n"
    )
    code, answer, _ = document(envcheck, "lint", str(bad))
    assert code == 1
    assert ("base-python-missing", 2) in {(item["code"], item["place"]["line"]) for item in answer["findings"]}
    lean = tmp_path / "lean" / "Dockerfile"
    lean.parent.mkdir()
    lean.write_text(
        "FROM python:3.12-slim-trixie\nRUN pip install torch==2.6.0+cu124 --index-url https://download.pytorch.org/whl/cu124\nUSER 1000\n"
    )
    code, answer, _ = document(envcheck, "lint", str(lean))
    assert (code, answer["findings"]) == (0, [])


def test_lint_reads_requirement_files_beside_but_never_elsewhere(envcheck, tmp_path):
    outside = tmp_path / "secret.txt"
    outside.write_text("torch==1.10.0+cu113\n")
    inner = tmp_path / "project"
    inner.mkdir()
    (inner / "requirements.txt").write_text("torch==1.10.0+cu113\n")
    (inner / "Dockerfile").write_text("FROM python:3.8-slim-bullseye\nRUN pip install -r requirements.txt\n")
    (inner / "Escape.Dockerfile").write_text("FROM python:3.8-slim-bullseye\nRUN pip install -r ../secret.txt\n")
    codes = lambda name: {item["code"] for item in document(envcheck, "lint", str(inner / name))[1]["findings"]}  # noqa: E731
    assert "index-missing" in codes("Dockerfile")
    assert "index-missing" not in codes("Escape.Dockerfile")


def test_ci_keeps_valid_cells_and_tells_the_others(envcheck, tmp_path):
    code, answer, err = document(
        envcheck,
        "ci",
        "torch==2.9.1",
        "tensorflow==2.12.0",
        "--runtime",
        "cpu",
        "--runtime",
        "rocm6.4",
        "--python",
        "3.11",
    )
    assert code == 0
    names = [cell["name"] for cell in answer["cells"]]
    assert "torch-2-9-1-cpu-py3-11" in names
    assert any("tensorflow-2-12-0-rocm6-4" in item["name"] for item in answer["excluded"])
    assert "left out" in err
    config = tmp_path / "pyproject.toml"
    config.write_text(
        '[tool.envcheck.matrix]\nframeworks = ["torch==2.9.1", ["torch==2.0.1", "tensorflow==2.12.0"]]\nruntime = ["cpu"]\n'
    )
    assert [cell["requirements"] for cell in document(envcheck, "ci", "--config", str(config))[1]["cells"]] == [
        "torch==2.9.1",
        "torch==2.0.1 tensorflow==2.12.0",
    ]


def test_ci_axes_are_checked_key_by_key(envcheck, tmp_path):
    config = tmp_path / "pyproject.toml"
    config.write_text('[tool.envcheck.matrix]\nframework = ["torch"]\npython = "3.11"\n')
    code, _, err = envcheck("ci", "--config", str(config))
    assert code == 2
    assert "unknown key 'framework'" in err
    assert "python is '3.11'" in err
    assert "frameworks is missing" in err


def test_inspect_reads_a_library_and_judges_devices(envcheck, tmp_path):
    ptx = tmp_path / "kernel.ptx"
    ptx.write_text(".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }\n")
    code, answer, _ = document(envcheck, "inspect", str(ptx), "--gpu", "RTX 4090", "--gpu", "V100")
    assert answer["targets"]["ptx"] == ["compute_80"]
    assert [item["kernels"] for item in answer["verdicts"]] == ["ptx", "none"]
    assert "PTX 7.8 needs driver 520.61.05 or newer" in answer["verdicts"][0]["why"]  # the floor of CUDA 11.8
    assert code == 1


def test_inspect_says_when_no_known_driver_compiles_the_ptx(envcheck, tmp_path):
    ptx = tmp_path / "kernel.ptx"
    ptx.write_text(".version 99.0\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }\n")
    _, answer, _ = document(envcheck, "inspect", str(ptx), "--gpu", "RTX 4090")
    assert "not known: the matrix has no CUDA release with PTX 99.0" in answer["verdicts"][0]["why"]


def test_matrix_shows_sources_on_demand(envcheck):
    _, plain, _ = envcheck("matrix", "show", "torch==2.9.1")
    _, cited, _ = envcheck("matrix", "show", "torch==2.9.1", "--sources")
    assert "cuda12.8" in plain
    assert len(cited) > len(plain)
    assert "pytorch" in cited.lower()


def test_an_overlay_adds_a_private_build_and_says_where_it_came_from(envcheck, tmp_path):
    overlay = tmp_path / "mine.toml"
    overlay.write_text(
        'schema = "envcheck.matrix/1"\n\n[sources]\nours = "Internal build, 2026"\n'
        "[[builds.torch]]\nversions = '2.9.1'\nruntime = 'cuda12.9'\nvariant = 'cu129'\nlocal = 'acme1'\nindex = 'pytorch'\n"
        "python = '3.11'\nplatforms = 'linux_x86_64'\nglibc = '2.28'\nkernels = 'sm_80'\ncuda_from = 'wheel'\nsource = 'ours'\nhow = 'documented'\n"
    )
    code, answer, _ = document(
        envcheck, "resolve", "torch==2.9.1+acme1", "--gpu", "A100", "--driver", "575.51.03", "--matrix", str(overlay)
    )
    assert code == 0
    assert answer["plan"]["builds"][0]["version"] == "2.9.1+acme1"
    overlay.write_text(overlay.read_text().replace("runtime", "runtmie"))
    code, _, err = envcheck("resolve", "torch==2.9.1", "--matrix", str(overlay))
    assert code == 2
    assert "runtmie" in err


def test_an_image_brings_its_own_python(envcheck, host_file):
    """The host's Python binds a plan for the host, and says nothing about a container."""
    host = host_file(
        "os='debian13'\nplatform='linux'\narch='x86_64'\nglibc='2.41'\npython='3.13.5'\ndriver='535.54.03'\ngpus=[{name='A100',vendor='nvidia',target='sm_80'}]"
    )
    assert document(envcheck, "resolve", "torch==2.0.1", "--host", host)[0] == 1
    code, text, _ = envcheck("dockerfile", "--framework", "torch==2.0.1", "--host", host)
    assert code == 0
    assert "torch==2.0.1+cu118" in text


def test_every_code_that_a_command_can_give_is_explained(envcheck):
    for code in (
        "probe-cpu-fallback",
        "probe-kernel-wrong-result",
        "root-user",
        "wish-unsatisfiable",
        "kernels-unlike-matrix",
    ):
        status, out, _ = envcheck("explain", code)
        assert status == 0
        assert code in out


@pytest.mark.parametrize(("lines", "told"), [(40_000, True), (40, False)])
def test_what_of_a_long_log_was_passed_over_is_said(envcheck, host_file, tmp_path, lines, told):
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {number} loss 0.{number} is going down\n" for number in range(lines)))
    code, out, _ = envcheck("doctor", "--host", host_file('os = "ubuntu22.04"'), "--log", str(log), "--format", "json")
    assert code == 3  # a system alone lets nothing be checked
    gaps = [item["why"] for item in json.loads(out)["unchecked"] if item["what"] == "the rest of the text"]
    assert bool(gaps) == told
    assert not gaps or "the first 64 were read" in gaps[0]
