"""Frames: any Value as one timeline of small steps, forward and backward, one backward frame per contribution.

Pages, drawings and the terminal show these frames and compute nothing of their own: the numbers are the engine's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from micrograd.engine import Value
from micrograd.learn import sentences, texts
from micrograd.learn.nodes import Node, code_line, read
from micrograd.learn.sentences import ROWS, bracketed, literal, show, speak, speak_call, spell

VERSION = 1


@dataclass(slots=True)
class Frame:
    """One visible step.

    forward: a node gets its data. seed: the root gets its gradient. backward: `node` pushes its gradient (upstream)
    through operand `slot` into `input`; local × upstream = product, and the input's grad goes from before to after.
    """

    kind: str
    node: int
    line: int | None = None
    input: int | None = None
    slot: int | None = None
    local: float | None = None
    upstream: float | None = None
    product: float | None = None
    before: float | None = None
    after: float | None = None
    rule: str = ""
    factor: str = ""
    spoken: str = ""
    pieces: list[tuple[str, str]] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """The step in numbers; `pieces` has it in parts, each with the name of its slot in the template."""
        return "".join(text for _, text in self.pieces)

    def as_dict(self) -> dict[str, Any]:
        """The frame as JSON has it; what a kind of frame has no use for is left out."""
        row: dict[str, Any] = {}
        for name in _FIELDS[self.kind]:
            x = getattr(self, name)
            row[name] = number(x) if isinstance(x, float) else x
        return row


_WORDS = ("rule", "sentence", "spoken")
_FIELDS = {
    "forward": ("kind", "node", "line", *_WORDS),
    "seed": ("kind", "node", "line", "before", "after", *_WORDS),
    "backward": (*(f.name for f in fields(Frame) if f.name not in (*_WORDS, "pieces")), *_WORDS),
}


def number(x: float | None) -> float | str | None:
    """A float as JSON can hold it: nan and the infinities are the texts "nan", "inf" and "-inf"."""
    return x if x is None or math.isfinite(x) else str(x)


class Timeline:
    """The nodes of a graph, their code, and every step of a forward and a backward pass over them."""

    def __init__(self, nodes: list[Node], code: list[str], sources: list[Any], steps: list[Frame]) -> None:
        self.nodes, self.code, self.sources, self.frames = nodes, code, sources, steps
        self.root = len(nodes) - 1
        self.rankdir = "LR"

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.frames)

    def __getitem__(self, i: int) -> Frame:
        return self.frames[i]

    def __str__(self) -> str:
        return "\n".join(frame.sentence for frame in self.frames)

    def __repr__(self) -> str:
        return f"<timeline of {len(self.nodes)} nodes, {len(self.frames)} frames>"

    def state(self, i: int) -> tuple[list[float | None], list[float | None]]:
        """Data and gradient of every node after the first i frames; None where no frame has come yet."""
        data: list[float | None] = [node.data if node.constant else None for node in self.nodes]
        grad: list[float | None] = [None] * len(self.nodes)
        for frame in self.frames[:i]:
            if frame.kind == "forward":
                data[frame.node] = self.nodes[frame.node].data
            else:
                grad[frame.node if frame.kind == "seed" else frame.input or 0] = frame.after
        return data, grad

    def gradients(self) -> list[float | None]:
        """The gradient of every node after the last frame; None for plain numbers."""
        return self.state(len(self.frames))[1]

    def layout(self) -> dict[str, Any]:
        """Where a drawing has its nodes and edges."""
        from micrograd.learn.layout import layout

        return layout(self.nodes, self.rankdir)

    def as_dict(self) -> dict[str, Any]:
        """The whole timeline as JSON has it."""
        return {
            "version": VERSION,
            "nodes": [_node_row(node) for node in self.nodes],
            "root": self.root,
            "code": self.code,
            "source": self.sources,
            "frames": [frame.as_dict() for frame in self.frames],
            "layout": self.layout(),
        }

    def to_json(self) -> str:
        """The timeline as JSON text that is safe inside a page: no `<`, `>` or `&` in it."""
        text = json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        for sign in "<>&\u2028\u2029":
            text = text.replace(sign, f"\\u{ord(sign):04x}")
        return text


def frames(root: Value, names: dict[str, Value] | None = None, rankdir: str = "LR") -> Timeline:
    """Turn a Value into the timeline of its forward and backward pass.

    Names come from labels, then from the caller's variables (or from `names`). No `.grad` is changed.

    >>> from micrograd import Value
    >>> from micrograd.learn import frames
    >>> a = Value(3.0, label="a")
    >>> print(frames(a * a)[-1].sentence)
    a.grad += a.data * out.grad → 3 + (3)(1) = 6
    """
    timeline = play(read(root, names))
    timeline.rankdir = rankdir
    return timeline


def play(nodes: list[Node]) -> Timeline:
    """The timeline over the rows of a graph."""
    code: list[str] = []
    sources: list[Any] = []
    steps: list[Frame] = []
    for node in nodes:
        if not node.constant:
            node.line = len(code)
            code.append(code_line(node, nodes))
            sources.append(node.source)
            steps.append(_forward(node, nodes))
    top = nodes[-1]
    words = _words("seed", {"name": top.name, "target": f"{top.name}.grad"})
    steps.append(Frame("seed", top.id, line=top.line, before=0.0, after=1.0, **words))
    steps.extend(_backward(nodes))
    return Timeline(nodes, code, sources, steps)


def _node_row(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "name": node.name,
        "label": node.label,
        "op": node.op,
        "symbol": node.symbol,
        "data": number(node.data),
        "grad": number(node.grad),
        "inputs": node.inputs,
        "partials": [number(p) for p in node.partials],
        "constant": node.constant,
        "line": node.line,
        "scope": list(node.scope),
    }


def _words(kind: str, shown: dict[str, str], spoken: dict[str, str] | None = None, rule: str = "") -> dict[str, Any]:
    """What a frame says, by the templates of its kind: in numbers, read aloud, and as a rule in symbols."""
    return {
        "pieces": texts.pieces(texts.get(f"frames.{kind}"), shown),
        "spoken": texts.say(f"frames.{kind}_spoken", **{**shown, **(spoken or {})}),
        "rule": rule or texts.say(f"frames.{kind}_rule", **shown),
    }


def _forward(node: Node, nodes: list[Node]) -> Frame:
    inputs = [nodes[j] for j in node.inputs]
    if not inputs:
        words = _words("leaf", {"name": node.name, "y": show(node.data)}, {"y": speak(node.data)})
        return Frame("forward", node.id, line=node.line, **words)
    figures = [show(i.data) for i in inputs]
    infix = len(figures) == 2 and not node.symbol.isidentifier()
    numbers = spell(node.symbol, [_in_brackets(text) for text in figures] if infix or node.op == "neg" else figures)
    names = [i.name for i in inputs]
    shown = {"name": node.name, "code": spell(node.symbol, names), "numbers": numbers, "y": show(node.data)}
    spoken = {
        "code": speak_call(node.symbol, [speak(i.data) if i.constant else i.name for i in inputs]),
        "numbers": speak_call(node.symbol, [speak(i.data) for i in inputs]),
        "y": speak(node.data),
    }
    return Frame("forward", node.id, line=node.line, **_words("forward", shown, spoken))


def _backward(nodes: list[Node]) -> Iterator[Frame]:
    """The reverse sweep, on the side: the learner's gradients stay as they are."""
    grad = [0.0] * len(nodes)
    grad[-1] = 1.0
    saved = [node.value.grad for node in nodes] if any(node.by_hand for node in nodes) else None
    steps: list[Frame] = []
    try:
        for node in reversed(nodes):
            if node.by_hand and node.hidden and not grad[node.id]:
                continue
            steps.extend(_push_by_hand(node, nodes, grad) if node.by_hand else _push(node, nodes, grad))
    finally:
        if saved is not None:
            for node, x in zip(nodes, saved):
                node.value.grad = x
    return iter(steps)


