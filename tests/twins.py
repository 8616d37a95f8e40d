"""Both twins of the engine in one process.

The C twin is the package as it is imported. The Python twin is the same package imported a second time, under
MICROGRAD_PURE=1, and kept aside; for a test that asks for it, it takes the first one's place in `sys.modules`, so that
`import micrograd.nn`, pickle and copy see the twin under test.
"""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent  # of the repository, or of an unpacked sdist
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # such a Python runs the Python engine
MORE = int(os.environ.get("MICROGRAD_EXAMPLES", "1"))  # how many times as many random examples


class Twin:
    """One load of the package."""

    def __init__(self, name: str, modules: dict[str, ModuleType]) -> None:
        self.name = name
        self.modules = modules
        self.package: Any = modules["micrograd"]
        self.engine: Any = modules["micrograd.engine"]
        self.math: Any = modules["micrograd.math"]
        self.ops: Any = modules["micrograd.ops"]
        self.install: Any = modules["micrograd.install"]
        self.Value: Any = self.engine.Value

    def __repr__(self) -> str:
        return f"<{self.name} twin>"


def _loaded() -> dict[str, ModuleType]:
    everything = sys.modules.copy()  # at once: a thread that compiles may import something meanwhile
    return {name: m for name, m in everything.items() if name == "micrograd" or name.startswith("micrograd.")}


def _exchange(old: dict[str, ModuleType], new: dict[str, ModuleType]) -> None:
    """Put modules in the place of others, with no moment in which a thread would find none and import them again."""
    sys.modules.update(new)
    for name in old:
        if name not in new:
            sys.modules.pop(name, None)


def _load(name: str, pure: str) -> Twin:
    """Import the package again, with MICROGRAD_PURE set to `pure`."""
    before, variable = _loaded(), os.environ.get("MICROGRAD_PURE")
    for module in before:
        del sys.modules[module]
    os.environ["MICROGRAD_PURE"] = pure
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a machine without a C compiler
            for module in ("graph", "install"):
                importlib.import_module(f"micrograd.{module}")
        return Twin(name, _loaded())
    finally:
        if variable is None:
            del os.environ["MICROGRAD_PURE"]
        else:
            os.environ["MICROGRAD_PURE"] = variable
        for module in _loaded():
            del sys.modules[module]
        sys.modules.update(before)


PYTHON = _load("Python", "1")
C = _load("C", os.environ.get("MICROGRAD_PURE", "0"))
NATIVE = bool(C.engine.NATIVE)
PACKAGE = Path(C.package.__file__).parent  # the installed package, which is what the tests run
sys.modules.update(C.modules)  # what test modules get when they import micrograd at their top


@contextmanager
def in_place(twin: Twin) -> Iterator[Twin]:
    """Let `import micrograd...` find this twin for a while."""
    before = _loaded()
    try:
        _exchange(before, twin.modules)
        yield twin
    finally:
        twin.modules = _loaded()  # modules that were imported meanwhile belong to this twin
        _exchange(twin.modules, before)


def cube(Value, x):
    """An op as the lecture writes it: the closure holds the node that holds the closure."""
    out = Value(x.data**3, (x,), "cube")

    def _backward():
        x.grad += 3 * x.data**2 * out.grad

    out._backward = _backward
    return out
