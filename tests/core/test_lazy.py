"""What is made late is what the standard library would have made at once; the standard library is the oracle."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import operator
import pickle
import pkgutil
import re
import sys
import threading
from dataclasses import asdict, field, fields, replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compat
from compat import lazy

NAMES = ("self_", "name", "size", "_private", "value", "known")


@lazy.dataclass(frozen=True, slots=True)
class Point:
    """At the top of a module, so that it can be pickled."""

    x: int
    y: int = 2
    tags: dict[str, int] = field(default_factory=dict)


@lazy.dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What others extend."""

    source: str
    note: str = ""


@lazy.dataclass(frozen=True, slots=True, kw_only=True)
class Derived(Base):
    """A field more, and one that is not shown."""

    size: int
    secret: str = field(default="s", repr=False, compare=False)


@st.composite
def kinds(draw):
    """The same random class, made by us and made by the standard library."""
    kw_only = draw(st.booleans())
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    defaults = draw(st.lists(st.sampled_from(("none", "plain", "factory")), min_size=len(names), max_size=len(names)))
    if not kw_only:  # a field without default may not follow one that has it
        defaults.sort(key=lambda kind: kind != "none")
    made = {"none": dict, "plain": lambda: {"default": 7}, "factory": lambda: {"default_factory": list}}

    def body():
        parts = {
            name: field(**made[kind](), repr=index != 1, compare=index != 2)
            for index, (name, kind) in enumerate(zip(names, defaults, strict=True))
        }
        return {"__doc__": "A class.", "__annotations__": dict.fromkeys(names, "object"), **parts}

    options = {"frozen": True, "slots": True, "kw_only": kw_only, "order": draw(st.booleans())}
    return tuple(make(**options)(type("Made", (), body())) for make in (lazy.dataclass, dataclasses.dataclass))


def outcome(make):
    """What came of it, or the kind of its error."""
    try:
        return make()
    except TypeError:
        return TypeError


@given(kinds(), st.lists(st.integers(0, 3), max_size=4), st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3)))
def test_objects_are_made_refused_shown_and_listed_as_by_the_standard_library(pair, given_, named):
    ours, theirs = (outcome(lambda kind=kind: kind(*given_, **named)) for kind in pair)
    assert (ours is TypeError) == (theirs is TypeError)
    if ours is not TypeError:
        assert repr(ours).rpartition("Made")[2] == repr(theirs).rpartition("Made")[2]
        assert asdict(ours) == asdict(theirs)
        assert pair[0].__match_args__ == pair[1].__match_args__
        assert not hasattr(ours, "__dict__")


@given(
    kinds(), st.lists(st.integers(0, 2), min_size=6, max_size=6), st.lists(st.integers(0, 2), min_size=6, max_size=6)
)
def test_objects_are_equal_and_hash_as_by_the_standard_library(pair, one, two):
    ours, theirs = (
        [kind(**dict(zip([part.name for part in fields(kind)], row, strict=False))) for row in (one, two)]
        for kind in pair
    )
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    assert list(map(hash, ours)) == list(map(hash, theirs))
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        assert outcome(partial(compare, *ours)) == outcome(partial(compare, *theirs))
    assert ours[0] != theirs[0]


def compiled_by(make):
    """How many pieces of code were run from text meanwhile."""
    found = []
    sys.setprofile(lambda _frame, event, called: found.append(1) if event == "c_call" and called is exec else None)
    try:
        make()
    finally:
        sys.setprofile(None)
    return len(found)


def test_nothing_is_written_before_it_is_first_used_nor_twice():
    kinds_made = []

    def decorate():
        kinds_made.append(
            lazy.dataclass(frozen=True, slots=True, order=True)(type("Made", (), {"__annotations__": {"x": "int"}}))
        )

    assert compiled_by(decorate) == 0
    (kind,) = kinds_made
    assert [compiled_by(lambda: kind(1)), compiled_by(lambda: kind(1))] == [1, 0]
    assert [compiled_by(lambda: kind(1) == kind(1)), compiled_by(lambda: kind(1) == kind(2))] == [1, 0]
    assert [compiled_by(lambda: kind(1) < kind(2)), compiled_by(lambda: hash(kind(1)))] == [1, 1]


def test_a_value_cannot_be_changed():
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="x"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.y
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.z = 3
    assert point == Point(1, 2)


def test_each_object_has_its_own_default():
    one, other = Point(1), Point(1)
    one.tags["a"] = 1
    assert other.tags == {}


def test_a_value_is_replaced_copied_and_pickled_whole():
    point = Point(1, 5, {"a": 1})
    assert replace(point, y=6) == Point(1, 6, {"a": 1})
    for twin in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert twin == point
        assert twin is not point
    assert copy.deepcopy(point).tags is not point.tags


def test_fields_are_inherited():
    made = Derived(size=3, source="a")
    assert [part.name for part in fields(made)] == ["source", "note", "size", "secret"]
    assert repr(made) == "Derived(source='a', note='', size=3)"
    assert made == Derived(size=3, source="a", secret="other")
    assert made != Base(source="a")
    with pytest.raises(TypeError, match="source"):
        Derived(size=3)


def test_a_method_of_the_class_itself_stays():
    @lazy.dataclass(frozen=True, slots=True)
    class Folded:
        """Equal in any case."""

        text: str

        def __eq__(self, other):
            return self.text.lower() == other.text.lower()

        def __hash__(self):
            return hash(self.text.lower())

        def __repr__(self):
            return "Folded"

    assert {Folded("A")} == {Folded("a")}
    assert repr(Folded("A")) == "Folded"


def test_the_first_objects_may_be_made_by_many_threads_at_once():
    @lazy.dataclass(frozen=True, slots=True)
    class Made:
        """Nobody has made one yet."""

        number: int

    found, gate = [], threading.Barrier(8)

    def work(number):
        gate.wait()
        found.append(Made(number) == Made(number) and hash(Made(number)) == hash((number,)) and Made(number).number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(8))


@pytest.mark.parametrize(
    "kind", [{}, {"slots": True}, {"frozen": True}, {"frozen": True, "slots": True, "order": True}]
)
def test_every_other_kind_is_the_standard_one(kind):
    class Plain:
        """One field."""

        x: int

    made = lazy.dataclass(**kind)(Plain)
    assert made(1) == made(1)
    assert hasattr(made(1), "__dict__") == ("slots" not in kind)


@given(st.text("ab1 ", max_size=12))
def test_a_pattern_answers_as_if_compiled_at_once(text):
    late, early = lazy.pattern(r"(?P<word>a+)|\d", re.IGNORECASE), re.compile(r"(?P<word>a+)|\d", re.IGNORECASE)
    for _ in range(2):  # the second time from what the first fetched
        assert [found.span() for found in late.finditer(text)] == [found.span() for found in early.finditer(text)]
        assert late.sub("-", text) == early.sub("-", text)
        assert late.groupindex == early.groupindex


def test_every_pattern_of_the_program_compiles():
    checked = 0
    for module in pkgutil.walk_packages(compat.__path__, "compat."):
        if ".probes" in module.name or module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, lazy._Pattern):
                assert value.pattern is not None
                checked += 1
    assert checked > 0
