"""Plans and conflicts: what the resolver answers and all that the Dockerfile writer, CI and the verifier may know.

A plan is complete: whoever reads it needs neither the host nor the matrix. It is stored as ``envcheck.resolve/1``
JSON and replayed byte for byte (:func:`dump`, :func:`load`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, field, fields, is_dataclass
from typing import Any, Final, Literal

from compat.errors import InputError
from compat.lazy import dataclass
from compat.names import normalise
from compat.shapes import built

SCHEMA: Final = "envcheck.resolve/1"

# The runtime of a plan in which nothing has GPU code although no CPU build was asked for.
NO_CODE: Final = "none"

# Labels of an image: of the factory form its plan as JSON; of the plain form in its place the versions that were
# planned, their runtime, and the digest of the plan.
PLAN_LABEL: Final = "dev.envcheck.plan"
VERSIONS_LABEL: Final = "dev.envcheck.versions"
RUNTIME_LABEL: Final = "dev.envcheck.runtime"
DIGEST_LABEL: Final = "dev.envcheck.digest"

# Architectures as builders of images call them (OCI image specification, image-index.md, ``platform``).
_PLATFORMS: Final[Mapping[str, str]] = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}

How = Literal["measured", "documented", "inferred"]
Status = Literal["plan", "conflict", "unknown"]
CudaFrom = Literal["wheel", "packages", "system", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBuild:
    """One package of a plan.

    Attributes:
        name: distribution name, ``torch``.
        version: exact version with its local tag where it has one, ``2.0.1+cu118``.
        runtime: ``cuda11.8``, ``rocm6.2``, ``cpu``, ``xpu``; empty for a package that names none.
        index: address of the index that has it; empty for the default index.
        extras: extras to ask for (``and-cuda``, ``cuda12``).
        pins: further exact requirements that belong to it (``jax-cuda12-plugin==0.4.30``).
        cuda_from: where its CUDA libraries come from: inside the ``wheel``, nvidia-* ``packages`` that it requires, the
            ``system`` (the base image), or nowhere.
        module: name to import when checking it.
        preload: call without which it finds its CUDA ``packages`` on the loader's path alone; empty if it needs none.
        asked: whether the person named it, or it was added to fit.
        source: matrix row and its source.
        how: how that row is known.
        address: the file itself, where an installer cannot ask for it by name (:attr:`compat.matrix.Index.file`); then
            ``index`` is empty and ``version`` is that of the file's metadata.
        links: whether ``index`` is a page of links (``pip --find-links``) rather than a simple index.
        compile: whether it is published as source only, so that installing it compiles GPU code with the toolkit's
            compilers, which no base or runtime image has.
        evidence: what a measured row was read from: the files of the wheel (``metadata``), or more that was done with
            the build, ``installed``, ``imported``, ``run on a device``; empty for a row that was not measured.
        kernels: targets that it carries code for; ``-`` if it carries none, empty if that is not known.
    """

    name: str
    version: str
    runtime: str = ""
    index: str = ""
    extras: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    cuda_from: CudaFrom = ""
    module: str = ""
    preload: str = ""
    asked: bool = True
    source: str = ""
    how: How = "measured"
    address: str = ""
    links: bool = False
    compile: bool = False
    evidence: str = ""
    kernels: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Its runtime; of a build that names none, what is known of GPU code in it."""
        return self.runtime or code(self.kernels, compiled=self.compile)

    @property
    def origin(self) -> tuple[str, bool, bool]:
        """Its index, whether that is a page of links, and whether it is compiled; see :mod:`compat.installation`."""
        return self.index, self.links, self.compile

    @property
    def requirement(self) -> str:
        """The exact PEP 508 requirement, ``jax[cuda12]==0.4.30``; of a file, its address."""
        return f"{self.full_name} @ {self.address}" if self.address else f"{self.full_name}=={self.version}"

    @property
    def full_name(self) -> str:
        """Its name with its extras, ``jax[cuda12]``."""
        return f"{self.name}[{','.join(self.extras)}]" if self.extras else self.name


