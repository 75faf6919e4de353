"""envcheck: what fits between GPU, driver, CUDA or ROCm, framework, Python and container.

The package is layered (see CONTRIBUTING.md): ``detect`` reads **facts**, ``rules`` weigh facts against the
**matrix** and give **findings**, ``resolve`` turns requirements into a **plan**, ``dockerfile`` writes it,
``build`` makes it, ``probes`` test it and ``render`` tells the result.
"""

__version__ = "0.1.0"

DISTRIBUTION = "envcheck-gpu"
"""Name of the distribution; the plain name belongs to another project. The command is ``envcheck``."""

SOURCE = f"{DISTRIBUTION}=={__version__}"
"""What an installer is given to get this very release, wherever a text of ours installs envcheck."""
