"""What isinstance, `match` and singledispatch see of a number inside a traced function: the class of what was passed.

A traced function runs on Values in place of the numbers that it is called with. Without more ado, `isinstance(x, float)`,
`isinstance(x, numbers.Real)` and `case float():` would be false there, and the function would take another branch than it
takes for the numbers themselves. They all read `__class__`, so that is where a traced Value answers for its number:

    an argument                           the class of what was passed: float, int, numpy.float32, …
    computed from arguments and numbers   float
    computed from a Value from outside    Value, as in eager code

Code of this package is told the truth. `type(x)` cannot be answered for: a comparison of it with a class of numbers is
found in the source, and gets a warning at its line.
"""

from __future__ import annotations

import ast
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any

from micrograd import observed
from micrograd.engine import Value, apply
from micrograd.ops import OPS
from micrograd.tree import has
from micrograd.values.callsite import place, source_of, syntax_of
from micrograd.watch.code import is_foreign, names_in
from micrograd.watch.reach import Reach

PASSING_ON = {"abc", "_py_abc", "typing"}  # modules that ask on behalf of whoever called them
HONEST = {"micrograd", "copy", "copyreg", "pickle", "fractions"}  # modules that are told the truth
KEEP_INT = {"add", "sub", "mul", "neg", "abs", "floordiv", "mod", "pow", "min", "max", "sum", "prod", "where"}
NUMBERS = {"int", "float", "Real", "Number", "Integral", "Rational", "Complex"}  # classes, as they are written


class WholeNumber(float):
    """In place of a class: computed from whole numbers by what keeps them whole, if the constants in it are whole too."""


class Kinds:
    """The classes that the inputs of one trace stand for."""

    def __init__(self, inputs: list[Value], origins: Sequence[Any] | None) -> None:
        self.asked = False  # whether the class of an input has decided anything
        self.inputs, self.origins = inputs, origins
        self._known: dict[int, tuple[Value, Any]] | None = None

    @property
    def known(self) -> dict[int, tuple[Value, Any]]:
        """By identity: the Value, which must not die, and its class. Most functions ask for none."""
        if self._known is None:
            self._known = {}
            for v, x in zip(self.inputs, [0.0] * len(self.inputs) if self.origins is None else self.origins):
                self._known[id(v)] = v, x if isinstance(x, Value) else type(x)
        return self._known


class _Here(threading.local):
    def __init__(self) -> None:
        self.traces: dict[int, Kinds] = {}


_here = _Here()


def begin(serial: int, inputs: list[Value], origins: Sequence[Any] | None) -> Kinds:
    """Say what the inputs of a trace stand for; without origins they are floats."""
    found = _here.traces[serial] = Kinds(inputs, origins)
    return found


def end(serial: int) -> None:
    """Forget a trace."""
    _here.traces.pop(serial, None)


def _of(serial: int) -> Kinds | None:
    """What is known of the inputs of a trace that is under way in this thread, also of one that C has begun."""
    found = _here.traces.get(serial)
    if found is None and serial and observed.NATIVE:
        run = running(serial)
        if run is not None:
            found = run.kinds = begin(serial, run.inputs, run.origins)
    return found


def kind(v: Value) -> Any:
    """The class that a Value stands for: its own, if it is none of a trace or was computed from one that is not."""
    waiting = [v]
    while waiting:
        x = waiting[-1]
        trace = _of(x._trace)
        if trace is None or id(x) in trace.known:
            waiting.pop()
            continue
        inputs = [a for a, p in _with_partials(x) if p is not None]
        open_ones = [a for a in inputs if (of := _of(a._trace)) is not None and id(a) not in of.known]
        if open_ones:
            waiting += open_ones
            continue
        trace.known[id(x)] = x, _computed(x, [_known(a) for a in inputs])
        waiting.pop()
    return _known(v)


def _with_partials(v: Value) -> list[tuple[Value, Any]]:
    """The inputs of a node, each with its partial; a plain number among them has none."""
    return list(zip(v._prev, v._partials)) if v._partials else [(a, 0.0) for a in v._prev]


