"""Lint of commands and settings: GPU questions at build time, host software in images, fixed devices, stubs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.lint.bases as bases
import compat.lint.images as images
import compat.lint.serving as serving
from compat import versions
from compat.lint.finding import finding
from compat.sources import installers
from compat.sources.shell import line_of
from compat.sources.values import BUILT, ENTRYPOINT, Ask, Service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Confidence, Finding, Severity
    from compat.lint.scene import Scene
    from compat.lint.walk import Taken
    from compat.matrix import Matrix

_QUERY: Final = re.compile(r"(?:.*/)?(?:nvidia-smi|rocm-smi|rocminfo|amd-smi|deviceQuery|nvidia-debugdump)")
_REPORTER: Final = re.compile(r"(?:.*/)?(?:ds_report|gpustat|nvtop|nvitop)")
_SCRIPT: Final = re.compile(
    r"\b\w*(?:pretrained|example|infer|predict|demo|benchmark|train|generate|test_gpu|check_gpu)\w*\.py\b"
)
_IN_PYTHON: Final = re.compile(
    r"is_available\(\)|is_gpu_available\(|list_(?:physical|local)_devices\(|get_device_(?:name|properties|capability)\(|"
    r"gpu_device_name\(|device_count\(\)|jax\.(?:local_)?devices\(|paddle\.utils\.run_check\("
)
_SHOWS: Final = frozenset(("-h", "--help", "-v", "--version"))
_TOOLKIT: Final = re.compile(r"(libnvidia-container.*|nvidia-container-(toolkit|runtime).*|nvidia-docker2?)")
_DRIVER: Final = re.compile(
    r"cuda(-runtime)?(-\d+-\d+)?|nvidia-(driver|utils|dkms)-\d.*|cuda-drivers.*|nvidia-dkms|libcuda1(-.*)?|nvidia-driver"
    r"|libnvidia-(compute|decode|encode|gl|cfg1|common|extra|fbc1)-\d.*|amdgpu-dkms"
)
# NVIDIA's key of before 2022-04-27, the one that took its place, and a list that it signs (turn cuda-apt-key).
_OLD_KEY: Final = re.compile(r"/cuda/repos/\S+/7fa2af80\.pub")
_NEW_KEY: Final = re.compile(r"3bf863cc|cuda-keyring", re.IGNORECASE)
_LIST: Final = re.compile(r"deb .*developer\.download\.nvidia\.com/compute/cuda/repos/")
_KEPT: Final = re.compile(r"deb .*/compute/machine-learning/repos/")  # which is signed with the key of before
_REPOSITORY: Final = re.compile(r"/cuda/repos/([a-z]+\d+)/")
# Settings for one machine, or for the search for a fault: code of the finding, and what each does to all others.
_PRIVATE: Final = {
    "HSA_OVERRIDE_GFX_VERSION": ("rocm-gfx-override", "on every other GPU it forces code for another chip"),
    "CUDA_LAUNCH_BLOCKING": ("cuda-env-harmful", "every kernel waits for the one before it"),
}
# Where a file means a GPU that nothing gives: the code, what is told, and the way out.
_UNGIVEN: Final = {
    "compose": (
        "container-no-gpu", "runArgs is not used beside dockerComposeFile, and its service gets no GPU there.",
        "Reserve the GPU in the compose file, under deploy.resources.reservations.devices.",
    ),
    "devcontainer": (
        "container-no-gpu", "The feature nvidia-cuda brings CUDA's libraries, and no GPU is asked for.",
        'Add "runArgs": ["--gpus", "all"], or "hostRequirements": {"gpu": "optional"}.',
    ),
    "job": (
        "gpus-too-few", "CUDA is loaded, and no line of #SBATCH asks for a GPU: the job gets none.",
        "Add #SBATCH --gpus=1, or what this cluster calls its GPUs in --gres.",
    ),
}  # fmt: skip
# A requirement before whose version a shell finds a redirection, and what that names.
_UNQUOTED: Final = re.compile(r"(?:[A-Za-z][\w.\[\],=!~*-]*)?[<>](?:=[\d$]|\d+\.\d).*")
_NAMES: Final = re.compile(r"([<>])([^<>]*)")
_TEGRA: Final = frozenset({"torch", "torchvision", "torchaudio", "tensorflow", "jax", "jaxlib", "onnxruntime-gpu"})


def queries(scene: Scene) -> Iterator[Finding]:
    """gpu-query-at-build: a tool or a framework asked for a device in a RUN step."""
    for command in scene.stage.commands:
        if not command.build or scene.ask.kind not in BUILT:
            continue
        tool = _QUERY.fullmatch(command.words[0])
        python = re.match(r"(?:.*/)?python", command.words[0]) is not None
        script = python and _IN_PYTHON.search(command.text)
        runs = python and _SCRIPT.search(command.text) and scene.gpu
        server = serving.package_of(command) and not _SHOWS & {*command.words}
        if tool or script or runs or server or _REPORTER.fullmatch(command.words[0]):
            fails = (tool or server or "assert" in command.text) and not command.guarded and not command.branch
            what = "runs a program that wants" if runs else "starts a server that wants" if server else "asks for"
            detail = f"`{command.text[:70]}` {what} a GPU while the image is built."
            level: Severity = "error" if fails else "warning"
            sure: Confidence = "likely" if server else "possible" if runs else "certain"
            fix = "Start it by CMD or ENTRYPOINT, when the container runs." if server else ""
            yield finding("gpu-query-at-build", scene, command.line, detail, severity=level, confidence=sure, fix=fix)


def host_software(scene: Scene) -> Iterator[Finding]:
    """container-runtime-in-image, image-ships-driver."""
    apt = (step for step in scene.stage.installs if step.manager == "apt")
    own = {request.name: request.line for step in apt for request in step.requests}
    for name, line in own.items():
        if _TOOLKIT.fullmatch(name):
            yield finding("container-runtime-in-image", scene, line, f"{name} is host software.", severity="warning")
        elif _DRIVER.fullmatch(name):
            what = "a kernel module" if "dkms" in name else "driver libraries"
            effect = "which the host's kernel never loads" if "dkms" in name else "which hide those of the host"
            detail = f"{name} puts {what} into the image, {effect}."
            yield finding("image-ships-driver", scene, line, detail, severity="warning")


def keys(scene: Scene) -> Iterator[Finding]:
    """apt-key-deprecated: an error where NVIDIA's old key is the one for its lists, which a step then reads.

    A hint on a system of before the deprecation.
    """
    texts = [one.text for one in scene.stage.commands if one.build and not one.branch]
    how = "too: the other list keeps its key" if any(map(_KEPT.search, texts)) else "in its place"
    old = next((number for number, text in enumerate(texts) if _OLD_KEY.search(text)), None)
    after = texts[old + 1 :] if old is not None and not any(_NEW_KEY.search(text) for text in texts) else []
    listed = next((number for number, text in enumerate(after) if _LIST.search(text)), len(after))
    stops = any(images.UPDATES.search(text) for text in after[listed:])
    severity: Severity = "error" if stops else "warning"
    for command in scene.stage.commands:
        if command.words[0].rpartition("/")[2] == "apt-key" and "del" not in command.words[1:2]:
            detail = f"`{command.text[:70]}`"
            detail += ": NVIDIA signs this list with another key now, and apt-get update stops." if stops else ""
            fix = f"Fetch 3bf863cc.pub {how}." if stops else ""
            if not stops and (os := _former_apt(command.text, scene)):
                severity, detail = "info", f"{detail}: later systems than {os} drop it."
            yield finding("apt-key-deprecated", scene, command.line, detail, severity=severity, fix=fix)
            return


def _former_apt(text: str, scene: Scene) -> str:
    """The system of the base, or that NVIDIA's list is for, if its apt-key is from before the deprecation."""
    listed = _REPOSITORY.search(text)
    row = scene.matrix.system((scene.base and scene.base.os) or (listed[1] if listed else ""))
    for turn in scene.matrix.table("turns") if row else ():
        if row and turn.turn == f"apt-key-{turn.name}" and row.os.startswith(turn.name):
            return "" if versions.at_least(row.os.removeprefix(turn.name), turn.version) else row.os
    return ""


