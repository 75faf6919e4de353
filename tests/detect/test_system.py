"""System, processor, limits, boot and context: each place that tells, each place that does not."""

from __future__ import annotations

import os
import platform
import shutil

import pytest

from compat.detect import detect
from compat.facts import Fact, Unknown


@pytest.fixture(scope="module")
def here():
    return detect()


def test_this_system_is_named_as_the_standard_library_names_it(here):
    release = platform.freedesktop_os_release()
    assert here.os == release["ID"] + release.get("VERSION_ID", "")
    assert here.os_name == release["PRETTY_NAME"]
    assert here.arch == platform.machine()
    name, version = platform.libc_ver()
    assert (here.libc, here.glibc) == (name or "musl", version or None)


def test_this_machines_sizes_are_those_of_the_system_calls(here):
    assert here.shm_mib == shutil.disk_usage("/dev/shm").total >> 20
    assert here.memory_mib <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    assert 0 < here.memory_available_mib <= here.memory_mib
    assert here.disk_free_mib > 0


OS_RELEASES = [
    ('ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.4 LTS"\n', "ubuntu22.04", "Ubuntu 22.04.4 LTS"),
    ("ID=debian\nVERSION_ID='12'\nPRETTY_NAME='Debian 12'\n", "debian12", "Debian 12"),
    ('ID="rhel"\nVERSION_ID="9.4"\n', "rhel9.4", "rhel9.4"),
    ("ID=arch\nPRETTY_NAME=Arch\n", "arch", "Arch"),
    ('ID="sles"\nVERSION_ID="15.5"\nNAME=SLES\n', "sles15.5", "sles15.5"),
    ("ID=Ubuntu\r\nVERSION_ID=24.04\r\n", "ubuntu24.04", "ubuntu24.04"),
]


@pytest.mark.parametrize(("text", "tag", "name"), OS_RELEASES)
def test_distribution_is_spelled_as_images_are_tagged(seen, text, tag, name):
    told = seen("system", files={"/etc/os-release": text})
    assert (told["os"].value, told["os_name"].value) == (tag, name)


def test_second_place_of_os_release_counts_when_the_first_is_missing(seen):
    told = seen("system", files={"/usr/lib/os-release": "ID=fedora\nVERSION_ID=40\n"})
    assert told["os"] == Fact("fedora40", "/usr/lib/os-release")


@pytest.mark.parametrize(
    ("release", "kind"),
    [
        ("6.8.0-45-generic", "linux"),
        ("5.15.153.1-microsoft-standard-WSL2", "wsl2"),
        ("6.6.36.3-microsoft-standard-WSL2+", "wsl2"),
        ("4.4.0-19041-Microsoft", "wsl1"),
        ("5.10.120-tegra", "linux"),
    ],
)
def test_wsl_is_known_by_its_kernel(seen, release, kind):
    assert seen("system", uname=release)["platform"].value == kind


@pytest.mark.parametrize(
    ("libc", "files", "want"),
    [
        ("glibc 2.17", {}, ("glibc", "2.17")),
        ("", {"/lib/ld-musl-aarch64.so.1": ""}, ("musl", None)),
        ("", {}, ("unknown", "unknown")),
        ("uclibc 1.0", {}, ("unknown", "unknown")),
    ],
)
def test_c_library_is_glibc_musl_or_unknown(seen, libc, files, want):
    told = seen("system", libc=libc, files=files)
    assert (
        tuple("unknown" if isinstance(told[name], Unknown) else told[name].value for name in ("libc", "glibc")) == want
    )


ARM = (
    "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd sve sve2 i8mm bf16 sb\n\nprocessor\t: 1\nFeatures\t: fp\n"
)
X86 = "processor\t: 0\nmodel name\t: Xeon\nflags\t\t: fpu vme sse sse2 ssse3 sse4_1 sse4_2 avx avx2 fma amx_tile avx512f\n"
OLD = "processor\t: 0\nmodel name\t: Celeron\nflags\t\t: fpu sse sse2 ssse3\n"
POWER = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n"


