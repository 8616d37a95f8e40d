"""Trace: run a function on Values, take the graph that it leaves behind, and write it down as a tape."""

from __future__ import annotations

import importlib
import itertools
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from functools import partial
from numbers import Number
from types import CodeType
from typing import Any, NoReturn, cast

from micrograd import engine, graph, observed
from micrograd.engine import Value
from micrograd.errors import TraceError
from micrograd.evidence.compared import Evidence
from micrograd.objects import attributes
from micrograd.observed import ELSEWHERE
from micrograd.ops import OPS
from micrograd.tape import arithmetic, kinds
from micrograd.tape.refusals import (
    ALL_DIGITS,
    DIGITS,
    TEXT,
    digits_taken,
    number_taken,
    refusal,
    whole_wanted,
)
from micrograd.tape.staging import hooks
from micrograd.tape.tape import CONST, SOURCES, Guard, Tape
from micrograd.tape.traced_text import TracedText, text_of
from micrograd.tree import (
    Shape,
    fixed_parts,
    flatten,
    is_array,
    is_numpy_scalar,
    map_values,
    name_of,
    unflatten,
)
from micrograd.values import decimals
from micrograd.values.callsite import line_of, user_frame, user_line
from micrograd.values.callsite import user_depth as user_depth
from micrograd.values.conversion import formats_text
from micrograd.values.ufuncs import NO_ROW, numbers_only

if engine.NATIVE:
    from micrograd._engine import linearize, pull, push
    from micrograd._engine import next_trace as next_trace
else:
    linearize, pull, push = graph.linearize, graph.pull, graph.push
    _serials = itertools.count()

    def next_trace() -> int:
        """Return a number for the nodes of a trace."""
        return next(_serials) % (ELSEWHERE - 2) + 1  # a node has two bytes for it, and two numbers are taken


ON_NUMBERS = ELSEWHERE - 1  # the trace in which functions run on plain numbers; native/standard.c knows it, too
_begun = threading.local()  # .serials: the traces begun since the outermost one of this thread

WHOLE = {
    "int()": "trunc",
    "math.trunc()": "trunc",
    "math.floor()": "floor",
    "math.ceil()": "ceil",
    "round()": "round",
}
KEEP_OUT = (
    "  The function is traced and then replayed, and the replay changes nothing outside of it.\n"
    "  Return what is to be kept, and store it outside."
)


class Trace:
    """What one run left behind: the tape, the captured Values, and how its results are arranged."""

    def __init__(self, tape: Tape, captured: list[Value], shape: Shape) -> None:
        self.tape, self.captured, self.shape = tape, captured, shape
        self.numbers: list[float] = []  # the results of that run
        self.name = "a function"  # of which it is
        self.evidence = Evidence()  # what is known of whether it is right
        self.constants: list[tuple[int, Any]] = []  # which of them are no Values, and what they are
        self.staged = False  # whether the function was interpreted for all rows, and not run on the numbers of one
        self.of_rows = False  # of a staged trace: whether it is of a function of rows, whose bools are numbers
        self.bounded = (
            False  # of a staged trace: whether one of the next level may hold for the rows that this one rejects
        )
        self.merged = False  # whether it holds for several paths, whose choices are instructions
        self.notes: dict[str, str] = {}  # what became of each choice: file:line → words
        self.aux: Any = None  # what came beside the result, with Values of that run in it
        self.aux_places: list[int] = []  # where those are on the tape
        self.lines: list[str] = []  # `file:line` of each guard of the tape
        self.origins: Sequence[Any] | None = None  # the arguments, before they became floats
        self.given: Sequence[Any] | None = None  # the same for runs on plain numbers, also of rows
        self.asked: set[tuple[type, ...]] = (
            set()
        )  # the classes it holds for, where the function has asked for one; else none
        self.derivatives: frozenset[int] = frozenset()  # of a merged trace: which results depend on a derivative
        self.modules: list[Any] = []  # the modules that were read: see watch/modules.py


def is_tracing() -> bool:
    """Whether this thread is inside a trace."""
    before = observed.set_trace(0)
    observed.set_trace(before)
    return before != 0


