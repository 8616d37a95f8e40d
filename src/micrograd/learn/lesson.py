"""The lesson as data: graphs to open, questions to answer, and the wrong ideas that wrong answers come from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from micrograd.engine import Value
from micrograd.learn.expression import parse
from micrograd.learn.frames import Frame, Timeline, frames
from micrograd.learn.nodes import Node
from micrograd.learn.sentences import show


@dataclass(frozen=True, slots=True)
class Preset:
    """A graph worth looking at: its expression, the numbers to start with, and what there is to see."""

    key: str
    title: str
    about: str
    expression: str
    values: dict[str, float]

    def build(self) -> Value:
        """The root of its graph."""
        return parse(self.expression).build(self.values)

    def timeline(self) -> Timeline:
        """Its frames."""
        return frames(self.build(), names={})


PRESETS = {
    preset.key: preset
    for preset in (
        Preset(
            "product", "(a+b)*c", "A sum copies the gradient, a product swaps and scales it.",
            "d = a + b; L = d * c", {"a": 2.0, "b": -3.0, "c": 10.0},
        ),
        Preset(
            "neuron", "the tanh neuron", "Two inputs, two weights, and a bias that makes the slope of tanh exactly ½.",
            "x1w1 = x1*w1; x2w2 = x2*w2; s = x1w1 + x2w2; n = s + b; o = tanh(n)",
            {"x1": 2.0, "x2": 0.0, "w1": -3.0, "w2": 1.0, "b": 6.8813735870195432},
        ),
        Preset(
            "square", "a*a", "One node, two edges: both contributions count, so += and not =.",
            "b = a * a", {"a": 3.0},
        ),
        Preset(
            "diamond", "the diamond", "a reaches d on two ways; the gradient of a is the sum over both.",
            "b = a * 3; c = a + 1; d = b * c", {"a": 2.0},
        ),
        Preset(
            "order", "the order lab", "Three lines on which every wrong visit order gives a number of its own.",
            "b = a*3; c = b+1; d = b*c", {"a": 2.0},
        ),
        Preset("double", "a+a", "The smallest graph in which a node is used twice.", "b = a + a", {"a": 3.0}),
        Preset(
            "network", "a two-layer network", "Two hidden neurons, one output, the squared error of one point.",
            "h1 = tanh(w11*x1 + w12*x2 + b1)\nh2 = tanh(w21*x1 + w22*x2 + b2)\n"
            "y = tanh(v1*h1 + v2*h2 + b3)\nL = (y - t)**2",
            {"x1": 1.0, "x2": -2.0, "w11": 0.5, "w12": -0.4, "b1": 0.1, "w21": -0.3, "w22": 0.8, "b2": 0.2,
             "v1": 1.2, "v2": -0.7, "b3": 0.0, "t": 1.0},
        ),
        Preset(
            "softmax", "softmax and cross-entropy", "Each logit gets its probability, less 1 for the right class.",
            "e1 = exp(z1); e2 = exp(z2); e3 = exp(z3)\ns = e1 + e2 + e3\np = e1 / s\nL = -log(p)",
            {"z1": 2.0, "z2": 1.0, "z3": 0.1},
        ),
    )
}  # fmt: skip


# ---- wrong ideas


@dataclass(slots=True)
class Facts:
    """What a frame shows, and what a learner may mix up: x and y are the data of the input and of the node."""

    x: float
    y: float
    local: float
    upstream: float
    product: float
    before: float
    name: str
    out: str
    others: list[float]  # the data of all operands, in order


@dataclass(frozen=True, slots=True)
class Misconception:
    """A wrong idea: the contribution that it would give, and what to say to it. `ops` of none means any op."""

    key: str
    title: str
    gives: Callable[[Facts], float]
    text: str
    ops: tuple[str, ...] = ()
    slot: int | None = None
    when: Callable[[Facts], bool] = lambda _: True
    replaces: bool = False  # the idea is about what becomes of the gradient that was there


MISCONCEPTIONS = {
    idea.key: idea
    for idea in (
        Misconception(
            "own", "its own data in place of the other's", lambda f: f.x * f.upstream,
            "That uses {name}'s own data, {x}. A product swaps: {name} gets the other factor, {local}.", ("mul", "dot"),
        ),
        Misconception(
            "tanh", "the slope of tanh from x in place of t", lambda f: (1 - f.x * f.x) * f.upstream,
            "That is 1 − x² with the input {x}. The slope of tanh is 1 − t², with the output t = {y}.", ("tanh",),
        ),
        Misconception(
            "sigmoid", "the slope of sigmoid from x in place of y", lambda f: f.x * (1 - f.x) * f.upstream,
            "That is x·(1 − x) with the input {x}. The slope of sigmoid is y·(1 − y), with the output y = {y}.",
            ("sigmoid",),
        ),
        Misconception(
            "relu", "relu at or below zero", lambda f: f.upstream,
            "At {name} = {x} ≤ 0 relu is flat: it lets nothing through.", ("relu",), when=lambda f: f.x <= 0,
        ),
        Misconception(
            "minus", "the sign of a subtraction", lambda f: f.upstream,
            "{name} is subtracted, so its local derivative is −1.", ("sub",), slot=1,
        ),
        Misconception(
            "neg", "the sign of a negation", lambda f: f.upstream, "A minus turns the sign: its slope is −1.", ("neg",)
        ),
        Misconception(
            "exp", "the slope of exp from x in place of y", lambda f: f.x * f.upstream,
            "The slope of exp is its output {y}, not its input.", ("exp",),
        ),
        Misconception(
            "log", "log passed through as itself", lambda f: f.y * f.upstream,
            "The slope of log is 1/x with the input {x}, not its output.", ("log",),
        ),
        Misconception(
            "quotient", "a quotient taken for a product", lambda f: f.others[1] * f.upstream,
            "A quotient divides: the slope for {name} is 1/{other}, which is {local}.", ("div",), slot=0,
        ),
        Misconception(
            "power", "the exponent not lowered", lambda f: f.others[1] * f.y * f.upstream,
            "The exponent comes down and is lowered by one: n·xⁿ⁻¹ is {local}, not n·xⁿ.", ("pow",), slot=0,
        ),
        Misconception(
            "upstream", "the upstream gradient left out", lambda f: f.local,
            "That is the local derivative alone. Multiply it by what comes from above: {out}.grad = {upstream}.",
        ),
        Misconception(
            "local", "the local derivative left out", lambda f: f.upstream,
            "That passes {out}.grad on unchanged, as a sum would. Here the local derivative is {local}.",
        ),
        Misconception(
            "assign", "= in place of +=", lambda f: f.product,
            "That is this contribution alone. {name} held {before} already, and += keeps it.",
            when=lambda f: f.before != 0, replaces=True,
        ),
    )
}  # fmt: skip
SIGN = "The size is right, the sign is not."
OTHER = "Take the local derivative of this edge, times the gradient from above, and add it to what was there."


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said to an answer: `key` names the misconception, "sign", "other", or nothing where it is right."""

    right: bool
    key: str = ""
    text: str = ""


