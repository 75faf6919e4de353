"""Files other than Dockerfiles and shell lines: what each says, and where it says it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import sources
from compat.errors import InputError
from compat.sources import requirements, shell
from compat.sources.documents import read_yaml
from compat.sources.values import Ask, Request, Stage


def installs(text, name):
    return sources.read(text, name).stages[0].installs


def texts(text, name):
    return [request.text for step in installs(text, name) for request in step.requests]


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("Pipfile.lock", "{}", "lock"),
        ("POETRY.LOCK", "", "lock"),
        ("pdm.lock", "", "lock"),
        ("pylock.toml", "", "lock"),
        ("pylock.gpu.toml", "", "lock"),
        ("Pipfile.cpu.lock", "{}", "lock"),
        ("Pipfile.gpu", "", "pipfile"),
        ("pylock.txt", "", "requirements"),
        ("dir.lock/pyproject.toml", "", "pyproject"),
        (".devcontainer/devcontainer.json", "{}", "devcontainer"),
        ("gpu.json", '{"runArgs": []}', "devcontainer"),
        ("gpu.jsonc", '{"containerEnv": {}}', "devcontainer"),
        ("x.yml", "services:\n  a: {}\n", "compose"),
        ("x.yaml", "name: a\ndependencies :\n", "conda"),
        ("Containerfile", "", "dockerfile"),
        ("build.txt", "FROM a:1\n", "dockerfile"),
        ("deps.in", "", "requirements"),
        ("deps.pip", "", "requirements"),
        ("deps", "torch==2.0\n", "requirements"),
        ("deps", "torch\n", "requirements"),
        ("/x/Dockerfile.d/deps.txt", "", "requirements"),  # the folder's name tells nothing
    ],
)
def test_the_kind_of_a_file(name, text, kind):
    assert sources.kind_of(text, name) == kind


@pytest.mark.parametrize(
    ("name", "text"),
    [("x.json", "{}"), ("x.yml", "a: services:\n"), ("x.md", "# Title\n\n!\n"), ("x", "#!/bin/sh\ntorch\n")],
)
def test_a_file_of_no_kind_is_refused_by_name(name, text):
    with pytest.raises(InputError) as caught:
        sources.kind_of(text, name)
    assert str(caught.value).startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("spec", "exact"),
    [
        ("==2.0.1", "2.0.1"),
        ("== 2.0.1+cu118", "2.0.1+cu118"),
        ("===2.0.1", "2.0.1"),
        ("==2.0.*", ""),
        ("==2.0,!=2.1", ""),
        (">=2.0", ""),
        ("~=2.0", ""),
        ("", ""),
    ],
)
def test_the_one_version_that_a_request_admits(spec, exact):
    assert Request(name="x", spec=spec).exact == exact


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (Request(name="x"), "x"),
        (Request(name="x", spec="==1", extras=("a", "b")), "x[a,b]==1"),
        (Request(name="x", extras=("a",), url="https://h/x.zip"), "x[a] @ https://h/x.zip"),
    ],
)
def test_a_request_as_a_requirement(request_, text):
    assert request_.text == text


def test_the_stages_that_a_stage_continues():
    stages = tuple(Stage(name=name, parent=parent) for name, parent in [("a", -1), ("b", 0), ("c", -1), ("d", 1)])
    ask = Ask(file="f", kind="dockerfile", stages=stages)
    assert [stage.name for stage in ask.chain(stages[3])] == ["a", "b", "d"]
    assert [stage.name for stage in ask.chain(stages[2])] == ["c"]
    assert ask.final is stages[3]
    assert Ask(file="f", kind="dockerfile").final is None


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("'torch==2.0'", Request(name="torch", spec="==2.0")),
        ("torch >= 2 , < 3", Request(name="torch", spec=">=2,<3")),
        ("torch[a, b,]==1", Request(name="torch", spec="==1", extras=("a", "b"))),
        ("torch ; sys_platform == 'linux'", Request(name="torch", marker="sys_platform == 'linux'")),
        ("torch@https://h/t.zip", Request(name="torch", url="https://h/t.zip")),
        (
            "dist/torch-2.0.1-cp310-cp310-linux_x86_64.whl",
            Request(name="torch", spec="==2.0.1", url="dist/torch-2.0.1-cp310-cp310-linux_x86_64.whl"),
        ),
        (
            "torch-2.0.1-1-cp310-cp310-linux_x86_64.whl",
            Request(name="torch", spec="==2.0.1", url="torch-2.0.1-1-cp310-cp310-linux_x86_64.whl"),
        ),
    ],
)
def test_one_line(line, request_):
    assert requirements.request(line) == request_


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("-i https://a", "index", "https://a"),
        ("-ihttps://a", "index", "https://a"),
        ("--index-url=https://a?x=1", "index", "https://a?x=1"),
        ("--index-url 'https://a'", "index", "https://a"),
        ("--index-url https://a\n--index-url https://b", "index", "https://b"),
        ("--extra-index-url https://a\n--extra-index-url https://b", "extra_indexes", ("https://a", "https://b")),
        ("-fhttps://l", "find_links", ("https://l",)),
        ("-rother.txt", "files", ("other.txt",)),
        ("--requirement other.txt", "files", ("other.txt",)),
        ("-c limits.txt", "files", ()),
        ("--no-deps\n--pre", "options", ("--no-deps", "--pre")),
        ("--trusted-host h\n--pre", "options", ("--pre",)),
        ("--index-url", "index", ""),
    ],
)
def test_options_of_a_file(text, field, value):
    step, unread = requirements.from_text(text)
    assert getattr(step, field) == value
    assert unread == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\n# b \\\nc\n", [("a", 1), ("c", 3)]),  # a comment ends with its line
        ("a \\\n  ==1\nb", [("a==1", 1), ("b", 3)]),
        ("a==1 \\\n", [("a==1", 1)]),
        ("\n\na # why\n", [("a", 3)]),
        ("a==1#x\n", []),  # without a blank before it that is no comment
        ("a --config-settings x=y\nb", [("a", 1), ("b", 2)]),
        ("a==1 --hash=sha256:0 \\\n --hash sha256:1", [("a==1", 1)]),
        ("a --index-url https://x\n", [("a", 1)]),
        ("-e git+https://h/r#egg=My_Name", [("my-name @ git+https://h/r#egg=My_Name", 1)]),
        ("git+https://h/r\n./local\nfile:x\nhttps://h/x.zip\n", []),
    ],
)
def test_lines_of_a_file(text, found):
    step, _ = requirements.from_text(text)
    assert [(item.text, item.line) for item in step.requests] == found


def test_what_cannot_be_read_is_named_and_short():
    _, unread = requirements.from_text("ok\n" + "?" * 500 + "\n", 10)
    assert unread == (f"line 11: {'?' * 60!r} is no requirement",)


name = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,4})?", fullmatch=True)
version = st.lists(st.integers(0, 99), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))


@given(name, st.lists(name, max_size=2, unique=True), st.sampled_from(["==", ">=", "<", "~=", "!="]), version)
def test_requirements_read_as_packaging_reads_them(called, extras, operator, number):
    from packaging.requirements import Requirement

    line = f"{called}{'[' + ','.join(extras) + ']' if extras else ''} {operator} {number} ; python_version >= '3.9'"
    ours, theirs = requirements.request(line), Requirement(line.replace("~= ", "~= 1."))
    assert (ours.name, set(ours.extras)) == (theirs.name, theirs.extras)
    assert ours.spec.replace("~=", "~=1.") == str(theirs.specifier)
    assert ours.marker.replace("'", '"') == str(theirs.marker)


@given(st.lists(st.tuples(name, version), max_size=6), st.sampled_from(["\n", "\n\n", "\n# c\n", " # c\n", "\r\n"]))
def test_every_line_of_a_plain_file_is_read(pins, joint):
    step, unread = requirements.from_text(joint.join(f"{one}=={two}" for one, two in pins))
    assert [item.text for item in step.requests] == [f"{one}=={two}" for one, two in pins]
    assert unread == ()


PROJECT = """\
[project]
requires-python = ">=3.10"
dependencies = ["torch>=2", "not a requirement!"]
[project.optional-dependencies]
gpu = [
  "jax[cuda12]",
]
[dependency-groups]
dev = ["pytest", {include-group = "x"}]
"""


def test_a_project_has_its_main_step_and_an_arm_per_group():
    ask = sources.read(PROJECT, "pyproject.toml")
    assert ask.python == ">=3.10"
    assert [(step.branch, [item.text for item in step.requests]) for step in ask.stages[0].installs] == [
        ("", ["torch>=2"]),
        ("+gpu", ["jax[cuda12]"]),
        ("+dev", ["pytest"]),
    ]
    assert [item.line for step in ask.stages[0].installs for item in step.requests] == [3, 6, 9]


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ('"2.0.1"', "torch==2.0.1"),
        ('"^2.0"', "torch>=2.0,<3"),
        ('"^0.4"', "torch>=0.4,<0.5"),
        ('"~2.0"', "torch>=2.0,<2.1"),
        ('"*"', "torch"),
        ('">=2, <3"', "torch>=2,<3"),
        ('"==2.0.1"', "torch==2.0.1"),
        ('{version = "2.0.1+cu118", source = "x"}', "torch==2.0.1+cu118"),
        ('{git = "https://h/r"}', ""),
    ],
)
def test_dependencies_of_poetry(wanted, text):
    found = sources.read(f'[tool.poetry.dependencies]\npython = "^3.10"\ntorch = {wanted}\n', "pyproject.toml")
    assert found.python == ">=3.10,<4"
    assert [item.text for step in found.stages[0].installs for item in step.requests] == [text] * bool(text)


@pytest.mark.parametrize(
    ("table", "urls"),
    [
        ('[[tool.uv.index]]\nurl = "https://a"\n[[tool.uv.index]]\nname = "no address"\n', ("https://a",)),
        ('[tool.uv]\nextra-index-url = ["https://c"]\n', ("https://c",)),
        ('[tool.uv]\nindex = "https://d"\n', ()),
    ],
)
def test_indexes_of_a_project(table, urls):
    text = f'[project]\ndependencies = ["torch"]\n{table}'
    assert installs(text, "pyproject.toml")[0].extra_indexes == urls


@pytest.mark.parametrize(
    ("name", "text", "pins", "url"),
    [
        (
            "uv.lock",
            '[[package]]\nname = "a"\nversion = "1"\nsource = {registry = "https://i"}\n[[package]]\nname = "mine"\n',
            ["a==1"],
            "https://i",
        ),
        (
            "poetry.lock",
            '[[package]]\nname = "A_b"\nversion = "1"\n[package.source]\nurl = "https://u"\n',
            ["a-b==1"],
            "https://u",
        ),
        ("pylock.toml", '[[packages]]\nname = "a"\nversion = "1"\nindex = "https://i"\n', ["a==1"], "https://i"),
        (
            "Pipfile.lock",
            json.dumps({"default": {"a": {"version": "==1"}, "b": {"git": "x"}}, "develop": {"c": {"version": "==2"}}}),
            ["a==1", "c==2"],
            "",
        ),
    ],
)
def test_a_lock_settles_every_package(name, text, pins, url):
    (step,) = installs(text, name)
    assert [item.text for item in step.requests] == pins
    assert step.index == url
    assert step.options == ("--locked",)


@pytest.mark.parametrize("text", ["[]", "[[", '{"default": []}', "null"])
def test_a_broken_pipfile_lock_is_refused_or_empty(text):
    try:
        assert texts(text, "Pipfile.lock") == []
    except InputError as error:
        assert str(error).startswith("Pipfile.lock: not valid JSON")


CONDA = """\
name: x
channels:
  - nvidia
  - conda-forge
