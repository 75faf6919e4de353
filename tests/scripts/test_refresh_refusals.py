"""An index that is down, wrong or hostile: nothing recorded is lost, nothing untrue is recorded, nothing is escaped."""

from __future__ import annotations

import io
import json
import struct
import zipfile

import pytest

pytest.importorskip("requests")

from polite import Client, Remote, UnreachableError, UnreadableError, shown

PAGE = "/simple/demo/"
JSON = "application/vnd.pypi.simple.v1+json"


def status(code, **headers):
    return lambda handler: handler.send(
        code, b"sorry", {key.replace("_", "-"): value for key, value in headers.items()}
    )


def says(body, kind="text/html"):
    return lambda handler: handler.send(200, body, {"Content-Type": kind})


def cut_short(handler):
    handler.send(200, b"<a href='/files/demo-7-py3", {"Content-Type": "text/html"}, claims=5000)


PAGES = {
    "server error": status(500),
    "forbidden": status(403),
    "a redirection without end": status(302, Location=PAGE),
    "an address that is none": status(302, Location="http://[::1"),
    "an address on disk": status(302, Location="file:///etc/passwd"),
    "cut short": cut_short,
    "an apology": says(b"<html>Back soon</html>"),
    "nothing": says(b""),
    "JSON cut short": says(b'{"files": [', JSON),
    "JSON without files": says(b"{}", JSON),
    "JSON of another shape": says(b"[1]", JSON),
    "files that are no list": says(b'{"files": {"a": 1}}', JSON),
    "brackets without end": says(b"[" * 200_000, JSON),
    "not UTF-8": says(b"\xff\xfe{", JSON),
    "entries that are no files": says(b'{"files": [1, null, {}, {"url": 3}, {"url": "http://[", "hashes": 5}]}', JSON),
}


@pytest.mark.parametrize("fault", PAGES.values(), ids=PAGES)
def test_a_bad_page_leaves_the_record_and_says_so(site, run, wheel, capsys, fault):
    site.add("demo-1.0-py3-none-any.whl", wheel(["numpy<2"]))
    assert run("demo") == 0
    before = run.path.read_bytes()
    site.faults[PAGE] = [fault]
    assert run("demo") == 1
    assert run.path.read_bytes() == before
    assert "left as it was" in capsys.readouterr().err


BUSY = {
    "busy": status(503),
    "too many requests": status(429, Retry_After="0"),
    "gateway": status(502),
    "hanging up": lambda handler: setattr(handler, "close_connection", True),
}
WRONG_PART = {
    "another range": lambda handler: handler.send(206, b"xyz", {"Content-Range": "bytes 7-9/12345"}),
    "no place": lambda handler: handler.send(206, b"xyz"),
    "too short": lambda handler: handler.send(206, b"x", {"Content-Range": "bytes 0-70/71"}),
}
WHEEL = "/files/demo-1.0-py3-none-any.whl"
PASSING = [
    *((path, name, fault) for path in (PAGE, f"{WHEEL}.metadata", WHEEL) for name, fault in BUSY.items()),
    *((path, "cut short", cut_short) for path in (PAGE, f"{WHEEL}.metadata")),
    *((WHEEL, name, fault) for name, fault in WRONG_PART.items()),
]


@pytest.mark.parametrize(
    ("path", "fault"), [(path, fault) for path, _, fault in PASSING], ids=[f"{p}-{n}" for p, n, _ in PASSING]
)
def test_what_passes_is_asked_again_and_changes_nothing(site, run, wheel, path, fault):
    site.add("demo-1.0-py3-none-any.whl", wheel(["torch==2.0.1"]), beside="metadata" in path)
    site.faults[path] = [fault, fault, None]
    assert run("demo") == 0
    assert run.read()["1.0"]["wheels"] == [{"for": {"any": "3"}, "requires": ["torch==2.0.1"]}]
    assert site.asked.count(path) > 2


