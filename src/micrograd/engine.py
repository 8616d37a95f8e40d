"""Value: a number that remembers how it was made, and can tell every input how much it mattered.

This is the whole engine, in plain Python. `native/engine.c` is its twin: the same class, the same results to the last bit,
many times faster; at the foot of this file it takes this one's place where it was built (`NATIVE` tells).
Set MICROGRAD_PURE=1 to run the code that you read here.
"""

from __future__ import annotations

import os
from _thread import _local

from micrograd.ops import OPS, Op, partials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["NATIVE", "Value", "apply", "no_grad"]


class _Mode(_local):
    """What the current thread is doing."""

    recording = True  # False inside no_grad
    scope = 0  # which nn module is running: each new node is stamped with it, for drawings
    trace = 0  # which trace is running: a node with another number was made outside of it
    watcher: Callable[..., None] | None = None  # told of numbers that leave the graph, while a function is traced
    maker: Callable[[Value], None] | None = None  # told of each new node, while anomalies are looked for


mode = _Mode()
tracing = 0  # how many threads are inside a trace
ELSEWHERE = 65535  # in place of a trace: made by another thread, from what belongs to one


def number(x: Any) -> float:
    """Take a real number as a float; anything else is a TypeError."""
    if isinstance(x, (float, int)):
        return float(x)
    from numbers import Real  # NumPy's scalars and fractions are Real; arrays, strings and complex numbers are not

    if isinstance(x, Real):
        return float(x)
    raise TypeError(f"a Value holds one real number (int, float or NumPy scalar), not {type(x).__name__}: {_brief(x)}")


