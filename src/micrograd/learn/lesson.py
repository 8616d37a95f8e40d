"""The lesson: graphs to open, questions to answer, and the wrong ideas that wrong answers come from.

Numbers and formulas stand in `texts/lesson.json`, words in `texts/en.json`; the page reads the same two files.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from micrograd.engine import Value
from micrograd.learn import texts
from micrograd.learn.expression import parse
from micrograd.learn.frames import Frame, Timeline, frames
from micrograd.learn.nodes import Node
from micrograd.learn.sentences import show
from micrograd.ops import OPS

_BY_OUTPUT = re.compile(r"[\dy²·/()+ -]+")  # the rule of a slope in which the output alone occurs


@dataclass(frozen=True, slots=True)
class Preset:
    """A graph worth looking at: its expression and the numbers to start with."""

    key: str
    expression: str
    values: dict[str, float]

    @property
    def title(self) -> str:
        """What a list of graphs calls it."""
        return texts.say(f"presets.{self.key}.title")

    @property
    def about(self) -> str:
        """What there is to see."""
        return texts.say(f"presets.{self.key}.about")

    def build(self) -> Value:
        """The root of its graph."""
        return parse(self.expression).build(self.values)

    def timeline(self) -> Timeline:
        """Its frames."""
        return frames(self.build(), names={})


PRESETS = {row["key"]: Preset(**row) for row in texts.lesson()["presets"]}


# ---- wrong ideas


@dataclass(frozen=True, slots=True)
class Misconception:
    """A wrong idea: where it applies, and the contribution that it would give. `ops` of none means any op.

    `local` is a formula for the local derivative that the learner has in mind, `product` one for the whole
    contribution; `replaces` says that the idea is about what becomes of the gradient that was there.
    """

    key: str
    code: tuple[str, str]
    ops: tuple[str, ...] = ()
    slot: int | None = None
    when: Any = None
    local: Any = None
    product: Any = None
    replaces: bool = False
    passes: int = 1

    @property
    def title(self) -> str:
        """The idea in a few words."""
        return texts.say(f"ideas.{self.key}.title")

    def applies(self, node: Node, slot: int | None, facts: dict[str, float]) -> bool:
        """Whether a learner can have this idea at one edge."""
        if self.passes > 1 or (self.ops and (node.op not in self.ops or node.by_hand)):
            return False
        if self.slot is not None and self.slot != slot:
            return False
        return self.when is None or bool(texts.calculate(self.when, facts))

    def gives(self, facts: dict[str, float]) -> float:
        """The contribution of an edge according to this idea."""
        if self.local is not None:
            return texts.calculate(self.local, facts) * facts["upstream"]
        return texts.calculate(self.product, facts)


MISCONCEPTIONS = {row["key"]: Misconception(**row) for row in texts.lesson()["ideas"]}


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said to an answer: `key` names the misconception, "sign", "other", or nothing where it is right."""

    right: bool
    key: str = ""
    text: str = ""


def near(said: float, wanted: float) -> bool:
    """Whether an answer counts as right: the same sign, and within half a percent, or equal as far as it is shown, or cut.

    An answer is cut if it gives a number that is not shown in full, such as 1/3, to two or more significant figures.
    """
    if said == wanted or (said != said and wanted != wanted):
        return True
    if not (math.isfinite(said) and math.isfinite(wanted)) or said == 0 or (said > 0) != (wanted > 0):
        return False
    return abs(said - wanted) <= 0.005 * abs(wanted) or show(said) == show(wanted) or cut(said, wanted)


def cut(said: float, wanted: float) -> bool:
    """Whether an answer has the first two or more significant figures of a number that is not shown in full."""
    if float(show(wanted).replace("−", "-")) == wanted or said == 0:
        return False
    mantissa = repr(abs(said)).partition("e")[0].replace(".", "").strip("0")
    figures = max(2, len(mantissa))
    digits, exponent = f"{abs(wanted):.20e}".split("e")
    return abs(said) in (float(f"{abs(wanted):.{figures - 1}e}"), float(f"{digits[: figures + 1]}e{exponent}"))


def judge(timeline: Timeline, frame: Frame, said: float) -> Reply:
    """Judge what a learner says `.grad` will be after a backward frame, and name the idea behind a wrong answer."""
    facts = _facts(timeline, frame)
    after = frame.after if frame.after is not None else math.nan
    if near(said, after):
        return Reply(True)
    node = timeline.nodes[frame.node]
    for idea in MISCONCEPTIONS.values():
        if not idea.applies(node, frame.slot, facts):
            continue
        product = idea.gives(facts)
        whole = product if idea.replaces else facts["before"] + product
        if near(said, whole) or (idea.ops and near(said, product) and not near(whole, after)):  # at a*a "own" is right
            return Reply(False, idea.key, _said(idea.key, timeline, frame, facts))
    if near(said, _from_shown(timeline, frame)):
        return Reply(True)
    key = "sign" if near(-said, after) else "other"
    return Reply(False, key, _said(key, timeline, frame, facts))


