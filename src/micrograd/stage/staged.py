"""Stage a function: interpret it for all rows at once, and write down one tape.

The rows that the tape does not hold for (an arm that raises, or does what is not merged; a loop that goes on for longer than it
is written out) are its guard. They get a tape of their own, as paths have always got; or, if only the length of loops is the
reason, they are staged once more, with loops that are written out further (Limits.level).

The numbers of the row at hand decide about nothing: they are there for the results of the first call. So it does not matter
which row a function is staged on, and the staged tapes of a function are the same in every history of calls.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from micrograd import observed
from micrograd.engine import Value
from micrograd.stage import builtin, mixed, statements  # noqa: F401 (two are imported because they fill tables of language.py)
from micrograd.stage.calls import call
from micrograd.stage.errors import Bound, Copied, Lost, Unsupported
from micrograd.stage.limits import Limits
from micrograd.stage.machine import OWN, Machine
from micrograd.stage.masks import FALSE, TRUE
from micrograd.stage.nodes import node_of
from micrograd.stage.results import lower
from micrograd.stage.sample import sampled
from micrograd.tape import interpret as python
from micrograd.tape import kinds, passes
from micrograd.tape import trace as tracing
from micrograd.tape.arithmetic import FUNCTIONS, RAISING
from micrograd.tape.staging import hooks
from micrograd.tape.tape import Tape
from micrograd.tape.trace import Trace
from micrograd.tree import Shape, flatten, map_values, unflatten

DEEP = 5_000  # calls of Python inside of each other: an interpreted call takes several, a mask one for each comparison

# How the guards of a staged tape are written, over masks of 1.0 and 0.0: rows are lost for good, or to the next level.
APART, BOUND = "eq", "ne"

_thread = threading.local()

Arrange = Callable[[list[Any]], tuple[Sequence[Any], dict[str, Any]]]


class _DeepCalls:
    """Raises the recursion limit of the process while any thread stages a function, and puts it back after the last one.

    The limit is one for all threads. If each thread put back what it had found, two that overlap would leave it raised.
    It stays low enough that calls which pass through C reach it before the stack of a thread ends.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.before = 0

    def __enter__(self) -> None:
        with self.lock:
            if self.users == 0:
                self.before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self.before, DEEP))
            self.users += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0 and sys.getrecursionlimit() == max(
                self.before, DEEP
            ):  # nobody has set another one since
                sys.setrecursionlimit(self.before)


_deep_calls = _DeepCalls()


def flat(shape: Shape) -> Arrange:
    """How the arguments of a function that is given Values by position are arranged."""
    return lambda inputs: (unflatten(shape, iter(inputs)), {})


def machine() -> Machine | None:
    """The machine that stages a function in this thread."""
    return getattr(_thread, "machine", None)


def _watch(m: Machine, how: str, v: Any, other: Any, result: Any) -> None:
    """A number of a Value is wanted by code that is not interpreted; or an operator runs that may raise for plain numbers."""
    if how in RAISING or how in FUNCTIONS:
        mixed.raise_errors(m, how, v, other)
        return
    what = "compares Values" if result is not None else f"uses {how} of a Value"
    raise Unsupported(f"code that is not interpreted {what}")


def stage(
    f: Any,
    arrange: Arrange,
    values: list[float],
    keep_types: bool = False,
    origins: Sequence[Any] | None = None,
    limits: Limits | None = None,
) -> Trace:
    """The trace of f for all rows. Raises Unsupported where it cannot be merged at all.

    `arrange` makes the arguments of f, by position and by name, from a flat list of Values. With `limits` that ask for a loop
    which is long enough, there is a trace only if there is such a loop.
    """
    m = Machine(keep_types, limits)
    try:
        found = _staged(m, f, arrange, values, origins)
    except Unsupported:
        if not m.masks.crowded or m.limits.coarse:
            raise
        m = Machine(keep_types, replace(m.limits, coarse=True))
        return _finished(m, _staged(m, f, arrange, values, origins))
    if m.masks.crowded and not m.limits.coarse:
        coarse = Machine(keep_types, replace(m.limits, coarse=True))
        with contextlib.suppress(Unsupported):
            return _finished(coarse, _staged(coarse, f, arrange, values, origins))
    return _finished(m, found)