def _is_inside() -> bool:
    """Whether this thread is inside a trace of Values, and not in a run on plain numbers."""
    before = observed.set_trace(0)
    observed.set_trace(before)
    return before not in (0, ON_NUMBERS)


def is_replayed() -> bool:
    """Whether this thread is inside a trace that will be replayed for other numbers."""
    return bool(_begun.__dict__.get("frozen", 0))


def peek(values: list[Any]) -> list[float]:
    """The numbers of Values (and of numbers), unseen by a watcher."""
    if {float}.issuperset(map(type, values)):
        return list(values)
    return [v._data if isinstance(v, Value) else float(v) for v in values]


@contextmanager
def in_place_of(numbers: Sequence[float], end: CodeType) -> Iterator[list[Value]]:
    """Let Values stand for these numbers, as in a trace, but without a tape, while code runs that is called from `end`.

    isinstance and float() answer for the numbers, and errors of arithmetic that the code catches are raised.
    """
    serial = next_trace()
    outer = observed.set_watch(None, None)

    def watcher(how: str, v: Value, other: Any, result: Any) -> Any:
        if how in arithmetic.RAISING or how in arithmetic.FUNCTIONS:
            error = arithmetic.error(how, v, other) if arithmetic.caught(end, how) else None
            if error is not None:
                raise error
        return None if outer[0] is None else outer[0](how, v, other, result)

    before = observed.set_trace(serial)
    try:
        inputs = [Value(x) for x in numbers]
        kinds.begin(serial, inputs, None)
        observed.set_watch(watcher, outer[1])
        yield inputs
    finally:
        try:
            observed.set_watch(*outer)
        finally:
            observed.set_trace(before)
        kinds.end(serial)


def trace(
    f: Any, shape: Shape, values: list[Any], frozen: bool, has_aux: bool = False, origins: Sequence[Any] | None = None,
) -> Trace:  # fmt: skip
    """Run f on Values of these numbers, arranged as `shape`, and write down what it computed.

    With `frozen`, the tape will be replayed for other numbers: whatever a trace cannot see is a TraceError. Without, it is
    used once, for these, and `.data` is as harmless as in eager code; but where compiled code takes the number of a Value, the
    derivative would be lost without a word, so that is a TraceError too. isinstance sees the classes of `origins`, the
    arguments as given.
    """
    if hooks.trace is not None:
        return cast("Trace", hooks.trace(f, shape, values, has_aux, origins))
    return run(f, shape, values, frozen, has_aux, origins).written()


class Run:
    """What a run of a function on Values has left: its inputs, its results, and what was decided on the way."""

    inputs: list[Value]
    leaves: list[Any]  # the results
    beside: list[Value]  # the Values in the auxiliary output
    shape: Shape  # of the results
    aux: Any
    seen: Any
    inner: list[int]  # the traces that began and ended inside

    def __init__(self, f: Any, serial: int, frozen: bool, origins: Sequence[Any] | None, outermost: bool) -> None:
        self.f, self.serial, self.origins = f, serial, origins
        self.may_leak = outermost and not frozen and origins is not None
        self.guards: list[tuple[str, Any, Any, bool]] = []
        self.lines: list[str] = []  # where each of them is

    def take(self, result: Any, has_aux: bool) -> None:
        """Lay what the function has returned flat."""
        self.aux, self.leaves, self.beside = None, [], []
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"has_aux=True needs a function that returns (result, aux), not {type(result).__name__}"
                )
            result, self.aux = result
        self.shape = flatten(result, self.leaves)
        map_values(self.aux, self.beside.append)

    def numbers(self) -> list[float]:
        """The results."""
        return peek(self.leaves)

    def gradients(self, forward: bool = False) -> list[float] | None:
        """For each result its derivatives with respect to the inputs, one after the other, by sweeps over the graph.

        None where that is left to the tape: the graph reaches a Value from outside, or a rule that is written by hand.
        """
        sweep = push if forward else pull
        found: list[float] | None = sweep(self.leaves, self.inputs, self.serial, observed.STOP)
        return found

    def pulled(self, cotangent: list[float]) -> list[float] | None:
        """The derivative of the sum of the results times a cotangent with respect to each input; None as above."""
        found: list[float] | None = pull(self.leaves, self.inputs, self.serial, observed.STOP, cotangent)
        return found

    def moved(self, direction: list[float]) -> list[float] | None:
        """The derivative of each result in a direction; None as above."""
        found: list[float] | None = push(self.leaves, self.inputs, self.serial, observed.STOP, direction)
        return found

    def written(self) -> Trace:
        """The same as a tape. The run is used up by that."""
        f, inputs, leaves, origins = self.f, self.inputs, self.leaves, self.origins
        found = _write_down(f, inputs, leaves + self.beside, self.guards, self.lines, self.shape, self.serial)
        _refuse_leaked(f, found.captured, set(self.inner))
        found.constants = [(k, x) for k, x in enumerate(leaves) if not isinstance(x, Value)]
        found.aux, found.aux_places = self.aux, list(found.tape.outputs[len(leaves) :])
        found.tape = found.tape.copy(outputs=found.tape.outputs[: len(leaves)])
        del found.numbers[len(leaves) :]
        found.origins = origins
        if self.seen.asked and origins is not None:
            found.asked = {tuple(map(type, origins))}
        if self.may_leak and origins is not None:
            del leaves, self.leaves, self.beside, self.seen
            _mark_leaked(f, inputs, origins)
        return found


