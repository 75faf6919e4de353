"""What may be asked, and how a request that cannot be read is refused: the fault, where it is, what was expected."""

from __future__ import annotations

from itertools import product

import pytest
from review import ask
from worlds import Question, Rows, build, common_tables, package

from compat.errors import InputError
from compat.facts import Host
from compat.matrix import Matrix
from compat.resolve import resolve
from compat.resolve.knowledge import knowledge
from compat.resolve.request import read
from compat.resolve.wish import Wish


def tables() -> dict:
    return {
        **common_tables(),
        "packages": [
            {**package("torch"), "aliases": "pytorch"},
            {**package("tensorflow"), "aliases": "tf tensorflow-cpu", "cpu_name": "tensorflow-cpu"},
            package("torchvision", kind="companion", follows="torch"),
        ],
        "builds.torch": [
            build("1.13.1 2.0.1", "cuda11.8", local="cu118", kernels="sm_80", requires=["numpy<2"]),
            build("2.0.1", "cpu", local="cpu"),
            build("2.0.0", "cuda11.8", kernels="sm_80", yanked=True),
        ],
        "builds.tensorflow": [
            build("2.14.0", "rocm5.4", kernels="gfx900", distribution="tensorflow-rocm", published="2.14.0.600"),
            build("2.14.0", "cpu", distribution="tensorflow-cpu"),
        ],
        "builds.torchvision": [build("0.15.2", "cuda11.8", kernels="-", requires=["torch==2.0.1"])],
    }


def matrix() -> Matrix:
    return Matrix(Rows(tables()))


def wish(text: str) -> Wish:
    return read([text], knowledge(matrix()))[0]


def refusal(*requirements: str) -> InputError:
    with pytest.raises(InputError) as caught:
        resolve(requirements, Host(), matrix())
    return caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch", Wish("torch", "torch")),
        ("PyTorch >= 1.13 , < 3", Wish("PyTorch >= 1.13 , < 3", "torch", "<3,>=1.13")),
        ("torch==2.0.1+cpu", Wish("torch==2.0.1+cpu", "torch", "==2.0.1+cpu", cpu=True)),
        ("tf", Wish("tf", "tensorflow")),
        ("tensorflow-cpu", Wish("tensorflow-cpu", "tensorflow", cpu=True, distribution="tensorflow-cpu")),
        ("torch[opt]", Wish("torch[opt]", "torch", extras=("opt",))),
    ],
)
def test_a_requirement_is_read(text: str, expected: Wish) -> None:
    assert wish(text) == expected


def test_a_shared_dependency_may_be_asked_beside_a_package() -> None:
    found = read(["torch", "numpy<1.26"], knowledge(matrix()))
    assert [one.shared for one in found] == [False, True]


def test_a_shared_dependency_alone_is_no_request() -> None:
    assert "no framework" in str(refusal("numpy<2"))


def test_a_package_without_rows_rides_along_and_the_plan_says_that_nothing_judged_it() -> None:
    answer = resolve(["torch==2.0.1", 'My_Package[b,a]>=1; python_version >= "3.8"', "torchx"], Host(), matrix())
    assert answer.status == "plan"
    assert answer.plan is not None
    assert answer.plan.unjudged == ("my-package[a,b]>=1", "torchx")
    assert [build.name for build in answer.plan.builds] == ["torch"]
    (told,) = [text for text in answer.conditions if "my-package" in text]
    assert told.startswith("not judged, since the matrix has no rows of it: my-package, torchx;")


def test_what_rides_along_is_in_no_conflict_and_stays_in_the_ways_out() -> None:
    answer = resolve(["torch==2.0.1", "torchvision==0.15.2", "numpy>=2", "my-package"], Host(), matrix())
    assert answer.status == "conflict"
    assert answer.fixes
    assert not [member for one in answer.conflicts for member in one.members if "my-package" in member.text]
    assert all("my-package" in ask.requirements for fix in answer.fixes for ask in fix.asks)


def test_a_package_without_rows_alone_has_no_answer() -> None:
    answer = resolve(["my-package"], Host(), matrix())
    assert (answer.status, answer.plan) == ("unknown", None)
    assert answer.conditions == ("the matrix has no builds of my-package, and nothing else is asked for",)


def test_nothing_asked_is_no_request() -> None:
    assert "no framework" in str(refusal())


def test_repeats_are_one_wish() -> None:
    assert len(read(["torch", "torch"], knowledge(matrix()))) == 1


