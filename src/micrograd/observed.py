"""What the compiler, drawings and the search for nan need to know of a running program.

Here the plain Value of engine.py becomes one that can be watched: each node is stamped with the nn module (scope) and the trace
that made it, a watcher is told of each number that leaves the graph, a maker of each new node. The C engine has the same built
in, and takes the place of both where it was built (`NATIVE` tells).
"""

from __future__ import annotations

import os
import sys
from _thread import _local
from math import inf
from sys import float_info

from micrograd import engine as plain
from micrograd.ops import OPS, Op
from micrograd.values.operand import bound, brief, has_axes, no_requires_grad, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, SupportsFloat

if not hasattr(plain, "no_grad"):  # the original micrograd, installed beside, has overwritten engine.py
    from micrograd import install

    raise ImportError(install.original_beside() or f"{plain.__file__} belongs to another package")

ELSEWHERE = 65535  # in place of a trace: made by another thread, from what belongs to one
MAX_SCOPE = (1 << 22) - 1  # a node of the C engine has 22 bits for it


class _State(_local):
    """What the current thread is watched by."""

    scope = 0  # which nn module is running: each new node is stamped with it, for drawings
    trace = 0  # which trace is running: a node with another number was made outside of it
    watcher: Callable[..., Any] | None = None  # told of numbers that leave the graph, while a function is traced
    only_differences = False  # the watcher is told only of what Values do in another way than plain numbers
    maker: Callable[[Value], None] | None = None  # told of each new node, while anomalies are looked for


state = _State()
tracing = 0  # how many threads are inside a trace
UNWATCHED = {"data": "_data", "grad": "_grad", "_prev": "_inputs"}  # the attributes of engine.py, under a second name
_data, _grad, _inputs = [vars(plain.Value)[name] for name in UNWATCHED]
_class: Any = vars(object)["__class__"]
_mul, _rmul, _pow = [vars(plain.Value)[f"__{name}__"] for name in ("mul", "rmul", "pow")]
_class_of: Callable[[Any], Any] | None = None  # told which class a Value of a trace stands for: tape/kinds.py


WHOLE_ONLY = ("index()", "~", "&", "|", "^", "<<", ">>")  # what only whole numbers do: a Value has no answer
DIFFERENCES = {"float()", "all digits", "repr()", *WHOLE_ONLY}


def _tell(how: str, v: Any, other: Any = None, result: Any = None) -> Any:
    if state.watcher is None or (state.only_differences and how not in DIFFERENCES):
        return None
    return state.watcher(how, v, other, result)


def _unwatched(function: Any) -> Any:
    """Return a function of engine.py that reads and writes the attributes under their second names.

    Users read and write `data` and `grad` through properties, which tell the watcher and check what is assigned. The engine's
    own code needs neither, and would take three times as long with them, so its functions are copied with the names exchanged.
    """
    copy = type(function)  # types.FunctionType, without the import
    return copy(_rename(function.__code__), function.__globals__, function.__name__, function.__defaults__)


def _rename(code: Any) -> Any:
    inner = [_rename(x) if isinstance(x, type(code)) else x for x in code.co_consts]  # the code of comprehensions
    return code.replace(co_names=tuple([UNWATCHED.get(n, n) for n in code.co_names]), co_consts=tuple(inner))