def _watch_numpy() -> None:
    """From now on, what NumPy makes inside of a trace are arrays that can hold Values: see buffers.py."""
    if "numpy" in sys.modules and "micrograd.values.buffers" not in sys.modules:
        with suppress(ImportError, AttributeError):  # NumPy is being imported
            importlib.import_module("micrograd.values.buffers")


_looked = threading.local()  # by thread: how many functions of SciPy's took Values when it looked last


def _watched() -> int:
    """How many functions of SciPy's take Values by now."""
    found = sys.modules.get("micrograd.solvers.of_scipy")
    return 0 if found is None else int(found.watched)


def newly_watched(before: int | None = None) -> bool:
    """Let functions of SciPy's take Values (solvers/of_scipy.py); whether there are more than before, or than it knew."""
    if "scipy" not in sys.modules:
        return False
    importlib.import_module("micrograd.solvers.of_scipy").watch()
    now, known = _watched(), getattr(_looked, "count", 0) if before is None else before
    _looked.count = now
    return now > known


def run(
    f: Any, shape: Shape, values: list[Any], frozen: bool, has_aux: bool = False, origins: Sequence[Any] | None = None,
) -> Run:  # fmt: skip
    """Run f on Values of these numbers, as `trace` does; once more where SciPy's functions have failed and take Values now."""
    _watch_numpy()
    before = _watched()
    try:
        return _run(f, shape, values, frozen, has_aux, origins)
    except Exception as error:
        if not newly_watched(before):  # an inner trace, or another thread, may have found them
            plain = (
                None if _is_inside() else _raised_by_numbers(f, shape, values if origins is None else origins, error)
            )
            if plain is None:
                raise
            raise plain from None
    return _run(f, shape, values, frozen, has_aux, origins)


