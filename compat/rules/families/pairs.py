"""Companions of a framework: do they belong to it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.rules.requirements as requirements
from compat.findings import Fix
from compat.rules.knowledge import cite, is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import framework, packages_of, plain, row_of, world
from compat.versions import release

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.facts import Host
    from compat.matrix import Matrix, rows
    from compat.rules.signals import Hearing


_COMPANIONS: Final = (
    "torchvision",
    "torchaudio",
    "torchtext",
    "torchdata",
    "torchao",
    "triton",
    "xformers",
    "vllm",
    "flash-attn",
    "torch-tensorrt",
    "torch-scatter",
    "torch-sparse",
    "torch-cluster",
    "torch-npu",
    "torch-xla",
    "intel-extension-for-pytorch",
    "transformer-engine",
    "keras",
    "tf-keras",
    "tensorflow-text",
    "jaxlib",
    "jax-cuda11-plugin",
    "jax-cuda12-plugin",
    "jax-cuda13-plugin",
    "jax-cuda12-pjrt",
    "jax-cuda13-pjrt",
)


_HUBS: Final = ("torch", "tensorflow", "jax", "jaxlib", "keras")


def companion_rows(matrix: Matrix, name: str, version: str) -> list[rows.Build]:
    """Rows of a companion's release."""
    return list(matrix.builds_of(name, plain(version)))


def mismatches(host: Host, matrix: Matrix) -> Iterator[tuple[str, str, requirements.Asks, str, rows.Build | None]]:
    """Companion, its version, what it asks, what is there, and the row that says so."""
    packages = {name: plain(version) for name, version in packages_of(host).items()}
    for name in _COMPANIONS:
        if name not in packages:
            continue
        found = companion_rows(matrix, name, packages[name])
        verdicts = [(row, _hub_faults(row.requires, packages, host)) for row in found]
        if verdicts and all(faults for _, faults in verdicts):
            row, faults = verdicts[0]
            yield name, packages[name], faults[0][0], faults[0][1], row
    yield from _stated(host, packages)
    yield from _jax_pair(packages)


def _hub_faults(lines: tuple[str, ...], packages: Mapping[str, str], host: Host) -> list[tuple[requirements.Asks, str]]:
    """Requirements on a framework that are violated; a pin with a local tag counts without it."""
    clean = [re.sub(r"\+[\w.]+", "", line) for line in lines]
    return [item for item in requirements.broken(clean, packages, world(host)) if item[0].name in {*_HUBS, "triton"}]


def _stated(host: Host, packages: Mapping[str, str]) -> Iterator[tuple[str, str, requirements.Asks, str, None]]:
    """The same from the distributions' own Requires-Dist, where they were read."""
    for name, lines in (host.package_requires or {}).items():
        if name in packages and name in _COMPANIONS:
            for asked, there in _hub_faults(lines, packages, host):
                yield name, packages[name], asked, there, None


def _jax_pair(packages: Mapping[str, str]) -> Iterator[tuple[str, str, requirements.Asks, str, None]]:
    """Jaxlib and plug-ins are never newer than jax, and a plug-in is of jaxlib's own release (jax/_src/lib)."""
    jax, jaxlib = packages.get("jax", ""), packages.get("jaxlib", "")
    if is_version(jax) and is_version(jaxlib) and release(jaxlib)[:3] > release(jax)[:3]:
        yield "jaxlib", jaxlib, requirements.Asks("jax", f">={jaxlib}"), jax, None
    for name, version in packages.items():
        plugin = re.fullmatch(r"jax-(cuda|rocm)\d+-(plugin|pjrt)", name) and is_version(jaxlib) and is_version(version)
        if plugin and release(version)[:3] != release(jaxlib)[:3]:
            yield name, version, requirements.Asks("jaxlib", f"=={version}"), jaxlib, None


