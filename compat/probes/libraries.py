"""Which GPU libraries this process has loaded, and from where: the truth after all search paths."""

import ctypes
import os
import re
from typing import Dict, List

_WANTED = re.compile(
    r"/lib(cuda|cudart|cublas|cublasLt|cudnn|cufft|cusolver|cusparse|nccl|nvrtc|nvidia-ptxjitcompiler|nvidia-ml"
    r"|amdhip64|hiprtc|hsa-runtime64|rocblas|hipblaslt|MIOpen|rccl|ze_loader)(-[0-9a-f]{8})?\.so[.0-9]*$"
)


def loaded() -> Dict[str, List[str]]:
    """Library name -> the paths it is mapped from; more than one path means that two copies are in use."""
    found = {}  # type: Dict[str, List[str]]
    try:
        with open("/proc/self/maps") as lines:
            paths = {
                line.split(None, 5)[5].strip() for line in lines if line.count("/") and len(line.split(None, 5)) > 5
            }
    except OSError:
        return found
    for path in sorted(paths):
        match = _WANTED.search(path)
        if match:
            found.setdefault("lib" + match.group(1), []).append(path)
    return found


def open_first(names: List[str]) -> ctypes.CDLL:
    """The first of several libraries that loads.

    Raises:
        OSError: with the loader's words for the last one, if none does.
    """
    error = OSError("no name given")
    for name in names:
        try:
            return ctypes.CDLL(name, mode=os.RTLD_GLOBAL)
        except OSError as failure:
            error = failure
    raise error