def settings(scene: Scene) -> Iterator[Finding]:
    """devices-hardcoded, driver-stub-loaded, cuda-home-broken: what ENV leaves behind."""
    if scene.ask.kind == "kubernetes":
        return  # told of its containers as services
    env, lines = scene.stage.env, scene.stage.env_lines
    for name in serving.DEVICES:
        if re.fullmatch(r"\d+(,\d+)*|GPU-[0-9a-f-]+", env.get(name, "")) and name in lines:
            detail = f"{name}={env[name]} is fixed in the image."
            yield finding("devices-hardcoded", scene, lines[name], detail, severity="warning")
    broken = [*_cuda_home(scene), *_no_toolkit(scene)]
    if "/stubs" in env.get("LD_LIBRARY_PATH", "") and "LD_LIBRARY_PATH" in lines and not broken:
        detail = "LD_LIBRARY_PATH names a stubs folder: the stub libcuda hides the real driver."
        # as shipped, the folder has no libcuda.so.1, by which programs load the driver
        level: Severity = "error" if scene.final and _stub_linked(scene) else "info"
        yield finding("driver-stub-loaded", scene, lines["LD_LIBRARY_PATH"], detail, severity=level)
    yield from broken
    yield from _debugging(scene)


def _stub_linked(scene: Scene) -> bool:
    """Whether a step leaves a libcuda.so.1 in the folder of stubs."""
    linked, inside = False, False
    for command in scene.commands:
        head = command.words[0]
        inside = "stubs" in command.text if head == "cd" else inside
        last = next((word for word in reversed(command.words) if not word.startswith("-")), "")
        if last.endswith("libcuda.so.1") and ("stubs" in last or (inside and "/" not in last)):
            linked = (linked or head in {"ln", "cp"}) and head not in {"rm", "unlink"}
    return linked


