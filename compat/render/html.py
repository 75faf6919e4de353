"""A page that stands alone: it loads nothing, and every value in it is escaped."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from compat.render.ink import MARKS, one_line
from compat.render.language import ENGLISH, LANGUAGES, Catalogue, spoken
from compat.render.text import decides, parts, unchecked_of, value_of, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jinja2 import Environment

    from compat.facts import Host
    from compat.findings import Finding, Report
    from compat.tables import Table

_FOLDER: Final = Path(__file__).parent / "page"

# Which facts belong to which layer of the stack, by the labels of :func:`compat.render.text.parts`.
_LAYERS: Final = {
    "system": ("os", "kernel", "arch", "glibc", "libc", "libstdcxx", "secure_boot", "cpu", "cpu_flags"),
    "where": ("container", "image", "image_env"),
    "GPU": ("gpus", "device_nodes", "device_nodes_denied", "device_groups", "groups"),
    "driver": ("driver", "driver_library", "driver_cuda", "driver_branch", "nvml", "cuda_init", "modules", "amdgpu"),
    "toolkit": ("cuda_toolkit", "cuda_toolkits", "rocm", "rocm_installs", "hip", "cudnn", "nccl", "libraries"),
    "Python": ("python", "python_environment", "packages", "builds", "package_requires", "duplicate_packages"),
    "engine": ("engine", "engine_status", "gpu_runtime", "container_toolkit", "cdi_devices"),
}


def report(found: Report, host: Host) -> str:
    """The report as one HTML document, which may be opened from an untrusted build's artifacts."""
    return filled("report.html.j2", script="report.js", **_context(found, host, spoken()))


def table(said: Table) -> str:
    """A table of the matrix as one HTML document, each line with how it is known and its sources below."""
    return filled("table.html.j2", style="table.css", table=said)


def filled(template: str, *, script: str = "", style: str = "", **values: Any) -> str:
    """A page that stands alone, of a template that extends ``layout.html.j2``.

    Its policy lets it load nothing and run only our own script, also without a network.

    ``script``: file of the script; none by default. ``**values``: what the template says; every text is escaped.
    """
    from markupsafe import Markup

    own = {"style": _own("report.css") + _own(style), "script": _own(script)}
    hashes = {f"{name}_hash": _hash(text) for name, text in own.items()}
    ours = {name: Markup(text) for name, text in own.items()}  # noqa: S704 - our own files
    return _templates().get_template(template).render(**ours, **hashes, **values)


@lru_cache(maxsize=1)
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    return Environment(
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else _told(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )


@lru_cache(maxsize=8)
def _own(file: str) -> str:
    """The text of a file of ours; nothing of none."""
    return (_FOLDER / file).read_text("utf-8") if file else ""


def _context(found: Report, host: Host, words: Catalogue) -> dict[str, Any]:
    """What the template says of a report."""
    return {
        "lang": LANGUAGES[words is not ENGLISH],
        "said": words.said,
        "verdict": verdict(found, words),
        "layers": list(_layers(found, host, words)),
        "findings": [_finding(finding, words) for finding in found.findings],
        "questions": [(one.run, decides(one, found, words)) for one in found.questions],
        "fine": [words.told(line) for line in found.fine],
        "unchecked": unchecked_of(found, words=words),
    }


def _told(value: Any) -> Any:
    """A value of the outside without control characters and without those that turn the reading direction."""
    return "\n".join(map(one_line, value.split("\n"))) if isinstance(value, str) else value


def _hash(text: str) -> str:
    """The source expression of Content Security Policy 3 that allows one inline text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _layers(found: Report, host: Host, words: Catalogue) -> Iterable[dict[str, str]]:
    """The stack from the system up, each layer with the error that speaks of its facts."""
    errors = [finding for finding in found.findings if finding.severity == "error"]
    for name, text in parts(host, words).items():
        blamed = next((words.title(finding) for finding in errors if _speaks(finding, name)), "")
        yield {"name": words.said(name), "text": text, "broken": f"{words.said('Error:')} {blamed}" if blamed else ""}


def _speaks(finding: Finding, layer: str) -> bool:
    """Whether a fact of this layer is among those that a finding rests on; an entry's name follows a dot."""
    return any(item.fact.partition(".")[0] in _LAYERS.get(layer, ()) for item in finding.evidence)


def _finding(finding: Finding, words: Catalogue) -> dict[str, Any]:
    """A finding with its values as text; ``english`` is its English sentence where another stands in its place."""
    detail = words.detail(finding)
    return {
        "severity": finding.severity,
        "word": words.said(MARKS[finding.severity][1]),
        "title": words.title(finding),
        "place": f"{finding.place.file}:{finding.place.line}" if finding.place else "",
        "detail": detail,
        "english": finding.detail if detail != finding.detail else "",
        "fix": words.fix(finding),
        "commands": "\n".join(map(one_line, finding.fix.commands)),
        "unchecked": words.told(finding.fix.unchecked),
        "consequences": [words.follows(item, finding) for item in finding.consequences],
        "code": finding.code,
        "confidence": words.said(finding.confidence),
        "evidence": [
            {"fact": item.fact, "value": value_of(item.value), "source": item.source} for item in finding.evidence
        ],
        "sources": finding.sources,
    }
