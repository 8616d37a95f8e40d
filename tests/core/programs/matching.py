"""The match statement: every kind of pattern, guards, captures, and what is asked of the subject."""

from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from enum import Enum


@dataclass
class Point:
    x: int
    y: int


class Plain:
    def __init__(self, **k):
        self.__dict__.update(k)

    def __repr__(self):
        return "Plain"


class Color(Enum):
    RED = 1
    BLUE = 2


Pair = namedtuple("Pair", "a b")


def kinds(v):
    match v:
        case 0 | 1 | -1:
            return "small"
        case 2.5:
            return "float"
        case "a" | b"a":
            return "text"
        case 1 + 2j | -1j:
            return "complex"
        case None:
            return "none"
        case True:
            return "true"
        case Color.RED:
            return "red"
        case []:
            return "empty"
        case [x]:
            return "one", x
        case [0, *rest]:
            return "zero first", rest
        case [x, 0]:
            return "zero last", x
        case [x, y] if x == y:
            return "same", x
        case [Point(x=0), *_, Point(0, y)]:
            return "points", y
        case [1, [2, [3, *deep]]]:
            return "deep", deep
        case [_, _]:
            return "two"
        case [first, *middle, last]:
            return first, middle, last
        case {"kind": "a", "value": v} if v > 1:
            return "a", v
        case {"kind": str(k), **rest}:
            return "kind", k, rest
        case {"point": Point(x, y) as p, "n": 1 | 2 as n}:
            return x, y, p, n
        case {}:
            return "mapping"
        case int(n) | float(n):
            return "number", n
        case Point(x, y=0):
            return "on axis", x
        case Point(x=x, y=y) as p if x > 10:
            return "far", p
        case Point():
            return "point"
        case Plain(a=1, b=[_, c]):
            return "plain", c
        case str() as s:
            return "str", s
        case Color() as c:
            return "color", c.name
        case list() | tuple() | deque():
            return "sequence"
        case _:
            return "other"


values = [0, 1, -1, 2.5, "a", b"a", 1 + 2j, -1j, None, True, False, Color.RED, Color.BLUE, [], (), [5], "x", [0, 1, 2], (7, 0),
          [3, 3], [3, 4], [Point(0, 1), 5, Point(0, 9)], [1, [2, [3, 4, 5]]], range(3), deque([1, 2, 3]), {"kind": "a", "value": 2},
          {"kind": "a", "value": 1}, {"kind": 1}, {"point": Point(1, 2), "n": 2}, {}, OrderedDict(a=1), 7, 2.0, Point(1, 0),
          Point(11, 1), Point(1, 1), Plain(a=1, b=(0, "c")), Plain(a=1), "long", {1, 2}, Pair(1, 2), Pair(3, 3), bytearray(b"z")]  # fmt: skip
for v in values:
    print(repr(v)[:40], "->", kinds(v))


class Loud:
    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        print("eq", self.name, other, end=" ")
        return False

    def __getattr__(self, name):
        print("attr", name, end=" ")
        if name.startswith("__"):
            raise AttributeError(name)
        return 5


def asked(v):
    match v:
        case 1 | 2:
            return 1
        case Loud(a=5, b=6):
            return 2
        case Loud(a=5, b=x) if print("guard", x) or x > 5:
            return 3
        case Loud(a=Loud(b=1)):
            return 4
        case Loud(name=n):
            return n


print(asked(Loud("l")))


class Items:
    def __init__(self, *items):
        self.items = items

    def __len__(self):
        print("len", end=" ")
        return len(self.items)

    def __getitem__(self, i):
        print(f"[{i}]", end=" ")
        return self.items[i]


import collections.abc

collections.abc.Sequence.register(Items)


def sequences(v):
    match v:
        case [1]:
            return "a"
        case [_, _, _]:
            return "three"
        case [1, *_]:
            return "b"
        case [*_, 9]:
            return "c"
        case [a, *_, b, 8]:
            return a, b
        case [*_]:
            return "any"


for v in (Items(1), Items(1, 2), Items(3, 9), Items(4, 5, 6, 8), Items(0, 0, 0), Items()):
    print(sequences(v))


class Keys(dict):
    def get(self, key, default=None):
        print("get", key, end=" ")
        return super().get(key, default)

    def keys(self):
        print("keys", end=" ")
        return super().keys()


def mappings(v, key="k"):
    class K:
        name = key

    match v:
        case {"a": 1, "b": 2}:
            return "ab"
        case {"a": 1, K.name: x, **rest}:
            return x, rest
        case {"a": _}:
            return "a"
    return "no"


for v in (Keys(a=1, b=2), Keys(a=1, k=3, z=4), Keys(a=2), Keys(b=1), {"a": 1, "k": 2}):
    print(mappings(v))
try:
    mappings({"a": 1, "b": 3}, "a")
except ValueError as error:
    print(error)


def captured_when(v):
    found = "before"
    match v:
        case [found, 1]:
            pass
        case [_, found] if found > 5:
            pass
        case [(1 | 2) as found, _] | [_, (1 | 2) as found]:
            pass
        case found:
            pass
    return found


print(captured_when([7, 1]), captured_when([7, 9]), captured_when([7, 2]), captured_when([2, 3]), captured_when([0, 0]))


def not_captured(v):
    match v:
        case [x, 0]:
            return x
        case [y, z] if False:
            pass
    try:
        return x
    except UnboundLocalError as error:
        return str(error), y


print(not_captured([1, 0]), not_captured([1, 2]))


def wrong(v, kind):
    match v:
        case kind(1, 2, 3):
            return 1
    return 0


class Odd:
    __match_args__ = ["a"]


class Odder:
    __match_args__ = (1, 2, 3)


class Twice:
    __match_args__ = ("a", "a", "a")
    a = 1


for v, kind in ((1, 5), (1, int), (Point(1, 2), Point), (Odd(), Odd), (Odder(), Odder), (Twice(), Twice), (1, str)):
    try:
        print(wrong(v, kind))
    except TypeError as error:
        print(error)


def loops(items):
    out = []
    for item in items:
        match item:
            case "stop":
                break
            case "skip" | "":
                continue
            case str(text):
                out.append(text)
            case int(n) if n > 2:
                return out, n
            case (a, b) | [a, b, _]:
                out.append((b, a))
    else:
        out.append("all")
    return out


print(loops(["a", "skip", (1, 2), [3, 4, 5], 1]), loops(["a", "stop", "b"]), loops([3]), loops([]))


def nothing(v):
    match v, 1:
        case (x, 2):
            return x
    match v:
        case _ if v:
            return "guarded"
    return None


print(nothing(0), nothing(1))


class InBody:
    match [1, 2]:
        case [a, *b] if a:
            c = b
    print(a, b, c)


match {"x": [1, {"y": 2}]}:
    case {"x": [int(one), {"y": two}]}:
        print(one, two)
