"""Functions whose row decides how often they repeat something that is written out: a list that grows, and a recursion."""

from micrograd import math


def grows(x):
    """A list that grows by as many items as the row decides is written out iteration by iteration."""
    items = [x]
    while items[-1] < 50:
        items.append(items[-1] * 1.17 + items[-1] * 0.01 * x + math.exp(-x) * 0.3)
    return sum(items) * x + len(items)


def deep(x):
    def halve(v, depth):
        if v < 0.01:
            return v * depth
        return halve(v * 0.81 + v * v * 1e-3, depth + 1) * 1.01 + 0.1 * v

    return halve(x, 0)