def _known(v: Value) -> Any:
    trace = _of(v._trace)
    found = type(v) if trace is None else trace.known[id(v)][1]
    if trace is not None and found is not type(v):
        trace.asked = True
    if isinstance(found, Value):  # an input that was given as a Value; in an inner trace it may stand for a number
        return kind(found)
    return found


def _computed(v: Value, kinds: list[Any]) -> Any:
    if not kinds and v._rule is observed.STOP:  # under no_grad
        return float
    if not kinds or Value in kinds or type(v) in kinds:  # made by hand, or from a Value from outside
        return type(v)
    whole = all(k is int or k is WholeNumber for k in kinds)
    return WholeNumber if whole and v._rule is not None and v._rule.name in KEEP_INT else float


def class_of(v: Value) -> type:
    """What `v.__class__` gives to whoever reads it: called by both engines while a trace is running."""
    frame: Any = sys._getframe(1)
    if _module(frame) == "micrograd" and frame.f_code.co_name == "_get_class":  # of the Python engine
        frame = frame.f_back
    while frame is not None and _module(frame) in PASSING_ON:
        frame = frame.f_back
    if frame is None or _module(frame) in HONEST:
        return type(v)
    return _told(v, frame)


def _told(v: Value, frame: Any) -> type:
    found: type = kind(v)
    if found is WholeNumber:
        warnings.warn_explicit(
            f"the class of a number that was computed from a whole number is asked for, at {place(frame, frame.f_lineno)}\n"
            "  Inside a function that is differentiated or compiled it is a float, where plain Python may have an int.\n"
            "  Pass a float, such as 3.0 for 3.",
            RuntimeWarning, frame.f_code.co_filename, frame.f_lineno,
        )  # fmt: skip
        return float
    return found


def is_instance(x: Any, classes: Any) -> bool:
    """isinstance(x, classes), as a traced function is told: for code that runs it on the function's behalf."""
    if isinstance(x, Value) and _of(x._trace) is not None and not isinstance(x, classes):
        return issubclass(class_told(x), classes)
    return isinstance(x, classes)


def class_told(x: Value) -> type:
    """x.__class__, as a traced function is told: for code that runs it on the function's behalf."""
    found: type = kind(x)
    return float if found is WholeNumber else found


def is_under_way(serial: int) -> bool:
    """Whether a trace has not ended, in this thread."""
    return _of(serial) is not None


def class_meant(v: Value) -> type | None:
    """Return the class of number that a Value stands for; None where it stands for itself, or where that is not known."""
    found = kind(v)
    unknown = any(trace.origins is None for trace in _here.traces.values())
    return None if unknown or found is WholeNumber or issubclass(found, Value) else found


def may_be_whole(v: Value) -> bool:
    """Whether a Value stands for what may be a whole number, so that it would have an answer where a Value has none.

    The classes of numbers in rows are not known: those that are whole may be ints.
    """
    found = kind(v)
    if found is type(v):
        return False
    unknown = any(trace.origins is None for trace in _here.traces.values())
    return (unknown and v._data.is_integer()) or found is WholeNumber or not issubclass(found, float)


def _module(frame: Any) -> str:
    return str(frame.f_globals.get("__name__", "")).split(".")[0]


observed.set_class_of(class_of)

# ---- float(x) of a float is that float

ASK_FOR_NUMBERS = {
    "micrograd",
    "numpy",
    "pandas",
}  # modules whose float(v) means the number (conversion.py refuses some)


def float_of(v: Value) -> Any:
    """What `float(v)` gives inside a trace: the Value itself, with slope 1; None where the number is meant.

    Code of other packages says float(x) to have a float where it was given an int, and to refuse strings.
    """
    frame: Any = sys._getframe(1)
    if not v._trace or _module(frame) in ASK_FOR_NUMBERS:  # a Value from outside is no number of the function's
        return None
    return as_float(v)


def as_float(v: Value) -> Value:
    """The same number, of the class float where it stands for an int."""
    trace = _of(v._trace)
    asked = trace is not None and trace.asked
    found = kind(v)
    if trace is not None:
        trace.asked = asked  # nothing was decided by it
    return v if found is float or found is type(v) else apply(OPS["div"], v, 1.0)


