from __future__ import annotations

import pytest
import replay as machines

from compat.facts import host as facts
from compat.matrix import matrix as shipped
from compat.rules import judge


@pytest.fixture(scope="session")
def matrix():
    return shipped()


@pytest.fixture
def doctor(matrix):
    """Judge facts given by name: ``doctor(error="...", driver="535.54")``; options of ``judge`` go to it."""

    def ask(*, error="", wishes=(), commands=(), select=(), ignore=(), **values):
        options = {"error": error, "wishes": wishes, "commands": commands, "select": select, "ignore": ignore}
        return judge(facts("test", **values), matrix, **options)

    return ask


@pytest.fixture(scope="session")
def replay():
    return machines


def codes(report):
    """All codes of a report in its order, consequences after their cause."""

    def of(finding):
        return [finding.code, *(code for item in finding.consequences for code in of(item))]

    return [code for finding in report.findings for code in of(finding)]


def all_findings(report):
    return [item for root in report.findings for item in (root, *root.consequences)]
