"""Programs that use Python's language: closures, classes, generators, exceptions, early exits."""

from __future__ import annotations

import contextlib
from collections import namedtuple
from dataclasses import dataclass, field

from micrograd import Value, math
from stage.realistic.registry import program

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


@program((3.0, 1.0), (-1.0, 2.0), (0.2, 0.1), (1.0, -4.0))
def print_in_a_rare_arm(a, b):
    if a > 100:
        print("rare")
    return a * b if b > 0 else a


@program((3.0, 1.0), (-1.0, 2.0), (0.2, 0.1), (1.0, -4.0))
def assertion_that_holds(a, b):
    assert abs(a) < 50, "out of range"
    return a * a if a > b else b
