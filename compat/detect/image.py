"""Facts of a container image on disk, without running it: the detectors look at its tree as at a machine's."""

from __future__ import annotations

import errno
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

from compat.detect.root import LIMIT, Entry, Interpreter, Root, System
from compat.facts import Fact, Host, Reading, Unknown
from compat.run import Outcome
from compat.untrusted import items, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compat.detect.layers import Image, Node

# Facts that belong to an image; all others are the host's.
OWN: Final = (
    "os", "os_name", "libc", "glibc", "libstdcxx", "python", "python_path", "python_environment", "packages",
    "package_requires", "duplicate_packages", "builds", "conda_packages", "installers",
    "libraries", "cudnn", "nccl", "tensorrt",
    "cuda_toolkit", "cuda_toolkits", "rocm", "rocm_installs", "driver_packages", "env",
)  # fmt: skip

_ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ImageRoot(Root):
    """An image's tree in the shape that detectors look through."""

    def __init__(self, image: Image) -> None:
        super().__init__()
        self._image = image
        self._folders: dict[str, set[str]] = {"/": set()}
        for path in image.tree:
            child = path
            while child != "/":
                parent, name = posixpath.split(child)
                self._folders.setdefault(parent, set()).add(name)
                child = parent

    def _node(self, path: str) -> Node | None:
        """What is at a path with its links followed; ``None`` for a folder that no layer lists."""
        real = self.real(path)
        found = self._image.tree.get(real)
        if found is None and real not in self._folders:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return found

    def real(self, path: str) -> str:
        """The path with every symbolic link followed."""
        done, todo, steps = "/", [part for part in path.split("/") if part], 0
        while todo:
            done = posixpath.normpath(posixpath.join(done, todo.pop(0)))
            node = self._image.tree.get(done)
            if node is not None and node.kind == "link":
                steps += 1
                if steps > 40:
                    raise OSError(errno.ELOOP, "Too many levels of symbolic links")
                target = posixpath.normpath(posixpath.join(posixpath.dirname(done), node.target))
                done, todo = "/", [*(part for part in target.split("/") if part), *todo]
        return done

    def read(self, path: str, limit: int = LIMIT) -> bytes:
        """A telling file's content; the others were not kept."""
        node = self._node(path)
        if node is None or node.kind != "file":
            raise OSError(errno.EINVAL, "not a regular file")
        if node.data is None:
            raise OSError(errno.ENODATA, "not kept from the image")
        return node.data[:limit]

    def records(self, path: str, limit: int = LIMIT) -> bytes:  # noqa: ARG002 - the shape of every root
        """An image has no devices."""
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    def names(self, path: str) -> list[str]:
        """Names in a folder, sorted."""
        real = self.real(path)
        if real not in self._folders:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return sorted(self._folders[real])

    def link(self, path: str) -> str:
        """What a symbolic link points to."""
        node = self._image.tree.get(posixpath.join(self.real(posixpath.dirname(path)), posixpath.basename(path)))
        if node is None or node.kind != "link":
            raise OSError(errno.EINVAL, "Invalid argument")
        return node.target

    def entry(self, path: str) -> Entry:
        """Kind and size of what is at a path."""
        node = self._node(path)
        return Entry("folder") if node is None else Entry(node.kind, node.mode, size=node.size)

    def may_open(self, path: str) -> bool:  # noqa: ARG002
        """Whatever is there can be opened by the user who runs it."""
        return True

    def space(self, path: str) -> tuple[int, int]:  # noqa: ARG002
        """An image has no file system of its own."""
        raise OSError(errno.ENOSYS, "an image has no file system yet")

    def environ(self) -> Mapping[str, str]:
        """The environment baked in."""
        return environment(self._image)

    def folder(self) -> str:
        """The working folder."""
        return str(_settings(self._image).get("WorkingDir") or "/")

    def user(self) -> tuple[int, tuple[int, ...]]:
        """Root: nothing here depends on it."""
        return 0, (0,)

    def memlock(self) -> int:
        """Unlimited: the engine decides at run time."""
        return -1

    def system(self) -> System:
        """Linux on the image's architecture."""
        return System("linux", "", architecture(self._image))

    def libc(self) -> str:
        """The C library by the words inside libc.so.6 (``GNU C Library ... release version 2.35``)."""
        for path in self._image.tree:
            if re.search(r"/(libc\.so\.6|libc-[\d.]+\.so)$", path):
                found = re.search(rb"GNU C Library[^\n]{0,80}version (\d+\.\d+)", self._content(path))
                if found:
                    return f"glibc {found[1].decode()}"
        raise OSError(errno.ENOENT, "no C library was found in the image")

    def _content(self, path: str) -> bytes:
        """The first eight MiB of a file, or nothing where it cannot be read."""
        try:
            return self.read(path, 1 << 23)
        except OSError:
            return b""

    def interpreter(self) -> Interpreter:
        """The first ``python3`` on the image's PATH; none if there is none."""
        for folder in self.environ().get("PATH", _PATH).split(":"):
            for name in ("python3", "python"):
                path = f"{folder.rstrip('/')}/{name}"
                if folder and self._exists(path):
                    return Interpreter(path, posixpath.dirname(posixpath.dirname(path)))
        return Interpreter("", "")

    def _exists(self, path: str) -> bool:
        """Whether the image has that path, links followed inside it."""
        try:
            self._node(path)
        except OSError:
            return False
        return True

    def ask(self, socket: str, url: str, timeout: float) -> bytes:  # noqa: ARG002
        """An image has no services."""
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")


def architecture(image: Image) -> str:
    """The machine architecture that the image is for, ``x86_64``."""
    name = str(image.config.get("architecture", ""))
    return _ARCHITECTURES.get(name, name)


def environment(image: Image) -> dict[str, str]:
    """The environment baked into the image."""
    pairs = (str(item).partition("=") for item in items(_settings(image).get("Env")))
    return {name: value for name, _, value in pairs}


def _settings(image: Image) -> Mapping[str, Any]:
    return table(image.config.get("config"))


def facts(image: Image, name: str, *, timeout: float = 10.0) -> Host:
    """The image's own facts, with its name and environment.

    ``image``: as read from disk or from the engine.
    """
    from compat.detect import detect

    seen = detect(root=ImageRoot(image), run=_not_run, timeout=timeout)
    readings = {key: _sure(seen.reading(key), image) for key in seen if key in OWN}
    readings["image"] = Fact(name, f"without {', '.join(image.beside)}" if image.beside else "given")
    readings["image_env"] = Fact(environment(image), f"configuration of {name}")
    readings["container"] = Fact("docker", f"configuration of {name}")
    return Host(readings)


def _sure(reading: Reading, image: Image) -> Reading:
    """A reading; where a part of the image is unread, that something is not there cannot be said."""
    absent = isinstance(reading, Fact) and reading.value in (None, {}, ())
    return Unknown("; ".join(image.unread), reading.source) if absent and image.unread else reading


def _not_run(argv: Sequence[str], *, timeout: float = 5.0, env: Mapping[str, str] | None = None) -> Outcome:  # noqa: ARG001
    return Outcome(127, why="an image is not run")
