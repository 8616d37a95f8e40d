"""jacobian, jacfwd, jacrev and hessian of functions of data, as typed tapes: the matrix of one kernel, in eager structures.

The kernel gives the Jacobian as one matrix (ir/sweeps.py). Here it is arranged as the result of the function, with the
gradient of each number in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, cast

from micrograd.abstract import Refused, staged
from micrograd.compile.typed import call
from micrograd.compile.typed.call import Variant
from micrograd.compile.typed.entry import Entry, Templates, Unfit, entry_of_matrix
from micrograd.compile.typed.kernel import Kernel
from micrograd.evidence.typed_runs import AT_MOST, SLOWER, Oracle, near, require
from micrograd.ir import interpret
from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import Copy
from micrograd.ir.forms import F64, Place, Tape, walk
from micrograd.ir.interpret import CheckFailed
from micrograd.ir.passes import jacobian_by_columns, jacobian_by_rows
from micrograd.ir.prune import prune
from micrograd.ir.sweeps import NOT_A_NUMBER, Rows, directions
from micrograd.jacobians import jacobian
from micrograd.transforms import jvp
from micrograd.tree import is_array

FEW = 64  # columns: a function with as many results as nobody knows is differentiated by columns up to here
EAGER = 60  # how many times as long as the function the eager derivative of one result takes, at most, in benchmarks/gradbench
TEMPLATE = 10_000  # numbers: C arranges results up to here, NumPy larger ones
LENGTHS = 10_000  # instructions that finding the lengths of a result may take


class JacobianVariant(Variant):
    """A typed tape that gives a Jacobian, with its kernel, and what has to hold for it."""

    title = "the function and its Jacobian"

    def _asked_for(self, args: tuple[Any, ...]) -> None:
        """Find out by which params, and of which results, the derivatives are."""
        self.wrt = self._chosen(args)
        self.rows = list(_rows(self.staged.result))
        self.lengths = list(dict.fromkeys([*_lengths(self.staged.result)]))
        self.careful: Kernel | None = None
        if not self.rows:
            raise Refused("a Jacobian of something without numbers")

    def _differentiated(self, args: tuple[Any, ...]) -> Tape:
        tape, params = self.staged.tape, self.staged.params
        self._asked_for(args)
        variable = any(p.what == "length" and p.path == params[k].path for k in self.wrt for p in params)
        _, columns = self._spans(args)
        self.at_once = directions(None if variable else columns, len(tape))
        height = self._height(args)
        self.forward = self.asked.forward
        if self.forward is None:
            runs = -(-columns // self.at_once)
            self.forward = columns <= FEW if height is None else runs * (1 + self.at_once) <= 2 + 3 * height
        return self._made(self.forward)

    def _made(self, forward: bool) -> Tape:
        tape = self.staged.tape
        if forward:
            return jacobian_by_columns(tape, self.wrt, self.rows, self.lengths, self.at_once)
        return jacobian_by_rows(tape, self.wrt, self.rows, self.lengths)

    def _spans(self, args: tuple[Any, ...]) -> tuple[dict[staged.Path, slice], int]:
        """Return the columns of each part of the arguments, and how many columns there are."""
        spans, end = {}, 0
        for k in self.wrt:
            p = self.staged.params[k]
            size = _size(call._at(args, p.path)) if p.what == "array" else 1
            spans[p.path] = slice(end, end + size)
            end += size
        return spans, end

    def _lengths(self, args: tuple[Any, ...], fixed: bool = False) -> dict[int, int] | None:
        """Return the lengths in the result for these arguments; None where that takes long to find out.

        With `fixed`, None also where they depend on something else than the lengths of the arguments.
        """
        if not self.lengths:
            return {}
        tape = _without_checks(self.staged.tape, self.lengths)
        used = {a for place in walk(tape) for a in place.args} | set(tape.yields)
        params = zip(tape.params, self.staged.params)
        if fixed and any(param in used and p.what != "length" for param, p in params):
            return None
        try:
            values = interpret.run(tape, self.bound(args), LENGTHS)
        except (RuntimeError, LookupError, ArithmeticError, ValueError, call._Unlike):
            return None
        return dict(zip(self.lengths, values))

    def _height(self, args: tuple[Any, ...]) -> int | None:
        """Return how many rows there are for these arguments; None where that takes long to find out."""
        found = self._lengths(args)
        return None if found is None else self._shape_of(found, 0, False)[0]

    def found(self, args: tuple[Any, ...]) -> Any:
        """Return what the kernel gives, to be compared."""
        return self.matrix(args)

    def compare(self, args: tuple[Any, ...], found: Any, oracle: Oracle) -> None:
        """Compare the Jacobian with that of eager code, or with its derivative in one direction, as time allows."""
        matrix, numbers = found
        if not oracle.affords(SLOWER * (SLOWER if oracle.derives else 1)):
            return
        oracle.plain()
        took = EAGER * oracle.took_plain
        if took * min(matrix.shape) <= AT_MOST:
            argnums = self.asked.argnums[0] if self.asked.single else self.asked.argnums
            wanted = oracle.eager(jacobian(self.function, argnums))
            require(near(self.arranged_rows(args, matrix, numbers), wanted), "eager code")
        elif took <= AT_MOST:
            require(self._right_along(args, matrix, numbers, oracle), "eager code")

    def _right_along(self, args: tuple[Any, ...], matrix: Any, found: dict[int, Any], oracle: Oracle) -> bool:
        """Return whether the Jacobian times a vector is what eager code gives for that."""
        import numpy as np

        direction = np.random.default_rng(0).uniform(-1.0, 1.0, matrix.shape[1])
        dots: dict[int, Any] = dict(found)
        for part, rows in self._places(found):
            moved = matrix[rows] @ direction
            dots[part.number] = moved if self.staged.tape.yields[part.number].kind != F64 else float(moved[0])
        expected = call._arranged(_moved(self.staged.result), cast("Any", dots))
        return near(expected, oracle.eager(lambda *_: self._moved_along(args, direction)))

    def _moved_along(self, args: tuple[Any, ...], direction: Any) -> Any:
        """Return the derivative of the function in a direction, a number for each column, by eager code."""
        numbers = sorted({n % len(args) for n in self.asked.argnums})
        spans, _ = self._spans(args)
        parts = {k: direction[spans[self.staged.params[k].path]] for k in self.wrt}
        given = {k: float(x[0]) if self.staged.params[k].what == "number" else x for k, x in parts.items()}
        copied = self.copied(args)

        def chosen(*some: Any) -> Any:
            every = list(copied)
            for n, x in zip(numbers, some, strict=True):
                every[n] = x
            return self.function(*every)

        tangents = tuple([self.gradient(args, n, given) for n in numbers])
        return jvp(chosen, tuple([copied[n] for n in numbers]), tangents)[1]

    # ---- a call

    def matrix(self, args: tuple[Any, ...]) -> tuple[Any, dict[int, Any]]:
        """Return the Jacobian as a matrix, and the lengths in the result of the function."""
        given = self.bound(args)
        forward = self.forward
        try:
            *lengths, flat = self.kernel(*given)
        except CheckFailed as failed:
            if str(failed) != NOT_A_NUMBER:
                raise
            if self.careful is None:
                self.careful = Kernel(self._made(False))
            *lengths, flat = self.careful(*given)
            forward = False
        _, columns = self._spans(args)
        found = dict(zip(self.lengths, lengths))
        height, width = self._shape_of(found, columns, forward)
        return flat[: height * width].reshape(height, width)[:, :columns], found

    def _shape_of(self, found: dict[int, Any], columns: int, forward: bool | None) -> tuple[int, int]:
        """Return how many rows the matrix has, and how long they are, padding included."""
        height = sum(part.fixed * prod(found[k] for k in part.lengths) for part in self.rows)
        return height, -(-columns // self.at_once) * self.at_once if forward else columns

    def run(self, args: tuple[Any, ...], both: bool = False) -> Any:
        """Return the Jacobian, in the structure that eager code gives it."""
        return self.arranged_rows(args, *self.matrix(args))

    def entry(self, args: tuple[Any, ...]) -> Entry | None:
        """Return machine code from numbers to numbers, for arguments like these; None where that is not possible."""
        found = self._lengths(args, fixed=True)
        if found is None:
            return None
        _, columns = self._spans(args)
        height, width = self._shape_of(found, columns, self.forward)
        if height * width > TEMPLATE:
            return None

        def arranged(places: Any) -> Any:
            return self.arranged_rows(args, places[:, :columns], found, Templates)

        return entry_of_matrix(self.kernel, self.staged, self.tape, (height, width), arranged, args)

    def _places(self, found: dict[int, Any]) -> Iterator[tuple[Rows, slice]]:
        """Yield the rows of each part of the result."""
        end = 0
        for part in self.rows:
            count = part.fixed * prod(found[k] for k in part.lengths)
            yield part, slice(end, end + count)
            end += count

    def arranged_rows(self, args: tuple[Any, ...], matrix: Any, found: dict[int, Any], leaves: Any = None) -> Any:
        """Return the result of the function with gradients in place of its numbers."""
        starts = {part.number: rows.start for part, rows in self._places(found)}
        leaves = leaves or Leaves
        make, pile = self._maker(args, leaves, _rows_of, _each), self._maker(args, leaves, _block, _once)
        return _Arrangement(matrix, found, starts, make, pile, leaves).of(self.staged.result)

    def _maker(self, args: tuple[Any, ...], leaves: Any, leaf: Any, joined: Any) -> Callable[[Any, Any], Any]:
        """Return what makes the gradients of some rows: one for each, or one with arrays in place of numbers."""

        spans, _ = self._spans(args)  # no attribute of a variant: other threads may call it with other lengths

        def together(make: Any, parts: list[Callable[[Any, Any], Any]]) -> Callable[[Any, Any], Any]:
            return lambda rows, dims: joined(make, [part(rows, dims) for part in parts], rows)

        def like(x: Any, path: staged.Path) -> Callable[[Any, Any], Any]:
            span = spans.get(path)
            if span is not None:
                made: Callable[[Any, Any], Any] = leaf(leaves, x, span)
                return made
            if type(x) is dict:
                items = [like(y, (*path, ("item", key))) for key, y in x.items()]
                return together(lambda values: dict(zip(x, values)), items)
            if isinstance(x, (list, tuple)):
                items = [like(y, (*path, ("item", i))) for i, y in enumerate(x)]
                return together(leaves.maker(type(x)), items)
            constant = leaves.constant(x)
            return together(lambda _: constant, [])

        makers = [like(args[n], (("argument", n % len(args)),)) for n in self.asked.argnums]
        if self.asked.single:
            return makers[0]
        return together(leaves.maker(tuple), makers)


def _each(make: Callable[[Any], Any], parts: list[Any], rows: Any) -> list[Any]:
    """Return a structure for each row, of parts that have an item for each row."""
    if not parts:
        return [make(()) for _ in rows]
    return list(zip(*parts)) if make is tuple else [make(items) for items in zip(*parts)]


def _once(make: Callable[[Any], Any], parts: list[Any], rows: Any) -> Any:
    """Return one structure for all rows."""
    return make(parts)


class Leaves:
    """Makes the leaves of a result from their numbers."""

    @staticmethod
    def array(numbers: Any, shape: tuple[int, ...]) -> Any:
        """Return an array."""
        return numbers.reshape(shape).copy()

    @staticmethod
    def arrays(rows: Any, shape: tuple[int, ...]) -> list[Any]:
        """Return an array for each row, side by side in memory."""
        return list(rows.copy().reshape(len(rows), *shape))

    @staticmethod
    def constant(value: Any) -> Any:
        """Return what is not a number."""
        return value

    @staticmethod
    def sequence(cls: Any, items: Sequence[Any]) -> Any:
        """Return a list or a tuple."""
        return cls(*items) if hasattr(cls, "_fields") else cls(items)

    @staticmethod
    def maker(cls: Any) -> Callable[[Any], Any]:
        """Return what makes a list or a tuple of its items."""
        return (lambda items: cls(*items)) if hasattr(cls, "_fields") else cls


def _rows_of(leaves: Any, x: Any, span: slice) -> Callable[[Any, Any], Any]:
    """Return what makes a part of the gradients of some rows of the matrix, one for each row."""
    if is_array(x):
        shape = x.shape
        return lambda rows, _: leaves.arrays(rows[:, span], shape)
    if type(x) not in (list, tuple):
        at = span.start
        return lambda rows, _: rows[:, at].tolist()
    shape, classes = call._shape(x), call._classes(x)

    def nested(items: Any, depth: int) -> Any:
        inner = items if depth == len(shape) - 1 else [nested(y, depth + 1) for y in items]
        return inner if classes[depth] is list else leaves.sequence(classes[depth], inner)

    plain = all(cls is list for cls in classes)

    def made(rows: Any, _: Any) -> list[Any]:
        found: list[Any] = rows[:, span].reshape(len(rows), *shape).tolist()
        return found if plain else [nested(items, 0) for items in found]

    return made


def _block(leaves: Any, x: Any, span: slice) -> Callable[[Any, Any], Any]:
    """Return what makes a part of a gradient from the rows of an array: with arrays for numbers."""
    if is_array(x):
        shape = x.shape
        return lambda rows, dims: leaves.array(rows[:, span], (*dims, *shape))
    if type(x) not in (list, tuple):
        at = span.start
        return lambda rows, dims: leaves.array(rows[:, at], dims)

    def nested(y: Any, rows: Any, dims: Any, columns: Iterator[int]) -> Any:
        if type(y) in (list, tuple):
            return leaves.sequence(type(y), [nested(z, rows, dims, columns) for z in y])
        return leaves.array(rows[:, next(columns)], dims)

    return lambda rows, dims: nested(x, rows, dims, iter(range(span.start, span.stop)))


_TAKEN = object()


class _Arrangement:
    """The result of a function, with gradients in place of its numbers."""

    def __init__(
        self, matrix: Any, found: dict[int, Any], starts: dict[int, int], make: Any, pile: Any, leaves: Any
    ) -> None:
        self.matrix, self.found, self.starts, self.make, self.pile = matrix, found, starts, make, pile
        self.leaves = leaves
        self.made: list[Any] = make(matrix, ())  # the gradient of each row, until it is taken

    def _row(self, i: int) -> Any:
        taken, self.made[i] = self.made[i], _TAKEN
        return self.make(self.matrix[i : i + 1], ())[0] if taken is _TAKEN else taken

    def _constant(self, value: Any) -> Any:
        if type(value) is not float:
            return self.leaves.constant(value)
        import numpy as np

        if self.leaves is not Leaves:  # there is no place for zeros
            raise Unfit
        return self.make(np.zeros((1, self.matrix.shape[1])), ())[0]

    def _length(self, n: Any) -> int:
        length: int = self.found[n.number] if isinstance(n, staged.Leaf) else n
        return length

    def of(self, part: Any) -> Any:
        if isinstance(part, (staged.Leaf, staged.Mixed)):
            return self._row(self.starts[part.number])
        if isinstance(part, staged.Constant):
            return self._constant(part.value)
        if isinstance(part, staged.Sequence_):
            return self.leaves.sequence(part.cls, [self.of(p) for p in part.items])
        if isinstance(part, staged.Mapping_):
            return dict(zip(part.keys, [self.of(p) for p in part.items]))
        if isinstance(part, staged.Array):
            dims, start = tuple(map(self._length, part.shape)), self.starts[part.number]
            if part.cls.__module__ == "numpy":
                return self.pile(self.matrix[start : start + prod(dims)], dims)
            rows = iter(range(start, start + prod(dims)))
            return self._listed(part.cls, dims, rows)
        item = self._items(part.item)
        return self.leaves.sequence(part.cls, [item(i) for i in range(self._length(part.length))])

    def _listed(self, cls: type, dims: Sequence[int], rows: Iterator[int]) -> Any:
        inner = range(dims[0])
        items = [self._row(next(rows)) if len(dims) == 1 else self._listed(list, dims[1:], rows) for _ in inner]
        return self.leaves.sequence(cls, items)

    def _items(self, part: Any) -> Callable[[int], Any]:
        """Return what gives each item of a list whose numbers are in arrays, one for all items each."""
        if isinstance(part, (staged.Leaf, staged.Mixed)):
            start = self.starts[part.number]
            return lambda i: self._row(start + i)
        if isinstance(part, staged.Array):
            start, width = self.starts[part.number], self._length(part.shape[1])
            return lambda i: self.leaves.sequence(part.cls, [self._row(start + i * width + j) for j in range(width)])
        if isinstance(part, staged.Sequence_):
            made = [self._items(p) for p in part.items]
            return lambda i: self.leaves.sequence(part.cls, [one(i) for one in made])
        return lambda i: self.of(part)


def _rows(part: Any, length: Any = 1) -> Iterator[Rows]:
    """Yield the rows of the numbers in a result; `length` is that of the list of records they are in."""
    if isinstance(part, staged.Mixed):
        yield _product(part.number, (length,))
    elif isinstance(part, staged.Leaf):
        if part.kind not in (F64, "f64[]"):
            raise Refused("a Jacobian of ints")
        yield _product(part.number, (length,))
    elif isinstance(part, staged.Constant):
        if not (type(part.value) is float or part.value is None or isinstance(part.value, str)):
            raise Refused("a Jacobian of constants")
    elif isinstance(part, (staged.Sequence_, staged.Mapping_)):
        for p in part.items:
            yield from _rows(p, length)
    elif isinstance(part, staged.Array):
        if part.kind != F64:
            raise Refused("a Jacobian of ints")
        yield _product(part.number, part.shape)
    else:
        yield from _rows(part.item, part.length)


def _lengths(part: Any) -> Iterator[int]:
    """Yield the results of the tape that are lengths in a result."""
    if isinstance(part, (staged.Sequence_, staged.Mapping_)):
        for p in part.items:
            yield from _lengths(p)
    elif isinstance(part, staged.Array):
        yield from (n.number for n in part.shape if isinstance(n, staged.Leaf))
    elif isinstance(part, staged.Records):
        yield from (n.number for n in [part.length] if isinstance(n, staged.Leaf))
        yield from _lengths(part.item)


def _product(number: int, lengths: Sequence[Any]) -> Rows:
    fixed = prod(n for n in lengths if isinstance(n, int))
    return Rows(number, fixed, tuple([n.number for n in lengths if not isinstance(n, int)]))


def _moved(part: Any) -> Any:
    """Return the structure of the derivative of a result in a direction: what is constant in it is zero."""
    if isinstance(part, staged.Mixed):
        return staged.Leaf(part.number, F64)
    if isinstance(part, staged.Constant):
        return staged.Constant(0.0) if type(part.value) is float else part
    if isinstance(part, (staged.Sequence_, staged.Mapping_)):
        return part._replace(items=tuple(map(_moved, part.items)))
    return part._replace(item=_moved(part.item)) if isinstance(part, staged.Records) else part


def _size(x: Any) -> int:
    return int(x.size) if is_array(x) else prod(call._shape(x))


class _Unchecked(Copy):
    """Copies a tape without its checks."""

    def instruction(self, place: Place) -> None:
        """Add an instruction."""
        if place.op != "check":
            super().instruction(place)


def _without_checks(tape: Tape, numbers: list[int]) -> Tape:
    """Return the part of a tape that gives some of its results."""
    b = Builder([p.kind for p in tape.params])
    yields = _Unchecked(b, dict(zip(tape.params, b.params))).body(tape)
    return prune(b.finish([yields[k] for k in numbers]))
