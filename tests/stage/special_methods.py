"""Functions in which one arm runs code that CPython calls by itself, and which changes something that all rows read."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import math
import sys
from dataclasses import dataclass, field


class Counting:
    """Counts how often its special methods are called."""

    def __init__(self):
        self.n = 0

    def _count(self, result):
        self.n += 1
        return result

    def __getitem__(self, i):
        return self._count(2.0)

    def __len__(self):
        return self._count(2)

    def __bool__(self):
        return self._count(True)

    def __contains__(self, x):
        return self._count(True)

    def __add__(self, other):
        return self._count(other * 2.0)

    def __radd__(self, other):
        return self._count(other * 3.0)

    def __neg__(self):
        return self._count(3.0)

    def __lt__(self, other):
        return self._count(True)

    def __eq__(self, other):
        return self._count(True)

    def __hash__(self):
        return self._count(1)

    def __str__(self):
        return self._count("text")

    def __float__(self):
        return self._count(1.0)

    def __index__(self):
        return self._count(1)

    def __abs__(self):
        return self._count(1.0)

    def __iter__(self):
        return self._count(iter([1.0, 2.0]))

    def __call__(self):
        return self._count(1.0)

    def __iadd__(self, other):
        self.n += 5
        return self


ASKED = {
    "item": lambda g: g[0],
    "len": lambda g: len(g),
    "condition": lambda g: 1.0 if g else 2.0,
    "bool": lambda g: bool(g) * 1.0,
    "in": lambda g: (3 in g) * 1.0,
    "plus": lambda g: g + 1.0,
    "plus_from_the_right": lambda g: 1.0 + g,
    "minus": lambda g: -g,
    "less": lambda g: (g < 3) * 1.0,
    "greater": lambda g: (3 > g) * 1.0,  # noqa: SIM300
    "equal": lambda g: (g == 3) * 1.0,
    "unequal": lambda g: (g != 3) * 1.0,
    "str": lambda g: len(str(g)),
    "f_string": lambda g: len(f"{g}"),
    "percent": lambda g: len("%s" % g),  # noqa: UP031
    "format": lambda g: len("{}".format(g)),  # noqa: UP032
    "hash": lambda g: hash(g),
    "key": lambda g: len({g: 1}),
    "in_set": lambda g: (g in {1}) * 1.0,
    "float": lambda g: float(g),
    "index": lambda g: [1.0, 2.0][g],
    "slice": lambda g: len([1, 2, 3][g:]),
    "range": lambda g: len(range(g)),
    "abs": lambda g: abs(g),
    "root": lambda g: math.sqrt(g),
    "sum": lambda g: sum(g),
    "list": lambda g: len(list(g)),
    "sorted": lambda g: len(sorted([g, g])),
    "max": lambda g: (max(g, g) is g) * 1.0,
    "any": lambda g: any([g]) * 1.0,
    "call": lambda g: g(),
}


def counting(ask):
    """What `ask` counts in one arm is read by all rows."""

    def f(x):
        g = Counting()
        r = x
        if x > 0:
            r = x + ask(g)
        return r + 10 * g.n

    return f


class Cached:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def twice(self):
        return self.x * 2

    def __getattr__(self, name):
        self.asked = name
        return 2.0


class Descriptor:
    def __get__(self, instance, owner):
        instance.n += 1
        return 2.0


class Described:
    value = Descriptor()

    def __init__(self):
        self.n = 0


class Growing(dict):
    def __missing__(self, key):
        self[key] = 2.0 * key
        return self[key]


def cached_property(x):
    c = Cached(x)
    r = c.twice if x > 0 else x
    return r + 10 * ("twice" in c.__dict__)


def missing_attribute(x):
    c = Cached(x)
    r = x * c.other if x > 0 else x
    return r + 10 * ("asked" in c.__dict__)


def descriptor(x):
    d = Described()
    r = x * d.value if x > 0 else x
    return r + 10 * d.n


def default_dict(x):
    d = collections.defaultdict(float)
    r = x + d["k"] if x > 0 else x
    return r + 10 * len(d)


def missing_item(x):
    d = Growing()
    return d[3 if x > 0 else 4] * x + len(d)


def in_place(x):
    g = Counting()
    if x > 0:
        g += 1
    return x + 10 * g.n


def names_here(x):
    if x > 0:
        y = 1  # noqa: F841
    return x * len(dir())


def cause(x):
    try:
        try:
            if x > 0:
                raise KeyError("a")
            raise ValueError("b")
        except KeyError as e:
            raise RuntimeError("c") from e
    except (RuntimeError, ValueError) as e:
        return x * 2 if isinstance(e.__cause__, KeyError) else x * 3


def context(x):
    try:
        try:
            if x > 0:
                raise KeyError("a")
            raise ValueError("b")
        except KeyError:
            raise RuntimeError("c")  # noqa: B904
    except (RuntimeError, ValueError) as e:
        return x * 2 if e.__context__ is not None else x * 3


def effect_of_a_cause(x):
    log = []

    def reason():
        log.append(1)

    try:
        if x > 0:
            raise ValueError from reason()
    except ValueError:
        pass
    return x * (1 + len(log))


def message_of_an_assertion(x):
    try:
        assert x > 0, "negative"
        return x
    except AssertionError as e:
        return x * len(e.args) + len(str(e))


def current_exception(x):
    try:
        if x > 0:
            raise KeyError
        raise ValueError
    except Exception:
        return x * 2 if sys.exc_info()[0] is KeyError else x * 3


class Swallowing:
    n = 1

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.n = 5 if traceback is not None else 7
        return True


def traceback_of_an_exit(x):
    manager = Swallowing()
    with manager:
        if x > 0:
            raise ValueError
    return x * manager.n


FUNCTIONS = [
    cached_property, missing_attribute, descriptor, default_dict, missing_item, in_place, names_here, cause, context,
    effect_of_a_cause, message_of_an_assertion, current_exception, traceback_of_an_exit,
]  # fmt: skip


@dataclass(frozen=True)
class Point:
    x: float
    y: float = 1.0

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y) if self.x > other.x else Point(other.x, self.y)

    def __mul__(self, k):
        return Point(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __abs__(self):
        return self.x

    def __neg__(self):
        return Point(-self.x, self.y) if self.y > 0 else self

    def __bool__(self):
        return self.x > 0

    def __getitem__(self, k):
        return self.x if k == 0 else self.y

    def __lt__(self, other):
        return self.x < other.x


@dataclass
class Checked:
    x: float
    tags: list = field(default_factory=lambda: [1.0])
    y: float = 2.0
    made: float = field(default=3.0, init=False)

    def __post_init__(self):
        if self.x > 0:
            self.y = self.x * 2
            self.tags.append(self.x)


def points(x):
    p = Point(x) + 2.0 * Point(0.5, x)
    p += Point(1.0, 2.0)
    if not p:
        p = -p
    return p.x * p[1] + min(p, Point(x, x)).x


def fields(x):
    a, b = Checked(x), Checked(-x, y=5.0)
    return a.y + sum(a.tags) + 2 * b.y + sum(b.tags) * b.made


MERGED = [points, fields]


def insertion(x):
    numbers = [1, 3, 5]
    bisect.insort(numbers, 2 if x > 0 else 4)
    return x * sum(i * n for i, n in enumerate(numbers))


def heap(x):
    numbers = []
    heapq.heappush(numbers, 3 if x > 0 else 9)
    heapq.heappush(numbers, 5)
    return x * heapq.heappop(numbers) + len(numbers)


def queue(x):
    q = collections.deque([1.0])
    q.append(2 if x > 0 else 3)
    return x * sum(q) + len(q)


def same_nan(x):
    n = math.nan if x > 0 else 1.0
    return x if n in (2.0, n) else 5.0


FUNCTIONS += [insertion, heap, queue, same_nan]


def reduction(x):
    if x > 0:
        return functools.reduce(lambda a, b: a * b if a > b else a + b, [x, 1.0, 2.0], 0.5)
    return functools.reduce(lambda a, b: a - b, (x, 1.0))


def best_index(x):
    scores = [x, 0.25, -x]
    best = max(range(3), key=scores.__getitem__)
    return scores[best] * (best + 1)


MERGED += [reduction, best_index]


class Step:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __abs__(self):
        return self.x if self.x > self.y else self.y - self.x


def absolute_in_an_arm_and_a_loop(x):
    step = Step(x, 0.5)
    for _ in range(20):
        step = Step(abs(step) * 0.9, 0.4) if step.x > 0 else Step(1.0 - abs(step), x)
    return abs(step) * x


MERGED += [absolute_in_an_arm_and_a_loop]
