"""Numbers that a lesson states, computed: a formula over the nodes of the graph and the variables of its code.

`a.grad` and `a.data` are the engine's; `a` alone is its data; `L(x=2.1)` is L with another number for x, and
`a.grad(x=2.1)` its gradient there. `order("naive", a)` is the gradient that a wrong visit order gives.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from micrograd.learn import orders
from micrograd.learn.course.asks import number
from micrograd.learn.course.scenes import Scene
from micrograd.learn.frames import Timeline

_ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Load, ast.Attribute, ast.Call, ast.keyword,
    ast.Subscript, ast.Slice, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod, ast.FloorDiv, ast.USub, ast.UAdd,
    ast.List, ast.Tuple,
)  # fmt: skip


class Fact(float):
    """A number of the graph that can be asked again with other leaves."""

    scene: Scene
    name: str
    what: str

    def __call__(self, **changed: float) -> float:
        timeline = self.scene.timeline(**{name: float(x) for name, x in changed.items()})
        return _numbers(timeline, self.what)[self.name]

    @property
    def data(self) -> Fact:
        """The value of the node."""
        return _fact(self.scene, self.name, "data")

    @property
    def grad(self) -> Fact:
        """Its gradient."""
        return _fact(self.scene, self.name, "grad")


def _numbers(timeline: Timeline, what: str) -> dict[str, float]:
    if what == "data":
        return {node.name: node.data for node in timeline.nodes}
    return {node.name: grad or 0.0 for node, grad in zip(timeline.nodes, timeline.gradients())}


def _fact(scene: Scene, name: str, what: str) -> Fact:
    found = Fact(_numbers(scene.timeline(), what)[name])
    found.scene, found.name, found.what = scene, name, what
    return found


def facts(scene: Scene) -> dict[str, Any]:
    """The nodes of a graph by name, and what a wrong visit order gives."""

    def order(how: str, node: Fact) -> float:
        timeline = node.scene.timeline()
        which: Any = how if how in orders.ORDERS else how.replace(",", " ").split()
        return orders.run(timeline, which).grads[[one.name for one in timeline.nodes].index(node.name)]

    names = [node.name for node in scene.timeline().nodes if not node.constant]
    return {name: _fact(scene, name, "data") for name in names if name.isidentifier()} | {"order": order}


def functions() -> dict[str, Any]:
    """What a formula may call."""
    named = ("exp", "log", "tanh", "sqrt", "sin", "cos", "pi", "floor")
    return {name: getattr(math, name) for name in named} | {
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
        "relu": lambda x: max(0.0, x),
        "abs": abs, "max": max, "min": min, "sum": sum, "len": len, "round": round, "ln": math.log,
    }  # fmt: skip


def evaluate(formula: str, known: dict[str, Any]) -> float:
    """The value of a formula; ValueError says what is wrong with it."""
    try:
        tree = ast.parse(formula.strip().replace("−", "-"), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{formula!r} is not a formula ({error.msg})") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED) or (isinstance(node, ast.Attribute) and node.attr.startswith("_")):
            raise ValueError(f"{formula!r} has something that a formula cannot have ({type(node).__name__})")
        if isinstance(node, ast.Name) and node.id not in known:
            raise ValueError(f"{node.id!r} in {formula!r} is neither a node of the graph nor a variable of the code")
    try:
        found = eval(compile(tree, "formula", "eval"), {"__builtins__": {}}, known)
        return float(found if isinstance(found, float) else getattr(found, "data", found))
    except (ArithmeticError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise ValueError(f"{formula!r} cannot be computed: {error}") from None


def agrees(stated: str, computed: float) -> bool:
    """Whether a stated number is the computed one, to the digits that it states."""
    plain = stated.strip().replace("−", "-").replace(",", "")
    said = number(stated)
    if said == computed:
        return True
    if not math.isfinite(computed):
        return False
    scale = 0.01 if plain.endswith("%") else 1.0
    mantissa, _, exponent = plain.rstrip("%").partition("e")
    places = len(mantissa.partition(".")[2])
    half = 0.5 * 10.0 ** (int(exponent or 0) - places) * scale
    if re.fullmatch(r"-?\d+", plain) and abs(computed) < 1000:  # a whole number is meant exactly
        half = 1e-9 * max(1.0, abs(computed))
    return abs(said - computed) <= half * (1 + 1e-9)
