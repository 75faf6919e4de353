"""The base image and the Python of a plan.

The flavour follows the need: builds that take CUDA from the system get the runtime image of exactly that CUDA (with
cuDNN where they need it); wheels that bundle CUDA get a base image, which brings no second copy; ROCm wheels bundle
their user space and get the plain system; CPU builds get a Python image.

Among images that serve, the order is: still rebuilt; made for this purpose; Python from the image or its
distribution rather than a standalone build; a Python that most packages serve; the familiar distribution; newest
Python; newest system; a tag that was seen; newest CUDA patch; the tag. This order is the same for all vendors.

A plain system is always among the candidates for builds that bring their own libraries. It is what makes a GeForce
host on an older driver branch solvable: NVIDIA's own images from 12.5 on name no GeForce brand in the condition that
the container runtime checks, and would not start there, while the program itself would run.

What serves a need is the same for every target and kept with the matrix; which of it a target excludes (another system
asked for, a condition that refuses the driver) is asked anew each time, and counts as violated constraints.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.joints.base import starts
from compat.joints.build import split_runtime
from compat.joints.libc import of_system
from compat.joints.libraries import cudnn_of, is_cudnn, minors_past, stands_in
from compat.joints.python import packaged
from compat.joints.verdict import Clash, Fits
from compat.lazy import dataclass
from compat.plan import BaseImage
from compat.resolve.knowledge import Need, Stand
from compat.resolve.situation import FITS, Alternatives, Situation, both, either

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.matrix.rows import Image, Interpreter, System
    from compat.resolve.build_fit import Scale
    from compat.resolve.knowledge import Knowledge


# Distributions in the order preferred: that of most GPU base images first; the rest are equal.
_FAMILIES: Final = ("ubuntu", "debian")

_STATUS: Final = {"active": 0, "eol": 1}
_PYTHON_FROM: Final = {"image": 0, "distribution": 1, "uv": 2}
_WHY_BASE: Final = "the wheels bring their CUDA libraries: a base image holds no second copy"
_WHY_FORWARD: Final = "it holds cuda-compat, a newer user-space driver than the host's, and no second copy of CUDA"
# What the parts of a stand's rank prefer, most important first.
RANKS: Final = (
    "images that are still rebuilt",
    "a cuDNN that is not older than the build's",
    "an image made for this runtime",
    "the Python of the image or its distribution",
    "a Python that most packages serve",
    "the familiar distribution",
    "the newest Python",
    "the newest system",
    "the system by name",
    "a tag that was seen",
    "the newest patch of the runtime",
    "the tag by name",
)

_PURPOSES: Final = {"cuda": "nvidia/cuda", "rocm": "rocm/dev-ubuntu", "cann": "quay.io/ascend/cann"}


@dataclass(frozen=True, slots=True)
class Footing:
    """An image with its Python, and the constraints it violates; no ``image`` where there are no containers."""

    python: str
    image: BaseImage | None
    violations: Alternatives
    require: str = ""


class Images:
    """Images of one matrix for one situation."""

    def __init__(self, target: Situation, known: Knowledge, scale: Scale) -> None:
        self._target, self._known, self._scale = target, known, scale
        self._found: dict[Need, tuple[Footing, ...]] = {}

    def footings(self, need: Need) -> tuple[Footing, ...]:
        """The best image for each smallest set of violations; none if no image serves."""
        if need not in self._found:
            self._found[need] = tuple(self._choose(need))
        return self._found[need]

    def losers(self, need: Need, taken: str) -> Iterator[tuple[str, str]]:
        """Other images that serve a need, best first: each with the constraint that it breaks, else what it lost by."""
        stands = self._known.standing.get(need, ())
        own = next((stand.rank for stand in stands if stand.image.image == taken), ())
        for stand in stands:
            if stand.image.image == taken:
                continue
            broken = self._violations(stand.row, need)
            if broken != FITS:
                bits = min(broken, key=lambda one: (one.bit_count(), one))
                yield stand.image.image, "breaks " + ", ".join(s.text for s in self._target.softs if s.bit & bits)
            else:
                differing = (why for why, ours, theirs in zip(RANKS, own, stand.rank, strict=False) if ours != theirs)
                yield stand.image.image, f"lost to {next(differing, RANKS[-1])}"

    def _choose(self, need: Need) -> Iterator[Footing]:
        """The stands of a need are the same for every target and kept; what a target says against them is not.

        One footing is kept per set of violations, the best-ranked, and of these the ones that no other undercuts: the
        search for the optimum takes the one that violates nothing, the enumeration of corrections all of them.
        """
        if not need.place.startswith("linux"):
            asked = self._target.python
            pythons = [text for text in self._pythons(need) if text == asked or not text.startswith("2.")]
            yield from (Footing(python, None, FITS) for python in sorted(pythons, key=self._is_early)[:1])
            return
        if need not in self._known.standing:
            ranked = sorted(self._candidates(need, self._pythons(need)), key=lambda pair: pair[0])
            self._known.standing[need] = tuple(stand for _, stand in ranked)
        best: dict[Alternatives, Footing] = {}
        for stand in self._known.standing[need]:
            violations = self._violations(stand.row, need)
            best.setdefault(violations, Footing(stand.python, stand.image, violations, stand.row.require))
            if violations == FITS:
                break
        smallest = either(*best)
        yield from (footing for footing in best.values() if any(bits in smallest for bits in footing.violations))

    def _pythons(self, need: Need) -> tuple[str, ...]:
        """The Pythons of a need, newest first; any that a system brings where every build takes any."""
        pythons = self._known.pythons.of(need.pythons)
        if need.pythons >= 0:
            return pythons
        brought = {row.python for row in self._known.matrix.table("systems") if row.python}
        return tuple(sorted(brought, key=versions.release, reverse=True)) or pythons

    def _candidates(self, need: Need, pythons: tuple[str, ...]) -> Iterator[tuple[tuple[object, ...], Stand]]:
        """Every image that serves a need, with its rank: the smaller, the better.

        The rank follows the order that the module states. The reference comes last in it, so that no two images tie.
        """
        arch = need.place.removeprefix("linux_")
        pythons = tuple(text for text in pythons if self.is_ready(text))
        if not pythons:
            return
        for row, flavour, purpose, why in self._suitable(need):
            system = self._known.system(row.os)
            old = system is not None and isinstance(of_system(system, need.glibc), Clash)
            if arch not in row.arch or row.status not in _STATUS or old:
                continue
            python, source = self._python(row, system, pythons)
            if not python:
                continue
            reference = f"{row.repository}:{row.tag.replace('{flavour}', flavour)}"
            image = BaseImage(
                image=reference,
                os=row.os,
                flavour=flavour or row.tag,
                python=python if source != "uv" else "",
                python_from=source,
                why=why,
                source=self._known.matrix.cite(row),
                how=row.how,
            )
            rank = (
                _STATUS[row.status],
                self._is_outdated(row, need),
                purpose,
                # a Python that is not a distribution's own python3 is more to install: it counts as a standalone one
                2 if source == "distribution" and system and system.python != python else _PYTHON_FROM[source],
                self._is_early(python),
                *_os_rank(row.os, python),
                row.how == "inferred",
                # the newer first; padded, since 11.2.0 is read as 11.2 and 11.2.2 is newer than it
                tuple(-part for part in (*versions.release(row.cuda or row.rocm or "0"), 0, 0, 0)[:4]),
                reference,
            )
            yield rank, Stand(python, image, row, rank)

    @staticmethod
    def _is_outdated(row: Image, need: Need) -> bool:
        """Whether a build's cuDNN comes from the image and is older there: JAX and TensorFlow refuse an older one."""
        given = row.cudnn if cudnn_of(need.system) and need.cudnn else ""
        return bool(given) and isinstance(stands_in(given, need.cudnn), Clash)

    def _python(self, row: Image, system: System | None, pythons: tuple[str, ...]) -> tuple[str, str]:
        """The Python an image runs, and where it comes from: the image, its distribution, or a standalone build.

        A standalone one is the newest that most packages serve. Both are empty where the image has none of the Pythons
        and no standalone build of them is published.
        """
        if row.python in pythons:
            return row.python, "image"
        if system is not None and system.python in pythons:
            return system.python, "distribution"
        for text in pythons:
            if system and text not in system.unfinished and isinstance(packaged(system, text), Fits):
                return text, "distribution"
        rows = self._interpreters
        alone = [text for text in pythons if not rows or (text in rows and rows[text].standalone)]
        return next(iter(sorted(alone, key=self._is_early)), ""), "uv" if alone else ""

    def is_ready(self, python: str) -> bool:
        """Whether an image can install into a Python at all; a matrix that lists none is taken at its word."""
        return not self._interpreters or python in self._interpreters

    @cached_property
    def _interpreters(self) -> dict[str, Interpreter]:
        """The Pythons that an image can install into."""
        return {row.python: row for row in self._known.matrix.table("pythons")}

    def _is_early(self, python: str) -> bool:
        """Whether many packages have no wheels for a Python yet."""
        return python in self._interpreters and self._interpreters[python].early

    def _suitable(self, need: Need) -> Iterator[tuple[Image, str, int, str]]:
        """Image rows that serve the need: row, flavour, how near to the purpose (0 best), and the reason."""
        kind, _ = split_runtime(need.runtime)
        if need.system and need.board:
            yield from self._of_jetpack(need)
        elif need.system:
            yield from self._with_libraries(need, kind)
        else:
            yield from self._lean(need, kind)

    def _with_libraries(self, need: Need, kind: str) -> Iterator[tuple[Image, str, int, str]]:
        """Runtime images of the runtime that the builds load from the system, the nearest minor first.

        A library loads by its soname, hence any patch of the same CUDA and the same major cuDNN will do; the newest
        patch is taken by rank. A build that asks for a major alone takes its own minor or a later one; an image with an
        older cuDNN than a build was made with comes last. Of ROCm images those with all libraries come first, since
        frameworks load most of them.
        """
        cudnn = cudnn_of(need.system)
        wanted = "cudnn-runtime" if cudnn else "runtime"
        listed = f"{' and '.join(need.system)} must come from the image"
        for row in self._known.images_of(_PURPOSES.get(kind, "?")):
            past = minors_past(row.runtime, need.runtime, need.system)
            if past < 0 or (cudnn and not is_cudnn(cudnn, row.cudnn)):
                continue
            if kind != "cuda":
                yield row, "", int(not row.tag.endswith(("-complete", "-full"))), listed
                continue
            for flavour in row.flavours:
                plain = flavour.replace(f"cudnn{cudnn}-", "cudnn-") if cudnn else flavour
                if plain == wanted:
                    yield row, flavour, past, listed

    def _of_jetpack(self, need: Need) -> Iterator[tuple[Image, str, int, str]]:
        """Images of the JetPack releases that bring this CUDA, the newest first: a board runs only what is made for it.

        Source: table ``jetpack`` of the matrix; from JetPack 7 on (``sbsa``) ordinary arm64 images run.
        """
        rows = self._known.images_of("nvcr.io/nvidia/l4t-")
        named = {reference: row for row in rows for reference in row.references()}
        releases = [row for row in self._known.matrix.table("jetpack") if not row.sbsa and not row.preview]
        fitting = [row for row in releases if f"cuda{row.cuda}" == need.runtime]
        for place, release in enumerate(reversed(fitting)):
            why = f"{' and '.join(need.system)} come from JetPack {release.jetpack}: a Jetson runs its own images"
            yield from ((named[text], "", place, why) for text in release.images[:1] if text in named)

    def _lean(self, need: Need, kind: str) -> Iterator[tuple[Image, str, int, str]]:
        """Images without a second copy of what the wheels bring.

        CUDA wheels prefer NVIDIA's base image of their own runtime, which sets what the container runtime reads;
        Python images are preferred for CPU builds only, since the GPU base images share layers with each other and
        not with them.
        """
        if kind == "cuda":
            for row in self._known.images_of(_PURPOSES["cuda"], need.runtime):
                if "base" in row.flavours:
                    yield row, "base", 0, _WHY_FORWARD if need.forward else _WHY_BASE
        if need.forward:
            return  # no other image holds the package
        purposes = {"python": int(bool(kind not in {"cpu", ""})), "ubuntu": 1, "debian": 2}
        plain = (
            "the wheels bring all GPU libraries: the plain system is enough"
            if kind not in {"cpu", ""}
            else "the plan asks for nothing but Python"
        )
        for row in self._known.plain_images:
            if row.repository == "python" and kind in {"cpu", ""}:
                yield row, "", 0, plain
            elif row.repository != "python":
                flavour = next(
                    (text for text in row.flavours if "slim" in text), row.flavours[0] if row.flavours else ""
                )
                yield row, flavour, purposes.get(row.repository, 2), plain

    def _violations(self, row: Image, need: Need) -> Alternatives:
        """Constraints that an image breaks: another system or device, or a host that its condition refuses.

        A GPU whose driver is not known refuses nothing: the plan then states the driver it needs.
        """
        target = self._target
        violations: Alternatives = FITS if target.os in {"", row.os} else (target.os_bit,)
        for machine in target.machines if need.forward else ():
            violations = both(violations, self._scale.forwards(need.runtime.removeprefix("cuda"), machine))
        if row.devices:
            violations = both(violations, (sum(one.bit for one in target.devices if one.target not in row.devices),))
        if not row.require:
            return violations
        for device in target.devices:
            machine = target.machines[device.machine]
            asked = (row.require, machine.driver, device.brand, device.target, target.wsl, machine.cuda)
            if machine.number and isinstance(starts(self._known.matrix, *asked), Clash):
                violations = both(violations, either((machine.bit,), (device.bit,)))
        return violations


def _os_rank(os: str, python: str) -> tuple[object, ...]:
    """Familiar distribution, newest Python, newest release."""
    family = os.rstrip("0123456789.")
    number = os[len(family) :]
    place = _FAMILIES.index(family) if family in _FAMILIES else len(_FAMILIES)
    newest = tuple(-part for part in versions.release(python))
    return place, newest, tuple(-part for part in versions.release(number or "0")), os