class Value(plain.Value):
    """A scalar, its gradient, and the op and inputs that made it."""

    __slots__ = ("_scope", "_trace")
    _data, _grad, _inputs = _data, _grad, _inputs
    _backward = _unwatched(plain.Value._backward)

    def __init__(self, data: SupportsFloat, _children: Iterable[Value] = (), _op: Any = "", label: str = "") -> None:
        self._scope, self._trace = state.scope, state.trace
        _initialise(self, data, _children, _op, label)
        if tracing and not state.trace and any(child._trace for child in self._inputs):
            self._trace = ELSEWHERE

    @property
    def data(self) -> float:  # type: ignore[override]
        """the number"""
        _tell("data", self)
        return self._data  # type: ignore[no-any-return]

    @data.setter
    def data(self, x: Any) -> None:
        _tell("data =", self)
        self._data = number(x)

    @property
    def grad(self) -> float:  # type: ignore[override]
        """d(root)/d(self), once backward() has been called on a root"""
        _tell("grad", self)
        return self._grad  # type: ignore[no-any-return]

    @grad.setter
    def grad(self, x: Any) -> None:
        _tell("grad =", self)
        self._grad = number(x)

    def _set_prev(self, inputs: Iterable[plain.Value]) -> None:
        """Other inputs than those that an op has used: a node made by hand from now on."""
        children = tuple(inputs)
        for child in children:
            if not isinstance(child, plain.Value):
                raise TypeError(f"_children are Values, not {type(child).__name__}: {brief(child)}")
        self._inputs, self._rule, self._partials = children, None, ()

    _prev = property(_inputs.__get__, _set_prev, doc="the inputs in operand order: a*a has two")

    def _get_class(self) -> Any:
        if state.trace and self._trace and _class_of is not None:
            return _class_of(self)
        return type(self)

    def _set_class(self, to: Any) -> None:
        _class.__set__(self, to)

    __class__ = property(_get_class, _set_class)  # type: ignore[assignment]

    def backward(self, gradient: float = 1.0) -> None:
        seed = number(gradient)
        _tell("backward()", self)
        _backward(self, seed)

    def zero_grad(self) -> None:
        _tell("grad =", self)
        _zero_grad(self)

    def detach(self) -> Any:
        return stop_gradient(self) if state.trace else Value(self._data)

    def _apply(self, op: Op, args: Any) -> Any:
        return apply(op, *args)

    def __repr__(self) -> str:
        text: str = _repr(self)
        answer = _tell("repr()", self, text)
        return text if answer is None else answer

    def __hash__(self) -> int:
        _tell("hash()", self)
        return object.__hash__(self)

    def __bool__(self) -> bool:
        _tell("ne", self, 0.0, self._data != 0.0)
        return bool(self._data != 0.0)

    def __float__(self) -> float:
        _tell("float()", self)
        if plain.mode.recording:
            from micrograd.values.conversion import refuse_math, refuse_unasked

            refuse_unasked(sys._getframe(1))
            refuse_math(sys._getframe(1))
        return self._data  # type: ignore[no-any-return]

    # ---- what only whole numbers do: a trace is told before Python says so, since the function may catch that error

    def __index__(self) -> int:
        _tell("index()", self)
        raise TypeError(f"'{_class_name(self)}' object cannot be interpreted as an integer")

    def __invert__(self) -> int:
        _tell("~", self)
        raise TypeError(f"bad operand type for unary ~: '{_class_name(self)}'")

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            _tell("index()", self)
        return _pow(self, other, modulus)

    def __mul__(self, other: Any) -> Any:
        try:
            return _mul(self, other)
        except TypeError:
            if hasattr(other, "__len__"):  # a list that is to be repeated
                _tell("index()", self)
            raise

    def __rmul__(self, other: Any) -> Any:
        try:
            return _rmul(self, other)
        except TypeError:
            if hasattr(other, "__len__"):
                _tell("index()", self)
            raise

    # ---- copies carry the graph (graph.py: iterative, so a deep one is no matter)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        from micrograd.graph import reduce

        return reduce(self)

    def __copy__(self) -> Any:
        from micrograd.graph import copy

        return copy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        from micrograd.graph import deepcopy

        return deepcopy(self, memo)


_initialise = _unwatched(plain.Value.__init__)
_backward = _unwatched(plain.Value.backward)
_zero_grad = _unwatched(plain.Value.zero_grad)
_repr = _unwatched(plain.Value.__repr__)
_plain_apply = plain.apply
_node = _unwatched(plain.node)
_apply = _unwatched(plain.apply)


def apply(op: Op, *args: Any) -> Any:
    """Run one op. Numbers alone give a number; with a Value among the inputs the result is a Value, a new node."""
    out = _apply(op, *args)
    if plain.mode.recording or state.trace in (0, ELSEWHERE - 1) or not isinstance(out, Value):
        return out
    return node(out._data, STOP, [Value(out._data)], [None])  # a number of this trace, and not a Value from outside


ALL_DIGITS = 2.0**52  # from here on, an int of a number is the number itself, and its slope would be lost


def _leaving(how: str, method: str) -> Callable[..., Any]:
    whole = method in ("__int__", "__floor__", "__ceil__", "__trunc__")

    def leave(self: Value, *args: Any) -> Any:
        if whole:
            _tell_digits(self)
        _tell(how, self)
        return getattr(self._data, method)(*args)

    return leave


