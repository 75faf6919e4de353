"""A recorded machine: one TOML file that answers like the machine it was taken from.

The recordings here were written by hand after the formats that their ``sources`` document; none was taken from a person's
machine, so names, addresses and UUIDs in them are made up.

Keys of a recording (all but ``title`` and ``sources`` optional):

==============  ====================================================================================
``title``       what the machine is, in a line
``sources``     where the formats and values in it are documented or were seen
``uname``       kernel release; ``arch`` (default x86_64); ``system`` (default linux); ``edition`` (Windows)
``libc``        what confstr says, ``glibc 2.35``; empty for a C library that says nothing
``user``        ``[uid, gid, gid, ...]``; root by default
``[env]``       environment variables
``[files]``     path -> text
``[binary]``    path -> bytes in hexadecimal
``[links]``     path -> what the link says
``folders``     folders that exist and are empty
``[devices]``   path -> ``group-id octal-mode`` (owner root)
``denied``      paths that exist but may not be read
``closed``      device nodes that a security module closes, whatever their modes say
``[loader]``    soname -> path: becomes /etc/ld.so.cache and, where missing, the file itself
``[sockets]``   path -> ``refused``, ``denied``, ``silent``, or a table url -> JSON text
``[commands]``  command line, its folders left out -> output, or a table of ``out``, ``code``, ``why``
``[answers]``   ``nvml`` and ``cuda``: the object that the question's process prints
``[packages]``  distribution -> version in an active virtual environment, /opt/ml; ``venv`` is its Python's version
``[registry]``  key below HKEY_LOCAL_MACHINE -> a table of its values (Windows)
``[space]``     path -> ``[total MiB, free MiB]``
``[python]``    the interpreter that runs us: ``executable``, ``prefix``, ``version``, ``paths``
``[kernels]``   package -> targets that its files carry, as ``compat.kernels`` would read them
``[given]``     facts that come with the question, such as ``image`` and ``image_env``
``text``        the error text to explain; ``wishes`` and ``runs`` are what the person asks for and types
``[expect]``    fact -> value; ``gpus`` and ``libraries`` as tables that must agree in the keys given
``finding``     the code that the doctor puts first; none: nothing worse than advice
``[unknown]``   fact -> words that its reason must contain
==============  ====================================================================================
"""

from __future__ import annotations

import errno
import json
import posixpath
import struct
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from compat import facts, rules
from compat.app.hosts import named
from compat.detect import detect
from compat.detect.root import LIMIT, Entry, Interpreter, Root, System
from compat.facts import Build, Fact, Host
from compat.run import Outcome

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from compat.findings import Report
    from compat.matrix import Matrix

VENV = "/opt/ml"
PYTHON = {"executable": "/opt/envcheck/bin/python", "prefix": "/opt/envcheck", "version": "3.11.7", "paths": []}


