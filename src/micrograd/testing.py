"""check: run a function in every way that there is, and compare the results.

>>> from micrograd import math
>>> from micrograd.testing import check
>>> report = check(lambda x, y: math.sin(x) * y, [(1.0, 2.0), (0.5, -3.0)])
>>> report.ok
True
>>> print(report)  # doctest: +ELLIPSIS
way                    right  kink  refused  wrong
eager value                2     0        0      0
...

The oracle is the function itself on plain floats: its values to the bit where bits are promised (NumPy's own vector code rounds
in its own way, so functions that use it are compared within rounding), and finite differences for its derivatives,
extrapolated to a step of zero or, where that does not agree, with steps so small that the function takes the same path.
"""

from __future__ import annotations

import struct
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from math import inf, isfinite, nan
from random import Random
from typing import Any, NamedTuple

from micrograd.engine import Value
from micrograd.errors import GradientError, MicrogradError
from micrograd.tree import flatten, is_array, name_of, unflatten, wants_function, without_bools

__all__ = ["Outcome", "Report", "check"]

WAYS = (
    "eager value", "eager gradient", "second derivative", "jit value", "jit exact value", "jit gradient", "other calls before",
    "vmap value", "vmap gradient", "rows in another order",
)  # fmt: skip
KINDS = ("right", "kink", "refused", "wrong")
ROUNDED = {"hypot", "gamma", "lgamma"}  # those of the C library, where Python has its own
NEAR = 1e-9  # of two derivatives that are computed without differences, relative to the largest of them
REFUSALS = (MicrogradError, TypeError, NotImplementedError)  # with a message of this package, see _refusal


class Outcome(NamedTuple):
    """What one way of running the function gave at one point."""

    way: str
    point: int  # which of the inputs, from 0
    kind: str  # right, kink (finite differences do not settle there), refused (with a message), wrong
    detail: str = ""


class Report:
    """All outcomes of a check. Print it to see a table; `ok` says that nothing was wrong."""

    def __init__(self, name: str, outcomes: Sequence[Outcome]) -> None:
        self.name, self.outcomes = name, list(outcomes)

    @property
    def ok(self) -> bool:
        """Whether no outcome is wrong."""
        return not self.of("wrong")

    def of(self, kind: str) -> list[Outcome]:
        """Return the outcomes of one kind: right, kink, refused or wrong."""
        return [outcome for outcome in self.outcomes if outcome.kind == kind]

    def raise_if_wrong(self) -> None:
        """Raise a GradientError that lists what was wrong, if anything was."""
        if not self.ok:
            raise GradientError(
                "\n".join([f"{self.name} gives different results when it is run in other ways", *self._told("wrong")])
            )

    def _told(self, kind: str) -> Iterator[str]:
        for way, point, _, detail in self.of(kind):
            yield f"  {way}, inputs {point}: {detail}"

    def __str__(self) -> str:
        counts = Counter((outcome.way, outcome.kind) for outcome in self.outcomes)
        lines = [f"{'way':21}" + "".join(f"{kind:>{len(kind) + 2}}" for kind in KINDS)]
        for way in WAYS:
            row = [counts[way, kind] for kind in KINDS]
            if any(row):
                lines.append(f"{way:21}" + "".join(f"{n:>{len(kind) + 2}}" for n, kind in zip(row, KINDS)))
        return "\n".join([*lines, *self._told("refused"), *self._told("wrong")])

    def __repr__(self) -> str:
        counts = Counter(outcome.kind for outcome in self.outcomes)
        return f"<check of {self.name}: {', '.join(f'{counts[kind]} {kind}' for kind in KINDS if counts[kind])}>"


