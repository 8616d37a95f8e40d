"""check_grad and detect_anomaly: is this gradient right, and where did that nan come from?

>>> from micrograd import check_grad, math
>>> check_grad(lambda x, y: math.sin(x) * y, 0.5, 2.0)
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from math import isfinite, isnan
from typing import Any

from micrograd.anomaly import detect_anomaly
from micrograd.engine import Value, topological
from micrograd.errors import GradientError
from micrograd.tape.trace import in_place_of, peek
from micrograd.tree import Shape, flatten, name_of, unflatten, wants_function
from micrograd.typed import P

__all__ = ["check_grad", "detect_anomaly"]

SHOWN = 10  # differences that are listed before "and 90 more"


def check_grad(
    f: Callable[P, Any], *args: Any, argnums: int | tuple[int, ...] | None = None, order: int = 1,
    rtol: float = 1e-6, atol: float = 1e-8,
) -> bool:  # fmt: skip
    """Compare the derivatives of f with finite differences: True, or a GradientError that lists where they differ.

    It checks backward() and the transforms, and the machine code of a compiled function. order=2 also checks the second
    derivatives, and so on. argnums selects the arguments; by default all that hold numbers.

    >>> from micrograd import check_grad, math
    >>> check_grad(lambda x, y: math.sin(x) * y**3, 0.5, 2.0, order=2)
    True
    """
    wants_function(f, "check")
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"order={order!r}: it must be a whole number; the first derivative is order 1")
    wanted = _wanted(args, argnums)
    from micrograd.jacobians import jacobian

    for k in range(1, order + 1):
        problem = _Problem(f, args, wanted)
        truth = problem.differences()
        if not truth:
            raise TypeError(f"{problem.name} does not return a number, so there is nothing to check")
        if k == 1:
            problem.compare(truth, problem.by_backward(), "backward()", k, rtol, atol)
        if not problem.by_hand:
            problem.compare(truth, problem.by_transform(), "grad" if k == 1 else f"grad, {k} times,", k, rtol, atol)
        f = jacobian(f, wanted)
    return True


def _wanted(args: tuple[Any, ...], argnums: int | tuple[int, ...] | None) -> tuple[int, ...]:
    if argnums is not None:
        wanted = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        for n in wanted:
            if not -len(args) <= n < len(args):
                raise TypeError(f"argnums={argnums} asks for argument {n}, but {len(args)} were given")
        return wanted
    found = []
    for i, a in enumerate(args):
        leaves: list[Any] = []
        flatten(a, leaves)
        if leaves:
            found.append(i)
    if not found:
        raise TypeError("check_grad needs an argument that holds a number")
    return tuple(found)


class _Problem:
    """A function at a point: its arguments as a flat list of numbers, and its derivatives computed in three ways."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], wanted: tuple[int, ...]) -> None:
        self.f, self.args, self.name = f, args, name_of(f)
        self.wanted = [n % len(args) for n in wanted]
        leaves: list[Any] = []
        self.shape = flatten(tuple(args[n] for n in self.wanted), leaves)
        self.numbers = [x._data if isinstance(x, Value) else float(x) for x in leaves]
        self.paths = list(_paths(self.shape))
        from micrograd.compile.vmap import Vmap

        jitted = getattr(f, "kernel", None) is f
        self.compiled = jitted or isinstance(f, Vmap)  # machine code wants plain numbers
        if jitted:
            self.f = _compiled_now(f)
        self.by_hand = False

    def call(self, numbers: list[Any]) -> tuple[Shape, list[Any]]:
        """The result as a shape and a flat list."""
        full = list(self.args)
        for n, part in zip(self.wanted, unflatten(self.shape, iter(numbers))):
            full[n] = part
        leaves: list[Any] = []
        return flatten(self.f(*full), leaves), leaves

    def at(self, numbers: list[float]) -> list[float]:
        with nullcontext(numbers) if self.compiled else in_place_of(numbers, _Problem.call.__code__) as given:
            results = self.call(list(given))[1]
        return peek(results)

    def differences(self) -> list[list[tuple[float, float]]]:
        """For each result and each number: the slope by finite differences, and an estimate of its error."""
        columns = [self._slope(i) for i in range(len(self.numbers))]
        return [list(row) for row in zip(*columns)]

    def _slope(self, i: int) -> list[tuple[float, float]]:
        """Central differences at steps that halve, extrapolated to a step of zero (Ridders)."""

        def central(h: float) -> list[float] | None:
            x = self.numbers[i]
            above, below = x + h, x - h
            if above == below:
                return None
            ys = [self.at([*self.numbers[:i], z, *self.numbers[i + 1 :]]) for z in (above, below)]
            slopes = [(a - b) / (above - below) for a, b in zip(*ys)]
            return slopes if all(isfinite(s) for s in slopes) else None

        h = 1e-2 * max(1.0, abs(self.numbers[i]))
        row = central(h)
        while row is None and h > 1e-12:  # outside of where f is defined
            h /= 8
            row = central(h)
        if row is None:
            return [(float("nan"), 0.0)] * len(self.at(self.numbers))
        best = [(s, float("inf")) for s in row]
        table = [[s] for s in row]
        for _ in range(12):
            h /= 2
            row = central(h)
            if row is None:
                break
            for k, s in enumerate(row):
                line, factor = [s], 4.0
                for old in table[k]:
                    line.append((factor * line[-1] - old) / (factor - 1.0))
                    factor *= 4.0
                    error = max(abs(line[-1] - line[-2]), abs(line[-1] - old))
                    if error < best[k][1]:
                        best[k] = line[-1], error
                table[k] = line
            if all(error <= 1e-11 * max(1.0, abs(s)) for s, error in best):
                break
        return best

    def has_kink(self, i: int, k: int) -> bool:
        """Whether result k has different slopes on the two sides of number i."""
        h = 1e-6 * max(1.0, abs(self.numbers[i]))
        low, here, high = [
            self.at([*self.numbers[:i], self.numbers[i] + d, *self.numbers[i + 1 :]])[k] for d in (-h, 0.0, h)
        ]
        return not abs((high - here) - (here - low)) <= 1e-3 * abs(high - low) + 1e-9 * h

    def by_transform(self) -> list[list[float]]:
        """The derivatives by the transform jacobian."""
        from micrograd.jacobians import jacobian

        def results(*args: Any) -> list[Any]:
            leaves: list[Any] = []
            flatten(self.f(*args), leaves)
            return leaves

        found: list[Any] = []
        flatten(jacobian(results, tuple(self.wanted))(*self.args), found)
        width = len(self.numbers)
        flat = [x._data if isinstance(x, Value) else float(x) for x in found]
        return [flat[k : k + width] for k in range(0, len(flat), width)]

    def by_backward(self) -> list[list[float]]:
        """The derivatives by backward() of each result; every .grad is restored afterwards."""
        with in_place_of(self.numbers, _Problem.call.__code__) as inputs:
            results = self.call(list(inputs))[1]
        rows = []
        for y in results:
            if not isinstance(y, Value):
                rows.append([0.0] * len(inputs))
                continue
            order = topological(y)
            self.by_hand |= any((v._prev and not v._partials) or "_backward" in v.__dict__ for v in order)
            saved = [(v, v.grad) for v in order]
            for v in [*inputs, *order]:
                v.grad = 0.0
            y.backward()
            rows.append([x.grad for x in inputs])
            for v, grad in saved:
                v.grad = grad
        return rows

    def compare(self, truth: Any, found: list[list[float]], how: str, order: int, rtol: float, atol: float) -> None:
        problems, count, kinks = [], 0, False
        for k, (row, own) in enumerate(zip(truth, found, strict=True)):
            for path, (slope, error), got in zip(self.paths, row, own, strict=True):
                count += 1
                if abs(got - slope) <= atol + rtol * max(abs(slope), abs(got)) + min(
                    error, 1e-3 * max(1.0, abs(slope))
                ):
                    continue
                of = f" of result {k}" if len(found) > 1 else ""
                kinks |= error > 1e-3 * max(1.0, abs(slope)) or isnan(slope) or self.has_kink(self.paths.index(path), k)
                where = f"argument {self.wanted[path[0]]}" + (f" at {path[1]}" if path[1] else "")
                problems.append(f"  {where}{of}: {how} gives {got:.12g}, finite differences {slope:.12g}")
        if not problems:
            return
        kind = {1: "gradient", 2: "second derivative"}.get(order, f"derivative of order {order}")
        text = [f"the {kind} of {self.name} differs from finite differences in {len(problems)} of {count} numbers"]
        text += problems[:SHOWN]
        if len(problems) > SHOWN:
            text.append(f"  and {len(problems) - SHOWN} more")
        if kinks:
            text.append(
                "  Finite differences do not settle there: f may have a kink or a jump at this point, try another one."
            )
        else:
            text.append("  Look at the partials of the ops on the way: a hand-written _backward, a @primitive.")
        raise GradientError("\n".join(text))


