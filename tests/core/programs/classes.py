"""Classes made by the program: bodies, super, __class__, metaclasses, descriptors, private names, dataclasses, enums."""

from __future__ import annotations

import abc
import enum
from collections import namedtuple
from dataclasses import dataclass, field
from functools import cached_property, total_ordering
from typing import ClassVar, Generic, NamedTuple, TypeVar

x = "global"


class Base:
    """A base class."""

    count = 0
    squares = [i * i for i in range(4)]
    pairs = {i: j for i in squares[:2] for j in range(i)}

    def __init__(self, value=1, /, *rest, scale: float = 2.0, **others):
        self.value = value
        self.scale = scale
        type(self).count += 1
        self.__hidden = rest
        self.others = others

    def hidden(self):
        return self.__hidden, self._Base__hidden

    def __secret(self):
        return "secret of Base"

    def reveal(self):
        return self.__secret()

    @property
    def double(self):
        return self.value * 2

    @double.setter
    def double(self, value):
        self.value = value / 2

    @double.deleter
    def double(self):
        self.value = 0

    @classmethod
    def make(cls, *args):
        return cls(*args)

    @staticmethod
    def static(a, b=3):
        return a + b

    def name(self):
        return __class__.__name__ + "/" + type(self).__name__


class Derived(Base):
    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.extra = [super().double for _ in range(1)] if __import__("sys").version_info >= (3, 12) else [self.double]

    def __secret(self):
        return "secret of Derived"

    def name(self):
        def inner():
            return __class__.__qualname__

        return super().name() + "|" + super(Derived, self).name() + inner()

    @property
    def double(self):
        return super().double + 1

    @classmethod
    def make(cls, *args):
        return super().make(*args)


d = Derived.make(5, 6)
print(d.name(), d.double, d.hidden(), d.reveal(), d.extra, Derived.count, Base.count, Base.pairs)
b = Base(3, scale=1, z=1)
b.double = 10
print(b.value, b.others, b.static(1), Base.static(1, 1), Base.__doc__, Base.name.__qualname__, Base.__init__.__annotations__)
del b.double
print(b.value)


def local_classes(n):
    class Counter:
        total = n
        print("body", n, total, __qualname__, __module__)

        def add(self, k):
            nonlocal n
            n += k
            return self, Counter

        if n > 1:
            def big(self):
                return n
        else:
            small = True

        for i in range(2):
            locals()[f"made{i}"] = i
        del i

    return Counter


C = local_classes(1)
print(C.__qualname__, C.small, C.total, hasattr(C, "i"), C.made0, C.made1, C().add(3)[1] is C)
print(local_classes(5)().big())


def shadow():
    x = "function"

    class Reads:
        y = x  # of the function
        print(x)

    class Binds:
        print(x)  # the global one: this class binds x
        x = x + "!"
        print(x)

        def method(self):
            return x

    class Declares:
        nonlocal x
        x = "changed"
        global z
        z = "made global"

    print(Reads.y, Binds.x, Binds().method(), x, z, hasattr(Declares, "x"))


shadow()


class Meta(type):
    @classmethod
    def __prepare__(meta, name, bases, **kw):
        print("prepare", name, bases, kw)
        return Namespace(seen=[])

    def __new__(meta, name, bases, namespace, **kw):
        print("new", name, sorted(k for k in namespace if not k.startswith("__")), kw)
        return super().__new__(meta, name, bases, dict(namespace))

    def __init__(cls, name, bases, namespace, **kw):
        super().__init__(name, bases, namespace)

    def __call__(cls, *args):
        print("call", cls.__name__)
        return super().__call__(*args)


class Namespace(dict):
    def __missing__(self, key):
        if key.startswith("magic"):
            return key.upper()
        raise KeyError(key)

    def __setitem__(self, key, value):
        if not key.startswith("__"):
            print("set", key)
        super().__setitem__(key, value)


class WithMeta(metaclass=Meta, option=1):
    a = magic_word
    b = x

    def method(self):
        return __class__ is type(self)


print(WithMeta().method(), WithMeta.a, WithMeta.b)


class Sub(WithMeta):
    pass


class Registered:
    found = []

    def __init_subclass__(cls, tag=None, **kw):
        super().__init_subclass__(**kw)
        Registered.found.append((cls.__name__, tag))

    def __class_getitem__(cls, item):
        return f"{cls.__name__}[{item}]"


class One(Registered, tag="one"):
    pass


class Two(One):
    pass


print(Registered.found, Two[5])


class Descriptor:
    def __set_name__(self, owner, name):
        print("set name", owner.__name__, name)
        self.name = "_" + name

    def __get__(self, obj, kind=None):
        return self if obj is None else getattr(obj, self.name, "unset")

    def __set__(self, obj, value):
        setattr(obj, self.name, value * 2)


