"""Simulations, filters and searches with small classes, as users write them: each loop makes objects anew, and stays a loop."""

import dataclasses
import math
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

from micrograd import math as m

N = 8


class Vec3:
    __slots__ = ("x", "y", "z")

    def __init__(self, x=0.0, y=0.0, z=0.0):
        self.x = x
        self.y = y
        self.z = z

    def __add__(self, o):
        return Vec3(self.x + o.x, self.y + o.y, self.z + o.z)

    def __sub__(self, o):
        return Vec3(self.x - o.x, self.y - o.y, self.z - o.z)

    def __mul__(self, k):
        return Vec3(self.x * k, self.y * k, self.z * k)

    __rmul__ = __mul__

    def __truediv__(self, k):
        return self * (1.0 / k)

    def __neg__(self):
        return Vec3(-self.x, -self.y, -self.z)

    def dot(self, o):
        return self.x * o.x + self.y * o.y + self.z * o.z

    def cross(self, o):
        return Vec3(self.y * o.z - self.z * o.y, self.z * o.x - self.x * o.z, self.x * o.y - self.y * o.x)

    def norm(self):
        return m.sqrt(self.dot(self) + 1e-9)

    def __iter__(self):
        return iter((self.x, self.y, self.z))

    def __getitem__(self, i):
        return (self.x, self.y, self.z)[i]

    def __abs__(self):
        return self.norm()


@dataclass
class Body:
    mass: float
    pos: Vec3
    vel: Vec3


def nbody(x, y):
    bodies = [
        Body(1.0, Vec3(x, 0, 0), Vec3(0, y, 0)),
        Body(0.5, Vec3(0, 1.0, 0), Vec3(y, 0, 0)),
        Body(0.1, Vec3(2.0, 2.0, x), Vec3()),
    ]
    dt = 0.01
    for _ in range(N):
        new = []
        for i, b in enumerate(bodies):
            acc = Vec3()
            for j, o in enumerate(bodies):
                if i != j:
                    d = o.pos - b.pos
                    r = d.norm() + 0.1
                    acc = acc + d * (o.mass / (r * r * r))
            vel = b.vel + acc * dt
            new.append(Body(b.mass, b.pos + vel * dt, vel))
        bodies = new
    return sum(b.pos.dot(b.vel) for b in bodies)


def nbody_comprehension(x, y):
    bodies = [Body(1.0, Vec3(x, 0, 0), Vec3(0, y, 0)), Body(0.5, Vec3(0, 1.0, 0), Vec3(y, 0, 0))]

    def accel(b):
        total = Vec3()
        for o in bodies:
            if o is not b:
                d = o.pos - b.pos
                total = total + d * (o.mass / (d.norm() + 0.1) ** 3)
        return total

    for _ in range(N):
        bodies = [dataclasses.replace(b, vel=b.vel + accel(b) * 0.01) for b in bodies]
        bodies = [dataclasses.replace(b, pos=b.pos + b.vel * 0.01) for b in bodies]
    return bodies[0].pos.x + bodies[1].vel.y


class Quaternion:
    def __init__(self, w, x, y, z):
        self.w, self.x, self.y, self.z = w, x, y, z

    def __mul__(self, o):
        if isinstance(o, Quaternion):
            return Quaternion(
                self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
                self.w * o.x + self.x * o.w + self.y * o.z - self.z * o.y,
                self.w * o.y - self.x * o.z + self.y * o.w + self.z * o.x,
                self.w * o.z + self.x * o.y - self.y * o.x + self.z * o.w,
            )
        return Quaternion(self.w * o, self.x * o, self.y * o, self.z * o)

    def __add__(self, o):
        return Quaternion(self.w + o.w, self.x + o.x, self.y + o.y, self.z + o.z)

    def normalized(self):
        n = m.sqrt(self.w**2 + self.x**2 + self.y**2 + self.z**2)
        return self * (1.0 / n)

    def conj(self):
        return Quaternion(self.w, -self.x, -self.y, -self.z)