def check(
    f: Callable[..., Any], inputs: Any, *, order: int = 1, rows: int = 8, rtol: float = 1e-6, atol: float = 1e-8, seed: int = 0,
    ways: Collection[str] | None = None,
) -> Report:  # fmt: skip
    """Run f in every way at each of the inputs, and compare the results with f on plain floats.

    `inputs` is a tuple of arguments, or a list of such tuples. Floats among them (also in lists, dicts and arrays) vary; ints,
    strings and other objects are passed as they are. f returns a number, or numbers in lists, tuples, dicts and arrays. With
    order=2, second derivatives are compared with differences of the gradient. `rows` is the number of rows for vmap, which are
    made from the inputs by small relative changes, the same for the same seed. `ways` selects some of the ways by their names.

    >>> from micrograd.testing import check
    >>> check(lambda x: x * abs(x), (2.0,))
    <check of <lambda>: 9 right>
    """
    wants_function(f, "check")
    points = [tuple(p) for p in inputs] if isinstance(inputs, list) else [tuple(inputs)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            o
            for number, args in enumerate(points)
            for o in _Point(f, args, number, rtol, atol).run(order, rows, Random(seed), ways or WAYS)
        ]
    return Report(name_of(f), found)


class _Wrong(Exception):
    """Two ways differ."""


class _Kink(Exception):
    """Finite differences do not settle."""


