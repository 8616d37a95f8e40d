"""Functions and methods of Python that are not plain Python in the prelude."""

from __future__ import annotations

import builtins
import collections
import copy
import functools
from collections.abc import Callable
from typing import Any

from micrograd import engine
from micrograd.abstract.derivatives import Derivatives
from micrograd.abstract.errors import Refused
from micrograd.abstract.operators import asks_for_room, nothing
from micrograd.abstract.outcomes import Result
from micrograd.abstract.values import (
    ABSENT,
    NONE,
    Cell,
    Closure,
    Const,
    Method,
    Num,
    Ref,
    Tuple,
    Union,
    Value,
    is_mark,
    is_number,
    kind_of,
)
from micrograd.core import prelude
from micrograd.core.prelude import mappings, sequences
from micrograd.ir.forms import F64, I64, TABLE

_SLICES = {"%get_slice": sequences.get_slice, "%set_slice": sequences.set_slice, "%delete_slice": sequences.delete_slice,
           "%delete_item": sequences.delete_item}  # fmt: skip


class Builtins(Derivatives):
    """Interprets calls of Python's own functions."""

    def builtin(self, function: Any, args: list[Value], keywords: dict[str, Value]) -> Result | None:
        special = _CALLS.get(function)
        return None if special is None else special(self, args, keywords)

    def _len(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        return self.length(args[0])

    def _range(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        def made(values: list[Value]) -> Result:
            if any(not is_number(x) or kind_of(x) == F64 for x in values):
                return self.raised(TypeError("'float' object cannot be interpreted as an integer"))
            whole = [self.value(self.place(x, I64)) for x in values]
            start, stop, step = (Const(0), *whole, Const(1)) if len(whole) == 1 else (*whole, Const(1))[:3]
            if isinstance(step, Const) and step.value == 0:
                return self.raised(ValueError("range() arg 3 must not be zero"))
            return Tuple([start, stop, step], range)

        return self.each([self._one(x) for x in args], made)

    def _bool(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        return self.truth(args[0], self.value) if args else Const(False)

    def _isinstance(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        return self.is_instance(args[0], args[1])

    def _list(self, args: list[Value], keywords: dict[str, Value]) -> Result | None:
        return self._copied(list, args)

    def _tuple_of(self, args: list[Value], keywords: dict[str, Value]) -> Result | None:
        return self._copied(tuple, args)

    def _copied(self, cls: type, args: list[Value]) -> Result | None:
        if args and isinstance(args[0], Ref) and asks_for_room(self.class_of(args[0])):
            raise Refused("list() asks an object for its __len__ or __length_hint__")
        if not args:
            return Tuple([]) if cls is tuple else self.new(Cell(("list", list), ()))

        def one(value: Value) -> Result:
            found = self.copied(value, cls)
            if found is not None:
                return found
            if cls is tuple:
                return self.bind(self.call_python(sequences.new_list, [value]), lambda x: self._copied(tuple, [x]) or x)
            return self.call_python(sequences.new_list, [value])

        return self.split(args[0], one)

    def _deque(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        if keywords or len(args) > 1:
            raise Refused("a deque with a maximal length")
        made = self._copied(list, args)
        assert made is not None

        def as_deque(value: Value) -> Result:
            assert isinstance(value, Ref)
            cell = self.cell(value)
            at = 1 if cell.key[0] == "list" else 2
            self.heap[value.location] = Cell((*cell.key[:at], collections.deque), cell.values)
            return value

        return self.bind(made, as_deque)

    def _dict(self, args: list[Value], keywords: dict[str, Value], cls: type = dict) -> Result:
        made: Result = self.new(Cell(("dict", (), cls), ()))

        def filled(target: Value) -> Result:
            given = self.new(Cell(("dict", tuple(keywords), dict), keywords.values()))
            result: Result = NONE
            if args:
                result = self.call_builtin_method("update", target, [args[0]], {})
            return self.bind(
                result, lambda _: self.bind(self.call_builtin_method("update", target, [given], {}), lambda _: target)
            )

        return self.bind(made, filled) if args or keywords else made

    def _set(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        return self.listed(args[0], self.new_set) if args else self.new_set([])

    def _ordered(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        return self._dict(args, keywords, collections.OrderedDict)

    def _default_dict(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        def made(target: Value) -> Result:
            if args and not (isinstance(args[0], Const) and args[0].value is None):
                assert isinstance(target, Ref)
                self.factories[target.location] = args[0]
            return target

        return self.bind(self._dict(args[1:], keywords, collections.defaultdict), made)

    def _counter(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        target = self.new(Cell(("dict", (), collections.Counter), ()))
        if keywords or not args:
            return target
        return self.bind(self.call_python(mappings.count_elements, [target, args[0]]), lambda _: target)

    def _enumerate(self, args: list[Value], keywords: dict[str, Value]) -> Result | None:
        start = keywords.get("start", args[1] if len(args) > 1 else Const(0))
        iterator = self.iterate(args[0])
        return self.bind(iterator, lambda it: self._iterator("enumerate", it, start))

    def _zip(self, args: list[Value], keywords: dict[str, Value]) -> Result | None:
        strict = keywords.get("strict", Const(False))
        if len(keywords) > ("strict" in keywords) or not isinstance(strict, Const):
            return None
        if strict.value and (self.catching or len(args) < 2):
            return None

        def rest(i: int, found: list[Value]) -> Result:
            if i == len(args):
                return self.zipped_strictly(found) if strict.value else self._iterator("zip", *found)
            return self.bind(self.iterate(args[i]), lambda it: rest(i + 1, [*found, it]))

        return rest(0, [])

    def _reversed(self, args: list[Value], keywords: dict[str, Value]) -> Result | None:
        def one(value: Value) -> Result:
            if self.is_sequence(value):
                count = self.count(value)
                assert count is not None
                source = (
                    self.new(Cell(("list", tuple), value.items))
                    if isinstance(value, Tuple) and value.cls is not range
                    else value
                )
                if isinstance(value, Tuple) and value.cls is range:
                    return self._reversed_range(value)
                return self._iterator("reversed", source, self.plus(count, -1))
            if isinstance(value, Ref) and self.cell(value).key[0] == "dict":
                return self.bind(self.listed_keys(value), lambda keys: self.call(Const(reversed), [keys], {}))
            if isinstance(value, Ref) and hasattr(self.class_of(value), "__reversed__"):
                return self.bind(self.special(value, "__reversed__"), lambda f: self.call(f, [], {}))
            if isinstance(value, Const):
                return self.listed(value, lambda items: self.call(Const(reversed), [Tuple(items)], {}))
            return self.call_python(prelude.iteration.reversed, [value])

        return self.split(args[0], one)

    def _reversed_range(self, value: Tuple) -> Result:
        start, _stop, step = value.items
        if not isinstance(step, Const):
            raise Refused("a range whose step is not known")
        count = self.place(self._range_length(value), I64)
        s = step.value
        last = self.whole(
            "iadd", self.place(start, I64), self.whole("imul", self.plus_place(count, -1), self.b.const(s))
        )
        before = self.whole("iadd", self.place(start, I64), self.b.const(-s))
        return self.iterate(Tuple([self.value(last), self.value(before), Const(-s)], range))

    def plus_place(self, place: Any, by: int) -> Any:
        return self.whole("iadd", place, self.b.const(by))

    def listed_keys(self, ref: Ref) -> Result:
        return self.with_keys(self.cell(ref), lambda keys: self.new(Cell(("list", list), keys)))

    def _iter_of(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        if len(args) == 2:
            return self.call_python(prelude.iteration.iter_until, args)
        return self.iterate(args[0])

    def _next_of(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        def end() -> Result:
            return args[1] if len(args) > 1 else self.raised(StopIteration())

        def one(iterator: Value) -> Result:
            return self.next(iterator, end)

        return self.split(args[0], one)

    def _callable(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        def one(value: Value) -> Result:
            if isinstance(value, Const):
                return Const(callable(value.value))
            return Const(isinstance(value, Closure | Method) or callable(self.class_of(value)))

        return self.split(args[0], one)

    def _hasattr(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        assert isinstance(args[1], Const)
        name = args[1].value
        return self.split(args[0], lambda x: Const(self.has_attribute(x, name)))

    def _getattr(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        if not isinstance(args[1], Const):
            raise Refused("getattr() of a name that is not known")
        name = args[1].value
        if len(args) == 2:
            return self.attribute(args[0], name)
        return self.split(args[0], lambda x: self.attribute(x, name) if self.has_attribute(x, name) else args[2])

    def _setattr(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        if not isinstance(args[1], Const):
            raise Refused("setattr() of a name that is not known")
        return self.set_attribute(args[0], args[1].value, args[2])

    def _object_setattr(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        obj = self.resolved(args[0])
        if not isinstance(args[1], Const) or not isinstance(obj, Ref):
            raise Refused("object.__setattr__ of something that is not known")
        self.refuse_change(obj)
        return self.put_attribute(obj, args[1].value, args[2])

    def _type(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        if len(args) != 1:
            raise Refused("type() makes a class")
        return self.split(args[0], lambda x: Const(self.class_of(x)))

    def _issubclass(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        kinds = args[1].items if isinstance(args[1], Tuple) else (args[1],)
        assert isinstance(args[0], Const)
        return self.run(issubclass, args[0].value, tuple(k.value for k in kinds))  # type: ignore[attr-defined]

    def _super(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        if len(args) != 2 or not isinstance(args[0], Const):
            raise Refused("super() with other arguments than the class and self")
        return Tuple(args, super)

    def _do_nothing(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        return NONE

    def _partial(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        if keywords:
            raise Refused("functools.partial with keywords inside of the function", "Write a lambda.")
        found: Value = args[0]
        for x in args[1:]:
            found = Method(found, x)
        if len(args) > 2:
            return self.call_python(_partial_of, args)
        return found

    def _apply(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        op, *operands = args
        if not isinstance(op, Const) or op.value.name not in TABLE or not all(map(self._numeric, operands)):
            raise Refused("an operation of this package is applied to a list")
        given = [self.place(self.number_or_refuse(x, "an operand"), F64) for x in operands]
        return self.value(self.b.number(self.b.emit(op.value.name, *given)))

    def _copy(self, args: list[Value], keywords: dict[str, Value]) -> Result:
        def one(value: Value) -> Result:
            value = self.resolved(value)
            if not isinstance(value, Ref):
                return value
            found = self.copied(value, self.class_of(value)) if self.is_sequence(value) else None
            if found is not None:
                return found
            cell = self.cell(value)
            if cell.key[0] in ("object", "dict", "set"):
                if hasattr(self.class_of(value), "__copy__"):
                    raise Refused("copy() of an object with its own __copy__")
                return self.new(cell)
            raise Refused("copy() of this object")

        return self.split(args[0], one)

    # ---- methods of Python's own types

    def call_method(self, cls: type, name: str, obj: Value, args: list[Value]) -> Result:
        function = _SLICES.get(name) or prelude.method_of(cls, name)
        if function is None:
            raise Refused(f"the method {name} of a {cls.__name__}")
        return self.call_python(function, [obj, *args])

    def call_builtin_method(self, name: str, obj: Value, args: list[Value], keywords: dict[str, Value]) -> Result:
        if isinstance(obj, Const):
            return self._method_of_constant(name, obj, args, keywords)
        if isinstance(obj, Num):
            return self._method_of_number(name, obj)
        cls = self.class_of(obj)
        if isinstance(obj, Ref) and not keywords:
            found = self._native_method(name, obj, args)
            if found is not None:
                return found
        if isinstance(obj, Tuple) and name == "index" and not keywords and obj.cls is range:
            raise Refused("index() of a range")
        if isinstance(obj, Tuple) and issubclass(obj.cls, BaseException):
            if name == "with_traceback":
                return obj
            raise Refused(f"the method {name} of an exception")
        if isinstance(obj, Tuple) and obj.cls is not tuple and name in ("_replace", "_asdict"):
            return self._method_of_named_tuple(name, obj, keywords)
        function = prelude.method_of(cls, name)
        if function is None:
            raise Refused(f"the method {name} of a {cls.__name__}")
        if isinstance(obj, Ref) and name not in ("count", "index", "copy", "get", "__contains__", "union", "items"):
            self.refuse_change(obj)
        return self.call_python(function, [obj, *args], keywords)

    def _method_of_constant(self, name: str, obj: Const, args: list[Value], keywords: dict[str, Value]) -> Result:
        if not isinstance(obj.value, str | bytes | int | float | frozenset):
            raise Refused(f"the method {name} of a {type(obj.value).__name__}")

        def known(items: list[Value]) -> Result:
            if not all(isinstance(x, Const) for x in items):
                raise Refused(f"the method {name} of a {type(obj.value).__name__} with what is not known")
            given = [x.value for x in items]  # type: ignore[attr-defined]
            if name == "join":
                return self.run(obj.value.join, given)
            return self.run(getattr(obj.value, name), *given)

        if keywords:
            return self.known_text([obj, *args, *keywords.values(), Num(self.true)], str)
        if name == "format":
            return self.known_text([obj, *args], lambda text, *xs: text.format(*xs))
        if name == "join":
            return self.listed(args[0], known)
        return known(args)

    def _method_of_number(self, name: str, obj: Num) -> Result:
        x = obj.place
        if name == "is_integer" and obj.kind == F64:
            return self.value(self.b.emit("eq", self.b.emit("floor", x), x))
        raise Refused(f"the method {name} of a number")

    def _method_of_named_tuple(self, name: str, obj: Tuple, keywords: dict[str, Value]) -> Result:
        fields = obj.cls._fields  # type: ignore[attr-defined]
        if name == "_asdict":
            return self.new(Cell(("dict", fields, dict), obj.items))
        return Tuple([keywords.get(n, x) for n, x in zip(fields, obj.items)], obj.cls)

    def _native_method(self, name: str, obj: Ref, args: list[Value]) -> Result | None:
        """Return what a method does that is not plain Python in the prelude; None for any other one."""
        cell = self.cell(obj)
        how = cell.key[0]
        cls = self.class_of(obj)
        if how in ("list", "columns", "rows", "pool"):
            if name == "append" and len(args) == 1:
                return self.append(obj, args[0])
            if name == "pop" and not args:
                return self.pop_last(obj)
            if name == "%tolist":
                return self._nested_list(obj)
            if name == "clear" and not args:
                self.refuse_change(obj)
                if how == "list":
                    self.heap[obj.location] = Cell(cell.key, ())
                    return NONE
            if name == "pop" and len(args) == 1 and how == "list" and isinstance(args[0], Const):
                return self.bind(
                    self._item(obj, args[0]), lambda x: self.bind(self.delete_item(obj, args[0]), lambda _: x)
                )
            if name == "copy" and not args:
                return self.copied(obj, cls)
            if cls is collections.deque and name == "popleft" and how == "list" and cell.values:
                self.refuse_change(obj)
                self.heap[obj.location] = Cell(cell.key, cell.values[1:])
                return cell.values[0]
            if cls is collections.deque and name == "appendleft" and how == "list":
                self.refuse_change(obj)
                self.heap[obj.location] = Cell(cell.key, (args[0], *cell.values))
                return NONE
            if (
                cls is collections.deque
                and how == "list"
                and name in ("rotate", "extendleft", "pop", "extend", "clear")
            ):
                return None
            return None
        if how == "dict":
            if name in ("keys", "values", "items"):
                return self.new(Cell(("view", name), (obj,)))
            if name in ("update", "clear", "pop", "popitem", "setdefault"):
                self.refuse_change(obj)
            if name == "get" and cls is not dict:
                return self.call_python(mappings.get, [obj, *args])
        if how == "set":
            if name == "add":
                return self._add([obj, args[0]])
            if name in ("discard", "remove"):
                return self._discard(name, obj, args[0])
        if how in ("iterator", "generator") and name in ("__next__", "__iter__"):
            return obj if name == "__iter__" else self._next_of([obj], {})
        if how in ("iterator", "generator"):
            raise Refused(f"the method {name} of a generator")
        return None

    def _discard(self, name: str, obj: Ref, key: Value) -> Result:
        def one(key: Value) -> Result:
            self.refuse_change(obj)
            known, cell = self.known_key(key), self.cell(obj)
            found = [x for k, x in zip(cell.key[1], cell.values) if k == known]
            if found and isinstance(found[0], Union):
                raise Refused("an item that may be missing is removed from a set")
            if name == "remove" and (not found or is_mark(found[0], ABSENT)):
                return self.raised(KeyError(known))
            self._without(obj, cell, known)
            return NONE

        return self.split(key, one)

    def _nested_list(self, obj: Ref) -> Result:
        cell = self.cell(obj)
        if any(isinstance(x, Ref) for x in cell.values):

            def rest(i: int, rows: list[Value]) -> Result:
                if i == len(cell.values):
                    return self.new(Cell(("list", list), rows))
                row = cell.values[i]
                made = self._nested_list(row) if isinstance(row, Ref) else row
                return self.bind(made, lambda x: rest(i + 1, [*rows, x]))

            return rest(0, [])
        found = self.copied(obj, list)
        assert found is not None
        return found


def _partial_of(function: Any, *fixed: Any) -> Any:
    return lambda *rest: function(*fixed, *rest)


_CALLS: dict[Any, Callable[[Any, list[Value], dict[str, Value]], Result | None]] = {
    builtins.len: Builtins._len,
    builtins.range: Builtins._range,
    builtins.bool: Builtins._bool,
    builtins.isinstance: Builtins._isinstance,
    builtins.issubclass: Builtins._issubclass,
    builtins.list: Builtins._list,
    builtins.tuple: Builtins._tuple_of,
    builtins.dict: Builtins._dict,
    builtins.set: Builtins._set,
    builtins.enumerate: Builtins._enumerate,
    builtins.zip: Builtins._zip,
    builtins.reversed: Builtins._reversed,
    builtins.iter: Builtins._iter_of,
    builtins.next: Builtins._next_of,
    builtins.callable: Builtins._callable,
    builtins.hasattr: Builtins._hasattr,
    builtins.getattr: Builtins._getattr,
    builtins.setattr: Builtins._setattr,
    builtins.type: Builtins._type,
    builtins.super: Builtins._super,
    object.__setattr__: Builtins._object_setattr,
    collections.deque: Builtins._deque,
    collections.OrderedDict: Builtins._ordered,
    collections.defaultdict: Builtins._default_dict,
    collections.Counter: Builtins._counter,
    functools.partial: Builtins._partial,
    copy.copy: Builtins._copy,
    engine.apply: Builtins._apply,
    nothing: Builtins._do_nothing,
}
