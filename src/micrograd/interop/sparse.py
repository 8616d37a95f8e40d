"""Sparse Jacobians and Hessians: find the pattern on the tape, colour the columns, and sweep once for each colour.

>>> import numpy as np
>>> from micrograd import sparse_jacobian
>>> def second_difference(x):
...     return [x[i - 1] - 2.0 * x[i] + x[i + 1] for i in range(1, len(x) - 1)]
>>> J = sparse_jacobian(second_difference)
>>> J(np.arange(5.0)).toarray().tolist()
[[1.0, -2.0, 1.0, 0.0, 0.0], [0.0, 1.0, -2.0, 1.0, 0.0], [0.0, 0.0, 1.0, -2.0, 1.0]]
>>> J.sweeps
3
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd import install
from micrograd.errors import TraceError
from micrograd.tape import interpret, passes
from micrograd.tape.tape import CONST, INPUT, PARAM, Tape
from micrograd.tape.trace import Trace, derived, is_tracing, peek, trace
from micrograd.transforms import grad
from micrograd.tree import Shape, as_floats, flatten, name_of, size


def pattern(tape: Tape) -> list[list[int]]:
    """For each output of a tape, the inputs that it may depend on, in order."""
    nothing: frozenset[int] = frozenset()
    found: list[frozenset[int]] = []
    for op, args in zip(tape.ops, tape.args):
        if op is INPUT:
            found.append(frozenset(args))
        elif op is CONST or op is PARAM:
            found.append(nothing)
        else:  # of a region: whatever any of its operands depends on
            sets = [s for s in dict.fromkeys(found[a] for a in args) if s]
            found.append(nothing if not sets else sets[0] if len(sets) == 1 else sets[0].union(*sets[1:]))
    return [sorted(found[o]) for o in tape.outputs]


def colour(rows: list[list[int]], columns: int) -> list[int]:
    """A colour for each column, so that no row has two columns of one colour: greedily, from left to right."""
    at: list[list[int]] = [[] for _ in range(columns)]
    for r, row in enumerate(rows):
        for c in row:
            at[c].append(r)
    colours = [-1] * columns
    taken: list[set[int]] = [set() for _ in rows]  # the colours that a row has already
    for c in range(columns):
        forbidden = taken[at[c][0]].union(*[taken[r] for r in at[c][1:]]) if at[c] else set()
        k = 0
        while k in forbidden:
            k += 1
        colours[c] = k
        for r in at[c]:
            taken[r].add(k)
    return colours


class SparseJacobian:
    """A function of a list or an array of numbers, to the Jacobian as a `scipy.sparse.csr_array`."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.sweeps = 0  # how many the last call took: one for each colour

    def __call__(self, x: Any, *args: Any) -> Any:
        """The Jacobian of f at x, by as many forward sweeps as there are colours."""
        if is_tracing():
            raise TraceError(
                "a sparse Jacobian is no number, and cannot be part of a compiled function; use jacobian there"
            )
        try:
            import numpy as np
            from scipy.sparse import csr_array
        except ImportError:
            raise ImportError(f"sparse Jacobians are SciPy's: {install.command('scipy')}") from None
        leaves: list[Any] = []
        shape: Shape = ("tuple", (flatten(x, leaves),))
        found = self._trace(shape, as_floats(peek(leaves)), args)
        rows = pattern(found.tape)
        colours = colour(rows, len(leaves))
        self.sweeps = 1 + max(colours, default=-1)
        index = np.array([c for row in rows for c in row], dtype=np.int64)
        ends = np.cumsum([0, *(len(row) for row in rows)])
        data = self._sweep(found, as_floats(peek(leaves)), rows, colours, np)
        return csr_array((data, index, ends), shape=(size(found.shape), len(leaves)))

    def _trace(self, shape: Shape, numbers: list[Any], args: tuple[Any, ...]) -> Trace:
        def run(x: Any) -> Any:
            return self.f(x, *args)

        run.__qualname__ = name_of(self.f)
        return trace(run, shape, numbers, frozen=False)

    def _sweep(self, found: Trace, numbers: list[float], rows: list[list[int]], colours: list[int], np: Any) -> Any:
        tape, seeds = found.tape.with_inputs(len(numbers))
        places = passes.sources(tape, INPUT, tape.inputs)[: len(numbers)]
        used = [k for k, p in enumerate(places) if p is not None]
        swept = derived(tape, passes.tangent, [places[k] for k in used], [seeds[k] for k in used])
        params, count, each = peek(found.captured), len(rows), np.array(colours)
        slopes = []
        for k in range(self.sweeps):
            direction = (each == k).astype(float).tolist()
            slopes.append(interpret.run(swept, [*numbers, *direction], params)[count:])
        return np.array([slopes[colours[c]][r] for r, row in enumerate(rows) for c in row], dtype=float)


def sparse_jacobian(f: Callable[..., Any]) -> SparseJacobian:
    """Return the function that computes the Jacobian of f by its first argument, as a SciPy CSR array.

    The first argument is a list or an array of numbers, and f returns a list or an array of numbers.

    >>> from micrograd import sparse_jacobian
    >>> sparse_jacobian(lambda x: [v * v for v in x])([1.0, 2.0, 3.0]).toarray().tolist()
    [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
    """
    return SparseJacobian(f)


def sparse_hessian(f: Callable[..., Any]) -> SparseJacobian:
    """Return the function that computes the Hessian of f by its first argument, as a SciPy CSR array.

    >>> from micrograd import sparse_hessian
    >>> sparse_hessian(lambda x: x[0] * x[1] + x[2] ** 3)([1.0, 2.0, 3.0]).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 18.0]]
    """
    return SparseJacobian(grad(f))
