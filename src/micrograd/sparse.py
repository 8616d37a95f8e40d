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
from functools import cached_property
from itertools import pairwise
from typing import Any

from micrograd import install
from micrograd.compile.jit import compiled, sparse_calls
from micrograd.compile.options import Options
from micrograd.compile.signature import numbers_in
from micrograd.compile.tuning import TUNING
from micrograd.errors import TraceError
from micrograd.observed import STOP
from micrograd.stage.jumps import has_loops
from micrograd.tape import interpret, passes
from micrograd.tape.staging import hooks
from micrograd.tape.swept import derived
from micrograd.tape.tape import INPUT, SOURCES, Region, Tape
from micrograd.tape.trace import Trace, is_tracing, peek, run, trace
from micrograd.tree import Shape, as_floats, flatten, name_of, size, wants_function


def pattern(tape: Tape) -> list[list[int]]:
    """For each output of a tape, the inputs that its derivative may depend on, in order: not those behind steps alone."""
    nothing: frozenset[int] = frozenset()
    found: list[frozenset[int]] = []
    for op, args in zip(tape.ops, tape.args):
        if op is INPUT:
            found.append(frozenset(args))
        elif op in SOURCES or op is STOP:
            found.append(nothing)
        else:  # of a region: whatever any of its operands depends on
            steps = () if isinstance(op, Region) else op.steps
            sets = [s for s in dict.fromkeys(found[a] for k, a in enumerate(args) if k not in steps) if s]
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


class Pattern:
    """Where the entries of one traced path are, and which columns share a sweep."""

    def __init__(self, index: Any, ends: Any, columns: int, colours: Any) -> None:
        self.index, self.ends, self.columns, self.colours = index, ends, columns, colours
        self.sweeps = 1 + int(colours.max(initial=-1))

    @classmethod
    def of(cls, rows: list[list[int]], columns: int) -> Pattern:
        """The pattern with these columns in each row."""
        import numpy as np

        index = np.array([c for row in rows for c in row], dtype=np.int64)
        ends = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
        return cls(index, ends, columns, np.array(colour(rows, columns), dtype=np.int64))

    @cached_property
    def directions(self) -> list[list[float]]:
        """The direction of each colour."""
        return [(self.colours == k).astype(float).tolist() for k in range(self.sweeps)]

    @cached_property
    def places(self) -> Any:
        """The place of each entry among the derivatives of all rows in one direction after the other."""
        import numpy as np

        rows = len(self.ends) - 1
        return self.colours[self.index] * rows + np.repeat(np.arange(rows), np.diff(self.ends))

    def matrix(self, data: Any) -> Any:
        """The sparse array with these entries."""
        shape = len(self.ends) - 1, self.columns
        return _scipy_sparse().csr_array((data, self.index.copy(), self.ends.copy()), shape=shape)


def _scipy_sparse() -> Any:
    return install.require("scipy.sparse", "a sparse Jacobian", "scipy", "scipy")


