"""A saddle point: the x at which the maximum over y of f(x, y) is smallest, and that y.

Each step of the search for x needs the slope of a maximum that is itself found by a search. The two derivatives are computed by
forward or by reverse sweeps: "fr" is forward outside, reverse inside.
"""

from descent import argmin, forward, reverse
from evaluation import Function, numbers

from micrograd import jit


def f(x, y):
    return (x[0] * x[0] + x[1] * x[1]) - (y[0] * y[0] + y[1] * y[1])


def argmax(x, start, gradient):
    """Return the y at which f(x, y) is largest."""

    def depth(y):
        return -f(x, y)

    return argmin(depth, gradient(depth), start)


def search(outer, inner):
    def highest(x, start):
        return argmax(x, start, inner)

    def height(x, start):
        return f(x, highest(x, start))

    def slope(x, start):
        return outer(lambda x: height(x, start))(x)

    compiled_height, compiled_slope, compiled_highest = (jit(g, wait=True) for g in (height, slope, highest))

    def saddle_point(start):
        x = argmin(lambda x: compiled_height(x, start), lambda x: compiled_slope(x, start), start)
        return [*x, *compiled_highest(x, start)]

    def arguments(given):
        return (given["start"],)

    return Function(saddle_point, arguments, numbers, lambda start: compiled_slope.explain(start, start))


ff, fr, rf, rr = search(forward, forward), search(forward, reverse), search(reverse, forward), search(reverse, reverse)
