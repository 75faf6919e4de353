"""What is asked for beside the builds that the matrix knows (``huggingface-hub``) ends in the image, not only in its bounds."""

import pytest
from factory import Settings, write

from compat import resolve
from compat.errors import InputErrors
from compat.matrix import matrix
from compat.plan import dump, load
from compat.resolve.target import from_options


def planned(*wishes):
    host = from_options(matrix(), gpus=["sm_80"], driver="570.26")
    return resolve.resolve(wishes, host, matrix())


@pytest.mark.parametrize("builder", ["buildkit", "classic"])
@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_what_is_asked_for_is_installed(builder, installer):
    plan = planned("torch==2.9.1", "huggingface-hub>=0.30").plan
    text = write(plan, Settings(builder=builder, installer=installer))
    assert plan.asked == ("huggingface-hub>=0.30",)
    assert (
        text.count("      'huggingface-hub>=0.30'\n") + text.count("      'huggingface-hub>=0.30' ") == 2
    )  # held and installed


def test_what_only_bounds_is_held_and_not_installed():
    plan = planned("torch==2.0.1", "tensorflow==2.12.0").plan
    assert any(text.startswith("numpy") for text in plan.constraints)
    assert plan.asked == ()
    assert "asked for on top" not in write(plan, Settings())


def test_bounds_of_the_builds_narrow_what_is_asked_for():
    plan = planned("torch==2.0.1", "tensorflow==2.12.0", "numpy>=1.20").plan
    assert [text for text in plan.constraints if text.startswith("numpy")] == list(plan.asked) == ["numpy>=1.22,<1.24"]


def test_a_requirement_named_twice_is_written_once():
    plan = planned("torch==2.9.1", "huggingface-hub>=0.30").plan
    text = write(plan, Settings(requirements=("huggingface-hub>=0.30",)))
    assert text == write(plan, Settings())


def test_a_stored_plan_keeps_what_was_asked_for():
    answer = planned("torch==2.9.1", "huggingface-hub")
    assert load(dump(answer), "x").plan.asked == ("huggingface-hub",)


def test_a_hostile_one_in_a_stored_plan_is_refused():
    document = dump(planned("torch==2.9.1", "huggingface-hub"))
    document["plan"]["asked"] = ["huggingface-hub; rm -rf /"]
    with pytest.raises(InputErrors, match="asked"):
        write(load(document, "x").plan, Settings())
