"""What coding assistants get: the advice whose every command runs, and the server, asked by a real client over stdio."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from published_schemas import schemas

from compat import serving
from compat.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/assistants.md").read_text("utf-8")
ADVISED = re.findall(r"^ *(envcheck .*)$", PAGE, re.MULTILINE)
HOST = 'driver = "470.82.01"\ngpus = [{name = "A100", target = "sm_80", vendor = "nvidia"}]\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a requirements file that clashes, a host file, and links that lead out of it."""
    folder = tmp_path / "project"
    (folder / "linked").mkdir(parents=True)
    (folder / "requirements.txt").write_text("torch==2.4.0\ntorchvision==0.18.0\n")
    (folder / "host.toml").write_text(HOST)
    (tmp_path / "host.toml").write_text(HOST)
    (tmp_path / "requirements.txt").write_text("torch\n")
    (folder / "linked/requirements.txt").symlink_to(tmp_path / "requirements.txt")
    (folder / "out").symlink_to(tmp_path)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("line", ADVISED)
def test_every_command_of_the_advice_runs(envcheck, line):
    words = shlex.split(line)[1:]
    code, out, err = envcheck(*words)
    assert code in {0, 1, 3}, err
    if "json" in words:
        assert json.loads(out)["schema"] in schemas()


def test_the_advice_has_a_command_for_each_of_its_steps():
    assert len(ADVISED) >= len(re.findall(r"^\d\. ", PAGE, re.MULTILINE)) == 5


def test_explain_prints_the_advice(envcheck):
    assert envcheck("explain", "--assistant")[1] == PAGE
    told = json.loads(envcheck("explain", "--assistant", "--format", "json")[1])
    assert (told["schema"], told["assistant"]) == ("envcheck.explain/1", PAGE)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("doctor", {"host": "../host.toml"}),
        ("doctor", {"host": "-"}),
        ("resolve", {"requirements": ["torch"], "host": "/etc/hostname"}),
        ("lint", {"files": ["out/requirements.txt"]}),
        ("lint", {"files": ["linked"]}),
        ("lint", {"files": ["-"]}),
        ("inspect", {"subject": "out/host.toml"}),
        ("inspect", {"subject": "/bin/true"}),
    ],
)
def test_no_path_outside_of_the_root_is_opened(project, name, given):
    with pytest.raises(InputError, match="outside of the root"):
        serving.answer(name, given, project)


@pytest.mark.parametrize("subject", ["torch==2.9.1", "https://download.pytorch.org/whl/torch.whl"])
def test_the_server_uses_no_network(project, subject):
    with pytest.raises(InputError, match="no network"):
        serving.answer("inspect", {"subject": subject}, project)


ASKED = [
    ("doctor", {"host": "host.toml", "requirements": ["torch==2.9.1"]}, "envcheck.doctor/1"),
    ("doctor", {"pasted": "Driver Version: 470.82.01    CUDA Version: 11.4"}, "envcheck.doctor/1"),
    ("resolve", {"requirements": ["torch"], "gpus": ["A100"], "driver": "570.26"}, "envcheck.resolve/1"),
    ("explain", {"subject": "root-user"}, "envcheck.explain/1"),
    ("inspect", {"subject": "host.toml", "gpus": ["V100"]}, "envcheck.inspect/1"),
    ("lint", {"files": ["requirements.txt"]}, "envcheck.doctor/1"),
    ("matrix", {"subject": "sm_120"}, "envcheck.matrix/1"),
]
REFUSED = [
    ("doctor", {"host": "../host.toml"}, "outside of the root"),
    ("resolve", {}, "'requirements' is a required property"),
    ("resolve", {"requirements": ["torch"], "gpu": ["A100"]}, "'gpu' was unexpected"),
    ("matrix", {"subject": "no such thing"}, "nothing is known"),
    ("build", {}, "no such tool"),
]


def test_a_real_client_gets_typed_answers_over_stdio(project):
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    import anyio
    from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client

    words = ["-m", "compat", "mcp", "--root", str(project)]

    async def talk():
        async with (
            stdio_client(StdioServerParameters(command=sys.executable, args=words)) as streams,
            ClientSession(*streams) as session,
        ):
            assert (await session.initialize()).instructions == PAGE
            tools = (await session.list_tools()).tools
            assert {tool.name for tool in tools} == {"doctor", "resolve", "explain", "inspect", "lint", "matrix"}
            assert all(tool.annotations.read_only_hint and tool.output_schema for tool in tools)
            for name, given, schema in ASKED:  # the client itself holds each answer against the tool's schema
                told = await session.call_tool(name, given)
                assert not told.is_error, told.content
                assert told.structured_content["schema"] == schema
                assert json.loads(told.content[0].text) == told.structured_content
            for name, given, why in REFUSED:
                told = await session.call_tool(name, given)
                assert told.is_error
                assert why in told.content[0].text
            pages = (await session.list_resources()).resources
            assert len(pages) > 100
            page = await session.read_resource("envcheck://findings/root-user")
            assert "root-user" in page.contents[0].text
            with pytest.raises(MCPError, match="no page"):
                await session.read_resource("envcheck://findings/no-such-code")

    anyio.run(talk)


def test_without_the_extra_the_server_says_what_to_install(envcheck, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    code, out, err = envcheck("mcp")
    assert (code, out) == (2, "")
    assert "pip install 'envcheck-gpu[mcp]'" in err


def test_a_root_that_is_no_folder_is_refused(envcheck, tmp_path):
    code, _, err = envcheck("mcp", "--root", str(tmp_path / "nowhere"))
    assert code == 2
    assert "is no folder" in err
