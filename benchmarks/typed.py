"""Typed tapes beside C by hand: values and gradients of programs over arrays, at one point and on one thread.

    python benchmarks/typed.py [name ...]       about 30 seconds

The tapes are those of benchmarks/typed_programs.py, the C is benchmarks/hand/typed.c with gcc -O3 -march=native. Each line has
the microseconds of the value and of value and gradient, their ratios to the C, and the milliseconds to differentiate and to
compile both. The two are timed in turn, so that a busy machine slows both down. Fails where a result differs from the C's.
"""

from __future__ import annotations

import ctypes
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]

import numpy as np  # noqa: E402
from benchmarks.typed_programs import PROGRAMS  # noqa: E402

SIZES = [("lse", 500), ("lse", 100_000), ("cholesky", 60), ("lu", 60), ("kmeans", 1000), ("gmm", 500), ("newton", 1000)]
ROUNDS, SECONDS = 7, 0.03


def library() -> Any:
    """The functions of benchmarks/hand/typed.c."""
    folder = tempfile.mkdtemp()
    path = f"{folder}/typed.so"
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(HERE / "hand" / "typed.c"), "-o", path, "-lm"], check=True)
    return ctypes.CDLL(path)


def by_hand(functions: Any, name: str, arguments: list[Any], wrt: list[int], gradient: bool) -> Callable[[], list[Any]]:
    """A call of the C that gives the value, and the gradients with `gradient`."""
    function = getattr(functions, name)
    function.restype = ctypes.c_double
    grads = [np.zeros_like(arguments[k]) if gradient else None for k in wrt]
    double, long = (lambda x: None if x is None else ctypes.c_void_p(x.ctypes.data)), ctypes.c_long
    n = arguments[-1]
    work = [np.empty(1 << 16) for _ in range(2)]
    if name in ("lse", "newton"):
        given = [double(arguments[0]), long(len(arguments[0])), *([double(work[0])] if name == "newton" else [])]
    elif name in ("cholesky", "lu"):
        given = [double(arguments[0]), long(n), *map(double, work)]
    elif name == "kmeans":
        x, c, d = arguments
        given = [double(x), long(len(x) // d), double(c), long(len(c) // d), long(d)]
    else:
        x, alphas, means, q, lower, d = arguments
        given = [
            double(x),
            long(len(x) // d),
            double(alphas),
            long(len(alphas)),
            double(means),
            double(q),
            double(lower),
        ]
        given += [long(d), double(work[0])]
    given += map(double, grads)

    def call(alive: Any = work) -> list[Any]:
        return [function(*given), *(g for g in grads if g is not None)]

    return call


def timed(*functions: Callable[[], Any]) -> list[float]:
    """The microseconds of a call of each, in turn: the median of some rounds."""
    counts = []
    for f in functions:
        f()
        start, n = time.perf_counter(), 0
        while time.perf_counter() - start < SECONDS:
            f()
            n += 1
        counts.append(max(1, n))
    rounds: list[list[float]] = [[] for _ in functions]
    for _ in range(ROUNDS):
        for k, f in enumerate(functions):
            start = time.perf_counter()
            for _ in range(counts[k]):
                f()
            rounds[k].append((time.perf_counter() - start) / counts[k])
    return [1e6 * statistics.median(r) for r in rounds]


def main() -> None:
    from micrograd.compile.typed.kernel import Kernel
    from micrograd.ir.passes import gradient, simplified

    functions = library()
    print("program                 value          C  ratio   gradient          C  ratio  adjoint  compile")
    for name, size in SIZES:
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        program = PROGRAMS[name]
        arguments = [np.array(x) if isinstance(x, list) else x for x in program.arguments(Random(1), size)]
        tape = simplified(program.tape())
        start = time.perf_counter()
        made = gradient(tape, program.wrt)
        adjoint_ms = 1e3 * (time.perf_counter() - start)
        start = time.perf_counter()
        value, grad = Kernel(tape), Kernel(made)
        compile_ms = 1e3 * (time.perf_counter() - start)
        hand = [by_hand(functions, name, arguments, program.wrt, g) for g in (False, True)]
        for found, expected in ((value(*arguments), hand[0]()), (grad(*arguments), hand[1]())):
            assert math.isclose(found[0], expected[0], rel_tol=1e-12), name
            for x, y in zip(found[1:], expected[1:], strict=True):
                assert np.allclose(x, y, rtol=1e-8, atol=1e-12), name
        v, c, g, h = timed(partial(value, *arguments), hand[0], partial(grad, *arguments), hand[1])
        line = f"{name + ' ' + str(size):18} {v:10.1f} {c:10.1f} {v / c:6.2f} {g:10.1f} {h:10.1f} {g / h:6.2f}"
        print(f"{line} {adjoint_ms:8.0f} {compile_ms:8.0f}", flush=True)


if __name__ == "__main__":
    main()
