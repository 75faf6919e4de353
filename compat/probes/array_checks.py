"""The numerical checks of the frameworks that speak NumPy: TensorFlow, JAX and Paddle, each through an adapter."""

import sys
import sysconfig
from typing import Any, Dict, List

import numerics
from libraries import loaded
from numerics import LIMITS, SIZE, entry, limit, spots, uniform
from reporting import Failed, Report, Skipped, brief

FORMATS = ("float64", "float32", "float16", "bfloat16")


class Adapter:
    """What a framework must offer to be checked; ``numpy`` arrays go in and come out.

    Attributes:
        name: the module's name.
        device: ``gpu`` or ``cpu``, decided by :meth:`choose`.
    """

    name = ""
    device = "cpu"
    module = None  # type: Any

    def version(self) -> str:
        """The framework's version."""
        return str(self.module.__version__)

    def runtime(self) -> str:
        """What the build says it was built for; empty if it does not say."""
        raise NotImplementedError

    def devices(self) -> List[str]:
        """GPUs that the framework sees, by name."""
        raise NotImplementedError

    def put(self, array: Any) -> Any:
        """An array on the chosen device."""
        raise NotImplementedError

    def get(self, tensor: Any) -> Any:
        """The tensor's values."""
        raise NotImplementedError

    def place(self, tensor: Any) -> str:
        """``gpu`` or ``cpu``: where the tensor really is."""
        raise NotImplementedError

    def cast(self, tensor: Any, format: str) -> Any:
        """The tensor in another format."""
        raise NotImplementedError

    def matmul(self, left: Any, right: Any) -> Any:
        """A matrix product at the highest precision of its format."""
        raise NotImplementedError

    def exact(self, tensor: Any) -> Any:
        """``(x * 2654435761 & 0xFFFFFFFF) ^ 0x5A5A5A5A`` on 64-bit integers, or the 32-bit equivalent."""
        raise NotImplementedError

    def convolution(self, image: Any, weight: Any) -> Any:
        """Two-dimensional, stride 1, no padding; image NHWC, weight HWIO."""
        raise NotImplementedError

    def solve(self, matrix: Any, side: Any) -> Any:
        """The solution of a linear system."""
        raise NotImplementedError

    def compiled(self, tensor: Any) -> Any:
        """Row sums of ``sin(x) * x + exp(-x * x)`` through the framework's compiler."""
        raise NotImplementedError

    def losses(self, data: Any, target: Any) -> List[float]:
        """The losses of 20 gradient steps of a linear model."""
        raise NotImplementedError


def run(report: Report, expect: str, adapter: Adapter) -> None:
    """All checks of one framework; ``expect`` is the planned runtime, empty if unknown."""
    if not report.check("import", _import, adapter):
        return
    report.check("build", _build, adapter, expect)
    report.check("device", _device, adapter, expect)
    for name, check in (("exact", _exact), ("linalg", _linalg), ("convolution", _convolution), ("training", _training)):
        report.check(name, check, adapter)
    for format in FORMATS:
        report.check("matmul_" + format, _matmul, adapter, format)
    report.check("compile", _compile, adapter)
    report.check("libraries", _libraries)


def _import(adapter: Adapter) -> Dict[str, Any]:
    adapter.module = __import__(adapter.name)
    return {"version": adapter.version(), "python": sys.version.split()[0], "platform": sysconfig.get_platform()}


def _build(adapter: Adapter, expect: str) -> Dict[str, Any]:
    have = adapter.runtime()
    figures = {"runtime": have, "planned": expect}
    if expect and expect != "cpu" and have == "cpu":
        raise Failed("cpu-only-build", "the plan is for %s and this is a CPU build" % expect, **figures)
    if expect and have and not (have.startswith(expect) or expect.startswith(have)):
        raise Failed("framework-build-tag-mismatch", "built for %s, planned %s" % (have, expect), **figures)
    return figures


def _device(adapter: Adapter, expect: str) -> Dict[str, Any]:
    """Where the work will be done. A plan for a GPU goes on without one, so that the arithmetic is proven at least."""
    found = adapter.devices() if expect != "cpu" else []
    adapter.device = "gpu" if found else "cpu"
    wanted = expect != "cpu" and (bool(expect) or adapter.runtime() not in ("", "cpu"))
    if wanted and not found:
        raise Failed(
            "probe-cpu-fallback", "%s sees no GPU and would compute on the processor" % adapter.name, device="cpu"
        )
    return {"device": adapter.device, "devices": found}


def _place(adapter: Adapter, tensor: Any) -> None:
    where = adapter.place(tensor)
    if where != adapter.device:
        raise Failed("probe-cpu-fallback", "a result is on %s, not on %s" % (where, adapter.device))


def _array(seed: int, *shape: int) -> Any:
    import numpy

    count = 1
    for size in shape:
        count *= size
    return numpy.array(uniform(count, seed), dtype=numpy.float64).reshape(shape)