class SparseJacobian:
    """The Jacobian of f by one of its arguments, a list or an array of numbers, as a `scipy.sparse.csr_array`.

    The pattern and its colours are found once for each path through f; `pattern` shows those of the last call. A call runs f on
    Values and sweeps over their graph; `jit` of this object compiles that. For functions with loops, and for many numbers, one
    kernel then finds the pattern (that of all paths, where numbers decide between them) and another one gives the entries.
    """

    def __init__(self, f: Callable[..., Any], argnum: int = 0, options: Options | None = None) -> None:
        wants_function(f, "differentiate")
        if not isinstance(argnum, int):
            raise TypeError(
                f"argnums={argnum!r}: a sparse Jacobian is taken with respect to one argument; give its number"
            )
        self.f, self.argnum, self.options = f, argnum, options
        self.kernel: Any = None if options is None else compiled(_entries(f, argnum), options)
        self.typed: Any = (
            None  # what follows calls with many numbers, and of functions with loops; False where nothing does
        )
        self.known: dict[tuple[bytes, bytes], Pattern] = {}  # of compiled paths, by their index arrays
        self.traced: list[tuple[Tape, Pattern]] = []  # of the latest eager calls
        self.last: Pattern | None = None

    def __repr__(self) -> str:
        return f"<{'' if self.options is None else 'compiled '}sparse jacobian of {name_of(self.f)}>"

    def __reduce__(self) -> Any:
        return SparseJacobian, (self.f, self.argnum, self.options)

    def _with_options(self, options: Options) -> SparseJacobian:
        """What `jit` makes of it."""
        return SparseJacobian(self.f, self.argnum, options)

    @property
    def sweeps(self) -> int:
        """How many forward sweeps the last call took: one for each colour."""
        return 0 if self.last is None else self.last.sweeps

    @property
    def pattern(self) -> Any:
        """Where the entries of the last call are: a sparse array with True at each of them."""
        if self.last is None:
            raise TypeError(
                f"{self!r} has no pattern yet\n"
                "  The pattern is that of the path which the last call has taken through the function.\n"
                "  Call it first."
            )
        import numpy as np

        return self.last.matrix(np.ones(len(self.last.index), dtype=bool))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The Jacobian of f at these arguments, by as many forward sweeps as there are colours."""
        if is_tracing():
            raise TraceError(
                "a sparse Jacobian is not a number, and cannot be part of a compiled function; use jacobian there\n"
                "  jit(sparse_jacobian(f)) and jit(sparse_hessian(f)) compile the sweeps, and return sparse arrays."
            )
        _scipy_sparse()
        import numpy as np

        if not -len(args) <= self.argnum < len(args):
            raise TypeError(f"argnums={self.argnum} asks for an argument that was not given by position")
        if self.kernel is not None:
            followed = self._followed(args) if not kwargs else None
            if followed is not None:
                return followed
            data, columns, *arrays = self.kernel(*args, **kwargs)
            self.last = self._compiled_pattern(int(columns), *arrays)
            return self.last.matrix(np.array(peek(data)) if data.dtype == object else data)
        leaves: list[Any] = []
        shape: Shape = ("tuple", (flatten(args[self.argnum], leaves),))
        self.last, slopes = self._at_one_point(shape, as_floats(peek(leaves)), args, kwargs)
        return self.last.matrix(np.array(slopes, dtype=float)[self.last.places])

    def _followed(self, args: tuple[Any, ...]) -> Any:
        """The Jacobian by a typed tape; None where the call is not followed by one."""
        if self.typed is None and self.options is not None:
            self.typed, self.loops = sparse_calls(self.f, self.argnum, self.options), has_loops(self.f)
        if not self.typed or numbers_in(args) < (0 if self.loops else TUNING.many_numbers):
            return None
        found = self.typed.call(args, None)
        if found is self.typed.elsewhere:
            return None
        data, known = found
        pattern_found = self.last  # other threads may set another one meanwhile
        if pattern_found is None or pattern_found.index is not known.index:
            pattern_found = self.last = Pattern(known.index, known.ends, known.columns, known.colours)
        return pattern_found.matrix(data)

    def _compiled_pattern(self, columns: int, index: bytes, ends: bytes) -> Pattern:
        found = self.known.get((index, ends))
        if found is None:
            import numpy as np

            at, to = np.frombuffer(index, dtype=np.int64).tolist(), np.frombuffer(ends, dtype=np.int64).tolist()
            found = self.known[index, ends] = Pattern.of([at[a:b] for a, b in pairwise(to)], columns)
        return found

    def _at_one_point(
        self, shape: Shape, numbers: list[float], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Pattern, list[float]]:
        """The pattern, and the derivatives in the direction of each colour."""
        ran = run(_of_one(self.f, self.argnum, args, kwargs), shape, numbers, frozen=False)
        found = ran.written()
        known = self._pattern_of(found.tape, len(numbers))
        moved: list[float] = []
        for direction in known.directions:
            along = ran.moved(direction)
            if along is None:  # a Value from outside
                return known, _by_tape(found, known, numbers, peek(found.captured))
            moved += along
        return known, moved

    def _pattern_of(self, tape: Tape, columns: int) -> Pattern:
        """The pattern of a tape, of which the last ones are remembered."""
        for k, (old, pattern_found) in enumerate(self.traced):
            if old.args == tape.args and old.outputs == tape.outputs and old.ops == tape.ops:
                self.traced.insert(0, self.traced.pop(k))
                return pattern_found
        new = Pattern.of(pattern(tape), columns)
        self.traced = [(tape, new), *self.traced[: REMEMBERED - 1]]
        return new


REMEMBERED = 4  # paths of eager calls


def _of_one(f: Callable[..., Any], argnum: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
    """Return f as a function of one argument."""

    def of_one(x: Any) -> Any:
        given = list(args)
        given[argnum] = x
        return f(*given, **kwargs)

    of_one.__qualname__ = name_of(f)
    return of_one


def _by_tape(found: Trace, known: Pattern, numbers: list[Any], params: list[Any]) -> list[Any]:
    """The derivatives of all results in the direction of each colour, by sweeps over the tape."""
    tape, seeds = found.tape.with_inputs(len(numbers))
    places = passes.sources(tape, INPUT, tape.inputs)[: len(numbers)]
    used = [k for k, p in enumerate(places) if p is not None]
    swept = derived(tape, passes.tangent, [places[k] for k in used], [seeds[k] for k in used])
    moved: list[Any] = []
    for direction in known.directions:
        moved += interpret.run(swept, [*numbers, *direction], params)[size(found.shape) :]
    if hooks.derivatives is not None:
        hooks.derivatives(found, moved)
    return moved


def _entries(f: Callable[..., Any], argnum: int) -> Callable[..., Any]:
    """Return a function that can be compiled: the entries of the Jacobian, and as constants where they are."""

    def entries(*args: Any, **kwargs: Any) -> Any:
        import numpy as np

        leaves: list[Any] = []
        shape: Shape = ("tuple", (flatten(args[argnum], leaves),))
        found = trace(_of_one(f, argnum, args, kwargs), shape, peek(leaves), frozen=False)
        known = Pattern.of(pattern(found.tape), len(leaves))
        moved = _by_tape(found, known, as_floats(leaves), found.captured)
        data = np.empty(len(known.places), dtype=object)
        data[:] = [moved[k] for k in known.places.tolist()]
        return data, known.columns, known.index.tobytes(), known.ends.tobytes()

    entries.__qualname__ = name_of(f)
    return entries
