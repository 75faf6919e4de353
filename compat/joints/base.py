"""Base image x the driver it will meet: the condition NVIDIA_REQUIRE_CUDA, which the container runtime checks.

Source: NVIDIA Container Toolkit, "Specialized configurations"; the toolkit asks NVML for the brand and for the CUDA
version of the driver, here both come from the matrix, by product and by driver branch.
"""

from __future__ import annotations

from functools import lru_cache

from compat import versions
from compat.joints.verdict import FITS, Clash, Unknown, Verdict
from compat.matrix import Matrix, drivers


def knows_cgroup(matrix: Matrix, toolkit: str, cgroup: str) -> Verdict:
    """Whether a release of the container toolkit gives devices to containers under a version of cgroup, ``v2``."""
    first = matrix.turn("cgroup-v2")
    if not cgroup.startswith("v2") or versions.at_least(toolkit, first.version):
        return FITS
    return Clash(f"Toolkit {toolkit} does not know cgroup v2", (first,), f">={first.version}")


@lru_cache(maxsize=4096)
def starts(
    matrix: Matrix, require: str, driver: str, brand: str, target: str, windows: bool = False, cuda: str = ""
) -> Verdict:
    """Whether an image's condition lets it start on a machine.

    Args:
        matrix: what is true.
        require: the condition as the image states it, ``cuda>=12.4 brand=tesla,driver>=535,driver<536``.
        driver: version of the driver.
        brand: NVIDIA's word for the product's line, ``geforce``; empty if not known.
        target: ``sm_89``; empty if not known.
        windows: whether the driver's number is one of Windows.
        cuda: CUDA that the driver reports, where that was read.
    """
    from compat.matrix.require import satisfies_require

    arch = f"{target[3:-1]}.{target[-1]}" if target.startswith("sm_") else ""
    cuda = cuda or (drivers.driver_cuda(matrix, driver, "windows" if windows else "linux") if driver else "")
    checked = satisfies_require(require, driver=driver, driver_cuda=cuda, brand=brand, arch=arch)
    if checked.satisfied:
        return FITS
    why = f"the image's condition is not met: {checked.why}"
    return Unknown(why) if checked.satisfied is None else Clash(why, (), require)