def test_json_and_html_pages_tell_the_same(site, run, wheel):
    site.add(
        "demo-1.0-py3-none-any.whl", wheel(["numpy<2"]), requires_python="&gt;=3.8", upload_time="2024-05-06T07:00Z"
    )
    site.add("demo-1.1-cp39-cp39-win_amd64.whl", wheel(), beside=False, yanked="bad")
    site.add("demo-1.1.tar.gz", b"", yanked="")
    assert run("demo") == 0
    html = run.path.read_bytes()
    run.path.unlink()
    site.page = site.json
    site.asked.clear()
    assert run("demo") == 0
    assert run.path.read_bytes() == html
    assert "yanked" in run.read()["1.1"]
    assert site.asked == [PAGE]


def test_a_file_that_is_withdrawn_with_no_reason_or_not_at_all(site, run, wheel):
    site.page = site.json
    site.add("demo-1.0-py3-none-any.whl", wheel(), yanked=False)
    site.add("demo-1.1-py3-none-any.whl", wheel(), yanked="")
    run("demo")
    assert {version: "yanked" in release for version, release in run.read().items()} == {"1.0": False, "1.1": True}


def test_an_index_that_tells_no_day_keeps_the_day_that_was_told(site, run, wheel):
    site.add("demo-1.0-py3-none-any.whl", wheel(), upload_time="2024-05-06T07:08:09Z")
    run("demo")
    site.attributes["demo-1.0-py3-none-any.whl"].clear()
    run("demo")
    assert run.read()["1.0"]["date"] == "2024-05-06"


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("demo-2.0-py3-none-any.whl", {"upload_time": "tomorrow, perhaps", "requires_python": "only ours"}),
        ("demo-2.0-py3-none-any.whl", {"upload_time": "2024-99-99T", "requires_python": ">=3" * 400}),
        ("demo-2.0-py3-none-manylinux99999_x86_64.whl", {}),
        ("demo-2.0-cp-none-any.whl", {}),
        ("demo-2.0-pp310-pypy310_pp73-any.whl", {}),
        ("demo-2.0-py3-none-manylinux_" + "9" * 200 + "_17_x86_64.whl", {}),
        ("demo-\x1b[31m2.0-py3-none-any.whl", {}),
        ("demo-2.0-py3-none-\u202eany.whl", {}),
    ],
)
@pytest.mark.parametrize("page", ["html", "json"])
def test_nonsense_on_a_page_is_left_out(site, run, wheel, name, attributes, page):
    site.page = getattr(site, page)
    site.add("demo-1.0-py3-none-any.whl", wheel())
    site.add(name, wheel(), **attributes)
    assert run("demo") == 0
    text = run.path.read_text("utf-8")
    assert run.read()["1.0"]["wheels"] == [{"for": {"any": "3"}, "requires": []}]
    second = run.read().get("2.0", {"date": "", "python": ""})
    assert (second["date"], second["python"]) == ("", "")
    assert text.isascii()
    assert "\\u" not in text


@pytest.mark.parametrize("digest", ["../../../stolen", "..", "/tmp/stolen", "x" * 5000, "A" * 64, ""])
def test_a_hash_cannot_name_a_place_outside_of_the_cache(site, run, wheel, tmp_path, digest):
    site.add("demo-1.0-py3-none-any.whl", wheel())
    page = {"files": [{"url": "/files/demo-1.0-py3-none-any.whl", "hashes": {"sha256": digest}, "core-metadata": True}]}
    site.page = lambda: (json.dumps(page).encode(), JSON)
    assert run("demo") == 0
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in written if run.cache not in path.parents] == ["demo.json"]
    assert any(path.name == "METADATA" for path in written)


def without_directory(body):
    return body[:-22] + b"\0" * 22


def directory(body, **changes):
    """A wheel whose last record (APPNOTE 4.3.16) claims something else."""
    names = ("signature", "disk", "start_disk", "here", "entries", "size", "offset", "comment")
    record = dict(zip(names, struct.unpack("<4s4H2LH", body[-22:]), strict=True)) | changes
    return body[:-22] + struct.pack("<4s4H2LH", *record.values())


