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

H100 = "NVIDIA H100 80GB HBM3"


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
            get_device_name=lambda _: H100,
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
    assert bench._peer_copies(machine) == {"gb_per_s": {"0>1": 300.0, "1>0": 25.0}, "slowest": 25.0, "device": H100}


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
    assert found == {
        "gb_per_s": round(rate, 1),
        "bus_gb_per_s": round(rate * factor, 1),
        "devices": count,
        "device": H100,
    }
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
    monkeypatch.setattr(bench, "_seconds", lambda _torch, work: (work(), 1.0)[1])
    bench._peer_copies(small)
    assert set(sizes) == {1 << 23}


def test_one_gpu_has_nothing_to_compare(capsys):
    for check in (bench._peer_copies, bench._all_reduce):
        with pytest.raises(Skipped, match="one GPU"):
            check(Machine({}, 1))
    Report("bench-torch", lambda _: "probe-failed").check("peer_copies", bench._peer_copies, Machine({}, 1))
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told[-1]["status"] == "skip"


@pytest.mark.parametrize(
    ("rises", "round_", "least", "most"),
    [
        (0.0, 0.001, 0.3, 0.35),
        (1.0, 0.001, 1.0, 1.1),
        (1.0, 0.02, 1.0, 1.8),
        (1.0, 2.0, 20.0, 20.0),  # ten rounds outlast the time that there is: the middle one counts
    ],
)
def test_a_figure_counts_once_the_clock_has_risen(monkeypatch, rises, round_, least, most):
    """A device that idled has a tenth of its speed, and the whole of it after so many seconds of work."""
    import devices

    spent = []
    monkeypatch.setattr(devices, "time", SimpleNamespace(monotonic=lambda: sum(spent)))

    def once():
        spent.append(round_ * (10 - 9 * min(1.0, sum(spent) / rises) if rises else 1.0))
        return spent[-1]

    assert devices.settled(once) == pytest.approx(round_, rel=0.02)
    assert least <= sum(spent) <= most + spent[0]


def test_a_clock_that_never_settles_ends_too(monkeypatch):
    import devices

    spent = [1.0]
    monkeypatch.setattr(devices, "time", SimpleNamespace(monotonic=lambda: 0.01 * len(spent)))

    def once():
        spent.append(spent[-1] * 0.99)
        return spent[-1]

    devices.settled(once)
    assert len(spent) == pytest.approx(devices.MOST / 0.01, abs=devices.REPEATS + 1)


def test_what_goes_between_gpus_stands_beside_their_links_and_fails_none():
    """A pair may have one of a GPU's links, or none, by how the board was laid; the matrix tells both ways together."""
    from compat.build.outcome import Probe
    from compat.build.peaks import weighed

    copies = Probe("bench-torch.peer_copies", "pass", "", {"slowest": 25.0, "device": H100})
    summed = Probe("bench-torch.all_reduce", "pass", "", {"bus_gb_per_s": 360.0, "device": H100})
    told = weighed([copies, summed, Probe("bench-torch.peer_copies", "pass", "", {"slowest": 25.0, "device": "other"})])
    assert [(item.status, item.figures.get("peak"), item.figures.get("share")) for item in told] == [
        ("pass", 450.0, 0.056), ("pass", 450.0, 0.8), ("pass", None, None),
    ]  # fmt: skip