def _run(
    f: Any, shape: Shape, values: list[Any], frozen: bool, has_aux: bool = False, origins: Sequence[Any] | None = None,
) -> Run:  # fmt: skip
    serial, before_it = next_trace(), _watched()
    texts: list[str] = []  # what was made of Values in strings
    refused: list[TraceError] = []  # an `except` of the user's may have caught it
    outer_watch = observed.set_watch(None, None)
    outer = outer_watch[0]
    watched = frozen or (outer is not None and not outer_watch[2])  # whether anybody needs to know what is decided

    ended = False

    def refuse(how: str) -> NoReturn:
        refused.append(refusal(how, f))
        raise refused[-1]

    def watcher(how: str, v: Value, other: Any, result: Any) -> Any:
        guards, lines = made.guards, made.lines
        if how in arithmetic.RAISING or how in arithmetic.FUNCTIONS:
            if arithmetic.caught(_run.__code__, how):
                if watched:
                    guards.extend(decided := arithmetic.facts(how, v, other))
                    lines.extend([user_line()] * len(decided))
                error = arithmetic.error(how, v, other)
                if error is not None:
                    raise error
        elif result is not None:
            if watched:
                guards.append((how, v, other, result))
                lines.append(user_line())
        elif (how in WHOLE or (how == DIGITS and decimals.is_exact(other))) and watched:
            # A whole number that leaves the graph decides as a comparison does: the tape holds for that number alone.
            # There is none for nan and ±inf, and Python raises an error: of a nan, the tape then holds for nan alone.
            rounded = engine.apply(OPS[WHOLE[how]], v) if how in WHOLE else decimals.rounded(v, other)
            nan = rounded._data != rounded._data
            found = [("eq", rounded, rounded if nan else rounded._data, not nan)]
            if how == DIGITS and rounded._data == 0.0:  # there is also -0.0, which compares equal
                sign = engine.apply(OPS["copysign"], 1.0, rounded)
                found.append(("eq", sign, sign._data, True))
            guards.extend(found)
            lines.extend([user_line()] * len(found))
        elif how in observed.WHOLE_ONLY:
            if (frozen or v._trace == serial) and kinds.may_be_whole(v):
                refused.append(whole_wanted(how, f, frozen))
                raise refused[-1]
            if outer is not None:
                outer(how, v, other, result)
        elif how == ALL_DIGITS:
            if not frozen and v._trace == serial:
                refused.append(digits_taken(f))
                raise refused[-1]
            if outer is not None:
                outer(how, v, other, result)
        elif how == "repr()" and frozen:  # to print a Value is harmless
            texts.append(f"Value(data={v._data!r}")
            return TracedText.of(other, lambda: other if ended else refuse(TEXT))
        elif how == "repr()":
            answer = outer(how, v, other, result) if outer is not None else None
            return text_of(v, other) if answer is None and v._trace == serial else answer
        elif frozen and not (how == "hash()" and not v._trace):  # whoever else watches
            refuse(how)
        else:
            if outer is not None:
                outer(how, v, other, result)
            mine = how == "float()" and not frozen and v._trace == serial and v._rule is not observed.STOP
            if mine and not formats_text(user_frame()):
                refused.append(number_taken(f))
                raise refused[-1]

    begun: list[int] = _begun.__dict__.setdefault("serials", [])
    before, recording = observed.set_trace(serial), observed.set_recording(True)
    _begun.frozen = _begun.__dict__.get("frozen", 0) + frozen
    try:
        if before and before not in begun:  # C has begun it
            begun[:] = [before]
        begun[:] = [*begun, serial] if before else [serial]
        inside = len(begun)
        made = Run(f, serial, frozen, origins, outermost=not before and not has_aux)
        inputs = made.inputs = [Value(float(x)) for x in values]
        if before:
            for v in inputs:
                setattr(v, "_input_of", serial)  # noqa: B010
        made.seen = kinds.begin(serial, inputs, origins)
        observed.set_watch(watcher, outer_watch[1], not watched)
        arguments = unflatten(shape, iter(inputs))
        held = [(x, _contents(x)) for x in _containers(arguments, shape)] if frozen else []
        result = f(*arguments)
    except Exception as error:
        ended = True  # its text is looked at, in which a Value may be
        if not refused:
            clearer = _clearer(f, error, frozen)
            if clearer is None:
                raise
            raise clearer from error
    finally:
        ended = True
        _begun.frozen -= frozen
        observed.set_recording(recording)  # which needs no memory; the others have switched before they fail
        try:
            observed.set_watch(*outer_watch)
        finally:
            observed.set_trace(before)
        kinds.end(serial)
    if refused:
        if newly_watched(before_it):
            return _run(f, shape, values, frozen, has_aux, origins)
        own = outer is None and _of_numbers(refused)  # the function is not run once more where it has changed a Value
        raise (_own_exception(f, shape, values if origins is None else origins) if own else None) or refused[0]
    made.inner = begun[inside:]
    made.take(result, has_aux)
    if frozen:
        _refuse_frozen(f, made.shape, texts)
        _refuse_changed(f, held)
    return made


