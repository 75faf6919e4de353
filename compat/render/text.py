"""A doctor's report as a person reads it: what is broken and why, what to type, what is fine, what nobody checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compat.facts import Build, Gpu, Host, Library, plain
from compat.render.ink import Ink, columns, one_line
from compat.render.language import ENGLISH, Catalogue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.findings import Ask, Finding, Report

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
NOTHING: Final = "Nothing found that does not fit."
_SAID: Final = 3  # entries of what was not checked that a short report writes out
UNCHECKED: Final = "Nothing could be checked: too little is known."
_STYLES: Final = {"error": "red bold", "warning": "yellow bold", "info": "blue"}


def report(
    found: Report,
    host: Host,
    *,
    title: str = "envcheck doctor",
    pen: Ink | None = None,
    verbose: bool = False,
    quiet: bool = False,
) -> str:
    """The report, worst first.

    Args:
        found: the findings with what fits and what was not checked.
        host: the machine that was judged, told in a few lines at the top.
        title: the command that asked.
        pen: how to draw.
        verbose: whether all evidence, its places, the sources and each check without facts are told too.
        quiet: whether the findings are all that is told.
    """
    pen = pen or Ink()
    pairs = [(one, []) for one in found.findings] if verbose else paired(found.findings)
    told = [line for one, others in pairs for line in (*advice(one, pen, verbose=verbose, others=others), "")]
    if quiet:
        return "\n".join(told[:-1])
    lines = [pen("bold", title), *machine(host, pen), "", *told]
    lines += [pen("green", f"{pen.mark('fits')} ") + one_line(pen.words.told(text)) for text in found.fine]
    if found.fine:
        lines.append("")
    if found.questions:
        lines.append(pen.words.said("To decide, run and add the output:"))
        lines += [
            line
            for one in found.questions
            for line in (f"  {pen.mark('command')} {one.run}", *pen.wrap(decides(one, found, pen.words), "      "))
        ]
        lines.append("")
    if found.unchecked:
        lines += [*(pen("dim", line) for line in _unchecked(found, pen, verbose=verbose)), ""]
    lines.append(_closing(found, pen))
    hints = (pen.words.said(hint) for hint in _hints(found, host))
    lines += [pen("dim", line) for hint in hints for line in pen.wrap(hint, "", "  ")]
    return "\n".join(lines)


def summary_of(host: Host) -> str:
    """One line that says which machine this is: system, Python, devices, driver."""
    words = [host.os_name or host.os or "", f"Python {host.python}" if host.python else ""]
    words += [f"in {host.container}" if host.container else "", *_devices(host, ENGLISH)]
    words.append(f"driver {host.driver}" if host.driver else "")
    return one_line(" · ".join(word for word in words if word))


def decides(ask: Ask, found: Report, words: Catalogue) -> str:
    """What the output of a command decides."""
    titles = [words.title(one) for one in found.findings if one.code in ask.codes]
    if words is ENGLISH or not titles:
        return words.told(ask.decides)
    return words.said("whether: ") + words.said("; ").join(titles)


def _devices(host: Host, words: Catalogue) -> list[str]:
    """Devices by name with their number; "no GPU" only if that is known."""
    if not host.known("gpus"):
        return []
    names = [gpu.name or gpu.target or gpu.pci or words.said("unnamed GPU") for gpu in host.gpus or ()]
    if not names:
        return [words.said("no GPU")]
    return [f"{names.count(name)} x {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]


def paired(findings: Sequence[Finding]) -> list[tuple[Finding, list[Finding]]]:
    """The findings, each with what its message may mean instead, where nothing else speaks for that."""
    first: dict[str, list[Finding]] = {}
    found: list[tuple[Finding, list[Finding]]] = []
    for finding in findings:
        message = next((str(one.value) for one in finding.evidence[:1] if one.fact == "error"), "")
        if message in first and (finding.severity, finding.confidence) == ("info", "possible"):
            first[message].append(finding)
            continue
        found.append((finding, []))
        if message:
            first.setdefault(message, found[-1][1])
    return found


def advice(finding: Finding, pen: Ink, *, verbose: bool = False, others: Sequence[Finding] = ()) -> list[str]:
    """One finding: what, why, what was seen, what to do, what follows from it, what it may be instead.

    In short, what was seen is one line; ``verbose`` tells all of it with its places, and where the knowledge is from.
    """
    style, mark, words = _STYLES[finding.severity], pen.mark(finding.severity), pen.words
    sure = "" if finding.confidence == "certain" else f" ({words.said(finding.confidence)})"
    where = f"{finding.place.file}:{finding.place.line}: " if finding.place else ""
    lines = pen.headed(style, f"{mark} {where}{words.title(finding)}", f"{finding.code}{sure}")
    detail = words.detail(finding)
    lines += pen.wrap(one_line(detail), "    ")
    lines += pen.wrap(one_line(finding.detail), "    ") if verbose and detail != finding.detail else []
    lines += _evidence(finding, pen) if verbose else _glimpse(finding, pen)
    if finding.fix.text:
        lines += _labelled("do", words.fix(finding), pen)
    lines += [" " * 10 + pen("cyan", one_line(f"{pen.mark('command')} {command}")) for command in finding.fix.commands]
    if finding.fix.unchecked:
        lines += _labelled("", f"{words.said('not checked')}: {words.told(finding.fix.unchecked)}", pen)
    for consequence in finding.consequences:
        lines += _labelled("hence", words.follows(consequence, finding), pen)
    for other in others:
        lines += _labelled("or", words.follows(other, finding), pen)
    if finding.sources and verbose:
        lines += [pen("dim", line) for line in _labelled("from", _sources(finding), Ink(width=pen.width, words=words))]
    return lines


def _sources(finding: Finding, most: int = 3) -> str:
    """The first citations; the others are in the JSON document."""
    cited = [part for source in finding.sources for part in source.split("; ")]
    more = f"; and {len(cited) - most} more" if len(cited) > most else ""
    return "; ".join(cited[:most]) + more


def unchecked_of(found: Report, *, verbose: bool = True, words: Catalogue = ENGLISH) -> list[str]:
    """What was not judged, an entry each: facts that nobody knows in one, everything else with its own reason.

    In short what a question decides is left out, and the facts are counted, for their names are those of a host file:
    what gives them all is named instead.
    """
    told = {code for one in found.questions for code in one.codes if not verbose}
    left = (item for item in found.unchecked if not item.fact and item.code not in told)
    said = [one_line(f"{words.told(item.what)}: {words.told(item.why)}") for item in left]
    facts = {item.fact: len(item.names) for item in found.unchecked if item.fact}
    if not facts:
        return said
    count = words.counted(sum(facts.values()), "check")
    if verbose:
        return [*said, words.said("{count} without {facts}", count=count, facts=", ".join(facts))]
    more = f"; {words.counted(len(said) - _SAID, 'other')}" if len(said) > _SAID else ""
    wanting = words.said("{count}: `envcheck host` reads the missing facts on the machine itself", count=count)
    return [*said[:_SAID], wanting + more]


def _unchecked(found: Report, pen: Ink, *, verbose: bool) -> list[str]:
    """The same under a heading, on the terminal's paper."""
    entries = unchecked_of(found, verbose=verbose, words=pen.words)
    heading = pen.words.said("Not checked:")
    return [heading, *(line for said in entries for line in pen.wrap(said, f"  {pen.mark('unknown')} ", "    "))]


