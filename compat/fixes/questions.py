"""What to ask back where causes are open: commands whose output decides most of them, on the platform in question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.findings import Ask, Finding, Report
from compat.reading.commands import requirements
from compat.rules.engine import facts_of
from compat.rules.registry import RULES
from compat.rules.stack import FRAMEWORKS, canonical, vendors_of
from compat.sentences import Sentence

if TYPE_CHECKING:
    from compat.rules.case import Case

_MOST: Final = 3  # questions that a person answers
_ALWAYS: Final = ("gpus", "driver", "packages", "builds", "python", "platform", "os")  # where nothing is known at all

# Programs whose output states facts: the command on Linux, on Windows, on a Mac (empty where there is none), the facts,
# and the vendor, engine or framework whose program it is. Those that state most stand first.
_PROGRAMS: Final = (
    (("nvidia-smi", "nvidia-smi", ""), "gpus driver driver_cuda nvml", "nvidia"),
    (("cat /proc/driver/nvidia/version", "", ""), "driver", "nvidia"),
    (("rocminfo | grep -E 'Marketing|gfx'", "hipinfo", ""), "gpus rocm amdgpu hip", "amd"),
    (("sycl-ls", "sycl-ls", ""), "gpus intel_runtime", "intel"),
    (("npu-smi info", "", ""), "gpus driver device_nodes device_nodes_denied", "ascend"),
    (
        ("cat /usr/local/Ascend/ascend-toolkit/latest/*/ascend_toolkit_install.info; pip list | grep npu", "", ""),
        "packages builds libraries env",
        "ascend",
    ),
    (("hl-smi", "", ""), "gpus driver device_nodes", "gaudi"),
    (
        ("python -m torch.utils.collect_env",) * 3,
        "builds packages python platform os glibc gpus driver cudnn cuda_toolkit",
        "torch",
    ),
    (
        ('python -c "import jax; jax.print_environment_info()"',) * 3,
        "packages python platform gpus driver driver_cuda",
        "jax",
    ),
    (
        ('python -c "import tensorflow as tf; print(tf.__version__); print(tf.sysconfig.get_build_info())"',) * 3,
        "builds packages",
        "tensorflow",
    ),
    (('python -c "import paddle; paddle.utils.run_check()"',) * 3, "builds gpus driver_cuda cudnn", "paddlepaddle"),
    (("pip list",) * 3, "packages builds conda_packages package_requires", ""),
    (
        ('python -c "import platform, sys; print(platform.platform()); print(sys.version)"',) * 3,
        "python platform arch os kernel glibc",
        "python",
    ),
    (("dotnet list package",) * 3, "packages", "dotnet"),
    (("env | grep -E 'CUDA|NVIDIA|HIP|HSA|LD_LIBRARY'", "set CUDA", ""), "env", ""),
    (("ldconfig -p | grep -E 'libcu|libnv'", 'where /R "%CUDA_PATH%" *.dll', ""), "libraries cudnn", ""),
    (("nvcc --version", "nvcc --version", ""), "cuda_toolkit cuda_toolkits", ""),
    (("gcc --version", "cl", "clang --version"), "gcc clang msvc", ""),
    (("ls -l /dev/nvidia* /dev/kfd /dev/dri", "", ""), "device_nodes device_nodes_denied device_groups", ""),
    (("lsmod | grep -E 'nvidia|nouveau|amdgpu'", "", ""), "modules driver_branch", ""),
    (("docker info", "docker info", ""), "engine engine_status engine_flavour gpu_runtime cgroup", "docker"),
    (("nvidia-ctk --version", "", ""), "container_toolkit toolkit_config cdi_devices", "docker"),
    (("cat /etc/os-release; uname -a; ldd --version", "ver", "sw_vers"), "os platform kernel glibc libc", ""),
)
# Findings on what could not be installed.
_UNINSTALLED: Final = frozenset({"python-unsupported", "platform-unsupported"})
# Programs that speak on the machines of one vendor alone.
_SPEAKERS: Final = {
    **dict.fromkeys(("hip", "hsa", "rocminfo", "miopen", "rocblas", "amd-smi"), "amd"),
    **dict.fromkeys(("intel", "sycl", "level-zero", "ipex", "itex"), "intel"),
    **dict.fromkeys(("cann", "torch_npu", "npu-smi"), "ascend"),
    "synapse": "gaudi",
}


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
    programs = _programs(case, absent=bool(_UNINSTALLED & {one.code for one in report.findings[:1]}))
    for _ in range(_MOST):
        best = max(programs, key=lambda program: _worth(program[1], wanted))
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


def _programs(case: Case, *, absent: bool) -> list[tuple[str, frozenset[str]]]:
    """The programs of this platform, of the vendors that are there or speak, and of the frameworks in question.

    ``absent``: whether what is in question could not be installed, so that no module of it can be asked.
    """
    column = {"windows": 1, "darwin": 2}.get(case.host.platform or "", 0)
    spoken = {canonical(item.signal.program) for item in case.signals}
    named = {*map(canonical, case.signals.said.get("called", ())), *(item.name for item in case.installed)}
    others = (spoken | named) & {"jax", "tensorflow", "paddlepaddle"}  # general words are read as torch's
    asked = {*map(canonical, requirements(case.commands))} - {"torch"}
    torch = {"torch"} if "torch" in named or not (others or asked) else set[str]()
    vendors = vendors_of(case.host) or {_SPEAKERS[one] for one in spoken & _SPEAKERS.keys()}
    if not vendors and (case.host.driver or case.host.driver_cuda):
        vendors = {"nvidia"}
    away = {"nvidia": case.host.l4t, "docker": case.host.container not in {None, "docker"}}  # a board has no nvidia-smi
    own = {"", "docker", "python", *others, *torch, *(vendors or {"nvidia", "amd"})} - {
        one for one, gone in away.items() if gone
    }
    heard = {case.host.source(name).partition(" line")[0] for name in case.host}  # these programs have answered
    tongues = {one for one in ("dotnet", "foreign") if case.signals.said.get(one)}
    if tongues and not case.signals.said.get("frame") and not case.host.known("python"):
        own = own - others - torch - {"python"} | tongues
        heard = {*heard, "pip list"}
    own = own - {*FRAMEWORKS} if absent else own
    return [
        (commands[column], frozenset(facts.split()))
        for commands, facts, of in _PROGRAMS
        if commands[column] and of in own and not any(one and one in commands[column] for one in heard)
    ]


def _worth(facts: frozenset[str], wanted: dict[str, frozenset[str]]) -> tuple[int, int]:
    """How many causes a program splits, then how many facts it states that are wanted."""
    return sum(bool(facts & one) for one in wanted.values()), sum(len(facts & one) for one in wanted.values())