def _compiled_now(f: Any) -> Any:
    """The same jitted function, compiled in its first call."""
    from micrograd.compile.jit import compiled

    return compiled(f.f, replace(f.options, wait=True), f.given)


def _paths(shape: Shape) -> Iterator[tuple[int, str]]:
    """The position of each number: (which part of a tuple, the index within it in Python notation)."""

    def walk(s: Shape, text: str) -> Iterator[str]:
        if s[0] == "*":
            yield text
        elif s[0] in ("list", "tuple"):
            for i, part in enumerate(s[1]):
                yield from walk(part, f"{text}[{i}]")
        elif s[0] == "named":
            for field, part in zip(s[1]._fields, s[2]):
                yield from walk(part, f"{text}.{field}")
        elif s[0] == "object":
            for field, part in zip(s[1].names, s[2]):
                yield from walk(part, f"{text}.{field}")
        elif s[0] == "dict":
            for key, part in zip(s[1], s[2]):
                yield from walk(part, f"{text}[{key!r}]")
        elif s[0] == "array":
            index = [0] * len(s[1])
            for _ in range(_count(s[1])):
                yield f"{text}[{', '.join(map(str, index))}]" if index else text
                for d in reversed(range(len(index))):
                    index[d] += 1
                    if index[d] < s[1][d]:
                        break
                    index[d] = 0

    for i, part in enumerate(shape[1]):
        for text in walk(part, ""):
            yield i, text


def _count(dimensions: tuple[int, ...]) -> int:
    count = 1
    for n in dimensions:
        count *= n
    return count
