"""Packages without rows judged by what an index publishes (``--online``) or a refresh recorded; the index is local."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from compat.registry import indexes

FILES = {
    "old-friend": [("old_friend-1.0-py3-none-any.whl", False), ("old_friend-2.0-py3-none-any.whl", True)],
    "young-blood": [("young_blood-3.1-cp314-cp314-manylinux_2_28_x86_64.whl", False)],
    "both-ways": [("both_ways-1.0-cp38-cp38-manylinux2014_x86_64.whl", False), ("both_ways-1.0.tar.gz", False)],
    "only-source": [("only_source-1.0.tar.gz", False)],
    "lacking": [("lacking-1.0-py3-none-any.whl", False)],
}
METADATA = {
    "old_friend-1.0": "Requires-Python: >=3.8\nRequires-Dist: torch<2.7\nRequires-Dist: jax; extra == 'all'\n",
    "young_blood-3.1": "Requires-Python: >=3.14\n",
    "both_ways-1.0": "",
}


class Index(BaseHTTPRequestHandler):
    asked: list = []  # noqa: RUF012

    def do_GET(self):
        self.asked.append(self.path)
        name = self.path.strip("/").rpartition("/")[2]
        body = None
        if name in FILES:
            body = json.dumps({"files": [{"url": f"/files/{file}", "yanked": gone} for file, gone in FILES[name]]})
        elif name.endswith(".metadata") and (found := METADATA.get("-".join(name.split("-")[:2]))) is not None:
            body = f"Metadata-Version: 2.1\n{found}"
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        self.end_headers()
        self.wfile.write((body or "").encode())

    def log_message(self, *_args):
        return


@pytest.fixture
def index(monkeypatch):
    Index.asked.clear()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{httpd.server_port}/simple")
    yield Index
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture
def resolved(envcheck, index):
    def call(*words):
        code, out, err = envcheck(
            "resolve", "torch==2.9.1", *words, "--gpu", "H100", "--driver", "570.86.10", "--format", "json"
        )
        return code, json.loads(out), err

    return call


def test_nothing_is_asked_unless_told_to(index, resolved):
    _, answer, _ = resolved("old-friend")
    assert answer["plan"]["unjudged"] == ["old-friend"]
    assert index.asked == []


def test_published_requirements_decide(index, resolved):
    code, answer, _ = resolved("old-friend", "--online")
    assert code == 1
    told = json.dumps(answer["conflicts"])
    assert "old-friend 1.0 requires torch<2.7" in told  # 2.0 was withdrawn, and an extra asks for nothing
    assert "--online" in json.dumps(answer["fixes"])


def test_published_tags_decide(index, resolved):
    code, answer, _ = resolved("young-blood", "--online")
    assert code == 0
    assert answer["plan"]["python"] == "3.14"
    (build,) = [one for one in answer["plan"]["builds"] if one["name"] == "young-blood"]
    assert (build["version"], build["evidence"]) == ("3.1", "metadata")
    assert "on the index that the installer is configured for" in build["source"]


def test_a_wheel_that_lacks_is_no_proof_where_there_are_sources(index, resolved):
    _, answer, _ = resolved("both-ways", "--online")
    assert answer["status"] != "conflict" or "likely" in json.dumps(answer)


@pytest.mark.parametrize("name", ["only-source", "lacking", "nowhere"])
def test_what_the_index_does_not_tell_rides_unjudged_and_is_said(resolved, name):
    code, answer, said = resolved(name, "--online")
    assert code == 0
    assert answer["plan"]["unjudged"] == [name]
    assert f"{name} stays unjudged" in said


def test_files_are_told_in_both_forms_without_the_withdrawn(index):
    assert [url.rpartition("/")[2] for url in indexes.files("old-friend")] == ["old_friend-1.0-py3-none-any.whl"]


@pytest.mark.parametrize("online", [False, True])
def test_a_dockerfile_installs_what_the_index_tells(envcheck, index, online):
    words = ["dockerfile", "torch==2.9.1", "young-blood", "--gpu", "H100", *["--online"] * online]
    code, out, _ = envcheck(*words)
    assert code == 0
    assert ("young-blood==3.1" in out) == ("3.14" in out) == online
    assert bool(index.asked) == online


def test_a_dockerfile_of_what_the_index_refuses_is_not_written(envcheck, index):
    code, out, said = envcheck("dockerfile", "torch==2.9.1", "old-friend", "--gpu", "H100", "--online")
    assert (code, out) == (1, "")
    assert "old-friend 1.0 requires torch<2.7" in said
    assert "envcheck dockerfile" in said
    assert "--online" in said.partition("envcheck dockerfile")[2]


@pytest.mark.parametrize("online", [False, True])
def test_cells_of_a_file_are_judged_by_what_the_index_tells(envcheck, index, tmp_path, online):
    config = tmp_path / "pyproject.toml"
    config.write_text('[tool.envcheck.matrix]\nframeworks = [["torch==2.9.1", "old-friend"], "torch==2.6.0"]\n')
    words = ["ci", "--config", str(config), "--gpu", "H100", "--format", "json", *["--online"] * online]
    _, out, said = envcheck(*words)
    told = json.loads(out)
    assert len(told["cells"]) == 2 - online
    assert ("left out" in said and "torch<2.7" in said) == online
    assert bool(index.asked) == online


def test_a_cell_of_a_requirement_that_was_typed_has_its_pins(envcheck, index):
    _, out, _ = envcheck("ci", "young-blood", "--online", "--format", "json")
    (cell,) = json.loads(out)["cells"]
    assert [(one["name"], one["version"]) for one in cell["plan"]["builds"]] == [("young-blood", "3.1")]


RECORDED = {
    "1.0": {"python": ">=3.8", "wheels": [{"for": {"any": "3"}, "requires": ["torch<2.7"]}]},
    "2.0": {"python": ">=3.8", "wheels": [{"for": {"any": "3"}, "requires": ["torch<2.8", "jax<0.1; extra == 'x'"]}]},
    "3.0": {"python": ">=3.8", "yanked": True, "wheels": [{"for": {"any": "3"}, "requires": []}]},
}


def test_what_a_refresh_recorded_decides_where_no_index_is_asked(index, resolved, monkeypatch):
    from compat.matrix import measured

    monkeypatch.setattr(measured, "releases", lambda name: RECORDED if name == "kept-aside" else {})
    code, answer, _ = resolved("kept-aside")
    assert code == 1
    assert "kept-aside 2.0 requires torch<2.8" in json.dumps(answer["conflicts"])
    code, answer, _ = resolved("kept-aside<2", "old-friend")
    assert "kept-aside 1.0 requires torch<2.7" in json.dumps(answer["conflicts"])
    assert index.asked == []