class FrameworkPairMismatch(Rule):
    """A companion package does not belong to this framework version.

    Why:
        Companions link against one exact framework and register their operators when they are imported.
    Fix:
        Reinstall both from the same index in one command, with the pair that belongs together.
    Sources:
        - https://github.com/pytorch/vision#installation
        - https://docs.jax.dev/en/latest/installation.html
    """

    area = "framework"
    requires = ("wrong-vendor-build",)
    asks = ("packages",)
    remedy = Fix(
        "Reinstall the framework and its companions in one command, from one index.",
        ("pip install --force-reinstall torch torchvision torchaudio --index-url <index of torch>",),
    )

    def check(self, host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        """A companion is of a release that was not built for the framework that is installed.

        torchvision, torchaudio, triton, keras, jaxlib, a JAX plug-in or NumPy.
        """
        packages = packages_of(host)
        if not packages:
            return None
        found = next(mismatches(host, matrix), None)
        if found:
            name, version, asked, there, row = found
            detail = f"{name} {version} belongs to {asked.name}{asked.specifier}; {asked.name} {there} is installed."
            fix = self._reinstall(asked.name, there, matrix)
            return Found(detail=detail, facts=cited(host, name, asked.name), sources=cite(matrix, row), fix=fix)
        return (
            _numpy(host, matrix)
            or _tags(host)
            or (None if signals.pointing("framework-pair-mismatch") else self._pairs(host, matrix, packages))
        )

    @staticmethod
    def _reinstall(name: str, version: str, matrix: Matrix) -> Fix | None:
        """The companions that belong to an installed torch."""
        if name != "torch":
            return None
        pairs = [f"torch=={plain(version)}"]
        for companion in ("torchvision", "torchaudio"):
            fits = [
                row for row in matrix.builds(companion) if any(same_pin(line, plain(version)) for line in row.requires)
            ]
            pairs += [f"{companion}=={fits[-1].version}"] if fits else []
        return (
            Fix("Install the companions that belong to this torch.", (f"pip install {' '.join(pairs)}",))
            if len(pairs) > 1
            else None
        )

    @staticmethod
    def _pairs(host: Host, matrix: Matrix, packages: Mapping[str, str]) -> Outcome:
        """All companions are known to belong; one that nothing is known of leaves the question open."""
        here = [name for name in _COMPANIONS if name in packages]
        if not here or not all(_belongs(name, host, matrix, packages) for name in here):
            return None
        return Fits(f"{', '.join(here[:4])} belong{'s' if len(here) == 1 else ''} to the framework installed")


def _belongs(name: str, host: Host, matrix: Matrix, packages: Mapping[str, str]) -> bool:
    """Whether a companion's own requirement names a framework that is installed; no mismatch was found before.

    What jax accepts of older releases of jaxlib is stated nowhere in the rows, so that only its own is known to fit.
    """
    if name.startswith("jax"):
        other = packages.get("jax" if name == "jaxlib" else "jaxlib", "")
        return plain(other) == plain(packages[name])
    rows = companion_rows(matrix, name, plain(packages[name]))
    lines = [*(line for row in rows for line in row.requires), *(host.package_requires or {}).get(name, ())]
    return any(
        asked.name in {*_HUBS, "triton"} & packages.keys() for asked in filter(None, map(requirements.read, lines))
    )


def same_pin(line: str, version: str) -> bool:
    """Whether a requirement line pins torch to a release."""
    asked = requirements.read(line)
    return bool(
        asked
        and asked.name == "torch"
        and asked.specifier.startswith("==")
        and requirements.admits(asked.specifier, version)
    )


def cited(host: Host, *names: str) -> tuple[str, ...]:
    """Names of the facts that give the versions of these packages."""
    table = "packages" if host.packages else "conda_packages"
    return tuple(f"{table}.{name}" for name in names if name in (host.value(table) or {}))


def _numpy(host: Host, matrix: Matrix) -> Outcome:
    """A framework that was compiled against NumPy 1 with NumPy 2 installed, by the matrix's requirement on numpy."""
    packages = packages_of(host)
    if "numpy" not in packages:
        return None
    for name in ("torch", "tensorflow", "jax"):
        item = framework(host, matrix, name)
        row = item.row or row_of(matrix, name, item.version, "", host) if item else None
        faults = requirements.broken(row.requires, {"numpy": packages["numpy"]}, world(host)) if row else []
        if faults and item:
            detail = f"{item.label} wants numpy{faults[0][0].specifier}; numpy {packages['numpy']} is installed."
            fix = Fix(
                f"Install numpy{faults[0][0].specifier}, or a newer {name}.",
                (f'pip install "numpy{faults[0][0].specifier}"',),
            )
            return Found(detail=detail, facts=cited(host, name, "numpy"), fix=fix, sources=cite(matrix, row))
    return None


def _tags(host: Host) -> Outcome:
    """Companions with another accelerator tag than torch's own."""
    packages = host.packages or {}
    own = packages.get("torch", "").partition("+")[2]
    for name in ("torchvision", "torchaudio"):
        tag = packages.get(name, "").partition("+")[2]
        if own and tag and tag != own:
            command = f"pip install --force-reinstall --no-deps {name}=={plain(packages[name])} --index-url https://download.pytorch.org/whl/{own}"
            fix = Fix(f"Reinstall {name} from the index of torch.", (command,))
            return Found(
                detail=f"torch is +{own}, {name} is +{tag}.", facts=("packages.torch", f"packages.{name}"), fix=fix
            )
    return None


class FrameworkBuildTagMismatch(Rule):
    """Companions carry different accelerator tags.

    Why:
        Resolvers ignore local tags when a plain version satisfies the pin, so mixed installs come easily.
    Fix:
        Reinstall the companions from the same index as torch.
    Sources:
        - https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers
    """

    area = "framework"
    requires = ("framework-pair-mismatch", "cpu-only-build")
    asks = ("packages",)
    remedy = Fix("Reinstall the companions from the index of torch.")

    def check(self, packages: Mapping[str, str], host: Host) -> Outcome:
        """The local version tags of torch and its companions differ, as +cu126 and +cpu."""
        return _tags(host) if packages else None


class NumpyAbiMismatch(Rule):
    """A module was compiled for NumPy 1 and NumPy 2 is installed, or the reverse.

    Why:
        NumPy's C interface changed incompatibly at 2.0.
    Fix:
        Install numpy<2, or newer releases of the packages that complain.
    Sources:
        - https://numpy.org/doc/stable/numpy_2_0_migration_guide.html
    """

    area = "python"
    requires = ("framework-pair-mismatch",)
    asks = ("packages",)
    remedy = Fix("Install numpy<2, or newer releases of the packages that complain.", ('pip install "numpy<2"',))

    def check(self, packages: Mapping[str, str], signals: Hearing, host: Host, matrix: Matrix) -> Outcome:
        """A compiled package was made against the other NumPy major: a message says so, or what is known of it.

        A framework that asks for the other major is told as framework-pair-mismatch, and this under it.
        """
        if found := _numpy(host, matrix):
            return found
        version = packages.get("numpy", "")
        if "numpy-abi" not in signals or not is_version(version) or release(version)[0] < 2:
            return None
        return Found(
            detail=f"numpy {version} is installed, and a module was compiled for NumPy 1.", facts=("packages.numpy",)
        )


RULES = family(FrameworkPairMismatch, FrameworkBuildTagMismatch, NumpyAbiMismatch)