def code(kernels: tuple[str, ...], *, compiled: bool = False) -> str:
    """What is known of GPU code in a build whose runtime is not named; the arguments as in :class:`PlannedBuild`."""
    known = {(): "GPU code not known", ("-",): "no GPU code"}
    return "compiled at installation" if compiled else known.get(kernels, "GPU code")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseImage:
    """The image a Dockerfile starts from.

    Attributes:
        image: reference with tag, ``nvidia/cuda:11.8.0-base-ubuntu22.04``.
        os: ``ubuntu22.04``.
        flavour: ``base``, ``runtime``, ``cudnn-runtime``, ``devel``, ``slim``, ...
        python: minor version of the Python that it or its distribution offers; empty if none.
        python_from: ``image`` (already there), ``distribution`` (apt or dnf), ``uv`` (standalone build);
            an image with packages of conda's takes it from there, ``conda``.
        why: reason for this flavour.
        how: how it is known that the tag is published; ``inferred`` follows from the names of its siblings.
    """

    image: str
    os: str = ""
    flavour: str = ""
    python: str = ""
    python_from: str = "distribution"
    why: str = ""
    source: str = ""
    how: How = "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverNeed:
    """The driver a plan needs: ``minimum`` version, and ``note`` (minor-version compatibility, no PTX, ...).

    ``comfortable`` is the driver that was released for the runtime. ``package`` names the cuda-compat package that the
    image must hold because the host's driver is older (forward compatibility); empty where none is needed.
    """

    minimum: str = ""
    comfortable: str = ""
    note: str = ""
    source: str = ""
    package: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuVerdict:
    """How one GPU of the target runs the plan's kernels; the weakest build decides."""

    name: str
    target: str
    kernels: Literal["native", "ptx", "none", "unknown"]
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One decision for ``--explain``: what was chosen, what lost to it, and why."""

    subject: str
    chosen: str
    rejected: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Builds that fit together, and what they need around them.

    Attributes:
        runtime: the plan's GPU runtime, ``cuda12.6``, ``rocm6.2``, ``xpu``, ``metal``, ``tpu`` or ``cpu``; ``none``
            where nothing in it has GPU code although no CPU build was asked for.
        python: minor version, ``3.11``.
        arch: machine architecture, ``x86_64`` or ``aarch64``.
        also: further architectures that the same plan was found for: one Dockerfile builds an image for each.
        base_image: what the Dockerfile starts from; ``None`` on systems without containers (macOS, Windows).
        builds: what to install, in order.
        system: libraries that must come from the base image: ``cuda11.8``, ``cudnn8``.
        constraints: requirements that keep shared dependencies within what every build accepts (``numpy<1.24``).
        asked: those of ``constraints`` that were asked for by name, hence to be installed and not only held.
        unjudged: further requirements that are installed with it, of whose packages nothing is known; one that no index
            has is compiled from its repository (``name @ git+https://...``), after all others.
        driver: driver needed on the host.
        gpus: verdict per GPU of the target.
        serves: where the target names no GPU, the targets that every GPU build of the plan carries code for.
        env: environment to set.
        choices: decisions, for ``--explain``.
        conditions: what was assumed because the target did not say.
        matrix: digest of the matrix this was made from.
    """

    runtime: str
    python: str
    arch: str = "x86_64"
    base_image: BaseImage | None = None
    builds: tuple[PlannedBuild, ...] = ()
    system: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    driver: DriverNeed = DriverNeed()
    gpus: tuple[GpuVerdict, ...] = ()
    serves: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None
    choices: tuple[Choice, ...] = ()
    conditions: tuple[str, ...] = ()
    matrix: str = ""
    also: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()

    @property
    def archs(self) -> tuple[str, ...]:
        """Every architecture that the plan is for."""
        return (self.arch, *self.also)

    @property
    def platforms(self) -> tuple[str, ...]:
        """The same as a builder of images names them, ``linux/amd64``."""
        return platforms(self.archs)

    def by_ptx(self) -> list[str]:
        """The builds whose code a driver compiles at first use, as far as a GPU's verdict names them."""
        told = [gpu.why for gpu in self.gpus if gpu.kernels == "ptx"]
        return [one.name for one in self.builds if any(f"{one.name} {one.version} " in why for why in told)]

    def ptx_of(self, name: str) -> str:
        """``, through PTX`` where a build is such a one, with the other's name where another is; else nothing."""
        slow = self.by_ptx()
        return f",{'' if name in slow else f' {slow[0]}'} through PTX" if slow else ""

    def versions(self) -> dict[str, str]:
        """Distribution, spelled as indexes do -> the exact version that is to be installed; pins included."""
        found = {normalise(build.name): build.version for build in self.builds}
        for build in self.builds:
            for pin in build.pins:
                name, _, version = pin.partition("==")
                if version and ";" not in version and "*" not in version:
                    found[normalise(name.partition("[")[0].strip())] = version.strip()
        return found