def _staged(m: Machine, f: Any, arrange: Arrange, values: list[float], origins: Sequence[Any] | None) -> Trace:
    outer, _thread.machine = machine(), m
    refused: dict[int, str] = {}  # loops that must be unrolled, which shows behind them
    try:
        with _deep_calls:
            while True:
                try:
                    found = run(m, f, arrange, values, origins=origins, bools=m.keep_types)
                except Copied as why:
                    if why.loop is None or why.loop in refused:
                        raise
                    refused[why.loop] = str(why)
                    m.begin_again(refused)
                    continue
                found.of_rows = not m.keep_types
                return found
    except Lost:
        raise Unsupported(next(iter(m.reasons.values()), "no row is left")) from None
    except RecursionError:
        raise Unsupported("the choices are nested too deeply") from None
    finally:
        _thread.machine = outer


def _finished(m: Machine, found: Trace) -> Trace:
    """A trace with what is known of it."""
    if m.limits.work and not m.rolled:
        raise Unsupported("there is no long loop in it")
    found.tape = passes.prune(passes.fuse(passes.simplify(found.tape)))
    found.merged = bool(m.masks.atoms or found.tape.guards)
    found.staged = True
    found.bounded = bool(found.tape.guards) and all(how == BOUND for how, *_ in found.tape.guards)
    found.evidence.sampled = m.sampled
    found.notes = {line: _with_cost(m, line, what) for line, what in m.notes.items() if not line.startswith(OWN)}
    for line, why in m.reasons.items():
        known = [found.notes[line]] if line in found.notes else []
        found.notes["" if line.startswith(OWN) else line] = "; ".join([*known, f"rows on their own: {why}"])
    return found


def _with_cost(m: Machine, line: str, what: str) -> str:
    """What became of a choice at a line; of one that was merged, with the number of instructions of all arms."""
    count = m.costs.get(line, 0) if what.startswith("merged") else 0
    return f"{what}, {count:,} instruction{'s' if count > 1 else ''}" if count else what


def _inner(
    m: Machine, f: Any, shape: Shape, values: list[float], has_aux: bool, origins: Sequence[Any] | None
) -> Trace:
    """What grad and the like trace: the function inside, with its choices merged too."""
    return run(m, f, flat(shape), values, has_aux, origins)


def _derivatives(m: Machine, found: Trace, results: list[Any]) -> None:
    """A transform has run the tape that it derived from a trace: its results, then their derivatives."""
    m.derived_in_a_loop |= m.rolling is not None
    for k, x in enumerate(results):
        if k >= len(found.tape.outputs) or k in found.derivatives:
            m.derivatives[id(x)] = x


def _depends(m: Machine, leaves: list[Any]) -> frozenset[int]:
    """Which of these depend on a derivative."""
    if m.derived_in_a_loop:
        return frozenset(range(len(leaves)))
    if not m.derivatives:
        return frozenset()
    depends: dict[int, bool] = {}
    waiting = [leaf for leaf in leaves if isinstance(leaf, Value)]
    while waiting:
        v = waiting[-1]
        missing = [] if id(v) in depends or id(v) in m.derivatives else [c for c in v._prev if id(c) not in depends]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        depends[id(v)] = depends.get(id(v)) or id(v) in m.derivatives or any(depends[id(c)] for c in v._prev)
    return frozenset([k for k, x in enumerate(leaves) if depends.get(id(x))])


def _lighten(kept: int, tape: Tape) -> Tape:
    """A tape before its adjoint is taken: less work inside of its loops, and fewer states to keep."""
    tape = passes.fuse(passes.prune(passes.hoist(tape)))
    return passes.checkpoint(tape, kept) if kept else tape


