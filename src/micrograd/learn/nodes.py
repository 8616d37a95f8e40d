"""A graph of Values as plain rows: names, ops, inputs, partials. Frames and drawings start from these."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from micrograd.engine import Value, behind_steps, has_own_backward, topological
from micrograd.learn import names as naming
from micrograd.learn.sentences import ROWS, clean, literal, spell


@dataclass(slots=True)
class Node:
    """One Value of a graph. `inputs` are ids in operand order with repeats; ids count in topological order."""

    id: int
    value: Value
    name: str = ""
    label: str = ""
    op: str = ""
    symbol: str = ""
    data: float = 0.0
    grad: float | None = None
    inputs: list[int] = field(default_factory=list)
    partials: list[float | None] = field(default_factory=list)
    constant: bool = False
    by_hand: bool = False
    hidden: bool = False  # behind steps (floor, sign ...) alone: no gradient reaches it
    line: int | None = None
    source: dict[str, Any] | None = None
    scope: tuple[str, ...] = ()

    def pushed(self, slot: int, local: float, upstream: float) -> float:
        """What it adds to the gradient of an input. Nothing passes a step or comes from behind one, not even 0 times inf."""
        product, rule = local * upstream, self.value._rule
        nothing = self.hidden or (rule is not None and slot in rule.steps)
        return 0.0 if nothing and product != product else product


def scope_path(scope: int) -> tuple[str, ...]:
    """Which modules made a node, outermost first."""
    if not scope:
        return ()
    from importlib import import_module

    try:
        return tuple(import_module("micrograd.values.module_scopes").path(scope))
    except (ImportError, LookupError):  # a stamp that nobody gave a name
        return ()


def reached(order: list[Value], inputs: list[list[int]]) -> list[bool]:
    """For each node, whether a backward pass has been there.

    The engine keeps no mark of it. A gradient that is not zero shows it, and so does one that came to a node made from
    this one: the pass went on to here, and brought a zero.
    """
    seen = [v.grad != 0.0 for v in order]
    for i in range(len(order) - 1, -1, -1):
        if seen[i]:
            for j in inputs[i]:
                seen[j] = True
    return seen


def constants(order: list[Value], inputs: list[list[int]]) -> list[bool]:
    """For each node, whether it is a plain number of an expression: every use of it has no partial."""
    used = [False] * len(order)
    plain = [not v._prev for v in order]
    for v, ids in zip(order, inputs):
        slopes = v._partials
        for k, j in enumerate(ids):
            used[j] = True
            if has_own_backward(v) or k >= len(slopes) or slopes[k] is not None:
                plain[j] = False
    return [p and u for p, u in zip(plain, used)]


def read(root: Value, names: dict[str, Value] | None = None) -> list[Node]:
    """The graph behind root as rows, inputs first. Names come from labels, then from the caller's variables."""
    if not isinstance(root, Value):
        raise TypeError(f"a graph is shown from a Value, its root; got {type(root).__name__}: {str(root)[:60]}")
    order = topological(root)
    place = {id(v): i for i, v in enumerate(order)}
    inputs = [[place[id(u)] for u in v._prev] for v in order]
    plain, seen, hidden = constants(order, inputs), reached(order, inputs), behind_steps(order)
    paths: dict[int, tuple[str, ...]] = {}
    nodes = []
    for i, v in enumerate(order):
        hand = has_own_backward(v) and bool(v._prev)
        row = ROWS.get(v._op) if v._prev else None
        slopes: list[float | None] = list(v._partials) if not hand else []
        node = Node(i, v, data=v.data, inputs=inputs[i], constant=plain[i], by_hand=hand, hidden=id(v) in hidden)
        node.partials = (slopes + [None] * len(v._prev))[: len(v._prev)]
        node.symbol = v._op if v._prev else ""
        node.op = row.name if row else node.symbol
        node.grad = v.grad if seen[i] and not plain[i] else None
        if v._scope not in paths:
            paths[v._scope] = scope_path(v._scope)
        node.scope = paths[v._scope]
        nodes.append(node)
    _name(nodes, names)
    return nodes


def _name(nodes: list[Node], given: dict[str, Value] | None) -> None:
    frame = naming.caller() if given is None else None
    variables = {id(v): name for name, v in given.items()} if given is not None else naming.variables(frame)
    taken: set[str] = set()
    shown = [node for node in nodes if not node.constant]

    def take(node: Node, name: str) -> None:
        if not node.name and name and name not in taken:
            taken.add(name)
            node.name = name

    for node in shown:
        label = node.value.label
        if isinstance(label, str) and label.isidentifier():
            take(node, label)
    for node in shown:
        take(node, clean(variables.get(id(node.value), "")))
    for node in shown:  # 'x1*w1 + x2*w2' becomes x1w1x2w2; a second w becomes w_2
        word = re.sub(r"\W", "", str(node.value.label))
        word = word if word.isidentifier() else f"v{word}" if word else ""
        if word and not node.name:
            take(node, word)
            k = 2
            while not node.name:
                take(node, f"{word}_{k}")
                k += 1
    take(nodes[-1], "out")
    counts = {"x": 0, "v": 0}
    for node in shown:
        letter = "v" if node.inputs else "x"
        while not node.name:
            counts[letter] += 1
            take(node, f"{letter}{counts[letter]}")
    for node in nodes:
        if node.constant:
            node.name = literal(node.data)
        node.label = clean(str(node.value.label)) or node.name
    _find_sources(nodes, variables, naming.assignments(frame))


def _find_sources(nodes: list[Node], variables: dict[int, str], lines: dict[str, dict[str, Any]]) -> None:
    """A named node has the line that assigned its name; one without a name was made in the line that used it."""
    if not lines:
        return
    users: list[list[Node]] = [[] for _ in nodes]
    for node in nodes:
        for j in node.inputs:
            users[j].append(node)
    for node in reversed(nodes):
        name = variables.get(id(node.value), "").split("[")[0]
        node.source = lines.get(name)
        if node.source is None and not name and node.inputs and users[node.id]:
            first = users[node.id][0].source
            if all(user.source == first for user in users[node.id]):
                node.source = first


def code_line(node: Node, nodes: list[Node]) -> str:
    """`d = a * b`; a leaf is `a = 2.0`."""
    if not node.inputs:
        return f"{node.name} = {node.data!r}"
    return f"{node.name} = {spell(node.symbol, [nodes[j].name for j in node.inputs])}"