@pytest.mark.parametrize(
    ("text", "model", "flags"),
    [
        (X86, "Xeon", ("amx_tile", "avx", "avx2", "avx512f", "fma", "sse4_1", "sse4_2", "ssse3")),
        (OLD, "Celeron", ("ssse3",)),
        (ARM, None, ("asimd", "bf16", "i8mm", "neon", "sve", "sve2")),
        (POWER, "POWER9, altivec supported", None),
    ],
)
def test_processor_is_read_from_cpuinfo(seen, text, model, flags):
    told = seen("processor", files={"/proc/cpuinfo": text})
    assert told["cpu"].value == model
    assert flags == (None if isinstance(told["cpu_flags"], Unknown) else told["cpu_flags"].value)


INFO = "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB\n"
V2, V2_USED = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"
V1, V1_USED = "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"


@pytest.mark.parametrize(
    ("files", "total", "free"),
    [
        ({}, 8192, 4096),
        ({V2: "max"}, 8192, 4096),
        ({V2: str(2 << 30), V2_USED: str(1 << 30)}, 2048, 1024),
        ({V2: str(6 << 30), V2_USED: str(1 << 30)}, 6144, 4096),
        ({V1: str(2 << 30), V1_USED: str(3 << 30)}, 2048, 0),
        ({V1: "9223372036854771712"}, 8192, 4096),
    ],
)
def test_memory_is_what_a_process_here_may_have(seen, files, total, free):
    told = seen("processor", files={"/proc/meminfo": INFO, **files})
    assert (told["memory_mib"].value, told["memory_available_mib"].value) == (total, free)


def test_kernel_too_old_to_tell_available_memory_says_so(seen):
    told = seen("processor", files={"/proc/meminfo": "MemTotal: 1024 kB\n"})
    assert told["memory_mib"].value == 1
    assert isinstance(told["memory_available_mib"], Unknown)


def test_limits_are_told_in_their_units(seen):
    told = seen("limits", space={"/dev/shm": [64, 60], "/work": [100, 7]}, folders=["/dev/shm"], memlock=8 << 20)
    assert (told["shm_mib"].value, told["disk_free_mib"].value, told["memlock_kib"].value) == (64, 7, 8192)
    assert seen("limits", memlock=-1)["memlock_kib"].value == -1
    assert seen("limits")["shm_mib"] == Fact(None, "/dev/shm")


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("render:x:109:\nvideo:x:44:a\n", ("render", "video", "7777")),
        ("broken line\n:::\nrender:x:109\nvideo:x:abc:\n", ("render", "44", "7777")),
        ("", ("109", "44", "7777")),
    ],
)
def test_groups_without_a_name_are_told_by_number(seen, group, names):
    told = seen("limits", user=[1000, 109, 44, 7777], files={"/etc/group": group})
    assert told["user_id"].value == 1000
    assert told["groups"].value == names


EFI = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


@pytest.mark.parametrize(
    ("said", "want"),
    [
        ({"binary": {EFI: "0600000001"}}, True),
        ({"binary": {EFI: "0600000000"}}, False),
        ({"files": {"/sys/kernel/x": ""}}, False),
        ({"binary": {EFI: "06"}}, "could not be read"),
        ({"files": {"/sys/kernel/x": "", "/.dockerenv": ""}}, "inside a container"),
        ({}, "/sys is absent"),
    ],
)
def test_secure_boot_is_true_false_or_a_reason(seen, said, want):
    told = seen("boot", **said)["secure_boot"]
    assert told.value is want if isinstance(want, bool) else want in told.why


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("quiet iommu=pt intel_iommu=on", "pt"),
        ("amd_iommu=off", "off"),
        ("intel_iommu=on,sm_on quiet", "on,sm_on"),
        ("myiommu=on", None),
        ("", None),
    ],
)
def test_translation_mode_is_that_of_the_command_line(seen, text, mode):
    assert seen("boot", files={"/proc/cmdline": text})["iommu"].value == mode


def test_a_kernel_that_is_not_known_is_none(seen):
    """An image brings no kernel along."""
    assert seen("system", uname="")["kernel"].value is None
    assert seen("system", uname="6.8.0")["kernel"].value == "6.8.0"


