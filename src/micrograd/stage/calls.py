"""Calls: functions of the user's are interpreted, known builtins have rules, anything else is refused inside an arm."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from abc import ABCMeta
from collections.abc import Callable
from types import BuiltinFunctionType, BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ReferenceType

from micrograd.engine import Value
from micrograd.stage import instances, iterate, iterators, managers, mixed, packed, ragged, special, stored
from micrograd.stage.attributes import is_generated, keeps, put
from micrograd.stage.errors import Lost, Unsupported
from micrograd.stage.folds import fold
from micrograd.stage.functions import Function, enter
from micrograd.stage.lanes import Lane
from micrograd.stage.language import BUILTINS, Internal
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE, TRUE, Mask
from micrograd.stage.natives import native, new, once
from micrograd.stage.operators import binary, count, item
from micrograd.stage.pure import TWINS, is_pure
from micrograd.stage.summary import Summary
from micrograd.tape import arithmetic

MUTATORS: dict[Any, set[str]] = {
    list: {"append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort"},
    dict: {"update", "pop", "setdefault", "clear", "popitem"},
    set: {"add", "discard", "remove", "update", "clear", "pop"},
}
READERS: dict[Any, set[str]] = {
    list: {"index", "count", "copy"},
    dict: {"get", "keys", "values", "items", "copy"},
    set: {"union", "intersection", "difference", "copy", "issubset", "issuperset"},
    tuple: {"index", "count"},
}
OF_ITEMS = {min, max, any, all, sum, sorted, list, tuple, set, dict, len, bool}  # builtins that take all items


def each(m: Machine, function: Callable[..., Any], *args: Any) -> Any:
    """Run what may change something for each combination of alternatives, and join the states."""
    args = tuple([m.now(a) for a in args])
    if not any(type(a) is Summary for a in args):
        return function(*args)
    arms: list[tuple[Mask, list[Any]]] = [(m.here, [])]
    for a in args:
        if type(a) is Summary:
            arms = [(both, [*row, y]) for mask, row in arms for part, y in a.alternatives
                    if (both := m.masks.both_of(mask, part)) is not FALSE]  # fmt: skip
        else:
            for _, row in arms:
                row.append(a)
    result = m.fork([(mask, functools.partial(function, *row)) for mask, row in arms])
    if m.here is FALSE:
        raise Lost
    return result


def harmless(x: Any) -> Any:
    """Refuse to format a Value as text."""
    if isinstance(x, (Value, Summary)):
        raise Unsupported("a Value is formatted as text")
    return x


def exactly(items: list[Any], count: int) -> list[Any]:
    """Items to unpack."""
    if len(items) != count:
        raise ValueError(f"{len(items)} values to unpack into {count}")
    return items


def attribute(m: Machine, x: Any, name: str) -> Any:
    """x.name"""
    mixed.refuse(m, x)
    if isinstance(x, (iterators.Iterator, iterate.Comprehension, Function)):
        raise Unsupported(f"the attribute {name} of a {type(x).__name__}")
    by_class = special.found(type(x), name)
    if type(by_class) is property and type(by_class.fget) is FunctionType and type(x) is not super:
        return call(m, by_class.fget, [x], {})
    result = special.attribute(m, x, name)
    return getattr(x, name) if result is special.PLAIN else result


def change(m: Machine, x: Any, function: Callable[[Any], Any]) -> Any:
    """Change a list, dict or set of the program's."""
    return ragged.change(m, x, function)


def set_item(m: Machine, x: Any, index: Any, value: Any) -> None:
    """x[index] = value"""
    mixed.refuse(m, index)
    own = special.written(type(x), "__setitem__")
    if own is not None:
        call(m, own, [x, index, value], {})
        return
    if type(x) not in (list, dict):
        raise Unsupported(f"an item of a {type(x).__name__} is assigned")
    special.refuse_inside(m, index)
    if type(x) is list and isinstance(index, slice) and stored.set_item(m, x, index, m.now(value)):
        return
    if isinstance(index, slice):
        value = m.lift(lambda y: iterate.items(m, y), ragged.settle(m, m.now(value)))
        if type(value) is Summary:
            each(m, lambda y: ragged.change(m, x, lambda held: operator.setitem(held, index, y)), value)
            return
    if type(x) is list and stored.set_item(m, x, index, value):
        return
    ragged.change(m, x, lambda y: operator.setitem(y, index, value))


