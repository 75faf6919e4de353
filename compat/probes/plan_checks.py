"""Whether what is installed is what was planned, told without importing any of it.

The build's own check said so once; this one asks an image that was changed since, or that was never built from the plan
that it is now held against.
"""

import json
import os
import platform
import re
import sys
from typing import Any, Dict

from reporting import Failed, Report

CODE = "image-not-as-planned"


def run(report: Report, text: str) -> None:
    """All checks; ``text`` is a JSON object with ``python``, ``machines`` and ``versions`` (distribution -> version)."""
    plan = json.loads(text)
    report.check("python", _same, "Python", "%d.%d" % sys.version_info[:2], plan["python"])
    machine = platform.machine()
    planned = machine if machine in plan["machines"] else " or ".join(plan["machines"])
    report.check("machine", _same, "the processor", machine, planned)
    report.check("packages", _packages, plan["versions"])


def releases() -> Dict[str, str]:
    """Distribution -> version of all that is installed; the first on ``sys.path`` counts, as it does for an import.

    By the names of the metadata folders (PEP 376; ``.egg-info`` is what distributions and old installers leave):
    ``importlib.metadata`` would tell, but came with Python 3.8, and frameworks had GPU builds for 3.7.
    """
    found = {}  # type: Dict[str, str]
    for folder in sys.path:
        for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            stem, ending = os.path.splitext(entry)
            name, _, rest = stem.partition("-")
            if ending in (".dist-info", ".egg-info") and rest:
                found.setdefault(normal(name), rest.partition("-")[0])
    return found


def normal(name: str) -> str:
    """A distribution's name as the index writes it (PEP 503)."""
    return re.sub("[-_.]+", "-", name).lower()


def _same(what: str, have: str, want: str) -> Dict[str, Any]:
    if have != want:
        raise Failed(CODE, "%s is %s, planned %s" % (what, have, want), have=have, planned=want)
    return {"is": have}


def _packages(wanted: Dict[str, str]) -> Dict[str, Any]:
    """Every planned version."""
    found = releases()
    wrong = {
        name: {"have": found.get(name, ""), "planned": version}
        for name, version in sorted(wanted.items())
        if not agrees(found.get(name, ""), version)
    }
    if wrong:
        words = [
            "%s is %s, planned %s" % (name, item["have"] or "not there", item["planned"])
            for name, item in wrong.items()
        ]
        raise Failed(CODE, "; ".join(words), wrong=wrong)
    return {"checked": len(wanted)}


def agrees(have: str, want: str) -> bool:
    """Whether an installed version is the planned one.

    Local tags are compared where both have one (PEP 440, "Local version identifiers"): an index may publish without the
    tag what another one publishes with it, and the framework's own probe tells what the build is for.
    """
    (mine, _, tag), (other, _, planned) = (re.sub("[-_]", ".", text).lower().partition("+") for text in (have, want))
    return mine == other and (tag == planned or not tag or not planned)
