"""The questions of a lesson: what each asks, how its answer is computed, and the misconceptions it knows."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Any

from micrograd.learn.course.lessons import Block, Field, LessonScreen, Problem
from micrograd.learn.course.scenes import Scene

NODE = re.compile(r"^([^\W\d]\w*)\.(grad|data)$")
EDGE = re.compile(r"^contribution into (\S+) from (\S+)$")
GOAL = re.compile(r"^([^\W\d]\w*)\.(grad|data)\s*(<=|>=|<|>|=)\s*([−-]?[\d.]+)(?:\s+within\s+([\d.]+))?$")
TRAINED = re.compile(r"^(loss|accuracy)\s*(<=|>=|<|>)\s*([\d.]+%?)$")  # of a network that is trained in this step
NUMBER = r"[−+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[−+-]?\d+)?"
PICK = re.compile(r"^@([^\W\d]\w*)(?:\s+(up|down|still))?$")  # a node of the graph, or a way in which it moves
KINDS = ("of", "number", "goal", "order", "right")


@dataclass
class Ask:
    """A question. `kind` is gradient, data, contribution, number, goal, order or choice."""

    kind: str
    block: Block
    node: str = ""
    source: str = ""  # contribution: the node that passes on
    answer: str = ""
    goal: tuple[str, str, float, float] | None = None  # grad or data, sign, number, tolerance
    wrong: list[tuple[float, str, str, Field]] = field(default_factory=list)  # number, formula, what is said
    choices: list[tuple[bool, str, str]] = field(default_factory=list)  # right, text, what is said
    targets: list[tuple[str, str]] = field(default_factory=list)  # of choices in the picture: the node, and its way

    @property
    def name(self) -> str:
        """The question in saved progress, which stays the same where words and numbers of a lesson are changed."""
        own = {
            "gradient": f"{self.node}.grad",
            "data": f"{self.node}.data",
            "contribution": f"{self.node}-from-{self.source}",
        }
        return own.get(self.kind, self.kind)


def number(text: str) -> float:
    """A number as a lesson writes it: with a minus sign of print, thousands separators or a percent sign."""
    plain = text.strip().replace("−", "-").replace(",", "")
    return float(plain[:-1]) / 100 if plain.endswith("%") else float(plain)


def read_ask(
    block: Block, scene: Scene | None, problems: list[Problem], step: LessonScreen | None = None
) -> Ask | None:
    """The question of an `ask` block; problems are added to the list."""

    def wrong(name: str, text: str) -> None:
        problems.append(Problem(block.line_of(name), text))

    kinds = [kind for kind in KINDS if kind in block.fields]
    if len(kinds) != 1:
        wrong("ask", f"a question has exactly one of {', '.join(KINDS)}; this one has {', '.join(kinds) or 'none'}")
        return None
    names = [node.name for node in scene.timeline().nodes] if scene else []
    trained = TRAINED.match(block.get("goal")) if step is not None and any(step.blocks("train", "moons")) else None
    if trained is not None:
        return Ask("goal", block, goal=(trained[1], trained[2], number(trained[3]), 0.0))
    if kinds[0] != "right" and scene is None and kinds[0] != "number":
        wrong(kinds[0], "this question needs a graph on the stage, in this step or one before it")
        return None
    if not block.get("question") and kinds[0] != "of":
        wrong("ask", "this question needs a line `question: ...`")
    asked = _kind(block, kinds[0], names, wrong)
    if asked is None:
        return None
    if "wrong" in block.fields and asked.kind not in ("gradient", "data", "number"):
        wrong(
            "wrong",
            "wrong numbers belong to `of: a.grad`, `of: a.data` or `number`; other questions explain themselves",
        )
    for entry in block.fields.get("wrong", []):
        match = re.match(rf"^({NUMBER})\s*(?:=\s*([^|]+?))?\s*\|\s*(.+)$", entry.text, re.S)
        if match is None:
            problems.append(Problem(entry.line, "a wrong answer is `wrong: number | what is said to it`"))
        else:
            asked.wrong.append((number(match[1]), (match[2] or "").strip(), match[3], entry))
    if asked.kind in ("gradient", "data", "number") and not re.fullmatch(NUMBER, asked.answer):
        wrong("answer", "the answer is missing: a line `answer: ...` with a number, which `lesson check` computes")
        return None
    return asked


def _pictured(asked: Ask, names: list[str], wrong: Any) -> bool:
    """Note what the answers `@b` and `@a up` stand for in the picture; say whether they can be chosen there."""
    labels = [label for _, label, _ in asked.choices]
    if not any(label.startswith("@") for label in labels):
        return True
    found = [PICK.match(label) for label in labels]
    asked.targets = [(match[1], match[2] or "") for match in found if match]
    if len(asked.targets) < len(labels):
        wrong("right", "a choice of a node is `@name`, or `@name` and up, down or still; then all of them are")
    elif strangers := [name for name, _ in asked.targets if name not in names]:
        wrong("right", f"there is no node {strangers[0]} to choose in this graph (its nodes: {', '.join(names)})")
    elif len({way == "" for _, way in asked.targets}) > 1:
        wrong("right", "choices are nodes of the graph, or ways in which nodes move, and not both")
    elif len(set(asked.targets)) < len(labels):
        wrong("right", "two answers are the same place in the picture")
    else:
        return True
    return False


def _kind(block: Block, kind: str, names: list[str], wrong: Any) -> Ask | None:
    text = block.get(kind)
    if kind == "number":
        return Ask("number", block, answer=block.get("answer"))
    if kind == "order":
        return Ask("order", block)
    if kind == "right":
        asked = Ask("choice", block)
        lines = [*[(True, e) for e in block.fields["right"]], *[(False, e) for e in block.fields.get("choice", [])]]
        for right, entry in sorted(lines, key=lambda pair: pair[1].line):
            label, _, said = entry.text.partition("|")
            asked.choices.append((right, label.strip(), said.strip()))
            if not right and not said.strip():
                wrong("choice", "each wrong choice says why it is wrong: `choice: its text | what is said to it`")
        random.Random(block.get("question")).shuffle(
            asked.choices
        )  # in a file the right one tends to stand at one place
        if len(asked.choices) < 2:
            wrong("right", "a choice needs at least one wrong answer: a line `choice: ... | ...`")
        return asked if _pictured(asked, names, wrong) else None
    if kind == "goal":
        match = GOAL.match(text)
        if match is None or match[1] not in names:
            wrong("goal", f"{text!r} is not a goal on this graph; write `goal: L.data < 1` or `x.grad = 0 within 0.1`")
            return None
        return Ask("goal", block, match[1], goal=(match[2], match[3], number(match[4]), float(match[5] or 0)))
    node, edge = NODE.match(text), EDGE.match(text)
    found = node[1] if node else edge[1] if edge else ""
    if not found or found not in names or (edge and edge[2] not in names):
        told = "`of: a.grad`, `of: a.data` or `of: contribution into a from b`"
        wrong("of", f"{text!r} is not a quantity of this graph; write {told} (its nodes: {', '.join(names)})")
        return None
    if edge:
        return Ask("contribution", block, edge[1], edge[2], block.get("answer"))
    assert node is not None
    return Ask("gradient" if node[2] == "grad" else "data", block, found, answer=block.get("answer"))