def machine(host: Host, pen: Ink) -> list[str]:
    """The machine in a few lines: only what is known, and what is known to be absent."""
    told = parts(host, pen.words).items()
    return [f"  {pen('dim', _padded(pen.words.said(label), 8))} {one_line(text)}" for label, text in told]


def _padded(label: str, width: int) -> str:
    """A label with blanks to so many columns."""
    return label + " " * (width - columns(label))


def parts(host: Host, words: Catalogue = ENGLISH) -> dict[str, str]:
    """The layers of a machine that are known, or known to be absent, by their labels."""
    told = {
        "system": _join(host.os_name or host.os, host.kernel and f"kernel {host.kernel}", host.arch, _libc(host)),
        "where": host.container and words.said("inside a {kind} container", kind=host.container),
        "GPU": ", ".join(_devices(host, words)),
        "driver": _drivers(host, words),
        "toolkit": _join(host.cuda_toolkit and f"CUDA {host.cuda_toolkit}", host.rocm and f"ROCm {host.rocm}"),
        "Python": _python(host, words),
        "engine": _join(
            host.engine,
            host.engine_status,
            host.gpu_runtime and words.said("GPUs by {runtime}", runtime=host.gpu_runtime),
        ),
    }
    return {label: text for label, text in told.items() if text}


def _join(*words: str | None) -> str:
    """The words there are, with commas."""
    return ", ".join(word for word in words if word)


def _libc(host: Host) -> str:
    """The C library; its version matters only where it is GNU's."""
    return f"glibc {host.glibc}" if host.glibc else host.libc or ""


def _drivers(host: Host, words: Catalogue) -> str:
    """Both vendors' drivers, where a machine has both, and the CUDA that NVIDIA's allows by itself."""
    others = host.gpus and all(gpu.vendor not in {"", "nvidia"} for gpu in host.gpus)
    nvidia = host.driver and (host.driver if others else f"NVIDIA {host.driver}")
    cuda = host.driver_cuda and words.said("up to CUDA {version}", version=host.driver_cuda)
    return _join(nvidia, cuda, host.amdgpu and f"amdgpu {host.amdgpu}")