dependencies:
  - python=3.10
  - pytorch::pytorch 2.1
  - pip
  - pip:
    - -r more.txt
    - --index-url https://i
    - --find-links https://l
    - --pre
    - torch==2.0.1
variables:
  CUDA_HOME: /usr
"""


def test_a_conda_environment_is_read_whole():
    ask = sources.read(CONDA, "environment.yml")
    conda, pip = ask.stages[0].installs
    assert (ask.python, ask.stages[0].env) == ("3.10", {"CUDA_HOME": "/usr"})
    assert conda.channels == ("nvidia", "conda-forge")
    assert [(item.text, item.line) for item in conda.requests] == [
        ("python==3.10.*", 6),
        ("pytorch==2.1", 7),
        ("pip", 8),
    ]
    assert (pip.files, pip.index, pip.find_links, pip.options) == (
        ("more.txt",),
        "https://i",
        ("https://l",),
        ("--pre",),
    )
    assert [(item.text, item.line) for item in pip.requests] == [("torch==2.0.1", 14)]


@pytest.mark.parametrize(("spec", "python"), [("=3.10", "3.10"), ("==3.10.4", "3.10.4"), (">=3.9", ">=3.9"), ("", "")])
def test_the_python_of_an_environment(spec, python):
    text = f"dependencies:\n  - numpy=1.26\n  - python{spec}\n"
    assert sources.read(text, "environment.yml").python == python


@pytest.mark.parametrize(
    ("body", "devices", "line"),
    [
        ("    image: x\n", (), 3),
        ("    gpus: all\n", (), 3),
        ("    gpus:\n      - device_ids: ['0', '1']\n", ("0", "1"), 4),
        ("    devices:\n      - /dev/kfd\n      - /dev/nvidia0:/dev/nvidia0\n", ("/dev/nvidia0",), 5),
        (
            "    deploy:\n      resources:\n        reservations:\n          devices:\n            - driver: nvidia\n              device_ids: ['2']\n",
            ("2",),
            8,
        ),
        ("    runtime: nvidia\n", (), 3),
    ],
)
def test_the_devices_of_a_service(body, devices, line):
    (service,) = sources.read(f"services:\n  a:\n{body}", "compose.yaml").services
    assert (service.devices, service.device_line) == (devices, line)


@pytest.mark.parametrize(
    ("section", "env"),
    [
        ("{A: 1, B: ''}", {"A": "1", "B": ""}),
        ("[A=1, B, 'C=x=y']", {"A": "1", "B": "", "C": "x=y"}),
        ("A=1", {"A": "1"}),
        ("null", {}),
    ],
)
def test_the_environment_of_a_service(section, env):
    (service,) = sources.read(f"services:\n  a: {{environment: {section}}}\n", "compose.yaml").services
    assert service.env == env


@pytest.mark.parametrize(
    ("text", "merged"),
    [
        ("base: &b {x: '1', y: '1'}\nt: {<<: *b, y: '2'}", {"x": "1", "y": "2"}),
        ("base: &b {x: '1', y: '1'}\nt: {y: '2', <<: *b}", {"x": "1", "y": "2"}),
        ("a: &a {x: '1'}\nb: &b {x: '2', y: '2'}\nt: {<<: [*a, *b]}", {"x": "1", "y": "2"}),
        ("t: {<<: word, x: '1'}", {"x": "1"}),
    ],
)
def test_merge_keys_yield_to_what_the_table_says_itself(text, merged):
    """YAML's merge key specification (yaml.org/type/merge.html): own keys win, then the earlier of several tables."""
    assert {key: item.text for key, item in read_yaml(text, "f").get("t").table().items()} == merged