class Recording(Root):
    """The surface of a recorded machine, held in memory."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        super().__init__()
        self.said = said
        self.files = _environment(said.get("packages"), said.get("venv", "3.11.7"))
        self.files.update({path: text.encode() for path, text in said.get("files", {}).items()})
        self.files.update({path: bytes.fromhex(text) for path, text in said.get("binary", {}).items()})
        self.links: dict[str, str] = dict(said.get("links", {}))
        self.devices = {path: _owner(text) for path, text in said.get("devices", {}).items()}
        self.denied = frozenset(said.get("denied", ()))
        if loader := said.get("loader"):
            self.files["/etc/ld.so.cache"] = ld_so_cache(loader, said.get("arch", "x86_64"))
            for path in loader.values():
                if path not in self.links:
                    self.files.setdefault(path, b"\x7fELF\x02\x01\x01")
        self.sockets: dict[str, Any] = said.get("sockets", {})
        self.tree = self._folders()

    def _folders(self) -> dict[str, set[str]]:
        """Every folder and the names in it, from the paths that are recorded."""
        tree: dict[str, set[str]] = {"/": set()}
        leaves = [*self.files, *self.links, *self.devices, *self.denied, *self.sockets]
        for folder in self.said.get("folders", ()):
            tree.setdefault(folder, set())
            leaves.append(folder)
        for leaf in leaves:
            path = leaf
            while path != "/":
                parent, name = posixpath.split(path)
                tree.setdefault(parent, set()).add(name)
                path = parent
        return tree

    def _resolved(self, path: str) -> str:
        """The path with links followed, part by part; ENOENT where nothing is, ELOOP in a circle."""
        done, todo, steps = "/", [part for part in path.split("/") if part], 0
        while todo:
            part = todo.pop(0)
            done = posixpath.normpath(posixpath.join(done, part))
            if done in self.links:
                steps += 1
                if steps > 40:
                    raise OSError(errno.ELOOP, "Too many levels of symbolic links")
                target = posixpath.normpath(posixpath.join(posixpath.dirname(done), self.links[done]))
                done, todo = "/", [*(each for each in target.split("/") if each), *todo]
        return done

    def _found(self, path: str) -> str:
        real = self._resolved(path)
        if not any(real in place for place in (self.files, self.tree, self.devices, self.denied, self.sockets)):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return real

    def read(self, path: str, limit: int = LIMIT) -> bytes:
        real = self._found(path)
        if real in self.denied:
            raise PermissionError(errno.EACCES, "Permission denied")
        if real not in self.files:
            raise OSError(errno.EINVAL, "not a regular file")
        return self.files[real][:limit]

    def records(self, path: str, limit: int = LIMIT) -> bytes:
        return self.read(path, limit)

    def names(self, path: str) -> list[str]:
        real = self._found(path)
        if real in self.denied:
            raise PermissionError(errno.EACCES, "Permission denied")
        if real not in self.tree:
            raise NotADirectoryError(errno.ENOTDIR, "Not a directory")
        return sorted(self.tree[real])

    def link(self, path: str) -> str:
        at = posixpath.join(self._resolved(posixpath.dirname(path)), posixpath.basename(path))
        if at not in self.links:
            raise OSError(errno.EINVAL, "Invalid argument")
        return self.links[at]

    def real(self, path: str) -> str:
        return self._resolved(path)

    def entry(self, path: str) -> Entry:
        real = self._found(path)
        if real in self.devices:
            gid, mode = self.devices[real]
            return Entry("device", mode, 0, gid, 0)
        if real in self.sockets:
            return Entry("socket", 0o660)
        if real in self.files or (real in self.denied and real not in self.tree):
            return Entry("file", 0o755, size=len(self.files.get(real, b"")))
        return Entry("folder", 0o755)

    def may_open(self, path: str) -> bool:
        if path in self.said.get("closed", ()):
            return False
        uid, groups = self.user()
        entry = self.entry(path)
        return uid == 0 or bool(entry.mode & 0o006 == 0o006 or (entry.gid in groups and entry.mode & 0o060 == 0o060))

    def space(self, path: str) -> tuple[int, int]:
        total, free = self.said.get("space", {}).get(path, [65536, 32768])
        return total << 20, free << 20

    def environ(self) -> Mapping[str, str]:
        active = {"VIRTUAL_ENV": VENV} if "packages" in self.said else {}
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", **active, **self.said.get("env", {})}

    def folder(self) -> str:
        return "/work"

    def user(self) -> tuple[int, tuple[int, ...]]:
        uid, *groups = self.said.get("user", [0, 0])
        return uid, tuple(groups)

    def memlock(self) -> int:
        return self.said.get("memlock", -1)

    def system(self) -> System:
        said = self.said
        release, machine = said.get("uname", "6.8.0-45-generic"), said.get("arch", "x86_64")
        return System(said.get("system", "linux"), release, machine, said.get("edition", ""))

    def libc(self) -> str:
        if not self.said.get("libc", "glibc 2.35"):
            raise OSError(errno.ENOSYS, "this C library does not tell its version")
        return self.said.get("libc", "glibc 2.35")

    def interpreter(self) -> Interpreter:
        said = {**PYTHON, **self.said.get("python", {})}
        return Interpreter(said["executable"], said["prefix"], said["prefix"], said["version"], tuple(said["paths"]))

    def registry(self, key: str) -> Mapping[str, str | int]:
        if self.said.get("system") != "windows":
            raise OSError(errno.ENOSYS, "this system has no registry")
        if key not in self.said.get("registry", {}):
            raise FileNotFoundError(errno.ENOENT, "No such key")
        return self.said["registry"][key]

    def ask(self, socket: str, url: str, timeout: float) -> bytes:  # noqa: ARG002 - the shape of Root
        answer = self.sockets[self._resolved(socket)]
        if isinstance(answer, dict):
            return answer[url].encode()
        raise {"refused": ConnectionRefusedError, "denied": PermissionError, "silent": TimeoutError}[answer](5, answer)

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, env: Mapping[str, str] | None = None) -> Outcome:  # noqa: ARG002
        """The recorded output of a command; a program that is not recorded is not installed."""
        line = " ".join([posixpath.basename(argv[0]), *argv[1:]])
        for name, answer in self.said.get("answers", {}).items():
            if line.endswith(f"children/{name}.py"):
                return _outcome(json.dumps(answer) if isinstance(answer, dict) and "code" not in answer else answer)
        said = self.said.get("commands", {})
        return (
            _outcome(said[line]) if line in said else Outcome(127, why=f"{argv[0]} could not be started: not recorded")
        )


def _outcome(said: Any) -> Outcome:
    return Outcome(0, said) if isinstance(said, str) else Outcome(**{"code": 0, **said})


def _owner(text: str) -> tuple[int, int]:
    gid, mode = text.split()
    return int(gid), int(mode, 8)


def ld_so_cache(libraries: Mapping[str, str], arch: str = "x86_64") -> bytes:
    """A loader cache of the format that glibc 2.32 and newer write (dl-cache.h, struct cache_file_new)."""
    flags = {"x86_64": 0x0303, "aarch64": 0x0A03, "ppc64le": 0x0503}[arch]
    strings, offsets = b"", []
    base = 48 + 24 * len(libraries)
    for soname, path in libraries.items():
        name_at = base + len(strings)
        strings += soname.encode() + b"\0"
        offsets.append((name_at, base + len(strings)))
        strings += path.encode() + b"\0"
    head = b"glibc-ld.so.cache1.1" + struct.pack("=II", len(libraries), len(strings)) + b"\2\0\0\0" + bytes(16)
    return head + b"".join(struct.pack("=iIIIQ", flags, name, path, 0, 0) for name, path in offsets) + strings


def _environment(packages: Mapping[str, str] | None, version: str) -> dict[str, bytes]:
    """Files of a virtual environment that holds these distributions; their versions in the folders' names."""
    if packages is None:
        return {}
    site = f"{VENV}/lib/python{version.rpartition('.')[0]}/site-packages"
    folders = {
        f"{site}/{name.replace('-', '_')}-{number}.dist-info/METADATA": name for name, number in packages.items()
    }
    return {
        f"{VENV}/pyvenv.cfg": f"home = /usr/bin\nversion = {version}\n".encode(),
        f"{VENV}/bin/python3": b"\x7fELF\x02\x01" + bytes(12) + b"\x3e\x00",
        **{path: f"Metadata-Version: 2.1\nName: {name}\n\n".encode() for path, name in folders.items()},
    }