def quaternion(x, y):
    q = Quaternion(1.0, 0.0, 0.0, 0.0)
    omega = Quaternion(0.0, x, y, 0.3)
    for _ in range(N):
        q = (q + (q * omega) * 0.005).normalized()
    r = q * Quaternion(0, 1, 0, 0) * q.conj()
    return r.x + 2 * r.y + r.z


class Matrix2:
    def __init__(self, a, b, c, d):
        self.a, self.b, self.c, self.d = a, b, c, d

    def __matmul__(self, o):
        return Matrix2(
            self.a * o.a + self.b * o.c,
            self.a * o.b + self.b * o.d,
            self.c * o.a + self.d * o.c,
            self.c * o.b + self.d * o.d,
        )

    def __add__(self, o):
        return Matrix2(self.a + o.a, self.b + o.b, self.c + o.c, self.d + o.d)

    def __sub__(self, o):
        return Matrix2(self.a - o.a, self.b - o.b, self.c - o.c, self.d - o.d)

    @property
    def T(self):
        return Matrix2(self.a, self.c, self.b, self.d)

    def inv(self):
        det = self.a * self.d - self.b * self.c
        return Matrix2(self.d / det, -self.b / det, -self.c / det, self.a / det)

    @classmethod
    def eye(cls, k=1.0):
        return cls(k, 0.0, 0.0, k)


def kalman(x, y):
    F, Q, H, R = Matrix2(1.0, 0.1, 0.0, 1.0), Matrix2.eye(0.01), Matrix2.eye(), Matrix2.eye(0.5 + x * x)
    P = Matrix2.eye(1.0)
    s = (0.0, y)
    total = 0.0
    for i in range(N):
        P = F @ P @ F.T + Q
        s = (s[0] + 0.1 * s[1], s[1])
        z = math.sin(0.3 * i)
        K = P @ H.T @ (H @ P @ H.T + R).inv()
        e = (z - s[0], 0.1 * z - s[1])
        s = (s[0] + K.a * e[0] + K.b * e[1], s[1] + K.c * e[0] + K.d * e[1])
        P = (Matrix2.eye() - K @ H) @ P
        total += e[0] * e[0]
    return total + P.a + s[1]


class Light(NamedTuple):
    mode: str
    timer: float
    count: int
    level: float


def machine(x, y):
    s = Light("red", 0.0, 0, x)
    for _ in range(N):
        if s.mode == "red":
            s = s._replace(timer=s.timer + 0.3, level=s.level * 0.9)
            if s.timer > 1.0 + y * 0.1:
                s = Light("green", 0.0, s.count + 1, s.level)
        elif s.mode == "green":
            s = s._replace(timer=s.timer + 0.4, level=s.level + y)
            if s.level > 2.0 or s.timer > 2.0:
                s = s._replace(mode="yellow")
        else:
            s = Light("red", 0.0, s.count, s.level * 0.5)
    return s.level + s.count + s.timer


Particle = namedtuple("Particle", "x v m")


def particles(x, y):
    ps = [Particle(x + 0.1 * i, y - 0.2 * i, 1.0 + i) for i in range(5)]
    for _ in range(N):
        mean = sum(p.x for p in ps) / len(ps)
        ps = [p._replace(x=p.x + 0.05 * p.v, v=p.v - 0.05 * (p.x - mean) / p.m) for p in ps]
        ps = [Particle(-p.x, -p.v, p.m) if p.x < -1.0 else p for p in ps]
    return sum(p.x * p.v for p in ps)


class Complex:
    def __init__(self, re, im):
        self.re, self.im = re, im

    def __add__(self, o):
        return Complex(self.re + o.re, self.im + o.im)

    def __mul__(self, o):
        return Complex(self.re * o.re - self.im * o.im, self.re * o.im + self.im * o.re)

    def abs2(self):
        return self.re**2 + self.im**2


