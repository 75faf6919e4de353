"""Lint of base images: tags that are gone, old or floating, Python that is missing, a compiler that is shipped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.lint.bases as bases
from compat import versions
from compat.joints import libc
from compat.joints.python import packaged
from compat.joints.verdict import Clash, any_of, clash_of
from compat.lint.finding import finding, of_base, of_request
from compat.lint.origins import number
from compat.lint.worlds import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Confidence, Finding, Severity
    from compat.lint.bases import Base
    from compat.lint.scene import Scene
    from compat.matrix import Matrix
    from compat.matrix.rows import Image
    from compat.sources.values import Command

# Commands that may bring a program named python or pip in a way that cannot be seen.
_BRINGS_NAMES: Final = re.compile(
    r"\b(ln|alias|update-alternatives|wget|curl|git|bash|sh|source|dpkg|venv|virtualenv|pyenv|uv|conda|mamba|ensurepip|"
    r"make|cp|mv|easy_install|easy_install3|add-apt-repository|gdebi|tar|ansible-playbook)\b|\.sh\b|\./|"
    r"\bpython3? [\w./-]+\.py\b"
)
# A package manager at work: the names of what it installs are read elsewhere, and run nothing.
_INSTALLING: Final = re.compile(r"(?:apt|apt-get|aptitude) (?:\S+ )*?install\b")
REPAIRED: Final = re.compile(r"sources\.list|\.sources\b|apt-key|cuda-keyring|archive\.debian\.org|vault\.|3bf863cc")
UPDATES: Final = re.compile(r"(?:sudo )?apt(?:-get)? (?:-\S+ )*update\b")
# Commands that may add an archive with other Pythons, in whatever way.
ARCHIVES: Final = re.compile(
    r"add-apt-repository|apt-add-repository|deadsnakes|sources\.list|\.sources\b|\bdpkg\b|\.deb\b|\.sh\b|extrepo|"
    r"(?:^|/)(?:ba|da|z)?sh\b|\bsource\b|ansible|\bmake\b",
    re.IGNORECASE,
)
_PACKAGED: Final = re.compile(r"python(3\.\d{1,2})(?:-(?:dev|venv|minimal|distutils|full))?")
_BOARD: Final = "Move the board to a later JetPack first: an image runs on the JetPack that it is made for."
# What is said of a tag's status.
AGAINST: Final = {
    "absent": "is not in its registry",
    "newer": "is of no release that is known, or it is newer than this matrix",
    "gone": "was removed from its registry",
    "eol": "gets no rebuilds any more",
}
_MOST: Final = 4  # tags of a framework's own image that are tried: each costs a reading of the file
_USES_PYTHON: Final = re.compile(r"(?:.*/)?(?:pip3?|python3?)(?:\.\d+)?")


def tags(scene: Scene) -> Iterator[Finding]:
    """base-tag-gone, base-tag-eol, pin-missing of the base."""
    base = scene.base
    if base is None or scene.stage.parent >= 0 or base.variable:
        return
    row, line, said = base.row, scene.stage.line, status(base, scene.matrix)
    if said:
        detail = f"{base.reference} {AGAINST[said]}."
        code, level = severity(said, base, scene.matrix)
        near = _of_framework(base, scene)
        rows = tuple(filter(None, (row or near[1],)))
        named = bases.home(base.repository) == "nvidia/cuda"  # whose tags are listed
        sure: Confidence = "certain" if (row.how != "inferred" if row else named) else "likely"
        fix = near[0] or successor(base, scene)
        yield of_base(code, scene, line, detail, severity=level, confidence=sure, fix=fix, rows=rows)
    elif (ended_on := ended(base.os, scene.matrix)) and not any(mirrors_moved(scene)):
        detail = f"{base.os} left standard support on {ended_on}."
        fix = _BOARD if base.kind == "jetson" else successor(base, scene)
        yield of_base("base-tag-eol", scene, line, detail, severity=age(base.os, scene.matrix), fix=fix)
    if base.floating and base.reference:
        what = f"tag {base.tag}" if base.tag else "no tag"
        yield of_base("pin-missing", scene, line, f"{base.reference} has {what}: it moves.", severity="info")


def mirrors_moved(scene: Scene) -> Iterator[Finding]:
    """base-tag-eol: a system whose packages left its mirrors, where a step installs some."""
    base = scene.base
    row = scene.matrix.system(base.os) if base and base.os else None
    if base is None or row is None or not row.moved:
        return
    for command in scene.commands:
        if REPAIRED.search(command.text):
            return
        installs = UPDATES.match(command.text) or re.match(r"(?:sudo )?(?:yum|dnf) (?:\S+ )*install\b", command.text)
        if installs and stops(command):
            when = f"{base.reference} names by {row.moved}"
            detail = f"The packages of {row.os} left the mirrors that {when}: `{command.text[:40]}` fails."
            yield of_base("base-tag-eol", scene, command.line, detail, fix=successor(base, scene), rows=(row,))
            return


def stops(command: Command) -> bool:
    """Whether a step of the build runs in any case, and its failure stops the build."""
    return command.build and not command.guarded and not command.branch


def age(os: str, matrix: Matrix) -> Severity:
    """How much it matters that a base gets no rebuilds: its system's packages do for a year, by long-term support."""
    return "warning" if ended(os, matrix, ago=365) else "info"


