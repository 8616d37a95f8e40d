"""Sparse Jacobians and Hessians of functions of data, as typed tapes: the pattern by one tape, the entries by another one."""

from __future__ import annotations

from typing import Any, NamedTuple

from micrograd.abstract import Refused, staged
from micrograd.compile.typed import call, colouring
from micrograd.compile.typed.jacobian import EAGER, JacobianVariant
from micrograd.compile.typed.kernel import Kernel
from micrograd.evidence.typed_runs import AT_MOST, SLOWER, Oracle, near, require
from micrograd.ir.forms import F64, Tape
from micrograd.ir.interpret import CheckFailed
from micrograd.ir.passes import jacobian_by_columns, jacobian_by_rows, words_of
from micrograd.ir.pattern import reads_numbers
from micrograd.ir.sweeps import NOT_A_NUMBER, directions
from micrograd.tree import flatten

REMEMBERED = 4  # patterns
AT_LEAST = 64  # rows that are computed at once where an entry is nan: memory for rows times columns


class Structure(NamedTuple):
    """The pattern of one matrix: its entries row after row, the end of each row, and a colour for each column.

    `places` has where each entry lies in the matrix of the directions, and `rows` which row of the tape each row is.
    """

    index: Any
    ends: Any
    columns: int
    colours: Any
    sweeps: int
    places: Any
    rows: Any