def near(a: float, b: float) -> bool:
    """Near enough for a person: half a percent, or half of the second decimal."""
    return a == b or (a != a and b != b) or abs(a - b) <= max(0.005, 0.005 * abs(b))


def judge(timeline: Timeline, frame: Frame, said: float) -> Verdict:
    """Judge what a learner says `.grad` will be after a backward frame, and name the idea behind a wrong answer."""
    facts = _facts(timeline, frame)
    after = frame.after if frame.after is not None else math.nan
    if near(said, after):
        return Verdict(True)
    node = timeline.nodes[frame.node]
    for idea in MISCONCEPTIONS.values():
        if not _applies(idea, node, frame, facts):
            continue
        product = idea.gives(facts)
        whole = product if idea.replaces else facts.before + product
        if near(said, whole) or (idea.ops and near(said, product) and not near(whole, after)):  # at a*a "own" is right
            return Verdict(False, idea.key, _said(idea.text, facts))
    if near(-said, after):
        return Verdict(False, "sign", SIGN)
    return Verdict(False, "other", OTHER)


def judge_sign(frame: Frame, said: str) -> Verdict:
    """Judge the sign ("+", "-" or "0") that a learner expects of a contribution."""
    product = frame.product or 0.0
    sign = "0" if product == 0 else "+" if product > 0 else "-"
    if said.replace("−", "-") == sign:
        return Verdict(True)
    local, upstream = show(frame.local or 0.0), show(frame.upstream or 0.0)
    return Verdict(False, "sign", f"The contribution is ({local})({upstream}) = {show(product)}.")


def _applies(idea: Misconception, node: Node, frame: Frame, facts: Facts) -> bool:
    if idea.ops and (node.op not in idea.ops or node.by_hand):
        return False
    return (idea.slot is None or idea.slot == frame.slot) and idea.when(facts)


def _facts(timeline: Timeline, frame: Frame) -> Facts:
    if frame.kind != "backward" or frame.input is None:
        raise ValueError(f"answers are judged at backward frames; this is a {frame.kind} frame")
    node, target = timeline.nodes[frame.node], timeline.nodes[frame.input]
    return Facts(
        x=target.data,
        y=node.data,
        local=frame.local if frame.local is not None else math.nan,
        upstream=frame.upstream or 0.0,
        product=frame.product or 0.0,
        before=frame.before or 0.0,
        name=target.name,
        out=node.name,
        others=[timeline.nodes[j].data for j in node.inputs],
    )


def _said(text: str, facts: Facts) -> str:
    other = show(facts.others[-1])
    figures = {key: show(getattr(facts, key)) for key in ("x", "y", "local", "upstream", "before")}
    return text.format(name=facts.name, out=facts.out, other=other, **figures)


# ---- questions


