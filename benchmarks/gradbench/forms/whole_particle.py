"""particle with its whole search as one compiled function."""

from descent import argmin, forward, reverse
from evaluation import Function
from particle import squared_crossing

from micrograd import jit


def search(outer, inner):
    def miss(at):
        return squared_crossing(at[0], inner)

    return Function(jit(lambda w: argmin(miss, outer(miss), [w])[0], wait=True), lambda given: (given["w"],), float)


ff, fr, rf, rr = search(forward, forward), search(forward, reverse), search(reverse, forward), search(reverse, reverse)
