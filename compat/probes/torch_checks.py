"""PyTorch: the planned build, really on the device, with right numbers in every format that the device has."""

import os
import shutil
import sys
import sysconfig
from typing import Any, Callable, Dict, List

import numerics
from libraries import loaded
from numerics import LIMITS, SIZE, entry, limit, spots, uniform
from reporting import Failed, Report, Skipped, brief


def run(report: Report, expect: str) -> None:
    """All checks; ``expect`` is the planned runtime (``cuda12.6``, ``rocm6.2``, ``xpu``, ``cpu``), empty if unknown."""
    state = {"expect": expect}  # type: Dict[str, Any]
    if not report.check("import", _import, state):
        return
    report.check("build", _build, state)
    report.check("device", _device, state)
    if "device" not in state:
        return
    for name, check in (("exact", _exact), ("linalg", _linalg), ("convolution", _convolution), ("training", _training)):
        report.check(name, check, state)
    for format in ("float64", "float32", "tf32", "float16", "bfloat16", "float8"):
        report.check("matmul_" + format, _matmul, state, format)
    report.check("compile", _compile, state)
    report.check("collective", _collective, state)
    report.check("libraries", _libraries, state)


def _import(state: Dict[str, Any]) -> Dict[str, Any]:
    """A probe of its own: most broken installs fail here, by a library or by NumPy."""
    import torch

    state["torch"] = torch
    return {"version": torch.__version__, "python": sys.version.split()[0], "platform": sysconfig.get_platform()}


def runtime(torch: Any) -> str:
    """What the build says of itself: ``cuda12.6``, ``rocm6.2``, ``xpu`` or ``cpu``."""
    version = torch.version
    hip, xpu = getattr(version, "hip", None), getattr(version, "xpu", None)
    if version.cuda:
        return "cuda" + str(version.cuda)
    if hip:
        return "rocm" + ".".join(str(hip).split(".")[:2])
    return "xpu" if xpu else "cpu"


def _build(state: Dict[str, Any]) -> Dict[str, Any]:
    """The build is the planned one, by what it says of itself; an index that fell back to another is seen here."""
    torch, expect = state["torch"], state["expect"]
    have = runtime(torch)
    figures = {"runtime": have, "planned": expect}  # type: Dict[str, Any]
    figures["kernels"] = list(torch.cuda.get_arch_list()) if have != "cpu" and torch.cuda.is_available() else []
    if expect and expect != "cpu" and have == "cpu":
        raise Failed("cpu-only-build", "the plan is for %s and this is a CPU build" % expect, **figures)
    if expect and not have.startswith(expect):
        raise Failed("framework-build-tag-mismatch", "built for %s, planned %s" % (have, expect), **figures)
    return figures


def _device(state: Dict[str, Any]) -> Dict[str, Any]:
    """Where the work will be done. A plan for a GPU goes on without one, so that the arithmetic is proven at least."""
    torch, expect = state["torch"], state["expect"]
    gpu = torch.cuda.is_available()
    xpu = hasattr(torch, "xpu") and torch.xpu.is_available()
    wanted = expect != "cpu" and (bool(expect) or runtime(torch) != "cpu")
    state["device"] = "cuda" if gpu and expect != "cpu" else "xpu" if xpu and expect != "cpu" else "cpu"
    state["count"] = torch.cuda.device_count() if gpu else 0
    figures = {"device": state["device"]}  # type: Dict[str, Any]
    if state["device"] == "cuda":
        state["capability"] = torch.cuda.get_device_capability(0)
        figures.update(count=state["count"], name=torch.cuda.get_device_name(0), capability=state["capability"])
        figures["cudnn"] = torch.backends.cudnn.version()
    if wanted and state["device"] == "cpu":
        raise Failed("probe-cpu-fallback", "no GPU can be used: %s" % _reason(torch), **figures)
    return figures


def _reason(torch: Any) -> str:
    """Why torch has no device, in its own words."""
    if runtime(torch) == "cpu":
        return "this build has no GPU code"
    try:
        torch.zeros(1, device="xpu" if runtime(torch) == "xpu" else "cuda")
    except Exception as error:
        return brief(str(error), 200)
    return "torch does not say why"