def severity(said: str, base: Base, matrix: Matrix) -> tuple[str, Severity]:
    """The code for what stands against a tag, and how much it matters."""
    if said == "eol":
        return "base-tag-eol", age(base.os, matrix)
    return "base-tag-gone", "warning" if said == "newer" else "error"


def status(base: Base, matrix: Matrix) -> str:
    """What stands against a tag: ``gone``, ``absent`` (it never was), ``eol`` (no rebuilds); empty if nothing known.

    ``newer``: it names a release after all that are known. Where all tags that are known of the same CUDA release line
    were removed, so was this one.
    """
    if base.row:
        return base.row.status if base.row.status in {"gone", "eol"} else ""
    if never_published(base, matrix):
        return "absent"
    if base.repository in bases.MOVING:
        return _unreleased(base, matrix)
    minor = bases.cuda_minor(base) if bases.home(base.repository) == "nvidia/cuda" else ""
    rows = matrix.select("images", repository="nvidia/cuda", runtime=f"cuda{minor}") if minor else ()
    return "gone" if rows and all(row.status == "gone" for row in rows) else ""


def _unreleased(base: Base, matrix: Matrix) -> str:
    """``absent`` or ``newer``, as :func:`status` says, for a framework's own image by what its tag names.

    A release has one image for each CUDA that it has builds for, with one cuDNN. From the first of the listed tags on
    each spells all numbers of its release.
    """
    name = bases.MOVING[base.repository]
    version, rows = base.installed.get(name, ""), matrix.select("images", repository=base.repository)
    listed = [(row.framework.partition("==")[2], row) for row in rows if row.framework]
    wanted = versions.parsed(version) if version else None
    old = wanted is None or wanted < min(versions.parsed(release) for release, _ in listed)
    if wanted is None or old or base.digest or wanted.is_prerelease:
        return ""
    releases = {versions.parsed(build.version) for build in matrix.builds(name)}
    if version.count(".") < 2 or wanted not in releases:
        return "newer" if version.count(".") > 1 and wanted > max(releases) else "absent"
    runtimes = {build.runtime for build in matrix.builds(name) if build.version == version}
    mine = {row.runtime: versions.major(row.cudnn) for release, row in listed if release == version}
    runtime = f"cuda{base.cuda}"
    if not mine or not base.cuda or not base.cudnn.isdigit():
        return ""
    other = mine[runtime] != int(base.cudnn) if runtime in mine else runtime not in runtimes
    return "absent" if other else ""


