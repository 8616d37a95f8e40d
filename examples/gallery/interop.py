"""Hand a compiled function to another library, by its C pointer.

SciPy's `quad` integrates a density of two parameters 400 times; it calls machine code, and no Python.
"""

import numpy as np
from scipy import LowLevelCallable
from scipy.integrate import quad

from micrograd import jit, math

widths = np.linspace(0.2, 2.0, 400)


def density(x, width):
    return math.exp(-0.5 * (x / width) ** 2) / (1.0 + x**4)


def integrate(f):
    return [quad(f, -5.0, 5.0, args=(w,))[0] for w in widths]


def solve():
    pointer = LowLevelCallable(jit(density).ctypes(0.0, 1.0, signature="array"))
    return lambda: integrate(pointer)


# ---- beside it


def numbers(found):
    return found[::50]


def python():
    from math import exp

    return lambda: numbers(integrate(lambda x, w: exp(-0.5 * (x / w) ** 2) / (1.0 + x**4)))


def numba():
    from math import exp

    import numba
    from numba import types

    @numba.cfunc(types.double(types.intc, types.CPointer(types.double)))
    def f(n, x):
        return exp(-0.5 * (x[0] / x[1]) ** 2) / (1.0 + x[0] ** 4)

    pointer = LowLevelCallable(f.ctypes)
    return lambda: numbers(integrate(pointer))


OTHERS = {"SciPy, Python function": python, "SciPy, Numba": numba}


def draw(ax, found):
    ax.plot(widths, found, color="#2f6fde")
    ax.set(title="400 integrals", xlabel="width")
