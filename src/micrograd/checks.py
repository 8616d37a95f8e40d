"""check_grad and detect_anomaly: is this gradient right, and where did that nan come from?

>>> from micrograd import check_grad, math
>>> check_grad(lambda x, y: math.sin(x) * y, 0.5, 2.0)
True
"""

from __future__ import annotations

import linecache
import sys
import threading
from collections.abc import Callable, Iterator
from math import isfinite, isinf, isnan
from typing import Any

from micrograd import engine
from micrograd.engine import Value, topological
from micrograd.errors import AnomalyError, GradientError
from micrograd.ops import OPS
from micrograd.structure import Shape, flatten, unflatten

SHOWN = 10  # differences that are listed before "and 90 more"

# ---- derivatives beside finite differences


def check_grad(
    f: Callable[..., Any], *args: Any, argnums: int | tuple[int, ...] | None = None, order: int = 1,
    rtol: float = 1e-6, atol: float = 1e-8,
) -> bool:  # fmt: skip
    """Compare the derivatives of f at args with finite differences: True, or a GradientError that lists where they differ.

    Checked are backward() and the transforms; of a compiled function, its machine code. order=2 also checks the second
    derivatives, and so on. argnums says which arguments; all that hold numbers by default.
    """
    if order < 1:
        raise ValueError(f"order={order}: the first derivative is order 1")
    wanted = _wanted(args, argnums)
    from micrograd.transforms import jacobian

    for k in range(1, order + 1):
        problem = _Problem(f, args, wanted)
        truth = problem.differences()
        if k == 1:
            problem.compare(truth, problem.by_backward(), "backward()", k, rtol, atol)
        if not problem.by_hand:
            problem.compare(truth, problem.by_transform(), "grad" if k == 1 else f"grad, {k} times,", k, rtol, atol)
        f = jacobian(f, wanted)
    return True


