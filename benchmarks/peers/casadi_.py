"""CasADi: a graph of symbols, evaluated by its virtual machine; with the argument `C`, its generated code through the compiler.

Single points go through the buffer interface, which is the fastest way to call a CasADi function from Python.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from talk import Timer, missing, serve

try:
    import casadi
except ImportError:
    missing("casadi")

import numpy as np

import works
from clocks import clock, clock_short

BY_C = sys.argv[1] == "C"
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)


class Math:
    """The names that works.asian asks for."""

    exp, sqrt = staticmethod(casadi.exp), staticmethod(casadi.sqrt)

    @staticmethod
    def relu(x: Any) -> Any:
        return casadi.fmax(x, 0.0)


def made(name: str, inputs: list[Any], outputs: list[Any]) -> Any:
    f = casadi.Function(name, inputs, outputs)
    if BY_C:
        source = f.generate(f"{name}.c")
        command = f"{os.environ.get('CC', 'gcc')} -O3 -march=native -fPIC -shared {source} -o ./{name}.so -lm"
        if os.system(command):
            raise RuntimeError("the C compiler refused CasADi's code")
        f = casadi.external(name, f"./{name}.so")
    return f


def buffered(f: Any, numbers: Any, sizes: list[int]) -> Timer:
    buffer, run = f.buffer()
    inputs = np.array(numbers, dtype=float)
    buffer.set_arg(0, memoryview(inputs))
    outputs = [np.zeros(n) for n in sizes]
    for i, out in enumerate(outputs):
        buffer.set_res(i, memoryview(out))
    timed = clock_short("call()", call=run) if len(inputs) == 2 else clock(run)
    kept = f, buffer, inputs, outputs
    return lambda: timed() if kept else 0.0


def point(name: str, f: Any, numbers: Any) -> Timer:
    p = casadi.SX.sym("p", len(numbers))
    y = f(*[p[i] for i in range(len(numbers))])
    return buffered(made(name, [p], [y, casadi.gradient(y, p)]), numbers, [1, len(numbers)])


def asian() -> Timer:
    market, z = casadi.SX.sym("market", 5), casadi.SX.sym("z", works.DATES)
    y = works.asian(*[market[i] for i in range(5)], [z[t] for t in range(works.DATES)], Math)
    path = made("path", [market, z], [y, casadi.gradient(y, market)])
    paths = 10_000  # a tenth of the work: the time of a path does not depend on their number
    mapped = path.map(paths)
    zs, at = works.normals()[:, :paths].copy(), np.tile(np.array(works.MARKET)[:, None], (1, paths))
    if BY_C:  # a loop in C round the compiled function
        return _each(path, zs)
    timed = clock(lambda: mapped(at, zs))
    return lambda: timed() / paths


def _each(path: Any, zs: Any) -> Timer:
    """The compiled function of one path, called by a loop in C."""
    import ctypes

    loop = """
    typedef long long casadi_int;
    int path(const double **arg, double **res, casadi_int *iw, double *w, int mem);
    #include <time.h>
    double each(const double *market, const double *z, int n, double *out) {
        static double w[100000]; casadi_int iw[100]; double y, g[5];
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int i = 0; i < n; i++) {
            const double *arg[8] = {market, z + 64 * i}; double *res[8] = {&y, g};
            path(arg, res, iw, w, 0);
            out[0] += y; for (int k = 0; k < 5; k++) out[k + 1] += g[k];
        }
        clock_gettime(CLOCK_MONOTONIC, &b);
        return (b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec)) / n;
    }"""
    with open("each.c", "w") as file:
        file.write(loop)
    if os.system(f"{os.environ.get('CC', 'gcc')} -O3 -march=native -fPIC -shared each.c path.c -o ./each.so -lm"):
        raise RuntimeError("the C compiler refused the loop")
    each = ctypes.CDLL("./each.so").each
    each.restype = ctypes.c_double
    rows, market, out = np.ascontiguousarray(zs.T), np.array(works.MARKET), np.zeros(6)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (market, rows)]

    def once() -> float:
        kept = (rows, market, out)
        return min(each(*pointers, ctypes.c_int(2000), kept[2].ctypes.data_as(ctypes.c_void_p)) for _ in range(5))

    return once


def gpt(adam: bool = False) -> Timer:
    """Scalar symbols, written out: one name, its tokens fixed."""
    tokens, following = works.one_name() if adam else (a[0].tolist() for a in works.names())
    p = casadi.SX.sym("p", 4192)
    parts, at = [], 0
    for rows, columns in ((27, 16), (16, 16), (16, 16), (16, 16), (16, 16), (16, 16), (64, 16), (16, 64), (27, 16)):
        parts.append(casadi.reshape(p[at : at + rows * columns], columns, rows).T)
        at += rows * columns
    wt, wp, wq, wk, wv, wo, wu, wd, wh = parts

    def norm(x: Any) -> Any:
        return x / casadi.sqrt(casadi.sumsqr(x) / 16 + 1e-5)

    xs = [norm(wt[token, :].T + wp[t, :].T) for t, token in enumerate(tokens)]
    ns = [norm(x) for x in xs]
    qs, ks, vs = ([w @ x for x in ns] for w in (wq, wk, wv))
    total: Any = 0.0
    for t, x in enumerate(xs):
        mixed = []
        for h in range(0, 16, 4):
            odds = [casadi.exp(casadi.dot(qs[t][h : h + 4], ks[j][h : h + 4]) * 0.5) for j in range(t + 1)]
            whole = sum(odds)
            mixed.append(sum(o / whole * vs[j][h : h + 4] for j, o in enumerate(odds)))
        x = x + wo @ casadi.vertcat(*mixed)
        x = x + wd @ casadi.fmax(wu @ norm(x), 0.0)
        logits = wh @ x
        total += casadi.log(casadi.sum1(casadi.exp(logits))) - logits[following[t]]
    y = total / len(tokens)
    if not adam:
        return buffered(made("gpt", [p], [y, casadi.gradient(y, p)]), works.gpt_start(), [1, 4192])
    return adam_step(casadi.Function("slopes", [p], [y, casadi.gradient(y, p)]))


def adam_step(slopes: Any) -> Timer:
    """The gradient as one function and the update of a parameter as another, mapped over all of them: a loop in CasADi's C.

    Written out as scalars too, the update makes a function of 280,000 lines, which gcc -O1 does not compile in 4 minutes.
    """
    p, mean, square, g, k = (casadi.SX.sym(name) for name in ("p", "mean", "square", "g", "k"))
    lr = 1e-9 * (1.0 - k / 1e9)
    mean2, square2 = 0.85 * mean + 0.15 * g, 0.99 * square + 0.01 * g * g
    size, root = lr / (1.0 - 0.85 ** (k + 1)), casadi.sqrt(1.0 - 0.99 ** (k + 1))
    moved = p - size * mean2 / (casadi.sqrt(square2) / root + 1e-8)
    update = casadi.Function("update", [p, mean, square, g, k], [moved, mean2, square2]).map(4192)
    state = casadi.MX.sym("state", 3 * 4192 + 1)
    ps, means, squares, steps = (
        state[:4192], state[4192 : 2 * 4192], state[2 * 4192 : 3 * 4192], state[3 * 4192],
    )  # fmt: skip
    y, slope = slopes(ps)
    new = update(ps.T, means.T, squares.T, slope.T, casadi.repmat(steps, 1, 4192))
    f = made("microgpt", [state], [y, casadi.vertcat(*[part.T for part in new], steps + 1)])
    return buffered(f, [*works.gpt_start(), *[0.0] * 8385], [1, 12577])


TASKS = {
    "tiny": lambda: point("tiny", works.tiny, (-41.0, 2.0)),
    "readme": lambda: point("readme", works.readme_with(casadi.fmax), (-4.0, 2.0)),
    "asian": asian,
    "lotka": lambda: point("lotka", works.lotka, works.RATES),
    "gpt": gpt,
    "microgpt": lambda: gpt(adam=True),
}
if BY_C:
    del TASKS["lotka"]  # 300,000 lines of C for one function: gcc -O3 needs many minutes
serve(casadi.__version__, TASKS)
folder.cleanup()