def asked(machine: Recording, known: Matrix) -> Host:
    """The facts that the doctor weighs: those detected, what binaries carry, and what the question gives."""
    host = named(detect(root=machine, run=machine.run), known)
    carried = {name: tuple(words.split()) for name, words in machine.said.get("kernels", {}).items()}
    builds = {**(host.builds or {}), **{name: Build() for name in carried.keys() - (host.builds or {}).keys()}}
    read = {name: replace(build, kernels=carried.get(name, build.kernels)) for name, build in builds.items()}
    extra = facts.load(machine.said.get("given", {}), "the question").readings
    joined = {"builds": Fact(read, host.source("builds"))} if carried else {}
    return Host({**host.readings, **joined, **extra})


def judged(machine: Recording, known: Matrix) -> Report:
    """What the doctor says of a machine, given the text, wishes and commands of its recording."""
    said = machine.said
    options = {"error": said.get("text", ""), "wishes": said.get("wishes", ()), "commands": said.get("runs", ())}
    return rules.judge(asked(machine, known), known, **options)


def document(path: Path) -> dict[str, Any]:
    """What a file says."""
    with path.open("rb") as file:
        return tomllib.load(file)


def load(path: Path) -> Recording:
    """The recording in a file."""
    return Recording(document(path))


def variant(base: Mapping[str, Any], change: Mapping[str, Any]) -> Recording:
    """A machine that differs from another one: ``change`` laid over it, ``without`` taken out of it.

    Tables are joined, lists of tables joined entry by entry, everything else (and what is empty) is replaced. ``without`` holds paths and
    other keys; an entry that ends in ``/`` stands for everything below.
    """
    gone = tuple(change.get("without", ()))
    kept = {key: _less(value, gone) for key, value in base.items() if key not in {"expect", "unknown", "finding"}}
    return Recording(_joined(kept, change))


def _less(value: Any, gone: tuple[str, ...]) -> Any:
    if not isinstance(value, dict):
        return value
    below = tuple(each for each in gone if each.endswith("/"))
    return {key: _less(item, gone) for key, item in value.items() if key not in gone and not key.startswith(below)}


def _joined(first: Any, second: Any) -> Any:
    if not second:
        return second  # an empty list or table empties
    if isinstance(first, dict) and isinstance(second, dict):
        return {**first, **{key: _joined(first[key], item) if key in first else item for key, item in second.items()}}
    if isinstance(first, list) and isinstance(second, list) and any(isinstance(item, dict) for item in first):
        pairs = [_joined(old, new) if new else old for old, new in zip(first, second, strict=False)]
        return [*pairs, *first[len(second) :], *second[len(first) :]]
    return second
