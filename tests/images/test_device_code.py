"""The code that the probes hand to devices, and the interfaces that they call, held against what vendors publish.

The tools and headers of a CUDA or ROCm toolkit are used where they are; what needs none of them always runs.
"""

from __future__ import annotations

import ctypes.util
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from compat.build import parcel
from compat.matrix import matrix

SCRIPTS = parcel.FOLDER
STUBS = Path(__file__).parent


def load(name):
    sys.path.insert(0, str(SCRIPTS))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(SCRIPTS))


PTX = load("cuda_driver").PTX


# A reading of the PTX ISA reference, one line for each instruction that the text uses; registers are held as integers.
def single(bits):
    return Fraction(struct.unpack("<f", struct.pack("<I", bits))[0])


def rounded(value):
    """The bits of the float32 nearest to an exact value, ties to even, found among its neighbours."""
    near = struct.unpack("<I", struct.pack("<f", float(value)))[0]
    around = [bits for bits in range(max(near - 2, 0), near + 3) if bits & 0x7F800000 != 0x7F800000]
    return min(around, key=lambda bits: (abs(single(bits) - value), bits & 1))


LOW = 0xFFFFFFFF
MEANING = {
    "mov.u32": lambda a: a,
    "mad.lo.u32": lambda a, b, c: (a * b + c) & LOW,
    "setp.ge.u32": lambda a, b: a >= b,
    "setp.eq.u32": lambda a, b: a == b,
    "xor.b32": lambda a, b: a ^ b,
    "mul.lo.u32": lambda a, b: (a * b) & LOW,
    "shr.u32": lambda a, b: a >> b,
    "cvta.to.global.u64": lambda a: a,
    "mul.wide.u32": lambda a, b: a * b,
    "add.u64": lambda a, b: (a + b) & (2**64 - 1),
    "fma.rn.f32": lambda a, b, c: rounded(single(a) * single(b) + single(c)),
}


def bodies():
    """Entry -> (names of its parameters, instructions)."""
    found = {}
    for match in re.finditer(r"\.visible \.entry (\w+)\((.*?)\)\n\{(.*?)\n\}", PTX, re.DOTALL):
        names = [part.split()[-1] for part in match[2].split(",")]
        found[match[1]] = names, [line.strip().rstrip(";") for line in match[3].strip().split("\n")]
    return found


