"""A learner's backward pass for the stage: their own rules or their own order, opened at the first wrong contribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from micrograd import Value
from micrograd.learn import orders
from micrograd.learn.explorer import preset
from micrograd.learn.frames import Timeline, frames
from micrograd.learn.workshop.mirror import mirror
from micrograd.learn.workshop.programs import Fault, close
from micrograd.learn.workshop.samples import SAMPLES

TITLE = "your own pass"
# The slopes of an op by its name in the exercises, from the data of its inputs.
SLOPES: dict[str, Callable[..., Sequence[float]]] = {
    "+": lambda a, b: (1.0, 1.0),
    "*": lambda a, b: (b, a),
    "-": lambda a, b: (1.0, -1.0),
    "/": lambda a, b: (1 / b, -a / (b * b)),
    "exp": lambda a: (math.exp(a),),
    "log": lambda a: (1 / a,),
    "tanh": lambda a: (1 - math.tanh(a) ** 2,),
    "relu": lambda a: (float(a > 0),),
}


def replay(fault: Fault) -> dict[str, Any] | None:
    """The graph as the stage takes it, and what to show of it; None for a fault that no graph shows."""
    if fault.order is not None:
        program, order = fault.order
        values = program.run(Value)
        for name, value in zip(program.names(), values):
            value.label = name
        made = {name for name, value in zip(program.names(), values) if value._prev}
        visits = [name for name in order if name in made]
        if orders.run(frames(values[-1], names={}), visits).first < 0:
            return None  # a wrong order that happens to give the right gradients here: there is no fault to show
        graph = preset("own", TITLE, values[-1], names={})
        return {"graph": graph, "open": {"graph": "own", "lab": {"order": visits}}}
    if fault.graph is None:
        return None
    nodes = list(fault.graph.values())
    stack, seen = list(nodes), set()
    while stack:  # what the check has left in the gradients is not part of this pass
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            node.grad = 0.0
            stack.extend(node._prev)
    root = _named(fault.graph)
    if not fault.node:  # the value of the root is wrong: its forward pass
        steps = sum(frame.kind == "forward" for frame in frames(root, names={}))
        return {"graph": preset("own", TITLE, root, names={}), "open": {"graph": "own", "step": steps}}
    if fault.seed != 1.0:  # a pass starts with 1: a product above the learner's root brings it another gradient
        root = root * fault.seed
        root.label = "L"
    step = first_wrong(frames(root, names={}), fault.node)
    return {"graph": preset("own", TITLE, root, names={}), "open": {"graph": "own", "step": step}}


def own_pass(name: str, load: Callable[[str], Any]) -> dict[str, Any] | None:
    """A whole pass by the learner's code, for an exercise that passed; None where the exercise makes no graph."""
    if name not in SAMPLES:
        return None
    found = preset("own", TITLE, _named(SAMPLES[name](load)), names={})
    return {"graph": found, "open": {"graph": "own", "step": len(found["timeline"].get("words", ()))}}


def _named(nodes: dict[str, Any]) -> Value:
    """The root, which is the last of the learner's nodes, as a Value: the graph passes on gradients by their own rules."""
    copies = mirror(list(nodes.values())[-1], live=True)
    for name, node in nodes.items():
        if id(node) in copies:
            copies[id(node)].label = name
    return copies[id(list(nodes.values())[-1])]


def first_wrong(timeline: Timeline, node: str = "") -> int:
    """How many frames to show, so that the last one is the first wrong contribution.

    Where every contribution follows the rule of its op, it is the last one into the node whose gradient is wrong: a part
    of the graph is missing. Where nothing reaches that node, it is the end.
    """
    names, last = [one.name for one in timeline.nodes], len(timeline)
    for k, frame in enumerate(timeline, 1):
        if frame.kind != "backward" or frame.input is None or frame.slot is None:
            continue
        if names[frame.input] == node:
            last = k
        want = _wanted(timeline, frame)
        if want is not None and frame.after is not None and not close(frame.after, want):
            return k
    return last


def _wanted(timeline: Timeline, frame: Any) -> float | None:
    """The gradient of the input after a right contribution; None where the op is not known.

    A rule written by hand passes on all operands at once: an operand that occurs twice gets both parts in one frame.
    """
    node = timeline.nodes[frame.node]
    xs = [timeline.nodes[i].data for i in node.inputs]
    symbol = node.symbol or node.op
    try:
        if symbol.startswith("**") and len(xs) == 1:
            n = float(symbol[2:])
            slopes: Sequence[float] = (n * xs[0] ** (n - 1),)
        else:
            slopes = SLOPES[symbol](*xs)
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return None
    total = sum(slope for slope, i in zip(slopes, node.inputs) if i == frame.input)
    return float((frame.before or 0.0) + total * (frame.upstream or 0.0))