def _of_framework(base: Base, scene: Scene) -> tuple[str, Image | None]:
    """In words the listed tag of a framework's own image next to one that is not there: its release or the newest.

    The nearest ones are tried as those of :func:`successor` are.
    """
    version = next(iter(base.installed.values()), "") if base.repository in bases.MOVING else ""
    known: list[tuple[tuple[bool, ...], tuple[int, ...], str, Image]] = []
    for row in scene.matrix.select("images", repository=base.repository) if version else ():
        release = row.framework.partition("==")[2]
        near = (versions.same_series(release, version), release == version, row.runtime == f"cuda{base.cuda}")
        known += [(near, number(release), name, row) for name in row.references() if name.endswith(base.flavour)]
    nearest = sorted(known, key=lambda one: one[:3], reverse=True)[:_MOST]
    best = next((one for one in nearest if scene.trial(one[2])), None)
    return (f"Take {best[2]}.", best[3]) if best else ("", None)


def stands(reference: str, matrix: Matrix) -> bool:
    """Whether nothing is known against a tag, its system included: what may be proposed."""
    base = bases.read(reference, matrix)
    return not status(base, matrix) and not ended(base.os, matrix)


def never_published(base: Base, matrix: Matrix) -> bool:
    """Whether a tag of nvidia/cuda that the matrix has not is spelled like one, and its CUDA release is there.

    The matrix lists every tag of a release on most of the systems that it has for it. A mirror may hold more, and
    images for another system may have come, so only the makers' own name and a system of that release count; and where
    a single flavour is known of that release and system, nothing is said of the others. Tags of two numbers (``11.1``)
    ended with CUDA 11.1, and none of them is listed any more.
    """
    found = bases.CUDA_TAG.fullmatch(base.tag)
    if base.row or base.repository != "nvidia/cuda" or base.digest or base.variable or not found:
        return False
    rows = [
        row
        for row in matrix.select("images", repository="nvidia/cuda")
        if (name := row.tag.partition("-")[0]) == found["cuda"] or name.startswith(found["cuda"] + ".")
    ]
    if not found["os"]:
        return bool(rows)
    if _is_passed_over(found["os"], rows, matrix):
        return True
    alike = {re.sub(r"\d", "", name) for row in rows if row.tag.endswith("-" + found["os"]) for name in row.flavours}
    asked = f"cudnn-{found['flavour']}" if found["cudnn"] else found["flavour"]
    return len(alike) > 1 or asked in alike or (found["cuda"].count(".") == 1 and bool(alike))


def _is_passed_over(os: str, rows: list[Image], matrix: Matrix) -> bool:
    """Whether a CUDA release, of which every system is documented, came without one that could have been there.

    That is a system from before the newest one of the release, or any where later systems than this came to others.
    """
    name = os.rstrip("0123456789.")
    known = [row for row in matrix.select("images", repository="nvidia/cuda") if row.how == "documented"]
    listed, every = ({row.os for row in some if row.os.rstrip("0123456789.") == name} for some in (rows, known))
    if not listed or re.fullmatch(r"ubuntu\d+", os) or os in {*listed, *(row.tag.rpartition("-")[2] for row in rows)}:
        return False
    asked, newest, last = (
        max(versions.release(one.removeprefix(name)) for one in some) for some in ({os}, listed, every)
    )
    return all(row.how == "documented" for row in rows) and (asked < newest or newest < last)


def ended(os: str, matrix: Matrix, *, ago: int = 0) -> str:
    """Day on which a base's system left support; empty if it did not ``ago`` days ago, or the system is not known."""
    from datetime import datetime, timedelta, timezone

    row = matrix.system(os) if os else None
    today = (datetime.now(tz=timezone.utc).date() - timedelta(days=ago)).isoformat()
    return row.eol if row and row.eol and row.eol < today else ""


def _later_system(base: Base, matrix: Matrix) -> str:
    """What to move to from a system that has ended: the next one of its maker that has not."""
    own = matrix.system(base.os)
    if own is None:
        return ""
    maker, home = own.os.rstrip("0123456789."), own.image.rpartition(":")[0] or None
    alike = (row for row in matrix.table("systems") if row.os.rstrip("0123456789.") == maker or f"{home}:" in row.image)
    known = (row for row in alike if number(row.os) > number(own.os) and not ended(row.os, matrix))
    if (later := min(known, key=lambda row: number(row.os), default=None)) is None:
        return ""
    python = f", whose system has Python {later.python}" if later.python != own.python else ""
    plain = base.kind == "plain" and later.image
    return f"Take {later.image}{python}." if plain else f"Move to a tag of {later.os} or later."


