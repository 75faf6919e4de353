"""What a person may ask of the Dockerfile beyond the plan, and what is refused.

Everything here comes from a command line or a ``pyproject.toml``; it is checked whole, and all faults are told at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields
from typing import Final, Literal, get_args

from compat.errors import InputError, InputErrors
from compat.lazy import dataclass
from compat.versions import read_requirement

Form = Literal["plain", "factory"]
Builder = Literal["buildkit", "classic"]
Installer = Literal["auto", "pip", "uv"]
Secret = Literal["pip.conf", "netrc", "ca"]

# Secrets that installers read, and where: mounted for one step, never part of a layer.
SECRETS: Final[Mapping[str, str]] = {
    "pip.conf": "/etc/pip.conf",
    "netrc": "/root/.netrc",
    "ca": "/etc/ssl/certs/ca-certificates.crt",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Wishes about the image.

    Attributes:
        form: ``plain`` is what a person reads at once; ``factory`` takes mirrors as arguments, keeps caches between
            builds, leaves the installer out, holds the plan and checks all that was installed.
        builder: ``buildkit`` uses cache and bind mounts; ``classic`` needs nothing but what every engine has.
        installer: ``pip``, ``uv``, or ``auto``: uv where it brings the Python as well, else pip.
        digest: ``sha256:...`` of the base image, so that a moved tag cannot change the build.
        requirements: further PEP 508 requirements; the plan's versions stay as they are.
        requirements_file: a requirements file of the build context.
        lock: a requirements file of the build context with a hash for every file (``pip --require-hashes``); it
            replaces the plan's own installation steps and is checked against the plan.
        apt: packages of the distribution, ``name`` or ``name=version``.
        conda: packages of conda's, as on its command line; Python then comes from its channels, too.
        channels: where they come from, the first one before the others.
        compile: requirements that are compiled in a stage of their own with the toolkit's compilers.
        devel_image: image of that stage; empty derives NVIDIA's ``devel`` flavour from the base.
        compiler: whether the final image gets a C compiler (Triton compiles a launcher at run time).
        files: (source in the build context, place in the image).
        env: environment to set.
        labels: further image labels.
        command: ``CMD`` in exec form.
        entrypoint: ``ENTRYPOINT`` in exec form; empty sets none.
        healthcheck: ``HEALTHCHECK`` command in exec form; empty sets none.
        user: numeric user and group id; 0 is refused.
        trim: whether ROCm libraries lose the kernels of targets that the plan does not name.
        bytecode: whether to ship compiled ``.pyc`` files: without them each start compiles what it imports.
        import_check: whether the build imports the frameworks, so that a missing library stops it.
        secrets: which of :data:`SECRETS` the installing steps may see.
    """

    form: Form = "plain"
    builder: Builder = "buildkit"
    installer: Installer = "auto"
    digest: str = ""
    requirements: tuple[str, ...] = ()
    requirements_file: str = ""
    lock: str = ""
    apt: tuple[str, ...] = ()
    conda: tuple[str, ...] = ()
    channels: tuple[str, ...] = ("conda-forge",)
    compile: tuple[str, ...] = ()
    devel_image: str = ""
    compiler: bool = False
    files: tuple[tuple[str, str], ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("python",)
    entrypoint: tuple[str, ...] = ()
    healthcheck: tuple[str, ...] = ()
    user: int = 10001
    trim: bool = True
    bytecode: bool = True
    import_check: bool = True
    secrets: tuple[Secret, ...] = ()


_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][\w.\-]*(\[[\w.,\- ]*\])?[\w\s.,\-+!*=<>~()@;:/'\"%&#\[\]]*")
_PATTERNS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    # a word that ends with a minus makes apt-get remove the package (apt-get(8), "install")
    "apt": (re.compile(r"[a-z0-9][a-z0-9+.\-]*[a-z0-9+.](=[\w.+:~*\-]*[\w.+:~*])?"), "a package name, or name=version"),
    "conda": (
        re.compile(r"(\w[\w./\-]*::)?[A-Za-z0-9_][\w.\-]*( ?[=<>!~][\w.*+!=<>~,| ]*)?"),
        "a package of conda's, such as gdal or gdal>=3.8",
    ),
    "channels": (re.compile(r"https?://\w[\w.\-/:]*|\w[\w.\-/]*"), "a channel of conda's, such as conda-forge"),
    "digest": (re.compile(r"sha256:[0-9a-f]{64}"), "sha256: and 64 hexadecimal digits"),
    "image": (re.compile(r"[a-z0-9][\w.\-/:]*(@sha256:[0-9a-f]{64})?"), "an image reference"),
    "label": (re.compile(r"[a-z0-9]+([.\-_][a-z0-9]+)*"), "lower-case words joined by dots"),
    "env": (re.compile(r"[A-Za-z_]\w*"), "letters, digits and underscores"),
    "source": (re.compile(r"(?!/)[\w.+@%=\-/]+"), "a relative path inside the build context"),
    "place": (re.compile(r"/[\w.+@%=\-/]*"), "an absolute path in the image"),
    "address": (re.compile(r"https?://[\w.\-~:/%@+]+(#sha256=[0-9a-f]{64})?"), "an http address, with its file's sum"),
    "index": (re.compile(r"(https?|file)://[\w.\-~:/%@+\[\]]+"), "an http or https address"),
    "version": (re.compile(r"[\w.+!\-]+"), "a version"),
    "python": (re.compile(r"\d{1,2}\.\d{1,2}t?"), "a minor version such as 3.11"),
    "line": (re.compile(r"[^\x00-\x1f\x7f]*"), "one line without control characters"),
}


