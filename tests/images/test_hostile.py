"""Nothing from outside breaks out of its place: refused, or quoted so that it reads back as it went in."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compat.dockerfile import Settings, write
from compat.dockerfile.quoting import exec_form, shell, word
from compat.errors import InputError, InputErrors

printable = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40)

REFUSED = [
    ("requirements", ("torch; rm -rf /",)),
    ("requirements", ("torch\nRUN evil",)),
    ("requirements", ("--index-url=http://evil torch",)),
    ("requirements", ("torch $(id)",)),
    ("requirements", ("",)),
    ("apt", ("ffmpeg; id",)),
    ("apt", ("-o=Evil",)),
    ("apt", ("ffmpeg-",)),
    ("apt", ("ffmpeg=1.0-",)),
    ("apt", ("ffmpeg\nRUN id",)),
    ("files", (("../secret", "/app/x"),)),
    ("files", (("/etc/passwd", "/app/x"),)),
    ("files", (("a", "/app/../etc/x"),)),
    ("files", (("a $HOME", "/app/x"),)),
    ("files", (("a", "relative"),)),
    ("requirements_file", "../r.txt"),
    ("lock", "a,source=/etc"),
    ("digest", "sha256:abc"),
    ("digest", "latest"),
    ("user", 0),
    ("user", -1),
    ("env", {"BAD NAME": "1"}),
    ("env", {"A=B": "1"}),
    ("env", {"A": "1\nRUN id"}),
    ("labels", {"Bad Key": "1"}),
    ("command", ("python\n",)),
    ("secrets", ("shadow",)),
    ("devel_image", "Bad Image"),
    ("builder", "kaniko"),
    ("installer", "conda"),
    ("apt", "ffmpeg"),
    ("apt", (1, 2)),
    ("files", ("a",)),
    ("env", "A=1"),
    ("env", {"A": 1}),
    ("user", "root"),
    ("user", True),
    ("trim", "yes"),
    ("command", (None,)),
]


@pytest.mark.parametrize(("field", "value"), REFUSED, ids=[f"{field}={value!r:.40}" for field, value in REFUSED])
def test_a_wish_that_cannot_be_written_safely_is_refused_with_its_name(plan, field, value):
    with pytest.raises(InputErrors) as caught:
        write(plan, Settings(**{field: value}))
    assert any(field.replace("_", "-").rstrip("s") in str(fault) for fault in caught.value.faults)
    assert all(fault.expected for fault in caught.value.faults)


def test_all_faults_are_told_at_once(plan):
    with pytest.raises(InputErrors) as caught:
        write(plan, Settings(apt=("a b",), user=0, digest="x", requirements=("!!",)))
    assert len(caught.value.faults) == 4


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("python", "3.10 && id"),
        ("arch", "x86_64\nRUN id"),
        ("constraints", ("numpy' > /etc/x",)),
        ("env", {"A": "x\ny"}),
        ("env", {"A B": "x"}),
    ],
)
def test_a_plan_from_a_stranger_is_refused(plan, field, value):
    with pytest.raises(InputError):
        write(replace(plan, **{field: value}))


@pytest.mark.parametrize(
    "change",
    [
        {"index": 'https://x/"; id; "'},
        {"index": "https://x/$(id)"},
        {"index": "ftp://x"},
        {"version": "1.0; id"},
        {"name": "torch --pre"},
        {"pins": ("x==1\nRUN id",)},
    ],
)
def test_a_build_from_a_stranger_is_refused(plan, change):
    with pytest.raises(InputError):
        write(replace(plan, builds=(replace(plan.builds[0], **change),)))


@pytest.mark.parametrize("image", ["x\nRUN id", "x AS y", "$(id)", "UPPER:case", "-x"])
def test_a_base_from_a_stranger_is_refused(plan, image):
    with pytest.raises(InputError):
        write(replace(plan, base_image=replace(plan.base_image, image=image)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(text=printable)
def test_any_value_reads_back_as_it_went_in(plan, parsed, unquoted, text):
    found = parsed(write(plan, Settings(env={"A": text}, labels={"a.b": text}, command=("echo", text))))
    assert unquoted(next(rest for keyword, rest in found if keyword == "ENV"))["A"] == text
    assert unquoted(next(rest for keyword, rest in found if keyword == "LABEL"))["a.b"] == text
    import json

    assert json.loads(next(rest for keyword, rest in found if keyword == "CMD")) == ["echo", text]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(text=st.text(max_size=60))
def test_notes_of_a_plan_cannot_leave_their_comment(plan, parsed, text):
    before = parsed(write(plan))
    noted = replace(plan, base_image=replace(plan.base_image, why=text), driver=replace(plan.driver, note=text))
    after = parsed(write(noted))
    strip = [item for item in after if item[0] != "LABEL"]
    assert strip == [item for item in before if item[0] != "LABEL"]


@given(text=st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), max_size=60))
def test_shell_words_are_one_word(text):
    import shlex

    assert shlex.split(shell(text)) == [text]


def test_quoting_by_example():
    assert word('say "$HOME" \\o/') == r'"say \"\$HOME\" \\o/"'
    assert exec_form(["a b", '"']) == r'["a b", "\""]'
