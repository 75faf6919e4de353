"""What is told as fine: only what was checked and fits, and no longer once the one fact that carries it changes."""

import pytest

from compat.rules import RULES

A100 = {"name": "NVIDIA A100-SXM4-40GB", "vendor": "nvidia", "target": "sm_80", "driver": "nvidia"}
CUDA128 = {"torch": {"runtime": "cuda12.8", "kernels": ["sm_80"]}}
NEW, OLD = "570.124.06", "470.82.01"
MACHINE = {"platform": "linux", "arch": "x86_64", "gpus": [A100]}
TORCH = {**MACHINE, "driver": NEW, "packages": {"torch": "2.9.1"}, "builds": CUDA128}
JAX = dict.fromkeys(("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt"), "0.7.1")
ENGINE = {"engine": "docker 27.0", "engine_status": "running", "gpu_runtime": "nvidia", "gpus": [A100], "driver": NEW}
NODES = ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"]
TF = {"packages": {"tensorflow": "2.16.1"}, "builds": {"tensorflow": {"runtime": "cuda12.3"}}, "arch": "x86_64"}
EXCLUSIVE = [{**A100, "compute_mode": "exclusive_process"}]

# facts, the line that they earn, one change, and the code that is found then (empty where nothing can be said)
FINE = [
    ({"disk_free_mib": 62 * 1024}, "62 GiB of disk are free", {"disk_free_mib": 500}, "disk-space-low"),
    (ENGINE, "the container engine answers", {"engine_status": "stopped"}, "docker-daemon-down"),
    (ENGINE, "docker 27.0 can hand out GPUs", {"gpu_runtime": None}, "docker-no-gpu-runtime"),
    (
        {**ENGINE, "cdi_driver": NEW},
        "the CDI specification is of the loaded driver",
        {"cdi_driver": OLD},
        "cdi-spec-stale",
    ),
    ({**MACHINE, "driver": NEW}, f"NVIDIA driver {NEW} is loaded", {"driver": None}, ""),
    (
        {**MACHINE, "driver": NEW, "driver_library": NEW},
        f"kernel module and libraries of the driver are both {NEW}",
        {"driver_library": OLD},
        "driver-library-mismatch",
    ),
    (
        TORCH,
        f"driver {NEW} is new enough for torch 2.9.1 (cuda12.8)",
        {"driver": OLD},
        "driver-too-old-for-runtime",
    ),
    (
        TORCH,
        "torch 2.9.1 (cuda12.8) carries code for sm_80",
        {"builds": {"torch": {"runtime": "cuda12.8", "kernels": ["sm_90"]}}},
        "arch-too-old-for-build",
    ),
    (TORCH, "torch 2.9.1 (cuda12.8) is a GPU build", {"builds": {"torch": {"runtime": "cpu"}}}, "cpu-only-build"),
    (
        {**MACHINE, "packages": JAX},
        "jax 0.7.1 (cuda12) is a GPU build",
        {"packages": {**JAX, "jax-cuda12-plugin": "0.7.2"}},  # jaxlib does not use it
        "cpu-only-build",
    ),
    ({**TORCH, "glibc": "2.35"}, "glibc 2.35 is new enough for torch 2.9.1", {"glibc": "2.17"}, "glibc-too-old"),
    ({"gcc": "12.2.0", "cuda_toolkit": "12.8"}, "gcc 12.2.0 is accepted by the CUDA toolkit", {"gcc": "99.1"}, "host-compiler-unsupported"),
    (
        {"packages": {"torch": "2.9.1", "torchvision": "0.24.1"}},
        "the installed framework fits torchvision",
        {"packages": {"torch": "2.9.1", "torchvision": "0.19.0"}},
        "framework-pair-mismatch",
    ),
    (
        {"platform": "wsl2", "gpus": [A100], "device_nodes": ["/dev/dxg"]},
        "WSL2 shows its GPU device",
        {"device_nodes": []},
        "wsl-no-gpu-device",
    ),
    ({"container": "docker", "shm_mib": 8192}, "shared memory has 8192 MiB", {"shm_mib": 64}, "shm-too-small"),
    ({**MACHINE, "driver": NEW, "device_nodes": NODES}, "/dev/nvidia-uvm is there", {"device_nodes": NODES[:2]}, "uvm-not-ready"),
    (
        {**MACHINE, "driver": NEW, "device_nodes": NODES, "device_nodes_denied": []},
        "the GPU device nodes may be opened",
        {"device_nodes_denied": NODES[:1]},
        "device-permission",
    ),
    (
        {**MACHINE, "container": "docker", "device_nodes": NODES, "env": {}},
        "the container has GPU device nodes",
        {"device_nodes": [], "gpus": []},
        "",
    ),
    ({"gpus": [A100], "xids": []}, "no fatal Xid was logged", {"xids": None}, ""),
    ({**TF, "cpu_flags": ["avx", "avx2", "fma"]}, "the processor has what the builds need", {"cpu_flags": ["sse2"]}, "cpu-instructions-missing"),
    ({"platform": "linux", "gpus": EXCLUSIVE, "mps": "running"}, "the MPS daemon runs", {"mps": "stopped"}, ""),
    (
        {"platform": "linux", "gpus": EXCLUSIVE, "mps": "running"},
        "the exclusive compute mode leaves the GPU to MPS",
        {"mps": "stopped"},
        "gpu-compute-mode-exclusive",
    ),
    ({"platform": "windows", "long_paths": True}, "Windows allows long paths", {"long_paths": False}, "windows-long-paths"),
]  # fmt: skip


def codes(report):
    return {item.code for root in report.findings for item in (root, *root.consequences)}


@pytest.mark.parametrize(("facts", "line", "change", "code"), FINE, ids=[row[1][:40] for row in FINE])
def test_a_line_of_what_fits_stands_on_the_facts_that_carry_it(doctor, facts, line, change, code):
    sound = doctor(**facts)
    assert line in sound.fine
    assert code not in codes(sound)
    changed = doctor(**{**facts, **change})
    assert line not in changed.fine
    assert code in codes(changed) or not code


@pytest.mark.parametrize(("facts", "line"), [(row[0], row[1]) for row in FINE], ids=[row[1][:40] for row in FINE])
def test_what_is_not_known_is_not_told_as_fine(doctor, facts, line):
    """Each fact left out in turn: the line goes, or it rested on the others."""
    rested = [name for name in facts if line not in doctor(**{key: facts[key] for key in facts if key != name}).fine]
    assert rested


ELSEWHERE = [code for code, rule in RULES.items() if rule.platforms and "linux" not in rule.platforms]


def test_a_machine_that_does_not_say_what_it_is_is_no_windows_and_no_mac(doctor):
    """A host file by hand seldom names its platform: a healthy Linux must not be blamed for having no /dev/dxg."""
    assert {"wsl-no-gpu-device", "windows-long-paths", "macos-no-cuda"} <= set(ELSEWHERE)
    report = doctor(gpus=[A100], driver=NEW, device_nodes=NODES, long_paths=False, builds=CUDA128, driver_packages=[])
    assert not codes(report) & set(ELSEWHERE)
    waiting = {name for item in report.unchecked if item.fact == "platform" for name in item.names}
    assert set(ELSEWHERE) <= waiting
