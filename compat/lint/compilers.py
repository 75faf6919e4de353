"""Lint of what compiles: an extension's toolkit against torch's, its list of GPUs, a compiler that is not there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.joints.toolkit as joint
import compat.lint.images as images
import compat.lint.origins as origins
from compat import versions
from compat.joints.verdict import Clash
from compat.lint.finding import finding, of_base
from compat.lint.scene import SCRIPT
from compat.matrix import measured
from compat.sources import files
from compat.sources.values import BUILT, PROJECT, Command
from compat.targets import sm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from compat.findings import Finding, Severity
    from compat.lint.bases import Base
    from compat.lint.scene import Scene
    from compat.matrix import Matrix
    from compat.matrix.rows import Repository, Script
    from compat.sources.values import Install, Request

# Kinds of files that do not say how they are installed.
_LISTS: Final = frozenset({"requirements", "pyproject", "conda"})
# Commands that only name things: users, folders, packages of the system, texts.
_COMPILES_NOTHING: Final = re.compile(
    r"(?:sudo )?(?:user(?:add|mod)|group(?:add|mod)|adduser|mkdir|ch(?:own|mod)|cd|rm|ln|cp|mv|touch|echo|sed|apt"
    r"(?:-get)?) "
)
# Extensions that hand the whole list to nvcc; a build of one's own may filter it first.
_NAMED_EXTENSION: Final = re.compile(
    r"flash[-_]attn|deepspeed|\bapex\b|detectron2|mmcv-full|torch-(scatter|sparse)|pytorch3d"
)
_EXTENSION: Final = re.compile(
    rf"{_NAMED_EXTENSION.pattern}|torch-cluster|setup\.py (install|develop|bdist)", re.IGNORECASE
)
_FETCHES: Final = re.compile(r"(?:\S*python[\d.]* -m |uv )?\S*pip[\d.]* (?:\S+ )*?install ")
# What may bring a framework without naming it: tools that read a project or a list of their own, sources, addresses.
_MAY_BRING: Final = re.compile(
    r"\b(?:uv sync|poetry|pdm|pipenv|conda|mamba|micromamba|pixi|make|setup\.py)\b|"
    r"\binstall .*(?:\s\.{1,2}(?:[/\s\[]|$)|\s/|git\+|https?://|\.whl)"
)
# What a build needs beside a framework, and what brings none.
_BUILDS_ALONE: Final = re.compile(r"pip|setuptools|wheel|packaging|ninja|cmake|numpy|psutil|cython|uv|pybind11|einops")
# Settings by which a build makes GPU code whether it sees a GPU or not: setup.py of torchvision, detectron2, DeepSpeed.
_BUILDS: Final = re.compile(
    r"pip\S* (?:install|wheel) .*(?:git\+|\./|(?<=\s)\.(?:\s|$)|-e\s)|setup\.py (?:install|bdist|build)"
)
_FORCES: Final = re.compile(r"(?:FORCE_CUDA|DS_BUILD_(?!AIO|CPU)\w+)=1")
# What CMAKE_ARGS of llama.cpp say for CUDA, by its names over time.
_CUDA_ASKED: Final = re.compile(r"-D(?:LLAMA|GGML)_(?:CUBLAS|CUDA)=(?:on|1|true|yes)\b", re.IGNORECASE)


def toolkit(scene: Scene) -> Iterator[Finding]:
    """toolkit-mismatch-extension: extensions compiled by a toolkit of another major than torch's."""
    listed = "TORCH_CUDA_ARCH_LIST" in scene.stage.env  # which torch's builder of CUDA code alone reads
    kept = {line for line, _ in _from_sources(scene)}
    steps = (one for one in scene.commands if one.line in kept or _compiles_extension(one, folders=listed))
    compiled = next(steps, None)
    torch, nvcc = scene.there("torch", compiled.line) if compiled else None, _nvcc(scene)
    if scene.base is None or torch is None or torch.build is None or torch.base or not nvcc:
        return
    found = joint.extends(f"torch {torch.build.full_version}", torch.build.runtime, nvcc, torch.build)
    if compiled and isinstance(found, Clash):
        fix = f"Start from a devel image of CUDA {found.wants}, or take torch for CUDA {versions.minor(nvcc)}."
        detail = f"`{compiled.text[:60]}`: {found.why}."
        yield of_base("toolkit-mismatch-extension", scene, compiled.line, detail, fix=fix, rows=found.rows)


