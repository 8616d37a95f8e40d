"""micrograd: exact gradients of plain scalar Python code, to look at and to run fast."""

from micrograd import math
from micrograd.engine import Value, no_grad
from micrograd.errors import MicrogradError
from micrograd.primitive import primitive

__version__ = "1.0.0.dev0"
__all__ = ["MicrogradError", "Value", "__version__", "math", "no_grad", "primitive"]
