"""What a shell may complete: frameworks with their versions, GPUs, formats, codes; from the shipped matrix alone."""

from typing import Any, Final

_MOST: Final = 60  # words that a terminal shows at once


def requirements(incomplete: str) -> list[str]:
    """Names of packages; behind ``==`` the versions of one, newest first."""
    from compat.matrix import matrix

    known = matrix()
    name, pinned, start = incomplete.partition("==")
    if not pinned:
        return sorted(item for item in known.packages if item.startswith(name))[:_MOST]
    row = known.package(name)
    versions = [version for build in (known.builds(row.name) if row else ()) for version in build.versions]
    fitting = (version for version in dict.fromkeys(reversed(versions)) if version.startswith(start))
    return [f"{name}=={version}" for version in fitting][:_MOST]


def gpus(incomplete: str) -> list[str]:
    """The words that name a model, kernel targets, and instance types of clouds."""
    from compat.matrix import matrix

    known = matrix()
    wanted = incomplete.lower()
    words = (word for row in known.table("gpus") for word in (*row.name.split()[:4], row.target))
    numbered = [word for word in words if any(mark.isdigit() for mark in word)]
    numbered += [row.name for row in known.table("instances") if row.gpu]
    return sorted({word for word in numbered if word.lower().startswith(wanted)})[:_MOST]


def codes(incomplete: str) -> list[str]:
    """Codes of findings."""
    from compat.app.explain import known

    return [code for code in known() if code.startswith(incomplete)]


def formats(ctx: Any, incomplete: str) -> list[str]:
    """The formats of the command whose words stand before."""
    option = next((item for item in ctx.command.params if item.name == "format"), None)
    told = (option.help or "").rstrip(".").split(", ") if option else []
    return [name for name in told if name.startswith(incomplete)]