class Uses:
    field = Descriptor()

    def __init__(self):
        print(self.field)
        self.field = 4


print(Uses().field)


@dataclass(order=True)
class Point:
    x: float
    y: float = 0.0
    tags: list = field(default_factory=list, compare=False)
    kind: ClassVar[str] = "point"

    def __post_init__(self):
        self.tags.append("made")

    @cached_property
    def norm(self):
        return (self.x**2 + self.y**2) ** 0.5


def local_dataclass():
    @dataclass
    class P(Point):
        z: int = 5

        def __add__(self, other):
            return P(self.x + other.x, self.y + other.y, z=self.z)

    return P(1.0, 2.0) + P(3.0, 4.0)


print(Point(1, 2), Point(3, 4).norm, Point(1) < Point(2), Point(1) == Point(1), local_dataclass())


class Color(enum.Enum):
    RED = 1
    GREEN = enum.auto()
    ALIAS = RED

    def describe(self):
        return f"{self.name}={self.value}"

    @classmethod
    def default(cls):
        return cls.RED


print(Color.GREEN.describe(), Color.ALIAS is Color.RED, Color.default(), list(Color))


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2


try:
    Shape()
except TypeError as error:
    print(str(error)[:40])
print(Square(3).area())
T = TypeVar("T")


class Stack(Generic[T]):
    items: list[T]

    def __init__(self) -> None:
        self.items = []

    def push(self, item: T) -> T:
        self.items.append(item)
        return item


print(Stack[int]().push(4), Stack.__orig_bases__, Stack.__annotations__ if hasattr(Stack, "__annotations__") else None)
Pair = namedtuple("Pair", "a b")


class Named(NamedTuple):
    a: int
    b: str = "b"

    def both(self):
        return self.a, self.b


print(Pair(1, b=2)._replace(a=5), Pair.__module__, Named(1).both(), Named.__module__)


@total_ordering
class Ordered:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __lt__(self, other):
        return self.n < other.n


print(Ordered(1) <= Ordered(2), Ordered(1) > Ordered(2), sorted([Ordered(2), Ordered(1)])[0].n)


class Operators:
    def __init__(self, v):
        self.v = v

    def __add__(self, o):
        return NotImplemented if isinstance(o, str) else Operators(self.v + getattr(o, "v", o))

    __radd__ = __add__

    def __getattr__(self, name):
        if name.startswith("dyn_"):
            return name[4:]
        raise AttributeError(f"no {name}")

    def __call__(self, *a, **k):
        return a, k

    def __len__(self):
        return self.v

    def __contains__(self, x):
        return x == self.v

    def __getitem__(self, key):
        return key

    def __matmul__(self, other):
        return "matmul"

    def __index__(self):
        return self.v

    def __repr__(self):
        return f"Operators({self.v})"


o = Operators(2)
print(o + 1, 1 + o, o.dyn_x, o(1, a=2), len(o), 2 in o, 3 not in o, o[1:2, ..., None], o @ 1, [1, 2, 3][o], bool(Operators(0)))
for run in (lambda: o + "s", lambda: o.other, lambda: o < o):
    try:
        run()
    except (TypeError, AttributeError) as error:
        print(type(error).__name__, error)


class Outer:
    class Inner:
        def where(self):
            return type(self).__qualname__

    def make(self):
        class __Private:
            pass

        self.__x = __Private
        return sorted(vars(self)), __Private.__name__


print(Outer.Inner().where(), Outer().make())


class Slots:
    __slots__ = ("a", "__b")

    def __init__(self):
        self.a, self.__b = 1, 2


print(Slots().a, Slots()._Slots__b)
try:
    Slots().c = 1
except AttributeError as error:
    print(type(error).__name__)
try:
    class Bad(Base, Derived):
        pass
except TypeError as error:
    print(error)
try:
    class Unknown(undefined_name):
        pass
except NameError as error:
    print(error)


class Broken:
    try:
        del missing
    except NameError as error:
        print(error, error.__context__)
    try:
        print(missing)
    except NameError as error:
        print(error, error.__context__)


def no_class():
    return super()


def method_alone(self):
    return super().__init__


for f, args in ((no_class, ()), (method_alone, (1,))):
    try:
        f(*args)
    except RuntimeError as error:
        print(error)
try:
    class C(metaclass=lambda *args: args[0]):
        pass
    print(C)
except TypeError as error:
    print(error)
print([c.__name__ for c in Derived.__mro__], isinstance(d, Base), issubclass(Derived, Base))
