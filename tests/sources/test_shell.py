"""Shell lines: which commands run, in which arm, with which settings; checked against bash's own reading as well."""

import shlex
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.sources import installers, shell

BASH = shutil.which("bash") or ""
needs_bash = pytest.mark.skipif(not BASH, reason="bash is not installed")


def steps(script):
    return installers.installs(shell.commands(script, 1))


def asked(script):
    return [request.text for step in steps(script) for request in step.requests]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("pip install a && pip install b", ["a", "b"]),
        ("pip install a; pip install b", ["a", "b"]),
        ("pip install a\npip install b", ["a", "b"]),
        ("pip install a & pip install b", ["a", "b"]),
        ("pip install a || pip install b", ["a", "b"]),
        ("yes | pip install a", ["a"]),
        ("pip install a 2>&1 | tee log", ["a"]),
        ("pip install a |& tee log", ["a"]),
        ("(cd x && pip install a)", ["a"]),
        ("(pip install a; pip install b) && pip install c", ["a", "b", "c"]),
        ("{ pip install a; }", ["a"]),
        ("! pip install a", ["a"]),
        ("for x in 1 2; do pip install a; done", ["a"]),
        ("while true; do pip install a; break; done", ["a"]),
        ("if test -f x; then pip install a; elif y; then pip install b; else pip install c; fi", ["a", "b", "c"]),
        ("case $X in 1) pip install a;; 2) pip install b ;; *) pip install c;; esac; pip install d", list("abcd")),
        ("case $X in\n(1) pip install a;;\nesac", ["a"]),
        ("f() { pip install a; }", []),
        ("pip install $(cat names)", []),
    ],
)
def test_commands_are_parted_where_the_shell_parts_them(script, expected):
    assert asked(script) == expected


@pytest.mark.parametrize(
    "script",
    [
        'echo "pip install a"',
        "echo 'x && pip install a'",
        r'echo "say \"x\" && pip install a"',
        r'echo "x\\" "&& pip install a"',
        r"echo \; pip install a",
        "true # && pip install a",
        "# pip install a",
        "true;# pip install a",
        'echo "# " "; pip install a"',
        "pip",
        "pip freeze > install",
        "python -m venv install",
        "pipx install a",
        "conda list a",
        "conda env list",
        "uv sync",
        "uv pip",
        "poetry lock a",
        "",
        ";;;",
        "X=1",
    ],
)
def test_what_is_only_said_installs_nothing(script):
    assert asked(script) == []


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("apt-get update # don't worry\npip install a", ["a"]),
        ("# it's\npip install a # isn't\npip install b", ["a", "b"]),
        ("echo 'it'\\''s' && pip install a", ["a"]),
        ("echo a\\'b && pip install a", ["a"]),
        ('echo "it\'s" && pip install a', ["a"]),
        ("echo '\"' && pip install a", ["a"]),
        ("echo '\\' && pip install a", ["a"]),
        ("pip install ./x#y a", ["a"]),
        ("echo ${#X} && pip install a", ["a"]),
    ],
)
def test_quotes_and_comments_swallow_no_command(script, expected):
    assert asked(script) == expected


@pytest.mark.parametrize(
    "redirection",
    [
        "> log",
        ">log",
        ">> log",
        "2>&1",
        "2> log",
        "2>/dev/null",
        "&> log",
        "&>/dev/null",
        "< answers",
        "1>&2",
        "> log 2>&1",
    ],
)
def test_a_redirection_is_no_package(redirection):
    assert asked(f"pip install torch==2.0.1 {redirection}") == ["torch==2.0.1"]
    assert asked(f"pip install torch==2.0.1 {redirection} && pip install jax") == ["torch==2.0.1", "jax"]


@pytest.mark.parametrize(
    "before",
    [
        "sudo",
        "sudo -H",
        "sudo -E -H",
        "sudo -u root",
        "sudo --user root -H",
        "env",
        "env -u PIP_INDEX_URL",
        "env A=1",
        "A=1 B='x y'",
        "time -p",
        "nohup",
        "exec",
        "eval",
        "sudo env A=1",
        "conda run -n base",
        "conda run --no-capture-output -p /env",
        "/opt/conda/bin/conda run -n base",
        "mamba run",
        "poetry run",
        "uv run",
        "/root/.local/bin/uv run --with x",
    ],
)
def test_what_stands_before_a_command_is_not_the_command(before):
    assert asked(f"{before} pip install torch==2.0.1") == ["torch==2.0.1"]


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("pip install a", ""),
        ("pip3 install a", ""),
        ("pip3.10 install a", "3.10"),
        ("/usr/bin/pip3.9 install a", "3.9"),
        ("python -m pip install a", ""),
        ("python3 -m pip install a", ""),
        ("python3.11 -m pip install a", "3.11"),
        ("/opt/x/bin/python3.12 -m uv pip install a", "3.12"),
        ("uv pip install --python 3.13 a", "3.13"),
        ("uv pip install -p python3.13 a", "3.13"),
    ],
)
def test_the_python_that_a_command_names(command, python):
    (step,) = steps(command)
    assert ([request.name for request in step.requests], step.python) == (["a"], python)


