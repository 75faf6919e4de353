"""Projects and their locks: each package with the index that the tool would ask, and the line it stands on."""

import json

import pytest

from compat import sources
from compat.errors import InputError
from compat.sources.settings import UNSEEN
from compat.sources.toml import Finder

CU = "https://download.pytorch.org/whl/cu124"
CPU = "https://download.pytorch.org/whl/cpu"


def asked(text, file, name="torch"):
    """(specifier, index, further indexes, group, line) of each request for a package."""
    return [
        (item.spec, step.index, step.extra_indexes, step.branch, item.line)
        for stage in sources.read(text, file).stages
        for step in stage.installs
        for item in step.requests
        if item.name == name
    ]


PROJECT = """[project]
requires-python = ">=3.11"
dependencies = [{}]

[project.optional-dependencies]
cpu = ["torch==2.6.0"]
gpu = [
  "numpy",
  "torch==2.6.0",
]

[tool.uv.sources]
torch = {}

[[tool.uv.index]]
name = "cu"
url = "{}"
{}

[[tool.uv.index]]
name = "cpu"
url = "{}"
explicit = true
"""


def project(dependencies, source, flag="explicit = true"):
    return PROJECT.format(dependencies, source, CU, flag, CPU)


@pytest.mark.parametrize(
    ("source", "flag", "expected"),
    [
        # an explicit index serves those alone that name it
        ("[]", "explicit = true", [("", ()), ("", ())]),
        ('{ index = "cu" }', "explicit = true", [(CU, ()), (CU, ())]),
        (
            '[{ index = "cpu", extra = "cpu" }, { index = "cu", extra = "gpu" }]',
            "explicit = true",
            [(CPU, ()), (CU, ())],
        ),
        ('[{ index = "cu", extra = "gpu" }]', "explicit = true", [("", ()), (CU, ())]),
        # an open one is asked before the default one, one marked default instead of it
        ("[]", "", [("", (CU,)), ("", (CU,))]),
        ("[]", "default = true", [(CU, ()), (CU, ())]),
        # markers are weighed as on Linux; an address is no index
        ('[{ index = "cu", marker = "sys_platform == \'darwin\'" }]', "explicit = true", [("", ()), ("", ())]),
        ('[{ index = "cu", marker = "sys_platform == \'linux\'" }]', "explicit = true", [(CU, ()), (CU, ())]),
        ('[{ index = "cu", marker = "extra == \'gpu\'" }]', "explicit = true", [("", ()), (CU, ())]),
        ('{ url = "https://x/torch.whl" }', "explicit = true", []),
        ('{ index = "nowhere" }', "explicit = true", [(UNSEEN, ()), (UNSEEN, ())]),
    ],
)
def test_uvs_sources_decide_the_index_of_each_group(source, flag, expected):
    found = asked(project('"numpy"', source, flag), "pyproject.toml")
    assert [(index, extra) for _, index, extra, _, _ in found] == expected
    assert [group for *_, group, _ in found] == ["+cpu", "+gpu"][: len(expected)]


def test_the_same_requirement_in_two_groups_has_two_lines():
    assert [line for *_, line in asked(project('"numpy"', "[]"), "pyproject.toml")] == [6, 9]


POETRY = """[tool.poetry.dependencies]
python = "^3.10"
torch = {}

[[tool.poetry.source]]
name = "cu"
url = "{}"
{}
"""


