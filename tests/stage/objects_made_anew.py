"""Functions whose loops make an object in each iteration."""

import dataclasses
from abc import ABC, abstractmethod
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

from micrograd import math as m

N = 20


class Vec:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vec(self.x - other.x, self.y - other.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def norm2(self):
        return self.x * self.x + self.y * self.y


class Named(ABC):
    @abstractmethod
    def moved(self, dx): ...


class Plain(Named):
    def __init__(self, x, y, name="p"):
        self.x, self.y, self.name, self.count = x, y, name, 0

    def moved(self, dx):
        made = Plain(self.x + dx, self.y * 0.9, self.name)
        made.count = self.count + 1
        return made


@dataclass(frozen=True)
class Frozen:
    value: object
    slope: object = 0.0

    def __mul__(self, other):
        return Frozen(self.value * other.value, self.value * other.slope + self.slope * other.value)

    def __add__(self, other):
        return Frozen(self.value + other.value, self.slope + other.slope)

    def sin(self):
        return Frozen(m.sin(self.value), m.cos(self.value) * self.slope)


@dataclass
class Body:
    pos: Vec
    vel: Vec
    mass: float = 1.0

    def step(self, acc, dt):
        vel = self.vel + acc * dt
        return Body(self.pos + vel * dt, vel, self.mass)


Pair = namedtuple("Pair", "a b")


class State(NamedTuple):
    t: float
    x: object
    mode: str = "up"

    def next(self, dt):
        return self._replace(t=self.t + dt, x=self.x + dt * self.t)


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __matmul__(self, other):
        columns = list(zip(*other.rows))
        return Matrix([[sum(a * b for a, b in zip(row, c)) for c in columns] for row in self.rows])

    def __add__(self, other):
        return Matrix([[a + b for a, b in zip(r, q)] for r, q in zip(self.rows, other.rows)])

    def scaled(self, k):
        return Matrix([[k * a for a in row] for row in self.rows])


class Box:
    def __init__(self, inner):
        self.inner = inner


def slots(x, y):
    v, a = Vec(x, y), Vec(0.0, -1.0)
    p = Vec(0.0, 0.0)
    for _ in range(N):
        v = v + a * 0.01 - 0.1 * v
        p = p + v * 0.1
    return p.x * v.y + p.y


def attributes(x, y):
    p = Plain(x, y)
    for i in range(N):
        p = p.moved(0.1 * i)
    return p.x * p.y + p.count + len(p.name)


def frozen_duals(x, y):
    a = Frozen(x, 1.0)
    total = Frozen(0.0)
    for _ in range(N):
        a = (a * Frozen(y) + Frozen(0.3)).sin()
        total = total + a
    return total.value + 2.0 * total.slope


def nested(x, y):
    b = Body(Vec(x, 0.0), Vec(0.0, y), 2.0)
    for _ in range(N):
        b = b.step(b.pos * (-1.0 / (0.5 + b.pos.norm2())), 0.05)
    return b.pos.x + b.vel.y * b.mass


def named_tuple(x, y):
    p = Pair(x, y)
    for _ in range(N):
        p = Pair(p.a + 0.1 * p.b, p.b - 0.1 * p.a)
    return p.a * p.b


def typed_tuple(x, y):
    s = State(0.0, x)
    for _ in range(N):
        s = s.next(0.1)
        s = s._replace(mode="down" if s.x > y else "up")
    return s.x + s.t + (1.0 if s.mode == "up" else 2.0)


def tuples_in_tuples(x, y):
    state = ((x, y), (0.0, (y, x)))
    for _ in range(N):
        (a, b), (c, (d, e)) = state
        state = ((a + 0.1 * d, b), (c + a, (d * 0.9, e - 0.1 * b)))
    return state[0][0] + state[1][0] * state[1][1][1]


def list_of_objects(x, y):
    bodies = [Body(Vec(x, 0.0), Vec(0.0, y)), Body(Vec(-1.0, y), Vec(0.1, 0.0)), Body(Vec(0.5, 2.0), Vec(x, x))]
    for _ in range(N):
        center = Vec(sum(b.pos.x for b in bodies) / 3.0, sum(b.pos.y for b in bodies) / 3.0)
        bodies = [b.step((center - b.pos) * 0.5, 0.1) for b in bodies]
    return bodies[0].pos.x + bodies[2].vel.y


def attribute_of_another(x, y):
    b = Body(Vec(x, y), Vec(0.0, y))
    for _ in range(N):
        b.vel = b.vel - b.pos * 0.1
        b.pos = b.pos + b.vel * 0.1
    return b.pos.x + b.vel.y


def dict_state(x, y):
    s = {"x": x, "v": y}
    for _ in range(N):
        s = {"x": s["x"] + 0.1 * s["v"], "v": s["v"] - 0.1 * s["x"]}
    return s["x"] * s["v"]


def matrices(x, y):
    a = Matrix([[0.9, 0.1 * x], [-0.1, 0.8]])
    p = Matrix([[x, 0.0], [0.0, y]])
    for _ in range(N):
        p = (a @ p).scaled(0.7) + Matrix([[0.1, 0.0], [0.0, 0.1]])
    return p.rows[0][0] + p.rows[1][0] * p.rows[1][1]


def replaced(x, y):
    b = Body(Vec(x, y), Vec(y, x))
    for _ in range(N):
        b = dataclasses.replace(b, pos=b.pos + b.vel * 0.1, mass=b.mass * 0.99)
    return b.pos.x * b.mass


def in_an_arm(x, y):
    v, flips = Vec(x, y), 0
    for _ in range(N):
        if v.x > 0.5:
            v = Vec(v.x * 0.5, v.y + 0.1)
            flips += 1
        elif v.y > 1.0:
            v = v - Vec(0.1, 1.0)
        else:
            v = v + Vec(0.2, 0.05)
    return v.x + v.y * flips


def best_so_far(x, y):
    v = best = Vec(x, y)
    for _ in range(N):
        v = v * 0.9 + Vec(0.1 * x, -0.2)
        if v.norm2() < best.norm2():
            best = v
    return best.x + best.y * v.y


def one_before(x, y):
    v, before = Vec(x, y), None
    for _ in range(N):
        before = v
        v = v * 0.5 + Vec(0.1, 0.1 * y)
    return v.x - before.x + before.y


def escapes(x, y):
    z, c = Vec(0.0, 0.0), Vec(x, y)
    n = 0
    while z.norm2() < 4.0 and n < 50:
        z = Vec(z.x * z.x - z.y * z.y + c.x, 2.0 * z.x * z.y + c.y)
        n += 1
    return z.x + n


def breaks(x, y):
    v = Vec(x, y)
    for i in range(N):
        v = v + Vec(0.1, -0.1 * i * y)
        if v.x > 1.5:
            break
    else:
        v = -v
    return v.x * 2.0 + v.y


def nested_loops(x, y):
    v = Vec(x, y)
    for i in range(N):
        for _ in range(13):
            v = v * 0.99 + Vec(0.01 * i, 0.0)
        v = Vec(v.y, v.x)
    return v.x - v.y


def changed_behind(x, y):
    v = Vec(x, y)
    for _ in range(N):
        v = v * 0.9 + Vec(0.1, 0.2)
        v.x = v.x + 0.1
    v.y = 3.0 * v.x
    return v.x + v.y


def helper(x, y):
    def clipped(v):
        if v.x > 1.0:
            return Vec(1.0, v.y)
        return v

    v = Vec(x, y)
    for _ in range(N):
        v = clipped(v + Vec(0.1 * y, -0.1))
    return v.x * v.y


class Account:
    """A property that is assigned, and an attribute that is kept once it is computed."""

    def __init__(self, balance):
        self.balance = balance

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, x):
        self._balance = x * 1.0

    def grown(self, rate):
        return Account(self.balance * (1.0 + rate))


