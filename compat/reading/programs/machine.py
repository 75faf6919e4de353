"""What Linux says of the machine: uname, os-release, lsb_release, hostnamectl, lscpu in many languages, lspci, ldd.

::

    Linux box 5.4.0-42-generic #46-Ubuntu SMP Fri Jul 10 2020 x86_64 x86_64 x86_64 GNU/Linux        (uname -a)
    PRETTY_NAME="Ubuntu 20.04.6 LTS"                                                               (os-release)
    Description:    Ubuntu 18.04.6 LTS                                                             (lsb_release)
    架构:           x86_64                                                                          (lscpu)
    ldd (Ubuntu GLIBC 2.31-0ubuntu9.9) 2.31
    01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)        (lspci -nnk)
            Kernel driver in use: nouveau
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.values as values
from compat.facts import Gpu
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program, said
from compat.reading.systems import spelling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reading.page import Page, Pair
    from compat.reading.program import View

_UNAME = re.compile(
    r"\bLinux (?!release )\S+ (\d+\.\d+[\w.+~-]*) #?.{0,160}?\b(x86_64|aarch64|ppc64le|armv7l|riscv64|s390x)\b"
)
_DARWIN = re.compile(r"\bDarwin Kernel Version \d.{0,160}/RELEASE_(ARM64|X86_64)")
# The greeting of a login, ``(GNU/Linux 5.11.0-41-generic x86_64)``, which people copy with the system's name.
_GREETING = re.compile(r"\(GNU/Linux (\d+\.\d+\S{0,80}) (x86_64|aarch64|ppc64le|riscv64|s390x)\)")
_PCI = re.compile(
    r"^\W*(?:[0-9a-f]{4}:)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]) (VGA compatible controller|3D controller|"
    r"Display controller|Processing accelerators)(?: \[\d+\])?: (.*)"
)
_NODE = re.compile(
    r"\W{0,4}crw\S{7,8} +\d+ +\S+ +(\S+) +\d+, +\d+ .{6,20} (/dev/(?:kfd|nvidia\w*|dri/\w+)|renderD\d+|card\d+)\s*$"
)
_GROUPS_TYPED = re.compile(r".{0,80}[$#>] ?groups(?: [\w.$-]+)?\s*$")
_GROUPS = re.compile(r"\s{0,4}(?:[\w.-]+ : )?([a-z_][\w.-]*(?: [a-z_][\w.-]*)+)\s*")
_LSHW = re.compile(r"\s*product: ([^\n]{3,100})\n\s*vendor: ([^\n]{3,60})")  # below ``*-display``
_BRACKETS = re.compile(r"\[([^\[\]]{3,60})\](?: \[([0-9a-f]{4}:[0-9a-f]{4})\])?")
_ID = re.compile(r"\[([0-9a-f]{4}:[0-9a-f]{4})\]")
_IN_USE = re.compile(r"Kernel driver in use: ([\w-]+)")
_MAKERS: Final = (("NVIDIA", "nvidia"), ("Advanced Micro Devices", "amd"), ("AMD/ATI", "amd"), ("Intel", "intel"))
_ARCHITECTURE: Final = (
    "architecture", "架构", "架構", "architektur", "arquitectura", "arquitetura", "アーキテクチャ", "アーキテクチャー",
    "архитектура", "아키텍처", "architettura", "architectuur", "arkitektur", "mimari", "architektura",
)  # fmt: skip
_MODEL: Final = (
    "model name", "型号名称", "型號名稱", "modellname", "nombre del modelo", "nom de modèle", "nome do modelo",
    "モデル名", "имя модели", "모델명", "nome modello", "modelnaam", "modellnamn", "nazwa modelu",
)  # fmt: skip


def _described(pair: Pair) -> Iterator[Claim]:
    """lsb_release's Description; other programs describe other things under this label."""
    if spelling(pair.value):
        yield from values.system_claims(pair.value)


def _hostnamectl(pair: Pair) -> Iterator[Claim]:
    """The system by any name in hostnamectl's answer, which goes on with the kernel; else by a known name."""
    if any(text.lstrip().startswith(("Kernel: Linux ", "CPE OS Name")) for text in pair.below(2)):
        yield from values.system_claims(pair.value)
    else:
        yield from _described(pair)


def _release(pair: Pair) -> Iterator[Claim]:
    """jetson_release's kernel; under this word others print a distribution's release, which has no dash."""
    if re.match(r"\d+\.\d+\.\d+-[a-z]", pair.value):
        yield from values.kernel(pair)


