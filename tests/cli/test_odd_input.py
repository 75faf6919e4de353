"""What a careless or hostile person types: refused by name, or answered as meant; never something else in silence."""

import json
import os

import pytest

NO_MATRIX = "[tool.other]\nkey = 1\n"

REFUSED = [
    (["doctor", "--host", ""], "--host: an empty value"),
    (["doctor", "--report="], "--report: an empty value"),
    (["resolve", "torch", "--gpu", " "], "--gpu: an empty value"),
    (["inspect", ""], "an empty value"),
    (["doctor", "--timeout", "inf"], "--timeout: inf seconds"),
    (["doctor", "--timeout", "1e18"], "at most 30 days"),
    (["host", "--timeout", "2592001"], "at most 30 days"),
    (["probe", "--seconds", "1e300"], "--seconds: 1e+300 seconds"),
    (["matrix", "check", "."], ".: is a folder"),
    (["matrix", "check", "/dev/null"], "/dev/null: is no plain file"),
    (["matrix", "list", "cuda", "--matrix", "/dev/zero"], "larger than 16 MiB"),
    (["matrix", "list", "cuda", "--matrix", "/dev/null"], "schema is missing"),
    (["resolve", "--plan", "/dev/null"], "holds no plan; expected what `envcheck resolve REQ --format json` prints"),
    (["doctor", "--host", "a.toml", "--python", "b"], "--python and --host name two machines"),
    (["doctor", "--report", "a.md", "--image", "b"], "--report and --image name two machines"),
    (["doctor", "--report", "-", "--log", "-"], "read only once"),
    (["resolve", "torch", "--host", "-", "--host", "-"], "read only once"),
    (["resolve", "--plan", "p.json", "--cpu"], "--plan replays a stored answer"),
    (["lint", "-", "-"], "read only once"),
    (["lint", "Dockerfile", "--select", "base-python-msising"], "base-python-missing"),
    (["doctor", "--select", "zzz"], "`envcheck explain` lists them"),
    (["inspect", "https://"], "not an http address"),
    (["inspect", "http://["], "not an http address"),
    (["probe", "--framework", "numpy"], "torch, tensorflow, jax, paddle"),
    (["probe", "--expect", "vulkan"], "cuda12.6, rocm6.4 or cpu"),
    (["doctor", "--format", "yaml"], "sarif"),
    (["matrix", "check", "--format", "yaml"], "text, json"),
    (["doctor", "--host", "a\0b"], "is no name of a file"),
    (["resolve", "https://a.example/t.whl"], "`envcheck inspect https://a.example/t.whl` reads a wheel"),
    (["resolve", "https://a.example/;reboot"], "`envcheck inspect 'https://a.example/;reboot'` reads a wheel"),
    (["resolve", "torch==2.0.1; rm -rf /"], "not a requirement"),
    (["resolve", "./a;reboot.txt"], "read it with -r './a;reboot.txt'"),
]