def mandelbrot(x, y):
    c, z = Complex(x, y), Complex(0.0, 0.0)
    for n in range(60):
        if z.abs2() > 4.0:
            return n + z.re
        z = z * z + c
    return 0.0 + z.im


class Adam:
    def __init__(self, lr):
        self.lr, self.m, self.v, self.t = lr, Vec3(), Vec3(), 0

    def step(self, p, g):
        self.t += 1
        self.m = self.m * 0.9 + g * 0.1
        self.v = self.v * 0.99 + Vec3(g.x * g.x, g.y * g.y, g.z * g.z) * 0.01
        mh = self.m * (1 / (1 - 0.9**self.t))
        vh = self.v * (1 / (1 - 0.99**self.t))
        return (
            p - Vec3(mh.x / (m.sqrt(vh.x) + 1e-3), mh.y / (m.sqrt(vh.y) + 1e-3), mh.z / (m.sqrt(vh.z) + 1e-3)) * self.lr
        )


def adam(x, y):
    opt, p = Adam(0.05), Vec3(x, y, 0.5)
    for _ in range(N):
        p = opt.step(p, p * 2.0 + Vec3(0.1, 0.2, 0.3))
    return p.x + p.y * p.z


def dict_inplace(x, y):
    s = {"x": x, "v": y}
    for _ in range(N):
        s["v"] -= 0.1 * s["x"]
        s["x"] += 0.1 * s["v"]
    return s["x"] * s["v"]


@dataclass
class Portfolio:
    cash: float
    shares: float
    history: tuple = ()


def trading(x, y):
    p, price = Portfolio(100.0 + x, 0.0), 10.0
    for i in range(N):
        price = price * (1.0 + 0.05 * math.sin(i) * (1.0 + y))
        if price < 10.0 and p.cash > 10.0:
            p = Portfolio(p.cash - 10.0, p.shares + 10.0 / price)
        elif price > 10.3 and p.shares > 0.5:
            p = Portfolio(p.cash + 0.5 * price, p.shares - 0.5)
    return p.cash + p.shares * price


def sum_objects(x, y):
    vs = [Vec3(x, y, float(i)) for i in range(4)]
    for _ in range(N):
        c = sum(vs, Vec3()) / 4.0
        vs = [v + (c - v) * 0.2 + Vec3(0.01, 0, 0) for v in vs]
    return sum(v.x * v.z for v in vs)


def hill_climb(x, y):
    p, best, bv = Vec3(x, y, 0.0), None, 1e9
    for i in range(N):
        p = p + Vec3(-0.1 * p.x, 0.05 * math.cos(i), 0.01)
        f = p.dot(p)
        if f < bv:
            best, bv = p, f
    return best.x + bv if best is not None else 0.0


class Sim2:
    def __init__(self, x, y):
        self.pos, self.vel, self.steps, self.log = Vec3(x, 0, 0), Vec3(0, y, 0), 0, None

    def run(self, n):
        for _ in range(n):
            self.vel = self.vel - self.pos * 0.1
            self.pos = self.pos + self.vel * 0.1
            self.steps += 1
        return self


def sim2(x, y):
    s = Sim2(x, y).run(N)
    return s.pos.x + s.vel.y + s.steps


def early_return_object(x, y):
    def settle(v):
        for _ in range(N):
            v = v * 0.8 + Vec3(0.05, 0.0, 0.0)
            if v.dot(v) < 0.1:
                return v
        return v * 2.0

    w = settle(Vec3(x, y, 0.3))
    return w.x + w.y


def early_return_tuple(x, y):
    def find(a):
        for i in range(N):
            a = a * 0.8 + 0.05 * y
            if a < 0.5:
                return a, i
        return a * 2.0, N

    a, i = find(x)
    return a + i


PROGRAMS = [
    nbody,
    nbody_comprehension,
    quaternion,
    kalman,
    machine,
    particles,
    mandelbrot,
    adam,
    dict_inplace,
    trading,
    hill_climb,
    early_return_object,
    early_return_tuple,
    sum_objects,
    sim2,
]
