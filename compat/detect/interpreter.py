"""Which Python is in question, found without starting it wherever a file tells enough.

Environments are recognised by what their makers leave behind: ``pyvenv.cfg`` (venv, virtualenv, uv, pipx, poetry),
``conda-meta`` (conda and mamba). Only a bare installed interpreter has to be run, for the last part of its version and
for its real import path, and only if it turns out to be the one in question.

Sources: PEP 405 (pyvenv.cfg); sysconfig, "Installation paths"; Debian Python policy (dist-packages); conda
documentation, "conda-meta"; pyenv README, "Understanding shims".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.installation import keeper
from compat.lazy import dataclass, pattern
from compat.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.detect.machine import Machine

_NAMES: Final = ("python3", "python")
# where the interpreter lies in an environment's folder: venv's two schemes, and Windows' own and conda's
_PROGRAMS: Final = ("bin/python3", "bin/python", "Scripts/python.exe", "python.exe")
_CONFIG: Final = pattern(r"^\s*([\w-]+)\s*=\s*(.*?)\s*$", re.MULTILINE)
_VERSION: Final = pattern(r"\d+\.\d+(?:\.\d+)?")
_ASK: Final = "import sys; print('%d.%d.%d' % sys.version_info[:3]); print(sys.prefix); print('\\n'.join(sys.path))"

# Tools that give each program an environment of its own: what the person works with is elsewhere
_ISOLATED: Final = pattern(r"/pipx/|/uv/tools/|/uv/archive-|/\.cache/uv/")
# Names that interpreters have; nothing else is ever run
_INTERPRETER: Final = pattern(r"(?:python|pypy|graalpy)[\d.]*[td]{0,2}(?:\.exe)?")
# Folders that only a framework leaves in site-packages
_FRAMEWORKS: Final = ("torch", "tensorflow", "jax", "jaxlib", "paddle", "onnxruntime", "mxnet", "cupy")


@dataclass(frozen=True, slots=True)
class Environment:
    """One Python environment.

    Attributes:
        python: its interpreter; empty if none was found.
        prefix: its folder.
        version: ``3.11.7``, or ``3.11`` if no file tells more; empty if unknown.
        kind: ``venv``, ``conda``, ``system``, ``pipx``, ``uv``; of a project ``uv project``, ``poetry``, ``pdm``.
        sites: folders that hold its packages, in import order.
        chosen: why this one.
        why: the reason if it cannot be looked at.
    """

    python: str = ""
    prefix: str = ""
    version: str = ""
    kind: str = ""
    sites: tuple[str, ...] = ()
    chosen: str = ""
    why: str = ""


def choose(machine: Machine) -> Environment:
    """The environment that the person means.

    The one they named; else the active one (``VIRTUAL_ENV``, ``CONDA_PREFIX``); else the one that runs us, unless that
    holds no framework and the ``python3`` on PATH does, or it was made for us alone (pipx, uv tool).
    """
    if machine.python:
        return at(machine, _full_path(machine, machine.python), "chosen with --python")
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if (folder := machine.env.get(variable, "")) and machine.exists(folder):
            return at(machine, folder, f"active ({variable})")
    own = _own(machine)
    other = next((path for name in _NAMES if (path := machine.which(name))), "")
    if not other or _has_framework(machine, own) or other.rpartition("/")[0] == own.python.rpartition("/")[0]:
        return own
    isolated = _ISOLATED.search(own.prefix + "/") is not None
    if not isolated and not _has_framework(machine, at(machine, other, "", ask=False)):
        return own
    outer = at(machine, other, "first on PATH; envcheck's own environment holds no framework")
    return own if outer.why else outer


def _full_path(machine: Machine, given: str) -> str:
    """What a person typed as a full path: a name is looked for on PATH, ``~`` is the home, the rest is relative."""
    if "/" not in given and "\\" not in given and (found := machine.which(given)):
        return found
    home = machine.env.get("HOME", "")
    path = given.replace("~", home, 1) if home and given.startswith("~/") else given
    return path if path.startswith("/") or ":" in path else f"{machine.root.folder()}/{path.removeprefix('./')}"


def _has_framework(machine: Machine, environment: Environment) -> bool:
    """Whether any of its package folders holds a framework; one look per name, nothing is read."""
    return any(machine.exists(f"{site}/{name}") for site in environment.sites for name in _FRAMEWORKS)


def _own(machine: Machine) -> Environment:
    """The environment of the interpreter that runs us, from its own import path."""
    own = machine.interpreter
    sites = tuple(path for path in own.paths if path.rstrip("/").endswith(("site-packages", "dist-packages")))
    kind = _kind(machine, own.prefix)
    return Environment(own.executable, own.prefix, own.version, kind, sites, "runs envcheck")


def at(machine: Machine, path: str, chosen: str, *, ask: bool = True) -> Environment:
    """The environment at an interpreter's path or an environment's folder.

    ``ask`` allows to run an interpreter of which no file tells the version; without it a look at its files must do.
    """
    path = _behind_shim(machine, path)
    entry = machine.entry(path)
    if entry is None:
        return Environment(python=path, chosen=chosen, why=f"nothing is at {path}")
    if entry.kind == "folder":
        prefix = path.rstrip("/")
        python = next((each for name in _PROGRAMS if machine.exists(each := f"{prefix}/{name}")), "")
    else:
        python, prefix = path, path.rsplit("/", 2)[0] if path.count("/") > 1 else "/usr"
    if python and _INTERPRETER.fullmatch(python.replace("\\", "/").rsplit("/", 1)[-1]) is None:
        return Environment(python=python, chosen=chosen, why=f"{path} is no Python interpreter or environment")
    if machine.exists(f"{prefix}/pyvenv.cfg"):
        return _venv(machine, python, prefix, chosen)
    if machine.names(f"{prefix}/conda-meta"):
        return _conda(machine, python, prefix, chosen)
    if python:
        return _system(machine, python, prefix, chosen, ask=ask)
    return Environment(chosen=chosen, why=f"no interpreter in {path}")


def _venv(machine: Machine, python: str, prefix: str, chosen: str) -> Environment:
    """pyvenv.cfg names version and origin (venv writes ``version``, virtualenv and uv ``version_info``)."""
    said = {key.lower(): value for key, value in _CONFIG.findall(machine.text(f"{prefix}/pyvenv.cfg"))}
    found = _VERSION.match(said.get("version_info", "") or said.get("version", ""))
    version = found[0] if found else ""
    sites = list(_sites(machine, prefix, version))
    if said.get("include-system-site-packages", "").lower() == "true" and said.get("home"):
        sites += _sites(machine, said["home"].rsplit("/", 1)[0], version)
    return Environment(
        python, prefix, version or _lib_version(machine, prefix), _kind(machine, prefix), tuple(sites), chosen
    )


def _conda(machine: Machine, python: str, prefix: str, chosen: str) -> Environment:
    """Read conda's records: one file per package, named name-version-build.json."""
    names = machine.names(f"{prefix}/conda-meta")
    records = (re.fullmatch(r"python-(\d+\.\d+\.\d+)-\S+\.json", name) for name in names)
    version = next((record[1] for record in records if record), "") or _lib_version(machine, prefix)
    return Environment(python, prefix, version, "conda", tuple(_sites(machine, prefix, version)), chosen)


