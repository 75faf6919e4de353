"""What a run of the probes proved, as rows of the matrix that a person looks over: ``verify --contribute FILE``."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.build import Verification
    from compat.matrix import Matrix

# Module that the probes test -> package whose builds bring it.
_PACKAGES: Final = {"torch": "torch", "tensorflow": "tensorflow", "jax": "jax", "paddle": "paddlepaddle"}
_SETUP: Final = {"import", "build", "device", "libraries"}  # probes that compute nothing
_LIBCUDA: Final = pattern(r"libcuda\.so\.(\d{3}\.[\d.]{2,12})$")


def text(done: Verification, matrix: Matrix) -> str:
    """A matrix file with a row for each framework that a run imported; empty if it imported none without a failure.

    A row that the matrix has of the build is repeated, with what the run adds: its evidence, and in a note the device,
    its driver and the probes that passed. A build without a row gets one with what it said of itself. A run without a
    GPU counts as imported.

    ``done``: the run. One probe of a framework that failed, and nothing is contributed about it.
    """
    from compat.matrix import canonical

    day = datetime.now(timezone.utc).date().isoformat()
    source = f"run-{day}"
    tables = {f"builds.{package}": [row] for package, row in _rows(done, matrix, source)}
    if not tables:
        return ""
    shown = f"Probes of envcheck, level {done.level}, run {'in a container' if done.image else 'on a machine'} on {day}"
    groups: dict[str, Any] = {name.partition(".")[2]: rows for name, rows in tables.items()}
    return canonical.dump({"schema": canonical.SCHEMA, "builds": groups, "sources": {source: shown}})


def _rows(done: Verification, matrix: Matrix, source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Package and row of each framework of which no probe failed."""
    for module, package in _PACKAGES.items():
        own = {item.name.partition(".")[2]: item for item in done.probes if item.name.startswith(f"{module}.")}
        figures = {name: item.figures for name, item in own.items() if item.status == "pass"}
        version, runtime = figures.get("import", {}).get("version"), figures.get("build", {}).get("runtime")
        if not version or not runtime or any(item.status == "fail" for item in own.values()):
            continue
        device = figures.get("device", {}).get("device", "cpu")
        computed = [name for name in figures if name not in _SETUP]
        on_device = device != "cpu" and bool(computed)
        row = _row(matrix, package, str(version), str(runtime), figures)
        row["evidence"] = "run on a device" if on_device else "imported"
        ran = _note(done, figures, computed, on_device=on_device)
        row["note"] = ". ".join(filter(None, [row.get("note", "").rstrip("."), ran]))
        row["source"] = f"{row.get('source', '')} {source}".strip()
        yield package, row


def _row(matrix: Matrix, package: str, version: str, runtime: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    """The matrix's row of a build as a file states it, or a new one with what the build says of itself."""
    from compat.matrix import store

    public, _, local = version.partition("+")
    python = ".".join(str(figures["import"].get("python", "")).split(".")[:2])
    system, *_, machine = str(figures["import"].get("platform", "")).partition("-")
    platform = f"{system}_{machine.rpartition('-')[2]}"  # macosx-11.0-arm64
    for build in matrix.builds_of(package, public):
        alike = build.runtime == runtime and build.local == local and not build.distribution
        if alike and python in build.python and platform in build.platforms:
            return store.stated(build)
    told = {"versions": public, "runtime": runtime, "local": local, "python": python, "platforms": platform}
    kernels = " ".join(map(str, figures["build"].get("kernels", ())))
    return {**told, "kernels": kernels, "how": "measured", "note": "Which index it came from, a run cannot tell."}


def _note(done: Verification, figures: Mapping[str, Any], computed: list[str], *, on_device: bool) -> str:
    """One sentence: where it ran, with which driver, and what passed."""
    driver = {item.name: item.figures for item in done.probes if item.name.startswith("driver.")}
    place = "the processor"
    if on_device:
        found: Mapping[str, Any] = next((told for name, told in driver.items() if name.startswith("driver.device")), {})
        paths = driver.get("driver.load", {}).get("libcuda", ())
        number = next((match[1] for path in paths if (match := _LIBCUDA.search(path))), "")
        place = str(figures["device"].get("name") or found.get("name") or "a GPU")
        place += f" ({found['target']})" if "target" in found else ""
        place += f" with driver {number}" if number else ""
    passed = ", ".join(computed) or "import"
    return f"Ran on {place} under Python {figures['import'].get('python', '?')}; passed: {passed}."