def _place(state: Dict[str, Any], tensor: Any) -> None:
    """A right number proves nothing about the device if it was computed elsewhere."""
    if tensor.device.type != state["device"]:
        raise Failed("probe-cpu-fallback", "a result is on %s, not on %s" % (tensor.device, state["device"]))


def _exact(state: Dict[str, Any]) -> Dict[str, Any]:
    """Integers have no rounding: every element must agree."""
    torch = state["torch"]
    host = torch.arange(1 << 16, dtype=torch.int64)
    result = ((host.to(state["device"]) * 2654435761) & 0xFFFFFFFF) ^ 0x5A5A5A5A
    _place(state, result)
    if not torch.equal(result.cpu(), ((host * 2654435761) & 0xFFFFFFFF) ^ 0x5A5A5A5A):
        raise Failed("probe-kernel-wrong-result", "integer arithmetic differs from the processor's")
    return {"checked": 1 << 16}


def _inputs(state: Dict[str, Any], seed: int, shape: List[int]) -> Any:
    """The same numbers on every machine and release: torch's own generators differ between devices."""
    torch, count = state["torch"], 1
    for size in shape:
        count *= size
    return torch.tensor(uniform(count, seed), dtype=torch.float64).reshape(shape)


def _error(got: Any, want: Any) -> float:
    """The error of a result against its float64 reference, both compared on the processor: some GPUs have no float64."""
    return numerics.error(*(item.cpu().double().flatten().tolist() for item in (got, want)))


def _judge(error: float, limit: float, what: str, **figures: Any) -> Dict[str, Any]:
    """The figures if the error is within the limit; NaN is not."""
    figures.update(error=float("%.3g" % error) if error == error else "nan", limit=limit)
    if not error <= limit:
        raise Failed(
            "probe-kernel-wrong-result", "%s is off by %.3g, at most %.3g passes" % (what, error, limit), **figures
        )
    return figures


def _matmul(state: Dict[str, Any], format: str) -> Dict[str, Any]:
    """Three products of fresh inputs against float64, and the same product twice, bit for bit.

    TF32 is switched by us, since releases differ in their default; the switch is put back for the probes that follow.
    """
    torch, worst, used = state["torch"], 0.0, _format(state, format)
    with_tf32 = format == "tf32"
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = with_tf32
    try:
        for seed in (1, 2, 3):
            left, right = (_inputs(state, seed * 10 + side, [SIZE, SIZE]).to(used) for side in (0, 1))
            got, again = (_product(state, left, right, format) for _ in range(2))
            _place(state, got)
            if not torch.equal(got, again):
                raise Failed("probe-kernel-wrong-result", "the same product twice gives different bits")
            worst = max(worst, _error(got, _reference(left, right)))
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    note = {"note": "TF32 was not used"} if with_tf32 and worst < LIMITS["float32"] else {}
    return _judge(worst, limit(format, state["device"]), "the product", size=SIZE, **note)


def _reference(left: Any, right: Any) -> Any:
    """The product in float64 on the processor, itself anchored by correctly rounded sums at a few places."""
    a, b = left.cpu().double(), right.cpu().double()
    want = a @ b
    rows, columns = a.tolist(), b.tolist()
    for row, column in spots(SIZE, 5):
        if abs(float(want[row, column]) - entry(rows, columns, row, column)) > 1e-12:
            raise Failed("probe-kernel-wrong-result", "the processor's own float64 product is wrong")
    return want


def _format(state: Dict[str, Any], format: str) -> Any:
    """The element type to test with.

    Tensor cores have tf32 and bfloat16 from capability 8.0 (CUDA C++ Programming Guide, compute capabilities).

    Raises:
        Skipped: if device or build does not have it.
    """
    torch, gpu = state["torch"], state["device"] == "cuda"
    amd, capability = bool(getattr(torch.version, "hip", None)), state.get("capability", (0, 0))
    if format == "tf32":
        if not gpu or amd or capability < (8, 0):
            raise Skipped("this device has no TF32")
        return torch.float32
    if format == "float8":
        return _float8(state)
    if format == "bfloat16" and gpu and not amd and capability < (8, 0):
        raise Skipped("this device has no bfloat16")
    if format == "float64" and state["device"] == "xpu" and not getattr(_properties(torch, "xpu"), "has_fp64", True):
        raise Skipped("this device has no float64")
    return getattr(torch, format)


