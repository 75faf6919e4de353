"""The checks of the frameworks, each reached through an adapter: the planned build, really on the device, right numbers.

Arrays of the processor are NumPy's, or torch's own for torch, whose images need no NumPy; both kinds are multiplied by
``@``, reshaped, and listed by ``tolist``.
"""

import math
import sys
import sysconfig
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numerics
from libraries import loaded
from numerics import LIMITS, SIZE, entry, limit, spots, uniform
from reporting import Failed, Report, Skipped, brief


class Adapter:
    """What a framework must offer to be checked; arrays of the processor go in and come out.

    Each adapter adds what has no common form, ``device`` being the chosen one:

    - ``runtime()``: what the build says it was built for; empty if it does not say.
    - ``devices()``: GPUs that the framework sees, by name.
    - ``cast(array, format)``: an array of the processor on the device, in a format; skipped if there is no such format.
    - ``get(tensor)``: the tensor's values as an array of the processor.
    - ``place(tensor)``: ``cpu`` or :attr:`gpu`, where the tensor really is.
    - ``matmul(left, right)``: the product at the highest precision of its format, unless TF32 is allowed.
    - ``convolution(image, weight)``: two-dimensional, stride 1, no padding; image NHWC, weight HWIO.
    - ``solve(matrix, side)``: the solution of a linear system.
    - ``compiled(tensor)``: row sums of ``sin(x) * x + exp(-x * x)`` through the framework's compiler.
    - ``losses(data, target)``: the losses of 20 gradient steps of a small model.

    Attributes:
        name: the module's name.
        device: ``cpu``, or what ``place`` calls the GPU; decided by the check of the device.
        gpu: what ``place`` calls the GPU.
        formats: element types whose products are tried.
        own: checks that this framework has in another form, by their names.
        more: checks that no other framework has, with their names.
    """

    name = ""
    device = "cpu"
    gpu = "gpu"
    formats = ("float64", "float32", "float16", "bfloat16")  # type: Tuple[str, ...]
    own = {}  # type: Dict[str, Callable[[Any], Dict[str, Any]]]
    more = ()  # type: Tuple[Tuple[str, Callable[[Any], Dict[str, Any]]], ...]
    module = None  # type: Any

    def version(self) -> str:
        """The framework's version."""
        return str(self.module.__version__)

    def figures(self, check: str) -> Dict[str, Any]:
        """What else is known of the build (``build``) or of the chosen device (``device``)."""
        return {}

    def silence(self) -> str:
        """Why there is no device, in the framework's own words."""
        return "it does not say why"

    def host(self, values: Sequence[float], *shape: int) -> Any:
        """Numbers as an array of the processor in float64."""
        import numpy

        return numpy.array(values, dtype=numpy.float64).reshape(shape)

    def exact(self, tensor: Any) -> Any:
        """The same steps on 32-bit integers, which wrap as they do in C."""
        return (tensor * 12345 + 678) ^ 0x5A5A5A5A

    def set_tf32(self, wanted: bool) -> None:
        """Whether float32 may be multiplied in TF32 from now on; nothing where each product says so itself."""


def run(report: Report, expect: str, adapter: Any) -> None:
    """All checks of one framework; ``expect`` is the planned runtime (``cuda12.6``, ``cpu``), empty if unknown."""
    if not report.check("import", _import, adapter):
        return
    report.check("build", _build, adapter, expect)
    report.check("device", _device, adapter, expect)
    for name, check in (("exact", _exact), ("linalg", _linalg), ("convolution", _convolution), ("training", _training)):
        report.check(name, adapter.own.get(name, check), adapter)
    for format in adapter.formats:
        report.check("matmul_" + format, _matmul, adapter, format)
    for name, check in (("compile", _compile),) + adapter.more + (("libraries", _libraries),):
        report.check(name, adapter.own.get(name, check), adapter)


def _import(adapter: Any) -> Dict[str, Any]:
    """A probe of its own: most broken installs fail here, by a library or by NumPy."""
    adapter.module = __import__(adapter.name)
    return {"version": adapter.version(), "python": sys.version.split()[0], "platform": sysconfig.get_platform()}


def _build(adapter: Any, expect: str) -> Dict[str, Any]:
    """The build is the planned one, by what it says of itself; an index that fell back to another is seen here."""
    have = adapter.runtime()
    figures = dict(adapter.figures("build"), runtime=have, planned=expect)
    if expect and expect != "cpu" and have == "cpu":
        raise Failed("cpu-only-build", "the plan is for %s and this is a CPU build" % expect, **figures)
    if expect and have and not (have.startswith(expect) or expect.startswith(have)):
        raise Failed("framework-build-tag-mismatch", "built for %s, planned %s" % (have, expect), **figures)
    return figures


def _device(adapter: Any, expect: str) -> Dict[str, Any]:
    """Where the work will be done. A plan for a GPU goes on without one, so that the arithmetic is proven at least."""
    found = adapter.devices() if expect != "cpu" else []
    adapter.device = adapter.gpu if found else "cpu"
    if not found and expect != "cpu" and (expect or adapter.runtime() not in ("", "cpu")):
        why = "%s sees no GPU and would compute on the processor: %s" % (adapter.name, adapter.silence())
        raise Failed("probe-cpu-fallback", why, device="cpu")
    return dict(adapter.figures("device") if found else {}, device=adapter.device, devices=found)


def place(adapter: Any, tensor: Any) -> None:
    """A right number proves nothing about the device if it was computed elsewhere.

    Raises:
        Failed: if it was.
    """
    where = adapter.place(tensor)
    if where != adapter.device:
        raise Failed("probe-cpu-fallback", "a result is on %s, not on %s" % (where, adapter.device))