class SparseVariant(JacobianVariant):
    """A typed tape that gives the entries of a sparse Jacobian, with its kernel, and what has to hold for it."""

    title = "the function and the entries of its Jacobian"

    def _differentiated(self, args: tuple[Any, ...]) -> Tape:
        self._asked_for(args)
        self.patterns: dict[tuple[Any, ...], Structure] = {}
        self.at_once = 1
        try:
            known = self._first_pattern(args, both=True)
        except CheckFailed:  # in an arm that these numbers do not take
            known = self._first_pattern(args, both=False)
        self.at_once = directions(known.sweeps, len(self.staged.tape))
        self.patterns = {key: self._placed(known) for key, known in self.patterns.items()}
        return jacobian_by_columns(self.staged.tape, self.wrt, self.rows, (), self.at_once, coloured=True)

    def _first_pattern(self, args: tuple[Any, ...], both: bool) -> Structure:
        words = words_of(self.staged.tape, self.wrt, self.rows, both)
        self.words = Kernel(words)
        self.by_numbers = reads_numbers(words, len(self.staged.params))  # whether the pattern is that of one path
        return self._known(args, self.bound(args))[1]

    def _known(self, args: tuple[Any, ...], given: list[Any]) -> tuple[dict[int, int], Structure]:
        """Return the lengths of the result, and the pattern for these arguments."""
        import numpy as np

        kinds = [p.kind for p in self.staged.params]
        key = tuple(
            [x.tobytes() if kind[-1] == "]" else x for x, kind in zip(given, kinds) if not kind.startswith(F64)]
        )
        key += tuple([len(x) for x, kind in zip(given, kinds) if kind == "f64[]"])
        spans, columns = self._spans(args)
        order = [spans[self.staged.params[k].path] for k in self.wrt]

        def words(bits: Any) -> Any:
            parts = [bits[s] if kinds[k] == "f64[]" else int(bits[s.start]) for k, s in zip(self.wrt, order)]
            return np.asarray(self.words(*given, *parts)[0])

        if not self.by_numbers and key in self.patterns:
            return {}, self.patterns[key]
        lengths = self._lengths_of(args)
        height, _ = self._shape_of(lengths, 0, False)
        index, ends, colours = colouring.pattern(lambda bits: words(bits)[:height], columns)
        for old in self.patterns.values():
            if self.by_numbers and np.array_equal(old.index, index) and np.array_equal(old.ends, ends):
                return lengths, old
        made = self._structure(lengths, index, ends, columns, colours)
        self.patterns = {key: made, **dict(list(self.patterns.items())[: REMEMBERED - 1])}
        return lengths, made

    def _lengths_of(self, args: tuple[Any, ...]) -> dict[int, int]:
        found = self._lengths(args)
        if found is None:
            raise Refused("the length of the result is not known before the run")
        return found

    def _structure(self, lengths: dict[int, int], index: Any, ends: Any, columns: int, colours: Any) -> Structure:
        """Return the pattern with its rows in the order of eager code."""
        import numpy as np

        height = len(ends) - 1
        found: dict[int, Any] = dict(lengths)
        for part, rows in self._places(lengths):
            numbers = np.arange(rows.start, rows.stop, dtype=float)
            found[part.number] = numbers if self.staged.tape.yields[part.number].kind != F64 else float(rows.start)
        leaves: list[Any] = []
        flatten(call._arranged(_marked(self.staged.result), found), leaves)  # type: ignore[arg-type]
        order = np.array(leaves, dtype=np.int64)
        counts = np.append(np.diff(ends), 0)[order]  # a constant is row -1, without entries
        starts = np.append(ends[:height], 0)[order]
        new_ends = np.append(0, np.cumsum(counts))
        if not np.array_equal(order, np.arange(height)):
            index = index[np.arange(new_ends[-1]) - np.repeat(new_ends[:-1] - starts, counts)]
        return self._placed(Structure(index, new_ends, columns, colours, 1 + int(colours.max(initial=-1)), None, order))

    def _placed(self, known: Structure) -> Structure:
        """Return a pattern with the places of its entries among the directions."""
        import numpy as np

        width = -(-known.sweeps // self.at_once) * self.at_once
        return known._replace(places=np.repeat(known.rows, np.diff(known.ends)) * width + known.colours[known.index])

    def entries(self, args: tuple[Any, ...]) -> tuple[Any, Structure]:
        """Return the entries of the Jacobian, and where they are."""
        given = self.bound(args)
        _, known = self._known(args, given)
        try:
            data = self.kernel(*given, known.sweeps, known.colours, known.places)[-1]
        except CheckFailed as failed:
            if str(failed) != NOT_A_NUMBER:
                raise
            data = self._by_rows(given, known)
        return data, known

    def _by_rows(self, given: list[Any], known: Structure) -> Any:
        """Return the entries by reverse sweeps, in which an infinite slope reaches no column beside it."""
        import numpy as np

        if self.careful is None:
            tape = jacobian_by_rows(self.staged.tape, self.wrt, self.rows, (), chosen=True)
            self.careful = Kernel(tape)
        data = np.zeros(len(known.index))
        rows = np.flatnonzero(np.diff(known.ends))
        for start in range(0, len(rows), AT_LEAST):
            some = rows[start : start + AT_LEAST]
            found = self.careful(*given, known.rows[some])[-1].reshape(len(some), known.columns)
            for r, line in zip(some, found):
                own = slice(known.ends[r], known.ends[r + 1])
                data[own] = line[known.index[own]]
        return data

    def run(self, args: tuple[Any, ...], both: bool = False) -> Any:
        """Return the entries of the Jacobian, and where they are."""
        return self.entries(args)

    def entry(self, args: tuple[Any, ...]) -> None:
        """Return no machine code from numbers to numbers: the result is a sparse array."""

    def found(self, args: tuple[Any, ...]) -> Any:
        """Return what the kernel gives, to be compared."""
        return self.entries(args)

    def compare(self, args: tuple[Any, ...], found: Any, oracle: Oracle) -> None:
        """Compare the Jacobian times a vector with what eager code gives for that, where it takes little time."""
        import numpy as np

        data, known = found
        if not oracle.affords(SLOWER * (SLOWER if oracle.derives else 1)):
            return
        oracle.plain()
        if EAGER * oracle.took_plain > AT_MOST or not np.isfinite(data).all():
            return
        direction = np.random.default_rng(0).uniform(-1.0, 1.0, known.columns)
        moved = np.add.reduceat(np.append(data * direction[known.index], 0.0), known.ends[:-1])
        moved[np.diff(known.ends) == 0] = 0.0
        wanted: list[Any] = []
        flatten(oracle.eager(lambda *_: self._moved_along(args, direction)), wanted)
        require(near(moved.tolist(), [float(x) for x in wanted]), "eager code")


def _marked(part: Any) -> Any:
    """Return the structure of a result with -1.0 for each number in it that is constant."""
    if isinstance(part, staged.Mixed):
        return staged.Leaf(part.number, F64)
    if isinstance(part, staged.Constant):
        return staged.Constant(-1.0) if type(part.value) is float else part
    if isinstance(part, (staged.Sequence_, staged.Mapping_)):
        return part._replace(items=tuple(map(_marked, part.items)))
    return part._replace(item=_marked(part.item)) if isinstance(part, staged.Records) else part