def _debugging(scene: Scene) -> Iterator[Finding]:
    """rocm-gfx-override, launch-blocking: settings for one machine or one search for a fault, kept in the image."""
    for name, (code, why) in _PRIVATE.items():
        if scene.final and scene.stage.env.get(name, "") not in {"", "0"} and name in scene.stage.env_lines:
            detail = f"{name}={scene.stage.env[name]} is fixed in the image: {why}."
            yield finding(code, scene, scene.stage.env_lines[name], detail, severity="warning")


def _cuda_home(scene: Scene) -> Iterator[Finding]:
    """Variables that name another CUDA than the base has: compilers and loaders follow them."""
    base = scene.base
    for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"):
        found = re.search(r"/cuda-(\d+\.\d+)", scene.stage.env.get(name, ""))
        known = found and base and base.cuda and name in scene.stage.env_lines
        if known and found and base and not versions.same_series(found[1], base.cuda):
            detail = f"{name} names CUDA {found[1]}, and {base.reference} has {base.cuda}."
            yield finding("cuda-home-broken", scene, scene.stage.env_lines[name], detail, severity="warning")


def _no_toolkit(scene: Scene) -> Iterator[Finding]:
    """A setting that names /usr/local/cuda where neither the base nor any step brings one."""
    base = scene.base
    brought = any("cuda" in request.name for request in scene.apt) or any(
        re.search(r"cuda(?:(?!cuda).)*(\.run|install)|dpkg|--from", command.text) for command in scene.commands
    )
    if base is None or base.kind not in {"plain", "python"} or brought or any(part.copies for part in scene.chain):
        return
    for name, line in scene.stage.env_lines.items():
        if "/usr/local/cuda" in scene.stage.env.get(name, "") and name in {"PATH", "LD_LIBRARY_PATH", "CUDA_HOME"}:
            detail = f"{name} names /usr/local/cuda, and nothing in this image brings a toolkit."
            yield finding("cuda-home-broken", scene, line, detail, severity="warning", confidence="likely")
            return


