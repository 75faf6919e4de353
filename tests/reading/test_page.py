"""A text as a page: where lines are, how labels are spelled, where a line parts into label and value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.reading import page as pages
from compat.reading import program
from compat.reading.page import Page, ends, label_of
from compat.reading.program import Program

LINES = st.lists(st.text("ab :#", max_size=8), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("head", "label"),
    [
        ("OS", "os"),
        ("- **GPU 0,1 (count)**", "gpu #"),
        ("GPU[0]", "gpu #"),
        ("GPU 0-3", "gpu #"),
        ("Device 12", "device #"),
        ("* CUDA runtime version", "cuda runtime version"),
        ("  1. Python   version ", "python version"),
        ("- [x] PyTorch version", "pytorch version"),
        ("PyTorch Version (e.g., 1.0)", "pytorch version"),
        ("`transformers` version", "`transformers` version"),
        ("CUDA 12", "cuda 12"),  # only devices are numbered
        ("__cuda", "__cuda"),
        ("🚀 Python", "python"),
        ("", ""),
    ],
)
def test_a_label_has_one_spelling(head, label):
    assert label_of(head) == label


@given(st.text(max_size=60))
def test_a_label_of_a_label_is_itself(head):
    once = label_of(head)
    if "(" not in once and "__" not in once and not once.startswith(("gpu", "device")):
        assert label_of(once) in {once, label_of(once).strip()}


@given(LINES, st.sampled_from(["a", "b", "ab", " a", "::", "#"]))
def test_lines_are_found_as_a_plain_search_finds_them(lines, needle):
    page = Page.of("\n".join(lines))
    assert page.find(needle) == [at for at, line in enumerate(page.lines) if needle in line.text]


def test_of_very_many_lines_the_first_and_the_last_are_read(monkeypatch):
    monkeypatch.setattr(pages, "READ", 3)
    page = Page.of("\n".join("hit" if at % 2 else "miss" for at in range(40)))
    assert page.find("hit") == [1, 3, 5, 35, 37, 39]
    assert Page.of("hit\nhit\nhit\nhit").find("hit") == [0, 1, 2, 3]


@given(LINES)
def test_an_offset_belongs_to_the_line_that_holds_it(lines):
    page = Page.of("\n".join(lines))
    for at, start in enumerate(page.starts):
        assert page.index_at(start) == at
        assert page.text[start : start + len(page.lines[at].text)] == page.text_at(at)
    assert page.text_at(-1) == ""
    assert page.text_at(len(page.lines)) == ""


@pytest.mark.parametrize(("text", "last"), [("", -1), ("\n \n", -1), ("a", 0), ("a\n\n", -1), ("\na\n b", 2)])
def test_a_text_that_ends_within_a_line_may_be_cut_there(text, last):
    assert Page.of(text).last == last


# a line, the labels that readers know, and what is read: (label, value, devices)
SPLIT = [
    ("OS: Ubuntu 22.04", ("os",), ("os", "Ubuntu 22.04", "")),
    ("OS = Ubuntu 22.04", ("os",), ("os", "Ubuntu 22.04", "")),
    ("os == 22.04", ("os",), None),  # a pin is no assignment
    ("| OS | Ubuntu 22.04 |", ("os",), ("os", "Ubuntu 22.04", "")),
    ("| a | b | c |", ("a",), None),  # programs draw more than two columns
    ("GPU 0,1: NVIDIA A100", ("gpu #",), ("gpu #", "NVIDIA A100", "0,1")),
    ("PyTorch version (e.g. 1.0): 2.1", ("pytorch version",), ("pytorch version", "2.1", "")),
    ("Installed by (conda, pip: which): pip", ("installed by",), ("installed by", "pip", "")),
    ("How (conda: pip", ("how",), ("how", "pip", "")),  # never closed: the colon inside is all there is
    ("Torch (any): 2.1 (cpu): x", ("torch",), ("torch", "2.1 (cpu): x", "")),  # closed before its colon
    ("(a): b", (), None),
    ("CUDA: ", ("cuda",), ("cuda", "", "")),
    ("CUDA: 12.1: extra", ("cuda",), ("cuda", "12.1: extra", "")),
    ("  .-/+oossssoo+/-.   OS: Ubuntu", ("os",), ("os", "Ubuntu", "")),
    ("x" * 130 + ": y", ("x" * 130,), None),  # too long to be a label
    ("unknown: value", ("os",), None),
    ("value", ("value",), None),
    ("# OS", ("os",), ("os", "", "")),
    ('- OS: "Ubuntu",', ("os",), ("os", "Ubuntu", "")),
]


@pytest.mark.parametrize(("line", "known", "read"), SPLIT)
def test_a_line_parts_where_a_reader_would_part_it(line, known, read):
    found = [pair for pairs in Page.of(line).pairs(frozenset(known), {}).values() for pair in pairs]
    assert [(pair.label, pair.value, pair.devices) for pair in found] == ([read] if read else [])


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("torch      2.1.0", ("torch", "2.1.0")),
        ("Torch\t2.1.0", ("torch", "2.1.0")),
        ("torch cuda   12.1", ("torch cuda", "12.1")),
        ("torchvision  0.16", None),
        ("numpy  1.26", None),
    ],
)
def test_a_table_of_a_known_first_word_is_parted_at_blanks(line, read):
    page = Page.of(line)
    found = page.pairs(frozenset({"torch", "torch cuda"}), {"torch": ("torch cuda", "torch")})
    told = [(pair.label, pair.value, pair.blank) for pairs in found.values() for pair in pairs]
    assert told == ([(*read, True)] if read else [])


@pytest.mark.parametrize(
    ("below", "value"),
    [
        ("Linux-5.15", "Linux-5.15"),
        ("  3.10.12 ", "3.10.12"),
        ("", ""),
        ("Is CUDA available: True", ""),
        ("[pip3] numpy", ""),
        ("- torch", ""),
        ("a=b", ""),
    ],
)
def test_a_value_that_a_wrap_moved_to_the_next_line(below, value):
    pair = Page.of(f"Python platform:\n{below}").pairs(frozenset({"python platform"}), {})["python platform"][0]
    assert pair.value == value
    other = Page.of(f"GPU model:\n{below}").pairs(frozenset({"gpu model"}), {})["gpu model"][0]
    assert other.value == ""  # its values cannot be told from prose


def test_the_lines_below_a_pair():
    pair = Page.of("OS: a\nb\nc").pairs(frozenset({"os"}), {})["os"][0]
    assert [pair.below(count) for count in (0, 1, 5)] == [[], ["b"], ["b", "c"]]


@given(st.lists(st.integers(0, 500), min_size=1, max_size=20, unique=True).map(sorted), st.integers(0, 500))
def test_the_gap_is_the_distance_to_the_nearest_mark(marks, index):
    assert program._gap(tuple(marks), index) == min(abs(mark - index) for mark in marks)


@given(st.lists(st.integers(), max_size=30), st.integers(1, 12))
def test_ends_are_all_or_the_first_and_the_last(items, most):
    found = ends(items, most)
    assert len(found) == min(len(items), 2 * most)
    assert list(found[:most]) == items[:most]
    assert list(found[-most:]) == items[-most:]


def test_a_program_is_betrayed_by_its_labels_and_phrases():
    page = Page.of("OS: a\nplain\nnvcc: NVIDIA\nOS: b\nnvcc: again")
    found = page.pairs(frozenset({"os"}), {})
    program = Program(name="any", marks=("os", "missing"), phrases=("nvcc: NV",))
    assert program.recognise(page, found) == (0, 2, 3)


@given(st.text("ab:()=|# \n0.", max_size=80))
def test_no_text_breaks_the_parting(text):
    page = Page.of(text)
    for pairs in page.pairs(frozenset({"a", "b", "a b", "gpu #"}), {"a": ("a",)}).values():
        for pair in pairs:
            assert 0 <= pair.index < len(page.lines)
            assert "\n" not in pair.value


@pytest.mark.parametrize(("least", "lines"), [(2, (0, 2, 3)), (3, ())])
def test_words_that_are_ordinary_alone_betray_a_program_together(least, lines):
    page = Page.of("OS: Linux\nx\nos: Linux\nnvcc: NVIDIA (R) Cuda compiler driver")
    program = Program(name="any", marks=("os", "missing"), phrases=("nvcc: NV",), least=least)
    assert program.recognise(page, page.pairs(frozenset({"os"}), {})) == lines
