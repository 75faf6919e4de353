"""The laws that the matrix proves of itself, whatever the world adds to it.

A law is a function from all rows to its breaches; its first docstring line is the law in words. A row that breaks a law
because the world does names the law under ``exempt`` and says why under ``note``: exceptions are data, not code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.matrix.laws import builds, names, toolkits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from compat.matrix.laws.view import Breach, View

# Name -> law, in the order in which they are checked.
LAWS: Final[dict[str, Callable[[View], Iterator[Breach]]]] = {
    "one-row-per-key": names.one_row_per_key,
    "names-exist": names.names_exist,
    "images-exist": names.images_exist,
    "requirement-grammar": names.requirements_parse,
    "reachable": names.rows_are_reachable,
    "driver-floors": toolkits.driver_floors_rise,
    "family-floors": toolkits.one_family_floor_per_major,
    "driver-branch": toolkits.floors_lie_in_their_branch,
    "branches": toolkits.branches_are_in_order,
    "forward-branches": toolkits.forward_branches_are_older,
    "capability-bounds": toolkits.capabilities_agree_with_toolkits,
    "dropped-architectures": toolkits.branches_drop_what_ended,
    "rocm-targets": toolkits.rocm_targets_are_official,
    "rocm-drivers": toolkits.rocm_drivers_are_in_order,
    "gfx-override": toolkits.overrides_name_their_sibling,
    "toolkit-dates": toolkits.toolkit_dates_rise,
    "kernels-possible": builds.kernels_are_possible,
    "kernels-read": builds.empty_wheels_were_read,
    "python-dropped": builds.dropped_python_stays_dropped,
    "companions": builds.companions_exist,
    "followed": builds.followed_builds_exist,
    "paired": builds.companions_are_paired,
    "build-dates": builds.build_dates_rise,
    "file-sums": builds.sums_are_of_one_file,
}


def breaches(view: View, only: Iterable[str] = LAWS) -> Iterator[tuple[str, Breach]]:
    """Every breach that its row does not admit to, with the name of the law; then exemptions that nothing needs."""
    used: set[tuple[int, str]] = set()
    for name in only:
        for breach in LAWS[name](view):
            if name in breach.placed.row.exempt:
                used.add((id(breach.placed.raw), name))
            else:
                yield name, breach
    yield from names.needless_exemptions(view, used, LAWS)