@dataclass(frozen=True, slots=True)
class Member:
    """One clashing constraint: ``kind`` is wish, host, option or matrix; ``text`` says it; ``source`` cites it.

    ``likely``: whether the row that it rests on is only inferred by what decides here.
    """

    kind: Literal["wish", "host", "option", "matrix"]
    text: str
    source: str = ""
    likely: bool = False


@dataclass(frozen=True, slots=True)
class Conflict:
    """A minimal set of clashing constraints: drop any wish, host fact or option of it and it dissolves."""

    members: tuple[Member, ...]
    why: str = ""

    @property
    def likely(self) -> bool:
        """Whether a member of it is only inferred, so that it is no proof."""
        return any(member.likely for member in self.members)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the resolver as a value.

    Attributes:
        requirements: what is asked for.
        options: what is stated of the target: names of options without dashes (``gpu``, ``driver``, ``python``), each
            with its value, in the order in which they are typed.
        cpu: whether a CPU build is asked for.
    """

    requirements: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    cpu: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A change that was checked to work.

    Attributes:
        text: the deed in words.
        changes: what changes, by name (``{"driver": "525.60.13"}``, ``{"torch": "2.0.1+cu118"}``).
        status: the outcome with the change applied: always ``plan`` unless the check itself could not decide.
        command: the command that would then succeed; written where the whole question is known, as are ``commands``.
        plans: the plans it leads to (two for a split into two images).
        commands: where it leads to several plans, the command for each of them, in their order.
        asks: the questions that lead to the plans; none where a change cannot be asked for.
    """

    text: str
    changes: Mapping[str, str]
    status: Status = "plan"
    command: str = ""
    plans: tuple[Plan, ...] = ()
    commands: tuple[str, ...] = ()
    asks: tuple[Ask, ...] = field(default=(), compare=False, metadata={"unpublished": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What ``resolve`` answers: a plan, a conflict with remedies, or unknown with the reason in ``conditions``."""

    status: Status
    plan: Plan | None = None
    conflicts: tuple[Conflict, ...] = ()
    fixes: tuple[Remedy, ...] = ()
    conditions: tuple[str, ...] = ()


def platforms(archs: Sequence[str]) -> tuple[str, ...]:
    """Names of Linux images for machine architectures; one that has no name of its own there keeps ours."""
    return tuple(_PLATFORMS.get(arch, f"linux/{arch}") for arch in archs)


def dump(answer: Answer) -> dict[str, Any]:
    """The ``envcheck.resolve/1`` document of an answer; JSON-ready, keys in the order of the classes above."""
    return {"schema": SCHEMA, **_plain(answer)}


def digest(plan: Plan) -> str:
    """What an image's label says of its plan: ``sha256:...`` of all that decides what is built."""
    import hashlib
    import json

    body = {key: value for key, value in _plain(plan).items() if key not in {"choices", "conditions"}}
    body["builds"] = [{key: value for key, value in one.items() if key != "kernels"} for one in body["builds"]]
    return f"sha256:{hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()}"


def load(document: Any, where: str) -> Answer:
    """Read a stored answer back; a bare plan object is accepted as well.

    Raises:
        InputError: if the document is not one, naming the key.
    """
    if not isinstance(document, dict):
        raise InputError("not a JSON object", where=where, expected=f'a document with "schema": "{SCHEMA}"')
    schema = document.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise InputError(
            f"schema {schema!r}",
            where=where,
            expected=repr(SCHEMA),
            hint="make it with `envcheck resolve REQ --format json`",
        )
    if "status" not in document and "runtime" not in document:
        raise InputError("holds no plan", where=where, expected="what `envcheck resolve REQ --format json` prints")
    body = {"status": "plan", "plan": document} if "runtime" in document else document
    answer: Answer = built(Answer, body, where)
    return answer


def is_published(item: Field[Any]) -> bool:
    """Whether a field of a value is part of its JSON."""
    return "unpublished" not in item.metadata


def _plain(value: Any) -> Any:
    """A value as JSON has it; keys in order, so that equal plans are equal bytes."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value) if is_published(item)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(value[key]) for key in sorted(value)}
    return value
