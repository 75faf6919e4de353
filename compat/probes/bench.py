"""How fast the device copies and multiplies. Figures only: what is slow is judged by whoever knows the device's peak."""

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Callable, Dict, List, Optional

import amdgpu
from devices import Device, opened, settled
from kernel_files import PCI, value
from nvml import Sampler
from reporting import Failed, Report, Skipped

# Bytes of one copy; less where the device is nearly full. Far beyond any cache, or the cache would be measured.
BLOCK = 512 * 1024 * 1024

# Numbers of four bytes that each GPU adds in a sum over all of them.
WORDS = BLOCK // 8


def run(report: Report, subject: str, seconds: float) -> None:
    """The measurements of one subject: ``cuda`` and ``hip`` copy, ``torch`` multiplies."""
    if subject == "torch":
        _products(report)
    else:
        _copies(report, importlib.import_module(subject + "_driver"))


def _copies(report: Report, vendor: Any) -> None:
    """Copies of each device, by the interface of its vendor's module."""
    api = opened(vendor)
    for ordinal in range(api.count()):
        device = vendor.Device(api, ordinal)
        report.check("device_copy%d" % ordinal, _device_copy, device)
        report.check("to_device%d" % ordinal, _host_copy, device, "upload")
        report.check("from_device%d" % ordinal, _host_copy, device, "download")
        device.close()


