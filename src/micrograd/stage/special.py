"""Special methods of the user's classes: interpreted like other functions, since they may compare Values or change something.

CPython calls `__add__`, `__bool__`, `__getitem__` and the like by itself, and what they change in one arm would then be changed
for the rows of the other arm too. Operators, comparisons, subscripts, attributes and truth values are therefore looked up here
first. What CPython calls inside of other functions (`__str__`, `__hash__`, `__index__` …) is refused inside an arm.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from micrograd.core.remembered import per_object
from micrograd.engine import Value
from micrograd.stage import instances
from micrograd.stage.attributes import is_generated, put
from micrograd.stage.errors import Unsupported
from micrograd.stage.lanes import Lane
from micrograd.stage.masks import FALSE, TRUE
from micrograd.stage.summary import Summary
from micrograd.tape import kinds
from micrograd.values.operand import REFLECTED

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

TRUSTED = {*sys.stdlib_module_names, "micrograd", "numpy", "torch"} - {
    "__main__"
}  # packages whose methods have no effect
NOT_ASKED = {"__init__", "__new__", "__init_subclass__", "__class_getitem__", "__set_name__", "__enter__", "__exit__",
             "__call__", "__reduce__", "__getstate__", "__setstate__", "__post_init__", "__del__"}  # fmt: skip
BINARY = {operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "truediv", operator.pow: "pow",
          operator.floordiv: "floordiv", operator.mod: "mod", operator.and_: "and", operator.or_: "or", operator.xor: "xor",
          operator.lshift: "lshift", operator.rshift: "rshift", operator.matmul: "matmul"}  # fmt: skip
UNARY: dict[Any, str] = {
    operator.neg: "__neg__",
    operator.pos: "__pos__",
    operator.invert: "__invert__",
    abs: "__abs__",
}
PLAIN = object()  # says that CPython may do it
CALL: list[Callable[..., Any]] = []  # how a function of the user's is called, filled in by calls.py


def _call(m: Machine, f: Any, *args: Any) -> Any:
    return m.now(CALL[0](m, f, list(args), {}))


def found(kind: type, name: str) -> Any:
    """What a class has under a name, as it stands there; None if it has nothing."""
    for k in kind.__mro__:
        if name in k.__dict__:
            return k.__dict__[name]
    return None


@per_object
def _is_users(kind: type) -> bool:
    """Whether a class, or one that it inherits from, is of the user's."""
    return any(str(k.__module__).partition(".")[0] not in TRUSTED for k in kind.__mro__)


def written(kind: type, name: str) -> Any:
    """A special method that the user has written in Python; None for any other, and for those that dataclasses make."""
    if not _is_users(kind):
        return None
    f = found(kind, name)
    if type(f) is not FunctionType or is_generated(f):
        return None
    return None if f.__globals__.get("__name__", "").partition(".")[0] in TRUSTED else f


def _has_own(kind: type) -> bool:
    """Whether a class has a special method that CPython may call and that the user has written."""
    if not _is_users(kind):
        return False
    names = {n for k in kind.__mro__ for n in vars(k) if n.startswith("__") and n.endswith("__")} - NOT_ASKED
    return any(written(kind, n) is not None for n in names)


def refuse(m: Machine, *things: Any) -> None:
    """Refuse to hand objects with special methods to code that may call them, where these may have an effect on other rows.

    Such code may also ask which object it is given.
    """
    if m.stand_ins:
        instances.refuse(m, *things)
    if m.here is TRUE and m.bystanders is FALSE and m.rolling is None:
        return
    for x in things:
        if _has_own(type(x)):
            raise Unsupported(f"a special method of {type(x).__name__} may be called, which may have an effect")


def refuse_inside(m: Machine, *things: Any) -> None:
    """The same of objects, and of those in lists and tuples of them."""
    refuse(m, *things)
    for x in things:
        if type(x) in (list, tuple):
            refuse(m, *x)


def _settled(result: Any) -> Any:
    if type(result) is Summary and any(y is NotImplemented for _, y in result.alternatives):
        raise Unsupported("a special method that is not implemented in some rows")
    return result


def _attempt(m: Machine, x: Any, name: str, y: Any) -> Any:
    own = written(type(x), name)
    if own is not None:
        return _settled(_call(m, own, x, y))
    if isinstance(
        x, Summary
    ):  # a number that changes from one iteration to the next, and knows no objects of the user's
        return NotImplemented
    native = getattr(type(x), name, None)
    return NotImplemented if native is None else native(x, y)


def has_operator(op: Any, a: Any, b: Any) -> bool:
    """Whether an operand has a special method for an operator that is written in Python."""
    name = BINARY.get(op)
    return name is not None and (written(type(a), f"__{name}__") or written(type(b), f"__r{name}__")) is not None


def binary(m: Machine, op: Any, a: Any, b: Any) -> Any:
    """a op b by special methods, in CPython's order; PLAIN if none of them is written in Python."""
    left, right = f"__{BINARY.get(op)}__", f"__r{BINARY.get(op)}__"
    if not has_operator(op, a, b):
        if type(a) is str:  # which may ask for the texts of what it is given
            refuse_inside(m, b)
        refuse(m, a, b)
        return PLAIN
    ways = [(a, left, b)]
    if type(a) is not type(b):
        first = issubclass(type(b), type(a)) and found(type(b), right) is not found(type(a), right)
        ways.insert(0 if first else 1, (b, right, a))
    for x, method, y in ways:
        result = _attempt(m, x, method, y)
        if result is not NotImplemented:
            return result
    raise TypeError(f"unsupported operand type(s): '{type(a).__name__}' and '{type(b).__name__}'")