def successor(base: Base, scene: Scene) -> str:
    """The nearest maintained tag: same repository, CUDA major, flavour; of its own system, then its CUDA minor.

    Of each system the nearest is tried: the file must show no new error with it. One of another system is named with
    the Python that comes with that. Where no such tag is known, the next system of the same maker.
    """
    cuda = base.row.cuda if base.row else base.cuda
    flavour = re.compile(rf":[\d.]+-{'cudnn[0-9]*-' if base.cudnn else ''}{base.flavour}-")
    minor, major, matrix = ".".join(cuda.split(".")[:2]), int(cuda.partition(".")[0] or 0), scene.matrix
    known = [
        (row.os == base.os, versions.same_series(row.cuda, minor), versions.release(row.cuda), row.os, name)
        for row in matrix.table("images")
        if row.repository == base.repository and row.cuda and cuda and versions.release(row.cuda)[0] >= major
        for name in row.references()
        if flavour.search(name) and _by_apt(row.os, matrix) == _by_apt(base.os, matrix) and stands(name, matrix)
    ]
    if not known:
        return _later_system(base, matrix)
    alike = sorted((one for one in known if one[2][0] == major), reverse=True)
    ordered = alike or sorted(known, key=lambda one: (not one[0], one[2]))
    nearest = {one[3]: one for one in reversed(ordered)}
    fitting = (one for one in ordered if one is nearest[one[3]] and scene.trial(one[4]))
    found = next(fitting, None)
    system = matrix.system(found[3]) if found else None
    python = f", whose system has Python {system.python}" if found and system and system.python and not found[0] else ""
    if alike:
        none = f"No image of CUDA {major} on a system that is maintained takes what this file installs."
        return f"Take {found[4]}{python}." if found else none
    left = f"No image of CUDA {major} is left, and what is built for it needs another release."
    return f"{left} The nearest image is {found[4]}{python}." if found else left


def _by_apt(os: str, matrix: Matrix) -> bool:
    """Whether a system's packages come by apt, as those of a tag of nvidia/cuda without a system did."""
    row = matrix.system(os) if os else None
    return row is None or row.manager == "apt"


def python_missing(scene: Scene) -> Iterator[Finding]:
    """base-python-missing: a pip or python command where nothing has brought one."""
    if any(command.words[0] == "feature" for command in scene.commands):
        return  # a feature or an action may bring one, by any name
    if scene.has_python is False:
        first = next((item for item in scene.stage.commands if _USES_PYTHON.fullmatch(item.words[0])), None)
        lacks = "Python"
    else:
        first, lacks = _other_name(scene)
    if first and scene.base:
        detail = f"`{first.text[:60]}` needs {lacks}, and {scene.base.reference} has none."
        level: Severity = "warning" if first.guarded or first.branch else "error"
        line = "RUN " if scene.ask.kind == "dockerfile" else ""
        line += "apt-get update && apt-get install -y --no-install-recommends python3 python3-pip python3-venv"
        lines = (line,) if _by_apt(scene.base.os, scene.matrix) and not scene.base.musl else ()
        fix = "Install it first."
        yield of_base("base-python-missing", scene, first.line, detail, severity=level, fix=fix, commands=lines)


def python_not_packaged(scene: Scene) -> Iterator[Finding]:
    """base-python-missing: a Python that the base's distribution does not package, from no other archive."""
    rows = bases.systems_of(scene.base, scene.matrix) if scene.base else []
    others = any(ARCHIVES.search(command.text) for command in scene.commands)
    if not rows or others or any(part.copies for part in scene.chain):
        return
    for step in scene.stage.installs:
        for request in step.requests if step.manager == "apt" and rows[0].manager == "apt" else ():
            found = _PACKAGED.fullmatch(request.name)
            judged = any_of(packaged(row, found[1]) for row in rows) if found else None
            if not isinstance(judged, Clash):
                continue
            named = " and ".join(row.os for row in rows)
            only = f", only Python {judged.wants}" if len(rows) == 1 else ""
            what = f"{named} {'have' if rows[1:] else 'has'} no package {request.name}{only}"
            level: Severity = "warning" if step.branch else "error"
            fix = "Take a base whose system has this Python, or let uv install it."
            detail, line = f"{what}, and no other archive is added.", request.line
            yield of_base("base-python-missing", scene, line, detail, severity=level, fix=fix, rows=rows)
            return


