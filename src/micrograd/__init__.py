"""micrograd: exact gradients of plain scalar Python code, to look at and to run fast."""

from __future__ import annotations

import sys

from micrograd import math
from micrograd.engine import Value, no_grad
from micrograd.errors import AnomalyError, CompileError, GradientError, MicrogradError, TraceError
from micrograd.primitive import primitive
from micrograd.values import protocols

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from micrograd import data, learn, losses, nn, optim, plots, random, solvers, special, stats, train
    from micrograd.checks import check_grad, detect_anomaly
    from micrograd.compile.jit import jit
    from micrograd.compile.vmap import vmap
    from micrograd.custom import custom_vjp
    from micrograd.interop.c import export_c
    from micrograd.interop.jax import to_jax
    from micrograd.interop.library import export_library
    from micrograd.interop.onnx import export_onnx
    from micrograd.interop.scipy import least_squares, minimize, root
    from micrograd.interop.text import export_text, import_text
    from micrograd.interop.torch import to_torch
    from micrograd.jacobians import hessian, jacfwd, jacobian, jacrev, sparse_hessian, sparse_jacobian
    from micrograd.learn import draw_dot, explore, watch
    from micrograd.learn.frames import frames  # type: ignore[no-redef]
    from micrograd.nn import MLP, Layer, Neuron
    from micrograd.rematerialize import remat
    from micrograd.transforms import grad, hvp, jvp, linearize, value_and_grad, vjp

__version__ = "1.0.0.dev0"

# The public API, in reading order.
__all__ = [
    "Value", "math", "no_grad", "primitive",
    "grad", "value_and_grad", "jacobian", "jacfwd", "jacrev", "hessian", "jvp", "vjp", "hvp", "linearize",
    "custom_vjp", "remat",
    "jit", "vmap",
    "check_grad", "detect_anomaly",
    "sparse_jacobian", "sparse_hessian", "minimize", "least_squares", "root", "solvers", "special", "stats",
    "to_torch", "to_jax", "export_c", "export_library", "export_onnx", "export_text", "import_text",
    "Neuron", "Layer", "MLP", "nn", "optim", "losses", "data", "random", "train", "plots",
    "learn", "draw_dot", "explore", "frames", "watch",
    "MicrogradError", "TraceError", "CompileError", "AnomalyError", "GradientError",
]  # fmt: skip

# What `import micrograd` need not wait for: name -> the module that has it, or that it is.
_LAZY = {
    **dict.fromkeys(["grad", "value_and_grad", "jvp", "vjp", "hvp", "linearize"], "transforms"),
    **dict.fromkeys(["jacobian", "jacfwd", "jacrev", "hessian", "sparse_jacobian", "sparse_hessian"], "jacobians"),
    "custom_vjp": "custom",
    "remat": "rematerialize",
    **dict.fromkeys(["check_grad", "detect_anomaly"], "checks"),
    **dict.fromkeys(["minimize", "least_squares", "root"], "interop.scipy"),
    "to_torch": "interop.torch",
    "to_jax": "interop.jax",
    "export_c": "interop.c",
    "export_library": "interop.library",
    "export_onnx": "interop.onnx",
    **dict.fromkeys(["export_text", "import_text"], "interop.text"),
    "jit": "compile.jit",
    "vmap": "compile.vmap",
    **dict.fromkeys(["draw_dot", "explore", "frames", "watch"], "learn"),
    **dict.fromkeys(["Neuron", "Layer", "MLP"], "nn"),
    **{
        name: name
        for name in (
            "nn",
            "optim",
            "losses",
            "data",
            "random",
            "train",
            "plots",
            "learn",
            "solvers",
            "special",
            "stats",
        )
    },
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'micrograd' has no attribute {name!r}")
    import importlib

    from micrograd.signals import interrupted_later

    with (
        interrupted_later()
    ):  # a module that is half imported, and the modules that it imports, may not be imported again
        module = importlib.import_module(f"micrograd.{_LAZY[name]}")
    found = module if _LAZY[name] == name else getattr(module, name)
    globals()[name] = found
    return found


def _look_beside() -> None:
    """Warn where the original micrograd is installed into the same folder."""
    import os

    try:
        beside = os.listdir(os.path.dirname(__path__[0]))
    except OSError:  # inside a zip file
        return
    if any(name.startswith("micrograd-") for name in beside):  # it seldom is: nothing is imported until then
        import warnings

        from micrograd import install

        told = install.original_beside()
        if told:
            warnings.warn(told, RuntimeWarning, stacklevel=3)


_look_beside()


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(type(sys)):  # type: ignore[misc]
    """Keep the public function `watch`, where an import binds the package micrograd.watch to its name."""

    def __setattr__(self, name: str, value: object) -> None:
        if name != "watch" or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _shown_in_a_notebook(self: Value, include: object = None, exclude: object = None) -> object:
    from micrograd.learn.draw import notebook

    return notebook(self)


protocols.attach()
setattr(Value, "_repr_mimebundle_", _shown_in_a_notebook)  # noqa: B010  (for both twins, and nothing is imported now)
