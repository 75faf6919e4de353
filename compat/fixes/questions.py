"""What to ask back where causes are open: commands whose output decides most of them, on the platform in question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.findings import Ask
from compat.rules.engine import facts_of
from compat.rules.registry import RULES
from compat.rules.stack import vendors_of
from compat.sentences import Sentence

if TYPE_CHECKING:
    from compat.findings import Finding, Report
    from compat.rules.case import Case

_MOST: Final = 3  # questions that a person answers
_ALWAYS: Final = ("gpus", "driver", "packages", "builds", "python", "platform", "os")  # where nothing is known at all

# Programs whose output states facts: the command on Linux, on Windows, on a Mac (empty where there is none), and the
# facts. Those that state most stand first.
_PROGRAMS: Final = (
    (("nvidia-smi", "nvidia-smi", ""), frozenset({"gpus", "driver", "driver_cuda", "nvml"})),
    (("rocminfo | grep -E 'Marketing|gfx'", "hipinfo", ""), frozenset({"gpus", "rocm", "amdgpu", "hip"})),
    (
        ("python -m torch.utils.collect_env",) * 3,
        frozenset(
            {"builds", "packages", "python", "platform", "os", "glibc", "gpus", "driver", "cudnn", "cuda_toolkit"}
        ),
    ),
    (("pip list",) * 3, frozenset({"packages", "builds", "conda_packages", "package_requires"})),
    (("env | grep -E 'CUDA|NVIDIA|HIP|HSA|LD_LIBRARY'", "set CUDA", ""), frozenset({"env"})),
    (("ldconfig -p | grep -E 'libcu|libnv'", 'where /R "%CUDA_PATH%" *.dll', ""), frozenset({"libraries", "cudnn"})),
    (("nvcc --version", "nvcc --version", ""), frozenset({"cuda_toolkit", "cuda_toolkits"})),
    (("gcc --version", "cl", "clang --version"), frozenset({"gcc", "clang", "msvc"})),
    (
        ("ls -l /dev/nvidia* /dev/kfd /dev/dri", "", ""),
        frozenset({"device_nodes", "device_nodes_denied", "device_groups"}),
    ),
    (("lsmod | grep -E 'nvidia|nouveau|amdgpu'", "", ""), frozenset({"modules", "driver_branch"})),
    (
        ("docker info", "docker info", ""),
        frozenset({"engine", "engine_status", "engine_flavour", "gpu_runtime", "cgroup"}),
    ),
    (("nvidia-ctk --version", "", ""), frozenset({"container_toolkit", "toolkit_config", "cdi_devices"})),
    (
        ("cat /etc/os-release; uname -a; ldd --version", "ver", "sw_vers"),
        frozenset({"os", "platform", "kernel", "glibc", "libc"}),
    ),
)


def questions(report: Report, case: Case) -> tuple[Ask, ...]:
    """At most three commands to run, each with what its answer decides; none where the first finding is sure."""
    if report.findings and report.findings[0].confidence != "possible":
        return ()
    if not report.findings and report.checked:
        return ()
    open_causes = [one for one in report.findings if one.confidence == "possible"]
    titles = {one.code: one.title for one in open_causes}
    wanted = {one.code: _wanted(one, case) for one in open_causes} or {"": _unknown(_ALWAYS, case)}
    asked: list[Ask] = []
    for _ in range(_MOST):
        best = max(_programs(case), key=lambda program: _worth(program[1], wanted))
        decided = [code for code, facts in wanted.items() if facts & best[1]]
        if not decided:
            break
        codes = tuple(code for code in decided[:2] if code)
        whether = "whether: " + "; ".join(titles[code] for code in codes)
        asked.append(Ask(best[0], whether if codes else Sentence("what is there"), codes))
        wanted = {code: facts - best[1] for code, facts in wanted.items()}
    return tuple(asked)


def _wanted(finding: Finding, case: Case) -> frozenset[str]:
    """Facts that would decide a finding and are not known."""
    rule = RULES.get(finding.code)
    return _unknown(facts_of(rule), case) if rule else frozenset()


def _unknown(facts: tuple[str, ...], case: Case) -> frozenset[str]:
    return frozenset(name for name in facts if not case.host.known(name))


def _programs(case: Case) -> list[tuple[str, frozenset[str]]]:
    """The programs of this platform, without those of a vendor whose GPUs are not there."""
    column = {"windows": 1, "darwin": 2}.get(case.host.platform or "", 0)
    vendors = vendors_of(case.host)
    foreign = {
        name for name, vendor in (("nvidia-smi", "nvidia"), ("rocminfo", "amd")) if vendors and vendor not in vendors
    }
    found = [(commands[column], facts) for commands, facts in _PROGRAMS if commands[column]]
    spoken = {item.signal.program for item in case.signals}
    if spoken & {"jax", "tensorflow", "paddle"} and "torch" not in spoken:  # who has no torch cannot run its script
        found = [one for one in found if "torch" not in one[0]]
    return [one for one in found if one[0].partition(" ")[0] not in foreign]


def _worth(facts: frozenset[str], wanted: dict[str, frozenset[str]]) -> tuple[int, int]:
    """How many causes a program splits, then how many facts it states that are wanted."""
    return sum(bool(facts & one) for one in wanted.values()), sum(len(facts & one) for one in wanted.values())
