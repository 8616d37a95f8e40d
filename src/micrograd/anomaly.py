"""detect_anomaly: where did that nan come from?

    with detect_anomaly():
        loss(x).backward()      # AnomalyError: log gives -inf, at train.py:12, in loss: return -math.log(p)

New nodes are looked at as they are made, and a backward pass is gone through once on the side. Compiled code is
looked at from outside, and run again in Python where a result is not finite.
"""

from __future__ import annotations

import linecache
import threading
import warnings
from collections.abc import Callable, Iterator
from math import isfinite, isinf, isnan
from typing import Any

from micrograd import observed
from micrograd.engine import Value, behind_steps, topological
from micrograd.errors import AnomalyError
from micrograd.ops import OPS
from micrograd.tree import flatten, name_of, unflatten
from micrograd.values.callsite import user_site

looking = 0  # how many detect_anomaly() blocks are open, in all threads: compiled code asks before it pays for more
_here = threading.local()  # .depth: how many of them in this thread
_lock = threading.Lock()


class detect_anomaly:
    """Turn the first nan or inf of a forward or backward pass into an AnomalyError that names op, inputs and line.

    `with detect_anomaly():` for a block. A nan always counts; an inf counts if no input of the op was infinite, so
    that -inf may be used as a mask or an initial value. Compiled functions are run as they are, and once more in Python when a
    result is not finite, to find the place. Ops inside no_grad() are not seen.

    Where the number of a Value is equal to what it is compared with (`if x == 0.0: return 1.0`), the derivative of that branch
    at this point alone is taken, which is seldom that of the function: a RuntimeWarning names the line, but for compiled code.

    >>> from micrograd import AnomalyError, Value, detect_anomaly, math
    >>> try:
    ...     with detect_anomaly():
    ...         math.sqrt(Value(-1.0))
    ... except AnomalyError as error:
    ...     print(str(error).split(", at")[0])
    sqrt gives nan
    """

    def __enter__(self) -> detect_anomaly:
        global looking
        with _lock:
            looking += 1
        _here.depth = getattr(_here, "depth", 0) + 1
        watcher, maker, _ = self._before = observed.set_watch(None, None)

        def made(node: Value) -> None:
            _look_at(node)
            if maker is not None:
                maker(node)

        def told(how: str, v: Any, other: Any, result: Any) -> Any:
            answer = None if watcher is None else watcher(how, v, other, result)
            if how == "backward()":
                _replay(v)
            elif (how == "eq" and result) or (how == "ne" and not result):
                _warn_of_equality(v, other)
            return answer

        observed.set_watch(told, made)
        return self

    def __exit__(self, *_: object) -> None:
        global looking
        observed.set_watch(*self._before)
        _here.depth -= 1
        with _lock:
            looking -= 1


def here() -> bool:
    """Whether this thread is inside detect_anomaly()."""
    return getattr(_here, "depth", 0) > 0


def _warn_of_equality(v: Value, other: Any) -> None:
    """Warn that an equality alone has decided: derivatives are those of its branch, whatever the function is beside it."""
    number = other._data if isinstance(other, Value) else other
    if (
        v is other or type(number) not in (float, int) or not isfinite(number)
    ):  # `x != x` and `x == inf` ask for nan and inf
        return
    at = user_site(1)
    label = f"{v.label} == " if v.label else ""
    file, line = at[:2] if at is not None else ("<unknown>", 0)
    warnings.warn_explicit(
        f"{label}{v._data!r} == {number!r} decides a branch, {_where(at)}\n"
        "  The derivative is that of this branch at this point alone, which is 0 where it returns a constant.\n"
        "  Where the function is smooth, decide by abs(a - b) < 1e-4, say, and write the first terms of its series there.",
        RuntimeWarning,
        file,
        line,
    )


