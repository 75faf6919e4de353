"""Binaries that the vendors' compilers make here, where they are installed: nvcc for NVIDIA, clang for AMD."""

import functools
import itertools
import os
import re
import shutil
import subprocess

import pytest

from compat.kernels import inspect

KERNEL = "__global__ void scale(float *x) { x[0] *= 2; }\n"
HIP = """// what HIP's headers would declare
#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, struct ihipStream_t *);
"""
NVCC = shutil.which("nvcc")
CLANG = shutil.which("clang++") or next(
    filter(None, map(shutil.which, (f"clang++-{n}" for n in range(24, 15, -1)))), None
)


def run(*command, **settings):
    """Run a compiler and show what it said if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def nvcc_targets():
    """Real architectures that this nvcc offers, as numbers."""
    return re.findall(r"sm_(\d+)$", run(NVCC, "--list-gpu-code"), re.MULTILINE) if NVCC else []


@functools.cache
def clang_targets():
    """AMD processors that this clang offers; none if it cannot link device code."""
    if not CLANG or "/" not in ask("-print-prog-name=ld.lld"):  # a bare name means that there is none beside it
        return frozenset()
    listing = ask("--target=amdgcn-amd-amdhsa", "-nogpulib", "--print-supported-cpus")
    return frozenset(re.findall(r"^\s*(gfx[\w-]+)\s*$", listing, re.MULTILINE))


def ask(*options):
    """What clang says, on either stream, without an input."""
    done = subprocess.run([CLANG, *options], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


nvidia = pytest.mark.skipif(not NVCC, reason="nvcc is not installed")
amd = pytest.mark.skipif(not clang_targets(), reason="no clang that compiles and links for AMD GPUs is installed")


@pytest.fixture
def source(tmp_path):
    """One kernel, as a CUDA and as a HIP file."""
    (tmp_path / "k.cu").write_text(KERNEL + "int main() { scale<<<1, 1>>>(nullptr); }\n")
    (tmp_path / "k.hip").write_text(HIP + KERNEL)
    return tmp_path


@nvidia
@pytest.mark.parametrize("mode", ["--no-compress", "--compress-mode=size", "--compress-mode=speed"])
def test_fat_binaries_of_every_compression(source, mode):
    low, high = nvcc_targets()[0], nvcc_targets()[-1]
    options = [
        "-gencode",
        f"arch=compute_{low},code=[sm_{low},compute_{low}]",
        "-gencode",
        f"arch=compute_{high},code=sm_{high}",
    ]
    run(NVCC, *options, mode, "-fatbin", "-o", source / "k.fatbin", source / "k.cu")
    found = inspect(source / "k.fatbin")
    assert found.targets == (f"sm_{low}", f"sm_{high}", f"compute_{low}")
    assert found.complete


@nvidia
@pytest.mark.parametrize("arch", ["90a", "100", "100a", "100f", "103f", "120a", "120f", "121"])
def test_architecture_and_family_specific_targets(source, arch):
    if arch.rstrip("af") not in nvcc_targets():
        pytest.skip(f"this nvcc does not offer sm_{arch}")
    gencode = f"arch=compute_{arch},code=[sm_{arch},compute_{arch}]"
    run(NVCC, "-gencode", gencode, "-fatbin", "-o", source / "k.fatbin", source / "k.cu")
    assert inspect(source / "k.fatbin").targets == (f"sm_{arch}", f"compute_{arch}")
    run(NVCC, "-arch", f"sm_{arch}", "-cubin", "-o", source / "k.cubin", source / "k.cu")
    assert inspect(source / "k.cubin").targets == (f"sm_{arch.rstrip('f')}",)  # a cubin does not tell the family
    run(NVCC, "-arch", f"compute_{arch}", "-ptx", "-o", source / "k.ptx", source / "k.cu")
    (text,) = inspect(source / "k.ptx").objects
    (fat,) = inspect(source / "k.fatbin").objects
    assert text.ptx == (f"compute_{arch}",)
    assert text.isa == fat.isa


@nvidia
def test_programs_libraries_objects_and_archives(source):
    low, high = nvcc_targets()[:2]
    arch = [
        "-gencode",
        f"arch=compute_{low},code=sm_{low}",
        "-gencode",
        f"arch=compute_{high},code=[sm_{high},compute_{high}]",
    ]
    expected = (f"sm_{low}", f"sm_{high}", f"compute_{high}")
    run(NVCC, *arch, "-c", "-o", source / "k.o", source / "k.cu")
    run("ar", "rc", source / "libk.a", source / "k.o")
    for name in ("k.o", "libk.a"):
        assert inspect(source / name).targets == expected
    run(NVCC, *arch, "-dc", "-o", source / "rdc.o", source / "k.cu")
    (part,) = inspect(source / "rdc.o").objects
    assert (part.targets, part.relocatable) == (expected, True)


@nvidia
def test_the_device_linker_loses_ptx_and_we_see_it(source):
    """With ``-rdc`` the PTX stays behind in the relocatable part, where no driver looks."""
    low = nvcc_targets()[0]
    gencode = f"arch=compute_{low},code=[sm_{low},compute_{low}]"
    run(NVCC, "-gencode", gencode, "-dc", "-Xcompiler", "-fPIC", "-o", source / "rdc.o", source / "k.cu")
    run(NVCC, "-gencode", gencode, "-dlink", "-Xcompiler", "-fPIC", "-o", source / "link.o", source / "rdc.o")
    run("gcc", "-shared", "-o", source / "libk.so", source / "rdc.o", source / "link.o")
    (code,) = inspect(source / "libk.so").objects
    assert (code.targets, code.relocatable) == ((f"sm_{low}",), False)


@amd
@pytest.mark.parametrize(("compress", "version"), [*itertools.product([False, True], [2, 3])])
def test_bundles_of_every_form(source, compress, version):
    wanted = {"gfx90a:xnack+": "gfx90a", "gfx906:sramecc-:xnack-": "gfx906", "gfx942": "gfx942", "gfx1100": "gfx1100"}
    wanted = [target for target, name in wanted.items() if name in clang_targets()]
    archs = [f"--offload-arch={target}" for target in wanted]
    env = {**os.environ, "COMPRESSED_BUNDLE_FORMAT_VERSION": str(version)}
    options = ["-nogpulib", "-nogpuinc", "-fPIC", "--offload-compress" if compress else "--no-offload-compress"]
    run(CLANG, "-x", "hip", *archs, *options, "-c", source / "k.hip", "-o", source / "k.o", env=env)
    found = inspect(source / "k.o")
    assert sorted(found.gfx) == sorted(wanted)
    assert found.complete


@amd
@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize(
    "target", ["gfx90a", "gfx90a:xnack+", "gfx906:sramecc+:xnack-", "gfx942", "gfx1030", "gfx1201", "gfx9-generic", "gfx11-generic", "gfx10-3-generic"]
)  # fmt: skip
def test_code_objects_of_every_version(source, target, version):
    if target.partition(":")[0] not in clang_targets() or ("generic" in target and version < 6):
        pytest.skip(f"not offered: {target} as code object V{version}")
    options = [
        "--cuda-device-only",
        "--no-gpu-bundle-output",
        f"-mcode-object-version={version}",
        "-nogpulib",
        "-nogpuinc",
    ]
    run(CLANG, "-x", "hip", f"--offload-arch={target}", *options, source / "k.hip", "-o", source / "k.hsaco")
    assert inspect(source / "k.hsaco").gfx == (target,)
