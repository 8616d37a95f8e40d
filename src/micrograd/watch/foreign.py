"""Which modules, functions and objects are none of the user's, so that nobody changes them while a function is in use."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

BUSY = ("distributed", "dask", "tornado", "asyncio", "concurrent", "threading")  # their objects change by other threads
FOREIGN = ("micrograd", "logging", "weakref", *BUSY)
PLAIN = ("types", "argparse", "collections")  # of the standard library: their objects hold what the user puts in
LIBRARIES = (
    "numpy",
    "scipy",
    "torch",
    "jax",
    "pandas",
    "matplotlib",
    "IPython",
    "pytest",
    "_pytest",
    "hypothesis",
)  # they know no module of the user's


@functools.lru_cache(maxsize=1000)
def is_foreign(module: str | None) -> bool:
    """Whether the code in a Python module is none of the user's."""
    root = str(module).split(".")[0]
    return root in FOREIGN or root in LIBRARIES or (root in sys.stdlib_module_names and root not in PLAIN)


@functools.lru_cache(maxsize=1000)
def is_installed(module: str | None) -> bool:
    """Whether a Python module is none of the user's, or one of an installed package: nobody assigns to its names."""
    if is_foreign(module):
        return True
    file = getattr(sys.modules.get(str(module)), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def holds_nothing(x: Any) -> bool:
    """Whether the attributes of an object are none of the user's."""
    return isinstance(x, (type, ModuleType, FunctionType)) or str(type(x).__module__).split(".")[0] in FOREIGN