def demand(kind: str, text: str, where: str) -> Iterator[InputError]:
    """A fault if ``text`` is not what ``kind`` must look like; nothing otherwise."""
    pattern, expected = _PATTERNS[kind]
    climbs = kind in {"source", "place"} and ".." in text.split("/")
    if climbs or not pattern.fullmatch(text):
        yield InputError(f"{text[:80]!r} cannot be used", where=where, expected=expected)


def demand_requirement(text: str, where: str) -> Iterator[InputError]:
    """A fault if ``text`` is not a PEP 508 requirement on one line, without an escape into other options."""
    fault = ""
    try:
        read_requirement(text)
    except ValueError as error:
        fault = str(error).splitlines()[0]
    if fault or not _REQUIREMENT.fullmatch(text) or "\n" in text or "\r" in text:
        expected = "a requirement such as name==1.2 (PEP 508)"
        yield InputError(f"{text[:80]!r} is not a requirement", where=where, expected=expected)


def check(settings: Settings) -> None:
    """Refuse what cannot be written safely.

    Raises:
        InputErrors: every fault of the settings, each naming its option.
    """
    faults = list(_shape_faults(settings)) or list(_faults(settings))
    if faults:
        raise InputErrors(faults)


def _shape_faults(wish: Settings) -> Iterator[InputError]:
    """Values of the wrong kind: a TOML file may hold anything."""
    for item in fields(wish):
        shape, expected = _SHAPES.get(item.name, _SHAPES[type(getattr(Settings(), item.name)).__name__])
        if not shape(getattr(wish, item.name)):
            yield InputError(
                f"{getattr(wish, item.name)!r:.80} cannot be used", where=item.name.replace("_", "-"), expected=expected
            )


def _is_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)


def _is_table(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for pair in value.items() for item in pair)


def _is_pairs(value: object) -> bool:
    return isinstance(value, tuple) and all(_is_texts(item) and len(item) == 2 for item in value)


_SHAPES: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "str": (lambda value: isinstance(value, str), "a text"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "int": (lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number"),
    "tuple": (_is_texts, "a list of texts"),
    "dict": (_is_table, "a table of texts"),
    "files": (_is_pairs, "pairs of a source and a place"),
    "form": (lambda value: value in get_args(Form), " or ".join(get_args(Form))),
    "builder": (lambda value: value in get_args(Builder), " or ".join(get_args(Builder))),
    "installer": (lambda value: value in get_args(Installer), " or ".join(get_args(Installer))),
}
# Kinds by the name of the field, else by the type of its default.


def _faults(wish: Settings) -> Iterator[InputError]:
    """Everything that is wrong with the wishes: what reaches a Dockerfile is checked here, whoever wrote it."""
    for text in (*wish.requirements, *wish.compile):
        yield from demand_requirement(text, "requirements")
    for kind in ("apt", "conda", "channels"):
        for text in getattr(wish, kind):
            yield from demand(kind, text, kind)
    for name, path in (("requirements-file", wish.requirements_file), ("lock", wish.lock)):
        if path:
            yield from demand("source", path, name)
    for source, place in wish.files:
        yield from demand("source", source, "files")
        yield from demand("place", place, "files")
    yield from _table_faults(wish)
    yield from _image_faults(wish)


def _table_faults(wish: Settings) -> Iterator[InputError]:
    """Faults of variables, labels and commands: a line break in one would become an instruction."""
    for kind, table in (("env", wish.env), ("label", wish.labels)):
        for key, text in table.items():
            yield from demand(kind, key, kind)
            yield from demand("line", text, f"{kind} {key}")
    for name in ("command", "entrypoint", "healthcheck"):
        for text in getattr(wish, name):
            yield from demand("line", text, name)


def _image_faults(wish: Settings) -> Iterator[InputError]:
    """Faults of the wishes about base, user and secrets."""
    if wish.digest:
        yield from demand("digest", wish.digest, "digest")
    if wish.devel_image:
        yield from demand("image", wish.devel_image, "devel-image")
    if not 0 < wish.user < 2**31:
        yield InputError(
            f"user id {wish.user}", where="user", expected="a number above 0: the image must not run as root"
        )
    for secret in wish.secrets:
        if secret not in SECRETS:
            yield InputError(f"{secret!r} is not a secret we mount", where="secrets", expected=" or ".join(SECRETS))
    if wish.secrets and wish.builder == "classic":
        yield InputError("the classic builder cannot mount secrets", where="secrets", expected="builder buildkit")