class _Point:
    """A function at one point: which of its numbers vary, and what plain floats give."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], number: int, rtol: float, atol: float) -> None:
        self.f, self.args, self.number, self.rtol, self.atol = f, args, number, rtol, atol
        self.leaves: list[Any] = []
        self.shape = flatten(args, self.leaves)
        self.varied = [i for i, x in enumerate(self.leaves) if isinstance(x, float)]
        if not self.varied:
            raise TypeError(
                f"inputs {number} hold no float, so nothing varies: {args!r}\n  Write 2.0 for a number that is to vary."
            )
        self.numbers = [float(self.leaves[i]) for i in self.varied]
        self.argnums = tuple([k for k, a in enumerate(args) if any(isinstance(x, float) for x in _numbers(a))])

    # ---- the ways

    def run(self, order: int, rows: int, random: Random, wanted: Collection[str]) -> Iterator[Outcome]:
        """Yield an outcome for each way that is wanted."""
        ways: list[tuple[str, Callable[[], None]]] = [
            ("eager value", self.eager_value),
            ("eager gradient", self.eager_gradient),
            *([("second derivative", self.second)] if order >= 2 else []),
            ("jit value", lambda: self.jit_value(exact=False)),
            ("jit exact value", lambda: self.jit_value(exact=True)),
            ("jit gradient", self.jit_gradient),
            ("other calls before", lambda: self.history(random)),
        ]
        if self.by_rows():
            batch = [self.numbers, *(self.nearby(random) for _ in range(rows - 1))]
            ways += [
                ("vmap value", lambda: self.rows_value(batch)),
                ("vmap gradient", lambda: self.rows_gradient(batch)),
                ("rows in another order", lambda: self.rows_permuted(batch, random)),
            ]
        for name, way in [(name, way) for name, way in ways if name in wanted]:
            try:
                way()
            except _Wrong as told:
                yield Outcome(name, self.number, "wrong", str(told))
            except _Kink as told:
                yield Outcome(name, self.number, "kink", str(told))
            except REFUSALS as error:
                yield Outcome(name, self.number, "refused", str(error).split("\n", 1)[0])
            else:
                yield Outcome(name, self.number, "right")

    def eager_value(self) -> None:
        """Inside of a transform, where numbers are Values, the function gives the same numbers to the bit."""
        from micrograd.transforms import grad

        def function(*args: Any) -> Any:
            result = self.f(*args)
            return self.total(result), result

        _, found = grad(function, self.argnums, has_aux=True)(*self.args)
        self.same_as_plain(found)

    def eager_gradient(self) -> None:
        """The transform agrees with finite differences."""
        self.compare_with_differences(self.gradient(self.numbers), lambda xs: [self.total(self.plain(xs))])

    def second(self) -> None:
        """Each second derivative agrees with finite differences of the gradient."""
        from micrograd.transforms import grad

        def component(k: int) -> Callable[..., Any]:
            return lambda *args: _numbers(self.derivative(grad)(*args))[self.place(k)]

        for k in range(len(self.numbers)):
            found = self.picked(grad(component(k), self.argnums)(*self.args))
            self.compare_with_differences(found, lambda xs, k=k: [self.gradient(xs)[k]])  # type: ignore[misc]

    def jit_value(self, exact: bool) -> None:
        """Machine code gives the same numbers: to the bit where it is exact, else within rounding."""
        found = self.jitted(self.f, exact)(*self.args)
        self.same_as_plain(found) if exact else self.near_value(
            _numbers(found), _numbers(self.plain(self.numbers)), self.numbers
        )

    def jit_gradient(self) -> None:
        """Compiled gradients are those of eager code, within rounding."""
        from micrograd.transforms import grad

        self.near_gradient(self.picked(self.jitted(self.derivative(grad))(*self.args)), self.numbers)

    def history(self, random: Random) -> None:
        """What was called before has no influence on a result."""
        fresh, used = self.jitted(self.f), self.jitted(self.f)
        for _ in range(3):
            used(*self.arguments(self.nearby(random)))
        self.same_bits(used(*self.args), fresh(*self.args))

    def rows_value(self, batch: list[list[float]]) -> None:
        """Each row of a batch gives what the function gives for it alone."""
        for row, found in zip(batch, self.by_row(self.mapped(self.f, batch), len(batch))):
            self.near_value(found, _numbers(without_bools(self.plain(row))), row)

    def rows_gradient(self, batch: list[list[float]]) -> None:
        """The gradient of each row is that of eager code for it alone."""
        from micrograd.transforms import grad

        for row, found in zip(batch, self.by_row(self.mapped(self.derivative(grad), batch), len(batch))):
            self.near_gradient([found[self.place(k)] for k in range(len(row))], row)

    def rows_permuted(self, batch: list[list[float]], random: Random) -> None:
        """The order of the rows has no influence on any of them."""
        order = list(range(len(batch)))
        random.shuffle(order)
        straight = self.by_row(self.mapped(self.f, batch), len(batch))
        shuffled = self.by_row(self.mapped(self.f, [batch[k] for k in order]), len(batch))
        for place, k in enumerate(order):
            if _bits(shuffled[place]) != _bits(straight[k]):
                raise _Wrong(f"row {k} gives {straight[k]}, and {shuffled[place]} in another order")

    # ---- the function

    def jitted(self, f: Callable[..., Any], exact: bool = False) -> Callable[..., Any]:
        """Return a compiled function; arguments in which no float is configure it."""
        from micrograd.compile.jit import jit

        fixed = tuple([k for k in range(len(self.args)) if k not in self.argnums])
        return jit(f, exact=exact, wait=True, static_argnums=fixed)

    def arguments(self, numbers: Sequence[Any]) -> Any:
        """Return the arguments with these numbers in the places that vary."""
        full = list(self.leaves)
        for i, x in zip(self.varied, numbers):
            full[i] = x
        return unflatten(self.shape, iter(full))

    def plain(self, numbers: Sequence[float]) -> Any:
        """Return what the function gives for plain floats: the truth."""
        return self.f(*self.arguments(numbers))

    def total(self, result: Any) -> Any:
        """Return one number that depends on all numbers of a result; its gradient is what is compared."""
        found = _numbers(result)
        return found[0] if len(found) == 1 else sum((1.0 + 0.5 * k) * y for k, y in enumerate(found))

    def derivative(self, transform: Any) -> Callable[..., Any]:
        """Return the gradient function, with respect to all arguments in which a float is."""
        alone = _is_number(self.plain(self.numbers))
        return transform(self.f if alone else lambda *args: self.total(self.f(*args)), self.argnums)  # type: ignore[no-any-return]

    def gradient(self, numbers: Sequence[float]) -> list[float]:
        """Return the eager gradient by the numbers that vary."""
        from micrograd.transforms import grad

        return self.picked(self.derivative(grad)(*self.arguments(numbers)))

    def place(self, k: int) -> int:
        """Return where the derivative by the k-th number that varies stands among those of the gradient."""
        before = 0
        for position, a in enumerate(self.args):
            leaves = _numbers(a)
            if position in self.argnums:
                for x in leaves:
                    if isinstance(x, float):
                        if k == 0:
                            return before
                        k -= 1
                    before += 1
        raise AssertionError("there are not so many numbers")

    def picked(self, gradient: Any) -> list[float]:
        """Return the derivatives by the numbers that vary, out of a gradient with the structure of the arguments."""
        found = _numbers(gradient)
        return [float(found[self.place(k)]) for k in range(len(self.numbers))]

    def nearby(self, random: Random) -> list[float]:
        """Return numbers that differ from those of this point by up to 5 %, or by less where the function raises there."""
        for part in (1.0, 1.0, 1.0, 0.1, 0.01, 1e-4):
            found = [
                x * (1.0 + 0.05 * part * (2.0 * random.random() - 1.0)) if x else 0.01 * part * random.random()
                for x in self.numbers
            ]
            try:
                self.plain(found)
            except Exception:
                continue
            return found
        return self.numbers

    # ---- rows

    def by_rows(self) -> bool:
        """Whether each argument varies as a whole or not at all, and the results are numbers, so that rows can be made."""
        whole = all(all(isinstance(x, float) for x in _numbers(self.args[k])) for k in self.argnums)
        return whole and bool(_numbers(self.plain(self.numbers)))

    def mapped(self, f: Callable[..., Any], batch: list[list[float]]) -> Any:
        """Return the results of vmap over rows."""
        import numpy as np

        from micrograd.compile.vmap import vmap

        columns, arguments = np.array(batch).T, []
        for k in self.argnums:
            count = len(_numbers(self.args[k]))
            arguments.append(_stacked(self.args[k], iter(columns[:count])))
            columns = columns[count:]
        return vmap(self.configured(f))(*arguments)

    def configured(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function of the arguments that vary; the others are those of this point."""
        if len(self.argnums) == len(self.args):
            return f
        args, argnums = self.args, self.argnums

        def function(*varied: Any) -> Any:
            given = list(args)
            for k, x in zip(argnums, varied):
                given[k] = x
            return f(*given)

        return function

    def by_row(self, result: Any, count: int) -> list[list[float]]:
        """Return the numbers of each row of a result of vmap."""
        parts = [part.reshape(count, -1) for part in _arrays(result)]
        return [[float(x) for part in parts for x in part[k]] for k in range(count)]

    # ---- comparisons

    def same_as_plain(self, found: Any) -> None:
        """Raise where a result differs from that for plain floats: to the bit, unless it rounds in its own way."""
        wanted = self.plain(self.numbers)
        try:
            self.same_bits(found, wanted)
        except _Wrong:
            if not self.rounds_otherwise():
                raise
            self.near(_numbers(found), _numbers(wanted))

    def rounds_otherwise(self) -> bool:
        """Return whether NumPy's vector code, or a function that Python has in another version, computes with floats."""
        from micrograd.transforms import Call
        from micrograd.values import ufuncs as arrays

        before = arrays.elementwise.cache_info()
        call = Call(lambda *args: self.total(self.f(*args)), self.args, {}, self.argnums, False)
        after = arrays.elementwise.cache_info()
        names = {op.name for op in call.trace.tape.ops}
        asked = after.hits + after.misses > before.hits + before.misses
        return asked or bool(names & ROUNDED) or self.makes_arrays()

    def makes_arrays(self) -> bool:
        """Return whether it makes arrays that carry Values, whose sums are BLAS's for floats, or calls functions of SciPy's."""
        np, buffers = sys.modules.get("numpy"), sys.modules.get("micrograd.values.buffers")
        if np is None or buffers is None:
            return False
        from micrograd.transforms import grad

        of_scipy = sys.modules.get("micrograd.solvers.of_scipy")
        before = buffers.made, of_scipy and of_scipy.answered
        grad(lambda *args: self.total(self.f(*args)), self.argnums)(*self.args)
        return bool(before != (buffers.made, of_scipy and of_scipy.answered))

    def same_bits(self, found: Any, wanted: Any) -> None:
        """Raise where two results do not hold the same numbers, to the bit."""
        a, b = [[_float(x) for x in _numbers(y)] for y in (found, wanted)]
        if _bits(a) != _bits(b):
            raise _Wrong(f"{_short(a)} is not {_short(b)}")

    def near_value(self, found: Sequence[Any], wanted: Sequence[Any], numbers: list[float]) -> None:
        """Raise where a result for some numbers differs by more than rounding may do, also where nearly all digits cancel."""
        try:
            self.near(found, wanted)
        except _Wrong:
            size = max(abs(x) for x in [*numbers, *wanted] if isfinite(x))
            noise = self.noise(numbers, lambda xs: [float(x) for x in _numbers(self.plain(xs))])
            if not _within(found, wanted, [min(room, NEAR * size) for room in noise]):  # a jump is no rounding
                raise

    def near_gradient(self, found: Sequence[Any], numbers: list[float]) -> None:
        """Raise where a gradient differs from the eager one by more than rounding may do."""
        wanted = self.gradient(numbers)
        try:
            self.near(found, wanted)
        except _Wrong:
            if not _within(found, wanted, self.noise(numbers)):
                raise

    def noise(self, numbers: list[float], f: Callable[[list[float]], list[float]] | None = None) -> list[float]:
        """Return what changes of the numbers in their last bits do to derivatives, or to what f gives: no way can be closer."""
        f = f or self.gradient
        random, here = Random(0), f(numbers)
        found = [0.0] * len(here)
        for _ in range(8):
            try:
                there = f([x * (1.0 + random.choice((-1, 0, 1)) * 2.0**-52) for x in numbers])
            except Exception:  # the point lies at the end of what the function takes
                continue
            found = [max(room, abs(a - b)) for room, a, b in zip(found, here, there)]
        return [32.0 * room for room in found]

    def near(self, found: Sequence[Any], wanted: Sequence[Any]) -> None:
        """Raise where numbers differ by more than rounding may do."""
        a, b = [float(x) for x in found], [float(x) for x in wanted]
        size = max([abs(x) for x in b if isfinite(x)], default=0.0)
        if len(a) != len(b) or not all(
            x == y or (x != x and y != y) or abs(x - y) <= NEAR * max(size, 1e-300) for x, y in zip(a, b)
        ):
            raise _Wrong(f"{_short(a)} is not {_short(b)}")

    def compare_with_differences(self, found: Sequence[float], f: Callable[[list[float]], list[float]]) -> None:
        """Raise where derivatives differ from finite differences of f."""
        kink = ""
        for k, got in enumerate(found):
            expected, error, sides = slope(f, self.numbers, k)
            if abs(got - expected) <= self.atol + self.rtol * max(abs(expected), abs(got)) + min(
                error, 1e-3 * max(1.0, abs(expected))
            ):
                continue
            if follows(f, self.numbers, k, got):
                continue
            told = f"the derivative by number {k} is {got:.12g}, finite differences give {expected:.12g}"
            if abs(got - expected) <= self.noise(self.numbers)[k]:
                continue
            if not isfinite(expected) and one_sided(f, self.numbers, k, got):
                continue
            if not isfinite(expected) or error > 1e-3 * max(1.0, abs(expected)) or sides:
                kink = told
            else:
                raise _Wrong(told)
        if kink:
            raise _Kink(kink)


