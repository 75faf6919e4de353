"""Load for a given time, every result compared: what a short test misses shows under heat."""

import ctypes
import importlib
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Callable, Dict, List, Tuple

from bench import monitor_of
from devices import Device, opened
from nvml import Sampler
from reporting import Failed, Report

# Bytes of one block of a memory test: one launch writes it.
BLOCK = 1 << 30

# Share of the free memory that is tested; the rest is for the kernels and for what others start meanwhile.
MOST = 0.9

# What each bit is turned by from round to round: every bit of every word is once 0 and once 1.
FLIPS = (0, 0xFFFFFFFF)

# Matrix products between two comparisons: most of the time should go to the device, not to comparing.
PRODUCTS = 10

# The least that can be compared, however short the time.
ROUNDS = 2


def run(report: Report, subject: str, seconds: float) -> None:
    """Load one subject: ``cuda`` and ``hip`` with patterns over the memory, ``torch`` with matrix products."""
    if subject == "torch":
        report.check("products", _products, seconds)
        return
    vendor = importlib.import_module(subject + "_driver")
    api = opened(vendor)
    # All devices at once, each from a thread of its own: power and cooling are shared.
    with ThreadPoolExecutor(api.count() or 1) as pool:
        loads = [pool.submit(_load, vendor.Device, api, ordinal, seconds) for ordinal in range(api.count())]
    for ordinal, load in enumerate(loads):
        report.check("kernels%d" % ordinal, load.result)


def _load(kind: Callable[[Any, int], Device], api: Any, ordinal: int, seconds: float) -> Dict[str, Any]:
    """The memory test on one device."""
    device = kind(api, ordinal)
    figures = _patterns(device, seconds)
    device.close()
    return figures


class Patterns:
    """Numbers that depend on their address, written over most of the free memory and compared on the device.

    All blocks are written before any is compared, so that a block which aliases another or loses its charge shows.
    """

    def __init__(self, device: Device) -> None:
        self.device, self.module, self.wrong = device, device.load(), 0
        self.blocks, self.written, self.turn = [], 0, 0  # type: List[Tuple[ctypes.c_uint64, int]], int, int
        self.counter = device.allocate(4)
        rest = int(device.room()[0] * MOST)
        while rest >= 4096 and (not self.blocks or rest >= BLOCK // 8):
            size = min(BLOCK, rest) // 4096 * 4096
            try:
                self.blocks.append((device.allocate(size), size))
            except Failed as failure:  # free memory may be in pieces
                if failure.code != "out-of-memory" or not self.blocks:
                    raise
                break
            rest -= size

    def write(self) -> None:
        """The next block, or the first again where all are written."""
        self._over(self.written % len(self.blocks), "mix")
        self.written += 1

    def right(self) -> bool:
        """Whether each block that was written in this round is as it was written; then the bits turn."""
        before = self.wrong
        self.device.call("set", self.counter, 0, ctypes.c_size_t(1))
        for number in range(min(self.written, len(self.blocks))):
            self._over(number, "differ", self.counter)
        self.wrong += int.from_bytes(self.device.download(self.counter, 4), "little")
        self.written, self.turn = 0, self.turn + 1
        return self.wrong == before

    def _over(self, number: int, name: str, *more: Any) -> None:
        pointer, size = self.blocks[number]
        count, seed = ctypes.c_uint32(size // 4), ctypes.c_uint32(0x1234ABCD + self.turn // len(FLIPS) + 7919 * number)
        flip = ctypes.c_uint32(FLIPS[self.turn % len(FLIPS)])
        self.device.launch(self.module, name, size // 4, pointer, count, seed, flip, *more)

    def free(self) -> None:
        """Give the memory back."""
        for pointer, _ in self.blocks + [(self.counter, 4)]:
            self.device.call("free", pointer)
        self.device.call("unload", self.module)


def _patterns(device: Device, seconds: float) -> Dict[str, Any]:
    """Patterns over the memory of one device until the time is up, its sensors read meanwhile.

    Integers leave no room for rounding: one bit that differs is a fault of the device.
    """
    patterns, watch = Patterns(device), device.api.monitor(device.ordinal)
    before = watch.read()
    with Sampler(watch) as sampler:
        done = _rounds(patterns.write, patterns.right, seconds, len(patterns.blocks))
    tested = sum(size for _, size in patterns.blocks)
    patterns.free()
    return dict(_concluded(done, before, sampler.figures()), bytes=tested)


def _rounds(work: Callable[[], None], right: Callable[[], bool], seconds: float, most: int) -> Tuple[int, int, int]:
    """Work and compare by turns until the time is up; how many rounds, how many of them wrong, how often it worked.

    The clock is asked after each piece of work, which the device has then finished: on a slow device a round ends early
    instead of the run ending late. Beyond the time there is at most one piece of work in each round that is still owed,
    and its comparison.
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
    watches = [monitor_of(torch, number) for number in range(count)]

    def work() -> None:
        for (one, other), out in zip(loads, got):
            torch.matmul(one, other, out=out)
        for number in range(count):
            torch.cuda.synchronize(number)  # products are queued: without this the clock would be asked about nothing

    def right_everywhere() -> bool:
        return all(torch.equal(have, want) for have, want in zip(got, first))

    before = [watch.read() for watch in watches]
    with ExitStack() as together:
        samplers = [together.enter_context(Sampler(watch)) for watch in watches]
        done = _rounds(work, right_everywhere, seconds, PRODUCTS)
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
