"""How fast the device copies and multiplies. Figures only: what is slow is judged by whoever knows the device's peak."""

import ctypes
import time
from typing import Any, Callable, Dict, List

from cuda_driver import Device, Driver, bus_id, describe
from nvml import Monitor, Sampler
from reporting import Failed, Report, Skipped

# Bytes of one copy; less where the device is nearly full. Far beyond any cache, or the cache would be measured.
BLOCK = 512 * 1024 * 1024

# Timed rounds after two that warm up: the first ones pay for clocks that rise and for pages that are touched.
REPEATS = 10


def run(report: Report, subject: str, seconds: float) -> None:
    """The measurements of one subject: ``cuda`` and ``hip`` copy, ``torch`` multiplies."""
    if subject == "cuda":
        _copies(report)
    elif subject == "torch":
        _products(report)
    else:
        report.skip("copies", "not measured for %s yet" % subject)


def median(values: List[float]) -> float:
    """The middle value."""
    return sorted(values)[len(values) // 2]


def _copies(report: Report) -> None:
    driver = Driver()
    driver.call("cuInit", 0)
    for ordinal in range(driver.number("cuDeviceGetCount")):
        device = Device(driver, ordinal)
        report.check("device_copy%d" % ordinal, _device_copy, device)
        report.check("to_device%d" % ordinal, _host_copy, device, "cuMemcpyHtoD_v2")
        report.check("from_device%d" % ordinal, _host_copy, device, "cuMemcpyDtoH_v2")
        device.close()


def _size(device: Device, copies: int) -> int:
    """As much as :data:`BLOCK`, at most a quarter of the free memory over all copies; whole MiB."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    device.driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return max(2**20, min(BLOCK, free.value // 4 // copies) // 2**20 * 2**20)


def _timed(device: Device, work: Callable[[], None]) -> float:
    """Median seconds of ``work`` by the device's own clock, after a warm-up.

    Events are stamped by the device, so a start that the processor delays does not count; and the median drops the round
    that another program disturbed, where a mean would keep it.
    """
    start, stop, taken = ctypes.c_void_p(), ctypes.c_void_p(), []
    for event in (start, stop):
        device.driver.call("cuEventCreate", ctypes.byref(event), 0)
    for _ in range(REPEATS + 2):
        device.driver.call("cuEventRecord", start, None)
        work()
        device.driver.call("cuEventRecord", stop, None)
        device.driver.call("cuEventSynchronize", stop)
        milliseconds = ctypes.c_float()
        device.driver.call("cuEventElapsedTime", ctypes.byref(milliseconds), start, stop)
        taken.append(milliseconds.value / 1000.0)
    for event in (start, stop):
        device.driver.call("cuEventDestroy_v2", event)
    return median(taken[2:])


def _device_copy(device: Device) -> Dict[str, Any]:
    """Copies inside the device count twice: each byte is read and written."""
    size = _size(device, 2)
    first, second = device.allocate(size), device.allocate(size)
    with Sampler(Monitor(device.ordinal, bus_id(device.driver, device.ordinal))) as sampler:
        seconds = _timed(device, lambda: device.driver.call("cuMemcpyDtoD_v2", second, first, ctypes.c_size_t(size)))
    device.free(first)
    device.free(second)
    figures = {"gb_per_s": round(2 * size / seconds / 1e9, 1), "bytes": size, "peak_gb_per_s": _peak(device)}
    figures.update(describe_name(device))
    figures.update(sampler.figures())
    return figures


def _peak(device: Device) -> Any:
    """Two transfers a clock over the whole bus, where the driver still tells clock and width.

    That is how double data rate memory counts; the driver's attributes are the clock in kHz and the width in bits
    (CUDA driver API reference, ``CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE``).
    """
    found = describe(device.driver, device.ordinal)
    clock, bits = found.get("memory_clock_khz"), found.get("bus_bits")
    return round(2.0 * clock * 1e3 * bits / 8 / 1e9, 1) if clock and bits else None


def describe_name(device: Device) -> Dict[str, Any]:
    """Which device the figures belong to."""
    found = describe(device.driver, device.ordinal)
    return {"device": found["name"], "target": found["target"]}


def _host_copy(device: Device, function: str) -> Dict[str, Any]:
    """From or to page-locked memory: anything else measures the processor's own copying."""
    size, host = _size(device, 1), ctypes.c_void_p()
    pointer = device.allocate(size)
    device.driver.call("cuMemAllocHost_v2", ctypes.byref(host), ctypes.c_size_t(size))
    pair = (pointer, host) if "HtoD" in function else (host, pointer)
    seconds = _timed(device, lambda: device.driver.call(function, pair[0], pair[1], ctypes.c_size_t(size)))
    device.driver.call("cuMemFreeHost", host)
    device.free(pointer)
    return dict(describe_name(device), gb_per_s=round(size / seconds / 1e9, 1), bytes=size)


FORMATS = (("float32", 4096), ("tf32", 8192), ("float16", 8192), ("bfloat16", 8192), ("float8", 8192))


def _products(report: Report) -> None:
    import torch_checks

    state = {"expect": ""}  # type: Dict[str, Any]
    import torch

    state["torch"] = torch
    if not torch.cuda.is_available():
        report.skip("matmul", "torch sees no GPU")
        return
    state.update(device="cuda", capability=torch.cuda.get_device_capability(0), count=1)
    for format, size in FORMATS:
        report.check("matmul_" + format, _product, torch_checks, state, format, size)
    report.check("peer_copies", _peer_copies, torch)
    report.check("all_reduce", _all_reduce, torch)


def _product(checks: Any, state: Dict[str, Any], format: str, size: int) -> Dict[str, Any]:
    """A square product, 2 n^3 operations, median by the device's clock."""
    torch = state["torch"]
    kind = checks._format(state, format)
    free = torch.cuda.mem_get_info()[0]
    if 4 * 4 * size * size > free:
        raise Skipped("not enough free memory for a product of size %d" % size)
    torch.backends.cuda.matmul.allow_tf32 = format == "tf32"
    work = _work(checks, torch, kind, format, size)
    with Sampler(Monitor(0, bus_of(0))) as sampler:
        seconds, name = median(_events(torch, work)), torch.cuda.get_device_name(0)
    rate = 2.0 * size**3 / seconds / 1e12
    return dict({"tflops": round(rate, 1), "size": size, "device": name}, **sampler.figures())


def _devices(torch: Any) -> int:
    """How many GPUs there are to compare.

    Raises:
        Skipped: if there is no second one.
    """
    count = int(torch.cuda.device_count())
    if count < 2:
        raise Skipped("there is one GPU only")
    return count


def _peer_copies(torch: Any) -> Dict[str, Any]:
    """Copies between each two GPUs, one direction at a time: through NVLink or XGMI where there is some, else PCIe."""
    found, count = {}, _devices(torch)
    for one in range(count):
        with torch.cuda.device(one):
            free = min(torch.cuda.mem_get_info(number)[0] for number in range(count))
            size = max(2**20, min(BLOCK, free // 8))
            block = torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda:%d" % one)
            for other in range(count):
                if other != one:
                    out = torch.zeros(size, dtype=torch.uint8, device="cuda:%d" % other)
                    seconds = median(_events(torch, lambda: out.copy_(block)))
                    found["%d>%d" % (one, other)] = round(size / seconds / 1e9, 1)
                    if not torch.equal(out.cpu(), block.cpu()):
                        raise Failed("probe-kernel-wrong-result", "a copy from GPU %d to %d differs" % (one, other))
    return {"gb_per_s": found, "slowest": min(found.values())}


def _all_reduce(torch: Any) -> Dict[str, Any]:
    """The sum over all GPUs, from one process; each link carries 2 (n-1)/n of the bytes (nccl-tests, PERFORMANCE.md)."""
    count = _devices(torch)
    free = min(torch.cuda.mem_get_info(number)[0] for number in range(count))
    words = max(2**18, min(BLOCK // 2, free // 8) // 4)
    parts = [torch.zeros(words, device="cuda:%d" % number) for number in range(count)]

    def work() -> None:
        torch.cuda.nccl.all_reduce(parts)
        for number in range(count):
            torch.cuda.synchronize(number)

    taken = []
    for _ in range(REPEATS + 3):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    rate = 4 * words / median(taken[3:]) / 1e9
    return {"gb_per_s": round(rate, 1), "bus_gb_per_s": round(rate * 2 * (count - 1) / count, 1), "devices": count}


def bus_of(ordinal: int) -> str:
    """The PCI bus id of a CUDA device; empty where there is no CUDA driver, or it does not tell."""
    try:
        driver = Driver()
        driver.call("cuInit", 0)
    except (Failed, Skipped):
        return ""
    return bus_id(driver, ordinal)


def _work(checks: Any, torch: Any, kind: Any, format: str, size: int) -> Callable[[], Any]:
    """What is timed; the inputs are made before, and float8 takes its right side column by column."""
    left, right = (torch.randn(size, size, device="cuda", dtype=torch.float32).to(kind) for _ in range(2))
    if format != "float8":
        return lambda: torch.matmul(left, right)
    scale, turned = torch.ones((), device="cuda"), right.t()
    return lambda: checks._scaled(torch, left, turned, scale)


def _events(torch: Any, work: Callable[[], Any]) -> List[float]:
    """Seconds of each round; three warm up, since the first product also picks an algorithm and loads its kernels."""
    taken = []
    for _ in range(REPEATS + 3):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        stop.record()
        stop.synchronize()
        taken.append(start.elapsed_time(stop) / 1000.0)
    return taken[3:]