def _wanted(args: tuple[Any, ...], argnums: int | tuple[int, ...] | None) -> tuple[int, ...]:
    if argnums is not None:
        return (argnums,) if isinstance(argnums, int) else tuple(argnums)
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
    """A function at a point: its numbers laid flat, its derivatives in three ways."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], wanted: tuple[int, ...]) -> None:
        self.f, self.args, self.name = f, args, getattr(f, "__qualname__", repr(f))
        self.wanted = [n % len(args) for n in wanted]
        leaves: list[Any] = []
        self.shape = flatten(tuple(args[n] for n in self.wanted), leaves)
        self.numbers = [x._data if isinstance(x, Value) else float(x) for x in leaves]
        self.paths = list(_paths(self.shape))
        self.compiled = hasattr(f, "settings")  # by jit or vmap: machine code wants plain numbers
        if self.compiled and hasattr(f, "static"):
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
        given: list[Any] = numbers if self.compiled else [Value(x) for x in numbers]
        return [y._data if isinstance(y, Value) else float(y) for y in self.call(given)[1]]

    def differences(self) -> list[list[tuple[float, float]]]:
        """For each result and each number: the slope by differences, and how far it may be off."""
        columns = [self._slope(i) for i in range(len(self.numbers))]
        return [list(row) for row in zip(*columns)]

    def _slope(self, i: int) -> list[tuple[float, float]]:
        """Central differences at steps that halve, extrapolated to a step of zero (Ridders)."""

        def central(h: float) -> list[float] | None:
            x = self.numbers[i]
            above, below = x + h, x - h
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
        """Whether result k goes up from here as it came."""
        h = 1e-6 * max(1.0, abs(self.numbers[i]))
        low, here, high = [
            self.at([*self.numbers[:i], self.numbers[i] + d, *self.numbers[i + 1 :]])[k] for d in (-h, 0.0, h)
        ]
        return not abs((high - here) - (here - low)) <= 1e-3 * abs(high - low) + 1e-9 * h

    def by_transform(self) -> list[list[float]]:
        """The derivatives by jacobian."""
        from micrograd.transforms import jacobian

        found: list[Any] = []
        flatten(jacobian(self.f, tuple(self.wanted))(*self.args), found)
        width = len(self.numbers)
        flat = [x._data if isinstance(x, Value) else float(x) for x in found]
        return [flat[k : k + width] for k in range(0, len(flat), width)]

    def by_backward(self) -> list[list[float]]:
        """The derivatives by backward() of each result; all .grad are as they were afterwards."""
        inputs = [Value(x) for x in self.numbers]
        rows = []
        for y in self.call(list(inputs))[1]:
            if not isinstance(y, Value):
                rows.append([0.0] * len(inputs))
                continue
            order = topological(y)
            self.by_hand |= any(v._prev and not v._partials or "_backward" in v.__dict__ for v in order)
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
    """A jitted function that is machine code from its first call on."""
    from micrograd.compile.jit import jit

    s = f.settings
    return jit(f.f, exact=s.exact, fastmath=s.fast, float32=s.single, width=s.width, wait=True, static_argnums=f.static)


def _paths(shape: Shape) -> Iterator[tuple[int, str]]:
    """Where each number lies: (which part of a tuple, the index behind it as one would write it)."""

    def walk(s: Shape, text: str) -> Iterator[str]:
        if s[0] == "*":
            yield text
        elif s[0] in ("list", "tuple"):
            for i, part in enumerate(s[1]):
                yield from walk(part, f"{text}[{i}]")
        elif s[0] == "named":
            for field, part in zip(s[1]._fields, s[2]):
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


# ---- the first nan or inf

looking = 0  # how many detect_anomaly() blocks are open, in all threads: compiled code asks before it pays for more
_here = threading.local()  # .depth: how many of them in this thread
_lock = threading.Lock()


class detect_anomaly:
    """Turn the first nan or inf of a forward or backward pass into an AnomalyError that names op, inputs and source line.

    `with detect_anomaly():` for a block. A nan is always one; an inf is where no input of the op was infinite, so that
    -inf as a mask or a start value is no alarm. Compiled functions are run as they are, and once more in Python when a
    result is not finite, to find the place. Ops inside no_grad() are not seen.
    """

    def __enter__(self) -> detect_anomaly:
        global looking
        with _lock:
            looking += 1
        _here.depth = getattr(_here, "depth", 0) + 1
        watcher, maker = self._before = engine.set_watch(None, None)

        def made(node: Value) -> None:
            _look_at(node)
            if maker is not None:
                maker(node)

        def told(how: str, v: Any, other: Any, result: Any) -> None:
            if watcher is not None:
                watcher(how, v, other, result)
            if how == "backward()":
                _replay(v)

        engine.set_watch(told, made)
        return self

    def __exit__(self, *_: object) -> None:
        global looking
        engine.set_watch(*self._before)
        _here.depth -= 1
        with _lock:
            looking -= 1


def here() -> bool:
    """Whether this thread is inside detect_anomaly()."""
    return getattr(_here, "depth", 0) > 0


def _look_at(node: Value) -> None:
    """A new node: remember its line, and stop if it is the first that is not finite."""
    node.__dict__["_made_at"] = at = _user_frame()
    y = node._data
    if isfinite(y):
        return
    inputs = [v._data for v in node._prev]
    if isinf(y) and any(isinf(x) for x in inputs):
        return
    already = "  An input was nan already.\n" if any(isnan(x) for x in inputs) else ""
    raise AnomalyError(
        f"{_op_name(node)} gives {y!r}, {_where(at)}\n"
        f"  {_application(node)} = {y!r}\n{already}"
        "  Keep the inputs away from there: micrograd.math.where, max and min choose and clip."
    )


def _replay(root: Value) -> None:
    """A backward pass on the side: stop at the first gradient that is not finite. All .grad are put back."""
    watch = engine.set_watch(None, None)
    order = topological(root)
    saved = [v.grad for v in order]
    found = None
    try:
        for v in order:
            v.grad = 0.0
        root.grad = 1.0
        for v in reversed(order):
            if not v._prev:
                continue
            v._backward()
            found = next(_bad_slots(v), None)
            if found is not None:
                break
    finally:
        for v, grad in zip(order, saved):
            v.grad = grad
        engine.set_watch(*watch)
    if found is not None:
        _stop_backward(*found)


def _bad_slots(v: Value) -> Iterator[tuple[Value, int, float, float]]:
    """(node, number of the input, its gradient, the gradient that came in) where pushing it gave nan, or inf from finite."""
    upstream = v.grad
    for slot, child in enumerate(v._prev):
        g = child.grad
        if isnan(g) or (isinf(g) and not isinf(upstream)):
            yield v, slot, g, upstream


def _stop_backward(v: Value, slot: int, g: float, upstream: float) -> None:
    again, child = v.__dict__.get("_rerun"), v._prev[slot]
    if again is not None:  # the result of compiled code: find the place inside
        again()
    name = _op_name(v)
    partial = v._partials[slot] if slot < len(v._partials) else None
    rule = _rule(v, slot)
    detail = (
        f"d({name})/d(input {slot}){rule} is {partial!r}"
        if partial is not None
        else f"the hand-written _backward of {name}"
    )
    label = f" ({child.label})" if child.label else ""
    raise AnomalyError(
        f"backward() through {name} gives the gradient {g!r}, {_where(v.__dict__.get('_made_at'))}\n"
        f"  {_application(v)} = {v._data!r}; {detail}, the gradient that came in is {upstream!r},"
        f" and input {slot}{label} now has {g!r}.\n"
        "  Keep the input away from there; where() alone does not help, since both of its branches are differentiated."
    )


def _op_name(v: Value) -> str:
    return v._op or "an unnamed op"


def _application(v: Value) -> str:
    """`log(0.0)`, or `a / b` for an operator."""
    inputs = [(f"{c.label}=" if c.label else "") + repr(c._data) for c in v._prev]
    if len(inputs) > 6:
        inputs = [*inputs[:6], f"and {len(inputs) - 6} more"]
    symbol = v._op or "?"
    if len(inputs) == 2 and not symbol[0].isalpha():
        return f"{inputs[0]} {symbol} {inputs[1]}"
    return f"{symbol}({', '.join(inputs)})"


def _rule(v: Value, slot: int) -> str:
    row = next((op for op in OPS.values() if op.symbol == v._op), None)
    if row is None or not row.rule:
        return ""
    return f" = {row.rule[slot if row.arity >= 0 else 0]}"


def _user_frame() -> Any:
    """(file, line, function) of the innermost caller outside of this package."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "micrograd":
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def _where(at: Any) -> str:
    if at is None:
        return "at an unknown line: it was made outside of detect_anomaly()"
    file, line, function = at
    source = linecache.getline(file, line).strip()
    return f"at {file.rsplit('/', 1)[-1]}:{line}, in {function}" + (f": {source}" if source else "")


