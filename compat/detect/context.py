"""Whether this is a container, which kind, and whether a scheduler started it.

Engines leave marks of their own: Docker a file ``/.dockerenv``, Podman ``/run/.containerenv``, Kubernetes a service
variable and mounted secrets, Apptainer variables and ``/.singularity.d``. Where all are missing, the path of process
1's control group may still name the engine. Schedulers are known by the variables they set for each job.

Sources: systemd, "Container Interface"; Kubernetes, "Container environment"; Apptainer user guide, "Environment";
Slurm, sbatch(1), output environment variables; Linux, cgroups(7).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from compat.detect.base import LINUX
from compat.detect.machine import Machine, once
from compat.facts import Fact, Reading, Unknown

NAME: Final = "context"
FACTS: Final = ("container", "image", "image_env", "scheduler")
SYSTEMS: Final = LINUX
SOUGHT: Final = "markers of container engines"

# Each engine's own mark, most telling first: (kind, environment variable, file)
_MARKS: Final = (
    ("kubernetes", "KUBERNETES_SERVICE_HOST", "/var/run/secrets/kubernetes.io"),
    ("apptainer", "APPTAINER_CONTAINER", "/.singularity.d"),
    ("apptainer", "SINGULARITY_CONTAINER", "/.singularity.d"),
    ("podman", "", "/run/.containerenv"),
    ("docker", "", "/.dockerenv"),
)
_FILES: Final = frozenset({"/run/.containerenv", "/.dockerenv"})  # marks that an image may carry away with it
# Words in the path of process 1's control group; cgroup v2 hides it inside a private namespace
_GROUPS: Final = (("kubepods", "kubernetes"), ("libpod", "podman"), ("docker", "docker"), ("/lxc", "lxc"))

_SCHEDULERS: Final = (
    ("slurm", "SLURM_JOB_ID"),
    ("pbs", "PBS_JOBID"),
    ("lsf", "LSB_JOBID"),
    ("kubernetes", "KUBERNETES_SERVICE_HOST"),
)


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Kind of container and scheduler; a container cannot see the name of its image, and we say so."""
    kind, source = container_kind(machine) or (None, SOUGHT)
    # only Apptainer tells a container what its image is called
    hidden: Reading = Fact(None, "not inside a container")
    if kind:
        name = machine.env.get("APPTAINER_NAME") or machine.env.get("SINGULARITY_NAME")
        why = Unknown("a container does not see what its image is called", source)
        hidden = Fact(name, "APPTAINER_NAME") if name else why
    inside = Unknown("told apart from the process's own environment only by the image", source)
    told: Reading = inside if kind else hidden
    return {"container": Fact(kind, source), "image": hidden, "image_env": told, "scheduler": _scheduler(machine)}


@once
def container_kind(machine: Machine) -> tuple[str, str] | None:
    """The kind of container we run in and what told it, or ``None`` outside one.

    It is told by the engines' own marks, then by process 1's control group, then by systemd's word.
    """
    leftover = _is_own_kernel(machine)
    for kind, variable, path in _MARKS:
        if variable and variable in machine.env:
            return kind, variable
        if machine.exists(path) and not (leftover and path in _FILES):
            return kind, path
    for path in ("/proc/1/cgroup", "/run/systemd/container"):
        text = machine.text(path)
        for word, kind in _GROUPS:
            if word in text:
                return kind, path
    named = machine.text("/run/systemd/container") or machine.env.get("container", "")
    return (named.split("-")[0], "the container's own mark") if named else None


def _is_own_kernel(machine: Machine) -> bool:
    """Whether this is a whole machine that was unpacked from an image: the image's mark came along and means nothing.

    Such a machine sees the kernel's own threads and has its root on a disk. A container sees neither: its process
    numbers begin anew, and its root is a layered file system (or, sharing the host's numbers, at least that).
    """
    root = re.search(r"^\d+ \d+ \S+ / / .* - (\S+) (\S+)", machine.text("/proc/self/mountinfo"), re.MULTILINE)
    on_disk = root is not None and root[1] != "overlay" and root[2].startswith("/dev/")
    return on_disk and machine.text("/proc/2/comm") == "kthreadd"


def _scheduler(machine: Machine) -> Reading:
    """The scheduler whose job variable is set."""
    for name, variable in _SCHEDULERS:
        if variable in machine.env:
            return Fact(name, variable)
    return Fact(None, ", ".join(variable for _, variable in _SCHEDULERS))
