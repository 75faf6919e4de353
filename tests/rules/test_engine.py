"""The engine: facts choose among what a message may mean, causes fold their consequences, nothing unknown is fine."""

from __future__ import annotations

import pytest

from compat.facts import CATALOGUE, Fact, Host, Unknown
from compat.findings import RANK
from compat.rules import RULES, judge, page
from compat.rules.case import Case
from compat.rules.engine import case_of, needed_of, parameters, weighed
from compat.rules.rule import Fits, Found, Rule, Unsure, code_of, family

NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
INSUFFICIENT = "CUDA driver version is insufficient for CUDA runtime version"
NO_GPUS = "RuntimeError: No CUDA GPUs are available"
K80 = {"name": "Tesla K80", "vendor": "nvidia", "target": "sm_37"}
RTX_5090 = {"name": "NVIDIA GeForce RTX 5090", "vendor": "nvidia", "target": "sm_120"}
RX_6700 = {"name": "AMD Radeon RX 6700 XT", "vendor": "amd", "target": "gfx1031"}


def judge_with(rules, host, matrix):
    return weighed(rules, case_of(host, matrix, {}), {})


def codes(report):
    return [item.code for root in report.findings for item in (root, *root.consequences)]


ONE_TEXT_MANY_CAUSES = [
    (NO_IMAGE, {"gpus": [K80]}, "arch-too-old-for-build"),
    (NO_IMAGE, {"gpus": [RTX_5090], "packages": {"torch": "2.5.1+cu124"}}, "arch-too-new-for-build"),
    (NO_IMAGE, {"gpus": [RX_6700], "packages": {"torch": "2.0.1+rocm5.4.2"}}, "rocm-gfx-unsupported"),
    (
        NO_IMAGE,
        {"driver": "470.57.02", "cuda_toolkit": "11.6", "packages": {"jax": "0.3.16"}},
        "driver-too-old-for-runtime",
    ),
    (INSUFFICIENT, {"driver": "470.57.02", "builds": {"torch": {"runtime": "cuda12.1"}}}, "driver-too-old-for-runtime"),
    (INSUFFICIENT, {"driver": None, "gpus": [{**RTX_5090, "driver": "none"}]}, "no-driver"),
    (INSUFFICIENT, {"container": "docker", "device_nodes": [], "gpus": [RTX_5090]}, "container-no-gpu"),
    (NO_GPUS, {"env": {"CUDA_VISIBLE_DEVICES": "7"}, "gpus": [RTX_5090]}, "devices-hidden"),
    (NO_GPUS, {"container": "docker", "device_nodes": [], "gpus": [RTX_5090]}, "container-no-gpu"),
    (NO_GPUS, {"gpus": [RX_6700], "packages": {"torch": "2.5.1+cu124"}}, "wrong-vendor-build"),
    ("Failed to initialize NVML: Unknown Error", {"container": "docker"}, "container-cgroup-lost"),
    (
        "Failed to initialize NVML: Unknown Error",
        {"container": None, "device_nodes": ["/dev/nvidiactl"]},
        "uvm-not-ready",
    ),
    (
        "CUDA error 803: system has unsupported display driver / cuda driver combination",
        {"image": "example/app"},
        "forward-compat-conflict",
    ),
    (
        "CUDA error 803: system has unsupported display driver / cuda driver combination",
        {"driver": "535.171.04", "driver_library": "535.183.01"},
        "driver-library-mismatch",
    ),
    ("torch.cuda.is_available() returns False", {"packages": {"torch": "2.5.1+cpu"}}, "cpu-only-build"),
    (
        "torch.cuda.is_available() returns False",
        {"packages": {"torch": "2.9.1+cu130"}, "driver": "550.54.14", "gpus": [RTX_5090]},
        "driver-too-old-for-runtime",
    ),
    ("No matching distribution found for torch==2.0.1", {"python": "3.13.0"}, "python-unsupported"),
    (
        "No matching distribution found for triton==3.0.0",
        {"platform": "windows", "python": "3.11"},
        "platform-unsupported",
    ),
]