def set_attribute(m: Machine, x: Any, name: str, value: Any) -> None:
    """x.name = value"""
    kind = type(x)
    plain: Any = object.__setattr__
    if kind.__setattr__ is not plain or isinstance(x, ModuleType):
        raise Unsupported(f"an attribute of a {kind.__name__} is assigned")
    by_class = special.found(kind, name)
    if type(by_class) is property and type(by_class.fset) is FunctionType:
        call(m, by_class.fset, [x, value], {})
        return
    if not keeps(x, name):
        raise Unsupported(f"an attribute or a property of a {kind.__name__} is assigned")
    m.touch(x)
    put(x, name, value)


def in_place(m: Machine, op: Any, old: Any, value: Any) -> Any:
    """What `old op= value` leaves in old's place."""
    old = m.now(old)
    if type(old) is Summary and any(not _is_plain(y) for _, y in old.alternatives):
        return each(m, lambda x: in_place(m, op, x, m.now(value)), old)
    if type(old) is list:
        if op is not operator.add:
            raise Unsupported("a list is changed in place")
        extend(m, old, value)
        return old
    if not _is_plain(old) and type(old) is not Summary:
        result = special.in_place(m, op, old, m.now(value)) if type(old) not in MUTATORS else special.PLAIN
        if result is not special.PLAIN:
            return result
        raise Unsupported(f"a {type(old).__name__} is changed in place")
    return binary(m, op, old, value)


def extend(m: Machine, x: list[Any], more: Any) -> None:
    """x.extend(more)"""
    source = iterate.iterator(m, more)
    here, around, found = m.here, m.bystanders, []
    while True:
        rows, item = source.advance(m)
        if rows is FALSE:
            break
        m.bystanders = m.masks.either(m.bystanders, m.masks.without(m.here, rows))
        m.here = rows
        found.append((rows, item))
    m.here, m.bystanders = here, around
    tail = ragged.collected(m, found, here)
    several = ragged.ragged(tail)
    if several is None:
        ragged.change(m, x, lambda y: y.extend(tail))
        return
    m.touch(x)
    mine, both_of = ragged.ragged(x), m.masks.both_of
    heads = [(here, list(x))] if mine is None else mine.alternatives
    pairs = [(both_of(both_of(p, q), here), [*a, *b]) for p, a in heads for q, b in several.alternatives]
    ragged.put(x, ragged.contents(m, [pair for pair in pairs if pair[0] is not FALSE]))


def _is_plain(x: Any) -> bool:
    return isinstance(x, (Value, Lane, int, float, str, bytes, tuple, complex, type(None)))


