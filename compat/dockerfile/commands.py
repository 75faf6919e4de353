"""The shell commands of the ``RUN`` steps, as lists that the templates join; every foreign word is quoted here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.dockerfile.quoting import shell
from compat.dockerfile.system import INTEL_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.dockerfile.settings import Settings
    from compat.dockerfile.steps import Install

PYTHON: Final = "/opt/venv/bin/python"
_CONSTRAINTS: Final = "/opt/tools/constraints.txt"
BREAK: Final = " \\\n      "


def run(commands: Sequence[str], mounts: Sequence[str] = ()) -> str:
    """A ``RUN`` instruction: one mount a line, then the commands, of which each needs the one before."""
    return "RUN " + "".join(f"--mount={mount} \\\n    " for mount in mounts) + " \\\n && ".join(commands)


def pairs(table: dict[str, str]) -> str:
    """Keys and quoted values of one ``ENV`` or ``LABEL``, one a line."""
    from compat.dockerfile.quoting import word

    return " \\\n    ".join(f"{key}={word(text)}" for key, text in table.items())


def by_name(package: str) -> str:
    """A distribution package without its version, to sort by."""
    return package.partition("=")[0]


def further(source: str) -> list[str]:
    """Read one more repository of apt; the plain systems have no certificates for its address.

    Builders but BuildKit lay what they fetch where root alone may read it, and apt checks signatures as another user.
    """
    if source:
        return [
            "apt-get install --yes --no-install-recommends ca-certificates",
            f"chmod 644 {INTEL_KEY}",
            f"echo {shell(source)} > /etc/apt/sources.list.d/vendor.list",
            "apt-get update",
        ]
    return []


class Commands:
    """Commands for one image.

    ``forget_vendor``: whether the vendor's package repository is dropped before anything is asked of it.

    Attributes:
        UV, PIP: what installs into the environment.
        FORGET: what drops NVIDIA's package repository.
    """

    UV = f"/opt/tools/bin/uv pip install --python {PYTHON}"
    PIP = f"/opt/tools/bin/pip --python {PYTHON} install"
    FORGET = "rm -f /etc/apt/sources.list.d/cuda*.list /etc/apt/sources.list.d/nvidia*.list"

    def __init__(self, settings: Settings, *, uses_uv: bool, forget_vendor: bool) -> None:
        self._settings, self._uv, self._forget = settings, uses_uv, forget_vendor
        self._buildkit = settings.builder == "buildkit"

    def apt_install(self, packages: Sequence[str], source: str = "") -> list[str]:
        """Install packages of Debian or Ubuntu from the chosen mirror, leaving no package lists in the layer.

        ``source`` is a line of apt for a vendor's repository, whose key is there already.

        The official images delete what apt keeps in its own folder of packages (``/etc/apt/apt.conf.d/docker-clean``):
        a cache that outlives the build needs another folder. apt takes a relative one from its cache folder.
        """
        files = r"\( -name sources.list -o -name ubuntu.sources -o -name debian.sources \)"
        kept = " --option Dir::Cache::archives=kept" if self._buildkit else ""
        return [
            *([self.FORGET] if self._forget else []),
            f'find /etc/apt {files} -exec sed -i -E "s#https?://[^/ ]+#${{APT_MIRROR:-&}}#" {{}} +',
            "apt-get update",
            *further(source),
            BREAK.join(
                [f"apt-get install --yes --no-install-recommends{kept}", *map(shell, sorted(packages, key=by_name))]
            ),
            *([] if self._buildkit else ["rm -rf /var/lib/apt/lists/*"]),
        ]

    def dnf_install(self, packages: Sequence[str]) -> list[str]:
        """Install packages of the Red Hat family."""
        kept = " --setopt=keepcache=True" if self._buildkit else ""
        words = [
            f"dnf install --assumeyes --setopt=install_weak_deps=False{kept}",
            *map(shell, sorted(packages, key=by_name)),
        ]
        return [BREAK.join(words), *([] if self._buildkit else ["dnf clean all"])]

    def write_lines(self, lines: Sequence[str], path: str) -> str:
        """Write a text file; ``printf`` rather than a here-document, which old builders cannot read."""
        return BREAK.join(["printf '%s\\n'", *map(shell, lines)]) + f" > {path}"

    def install(self, step: Install) -> list[str]:
        """Install the planned builds of one index."""
        source = [f'{self._option(step)} "${{{step.argument}}}"'] if step.index else []
        return [self._call([*source, *map(shell, (*step.requirements, *step.loose))])]

    def install_lock(self, steps: Sequence[Install], path: str) -> list[str]:
        """Install the files that a lock names by their hashes."""
        option = {"--index-url": "--extra-index-url", "--find-links": "--find-links"}
        sources = [f'{option[step.option]} "${{{step.argument}}}"' for step in steps if step.index]
        strategy = ["--index-strategy unsafe-best-match"] if self._uv and sources else []
        return [self._call([*sources, *strategy, "--no-deps", "--require-hashes", f"--requirement {path}"], held=False)]

    def install_extra(self, requirements: Sequence[str], path: str) -> list[str]:
        """Install what the application needs on top of the plan."""
        return [self._call([*([f"--requirement {path}"] if path else []), *map(shell, requirements)])]

    def compile(self, requirements: Sequence[str]) -> list[str]:
        """Build wheels against the planned framework itself; build isolation would fetch another one.

        pip keeps what it built by the address of the source alone, hence kernels of the GPUs of an earlier build.
        """
        pip = f"/opt/tools/bin/pip --python {PYTHON}"
        cache = "" if self._buildkit else " --no-cache-dir"
        wheel = [
            f"{pip} wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /opt/wheels",
            *map(shell, requirements),
        ]
        return [f"{pip} install{cache} ninja packaging psutil setuptools wheel", BREAK.join(wheel)]

    def install_wheels(self) -> list[str]:
        """Install the compiled wheels; what they require comes from the default index, within the constraints."""
        return [self._call(["/opt/wheels/*.whl"])]

    def check(self, program: Sequence[str], expected: str) -> str:
        """Run the build-time check, whose program and data travel on the command line."""
        lines = BREAK.join(map(shell, program))
        return f"{PYTHON} -I -B -c \"$(printf '%s\\n'{BREAK}{lines})\"{BREAK}{shell(expected)}"

    def trim(self, targets: Sequence[str]) -> list[str]:
        """Delete ROCm's per-device kernels of devices that the plan is not for.

        rocBLAS, hipBLASLt and MIOpen keep one file a target beside their library (Tensile ``library`` folders and
        MIOpen's ``db``), named by the target; files without a target in their name serve all of them and stay.
        """
        keep = [f"! -name {shell(f'*{target}*')}" for target in targets]
        places = r"\( -path '*/library/*' -o -path '*/miopen/db/*' \)"
        words = ["find /opt/venv -type f", places, "-name '*gfx*'", *keep, "-delete"]
        return [BREAK.join(words)] if targets else []

    def _option(self, step: Install) -> str:
        return "--default-index" if self._uv and step.option == "--index-url" else step.option

    def _call(self, words: Sequence[str], *, held: bool = True) -> str:
        hold = [f"--constraint {_CONSTRAINTS}"] if held else []
        return BREAK.join([self._installer(), *hold, *words])

    def _installer(self) -> str:
        """The installer's words before any requirement: whose Python, bytecode or none, no cache that a layer keeps."""
        tool, cache, compiled, plain = (
            (self.UV, "--no-cache", "--compile-bytecode", "")
            if self._uv
            else (self.PIP, "--no-cache-dir", "", "--no-compile")
        )
        bytecode = compiled if self._settings.bytecode else plain
        return " ".join(filter(None, [tool, bytecode, "" if self._buildkit else cache]))
