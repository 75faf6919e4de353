"""One container of an image: started, waited for, read and removed, whatever happens in between."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import compat.build.podman as podman
from compat import stopping
from compat.build.engine import SCRATCH
from compat.errors import CannotCheckError
from compat.lazy import dataclass

# POSIX shell, "Exit Status for Commands": found but not executable, and not found.
MISSING: Final = (126, 127)
# The C library's words for ENOEXEC, as engines pass them on.
FOREIGN: Final = "exec format error"
# What stands for the exit status of a container that ran past its deadline, was killed, or was taken away.
LATE: Final = 124
KILLED: Final = 137
REMOVED: Final = -404

# Answers about a container that somebody else removed, or is removing (Docker Engine API, "404" and "409").
_GONE: Final = (404, 409)
_ENVIRONMENT: Final = {
    "HOME": SCRATCH,
    "TMPDIR": SCRATCH,
    "XDG_CACHE_HOME": SCRATCH + "/cache",
    "PYTHONDONTWRITEBYTECODE": "1",
}
LABEL: Final = "dev.envcheck.probe"
_OWNER: Final = "dev.envcheck.owner"
# Seconds within which an engine that works has made a container that was asked for.
_MAKING: Final = 2.0
# Seconds within which an engine that works has killed or removed a container.
_GRACE: Final = 30
# An image may print without end. This is far more than the scripts say, and fills neither the engine's disk nor our
# memory; nor may the driver be the engine's own choice, for not all of them can be read back ("docker logs").
_LOG: Final = {"Type": "json-file", "Config": {"max-size": "16m", "max-file": "1"}}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a container ended.

    Attributes:
        status: its exit status, or one of :data:`LATE`, :data:`KILLED`, :data:`REMOVED`.
        lines: what it printed.
        said: its last words to standard error, where it printed nothing.
    """

    status: int
    lines: tuple[str, ...] = ()
    said: str = ""


def run(
    client: Any,
    image: Any,
    command: Sequence[str],
    limits: Mapping[str, Any],
    timeout: float,
) -> Ended | None:
    """Start a container, wait, read and remove it; ``None`` if it has not the program that was asked for.

    Raises:
        CannotCheckError: if the engine refuses, or stops answering on the way.
    """
    name, container = f"envcheck-probe-{os.urandom(6).hex()}", None
    try:
        container = _created(client, image, command, {**limits, "name": name, "labels": _labels(timeout)})
        return _ended(container, timeout)
    except (stopping.Stopped, KeyboardInterrupt):
        if container is None:
            _forget(client, name)
        raise
    finally:
        if container is not None:
            _remove(container)


def _created(client: Any, image: Any, command: Sequence[str], limits: Mapping[str, Any]) -> Any:
    """A container that is not started yet.

    Its file system is read-only, so a home, caches and temporary files are sent to a folder in memory, wherever the
    image would have them.
    """
    from docker.errors import APIError

    try:
        if ("annotations" in limits or limits.get("device_requests")) and podman.is_podman(client):
            return podman.created(client, image, command, _ENVIRONMENT, **limits)
        return client.containers.create(
            image.id,
            command[1:],
            entrypoint=[command[0]],
            environment=_ENVIRONMENT,
            log_config=_LOG,
            **limits,
        )
    except APIError as error:
        raise CannotCheckError(f"the engine refused the container: {_words(error)}") from None
    except OSError as error:  # the SDK passes its transport's errors on, which are all OSErrors
        raise _silent(error) from None


def _ended(container: Any, timeout: float) -> Ended | None:
    """The end of a container, told with the container's name where the engine is lost."""
    from docker.errors import APIError

    try:
        if (refused := _refused(container)) is not None:
            return refused[0]
        return _read(container, _waited(container, timeout))
    except (APIError, OSError) as error:
        if getattr(error, "status_code", 0) in _GONE:
            return Ended(REMOVED)
        raise _silent(error, container) from None


def _refused(container: Any) -> tuple[Ended | None] | None:
    """What became of a container that could not be started, in a tuple; ``None`` if it runs."""
    from docker.errors import APIError

    try:
        container.start()
    except APIError as error:
        if is_absent(str(error)):
            return (None,)
        if FOREIGN in str(error).lower():  # runc's releases differ in who tells it: the engine, or the container
            return (Ended(1, said=FOREIGN),)
        raise CannotCheckError(refusal(_words(error)), hint="see `envcheck doctor`") from None
    return None


