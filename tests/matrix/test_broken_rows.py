"""Every law against the real files: rows drawn at random are broken there, and told with file, line, row and key.

Each example breaks one real row per law, all in one copy of the files, and checks them once: the breaks lie in rows
that do not touch, so that each must be told by itself.
"""

from __future__ import annotations

import json
import random
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from compat import resources, versions
from compat.matrix import canonical, check, matrix, store
from compat.matrix.laws import LAWS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MATRIX = matrix()
FOLDER = resources.matrix_dir()


@cache
def flat(name: str) -> list[str]:
    """The lines of a file with each row whole, on a line of its own."""
    document = store.read_toml(FOLDER / name)
    lines = [f'schema = "{canonical.SCHEMA}"']
    for table, rows in store.tables_of(document).items():
        lines += [f"{table} = [", *(f"  {canonical.row_text(table, row)}," for row in rows), "]"]
    return [*lines, "[sources]", *(f"{key} = {json.dumps(text)}" for key, text in document.get("sources", {}).items())]


def lines_of(name: str, *parts: str) -> list[int]:
    """Numbers of the lines of a file that hold a row with all these parts, which is exempt from no law."""
    lines = flat(name)
    rows = [number for number, line in enumerate(lines, 1) if line[:4] == "  { " and "exempt = " not in line]
    return [number for number in rows if all(part in lines[number - 1] for part in parts)]


def value_of(line: str, key: str) -> str:
    """The text of a key in a row's line."""
    found = re.search(rf'\b{key} = "([^"]*)"', line)
    assert found, (key, line)
    return found[1]


def with_value(line: str, key: str, value: str) -> str:
    """A row's line with another text for a key."""
    return re.sub(rf'\b{key} = "[^"]*"', f'{key} = "{value}"', line, count=1)


def other_family(line: str) -> str:
    return with_value(line, "family_linux", value_of(line, "family_linux") + ".9")


def lower_floor(line: str) -> str:
    floor = value_of(line, "driver_windows")
    return with_value(line, "driver_windows", f"{versions.major(floor) - 200}.10")


def drop_a_target(line: str) -> str:
    kept = [name for name in value_of(line, "targets").split() if name != "sm_70"]
    return with_value(line, "targets", " ".join(kept))


