"""micrograd: exact gradients of plain scalar Python code, to look at and to run fast."""

from micrograd import math
from micrograd.engine import Value, no_grad
from micrograd.errors import MicrogradError
from micrograd.primitive import primitive

__version__ = "1.0.0.dev0"
__all__ = ["MicrogradError", "Value", "__version__", "math", "no_grad", "primitive"]


def _shown_in_a_notebook(self: Value, include: object = None, exclude: object = None) -> object:
    from micrograd.learn.draw import notebook

    return notebook(self)


setattr(Value, "_repr_mimebundle_", _shown_in_a_notebook)  # noqa: B010  (for both twins, and nothing is imported now)