def flagged(body, offset, value):
    """A wheel whose directory entries all say ``value`` in the 16-bit field at ``offset`` (APPNOTE 4.3.12)."""
    at, changed = body.find(b"PK\1\2"), bytearray(body)
    while at >= 0:
        changed[at + offset : at + offset + 2] = struct.pack("<H", value)
        at = body.find(b"PK\1\2", at + 4)
    return bytes(changed)


def bomb():
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("demo-1.dist-info/METADATA", b"Metadata-Version: 2.1\n" + bytes(8 << 20))
    return body.getvalue()


BROKEN = {
    "no archive": lambda _: b"<html>not found</html>" * 9,
    "nothing": lambda _: b"",
    "no directory": without_directory,
    "cut off": lambda body: body[:-40],
    "a directory before the beginning": lambda body: directory(body, size=0xFFFFFF, offset=0),
    "a directory behind the end": lambda body: directory(body, size=10, offset=0xFFFFFF0),
    "another disk": lambda body: directory(body, entries=9, size=3),
    "encrypted": lambda body: flagged(body, 8, 1),
    "an unknown compression": lambda body: flagged(body, 10, 77),
    "not what it says it is": lambda body: flagged(body, 10, 8),
    "text that is no deflate": lambda body: flagged(body, 10, 12),
    "another checksum": lambda body: flagged(body, 16, 4711),
    "a member elsewhere": lambda body: flagged(body, 42, 5),
    "a bomb": lambda _: bomb(),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_wheel_costs_its_release_only(site, run, wheel, capsys, broken):
    name = "demo-2.0-py3-none-any.whl"
    site.add("demo-1.0-py3-none-any.whl", wheel(), beside=False)
    site.add(name, broken(wheel()), beside=False)
    site.add("demo-3.0-py3-none-any.whl", wheel(["numpy<2"]), beside=False)
    assert run("demo") == 1
    assert list(run.read()) == ["1.0", "3.0"]
    said = capsys.readouterr().err
    assert name in said
    assert "Traceback" not in said
    site.files[name] = wheel(["numpy<3"])  # put right: nothing of the bad reading was kept
    assert run("demo") == 0
    assert run.read()["2.0"]["wheels"][0]["requires"] == ["numpy<3"]


def test_a_wheel_without_metadata_is_broken(site, run, wheel, capsys):
    site.add("demo-1.0-py3-none-any.whl", wheel(metadata=False, members={"a": b"b"}), beside=False)
    assert run("demo") == 1
    assert "no metadata" in capsys.readouterr().err


def test_a_recorded_release_whose_new_wheel_is_broken_stays_as_it_was(site, run, wheel):
    site.add("demo-1.0-py3-none-any.whl", wheel(["numpy<2"]))
    run("demo")
    before = run.path.read_bytes()
    site.add("demo-1.0-cp39-cp39-win_amd64.whl", b"PK", beside=False)
    assert run("demo") == 1
    assert run.path.read_bytes() == before


def zip64(body):
    """The same archive with a zip64 end of directory (APPNOTE 4.3.14 and 4.3.15) and nothing but escapes in the old one."""
    *_, entries, size, offset, _ = struct.unpack("<4s4H2LH", body[-22:])
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, entries, entries, size, offset)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(body) - 22, 1)
    return (
        body[:-22]
        + record
        + locator
        + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0)
    )


def test_a_zip64_wheel_is_read(site, run, wheel):
    site.add("demo-1.0-py3-none-any.whl", zip64(wheel(["torch==2.9.1"], {"demo/a.so": bytes(1 << 20)})), beside=False)
    assert run("demo") == 0
    assert run.read()["1.0"]["wheels"][0]["requires"] == ["torch==2.9.1"]
    assert site.served["/files/demo-1.0-py3-none-any.whl"] <= 1 << 16