def slope(f: Callable[[list[float]], list[float]], numbers: list[float], k: int) -> tuple[float, float, bool]:
    """Return a slope by central differences, an estimate of its error, and whether the slopes of the two sides differ.

    The step is halved, and the slopes are extrapolated to a step of zero (Ridders).
    """

    at = _along(f, numbers, k)
    h = 1e-2 * (abs(numbers[k]) or 1.0)
    best, error = nan, inf
    above: list[float] = []
    for _ in range(20):
        right, left = at(h), at(-h)
        line = [(right - left) / (2.0 * h)]
        rounding = 2.0**-48 * max(abs(right), abs(left)) / h  # 16 units in the last place
        for power, old in enumerate(above):
            line.append((4.0 ** (power + 1) * line[-1] - old) / (4.0 ** (power + 1) - 1.0))
            estimate = max(abs(line[-1] - line[-2]), abs(line[-1] - old))
            if max(estimate, rounding) < error:
                best, error = line[-1], max(estimate, rounding)
        if error <= 1e-12 * max(1.0, abs(best)):
            break
        above = line if isfinite(line[0]) else []
        h /= 2.0
    h, here = 1e-6 * (abs(numbers[k]) or 1.0), at(0.0)
    right, left = (at(h) - here) / h, (here - at(-h)) / h
    return best, error, not abs(right - left) <= 1e-3 * max(abs(right), abs(left), 1e-6)