def compiler_missing(scene: Scene) -> Iterator[Finding]:
    """image-runtime-not-devel: a step that needs nvcc, on an image without one.

    Source: setup.py of flash-attn, causal-conv1d and mamba-ssm: before prebuilt wheels are looked for nvcc is asked for
    its release where CUDA_HOME is found, and where it is not torch's CUDAExtension stops.
    """
    base = scene.base
    settings = [*scene.stage.env.items(), *(pair for command in scene.commands for pair in command.settings)]
    if base is None or not _lacks_nvcc(base, scene) or any(name.endswith("SKIP_CUDA_BUILD") for name, _ in settings):
        return
    forced = next((each for each in scene.stage.commands if _is_forced(each, scene.stage.env)), None)
    others = {row.name for row in scene.matrix.table("compiled")} & {one.request.name for one in scene.own}
    if forced and (
        sure := _is_forced(forced, {}) or any(_place(row) in forced.text for row in scene.matrix.table("repositories"))
    ):
        others = set()
    if forced and not others:  # else the image's variable is meant for those
        does = "compiles GPU code" if sure else "is told to compile GPU code"
        detail = f"`{forced.text[:60]}` {does}; {base.reference} has no nvcc."
        level: Severity = "error" if sure and not (forced.guarded or forced.branch) else "warning"
        yield finding(
            "image-runtime-not-devel", scene, forced.line, detail, severity=level, fix=_devel(base, scene),
            confidence="certain" if sure else "likely",
        )  # fmt: skip
    elif base.kind == "cuda":
        cuda = any(_CUDA_ASKED.search(value) for name, value in settings if name == "CMAKE_ARGS")
        yield from _asking(scene, base, cuda=cuda)


def _lacks_nvcc(base: Base, scene: Scene) -> bool:
    """Whether neither an image nor a step brings the compiler."""
    if base.variable or not (base.flavour in {"base", "runtime"} or base.kind in {"python", "plain"}):
        return False
    toolkit = any(re.search(r"cuda|nvcc|nvidia", each.name) for each in (*scene.apt, *scene.conda))
    copied = any(part.copies for part in scene.chain)
    return not (toolkit or copied or any(re.search(r"cuda[\w.]*\.run|\.deb\b", one.text) for one in scene.commands))


def _asking(scene: Scene, base: Base, *, cuda: bool) -> Iterator[Finding]:
    """Packages whose installation asks for nvcc."""
    code = "image-runtime-not-devel"
    for item in scene.own:
        name = item.request.name
        if name == "llama-cpp-python" and cuda and not item.step.extra_indexes:
            detail = f"{item.request.text} is to be compiled with CUDA; {base.reference} has no toolkit."
            yield of_base(code, scene, item.request.line, detail, severity="warning")
            return
        package = scene.matrix.package(name)
        fetches = package is not None and package.name == name and package.force_build
        if not fetches or item.request.url.endswith(".whl") or item.step.find_links:
            continue
        detail = f"{item.request.text} asks nvcc when it is installed; {base.reference} has none."
        level: Severity = "warning" if {item.request.line, item.step.line} & _loose(scene) else "error"
        yield of_base(
            code, scene, item.request.line, detail, severity=level, confidence="likely", fix=_devel(base, scene)
        )
        return


def without_kernels(scene: Scene) -> Iterator[Finding]:
    """image-runtime-not-devel, accidental-cpu-wheel: a source that is compiled without its GPU code.

    By its setup.py a build makes that only where it sees nvcc and a GPU, which a build of an image does not, or where a
    variable says so.
    """
    base = scene.base
    if base is None or base.variable or scene.ask.kind not in BUILT:
        return
    if not (base.kind == "cuda" or any("+cu" in one.request.exact for one in scene.own)):
        return  # nobody asks for a GPU
    named = {*scene.stage.env, *(name for command in scene.commands for name, _ in command.settings)}
    rows = {row.name: row for row in scene.matrix.table("compiled") if row.forced not in named}
    found = [(line, rows[name]) for line, name in (*_from_sources(scene), *_from_index(scene)) if name in rows]
    loose, lacks = _loose(scene), _lacks_nvcc(base, scene)
    words = [(each.line, word) for each in scene.stage.commands for word in each.words]
    for line, row in sorted(found, key=lambda one: one[0])[:1]:
        why = f"{base.reference} has no nvcc" if lacks else "no GPU is seen while an image is built"
        fix = (_devel(base, scene) or "Compile in a stage of a devel image, and copy the result.") if lacks else ""
        again = any(after > line and word.startswith(row.name) for after, word in words)  # by another installer
        yield of_base(
            "image-runtime-not-devel" if lacks else "accidental-cpu-wheel", scene, line,
            f"{row.name} is compiled without its GPU code: {why}.", rows=(row,), confidence="likely",
            fix=f"{fix} Set {row.forced}=1{' there' if lacks else ' for this step'}.".strip(),
            severity="error" if lacks and not again and line not in loose else "warning",
        )  # fmt: skip