def test_a_directory_that_claims_the_whole_file_is_not_fetched(site, wheel):
    body = wheel((), {"demo/a.so": bytes(1 << 20)})
    site.add("demo-1.0-py3-none-any.whl", directory(body, size=len(body) - 22, offset=0))
    url = site.url.replace("/simple", "/files/demo-1.0-py3-none-any.whl")
    with pytest.raises(UnreadableError, match="more bytes"):
        zipfile.ZipFile(io.BufferedReader(Remote(Client(), url, 1000)))
    assert site.served["/files/demo-1.0-py3-none-any.whl"] <= 1 << 16


def test_something_else_beside_a_wheel_is_not_its_metadata(site, run, wheel):
    name = "demo-1.0-py3-none-any.whl"
    site.add(name, wheel(["torch==2.9.1"]), beside=False)
    site.faults[f"/files/{name}.metadata"] = [says(b"<html>Welcome</html>")]
    assert run("demo") == 0
    assert run.read()["1.0"]["wheels"][0]["requires"] == ["torch==2.9.1"]


def test_a_server_without_ranges_is_not_downloaded_from(site, run, wheel, capsys):
    name = "demo-1.0-py3-none-any.whl"
    site.add(name, wheel((), {"a": bytes(4 << 20)}), beside=False)
    site.faults[f"/files/{name}"] = [lambda handler: handler.send(200, site.files[name])]
    assert run("demo") == 1
    assert "ranges with 200" in capsys.readouterr().err


def test_a_server_that_counts_ranges_from_the_start_only_will_do(site, run, wheel):
    name = "demo-1.0-py3-none-any.whl"
    site.add(name, wheel(["torch==2.9.1"]), beside=False)
    site.faults[f"/files/{name}"] = [status(416), None, None, None, None, None]
    assert run("demo") == 0
    assert run.read()["1.0"]["wheels"][0]["requires"] == ["torch==2.9.1"]


@pytest.mark.parametrize(
    "line",
    [
        "torch==2.0; " + "(" * 5000 + 'python_version > "3"' + ")" * 5000,
        "torch==" + "1" * 9000 + ".x y",
        "\x00",
    ],
)
def test_a_requirement_that_is_none_decides_nothing(site, run, wheel, line):
    site.add("demo-1.0-py3-none-any.whl", wheel(["numpy<2", line]))
    assert run("demo") == 0
    assert run.read()["1.0"]["wheels"][0]["requires"] == ["numpy<2"]


def test_an_answer_without_end_is_cut_off(site):
    def endless(handler):
        handler.send(200, b"", claims=10**12)
        while True:
            handler.wfile.write(bytes(1 << 16))

    site.faults[PAGE] = [endless]
    with pytest.raises(UnreachableError, match="longer than"):
        Client().get(site.url + "/demo/", limit=1 << 20)
    assert site.asked == [PAGE]  # and not asked for again


def test_an_answer_has_a_deadline_as_a_whole(site):
    site.faults[PAGE] = [says(b"x" * 5000)]
    with pytest.raises(UnreachableError, match="not answered within 0 s"):
        Client(deadline=0.0, tries=2, wait=0.0).get(site.url + "/demo/", limit=1 << 20)
    assert site.asked == [PAGE, PAGE]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/a", "gopher://x", "/etc/passwd"])
def test_only_the_web_is_asked(url):
    with pytest.raises(UnreachableError, match="not an address of the web"):
        Client().get(url, limit=1)


def test_a_password_in_the_address_is_not_told(site, run, capsys):
    site.faults[PAGE] = [status(500)]
    address = site.url.replace("http://", "http://me:secret@")
    assert run("demo", "--index", address) == 1
    said = capsys.readouterr().err
    assert "answered 500" in said
    assert "secret" not in said
    assert shown("https://a:b@x.example/\x1b[31m?q") == "https://x.example/?[31m?q"
