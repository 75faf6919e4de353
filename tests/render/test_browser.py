"""The matrix as pages: each verdict beside the resolver's, pages that load nothing, and a folder that is never lost."""

import hashlib
import json
import re
import shlex
from base64 import b64encode
from html.parser import HTMLParser

import pytest

from compat import api
from compat.app.browsing import atlas, write
from compat.app.files import replace_folder
from compat.app.matrices import load
from compat.errors import InputError
from compat.render import browser


@pytest.fixture(scope="module")
def matrix():
    return load()


@pytest.fixture(scope="module")
def made(matrix):
    return atlas(matrix)


@pytest.fixture(scope="module")
def pages(made):
    return dict(browser.pages(made))


def sampled(made):
    """Every 97th combination of a build for NVIDIA's or AMD's GPUs, a device of that maker, and a driver or none."""
    found = []
    for release in made.releases:
        for build in release.builds:
            for place, device in enumerate(made.devices):
                if build.vendor == device.vendor in {"nvidia", "amd"}:
                    wide = len(made.rows[made.kinds[build.kind][place]])
                    found += [(build, place, driver) for driver in range(wide)]
    return found[:: max(len(found) // 150, 1)]


def test_a_cell_says_what_the_resolver_says(made):
    """The resolver weighs more (Python, companions), so that it may refuse what a cell allows, but says so."""
    counted = {"agree": 0, "native": 0, "ptx": 0, "none": 0}
    for build, place, driver in sampled(made):
        device, cell = made.devices[place], made.cell(build, place, driver)
        words = shlex.split(build.words)
        linux = next((one for one in build.platforms if one.startswith("linux_")), "")
        if cell.state == "unknown" or not linux or device.target.startswith("sm_3"):
            continue
        option = {words[1].strip("-"): words[2]} if len(words) == 3 else {}
        machine = {"gpus": [device.target], "arch": linux.removeprefix("linux_"), **option}
        if driver:
            machine["driver"] = made.drivers[driver - 1]
        try:
            answer = api.resolve(words[0], **machine)
        except InputError:
            continue
        label = (build.label, device.target, machine.get("driver"), cell, answer.conflicts[:1])
        if cell.state == "none" and answer.status == "plan":
            assert answer.plan.driver.package or answer.plan.builds[0].version != words[0].partition("==")[2], label
        if (
            cell.state in {"native", "ptx"}
            and answer.status == "plan"
            and build.name.endswith(answer.plan.builds[0].version)
        ):
            assert answer.plan.gpus[0].kernels == cell.state, label
        if cell.state in {"native", "ptx"} and answer.status == "conflict":
            blamed = " ".join(member.text for conflict in answer.conflicts for member in conflict.members)
            number = build.runtime.strip("cudarom")
            own = rf"{re.escape(build.label)} carries|too old for CUDA {number},|is known to drivers from"
            assert not re.search(own, blamed), label
        counted["agree"] += 1
        counted[cell.state] += 1
    assert counted["agree"] > 60
    assert min(counted["native"], counted["none"]) > 10


def test_a_deep_question_has_its_reason_and_source(made):
    release = next(one for one in made.releases if (one.package, one.version) == ("torch", "2.6.0"))
    build = next(one for one in release.builds if one.runtime == "cuda12.4" and "linux_x86_64" in one.platforms)
    place = next(number for number, device in enumerate(made.devices) if device.target == "sm_120")
    cell = made.cell(build, place)
    assert cell.state == "none"
    assert cell.why.startswith("{build} carries sm_50")
    assert cell.why.endswith("cannot run on {gpu}")
    assert build.sources
    assert all(key in made.citations for key in build.sources)


def test_an_older_driver_ends_a_cell(made):
    release = next(one for one in made.releases if (one.package, one.version) == ("torch", "2.9.1"))
    build = next(one for one in release.builds if one.runtime == "cuda12.8" and "linux_x86_64" in one.platforms)
    place = next(number for number, device in enumerate(made.devices) if device.target == "sm_80")
    states = {
        made.drivers[number - 1].split(".")[0]: made.cell(build, place, number)
        for number in range(1, len(made.drivers) + 1)
    }
    assert states["470"].state == "none"
    assert "too old for CUDA 12.8" in states["470"].why
    assert (states["535"].state, states["535"].why) == ("native", "by minor-version compatibility")
    assert (states["580"].state, states["580"].why) == ("native", "")


class Links(HTMLParser):
    """Addresses of a page, and the text of its inline scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.inline, self._in = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.addresses += [given[key] for key in ("href", "src", "action") if key in given]
        self._in = tag if tag in {"style", "script"} and given.get("type") != "application/json" else ""

    def handle_data(self, data):
        if self._in:
            self.inline.append(data)

    def handle_endtag(self, _tag):
        self._in = ""


def test_pages_load_nothing_and_no_link_is_dead(pages):
    for path, text in pages.items():
        found = Links(text)
        for address in found.addresses:
            target = address.partition("#")[0]
            assert "://" not in target, (path, address)
            folder = path.rpartition("/")[0]
            plain = target.removeprefix("../") if folder else target
            assert not target or plain in pages, (path, address)
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
        for inline in found.inline:
            allowed = b64encode(hashlib.sha256(inline.encode()).digest()).decode()
            assert allowed in policy, path


def test_there_is_a_page_for_each_gpu_and_each_release(made, pages):
    assert "✓" in pages["gpus/nvidia-geforce-rtx-5090.html"]
    assert "<h1>NVIDIA GeForce RTX 5090</h1>" in pages["gpus/nvidia-geforce-rtx-5090.html"]
    assert "<h1>PyTorch 2.9.1</h1>" in pages["releases/torch-2.9.1.html"]
    names = {name for device in made.devices for name in device.products}
    count = len(pages) - 3
    assert count == len({browser._slug(name) for name in names}) + len(made.releases)


def test_the_data_of_the_search_is_that_of_the_atlas(made, pages):
    raw = re.search(r'<script type="application/json" id="data">(.*?)</script>', pages["index.html"], re.DOTALL)[1]
    data = json.loads(raw)
    assert len(data["releases"]) == len(made.releases)
    release = next(one for one in data["releases"] if data["texts"][one[0]] == "torch" and one[1] == "2.6.0")
    build = next(one for one in release[3] if data["texts"][one[1]] == "cuda12.4")
    place = [target for _, target, _ in data["devices"]].index("sm_120")
    assert data["cells"][data["rows"][data["kinds"][build[8]][place]][0]][0] == "none"


def test_the_folder_is_replaced_whole_if_it_is_ours_and_left_alone_if_not(tmp_path):
    files = {"index.html": "<meta MARK>", "gpus/a.html": "1"}
    folder = tmp_path / "pages"
    replace_folder(str(folder), files, "index.html", "MARK")
    (folder / "gpus/stale.html").write_text("old")
    replace_folder(str(folder), files, "index.html", "MARK")
    assert sorted(path.name for path in folder.rglob("*")) == ["a.html", "gpus", "index.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]  # nothing of the work is left
    other = tmp_path / "mine"
    other.mkdir()
    (other / "index.html").write_text("my own page")
    with pytest.raises(InputError, match="envcheck did not write it"):
        replace_folder(str(other), files, "index.html", "MARK")
    assert (other / "index.html").read_text() == "my own page"
    with pytest.raises(InputError, match="cannot be written"):
        replace_folder(str(tmp_path / "no/such"), files, "index.html", "MARK")


def test_what_fails_half_way_leaves_the_old_folder(tmp_path):
    folder = tmp_path / "pages"
    replace_folder(str(folder), {"index.html": "<meta MARK>"}, "index.html", "MARK")
    with pytest.raises(InputError, match="cannot be written"):
        replace_folder(str(folder), {"index.html": "x", "index.html/under": "y"}, "index.html", "MARK")
    assert (folder / "index.html").read_text() == "<meta MARK>"
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]


def test_a_name_from_somebodys_rows_is_text_and_not_markup(tmp_path):
    rows = tmp_path / "rows.toml"
    rows.write_text(
        'schema = "envcheck.matrix/1"\n[sources]\nx = "somebody"\n'
        '[[gpus]]\nname = "NVIDIA </script><b>Odd</b>"\nvendor = "nvidia"\ntarget = "sm_90"\nsource = ["x"]\nhow = "measured"\n'
    )
    write(str(tmp_path / "pages"), load([str(rows)]))
    for page in (tmp_path / "pages/index.html", tmp_path / "pages/gpus.html"):
        assert "Odd" in page.read_text()
        assert "<b>Odd" not in page.read_text()