def _structural(m: Machine, op: Any, args: list[Any]) -> Any:
    """A region or an array of a tape that runs inside of the staged function: one node, with the numbers of the row at hand."""
    numbers: Any = None
    if m.rolling is None and m.sampled:
        numbers = sampled(m, op, [getattr(x, "_numbers", getattr(x, "_data", x)) for x in args])
    made = node_of(op, args, numbers if isinstance(numbers, float) else 0.0)
    if numbers is not None and not isinstance(numbers, float):
        made.__dict__["_numbers"] = numbers
    return made


def _require(m: Machine, how: str, a: Any, b: Any, went: bool) -> None:
    """A guard of a tape that runs inside of the staged function: rows that fail it are lost."""
    rows = m.masks.compare(how, a, b) if isinstance(a, Value) or isinstance(b, Value) else None
    if rows is None:
        rows = TRUE if python.compare(how, a, b) else FALSE
    fails = m.masks.both_of(m.here, m.masks.negate(rows) if went else rows)
    if fails is not FALSE:
        why = "a choice inside of a differentiated function"
        m.lose(fails, Bound(why) if how == BOUND else why)
    if fails is m.here:
        raise Lost


def run(
    m: Machine,
    f: Any,
    arrange: Arrange,
    values: list[float],
    has_aux: bool = False,
    origins: Sequence[Any] | None = None,
    bools: bool = True,
) -> Trace:
    """Interpret f on Values of these numbers, and write down what was computed."""
    serial = tracing.next_trace()
    lost, m.lost, m.lost_at = (m.lost, m.lost_at), [], []
    here, hooked = m.here, (hooks.trace, hooks.require, hooks.structural, hooks.derivatives, hooks.lighten)
    m.differentiated += 1
    m.masks.stack.append(m.differentiated)
    m.masks.values.append({})
    watch = observed.set_watch(None, None)
    before, recording = observed.set_trace(serial), observed.set_recording(True)
    try:
        inputs = [Value(float(x)) for x in values]
        seen = kinds.begin(serial, inputs, origins)
        observed.set_watch(partial(_watch, m), m.count)
        hooks.trace, hooks.require, hooks.structural = partial(_inner, m), partial(_require, m), partial(_structural, m)
        hooks.derivatives = partial(_derivatives, m)
        hooks.lighten = partial(_lighten, m.limits.kept)
        args, kwargs = arrange(inputs)
        result = lower(m, call(m, f, list(args), kwargs), bools)
        aux: Any = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError("has_aux=True needs a function that returns (result, aux)")
            result, aux = result
        leaves: list[Any] = []
        out_shape = flatten(result, leaves)
        beside: list[Any] = []
        map_values(aux, beside.append)
        lost_at = dict(zip(reversed(m.lost), reversed(m.lost_at)))
        guards = [
            (BOUND, value, 1.0, True) if mask in m.bounds else (APART, value, 0.0, True)
            for mask, value in zip(lost_at, map(m.masks.value, lost_at))
        ]
        found = tracing._write_down(f, inputs, leaves + beside, guards, list(lost_at.values()), out_shape, serial)
        found.derivatives = _depends(m, leaves)
    finally:
        m.masks.values.pop()
        m.masks.stack.pop()
        (m.lost, m.lost_at), m.here = lost, here
        hooks.trace, hooks.require, hooks.structural, hooks.derivatives, hooks.lighten = hooked
        observed.set_recording(recording)  # which needs no memory; the others have switched before they fail
        try:
            observed.set_watch(*watch)
        finally:
            observed.set_trace(before)
        kinds.end(serial)
    if seen.asked and origins is not None:
        found.asked = {tuple(map(type, origins))}
    found.constants = [(k, x) for k, x in enumerate(leaves) if not isinstance(x, Value)]
    found.aux, found.aux_places = aux, list(found.tape.outputs[len(leaves) :])
    found.tape = found.tape.copy(outputs=found.tape.outputs[: len(leaves)])
    del found.numbers[len(leaves) :]
    return found


__all__ = ["TRUE", "Trace", "machine", "run", "stage"]