def _from_index(scene: Scene) -> Iterator[tuple[int, str]]:
    """Line and name of what is asked of the default index, in a release that it has as source alone."""
    kept = {row.name for row in scene.matrix.table("repositories")}  # which no index has
    rows = {row.name: row for row in scene.matrix.table("compiled") if row.name not in kept}
    for item in scene.own:
        row, request = rows.get(item.request.name), item.request
        elsewhere = request.url or request.marker or any(place.url for place in item.origins)
        if row and not elsewhere and (not request.exact or versions.admits(row.versions, request.exact)):
            yield request.line, request.name


def _from_sources(scene: Scene) -> Iterator[tuple[int, str]]:
    """Line and name of what is installed from its repository, or from a folder cloned from there."""
    cloned: dict[str, str] = {}
    for command in scene.stage.commands:
        for row in (one for one in scene.matrix.table("repositories") if _place(one) in command.text):
            cloned |= dict.fromkeys(files.cloned(command), row.name)
            cloned |= {word: row.name for word in command.words if _place(row) in word}
        if command.build and _FETCHES.match(command.text):
            yield from ((command.line, cloned[word]) for word in map(_folder, command.words) if word in cloned)


def _place(row: Repository) -> str:
    """The address of a repository as a command may name it."""
    return row.address.removeprefix("git+").partition("#")[0].rstrip("/")


def _folder(word: str) -> str:
    """A word as a folder beside the command: ``./detectron2/`` is ``detectron2``; an address as it is."""
    return word if "://" in word else word.removeprefix("./").rstrip("/")


def isolated(scene: Scene) -> Iterator[Finding]:
    """build-tools-missing: an extension whose build script imports torch, built where torch is not.

    Where conda itself brings no torch, no pip finds one.
    """
    names = {one.name for one in scene.conda}
    torchless = scene.ask.kind == "conda" and not any("torch" in name for name in names)
    recorded = scene.ask.kind == "requirements" and all(one.request.exact for one in scene.own)  # what was built once
    unsure = recorded or (scene.ask.kind == "conda" and not (_newest_pip(scene.conda) or torchless))
    if not torchless and _is_old(scene.python, scene):
        return
    for step, apart in _built(scene):
        for one in step.requests if apart else ():
            if _imports_torch(one, step, scene.matrix):
                detail = f"{one.text} is built in an environment of its own, where its build script finds no torch."
                level: Severity = "warning" if unsure or step.heeds is not None else "error"
                project = (scene.ask.kind, step.manager) == ("pyproject", "uv")
                uv = f"; for uv name {one.name} in no-build-isolation-package of [tool.uv]" if project else ""
                fix = f"Install torch first, then this with --no-build-isolation{uv}."
                code = "build-tools-missing"
                yield finding(code, scene, one.line, detail, severity=level, confidence="likely", fix=fix)
                return


def outdated(scene: Scene) -> Iterator[Finding]:
    """build-tools-missing: a source whose build script imports pkg_resources, built with the newest setuptools."""
    bounded = any("CONSTRAINT" in name for part in scene.chain for name in part.env)
    for step, apart in _built(scene) if not bounded else ():
        old, places = _is_old(step.python or scene.python, scene), origins.origins(step, scene.matrix)
        for one in step.requests if not old else ():
            row = _script(one, scene.matrix)
            if row is None or not (apart or row.project) or origins.elsewhere(places, one.name, scene.matrix):
                continue
            what = "is built with the newest setuptools, and its build script imports pkg_resources, which that has not"
            way = f"Take {one.name}=={row.fixed}, or install" if row.fixed else "Install"
            yield finding(
                "build-tools-missing", scene, one.line, f"{one.text} {what}.", confidence="likely",
                severity="warning" if scene.ask.kind in _LISTS and not row.project else "error",
                fix=f"{way} 'setuptools<82' first, then this with --no-build-isolation.",
            )  # fmt: skip