def _push(node: Node, nodes: list[Node], grad: list[float]) -> Iterator[Frame]:
    upstream = grad[node.id]
    for slot, (j, local) in enumerate(zip(node.inputs, node.partials)):
        if local is None:
            continue
        before, product = grad[j], node.pushed(slot, local, upstream)
        grad[j] = before + product
        yield _contribution(node, nodes, slot, local, upstream, product, before, grad[j])


def _push_by_hand(node: Node, nodes: list[Node], grad: list[float]) -> Iterator[Frame]:
    """Run a `_backward` that somebody wrote, and see what it did to the inputs' gradients.

    Where an input already holds something, it is run a second time from zero: the first run tells where the gradient
    goes, the second what the contribution alone is (they disagree where the closure says `=` for `+=`).
    """
    upstream = grad[node.id]
    targets = list(dict.fromkeys(node.inputs))

    def run(start: list[float]) -> list[float]:
        node.value.grad = upstream
        for j, x in zip(targets, start):
            nodes[j].value.grad = x
        node.value._backward()
        return [nodes[j].value.grad for j in targets]

    before = [grad[j] for j in targets]
    after = run(before)
    alone = after if not any(before) else run([0.0] * len(targets))
    for j, x, product, y in zip(targets, before, alone, after):
        slot = node.inputs.index(j)
        local = product / upstream if upstream and math.isfinite(upstream) else None
        node.partials[slot] = local
        grad[j] = y
        yield _contribution(node, nodes, slot, local, upstream, product, x, y)