def without_alarm(run: Callable[[], Any]) -> Any:
    """Run something whose nodes are looked at later: they get their line, and nothing is raised."""

    def mark(node: Value) -> None:
        node.__dict__["_made_at"] = _user_frame()

    watch = engine.set_watch(None, None)
    engine.set_watch(watch[0], mark)
    try:
        return run()
    finally:
        engine.set_watch(*watch)


def sweep(run: Callable[[], list[Any]], f: Callable[..., Any], args: Any, kwargs: Any) -> list[Any]:
    """Run the tape of a derivative; where a result is not finite, find the place in f and its backward pass."""
    flat: list[Any] = without_alarm(run)
    if any(_is_bad(x) for x in flat):
        run_again(f, args, kwargs, True)
    return flat


# ---- compiled code: looked at from outside, and run again in Python


def _is_bad(x: Any) -> bool:
    return not isfinite(x._data if isinstance(x, Value) else x)


def _as_values(x: Any) -> Any:
    leaves: list[Any] = []
    shape = flatten(x, leaves)
    return unflatten(shape, iter([v if isinstance(v, Value) else Value(v) for v in leaves]))


def run_again(f: Callable[..., Any], args: Any, kwargs: Any, backward: bool, where: str = "") -> None:
    """Run f on Values and (if asked) backward from each result: raises at the first anomaly, if there is one."""
    try:
        result = f(*[_as_values(a) for a in args], **{key: _as_values(a) for key, a in kwargs.items()})
        if backward:
            leaves: list[Any] = []
            flatten(result, leaves)
            for y in leaves:
                if isinstance(y, Value):
                    _replay(y)
    except AnomalyError as found:
        if where:
            raise AnomalyError(f"{where}{found}") from None
        raise


def look_at_call(f: Callable[..., Any], args: Any, kwargs: Any, result: Any) -> None:
    """After a call of compiled code inside detect_anomaly()."""
    leaves: list[Any] = []
    flatten(result, leaves)
    name = getattr(f, "__qualname__", repr(f))
    if any(_is_bad(y) for y in leaves):
        run_again(f, args, kwargs, False)
        raise _only_compiled(name, next(y for y in leaves if _is_bad(y)))
    for y in leaves:
        if isinstance(y, Value) and y._prev:
            y.__dict__["_rerun"] = lambda: run_again(f, args, kwargs, True)


def look_at_rows(f: Callable[..., Any], rows: Any, result: Any) -> None:
    """The same after a call over rows: the first row that is not finite is run again."""
    leaves: list[Any] = []
    flatten(result, leaves)

    def again(backward: bool) -> None:
        for r in range(rows.rows):
            run_again(f, rows.arrange(rows.row(r)), {}, backward, f"in row {r}: ")

    if any(_is_bad(y) for y in leaves):
        again(False)
        raise _only_compiled(getattr(f, "__qualname__", repr(f)), next(y for y in leaves if _is_bad(y)))
    for y in leaves:
        if isinstance(y, Value) and y._prev:
            y.__dict__["_rerun"] = lambda: again(True)


def _only_compiled(name: str, y: Any) -> AnomalyError:
    return AnomalyError(
        f"the compiled {name} gives {y._data if isinstance(y, Value) else y!r}, and the same run in Python no nan and no inf\n"
        "  float32 overflows sooner, and fastmath assumes that there is neither.\n"
        "  Compile it with exact=True to have the bits of eager code."
    )