@pytest.mark.parametrize(
    ("script", "guarded"),
    [
        ("pip install a", [False]),
        ("pip install a || true", [True, False]),
        ("pip install a && true", [False, False]),
        ("pip install a | tee log", [True, False]),
        ("pip install a & wait", [True, False]),
        ("(pip install a) || true", [True, False]),
        ("if pip install a; then b; fi", [True, False]),
        ("while pip install a; do b; done", [True, False]),
        ("! pip install a", [True]),
        ("bash -c 'pip install a || true'", [True, False]),
        ("bash -c 'pip install a' || true", [True, False]),
    ],
)
def test_whose_failure_stops_nothing(script, guarded):
    found = [command for command in shell.commands(script, 1) if command.words != ("fi",)]
    assert [command.guarded for command in found if command.words != ("done",)] == guarded


@pytest.mark.parametrize(
    ("script", "arms"),
    [
        ("pip install a", [""]),
        ("if x; then pip install a; fi; pip install b", ["1.0", ""]),
        ("if x; then pip install a; else pip install b; fi", ["1.0", "1.1"]),
        ("if x; then pip install a; elif y; then pip install b; else pip install c; fi", ["1.0", "1.1", "1.2"]),
        ("if x; then if y; then pip install a; fi; pip install b; fi", ["2.0", "1.0"]),
        ("if x; then a; else if y; then pip install a; else pip install b; fi; fi", ["2.0", "2.1"]),
        ("while x; do if y; then pip install a; fi; done; pip install b", ["1.0", ""]),
        ("case $X in a) if y; then pip install a; fi;; b) pip install b;; esac", ["2.0", "1.2"]),
        ("if x; then :; fi; if y; then pip install a; fi", ["2.0"]),
        ("case $X in a) pip install a;; b) pip install b;; esac; pip install c", ["1.1", "1.2", ""]),
        ("case $X in\na) pip install a;;\nb) pip install b;;\nesac", ["1.1", "1.2"]),
        ("fi; esac; else pip install a", [""]),
        ("bash -c 'if x; then pip install a; fi'", ["1.0"]),
    ],
)
def test_the_arm_that_a_step_stands_in(script, arms):
    assert [step.branch for step in steps(script)] == arms


@pytest.mark.parametrize(
    ("script", "index"),
    [
        ("PIP_INDEX_URL=https://a pip install x", "https://a"),
        ("export PIP_INDEX_URL=https://a\npip install x", "https://a"),
        ("export FOO PIP_INDEX_URL=https://a && pip install x", "https://a"),
        ("export PIP_INDEX_URL=https://a; PIP_INDEX_URL=https://b pip install x", "https://b"),
        ("export PIP_INDEX_URL=https://a; pip install x -i https://c", "https://c"),
        ("bash -c 'export PIP_INDEX_URL=https://a; pip install x'", "https://a"),
        ("PIP_INDEX_URL=https://a bash -c 'pip install x'", "https://a"),
        ("pip install x; export PIP_INDEX_URL=https://a", ""),
        ("PIP_INDEX_URL=https://a true; pip install x", ""),
        ("PIP_INDEX_URL=https://a?x=1 pip install x", "https://a?x=1"),
        ("UV_INDEX_URL=https://a pip install x", ""),
        ("UV_INDEX_URL=https://a uv pip install x", "https://a"),
        ("UV_INDEX_URL=https://a UV_DEFAULT_INDEX=https://b uv pip install x", "https://b"),
    ],
)
def test_the_index_that_variables_set(script, index):
    assert [step.index for step in steps(script)] == [index]


