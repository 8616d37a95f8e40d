"""Drills: random graphs by skill, drawn from a seed. The page asks for gradients on them with numbers of its own."""

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
    return _shape("line", f"u = {k}*x; y = " + rng.choice([f"u + {m}", f"{m} + u", f"u - {m}", f"{m} - u"]), "x")


def _curve(rng: random.Random) -> DrillGraph:
    k, m = rng.choice([2, 3, 4]), rng.randint(1, 6)
    ways = [
        f"u = x**2; y = {k}*u",
        f"u = x**2; v = {m}*x; y = u + v",
        f"u = x**2; y = u - {m}",
        f"u = x + {m}; y = u**2",
    ]
    return _shape("curve", rng.choice(ways), "x")


def _chain(rng: random.Random) -> DrillGraph:
    k, m, n = _factor(rng), rng.randint(1, 5), _factor(rng)
    ways = [
        f"u = {k}*x; y = {n}*u",
        f"u = {k}*x; v = u + {m}; y = {n}*v",
        f"u = x + {m}; y = u**2",
        f"u = {k}*x; y = u**2",
        f"u = x**2; y = {n}*u",
    ]
    return _shape("chain", rng.choice(ways), "x", "x u")


def _sum(rng: random.Random) -> DrillGraph:
    ways = [
        "d = a + b; L = d - c",
        "d = a - b; L = d - c",
        "d = b - c; L = a - d",
        f"d = a + b; e = d - c; L = {_factor(rng)}*e",
    ]
    return _shape("sum", rng.choice(ways), "a b c")


def _product(rng: random.Random) -> DrillGraph:
    ways = [
        "d = a * b; L = d * c",
        "d = a + b; L = d * c",
        "d = a * b; L = d + c",
        "d = a * b; e = d + c; L = e * f",
        "d = a - b; L = c * d",
    ]
    found = rng.choice(ways)
    return _shape("product", found, "a b c f" if "f" in found else "a b c")


def _reuse(rng: random.Random) -> DrillGraph:
    k, m = rng.choice([2, 3, 4]), rng.randint(1, 4)
    ways = [
        ("L = a * a", "a"),
        ("L = a + a", "a"),
        (f"b = a * {k}; c = a + {m}; L = b * c", "a"),
        ("c = a * b; L = c + a", "a b"),
        ("c = a + b; L = c * a", "a b"),
        ("c = a * b; d = a + b; L = c * d", "a b"),
    ]
    return _shape("reuse", *rng.choice(ways))


def _order(rng: random.Random) -> DrillGraph:
    k, m = rng.choice([2, 3, 4]), rng.randint(1, 4)
    ways = [
        (f"b = a * {k}; c = b + {m}; L = b * c", "a", "a b"),
        ("c = a * b; d = c + a; L = c * d", "a b", "a b c"),
        (f"b = a + {m}; c = b * b; L = c + b", "a", "a b"),
    ]
    return _shape("order", *rng.choice(ways))


def _neuron(rng: random.Random) -> DrillGraph:
    n = rng.choice([2, 2, 3])
    lines = "; ".join(f"p{k} = w{k}*x{k}" for k in range(1, n + 1))
    terms = " + ".join(f"p{k}" for k in range(1, n + 1))
    names = " ".join(f"w{k} x{k}" for k in range(1, n + 1))
    return _shape(
        "neuron",
        f"{lines}; s = {terms}; z = s + b; o = relu(z)",
        f"{names} b",
        " ".join(f"w{k}" for k in range(1, n + 1)) + " b",
    )


def _loss(rng: random.Random) -> DrillGraph:
    ways = [
        ("p = w*x; e = p - t; L = e**2", "w x t", "w"),
        ("m = w*x; p = m + b; e = p - t; L = e**2", "w x b t", "w b"),
        ("p1 = w*x1; e1 = p1 - t1; p2 = w*x2; e2 = p2 - t2; L1 = e1**2; L2 = e2**2; L = L1 + L2", "w x1 t1 x2 t2", "w"),
    ]
    return _shape("loss", *rng.choice(ways))


def _network(rng: random.Random) -> DrillGraph:
    lines = "z1 = u1*x; h1 = relu(z1); z2 = u2*x; h2 = relu(z2); p1 = w1*h1; p2 = w2*h2; y = p1 + p2; L = y - t"
    return _shape("network", lines, "x u1 u2 w1 w2 t", rng.choice(["u1 u2", "w1 w2", "u1 w1", "u2 w2"]))


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
