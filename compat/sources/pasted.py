"""Files that stand inside a pasted text, as the command lines that they stand for.

A service of a compose file is the ``docker run`` of its container, with the label that Compose gives it; a Dockerfile's
steps and a conda environment install packages, of which the names are told: of their releases the machine tells more.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from compat.errors import InputError
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.sources.values import Ask, Service

# The label of Compose's containers (Compose, pkg/api/labels.go).
SERVICE: Final = "--label com.docker.compose.service="

_MOST: Final = 8  # files of one text that are read
_LONGEST: Final = 400  # lines of one
# Where a file begins, by the key or instruction that its kind must have, and the lines that go on with it.
_BEGINS: Final = pattern(r"(?P<compose>services)\s*:\s*$|(?P<conda>dependencies)\s*:\s*$|(?P<dockerfile>FROM) \S+")
_YAML: Final = pattern(r"\s+\S|\s*(?:#|$)|- |[\w.-]{1,40}:(?:\s|$)")
# An image that its registry does not have, as BuildKit, Docker's daemon and Podman name it.
_REFUSED: Final = pattern(
    r"failed to resolve source metadata for ([\w./:-]{3,200}): [\w./:-]{3,200}: not found|"
    r"manifest for ([\w./:-]{3,200}) not found|docker://([\w./:-]{3,200}): reading manifest [^\n]{1,300} unknown"
)
_STEPS: Final = pattern(r"\s+\S|\s*(?:#|$)|[A-Z]{3,11} \S|\S.{0,400}\\$")


def commands(text: str) -> tuple[str, ...]:
    r"""The command lines that the files of a text stand for, in order.

    >>> commands("services:\n  app:\n    image: nvidia/cuda:12.4.1-base\n")
    ('docker run --label com.docker.compose.service=app nvidia/cuda:12.4.1-base',)
    """
    return tuple(dict.fromkeys(line for ask in asks(text) for line in _lines(ask)))


def asks(text: str) -> Iterator[Ask]:
    """What the files of a text ask for, each by itself; its lines are counted from its own first."""
    from compat.sources import compose, dockerfile, environment

    readers = {"compose": compose.read, "conda": environment.read, "dockerfile": dockerfile.read}
    for kind, body in _files(text):
        try:
            yield readers[kind](body, kind.title())
        except InputError:
            continue  # cut short, or no such file


def refused(text: str) -> Iterator[Ask]:
    """The images that a registry does not have, each as the first line of a Dockerfile; the first :data:`_MOST`."""
    from compat.sources import dockerfile

    names = dict.fromkeys(next(filter(None, found.groups())) for found in _REFUSED.finditer(text))
    for name in islice(names, _MOST):
        yield dockerfile.read(f"FROM {name}\n", "the image")


def _files(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each file; the first :data:`_MOST`."""
    lines, at, left = text.split("\n"), 0, _MOST
    while at < len(lines) and left:
        begins = _BEGINS.match(lines[at][:200])
        at += 1
        if not begins:
            continue
        goes_on = _STEPS if begins["dockerfile"] else _YAML
        end = at
        while end < min(len(lines), at + _LONGEST) and goes_on.match(lines[end][:600]):
            end += 1
        yield begins.lastgroup or "", "\n".join(lines[at - 1 : end])
        at, left = end, left - 1


def _lines(ask: Ask) -> Iterator[str]:
    """The command lines of one file."""
    yield from (_started(service) for service in ask.services if service.image)
    for step in (step for stage in ask.stages for step in stage.installs if step.action == "install"):
        names = dict.fromkeys(request.name for request in step.requests)
        if names and step.manager in {"pip", "uv", "conda"}:
            yield f"{'conda' if step.manager == 'conda' else 'pip'} install {' '.join(names)}"


def _started(service: Service) -> str:
    """How the engine starts a service's container."""
    gpu = " --gpus all" if service.gpu else ""
    runtime = f" --runtime={service.runtime}" if service.runtime else ""
    return f"docker run{gpu}{runtime} {SERVICE}{service.name} {service.image}"