@pytest.mark.parametrize(("error", "facts", "code"), ONE_TEXT_MANY_CAUSES)
def test_facts_choose_among_the_causes_of_one_text(doctor, error, facts, code):
    assert doctor(error=error, **facts).findings[0].code == code


def test_a_message_without_facts_is_no_error_but_a_question(doctor):
    report = doctor(error=NO_IMAGE)
    assert report.ok
    assert {finding.confidence for finding in report.findings} == {"possible"}
    asked = " ".join(item.why for item in report.unchecked)
    assert "not known, and would decide it" in asked
    assert "gpus" in asked


def test_message_and_facts_together_are_certain(doctor):
    found = doctor(error=NO_IMAGE, gpus=[RTX_5090], packages={"torch": "2.5.1+cu124"}).findings[0]
    assert found.confidence == "certain"
    assert {item.fact for item in found.evidence} >= {"gpus", "packages.torch", "error"}


def test_what_explains_the_error_stands_before_what_does_not(doctor):
    report = doctor(
        error="CUDA out of memory. Tried to allocate 2.00 GiB", gpus=[K80], packages={"torch": "2.5.1+cu124"}
    )
    assert codes(report)[0] == "out-of-memory"
    assert "arch-too-old-for-build" in codes(report)


def test_a_benign_message_raises_nothing(doctor):
    text = "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node"
    assert doctor(error=text).findings == ()


def test_a_fact_of_the_text_never_overrides_one_that_was_read(doctor):
    text = "The NVIDIA driver on your system is too old (found version 10010)."
    report = doctor(error=text, driver_cuda="12.4", driver="550.54.14")
    shown = {item.fact: item.value for item in report.findings[0].evidence}
    assert shown.get("driver_cuda", "12.4") == "12.4"


def test_facts_of_the_text_are_cited_as_such(doctor):
    found = doctor(error="The NVIDIA driver on your system is too old (found version 10010).").findings[0]
    assert [(item.value, item.source) for item in found.evidence if item.fact == "driver_cuda"] == [
        ("10.1", "error text")
    ]


def test_select_and_ignore(doctor):
    facts = {"xids": ["79"], "disk_free_mib": 900}
    assert codes(doctor(**facts, select=["disk-space-low"])) == ["disk-space-low"]
    assert "gpu-xid-fatal" not in codes(doctor(**facts, ignore=["gpu-xid-fatal"]))


def test_findings_are_ordered_by_severity(doctor):
    report = doctor(xids=["79"], disk_free_mib=900, engine=None, container=None)
    ranks = [RANK[finding.severity] for finding in report.findings]
    assert ranks == sorted(ranks)


def test_an_unknown_fact_is_told_with_its_reason_and_never_as_fine(matrix):
    host = Host({"gpus": Fact((), "test"), "xids": Unknown("dmesg: permission denied", "dmesg")})
    report = judge(host, matrix)
    assert not any("Xid" in line for line in report.fine)


# --- a small world of rules: folding, applicability, the three answers ---


class First(Rule):
    """The cause.

    Why:
        Because.
    Fix:
        Mend it.
    Sources:
        - https://example.org/first
    """

    def check(self, driver):  # noqa: ARG002 - a parameter is a demand
        """It is there."""
        return Found(detail="first.")


class Second(First):
    """The consequence.

    Why:
        Because.
    Fix:
        Mend it.
    Sources:
        - https://example.org/second
    """

    requires = ("first", "third")
    severity = "warning"

    def check(self, driver):  # noqa: ARG002 - a parameter is a demand
        """It is there."""
        return Found(detail="second.")


class Third(First):
    """Requires what requires it.

    Why:
        Because.
    Fix:
        Mend it.
    Sources:
        - https://example.org/third
    """

    requires = ("second",)
    severity = "warning"

    def check(self, host):
        """It is there."""
        return Found(detail="third.") if host.driver else Fits("third fits") if host.gpus else Unsure("who knows")


