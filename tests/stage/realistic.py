"""Programs as people write them, with branches and loops on numbers: what test_realistic.py compares with eager code."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum

from micrograd import Value, math

PROGRAMS: dict[str, tuple] = {}  # name → (function, rows, whether all rows run on one merged tape)


def program(*rows, merged=True):
    """Register a function of as many numbers as a row has."""

    def register(f):
        PROGRAMS[f.__name__] = (f, [tuple(float(x) for x in row) for row in rows], merged)
        return f

    return register


# ---- options


@program((100, 100, 0.2), (130, 100, 0.3), (60, 100, 0.1), (100, 90, 0.5), (99, 100, 0.05), (140, 80, 0.2))
def double_knock_out(s, strike, sigma):
    alive, rebate = True, 0.0
    for day, z in enumerate((0.3, -1.1, 0.8, 1.9, -0.2, 0.7, -2.0, 1.2)):
        s = s * math.exp(sigma * 0.35 * z - 0.5 * (sigma * 0.35) ** 2)
        if not 70.0 < s < 135.0:
            alive = False
            rebate = 1.5 * day
            break
    return max(s - strike, 0.0) if alive else s * 0.0 + rebate


@program((100, 100, 0.2), (90, 100, 0.3), (120, 100, 0.15), (80, 110, 0.4), (100, 60, 0.1))
def american_put(spot, strike, sigma):
    n, dt = 6, 1.0 / 6.0
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(0.03 * dt) - 1.0 / up) / (up - 1.0 / up)
    values = [max(strike - spot * up ** (2 * i - n), 0.0) for i in range(n + 1)]
    for step in range(n - 1, -1, -1):
        for i in range(step + 1):
            hold = math.exp(-0.03 * dt) * (p * values[i + 1] + (1.0 - p) * values[i])
            values[i] = max(hold, strike - spot * up ** (2 * i - step))
        values.pop()
    return values[0]


@program((100, 0.2), (105, 0.4), (80, 0.1), (103, 0.02), (97, 0.3))
def autocallable(s, sigma):
    observations = {1: 1.0, 2: 0.95, 3: 0.9}
    coupon, knocked = 0.0, False
    for year, barrier in observations.items():
        s = s * math.exp(sigma * (0.1, -0.7, 0.4)[year - 1])
        if s / 100.0 >= barrier:
            return 100.0 + 8.0 * year + 0.01 * s
        if s < 60.0:
            knocked = True
        coupon += 1
    return s if knocked else 100.0 + coupon * 0.5 * s / 100.0


# ---- roots and minima


@program((2.0, 0.5), (9.0, 1.0), (0.25, 3.0), (100.0, 1.0), (1.0, 1.0))
def newton(a, x):
    turns = 0
    while abs(x * x - a) > 1e-9:
        x = x - (x * x - a) / (2.0 * x)
        turns += 1
        if turns > 40:
            break
    return x


@program((0.5, 0.0, 2.0), (1.0, -1.0, 3.0), (-0.5, -2.0, 1.0), (0.1, 0.0, 1.0))
def bisection(target, low, high):
    def g(v):
        return v * v * v + v - target

    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        if (g(middle) > 0) == (g(high) > 0):
            high = middle
        else:
            low = middle
    return 0.5 * (low + high) + target * 1e-3


@program((1.0, 2.0), (-3.0, 0.5), (0.2, -0.1), (4.0, 4.0))
def line_search(x, y):
    def loss(u, v):
        return (1.0 - u) ** 2 + 2.0 * (v - u * u) ** 2

    step = 1.0
    gx, gy = -2.0 * (1.0 - x) - 8.0 * x * (y - x * x), 4.0 * (y - x * x)
    for _ in range(20):
        if loss(x - step * gx, y - step * gy) <= loss(x, y) - 1e-4 * step * (gx * gx + gy * gy):
            break
        step *= 0.5
    else:
        return loss(x, y)
    return loss(x - step * gx, y - step * gy)


@program((0.3, 2.0), (1.2, 0.7), (-1.0, 1.5), (2.5, 3.0))
def golden_section(c, width):
    f = lambda v: (v - c) ** 4 + 0.1 * (v - c) ** 2  # noqa: E731
    ratio = 0.6180339887498949
    a, b = c - width, c + 0.7 * width
    for _ in range(15):
        x1, x2 = b - ratio * (b - a), a + ratio * (b - a)
        (a, b) = (a, x2) if f(x1) < f(x2) else (x1, b)
        if b - a < 0.05:
            break
    return a + b


# ---- geometry and rays


@program((0.0, 0.0), (0.5, 0.3), (2.0, 2.0), (-0.9, 0.1), (0.99, 0.0))
def ray_marching(px, py):
    depth = 0.0
    for _ in range(30):
        z = -3.0 + depth
        sphere = math.sqrt(px * px + py * py + z * z) - 1.0
        floor = py + 1.5
        distance = sphere if sphere < floor else floor
        if distance < 1e-3:
            return depth
        depth = depth + distance
        if depth > 10.0:
            break
    return depth * 0.0 + 10.0 + px


@program((0.0, 0.0, 1.0), (3.0, 0.0, 1.0), (0.2, 0.1, 0.5), (1.0, 1.0, 2.0), (5.0, 5.0, 0.1))
def sphere_intersection(x, y, r):
    disc = r * r - x * x - y * y
    root = math.sqrt(disc)
    hits = []
    if disc > 0:
        hits = [4.0 - root, 4.0 + root]
    elif disc == 0:
        hits = [4.0, 4.0]
    if not hits:
        return x * 0.1
    return hits[0] * hits[-1]


@program((1.0, 1.0, 0.0), (-1.0, 2.0, 1.0), (3.0, 3.0, 3.0), (0.5, 0.5, -2.0))
def closest_vertex(x, y, z):
    vertices = [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (2.0, -1.0, 0.5), (-1.0, 2.0, 0.5)]
    best, index = float("inf"), None
    for k, (a, b, c) in enumerate(vertices):
        d = (x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2
        if d < best:
            best, index = d, k
    return best * (index + 1)


@program((0.5, 0.5), (2.0, 0.5), (-1.0, -1.0), (0.1, 0.8), (1.0, 0.0))
def point_in_polygon(x, y):
    corners = [(0.0, 0.0), (1.5, 0.2), (1.0, 1.4), (0.2, 1.0)]
    inside = False
    j = len(corners) - 1
    for i in range(len(corners)):
        (xi, yi), (xj, yj) = corners[i], corners[j]
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            inside = not inside
        j = i
    return x * y if inside else -x - y


# ---- sorting and lists


@program((3, 1, 2), (1, 2, 3), (2, 2, 1), (-1, 5, 0), (0, 0, 0))
def bubble_sort(a, b, c):
    items = [a, b, c, a * b]
    swapped = True
    while swapped:
        swapped = False
        for i in range(len(items) - 1):
            if items[i] > items[i + 1]:
                items[i], items[i + 1] = items[i + 1], items[i]
                swapped = True
    return sum(w * v for w, v in zip((1.0, 2.0, 3.0, 4.0), items))


@program((3, 1, 2), (1, 2, 3), (2, 2, 1), (-1, 5, 0), (7, -7, 7))
def quick_sort(a, b, c):
    def sort(items):
        if len(items) < 2:
            return items
        pivot, *rest = items
        return sort([v for v in rest if v < pivot]) + [pivot] + sort([v for v in rest if not v < pivot])

    low, middle, high = sort([a, b, c])
    return low + 10.0 * middle * high


@program((1, -2, 3), (-1, -2, -3), (1, 2, 3), (0, 0, -1))
def filtered_list(a, b, c):
    kept = [v for v in (a, b, c) if v > 0]
    if not kept:
        return a * b * c
    return sum(v * v for v in kept) / len(kept)


@program((1, -2, 3), (-1, -2, -3), (1, 2, 3), (5, 0, -1))
def appended_in_arms(a, b, c):
    out = []
    for v in (a, b, c):
        if v > 0:
            out.append(v)
            if v > 2:
                out.append(v * v)
    total = 0.0
    for k, v in enumerate(out):
        total = total + (k + 1) * v
    return total + len(out) * a


@program((1, 5, 2), (9, 0, 3), (-2, -1, 4), (3, 3, 3))
def stack_machine(a, b, c):
    stack = []
    for token in (a, b, "+", c, "max", a, "*"):
        if token == "+":
            stack.append(stack.pop() + stack.pop())
        elif token == "*":
            stack.append(stack.pop() * stack.pop())
        elif token == "max":
            right, left = stack.pop(), stack.pop()
            stack.append(left if left > right else right)
        else:
            stack.append(token)
    return stack.pop()


@program((1, 5, 2), (9, 0, 3), (-2, -1, 4), (3, 3, 3))
def median_filter(a, b, c):
    signal = [a, b, c, a * 0.5, b * 0.25]
    out = [sorted(signal[k : k + 3])[1] for k in range(3)]
    return out[0] * out[1] + out[2]


# ---- states, texts and tables


@program((0.2, 1.0), (0.9, -1.0), (1.5, 0.5), (-0.4, 2.0), (0.5, 0.0))
def state_machine(x, gain):
    state, out = "idle", 0.0
    for drive in (1.0, 0.3, -0.5, 0.8, 1.2):
        level = x * drive
        if state == "idle":
            if level > 0.4:
                state = "running"
        elif state == "running":
            out = out + gain * level
            if level < 0:
                state = "faulty" if gain > 0 else "idle"
        else:
            out = out - 0.1 * gain
    return out + {"idle": 1.0, "running": 2.0, "faulty": 3.0}[state] * x


class Mode(Enum):
    CRUISE = 1
    BRAKE = 2


@program((10.0, 3.0), (30.0, 50.0), (0.1, 0.2), (20.0, 19.0))
def cruise_control(speed, target):
    mode = Mode.CRUISE
    for _ in range(4):
        error = target - speed
        if error < -2:
            mode = Mode.BRAKE
        elif error > 0:
            mode = Mode.CRUISE
        speed = speed + (0.5 * error if mode is Mode.CRUISE else -0.2 * speed)
    return speed


@program((0.5,), (1.5,), (2.5,), (-1.0,), (9.0,), (3.0,))
def interpolation_table(x):
    xs, ys = [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 4.0, 9.0]
    if x <= xs[0]:
        return ys[0] + 0.0 * x
    for k in range(1, len(xs)):
        if x <= xs[k]:
            t = (x - xs[k - 1]) / (xs[k] - xs[k - 1])
            return ys[k - 1] + t * (ys[k] - ys[k - 1])
    return ys[-1] * x


@program((0.5, 1.0), (1.5, -2.0), (2.5, 0.5), (-1.0, 3.0), (9.0, 0.0))
def match_statement(x, y):
    kind = "small" if x < 1 else "large" if x < 5 else "huge"
    match kind:
        case "small":
            return x * y
        case "large" | "vast" if y > 0:
            return x + y
        case _:
            return x - y


@program((20_000,), (60_000,), (150_000,), (5_000,), (1_000_000,))
def income_tax(income):
    brackets = [(10_000.0, 0.0), (40_000.0, 0.2), (100_000.0, 0.4), (None, 0.45)]
    tax, lower = 0.0, 0.0
    for upper, rate in brackets:
        if upper is None or income <= upper:
            return tax + rate * (income - lower)
        tax += rate * (upper - lower)
        lower = upper
    raise AssertionError


@program((0.5, 2.0), (-3.0, 1.0), (1.0, 0.0), (0.0, -1.0))
def dispatch_table(x, y):
    actions = {"plus": operator.add, "minus": operator.sub, "times": lambda a, b: a * b}
    name = "plus" if x > y else "times" if x < 0 else "minus"
    counts = dict.fromkeys(actions, 0)
    counts[name] += 1
    return actions[name](x, y) + counts["plus"] * x


# ---- differential equations


@program((10.0, 0.8), (1.0, 0.5), (5.0, 0.95), (0.3, 0.2))
def bouncing_ball(height, restitution):
    speed, t, bounces = 0.0, 0.0, 0
    while t < 3.0 and bounces < 3:
        height, speed = height + 0.1 * speed, speed - 0.981
        if height < 0:
            height, speed = -height * restitution, -speed * restitution
            bounces += 1
        t += 0.1
    return height + bounces


@program((1.0, 1.0), (2.0, 5.0), (0.5, 0.1), (1.5, 2.0))
def adaptive_ode(y, rate):
    t, h = 0.0, 0.5
    while t < 1.0:
        if t + h > 1.0:
            h = 1.0 - t
        k1 = -rate * y
        k2 = -rate * (y + h * k1)
        error = abs(0.5 * h * (k2 - k1))
        if error < 0.05:
            t, y = t + h, y + 0.5 * h * (k1 + k2)
            if error < 0.005:
                h = 2.0 * h
        else:
            h = 0.5 * h
    return y


# ---- language: closures, classes, generators, exceptions


@program((1, 2), (-1, 2), (1, -2), (-3, -4))
def counting_closure(x, y):
    calls = 0

    def relu(v):
        nonlocal calls
        calls += 1
        if v > 0:
            calls += 10
            return v
        return 0.1 * v

    total = relu(x) + relu(y) * relu(x - y)
    return total * calls


class Tank:
    capacity = 5.0

    def __init__(self, level):
        self.level = level
        self.spilled = 0.0
        self.log = []

    @property
    def full(self):
        return self.level >= self.capacity

    @staticmethod
    def leak(v):
        return 0.9 * v if v > 1 else v

    def pour(self, amount):
        self.level = self.level + amount
        if self.full:
            self.spilled = self.spilled + self.level - self.capacity
            self.level = self.capacity
        self.level = self.leak(self.level)
        return self


@program((1, 2), (4, 3), (0.5, 0.1), (6, 1))
def class_with_methods(a, b):
    tank = Tank(a).pour(b).pour(a)
    return tank.level * 2.0 + tank.spilled


class Animal:
    def __init__(self, weight):
        self.weight = weight

    def cost(self):
        return self.weight if self.weight > 1 else 1.0


class Dog(Animal):
    def __init__(self, weight, age):
        super().__init__(weight)
        self.age = age

    def cost(self):
        base = super().cost()
        return base * 2.0 if self.age > 3 else base


@program((1, 2), (4, 5), (0.5, 9), (6, 1))
def inheritance(a, b):
    return Dog(a, b).cost() + Animal(b).cost()


@dataclass
class Account:
    balance: float
    fee: float = 0.5
    history: list = field(default_factory=list)

    def withdraw(self, amount):
        if amount > self.balance:
            self.fee = self.fee * 2.0
            return False
        self.balance = self.balance - amount
        return True


@program((10, 3), (1, 5), (4, 2), (3, 3))
def dataclass_account(balance, amount):
    account = Account(balance)
    done = 0
    for _ in range(3):
        if account.withdraw(amount):
            done += 1
    return account.balance - account.fee * done


Quote = namedtuple("Quote", "bid ask")


@program((1, 2), (3, 2), (2, 2), (-1, 0))
def named_tuples(a, b):
    q = Quote(a, b) if a < b else Quote(b, a)
    if q.ask - q.bid > 0.5:
        q = q._replace(bid=q.ask - 0.5)
    return q.bid * q.ask


@program((1, -2, 3), (-1, 2, 0.5), (2, 2, 2), (-3, -1, -2))
def generator_expression(a, b, c):
    positive = (v for v in (a, b, c) if v > 0)
    squares = (v * v for v in positive)
    return sum(squares) + max((abs(v) for v in (a, b, c)), default=0.0)


@program((1, -2, 3), (-1, 2, 0.5), (2, 2, 2), (-3, -1, -2))
def generator_function(a, b, c):
    def running(items):
        total = 0.0
        for v in items:
            total = total + v if v > 0 else total - 0.5 * v
            yield total

    return sum(t * k for k, t in enumerate(running([a, b, c]), 1))


@program((1, -2, 3), (-1, 2, 0.5), (2, 2, 2), (-3, -1, -2))
def generator_that_stops(a, b, c):
    def until_negative(items):
        for v in items:
            if v < 0:
                return
            yield v

    total = 1.0
    for v in until_negative([a, b, c]):
        total = total * v
    return total + a


@program((1, 2), (1, 0), (-4, 2), (3, -1))
def try_except(a, b):
    try:
        if b <= 0:
            raise ValueError("not positive")
        result = a / b
    except ValueError:
        result = a * 2.0
    else:
        result = result + 1.0
    finally:
        a = a * 3.0
    return result + a


@program((1, 2), (1, 0), (-4, 2), (3, -1))
def exception_through_a_helper(a, b):
    def checked(v):
        if v < 0:
            raise ArithmeticError(v)
        return math.sqrt(v)

    total = 0.0
    for v in (a, b, a * b):
        try:
            total = total + checked(v)
        except (ArithmeticError, KeyError):
            total = total - v
            continue
    return total


@program((1, 2), (3, 0), (2, 2), (0, -1))
def lookup_error_as_control_flow(a, b):
    table = {1: a, 2: b}
    key = 1 if a > b else 3
    try:
        return table[key] * 2.0
    except KeyError:
        return a - b


@contextlib.contextmanager
def scaled(box, by):
    box[0] = box[0] * by
    yield box
    box[0] = box[0] + 1.0


class Scope:
    def __init__(self, box):
        self.box = box

    def __enter__(self):
        self.box[0] = self.box[0] * 2.0
        return self.box

    def __exit__(self, kind, error, trace):
        self.box[0] = self.box[0] - 1.0
        return False


@program((1, 2), (3, 0), (-2, 2), (0, -1))
def with_statement(a, b):
    box = [a]
    with Scope(box) as inner:
        if b > 0:
            inner[0] = inner[0] + b
        else:
            inner[0] = inner[0] * a
    return box[0]


@program((1, 2), (3, 0), (-2, 2), (0, -1))
def with_contextmanager(a, b):
    box = [a]
    with scaled(box, 2.0 if b > 0 else 3.0):
        box[0] = box[0] + b
    with contextlib.nullcontext(b) as c, contextlib.suppress(ZeroDivisionError):
        box[0] = box[0] + c
    return box[0]


@program((1, 2), (3, 0), (-2, 2), (0, -1))
def walrus(a, b):
    if (d := a - b) > 0 and (q := d * a) > 1:
        return q + d
    while (d := d * 0.5 + 0.1) > 0.25:
        a = a + d
    return a * d


@program((1, 2), (3, 0.5), (-2, 2), (0, -1))
def while_else(a, b):
    n = 0
    while n < 5:
        a = a + b
        if a > 4:
            break
        n += 1
    else:
        return a * 0.5
    return a + n


@program((1, 2), (3, 0.5), (-2, 2), (0, -1))
def return_from_nested_loops(a, b):
    for i in range(4):
        for j in range(i + 1):
            if a * i > b + j:
                return a * (10 * i + j)
            if b * j > 3:
                break
        else:
            a = a + 0.25
            continue
        b = b - 0.5
    return a - b


WEIGHT, BIAS = Value(1.5), Value(-0.25)


@program((1, 2), (3, 0.5), (-2, 2), (0, -1))
def parameters_in_one_arm(a, b):
    if a > b:
        return WEIGHT * a
    if b > 1:
        return (BIAS + b) * a
    return a * b


@program((1, 2), (3, 0.5), (-2, 2), (0, -1))
def choice_of_parameter(a, b):
    p = WEIGHT if a > b else BIAS
    return p * a + p


@program((5, 0.1), (1, 0.5), (0.2, 2), (30, 1))
def recursion_simpson(width, scale):
    def g(v):
        return math.exp(-scale * v)

    def simpson(a, b):
        return (b - a) / 6.0 * (g(a) + 4.0 * g(0.5 * (a + b)) + g(b))

    def integrate(a, b, whole, depth):
        middle = 0.5 * (a + b)
        left, right = simpson(a, middle), simpson(middle, b)
        if depth == 0 or abs(left + right - whole) < 1e-4:
            return left + right
        return integrate(a, middle, left, depth - 1) + integrate(middle, b, right, depth - 1)

    return integrate(0.0 * width, width, simpson(0.0 * width, width), 3)


@program((0.3,), (2.0,), (-0.7,), (11.0,), (1.0,))
def clamp_chain(x):
    for low, high in ((-1.0, 1.0), (0.0, 0.9), (0.1, 0.5)):
        x = low if x < low else high if x > high else x
        x = x * 1.25
    return x


@program((1, 2), (3, 0.5), (-2, 2), (0, -1))
def partials_and_reduce(a, b):
    clip = functools.partial(lambda low, high, v: min(max(v, low), high), -1.0, 1.0)
    best = functools.reduce(lambda u, v: u if u > v else v, [a, b, a * b])
    return clip(a) * best + functools.reduce(operator.mul, [a, b, 2.0])


@program((1, 2, 3), (3, 0.5, 1), (-2, 2, 0), (0, -1, -2))
def itertools_pairs(a, b, c):
    total = 0.0
    for u, v in itertools.combinations((a, b, c), 2):
        total = total + (u - v if u > v else 0.5 * (v - u))
    for k, v in zip(itertools.count(1), (a, b, c)):
        if v < 0:
            total = total - k
    return total


@program((1, 2, 3), (3, 0.5, 1), (-2, 2, 0), (0, -1, -2))
def sets_and_slices(a, b, c):
    seen = set()
    items = [a, b, c]
    for k, v in enumerate(items):
        if v > 0.75:
            seen.add(k)
    if {0, 1} <= seen:
        items[:2] = [b, a]
    return sum(v * (k + 1) for k, v in enumerate(items) if k in seen) + items[0]


@program((1, 2, 3), (3, 0.5, 1), (-2, 2, 0), (0, -1, -2))
def dicts_of_lists(a, b, c):
    groups = {"pos": [], "neg": []}
    for v in (a, b, c):
        groups["pos" if v > 0 else "neg"].append(v)
    return sum(groups["pos"]) * 2.0 - sum(groups["neg"]) * len(groups["neg"])


@program((1, 2, 3), (3, 0.5, 1), (-2, 2, 0), (0, -1, -2))
def default_dict(a, b, c):
    found = {}
    for name, v in zip("uvw", (a, b, c)):
        found.setdefault("up" if v > 1 else "down", []).append((name, v))
    return sum(v for group in found.values() for _, v in group if v > 0) + len(found)


@program((1, 2, 3), (3, 0.5, 1), (-2, 2, 0), (0, -1, -2))
def linked_list(a, b, c):
    head = None
    for v in (a, b, c):
        if head is None or v > head[0]:
            head = (v, head)
        else:
            head = (head[0] + v, head[1])
    total, depth = 0.0, 0
    while head is not None:
        total, head, depth = total + head[0] * (depth + 1), head[1], depth + 1
    return total


@program((1.0, 1.0), (0.0, 2.0), (-1.0, 0.5), (2.0, 0.0))
def xlogy(x, y):
    if x == 0:
        return x * y
    return x * math.log(y) if y > 0 else x / (x + y * y)


@program((0.0,), (1e-9,), (1.0,), (-2.0,), (700.0,), (-700.0,))
def stable_softplus(x):
    if x > 30:
        return x
    if x < -30:
        return math.exp(x)
    return math.log(1.0 + math.exp(x))


@program((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (-1.0, -1.0), (3.0, 4.0))
def safe_norm(x, y):
    n2 = x * x + y * y
    n = math.sqrt(n2)
    if n2 == 0:
        return x + y
    return x / n + n


@program((0.0, 1.0), (0.5, 2.0), (2.0, 0.5), (-3.0, 1.0))
def huber(r, delta):
    return 0.5 * r * r if abs(r) <= delta else delta * (abs(r) - 0.5 * delta)


@program((12.0, 18.0), (7.0, 3.0), (100.0, 75.0), (5.0, 5.0))
def euclid(a, b):
    while b > 0.5:
        a, b = b, a % b
    return a


@program((0.6, 0.3), (3.7, 0.2), (2.5, 0.9), (4.0, 0.1))
def logistic_map_cycle(r, x):
    seen = []
    for _ in range(6):
        x = r * x * (1.0 - x)
        if any(abs(x - y) < 0.01 for y in seen):
            break
        seen.append(x)
    return x * len(seen)


@program((3.0, 1.0), (-1.0, 2.0), (0.2, 0.1), (1.0, -4.0))
def print_in_a_rare_arm(a, b):
    if a > 100:
        print("rare")
    return a * b if b > 0 else a


@program((3.0, 1.0), (-1.0, 2.0), (0.2, 0.1), (1.0, -4.0))
def assertion_that_holds(a, b):
    assert abs(a) < 50, "out of range"
    return a * a if a > b else b
