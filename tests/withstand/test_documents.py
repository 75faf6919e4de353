"""YAML that is built to hurt, names of files that would speak for us, nonsense for the server, a machine without /proc."""

import json
import resource
import shutil
import subprocess

import pytest

DEEP = 100_000
LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)
YAML = {
    "laughs": LAUGHS,
    "deep": "z: " + "[" * 3000 + "]" * 3000 + "\nj: &j [a]\n",
    "itself": "j: &j [*j]\n",
    "object": "j: &j !!python/object/apply:os.system ['touch PWNED']\n",
    "digits": "j: &j [" + "9" * 100_000 + "]\n",
    "never": "j: &j [2001-99-99]\n",
}
FORMS = {
    "compose.yaml": "services:\n  s:\n    image: x\n    environment: *j\n",
    "environment.yml": "dependencies: *j\n",
    "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: *j\n",
}


def bounded():
    resource.setrlimit(resource.RLIMIT_AS, (800 << 20, 800 << 20))


@pytest.mark.parametrize("bomb", YAML)
@pytest.mark.parametrize("form", FORMS)
def test_yaml_that_names_itself_costs_little_and_runs_nothing(envcheck, form, bomb):
    (envcheck.folder / form).write_text(YAML[bomb] + ("" if bomb == "laughs" else FORMS[form]))
    code, _, err = envcheck("lint", form, timeout=100, preexec_fn=bounded)
    assert "Traceback" not in err
    assert code in {0, 1, 2, 3}  # 3: nothing of it could be read
    assert [path.name for path in envcheck.folder.iterdir()] == [form]


@pytest.mark.parametrize("text", [b"", b"\xff\xfe\n" * 100, b"[" * DEEP + b"\n", b"{}\n[]\nnull\n"], ids=len)
def test_a_server_that_is_told_nonsense_ends_with_its_input(envcheck, text):
    pytest.importorskip("mcp")
    (envcheck.folder / "in").write_bytes(text)
    with (envcheck.folder / "in").open("rb") as source:
        code, _, err = envcheck("mcp", stdin=source, timeout=100)
    assert (code, "Traceback" in err) == (0, False)


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare")
@pytest.mark.parametrize("words", [["doctor"], ["host"], ["resolve", "torch", "--cpu"], ["probe"]], ids=" ".join)
def test_without_proc_and_sys_it_works_or_says_what_it_lacks(envcheck, words):
    hidden = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && mount -t tmpfs none /sys && exec "$@"', "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode:
        pytest.skip("nothing may be mounted here")
    code, out, err = envcheck(*words, before=hidden, timeout=100)
    assert (code in {0, 1, 3}, bool(out or err), "Traceback" in err) == (True, True, False)


ODD = ["a\nb.txt", "\x1b[31mred.txt", "::error::x.txt", "<script>x.txt", "x\rq.txt", "\u202egnp.txt"]


@pytest.mark.parametrize("format_", ["text", "github", "markdown", "html", "sarif", "junit"])
def test_a_files_name_is_told_and_nothing_more(envcheck, format_):
    for name in ODD:
        (envcheck.folder / name).write_text("torch==99.0\n")
    _, out, err = envcheck("lint", *(f"./{name}" for name in ODD), "--format", format_)
    assert "Traceback" not in err
    assert not {"\x1b", "\r", "\u202e"} & {*out, *err}
    assert "<script>x" not in out or format_ in {"text", "github", "sarif"}
    assert not any(line.startswith("::error::x") for line in out.splitlines())
    assert format_ != "sarif" or json.loads(out)["runs"]