def _behind_shim(machine: Machine, path: str) -> str:
    """The interpreter that pyenv's shim would start: by PYENV_VERSION, else by its global version file (pyenv docs)."""
    root, shim, name = path.partition("/shims/")
    if not shim:
        return path
    version = (machine.env.get("PYENV_VERSION") or machine.text(f"{root}/version", 256)).split("\n")[0].split(":")[0]
    real = f"{root}/versions/{version}/bin/{name}"
    return real if version and machine.exists(real) else path


def _system(machine: Machine, python: str, prefix: str, chosen: str, *, ask: bool) -> Environment:
    """An installed interpreter; only running it tells the last part of the version and the real import path."""
    outcome = machine.ask([python, "-c", _ASK]) if ask else Outcome(127, why="not run")
    lines = outcome.out.splitlines()
    if outcome.ok and len(lines) >= 2 and _VERSION.fullmatch(lines[0]):
        paths = tuple(line for line in lines[2:] if line.endswith(("site-packages", "dist-packages")))
        return Environment(python, lines[1], lines[0], _kind(machine, lines[1]), paths, chosen)
    named = _VERSION.search(machine.real(python).rsplit("/", 1)[-1])
    if named is None:
        why = outcome.why or f"{python} did not tell its version"
        return Environment(python=python, prefix=prefix, chosen=chosen, why=why)
    sites = tuple(_sites(machine, prefix, named[0]))
    return Environment(python, prefix, named[0], "system", sites, chosen)


def _lib_version(machine: Machine, prefix: str) -> str:
    """Major and minor from the name of the library folder, ``lib/python3.11``."""
    names = (re.fullmatch(r"python(\d+\.\d+)t?", name) for name in machine.names(f"{prefix}/lib"))
    return next((name[1] for name in names if name), "")


def _sites(machine: Machine, prefix: str, version: str) -> Iterator[str]:
    """Where packages lie below a prefix (sysconfig's schemes; Debian's dist-packages; Windows' Lib)."""
    short = ".".join((version or _lib_version(machine, prefix)).split(".")[:2])
    tails = [f"{lib}/python{each}/site-packages" for lib in ("lib", "lib64") for each in (short, f"{short}t")]
    debian = [f"local/lib/python{short}/dist-packages", "lib/python3/dist-packages"] if prefix == "/usr" else []
    for tail in (*tails, *debian, "Lib/site-packages"):
        if machine.exists(f"{prefix}/{tail}") and not _same(machine, prefix, tail):
            yield f"{prefix}/{tail}"


def _same(machine: Machine, prefix: str, tail: str) -> bool:
    """A venv's lib64 is a link to lib: one look is enough."""
    return tail.startswith("lib64/") and machine.real(f"{prefix}/lib64") == machine.real(f"{prefix}/lib")


def _kind(machine: Machine, prefix: str) -> str:
    """Who made the environment, by place and by its configuration file."""
    config, project, tool = machine.text(f"{prefix}/pyvenv.cfg"), prefix.removesuffix("/.venv"), keeper(prefix)[0]
    locks = {"uv.lock": "uv project", "poetry.lock": "poetry", "pdm.lock": "pdm"} if project != prefix else {}
    marks = (
        *((kind, machine.exists(f"{project}/{name}")) for name, kind in locks.items()),
        (tool, bool(tool)),
        ("nix", prefix.startswith("/nix/store/")),
        ("uv", re.search(r"^uv\s*=", config, re.MULTILINE) is not None),
        ("venv", bool(config)),
        ("conda", bool(machine.names(f"{prefix}/conda-meta"))),
    )
    return next((kind for kind, holds in marks if holds), "system")
