"""One spelling: writing a matrix file changes no fact, loses no comment, and is its own fixed point."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import resources
from compat.errors import InputError
from compat.matrix import canonical, rows, store, typed

MESSY = """\
# head of the file
# in two lines

schema = 'envcheck.matrix/1'
# about toolkits
cuda = [
  # the first row
  { how = "documented", cuda="11.8.0", targets = ["sm_35", "sm_90"], toolkit = true, source = [ "nv" ] }, # beside it
  {cuda = "12.0.0",note = "say \\"hi\\" \\\\ bye", targets = "sm_50   sm_90a", source = "nv", how = "measured", gcc = ""},
]
[[gpus]] # a product
name = "X"
vendor = "nvidia"
# its target
target = "sm_90"
memory_gib = 24.0
source = "nv"
how = "documented"
[builds]
# the framework
torch = [ { versions = ["2.0.0", "2.0.1"], runtime = "cpu", requires = ["triton==2.0.0; platform_system == 'Linux'"], source = "nv", how = "measured" } ]
[sources]
# where from
nv = "NVIDIA # not a comment"
"a b" = "quoted"
# the end
"""


def facts(text):
    """What a file says, however it is spelled: typed rows and sources."""
    document = store.parse_toml(text, "text")
    tables = store.tables_of(document)
    found = {
        name: [row for raw in items for row in typed(rows.row_type(name), raw, name)] for name, items in tables.items()
    }
    return found, document.get("sources")


def test_rewriting_keeps_every_fact_and_is_a_fixed_point():
    better = canonical.canonical(MESSY)
    assert facts(better) == facts(MESSY)
    assert canonical.canonical(better) == better


def test_rewriting_keeps_every_comment_above_what_it_is_about():
    lines = canonical.canonical(MESSY).splitlines()
    assert lines[:2] == ["# head of the file", "# in two lines"]
    above = {line.strip(): below.strip() for line, below in pairwise(lines)}
    assert above["# about toolkits"] == "cuda = ["
    assert above["# the first row"] == "# beside it"
    assert above["# beside it"].startswith('{ cuda = "11.8.0"')
    assert above["# the framework"] == "builds.torch = ["
    assert above["# where from"].startswith("nv = ")
    assert lines[-1] == "# the end"
    assert sum(line.strip().startswith("#") for line in lines) == MESSY.count("# ") - 1  # one is inside a text


def test_the_spelling_is_short():
    better = canonical.canonical(MESSY)
    assert '{ cuda = "11.8.0", targets = "sm_35 sm_90", source = "nv", how = "documented" }' in better
    assert "memory_gib = 24," in better
    assert "gcc" not in better
    assert """note = 'say "hi" \\ bye'""" in better


def test_lines_of_rows_are_found_for_messages():
    layout = canonical.layout(MESSY)
    lines = MESSY.splitlines()
    assert 'cuda="11.8.0"' in lines[layout.lines["row", "cuda", 0] - 1]
    assert 'cuda = "12.0.0"' in lines[layout.lines["row", "cuda", 1] - 1]
    assert lines[layout.lines["row", "gpus", 0] - 1].startswith("[[gpus]]")
    assert lines[layout.lines["row", "builds.torch", 0] - 1].startswith("torch = [")
    assert lines[layout.lines["source", "nv"] - 1].startswith("nv = ")


@pytest.mark.parametrize("path", sorted(resources.matrix_dir().glob("*.toml")), ids=lambda path: path.name)
def test_shipped_files_are_their_own_spelling_and_every_row_has_its_line(path):
    text = path.read_text("utf-8")
    assert canonical.canonical(text) == text
    lines, layout = text.splitlines(), canonical.layout(text)
    for name, items in store.tables_of(store.parse_toml(text, "text")).items():
        for number in range(len(items)):
            assert lines[layout.lines["row", name, number] - 1].lstrip().startswith(("{ ", f"[[{name}]]"))
    assert max(map(len, lines)) <= 240


def test_a_table_with_a_long_row_says_once_what_neighbours_share():
    shared = {"requires": [f"package-{number}==1.{number}" for number in range(12)], "source": "s", "how": "measured"}
    rows_ = [{"versions": "1.0", "runtime": runtime, **shared} for runtime in ("cpu", "cuda12.6")]
    rows_.append({"versions": "1.1", "runtime": "cpu", "source": "s", "how": "measured", "note": "word " * 60 + "end"})
    notes = {("row", "builds.demo", 0): ["# first"], ("row", "builds.demo", 1): ["# second"]}
    text = canonical.dump({"builds": {"demo": rows_}, "sources": {"s": "t"}}, notes)
    assert text.count("package-7==1.7") == 1
    assert max(map(len, text.splitlines())) <= 120
    above = {line.strip(): below.strip() for line, below in pairwise(text.splitlines())}
    assert (above["# first"], above["# second"]) == ("[[builds.demo]]", '{ runtime = "cuda12.6" },')
    assert store.parse_toml(text, "t")["builds"]["demo"] == rows_
    assert canonical.canonical(text) == text
    lines, layout = text.splitlines(), canonical.layout(text).lines
    told = [lines[layout["row", "builds.demo", number] - 1].strip() for number in range(3)]
    assert told == ['{ runtime = "cpu" },', '{ runtime = "cuda12.6" },', "[[builds.demo]]"]


def test_rows_may_say_otherwise_than_their_group():
    text = '[[gpus]]\nvendor = "amd"\nrows = [\n  { name = "a" },\n  { name = "b", vendor = "intel" },\n]\n'
    found = store.parse_toml(text, "t")["gpus"]
    assert found == [{"vendor": "amd", "name": "a"}, {"vendor": "intel", "name": "b"}]


texts = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=20)
words = st.lists(st.from_regex(r"[a-z0-9_.]{1,8}", fullmatch=True), unique=True, max_size=4)
cuda_rows = st.fixed_dictionaries(
    {"cuda": texts, "source": words, "how": st.just("measured")},
    optional={"note": texts, "toolkit": st.booleans(), "targets": words, "inferred": words.map(" ".join), "gcc": texts},
)
product_rows = st.fixed_dictionaries(
    {"name": texts, "vendor": texts, "target": texts, "source": words, "how": st.just("inferred")},
    optional={"memory_gib": st.floats(0, 1e6, allow_nan=False) | st.integers(0, 10**6), "aliases": texts, "pci": words},
)
comments = st.lists(st.from_regex(r"# [a-z ]{0,12}[a-z]", fullmatch=True), max_size=2)


@given(st.text(st.characters(blacklist_categories=("Cs",)), min_size=220, max_size=600))
def test_a_long_pattern_stands_in_pieces_and_is_read_back_as_it_was(pattern):
    text = canonical.dump({"signals": [{"signal": "s", "pattern": pattern}]})
    assert "pattern = [\n" in text
    assert max(len(line) for line in text.splitlines()) < len(pattern)
    assert store.parse_toml(text, "t")["signals"] == [{"signal": "s", "pattern": pattern}]
    assert canonical.canonical(text) == text


def test_a_pattern_is_parted_behind_its_alternatives_and_never_within_an_escape():
    pattern = "|".join(
        [rf"cannot (?:open|load) \d+ of lib{name}\.so" for name in ("one", "two", "three", "four", "five")]
    )
    pieces = canonical._pieces(pattern)
    assert len(pieces) > 1
    assert all(piece.endswith("|") for piece in pieces[:-1])
    assert not any(piece.endswith("\\") for piece in canonical._pieces(r"\d" * 300))


@given(cuda=st.lists(cuda_rows, max_size=4), gpus=st.lists(product_rows, max_size=3), above=comments, beside=comments)
def test_any_rows_survive_writing_and_reading(cuda, gpus, above, beside):
    sources = {key: "a citation" for row in [*cuda, *gpus] for key in row["source"]}
    notes = {("table", "cuda"): above, ("end",): beside} | ({("row", "cuda", 0): beside} if cuda else {})
    text = canonical.dump({"schema": canonical.SCHEMA, "cuda": cuda, "gpus": gpus, "sources": sources}, notes)
    found, cited = facts(text)
    assert found["cuda"] == [row for raw in cuda for row in typed(rows.CudaRelease, raw, "cuda")]
    assert found["gpus"] == [row for raw in gpus for row in typed(rows.Product, raw, "gpus")]
    assert (cited or {}) == sources
    assert canonical.canonical(text) == text


def test_what_is_not_toml_is_refused():
    with pytest.raises(InputError, match="not valid TOML"):
        canonical.canonical("cuda = [")


@pytest.mark.parametrize(
    ("table", "row", "text"),
    [
        ("cuda", {"how": "measured", "cuda": "12.8.0"}, '{ cuda = "12.8.0", how = "measured" }'),
        ("cuda", {"cuda": "12.8.0", "origin": "f"}, '{ cuda = "12.8.0" }'),
        ("cuda", {"cuda": "12.8.0", "driver_linux": ""}, '{ cuda = "12.8.0" }'),
        ("cuda", {"cuda": "1", "toolkit": True}, '{ cuda = "1" }'),
        ("cuda", {"cuda": "1", "toolkit": False}, '{ cuda = "1", toolkit = false }'),
        ("cuda", {"cuda": "1", "targets": ["sm_80", "sm_90"]}, '{ cuda = "1", targets = "sm_80 sm_90" }'),
        ("cuda", {"cuda": "1", "targets": "sm_80   sm_90 "}, '{ cuda = "1", targets = "sm_80 sm_90" }'),
        ("cuda", {"cuda": "1", "targets": []}, '{ cuda = "1" }'),
        ("cuda", {"cuda": "1", "targets": ["a b"]}, '{ cuda = "1", targets = ["a b"] }'),
        ("cuda", {"cuda": "1", "targets": ["a", 1]}, '{ cuda = "1", targets = ["a", 1] }'),
        ("cuda", {"cuda": "1", "targets": 3}, '{ cuda = "1", targets = 3 }'),
        ("no such table", {"b": 1, "a": {"x y": [True]}}, '{ b = 1, a = { "x y" = [true] } }'),
        ("gpus", {"name": "X", "memory_gib": 24.0}, '{ name = "X", memory_gib = 24 }'),
        ("gpus", {"name": "X", "memory_gib": 0.5}, '{ name = "X", memory_gib = 0.5 }'),
        ("gpus", {"name": 'a "b"'}, "{ name = 'a \"b\"' }"),
        ("gpus", {"name": "it's \\d"}, '{ name = "it\'s \\\\d" }'),
        ("gpus", {"name": "\\d+"}, "{ name = '\\d+' }"),
        ("gpus", {"name": "a\x7fb\n"}, '{ name = "a\\u007fb\\n" }'),
    ],
)
def test_how_one_row_is_spelled(table, row, text):
    assert canonical.row_text(table, row) == text


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8),
        st.recursive(st.text(max_size=12) | st.booleans() | st.integers(-9, 9), lambda x: st.lists(x, max_size=2)),
        max_size=4,
    )
)
def test_any_row_of_a_table_that_is_not_ours_is_read_back_as_it_was(row):
    row.pop("origin", None)
    text = f"x = [ {canonical.row_text('x', row)} ]"
    assert store.parse_toml(text, "t")["x"] == [row]


@pytest.mark.parametrize("key", ["sources.nv", 'sources."nv"'])
def test_a_source_beside_the_tables_keeps_its_comment_and_line(key):
    found = canonical.layout(f'schema = "x"\n# why\n{key} = "NVIDIA"\n')
    assert found.comments == {("source", "nv"): ["# why"]}
    assert found.lines[("source", "nv")] == 3


def test_braces_and_brackets_inside_values_begin_no_row():
    text = 'cuda = [\n  { cuda = "1", x = { y = [ { z = 1 } ] } },\n  { cuda = "2" },\n]\n'
    lines = canonical.layout(text).lines
    assert [lines.get(("row", "cuda", number)) for number in range(3)] == [2, 3, None]
