"""What a person reads about two states of the measured facts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.errors import InputError
from compat.matrix import observed

LINUX, ARM, MAC = "linux_x86_64 2.28", "linux_aarch64 2.28", "macosx_arm64 11.0"


def release(*requires, date="2026-01-20", platforms=(LINUX,), pythons="3.11 3.12", **more):
    return {"date": date, "wheels": [{"for": dict.fromkeys(platforms, pythons), "requires": list(requires)}], **more}


def carries(targets, cuda="13.0", platform="linux_x86_64"):
    return {"carried": {platform: {"cuda": cuda, "targets": targets, "file": "a.whl"}}}


def folder(path, releases, name="torch"):
    path.mkdir(exist_ok=True)
    (path / f"{name}.json").write_text(json.dumps({"package": name, "releases": releases}))
    return path


@pytest.fixture
def told(tmp_path):
    def compare(old, new):
        return [str(one) for one in observed.diff(folder(tmp_path / "old", old), folder(tmp_path / "new", new))]

    return compare


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (release(), release(), "like 2.15.0"),
        (release(**carries("sm_70 sm_80")), release(**carries("sm_80 sm_120")), "drops sm_70; brings sm_120"),
        (release(**carries("sm_80")), release(**carries("sm_80", cuda="13.2")), "CUDA 13.0 -> 13.2"),
        (release(), release(**carries("sm_80 sm_90")), "CUDA 13.0; found sm_80 sm_90"),
        (release(**carries("sm_80 sm_90")), release(), "like 2.15.0"),  # not looked into, which is no loss
        (release(pythons="3.9 3.10"), release(pythons="3.10 3.11 3.13t"), "drops Python 3.9; brings Python 3.11 3.13t"),
        (release(), release(platforms=(LINUX, ARM)), "brings linux_aarch64"),
        (release(platforms=(LINUX, MAC)), release(), "drops macosx_arm64"),
        (release(platforms=("linux_x86_64 2.17",)), release(), "linux_x86_64 floor 2.17 -> 2.28"),
        (release("numpy<2"), release("numpy<3"), "numpy <2 -> <3"),
        (release("numpy"), release("numpy>=2"), "numpy any -> >=2"),
        (release("triton==3.9"), release('triton==3.9; platform_system == "Linux"'), "like 2.15.0"),
        (release("jax[cuda]==1"), release("jax[cuda,k8s]==2"), "jax ==1 -> ==2"),
        (release("numpy<2", "nvidia-nccl-cu12==2"), release("numpy<2", "nvidia-nccl-cu13==2"),
         "no longer needs nvidia-nccl-cu12; needs nvidia-nccl-cu13==2"),
        (release(), release(yanked=True), "withdrawn; like 2.15.0"),
        (release(yanked=True), release(), "like 2.15.0"),
    ],
)  # fmt: skip
def test_a_new_release_is_told_beside_the_one_before_it(told, before, after, words):
    old = {"2.15.0": before}
    assert told(old, old | {"2.16.0": after}) == [f"torch 2.16.0 measured: 2026-01-20; {words}"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (release(files=4), release(files=4), None),
        (release(), release(files=4), None),  # recorded before files were counted
        (release(files=4), release(files=6), "files 4 -> 6"),
        (release(files=4), release(yanked=True, files=4), "withdrawn"),
        (release(yanked=True), release(), "no longer withdrawn"),
        (release(), release(date="2026-01-19"), "date 2026-01-20 -> 2026-01-19"),
        (release(), release(source=True), "source archive came"),
        (release(source=True), release(), "source archive went"),
        (release(files=2), release(platforms=(LINUX, ARM), files=4), "brings linux_aarch64"),
        (release('a==1; extra == "b"', files=2), release('a==1; extra == "c"', files=2), "told in other words"),
    ],
)
def test_a_release_that_changed_says_how(told, before, after, words):
    assert told({"2.15.0": before}, {"2.15.0": after}) == ([f"torch 2.15.0 {words}"] if words else [])


def test_releases_are_in_the_order_of_their_numbers_and_what_went_comes_first(told):
    old = {"1.10": release(), "1.9": release(), "1.8": release()}
    new = {"1.11": release(pythons="3.12"), "1.10": release(), "1.9": release(), "1.12": release(pythons="3.12")}
    assert told(old, new) == [
        "torch 1.8 is no longer on the index",
        "torch 1.11 measured: 2026-01-20; drops Python 3.11",
        "torch 1.12 measured: 2026-01-20; like 1.11",
    ]


def test_a_first_document_tells_all_and_long_lists_are_counted(tmp_path):
    (tmp_path / "old").mkdir()
    many = release(pythons=" ".join(f"3.{minor}" for minor in range(5, 16)), platforms=(LINUX, ARM), **carries("sm_80"))
    (change,) = observed.diff(tmp_path / "old", folder(tmp_path / "new", {"1.0": many}))
    assert change.table == "observed.torch"
    assert str(change).split("; ") == [
        "torch 1.0 measured: 2026-01-20",
        "CUDA 13.0",
        "found sm_80",
        "Python 3.5 3.6 3.7 3.8 3.9 3.10 3.11 3.12 and 3 more",
        "linux_aarch64 linux_x86_64",
    ]


def test_a_first_release_of_which_nothing_is_told_is_like_no_other(told):
    assert told({}, {"0.1": {"date": "2015-10-11", "wheels": []}}) == ["torch 0.1 measured: 2015-10-11"]


def test_many_requirements_are_counted(told):
    before = release(*(f"p{number}==1" for number in range(20)))
    after = release(*(f"p{number}==2" for number in range(20)))
    ((words,),) = [told({"1.0": before}, {"1.0": after})]
    assert words.count("->") == 8
    assert words.endswith("; 12 more requirements changed")


def test_a_document_that_is_no_json_is_named(tmp_path):
    old, new = folder(tmp_path / "old", {}), folder(tmp_path / "new", {})
    (new / "torch.json").write_text('{"releases": {')
    with pytest.raises(InputError) as caught:
        observed.diff(old, new)
    assert str(new / "torch.json") in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["1.0", "2", "for", "requires", "wheels", "carried", "cuda", "targets", "linux_x86_64 2", "files"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(
    old=st.dictionaries(st.sampled_from(["1.0", "1.1", "x"]), JSON),
    new=st.dictionaries(st.sampled_from(["1.0", "1.1"]), JSON),
)
def test_documents_of_any_shape_are_told_or_passed_over(tmp_path_factory, old, new):
    path = tmp_path_factory.getbasetemp()
    told = observed.diff(folder(path / "old", old), folder(path / "new", new))
    assert all(change.words for change in told)
    assert observed.diff(path / "new", path / "new") == ()