def thread(entry, arguments, memory, place, threads=256):
    """Run one thread; ``memory`` maps an address to a 32-bit word."""
    names, lines = bodies()[entry]
    known = {"%ctaid.x": place // threads, "%ntid.x": threads, "%tid.x": place % threads}
    given = dict(zip(names, arguments, strict=True))
    value = lambda word: known[word] if word[0] == "%" else int(word, 0)  # noqa: E731
    labels = {line[:-1]: number for number, line in enumerate(lines) if line.endswith(":")}
    at = 0
    while True:
        line, at = lines[at], at + 1
        if line.endswith(":") or line.startswith(".reg"):
            continue
        guard, _, rest = line.partition(" ") if line.startswith("@") else ("", "", line)
        if guard and not known[guard[1:]]:
            continue
        name, _, rest = rest.partition(" ")
        words = [word.strip() for word in rest.split(",")]
        if name == "ret":
            return
        if name == "bra":
            at = labels[words[0]]
        elif name.startswith("ld.param"):
            known[words[0]] = given[words[1][1:-1]]
        elif name.startswith("ld.global"):
            known[words[0]] = memory[known[words[1][1:-1]]]
        elif name.startswith("st.global"):
            memory[known[words[0][1:-1]]] = known[words[1]]
        elif name == "red.global.add.u32":
            memory[known[words[0][1:-1]]] += value(words[1])
        else:
            known[words[0]] = MEANING[name](*map(value, words[1:]))


BASE = 0x7A0000000000
COUNTER = 0x7B0000000000
PLACES = [0, 1, 77, 255, 256, 257, 4095, 65535]


@pytest.mark.parametrize("flip", [0, 0xFFFFFFFF])
@pytest.mark.parametrize("seed", [0, 0x1234ABCD, 0xFFFFFFFF])
def test_the_integer_kernels_text_computes_what_the_probe_compares_with(seed, flip):
    mixed, memory = load("numerics").mixed, {}
    for place in PLACES:
        thread("mix", (BASE, 1 << 16, seed, flip), memory, place)
    assert memory == {BASE + 4 * place: mixed(place, seed) ^ flip for place in PLACES}
    memory[BASE + 4 * 77] ^= 1 << 30
    memory[COUNTER] = 5
    for place in PLACES:
        thread("differ", (BASE, 1 << 16, seed, flip, COUNTER), memory, place)
    assert memory[COUNTER] == 6  # one word of those differs


@pytest.mark.parametrize("count", [0, 1, 256, 300])
@pytest.mark.parametrize(("entry", "more"), [("mix", (0,)), ("fused", ()), ("differ", (0, COUNTER))])
def test_threads_beyond_the_count_touch_nothing(entry, more, count):
    memory = {BASE + 4 * place: 0x3F000000 for place in range(1024)}
    before = dict(memory)
    for place in (count, count + 1, 1023):
        thread(entry, (BASE, count, 0x3F800000, *more), memory, place)
    assert memory == before


@pytest.mark.parametrize("start", [1.0, -1.0, 0.1, 1 / 3, -0.7310585, 1e-30, 0.0, 0.9999999])
def test_the_float_kernels_text_rounds_once(start):
    factor = struct.unpack("<f", struct.pack("<f", 0.7310585975646973))[0]
    bits = lambda value: struct.unpack("<I", struct.pack("<f", value))[0]  # noqa: E731
    held = struct.unpack("<f", struct.pack("<f", start))[0]
    memory = {BASE + 4 * 257: bits(start)}
    thread("fused", (BASE, 258, bits(factor)), memory, 257)
    got = struct.unpack("<f", struct.pack("<I", memory[BASE + 4 * 257]))[0]
    exact = Fraction(held) * Fraction(factor) + Fraction(held)
    # a fused result is the nearest float32: within half a unit of the last place, where two roundings may not be
    assert abs(Fraction(got) - exact) <= Fraction(2) ** -24 * max(abs(exact), Fraction(2) ** -126)
    assert load("devices").worst([got], [held * factor + held]) <= 1.0


def test_every_instruction_of_the_text_is_one_that_was_read_up():
    plain = {
        "ret",
        "bra",
        "ld.param.u64",
        "ld.param.u32",
        "ld.param.f32",
        "ld.global.f32",
        "ld.global.u32",
        "red.global.add.u32",
        "st.global.u32",
        "st.global.f32",
    }
    used = {
        re.sub(r"^@%\w+ ", "", line).split()[0]
        for _, lines in bodies().values()
        for line in lines
        if not line.endswith(":") and not line.startswith(".reg")
    }
    assert used - plain == set(MEANING)
    assert sorted(bodies()) == ["differ", "fused", "mix"]


def assemblers():
    """Each release of ptxas on this machine: on PATH, in a toolkit, in a wheel of NVIDIA's."""
    places = [shutil.which("ptxas") or "", *Path("/usr/local").glob("cuda*/bin/ptxas")]
    places += [path for folder in sys.path for path in Path(folder).glob("nvidia/*/bin/ptxas")]
    found = [str(place) for place in places if str(place) and os.access(place, os.X_OK)]
    releases = [subprocess.run([place, "--version"], capture_output=True, check=False).stdout for place in found]
    return sorted(dict(zip(releases, found, strict=True)).values())


def targets(tool):
    """The targets that an assembler's own help names."""
    text = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.search(r"--gpu-name.*?Allowed values for this option:(.*?)\n-", text, re.DOTALL)
    return sorted(set(re.findall(r"sm_\d+[af]?", listed[1]))) if listed else []


@pytest.mark.parametrize("tool", assemblers() or [None])
def test_the_text_is_assembled_for_every_device_that_an_assembler_knows(tool, tmp_path):
    """One text for all: the driver's own compiler is this one, and a device that it serves must not be refused."""
    if tool is None:
        pytest.skip("no ptxas is installed")
    from compat.kernels import inspect

    (tmp_path / "k.ptx").write_text(PTX)
    wanted = targets(tool)
    assert len(wanted) > 5
    for target in wanted:
        done = subprocess.run(
            [tool, "-arch", target, str(tmp_path / "k.ptx"), "-o", str(tmp_path / f"{target}.cubin")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), target
    made = inspect(tmp_path / f"{wanted[0]}.cubin").objects
    assert [item.sass for item in made] == [(wanted[0],)]


def headers(name):
    roots = [os.environ.get("CUDA_HOME", ""), os.environ.get("ROCM_PATH", ""), "/opt/rocm", "/usr"]
    places = [Path(root) / "include" / name for root in roots if root]
    places += [path / "include" / name for path in Path("/usr/local").glob("cuda*")]
    places += [found for folder in sys.path for found in Path(folder).glob(f"nvidia/*/include/{name}")]
    return sorted({os.path.realpath(path) for path in places if path.is_file()})


@pytest.mark.parametrize("header", headers("cuda.h") or [None])
def test_the_driver_of_the_tests_has_the_signatures_of_nvidias_header(header, tmp_path):
    """What the probes call through ctypes is checked by it at run time, and it by the compiler here."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if header is None or compiler is None:
        pytest.skip("no cuda.h or no C compiler is installed")
    words = [compiler, "-fsyntax-only", "-Wall", "-Werror", "-DCUDA_H", "-I", str(Path(header).parent)]
    done = subprocess.run([*words, str(STUBS / "libcuda.c")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    wrong = (STUBS / "libcuda.c").read_text().replace("cuMemFree_v2(CUdeviceptr p)", "cuMemFree_v2(int p)")
    (tmp_path / "wrong.c").write_text(wrong)
    assert subprocess.run([*words, str(tmp_path / "wrong.c")], capture_output=True, check=False).returncode != 0


def enumerators(header):
    """Name -> value of each enumerator that a C header states outright."""
    return {
        name: int(value, 0)
        for name, value in re.findall(
            r"^\s*(\w+)\s*=\s*(0x[0-9a-fA-F]+|\d+)\s*,?", Path(header).read_text(), re.MULTILINE
        )
    }


@pytest.mark.parametrize("header", headers("cuda.h") or [None])
def test_numbers_are_those_of_nvidias_header(header):
    if header is None:
        pytest.skip("no cuda.h is installed")
    known, driver = enumerators(header), load("cuda_driver")
    stated = {value for name, value in known.items() if name.startswith("CUDA_ERROR_")}
    # 35 and 98 are the runtime's, which shares the numbering; the others came with later headers
    assert set(driver._FINDINGS) - stated <= {35, 36, 98, 226, 919}
    names = {
        "multiprocessors": "MULTIPROCESSOR_COUNT", "clock_khz": "CLOCK_RATE", "memory_clock_khz": "MEMORY_CLOCK_RATE",
        "bus_bits": "GLOBAL_MEMORY_BUS_WIDTH", "l2_bytes": "L2_CACHE_SIZE", "compute_mode": "COMPUTE_MODE",
        "ecc": "ECC_ENABLED", "integrated": "INTEGRATED",
    }  # fmt: skip
    assert {key: known[f"CU_DEVICE_ATTRIBUTE_{name}"] for key, name in names.items()} == driver._ATTRIBUTES
    assert [known[f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{name}"] for name in ("MAJOR", "MINOR")] == [75, 76]


@pytest.mark.parametrize(
    ("codes", "finding"),
    [
        ((2,), "out-of-memory"),
        ((214,), "gpu-ecc-uncorrectable"),
        ((700, 719), "probe-kernel-wrong-result"),
        ((304,), "device-permission"),
    ],
)
def test_hip_and_cuda_give_the_same_fault_the_same_name(codes, finding):
    for code in codes:
        assert load("hip_driver")._FINDINGS[code] == load("cuda_driver")._FINDINGS[code] == finding


# One process asks the compiler for its targets and compiles for one of them, as the probe does on a device.
COMPILE = """
import sys; sys.path.insert(0, sys.argv[1])
import ctypes, json, types, hip_driver, reporting
hip_driver.override = lambda ordinal: sys.argv[3]
hip = types.SimpleNamespace(lib=ctypes.CDLL(sys.argv[2]))
try:
    code = hip_driver._compile(hip, 0)
    open(sys.argv[4], "wb").write(code.raw)
    print(json.dumps({"known": hip_driver.known_targets()}))
except reporting.Failed as failure:
    print(json.dumps(dict(failure.figures, code=failure.code, why=failure.why)))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    name = ctypes.util.find_library("hiprtc") or ctypes.util.find_library("amdhip64")
    if name is None:
        pytest.skip("no hipRTC is installed")
    folder = tmp_path_factory.mktemp("hiprtc")

    def run(target):
        out = folder / f"{target}.co"
        words = [sys.executable, "-c", COMPILE, str(SCRIPTS), name, target, str(out)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.strip().splitlines()[-1]), out

    return run


@pytest.mark.parametrize("target", sorted({gpu.target for gpu in matrix().table("gpus") if gpu.target[:3] == "gfx"}))
def test_the_hip_source_is_compiled_by_amds_own_compiler(target, compiled):
    """hipRTC needs no device when it is told the target: for each that the matrix has devices of."""
    said, out = compiled(target)
    if said.get("code") == "rocm-gfx-unsupported":
        pytest.skip(f"{said['why']}; it knows {' '.join(said['known'])}")
    assert "why" not in said, said
    from compat.kernels import inspect

    assert [item.split(":")[0] for found in inspect(out).objects for item in found.gfx] == [target]
    # GCN and CDNA run 64 lanes in step, RDNA 32 unless a kernel asks otherwise (LLVM, "User Guide for AMDGPU Backend")
    lanes = re.search(rb"\.wavefront_size(.)", out.read_bytes(), re.DOTALL)
    assert lanes is not None
    assert lanes[1][0] == (64 if len(target) == 6 else 32)


def test_a_target_that_the_compiler_does_not_know_is_said_and_does_not_crash(compiled):
    """hipRTC 6.4 aborts the process when it is asked for one."""
    said, _ = compiled("gfx9ff")
    assert said["code"] in ("rocm-gfx-unsupported", "probe-compile-failed")
    assert said["code"] == "rocm-gfx-unsupported" or not said.get("known")


def test_the_last_place_is_measured_as_ieee_754_has_it():
    worst = load("devices").worst
    assert worst([1.0], [1.0]) == 0
    assert worst([1.0 + 2**-23], [1.0]) == pytest.approx(1.0)
    assert worst([1.0 + 2**-22], [1.0]) > 1.9
    assert not worst([math.nan], [1.0]) <= 1.0
