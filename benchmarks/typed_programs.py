"""Programs over arrays, as plain Python and as typed tapes made by hand: what benchmarks/typed.py times, and tests compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from random import Random
from typing import Any, NamedTuple

from micrograd import math
from micrograd.ir.builder import Builder
from micrograd.ir.forms import I64, Place, Tape

Step = Callable[[list[Place], Place], Sequence[Place]]


class Program(NamedTuple):
    """A program of arrays (lists of numbers in Python) and sizes; its result is a number."""

    python: Callable[..., Any]
    tape: Callable[[], Tape]
    arguments: Callable[[Random, int], list[Any]]  # of a size
    wrt: list[int]


class Writer(Builder):
    """A Builder with the loops and sums that these programs are made of."""

    def each(self, times: Place | int, carried: Sequence[Place], step: Step) -> list[Place]:
        """Return the carried values after one step for each number below `times`."""
        n = self.const(times) if isinstance(times, int) else times
        return self.loop(n, carried, lambda params, k: (self.const(True), step(params, k)))[:-1]

    def total(self, times: Place, term: Callable[[Place], Place]) -> Place:
        """Return the sum of terms, in their order."""
        return self.each(times, [self.const(0.0)], lambda s, k: [self.emit("add", s[0], term(k))])[0]

    def at(self, row: Place, width: Place, column: Place | int) -> Place:
        """Return where an item of a matrix is."""
        return self.sum(self.emit("imul", row, width), column)


# ---- log-sum-exp


def lse(x: Any) -> Any:
    top = -inf
    for v in x:
        top = math.max(top, v)
    total = 0.0
    for v in x:
        total = total + math.exp(v - top)
    return top + math.log(total)


def lse_tape() -> Tape:
    b = Writer(["f64[]"])
    (x,) = b.params
    n = b.emit("size", x)
    (top,) = b.each(n, [b.const(-inf)], lambda t, k: [b.emit("max", t[0], b.emit("load", x, k))])
    total = b.total(n, lambda k: b.emit("exp", b.emit("sub", b.emit("load", x, k), top)))
    return b.finish([b.emit("add", top, b.emit("log", total))])


# ---- half the logarithm of the determinant, by Cholesky's factors


def cholesky(a: Any, n: int) -> Any:
    low = [0.0] * (n * n)
    for i in range(n):
        for j in range(i + 1):
            s = a[i * n + j]
            for k in range(j):
                s = s - low[i * n + k] * low[j * n + k]
            low[i * n + j] = math.sqrt(s) if i == j else s / low[j * n + j]
    total = 0.0
    for i in range(n):
        total = total + math.log(low[i * n + i])
    return total


def cholesky_tape() -> Tape:
    b = Writer(["f64[]", I64])
    a, n = b.params

    def row(outer: list[Place], i: Place) -> list[Place]:
        def column(params: list[Place], j: Place) -> list[Place]:
            (low,) = params

            def term(s: list[Place], k: Place) -> list[Place]:
                left, right = b.emit("load", low, b.at(i, n, k)), b.emit("load", low, b.at(j, n, k))
                return [b.emit("sub", s[0], b.emit("mul", left, right))]

            (s,) = b.each(j, [b.emit("load", a, b.at(i, n, j))], term)
            (x,) = b.choose(
                b.emit("ieq", i, j),
                lambda: [b.emit("sqrt", s)],
                lambda: [b.emit("div", s, b.emit("load", low, b.at(j, n, j)))],
            )
            return [b.emit("store", low, b.at(i, n, j), x)]

        return b.each(b.sum(i, 1), outer, column)

    (low,) = b.each(n, [b.emit("fill", b.emit("imul", n, n), b.const(0.0))], row)
    return b.finish([b.total(n, lambda i: b.emit("log", b.emit("load", low, b.at(i, n, i))))])


# ---- the logarithm of a determinant, by elimination with pivots


def lu(a: Any, n: int) -> Any:
    a = list(a)
    total = 0.0
    for k in range(n):
        p, best = k, abs(a[k * n + k])
        for i in range(k + 1, n):
            if abs(a[i * n + k]) > best:
                p, best = i, abs(a[i * n + k])
        if p != k:
            for j in range(n):
                a[k * n + j], a[p * n + j] = a[p * n + j], a[k * n + j]
        for i in range(k + 1, n):
            f = a[i * n + k] / a[k * n + k]
            for j in range(k + 1, n):
                a[i * n + j] = a[i * n + j] - f * a[k * n + j]
        total = total + math.log(abs(a[k * n + k]))
    return total


def lu_tape() -> Tape:
    b = Writer(["f64[]", I64])
    start, n = b.params

    def load(a: Place, i: Place, j: Place) -> Place:
        return b.emit("load", a, b.at(i, n, j))

    def step(carried: list[Place], k: Place) -> list[Place]:
        a, total = carried
        rest = b.sum(b.sum(n, -1), k, -1)  # rows below

        def better(params: list[Place], r: Place) -> list[Place]:
            p, best = params
            i = b.sum(b.sum(k, 1), r)
            x = b.emit("abs", load(a, i, k))
            return b.choose(b.emit("gt", x, best), lambda: [i, x], lambda: [p, best])

        p, _ = b.each(rest, [k, b.emit("abs", load(a, k, k))], better)

        def swap(params: list[Place], j: Place) -> list[Place]:
            (a,) = params
            x, y = load(a, k, j), load(a, p, j)
            a = b.emit("store", a, b.at(k, n, j), y)
            return [b.emit("store", a, b.at(p, n, j), x)]

        (a,) = b.choose(b.emit("ieq", p, k), lambda: [a], lambda: b.each(n, [a], swap))

        def eliminate(params: list[Place], r: Place) -> list[Place]:
            (a,) = params
            i = b.sum(b.sum(k, 1), r)
            f = b.emit("div", load(a, i, k), load(a, k, k))

            def update(params: list[Place], c: Place) -> list[Place]:
                (a,) = params
                j = b.sum(b.sum(k, 1), c)
                x = b.emit("sub", load(a, i, j), b.emit("mul", f, load(a, k, j)))
                return [b.emit("store", a, b.at(i, n, j), x)]

            return b.each(rest, [a], update)

        (a,) = b.each(rest, [a], eliminate)
        return [a, b.emit("add", total, b.emit("log", b.emit("abs", load(a, k, k))))]

    return b.finish([b.each(n, [start, b.const(0.0)], step)[1]])


# ---- the distance of points to the nearest of some centres


def kmeans(points: Any, centres: Any, d: int) -> Any:
    total = 0.0
    for i in range(len(points) // d):
        best = inf
        for c in range(len(centres) // d):
            s = 0.0
            for j in range(d):
                e = points[i * d + j] - centres[c * d + j]
                s = s + e * e
            best = math.min(best, s)
        total = total + best
    return total


def kmeans_tape() -> Tape:
    b = Writer(["f64[]", "f64[]", I64])
    points, centres, d = b.params
    n, k = (b.emit("ifloordiv", b.emit("size", x), d) for x in (points, centres))

    def distance(i: Place, c: Place) -> Place:
        def term(j: Place) -> Place:
            e = b.emit("sub", b.emit("load", points, b.at(i, d, j)), b.emit("load", centres, b.at(c, d, j)))
            return b.emit("mul", e, e)

        return b.total(d, term)

    def nearest(i: Place) -> Place:
        return b.each(k, [b.const(inf)], lambda best, c: [b.emit("min", best[0], distance(i, c))])[0]

    return b.finish([b.total(n, nearest)])


# ---- the log likelihood of a mixture of Gaussians, of triangular inverse covariances


def gmm(x: Any, alphas: Any, means: Any, q: Any, lower: Any, d: int) -> Any:
    k, below = len(alphas), d * (d - 1) // 2
    diagonal = [math.exp(v) for v in q]
    total = 0.0
    for i in range(len(x) // d):
        terms = []
        for c in range(k):
            square, logs = 0.0, 0.0
            for r in range(d):
                s = diagonal[c * d + r] * (x[i * d + r] - means[c * d + r])
                for j in range(r):
                    s = s + lower[c * below + r * (r - 1) // 2 + j] * (x[i * d + j] - means[c * d + j])
                square = square + s * s
                logs = logs + q[c * d + r]
            terms.append(alphas[c] + logs - 0.5 * square)
        total = total + lse(terms)
    return total


def gmm_tape() -> Tape:
    b = Writer(["f64[]", "f64[]", "f64[]", "f64[]", "f64[]", I64])
    x, alphas, means, q, lower, d = b.params
    n, k = b.emit("ifloordiv", b.emit("size", x), d), b.emit("size", alphas)
    two, zero = b.const(2), b.const(0.0)
    below = b.emit("ifloordiv", b.emit("imul", d, b.sum(d, -1)), two)

    def exponential(e: list[Place], j: Place) -> list[Place]:
        return [b.emit("store", e[0], j, b.emit("exp", b.emit("load", q, j)))]

    (diagonal,) = b.each(b.emit("size", q), [b.emit("fill", b.emit("size", q), zero)], exponential)

    def centred(i: Place, c: Place, j: Place) -> Place:
        return b.emit("sub", b.emit("load", x, b.at(i, d, j)), b.emit("load", means, b.at(c, d, j)))

    def term(i: Place, c: Place) -> Place:
        def row(params: list[Place], r: Place) -> list[Place]:
            square, logs = params
            of_q = b.emit("load", q, b.at(c, d, r))
            first = b.emit("mul", b.emit("load", diagonal, b.at(c, d, r)), centred(i, c, r))
            begin = b.sum(b.emit("imul", c, below), b.emit("ifloordiv", b.emit("imul", r, b.sum(r, -1)), two))

            def add(s: list[Place], j: Place) -> list[Place]:
                return [b.emit("add", s[0], b.emit("mul", b.emit("load", lower, b.sum(begin, j)), centred(i, c, j)))]

            (s,) = b.each(r, [first], add)
            return [b.emit("add", square, b.emit("mul", s, s)), b.emit("add", logs, of_q)]

        square, logs = b.each(d, [zero, zero], row)
        log = b.emit("add", b.emit("load", alphas, c), logs)
        return b.emit("sub", log, b.emit("mul", b.const(0.5), square))

    def point(i: Place) -> Place:
        (terms,) = b.each(k, [b.emit("fill", k, zero)], lambda t, c: [b.emit("store", t[0], c, term(i, c))])
        (top,) = b.each(k, [b.const(-inf)], lambda t, c: [b.emit("max", t[0], b.emit("load", terms, c))])
        total = b.total(k, lambda c: b.emit("exp", b.emit("sub", b.emit("load", terms, c), top)))
        return b.emit("add", top, b.emit("log", total))

    return b.finish([b.total(n, point)])


# ---- square roots by Newton's method, until a step is small


def newton(y: Any) -> Any:
    total = 0.0
    for v in y:
        x = v
        while True:
            following = 0.5 * (x + v / x)
            small = abs(following - x) < 1e-12
            x = following
            if small:
                break
        total = total + x
    return total


def newton_tape() -> Tape:
    b = Writer(["f64[]"])
    (y,) = b.params

    def root(k: Place) -> Place:
        v = b.emit("load", y, k)

        def step(params: list[Place], _: Place) -> tuple[Place, list[Place]]:
            x = b.emit("mul", b.const(0.5), b.emit("add", params[0], b.emit("div", v, params[0])))
            far = b.emit("lt", b.emit("abs", b.emit("sub", x, params[0])), b.const(1e-12))
            return b.emit("not", far), [x]

        return b.loop(None, [v], step)[0]

    return b.finish([b.total(b.emit("size", y), root)])


def _numbers(random: Random, n: int) -> list[float]:
    return [random.uniform(-1.0, 1.0) for _ in range(n)]


def _definite(random: Random, n: int) -> list[Any]:
    m = _numbers(random, n * n)
    rows = [m[i * n : (i + 1) * n] for i in range(n)]
    product = [sum(x * y for x, y in zip(r, s, strict=True)) + (n if r is s else 0.0) for r in rows for s in rows]
    return [product, n]


def _mixture(random: Random, n: int) -> list[Any]:
    d, k = 10, 16
    parts = [_numbers(random, size) for size in (n * d, k, k * d, k * d, k * d * (d - 1) // 2)]
    return [*parts, d]


PROGRAMS = {
    "lse": Program(lse, lse_tape, lambda r, n: [_numbers(r, n)], [0]),
    "cholesky": Program(cholesky, cholesky_tape, _definite, [0]),
    "lu": Program(lu, lu_tape, lambda r, n: [_numbers(r, n * n), n], [0]),
    "kmeans": Program(kmeans, kmeans_tape, lambda r, n: [_numbers(r, 8 * n), _numbers(r, 80), 8], [0, 1]),
    "gmm": Program(gmm, gmm_tape, _mixture, [1, 2, 3, 4]),
    "newton": Program(newton, newton_tape, lambda r, n: [[r.uniform(0.5, 9.0) for _ in range(n)]], [0]),
}