# The float8 type that each AMD target multiplies (hipBLASLt, "Supported data types"): CDNA 3 has a form of its own.
AMD_FLOAT8 = (("gfx942", "float8_e4m3fnuz"), ("gfx950", "float8_e4m3fn"), ("gfx12", "float8_e4m3fn"))


def _float8(state: Dict[str, Any]) -> Any:
    """The float8 type of the device: NVIDIA has e4m3fn from capability 8.9 on, AMD by :data:`AMD_FLOAT8`.

    Raises:
        Skipped: if device or build does not have it.
    """
    torch, name = state["torch"], ""
    if state["device"] == "cuda" and getattr(torch.version, "hip", None):
        target = str(getattr(_properties(torch, "cuda"), "gcnArchName", "")).partition(":")[0]
        name = next((name for start, name in AMD_FLOAT8 if target.startswith(start)), "")
    elif state["device"] == "cuda" and state.get("capability", (0, 0)) >= (8, 9):
        name = "float8_e4m3fn"
    if not name or not hasattr(torch, name):
        raise Skipped("this device or build has no float8 product")
    return getattr(torch, name)


def _properties(torch: Any, kind: str) -> Any:
    """What the build says of the first device; ``None`` where it does not answer."""
    try:
        return getattr(torch, kind).get_device_properties(0)
    except Exception:  # noqa: BLE001 - another release may have no such call; the product itself then decides
        return None


def _product(state: Dict[str, Any], left: Any, right: Any, format: str) -> Any:
    """The product on the device.

    float8 has no ``@``: ``_scaled_mm`` wants its right side column by column, and gave a pair before it gave a tensor.
    """
    torch, device = state["torch"], state["device"]
    if format == "float8":
        scale = torch.ones((), device=device)
        transposed = right.t().contiguous().to(device).t()
        return _scaled(torch, left.to(device), transposed, scale)
    try:
        return left.to(device) @ right.to(device)
    except RuntimeError as error:
        if device == "cpu" and "not implemented for" in str(error):
            raise Skipped("this build's processor code has no product in %s" % format)
        raise


def _scaled(torch: Any, left: Any, right: Any, scale: Any) -> Any:
    """The float8 product.

    Raises:
        Skipped: if the build says itself that it has none for this device (ATen, ``Blas.cpp``).
    """
    try:
        result = torch._scaled_mm(left, right, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)
    except (RuntimeError, NotImplementedError) as error:
        if "_scaled_mm" in str(error) and "supported" in str(error):
            raise Skipped("this build has no float8 product for the device: %s" % brief(str(error), 200))
        raise
    return result[0] if isinstance(result, tuple) else result


def _convolution(state: Dict[str, Any]) -> Dict[str, Any]:
    """Forward and backward through cuDNN or MIOpen, against the same in float64 on the processor."""
    torch, device, results = state["torch"], state["device"], []
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        for place, kind in ((device, torch.float32), ("cpu", torch.float64)):
            image = _inputs(state, 21, [2, 8, 20, 20]).float().to(place, kind).requires_grad_()
            weight = _inputs(state, 22, [6, 8, 3, 3]).float().to(place, kind).requires_grad_()
            out = torch.nn.functional.conv2d(image, weight, padding=1)
            (out * out).sum().backward()
            results.append((out.detach(), weight.grad, image.grad))
    finally:
        torch.backends.cudnn.allow_tf32 = before
    _place(state, results[0][0])
    worst = max(_error(got, want) for got, want in zip(results[0], results[1]))
    return _judge(worst, 1e-4, "a convolution or its gradient")


def _linalg(state: Dict[str, Any]) -> Dict[str, Any]:
    """cuSOLVER and cuFFT, or their ROCm siblings: a missing library shows only when it is called."""
    torch, device = state["torch"], state["device"]
    matrix = _inputs(state, 31, [64, 64]) + 64 * torch.eye(64, dtype=torch.float64)
    side = _inputs(state, 32, [64, 1])
    solution = torch.linalg.solve(matrix.float().to(device), side.float().to(device))
    _place(state, solution)
    spectrum = torch.fft.ifft(torch.fft.fft(side[:, 0].float().to(device))).real
    worst = max(_error(matrix @ solution.cpu().double(), side), _error(spectrum, side[:, 0]))
    return _judge(worst, 1e-4, "a linear system or a Fourier transform")


