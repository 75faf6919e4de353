"""Load for a given time, every result compared: what a short test misses shows under heat."""

import ctypes
import time
from typing import Any, Callable, Dict, List, Tuple

from bench import bus_of
from cuda_driver import PTX, Device, Driver, bus_id
from nvml import Monitor, Sampler
from reporting import Failed, Report


# Most kernels between two comparisons: most of the time should go to the device, not to the copy back.
LAUNCHES = 200

# The same for matrix products, each of which is far longer.
PRODUCTS = 10

# Integers that each kernel writes, 64 MiB of them.
WORDS = 1 << 24

# The least that can be compared, however short the time.
ROUNDS = 2


def run(report: Report, subject: str, seconds: float) -> None:
    """Load one subject: ``cuda`` with integer kernels, ``torch`` with matrix products."""
    if subject == "cuda":
        driver = Driver()
        driver.call("cuInit", 0)
        count = driver.number("cuDeviceGetCount")
        for ordinal in range(count):
            report.check("kernels%d" % ordinal, _kernels, driver, ordinal, seconds / max(1, count))
    elif subject == "torch":
        report.check("products", _products, seconds)
    else:
        report.skip("load", "not loaded for %s yet" % subject)


def _kernels(driver: Driver, ordinal: int, seconds: float) -> Dict[str, Any]:
    """The integer kernel over 64 MiB again and again; each round must equal the first, byte for byte.

    Integers leave no room for rounding: one bit that differs is a fault of the device.
    """
    device, count = Device(driver, ordinal), WORDS
    module, out = device.load(PTX), device.allocate(4 * WORDS)
    words = (ctypes.c_uint32(count), ctypes.c_uint32(0x1234ABCD))
    watch, first = Monitor(ordinal, bus_id(driver, ordinal)), []  # type: Any, List[bytes]

    def right() -> bool:
        got = device.download(out, 4 * count)
        first.extend([] if first else [got])
        return got == first[0]

    before = watch.read()
    with Sampler(watch) as sampler:
        done = _rounds(lambda: device.launch(module, "mix", count, out, *words), right, seconds, LAUNCHES)
    device.free(out)
    driver.call("cuModuleUnload", module)
    device.close()
    return _concluded(done, before, sampler.figures())


def _rounds(work: Callable[[], None], right: Callable[[], bool], seconds: float, most: int) -> Tuple[int, int, int]:
    """Work and compare by turns until the time is up; how many rounds, how many of them wrong, how often it worked.

    The clock is asked after each piece of work, which the device has then finished: on a slow device a round ends early
    instead of the run ending late. Beyond the time there is at most one piece of work in each round that is still owed.
    """
    until, rounds, wrong, pieces = time.monotonic() + seconds, 0, 0, 0
    while rounds < ROUNDS or time.monotonic() < until:
        for _ in range(most):
            work()
            pieces += 1
            if time.monotonic() >= until:
                break
        wrong += not right()
        rounds += 1
    return rounds, wrong, pieces


def _products(seconds: float) -> Dict[str, Any]:
    """Matrix products over fixed inputs on all GPUs at once; each must equal the first, bit for bit.

    The same kernel on the same inputs adds in the same order, so its rounding repeats. The elements are those of the
    tensor cores (bfloat16, float16 where there is none), the size one that fills a large GPU; without a GPU it is a
    small product on the processor. All GPUs are loaded together, since power and cooling are shared.
    """
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    places = ["cuda:%d" % number for number in range(count)] or ["cpu"]
    kind, size = (_tensor_kind(torch), 8192) if count else (torch.float32, 512)
    torch.manual_seed(0)
    left, right = (torch.randn(size, size).to(kind) for _ in range(2))
    loads = [(left.to(place), right.to(place)) for place in places]
    got, first = [torch.empty_like(one) for one, _ in loads], [one @ other for one, other in loads]
    watches = [Monitor(number, bus_of(number)) for number in range(count)]

    def work() -> None:
        for (one, other), out in zip(loads, got):
            torch.matmul(one, other, out=out)
        for number in range(count):
            torch.cuda.synchronize(number)  # products are queued: without this the clock would be asked about nothing

    def right_everywhere() -> bool:
        return all(torch.equal(have, want) for have, want in zip(got, first))

    before = [watch.read() for watch in watches]
    samplers = [Sampler(watch) for watch in watches]
    for sampler in samplers:
        sampler.__enter__()
    try:
        done = _rounds(work, right_everywhere, seconds, PRODUCTS)
    finally:
        for sampler in samplers:
            sampler.__exit__()
    worst = _worst(before, [sampler.figures() for sampler in samplers])
    return dict(_concluded(done, *worst), devices=places, size=size, elements=str(kind).partition(".")[2])


def _tensor_kind(torch: Any) -> Any:
    """The element type that loads the matrix units: bfloat16 from capability 8.0 on and on AMD, else float16."""
    amd = bool(getattr(torch.version, "hip", None))
    return torch.bfloat16 if amd or torch.cuda.get_device_capability(0) >= (8, 0) else torch.float16


def _worst(before: List[Dict[str, Any]], after: List[Dict[str, Any]]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The readings of the device that fared worst: new memory errors first, then reasons for low clocks, then heat."""
    pairs = list(zip(before, after)) or [({}, {})]  # type: List[Tuple[Dict[str, Any], Dict[str, Any]]]

    def badness(pair: Tuple[Dict[str, Any], Dict[str, Any]]) -> Tuple[int, int, int]:
        was, now = pair
        grown = now.get("ecc_uncorrected", 0) - was.get("ecc_uncorrected", 0)
        return grown, len(_hot(now.get("slowed_by") or [])), now.get("celsius", 0)

    return max(pairs, key=badness)


def _concluded(done: Tuple[int, int, int], before: Dict[str, Any], after: Dict[str, Any]) -> Dict[str, Any]:
    """The figures, or the failure that they show; a wrong result outweighs what the sensors say.

    Counters of memory errors run since the driver was loaded: only what this load added is its finding.
    """
    rounds, wrong, pieces = done
    figures = {"rounds": rounds, "wrong": wrong, "launches": pieces, "before": before, "after": after}
    if wrong:
        raise Failed("probe-kernel-wrong-result", "%d of %d rounds differ from the first" % (wrong, rounds), **figures)
    grown = after.get("ecc_uncorrected", 0) - before.get("ecc_uncorrected", 0)
    if grown > 0:
        raise Failed("gpu-ecc-uncorrectable", "%d uncorrected memory errors under load" % grown, **figures)
    slowed = _hot(after.get("slowed_by") or [])
    if slowed:
        raise Failed("gpu-thermal-throttle", "slowed down under load: %s" % ", ".join(slowed), **figures)
    return figures


def _hot(reasons: List[str]) -> List[str]:
    """Reasons that point to heat or a fault; reaching the power cap is what full load looks like."""
    return [reason for reason in reasons if reason != "power cap"]