@pytest.mark.parametrize(
    ("wanted", "flag", "expected"),
    [
        ('"2.0.1"', 'priority = "explicit"', [("==2.0.1", "")]),
        ('{ version = "2.5.1+cu124", source = "cu" }', 'priority = "explicit"', [("==2.5.1+cu124", CU)]),
        ('{ version = "^2.2.0+cu121", source = "cu" }', 'priority = "explicit"', [(">=2.2.0,<3", CU)]),
        ('"^0.17.1"', 'priority = "supplemental"', [(">=0.17.1,<0.18", "")]),
        ('"^2.1"', "secondary = true", [(">=2.1,<3", "")]),
        ('"~2.1"', 'priority = "explicit"', [(">=2.1,<2.2", "")]),
        ('">=2.1, <2.4"', 'priority = "explicit"', [(">=2.1,<2.4", "")]),
        ('"2.1.0"', "", [("==2.1.0", UNSEEN)]),  # whether PyPI is asked beside depends on Poetry's release
        ('[{ version = "2.1.0", platform = "darwin" }, { version = "2.2.0", platform = "linux" }]',
         'priority = "explicit"', [("==2.2.0", "")]),
        ('[{ version = "2.1.0", python = "<3.11" }, { version = "2.2.0", python = ">=3.11" }]',
         'priority = "explicit"', []),
        ('{ url = "https://x/torch.whl" }', 'priority = "explicit"', []),
    ],
)  # fmt: skip
def test_poetrys_sources_and_versions(wanted, flag, expected):
    assert [(spec, index) for spec, index, *_ in asked(POETRY.format(wanted, CU, flag), "pyproject.toml")] == expected


def test_poetrys_groups_are_arms_of_their_own():
    text = '[tool.poetry.group.gpu.dependencies]\ntorch = "2.6.0"\n[tool.poetry.dev-dependencies]\ntorch = "2.5.0"\n'
    assert {(spec, group, line) for spec, _, _, group, line in asked(text, "pyproject.toml")} == {
        ("==2.6.0", "+gpu", 2),
        ("==2.5.0", "+dev", 4),
    }


PDM = '[project]\ndependencies = ["torch==2.6.0"]\n[[tool.pdm.source]]\nname = "{}"\nurl = "{}"\n{}\n'


@pytest.mark.parametrize(
    ("name", "more", "index", "extra"),
    [
        ("cu", "", "", (CU,)),
        ("pypi", "", CU, ()),
        ("cu", 'include_packages = ["torch"]', CU, ()),
        ("cu", 'include_packages = ["jax"]', "", ()),
        ("cu", 'type = "find_links"', "", ()),
    ],
)
def test_pdms_sources(name, more, index, extra):
    assert [found[1:3] for found in asked(PDM.format(name, CU, more), "pyproject.toml")] == [(index, extra)]


def test_pdms_groups_for_development():
    text = '[project]\ndependencies = ["torch==2.6.0"]\n[tool.pdm.dev-dependencies]\ntest = [\n"torch==2.5.1",\n]\n'
    assert [(spec, group, line) for spec, _, _, group, line in asked(text, "pyproject.toml")] == [
        ("==2.6.0", "", 2),
        ("==2.5.1", "+test", 5),
    ]


def test_hatchs_environments_with_the_index_that_they_set():
    text = f"""[tool.hatch.envs.gpu]
dependencies = ["torch==2.6.0"]
[tool.hatch.envs.gpu.env-vars]
PIP_EXTRA_INDEX_URL = "{CU}"
"""
    assert asked(text, "pyproject.toml") == [("==2.6.0", "", (CU,), "+gpu", 2)]


def test_uvs_constraints_and_overrides():
    text = '[project]\ndependencies = ["torch", "numpy>=2"]\n[tool.uv]\nconstraint-dependencies = ["torch<2.7", "jax==1"]\n'
    text += 'override-dependencies = ["numpy==1.26.4"]\n'
    assert asked(text, "pyproject.toml")[0][0] == "<2.7"
    assert asked(text, "pyproject.toml", "numpy")[0][0] == "==1.26.4"
    assert asked(text, "pyproject.toml", "jax") == []


PIPFILE = f"""[[source]]
url = "https://mirror.example/simple"
name = "pypi"
[[source]]
url = "{CU}"
name = "cu"
[packages]
numpy = "*"
torch = {{}}
[dev-packages]
jax = "*"
[requires]
python_version = "3.11"
"""


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ('"*"', [("", "")]),
        ('"==2.4.1"', [("==2.4.1", "")]),
        ('{ version = "==2.4.1", index = "cu" }', [("==2.4.1", CU)]),
        ('{ version = "*", index = "cu", sys_platform = "== \'win32\'" }', []),
        ('{ file = "https://x/torch.whl" }', []),
    ],
)
def test_a_pipfile_takes_a_package_from_its_own_index_alone(wanted, expected):
    text = PIPFILE.format(wanted)
    assert [(spec, index) for spec, index, *_ in asked(text, "Pipfile")] == expected
    assert sources.read(text, "Pipfile").python == "3.11"
    assert asked(text, "Pipfile", "jax")[0][3:] == ("+dev", 11)