def properties(x, y):
    a = Account(x)
    for _ in range(N):
        a = a.grown(0.1 * y)
    return a.balance


def replaced_in_a_list(x, y):
    ps = [Vec(x, y), Vec(y, x)]
    names = ps
    for _ in range(N):
        ps[0], ps[1] = ps[1] * 0.9, ps[0]
    return names[0].x + 2.0 * ps[1].x


def function_in_the_body(x, y):
    v = Vec(x, y)
    for i in range(N):
        f = lambda t, i=i: t * 0.9 + 0.01 * i  # noqa: E731
        v = Vec(f(v.x), v.y)
    return v.x


class Items:
    def __init__(self, items):
        self.items = items

    def __getitem__(self, k):
        return self.items[k]

    def __setitem__(self, k, x):
        self.items[k] = x

    def __iter__(self):
        return iter(self.items)


def own_list(x, y):
    a = Items([x, y, 1.0])
    for _ in range(N):
        a = Items([0.9 * u + 0.01 for u in a])
        a[0] = a[1] + 0.1
    return a[0] + a[2]


def remainder(x, y):
    s, t = 3, 0.0
    for _ in range(N):
        s = (s * 5 + 3) % 16
        t = t + (x if s > 7 else y) * s
    return t


ROLLED = [
    replaced_in_a_list, function_in_the_body, own_list, remainder,
    slots, attributes, frozen_duals, nested, named_tuple, typed_tuple, tuples_in_tuples, list_of_objects,
    attribute_of_another, dict_state, matrices, replaced, in_an_arm, best_so_far, one_before, escapes, breaks, nested_loops,
    changed_behind, helper, properties,
]  # fmt: skip