@pytest.mark.parametrize(
    ("script", "options"),
    [
        ("PIP_PRE=1 pip install x", ("--pre",)),
        ("PIP_PRE=0 pip install x", ()),
        ("PIP_PRE=false pip install x", ()),
        ("PIP_PRE=1 pip install --pre x", ("--pre",)),
        ("PIP_PRE=1 uv pip install x", ()),
        ("UV_TORCH_BACKEND=cu128 uv pip install x", ("--torch-backend=cu128",)),
        ("UV_TORCH_BACKEND=cu128 uv pip install --torch-backend=cpu x", ("--torch-backend=cpu",)),
        ("UV_TORCH_BACKEND=cu128 pip install x", ()),
        ("PIP_PRE=1 apt-get install x", ()),
    ],
)
def test_the_options_that_variables_set(script, options):
    assert [step.options for step in steps(script)] == [options]


def test_further_indexes_come_from_variables_where_the_command_names_none():
    (step,) = steps("UV_INDEX='torch=https://a/whl https://b' uv pip install x")
    assert step.extra_indexes == ("https://a/whl", "https://b")
    (step,) = steps("PIP_EXTRA_INDEX_URL=https://a PIP_FIND_LINKS='https://l https://m?x=y' pip install x")
    assert (step.extra_indexes, step.find_links) == (("https://a",), ("https://l", "https://m?x=y"))
    (step,) = steps("PIP_EXTRA_INDEX_URL=https://a pip install x --extra-index-url https://z")
    assert step.extra_indexes == ("https://z",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pytorch", "pytorch"),
        ("pytorch=1.12", "pytorch==1.12.*"),
        ("pytorch=1.12.*", "pytorch==1.12.*"),
        ("pytorch==1.12", "pytorch==1.12"),
        ("pytorch = 1.12", "pytorch==1.12.*"),
        ("pytorch=1.12.1=py3.9_cuda11.3_cudnn8.3.2_0", "pytorch==1.12.1"),
        ("pytorch::pytorch=2.1", "pytorch==2.1.*"),
        ("https://repo.example/x::Torch_Vision>=0.10", "torch-vision>=0.10"),
        ("numpy 1.21", "numpy==1.21"),
        ("numpy 1.21 py310_0", "numpy==1.21"),
        ("numpy >=1.20,<2", "numpy>=1.20,<2"),
        ("'python>=3.8'", "python>=3.8"),
    ],
)
def test_match_specifications_of_conda(text, expected):
    assert installers.conda_request(text, 1).text == expected


@pytest.mark.parametrize("text", ["", "=1.0", "!!"])
def test_what_is_no_match_specification(text):
    assert installers.conda_request(text, 1) is None


@pytest.mark.parametrize(
    ("script", "names", "channels", "files"),
    [
        ("conda install -c a --channel b x y=1", ["x", "y==1.*"], ("a", "b"), ()),
        ("conda create -n env --override-channels -c a x", ["x"], ("a",), ()),
        ("mamba env update -f env.yml -n base", [], (), ("env.yml",)),
        ("micromamba install --file=a.txt --file b.txt -p /x -y z", ["z"], (), ("a.txt", "b.txt")),
        ("conda install -c", [], ("",), ()),
    ],
)
def test_steps_of_conda(script, names, channels, files):
    (step,) = steps(script)
    assert step.manager == "conda"
    assert ([request.text for request in step.requests], step.channels, step.files) == (names, channels, files)


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("apt-get install -y a b=1.2-3", ["a", "b==1.2-3"]),
        ("apt-get -y --no-install-recommends install a", ["a"]),
        ("apt install libc6:i386=2.31", ["libc6==2.31"]),
        ("apk add --no-cache a", ["a"]),
        ("zypper in -y A", ["a"]),
        ("/usr/bin/dnf install a", ["a"]),
        ("yum install a", ["a"]),
    ],
)
def test_steps_of_the_distributions_managers(script, names):
    (step,) = steps(script)
    assert step.manager == "apt"
    assert [request.text for request in step.requests] == names


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("poetry add torch@2.0.1 numpy@^1.2", ["torch==2.0.1"]),
        ("pdm add 'torch>=2'", ["torch>=2"]),
        ("pipenv install torch==2.0.1", ["torch==2.0.1"]),
        ("uv add torch --index https://i", ["torch"]),
    ],
)
def test_steps_of_project_managers(script, names):
    (step,) = steps(script)
    assert [request.text for request in step.requests] == names


def test_what_uv_syncs_are_files():
    (step,) = steps("uv pip sync a.txt b.txt --index-url https://i")
    assert step.files == ("a.txt", "b.txt")


def test_what_runs_when_the_container_starts_installs_nothing_into_the_image():
    assert installers.installs(shell.commands("pip install a", 1, build=False)) == ()


