"""A doctor's report as a person reads it: what is broken and why, what to type, what is fine, what nobody checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compat.facts import Build, Gpu, Library, plain
from compat.render.ink import Ink, printable

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.findings import Finding, Report

_FRAMEWORKS: Final = (
    "torch",
    "tensorflow",
    "jax",
    "jaxlib",
    "paddlepaddle",
    "paddlepaddle-gpu",
    "onnxruntime-gpu",
    "vllm",
)
_MARKS: Final = {"error": ("red bold", "✗"), "warning": ("yellow bold", "!"), "info": ("blue", "i")}


def report(found: Report, host: Host, *, title: str = "envcheck doctor", pen: Ink | None = None) -> str:
    """The whole report, worst first."""
    pen = pen or Ink()
    lines = [pen("bold", title), *machine(host, pen), ""]
    for finding in found.findings:
        lines += [*advice(finding, pen), ""]
    lines += [pen("green", "✓ ") + printable(text) for text in found.fine]
    if found.fine:
        lines.append("")
    if found.unchecked:
        lines += [*(pen("dim", line) for line in _unchecked(found, pen)), ""]
    lines.append(_closing(found, pen))
    return "\n".join(lines)


def summary_of(host: Host) -> str:
    """One line that says which machine this is: system, Python, devices, driver."""
    words = [host["os_name"] or host["os"] or "", f"Python {host['python']}" if host["python"] else ""]
    words += [host["container"] and f"in {host['container']}", *_devices(host)]
    words.append(f"driver {host['driver']}" if host["driver"] else "")
    return printable(" · ".join(word for word in words if word))


def _devices(host: Host) -> list[str]:
    """Devices by name with their number; "no GPU" only if that is known."""
    if not host.known("gpus"):
        return []
    names = [gpu.name or gpu.target or gpu.pci or "unnamed GPU" for gpu in host["gpus"] or ()]
    if not names:
        return ["no GPU"]
    return [f"{names.count(name)} x {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]


def advice(finding: Finding, pen: Ink) -> list[str]:
    """One finding: what, why, what was seen, what to do, what follows from it, where the knowledge is from."""
    style, mark = _MARKS[finding.severity]
    sure = "" if finding.confidence == "certain" else f" ({finding.confidence})"
    where = f"{finding.place.file}:{finding.place.line}: " if finding.place else ""
    lines = [pen(style, printable(f"{mark} {where}{finding.title}")) + pen("dim", f"  {finding.code}{sure}")]
    lines += pen.wrap(finding.detail, "    ")
    lines += _evidence(finding, pen)
    if finding.fix.text:
        lines += _labelled("do", finding.fix.text, pen)
    lines += [" " * 10 + pen("cyan", printable(f"$ {command}")) for command in finding.fix.commands]
    for consequence in finding.consequences:
        lines += _labelled("hence", f"{consequence.title} ({consequence.code})", pen)
    if finding.sources:
        lines += [pen("dim", line) for line in _labelled("from", _sources(finding), Ink(width=pen.width))]
    return lines


def _sources(finding: Finding, most: int = 3) -> str:
    """The first citations; the others are in the JSON document."""
    cited = [part for source in finding.sources for part in source.split("; ")]
    more = f"; and {len(cited) - most} more" if len(cited) > most else ""
    return "; ".join(cited[:most]) + more


def _unchecked(found: Report, pen: Ink) -> list[str]:
    """What was not judged: facts that nobody knows in one paragraph, everything else with its own reason."""
    missing = [item for item in found.unchecked if item.why.endswith(" is unknown")]
    facts = dict.fromkeys(item.why.removesuffix(" is unknown") for item in missing)
    rules = sum(item.what.count(",") + 1 for item in missing)
    lines = ["Not checked:"]
    for item in found.unchecked:
        lines += pen.wrap(f"{item.what}: {item.why}", "  ? ", "    ") if item not in missing else []
    if missing:
        asked = f"{_number(rules, 'check')} for want of {', '.join(facts)}"
        lines += pen.wrap(asked, "  ? ", "    ")
    return lines


def machine(host: Host, pen: Ink) -> list[str]:
    """The machine in a few lines: only what is known, and what is known to be absent."""
    parts = {
        "system": _join(
            host["os_name"] or host["os"], host["kernel"] and f"kernel {host['kernel']}", host["arch"], _libc(host)
        ),
        "where": host["container"] and f"inside a {host['container']} container",
        "GPU": ", ".join(_devices(host)),
        "driver": _drivers(host),
        "toolkit": _toolkits(host),
        "Python": _python(host),
        "engine": _join(
            host["engine"], host["engine_status"], host["gpu_runtime"] and f"GPUs by {host['gpu_runtime']}"
        ),
    }
    return [f"  {pen('dim', label.ljust(8))} {printable(text)}" for label, text in parts.items() if text]


def _join(*words: str | None) -> str:
    return ", ".join(word for word in words if word)


def _libc(host: Host) -> str:
    return f"glibc {host['glibc']}" if host["glibc"] else host["libc"] or ""


def _drivers(host: Host) -> str:
    nvidia = host["driver"] and f"NVIDIA {host['driver']}"
    cuda = host["driver_cuda"] and f"up to CUDA {host['driver_cuda']}"
    return _join(nvidia, cuda, host["amdgpu"] and f"amdgpu {host['amdgpu']}")


def _toolkits(host: Host) -> str:
    return _join(host["cuda_toolkit"] and f"CUDA {host['cuda_toolkit']}", host["rocm"] and f"ROCm {host['rocm']}")


def _python(host: Host) -> str:
    """The interpreter with the frameworks in it; "no framework" only where the packages are known."""
    packages = host["packages"] or {}
    builds = host["builds"] or {}
    names = [name for name in _FRAMEWORKS if name in packages]
    told = [
        f"{name} {packages[name]}" + (f" ({builds[name].runtime})" if name in builds and builds[name].runtime else "")
        for name in names
    ]
    if host.known("packages") and not told:
        told = ["no framework installed"]
    return _join(host["python"], host["python_environment"], *told)


def _labelled(label: str, text: str, pen: Ink) -> list[str]:
    first, *rest = pen.wrap(text, " " * 10)
    return [f"    {pen('bold', label.ljust(5))} {first.lstrip()}", *rest]


def _evidence(finding: Finding, pen: Ink) -> list[str]:
    lines = []
    for number, item in enumerate(finding.evidence):
        label = pen("bold", "seen  ") if number == 0 else " " * 6
        seen = f"{item.fact} = {value_of(item.value)}"
        lines.append(f"    {label}{seen}" + (pen("dim", printable(f"  ({item.source})")) if item.source else ""))
    return lines


def value_of(value: Any, limit: int = 110) -> str:
    """A fact's value on one line, cut at ``limit`` characters."""
    match value:
        case None:
            text = "none"
        case dict():
            text = ", ".join(f"{key}={value_of(item)}" for key, item in value.items())
        case Gpu() | Build() | Library():
            text = value_of(plain(value), limit)
        case tuple() | list():
            text = " ".join(value_of(item) for item in value) or "none"
        case _:
            text = str(value)
    text = printable(" ".join(text.split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _closing(found: Report, pen: Ink) -> str:
    errors, warnings = found.count("error"), found.count("warning")
    if not errors and not warnings:
        unsure = f" {len(found.unchecked)} could not be checked." if found.unchecked else ""
        return pen("green", "Nothing found that does not fit.") + unsure
    parts = [_number(errors, "error")] * bool(errors) + [_number(warnings, "warning")] * bool(warnings)
    codes = [finding.code for finding in found.findings if finding.severity != "info"]
    return pen("bold", ", ".join(parts) + ".") + pen("dim", f"  More: envcheck explain {codes[0]}")


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
