"""Find Intel's OpenCL runtime for CPUs where pip has installed it: the wheels do not tell its loader where it lies."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from pathlib import Path

PARTS = ("libintlc.so.5", "libimf.so", "libirng.so", "libsvml.so", "libtbb.so.12", "libtbbmalloc.so.2")


def find() -> None:
    """Tell the loader of OpenCL's runtimes of it, unless it has been told of another."""
    folder = Path(sys.prefix) / "lib"
    runtime = folder / "libintelocl.so"
    if "OCL_ICD_VENDORS" in os.environ or not runtime.exists():
        return
    try:
        for part in PARTS:
            if (folder / part).exists():
                ctypes.CDLL(str(folder / part), ctypes.RTLD_GLOBAL)
    except OSError:
        return
    vendors = tempfile.mkdtemp(prefix="opencl-")
    (Path(vendors) / "intel.icd").write_text(f"{runtime}\n")
    os.environ["OCL_ICD_VENDORS"] = vendors
