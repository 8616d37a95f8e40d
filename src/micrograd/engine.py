"""Value: a number that remembers how it was made, and can tell every input how much it mattered.

This is the whole engine, in plain Python. The package runs this class with a few hooks (observed.py), or its twin in C
(native/): the same results to the last bit, many times faster. The last lines of this file put one of them in its place;
MICROGRAD_PURE=1 chooses the code that you read here.
"""

from __future__ import annotations

from _thread import _local

from micrograd.ops import OPS, Op, partials
from micrograd.values.operand import bound, brief, foreign, has_axes, no_name, number, reflects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, SupportsFloat, TypeVar

    from micrograd.methods import Methods

    F = TypeVar("F", bound=Callable[..., Any])
else:
    Methods = object

__all__ = ["NATIVE", "Value", "apply", "no_grad"]


class _Mode(_local):
    """What the current thread is doing."""

    recording = True  # False inside no_grad


mode = _Mode()


class Value(Methods):
    """A scalar, its gradient, and the op and inputs that made it."""

    __slots__ = ("data", "grad", "_prev", "_op", "_rule", "_partials", "__dict__")
    __array_ufunc__: Any = None  # NumPy leaves `np.float64(2) * Value(3)` to us
    label = ""

    def __init__(self, data: SupportsFloat, _children: Iterable[Value] = (), _op: Any = "", label: str = "") -> None:
        if isinstance(_children, str):
            no_name(data, _children)
        self.data: float = number(data)
        self.grad: float = 0.0
        self._prev: tuple[Value, ...] = tuple(_children)  # the inputs in operand order: a*a has two
        self._op: str = _op if isinstance(_op, str) else ""  # the op that made this node, as it is written
        self._rule: Op | None = None  # its row of the table; none for a leaf and for a node made by hand
        self._partials: tuple[float | None, ...] = ()  # d(self)/d(input), one per input; None for a plain number
        for child in self._prev:
            if not isinstance(child, Value):
                raise TypeError(f"_children are Values, not {type(child).__name__}: {brief(child)}")
        if not isinstance(_op, str):  # Value(data, children, local derivatives)
            self._partials = tuple([number(p) for p in tuple(_op)])
            given, needed = len(self._partials), len(self._prev)
            if given != needed:
                raise ValueError(f"{given} local derivatives for {needed} inputs: each needs one")
        if label:
            self.label = label

    def _backward(self) -> None:
        """Push this node's gradient into its inputs. Assign a function here to write an op of your own."""
        steps = self._rule.steps if self._rule is not None else ()  # floor, x < y: nothing passes, not even 0 times inf
        for k, (v, partial) in enumerate(zip(self._prev, self._partials, strict=False)):
            if partial is not None and k not in steps:
                v.grad += partial * self.grad

    def backward(self, gradient: float = 1.0) -> None:
        """Fill in `.grad` of every node that this one was made from.

        Leaf gradients accumulate over calls; those of intermediate nodes are overwritten.
        """
        seed, order = number(gradient), topological(self)
        before, hidden = [v.grad for v in order], behind_steps(order)
        try:
            for v in order:
                v.grad = 0.0
            self.grad = seed
            for v in reversed(order):
                if not hidden or id(v) not in hidden or v.grad:  # behind a step, 0 times an infinite slope would be nan
                    v._backward()
        except BaseException:  # a hand-written _backward, or Ctrl-C: as if it had not been called
            for v, grad in zip(order, before, strict=True):
                v.grad = grad
            raise
        for v, grad in zip(order, before, strict=True):
            if not v._prev:  # in one addition, so that a second call doubles it exactly
                v.grad += grad

    def zero_grad(self) -> None:
        """Set `.grad` to zero in the whole graph behind this node."""
        for v in topological(self):
            v.grad = 0.0

    def detach(self) -> Value:
        """A leaf with the same data: no gradient passes through it."""
        return Value(self.data)

    def __repr__(self) -> str:
        label = f", label={self.label!r}" if self.label else ""
        return f"Value(data={self.data!r}, grad={self.grad!r}{label})"

    def __format__(self, spec: str) -> str:
        return format(self.data, spec) if spec else str(self)

    # ---- operators: each is a row of the table; the others, and those with the number in front, are added below

    def __add__(self, other: Any) -> Value:
        return _operator("add", self, other)

    def __sub__(self, other: Any) -> Value:
        return _operator("sub", self, other)

    def __mul__(self, other: Any) -> Value:
        return _operator("mul", self, other)

    def __truediv__(self, other: Any) -> Value:
        return _operator("div", self, other)

    def __pow__(self, other: Any, modulus: None = None) -> Value:
        if modulus is not None:
            raise TypeError("pow() of a Value takes no modulus")
        return _operator("pow", self, other)

    def __neg__(self) -> Value:
        return apply(OPS["neg"], self)  # type: ignore[no-any-return]

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return apply(OPS["abs"], self)  # type: ignore[no-any-return]

    __hash__ = object.__hash__  # by identity: two Values of equal data are two keys

    def __bool__(self) -> bool:
        return _compare("ne", self, 0.0)


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
            stack += [(child, False) for child in reversed(v._prev)]
    return order


