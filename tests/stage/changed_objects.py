"""Functions whose loops assign attributes of objects; in some of them something stands in the way of a loop in the tape."""

from dataclasses import dataclass

from micrograd import math as m

N = 20


class Particle:
    def __init__(self, x, v):
        self.x, self.v, self.t, self.name, self.path = x, v, 0.0, "p", []

    def step(self, dt):
        self.v = self.v - self.x * dt
        self.x += self.v * dt
        self.t += dt


@dataclass
class Counter:
    total: object = 0.0
    count: int = 0


class Box:
    def __init__(self, inner):
        self.inner = inner


def stepped(x, y):
    p = Particle(x, y)
    for _ in range(N):
        p.step(0.1)
    return p.x * p.v + p.t


def two_names(x, y):
    p = Particle(x, y)
    q, boxes = p, [p, p]
    for _ in range(N):
        p.x = p.x * 0.9 + q.v
        q.v = boxes[1].x - 0.1
        boxes[0].t = boxes[0].t + p.x
    return q.x + boxes[0].v + p.t


def two_objects(x, y):
    a, b = Particle(x, y), Particle(y, x)
    for _ in range(N):
        force = m.sin(a.x - b.x)
        a.v, b.v = a.v - 0.1 * force, b.v + 0.1 * force
        a.step(0.05)
        b.step(0.05)
    return a.x * b.v


def nested_loops(x, y):
    p = Particle(x, y)
    for i in range(N):
        for _ in range(4):
            p.x = p.x * 0.99 + 0.01 * i
        p.v = p.v + p.x
    return p.v


def in_an_arm(x, y):
    c, p = Counter(), Particle(x, y)
    for _ in range(N):
        p.step(0.1)
        if p.x > 0.3:
            c.total = c.total + p.x
            c.count += 1
    return c.total * c.count + p.v


def leaves_early(x, y):
    p = Particle(x, y)
    for _ in range(N):
        p.step(0.2)
        if p.x < -0.2:
            break
    return p.x + p.t


def exchanged(x, y):
    a, b = Particle(x, y), Particle(y, x)
    for _ in range(N):
        a.x = a.x * 0.9 + b.v
        a, b = b, a
    return a.x + b.x * 2.0


def another_inside(x, y):
    box = Box(Particle(x, y))
    for i in range(N):
        box.inner.x = box.inner.x * 0.9 + 0.1
        if i == 7:
            box.inner = Particle(y, x)
    return box.inner.x


def inside_of_box(x, y):
    box = Box(Particle(x, y))
    p = box.inner
    for _ in range(N):
        box.inner.step(0.1)
        p.v = p.v * 0.9
    return p.x + box.inner.v


def list_in_object(x, y):
    p = Particle(x, y)
    p.path = [x] * 30
    names = p.path
    for i in range(1, N):
        p.x = p.x * 0.9 + names[i - 1]
        p.path[i] = p.x + y
    return names[N - 1] + p.x


def new_list_in_object(x, y):
    p = Particle(x, y)
    old = p.path
    for _ in range(N):
        p.x = p.x * 0.9 + y
        p.path = [p.x, p.v]
    return p.path[0] + len(old)


def new_attribute(x, y):
    p = Particle(x, y)
    for _ in range(N):
        p.x = p.x * 0.9 + y
        p.seen = p.x
    return p.seen


def appended(x, y):
    p, seen = Particle(x, y), []
    for _ in range(N):
        p.step(0.1)
        seen.append(p)
    return seen[0].x + seen[-1].v


def is_asked(x, y):
    p = Particle(x, y)
    first, same = p.x, 0
    for _ in range(N):
        same += p.x is first
        p.x = p.x * 1.0 if same > 3 else p.x
    return p.x + same


def named_differently(x, y):
    a, b = Particle(x, y), Particle(y, x)
    now = a
    for i in range(N):
        now = a if i % 2 else b
        now.x = now.x * 0.9 + y
    return a.x + b.x * now.x


def short_list(x, y):
    u = [x * j - y for j in range(N)]
    for j in range(1, N - 1):
        u[3] = u[N - 1 - j] * 2.0 + u[3] * 0.5
    return u[0] + u[2] * 2.0 + u[3] * 3.0


def same_value(x, y):
    first, same, z = x, 0, x
    for _ in range(N):
        same += z is first
        z = z * 0.5 if z > 3.0 else z
    return z + same


PROGRAMS = [
    stepped, two_names, two_objects, nested_loops, in_an_arm, leaves_early, exchanged, another_inside, inside_of_box,
    list_in_object, new_list_in_object, new_attribute, appended, is_asked, named_differently,
    short_list, same_value,
]  # fmt: skip
