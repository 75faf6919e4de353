"""The shape of rows: whatever a file holds, the answer is a list of faults and never a crash."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import resources
from compat.matrix import canonical, rows, schema, store
from compat.matrix.check import check

KEYS = sorted({key for shape in {*rows.TABLES.values(), rows.Build} for key in shape.__dataclass_fields__})
TABLES = [*rows.TABLES, "builds.torch"]

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
values = scalars | st.lists(scalars, max_size=3) | st.dictionaries(st.text(max_size=5), scalars, max_size=2)


@given(table=st.sampled_from(TABLES), raw=values | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), values))
def test_any_row_is_judged(table, raw):
    for fault in schema.row_faults(table, raw):
        assert fault.what


@pytest.mark.parametrize("table", TABLES)
def test_each_table_asks_for_its_key_its_source_and_its_strength(table):
    missing = {fault.key for fault in schema.row_faults(table, {}) if fault.what == "is missing"}
    assert {"source", "how"} <= missing
    key = rows.KEYS[rows.row_type(table)][0].replace("version", "versions" if table.startswith("builds") else "version")
    assert key in missing


@pytest.mark.parametrize("table", TABLES)
def test_what_is_missing_is_told_in_the_order_of_the_fields_with_what_it_may_be(table):
    faults = list(schema.row_faults(table, {}))
    order = list(rows.row_type(table).__dataclass_fields__)
    assert [fault.key for fault in faults] == sorted((fault.key for fault in faults), key=order.index)
    assert {fault.key: fault.expected for fault in faults}["how"] == "measured or documented or inferred"


SHAPES = {*rows.TABLES.values(), rows.Build}


def test_every_spelling_belongs_to_a_field():
    for shape, spellings in schema.SPELLINGS.items():
        assert set(spellings) <= set(shape.__dataclass_fields__), shape
    assert set(schema.FIELDS) <= {key for shape in SHAPES for key in shape.__dataclass_fields__}


def test_every_shipped_value_fits_its_spelling():
    """The rules are neither wider nor narrower than what is in use: each one accepts something of ours."""
    used = {(shape, key) for shape, spellings in schema.SPELLINGS.items() for key in spellings}
    used |= {(None, key) for key in schema.FIELDS}
    for path in resources.matrix_dir().glob("*.toml"):
        for table, items in store.tables_of(store.read_toml(path)).items():
            shape = rows.row_type(table)
            for raw in items:
                assert list(schema.row_faults(table, raw)) == []
                own = raw.keys() & schema.SPELLINGS.get(shape, {}).keys()
                used -= {(shape, key) for key in own} | {(None, key) for key in raw.keys() - own}
    unused = {key for _, key in used}
    assert unused <= {"abi", "macos", "driver", "evidence"}  # the last is for contributed rows


@pytest.mark.parametrize(
    ("table", "raw"),
    [
        ("instances", {"name": "p5.48xlarge", "cloud": "AWS"}),
        ("pythons", {"python": "cp311"}),
        ("formats", {"format": "fp7"}),
        ("sharing", {"way": "vgpu"}),
        ("images", {"status": "there"}),
    ],
)
def test_a_value_that_is_spelled_otherwise_is_a_fault_of_its_key(table, raw):
    *_, (key, value) = raw.items()
    faults = [fault for fault in schema.row_faults(table, raw) if fault.key == key]
    assert [repr(value) in fault.what and bool(fault.expected) for fault in faults] == [True]


WORDS = {
    schema.DATE: (
        ["2026", "2026-02", "2026-12-31"],
        ["26-1-1", "2026-13", "2026-00-01", "2026-01-32", "today", "2026-1"],
    ),
    schema.DOTTED: (["1", "12.8.1", "535.104.05"], ["", "v1", "1.", ".1", "1..2", "12.x", "1" * 30]),
    schema.MINOR: (["12.8", "8.9"], ["12", "12.8.1", "a.b"]),
    schema.PYTHON: (["3.11", "3.13t", "2.7"], ["3", "3.11.2", "cp311", "4.0"]),
    schema.OS: (["ubuntu22.04", "rhel9", "amzn2023"], ["Ubuntu22.04", "ubuntu 22.04", "22.04"]),
    schema.PCI: (["10de:2684"], ["10DE:2684", "10de2684", "10de:26844"]),
    schema.RELEASE: (["2.9.1", "2.0.0a0+81ea7a4", "1.12.0..1.13.1"], ["latest", "2.0 1", ">=2"]),
    schema.DEVICE: (["sm_89", "gfx1100", "gfx90a:xnack-"], ["sm_90a", "8.9", "gfx11-generic", "rtx"]),
    schema.CODE: (
        ["sm_80", "compute_90", "sm_90a", "gfx90a:xnack-", "gfx11-generic", "pvc", "-"],
        ["80", "sm80", "CUDA", ""],
    ),
    schema.BRANCH: (["R535"], ["535", "r535", "R53"]),
}


@pytest.mark.parametrize("spelling", WORDS, ids=lambda spelling: spelling.rule)
def test_spellings(spelling):
    good, bad = WORDS[spelling]
    assert [text for text in good if not spelling.fits(text)] == []
    assert [text for text in bad if spelling.fits(text)] == []


names = st.text(string.ascii_lowercase, min_size=1, max_size=6)
toml_scalars = st.booleans() | st.integers(-(10**9), 10**9) | st.text(string.printable, max_size=15)
toml_values = st.recursive(toml_scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
toml_rows = st.lists(st.dictionaries(st.sampled_from(KEYS) | names, toml_values, max_size=6), max_size=3)


@given(
    tables=st.dictionaries(st.sampled_from(TABLES) | names, toml_rows, max_size=4), above=st.text("ab #", max_size=8)
)
def test_any_toml_file_is_judged_and_every_fault_names_its_place(tables, above, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "any.toml"
    comment = {("end",): [f"# {above}"]}
    path.write_text(canonical.dump({"schema": canonical.SCHEMA, **tables}, comment), "utf-8")
    for fault in check([path], beneath=[]):
        assert str(fault).startswith(str(path))
        assert fault.exit_code == 2