# ---- the same where C runs the function, at one point and with nobody watching: native/eager.c


def told(run: Any, how: str, v: Any, other: Any, result: Any) -> Any:
    """Follow an exception that a plain number would raise, and refuse to give the number of a Value away."""
    if how in arithmetic.RAISING or how in arithmetic.FUNCTIONS:
        if arithmetic.caught(run.frame, how):
            error = arithmetic.error(how, v, other)
            if error is not None:
                raise error
    elif result is None and how in observed.DIFFERENCES and v._trace == run.serial:
        if how == "repr()":
            return text_of(v, other)
        if how == ALL_DIGITS:
            refused = digits_taken(run.f)
        elif how in observed.WHOLE_ONLY:
            if not kinds.may_be_whole(v):
                return None
            refused = whole_wanted(how, run.f, False)
        elif v._rule is observed.STOP or formats_text(user_frame()):
            return None
        else:
            refused = number_taken(run.f)
        run.refused = [*(run.refused or ()), refused]
        raise refused
    return None


def ended(run: Any, result: Any, has_aux: bool) -> Run:
    """Return what a run by C has left, for what only Python can do with it."""
    made = Run(run.f, run.serial, False, run.origins, outermost=True)
    made.inputs = run.inputs
    made.seen = kinds.Kinds(made.inputs, made.origins) if run.kinds is None else run.kinds
    begun: list[int] = _begun.__dict__.get("serials", [])
    made.inner = begun[begun.index(run.serial) + 1 :] if run.serial in begun else []
    made.take(result, has_aux)
    return made


def failure(f: Any, run: Any, shape: Shape, error: Exception | None) -> Exception | None:
    """Return the exception to raise after such a run of f; None for the one that f has raised."""
    if run.refused:
        own = _own_exception(f, shape, run.origins or peek(run.inputs)) if _of_numbers(run.refused) else None
        return own or run.refused[0]  # type: ignore[no-any-return]
    if error is None:
        return None
    clearer = _clearer(f, error, False)
    if clearer is not None:
        clearer.__cause__ = error
        return clearer
    plain = _raised_by_numbers(f, shape, run.origins, error)
    if plain is not None:
        plain.__suppress_context__ = True
    return plain


# A result that is not a number is kept as it was in the traced run, so it must be of a type that holds no computed numbers.
CONSTANTS = (bool, str, bytes, Number, type, Enum, range, type(None), type(...))


def _refuse_frozen(f: Any, shape: Shape, texts: list[str]) -> None:
    for x in fixed_parts(shape):
        if isinstance(x, str) and any(text in x for text in texts):
            raise TraceError(
                f"{name_of(f)} returns a text with the number of a Value in it, so it cannot be compiled\n"
                "  It is traced and then replayed, so later calls would return the text of the traced run.\n"
                "  Return the number, and build the text from it outside."
            )
        if not isinstance(x, CONSTANTS) and not is_numpy_scalar(x):
            raise TraceError(
                f"{name_of(f)} returns a {type(x).__name__}, so it cannot be compiled\n"
                "  It is traced and then replayed, so later calls would return this object with its first numbers.\n"
                "  Return numbers in lists, tuples, dicts, dataclasses or NumPy arrays, and build the object outside."
            )


def _containers(x: Any, shape: Shape) -> Iterator[Any]:
    """The lists, dicts, arrays and objects that a function gets as its arguments."""
    if shape[0] in ("list", "dict", "array", "object"):
        yield x
    if shape[0] in ("list", "tuple", "named", "dict", "object"):
        items = x.values() if shape[0] == "dict" else _attributes(x, shape) if shape[0] == "object" else x
        for item, part in zip(items, shape[-1]):
            yield from _containers(item, part)


def _attributes(x: Any, shape: Shape) -> list[Any]:
    return [getattr(x, name) for name in shape[1].names]


def _contents(container: Any) -> list[Any]:
    if isinstance(container, dict):
        return [*container, *container.values()]
    if is_array(container):
        return list(container.flat)
    return (
        list(container) if isinstance(container, list) else [x for pair in attributes(container).items() for x in pair]
    )