BREAKS: dict[str, tuple[str, tuple[str, ...], str, Callable[[str], str]]] = {
    "one-row-per-key": ("gpus.toml", ('vendor = "amd"', "pci"), "key", lambda line: f"{line}\n{line}"),
    "names-exist": ("gpus.toml", ('vendor = "nvidia"',), "target", lambda line: with_value(line, "target", "sm_199")),
    "images-exist": ("systems.toml", ("image = ",), "image", lambda line: with_value(line, "image", "nowhere:1")),
    "requirement-grammar": (
        "images.toml",
        ("expression = ", "brand="),
        "expression",
        lambda line: line.replace("cuda>=", "cuda=>", 1),
    ),
    "reachable": (
        "compat.toml",
        ("url = ",),
        "name",
        lambda line: f"{line}\n{with_value(line, 'name', 'of-nobody')}",
    ),
    "driver-floors": ("toolkits.toml", ('cuda = "12.', "driver_windows", 'gcc = "1'), "driver_windows", lower_floor),
    "family-floors": ("toolkits.toml", ('cuda = "11.', "family_linux"), "family_linux", other_family),
    "driver-branch": (
        "toolkits.toml",
        ('{ cuda = "10.', "branch = "),
        "branch",
        lambda line: with_value(line, "branch", "R535"),
    ),
    "branches": ("drivers.toml", ("date = ", "eol = "), "eol", lambda line: with_value(line, "eol", "2001-01-01")),
    "forward-branches": (
        "drivers.toml",
        ("branches = ",),
        "branches",
        lambda line: with_value(line, "branches", "R999"),
    ),
    "capability-bounds": ("toolkits.toml", ('{ cuda = "12.', "sm_70 "), "targets", drop_a_target),
    "dropped-architectures": (
        "drivers.toml",
        ('drops = "Fermi Kepler"',),
        "drops",
        lambda line: with_value(line, "drops", "Fermi"),
    ),
    "rocm-targets": (
        "toolkits.toml",
        ('stream = "classic"', "gfx1030"),
        "targets",
        lambda line: line.replace("gfx1030", "gfx1030 gfx803", 1),
    ),
    "rocm-drivers": (
        "toolkits.toml",
        ('rocm = "6.', "drivers = "),
        "drivers",
        lambda line: with_value(line, "drivers", "99.0 1.0"),
    ),
    "gfx-override": (
        "toolkits.toml",
        ("override = ",),
        "override",
        lambda line: with_value(line, "override", "1.2.3"),
    ),
    "toolkit-dates": (
        "toolkits.toml",
        ('rocm = "5.', "date = "),
        "date",
        lambda line: with_value(line, "date", "2001-01-01"),
    ),
    "kernels-possible": (
        "builds.torch.toml",
        ('runtime = "cuda11.8"', "kernels = ", "sm_90"),
        "kernels",
        lambda line: line.replace("sm_90", "sm_90 sm_121", 1),
    ),
    "kernels-read": (
        "builds.torchaudio.toml",
        ('runtime = "cuda', 'kernels = "sm_', 'platforms = "linux', ' gpu-code"', 'how = "measured"'),
        "kernels",
        lambda line: with_value(line, "kernels", "-").replace(' gpu-code"', '"'),
    ),
    "python-dropped": (
        "builds.torch.toml",
        ('versions = "2.14', 'runtime = "cuda', "torch-test-infra"),
        "python",
        lambda line: with_value(line, "python", "3.6 " + value_of(line, "python")),
    ),
    "companions": (
        "builds.torchvision.toml",
        ('"torch==2.', "torch-test-infra"),
        "requires",
        lambda line: re.sub(r'"torch==2[^";]*', '"torch==2.0.77', line, count=1),
    ),
    "followed": (
        "builds.torchvision.toml",
        ('runtime = "cuda12.1"', '"torch==2.4', 'variant = "cu121"'),
        "runtime",
        lambda line: line.replace("cuda12.1", "cuda12.9", 1),
    ),
    "paired": (
        "builds.torch.toml",
        ('versions = "2.3.', 'runtime = "cuda11.8"', 'index = "pytorch"'),
        "runtime",
        lambda line: line.replace("cuda11.8", "cuda12.2", 1),
    ),
    "build-dates": (
        "builds.torch.toml",
        ('versions = "2.4.1"', "date = ", 'index = "pytorch"'),
        "date",
        lambda line: with_value(line, "date", "2001-01-01"),
    ),
    "file-sums": (
        "builds.flash-attn.toml",
        ("sums = ", 'platforms = "linux_x86_64"'),
        "sums",
        lambda line: with_value(line, "platforms", "linux_x86_64 linux_aarch64"),
    ),
}
"""Law -> file, parts of a row that can break it, the key at fault, and the break."""


def test_every_law_is_broken_here():
    assert set(BREAKS) == set(LAWS)


def broken_copy(folder: Path, chosen: dict[str, int]) -> None:
    """The shipped files with the chosen line of each law broken."""
    for path in FOLDER.glob("*.toml"):
        lines = [*flat(path.name)]
        for law, number in chosen.items():
            if BREAKS[law][0] == path.name:
                lines[number - 1] = BREAKS[law][3](lines[number - 1])
        (folder / path.name).write_text("\n".join(lines) + "\n", "utf-8")


def drawn(seed: int) -> dict[str, int]:
    """A row for each law, no two of them the same."""
    chance, taken, chosen = random.Random(seed), set(), {}
    for law, (name, parts, *_) in BREAKS.items():
        free = [number for number in lines_of(name, *parts) if (name, number) not in taken]
        chosen[law] = chance.choice(free)
        taken.add((name, chosen[law]))
    return chosen


@pytest.mark.parametrize("seed", range(4))
def test_a_broken_row_is_told_with_file_line_and_key(tmp_path, seed):
    chosen = drawn(seed)
    broken_copy(tmp_path, chosen)
    told = [str(fault) for fault in check.check(sorted(tmp_path.glob("*.toml")), beneath=[])]
    for law, (name, _, key, _) in BREAKS.items():
        mine = [fault for fault in told if f"[{law}]" in fault]
        assert mine, (law, chosen[law])
        assert any(re.search(rf"\b{key}\b", fault) for fault in mine), mine
        assert any(near(fault, name, chosen[law]) for fault in mine), (chosen[law], mine)


def near(fault: str, name: str, number: int) -> bool:
    """Whether a fault stands at the broken line; rows added above shift it by as many lines as laws add."""
    found = re.search(rf"/{re.escape(name)}:(\d+):", fault)
    return bool(found) and 0 <= int(found[1]) - number <= 2