def _script(request: Request, matrix: Matrix) -> Script | None:
    """The row of a release that needs an older setuptools: of the pinned one, or of the newest if that does, too."""
    if request.url or request.marker:
        return None
    rows = (row for row in matrix.table("scripts") if row.name == request.name)
    if request.exact:
        return next((row for row in rows if versions.admits(row.versions, request.exact)), None)
    return next((row for row in rows if not (request.spec or row.fixed)), None)


def _built(scene: Scene) -> Iterator[tuple[Install, bool]]:
    """The steps of pip and uv, each with whether it builds every source in an environment of its own.

    uv does so, and pip since 25.3 (change log: legacy ``setup.py`` builds are removed), unless they are told not to. An
    older pip of the image may still build in place, and a list does not say how it is installed. Conda installs the
    newest pip where nothing bounds it, and runs it without options (conda, env/installers/pip.py).
    """
    renewed = _newest_pip(scene.conda)
    for step in scene.stage.installs:
        renewed |= step.manager == "pip" and _newest_pip(step.requests)
        own = step.home == PROJECT or step.index or step.branch or scene.ask.kind == "lock"
        if step.manager in {"pip", "uv"} and not own and "--no-build-isolation" not in step.options:
            yield step, step.manager == "uv" or renewed or scene.ask.kind in _LISTS


def _newest_pip(requests: Sequence[Request]) -> bool:
    """Whether pip itself is asked for, in any release."""
    return any(one.name == "pip" and not one.spec for one in requests)


def _is_old(python: str, scene: Scene) -> bool:
    """Whether the newest pip and the newest setuptools of a Python are old ones."""
    return bool(python) and not versions.at_least(python, scene.matrix.turn("pip-isolates").version)


def before_torch(scene: Scene) -> Iterator[Finding]:
    """build-tools-missing: an extension whose build script imports torch, where no step before has installed it.

    pip and uv make the metadata of all that a step asks for before they install any of it.
    """
    base, known = scene.base, scene.ask.kind in BUILT and not scene.conda
    if base is None or not known or base.variable or base.installed or base.kind not in {"cuda", "python", "plain"}:
        return
    asked = [
        (one.line, one.text, scene.stage.installs[:number])
        for number, step in enumerate(scene.stage.installs)
        if step.manager in {"pip", "uv"} and not (step.index or step.branch)
        for one in step.requests
        if _imports_torch(one, step, scene.matrix)
    ]
    places = [_place(row) for row in scene.matrix.table("repositories")]
    for command in scene.stage.commands:
        if _FETCHES.match(command.text) and command.build:
            before = tuple(one for one in scene.stage.installs if one.line <= command.line)
            asked += [(command.line, word, before) for word in command.words if any(one in word for one in places)]
    loose = _loose(scene)
    for line, text, before in sorted(asked, key=lambda one: one[0]):
        if line not in loose and _has_no_torch(scene, line, before):
            detail = f"The build script of {text} imports torch, and no step before this one installs it."
            fix = "Install torch in a step before it, and this with --no-build-isolation."
            yield finding("build-tools-missing", scene, line, detail, confidence="likely", fix=fix)
            return


def _loose(scene: Scene) -> set[int]:
    """Lines of the commands that may fail, or may not run at all."""
    return {command.line for command in scene.stage.commands if command.guarded or command.branch}


def _has_no_torch(scene: Scene, line: int, before: Sequence[Install]) -> bool:
    """Whether nothing before a step can have brought torch: no other environment, script, list or unknown package."""
    before = [*(one for part in scene.chain for one in part.installs if part is not scene.stage), *before]
    asked = {request.name for one in before if one.manager in {"pip", "uv"} for request in one.requests}
    hidden = any(part.copies for part in scene.chain) or any(one.files for one in before)
    texts = [each.text for each in scene.commands if each.build and each.line < line]
    run = any(SCRIPT.search(text) or _MAY_BRING.search(text) for text in texts)
    return not (hidden or run) and all(_BUILDS_ALONE.fullmatch(name) for name in asked)


def _imports_torch(request: Request, step: Install, matrix: Matrix) -> bool:
    """Whether what an installer takes comes as source, and its build script imports torch without saying so."""
    package = matrix.package(request.name)
    if request.url or request.marker or package is None or not package.unlisted or package.name != request.name:
        return False
    if origins.elsewhere(origins.origins(step, matrix), request.name, matrix):
        return False
    known = {*measured.releases(request.name), *(row.version for row in matrix.builds(package.name))}
    if request.exact and request.exact not in known:
        return False  # a variant is always a wheel, and of a release that nobody saw nothing is known
    newest = max((row.version for row in matrix.builds(package.name)), key=versions.parsed, default="0")
    return versions.admits(package.unlisted, request.exact or newest) is True


