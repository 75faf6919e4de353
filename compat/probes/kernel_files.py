"""What the kernel tells in files of one value, such as those of devices under ``/sys``."""

import os

# One folder for each device, by its PCI address.
PCI = "/sys/bus/pci/devices"


def value(*parts: str) -> str:
    """The text of a file; empty where it cannot be read, as in a container that does not show it."""
    try:
        with open(os.path.join(*parts)) as text:
            return text.read().strip()
    except OSError:
        return ""