def _look_at(node: Value) -> None:
    """A new node: remember its line, and stop if it is the first that is not finite."""
    node.__dict__["_made_at"] = at = user_site(1)
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
    watch = observed.set_watch(None, None)
    order = topological(root)
    saved, hidden = [v.grad for v in order], behind_steps(order)
    found = None
    try:
        for v in order:
            v.grad = 0.0
        root.grad = 1.0
        for v in reversed(order):
            if not v._prev or (id(v) in hidden and not v.grad):
                continue
            v._backward()
            found = next(_bad_slots(v), None)
            if found is not None:
                break
    finally:
        for v, grad in zip(order, saved):
            v.grad = grad
        observed.set_watch(*watch)
    if found is not None:
        _stop_backward(*found)


def _bad_slots(v: Value) -> Iterator[tuple[Value, int, float, float]]:
    """(node, which input, its gradient, the gradient that came in) where pushing gave nan, or inf from finite."""
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


def _where(at: Any) -> str:
    if at is None:
        return "at an unknown line: it was made outside of detect_anomaly()"
    file, line, function = at
    source = linecache.getline(file, line).strip()
    return f"at {file.rsplit('/', 1)[-1]}:{line}, in {function}" + (f": {source}" if source else "")


def without_alarm(run: Callable[[], Any]) -> Any:
    """Run something whose nodes are looked at later: they get their line, and nothing is raised."""

    def mark(node: Value) -> None:
        node.__dict__["_made_at"] = user_site(1)

    watch = observed.set_watch(None, None)
    observed.set_watch(watch[0], mark)
    try:
        return run()
    finally:
        observed.set_watch(*watch)


def sweep(run: Callable[[], list[Any]], f: Callable[..., Any], args: Any, kwargs: Any) -> list[Any]:
    """Run the tape of a derivative; where a result is not finite, find the place in f and its backward pass."""
    flat: list[Any] = without_alarm(run)
    without_alarm(lambda: f(*map(_as_values, args), **{key: _as_values(a) for key, a in kwargs.items()}))
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


def run_again(f: Callable[..., Any], args: Any, kwargs: Any, backward: bool, where: str = "") -> bool:
    """Run f on Values and (if asked) backward from each result: raises at the first anomaly. Returns whether a result is not
    finite all the same, as it may be where an argument is infinite."""
    leaves: list[Any] = []
    try:
        flatten(f(*[_as_values(a) for a in args], **{key: _as_values(a) for key, a in kwargs.items()}), leaves)
        for y in leaves if backward else ():
            if isinstance(y, Value):
                _replay(y)
        return any(_is_bad(y) for y in leaves)
    except AnomalyError as found:
        if where:
            raise AnomalyError(f"{where}{found}") from None
        raise


def look_at_call(f: Callable[..., Any], args: Any, kwargs: Any, result: Any) -> None:
    """After a call of compiled code inside detect_anomaly()."""
    leaves: list[Any] = []
    flatten(result, leaves)
    name = name_of(f)
    if any(_is_bad(y) for y in leaves) and not run_again(f, args, kwargs, False):
        raise _only_compiled(name, next(y for y in leaves if _is_bad(y)))
    for y in leaves:
        if isinstance(y, Value) and y._prev:
            y.__dict__["_rerun"] = lambda: run_again(f, args, kwargs, True)


def look_at_rows(f: Callable[..., Any], rows: Any, result: Any) -> None:
    """The same after a call over rows: the first row that is not finite is run again."""
    leaves: list[Any] = []
    flatten(result, leaves)

    def again(backward: bool) -> bool:
        found = False
        for r in range(rows.rows):
            args, kwargs = rows.arrange(rows.row(r))
            found |= run_again(f, args, kwargs, backward, f"in row {r}: ")
        return found

    if any(_is_bad(y) for y in leaves) and not again(False):
        raise _only_compiled(name_of(f), next(y for y in leaves if _is_bad(y)))
    for y in leaves:
        if isinstance(y, Value) and y._prev:
            y.__dict__["_rerun"] = lambda: again(True)


def _only_compiled(name: str, y: Any) -> AnomalyError:
    return AnomalyError(
        f"the compiled {name} gives {y._data if isinstance(y, Value) else y!r}, and the same run in Python does not\n"
        "  float32 overflows sooner, fastmath assumes that there is neither, a sum may overflow where no row does.\n"
        "  Compile it with exact=True to have the bits of eager code, and look at the rows without reduce."
    )