def _judge(got: Any, want: Any, limit: float, what: str) -> Dict[str, Any]:
    """The error, if it is within the limit; NaN is not."""
    import numpy

    error = numerics.error(*(numpy.asarray(item, dtype="float64").ravel().tolist() for item in (got, want)))
    figures = {"error": float("%.3g" % error) if error == error else "nan", "limit": limit}
    if not error <= limit:
        raise Failed(
            "probe-kernel-wrong-result", "%s is off by %.3g, at most %.3g passes" % (what, error, limit), **figures
        )
    return figures


def _exact(adapter: Adapter) -> Dict[str, Any]:
    """Integers have no rounding: every element must agree."""
    import numpy

    host = numpy.arange(1 << 14, dtype=numpy.int32)
    result = adapter.exact(adapter.put(host))
    _place(adapter, result)
    want = (host * 12345 + 678) ^ 0x5A5A5A5A
    if not numpy.array_equal(numpy.asarray(adapter.get(result)).astype(numpy.int64), want.astype(numpy.int64)):
        raise Failed("probe-kernel-wrong-result", "integer arithmetic differs from the processor's")
    return {"checked": int(host.size)}


def _matmul(adapter: Adapter, format: str) -> Dict[str, Any]:
    """Three products of fresh inputs against float64, and the same product twice, bit for bit."""
    import numpy

    worst, allowed = {}, limit(format, adapter.device)
    for seed in (1, 2, 3):
        left, right = (adapter.cast(adapter.put(_array(seed * 10 + side, SIZE, SIZE)), format) for side in (0, 1))
        got, again = (adapter.matmul(left, right) for _ in range(2))
        _place(adapter, got)
        values = adapter.get(got)
        if not numpy.array_equal(values, adapter.get(again)):
            raise Failed("probe-kernel-wrong-result", "the same product twice gives different bits")
        figures = _judge(values, _reference(adapter.get(left), adapter.get(right)), allowed, "the product")
        worst = max(worst, figures, key=lambda item: item.get("error", -1.0))
    return dict(worst, size=SIZE)


def _reference(left: Any, right: Any) -> Any:
    """The product in float64 by NumPy, itself anchored by correctly rounded sums at a few places."""
    want = left @ right
    rows, columns = left.tolist(), right.tolist()
    for row, column in spots(SIZE, 5):
        if abs(float(want[row, column]) - entry(rows, columns, row, column)) > 1e-12:
            raise Failed("probe-kernel-wrong-result", "the processor's own float64 product is wrong")
    return want


def _convolution(adapter: Adapter) -> Dict[str, Any]:
    """A convolution against its definition, summed in float64."""
    import numpy

    image, weight = _array(21, 2, 12, 12, 4).astype("float32"), _array(22, 3, 3, 4, 5).astype("float32")
    want = numpy.zeros((2, 10, 10, 5))
    for row in range(3):
        for column in range(3):
            want += image[:, row : row + 10, column : column + 10, :].astype("float64") @ weight[row, column].astype(
                "float64"
            )
    got = adapter.convolution(adapter.put(image), adapter.put(weight))
    _place(adapter, got)
    # TF32 is these frameworks' default for convolutions, and 2e-3 its limit
    return _judge(adapter.get(got), want, LIMITS["tf32"], "a convolution")


def _linalg(adapter: Adapter) -> Dict[str, Any]:
    import numpy

    matrix = (_array(31, 64, 64) + 64 * numpy.eye(64)).astype("float32")
    side = _array(32, 64, 1).astype("float32")
    solution = adapter.solve(adapter.put(matrix), adapter.put(side))
    return _judge(matrix.astype("float64") @ adapter.get(solution), side.astype("float64"), 1e-4, "a linear system")


def _training(adapter: Adapter) -> Dict[str, Any]:
    """Gradient steps of a small model must lower the loss."""
    data = _array(41, 64, 8).astype("float32")
    losses = adapter.losses(adapter.put(data), adapter.put(data.sum(1, keepdims=True)))
    if not losses[-1] < 0.9 * losses[0]:
        raise Failed(
            "probe-kernel-wrong-result", "twenty steps did not lower the loss: %s to %s" % (losses[0], losses[-1])
        )
    return {"loss": [round(losses[0], 4), round(losses[-1], 4)]}


def _compile(adapter: Adapter) -> Dict[str, Any]:
    """The compiled path gives what NumPy gives."""
    import numpy

    data = _array(51, 64, 64).astype("float32")
    try:
        got = adapter.get(adapter.compiled(adapter.put(data)))
    except Skipped:
        raise
    except Exception as error:
        raise Failed("probe-compile-failed", brief("%s: %s" % (type(error).__name__, error)))
    wide = data.astype("float64")
    return _judge(got, (numpy.sin(wide) * wide + numpy.exp(-wide * wide)).sum(1), 1e-5, "compiled code")


def _libraries() -> Dict[str, Any]:
    return {"libraries": loaded()}