def _refuse_changed(f: Any, held: list[tuple[Any, list[Any]]]) -> None:
    for container, before in held:
        after = _contents(container)
        if len(after) != len(before) or any(x is not y for x, y in zip(after, before)):
            if not isinstance(container, (list, dict)) and not is_array(container):
                old, new = dict(zip(before[::2], before[1::2])), dict(zip(after[::2], after[1::2]))
                name = next(n for n in (new | old) if old.get(n, old) is not new.get(n, new))
                raise TraceError(
                    f"`{name}` of a {type(container).__name__} is assigned inside a compiled function, {name_of(f)}\n{KEEP_OUT}"
                )
            kind = "ndarray" if is_array(container) else type(container).__name__
            raise TraceError(
                f"{name_of(f)} changes a {kind} that it gets as an argument, so it cannot be compiled\n"
                "  Machine code receives only the numbers in it, so the caller's object would not change.\n"
                "  Change a copy, and return it."
            )


def _refuse_leaked(f: Any, captured: list[Value], inner: set[int]) -> None:
    """What looks like a Value from outside and is none: it is a number by now, not a part of this trace."""
    for v in captured:
        if v._trace == ELSEWHERE:
            raise TraceError(
                f"{name_of(f)} uses a Value ({v._op}) that another thread has made from its arguments\n"
                "  A trace sees the thread that it runs in, so this one is only a number here, and has no derivative.\n"
                "  Compute it in the same thread; vmap(f) runs the rows of arrays on all cores."
            )
    for v in captured if inner else ():
        if v._trace in inner and (v._prev or hasattr(v, "_input_of")):
            raise TraceError(
                f"{name_of(f)} uses a Value ({v._op or 'an argument'}) that was kept by a function given to grad or the like\n"
                "  That function was run on Values of its own, so this one is only a number here, and has no derivative.\n"
                "  Return it from there: grad(f, has_aux=True) passes on what f returns beside its result."
            )


def _mark_leaked(f: Any, inputs: list[Value], origins: Sequence[Any]) -> None:
    """Let backward() refuse to end at an input that f has kept, if that stands for a Value outside, which would get nothing."""
    for k, x in enumerate(origins):
        if isinstance(x, Value) and sys.getrefcount(inputs[k]) > 2:
            inputs[k]._backward = partial(_refuse_to_end, name_of(f))  # type: ignore[method-assign]


def _refuse_to_end(name: str) -> None:
    raise TraceError(
        f"backward() reaches a Value that {name} was run on and has kept, inside grad or the like\n"
        "  It stands for the argument there, but is not connected with it, so its gradient would be lost.\n"
        "  Return it from there: grad(f, has_aux=True) passes on what f returns beside its result."
    )


def _write_down(
    f: Any, inputs: list[Value], results: list[Any], guards: list[Any], lines: list[str], shape: Shape, serial: int
) -> Trace:
    operands = [*results, *(x for _, a, b, _ in guards for x in (a, b))]
    found = linearize(operands, inputs, serial, SOURCES)
    if len(found) == 1:
        raise TraceError(
            f"a hand-written _backward ({found[0]._op or 'unnamed'}) inside a compiled function, "
            f"{name_of(f)}\n"
            "  Its rule is a Python closure, which cannot be compiled.\n"
            "  Declare the op with @primitive(partial, ...): value and partials written with operators and micrograd.math."
        )
    ops, args, captured, on_tape = found
    pairs = iter(on_tape[len(results) :])
    seen: dict[Guard, str] = {}
    for (how, _, _, went), line in zip(guards, lines):
        seen.setdefault((how, next(pairs), next(pairs), went), line)
    decided = [g for g in seen if not (ops[g[1]] is CONST and ops[g[2]] is CONST)]
    tape = Tape(len(inputs), len(captured), tuple(ops), tuple(args), tuple(on_tape[: len(results)]), tuple(decided))
    found_trace = Trace(tape, captured, shape)
    found_trace.numbers, found_trace.lines = peek(results), [seen[g] for g in decided]
    return found_trace


