"""Filters, dynamic programming and graphs, and `match` with patterns of classes, mappings and sequences."""

from collections import namedtuple
from dataclasses import dataclass
from enum import Enum

from micrograd import math
from stage.realistic.registry import program

Point = namedtuple("Point", "x y")


class Mode(Enum):
    IDLE = 0
    HEAT = 1
    COOL = 2


@dataclass
class Order:
    side: str
    size: float


THREE = [(x, y, z) for x in (-1.5, 2.4) for y in (-2.0, 0.25, 1.7) for z in (0.1, 1.3)]
TWO = [(x, y) for x in (-1.5, 0.3, 2.4) for y in (-2.0, 0.25, 3.0)]


@program(*THREE)
def kalman_filter_with_a_gate(a, b, c):
    mean, variance, rejected = 0.0, 1.0, 0
    for z in (a, b, c, a * 0.5, b + c):
        variance = variance + 0.1
        total, surprise = variance + 0.5, z - mean
        if surprise * surprise / total > 4.0:
            rejected += 1
            continue
        gain = variance / total
        mean, variance = mean + gain * surprise, (1.0 - gain) * variance
    return mean + 0.1 * rejected * variance


@program(*THREE)
def viterbi(a, b, c):
    means = {"low": -1.0, "mid": 0.3, "high": 1.5}
    score = {s: -((a - m) ** 2) for s, m in means.items()}
    path = {s: [s] for s in means}
    for z in (b, c, a + b):
        new, longer = {}, {}
        for s, m in means.items():
            best = max(means, key=lambda q: score[q] - (0.2 if q != s else 0.0))
            new[s] = score[best] - (0.2 if best != s else 0.0) - (z - m) ** 2
            longer[s] = [*path[best], s]
        score, path = new, longer
    last = max(means, key=lambda q: score[q])
    return score[last] + 0.01 * math.sum([means[s] for s in path[last]])


@program(*THREE)
def shortest_path(a, b, c):
    graph = {"a": [("b", abs(a)), ("c", abs(b) + 0.3)], "b": [("c", abs(c)), ("d", 2.0)], "c": [("d", 1.0)], "d": []}
    distance, waiting = {"a": 0.0}, {"a", "b", "c", "d"}
    while waiting:
        near = min((n for n in sorted(waiting) if n in distance), key=lambda n: distance[n])
        waiting.discard(near)
        for other, length in graph[near]:
            if other not in distance or distance[near] + length < distance[other]:
                distance[other] = distance[near] + length
    return distance["d"]


@program(*TWO)
def thermostat(t, target):
    mode, used = Mode.IDLE, 0.0
    for _ in range(10):
        match mode:
            case Mode.IDLE:
                if t < target - 0.5:
                    mode = Mode.HEAT
                elif t > target + 0.5:
                    mode = Mode.COOL
            case Mode.HEAT:
                t, used = t + 0.3, used + 0.3
                if t > target:
                    mode = Mode.IDLE
            case Mode.COOL:
                t = t - 0.2
                used = used + 0.1 * abs(t)
                if t < target:
                    mode = Mode.IDLE
        t = t + 0.02 * math.sin(t)
    return t + used


@program(*TWO)
def patterns_of_classes(x, y):
    point = Point(x, y) if x > 0 else Point(y, x * x)
    order = Order("buy" if y > 0 else "sell", x * y)
    match order:
        case Order(side="buy", size=size) if size > 1.0:
            fee = 0.1 * size
        case Order("sell", size):
            fee = 0.2 + 0.3 * size
        case _:
            fee = 1.0 * y
    match point:
        case Point(x=a, y=b) if a > b:
            return a * b + fee
        case Point(a, b):
            return a + 2.0 * b - fee


@program(*TWO)
def patterns_of_mappings(x, y):
    total = 0.0
    for item in ({"kind": "call" if x > 0 else "put", "strike": y}, {"kind": "cash", "size": x}, {"size": y, "fee": x}):
        match item:
            case {"kind": "call", "strike": k}:
                total += max(x - k, 0.0)
            case {"kind": "put", "strike": k, **rest}:
                total += max(k - x, 0.0) + len(rest)
            case {"kind": kind, "size": s} if kind == "cash":
                total += 0.5 * s
            case {"size": s, **rest}:
                total += s * sum(rest.values())
    return total


@program(*TWO)
def patterns_of_sequences(x, y):
    items = [x] if x > 1.0 else [x, y] if y > 0.0 else [x, y, x * y, 2.0]
    match items:
        case [a]:
            first = 3.0 * a
        case [a, b]:
            first = a * b
        case [a, *some, last]:
            first = a + last * sum(some) + len(some)
    match items:
        case [*_, last] if last > 1.0:
            return first * last
        case [a, *rest]:
            return first + a - sum(rest)