@pytest.mark.parametrize(
    ("text", "value"),
    [("k:", None), ("k: ~", None), ("k: null", None), ("k: ''", ""), ("k: 'null'", "null"), ("k: 1.10", "1.10")],
)
def test_scalars_stay_as_they_are_written(text, value):
    assert read_yaml(text, "f").get("k").value == value


def test_a_document_without_content_and_one_that_holds_itself():
    assert read_yaml("", "f").value is None
    assert read_yaml("# nothing", "f").get("x").get("y").text == ""
    loop = read_yaml("a: &a\n  b: *a\n", "f")
    assert loop.get("a").get("b").value is None


@given(
    st.recursive(
        name, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(name, inner, max_size=3), max_leaves=8
    )
)
def test_documents_read_as_yaml_reads_them(value):
    import yaml

    def plain(found):
        if isinstance(found.value, dict):
            return {key: plain(item) for key, item in found.value.items()}
        return [plain(item) for item in found.value] if isinstance(found.value, list) else found.value

    text = yaml.safe_dump(value)
    assert plain(read_yaml(text, "f")) == yaml.load(text, Loader=yaml.BaseLoader)


@pytest.mark.parametrize(
    "line",
    ["./local", "../local", "/opt/local", "git+https://x/y", "https://x/y.zip", "http://x/y.zip", "file:///opt/y"],
)
def test_what_is_installed_from_elsewhere_is_no_request_and_no_riddle(line):
    step, unread = requirements.from_text(f"{line}\n")
    assert (step.requests, unread) == ((), ())


def test_commands_behind_a_comment_stand_on_their_own_lines():
    found = shell.commands("# it's a note\npip install torch # why\n\n  # more\ncmake .", 7)
    assert [(command.words[0], command.line) for command in found] == [("pip", 8), ("cmake", 11)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("uv.lock", '[[package]]\nname = "torch"\nversion = "2.9.1"\n'),
        ("poetry.lock", '[[package]]\nname = "torch"\nversion = "2.9.1"\n'),
        ("pylock.toml", '[[packages]]\nname = "torch"\nversion = "2.9.1"\n'),
        ("Pipfile.lock", '{"default": {"torch": {"version": "==2.9.1"}}}'),
    ],
)
def test_a_lock_of_any_tool_settles_its_packages(name, text):
    ask = sources.read(text, name)
    assert ask.kind == "lock"
    assert [(item.name, item.exact) for step in ask.stages[0].installs for item in step.requests] == [
        ("torch", "2.9.1")
    ]