WORLD = family(First, Second, Third)


def test_consequences_fold_under_the_cause_through_chains_and_circles(matrix):
    report = judge_with(WORLD, Host({"driver": Fact("1.0", "test")}), matrix)
    assert [finding.code for finding in report.findings] == ["first"]
    assert {item.code for item in report.findings[0].consequences} == {"second", "third"}


def test_a_circle_without_a_cause_still_tells_everything(matrix):
    report = judge_with(family(Second, Third), Host({"driver": Fact("1.0", "test")}), matrix)
    assert sorted(codes(report)) == ["second", "third"]


def test_a_required_fact_that_is_unknown_leaves_the_rule_unasked(matrix):
    report = judge_with(WORLD, Host(), matrix)
    assert report.findings == ()
    assert {(item.what, item.why) for item in report.unchecked} == {
        ("first, second", "driver is unknown"),
        ("third", "who knows"),
    }


def test_a_known_absence_of_a_required_fact_means_it_does_not_apply(matrix):
    report = judge_with(family(First), Host({"driver": Fact(None, "test")}), matrix)
    assert report.findings == report.unchecked == ()


def test_a_rule_for_another_vendor_does_not_apply(matrix):
    class Amd(First):
        __doc__ = First.__doc__
        vendors = ("amd",)

    host = Host({"driver": Fact("1.0", "t")}).over(Host())
    assert codes(judge_with(family(Amd), host, matrix)) == ["amd"]
    from compat.facts import host as facts

    assert codes(judge_with(family(Amd), facts("t", driver="1.0", gpus=[{"vendor": "nvidia"}]), matrix)) == []


def test_a_finding_is_completed_with_evidence_deed_and_sources(matrix):
    found = judge_with(family(First), Host({"driver": Fact("1.0", "test")}), matrix).findings[0]
    assert [(item.fact, item.value, item.source) for item in found.evidence] == [("driver", "1.0", "test")]
    assert found.fix.text == "Mend it."
    assert found.sources == ("https://example.org/first",)


# --- the rules as documents ---


@pytest.mark.parametrize("code", RULES)
def test_every_rule_has_a_page(code):
    told = page(code)
    assert told.code == code == code_of(RULES[code])
    assert all((told.title, told.what, told.why, told.fix, told.area))
    assert all(source.startswith("https://") for source in told.sources)
    assert told.sources


GIVEN = {"host", "matrix", "signals", "wishes", "commands", "wanted"}
TYPES = {
    "text": "str",
    "version": "str",
    "number": "int",
    "flag": "bool",
    "texts": "tuple[str, ...]",
    "table": "Mapping[str, str]",
    "tables": "Mapping[str, tuple[str, ...]]",
    "gpus": "tuple[Gpu, ...]",
    "builds": "Mapping[str, Build]",
    "libraries": "tuple[Library, ...]",
}
"""Kind of a fact -> the type that a rule's parameter of its name has."""


@pytest.mark.parametrize("code", RULES)
def test_a_rule_names_facts_and_causes_that_exist(code):
    assert set(parameters(RULES[code])) <= {*GIVEN, "case", *vars(Case), *CATALOGUE}
    assert set(RULES[code].asks) <= set(CATALOGUE)
    assert set(RULES[code].requires) <= RULES.keys() - {code}


@pytest.mark.parametrize("code", RULES)
def test_a_rule_gets_each_fact_in_the_type_of_the_catalogue(code):
    types = RULES[code].check.__annotations__
    for name in needed_of(RULES[code]):
        assert types[name] == TYPES[CATALOGUE[name].kind], name
    assert not set(RULES[code].asks) & set(needed_of(RULES[code]))


def test_a_page_that_lacks_a_heading_is_refused():
    from compat.rules.pages import page_of

    class Bare(Rule):
        """A title alone."""

    with pytest.raises(ValueError, match="headings"):
        page_of(Bare)