def _size(device: Device, copies: int) -> int:
    """As much as :data:`BLOCK`, at most a quarter of the free memory over all copies; whole MiB."""
    return max(2**20, min(BLOCK, device.room()[0] // 4 // copies) // 2**20 * 2**20)


def _device_copy(device: Device) -> Dict[str, Any]:
    """Copies inside the device count twice: each byte is read and written."""
    size = _size(device, 2)
    first, second = device.allocate(size), device.allocate(size)
    with Sampler(device.api.monitor(device.ordinal)) as sampler:
        seconds = device.seconds(lambda: device.copy("copy", second, first, size))
    device.call("free", first)
    device.call("free", second)
    figures = {"gb_per_s": round(2 * size / seconds / 1e9, 1), "bytes": size}
    return dict(figures, **dict(device.described(), **sampler.figures()))


def _host_copy(device: Device, what: str) -> Dict[str, Any]:
    """From or to page-locked memory: anything else measures the processor's own copying. Its peak is the link's."""
    size = _size(device, 1)
    pointer, host = device.allocate(size), device.pin(size)
    pair = (pointer, host) if what == "upload" else (host, pointer)
    seconds = device.seconds(lambda: device.copy(what, pair[0], pair[1], size))
    peak = link(device.api.bus(device.ordinal))
    device.call("unpin", host)
    device.call("free", pointer)
    return dict(device.described(), gb_per_s=round(size / seconds / 1e9, 1), bytes=size, peak_gb_per_s=peak)


def link(address: str) -> Optional[float]:
    """What a device's PCIe link carries one way at its present speed and width, in GB/s; ``None`` if it is not told.

    A lane carries one bit a transfer, of which 8b/10b coding leaves 8 of 10 up to 5 GT/s and 128b/130b coding 128 of
    130 from 8 GT/s on (PCI Express base specification). Ask after a copy: an idle link is slower.
    """
    speed = re.match(r"([\d.]+) GT/s", value(PCI, address, "current_link_speed"))
    width = value(PCI, address, "current_link_width")
    if not speed or not width.isdigit():
        return None
    rate = float(speed.group(1))
    return round(rate * int(width) / 8 * (0.8 if rate <= 5.0 else 128 / 130.0), 1) or None


FORMATS = (("float32", 4096), ("tf32", 8192), ("float16", 8192), ("bfloat16", 8192), ("float8", 8192))


def _products(report: Report) -> None:
    import torch
    from torch_checks import Torch

    if not torch.cuda.is_available():
        report.skip("matmul", "torch sees no GPU")
        return
    report.check("all_reduce", _all_reduce, torch)  # first: where a GPU serves one process only, this one has none yet
    adapter = Torch()
    adapter.module, adapter.device, adapter.capability = torch, "cuda", torch.cuda.get_device_capability(0)
    for format, size in FORMATS:
        report.check("matmul_" + format, _product, adapter, format, size)
    report.check("peer_copies", _peer_copies, torch)


def _product(adapter: Any, format: str, size: int) -> Dict[str, Any]:
    """A square product, 2 n^3 operations, by the device's clock."""
    torch, kind = adapter.module, adapter.kind(format)
    if 4 * 4 * size * size > torch.cuda.mem_get_info()[0]:
        raise Skipped("not enough free memory for a product of size %d" % size)
    adapter.set_tf32(format == "tf32")
    work = _work(adapter, kind, format, size)
    with Sampler(monitor_of(torch, 0)) as sampler:
        seconds, name = _seconds(torch, work), torch.cuda.get_device_name(0)
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
                    seconds = _seconds(torch, lambda: out.copy_(block))
                    found["%d>%d" % (one, other)] = round(size / seconds / 1e9, 1)
                    if not torch.equal(out.cpu(), block.cpu()):
                        raise Failed("probe-kernel-wrong-result", "a copy from GPU %d to %d differs" % (one, other))
    return {"gb_per_s": found, "slowest": min(found.values()), "device": torch.cuda.get_device_name(0)}


def _all_reduce(torch: Any) -> Dict[str, Any]:
    """The sum over all GPUs, by a process for each; a link carries 2 (n-1)/n of the bytes (nccl-tests, PERFORMANCE.md)."""
    count = _devices(torch)
    found = summed(count, WORDS)
    rate = 4 * WORDS / max(item["seconds"] for item in found) / 1e9
    if not all(item["right"] for item in found):
        raise Failed("probe-kernel-wrong-result", "a sum over %d GPUs is wrong" % count)
    bus = round(rate * 2 * (count - 1) / count, 1)
    return {"gb_per_s": round(rate, 1), "bus_gb_per_s": bus, "devices": count, "device": torch.cuda.get_device_name(0)}


def summed(count: int, words: int) -> List[Dict[str, Any]]:
    """What each of so many processes of ``all_reduce.py`` says; they belong to this group and end with it.

    Raises:
        Failed: if one of them ended without an answer, with its last words.
    """
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "all_reduce.py")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(count) as pool:
        command = [sys.executable, script, os.path.join(folder, "meeting")]
        started = [
            subprocess.Popen(
                command + [str(rank), str(count), str(words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            for rank in range(count)
        ]
        ends = [pool.submit(one.communicate) for one in started]
        for end in as_completed(ends):
            rank = ends.index(end)
            if started[rank].returncode:
                for one in started:
                    one.kill()  # it would wait for this one for ever
                why = _last_line(end.result()[1])[:300]
                raise Failed("probe-failed", "process %d of %d failed: %s" % (rank, count, why))
    return [json.loads(_last_line(end.result()[0])) for end in ends]


def _last_line(text: bytes) -> str:
    return text.decode("utf-8", "replace").strip().split("\n")[-1]


def monitor_of(torch: Any, ordinal: int) -> Any:
    """Sensors of one of torch's GPUs, found through its vendor's interface; without one there are no readings."""
    vendor = importlib.import_module("hip_driver" if getattr(torch.version, "hip", None) else "cuda_driver")
    try:
        return opened(vendor).monitor(ordinal)
    except (Failed, Skipped):
        return amdgpu.Monitor("")


def _work(adapter: Any, kind: Any, format: str, size: int) -> Callable[[], Any]:
    """What is timed; the inputs are made before, and float8 takes its right side column by column."""
    torch = adapter.module
    left, right = (torch.randn(size, size, device="cuda", dtype=torch.float32).to(kind) for _ in range(2))
    if format != "float8":
        return lambda: torch.matmul(left, right)
    scale, turned = torch.ones((), device="cuda"), right.t()
    return lambda: adapter.scaled(left, turned, scale)


def _seconds(torch: Any, work: Callable[[], Any]) -> float:
    """Seconds of what is timed, settled, by events that the device stamps."""
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def once() -> float:
        start.record()
        work()
        stop.record()
        stop.synchronize()
        return float(start.elapsed_time(stop)) / 1000.0

    return settled(once)