def test_each_command_has_the_line_it_starts_on():
    script = "a\nb && c\n\nd \\\n  e\nbash -c 'f\ng'\nh"
    assert [(command.words[0], command.line) for command in shell.commands(script, 10)] == [
        ("a", 10),
        ("b", 11),
        ("c", 11),
        ("d", 13),
        ("f", 15),
        ("g", 16),
        ("h", 17),
    ]


@pytest.mark.parametrize(
    ("text", "values", "filled"),
    [
        ("${X-d}", {}, "d"),
        ("${X-d}", {"X": "1"}, "1"),
        ("${X:-d}", {"X": ""}, "d"),
        ("${X+y}", {"X": "1"}, "y"),
        ("${X:-}", {}, ""),
        ("$X$Y", {"X": "1", "Y": "2"}, "12"),
        ("${X}", {"X": "$Y", "Y": "2"}, "2"),
        ("$X", {"X": "$X"}, "$X"),
        ("${X", {"X": "1"}, "${X"),
        ("a$", {}, "a$"),
    ],
)
def test_variables_and_their_defaults(text, values, filled):
    assert shell.fill(text, values) == filled


word = st.text(st.sampled_from("abz0 '\"\\;&|#()<>$=\t"), min_size=1, max_size=8)


@given(
    st.lists(st.lists(word, min_size=1, max_size=3), min_size=1, max_size=4),
    st.sampled_from([" && ", "; ", "\n", " || "]),
)
def test_quoted_words_come_back_as_they_were(commands, separator):
    script = separator.join(shlex.join(["run", *words]) for words in commands)
    assert [list(command.words) for command in shell.commands(script, 1)] == [["run", *words] for words in commands]


@given(st.text(st.sampled_from("ab'\"\\;&|#() \n<>$={}"), max_size=40))
def test_pieces_leave_nothing_but_separators_out(script):
    pieces = shell._pieces(script)
    end = 0
    for offset, piece in pieces:
        assert script[offset : offset + len(piece)] == piece
        assert script[end:offset].startswith("#") or set(script[end:offset]) <= set("&|;()\n")
        end = offset + len(piece)
    assert end == len(script) or script[end] == "#"


def traced(script):
    """The commands named A that bash runs, each with its words, sorted: those in the background come when they come."""
    body = 'A() { local x s=A; for x; do s+="<$x>"; done; printf \'%s\\n\' "$s"; } >&3\n' + script
    done = subprocess.run(
        [BASH, "-c", f"exec 3>&1 >/dev/null 2>&1 </dev/null; eval {shlex.quote(body)}; code=$?; wait; exit $code"],
        capture_output=True,
        text=True,
        timeout=20,
        env={"PATH": "/nonexistent"},
    )
    return sorted(done.stdout.splitlines())


@needs_bash
@pytest.mark.parametrize(
    "script",
    [
        "A 'x y' && A b; A c",
        'A "a\\"b" && A "c ; d"\nA e',
        "A a # don't; A b\nA c",
        "(A a; A b) && A c",
        "A a & A b",
        "A a\\;b ; A c",
        "A 'it'\\''s' | A z",
        "case q in p) A a;; q) A b;; esac; A c",
        "if true; then A a 'b;c'; fi",
        "A a#b ; A '#c' # A d",
        "{ A a; A b; }",
        "A a \\\n  b \\\n c && A d",
    ],
)
def test_every_command_that_bash_runs_is_seen_with_the_same_words(script):
    seen = {
        "A" + "".join(f"<{word}>" for word in command.words[1:])
        for command in shell.commands(script, 1)
        if command.words[0] == "A"
    }
    ran = set(traced(script))
    assert ran
    assert ran <= seen


@needs_bash
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(["A a", "A 'x;y'", 'A "p\\"q"', "A it\\'s", "A b#c"]), min_size=1, max_size=4),
    st.sampled_from(["; ", "\n", " # don't\n", ";A z;"]),
)
def test_scripts_of_plain_commands_read_as_bash_reads_them(parts, joint):
    script = joint.join(parts)
    seen = sorted("A" + "".join(f"<{word}>" for word in command.words[1:]) for command in shell.commands(script, 1))
    assert seen == traced(script)


def test_values_that_double_over_and_over_stay_bearable():
    values = {"A": "xx"}
    for _ in range(60):
        values["A"] = shell.fill("$A$A", values)
    assert len(values["A"]) < 1_000_000
    assert len(shell.fill("$A" * 10_000, values)) < 1_000_000
