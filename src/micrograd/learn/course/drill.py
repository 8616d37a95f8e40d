"""Drills: random graphs by skill, drawn from a seed. The page asks for gradients on them with numbers of its own.

Their nodes have the names of the story: `p` is a product, `z` the sum before a gate, `h` its output, `e` an error, `L` the end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

SMALL = [-5.0, -4.0, -3.0, -2.0, 2.0, 3.0, 4.0, 5.0]
POSITIVE = [2.0, 3.0, 4.0, 5.0]
LOGITS = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0]
EACH = 6  # graphs of each skill in a chapter: one more than the questions of a drill


@dataclass(frozen=True)
class DrillGraph:
    """A graph to be asked about: its skill, the numbers that each leaf may take, and the nodes that are asked for."""

    skill: str
    expression: str
    pools: dict[str, list[float]]
    asks: list[str]


def _shape(skill: str, expression: str, leaves: str, asks: str = "", pool: list[float] = SMALL) -> DrillGraph:
    names = leaves.split()
    return DrillGraph(skill, expression, dict.fromkeys(names, pool), (asks or leaves).split())


def _factor(rng: random.Random) -> int:
    return rng.choice([-4, -3, -2, 2, 3, 4, 5, 6])


def _line(rng: random.Random) -> DrillGraph:
    k, m = _factor(rng), rng.randint(1, 9)
    return _shape("line", f"p = {k}*x; z = " + rng.choice([f"p + {m}", f"{m} + p", f"p - {m}", f"{m} - p"]), "x")


def _curve(rng: random.Random) -> DrillGraph:
    k, m = rng.choice([2, 3, 4]), rng.randint(1, 6)
    ways = [
        (f"q = e**2; L = {k}*q", "e"),
        (f"q = e**2; r = {m}*e; L = q + r", "e"),
        (f"q = e**2; L = q - {m}", "e"),
        (f"e = x + {m}; L = e**2", "x"),
    ]
    return _shape("curve", *rng.choice(ways))


def _chain(rng: random.Random) -> DrillGraph:
    k, m, n = _factor(rng), rng.randint(1, 5), _factor(rng)
    ways = [
        (f"p = {k}*x; z = {n}*p", "x p"),
        (f"p = {k}*x; z = p + {m}; L = {n}*z", "x p"),
        (f"e = x + {m}; L = e**2", "x e"),
        (f"p = {k}*x; L = p**2", "x p"),
        (f"q = x**2; L = {n}*q", "x q"),
    ]
    found, asks = rng.choice(ways)
    return _shape("chain", found, "x", asks)


def _sum(rng: random.Random) -> DrillGraph:
    ways = [
        ("z = p + b; e = z - t", "p b t"),
        ("e = h - t; L = e - b", "h t b"),
        ("e = h - t; L = b - e", "h t b"),
        (f"z = p + b; e = z - t; L = {_factor(rng)}*e", "p b t"),
    ]
    return _shape("sum", *rng.choice(ways))


def _product(rng: random.Random) -> DrillGraph:
    ways = [
        ("p = w * x; L = p * v", "w x v"),
        ("z = p + b; L = z * v", "p b v"),
        ("p = w * x; z = p + b", "w x b"),
        ("p = w * x; z = p + b; L = z * v", "w x b v"),
        ("e = h - t; L = v * e", "h t v"),
    ]
    return _shape("product", *rng.choice(ways))


def _reuse(rng: random.Random) -> DrillGraph:
    k, m = rng.choice([2, 3, 4]), rng.randint(1, 4)
    ways = [
        ("L = e * e", "e"),
        ("L = w + w", "w"),
        (f"p = {k} * x; q = x + {m}; L = p * q", "x"),
        ("p = w * x; L = p + w", "w x"),
        ("z = x + b; L = z * x", "x b"),
        ("p = w * x; z = w + x; L = p * z", "w x"),
    ]
    return _shape("reuse", *rng.choice(ways))


def _order(rng: random.Random) -> DrillGraph:
    k, m = rng.choice([2, 3, 4]), rng.randint(1, 4)
    ways = [
        (f"p = {k} * x; z = p + {m}; L = p * z", "x", "x p"),
        ("p = w * x; z = p + w; L = p * z", "w x", "w x p"),
        (f"z = x + {m}; p = z * z; L = p + z", "x", "x z"),
    ]
    return _shape("order", *rng.choice(ways))


def _neuron(rng: random.Random) -> DrillGraph:
    n = rng.choice([2, 2, 3])
    lines = "; ".join(f"p{k} = w{k}*x{k}" for k in range(1, n + 1))
    terms = " + ".join(f"p{k}" for k in range(1, n + 1))
    names = " ".join(f"w{k} x{k}" for k in range(1, n + 1))
    return _shape(
        "neuron",
        f"{lines}; s = {terms}; z = s + b; h = relu(z)",
        f"{names} b",
        " ".join(f"w{k}" for k in range(1, n + 1)) + " b",
    )


def _loss(rng: random.Random) -> DrillGraph:
    ways = [
        ("p = w*x; e = p - t; L = e**2", "w x t", "w"),
        ("p = w*x; z = p + b; e = z - t; L = e**2", "w x b t", "w b"),
        ("p1 = w*x1; e1 = p1 - t1; p2 = w*x2; e2 = p2 - t2; L1 = e1**2; L2 = e2**2; L = L1 + L2", "w x1 t1 x2 t2", "w"),
    ]
    return _shape("loss", *rng.choice(ways))


def _network(rng: random.Random) -> DrillGraph:
    lines = "z1 = w1*x; h1 = relu(z1); z2 = w2*x; h2 = relu(z2); q1 = v1*h1; q2 = v2*h2; o = q1 + q2; e = o - t"
    return _shape("network", lines, "x w1 w2 v1 v2 t", rng.choice(["w1 w2", "v1 v2", "w1 v1", "w2 v2"]))


def _softmax(rng: random.Random) -> DrillGraph:
    right = rng.choice([1, 2, 3])
    lines = f"e1 = exp(z1); e2 = exp(z2); e3 = exp(z3); s = e1 + e2 + e3; p = e{right} / s; l = log(p); L = -l"
    return _shape("softmax", lines, "z1 z2 z3", f"z{right} p", LOGITS)


def _attention(rng: random.Random) -> DrillGraph:
    lines = "e1 = exp(s1); e2 = exp(s2); t = e1 + e2; a1 = e1 / t; a2 = e2 / t; m1 = a1*v1; m2 = a2*v2; out = m1 + m2"
    return DrillGraph(
        "attention",
        lines,
        {"s1": LOGITS, "s2": LOGITS, "v1": SMALL, "v2": SMALL},
        rng.choice([["v1", "v2"], ["a1", "a2"]]),
    )


SKILLS: dict[str, Callable[[random.Random], DrillGraph]] = {
    "line": _line, "curve": _curve, "chain": _chain, "sum": _sum, "product": _product, "reuse": _reuse, "order": _order,
    "neuron": _neuron, "loss": _loss, "network": _network, "softmax": _softmax, "attention": _attention,
}  # fmt: skip


def shapes(skills: list[str], seed: str) -> list[DrillGraph]:
    """Different graphs for each skill, the same for the same seed."""
    found: list[DrillGraph] = []
    for skill in skills:
        rng = random.Random(f"{seed} {skill}")
        seen: dict[str, DrillGraph] = {}
        for _ in range(50):
            shape = SKILLS[skill](rng)
            seen.setdefault(f"{shape.expression} {shape.asks}", shape)
            if len(seen) == EACH:
                break
        found += seen.values()
    return found