def drawn(adapter: Any, seed: int, *shape: int) -> Any:
    """The same numbers on every machine and release, as an array of the processor."""
    count = 1
    for size in shape:
        count *= size
    return adapter.host(uniform(count, seed), *shape)


def error(got: Any, want: Any) -> float:
    """The error of a result against its float64 reference, both arrays of the processor: some GPUs have no float64."""
    return numerics.error(got.reshape(-1).tolist(), want.reshape(-1).tolist())


def judge(error: float, limit: float, what: str, **figures: Any) -> Dict[str, Any]:
    """The figures if the error is within the limit; NaN is not.

    Raises:
        Failed: if it is not.
    """
    figures.update(error=float("%.3g" % error) if error == error else "nan", limit=limit)
    if not error <= limit:
        why = "%s is off by %.3g, at most %.3g passes" % (what, error, limit)
        raise Failed("probe-kernel-wrong-result", why, **figures)
    return figures


def _exact(adapter: Any) -> Dict[str, Any]:
    """Integers have no rounding: every element must agree."""
    numbers = range(1 << 14)
    result = adapter.exact(adapter.cast(adapter.host(list(numbers), len(numbers)), "int32"))
    place(adapter, result)
    if adapter.get(result).tolist() != [(number * 12345 + 678) ^ 0x5A5A5A5A for number in numbers]:
        raise Failed("probe-kernel-wrong-result", "integer arithmetic differs from the processor's")
    return {"checked": len(numbers)}


def _matmul(adapter: Any, format: str) -> Dict[str, Any]:
    """Three products of fresh inputs against float64, and the same product twice, bit for bit."""
    worst = 0.0
    adapter.set_tf32(format == "tf32")
    for seed in (1, 2, 3):
        left, right = (adapter.cast(drawn(adapter, seed * 10 + side, SIZE, SIZE), format) for side in (0, 1))
        got, again = (adapter.matmul(left, right) for _ in range(2))
        place(adapter, got)
        values = adapter.get(got)
        if values.tolist() != adapter.get(again).tolist():
            raise Failed("probe-kernel-wrong-result", "the same product twice gives different bits")
        off = error(values, _reference(adapter.get(left), adapter.get(right)))
        worst = worst if off <= worst else off  # NaN stays
    note = {"note": "TF32 was not used"} if format == "tf32" and worst < LIMITS["float32"] else {}
    return judge(worst, limit(format, adapter.device), "the product", size=SIZE, **note)


def _reference(left: Any, right: Any) -> Any:
    """The product in float64 on the processor, itself anchored by correctly rounded sums at a few places."""
    want = left @ right
    rows, columns = left.tolist(), right.tolist()
    for row, column in spots(SIZE, 5):
        if abs(float(want[row, column]) - entry(rows, columns, row, column)) > 1e-12:
            raise Failed("probe-kernel-wrong-result", "the processor's own float64 product is wrong")
    return want


def _convolution(adapter: Any) -> Dict[str, Any]:
    """A convolution against its definition, summed in float64."""
    image = adapter.cast(drawn(adapter, 21, 2, 12, 12, 4), "float32")
    weight = adapter.cast(drawn(adapter, 22, 3, 3, 4, 5), "float32")
    pixels, factors, want = adapter.get(image), adapter.get(weight), 0.0  # type: Any, Any, Any
    for row in range(3):
        for column in range(3):
            want = want + pixels[:, row : row + 10, column : column + 10, :] @ factors[row, column]
    got = adapter.convolution(image, weight)
    place(adapter, got)
    # TF32 is these frameworks' default for convolutions, and 2e-3 its limit
    return judge(error(adapter.get(got), want), LIMITS["tf32"], "a convolution")


def system(adapter: Any) -> Tuple[Any, Any]:
    """A well conditioned linear system in float32: its matrix and its right side, on the device."""
    values = uniform(64 * 64, 31)
    for number in range(64):
        values[65 * number] += 64
    return adapter.cast(adapter.host(values, 64, 64), "float32"), adapter.cast(drawn(adapter, 32, 64, 1), "float32")


def _linalg(adapter: Any) -> Dict[str, Any]:
    matrix, side = system(adapter)
    solution = adapter.solve(matrix, side)
    off = error(adapter.get(matrix) @ adapter.get(solution), adapter.get(side))
    return judge(off, 1e-4, "a linear system")


def _training(adapter: Any) -> Dict[str, Any]:
    """A few steps of a small model must lower the loss: gradients, optimizer and transfers together."""
    data = drawn(adapter, 41, 64, 8)
    target = data @ adapter.host([1.0] * 8, 8, 1)
    first, *_, last = adapter.losses(adapter.cast(data, "float32"), adapter.cast(target, "float32"))
    if not last < 0.9 * first:
        raise Failed("probe-kernel-wrong-result", "twenty steps did not lower the loss: %s to %s" % (first, last))
    return {"loss": [round(first, 4), round(last, 4)]}


def _compile(adapter: Any) -> Dict[str, Any]:
    """The compiled path (Triton, XLA, C++ on a processor) gives what plain arithmetic gives."""
    data = adapter.cast(drawn(adapter, 51, 64, 64), "float32")
    try:
        got = adapter.get(adapter.compiled(data))
    except Skipped:
        raise
    except Exception as error_:
        raise Failed("probe-compile-failed", brief("%s: %s" % (type(error_).__name__, error_)))
    rows = adapter.get(data).tolist()
    want = adapter.host([math.fsum(math.sin(x) * x + math.exp(-x * x) for x in row) for row in rows], len(rows))
    return judge(error(got, want), 1e-5, "compiled code")


def _libraries(_adapter: Any) -> Dict[str, Any]:
    return {"libraries": loaded()}
