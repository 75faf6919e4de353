"""Which GPU libraries this process has loaded, and from where: the truth after all search paths."""

import ctypes
import os
import re
from typing import Dict, List

_WANTED = re.compile(
    r"/lib(cuda|cudart|cublas|cublasLt|cudnn|cufft|cusolver|cusparse|nccl|nvrtc|nvidia-ptxjitcompiler|nvidia-ml"
    r"|amdhip64|hiprtc|amd_comgr|hsa-runtime64|rocblas|hipblaslt|MIOpen|rccl|ze_loader)(-[0-9a-f]{8})?\.so[.0-9]*$"
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


def names(library: str) -> List[str]:
    """What the loader may know a library by: without a version, and under each major version, the newest first.

    A release's number is not written here: a later one would not be found by scripts that were made before it.
    """
    return [library + ".so"] + ["%s.so.%d" % (library, major) for major in range(40, -1, -1)]


def open_first(candidates: List[str]) -> ctypes.CDLL:
    """The first of several libraries that loads.

    Raises:
        OSError: with the loader's words, if none does. What stopped a library that is there (it names another file than
            the one that was asked for) tells more than that a name is unknown.
    """
    absent, broken = [], []  # type: List[OSError], List[OSError]
    for name in candidates:
        try:
            return ctypes.CDLL(name, mode=os.RTLD_GLOBAL)
        except OSError as error:
            (absent if str(error).startswith(name + ": cannot open") else broken).append(error)
    raise (broken + absent + [OSError("no name given")])[0]