def follows(f: Callable[[list[float]], list[float]], numbers: list[float], k: int, got: float) -> bool:
    """Return whether f follows a slope over two steps in a row that are a decade apart, within what rounding allows.

    Small steps stay on the path of the point: in the same iteration of a solver, on the same step of a staircase. Large ones
    show a slope that is far below the rounding of the result.
    """
    at, scale = _along(f, numbers, k), abs(numbers[k]) or 1.0
    here, before = at(0.0), False
    steps = [scale * 10.0**-power for power in range(9, 2, -1)]
    if got and here:  # these change the result by a part of itself
        steps += [abs(here / got) * 10.0**-power for power in range(6, 0, -1)]
    for h in steps:
        above, below = at(h), at(-h)
        rounding = 2.0**-50 * max(abs(above), abs(below), abs(here)) / h
        if abs(got) * scale <= 1e-15 * abs(here):  # a step, perhaps of numbers that rounding has moved
            agrees = max(abs(above - here), abs(below - here)) <= 2.0**-51 * abs(here) and h <= 1e-5 * scale
        else:
            far = abs((above - below) / (2.0 * h) - got)
            agrees = far <= rounding + 1e-6 * abs(got) and rounding <= 1e-4 * abs(got)
        if agrees and before:
            return True
        before = agrees
    return False


