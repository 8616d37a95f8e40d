"""The order lab: what a backward pass gives when it visits the nodes in some other order.

`+=` is right only if each node fires after all nodes that feed its gradient. Two things go wrong otherwise: a node that
fires early passes on too little (a contribution is lost), and one that fires again passes on what it had passed on
before (a contribution is counted twice). `micrograd step --order` prints such a run beside the right one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from micrograd.learn import texts
from micrograd.learn.frames import Timeline
from micrograd.learn.nodes import Node
from micrograd.learn.sentences import show

MOST_VISITS = 2000  # naive recursion doubles its visits with every reuse of a node


@dataclass(slots=True)
class Flow:
    """One edge: what went through it, what should have, and where they differ the fault and its reason.

    fault is "never" (the node did not fire), "repeated" (it fired more than once), "early" (it fired before its
    gradient was complete) or "inherited" (it fired in time, with a gradient that was wrong already).
    """

    node: int
    slot: int
    input: int
    times: int
    got: float
    wanted: float
    fault: str = ""
    reason: str = ""


@dataclass(slots=True)
class Contribution:
    """One contribution of a run: `node` passes local × upstream through `slot` into `input`; `at` counts visits."""

    node: int
    slot: int
    input: int
    local: float
    upstream: float
    product: float
    before: float
    after: float
    at: int


@dataclass(slots=True)
class BackwardRun:
    """A backward pass in some order: its contributions and gradients, the right ones, and what each edge carried.

    `first` is the index of the first wrong contribution (the number of contributions where none is wrong but some are
    missing, and -1 where all is right); `reason` says why it is wrong.
    """

    visits: list[int]
    pushes: list[Contribution]
    grads: list[float]
    right: list[float]
    flows: list[Flow]
    first: int = -1
    reason: str = ""

    @property
    def faults(self) -> list[Flow]:
        """The edges that carried something wrong."""
        return [flow for flow in self.flows if flow.fault]

    def as_dict(self) -> dict[str, Any]:
        """The run as plain data."""
        return asdict(self)


def reverse_topological(nodes: Sequence[Node]) -> list[int]:
    """Root first, every node after all that were made from it: the engine's order, and the right one."""
    return list(range(len(nodes) - 1, -1, -1))


def naive_recursion(nodes: Sequence[Node]) -> list[int]:
    """Fire a node, then go into each input: a node that is used twice is visited twice."""
    return _depth_first(nodes, once=False)


def preorder_once(nodes: Sequence[Node]) -> list[int]:
    """Fire a node, then go into each input that was not visited yet."""
    return _depth_first(nodes, once=True)


def postorder(nodes: Sequence[Node]) -> list[int]:
    """Inputs first: the topological order, not reversed."""
    return list(range(len(nodes)))


ORDERS: dict[str, Callable[[Sequence[Node]], list[int]]] = {
    "reverse": reverse_topological,
    "naive": naive_recursion,
    "preorder": preorder_once,
    "postorder": postorder,
}


def _depth_first(nodes: Sequence[Node], once: bool) -> list[int]:
    visits: list[int] = []
    seen: set[int] = set()
    stack = [len(nodes) - 1]
    while stack:
        i = stack.pop()
        if once and i in seen:
            continue
        if len(visits) == MOST_VISITS:
            break
        seen.add(i)
        visits.append(i)
        stack.extend(reversed(nodes[i].inputs))
    return visits


def run(timeline: Timeline, order: str | Sequence[int | str]) -> BackwardRun:
    """Run the backward pass of a timeline in one of the ORDERS, or in an order of the learner's own (ids or names)."""
    nodes = timeline.nodes
    visits = ORDERS[order](nodes) if isinstance(order, str) else [_id(nodes, v) for v in order]
    right, _ = _sweep(nodes, reverse_topological(nodes))
    grads, pushes = _sweep(nodes, visits)
    through: dict[tuple[int, int], list[Contribution]] = {}
    into: dict[int, list[Contribution]] = {}
    for push in pushes:
        through.setdefault((push.node, push.slot), []).append(push)
        into.setdefault(push.input, []).append(push)
    flows = []
    for node in nodes:
        for slot, (j, local) in enumerate(zip(node.inputs, node.partials)):
            if local is None:
                continue
            mine = through.get((node.id, slot), [])
            flow = Flow(
                node.id, slot, j, len(mine), sum(p.product for p in mine), node.pushed(slot, local, right[node.id])
            )
            if not same(flow.got, flow.wanted):
                _explain(flow, mine, into.get(node.id, []), visits, nodes)
            flows.append(flow)
    done = BackwardRun(visits, pushes, grads, right, flows)
    done.first, done.reason = _first_fault(pushes, flows)
    return done


def _first_fault(pushes: list[Contribution], flows: list[Flow]) -> tuple[int, str]:
    edges = {(flow.node, flow.slot): flow for flow in flows}
    wanted = {edge: flow.wanted for edge, flow in edges.items()}
    seen: set[tuple[int, int]] = set()
    for k, push in enumerate(pushes):
        edge = push.node, push.slot
        if edges[edge].fault and (edge in seen or not same(push.product, wanted[edge])):
            return k, edges[edge].reason
        seen.add(edge)
    missing = next((flow for flow in flows if flow.fault), None)
    return (-1, "") if missing is None else (len(pushes), missing.reason)


def _id(nodes: Sequence[Node], node: int | str) -> int:
    if isinstance(node, str):
        for other in nodes:
            if other.name == node:
                return other.id
    elif 0 <= node < len(nodes):
        return node
    raise ValueError(f"there is no node {node!r} in this graph: it has {', '.join(n.name for n in nodes)}")


def _sweep(nodes: Sequence[Node], visits: Sequence[int]) -> tuple[list[float], list[Contribution]]:
    grads = [0.0] * len(nodes)
    grads[-1] = 1.0
    pushes = []
    for at, i in enumerate(visits):
        upstream = grads[i]
        for slot, (j, local) in enumerate(zip(nodes[i].inputs, nodes[i].partials)):
            if local is not None:
                product, before = nodes[i].pushed(slot, local, upstream), grads[j]
                grads[j] += product
                pushes.append(Contribution(i, slot, j, local, upstream, product, before, grads[j], at))
    return grads, pushes


def _explain(
    flow: Flow, mine: list[Contribution], into: list[Contribution], visits: Sequence[int], nodes: Sequence[Node]
) -> None:
    words = {"out": nodes[flow.node].name, "name": nodes[flow.input].name, "wanted": show(flow.wanted)}
    late = [push for push in into if mine and push.at > mine[0].at]
    said = flow.fault = "never" if not mine else "repeated" if len(mine) > 1 else "early" if late else "inherited"
    together = texts.get("orders.and")
    if said == "repeated":
        often = texts.get("orders.twice") if len(mine) == 2 else texts.say("orders.times", n=len(mine))
        words |= {"times": often, "excess": show(flow.got - flow.wanted)}
    elif said == "early":
        words["who"] = together.join(dict.fromkeys(nodes[push.node].name for push in late))
        words["what"] = together.join(show(push.product) for push in late)
        words["missing"] = show(flow.wanted - flow.got)
    elif said == "inherited":
        silent = [node.name for node in nodes if flow.node in node.inputs and node.id not in visits]
        if silent:
            said, words["who"] = "silent", together.join(silent)
    flow.reason = texts.say(f"orders.{said}", **words)


def same(a: float, b: float) -> bool:
    """Equal, up to the order of a sum."""
    return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=1e-9)
