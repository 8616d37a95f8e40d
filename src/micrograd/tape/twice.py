"""Two traces of one function that is to be replayed: what differs between them would be frozen, and is an error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from micrograd.errors import TraceError
from micrograd.tape import passes
from micrograd.tape.staging import hooks
from micrograd.tape.tape import CONST, INPUT, PARAM, Tape
from micrograd.tape.trace import KEEP_OUT, Trace, trace
from micrograd.tree import Shape, name_of, written
from micrograd.watch import purity
from micrograd.watch.reach import Reach

_twice = threading.local()  # .made: the tapes that the first of two runs derived; .at: how many this run has so far


def derived(tape: Tape, sweep: Callable[..., Tape], *wrt: Any) -> Tape:
    """The tape of a sweep over a tape; the second of two runs has it from the first one, if that swept the same."""
    if hooks.lighten is not None and sweep is passes.adjoint and tape.has_regions():
        lighter = hooks.lighten(tape)
        wrt = tuple([_moved(tape, lighter, places) for places in wrt])
        tape = lighter
    made = getattr(_twice, "made", None)
    if made is None:
        return _kept.swept(tape, sweep, wrt)
    number, _twice.at = _twice.at, _twice.at + 1
    asked = tape.ops, tape.args, tape.outputs, tape.guards, sweep, wrt
    if number >= len(made) or made[number][0] != asked:
        made[number:] = [(asked, passes.prune(sweep(tape, *wrt)))]
    found: Tape = made[number][1]
    return found


class _Kept(threading.local):
    """The latest swept tapes of this thread: eager code runs a function again and again, and its tape is the same each time.

    A sweep in Python takes some ten times as long as all else in an eager Hessian.
    """

    MOST, INSTRUCTIONS = 16, 200_000  # tapes, and instructions in all of them

    def __init__(self) -> None:
        self.tapes: list[tuple[tuple[Any, ...], Tape, Tape]] = []

    def swept(self, tape: Tape, sweep: Callable[..., Tape], wrt: tuple[Any, ...]) -> Tape:
        """Return the pruned tape of a sweep."""
        asked = sweep, tape.inputs, tape.params, tape.outputs, tape.guards, wrt, _told_apart(tape)
        for k, (known, old, found) in enumerate(self.tapes):
            if len(old) == len(tape) and known == asked and old.ops == tape.ops and old.args == tape.args:
                if k:
                    self.tapes.insert(0, self.tapes.pop(k))
                return found
        new = passes.prune(sweep(tape, *wrt))
        tapes = [(asked, tape, new), *self.tapes[: self.MOST - 1]]
        while tapes and sum(len(old) + len(found) for _, old, found in tapes) > self.INSTRUCTIONS:
            tapes.pop()
        self.tapes = tapes
        return new


_kept = _Kept()


def _told_apart(tape: Tape) -> tuple[tuple[int, str], ...]:
    """Return the constants that are equal to others: zeros by their sign, ints and bools."""
    consts = [(k, tape.args[k][0]) for k in passes.places_of(tape, CONST)]
    return tuple([(k, repr(x)) for k, x in consts if not x or type(x) is not float])


def _moved(old: Tape, new: Tape, places: list[int | None]) -> list[int | None]:
    """The places of inputs of one tape on another tape with the same inputs."""
    where = passes.sources(new, INPUT, new.inputs)
    return [None if p is None else where[old.args[p][0]] for p in places]


def trace_twice(f: Any, user: Any, shape: Shape, values: list[Any], origins: Sequence[Any] | None = None) -> Trace:
    """Trace a function that will be replayed, in two runs on the same numbers.

    A difference between the runs would be frozen, and what `user` (the function as it was written) assigns outside of itself
    would not be assigned by the replay: both are errors.
    """
    return twice(lambda: trace(f, shape, values, frozen=True, origins=origins), f, user)


def twice(run: Callable[[], Trace], f: Any, user: Any) -> Trace:
    """The trace that `run` makes of f, in two runs that are compared: see trace_twice."""
    outer, _twice.made = getattr(_twice, "made", None), []
    try:
        first = _trace_without_drawing(run, f, Reach(user).things)
        reach = Reach(user)  # after the first run, which may have made what was not there yet
        before = purity.items(user, reach)
        held = [(name, x, len(x)) for (_, name), x in before.items() if isinstance(x, (list, dict, set))]
        second = _trace_without_drawing(run, f, reach.things)
    finally:
        _twice.made = outer
    for name, container, length in held:
        if len(container) != length:
            raise unsteady(
                f"the {type(container).__name__} `{name}` changed its length inside a compiled function, {name_of(f)}\n"
                f"{KEEP_OUT}"
            )
    difference = _difference(first, second)
    if difference:
        raise unsteady(
            f"{name_of(f)} computes something else when it is run again on the same numbers: {difference}\n"
            "  It is traced and then replayed, so whatever it reads from elsewhere (the time, a counter, a random number "
            "generator, a cache) would keep its first value.\n"
            "  Pass that in as an argument."
        )
    after = purity.items(user, reach)
    for place, x in before.items():
        if place in after and after[place] is not x:
            name = place[1]
            raise unsteady(f"`{name}` is assigned inside a compiled function, {name_of(f)}\n{KEEP_OUT}")
    return first


def unsteady(message: str) -> TraceError:
    """The error of a function that is not the same in two runs."""
    error = TraceError(message)
    error.unsteady = True
    return error


def _trace_without_drawing(run: Callable[[], Trace], f: Any, own: list[Any]) -> Trace:
    """The trace of a run that left the generators of random numbers alone: the global ones, and those among its `own`."""
    for _ in range(4):  # a number drawn by another thread in the meantime is no fault of this function
        state = purity.random_state(own)
        _twice.at = 0
        found = run()
        if purity.random_state(own) == state:
            return found
    raise unsteady(
        f"a random number was drawn inside a compiled function, {name_of(f)}\n"
        "  It is traced and then replayed, so the number drawn while tracing would be reused in every later call.\n"
        "  Draw it with micrograd.random, whose draws are part of the trace, or draw it outside and pass it in as an argument."
    )


def _difference(one: Trace, two: Trace) -> str:
    """Where two traces differ, in words; nothing where they do not."""
    a, b = one.tape, two.tape
    differ = a.ops != b.ops or a.args != b.args or a.guards != b.guards or a.outputs != b.outputs
    if differ and str(a) != str(b):  # a nan differs from itself, its text does not
        lines = zip([*str(a).splitlines(), "nothing"], [*str(b).splitlines(), "nothing"])
        old, new = next((x, y) for x, y in lines if x != y)
        return f"`{old}`, then `{new}`"
    if one.shape != two.shape:
        return f"a result arranged as {written(one.shape)}, then as {written(two.shape)}"
    for x, y in zip(one.captured, two.captured):
        if x is not y and repr(x._data) != repr(y._data):
            return f"a Value of {x._data!r}, then one of {y._data!r}"
    return ""


def same_way(one: Trace, two: Trace) -> bool:
    """Whether two runs went the same way: the same instructions, guards and arrangement of results."""
    a, b = one.tape, two.tape
    if a.guards != b.guards or a.ops != b.ops or a.outputs != b.outputs or one.shape != two.shape:
        return False
    if bool(one.asked) != bool(two.asked):
        return False
    for op, x, y in zip(a.ops, a.args, b.args):
        if op is PARAM:  # a Value made inside is a new one in each run
            u, v = one.captured[x[0]], two.captured[y[0]]
            if u is not v and repr(u._data) != repr(v._data):
                return False
        elif (x != y or op is CONST) and repr(x) != repr(y):  # 0.0 is not -0.0, and a nan is a nan
            return False
    return True
