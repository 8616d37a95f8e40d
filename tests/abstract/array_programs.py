"""Programs over lists of numbers of any length, as plain Python, and their arguments."""

from __future__ import annotations

import bisect
import math
import random
from typing import Any


def doubled(x):
    return [v * 2.0 for v in x]


def shifted(x):
    return [x[0], *(x[i] - x[i - 1] for i in range(1, len(x)))]


def rebuilt_each_time(x, n):
    y = [0.0] * len(x)
    for _ in range(n):
        y = [0.5 * b + a for a, b in zip(x, y)]
    return y


def table_of_pairs(x):
    return [[v, v * v] for v in x]


def summed_until_large(x):
    total = 0.0
    i = 0
    while i < len(x):
        if x[i] > 1.2:
            break
        total += x[i]
        i += 1
    return total, i


def first_large(x):
    for v in x:
        if v > 1.0:
            return v
    return -1.0


def else_of_a_loop(x):
    for v in x:
        if v > 1.0:
            break
    else:
        return 0.0
    return v


def outer_product(x):
    n = len(x)
    m = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            m[i][j] = x[i] * x[j]
    return m


def cumulative(x):
    sums, total = [], 0.0
    for v in x:
        total += v
        sums.append(total)
    return sums, sums[-1] if sums else 0.0


def permuted(x):
    previous, current = 0.0, 1.0
    for v in x:
        previous, current = current, 0.5 * current + v * previous
    return current


def swapped_lists(x):
    a, b = list(x), [0.0] * len(x)
    for _ in range(5):
        for i in range(len(a)):
            b[i] = a[i - 1] + 0.25 * a[i]
        a, b = b, a
    return a


def counted(x):
    below = above = 0
    for v in x:
        if v < 0.0:
            below += 1
        elif v > 0.5:
            above += 1
    return below, above, below - above


def horner(coefficients, t):
    p = 0.0
    for c in reversed(coefficients):
        p = p * t + c
    return p


def newton_roots(x):
    total = 0.0
    for v in x:
        r, steps = 1.0, 0
        while abs(r * r - 1.0 - v * v) > 1e-12:
            r = 0.5 * (r + (1.0 + v * v) / r)
            steps += 1
            if steps > 40:
                break
        total += r
    return total


def edit_distance(a, b):
    previous = [0.5 * j for j in range(len(b) + 1)]
    for i in range(len(a)):
        current = [0.5 * (i + 1)]
        for j in range(len(b)):
            current.append(min(previous[j] + abs(a[i] - b[j]), previous[j + 1] + 0.5, current[j] + 0.5))
        previous = current
    return previous[-1]


def cholesky(a):
    n = len(a)
    lower = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            t = a[i][j] - sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = math.sqrt(t) if i == j else t / lower[j][j]
    return sum(math.log(lower[i][i]) for i in range(n))


def lu_with_pivots(a):
    a = [list(row) for row in a]
    total = 0.0
    for k in range(len(a)):
        p = k
        for i in range(k + 1, len(a)):
            if abs(a[i][k]) > abs(a[p][k]):
                p = i
        if p != k:
            a[k], a[p] = a[p], a[k]
        total += math.log(abs(a[k][k]))
        for i in range(k + 1, len(a)):
            f = a[i][k] / a[k][k]
            for j in range(k, len(a)):
                a[i][j] -= f * a[k][j]
    return total


class Body:
    def __init__(self, x, v):
        self.x, self.v = x, v

    def move(self, dt):
        self.x = self.x + dt * self.v


def bodies(x, v):
    found = [Body(a, b) for a, b in zip(x, v)]
    for _ in range(10):
        for p in found:
            p.v = p.v - 0.1 * p.x
            if p.x > 1.0:
                p.v = 0.5 * p.v
        for p in found:
            p.move(0.1)
    return sum(p.x * p.x for p in found)


def interpolated(table, x):
    i = bisect.bisect_right(table, x) - 1
    i = min(max(i, 0), len(table) - 2)
    t = (x - table[i]) / (table[i + 1] - table[i])
    return i + t * t


def histogram(x, weight):
    counts = [0.0] * 8
    for v in x:
        counts[int(abs(v) * 3.0) % 8] += weight * v
    return counts


def middle(x):
    order = sorted(x)
    return order[len(order) // 2]


def windows(x):
    return [sum(x[i : i + 3]) for i in range(len(x) - 2)]


def pairs(x):
    best = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = abs(x[i] - x[j])
            if d > best:
                best = d
    return best


def stack(x):
    held = []
    for v in x:
        if v > 0.0 or not held:
            held.append(v)
        else:
            held.append(held.pop() * v)
    return sum(held)


def pairs_of_a_list(x):
    points = [(v, v * v) for v in x]
    total = 0.0
    for a, b in points:
        total += a * b
    return total, points


def running_maximum(x):
    def step():
        best = x[0]
        for v in x:
            best = max(best, v)
            yield best

    return sum(step())


def vector(n: int, r: random.Random) -> list[float]:
    return [r.gauss(0, 1) for _ in range(n)]


def positive(n: int, r: random.Random) -> list[list[float]]:
    g = [vector(n, r) for _ in range(n)]
    return [
        [sum(a * b for a, b in zip(p, q)) + (n if i == j else 0.0) for j, q in enumerate(g)] for i, p in enumerate(g)
    ]


PROGRAMS: dict[Any, Any] = {
    **{
        f: lambda n, r: (vector(n, r),)
        for f in (
            doubled, shifted, table_of_pairs, summed_until_large, first_large, else_of_a_loop, outer_product, cumulative,
            permuted, swapped_lists, counted, newton_roots, middle, windows, pairs, stack, pairs_of_a_list, running_maximum,
        )
    },
    rebuilt_each_time: lambda n, r: (vector(n, r), r.randrange(6)),
    horner: lambda n, r: (vector(n, r), r.gauss(0, 1)),
    edit_distance: lambda n, r: (vector(n, r), vector(n + 2, r)),
    cholesky: lambda n, r: (positive(n, r),),
    lu_with_pivots: lambda n, r: ([vector(n, r) for _ in range(n)],),
    bodies: lambda n, r: (vector(n, r), vector(n, r)),
    interpolated: lambda n, r: (sorted(vector(n, r)), r.gauss(0, 1)),
    histogram: lambda n, r: (vector(n, r), r.gauss(0, 1)),
}  # fmt: skip