def _brief(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


class Value:
    """A scalar, its gradient, and the op and inputs that made it."""

    __slots__ = ("_data", "_grad", "_op", "_rule", "_prev", "_partials", "_scope", "_trace", "__dict__")
    __array_ufunc__ = None  # NumPy leaves `np.float64(2) * Value(3)` to us
    label = ""

    def __init__(self, data: Any, _children: Sequence[Value] = (), _op: str = "", label: str = "") -> None:
        self._data: float = number(data)
        self._grad: float = 0.0
        self._prev: tuple[Value, ...] = tuple(_children)  # the inputs in operand order: a*a has two
        self._op: str = _op  # the op that made this node, as it is written
        self._rule: Op | None = None  # its row of the table; none for a leaf and for a node made by hand
        self._partials: tuple[float | None, ...] = ()  # d(self)/d(input), one per input; None for a plain number
        self._scope: int = mode.scope
        self._trace: int = mode.trace
        if label:
            self.label = label
        for child in self._prev:
            if not isinstance(child, Value):
                raise TypeError(f"_children are Values, not {type(child).__name__}: {_brief(child)}")
            if tracing and child._trace and not mode.trace:
                self._trace = ELSEWHERE

    @property
    def data(self) -> float:
        """the number"""
        return _leave("data", self)

    @data.setter
    def data(self, x: float) -> None:
        _leave("data =", self)
        self._data = number(x)

    @property
    def grad(self) -> float:
        """d(root)/d(self), once backward() has been called on a root"""
        _leave("grad", self)
        return self._grad

    @grad.setter
    def grad(self, x: float) -> None:
        _leave("grad =", self)
        self._grad = number(x)

    def _backward(self) -> None:
        """Push this node's gradient into its inputs. Assign a function here to write an op of your own."""
        for v, partial in zip(self._prev, self._partials, strict=False):
            if partial is not None:
                v._grad += partial * self._grad

    def backward(self, gradient: float = 1.0) -> None:
        """Fill in `.grad` of every node that this one was made from.

        Leaves accumulate over calls; the nodes in between hold the gradient of this call.
        """
        seed = number(gradient)
        _leave("backward()", self)
        order = topological(self)
        before = [(v, v._grad) for v in order if not v._prev]
        for v in order:
            v._grad = 0.0
        self._grad = seed
        try:
            for v in reversed(order):
                v._backward()
        finally:
            for leaf, grad in before:  # in one addition, so that a second call doubles it exactly
                leaf._grad += grad

    def zero_grad(self) -> None:
        """Set `.grad` to zero in the whole graph behind this node."""
        _leave("grad =", self)
        for v in topological(self):
            v._grad = 0.0

    def detach(self) -> Value:
        """A leaf with the same data: no gradient passes through it."""
        return Value(_leave("detach()", self))

    def _apply(self, op: Op, args: Any) -> Any:
        return apply(op, *args)

    def __repr__(self) -> str:
        _leave("repr()", self)
        label = f", label={self.label!r}" if self.label else ""
        return f"Value(data={self._data!r}, grad={self._grad!r}{label})"

    def __format__(self, spec: str) -> str:
        return format(_leave("format()", self), spec) if spec else str(self)

    # ---- arithmetic: each operator is a row of the table

    def __add__(self, other: Any) -> Value:
        return _operator("add", self, other)

    def __radd__(self, other: Any) -> Value:
        return _operator("add", other, self)

    def __sub__(self, other: Any) -> Value:
        return _operator("sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return _operator("sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return _operator("mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return _operator("mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return _operator("div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return _operator("div", other, self)

    def __floordiv__(self, other: Any) -> Value:
        return _operator("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Value:
        return _operator("floordiv", other, self)

    def __mod__(self, other: Any) -> Value:
        return _operator("mod", self, other)

    def __rmod__(self, other: Any) -> Value:
        return _operator("mod", other, self)

    def __divmod__(self, other: Any) -> tuple[Value, Value]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Value, Value]:
        return other // self, other % self

    def __pow__(self, other: Any, modulus: None = None) -> Value:
        if modulus is not None:
            raise TypeError("pow() of a Value takes no modulus")
        return _operator("pow", self, other)

    def __rpow__(self, other: Any, modulus: None = None) -> Value:
        return _operator("pow", other, self)

    def __neg__(self) -> Value:
        return _unary("neg", self)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return _unary("abs", self)

    # ---- numbers that leave the graph: comparisons, float(), int(), round() ...

    def __lt__(self, other: Any) -> bool:
        return _compare("lt", self, other)

    def __le__(self, other: Any) -> bool:
        return _compare("le", self, other)

    def __gt__(self, other: Any) -> bool:
        return _compare("gt", self, other)

    def __ge__(self, other: Any) -> bool:
        return _compare("ge", self, other)

    def __eq__(self, other: object) -> bool:
        return _compare("eq", self, other)

    def __ne__(self, other: object) -> bool:
        return _compare("ne", self, other)

    def __hash__(self) -> int:  # by identity: two Values of equal data are two keys
        _leave("hash()", self)
        return object.__hash__(self)

    def __bool__(self) -> bool:
        return _compare("ne", self, 0.0)

    def __float__(self) -> float:
        return _leave("float()", self)

    def __int__(self) -> int:
        return int(_leave("int()", self))

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(_leave("round()", self), ndigits)

    def __floor__(self) -> int:
        return _leave("math.floor()", self).__floor__()

    def __ceil__(self) -> int:
        return _leave("math.ceil()", self).__ceil__()

    def __trunc__(self) -> int:
        return _leave("math.trunc()", self).__trunc__()

    # ---- copies carry the graph (graph.py: iterative, so a deep one is no matter)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        from micrograd.graph import reduce

        return reduce(self)

    def __copy__(self) -> Value:
        from micrograd.graph import copy

        return copy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Value:
        from micrograd.graph import deepcopy

        return deepcopy(self, memo)

    if TYPE_CHECKING:  # the table's functions are methods too: they are added below, from the table

        def exp(self) -> Value: ...
        def expm1(self) -> Value: ...
        def log(self) -> Value: ...
        def log1p(self) -> Value: ...
        def log2(self) -> Value: ...
        def log10(self) -> Value: ...
        def sqrt(self) -> Value: ...
        def cbrt(self) -> Value: ...
        def sin(self) -> Value: ...
        def cos(self) -> Value: ...
        def tan(self) -> Value: ...
        def asin(self) -> Value: ...
        def acos(self) -> Value: ...
        def atan(self) -> Value: ...
        def sinh(self) -> Value: ...
        def cosh(self) -> Value: ...
        def tanh(self) -> Value: ...
        def asinh(self) -> Value: ...
        def acosh(self) -> Value: ...
        def atanh(self) -> Value: ...
        def erf(self) -> Value: ...
        def erfc(self) -> Value: ...
        def sigmoid(self) -> Value: ...
        def relu(self) -> Value: ...
        def leaky_relu(self, slope: Any = 0.01) -> Value: ...
        def elu(self, alpha: Any = 1.0) -> Value: ...
        def softplus(self) -> Value: ...
        def silu(self) -> Value: ...
        def gelu(self) -> Value: ...
        def floor(self) -> Value: ...
        def ceil(self) -> Value: ...
        def round(self) -> Value: ...
        def sign(self) -> Value: ...
        def neg(self) -> Value: ...
        def abs(self) -> Value: ...
        def min(self, other: Any) -> Value: ...
        def max(self, other: Any) -> Value: ...
        def atan2(self, other: Any) -> Value: ...
        def hypot(self, other: Any) -> Value: ...


def topological(root: Value) -> list[Value]:
    """Every node behind root once, inputs before what is made from them: the order of a depth-first visit."""
    order: list[Value] = []
    seen = set()
    stack: list[tuple[Value, bool]] = [(root, False)]
    while stack:
        v, inputs_done = stack.pop()
        if inputs_done:
            order.append(v)
        elif id(v) not in seen:
            seen.add(id(v))
            stack.append((v, True))
            stack.extend((child, False) for child in reversed(v._prev))
    return order


def apply(op: Op, *args: Any) -> Any:
    """Run one op. Numbers alone give a number; with a Value among the inputs the result is a Value, a new node."""
    if op.arity < 0 and len(args) != 1:
        raise TypeError(f"{op.name}() takes one list, got {len(args)} arguments")
    items = list(args[0]) if op.arity < 0 else list(args)
    if 0 <= op.arity != len(items):
        items += op.defaults[len(items) - op.arity :] if len(items) < op.arity else ()
        if len(items) != op.arity:
            raise TypeError(f"{op.name}() takes {op.arity} input{'s'[: op.arity != 1]}, got {len(args)}")
    try:
        inputs = [x if isinstance(x, Value) else number(x) for x in items]
    except TypeError:
        for x in items:
            if not isinstance(x, Value) and hasattr(x, "_apply"):  # a place on a tape: it knows what to do with an op
                return x._apply(op, (items,) if op.arity < 0 else tuple(items))
        raise
    data = [x._data if isinstance(x, Value) else x for x in inputs]
    y = op.value(data) if op.arity < 0 else op.value(*data)
    if not any(isinstance(x, Value) for x in inputs):
        return y
    if not mode.recording:
        return Value(y)
    slopes = partials(op, data, y)
    slopes = [p if isinstance(x, Value) else None for x, p in zip(inputs, slopes, strict=True)]
    return node(y, op, [x if isinstance(x, Value) else Value(x) for x in inputs], slopes)


def node(y: float, op: Op, inputs: Sequence[Value], slopes: Sequence[float | None]) -> Value:
    """Make a node of which value and partials are known."""
    given = tuple(slopes)
    out = Value(y, inputs, op.symbol)
    if len(given) != len(out._prev):
        raise ValueError("node() needs one slope for each input")
    out._rule, out._partials = op, tuple([None if p is None else number(p) for p in given])
    if mode.maker is not None:
        mode.maker(out)
    return out


def _foreign(x: Any) -> bool:
    """Whether x may know by itself what `value + x` is; plain containers and arrays do not."""
    plain = (str, bytes, list, tuple, dict, set, complex, type(None))
    return not isinstance(x, plain) and not hasattr(x, "__array__")


def _unary(name: str, a: Value) -> Value:
    out: Value = apply(OPS[name], a)
    return out


def _operator(name: str, a: Any, b: Any) -> Value:
    try:
        out: Value = apply(OPS[name], a, b)
    except TypeError:
        if _foreign(a if isinstance(b, Value) else b):
            return NotImplemented  # type: ignore[no-any-return]
        raise
    return out


def _compare(name: str, a: Value, b: Any) -> bool:
    try:
        other = b if isinstance(b, Value) else number(b)
    except TypeError:
        return NotImplemented  # type: ignore[no-any-return]
    result = bool(OPS[name].value(a._data, other._data if isinstance(other, Value) else other))
    if mode.watcher is not None:
        mode.watcher(name, a, other, result)
    return result


def _leave(how: str, v: Value) -> float:
    if mode.watcher is not None:
        mode.watcher(how, v, None, None)
    return v._data


def set_recording(on: bool) -> bool:
    """Switch the recording of nodes in this thread; returns what it was."""
    before, mode.recording = mode.recording, bool(on)
    return before


def set_scope(scope: int) -> int:
    """Stamp the nodes that this thread makes from now on; returns what the stamp was."""
    before, mode.scope = mode.scope, scope
    return before


def set_trace(trace: int) -> int:
    """Number the nodes that this thread makes from now on; returns what the number was."""
    global tracing
    before, mode.trace = mode.trace, trace
    tracing += bool(trace) - bool(before)
    return before


def set_watch(watcher: Any, maker: Any) -> tuple[Any, Any]:
    """Call watcher(how, value, other, result) when a number leaves the graph, maker(node) for each new node."""
    before = mode.watcher, mode.maker
    mode.watcher, mode.maker = watcher, maker
    return before


def zero_grads(values: list[Value]) -> None:
    """Set `.grad` of each to zero."""
    for v in values[:1]:
        _leave("grad =", v)
    for v in values:
        v._grad = 0.0


def descend(values: list[Value], lr: float, decay: float) -> None:
    """Move each against its gradient: one step of gradient descent, with weight decay."""
    for v in values[:1]:
        _leave("data =", v)
    for v in values:
        v._data -= lr * (v._grad + decay * v._data if decay else v._grad)


class no_grad:
    """Record nothing: `with no_grad():` for a block, `@no_grad()` for a function. Results are leaves."""

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        watch = set_watch(None, None)
        set_watch(*watch)
        if watch[0] is not None:  # a trace takes its tape from the nodes that are recorded
            watch[0]("no_grad()", None, None, None)
        self._before.append(set_recording(False))

    def __exit__(self, *_: object) -> None:
        set_recording(self._before.pop())

    def __call__(self, function: F) -> F:
        from functools import wraps

        @wraps(function)
        def without_grad(*args: Any, **kwargs: Any) -> Any:
            with no_grad():
                return function(*args, **kwargs)

        return without_grad  # type: ignore[return-value]


def _method(op: Op) -> Callable[..., Any]:
    def method(self: Value, *args: Any) -> Any:
        return apply(op, self, *args)

    method.__name__, method.__doc__ = op.name, f"{op.name} of this value, as a new node."
    return method


for _op in OPS.values():
    if _op.arity in (1, 2) and _op.symbol == _op.name:  # functions; the rest are operators
        setattr(Value, _op.name, _method(_op))

# ---- the C twin takes over, where it was built

NATIVE = False
if not TYPE_CHECKING and os.environ.get("MICROGRAD_PURE", "0") in ("", "0") and __name__ == "micrograd.engine":
    try:
        from micrograd._engine import Value, apply, node  # noqa: I001
        from micrograd._engine import descend, set_recording, set_scope, set_trace, set_watch, zero_grads

        NATIVE = True
    except ImportError as reason:
        if os.environ.get("MICROGRAD_REQUIRE_NATIVE", "0") not in ("", "0"):
            raise
        import warnings

        from micrograd import install

        warnings.warn(
            f"micrograd runs its Python engine, which gives the same results many times slower: {reason}. Install a C "
            f"compiler, and then: {install.native_command()} (or set MICROGRAD_PURE=1 to choose this engine silently)",
            RuntimeWarning,
            stacklevel=2,
        )