@dataclass(frozen=True, slots=True)
class Quiz:
    """A question about one gradient of a preset. `wrong` are answers and the idea behind each: (value, key, text)."""

    key: str
    title: str
    text: tuple[str, ...]
    preset: str
    asks: str  # the name of the node whose gradient is asked for
    why: str
    hint: str
    wrong: tuple[tuple[float, str, str], ...] = ()

    @property
    def question(self) -> str:
        """The question in words."""
        given = ", ".join(f"{name} = {show(x)}" for name, x in PRESETS[self.preset].values.items())
        return f"With {given}: what is {self.asks}.grad?"

    @property
    def answer(self) -> float:
        """The engine's own answer."""
        timeline = PRESETS[self.preset].timeline()
        grads = {node.name: grad for node, grad in zip(timeline.nodes, timeline.gradients())}
        return grads[self.asks] or 0.0

    def as_dict(self) -> dict[str, Any]:
        """The question as data for a page."""
        return {
            "key": self.key,
            "title": self.title,
            "text": list(self.text),
            "preset": self.preset,
            "question": self.question,
            "asks": self.asks,
            "answer": self.answer,
            "why": self.why,
            "hint": self.hint,
            "wrong": [{"value": value, "key": key, "text": text} for value, key, text in self.wrong],
        }


QUIZZES = (
    Quiz(
        "leaf", "Seed the root, then walk back",
        ("The gradient of L with respect to itself is 1: that is the seed. Every node then hands its gradient to its "
         "inputs, each time multiplied by the local derivative of that edge.",
         "Step forward to the end, then backward, and watch d before you watch a."),
        "product", "a",
        "The product sends d the other factor, c = 10; the sum copies that to a.",
        "d.grad is c.data times L.grad. A sum hands it on unchanged.",
        ((1.0, "upstream", "1 is the sum's local derivative alone; it is multiplied by d.grad = 10."),
         (2.0, "own", "2 is a's own data. What counts is how much L moves when a does."),
         (-1.0, "own", "−1 is d's data: that goes to c, the other factor.")),
    ),
    Quiz(
        "sibling", "And the other factor",
        ("A sum copies the gradient to its inputs. A product swaps and scales: each factor gets the gradient times the "
         "data of the other one.",),
        "product", "c",
        "c's partner in the product is d = a + b = −1.",
        "Which number stands on the other side of the product?",
        ((10.0, "own", "10 is c's own data. A product swaps: c gets d's data."),
         (1.0, "sign", "Mind the sign: d = 2 + (−3) = −1.")),
    ),
    Quiz(
        "weight", "A neuron, backward",
        ("tanh passes on 1 − o² of its gradient. The bias of this neuron makes o = 1/√2, so that is exactly ½.",
         "From n on, sums copy the ½ to both products."),
        "neuron", "w1",
        "The ½ reaches x1*w1, and the product gives w1 its partner: 2 · ½ = 1.",
        "Three steps: tanh halves, sums copy, the product multiplies by x1.",
        ((-1.5, "own", "−1.5 belongs to x1: w1's own data was used. The product swaps."),
         (2.0, "upstream", "2 is the local derivative alone; ½ comes from above."),
         (0.5, "local", "½ arrives at the product; it is still multiplied by x1 = 2.")),
    ),
    Quiz(
        "silent", "A weight that does not matter here",
        ("x2 is 0 in this example.",),
        "neuron", "w2",
        "Its partner x2 is 0: moving w2 moves nothing.",
        "The product gives w2 the data of x2.",
        ((0.5, "local", "½ arrives at the product; it is multiplied by x2 = 0."),),
    ),
    Quiz(
        "twice", "Used twice",
        ("b = a * a has two edges, and both end in a. Each brings its own contribution.",),
        "square", "a",
        "3 from the left slot and 3 from the right one: += keeps both. It is the 2a of calculus.",
        "Count the edges that end in a.",
        ((3.0, "assign", "That is one of two contributions. With = in place of += the second would erase the first."),
         (9.0, "own", "9 is b's data. The slope of a² is 2a.")),
    ),
    Quiz(
        "diamond", "Two ways to one node",
        ("b = 3a and c = a + 1 both come from a, and d = b·c needs both. a may fire only after b and c have: root "
         "first, then b and c in either order, then a. That is the reverse of a topological order.",
         "Try other orders in the order lab and see which contribution is lost."),
        "diamond", "a",
        "9 on the way over b (3 · c) and 6 on the way over c (1 · b). Or: d = 3a² + 3a, so 6a + 3 = 15.",
        "Add what comes over b to what comes over c.",
        ((9.0, "assign", "That is the way over b alone; the way over c brings 6 more."),
         (6.0, "assign", "That is the way over c alone; the way over b brings 9 more.")),
    ),
    Quiz(
        "order", "When the order decides",
        ("Here c is made from b, and d from both. If b hands on its gradient before c has delivered, a part is lost; "
         "if it hands it on twice, a part is counted twice.",),
        "order", "a",
        "b collects 7 from d and 6 from c, 13 in all, and a gets 3 · 13.",
        "Let b wait until d and c have both delivered.",
        ((21.0, "early", "21 = 3 · 7: b fired before c had delivered its 6."),
         (60.0, "repeated", "60 = 21 + 39: b fired twice, and its first 7 was counted twice."),
         (0.0, "early", "0: a's side fired before anything had arrived.")),
    ),
)  # fmt: skip
