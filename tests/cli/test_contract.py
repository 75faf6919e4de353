"""The command line's contract: exit codes, messages, streams, no partial files, nothing heavy at start-up."""

import json
import subprocess
import sys

import pytest

from compat import __version__, cli

OLD_DRIVER = """
os = "ubuntu22.04"
driver = "470.82.01"
gpus = [{name = "NVIDIA A100-SXM4-40GB", vendor = "nvidia", target = "sm_80", driver = "nvidia"}]
packages = {torch = "2.9.1"}
builds = {torch = {runtime = "cuda12.8", kernels = ["sm_80"]}}
"""
SOUND = OLD_DRIVER.replace("470.82.01", "570.124.06")


def test_every_command_has_help_with_an_example(envcheck):
    for name in cli.COMMANDS:
        code, out, _ = envcheck(name, "--help")
        assert code == 0
        if name not in {"matrix", "gpu"}:  # their commands have it
            assert "Example:" in out, name


def test_the_overview_lists_every_command_and_the_exit_codes(envcheck):
    code, out, _ = envcheck("--help")
    assert code == 0
    assert all(name in out for name in cli.COMMANDS)
    assert "130 interrupted" in out


def test_the_overview_cuts_no_sentence_off(envcheck, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for words in (["--help"], ["matrix", "--help"]):
        lines = envcheck(*words)[1].splitlines()
        told = lines[lines.index("Commands:") + 1 :]
        told = told[: told.index("")] if "" in told else told
        assert len(told) == (len(cli.COMMANDS) if words == ["--help"] else 5)
        assert all(line.endswith(".") and not line.endswith("...") for line in told), told


def test_left_out_cells_are_told_once(envcheck):
    words = ["ci", "torch==2.9.1", "jax==0.6.2", "--runtime", "cuda12.6", "--python", "3.12"]
    code, out, err = envcheck(*words)
    assert (code, err) == (0, "")
    assert "jax-0-6-2-cuda12-6-py3-12: left out" in out
    _, out, err = envcheck(*words, "--format", "github")
    assert "jax" not in out
    assert "left out jax-0-6-2-cuda12-6-py3-12: " in err


def test_the_subjects_of_the_matrix_come_with_their_titles(envcheck):
    lines = dict(line.split(maxsplit=1) for line in envcheck("matrix", "list")[1].splitlines())
    assert lines["cuda"] == "CUDA releases"
    assert lines["gpus"] == "GPU products"


def test_version_is_answered_without_importing_the_command_line():
    script = "import sys; sys.argv=['envcheck','--version']; from compat.__main__ import main; main(); print(sorted(set(sys.modules) & {'typer','json','dataclasses'}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"envcheck {__version__}", "[]"]


@pytest.mark.parametrize(
    ("words", "unwanted"),
    [
        (
            ["doctor", "--format", "json", "--fail-on", "never"],
            {"requests", "docker", "jinja2", "rich", "importlib.metadata", "asyncio", "yaml"},
        ),
        (
            ["resolve", "torch==2.9.1", "--gpu", "A100", "--driver", "570.26", "--format", "json"],
            {
                "requests",
                "docker",
                "jinja2",
                "rich",
                "importlib.metadata",
                "asyncio",
                "yaml",
                "compat.changes",
                "compat.findings",
                "compat.rules",
                "packaging",
            },
        ),
        (["--help"], {"compat.cli.doctor", "compat.plan", "rich"}),
    ],
)
def test_start_up_stays_lean(words, unwanted, tmp_path):
    script = f"import sys; from compat import cli; base=set(sys.modules); cli.run({words!r}); print(sorted(set(sys.modules) & {unwanted!r}), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = set(eval(done.stderr.strip().splitlines()[-1]))
    typer_brings = {"importlib.metadata", "rich", "asyncio"} & _imports_of("typer")
    assert loaded <= typer_brings


def _imports_of(module):
    """What Typer itself loads to run an empty command (its releases differ)."""
    script = "import sys, typer; app=typer.Typer(rich_markup_mode=None); app.command()(lambda: None); app(standalone_mode=False, args=[]); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(eval(done.stdout))


def test_a_fault_is_exit_1_and_its_cure_exit_0(envcheck, host_file):
    code, out, _ = envcheck("doctor", "--host", host_file(OLD_DRIVER), "--format", "json")
    document = json.loads(out)
    assert code == 1
    assert document["findings"][0]["code"] == "driver-too-old-for-runtime"
    assert any(
        item["fact"] == "driver" and item["value"] == "470.82.01" for item in document["findings"][0]["evidence"]
    )
    code, out, _ = envcheck("doctor", "--host", host_file(SOUND), "--format", "json")
    assert (code, json.loads(out)["summary"]["ok"]) == (0, True)


def test_fail_on_never_reports_without_failing(envcheck, host_file):
    code, out, _ = envcheck("doctor", "--host", host_file(OLD_DRIVER), "--fail-on", "never")
    assert code == 0
    assert "driver-too-old-for-runtime" in out


def test_select_and_ignore_choose_by_code(envcheck, host_file):
    code, out, _ = envcheck("doctor", "--host", host_file(OLD_DRIVER), "--ignore", "driver-too-old", "--format", "json")
    assert code == 0
    assert "driver-too-old-for-runtime" not in {item["code"] for item in json.loads(out)["findings"]}
    code, _, err = envcheck("doctor", "--host", host_file(OLD_DRIVER), "--select", "driver-to-old")
    assert code == 2
    assert "driver-too-old-for-runtime" in err


def test_a_wish_that_needs_a_newer_driver_in_an_image_is_said_to(envcheck, host_file):
    _, out, _ = envcheck("doctor", "torch==2.9.1", "--host", host_file(OLD_DRIVER), "--format", "json")
    document = json.loads(out)
    said = [*document["fine"], *(item["why"] for item in document["unchecked"])]
    assert any("in an image with cuda-compat-12-8" in text for text in said)


def test_wishes_that_cannot_be_met_are_a_finding(envcheck, host_file):
    host = host_file(OLD_DRIVER.replace("A100", "GeForce RTX 3090"))
    code, out, _ = envcheck("doctor", "torch==2.9.1", "--host", host, "--format", "json")
    assert code == 1
    assert "wish-unsatisfiable" in {finding["code"] for finding in json.loads(out)["findings"]}


BAD = [
    (["resolve", "troch"], "did you mean torch"),
    (["resolve", "torch==9.9"], "`envcheck matrix show torch` lists them"),
    (["resolve", "torch=2"], "did you mean torch==2?"),
    (["resolve", "torch", "--gpu", "RTX 9999 Ultra"], "unknown GPU"),
    (["resolve"], "nothing was asked for"),
    (["resolve", "torch", "--cpu", "--cuda", "12.6"], "--cpu"),
    (["resolve", "torch", "--prefer", "fastest"], "newest"),
    (["resolve", "torch", "--format", "yaml"], "requirements"),
    (["resolve", "torch", "--gpu", "A100", "--driver", "new"], "--driver: 'new'"),
    (["resolve", "torch", "--host", "/nonexistent.json"], "No such file"),
    (["doctor", "--host", "a", "--report", "b"], "two machines"),
    (["doctor", "--fail-on", "bad"], "certain, error, warning, info or never"),
    (["doctor", "--log", "/nonexistent"], "No such file"),
    (["dockerfile"], "nothing was asked for"),
    (["dockerfile", "--framework", "torch", "--cpu", "--builder", "x"], "buildkit or classic"),
    (["lint", "/nonexistent"], "No such file"),
    (["inspect", "no-such-package-anywhere"], "neither a path nor an installed package"),
    (["explain", "driver-to-old"], "driver-too-old-for-runtime"),
    (["matrix", "show", "nothing at all"], "nothing is known"),
    (["matrix", "check", "/nonexistent.toml"], "no such file"),
    (["ci", "torch", "--runtime", "vulkan"], "cuda12.6, rocm6.4 or cpu"),
    (["frobnicate"], "frobnicate"),
    (["resolve", "--frobnicate"], "frobnicate"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input_is_one_clear_message_and_exit_2(envcheck, words, message):
    code, out, err = envcheck(*words)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_output_goes_to_a_file_whole_or_not_at_all(envcheck, tmp_path):
    target = tmp_path / "plan.json"
    words = ["resolve", "torch==2.9.1", "--gpu", "A100", "--driver", "570.26", "--format", "json", "--output"]
    assert envcheck(*words, str(target)) == (0, "", "")
    assert json.loads(target.read_text())["status"] == "plan"
    code, out, err = envcheck(*words, str(tmp_path / "missing" / "plan.json"))
    assert (code, out) == (2, "")
    assert "does not exist" in err
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_lock_file_is_never_half_an_answer(envcheck):
    code, out, err = envcheck(
        "resolve", "torch==2.6.0", "--gpu", "RTX 5090", "--driver", "570.26", "--format", "requirements"
    )
    assert (code, out) == (1, "")
    assert "do not fit together" in err


def test_the_ignore_file_is_written_beside_the_dockerfile(envcheck, tmp_path):
    config = tmp_path / "pyproject.toml"
    config.write_text('[tool.envcheck.image]\nlock = "lock.txt"\n[tool.envcheck.image.files]\n"app" = "/app/app"\n')
    ignore = tmp_path / "Dockerfile.dockerignore"
    words = ["dockerfile", "--framework", "jax", "--cpu", "--config", str(config), "--ignore-file", str(ignore)]
    assert envcheck(*words, "--output", str(tmp_path / "Dockerfile"))[0] == 0
    lines = ignore.read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["*", "!app", "!lock.txt"]
    assert envcheck(*words, "--output", str(tmp_path / "Dockerfile"))[0] == 0  # its own are written again


@pytest.mark.parametrize("form", ["text", "compose", "devcontainer", "apptainer"])
@pytest.mark.parametrize("option", ["--output", "--ignore-file"])
def test_no_file_of_a_person_is_written_over(envcheck, tmp_path, form, option):
    mine, words = tmp_path / "mine", ["dockerfile", "jax", "--cpu", "--format", form]
    mine.write_text("my own\n")
    code, out, err = envcheck(*words, option, str(mine))
    assert (code, out, mine.read_text()) == (2, "", "my own\n")
    assert f"{option} {mine}: is there already, and envcheck did not write it" in err
    code, out, err = envcheck(*words, option, str(tmp_path))
    assert (code, out) == (2, "")
    assert f"{option} {tmp_path}: is a folder" in err
    other = tmp_path / "other"
    assert [envcheck(*words, "--output", str(other))[0] for _ in range(2)] == [0, 0]


def test_a_stored_plan_gives_the_same_dockerfile(envcheck, tmp_path):
    words = ["--gpu", "A100", "--driver", "525.85.12"]
    stored = tmp_path / "plan.json"
    envcheck("resolve", "torch==2.0.1", *words, "--format", "json", "--output", str(stored))
    _, direct, _ = envcheck("dockerfile", "--framework", "torch==2.0.1", *words)
    code, replayed, _ = envcheck("dockerfile", "--plan", str(stored))
    assert code == 0
    assert replayed == direct


def test_hostile_host_files_are_refused_by_name(envcheck, tmp_path):
    for text in (
        "{",
        "[[[[",
        '{"gpus": [{"target": {"a": 1}}]}',
        '{"schema": "x", "drvier": 1}',
        "\x00\x01",
        '{"driver": ' + "[" * 5000,
    ):
        path = tmp_path / "hostile.json"
        path.write_text(text)
        code, out, err = envcheck("doctor", "--host", str(path))
        assert (code, out) == (2, ""), text[:20]
        assert "hostile.json" in err


def test_an_interrupt_is_130(envcheck, monkeypatch):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("compat.app.matrices.load", interrupted)
    code, _, err = envcheck("resolve", "torch")
    assert code == 130
    assert "interrupted" in err


def test_a_reader_that_goes_away_is_no_error():
    script = "from compat import cli; import sys; sys.exit(cli.run(['matrix', 'list', 'gpus']))"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(timeout=60)
    assert b"Traceback" not in errors


def test_what_is_not_known_is_no_plan_for_a_dockerfile(envcheck, tmp_path):
    words = ["--gpu", "GTX 1080 Ti", "--gpu", "RTX 5090", "--driver", "580.65.06"]
    code, out, _ = envcheck("resolve", "torch==2.11.0", *words, "--format", "json")
    assert (code, json.loads(out)["status"] == "plan") == (1, False)
    assert envcheck("dockerfile", "--framework", "torch==2.11.0", *words)[:2] == (1, "")
    stored = tmp_path / "unknown.json"
    stored.write_text(out)
    assert envcheck("dockerfile", "--plan", str(stored))[0] == 2