UV_LOCK = f"""version = 1
[[package]]
name = "torch"
version = "2.5.1"
source = {{ registry = "https://mirror.example/simple" }}
resolution-markers = ["sys_platform == 'darwin'"]
[[package]]
name = "torch"
version = "2.5.1+cu124"
source = {{ registry = "{CU}" }}
resolution-markers = ["sys_platform != 'darwin'"]
[[package]]
name = "numpy"
version = "1.26.4"
source = {{ registry = "https://mirror.example/simple" }}
"""
POETRY_LOCK = f"""[[package]]
name = "torch"
version = "2.5.1+cu124"
[package.source]
type = "legacy"
url = "{CU}"
reference = "cu"
"""
PYLOCK = f'lock-version = "1.0"\n[[packages]]\nname = "torch"\nversion = "2.5.1+cu124"\nindex = "{CU}"\n'
PIPFILE_LOCK = json.dumps(
    {
        "_meta": {"sources": [{"name": "cu", "url": CU}]},
        "default": {"numpy": {"version": "==1"}, "torch": {"version": "==2.5.1+cu124", "index": "cu"}},
    },
    indent=1,
)


@pytest.mark.parametrize(
    ("text", "file", "line"),
    [
        (UV_LOCK, "uv.lock", 8),
        (POETRY_LOCK, "poetry.lock", 2),
        (PYLOCK, "pylock.toml", 3),
        (PIPFILE_LOCK, "Pipfile.lock", 14),
    ],
)
def test_a_lock_settles_version_index_and_line(text, file, line):
    assert asked(text, file) == [("==2.5.1+cu124", CU, (), "", line)]


CONDA_LOCK = """version: 1
metadata:
  platforms: [linux-64, osx-64]
package:
- name: pytorch
  version: 2.1.0
  manager: conda
  platform: osx-64
- name: pytorch
  version: 2.1.1
  manager: conda
  platform: linux-64
- name: torchmetrics
  version: 1.2.0
  manager: pip
  platform: linux-64
"""


def test_a_conda_lock_tells_linux_and_the_manager():
    ask = sources.read(CONDA_LOCK, "conda-lock.yml")
    steps = {
        step.manager: [(item.name, item.spec, item.line) for item in step.requests] for step in ask.stages[0].installs
    }
    assert ask.kind == "lock"
    assert steps == {"conda": [("pytorch", "==2.1.1", 9)], "pip": [("torchmetrics", "==1.2.0", 13)]}


@pytest.mark.parametrize(
    ("text", "file"),
    [("a = [", "pyproject.toml"), ("a = [", "Pipfile"), ("x = 1\n", "uv.lock"), ("{", "Pipfile.lock"), ("a", "pylock.toml"),
     ("metadata:\npackage:\n", "conda-lock.yml")],
)  # fmt: skip
def test_what_is_no_project_or_lock_is_refused_by_name(text, file):
    with pytest.raises(InputError, match=file):
        sources.read(text, file)


def test_a_finder_goes_on_where_it_stopped_and_back_only_where_it_must():
    finder = Finder("a\nb\na\nc\n")
    assert [finder.line(word) for word in "baca"] == [2, 3, 4, 1]
    assert finder.line("z") == 0


def test_a_finder_gives_up_on_a_text_that_hides_what_it_holds():
    finder = Finder("a\nb\n")
    assert finder.line("b") == 2
    assert {finder.line(f"z{number}") for number in range(101)} == {0}
    assert finder.line("z") == 2


@pytest.mark.parametrize(
    ("text", "key"),
    [('project = "x"\n', "project is"), ("[project]\nname = 3\n", "project.name is"),
     ('[project]\ndependencies = "torch"\n', "project.dependencies is"), ("tool = []\n", "tool is")],
)  # fmt: skip
def test_a_key_of_another_kind_than_the_specifications_say_is_told(text, key):
    with pytest.raises(InputError, match=key):
        sources.read(text, "pyproject.toml")