def _comparison(name: str) -> Callable[[Value, Any], Any]:
    def compare(self: Value, other: Any) -> Any:
        if has_axes(other):
            return NotImplemented
        b = other if isinstance(other, Value) else bound(name, other)
        if b is None:
            return NotImplemented
        result = bool(OPS[name].value(self._data, b._data if isinstance(b, Value) else b))
        _tell(name, self, b, result)
        return result

    return compare


def _tell_digits(self: Value) -> None:
    if ALL_DIGITS <= abs(self._data) < inf:
        _tell("all digits", self)


def _round(self: Value, digits: Any = None) -> Any:
    if digits is None:
        _tell_digits(self)
    _tell("round()" if digits is None else "round() to digits", self, digits)
    return self._data.__round__(digits)


def _of_whole_numbers(how: str) -> Callable[[Value, Any], Any]:
    def refuse(self: Value, other: Any) -> Any:
        _tell(how, self)
        return NotImplemented

    return refuse


def _class_name(v: Value) -> str:
    cls = type(v)
    return f"{cls.__module__}.{cls.__qualname__}" if cls is Value else cls.__name__


setattr(Value, "__round__", _round)  # noqa: B010
setattr(Value, "__int__", _leaving("int()", "__int__"))  # noqa: B010
for _how in ("floor", "ceil", "trunc"):
    setattr(Value, f"__{_how}__", _leaving(f"math.{_how}()", f"__{_how}__"))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Value, f"__{_name}__", _comparison(_name))
for _how, _name_of in zip(WHOLE_ONLY[2:], ("and", "or", "xor", "lshift", "rshift"), strict=True):
    setattr(Value, f"__{_name_of}__", _of_whole_numbers(_how))
    setattr(Value, f"__r{_name_of}__", _of_whole_numbers(_how))
_format = _leaving("format()", "__format__")


def _formatted(self: Value, spec: str) -> str:
    if not spec:
        return str(self)
    precision = spec.rpartition(".")[2] if "." in spec else ""
    digits = precision[: len(precision) - len(precision.lstrip("0123456789"))]
    if digits and int(digits) >= float_info.dig:  # whoever reads the text has all of the number but the slope
        _tell("all digits", self)
    return _format(self, spec)  # type: ignore[no-any-return]


setattr(Value, "__format__", _formatted)  # noqa: B010
Value.__module__ = "micrograd.engine"


def node(y: float, op: Op, inputs: Iterable[Value], slopes: Iterable[Any]) -> Any:
    """Make a node of which value and partials are known."""
    out: Any = _node(y, op, inputs, slopes)
    if state.maker is not None:
        state.maker(out)
    return out


STOP = Op("stop_gradient", lambda x: x, [lambda x, y: 0.0])  # the sweeps of tapes end at it


def stop_gradient(v: Any) -> Any:
    """What detach() is inside a trace: a node of its own, so that the number is computed again in every replay."""
    return apply(STOP, v)


def set_scope(scope: int) -> int:
    """Stamp the nodes that this thread makes from now on; returns what the stamp was."""
    if not 0 <= scope <= MAX_SCOPE:
        raise OverflowError(f"a scope is a number up to {MAX_SCOPE}")
    before, state.scope = state.scope, scope
    return before


def set_trace(trace: int) -> int:
    """Number the nodes that this thread makes from now on; returns what the number was."""
    global tracing
    if not 0 <= trace < ELSEWHERE:
        raise OverflowError(f"a trace is a number below {ELSEWHERE}")
    before, state.trace = state.trace, trace
    tracing += bool(trace) - bool(before)
    return before


def set_watch(watcher: Any, maker: Any, only_differences: bool = False) -> tuple[Any, Any, bool]:
    """Call watcher(how, value, other, result) when a number leaves the graph, maker(node) for each new node.

    With only_differences, the watcher is told only of what Values do in another way than plain numbers: of float(), and of
    operators that raise an exception for plain numbers.
    """
    before = state.watcher, state.maker, state.only_differences
    state.watcher, state.maker, state.only_differences = watcher, maker, bool(only_differences)
    return before


def set_class_of(function: Callable[[Any], Any]) -> None:
    """Let function(value) answer for `value.__class__` inside a trace."""
    global _class_of
    _class_of = function


