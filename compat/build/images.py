"""Building an image through the engine's own command line, with the failing step named."""

from __future__ import annotations

import os
import re
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat import run as runner
from compat.build.clients import client
from compat.errors import CannotCheckError, InputError
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from compat.run import Outcome

_UNREACHABLE: Final = re.compile(
    r"(?:ERROR: |failed to dial gRPC: )?((?:Cannot connect to the Docker daemon|error during connect"
    r"|(?:Got )?permission denied while trying to connect).*)",
    re.IGNORECASE,
)
_NO_BUILDKIT: Final = "failed to dial gRPC: unable to upgrade to h2c"  # what the client says to a 404 there
# How the client's own complaint begins. A step's output cannot be taken for it: BuildKit puts ``#7 0.123`` before it.
_TAG: Final = re.compile(r"[a-z0-9][\w.\-/:]{0,254}")
_KEPT: Final = 60
_STEP: Final = 160
_SHOWN: Final = 400  # characters of one line of progress
_STAMP: Final = re.compile(r"^\d{1,9}\.\d{1,9} ")
_NOISE: Final = re.compile(
    r"#\d{1,6} (sha256:|DONE|CACHED|ERROR: (executor|process) .*: exit code: \d+$)|\s?(---> |Removing intermediate)"
)
# The classic builder's line for each step; Podman puts the stage before it.
_BEGUN: Final = re.compile(r"^(?:\[\d{1,6}/\d{1,6}\] )?S(?:tep|TEP) \d{1,6}/\d{1,6} ?: [^\n]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What became of a build.

    Attributes:
        tag: the name that was asked for.
        ok: whether the image is there.
        seconds: wall-clock time.
        step: the instruction that failed, as the builder names it.
        why: its last lines, where the reason is.
        log: everything the builder said.
    """

    tag: str
    ok: bool
    seconds: float
    step: str = ""
    why: str = ""
    log: str = ""


def build_image(
    dockerfile: str,
    *,
    tag: str,
    context: Path | str = ".",
    builder: str = "buildkit",
    platforms: Sequence[str] = (),
    push: bool = False,
    labels: Mapping[str, str] | None = None,
    build_args: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    network: str = "",
    sbom: bool = False,
    provenance: bool = False,
    attestations: Sequence[str] = (),
    cache_from: Sequence[str] = (),
    cache_to: Sequence[str] = (),
    no_cache: bool = False,
    hear: Callable[[str], None] = lambda _line: None,
    timeout: float = 7200.0,
) -> Built:
    """Build an image from the text of a Dockerfile.

    Args:
        dockerfile: its text; it travels through standard input, so nothing is left in the context.
        tag: name of the image.
        context: folder whose files the Dockerfile may copy.
        builder: ``buildkit`` or ``classic``.
        platforms: ``linux/arm64``; several need buildx and ``push``.
        push: whether the image goes to its registry.
        labels: further labels.
        build_args: values of ``ARG``.
        secrets: secret id -> file on this machine, mounted for single steps.
        network: network of the ``RUN`` steps, ``host``.
        sbom: attest a bill of materials.
        provenance: attest the build's origin.
        attestations: the same with their parameters, as ``docker buildx build --attest`` takes them: a scanner that a
            mirror holds (``type=sbom,generator=IMAGE``), more of the origin (``type=provenance,mode=max``).
        cache_from: caches to import, as ``docker buildx build`` takes them.
        cache_to: caches to export.
        no_cache: build every step anew.
        hear: called with each line of progress.
        timeout: deadline in seconds.

    Raises:
        InputError: if the tag or the context cannot be used.
        CannotCheckError: if there is no engine or no client that can do this.
    """
    _demand(tag, Path(context))
    buildx = bool(sbom or provenance or attestations or cache_to or len(platforms) > 1)
    words = [*client(runner.run, buildkit=builder == "buildkit", buildx=buildx), "--file", "-", "--tag", tag]
    words += _options("--platform", [",".join(platforms)] if platforms else [])
    words += _options("--label", [f"{key}={text}" for key, text in (labels or {}).items()])
    words += _options("--build-arg", [f"{key}={text}" for key, text in (build_args or {}).items()])
    words += _options("--secret", [f"id={key},src={path}" for key, path in (secrets or {}).items()])
    words += _options("--network", [network] if network else [])
    words += _options("--cache-from", cache_from) + _options("--cache-to", cache_to)
    words += _options("--attest", attestations)
    words += ["--no-cache"] * no_cache + ["--sbom=true"] * sbom + ["--provenance=true"] * provenance
    words += ["--progress=plain"] if builder == "buildkit" else ["--force-rm"]
    words += (["--push"] if push else ["--load"]) if buildx else []
    began = time.monotonic()
    with _scratch(words[0]) as scratch:
        switch = {"DOCKER_BUILDKIT": "1" if builder == "buildkit" else "0", **scratch}
        outcome = runner.stream(
            [*words, str(context)], _patient(hear), text=dockerfile, timeout=timeout, env=switch, folder="."
        )
    built = _built(outcome, tag, time.monotonic() - began)
    return _pushed(built, words[0], hear, timeout) if built.ok and push and not buildx else built


@contextmanager
def _scratch(docker: str) -> Iterator[dict[str, str]]:
    """A folder for the client's temporary files, as a variable: it leaves the Dockerfile there when a build fails.

    A client that runs in a snap has a ``/tmp`` of its own and would not find the folder.
    """
    if "/snap" in os.path.realpath(docker):
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="envcheck-", ignore_cleanup_errors=True) as folder:
        yield {"TMPDIR": folder}


def _demand(tag: str, context: Path) -> None:
    """Refuse what the engine would misread: a tag that is none, or a context that is no folder."""
    if not _TAG.fullmatch(tag):
        raise InputError(f"{tag[:80]!r} is not an image name", where="--tag", expected="lower case, such as mine/app:1")
    if not context.is_dir():
        raise InputError("there is no such folder", where=str(context), expected="the build context")


def _options(name: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (name, value)]


def _patient(hear: Callable[[str], None]) -> Callable[[str], None]:
    """A listener that is spared the client's complaint of no engine, and the rest of long lines.

    The complaint becomes the error, told once; a builder repeats each step as one line, and the log has it whole.
    """

    def patient(line: str) -> None:
        if not _UNREACHABLE.match(line):
            hear(line if len(line) <= _SHOWN else line[:_SHOWN] + " ...")

    return patient


def _built(outcome: Outcome, tag: str, seconds: float) -> Built:
    """What came of a build; that no engine could be asked is no fault of the Dockerfile, and refused."""
    text = outcome.out
    if outcome.code == 127:
        raise CannotCheckError(outcome.why)
    if outcome.code and text.startswith(_NO_BUILDKIT):
        raise CannotCheckError("this engine has no BuildKit, as Podman has none", hint="build with --builder classic")
    complaint = next(filter(None, map(_UNREACHABLE.match, text.splitlines())), None)
    if outcome.code and complaint:
        why = complaint[1].strip().removesuffix("Is the docker daemon running?").rstrip(" .")
        raise CannotCheckError(why, hint="start the engine, or join the group that may use its socket")
    if outcome.ok:
        return Built(tag=tag, ok=True, seconds=seconds, log=text)
    why = outcome.why or "\n".join(failure(text))
    return Built(tag=tag, ok=False, seconds=seconds, step=failing_step(text), why=why, log=text)


def _pushed(built: Built, docker: str, hear: Callable[[str], None], timeout: float) -> Built:
    """Push what was built where the builder does not do that itself."""
    from dataclasses import replace

    outcome = runner.stream([docker, "push", built.tag], hear, timeout=timeout)
    if outcome.ok:
        return built
    why = outcome.why or "\n".join(outcome.out.splitlines()[-_KEPT:])
    return replace(built, ok=False, step=f"push {built.tag}", why=why, log=built.log + outcome.out)


def failing_step(log: str) -> str:
    """The instruction that a build log names as the one that failed; empty if it names none.

    BuildKit repeats it as `` > [stage 3/7] RUN ...:``; the classic builder just stops after ``Step 3/7 : RUN ...``, and
    Podman after ``[2/2] STEP 3/7: RUN ...``.
    """
    marked = re.findall(r"^ > (\[[^\]\n]{1,200}\][^\n]*)$", log, re.MULTILINE)
    text = " ".join(str((marked or _BEGUN.findall(log) or [""])[-1]).rstrip(":").split())
    return text if len(text) <= _STEP else text[:_STEP] + " ..."


def failure(log: str) -> list[str]:
    """The lines of a build log that tell why.

    BuildKit numbers the steps and says ``#10 ERROR: ...`` in the end, so the failing step's own lines can be picked
    out; the classic builder and Podman stop there, and what follows the step is the reason.
    """
    number = next(iter(re.findall(r"^#(\d{1,6}) ERROR:", log, re.MULTILINE)), "")
    said = log if number else _BEGUN.split(log)[-1]
    lines = [line for line in said.splitlines() if line.strip() and not _NOISE.match(line)]
    if number:
        lines = [line.removeprefix(f"#{number} ") for line in lines if line.startswith(f"#{number} ")]
    return [_STAMP.sub("", line) for line in lines][-_KEPT:]
