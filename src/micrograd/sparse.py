"""Sparse Jacobians and Hessians: find the pattern on the tape, colour the columns, and sweep once for each colour.

>>> import numpy as np
>>> from micrograd import jacobian
>>> def second_difference(x):
...     return [x[i - 1] - 2.0 * x[i] + x[i + 1] for i in range(1, len(x) - 1)]
>>> J = jacobian(second_difference, sparse=True)
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
from micrograd.tape.trace import Trace, is_tracing, peek, trace
from micrograd.tape.twice import derived
from micrograd.tree import Shape, as_floats, flatten, name_of, size, wants_function


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
    """The Jacobian of f by one of its arguments, a list or an array of numbers, as a `scipy.sparse.csr_array`."""

    def __init__(self, f: Callable[..., Any], argnum: int = 0) -> None:
        wants_function(f, "differentiate")
        if not isinstance(argnum, int):
            raise TypeError(
                f"argnums={argnum!r}: a sparse Jacobian is taken with respect to one argument; give its number"
            )
        self.f, self.argnum = f, argnum
        self.sweeps = 0  # how many the last call took: one for each colour

    def __repr__(self) -> str:
        return f"<sparse jacobian of {name_of(self.f)}>"

    def __reduce__(self) -> Any:
        return SparseJacobian, (self.f, self.argnum)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The Jacobian of f at these arguments, by as many forward sweeps as there are colours."""
        if is_tracing():
            raise TraceError(
                "a sparse Jacobian is not a number, and cannot be part of a compiled function; use jacobian there"
            )
        csr_array = install.require("scipy.sparse", "a sparse Jacobian", "scipy", "scipy").csr_array
        import numpy as np

        if not -len(args) <= self.argnum < len(args):
            raise TypeError(f"argnums={self.argnum} asks for an argument that was not given by position")
        leaves: list[Any] = []
        shape: Shape = ("tuple", (flatten(args[self.argnum], leaves),))
        found = self._trace(shape, as_floats(peek(leaves)), args, kwargs)
        rows = pattern(found.tape)
        colours = colour(rows, len(leaves))
        self.sweeps = 1 + max(colours, default=-1)
        index = np.array([c for row in rows for c in row], dtype=np.int64)
        ends = np.cumsum([0, *(len(row) for row in rows)])
        data = self._sweep(found, as_floats(peek(leaves)), rows, colours, np)
        return csr_array((data, index, ends), shape=(size(found.shape), len(leaves)))

    def _trace(self, shape: Shape, numbers: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Trace:
        def run(x: Any) -> Any:
            given = list(args)
            given[self.argnum] = x
            return self.f(*given, **kwargs)

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