def _flags(pair: Pair) -> Iterator[Claim]:
    """The processor features that builds ask for; a short list is some other program's flags."""
    words = pair.value.split()
    kept = tuple(word for word in words if re.fullmatch(r"avx\w*|fma|sse4_[12]|amx\w*|neon|asimd\w*|sve\w*", word))
    if len(words) > 20 and kept:
        yield Claim("cpu_flags", kept)


def _name(pair: Pair) -> Iterator[Claim]:
    """os-release's NAME with VERSION_ID or VERSION, when PRETTY_NAME is not among the lines."""
    lines = [line.text.strip() for line in pair.page.lines[max(0, pair.index - 4) : pair.index + 12]]
    heads = ("VERSION_ID=", "VERSION=")
    release = next((text for head in heads for text in lines if text.startswith(head)), "")
    if release and not any(text.startswith("PRETTY_NAME") for text in lines):
        bare = release.partition("=")[2].partition("(")[0].strip(' "')
        yield from values.system_claims(f"{pair.value} {bare}")


def _mac(pair: Pair) -> Iterator[Claim]:
    """sw_vers: the release stands a line below the product's name."""
    if re.fullmatch(r"\d+(?:\.\d+){0,2}", pair.value):
        yield from values.system_claims(f"macOS {pair.value}")


def _chipset(pair: Pair) -> Iterator[Claim]:
    """system_profiler's table of displays: ``Chipset Model: Apple M2``; before Apple's own, Macs had others' chips."""
    if pair.value.startswith(("Apple M", "Intel", "AMD ", "NVIDIA ")):
        yield Claim("platform", "darwin", weight=Weight.LISTED)


def _marked(_page: Page, found: Mapping[str, list[Pair]]) -> Iterator[int]:
    """Labels that are these tools' by their values: under the first other tools print a GPU's compute capability."""
    yield from (pair.index for label in _ARCHITECTURE for pair in found.get(label, ()) if pair.value[:1].isalpha())
    yield from (pair.index for pair in found.get("description", ()) if spelling(pair.value))


def _uname(line: str) -> Iterator[Claim]:
    """Kernel and machine of ``uname -a`` or of the greeting."""
    if found := _UNAME.search(line) or _GREETING.search(line):
        yield from values.kernel_claims(found.group(1))
        yield Claim("arch", found.group(2))


def _darwin(line: str) -> Iterator[Claim]:
    """The system and the processor by ``uname -a`` of a Mac."""
    if found := _DARWIN.search(line):
        yield from (Claim("platform", "darwin"), Claim("arch", found[1].lower()))


def _proc_version(line: str) -> Iterator[Claim]:
    """The kernel in /proc/version."""
    if found := re.match(r"\W*Linux version (\d+\.\d+\.\d+\S*) \(", line):
        yield from values.kernel_claims(found.group(1))


def _groups(line: str) -> Iterator[Claim]:
    """The groups that ``id`` prints by number and name."""
    if found := re.search(r"\buid=\d+\(.{1,80}? groups=(\d+\(\S+)", line):
        yield Claim("groups", tuple(re.findall(r"\(([\w.-]+)\)", found.group(1))))


def _owner(line: str) -> Iterator[Claim]:
    """The group of a GPU's device node, by name or number, as ``ls -l`` lists it."""
    if found := _NODE.match(line):
        yield Claim("device_groups", found[1], key=_path(found[2]))


def _path(node: str) -> str:
    """The whole path of a device node, which ``ls -l /dev/dri`` lists by its name alone."""
    return f"/dev/dri/{node}" if node.startswith(("renderD", "card")) else node


def _refused(view: View) -> Iterator[Claim]:
    """The nodes that by their modes only a group may open, where the groups of one user are printed without it."""
    said = [claim.value for _, line in view.lines("groups=") for claim in _groups(line)]
    users = {*said, *(claim.value for claim in _typed_groups(view))}
    groups = {"root"}.union(*users)
    nodes = [found for _, line in view.lines("crw-rw---- ") if (found := _NODE.match(line))]
    denied = tuple(_path(found[2]) for found in nodes if not found[1].isdigit() and found[1] not in groups)
    if len(users) == 1 and not any("root" in user for user in users) and denied:
        index = next(index for index, line in view.lines("crw-rw---- ") if _NODE.match(line))
        yield from view.stamp(index, [Claim("device_nodes_denied", denied)])


def _typed_groups(view: View) -> Iterator[Claim]:
    """The groups below a typed ``groups``, which prints names alone, of another user behind that user's name."""
    for index, line in view.lines("groups"):
        below = next((text for _, text in view.span(index + 1, index + 2)), "")
        if _GROUPS_TYPED.match(line) and (found := _GROUPS.fullmatch(below)):
            yield from view.stamp(index + 1, [Claim("groups", tuple(found[1].split()))])