def _python(host: Host, words: Catalogue) -> str:
    """The interpreter with the frameworks in it; "no framework" only where all packages are known."""
    packages = host.packages or {}
    builds = host.builds or {}
    names = [name for name in _FRAMEWORKS if name in packages or name in builds]
    runtimes = {name: f"({build.runtime})" for name, build in builds.items() if build.runtime}
    told = [" ".join(filter(None, (name, packages.get(name), runtimes.get(name)))) for name in names]
    if host.known("packages") and not told and " line" not in host.source("packages"):  # which may be a part
        told = [words.said("no framework installed")]
    return _join(host.python, host.python_environment, *told)


def _labelled(label: str, text: str, pen: Ink) -> list[str]:
    """A labelled paragraph of a finding, its further lines under its first."""
    first, *rest = pen.wrap(one_line(text), " " * 10)
    return [f"    {pen('bold', _padded(pen.words.said(label), 5))} {first.lstrip()}", *rest]


def _glimpse(finding: Finding, pen: Ink) -> list[str]:
    """What was seen on one line, as much of it as fits; lists come last, of which the first entry says little."""
    told = sorted(finding.evidence, key=lambda item: isinstance(item.value, tuple | list))
    seen = ", ".join(f"{item.fact} = {value_of(item.value)}" for item in told)
    room = pen.width - 10
    said = seen if len(seen) <= room else f"{seen[: room - 1]}…"
    return ["    " + pen("bold", _seen(pen)) + one_line(said)] if said else []


def _seen(pen: Ink) -> str:
    """What stands before evidence."""
    return _padded(pen.words.said("seen"), 6)


def _evidence(finding: Finding, pen: Ink) -> list[str]:
    """The facts that a finding rests on, each with the place it was read."""
    lines: list[str] = []
    for item in finding.evidence:
        first, *rest = pen.wrap(f"{item.fact} = {value_of(item.value)}", " " * 10, " " * 12)
        label = "    " + (" " * 6 if lines else pen("bold", _seen(pen)))
        lines += [label + first.lstrip(), *rest]
        lines += _source(item.source, pen, used=max(len(first), *(len(line) for line in rest), 0), lines=lines)
    return lines


def _source(source: str, pen: Ink, *, used: int, lines: list[str]) -> list[str]:
    """Where a fact was read: behind it where there is room, else below."""
    said = one_line(f"({source})") if source else ""
    if said and used + 2 + len(said) <= pen.width:
        lines[-1] += pen("dim", f"  {said}")
        return []
    return [pen("dim", line) for line in pen.wrap(said, " " * 12)] if said else []


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
    text = one_line(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _hints(found: Report, host: Host) -> list[str]:
    """What to ask next, on a machine where nothing is in error and little is installed."""
    if not found.ok:
        return []
    hints = []
    if host.known("packages") and not any(name in (host.packages or {}) for name in _FRAMEWORKS):
        hints.append("No framework is in this Python: --python PATH looks into another environment.")
    if host.known("gpus") and not host.gpus:
        hints.append("No GPU is here: `envcheck resolve torch --cpu` plans for this machine, --gpu NAME for another.")
    return hints


def _closing(found: Report, pen: Ink) -> str:
    """The verdict with what to ask next."""
    words, codes = pen.words, [finding.code for finding in found.findings if finding.severity != "info"]
    if codes:
        known = "  " + _of_baseline(found, words) if found.known else ""
        return (
            pen("bold", verdict(found, words) + words.said("."))
            + known
            + pen("dim", f"  {words.said('More')}: envcheck explain {codes[0]}")
        )
    count = sum(len(item.names) for item in found.unchecked)
    unsure = " " + words.said("{count} could not be checked.", count=count) if count else ""
    return pen("green", verdict(found, words)) + unsure if found.checked else pen("yellow", words.said(UNCHECKED))


def verdict(found: Report, words: Catalogue = ENGLISH) -> str:
    """What a report amounts to; that nothing was found is no praise where nothing could be checked."""
    counts = [(found.count("error"), "error"), (found.count("warning"), "warning")]
    told = ", ".join(words.counted(count, noun) for count, noun in counts if count)
    if found.checked and found.known and not told:
        return words.said("Nothing new.") + " " + _of_baseline(found, words)
    return told or words.said(NOTHING if found.checked else UNCHECKED)


def _of_baseline(found: Report, words: Catalogue) -> str:
    """How many findings are not told, as a baseline holds them."""
    return words.said("{count} in the baseline.", count=words.counted(found.known, "finding"))