if observed.NATIVE:
    from micrograd._engine import running, set_float_of

    set_float_of(float_of)

# ---- what nothing can answer for: type(x) is float

_looked_at: dict[int, weakref.ref[CodeType]] = {}  # by identity: the hash of a code is computed again each time
_comparing: dict[int, weakref.ref[CodeType]] = {}  # those that were found to compare types, or to call code that does


def _looked_before(code: CodeType) -> bool:
    """Whether a code was looked at before; from now on it was."""
    key = id(code)
    known = _looked_at.get(key)
    if known is not None and known() is code:
        return True
    _looked_at[key] = weakref.ref(code, lambda _: _looked_at.pop(key, None))
    return False


def look_for_types(f: Any) -> None:
    """Warn, once for each function, where f or a function that it calls by name does what is different with Values.

    That is a comparison of type(x) with a class of numbers.
    """
    while isinstance(f, MethodType) or has(f, "__wrapped__"):
        f = f.__func__ if isinstance(f, MethodType) else f.__wrapped__
    code = getattr(f, "__code__", None)
    if code is None or _looked_before(code):
        return
    key = id(code)
    for g in {id(g): g for g in [f, *Reach(f).things]}.values():
        if type(g) is not FunctionType or str(g.__module__).split(".")[0] in HONEST or is_foreign(g.__module__):
            continue
        words = set(names_in(g.__code__))
        for needed, of_interest, fact, reason, way_out in SUSPECTS:
            if not words & needed:
                continue
            _looked_before(g.__code__)
            file = g.__code__.co_filename
            lines = _lines_with(g, of_interest)
            if lines is None and words & NUMBERS:  # without source: it may
                _comparing[key] = weakref.ref(code, lambda _: _comparing.pop(key, None))
            for line in lines or ():
                _comparing[key] = weakref.ref(code, lambda _: _comparing.pop(key, None))
                warnings.warn_explicit(
                    f"{fact} at {file.rsplit('/', 1)[-1]}:{line}, in {g.__qualname__}, which is differentiated or compiled\n"
                    f"  {reason}\n"
                    f"  {way_out}",
                    RuntimeWarning, file, line,
                )  # fmt: skip


def compares_types(f: Any) -> bool:
    """Whether look_for_types has found something in f, so that f may do something else with Values than with numbers."""
    while isinstance(f, MethodType) or has(f, "__wrapped__"):
        f = f.__func__ if isinstance(f, MethodType) else f.__wrapped__
    code = getattr(f, "__code__", None)
    known = _comparing.get(id(code))
    return known is not None and known() is code


def _lines_with(function: FunctionType, of_interest: Callable[[Any], bool]) -> list[int] | None:
    """The lines of a function that have a node of interest; None where its source is not available."""
    inside, waiting = set(), [function.__code__]
    while waiting:
        part = waiting.pop()
        inside |= {line for *_, line in part.co_lines()}
        waiting += [c for c in part.co_consts if isinstance(c, CodeType)]
    text = source_of(function)
    try:
        tree = syntax_of(text)
    except (SyntaxError, ValueError):
        return None
    if not text:
        return None
    return [n.lineno for n in ast.walk(tree) if of_interest(n) and n.lineno in inside]  # type: ignore[attr-defined]


def _compares_types(node: Any) -> bool:
    """Whether type(…) is compared with int, float or the like, by an operator or by issubclass."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "issubclass":
        sides = list(node.args)
    else:
        return False
    asked = [s for s in sides if isinstance(s, ast.Call) and isinstance(s.func, ast.Name) and s.func.id == "type"]
    words = [n for s in sides if s not in asked for n in ast.walk(s)]
    return bool(asked) and any(getattr(n, "id", getattr(n, "attr", "")) in NUMBERS for n in words)


# What to look for: a name in the code, the node of the source, and what is said of it.
SUSPECTS: list[tuple[set[str], Callable[[Any], bool], str, str, str]] = [
    (
        {"type"},
        _compares_types,
        "type() of a number is compared",
        "It runs on Values in place of numbers, so the comparison is false there for what is a float or an int.",
        "Write isinstance(x, float), which is true for them.",
    ),
]
