"""Bandwidth between GPUs: what is counted, what is compared, and what one GPU cannot show. Torch is a stand-in."""

import contextlib
import json
import sys
from types import SimpleNamespace

import pytest

from compat.build import parcel

sys.path.insert(0, str(parcel.FOLDER))
import bench
from reporting import Failed, Report, Skipped


class Block:
    """A tensor: its device and its bytes; a copy may lose some."""

    def __init__(self, machine, size, device, value):
        self.machine, self.size, self.device, self.value = machine, size, device, value

    def copy_(self, other):
        pair = (other.device, self.device)
        self.value = "torn" if pair == self.machine.torn else other.value
        self.machine.milliseconds += self.size / self.machine.speed[pair] / 1e6

    def cpu(self):
        return self.value


class Machine:
    """Torch on a machine with GPUs whose links have each their speed, in GB/s."""

    uint8 = "uint8"

    def __init__(self, speed, count=2, free=1 << 40):
        self.speed, self.count, self.milliseconds, self.torn = speed, count, 0.0, None

        def event(**_):
            return SimpleNamespace(record=self.stamp, synchronize=lambda: None, elapsed_time=lambda _: self.took)

        self.cuda = SimpleNamespace(
            device_count=lambda: count,
            device=lambda _: contextlib.nullcontext(),
            mem_get_info=lambda _: (free, free),
            Event=event,
            synchronize=lambda _: None,
        )

    def stamp(self):
        self.took, self.milliseconds = self.milliseconds, 0.0

    def randint(self, _low, _high, shape, device, **_):
        return Block(self, shape[0], device, f"random of {device}")

    def zeros(self, size, device, **_):
        return Block(self, size, device, "zeros")

    def equal(self, one, other):
        return one == other


def test_each_direction_of_each_pair_is_measured():
    machine = Machine({("cuda:0", "cuda:1"): 300.0, ("cuda:1", "cuda:0"): 25.0})
    assert bench._peer_copies(machine) == {"gb_per_s": {"0>1": 300.0, "1>0": 25.0}, "slowest": 25.0}


def test_a_copy_that_differs_is_a_wrong_result():
    machine = Machine({("cuda:0", "cuda:1"): 300.0, ("cuda:1", "cuda:0"): 25.0})
    machine.torn = ("cuda:1", "cuda:0")
    with pytest.raises(Failed, match="from GPU 1 to 0"):
        bench._peer_copies(machine)


@pytest.mark.parametrize(("count", "factor"), [(2, 1.0), (4, 1.5), (8, 1.75)])
def test_a_link_carries_its_share_of_the_sum(monkeypatch, count, factor):
    """The slowest process counts: a sum is there when all have it."""
    said = [{"seconds": 1e-3 / (1 + rank), "right": True} for rank in range(count)]
    monkeypatch.setattr(bench, "summed", lambda number, _words: said[:number])
    found = bench._all_reduce(Machine({}, count))
    rate = 4 * bench.WORDS / 1e-3 / 1e9
    assert found == {"gb_per_s": round(rate, 1), "bus_gb_per_s": round(rate * factor, 1), "devices": count}
    said[1]["right"] = False
    with pytest.raises(Failed, match="is wrong"):
        bench._all_reduce(Machine({}, count))


def test_processes_add_up_as_training_starts_them():
    """Without a GPU torch adds on the processor, by the same calls."""
    pytest.importorskip("torch")
    found = bench.summed(3, 1000)
    assert [item["right"] for item in found] == [True] * 3
    assert all(item["seconds"] > 0 for item in found)


def test_a_process_that_fails_ends_the_others_and_is_named(tmp_path, monkeypatch):
    (tmp_path / "torch").mkdir()
    text = "import sys, time\nif sys.argv[2] != '1':\n    time.sleep(600)\nraise RuntimeError('NCCL unhandled system error')\n"
    (tmp_path / "torch" / "__init__.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(Failed, match="process 1 of 3 failed: RuntimeError: NCCL unhandled system error"):
        bench.summed(3, 1000)


def test_a_full_device_is_not_filled_over_its_brim(monkeypatch):
    small = Machine({("cuda:0", "cuda:1"): 1.0, ("cuda:1", "cuda:0"): 1.0}, free=1 << 26)
    sizes = []
    monkeypatch.setattr(
        Block, "copy_", lambda self, other: (sizes.append(self.size), setattr(self, "value", other.value))
    )
    monkeypatch.setattr(bench, "median", lambda _: 1.0)
    bench._peer_copies(small)
    assert set(sizes) == {1 << 23}


def test_one_gpu_has_nothing_to_compare(capsys):
    for check in (bench._peer_copies, bench._all_reduce):
        with pytest.raises(Skipped, match="one GPU"):
            check(Machine({}, 1))
    Report("bench-torch", lambda _: "probe-failed").check("peer_copies", bench._peer_copies, Machine({}, 1))
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told[-1]["status"] == "skip"