def _from_shown(timeline: Timeline, frame: Frame) -> float:
    """The gradient after a frame, computed from the numbers as they are shown; nan where the table has no rule for it."""
    node, slot = timeline.nodes[frame.node], frame.slot
    op = OPS.get(node.op)
    if op is None or op.arity < 0 or slot is None or node.by_hand:
        return math.nan
    args = [_seen(timeline.nodes[i].data) for i in node.inputs]
    try:
        rule, y = op.rule[slot] if slot < len(op.rule) else "", _seen(node.data)
        if _BY_OUTPUT.fullmatch(rule):  # written with the output, as learners compute it
            code = re.sub(r"(\d)y", r"\1*y", rule).replace("·", "*").replace("²", "**2")
            local = float(eval(code, {"__builtins__": {}}, {"y": y}))
        else:
            local = float(op.partials[slot](*args, y))
    except ArithmeticError:
        return math.nan
    return _seen(frame.before or 0.0) + local * _seen(frame.upstream or 0.0)


def _seen(x: float) -> float:
    """A number as far as it is shown."""
    return float(show(x).replace("−", "-").replace("∞", "inf"))


def judge_sign(timeline: Timeline, frame: Frame, said: str) -> Reply:
    """Judge the sign ("+", "-" or "0") that a learner expects of a contribution; a wrong one is not told the value."""
    product = frame.product or 0.0
    sign = "0" if product == 0 else "+" if product > 0 else "-"
    if said.replace("−", "-") == sign:
        return Reply(True)
    return Reply(False, "sign", _said("which_sign", timeline, frame, _facts(timeline, frame)))


def _facts(timeline: Timeline, frame: Frame) -> dict[str, float]:
    """What a frame shows, and what a learner may mix up: x and y are the data of the input and of the node."""
    if frame.kind != "backward" or frame.input is None:
        raise ValueError(f"answers are judged at backward frames; this is a {frame.kind} frame")
    node, target = timeline.nodes[frame.node], timeline.nodes[frame.input]
    return {
        "x": target.data,
        "y": node.data,
        "n": timeline.nodes[node.inputs[-1]].data,
        "local": frame.local if frame.local is not None else math.nan,
        "upstream": frame.upstream or 0.0,
        "product": frame.product or 0.0,
        "before": frame.before or 0.0,
    }


def _said(key: str, timeline: Timeline, frame: Frame, facts: dict[str, float]) -> str:
    names = {"name": timeline.nodes[frame.input or 0].name, "out": timeline.nodes[frame.node].name}
    return texts.say(f"ideas.{key}.text", **names, **{word: show(x) for word, x in facts.items()})


# ---- questions


@dataclass(frozen=True, slots=True)
class Quiz:
    """A question about one gradient of a preset. `wrong` are expected wrong answers, each with the idea behind it."""

    key: str
    preset: str
    asks: str  # the name of the node whose gradient is asked for
    wrong: tuple[tuple[float, str], ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name in ("title", "text", "why", "hint"):
            return texts.get(f"quizzes.{self.key}.{name}")
        raise AttributeError(name)

    @property
    def replies(self) -> list[tuple[float, str, str]]:
        """The expected wrong answers: (value, key of the idea, what is said to it)."""
        said = texts.get(f"quizzes.{self.key}.wrong")
        return [(value, idea, text) for (value, idea), text in zip(self.wrong, said)]

    @property
    def question(self) -> str:
        """The question in words."""
        given = ", ".join(f"{name} = {show(x)}" for name, x in PRESETS[self.preset].values.items())
        return texts.say("quizzes.question", given=given, asks=self.asks)

    @property
    def answer(self) -> float:
        """The engine's own answer."""
        timeline = PRESETS[self.preset].timeline()
        grads = {node.name: grad for node, grad in zip(timeline.nodes, timeline.gradients())}
        return grads[self.asks] or 0.0

    def as_dict(self) -> dict[str, Any]:
        """The question as data for a page; its words are in the texts under the same key."""
        wrong = [list(pair) for pair in self.wrong]
        own = {"key": self.key, "preset": self.preset, "asks": self.asks, "wrong": wrong}
        return {**own, "question": self.question, "answer": self.answer}


QUIZZES = tuple(
    Quiz(row["key"], row["preset"], row["asks"], tuple((x, idea) for x, idea in row["wrong"]))
    for row in texts.lesson()["quizzes"]
)
