"""Programs over lists, tables, texts and states."""

from __future__ import annotations

import functools
import itertools
import operator
from enum import Enum

from stage.realistic.registry import program

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