def _beyond(view: View) -> Iterator[Claim]:
    """What spans several lines."""
    yield from _typed_groups(view)
    yield from _refused(view)
    yield from _controllers(view)
    yield from _displays(view)


def _ldd(line: str) -> Iterator[Claim]:
    """The C library by ``ldd --version``."""
    if found := re.search(r"\bldd \(.{0,60}\) (\d+\.\d+)", line):
        yield from (Claim("glibc", found.group(1)), Claim("libc", "glibc"))


def _controllers(view: View) -> Iterator[Claim]:
    """Display controllers and accelerators on the PCI bus."""
    for needle in ("controller", "Processing accelerators"):
        for index, line in view.lines(needle):
            found = _PCI.match(line)
            maker = next((name for word, name in _MAKERS if found and word in found.group(3)), "")
            if found and maker:
                below = "\n".join(text for _, text in view.span(index + 1, index + 5))
                yield from view.stamp(
                    index, [Claim("gpus", _card(found.group(1), found.group(3), maker, below), weight=Weight.HINT)]
                )


def _displays(view: View) -> Iterator[Claim]:
    """Display adapters by ``lshw -C display``."""
    for index, _ in view.lines("*-display"):
        text = "\n".join(line for _, line in view.span(index + 1, index + 6))
        found = _LSHW.search(text)
        maker = next((name for word, name in _MAKERS if found and word in found[2]), "")
        if found and maker:
            yield from view.stamp(index, [Claim("gpus", _card("", found[1], maker, ""), weight=Weight.HINT)])


def _card(bus: str, rest: str, maker: str, below: str) -> Gpu:
    """The name in brackets behind the chip's code name, which lspci prints without the maker."""
    rest = rest.partition("(prog-if")[0]
    brackets = [name for name, _ in _BRACKETS.findall(rest) if "AMD/ATI" not in name and not _ID.fullmatch(f"[{name}]")]
    code = _ID.search(rest)
    driver = _IN_USE.search(below.partition("controller")[0])
    return Gpu(
        name=brackets[-1] if brackets else "",
        vendor=maker,
        pci=code.group(1) if code else "",
        bus=bus,
        driver=driver.group(1) if driver else "",
    )


def _wsl(_: str) -> Iterator[Claim]:
    """The first line of ``wsl --version``."""
    yield Claim("platform", "wsl2")


def _cmd(line: str) -> Iterator[Claim]:
    """The greeting of Windows' command prompt, its word for version in the language of the system."""
    if found := re.search(r"\bMicrosoft Windows \[\D{1,12} (10\.0\.\d{5})(?:\.\d+)?\]", line):
        yield Claim("kernel", found[1], weight=Weight.HINT)
        yield Claim("platform", "windows", weight=Weight.HINT)


PROGRAM: Final = Program(
    name="system tools",
    labels={
        "productversion": _mac,
        "chipset model": _chipset,
        **dict.fromkeys(_ARCHITECTURE, values.arch(Weight.LISTED)),
        **dict.fromkeys(_MODEL, values.text("cpu", Weight.LISTED)),
        "pretty_name": values.system,
        "description": _described,
        "name": _name,
        "operating system": _hostnamectl,
        "release": _release,
        "kernel": values.kernel,
        "kernel version": values.kernel,
        "flags": _flags,
    },
    marks=(*_MODEL, "pretty_name", "productversion", "chipset model"),
    phrases=(
        "GNU/Linux",
        "crw-rw",
        "ldd (",
        " controller",
        "*-display",
        "REVISION: ",
        "L4T ",
        "WSL version: ",
        "Microsoft Windows [",
        "jetson-stats ",
        'NAME="',
    ),
    marked=_marked,
    lines={
        "Linux ": _uname,
        "Linux version ": _proc_version,
        "Darwin Kernel Version ": _darwin,
        "groups=": _groups,
        "crw": _owner,
        "ldd (": _ldd,
        # What Jetson boards print of their release: /etc/nv_tegra_release and jtop.
        "WSL version: ": _wsl,
        "Microsoft Windows [": _cmd,
        "REVISION: ": said("l4t", r"# R(\d+) \(release\), REVISION: (\d+(?:\.\d+)?)"),
        "L4T": said("l4t", r"\bL4T(?: Release)?:?\W{0,4}R?(\d{2}\.\d+(?:\.\d+)?)"),
        "etPack ": said("jetpack", r"\bJetPack (\d\.\d+(?:\.\d+)?)"),
    },
    beyond=_beyond,
    alone=True,
)
