"""A small matrix that keeps every law, for tests that break one thing of it at a time."""

import pytest

SMALL = """\
# A small matrix.
schema = "envcheck.matrix/1"

packages = [
  { name = "torch", title = "PyTorch", kind = "framework", module = "torch", aliases = "pytorch", source = "doc", how = "documented" },
  { name = "torchvision", title = "torchvision", kind = "companion", follows = "torch", source = "doc", how = "documented" },
]

indexes = [
  { name = "wheels", url = "https://wheels.example.org/{variant}", source = "doc", how = "documented" },
]

# the framework
builds.torch = [
  { versions = "2.0.0", runtime = "cuda11.8", variant = "cu118", local = "cu118", index = "wheels", python = "3.8 3.9", platforms = "linux_x86_64", kernels = "sm_80 compute_90", date = "2023-03-15", source = "doc", how = "documented" },
  { versions = "2.0.1", runtime = "cuda11.8", variant = "cu118", local = "cu118", index = "wheels", python = "3.8 3.9", platforms = "linux_x86_64", kernels = "sm_80 sm_90", date = "2023-05-08", source = "doc", how = "documented" },
  { versions = "2.7.0", runtime = "cuda12.8", python = "3.9 3.10", platforms = "linux_x86_64", kernels = "sm_80 sm_120", date = "2025-04-23", source = "doc", how = "measured" },
  { versions = "2.7.0", runtime = "rocm6.0", local = "rocm6.0", python = "3.9 3.10", platforms = "linux_x86_64", kernels = "gfx1030", date = "2025-04-23", source = "doc", how = "measured" },
]

builds.torchvision = [
  { versions = "0.15.0 0.15.1", runtime = "cuda11.8", variant = "cu118", local = "cu118", index = "wheels", python = "3.8 3.9", platforms = "linux_x86_64", requires = ["torch==2.0.0"], source = "doc", how = "measured" },
]

cuda = [
  { cuda = "11.8.0", driver_linux = "520.61.05", driver_windows = "520.06", family_linux = "450.80.02", family_windows = "452.39", branch = "R520", targets = "sm_80 sm_90", date = "2022-10", source = "doc", how = "documented" },
  { cuda = "12.7.0", toolkit = false, driver_linux = "565.57.01", family_linux = "525.60.13", branch = "R565", source = "doc", how = "inferred" },
  { cuda = "12.8.0", driver_linux = "570.26", driver_windows = "570.65", family_linux = "525.60.13", family_windows = "527.41", branch = "R570", targets = "sm_80 sm_90 sm_90a sm_120", date = "2025-01", source = "doc", how = "documented" },
]

capabilities = [
  { cc = "7.0", architecture = "Volta", first_cuda = "9.0", last_cuda = "11.7", last_driver = "R565", source = "doc", how = "documented" },
  { cc = "8.0", architecture = "Ampere", first_cuda = "11.0", source = "doc", how = "documented" },
  { cc = "9.0", architecture = "Hopper", first_cuda = "11.8", source = "doc", how = "documented" },
  { cc = "12.0", architecture = "Blackwell", first_cuda = "12.8", source = "doc", how = "documented" },
]

drivers = [
  { branch = "R520", cuda = "11.8", first = "520.56.06", latest = "520.61.05", date = "2022-10-12", eol = "2023-10-01", source = "doc", how = "documented" },
  { branch = "R565", cuda = "12.7", date = "2024-10-29", source = "doc", how = "documented" },
  { branch = "R570", cuda = "12.8", date = "2025-01-27", drops = "Volta", source = "doc", how = "documented" },
]

forward = [
  { cuda = "12.8", branches = "R520 R565", source = "doc", how = "documented" },
]

rocm = [
  { rocm = "6.0.0", stream = "classic", drivers = "5.6.0 6.2", targets = "gfx1030", os = "ubuntu22.04", date = "2023-12-15", source = "doc", how = "documented" },
  { rocm = "6.0.2", stream = "classic", drivers = "5.6.0 6.2", targets = "gfx1030", os = "rhel9.4", date = "2024-01-31", source = "doc", how = "documented" },
]

gfx = [
  { gfx = "gfx1030", architecture = "RDNA2", first_rocm = "5.0", generic = "gfx10-3-generic", source = "doc", how = "documented" },
  { gfx = "gfx1031", architecture = "RDNA2", override = "10.3.0", borrows = "gfx1030", generic = "gfx10-3-generic", source = "doc", how = "documented" },
]

gpus = [
  { name = "NVIDIA A100", vendor = "nvidia", target = "sm_80", pci = "10de:20b0", source = "doc", how = "documented" },
]

requires = [
  { name = "12.8.0", expression = "cuda>=12.8 brand=tesla,driver>=535,driver<536", source = "doc", how = "measured" },
]

images = [
  { repository = "nvidia/cuda", tag = "12.8.0-{flavour}-ubuntu22.04", flavours = "base devel", runtime = "cuda12.8", cuda = "12.8.0", os = "ubuntu22.04", require = "12.8.0", source = "doc", how = "documented" },
  { repository = "ubuntu", tag = "22.04", runtime = "cpu", os = "ubuntu22.04", source = "doc", how = "documented" },
]

systems = [
  { os = "rhel9", glibc = "2.34", python = "3.9", pythons = "3.9", manager = "dnf", source = "doc", how = "documented" },
  { os = "ubuntu22.04", glibc = "2.35", python = "3.10", pythons = "3.10 3.11", manager = "apt", image = "ubuntu:22.04", source = "doc", how = "documented" },
]

cudnn = [
  { version = "8.9.7.29", cuda = "11 12", first_cc = "7.0", source = "doc", how = "documented" },
]

jetpack = [
  { jetpack = "6.2", l4t = "36.4.3", cuda = "12.8", os = "ubuntu22.04", capabilities = "8.0", images = "ubuntu:22.04", source = "doc", how = "documented" },
]

[sources]
doc = "A document"
"""


@pytest.fixture
def small() -> str:
    return SMALL