def behind_steps(order: list[Value]) -> set[int]:
    """The ids of nodes that lie behind steps (floor, x < y) alone: no gradient of the last node reaches them."""
    hidden = {id(v) for v in order[:-1]} if any(v._rule is not None and v._rule.steps for v in order) else set()
    for v in reversed(order if hidden else []):
        if id(v) not in hidden:
            steps = v._rule.steps if v._rule is not None else ()
            hidden -= {id(u) for k, u in enumerate(v._prev) if k not in steps or has_own_backward(v)}
    return hidden


def has_own_backward(v: Value) -> bool:
    """Whether somebody has written the `_backward` of this node."""
    return "_backward" in v.__dict__ or type(v)._backward is not Value._backward


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
    is_value = [isinstance(x, Value) for x in inputs]
    data = [x.data if isinstance(x, Value) else x for x in inputs]
    y = op.value(data) if op.arity < 0 else op.value(*data)
    if True not in is_value:
        return y
    if not mode.recording:
        return Value(y)
    slopes = [p if given else None for p, given in zip(partials(op, data, y), is_value, strict=True)]
    return node(y, op, [x if isinstance(x, Value) else Value(x) for x in inputs], slopes)


def node(y: float, op: Op, inputs: Iterable[Value], slopes: Iterable[Any]) -> Value:
    """Make a node of which value and partials are known."""
    given = tuple(slopes)
    out = Value(y, inputs, op.symbol)
    out._rule, out._partials = op, tuple([p if p is None else number(p) for p in given])
    if len(given) != len(out._prev):
        raise ValueError("node() needs one slope for each input")
    return out


def _operator(name: str, a: Any, b: Any) -> Value:
    other = a if isinstance(b, Value) else b
    if not isinstance(other, Value) and has_axes(other):
        return NotImplemented  # type: ignore[no-any-return]
    try:
        return apply(OPS[name], a, b)  # type: ignore[no-any-return]
    except TypeError:
        if foreign(other) or (other is b and reflects(b, name)):
            return NotImplemented  # type: ignore[no-any-return]
        raise


def _compare(name: str, a: Value, b: Any) -> bool:
    if has_axes(b):
        return NotImplemented  # type: ignore[no-any-return]
    other = b if isinstance(b, Value) else bound(name, b)
    if other is None:
        return NotImplemented  # type: ignore[no-any-return]
    return bool(OPS[name].value(a.data, other.data if isinstance(other, Value) else other))


def set_recording(on: bool) -> bool:
    """Switch the recording of nodes in this thread; returns what it was."""
    before, mode.recording = mode.recording, bool(on)
    return before


class no_grad:
    """Record nothing: `with no_grad():` for a block, `@no_grad()` for a function. Results are leaves."""

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(mode.recording)  # Ctrl-C may end a call, but comes neither inside nor behind an assignment
        mode.recording = False

    def __exit__(self, *_: object) -> None:
        mode.recording = self._before[-1]
        self._before.pop()

    def __call__(self, function: F) -> F:
        from functools import wraps

        @wraps(function)
        def without_grad(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return without_grad  # type: ignore[return-value]


# ---- the rest of the table: x // y, 2 * x, x < y, x.exp() ...


def _method(op: Op) -> Callable[..., Any]:
    def method(self: Value, *args: Any) -> Any:
        return apply(op, self, *args)

    method.__name__, method.__doc__ = op.name, f"{op.name} of this value, as a new node."
    return method


def _add_methods() -> None:
    for op in OPS.values():
        if op.arity in (1, 2) and op.symbol == op.name:  # functions; the rest are operators
            setattr(Value, op.name, _method(op))
    for name in ("float", "int", "round", "floor", "ceil", "trunc"):
        setattr(Value, f"__{name}__", lambda self, *args, name=name: getattr(self.data, f"__{name}__")(*args))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Value, f"__{name}__", lambda self, other, name=name: _compare(name, self, other))
    for python in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
        name = python.removeprefix("true")
        if not hasattr(Value, f"__{python}__"):
            setattr(Value, f"__{python}__", lambda self, other, name=name: _operator(name, self, other))
        setattr(Value, f"__r{python}__", lambda self, other, name=name: _operator(name, other, self))
    setattr(Value, "__divmod__", lambda self, other: (self // other, self % other))  # noqa: B010
    setattr(Value, "__rdivmod__", lambda self, other: (other // self, other % self))  # noqa: B010
    setattr(Value, "__rpow__", lambda self, other, modulus=None: _operator("pow", other, self))  # noqa: B010


_add_methods()

# ---- what the package runs: the same, observed, in Python or in C

NATIVE = False
if not TYPE_CHECKING and __name__ == "micrograd.engine":
    from micrograd.observed import NATIVE, Value, apply, no_grad, node, set_recording  # noqa: I001
    from micrograd.observed import attributes, set_scope, set_trace, set_watch, zero_grads