def _other_name(scene: Scene) -> tuple[Command | None, str]:
    """The first use of ``pip`` or ``python`` where Debian's packages have brought only another of Python's programs.

    Debian and Ubuntu have no program ``python`` but by python-is-python3, and no pip but by python3-pip; whatever else
    could bring one (a download, a link, an environment, another stage) counts for the file.
    """
    base = scene.base
    names = {request.name for request in scene.apt}
    if base is None or base.python or base.kind not in {"cuda", "plain"} or not is_debian(base):
        return None, ""
    texts = [command.text for command in scene.commands if not _INSTALLING.match(command.text)]
    if any(part.copies for part in scene.chain) or scene.conda or any(_BRINGS_NAMES.search(text) for text in texts):
        return None, ""
    listed = any(step.files for part in scene.chain for step in part.installs if step.manager == "apt")
    if listed or any("$" in name or name.startswith((".", "/")) for name in names):
        return None, ""
    for command in scene.stage.commands:
        head = command.words[0]
        if head == "python" and command.build and not any(re.match(r"python(-.*|2.*)?$", name) for name in names):
            return command, "a program named python"
        module = command.words[1:3] == ("-m", "pip") and head in {"python3", "python"}
        if (head in {"pip", "pip3"} or module) and command.build and not any("pip" in name for name in names):
            return command, "pip"
    return None, ""


def is_debian(base: Base) -> bool:
    """Whether the system is Debian or Ubuntu, which a tag of nvidia/cuda without a system stood for."""
    named = base.os or base.repository.rpartition("/")[2]
    return named.startswith(("ubuntu", "debian")) or (bases.home(base.repository) == "nvidia/cuda" and not base.os)


def musl(scene: Scene) -> Iterator[Finding]:
    """musl-libc: a package whose wheels are for glibc asked for on Alpine, as the joint of C libraries says."""
    if scene.base is None or not scene.base.musl:
        return
    for item in scene.own:
        package = scene.matrix.package(item.request.name)
        known = [one.build for one in parts_of(item.request, item.build, scene.matrix)]
        rows = known or (scene.matrix.builds(package.name) if package and not item.request.exact else ())
        here = (row for row in rows if {"any", scene.platform} & {*row.platforms})
        judged = any_of(libc.verdict(row, "", is_musl=True) for row in here)
        if package and (clash := clash_of(judged)):
            detail = f"{package.title} has wheels for glibc only; {scene.base.reference} has musl."
            sure: Confidence = "certain" if isinstance(judged, Clash) else "likely"
            fix = "Start from a Debian or Ubuntu based image."
            yield of_request("musl-libc", item, scene, detail, confidence=sure, fix=fix, rows=clash.rows)


def compiler_shipped(scene: Scene) -> Iterator[Finding]:
    """devel-in-final-stage: nothing is compiled, the compiler is shipped."""
    base = scene.base
    if base is None or not scene.final or base.flavour != "devel" or scene.ask.kind != "dockerfile":
        return  # where one develops, a compiler is right; and a cluster or a workflow ships no image
    if base.repository.startswith("nvcr.io/nvidia/") and bases.home(base.repository) != "nvidia/cuda":
        return  # NVIDIA's framework images come in this one form
    level: Severity = "info" if scene.compiles else "warning"
    why = "what is compiled could be copied to a lean stage"
    why = why if scene.compiles else "nothing in the final stage is compiled"
    detail = f"{base.reference} is shipped with its compilers: {why}."
    yield finding("devel-in-final-stage", scene, scene.stage.line, detail, severity=level, confidence="likely")


RULES: Final = (tags, mirrors_moved, python_missing, python_not_packaged, musl, compiler_shipped)