def jetson(scene: Scene) -> Iterator[Finding]:
    """jetson-generic-wheel: a generic wheel on an L4T base."""
    if scene.gpu != "jetson":
        return
    for item in scene.own:
        if item.request.name not in _TEGRA or item.request.url or _base_may_meet(item, scene):
            continue
        if place := _generic(item):
            detail = f"{item.request.text} of {place} has no code for Jetson's integrated GPU."
            fix = "Take the wheel that is built for this JetPack."
            sure = scene.base is not None and scene.base.repository.startswith("nvcr.io/nvidia/l4t")
            level: Severity = "error" if sure else "warning"  # other makers' images set an index of their own
            yield finding("jetson-generic-wheel", scene, item.request.line, detail, severity=level, fix=fix)
            return


def _base_may_meet(item: Taken, scene: Scene) -> bool:
    """Whether the image may bring what a request wants: companions come along with the framework that it is made for.

    Which release it has may be unknown; then only a pin asks for another one for sure.
    """
    if item.outcome.why == "kept":
        return True
    brought = scene.base.installed if scene.base else {}
    package = scene.matrix.package(item.request.name)
    if item.request.name in brought:
        return not (brought[item.request.name] or item.request.exact or item.replaces)
    follows = package is not None and package.follows in brought
    return follows and not (item.request.exact or item.replaces)


def _generic(item: Taken) -> str:
    """The index for all machines that a request is met from; empty if it is one for Jetson boards, or not known."""
    place = item.outcome.origin or (item.origins[0] if len(item.origins) == 1 else None)
    if place is None or place.index is None or place.mirror or "jetson" in place.index:
        return ""
    return place.url or "the default index"


def root_user(scene: Scene) -> Iterator[Finding]:
    """root-user: the final stage runs as root."""
    root = (scene.stage.user or "root").partition(":")[0] in {"root", "0"}
    if root and scene.ask.kind == "dockerfile" and scene.final and scene.base:
        detail = "No USER is set: the container runs as root."
        yield finding("root-user", scene, scene.stage.line, detail, severity="info")


def refused(ask: Ask) -> Iterator[Finding]:
    """instruction-unknown: the first line that no builder reads, or no shell; gpus-too-few: where no scheduler does."""
    for line, why, fix in ask.refused[:1]:
        job = "the job gets no GPU" if line > 1 else "sbatch refuses the script"
        then = {"job": job, "compose": "no service starts"}.get(ask.kind, "the build stops there")
        code = "gpus-too-few" if ask.kind == "job" and line > 1 else "instruction-unknown"
        yield finding(code, ask, line, f"{why}: {then}.", fix=fix)


def half_listed(scene: Scene) -> Iterator[Finding]:
    """instruction-unknown: words in brackets that are no JSON, so that a shell gets them as they stand.

    Source: the Dockerfile reference, "Shell and exec form" (the exec form is parsed as a JSON array).
    """
    steps = (one for one in scene.stage.commands if one.build and not (one.guarded or one.branch))
    for command in (*steps, *scene.stage.starts) if scene.ask.kind == "dockerfile" else ():
        head, *rest = command.words[command.words[:1] == (ENTRYPOINT,) :]
        glued = head[:1] == "[" and head not in {"[", "[["} and ("]" not in head or ("," in head and head[-1] == "]"))
        if glued or (head == "[" and rest and rest[0].endswith(",")):
            text = " ".join((head, *rest))[:60]
            detail = f"`{text}` is no list of words: a shell gets it as it stands, and finds no such program."
            fix = "Put each word into double quotes, a comma between two, and nothing behind the bracket."
            yield finding("instruction-unknown", scene, command.line, detail, fix=fix)