def in_place(m: Machine, op: Any, a: Any, b: Any) -> Any:
    """What `a op= b` leaves in a's place, of an object of the user's; PLAIN if it has no method for it."""
    name = f"__i{BINARY.get(op)}__"
    own = written(type(a), name)
    if own is None:
        return binary(m, op, a, b) if found(type(a), name) is None else PLAIN
    result = _settled(_call(m, own, a, b))
    return binary(m, op, a, b) if result is NotImplemented else result


def unary(m: Machine, op: Any, x: Any) -> Any:
    """op x by a special method; PLAIN if it is not written in Python."""
    own = written(type(x), UNARY[op])
    return PLAIN if own is None else _call(m, own, x)


def compare(m: Machine, how: str, a: Any, b: Any) -> Any:
    """A comparison by special methods, in CPython's order; PLAIN if none of them is written in Python."""
    left, right = f"__{how}__", f"__{REFLECTED[how]}__"
    asked = [written(type(a), left), written(type(b), right)]
    if how == "ne":  # which asks __eq__ if there is no other
        asked += [written(type(a), "__eq__"), written(type(b), "__eq__")]
    if not any(asked):
        if how in ("eq", "ne") and id(a) in m.stand_ins and _is_compared_by_identity(a, b):
            return instances.identical(m, a, b) is (how == "eq")
        refuse_inside(m, a, b)
        return PLAIN
    if how == "ne" and not any(asked[:2]):
        return m.answer(m.masks.without(m.here, m.truth(compare(m, "eq", a, b))))
    ways = [(a, left, b), (b, right, a)]
    if type(a) is not type(b) and issubclass(type(b), type(a)) and found(type(b), right) is not found(type(a), right):
        ways.reverse()
    for x, method, y in ways:
        result = _attempt(m, x, method, y)
        if result is not NotImplemented:
            return result
    if how in ("eq", "ne"):
        return instances.identical(m, a, b) is (how == "eq")
    raise TypeError(f"'{how}' not supported between instances of '{type(a).__name__}' and '{type(b).__name__}'")


def _is_compared_by_identity(a: Any, b: Any) -> bool:
    plain: Any = object
    return type(a) is type(b) and type(a).__eq__ is plain.__eq__ and type(a).__ne__ is plain.__ne__


def contains(m: Machine, items: Any, x: Any) -> Any:
    """x in items by a special method; PLAIN if it is not written in Python."""
    own = written(type(items), "__contains__")
    if own is not None:
        return m.answer(m.truth(_call(m, own, items, x)))
    if any(written(type(items), name) for name in ("__iter__", "__getitem__", "__next__")):
        raise Unsupported(f"`in` of a {type(items).__name__}, which iterates")
    refuse_inside(m, x)
    return PLAIN


def item(m: Machine, x: Any, index: Any) -> Any:
    """x[index] by a special method; PLAIN if it is not written in Python."""
    own = written(type(x), "__getitem__")
    if own is not None:
        return _call(m, own, x, index)
    adds = isinstance(x, dict) and hasattr(type(x), "__missing__")
    if adds and not dict.__contains__(x, index):
        raise Unsupported(f"an item is missing in a {type(x).__name__}, which may add it")
    refuse(m, *((index.start, index.stop, index.step) if isinstance(index, slice) else (index,)))
    return PLAIN


def iterated(m: Machine, x: Any) -> Any:
    """iter(x) by a special method that is written in Python."""
    return _call(m, written(type(x), "__iter__"), x)


def length(m: Machine, x: Any) -> Any:
    """len(x)"""
    own = written(type(x), "__len__")
    return len(x) if own is None else _call(m, own, x)


def judged(m: Machine, x: Any) -> Any:
    """What the truth of an object is decided by: what its special method gives, or itself."""
    if type(x) is Summary:
        if any(_decides(type(y)) is not None for _, y in x.alternatives):
            return m.lift(lambda y: judged(m, y), x)
        return x
    own = _decides(type(x))
    return x if own is None else _call(m, own, x)


def _decides(kind: type) -> Any:
    by_bool = written(kind, "__bool__")
    return by_bool if by_bool is not None or found(kind, "__bool__") is not None else written(kind, "__len__")


def _holds(x: Any, name: str) -> bool:
    """Whether an object itself has an attribute, and not its class."""
    try:
        return name in object.__getattribute__(x, "__dict__")
    except AttributeError:
        return False


def attribute(m: Machine, x: Any, name: str) -> Any:
    """x.name, where code of the user's finds it; PLAIN where CPython does."""
    kind = type(x)
    if isinstance(x, Lane):
        if name != "__class__":
            raise Unsupported(f"the attribute {name} of a plain number that changes from one iteration to the next")
        return x.kind
    if name == "__class__" and isinstance(x, Value):
        return kinds.class_told(x)
    if written(kind, "__getattribute__") is not None:
        raise Unsupported(f"{kind.__name__} has a __getattribute__ of its own")
    if isinstance(x, BaseException) and name in ("__cause__", "__context__", "__suppress_context__", "__traceback__"):
        raise Unsupported(f"{name} of an exception is read")
    if isinstance(x, type) or kind is super:
        return PLAIN
    by_class = found(kind, name)
    if _holds(x, name) and (by_class is None or found(type(by_class), "__set__") is None):
        return PLAIN
    if by_class is None:
        own = written(kind, "__getattr__")
        return PLAIN if own is None else _call(m, own, x, name)
    if type(by_class) is functools.cached_property:
        value = _call(m, by_class.func, x)
        m.touch(x)
        put(x, str(by_class.attrname), value)
        return value
    get = written(type(by_class), "__get__")
    return PLAIN if get is None else _call(m, get, by_class, x, kind)