def zero_grads(values: list[Any]) -> None:
    """Set `.grad` of each to zero."""
    for v in values[:1]:
        _tell("grad =", v)
    for v in values:
        v._grad = 0.0


def take_values(holder: Any, into: list[Any]) -> bool:
    """Append the Values that a list holds, or the public attributes in a `__dict__` and the lists among them.

    Numbers and strings are passed over. Where there is anything else, nothing is appended, and the answer is False.
    """
    attributes = type(holder) is dict
    found: list[Any] = []
    for x in [x for name, x in holder.items() if name[:1] != "_"] if attributes else holder:
        if isinstance(x, plain.Value):
            found.append(x)
        elif x is None or isinstance(x, (float, int, str)):
            continue
        elif not (attributes and type(x) in (list, tuple) and take_values(x, found)):
            return False
    into += found
    return True


def unique_leaves(values: list[Any]) -> list[Any]:
    """Those that no op has made, each once."""
    return list({id(v): v for v in values if not v._prev}.values())


def attributes(v: Any) -> dict[str, Any]:
    """What somebody has set on a Value: label, a _backward of its own ... as a dict of its own."""
    return dict(vars(v))


def scopes_in_use() -> set[int]:
    """The scopes of all Values that there are."""
    import gc

    # By type(), since isinstance() also asks an object for its __class__, and a stranger's proxy may do anything then.
    return {v._scope for v in gc.get_objects() if issubclass(type(v), Value)}


set_recording = plain.set_recording


def is_recording() -> bool:
    """Whether this thread records nodes."""
    return plain.mode.recording


class no_grad(plain.no_grad):
    """Record nothing: `with no_grad():` for a block, `@no_grad()` for a function. Results are leaves.

    >>> from micrograd import Value, no_grad
    >>> x = Value(3.0)
    >>> with no_grad():
    ...     y = x * x
    >>> y.data, y._prev
    (9.0, ())
    """

    def __enter__(self) -> None:
        _tell("no_grad()", None)  # a trace takes its tape from the nodes that are recorded
        super().__enter__()


def apply_primitive(op: Op, *args: Any) -> Any:
    """Run an op that the C engine has no code for: engine.py's apply, unwatched."""
    before = set_watch(None, None)
    set_watch(None, before[1])
    try:
        return _plain_apply(op, *args)
    finally:
        set_watch(*before)


# ---- the C twin takes over, where it was built

NATIVE = False
if not TYPE_CHECKING and os.environ.get("MICROGRAD_PURE", "0") in ("", "0"):
    try:
        from micrograd._engine import Value, apply, attributes, node  # noqa: F401, I001
        from micrograd._engine import NoGrad, is_recording, scopes_in_use, set_class_of, set_recording, set_scope  # noqa: F401
        from micrograd._engine import set_trace, set_watch, take_values, unique_leaves, zero_grads  # noqa: F401

        NATIVE = True

        class no_grad(NoGrad):
            __doc__, __call__ = no_grad.__doc__, plain.no_grad.__call__

        import gc

        from micrograd._engine import after_collection

        if after_collection not in gc.callbacks:  # gc.collect() gives the memory of nodes back that are not in use
            gc.callbacks.append(after_collection)
        native = os.path.join(os.path.dirname(__file__), "native")  # in a clone: an installed package has no C files
        built = os.stat(after_collection.__self__.__file__).st_mtime if os.path.isdir(native) else 0.0
        if built and any(file.stat().st_mtime > built for file in os.scandir(native)):
            import warnings

            from micrograd import install
            from micrograd.values.callsite import user_depth

            if told := install.old_engine(native, built):
                warnings.warn(told, RuntimeWarning, stacklevel=user_depth())
    except ImportError as reason:
        if os.environ.get("MICROGRAD_REQUIRE_NATIVE", "0") not in ("", "0"):
            raise
        import sys

        if sys.platform != "emscripten":  # Pyodide has no C engine to install
            import warnings

            from micrograd import install
            from micrograd.values.callsite import user_depth

            warnings.warn(
                f"micrograd runs its Python engine, which gives the same results many times slower: {reason}. "
                f"{install.native_way_out(str(reason))} (or set MICROGRAD_PURE=1 to choose this engine silently)",
                RuntimeWarning,
                stacklevel=user_depth(),
            )

setattr(Value, "requires_grad", property(no_requires_grad, no_requires_grad))  # noqa: B010