def _waited(container: Any, timeout: float) -> int:
    """The exit status; past the deadline the container is ended here. An engine that goes away before is an OSError."""
    from docker.errors import APIError

    began = time.monotonic()
    try:
        return int(container.wait(timeout=timeout)["StatusCode"])
    except OSError:
        if time.monotonic() - began < 0.9 * timeout:
            raise
    container.client.api.timeout = _GRACE
    with suppress(APIError):  # it may have come to its end just now
        container.kill()
    return LATE


def _read(container: Any, status: int) -> Ended | None:
    """What a container said, once it has ended."""
    lines = container.logs(stdout=True, stderr=False).decode("utf-8", "replace").splitlines()
    if status in MISSING and not lines:
        return None
    container.reload()
    if container.attrs.get("State", {}).get("OOMKilled"):
        status = KILLED
    said = "" if lines else container.logs(stdout=False, stderr=True, tail=3).decode("utf-8", "replace")
    return Ended(status, tuple(lines), " ".join(said[-400:].split()))


def _remove(container: Any) -> None:
    """Remove a container; one that is gone, or going by another hand, is as good."""
    from docker.errors import APIError

    container.client.api.timeout = _GRACE
    try:
        container.remove(force=True, v=True)
    except APIError as error:
        if error.status_code not in _GONE:
            raise _silent(error, container) from None
    except OSError as error:
        raise _silent(error, container) from None


def _forget(client: Any, name: str) -> Any:
    """Remove a container that a signal kept us from knowing: the engine may still be making it."""
    from docker.errors import APIError

    client.api.timeout, until = _GRACE, time.monotonic() + _MAKING
    while time.monotonic() < until:
        try:
            return client.api.remove_container(name, force=True, v=True)
        except APIError:
            time.sleep(0.05)
        except OSError:
            return None
    return None


def clean(client: Any) -> tuple[str, ...]:
    """Remove the probe containers of runs that are over, killed or cut off; their names."""
    left = client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
    over = [container for container in left if _is_over(container.labels)]
    for container in over:
        _remove(container)
    return tuple(container.name for container in over)


def _labels(timeout: float) -> dict[str, str]:
    """When the run is over at the latest, and the process that waits for it."""
    return {LABEL: f"{time.time() + timeout + 2 * _GRACE:.0f}", _OWNER: _process(os.getpid())}


def _is_over(labels: Mapping[str, str]) -> bool:
    """Whether nobody waits for a container any more: its process is gone, or, where that cannot be seen, its time."""
    space, _, rest = labels.get(_OWNER, "").partition(" ")
    number = rest.partition(" ")[0]
    if number.isdigit() and space == _process(os.getpid()).partition(" ")[0]:
        return _process(int(number)) != labels[_OWNER]
    until = labels.get(LABEL, "")
    return not until.isdigit() or time.time() > int(until)


def _process(number: int) -> str:
    """A process by its name space, number and time of start; empty where /proc tells none (proc(5), ``stat``)."""
    try:
        with open(f"/proc/{number}/stat", "rb") as stat:  # noqa: PTH123
            start = stat.read(1024).rpartition(b")")[2].split()[19].decode()
        return f"{os.readlink('/proc/self/ns/pid')} {number} {start}"  # noqa: PTH115
    except (OSError, IndexError):
        return ""


def _silent(error: Exception, container: Any = None) -> CannotCheckError:
    """An engine that was lost on the way, and what may have been left behind."""
    text = _words(error)[:300]
    left = f"once it answers again, remove what is left: docker rm --force {container.short_id}" if container else ""
    return CannotCheckError(f"the engine stopped answering: {text}", hint=left or "see its log: journalctl -u docker")


def _words(error: Exception) -> str:
    """What the engine itself said, without the address and the code of HTTP that the SDK puts before it."""
    return " ".join(str(getattr(error, "explanation", "") or error).split())


def is_absent(text: str) -> bool:
    """Whether a refusal means that the image has no such program, and not that something to hand in is not there."""
    lacks = "no such file or directory" in text.lower() and not re.search("mount|device", text)
    return "executable file not found" in text or lacks


def refusal(text: str) -> str:
    """Why the engine could not start the container; the commonest reason in plain words."""
    if "could not select device driver" in text:
        return "the engine has no GPU runtime: it cannot give a container its GPU"
    if "CDI device" in text:
        return f"no CDI specification has the device: {' '.join(text.split())[:400]}"
    return f"the engine could not start the container: {' '.join(text.split())[:400]}"
