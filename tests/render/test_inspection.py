"""An inspection told: which file carries what, which device runs it, and what could not be read."""

import pytest

from compat.render import inspection
from compat.render.ink import Ink

NOTHING = {"sass": [], "ptx": [], "gfx": []}


def document(*objects, **more):
    together = {key: sorted({item for each in objects for item in each[key]}) for key in NOTHING}
    return {"objects": list(objects), "targets": together, **more}


def thing(path, sass="", ptx="", gfx=""):
    return {"path": path, "sass": sass.split(), "ptx": ptx.split(), "gfx": gfx.split()}


def verdict(kernels="native", why="by sm_80", gpu="NVIDIA A100", target="sm_80"):
    return {"gpu": gpu, "target": target, "kernels": kernels, "why": why}


def test_each_file_with_its_targets_and_all_together():
    found = document(thing("liba.so", "sm_80 sm_90", "compute_90"), thing("libb.so", gfx="gfx90a"), thing("libc.so"))
    assert inspection.text(found).splitlines() == [
        "file     code for",
        "liba.so  sm_80 sm_90 compute_90",
        "libb.so  gfx90a",
        "",
        "all together: sm_80 sm_90 compute_90 gfx90a",
    ]


def test_one_file_needs_no_sum():
    assert "all together" not in inspection.text(document(thing("liba.so", "sm_80")))


@pytest.mark.parametrize("objects", [(), (thing("libc.so"),)])
def test_where_there_is_no_gpu_code_it_says_so(objects):
    assert inspection.text(document(*objects)) == "No GPU code was found."


@pytest.mark.parametrize(
    ("item", "lines"),
    [
        (verdict(), ["NVIDIA A100 (sm_80): native  by sm_80"]),
        (verdict(gpu="sm_80"), ["sm_80: native  by sm_80"]),
        (
            verdict("unknown", "it carries no GPU code: it takes its kernels from elsewhere, or has none"),
            [
                "NVIDIA A100 (sm_80): unknown",
                "    it carries no GPU code: it takes its kernels from",
                "    elsewhere, or has none",
            ],
        ),
    ],
)
def test_a_devices_verdict_and_its_reason_keep_to_the_paper(item, lines):
    assert inspection.text(document(thing("a", "sm_80")), [item], pen=Ink(width=60)).splitlines()[2:] == lines


def test_what_could_not_be_read_is_asked_about():
    said = inspection.text(
        document(unread=["a.so: torn off in the middle of its table of sections"]), pen=Ink(width=40)
    )
    assert said.splitlines()[1:] == ["? a.so: torn off in the middle of its", "  table of sections"]


def test_names_from_a_file_cannot_steer_the_terminal():
    found = document(thing("a\x1b[31m\n::error::.so", "sm_80"), unread=["b\x1b[2J\n::error::x"])
    said = inspection.text(found, [verdict(why="x\x1b[0m", gpu="y\n::error::z")])
    assert "\x1b" not in said
    assert not any(line.startswith("::") for line in said.splitlines())
