"""What an image's container ended with, and what that means; nothing here needs an engine."""

import pytest
import requests
from docker.errors import APIError

from compat.build import container, verification
from compat.build.outcome import Probe
from compat.errors import CannotCheckError
from compat.plan import Plan, PlannedBuild

PASS = '{"event": "probe", "name": "driver.load", "status": "pass"}'
START = '{"event": "start", "probe": "torch.compile"}'
END = '{"event": "end"}'


@pytest.mark.parametrize(
    ("lines", "status", "codes", "words"),
    [
        ([PASS, END], 0, [""], ""),
        ([PASS, END], 137, [""], ""),  # killed after its last word: all was said
        ([PASS], 124, ["", "probe-timeout"], "no end within 30 s"),
        ([PASS, START], 124, ["", "probe-timeout"], "torch.compile"),
        ([], 127, ["image-without-python"], "python3"),
        ([PASS, START], container.REMOVED, ["", "probe-failed"], "removed by somebody else"),
        ([PASS, START], 137, ["", "probe-memory-short"], "the memory limit was reached"),
        ([PASS], 0, ["", "probe-failed"], "status 0"),
        ([], 3, ["probe-failed"], "status 3"),
        (["Python 3.11.2"], 0, ["image-without-python"], "it is no Python"),  # a wrapper that answers to everything
        (['{"event": "begin"}'], 0, ["probe-failed"], "status 0"),
    ],
)
def test_a_run_that_did_not_end_by_itself_is_one_failure_more(lines, status, codes, words):
    found = verification._concluded(lines, status, 30)
    assert [item.code for item in found] == codes
    assert all(item.status == "fail" for item in found if item.code)
    assert words in f"{found[-1].name} {found[-1].why}"


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ("exec /opt/venv/bin/python: exec format error", "container-image-arch", "another processor"),
        ("Exec format error", "container-image-arch", "another processor"),
        ("Fatal Python error: init_fs_encoding", "probe-failed", "status 1: Fatal Python error: init_fs_encoding"),
        ("", "probe-failed", "status 1"),
    ],
)
def test_a_container_that_never_began_is_told_by_its_last_words(said, code, words):
    (found,) = verification._concluded([], 1, 30, said)
    assert (found.status, found.code) == ("fail", code)
    assert found.why.endswith(words) or words in found.why


@pytest.mark.parametrize(
    ("modules", "proved"),
    [
        (None, ()),
        ((), ()),
        (("torch", "torchvision", "jax"), ("torch", "jax")),
        (("",), ()),
        (("paddle", "tensorflow"), ("paddle", "tensorflow")),
    ],
)
def test_what_a_plan_asks_to_prove(modules, proved):
    builds = tuple(PlannedBuild(name=f"p{at}", version="1", module=name) for at, name in enumerate(modules or ()))
    plan = None if modules is None else Plan(runtime="cpu", python="3.12", builds=builds)
    assert verification._modules(plan) == proved


@pytest.mark.parametrize(
    ("said", "absent"),
    [
        ('exec: "python3": executable file not found in $PATH', True),
        ("stat /opt/venv/bin/python: no such file or directory", True),
        ("No such file or directory", True),
        ("could not select device driver", False),
        # a CDI specification that is older than the driver, in runc's words; Docker's of a device that is not there
        (
            'error mounting "/usr/lib/libcuda.so.535" to rootfs: stat /usr/lib/libcuda.so.535: no such file or directory',
            False,
        ),
        ('error gathering device information while adding custom device "/dev/kfd": no such file or directory', False),
        ("permission denied", False),
    ],
)
def test_a_python_that_is_not_there_is_no_fault_of_the_engine(said, absent):
    assert container.is_absent(said) is absent


def test_the_commonest_refusal_is_told_in_plain_words():
    said = 'could not select device driver "" with capabilities: [[gpu]]'
    assert container.refusal(said) == "the engine has no GPU runtime: it cannot give a container its GPU"
    said = "setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all"
    assert container.refusal(said) == f"no CDI specification has the device: {said}"
    other = container.refusal("a\n  b" + "x" * 900)
    assert other.startswith("the engine could not start the container: a bx")
    assert len(other) < 450


@pytest.mark.parametrize("label", ["{", "[]", "null", '{"status": "plan"}', "[" * 100_000, '{"runtime": "cpu"}'])
def test_a_label_that_is_no_plan_is_said_so(label):
    """Nothing can be proved then: the word that there is no GPU would be about another fault."""
    with pytest.raises(CannotCheckError, match="holds no plan") as told:
        verification.planned({verification.PLAN_LABEL: label})
    assert "--plan" in told.value.hint
    plain = {verification.RUNTIME_LABEL: "cpu", verification.VERSIONS_LABEL: "python==3.12 jax==0.6.2"}
    found = verification.planned({verification.PLAN_LABEL: label, **plain})  # the other labels tell it, too
    assert (found.runtime, found.versions()) == ("cpu", {"jax": "0.6.2"})


def test_an_image_of_somebody_else_has_no_plan():
    assert verification.planned({}) is None
    assert verification.planned({verification.PLAN_LABEL: ""}) is None


class Refused:
    """A container that the engine makes and does not start."""

    def start(self):
        answer = requests.Response()
        answer.status_code, answer.reason, answer.url = 500, "Internal Server Error", "http+docker://localhost/x"
        raise APIError("500 Server Error", answer, "unable to find user nosuchuser: no matching entries in passwd file")


def test_a_refusal_is_told_in_the_words_of_the_engine():
    with pytest.raises(CannotCheckError) as told:
        container._refused(Refused())
    assert "could not start the container: unable to find user nosuchuser: no matching" in str(told.value)
    assert "http" not in str(told.value)


@pytest.mark.parametrize("code", ["probe-failed", "", "shm-too-small"])
def test_outside_a_container_only_the_missing_driver_is_told_otherwise(code):
    item = Probe("p", "fail", "w", {}, code)
    assert verification._outside(item) == item


def test_results_without_end_are_read_up_to_a_number():
    found = verification._concluded([PASS] * 5000 + [END], 0, 30)
    assert len(found) == 1000


class Asked:
    """A client of an engine that says so much of itself."""

    def __init__(self, **info):
        self.told = info

    def info(self):
        return self.told


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ({"CgroupVersion": "1", "Rootless": True}, ["container.memory"]),  # Podman
        ({"CgroupVersion": "1", "SecurityOptions": ["name=seccomp", "name=rootless"]}, ["container.memory"]),  # Docker
        ({"CgroupVersion": "2", "Rootless": True}, []),
        ({"CgroupVersion": "1", "Rootless": False, "SecurityOptions": None}, []),
        ({}, []),
    ],
)
def test_a_limit_that_the_engine_does_not_hold_is_told(info, told):
    found = verification._unbounded(Asked(**info))
    assert [(probe.name, probe.status) for probe in found] == [(name, "skip") for name in told]