def test_two_wishes_about_one_package_must_both_hold() -> None:
    answer = resolve(["torch>=2.0", "torch<2.0"], Host(), matrix())
    assert [member.text for member in answer.conflicts[0].members[:2]] == ["torch>=2.0", "torch<2.0"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("pytorhc", ["no package 'pytorhc' is known", "did you mean pytorch"]),
        ("troch", ["no package 'troch' is known", "did you mean torch", "-r"]),
        ("tensorlfow>=2", ["no package 'tensorlfow' is known", "did you mean tensorflow"]),
        ("my-package>2,<1", ["no version can meet <1,>2", "a range that holds one"]),
        ("my-package; rm -rf /", ["not a requirement"]),
        ("$(reboot)", ["not a requirement"]),
        ("../my-package", ["not a requirement"]),
        ("my-package @ git+https://example.org/x", ["with an address"]),
        ("torch==2.0.7", ["no torch ==2.0.7 exists", "2.0.1"]),
        ("torch==2.0.1+cu121", ["no torch ==2.0.1+cu121", "2.0.1+cu118"]),
        ("torch==99", ["no torch ==99", "2.0.1"]),
        ("torch=2.0.1", ["not a requirement"]),
        ("torch==", ["not a requirement"]),
        ("", ["not a requirement"]),
        ("torch @ https://example.org/torch.whl", ["with an address"]),
        ("-r requirements.txt", ["not a requirement"]),
        ("torch" + "x" * 600, ["605 characters"]),
        ("torch; import os", ["not a requirement"]),
        ("tоrch", ["not a requirement"]),  # a Cyrillic letter
    ],
)
def test_a_faulty_requirement_is_refused_with_what_was_expected(text: str, parts: list[str]) -> None:
    error = refusal(text)
    assert error.exit_code == 2
    assert error.where.startswith("argument")
    assert error.expected
    assert all(part in str(error) for part in parts), str(error)


def test_a_release_older_than_the_matrix_is_unknown() -> None:
    answer = resolve(["torch==1.4.0"], Host(), matrix())
    assert answer.status == "unknown"
    assert "from 1.13.1 on" in answer.conditions[0]


@pytest.mark.parametrize("how", ["documented", "inferred"])
@pytest.mark.parametrize("held", list(product([True, False], repeat=3)))
def test_a_variant_is_called_nonexistent_only_where_every_row_of_it_was_seen(held: tuple[bool, ...], how: str) -> None:
    """``held``: whether the index has the variant for the release before, the one pinned, and the one after."""
    releases = ("1.0.0", "2.0.0", "3.0.0")
    plain = build(" ".join(releases), "cpu", local="cpu", index="other")
    cu = [
        build(name, "cuda11.8", local="cu118", index="other", how=how)
        for name, has in zip(releases, held, strict=True)
        if has
    ]
    indexes = [{"name": "other", "url": "https://wheels.example.org/", "source": "made-up", "how": "documented"}]
    own = {"indexes": indexes, "packages": [package("torch")], "builds.torch": [plain, *cu]}
    world = Matrix(Rows({**tables(), **own}))
    before, pinned, after = held
    may_be = before and after and not pinned and how == "inferred"
    if pinned or may_be:
        answer = resolve(["torch==2.0.0+cu118"], Host(), world)
        assert (answer.status == "unknown") == may_be
        assert not may_be or "releases before and after" in answer.conditions[0]
    else:
        with pytest.raises(InputError, match="no torch"):
            resolve(["torch==2.0.0+cu118"], Host(), world)


def test_a_refused_release_is_told_with_those_next_to_where_it_would_stand() -> None:
    world = Matrix(Rows({**tables(), "builds.torch": [build(f"1.{n}.0", "cpu") for n in range(30)]}))
    with pytest.raises(InputError) as caught:
        resolve(["torch==1.7.5"], Host(), world)
    assert caught.value.expected == "1.10.0, 1.9.0, 1.8.0, 1.7.0, 1.6.0, 1.5.0, 1.29.0"


def test_a_withdrawn_release_only_if_named() -> None:
    question = Question(tables(), ["torch>=2.0.0,<2.0.1"], ["sm_80"])
    assert resolve(question.requirements, question.host(), question.matrix()).status == "conflict"
    named = Question(tables(), ["torch==2.0.0"], ["sm_80"])
    answer = resolve(named.requirements, named.host(), named.matrix())
    assert answer.plan is not None
    assert answer.plan.builds[0].version == "2.0.0"


def test_the_distribution_that_is_installed_is_named_with_its_own_version() -> None:
    question = Question(tables(), ["tensorflow==2.14.0"], ["gfx900"])
    answer = resolve(question.requirements, question.host(), question.matrix())
    assert answer.plan is not None
    assert answer.plan.builds[0].requirement == "tensorflow-rocm==2.14.0.600"


