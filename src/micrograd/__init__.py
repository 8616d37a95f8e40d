"""micrograd: exact gradients of plain scalar Python code, to look at and to run fast."""

from micrograd import math
from micrograd.engine import Value, no_grad
from micrograd.errors import AnomalyError, CompileError, GradientError, MicrogradError, TraceError
from micrograd.primitive import primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from micrograd.checks import check_grad, detect_anomaly
    from micrograd.compile.batch import vmap
    from micrograd.compile.jit import jit
    from micrograd.transforms import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp

__version__ = "1.0.0.dev0"
__all__ = [
    "AnomalyError", "CompileError", "GradientError", "MicrogradError", "TraceError", "Value", "check_grad", "detect_anomaly",
    "grad", "hessian", "hvp", "jacobian", "jit", "jvp", "math", "no_grad", "primitive", "value_and_grad", "vjp", "vmap",
]  # fmt: skip

# What `import micrograd` need not wait for: name -> where it lives.
_LAZY = {
    **dict.fromkeys(["grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"], "micrograd.transforms"),
    **dict.fromkeys(["check_grad", "detect_anomaly"], "micrograd.checks"),
    "jit": "micrograd.compile.jit",
    "vmap": "micrograd.compile.batch",
}


def __getattr__(name: str) -> "Any":
    import importlib

    if name in _LAZY:
        found = getattr(importlib.import_module(_LAZY[name]), name)
    elif name in _MODULES:
        found = importlib.import_module(f"micrograd.{name}")
    else:
        raise AttributeError(f"module 'micrograd' has no attribute {name!r}")
    globals()[name] = found
    return found


_MODULES = ("nn", "optim", "losses", "data", "train", "learn", "transforms", "checks")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