def _model(state: Dict[str, Any]) -> Any:
    """A network whose weights are drawn on the processor, so that every device starts from the same ones."""
    torch = state["torch"]
    torch.manual_seed(0)
    layers = [torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)]
    return torch.nn.Sequential(*layers).to(state["device"])


def _training(state: Dict[str, Any]) -> Dict[str, Any]:
    """A few steps of a small network must lower the loss: gradients, optimizer and transfers together."""
    torch = state["torch"]
    model = _model(state)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = _inputs(state, 41, [128, 32]).float().to(state["device"])
    target, losses = data.sum(1, keepdim=True), []
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(data), target)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    if not losses[-1] < 0.9 * losses[0]:
        raise Failed(
            "probe-kernel-wrong-result", "twenty steps did not lower the loss: %s to %s" % (losses[0], losses[-1])
        )
    return {"loss": [round(losses[0], 4), round(losses[-1], 4)]}


def _compile(state: Dict[str, Any]) -> Dict[str, Any]:
    """The compiled path (Triton on a GPU, C++ on a processor) gives what the plain one gives."""
    torch = state["torch"]
    if not hasattr(torch, "compile"):
        raise Skipped("this release has no torch.compile")
    _compilable(state)
    function = _smooth(torch)
    data = _inputs(state, 51, [64, 64]).float().to(state["device"])
    try:
        got = torch.compile(function, fullgraph=True)(data)
    except Exception as error:
        raise Failed("probe-compile-failed", "torch.compile: %s" % brief(str(error)))
    return _judge(_error(got, function(data.cpu().double())), 1e-5, "compiled code")


def _smooth(torch: Any) -> Callable[[Any], Any]:
    """Element-wise operations and a sum: enough for the compiler to fuse, with nothing that it hands to a library."""
    return lambda data: (torch.sin(data) * data + torch.exp(-data * data)).sum(1)


def _compilable(state: Dict[str, Any]) -> None:
    """Triton compiles a launcher in C and inductor's processor code is C++: without a compiler neither can be tried."""
    compilers = [os.environ.get("CC", ""), "cc", "gcc", "clang"]
    if state["device"] == "cpu":
        compilers = [os.environ.get("CXX", ""), "g++", "c++", "clang++"]
    if not any(name and shutil.which(name) for name in compilers):
        raise Skipped("no C compiler is installed, which torch.compile needs")
    if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        raise Skipped("Python.h is not installed, which torch.compile needs")


def _collective(state: Dict[str, Any]) -> Dict[str, Any]:
    """An all-reduce over all visible devices: rank + 1 everywhere must sum to n (n + 1) / 2."""
    torch, count = state["torch"], state["count"] if state["device"] == "cuda" else 0
    if count < 2:
        raise Skipped("it takes two devices, there %s %d" % ("is" if count == 1 else "are", count))
    parts = [torch.full((1 << 20,), float(rank + 1), device="cuda:%d" % rank) for rank in range(count)]
    try:
        torch.cuda.nccl.all_reduce(parts)
        sums = [float(part.min()) for part in parts] + [float(part.max()) for part in parts]
    except Exception as error:
        raise Failed("probe-collective-failed", "all-reduce: %s" % brief(str(error)))
    if set(sums) != {count * (count + 1) / 2.0}:
        raise Failed("probe-collective-failed", "all-reduce gives %s" % sorted(set(sums)))
    return {"devices": count}


def _libraries(state: Dict[str, Any]) -> Dict[str, Any]:
    """What was loaded in the end; two copies of one library are reported, not guessed about."""
    found = loaded()
    twice = {name: paths for name, paths in found.items() if len(set(map(os.path.realpath, paths))) > 1}
    if twice:
        raise Failed("library-mismatch", "loaded from two places: %s" % ", ".join(sorted(twice)), libraries=twice)
    return {"libraries": found}
