"""GitLab's code quality report, and fingerprints that outlive a moved line."""

import json

import pytest

from compat import facts, render
from compat.findings import Finding, Place, Report
from compat.render import gitlab, sarif


def finding(code="index-missing", detail="torch==2.0.1+cu118 is on no index.", file="a.txt", line=3, severity="error"):
    return Finding(code=code, severity=severity, title="T", detail=detail, place=Place(file, line))


def test_an_entry_has_what_gitlab_asks_for():
    (entry,) = json.loads(render.report(Report((finding(),)), facts.Host(), "gitlab"))
    assert (entry["check_name"], entry["severity"]) == ("index-missing", "major")
    assert entry["location"] == {"path": "a.txt", "lines": {"begin": 3}}
    assert entry["description"] == "torch==2.0.1+cu118 is on no index."


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (finding(line=9), True),
        (finding(detail="torch==2.1.0+cu121 is on no index."), True),
        (finding(file="b.txt"), False),
        (finding(code="pin-missing"), False),
        (finding(detail="jax==0.4.1+cu118 is on no index."), False),
    ],
)
def test_a_fingerprint_outlives_lines_and_releases_alone(other, same):
    assert (gitlab.fingerprint(finding()) == gitlab.fingerprint(other)) is same


def test_sarif_has_the_same_fingerprint():
    (result,) = sarif.report(Report((finding(),)))["runs"][0]["results"]
    assert result["partialFingerprints"] == {"envcheck/1": gitlab.fingerprint(finding())}