@pytest.mark.parametrize(
    ("words", "message"), REFUSED, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_it_is_refused_by_name(envcheck, words, message):
    code, out, err = envcheck(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_a_file_with_a_null_byte_is_refused_with_its_line(envcheck, tmp_path):
    path = tmp_path / "Dockerfile"
    path.write_text("FROM python:3.12\nRUN pip install torch\0\n")
    code, out, err = envcheck("lint", str(path))
    assert (code, out) == (2, "")
    assert f"{path}:2: holds a null byte" in err


def test_what_is_no_matrix_is_no_matrix_for_every_command(envcheck, tmp_path):
    path = tmp_path / "rows.toml"
    path.write_text(NO_MATRIX)
    for words in (["check"], ["check", "--fix"], ["diff", str(path)]):
        code, out, err = envcheck("matrix", *words, str(path))
        assert (code, out) == (2, ""), words
        assert "tool.other is not a table" in err or "tool is" in err
    assert path.read_text() == NO_MATRIX


def test_every_unknown_image_setting_is_named_with_its_file(envcheck, tmp_path):
    config = tmp_path / "image.toml"
    config.write_text('[tool.envcheck.image]\nbuildr = "x"\nusr = "y"\n')
    code, _, err = envcheck("dockerfile", "--framework", "torch", "--cpu", "--config", str(config))
    assert code == 2
    assert err.count(f"{config}: [tool.envcheck.image]: unknown key") == 2


@pytest.mark.parametrize(
    "text", ["", "[tool.other]\n", "[tool.envcheck.matrix]\n", '[tool.envcheck]\nimage = "x"\n', "tool = 1\n"]
)
def test_a_file_named_for_its_wishes_must_have_some(envcheck, tmp_path, monkeypatch, text):
    words = ["dockerfile", "--framework", "torch==2.9.1", "--cpu"]
    config = tmp_path / "pyproject.toml"
    config.write_text(text)
    code, out, err = envcheck(*words, "--config", str(config))
    assert (code, out) == (2, "")
    assert f"{config}: has no table [tool.envcheck.image]" in err
    monkeypatch.chdir(tmp_path)  # of the project's own file nothing was said, so it need not be about images
    assert envcheck(*words)[0] == (2 if "image =" in text else 0)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [("--build-arg", "X", "NAME=VALUE"), ("--build-arg", "=1", "NAME=VALUE"), ("--secret", "a", "ID=FILE")],
)
def test_a_pair_without_its_equals_sign_is_refused_in_the_words_of_the_help(envcheck, option, value, expected):
    code, _, err = envcheck("build", "--framework", "torch==2.9.1", "--cpu", option, value)
    assert code == 2
    assert err == f"envcheck: {option}: '{value}'; expected {expected}\n"
    assert f"{option} {expected}" in envcheck("build", "--help")[1]


def test_a_dash_as_output_is_standard_output(envcheck, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, out, _ = envcheck("dockerfile", "--framework", "torch==2.9.1", "--cpu", "--output", "-")
    assert code == 0
    assert "\nFROM " in out
    assert list(tmp_path.iterdir()) == []


def test_a_link_as_output_stays_a_link(envcheck, tmp_path):
    target, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(target)
    assert envcheck("matrix", "list", "--output", str(link))[:2] == (0, "")
    assert link.is_symlink()
    assert "frameworks" in target.read_text()
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    code, _, err = envcheck("matrix", "list", "--output", str(loop))
    assert code == 2
    assert "circle" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":' * 50_000, "nested too deep"),
        ('{"memory_mib": ' + "9" * 5000 + "}", "a number has thousands of digits"),
        ('{"a": 1,}', "not valid JSON"),
    ],
)
def test_json_that_the_parser_cannot_take_is_told_in_plain_words(envcheck, tmp_path, text, message):
    path = tmp_path / "host.json"
    path.write_text(text)
    code, out, err = envcheck("doctor", "--host", str(path))
    assert (code, out) == (2, "")
    assert message in err
    assert "sys." not in err


def test_standard_input_is_named_in_messages(envcheck, monkeypatch):
    import io
    from types import SimpleNamespace

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"{")))
    code, _, err = envcheck("doctor", "--host", "-")
    assert code == 2
    assert err.startswith("envcheck: standard input:1")


def test_a_file_without_gpu_code_says_so(envcheck, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(os.urandom(1000))
    assert envcheck("inspect", str(path))[:2] == (0, "No GPU code was found.\n")


def test_codes_are_listed_and_found_in_any_case(envcheck):
    code, out, _ = envcheck("explain")
    listed = [line.split()[0] for line in out.splitlines()]
    assert code == 0
    assert listed == sorted(listed)
    assert {"driver-too-old-for-runtime", "base-python-missing"} <= set(listed)
    _, out, _ = envcheck("explain", "DRIVER-LIBRARY-MISMATCH", "--format", "json")
    assert [topic["code"] for topic in json.loads(out)["topics"]] == ["driver-library-mismatch"]


def test_what_only_lists_speaks_json_too(envcheck):
    assert "cuda" in json.loads(envcheck("matrix", "list", "--format", "json")[1])["subjects"]


def test_nothing_probed_is_not_fine(envcheck):
    code, out, _ = envcheck("probe", "--level", "driver", "--expect", "cpu")
    assert code == 3
    assert out.startswith("envcheck probe")
    assert "skipped" in out


def test_cells_that_read_alike_keep_names_of_their_own(envcheck):
    code, out, _ = envcheck(
        "ci", "torch>=2.9.1", "torch==2.9.1", "torch==2.9.1", "--runtime", "cpu", "--format", "github"
    )
    assert code == 0
    assert [cell["name"] for cell in json.loads(out)["include"]] == ["torch-2-9-1-cpu", "torch-2-9-1-cpu-2"]


def test_options_win_over_the_axes_of_a_file(envcheck, tmp_path):
    config = tmp_path / "pyproject.toml"
    config.write_text('[tool.envcheck.matrix]\nframeworks = ["torch==2.9.1"]\nruntime = ["cpu"]\npython = ["3.12"]\n')
    _, out, _ = envcheck("ci", "--config", str(config), "--python", "3.11", "--format", "json")
    assert [cell["python"] for cell in json.loads(out)["cells"]] == ["3.11"]


def test_each_commands_help_names_its_formats(envcheck):
    assert "text, json, requirements, uv, conda, pylock" in envcheck("resolve", "--help")[1]
    assert "sarif" in " ".join(envcheck("lint", "--help")[1].split())
    assert "sarif" not in envcheck("inspect", "--help")[1]