def one_sided(f: Callable[[list[float]], list[float]], numbers: list[float], k: int, got: float) -> bool:
    """Return whether f follows a slope on the only side on which it is defined: the point is at the end of its domain."""
    at, scale = _along(f, numbers, k), abs(numbers[k]) or 1.0
    here, found = at(0.0), 0
    for side in (1.0, -1.0):
        for power in (3, 4, 5):
            h = side * scale * 10.0**-power
            difference = (4.0 * at(h) - 3.0 * here - at(2.0 * h)) / (2.0 * h)  # of the second order
            found += abs(difference - got) <= 1e-4 * max(abs(got), abs(difference)) + 2.0**-48 * abs(here / h)
    return found >= 2


def _along(f: Callable[[list[float]], list[float]], numbers: list[float], k: int) -> Callable[[float], float]:
    """Return f as a function of a change of the k-th number; nan where it raises."""

    def at(d: float) -> float:
        try:
            return float(f([*numbers[:k], numbers[k] + d, *numbers[k + 1 :]])[0])
        except Exception:
            return nan

    return at


def _numbers(x: Any) -> list[Any]:
    """Return the numbers of an argument or a result, without bools and Nones."""
    leaves: list[Any] = []
    flatten(x, leaves)
    return leaves


def _within(found: Sequence[Any], wanted: Sequence[Any], rooms: Sequence[float]) -> bool:
    """Return whether numbers differ by no more than they may."""
    same = len(found) == len(wanted) == len(rooms)
    return same and all(x == y or abs(x - y) <= room for x, y, room in zip(found, wanted, rooms))


def _is_number(x: Any) -> bool:
    return isinstance(x, (float, int)) and not isinstance(x, bool)


def _bits(numbers: Sequence[Any]) -> list[bytes]:
    return [struct.pack("<d", nan if x != x else _float(x)) for x in numbers]


def _float(x: Any) -> float:
    return x.data if isinstance(x, Value) else float(x)


def _short(numbers: Sequence[Any]) -> str:
    text = ", ".join(repr(x) for x in numbers[:4])
    return f"[{text}{', ...' if len(numbers) > 4 else ''}]"


def _stacked(a: Any, columns: Iterator[Any]) -> Any:
    """Return an argument with a column of rows in the place of each number."""
    import numpy as np

    if is_array(a):
        return np.stack([next(columns) for _ in range(a.size)], axis=1).reshape(-1, *a.shape)
    leaves: list[Any] = []
    shape = flatten(a, leaves)
    if "'array'" in repr(shape):
        raise TypeError("arrays inside of other arguments are not varied by row")
    return unflatten(shape, iter([next(columns) for _ in leaves]))


def _arrays(result: Any) -> list[Any]:
    """Return the arrays of a result of vmap, from left to right."""
    import numpy as np

    if is_array(result):
        return [result]
    if isinstance(result, dict):
        return [part for item in result.values() for part in _arrays(item)]
    if isinstance(result, (list, tuple)):
        return [part for item in result for part in _arrays(item)]
    return [] if result is None or isinstance(result, str) else [np.asarray(result)]
