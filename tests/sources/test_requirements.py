"""Requirement lines as pip reads them, and the other files that name packages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import sources
from compat.errors import InputError
from compat.sources import requirements


@pytest.mark.parametrize(
    ("text", "name", "exact"),
    [
        ("torch==2.0.1+cu118", "torch", "2.0.1+cu118"),
        ("Torch_Vision == 0.15.2", "torch-vision", "0.15.2"),
        ("tensorflow[and-cuda]>=2.15,<2.17 ; python_version > '3.8'", "tensorflow", ""),
        ("jax (==0.4.30)", "jax", "0.4.30"),
        ("numpy==1.*", "numpy", ""),
        ("https://x.example/whl/torch-1.10.0%2Bcu113-cp38-cp38-linux_x86_64.whl", "torch", "1.10.0+cu113"),
        ("torch @ https://x.example/torch.zip", "torch", ""),
        ("torch", "torch", ""),
    ],
)
def test_one_requirement(text, name, exact):
    found = requirements.request(text)
    assert (found.name, found.exact) == (name, exact)


@pytest.mark.parametrize("text", ["./local", "/abs/path", "git+https://x/y", "-e .", "==1.0", "", "a b c"])
def test_what_is_no_requirement(text):
    assert requirements.request(text) is None


def test_a_file_with_everything():
    step, unread = requirements.from_text(
        "# comment\n--index-url https://a/simple\n--extra-index-url=https://b/whl/cu118\n-f https://c/page.html\n-r other.txt\n"
        "torch==2.0.1 \\\n    --hash=sha256:abc\nnumpy<2  # why\n./here\n???\n"
    )
    assert step.index == "https://a/simple"
    assert step.extra_indexes == ("https://b/whl/cu118",)
    assert step.find_links == ("https://c/page.html",)
    assert step.files == ("other.txt",)
    assert [(request.text, request.line) for request in step.requests] == [("torch==2.0.1", 6), ("numpy<2", 8)]
    assert unread == ("line 10: '???' is no requirement",)


def test_options_of_a_command():
    step = requirements.from_words(
        ["--pre", "-U", "torch", "--index-url", "https://a", "-fhttps://l", "-r", "x.txt", "--python", "3.11"], 7
    )
    assert (step.index, step.find_links, step.files, step.python, step.line) == (
        "https://a",
        ("https://l",),
        ("x.txt",),
        "3.11",
        7,
    )
    assert step.options == ("--pre", "-U")


def test_conda_environment():
    ask = sources.read(
        "name: x\nchannels: [pytorch, conda-forge]\ndependencies:\n  - python=3.8.5\n  - cudatoolkit=11.3\n  - pip:\n      - torch==1.11.0+cu113\n      - --extra-index-url https://download.pytorch.org/whl/cu113\n",
        "environment.yml",
    )
    conda, pip = ask.stages[0].installs
    assert ask.python == "3.8.5"
    assert conda.channels == ("pytorch", "conda-forge")
    assert pip.extra_indexes == ("https://download.pytorch.org/whl/cu113",)
    assert (pip.requests[0].text, pip.requests[0].line) == ("torch==1.11.0+cu113", 7)


def test_compose_follows_anchors():
    ask = sources.read(
        "x-gpu: &gpu\n  deploy: {resources: {reservations: {devices: [{driver: nvidia, device_ids: ['0']}]}}}\nservices:\n  a:\n    <<: *gpu\n    image: x:latest\n  b: {image: 'y:1', environment: [CUDA_VISIBLE_DEVICES=0]}\n",
        "compose.yaml",
    )
    first, second = ask.services
    assert first.devices == ("0",)
    assert (first.image, first.image_line) == ("x:latest", 6)
    assert second.env == {"CUDA_VISIBLE_DEVICES": "0"}


def test_projects_and_locks():
    ask = sources.read(
        '[project]\nrequires-python = ">=3.9"\ndependencies = ["torch==2.0.1"]\n[dependency-groups]\ndev = ["jax"]\n[[tool.uv.index]]\nurl = "https://i"\n',
        "pyproject.toml",
    )
    steps = ask.stages[0].installs
    assert [(step.branch, request.text) for step in steps for request in step.requests] == [
        ("", "torch==2.0.1"),
        ("+dev", "jax"),
    ]
    assert ask.stages[0].installs[0].extra_indexes == ("https://i",)
    lock = sources.read(
        '[[package]]\nname = "torch"\nversion = "2.0.1"\nsource = { registry = "https://i" }\n', "uv.lock"
    )
    assert lock.stages[0].installs[0].requests[0].exact == "2.0.1"
    pipfile = sources.read('{"default": {"torch": {"version": "==1.9.0"}}}', "Pipfile.lock")
    assert pipfile.stages[0].installs[0].requests[0].exact == "1.9.0"


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("Dockerfile.gpu", "x", "dockerfile"),
        ("my.containerfile", "x", "dockerfile"),
        ("build", "FROM a:1\n", "dockerfile"),
        ("requirements-dev.txt", "", "requirements"),
        ("docker-compose.yml", "services:\n", "compose"),
        ("env.yaml", "dependencies:\n", "conda"),
        ("pylock.prod.toml", "", "lock"),
    ],
)
def test_the_kind_is_told_by_name_then_by_content(name, text, kind):
    assert sources.kind_of(text, name) == kind


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.yml", "a: 1\n", "neither a compose file"),
        ("docker-compose.yml", "services:\n  a: [\n", "docker-compose.yml:3:1"),
        ("pyproject.toml", "a = [", "not valid TOML"),
        ("uv.lock", "a = 1", "holds no packages"),
        ("x.py", "from a import b\n", "cannot be told"),
        ("compose.yaml", "services:\n" + "".join("  " * n + "a:\n" for n in range(1, 60)), "nests too deeply"),
    ],
)
def test_faults_are_named_with_file_and_line(name, text, words):
    with pytest.raises(InputError) as caught:
        sources.read(text, name)
    assert words in str(caught.value)


def test_a_bomb_of_aliases_stays_small():
    lines = ["services: {}", "a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 30)]
    assert sources.read("\n".join(lines), "compose.yaml").services == ()


@given(
    st.text(max_size=200),
    st.sampled_from(
        [
            "requirements.txt",
            "compose.yaml",
            "environment.yml",
            "pyproject.toml",
            "uv.lock",
            "Pipfile.lock",
            "Dockerfile",
        ]
    ),
)
def test_no_text_breaks_a_reader(text, name):
    try:
        sources.read(text, name)
    except InputError as error:
        assert name in str(error)
