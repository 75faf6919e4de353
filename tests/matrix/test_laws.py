"""Laws as properties: whichever shipped row is bent against a law, that law notices; unbent, none does."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compat import targets, versions
from compat.matrix import matrix, typed
from compat.matrix.laws import LAWS, breaches
from compat.matrix.laws.view import Placed, View, label
from compat.matrix.rows import Build

MATRIX = matrix()


def stated(name):
    """The rows of a table as they stand in the files, without the days that the loader fills in."""
    if not name.startswith("builds."):
        return MATRIX.table(name)
    return [row for raw in MATRIX._stores[0].rows(name) for row in typed(Build, raw, name)]


PLACED = [
    Placed(name, row, {"require": ""} if name == "images" else {}, row.origin, number)
    for name in MATRIX.names()
    for number, row in enumerate(stated(name), 1)
]
BY_TABLE = {name: [item for item in PLACED if item.table == name] for name in MATRIX.names()}


def bent(item, **changes):
    """The shipped rows of every table with one row changed."""
    other = replace(item, row=replace(item.row, **changes))
    return View([other if found is item else found for found in PLACED]), other


def broken(law, view):
    return list(LAWS[law](view))


@pytest.mark.parametrize("law", [law for law in LAWS if law != "reachable"])
def test_the_shipped_rows_keep_each_law_or_admit_that_they_do_not(law):
    assert [breach for breach in broken(law, View(PLACED)) if law not in breach.placed.row.exempt] == []


@settings(max_examples=25)
@given(st.data())
def test_a_driver_floor_that_falls_is_noticed(data):
    rows = sorted(
        (item for item in BY_TABLE["cuda"] if item.row.driver_linux), key=lambda item: versions.release(item.row.cuda)
    )
    number = data.draw(st.integers(1, len(rows) - 1))
    lower = versions.major(rows[number - 1].row.driver_linux) - 1
    view, item = bent(rows[number], driver_linux=f"{lower}.1")
    assert item in [breach.placed for breach in broken("driver-floors", view)]


@settings(max_examples=25)
@given(st.sampled_from([item for item in BY_TABLE["cuda"] if item.row.targets]), st.data())
def test_a_target_too_many_or_too_few_is_noticed(item, data):
    plain = [name for name in item.row.targets if not name[-1].isalpha()]
    gone = data.draw(st.sampled_from(plain))
    view, other = bent(item, targets=tuple(name for name in item.row.targets if name != gone))
    assert other in [breach.placed for breach in broken("capability-bounds", view)]
    others = [f"sm_{row.row.cc.replace('.', '')}" for row in BY_TABLE["capabilities"]]
    extra = data.draw(st.sampled_from([name for name in others if name not in item.row.targets]))
    view, other = bent(item, targets=(*item.row.targets, extra))
    assert other in [breach.placed for breach in broken("capability-bounds", view)]


CUDA_BUILDS = [
    item
    for item in BY_TABLE["builds.torch"]
    if item.row.runtime.startswith("cuda") and item.row.kernels not in {(), ("-",)}
]


@settings(max_examples=25)
@given(st.sampled_from(CUDA_BUILDS), st.sampled_from(BY_TABLE["capabilities"]))
def test_code_that_no_toolkit_of_the_runtime_makes_is_noticed(item, capability):
    name = f"sm_{capability.row.cc.replace('.', '')}"
    minor = item.row.runtime.removeprefix("cuda")
    accepted = {
        target for row in BY_TABLE["cuda"] if versions.minor(row.row.cuda) == minor for target in row.row.targets
    }
    assume(accepted)
    view, other = bent(item, kernels=(*item.row.kernels, name))
    noticed = other in [breach.placed for breach in broken("kernels-possible", view)]
    assert noticed == (name not in accepted or ("kernels-possible" in item.row.exempt and noticed))


@settings(max_examples=20)
@given(st.sampled_from(BY_TABLE["gpus"]))
def test_a_product_with_a_target_that_does_not_exist_is_noticed(item):
    view, other = bent(item, target="sm_991")
    assert other in [breach.placed for breach in broken("names-exist", view)]


@settings(max_examples=20)
@given(st.sampled_from([item for item in BY_TABLE["systems"] if item.row.image]))
def test_a_base_image_that_nobody_lists_is_noticed(item):
    view, other = bent(item, image=item.row.image + ".9")
    assert other in [breach.placed for breach in broken("images-exist", view)]


@settings(max_examples=20)
@given(st.sampled_from(BY_TABLE["rocm"]), st.sampled_from(BY_TABLE["gfx"]))
def test_an_unofficial_target_in_a_rocm_release_is_noticed(item, gfx):
    assume(item.row.stream != "preview")
    assume(gfx.row.gfx not in item.row.targets)
    assume(not gfx.row.first_rocm or not versions.at_least(item.row.rocm, gfx.row.first_rocm))
    view, other = bent(item, targets=(*item.row.targets, gfx.row.gfx))
    assert other in [breach.placed for breach in broken("rocm-targets", view)]


@settings(max_examples=20)
@given(st.sampled_from(PLACED))
def test_any_row_that_stands_twice_is_noticed(item):
    twin = replace(item, line=item.line + 10_000)
    assert twin in [breach.placed for breach in broken("one-row-per-key", View([*PLACED, twin]))]


@settings(max_examples=15)
@given(st.sampled_from(sorted(LAWS)), st.sampled_from(BY_TABLE["gpus"]))
def test_an_exemption_of_a_sound_row_is_noticed(law, item):
    view, other = bent(item, exempt=(law,), note="because")
    found = [breach for name, breach in breaches(view, only=()) if name == "exemptions"]
    assert [breach for breach in found if breach.placed == other and breach.what == f"the row keeps {law}"]


def test_every_product_of_nvidia_can_be_compiled_for():
    """Across tables: some published toolkit targets each product, but for what the oldest of them had left behind."""
    compiled = {name for item in BY_TABLE["cuda"] if item.row.toolkit for name in item.row.targets} | {"sm_20", "sm_21"}
    unknown = {item.row.target for item in BY_TABLE["gpus"] if item.row.vendor == "nvidia"} - compiled
    assert unknown == set()


def test_every_family_covers_its_members():
    """A generic AMD target runs on each gfx that names it, and on no other."""
    for item in BY_TABLE["gfx"]:
        for generic in {other.row.generic for other in BY_TABLE["gfx"] if other.row.generic}:
            runs = targets.kernels_for(item.row.gfx, (generic,), MATRIX.families)
            assert (runs == "native") == (item.row.generic == generic)


def test_labels_name_table_and_key():
    assert label(BY_TABLE["cuda"][0]) == "cuda 9.0.176"
    assert label(BY_TABLE["drivers"][0]) == "drivers R340"


@pytest.mark.parametrize(("os", "known"), [("rhel9.4", True), ("rocky9", True), ("plan9", False)])
def test_minor_releases_of_a_system_count_as_known(os, known):
    image = next(item for item in BY_TABLE["images"] if not item.row.runtime and not item.row.cuda)
    view = View([*BY_TABLE["systems"], replace(image, row=replace(image.row, os=os))])
    told = {breach.what for _, breach in breaches(view, ["names-exist"]) if breach.key == "os"}
    assert told == (set() if known else {f"{os} is not in systems"})


@settings(max_examples=10)
@given(st.data())
def test_no_kernels_of_a_wheel_that_nobody_read_is_noticed(data):
    rows = [
        item
        for item in (*BY_TABLE["builds.torchvision"], *BY_TABLE["builds.torchaudio"])
        if item.row.how == "measured" and item.row.runtime.startswith("cuda") and "gpu-code" in item.row.source
    ]
    item = data.draw(st.sampled_from(rows))
    view, other = bent(item, kernels=("-",), source=("wheel-metadata",))
    assert other in [breach.placed for breach in broken("kernels-read", view)]
    view, other = bent(item, kernels=("-",), source=("wheel-metadata",), inferred=("kernels",))
    assert broken("kernels-read", view) == []