@pytest.mark.parametrize(("text", "mode"), [("1", "enforcing"), ("0\n", "permissive"), (None, "disabled")])
def test_selinux_mode(seen, text, mode):
    files = {} if text is None else {"/sys/fs/selinux/enforce": text}
    assert seen("boot", files=files)["selinux"].value == mode


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({}, None),
        ({"files": {"/.dockerenv": ""}}, "docker"),
        ({"files": {"/run/.containerenv": ""}}, "podman"),
        ({"files": {"/.dockerenv": ""}, "env": {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}}, "kubernetes"),
        ({"folders": ["/var/run/secrets/kubernetes.io"]}, "kubernetes"),
        ({"env": {"SINGULARITY_CONTAINER": "/x.sif"}}, "apptainer"),
        ({"files": {"/proc/1/cgroup": "12:pids:/docker/0123abc\n"}}, "docker"),
        ({"files": {"/proc/1/cgroup": "4:memory:/lxc/box\n"}}, "lxc"),
        ({"files": {"/proc/1/cgroup": "0::/machine.slice/libpod-1.scope\n"}}, "podman"),
        ({"files": {"/run/systemd/container": "systemd-nspawn\n"}}, "systemd"),
        ({"env": {"container": "oci"}}, "oci"),
        ({"files": {"/proc/1/cgroup": "0::/init.scope\n"}}, None),
    ],
)
def test_container_is_known_by_its_engines_mark(seen, said, kind):
    told = seen("context", **said)
    assert told["container"].value == kind
    assert isinstance(told["image"], Fact) == (kind is None)


DISK = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
OVERLAY = "600 500 0:55 / / rw,relatime master:3 - overlay overlay rw,lowerdir=/x\n"


@pytest.mark.parametrize(
    ("mounts", "second", "kind"),
    [(DISK, "kthreadd\n", None), (OVERLAY, "kthreadd\n", "docker"), (DISK, "bash\n", "docker"), (DISK, None, "docker")],
)
def test_mark_that_an_image_left_on_a_whole_machine_means_nothing(seen, mounts, second, kind):
    files = {"/.dockerenv": "", "/proc/self/mountinfo": mounts} | ({"/proc/2/comm": second} if second else {})
    assert seen("context", files=files)["container"].value == kind


@pytest.mark.parametrize(
    ("variable", "name"), [("SLURM_JOB_ID", "slurm"), ("PBS_JOBID", "pbs"), ("LSB_JOBID", "lsf"), ("HOME", None)]
)
def test_scheduler_is_known_by_its_jobs_variable(seen, variable, name):
    assert seen("context", env={variable: "1"})["scheduler"].value == name


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("CUDA_VISIBLE_DEVICES", "0,1", "0,1"),
        ("CUDA_VISIBLE_DEVICES", "", ""),
        ("NVIDIA_REQUIRE_CUDA", "cuda>=12.4", "cuda>=12.4"),
        ("HSA_OVERRIDE_GFX_VERSION", "11.0.0", "11.0.0"),
        ("HSA_OVERRIDE_GFX_VERSION_0", "11.0.0", "11.0.0"),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", "expandable_segments:True"),
        ("LD_LIBRARY_PATH", "/usr/local/cuda/lib64", "/usr/local/cuda/lib64"),
        ("DOCKER_HOST", "unix:///run/docker.sock", "unix:///run/docker.sock"),
        ("DOCKER_HOST", "ssh://me@box", "(set)"),
        ("SLURM_JOB_ID", "7", "7"),
        ("SLURM_JOB_ACCOUNT", "dept", None),
        ("SLURM_SUBMIT_HOST", "login1", None),
        ("TORCH_API_KEY", "abc", "(set)"),
        ("OLLAMA_HOST", "10.0.0.3", "(set)"),
        ("HF_TOKEN", "abc", None),
        ("AWS_SECRET_ACCESS_KEY", "abc", None),
        ("MY_CUDA_X", "1", None),
        ("HOSTNAME", "box", None),
        ("USER", "me", None),
    ],
)
def test_environment_is_an_allow_list(seen, name, value, shown):
    assert seen("environment", env={name: value})["env"].value.get(name) == shown


def test_long_values_are_cut(seen):
    assert len(seen("environment", env={"LD_LIBRARY_PATH": "/x:" * 10_000})["env"].value["LD_LIBRARY_PATH"]) == 4096
