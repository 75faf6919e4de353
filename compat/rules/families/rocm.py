"""AMD GPUs: kernel driver, device nodes, and code for the gfx target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat import versions
from compat.changes import Command, System, Variable
from compat.matrix.products import find_gpu
from compat.rules.deeds import WITH_AMD
from compat.rules.lookups import cite, is_version
from compat.rules.rule import AmdRule, Fits, Found, Outcome
from compat.targets import kernels_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed


def amd_cards(gpus: tuple[Gpu, ...]) -> list[Gpu]:
    """GPUs of AMD, by vendor or target."""
    return [gpu for gpu in gpus if gpu.vendor == "amd" or gpu.target.startswith("gfx")]


class RocmNoDriver(AmdRule):
    """There is an AMD GPU, but amdgpu is not live.

    Why: The compute driver inside amdgpu is what ROCm talks to.
    Fix: Load amdgpu; where the kernel has no driver for this GPU, install amdgpu-dkms and restart.
    Sources: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/
    """

    area = "rocm"
    platforms = ("linux",)
    requires = ("rocm-container-flags", "driver-vfio-bound")
    asks = ("device_nodes",)
    changes = (System("amdgpu"),)

    def check(self, host: Host, gpus: tuple[Gpu, ...], modules: tuple[str, ...]) -> Outcome:
        """The PCI bus shows an AMD GPU and the amdgpu kernel driver is not loaded."""
        cards = [gpu for gpu in amd_cards(gpus) if gpu.driver != "vfio-pci"]
        if not cards or host.container:
            return None
        if "amdgpu" in modules:
            return Fits("the amdgpu kernel driver is loaded")
        detail = f"{cards[0].name or cards[0].pci or 'An AMD GPU'} is there, amdgpu is not loaded."
        lone = all(gpu.integrated is True for gpu in amd_cards(gpus))  # one that nobody computes on is no error
        return Found(detail=detail, severity="warning" if lone else None)


class RocmContainerFlags(AmdRule):
    """A ROCm container was started without the devices it needs.

    Why: AMD containers need plain device nodes; NVIDIA's flags such as --gpus do nothing here.
    Fix: Start the container with AMD's device nodes. Those are /dev/kfd and /dev/dri, with the numeric id of the group
        render.
    Sources: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
    """

    area = "rocm"
    platforms = ("linux",)
    requires = ("container-no-gpu",)
    changes = (WITH_AMD,)

    def check(self, container: str, gpus: tuple[Gpu, ...], device_nodes: tuple[str, ...]) -> Outcome:
        """Inside a container an AMD GPU is known, but /dev/kfd or every /dev/dri/renderD* is missing."""
        if not amd_cards(gpus):
            return None
        wanted = ("/dev/kfd", "/dev/dri/renderD*")
        missing = [name for name in wanted if not any(node.startswith(name.rstrip("*")) for node in device_nodes)]
        detail = f"{' and '.join(missing)} is missing in this {container} container."
        return Found(detail=detail, facts=("container", "device_nodes")) if missing else None


class RocmKfdMissing(AmdRule):
    """amdgpu is loaded, but /dev/kfd is absent.

    Why: Graphics works through /dev/dri alone, compute does not. The kernel may be built without HSA_AMD.
    Fix: Use a kernel with CONFIG_HSA_AMD; in containers add --device /dev/kfd.
    Sources: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/
    """

    area = "rocm"
    platforms = ("linux",)
    requires = ("rocm-no-driver", "rocm-container-flags")
    changes = (Command("grep HSA_AMD /boot/config-$(uname -r)", "linux"),)

    def check(
        self, host: Host, gpus: tuple[Gpu, ...], device_nodes: tuple[str, ...], modules: tuple[str, ...]
    ) -> Outcome:
        """The compute node of the AMD driver does not exist."""
        if not amd_cards(gpus) or "/dev/kfd" in device_nodes or "amdgpu" not in modules or host.container:
            return None
        return Found(detail="amdgpu is loaded and /dev/kfd does not exist.", facts=("device_nodes", "modules"))


def _is_inside(gpu: Gpu, matrix: Matrix) -> bool:
    """Whether a GPU is part of the processor: as the machine says, else as all products of its id or name are."""
    if gpu.integrated is not None:
        return gpu.integrated
    rows = [row for row in find_gpu(matrix, gpu.pci or gpu.name) if row.target == gpu.target]
    return bool(rows) and all(row.segment in {"apu", "integrated", "igpu"} for row in rows)


class RocmGfxOverride(AmdRule):
    """HSA_OVERRIDE_GFX_VERSION is set.

    Why: A near sibling works; another generation crashes the queue. Where the build serves the real target, the
        override only hides it.
    Fix: Unset HSA_OVERRIDE_GFX_VERSION where the build serves the real target. Otherwise keep it inside one family.
    Sources: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
    """

    severity = "warning"
    area = "rocm"
    changes = (Variable("HSA_OVERRIDE_GFX_VERSION"),)

    def check(self, host: Host, gpus: tuple[Gpu, ...], signals: Hearing, matrix: Matrix) -> Outcome:
        """The runtime is told that the GPU is another target than it is."""
        value = (host.env or {}).get("HSA_OVERRIDE_GFX_VERSION", "")
        if not value:
            return None if host.env else self._disguised(gpus, matrix)
        as_if = overridden(value)
        real = next((gpu.target for gpu in amd_cards(gpus) if gpu.target), "")
        facts = ("env.HSA_OVERRIDE_GFX_VERSION",)
        if not as_if:
            return Found(detail=f"{value!r} is not of the form a.b.c.", facts=facts, severity="error")
        if real and real[:-2] != as_if[:-2]:
            detail = f"{real} is presented as {as_if}, which is of another generation."
            return Found(detail=detail, facts=(*facts, "gpus"), severity="error" if signals.harmful else "warning")
        shown = f"as {as_if}" if real != as_if else "as what it is: the override changes nothing"
        return Found(detail=f"{real or 'The GPU'} is presented {shown}.", facts=facts, severity="info")

    @staticmethod
    def _disguised(gpus: tuple[Gpu, ...], matrix: Matrix) -> Outcome:
        """ROCm calls a GPU by a target of another generation than that of every product of its name."""
        for gpu in amd_cards(gpus):
            real = {row.target for row in find_gpu(matrix, gpu.name)} if gpu.name and gpu.target else set[str]()
            if real and all(target[:-2] != gpu.target[:-2] for target in real):
                detail = f"{gpu.name} is {' or '.join(sorted(real))}, and ROCm calls it {gpu.target}."
                return Found(detail=detail, facts=("gpus",), confidence="likely")
        return None


class RocmGfxUnsupported(AmdRule):
    """The build has no code objects for this AMD GPU.

    Why: ROCm builds carry code for listed targets only, and there is no intermediate form to compile from.
    Fix: Use a build that lists the GPU's target, or hide GPUs that no build serves. As a stopgap for a near sibling set
        HSA_OVERRIDE_GFX_VERSION.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
        - https://llvm.org/docs/AMDGPUUsage.html
    """

    area = "rocm"
    requires = ("wrong-vendor-build", "rocm-gfx-override")
    asks = ("builds", "rocm")
    changes = (Variable("HIP_VISIBLE_DEVICES", "0"),)

    def check(
        self, host: Host, installed: tuple[Installed, ...], matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]
    ) -> Outcome:
        """The device's gfx target is not among the build's, and no generic target covers it."""
        cards = [gpu for gpu in amd_cards(gpus) if gpu.target]
        for item in installed:
            for gpu in cards:
                if item.rocm and item.kernels and not self._runs(gpu, item.kernels, host.env or {}, matrix):
                    mild = len(cards) > 1 and not signals.harmful and _is_inside(gpu, matrix)
                    carries = f"{item.label} carries {' '.join(item.kernels[:12])}"
                    return Found(
                        detail=f"{gpu.name or 'The GPU'} is {gpu.target}; {carries}.",
                        facts=("gpus", item.fact),
                        sources=cite(matrix, item.row),
                        severity="warning" if mild else None,
                        confidence=item.sure,
                    )
        return self._by_message(cards, matrix, signals, host.rocm or "")

    @staticmethod
    def _runs(gpu: Gpu, kernels: tuple[str, ...], env: Mapping[str, str], matrix: Matrix) -> bool:
        """Whether the build serves the device, an override in force counted."""
        override = env.get("HSA_OVERRIDE_GFX_VERSION", "")
        as_if = overridden(override) or gpu.target
        plain = tuple(kernel for kernel in kernels if kernel.startswith("gfx"))
        return kernels_for(as_if, plain, matrix.families) == "native"

    def _by_message(self, cards: list[Gpu], matrix: Matrix, signals: Hearing, rocm: str) -> Outcome:
        """A message names a missing code object: which card it is, and from which release on ROCm serves it."""
        heard = signals.saying("no-code")
        if not heard or not cards:
            return self._by_crash(cards, matrix, signals)
        target = signals.value("gfx") or signals.value("gfx2") or cards[0].target
        if any(gpu.target != target for gpu in cards) and any(gpu.integrated and gpu.target == target for gpu in cards):
            return Fits("")  # told by rocm-igpu-interferes
        row = matrix.gfx(target)
        first = row.first_rocm if row and not row.last_rocm else ""
        early = bool(first) and is_version(rocm) and not versions.at_least(rocm, first)
        here = f", and ROCm {rocm} is here" if early else ""
        official = f" ROCm supports it officially from {first} on{here}." if first else ""
        detail = f"{heard.signal.meaning} The GPU is {target}.{official}"
        facts = ("gpus", "rocm") if early else ("gpus",)
        return Found(detail=detail, facts=facts, sources=cite(matrix, row))

    def _by_crash(self, cards: list[Gpu], matrix: Matrix, signals: Hearing) -> Outcome:
        """A crash without a word, or no GPU found, beside a GPU that ROCm does not serve, or only of late."""
        blind = None if "ollama-amd-unsupported" in signals else signals.get("gpus-none-discovered")
        if "crashed" not in signals and not blind:
            return None
        for gpu in cards:
            row = matrix.gfx(gpu.target)
            if row and (not row.first_rocm or row.last_rocm):
                fact = "The program finds no GPU that it can use" if blind else "A process crashed"
                detail = f"{fact}, and {gpu.name or 'the GPU'} is {gpu.target}, which few ROCm builds serve."
                sources = cite(matrix, row)
                return Found(detail=detail, facts=("gpus",), sources=sources, confidence="likely", severity="warning")
        # accelerators (gfx9) are in every build; of cards for graphics each build carries a few
        card = next((card for card in cards if re.fullmatch(r"gfx1\d[0-9a-f]{2}", card.target)), None)
        if card is None or blind:
            return None
        detail = (
            f"A process crashed without a word beside {card.name or card.target}; mostly the build has "
            "no code for that GPU, or the ROCm release is not the one it was made for."
        )
        return Found(detail=detail, facts=("gpus",), confidence="possible", severity="warning")


def overridden(version: str) -> str:
    """The target that an override value names: ``10.3.0`` -> ``gfx1030``; empty if it is not of the form a.b.c."""
    found = re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})", version)
    return f"gfx{int(found[1])}{int(found[2]):x}{int(found[3]):x}" if found else ""


class RocmIgpuInterferes(AmdRule):
    """An integrated AMD GPU is visible next to the discrete one.

    Why: Some libraries need code for every visible device: the message says "all current devices".
    Fix: Show the discrete GPU alone. Or switch the integrated one off in the firmware setup.
    Sources: https://rocm.docs.amd.com/projects/radeon/en/latest/docs/prerequisites.html
    """

    severity = "warning"
    area = "rocm"
    requires = ("rocm-gfx-unsupported",)
    asks = ("env",)
    changes = (Variable("HIP_VISIBLE_DEVICES", "0"),)

    def check(self, host: Host, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """More than one AMD GPU is visible, and one of them is integrated; worse where a message has its target."""
        cards = amd_cards(gpus)
        small = next((gpu for gpu in cards if gpu.integrated), None)
        hidden = any((host.env or {}).get(name) for name in ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"))
        if small is None or len(cards) < 2 or hidden:
            return None
        detail = f"{small.name or small.target or 'An integrated GPU'} is visible beside {len(cards) - 1} other."
        if (heard := signals.saying("no-code")) and small.target and small.target == heard.values.get("gfx"):
            return Found(detail=f"{heard.signal.meaning} {detail}", facts=("gpus",), severity="error")
        return Found(detail=detail)