def test_an_unknown_preference_is_refused() -> None:
    with pytest.raises(InputError, match="newest or smallest"):
        resolve(["torch"], Host(), matrix(), prefer="fastest")


@pytest.mark.parametrize(
    ("marker", "facts", "counts"),
    [
        ('sys_platform == "win32"', {}, False),
        ('sys_platform == "linux"', {}, True),
        ('platform_machine == "aarch64"', {"arch": "x86_64"}, False),
        ('python_version < "3.10"', {"python": "3.11"}, False),
        ('python_version < "3.10"', {"python": "3.9"}, True),
        ('python_version < "3.10"', {}, True),
    ],
)
def test_a_requirement_whose_marker_is_false_on_the_target_is_not_asked(marker: str, facts: dict, counts: bool) -> None:
    question = Question(tables(), ["torch==1.13.1", f"torchvision; {marker}"], ["sm_80"], facts)
    answer = resolve(question.requirements, question.host(), question.matrix())
    assert answer.status == ("conflict" if counts else "plan")  # this torchvision needs another torch


def test_a_request_of_which_nothing_applies_is_refused() -> None:
    assert "no requirement applies on linux_x86_64" in str(refusal('torch; sys_platform == "win32"'))


def needy() -> Matrix:
    rows = tables()
    rows["packages"] += [
        {**package("tool", kind="companion"), "needs": "torch"},
        {**package("front", kind="companion"), "needs": "tensorflow torch"},
    ]
    rows["builds.torch"].append(build("2.1.0", "cuda11.8", kernels="sm_80", requires=["tool==1.0"]))
    rows["builds.tool"] = [build("1.0 2.0", "", kernels="-")]
    rows["builds.front"] = [build("1.0", "", kernels="-")]
    return Matrix(Rows(rows))


def test_a_package_that_is_useless_alone_brings_its_framework_which_decides_its_release() -> None:
    answer = resolve(["tool"], Host(), needy())
    assert answer.plan is not None
    assert [(build.name, build.version) for build in answer.plan.builds] == [("torch", "2.1.0"), ("tool", "1.0")]


def test_a_package_for_one_of_several_frameworks_asks_which() -> None:
    asked = "front computes through tensorflow or torch: ask for one of them beside it"
    alone = resolve(["front"], Host(), needy())
    assert (alone.status, alone.conditions[0]) == ("unknown", asked)
    beside = resolve(["front", "torch"], Host(), needy())
    assert (beside.status, asked in beside.conditions) == ("plan", False)


def test_a_guess_about_a_field_that_decides_is_told_beside_the_plan() -> None:
    rows = tables()
    guessed = {"how": "documented", "inferred": "python kernels", "note": "as of the release before"}
    rows["builds.torch"].append(build("2.2.0", "cuda11.8", kernels="sm_80", **guessed))
    answer = resolve(["torch"], Host(), Matrix(Rows(rows)))
    told = "torch 2.2.0: its Pythons and its GPU code known by inference only; as of the release before"
    assert answer.plan is not None
    assert answer.plan.builds[0].version == "2.2.0"
    assert told in answer.conditions


@pytest.mark.parametrize(
    ("asked", "series"), [("nvidia-cudnn-cu12==9.1.0.70", "2.6"), ("nvidia-nccl-cu12==2.20.5", "2.4")]
)
def test_a_library_alone_is_answered_by_a_framework_that_requires_that_version(asked: str, series: str) -> None:
    (reply,) = ask(f"envcheck resolve {asked} --gpu sm_89")
    told, plan = reply.answer, reply.answer.plan
    assert told.status == "unknown"
    assert "no framework is asked for: ask for one that brings" in told.conditions[0]
    assert f"torch=={series}" in told.conditions[0]
    assert plan is not None
    assert plan.builds[0].version.startswith(series)


def test_a_library_that_no_framework_brings_to_a_gpu_is_said_to_have_none() -> None:
    (reply,) = ask("envcheck resolve nvidia-cudnn-cu12 --gpu MI300X")
    assert (reply.answer.status, reply.answer.plan) == ("unknown", None)
    assert "no plan of one that brings nvidia-cudnn-cu12" in reply.answer.conditions[0]


def test_what_comes_as_images_alone_is_told_so() -> None:
    (reply,) = ask("envcheck resolve ollama --gpu sm_89")
    assert "ollama comes as images, ollama/ollama: `envcheck matrix show ollama` lists them" in reply.answer.conditions