def _is_forced(command: Command, env: Mapping[str, str]) -> bool:
    """Whether a build step cannot do without nvcc: it calls it, or tells a build to make GPU code in any case.

    ``env``: what the image sets beside the step's own variables.
    """
    if not command.build:
        return False
    if command.words[0].rpartition("/")[2] == "nvcc":
        return True
    settings = {**env, **dict(command.settings)}
    asked = any(_FORCES.fullmatch(f"{name}={value}") for name, value in settings.items())
    return "--cuda_ext" in command.text or (asked and _BUILDS.search(command.text) is not None)


def _devel(base: Base, scene: Scene) -> str:
    """The compiler's image in the place of one without."""
    devel = base.reference.replace(f"-{base.flavour}", "-devel") if base.flavour else ""
    if devel and not images.stands(devel, scene.matrix):
        devel = f"a devel image of CUDA {versions.minor(base.cuda)}" if base.cuda else ""
    return f"Compile in a stage of {devel}, and copy the result." if devel else ""


def _nvcc(scene: Scene) -> str:
    """CUDA release of the compiler: a toolkit that apt installs, else the devel base's; empty if not known."""
    for request in reversed(scene.apt):
        if found := re.fullmatch(r"cuda(?:-toolkit|-nvcc|-compiler)?-(\d+)-(\d+)", request.name):
            return f"{found[1]}.{found[2]}"
    base = scene.base
    conda = any(re.search(r"cuda", request.name) for request in scene.conda)
    return base.cuda if base and base.flavour == "devel" and not conda else ""


def _compiles_extension(command: Command, *, folders: bool) -> bool:
    """Whether a command compiles an extension of torch; one that names a page of files may take what was built.

    ``folders``: what is built of a folder's source where the torch of the environment is counts, too.
    """
    text, words = command.text, {*command.words}
    if folders and "--no-build-isolation" in words and {".", "-e", "./"} & words:
        return True
    paged = {"-f", "--find-links"} & {word.partition("=")[0] for word in command.words}
    plain = "torch==" not in text and not paged and not _COMPILES_NOTHING.match(text)
    return plain and _EXTENSION.search(text) is not None


def arch_list(scene: Scene) -> Iterator[Finding]:
    """extension-arch-missing, toolkit-too-old-for-arch: what TORCH_CUDA_ARCH_LIST leaves out, or nvcc cannot make."""
    value, line = scene.stage.env.get("TORCH_CUDA_ARCH_LIST", ""), scene.stage.env_lines.get("TORCH_CUDA_ARCH_LIST", 0)
    nvcc = _nvcc(scene) or (scene.base.cuda if scene.base else "")
    release = scene.matrix.cuda(nvcc) if nvcc and versions.is_release(nvcc) else None
    listed = [found for word in re.split(r"[;, ]+", value) if (found := joint.listed(scene.matrix, word))]
    if not listed or not line or release is None:
        return
    known = [found for target in release.targets if (found := sm(target)) and not found.suffix]
    judged = [(found, joint.verdict(scene.matrix, nvcc, f"sm_{found.major}{found.minor}")) for found in listed]
    clashes = [(found.capability, one) for found, one in judged if isinstance(one, Clash)]
    if clashes and _nvcc(scene):
        detail = f"TORCH_CUDA_ARCH_LIST names {', '.join(dict(clashes))}, for which CUDA {nvcc} has no target."
        severity: Severity = "error" if any(_NAMED_EXTENSION.search(c.text) for c in scene.commands) else "warning"
        sources = tuple(dict.fromkeys(scene.matrix.cite(row) for _, one in clashes for row in one.rows))
        yield finding("toolkit-too-old-for-arch", scene, line, detail, severity=severity, sources=sources)
    if known and "PTX" not in value.upper() and max(listed).major < max(known).major:
        newest, last = max(known), max(listed)
        lacks = f"no code for {newest.capability} and later, which CUDA {nvcc} could target"
        detail = f"The list ends at {last.capability} without PTX: {lacks}."
        fix, cited = "Add the capabilities of the GPUs in use, or +PTX to the last one.", (scene.matrix.cite(release),)
        yield finding("extension-arch-missing", scene, line, detail, severity="warning", fix=fix, sources=cited)


RULES: Final = (toolkit, compiler_missing, without_kernels, isolated, outdated, before_torch, arch_list)
