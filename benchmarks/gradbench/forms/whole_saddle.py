"""saddle with both of its searches as one compiled function."""

from descent import argmin, forward, reverse
from evaluation import Function, numbers
from saddle import argmax, f

from micrograd import jit


def search(outer, inner):
    def saddle_point(start):
        def height(x):
            return f(x, argmax(x, start, inner))

        x = argmin(height, outer(height), start)
        return [*x, *argmax(x, start, inner)]

    return Function(jit(saddle_point, wait=True), lambda given: (given["start"],), numbers)


ff, fr, rf, rr = search(forward, forward), search(forward, reverse), search(reverse, forward), search(reverse, reverse)