def _contribution(
    node: Node,
    nodes: list[Node],
    slot: int,
    local: float | None,
    upstream: float,
    product: float,
    before: float,
    after: float,
) -> Frame:
    target = nodes[node.inputs[slot]]
    row = None if node.by_hand else ROWS.get(node.symbol)
    rule = _rule(node, nodes, slot, local)
    factor = ""
    shown = {"name": target.name, "out": node.name, "target": f"{target.name}.grad", "source": f"{node.name}.grad"}
    numbers = {"before": before, "local": local or 0.0, "upstream": upstream, "product": product, "after": after}
    spoken = {name: speak(x) for name, x in numbers.items()}
    shown |= {name: show(x) for name, x in numbers.items()}
    if node.by_hand:
        kind = "hand_lost" if before + product != after and after == product else "hand"
        words = _words(kind, {**shown, "signed": _in_brackets(show(product))}, spoken, rule)
    else:
        symbols = sentences.partial(row, slot, _displayed(node, nodes, ".data"), f"{node.name}.data")
        factor = bracketed(symbols or f"∂{node.name}/∂{target.name}")
        stopped = (
            local is not None and math.isnan(local * upstream) and not math.isnan(product)
        )  # a step, or behind one
        words = _words("stopped" if stopped else "backward", {**shown, "factor": factor}, spoken, rule)
        if node.inputs.count(target.id) > 1 and not stopped:
            side, k = _side(node, slot)
            where = texts.say(f"frames.{side}_spoken", k=k)
            words["spoken"] = texts.say("frames.backward_spoken_slot", **{**shown, **spoken, "slot": where})
    return Frame("backward", node.id, line=node.line, input=target.id, slot=slot, factor=factor, local=local,
                 upstream=upstream, product=product, before=before, after=after, **words)  # fmt: skip


def _rule(node: Node, nodes: list[Node], slot: int, local: float | None) -> str:
    """The rule of an edge in symbols. A node that stands in several operands is named with the operand it stands in."""
    row = None if node.by_hand else ROWS.get(node.symbol)
    names = _displayed(node, nodes, "")
    for k, j in enumerate(node.inputs):
        if not nodes[j].constant and node.inputs.count(j) > 1:
            side, place = _side(node, k)
            names[k] = texts.say(f"frames.{side}", name=names[k], k=place)
    partial = sentences.partial(row, slot, names, node.name)
    partial = partial or ("" if local is None else show(local))
    kind = "backward_rule" if partial else "backward_rule_bare"
    return texts.say(f"frames.{kind}", out=node.name, name=names[slot], partial=partial)


def _side(node: Node, slot: int) -> tuple[str, int]:
    """How an operand is told apart from others that are the same node: left or right, or by its number."""
    infix = len(node.inputs) == 2 and not node.symbol.isidentifier()
    return (("left", "right")[slot] if infix else "operand"), slot + 1


def _displayed(node: Node, nodes: list[Node], suffix: str) -> list[str]:
    """The operands as a formula names them; a plain number is its own name."""
    return [_in_brackets(show(nodes[j].data)) if nodes[j].constant else nodes[j].name + suffix for j in node.inputs]


def _in_brackets(text: str) -> str:
    return f"({text})" if text.startswith("−") else text


__all__ = ["Frame", "Timeline", "frames", "literal", "number"]