def call(m: Machine, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """f(*args, **kwargs)"""
    f = m.now(f)
    if type(f) is Summary:
        return each(m, lambda g: call(m, g, [m.now(a) for a in args], {k: m.now(a) for k, a in kwargs.items()}), f)
    kind = type(f)
    if kind is Function:
        return enter(m, f, args, kwargs)
    if kind is MethodType:
        return call(m, f.__func__, [f.__self__, *args], kwargs)
    if kind is functools.partial:
        return call(m, f.func, [*f.args, *args], {**f.keywords, **kwargs})
    if kind is BuiltinFunctionType and f in TWINS:
        given = [m.now(a) for a in [*args, *kwargs.values()]]
        if any(type(a) is Summary and any(isinstance(y, Value) for _, y in a.alternatives) for a in given):
            names = list(kwargs)
            return m.lift(lambda *y: call(m, f, list(y[: len(args)]), dict(zip(names, y[len(args) :]))), *given)
        if any(map(_on_tape, given)):
            if f"math.{f.__name__}" in arithmetic.FUNCTIONS and len(given) <= 2:
                mixed.raise_errors(m, f"math.{f.__name__}", given[0], given[1] if len(given) == 2 else None)
            return call(m, TWINS[f], args, kwargs)
    rule = BUILTINS.get(f) if kind in (BuiltinFunctionType, BuiltinMethodType, type, Internal) else None
    if rule is not None:
        return _by_rule(m, f, rule, args, kwargs)
    if kind in (BuiltinMethodType, BuiltinFunctionType) and type(getattr(f, "__self__", None)) in READERS:
        return _method(m, f, args, kwargs)
    if is_pure(f):
        return native(m, f, args, kwargs)
    if f is tuple.__new__ and args and hasattr(args[0], "_fields"):
        return tuple.__new__(args[0], iterate.items(m, args[1]))
    if kind is FunctionType and f.__code__ is managers.HELPER:
        return managers.Managed(m, f.__wrapped__, args, kwargs)
    if kind is FunctionType:
        return enter(m, f, args, kwargs)
    if f is object.__setattr__ and len(args) == 3 and not kwargs and keeps(args[0], args[1]):
        m.touch(args[0])
        put(args[0], args[1], args[2])
        return None
    inner: Any = None if special.written(kind, "__getattr__") else f
    if getattr(inner, "kernel", None) is inner and inner is not None:  # a jitted function
        return call(m, inner.f, args, kwargs)
    if isinstance(f, type):
        return _instance(m, f, args, kwargs)
    if isinstance(f, ReferenceType):  # objects live longer here than in eager code
        raise Unsupported("a weak reference is followed")
    inner = vars(kind).get("__call__") or next(
        (vars(k)["__call__"] for k in kind.__mro__ if "__call__" in vars(k)), None
    )
    if type(inner) is FunctionType:
        return call(m, inner, [f, *args], kwargs)
    if m.here is not TRUE or m.rolling is not None:
        raise Unsupported(f"a call of {getattr(f, '__qualname__', kind.__name__)}, which may have an effect")
    return once(m, f, args, kwargs)


def _on_tape(x: Any) -> bool:
    return isinstance(x, Value) or (type(x) in (list, tuple) and any(isinstance(i, Value) for i in x))


def _by_rule(m: Machine, f: Any, rule: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A builtin; of lists whose lengths differ by row, for each length."""
    if f is list and len(args) == 1 and packed.packed(m.now(args[0])) is not None:
        return m.made([packed.packed(m.now(args[0]))])
    if f in OF_ITEMS and not (f is len and len(args) == 1 and packed.packed(m.now(args[0])) is not None):
        whole: tuple[type, ...] = () if f in (any, all) else (iterators.Iterator, iterate.Comprehension)
        whole = whole[:1] if f is sum else whole  # which takes the items of a generator expression one by one
        if args and isinstance(m.now(args[0]), iterate.Comprehension) and not kwargs:
            folded = fold(m, m.now(args[0]), f, args[1:])
            if folded is not None:
                return folded
        args = [_as_list(m, a) if isinstance(a, whole) else a for a in args]
        keeps = f in (sum, min, max) and len(args) == 1  # of an array, which they can take as it is
        seen = [a if keeps and packed.packed(m.now(a)) is not None else ragged.settle(m, m.now(a)) for a in args]
        if any(type(a) is Summary and any(isinstance(y, iterate.FINITE) for _, y in a.alternatives) for a in seen):
            return m.lift(lambda *given: rule(m, *given, **kwargs), *seen)
        args = seen
    return rule(m, *args, **kwargs)


def _as_list(m: Machine, x: Any) -> Any:
    made: Any = m.made([])
    extend(m, made, x)
    return made


def named(m: Machine, x: Any) -> Any:
    """What `**x` gives."""
    x = ragged.settle(m, m.now(x))
    if type(x) is Summary:
        raise Unsupported("`**` of dicts that differ by row")
    return x


def _method(m: Machine, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A method of a list, dict or set."""
    owner, name = f.__self__, f.__name__
    if type(owner) not in (list, tuple):
        special.refuse_inside(m, *args)  # which may be hashed
    if type(owner) is list and name == "sort":
        ragged.change(m, owner, lambda y: ragged.put(y, BUILTINS[list.sort](m, list(y), **kwargs)))
        return None
    done = stored.METHODS.get((name, len(args) + len(kwargs))) if packed.packed(owner) is not None else None
    if done is not None and (found := done(m, owner, *args)) is not stored.NOTHING:
        return found
    if name == "__getitem__":
        return m.now(m.lift(lambda index: item(m, owner, index), *args))
    compares = type(owner) in (list, tuple) and name in ("index", "count", "remove")
    several = ragged.ragged(owner)
    if compares and name == "count" and len(args) == 1 and several is None:
        instances.refuse(m, *owner, *args)
        return count(m, owner, args[0])
    parts = [owner] if several is None else [held for _, held in several.alternatives]
    if compares:
        every = [*(x for part in parts for x in part), *args]
        instances.refuse(m, *every)
        if any(isinstance(x, (Value, Summary)) for x in every):
            raise Unsupported(f"{type(owner).__name__}.{name} of Values")
    if name in MUTATORS.get(type(owner), ()):
        if name == "extend":
            return extend(m, owner, *args)
        if name == "update":
            args = [a if isinstance(a, dict) else iterate.items(m, a) for a in args]
            if any(ragged.ragged(a) is not None for a in args):
                raise Unsupported("an update by what differs by row")

        def run(*given: Any) -> Any:
            return ragged.change(m, owner, lambda y: getattr(y, name)(*given, **kwargs))

        switches = name in (
            "insert",
            "pop",
            "setdefault",
            "add",
            "discard",
        )  # what the first argument is decides what is done
        if switches and args and type(m.now(args[0])) is Summary:
            return each(m, lambda first: run(first, *args[1:]), args[0])
        return run(*args)
    if name in READERS[type(owner)]:
        seen = ragged.settle(m, owner)
        args = [ragged.settle(m, a) for a in args]
        return m.now(m.lift(lambda y, *given: new(m, getattr(y, name)(*given, **kwargs)), seen, *args))
    raise Unsupported(f"{type(owner).__name__}.{name}")


def _instance(m: Machine, kind: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A new object of a class."""
    own = special.written(kind, "__init__") or special.written(kind, "__new__")
    if own is None and (issubclass(kind, BaseException) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))):
        return kind(*args, **kwargs)
    if (
        issubclass(kind, (BaseException, tuple))
        or type(kind) not in (type, ABCMeta)
        or kind.__new__ is not object.__new__
        or issubclass(kind, Value)
    ):
        if m.here is not TRUE or m.rolling is not None:
            raise Unsupported(f"a {kind.__name__} is made")
        made = native(m, kind, args, kwargs) if own is None else once(m, kind, args, kwargs)
        # What C code keeps in it is changed for all rows at once, or not at all; its attributes may differ by row.
        return (
            m.made(made) if type(made) is kind and hasattr(made, "__dict__") and not issubclass(kind, Value) else made
        )
    made = m.made(kind.__new__(kind))
    begin = kind.__init__
    if hasattr(kind, "__dataclass_fields__") and is_generated(begin):
        _fill(m, kind, made, args, kwargs)
    elif begin is not object.__init__:
        call(m, begin, [made, *args], kwargs)
    elif args or kwargs:
        raise TypeError(f"{kind.__name__}() takes no arguments")
    return made


def _fill(m: Machine, kind: Any, made: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    """What the `__init__` does that `dataclass` has made."""
    fields = kind.__dataclass_fields__.values()
    room = all(keeps(made, f.name) for f in fields)
    if not room or special.written(kind, "__setattr__") or any(_is_init_only(f) for f in fields):
        raise Unsupported(f"a {kind.__name__} is made")
    given = inspect.signature(kind.__init__).bind(made, *args, **kwargs).arguments
    for f in dataclasses.fields(kind):
        if f.init and f.name in given:
            put(made, f.name, given[f.name])
        elif f.default_factory is not dataclasses.MISSING:
            put(made, f.name, call(m, f.default_factory, [], {}))
        elif f.init:
            put(made, f.name, f.default)
    post = special.found(kind, "__post_init__")
    if post is not None:
        call(m, post, [made], {})


def _is_init_only(f: Any) -> bool:
    return isinstance(f.type, dataclasses.InitVar) or (isinstance(f.type, str) and "InitVar" in f.type)


special.CALL.append(call)