INTEGER_WANTED = dict.fromkeys(
    ("cannot be interpreted as an integer", "indices must be integers", "must be an integer"),
    "a whole number wanted, and a Value found",
) | {f"one real number (int, float or NumPy scalar), not {kind}: ": f"a {kind} and a Value in one operation"
     for kind in ("list", "tuple", "str", "bytes")}  # fmt: skip


def _of_numbers(refused: Sequence[TraceError]) -> bool:
    return all(error.of_number for error in refused)


def _own_exception(f: Any, shape: Shape, given: Sequence[Any]) -> Exception | None:
    """The exception that f raises for the numbers themselves; None without one.

    A TypeError may be caused by Values that the function has from outside; and a number has no attributes of a Value.
    """
    if any(isinstance(x, Value) for x in given):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run_on_numbers(f, unflatten(shape, iter(given)))
            return None
        except Exception as error:
            # Where an attribute is assigned, the error does not say of what.
            asked = isinstance(error, AttributeError) and isinstance(error.obj, (int, float, type(None)))
            return None if asked or isinstance(error, (TraceError, TypeError)) else error


def _raised_by_numbers(f: Any, shape: Shape, given: Sequence[Any], error: Exception) -> Exception | None:
    """The exception that f raises for the numbers themselves, where that of a run on Values shows a Value; else None."""
    shown = [*error.args, *vars(error).values()]
    if not any(isinstance(x, Value) or (isinstance(x, str) and "Value(data=" in str.__str__(x)) for x in shown):
        return None
    plain = _own_exception(f, shape, given)
    return plain if type(plain) is type(error) else None


def _clearer(f: Any, error: Exception, frozen: bool) -> Exception | None:
    """The exception to raise in place of one that a Value has caused; None where that says all."""
    message = numbers_only(error)
    if message is not None:
        return TypeError(message.format(line_of(error)))
    if not isinstance(error, TypeError):
        return None
    text = str(error)
    _, names_class, found = text.rpartition(", not ")
    if "'str' object" in text or (names_class and found in ("tuple", "str", "list", "dict", "NoneType")):
        text = ""  # it is not about a Value
    fact = next((fact for sign, fact in INTEGER_WANTED.items() if frozen and sign in text), None)
    if fact is not None:
        return _wants_integer(f, fact, error)
    fact = next((fact for sign, fact in EXACT_WANTED.items() if sign in text), None)
    if fact is not None:
        return TypeError(
            f"{fact}, at {line_of(error)}: {error}\n"
            "  A fraction is made of whole numbers, so the derivative would be lost.\n"
            "  Compute with the number itself: sum(xs) / len(xs), statistics.fmean(xs), micrograd.math.fsum(xs)."
        )
    fact, _, way_out = str(error).partition("\n")
    if fact.endswith(NO_ROW):  # a function of NumPy's (arrays.py)
        return TypeError(f"{fact}, at {line_of(error)}\n{way_out}")
    return None


EXACT_WANTED = {
    "to numerator/denominator": "statistics computes with exact fractions, which hold no Value",
    "should be a string or a Rational": "Fraction(x) of a Value",
}


def run_on_numbers(f: Any, given: Sequence[Any]) -> Any:
    """What a function returns for numbers. Compiled functions that it calls are run as they are written."""
    with observed.no_grad():
        watch = observed.set_watch(None, None)
        before = observed.set_trace(
            ON_NUMBERS
        )  # nothing that needs memory stands between these two and their `finally`
        try:
            return f(*given)
        finally:
            try:
                observed.set_watch(*watch)
            finally:
                observed.set_trace(before)


def _wants_integer(f: Any, fact: str, error: TypeError) -> TraceError:
    """The error for range(x), items[x] and [0.0] * x."""
    return TraceError(
        f"{fact}, inside a compiled function, at {line_of(error)}: {error}\n"
        f"  In {name_of(f)}, numbers among the arguments are Values, so that one tape serves all of them.\n"
        "  Say which argument is a count or an index: jit(f, static_argnums=...) compiles once for each of its values, "
        "and so does vmap of that."
    )