def services(ask: Ask, matrix: Matrix) -> Iterator[Finding]:
    """Compose: devices-hardcoded, pin-missing, base-tag-gone, base-tag-eol."""
    told: set[int] = set()
    if ask.unused:
        code, detail, fix = _UNGIVEN["compose" if ask.service[0] else ask.kind]
        yield finding(code, ask, ask.unused, detail, severity="warning", confidence="likely", fix=fix)
    for service in ask.services:
        yield from _service_image(ask, service, matrix) if ask.kind == "compose" else ()
        fixed = [device for device in service.devices if re.fullmatch(r"\d+|GPU-[0-9a-f-]+|/dev/nvidia\d+", device)]
        fixed += [
            f"{name}={service.env[name]}"
            for name in serving.DEVICES
            if re.fullmatch(r"\d+(,\d+)*", service.env.get(name, ""))
        ]
        if fixed and service.device_line not in told:
            told.add(service.device_line)
            detail = f"{service.name} is bound to device {', '.join(fixed)}."
            level: Severity = "info" if all(re.fullmatch(r"(?:\w+=)?0", one) for one in fixed) else "warning"
            yield finding("devices-hardcoded", ask, service.device_line, detail, severity=level)  # 0 is everywhere
        for name, (code, why) in _PRIVATE.items():
            if service.env.get(name, "") not in {"", "0"} and "$" not in service.env[name]:
                line = service.env_lines.get(name, service.line)
                detail = f"{service.name} sets {name}={service.env[name]}: {why}."
                yield finding(code, ask, line, detail, severity="warning")
        if service.withdrawn:
            detail = f"{service.name} asks for {service.withdrawn}, which no cluster since Kubernetes 1.11 offers."
            yield finding("k8s-no-gpu-resource", ask, service.resource_line, detail)


def _service_image(ask: Ask, service: Service, matrix: Matrix) -> Iterator[Finding]:
    """An image of a service that its registry no longer has, or that gets no rebuilds."""
    if not service.image or "$" in service.image:
        return
    base = bases.read(service.image, matrix)
    if not base.digest and (not base.tag or base.tag.startswith("latest") or base.tag.endswith("latest")):
        yield finding("pin-missing", ask, service.image_line, f"{service.image} moves.", severity="info")
    if said := images.status(base, matrix):
        code, level = images.severity(said, base, matrix)
        detail = f"{service.image} {images.AGAINST[said]}."
        yield finding(code, ask, service.image_line, detail, severity=level)


def unquoted(scene: Scene) -> Iterator[Finding]:
    """requirement-unquoted: not told where a variable may have brought the sign, which a shell then passes on."""
    filled = [value for value in scene.stage.env.values() if {*"<>"} & {*value}]
    written: set[str] = set()
    for command in scene.stage.commands:
        asks = command.build and any(step.manager != "apt" for step in installers.installs([command]))
        for word in command.words if asks else ():
            bare = getattr(word, "bare", False) and not any(value in word or word in value for value in filled)
            if not bare or not _UNQUOTED.fullmatch(word):
                continue
            named = _NAMES.findall(word)
            absent = next((name for sign, name in named if sign == "<" and name not in written), "")
            written |= {name for sign, name in named if sign == ">"}
            what = f"reads a file {absent}, which is not there: the command does not run"
            if not absent:
                what = f"takes {named[0][1]} for the name of a file, and the installer sees no bound"
            whole = f"Put it into quotes: '{word}'." if word[0] not in "<>" else ""
            mild = not absent or command.guarded or command.branch
            yield finding(
                "requirement-unquoted", scene, line_of(word, command.line), f"At `{word}` the shell {what}.",
                severity="warning" if mild else "error", fix=whole,
            )  # fmt: skip


RULES: Final = (queries, host_software, keys, settings, jetson, root_user, half_listed, unquoted)
