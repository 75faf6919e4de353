"""One requirement as the search sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.lazy import dataclass
from compat.versions import meets

if TYPE_CHECKING:
    from compat.resolve.options import Option


@dataclass(frozen=True, slots=True)
class Wish:
    """One requirement.

    Attributes:
        text: as it was typed.
        package: canonical name of the matrix, or of a shared dependency.
        spec: version specifier, ``==2.0.1+cu118``; empty for any version.
        extras: extras asked for.
        marker: environment marker; empty if it always applies.
        cpu: whether it names a CPU build itself (``+cpu``, ``tensorflow-cpu``).
        shared: whether it is about a dependency such as numpy and not about a package with builds.
        unjudged: whether the matrix knows nothing of its name; it is ``shared`` then too.
        distribution: distribution named, where it is one of several of its package (``paddlepaddle-gpu``).
    """

    text: str
    package: str
    spec: str = ""
    extras: tuple[str, ...] = ()
    marker: str = ""
    cpu: bool = False
    shared: bool = False
    distribution: str = ""
    unjudged: bool = False

    @property
    def requirement(self) -> str:
        """What is asked for without its marker, ``my-package[extra]>=1``."""
        extras = f"[{','.join(sorted(self.extras))}]" if self.extras else ""
        return f"{self.package}{extras}{self.spec}"

    def names(self, option: Option) -> bool:
        """Whether a build is of the distribution named and of a release, or a version published for it, that fits."""
        if self.distribution and option.build.install_name != self.distribution:
            return False
        return meets(self.spec, option.full) or (option.build.published != "" and meets(self.spec, option.version))
