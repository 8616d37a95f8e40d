"""Attributes, classes, and how objects are made."""

from __future__ import annotations

import dataclasses
import types
from typing import Any

from micrograd.abstract.columns import fits
from micrograd.abstract.errors import Refused, Restart, Unrollable
from micrograd.abstract.numeric import UnknownText
from micrograd.abstract.operators import (
    TYPES,
    Operators,
    has_source,
    is_data_descriptor,
    is_generic,
    lookup,
    nothing,
    plain_layout,
)
from micrograd.abstract.outcomes import Result
from micrograd.abstract.shapes import Fixed, Layout, Pointer, get_named, kinds_of, lub, put_named, shape_of, unmixed
from micrograd.abstract.values import (
    NONE,
    UNDEF,
    Cell,
    Closure,
    Const,
    Mark,
    Method,
    Num,
    Ref,
    Tuple,
    Union,
    Value,
    is_mark,
)
from micrograd.ir.forms import I64

_OF_SEQUENCES = ("__len__", "__getitem__", "__iter__", "__bool__", "__contains__", "__hash__", "__getattribute__")
_SAFE_SETATTR = (object.__setattr__, BaseException.__setattr__)


class Objects(Operators):
    """Objects."""

    # ---- attributes

    def attribute(self, obj: Value, name: str) -> Result:
        if name == "__class__":
            return self.split(obj, lambda x: Const(self.class_of(x)))
        return self.split(obj, lambda x: self._attribute(x, name))

    def _attribute(self, obj: Value, name: str) -> Result:
        if isinstance(obj, Const):
            return self._attribute_of_constant(obj, name)
        if isinstance(obj, Tuple):
            return self._attribute_of_tuple(obj, name)
        if isinstance(obj, Num):
            if name in ("real", "conjugate") or not hasattr(TYPES[obj.kind], name):
                return self.raised(AttributeError(name)) if name not in ("real",) else obj
            return Method(name, obj)
        if isinstance(obj, Closure | Method):
            if name == "__name__" and isinstance(obj, Closure):
                return Const(obj.function.name)
            if name == "__self__" and isinstance(obj, Method):
                return obj.self
            raise Refused(f"the attribute {name} of a function")
        assert isinstance(obj, Ref)
        cell = self.cell(obj)
        how = cell.key[0]
        if issubclass(self.class_of(obj), BaseException) and name.startswith("__") and name not in ("__init__",):
            raise Refused(f"the attribute {name} of an exception")
        if how == "object":
            return self._attribute_of_object(obj, cell, name)
        if how == "pool" and cell.key[1].key[0] == "object":
            return self._attribute_of_row(obj, cell, name)
        if self._is_array(cell) and how in ("list", *("columns", "rows")):
            found = self._attribute_of_array(obj, name)
            if found is not None:
                return found
        cls = self.class_of(obj)
        if not hasattr(cls, name):
            return self.raised(AttributeError(f"{cls.__name__!r} object has no attribute {name!r}"))
        return Method(name, obj)

    def _attribute_of_constant(self, obj: Const, name: str) -> Result:
        value = obj.value
        if isinstance(value, Mark | UnknownText):
            raise Refused(f"the attribute {name} of {value}")
        try:
            found = getattr(value, name)
        except AttributeError as error:
            return self.raised(error)
        if isinstance(value, str | bytes | int | float | bool):
            return Method(name, obj) if callable(found) else self.constant(found)
        return self.read_from_outside("attribute", value, name, found)

    def _attribute_of_super(self, obj: Tuple, name: str) -> Result:
        start, self_ = obj.items
        assert isinstance(start, Const)
        cls = self_.value if isinstance(self_, Const) and isinstance(self_.value, type) else self.class_of(self_)
        order = cls.__mro__
        for owner in order[order.index(start.value) + 1 :]:
            if name in vars(owner):
                found = vars(owner)[name]
                if owner is object or (not isinstance(found, types.FunctionType) and issubclass(owner, BaseException)):
                    return Const(nothing)
                return self._bound(found, self_, owner, name)
        return self.raised(AttributeError(f"'super' object has no attribute {name!r}"))

    def _attribute_of_tuple(self, obj: Tuple, name: str) -> Result:
        if obj.cls is super:
            return self._attribute_of_super(obj, name)
        fields = getattr(obj.cls, "_fields", ())
        if name in fields:
            return obj.items[fields.index(name)]
        if fields and name in ("_replace", "_asdict"):
            return Method(name, obj)
        if obj.cls in (slice, range) and name in ("start", "stop", "step"):
            return obj.items[("start", "stop", "step").index(name)]
        if issubclass(obj.cls, BaseException):
            if name == "args":
                return Tuple(obj.items)
            if name.startswith("__"):
                raise Refused(f"the attribute {name} of an exception")
            if issubclass(obj.cls, StopIteration) and name == "value":
                return obj.items[0] if obj.items else NONE
        found = lookup(obj.cls, name)
        if found is None:
            return self.raised(AttributeError(f"{obj.cls.__name__!r} object has no attribute {name!r}"))
        if isinstance(found, types.FunctionType | property | classmethod | staticmethod):
            return self._bound(found, obj, obj.cls, name)
        return Method(name, obj)

    def _attribute_of_object(self, obj: Ref, cell: Cell, name: str) -> Result:
        cls = cell.key[1]
        self._check_class(cls)
        found = lookup(cls, name)
        if isinstance(found, property) or is_data_descriptor(found):
            return self._bound(found, obj, cls, name)
        value = get_named(cell, name)
        if isinstance(value, Union) and any(is_mark(x, UNDEF) for _, x in value.alternatives):
            return self._maybe_missing(obj, value, found, cls, name)
        if not is_mark(value, UNDEF):
            return value
        return self._of_class(obj, found, cls, name)

    def _maybe_missing(self, obj: Ref, value: Union, found: Any, cls: type, name: str) -> Result:
        missing = next(m for m, x in value.alternatives if is_mark(x, UNDEF))
        rest = self.union([(m, x) for m, x in value.alternatives if not is_mark(x, UNDEF)])
        return self.fork(missing, lambda: self._of_class(obj, found, cls, name), lambda: rest)

    def _of_class(self, obj: Ref, found: Any, cls: type, name: str) -> Result:
        if name == "__class__":
            return Const(cls)
        if name == "__dict__":
            raise Refused("the attribute __dict__ of an object")
        if found is None and hasattr(cls, "__getattr__"):
            function = lookup(cls, "__getattr__")
            return self.bind(self._bound(function, obj, cls, "__getattr__"), lambda f: self.call(f, [Const(name)], {}))
        if found is None:
            return self.raised(AttributeError(f"{cls.__name__!r} object has no attribute {name!r}"))
        return self._bound(found, obj, cls, name)

    def _attribute_of_row(self, obj: Ref, cell: Cell, name: str) -> Result:
        layout = cell.key[1]
        cls = layout.key[1]
        found = lookup(cls, name)
        if name in layout.key[2] and not isinstance(found, property) and not is_data_descriptor(found):
            assert obj.index is not None
            row = self.load(cell, obj.index)
            return get_named(row, name)  # type: ignore[arg-type]
        return self._of_class(obj, found, cls, name)

    def _attribute_of_array(self, obj: Ref, name: str) -> Result | None:
        shape = self._shape_of_array(obj)
        if name == "shape":
            return Tuple(shape)
        if name == "ndim":
            return Const(len(shape))
        if name == "size":
            total: Value = Const(1)
            for n in shape:
                total = self.value(self.product(self.place(total, I64), self.place(n, I64)))
            return total
        if name == "tolist":
            return Method("%tolist", obj)
        raise Refused(
            f"the attribute {name} of a NumPy array", "Of arrays, len, shape, ndim, size, items and loops can be used."
        )

    def _shape_of_array(self, obj: Ref) -> list[Value]:
        count = self.count(obj)
        assert count is not None
        cell = self.cell(obj)
        inner = cell.key[1]
        if cell.key[0] == "list":
            first = self.resolved(cell.values[0]) if cell.values else NONE
            return [count, *self._shape_of_array(first)] if isinstance(first, Ref) else [count]

        if isinstance(inner, Pointer):
            return [count, *self._shape_of_array(Ref(inner.location, self.b.const(0)))]
        return [count]

    def _check_class(self, cls: type) -> None:
        if lookup(cls, "__getattribute__") is not object.__getattribute__ and not issubclass(cls, BaseException):
            raise Refused(f"{cls.__name__} has its own __getattribute__")

    def has_attribute(self, obj: Value, name: str) -> bool:
        if isinstance(obj, Ref):
            cell = self.cell(obj)
            if cell.key[0] == "object" and not is_mark(get_named(cell, name), UNDEF):
                if isinstance(get_named(cell, name), Union):
                    raise Refused("whether an object has an attribute is not known")
                return True
            if cell.key[0] == "pool" and cell.key[1].key[0] == "object" and name in cell.key[1].key[2]:
                return True
            return hasattr(self.class_of(obj), name)
        if isinstance(obj, Tuple):
            return name in getattr(obj.cls, "_fields", ()) or hasattr(obj.cls, name)
        if isinstance(obj, Const):
            return hasattr(obj.value, name)
        return hasattr(self.class_of(obj), name)

    def special(self, obj: Value, name: str) -> Result:
        """Return a method of the type of an object, bound to it."""

        def one(obj: Value) -> Result:
            cls = self.class_of(obj)
            found = lookup(cls, name)
            if found is None:
                return self.raised(TypeError(f"{cls.__name__!r} object has no {name}"))
            if isinstance(obj, Const) and not isinstance(found, types.FunctionType):
                raise Refused(f"{name} of {cls.__name__}")
            return self._bound(found, obj, cls, name)

        return self.split(obj, one)

    def _bound(self, found: Any, obj: Value, cls: type, name: str) -> Result:
        """Return what a class has under a name, as an attribute of an object."""
        if isinstance(found, property):
            if found.fget is None:
                return self.raised(AttributeError(name))
            return self.call(self.read_from_outside("attribute", cls, name, found.fget), [obj], {})
        if isinstance(found, staticmethod):
            return self.read_from_outside("static", cls, name, found.__func__)
        if isinstance(found, classmethod):
            return Method(self.read_from_outside("static", cls, name, found.__func__), Const(cls))
        if isinstance(found, types.FunctionType):
            return Method(self.read_from_outside("static", cls, name, found), obj)
        if type(found).__name__ == "cached_property":
            raise Refused("functools.cached_property", "Compute the value in __init__, or use a property.")
        if type(found).__name__ in ("wrapper_descriptor", "method_descriptor", "builtin_function_or_method"):
            return Method(name, obj)
        if type(found).__name__ == "member_descriptor":  # of __slots__
            cell = self.cell(obj)
            value = get_named(cell, name) if cell.key[0] == "object" else Const(UNDEF)
            return self.raised(AttributeError(name)) if is_mark(value, UNDEF) else value
        if hasattr(type(found), "__get__"):
            raise Refused(f"{name} of {cls.__name__} is a descriptor")
        return self.read_from_outside("static", cls, name, found)

    def set_attribute(self, obj: Value, name: str, value: Value) -> Result:
        return self.split(obj, lambda x: self._set_attribute(x, name, value))

    def _set_attribute(self, obj: Value, name: str, value: Value) -> Result:
        if not isinstance(obj, Ref):
            raise Refused(f"the attribute {name} of something from outside is set")
        cell = self.cell(obj)
        if cell.key[0] not in ("object", "pool"):
            return self.raised(AttributeError(name))
        cls = self.class_of(obj)
        self.refuse_change(obj)
        found = lookup(cls, name)
        if isinstance(found, property):
            if found.fset is None:
                return self.raised(AttributeError(f"property {name!r} of {cls.__name__!r} object has no setter"))
            return self.call(self.read_from_outside("static", cls, name, found.fset), [obj, value], {})
        setter = lookup(cls, "__setattr__")
        if setter not in _SAFE_SETATTR:
            if getattr(getattr(cls, "__dataclass_params__", None), "frozen", False):
                return self.raised(dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}"))
            if isinstance(setter, types.FunctionType):
                return self.bind(self.special(obj, "__setattr__"), lambda f: self.call(f, [Const(name), value], {}))
            raise Refused(f"{cls.__name__} has its own __setattr__")
        if is_data_descriptor(found) and type(found).__name__ != "member_descriptor":
            raise Refused(f"{name} of {cls.__name__} is a descriptor")
        return self.put_attribute(obj, name, value)

    def put_attribute(self, obj: Ref, name: str, value: Value) -> Result:
        cell = self.cell(obj)
        if cell.key[0] == "object":
            self.heap[obj.location] = put_named(cell, name, value)
            return NONE
        layout: Layout = cell.key[1]
        if name not in layout.key[2]:
            raise Unrollable("an object of a list gets another attribute")
        number = layout.key[2].index(name)
        shape = layout.shapes[number]
        value = self.adopted(self._one(value), shape)

        cell = self.cell(obj)
        if not fits(shape_of(value), shape):
            wider = unmixed(lub(shape, shape_of(value)))
            if isinstance(wider, Fixed):
                raise Unrollable("an attribute of an object of a list becomes another thing")
            at = obj.location
            if any(at in heap for heap in self.rolls):
                raise Restart(at, lambda: self.widen_pool(at, number, wider))
            self.widen_pool(at, number, wider)
            cell = self.cell(obj)
            layout, shape = cell.key[1], wider
        assert obj.index is not None
        first = sum(len(kinds_of(s)) for s in layout.shapes[:number])
        values = list(cell.values)
        for i, place in enumerate(self.pack(value, shape)):
            if place.kind == I64:
                self.keep_within(place)
            array = self._array(cell, values[first + i], place.kind)
            values[first + i] = Num(self.b.emit("store", array, obj.index, place))
        self.heap[obj.location] = Cell(cell.key, values)
        return NONE

    def widen_pool(self, at: int, number: int, shape: Any) -> None:
        """Give an attribute of the objects of a pool a wider shape."""
        cell = self.heap[at]
        assert isinstance(cell, Cell)
        layout: Layout = cell.key[1]
        first = sum(len(kinds_of(s)) for s in layout.shapes[:number])
        old = layout.shapes[number]
        column = Cell(("columns", old, list), (*cell.values[first : first + len(kinds_of(old))], cell.values[-1]))
        new = self.converted_columns(column, shape)
        shapes = (*layout.shapes[:number], shape, *layout.shapes[number + 1 :])
        values = (*cell.values[:first], *new.values[:-1], *cell.values[first + len(kinds_of(old)) :])
        self.heap[at] = Cell(("pool", Layout(layout.key, shapes)), values)

    # ---- making objects

    def instantiate(self, cls: type, args: list[Value], keywords: dict[str, Value]) -> Result:
        """Return a new object of a class of the program."""
        if issubclass(cls, tuple):
            return self._named_tuple(cls, args, keywords)
        if type(cls) is not type and type(cls).__call__ is not type.__call__:
            raise Refused(f"{cls.__name__} has a metaclass with its own __call__")
        new = lookup(cls, "__new__")
        init = lookup(cls, "__init__")
        if issubclass(cls, BaseException):
            if not isinstance(init, types.FunctionType) and not keywords:
                return Tuple(args, cls)
        elif new is not object.__new__ and getattr(new, "__func__", new) is not object.__new__:
            if not is_generic(cls, new):
                raise Refused(f"{cls.__name__} has its own __new__")
        elif not plain_layout(cls):
            raise Refused(f"{cls.__name__} derives from one of Python's own types")
        obj = self.new(Cell(("object", cls, ()), ()))
        if dataclasses.is_dataclass(cls) and init is not None and not has_source(init):
            return self._init_dataclass(cls, obj, args, keywords)
        if not isinstance(init, types.FunctionType):
            if args or keywords:
                return self.raised(TypeError(f"{cls.__name__}() takes no arguments"))
            return obj
        function = self.read_from_outside("static", cls, "__init__", init)
        return self.bind(self.call(Method(function, obj), args, keywords), lambda _: obj)

    def _named_tuple(self, cls: type, args: list[Value], keywords: dict[str, Value]) -> Result:
        fields = getattr(cls, "_fields", None)
        own = any(isinstance(lookup(cls, name), types.FunctionType) for name in _OF_SEQUENCES)
        if fields is None or not _is_named_tuple(cls) or own:
            raise Refused(f"{cls.__name__} derives from tuple")
        defaults = getattr(cls, "_field_defaults", {})
        values = dict(zip(fields, args)) | keywords
        if len(args) > len(fields) or not set(values) <= set(fields):
            return self.raised(TypeError(f"{cls.__name__}() takes {len(fields)} arguments"))
        for name in fields:
            if name not in values:
                if name not in defaults:
                    return self.raised(TypeError(f"{cls.__name__}() misses {name!r}"))
                values[name] = self.constant(defaults[name])
        return Tuple([values[name] for name in fields], cls)

    def _init_dataclass(self, cls: type, obj: Ref, args: list[Value], keywords: dict[str, Value]) -> Result:
        """Do what the __init__ does that a dataclass has made."""
        fields = [f for f in dataclasses.fields(cls) if f.init]
        positional = [f for f in fields if not f.kw_only]
        given = dict(zip([f.name for f in positional], args)) | keywords
        if len(args) > len(positional) or not set(given) <= {f.name for f in fields}:
            return self.raised(TypeError(f"{cls.__name__}.__init__() got unexpected arguments"))
        if any(f._field_type is dataclasses._FIELD_INITVAR for f in cls.__dataclass_fields__.values()):  # type: ignore[attr-defined]
            raise Refused("a dataclass with InitVar")

        def rest(remaining: list[Any]) -> Result:
            if not remaining:
                if hasattr(cls, "__post_init__"):
                    return self.bind(
                        self.special(obj, "__post_init__"), lambda f: self.bind(self.call(f, [], {}), lambda _: obj)
                    )
                return obj
            f, *others = remaining

            def put(value: Value) -> Result:
                self.put_attribute(obj, f.name, value)
                return rest(others)

            if f.name in given:
                return put(given[f.name])
            if f.default is not dataclasses.MISSING:
                return put(self.constant(f.default))
            if f.default_factory is not dataclasses.MISSING:
                return self.bind(self.call(self.constant(f.default_factory), [], {}), put)
            if f.init:
                return self.raised(TypeError(f"{cls.__name__}.__init__() misses {f.name!r}"))
            return rest(others)

        return rest(list(dataclasses.fields(cls)))

    def dataclass_equal(self, a: Value, b: Value) -> Result:
        """Do what the __eq__ does that a dataclass has made."""
        cls = self.class_of(a)
        if self.class_of(b) is not cls:
            return Const(NotImplemented)
        names = [f.name for f in dataclasses.fields(cls) if f.compare]

        def tuples(i: int, xs: list[Value], ys: list[Value]) -> Result:
            if i == len(names):
                return self._sequences_compared("==", Tuple(xs), Tuple(ys))
            both = self.attribute(a, names[i])
            return self.bind(
                both, lambda x: self.bind(self.attribute(b, names[i]), lambda y: tuples(i + 1, [*xs, x], [*ys, y]))
            )

        return tuples(0, [], [])


def _is_named_tuple(cls: type) -> bool:
    """Return whether a class makes its objects as collections.namedtuple does."""
    new = lookup(cls, "__new__")
    space = getattr(getattr(new, "__func__", new), "__globals__", {})
    return str(space.get("__name__", "")).startswith("namedtuple_")
