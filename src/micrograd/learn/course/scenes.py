"""What the stage shows in each step of a lesson: the graph, its numbers, the frame; read from `graph` blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from micrograd.learn.course.lessons import Block, Lesson, LessonScreen, Problem
from micrograd.learn.expression import ExpressionError, parse, read_values
from micrograd.learn.frames import Timeline, frames
from micrograd.learn.orders import ORDERS
from micrograd.learn.texts import lesson as language_free

_INTO = re.compile(r"^(before )?into (\S+)(?: from (\S+))?$")
PLACES = ("start", "forward", "backward", "end")


@dataclass(frozen=True)
class Scene:
    """The stage in one step. `key` names the graph on the page; `place` is a word of PLACES, a number, or an edge."""

    key: str
    expression: str
    given: tuple[tuple[str, float], ...]  # numbers of the block that wrote the expression
    values: tuple[tuple[str, float], ...]  # numbers in this step
    place: Any = "start"
    lab: Any = None
    predict: bool = False
    leaves: tuple[str, ...] = ()  # the sliders that are shown

    def timeline(self, **changed: float) -> Timeline:
        """The frames, with some leaves changed."""
        numbers = {**dict(self.given), **dict(self.values), **changed}
        return frames(parse(self.expression).build(numbers), names={})

    @property
    def changed(self) -> dict[str, float]:
        """The leaves that this step sets to other numbers than the graph came with."""
        return {name: x for name, x in self.values if (name, x) not in self.given}


def scenes(lesson: Lesson, problems: list[Problem]) -> Iterator[tuple[LessonScreen, Scene | None]]:
    """Each step with its scene; a step without a graph block keeps the graph, at the frame where it was."""
    now: Scene | None = None
    named: dict[str, Scene] = {}
    for step in lesson.steps:
        block = step.graph
        if block is not None:
            found = _scene(lesson, block, now, named, problems)
            now = found or now
            if found and block.get("name"):
                named[block.get("name")] = found
        elif now is not None:
            now = replace(now, lab=None, predict=False)
        yield step, now


def _scene(
    lesson: Lesson, block: Block, now: Scene | None, named: dict[str, Scene], problems: list[Problem]
) -> Scene | None:
    def wrong(name: str, text: str) -> None:
        problems.append(Problem(block.line_of(name), text))

    scene = now
    if block.get("use"):
        scene = named.get(block.get("use"))
        if scene is None:
            wrong("use", f"no graph before this line has the name {block.get('use')!r}")
            return None
        scene = replace(scene, lab=None, predict=False, place="start", values=scene.given)
    try:
        values = tuple(read_values(block.get("values").replace(",", " ").split()).items())
    except ExpressionError as error:
        wrong("values", error.message)
        values = ()
    if block.get("expression"):
        key = f"{lesson.key}-{block.line}"
        scene = Scene(key, block.get("expression"), values, values)
        try:
            scene.timeline()
        except (ExpressionError, ValueError) as error:
            wrong("expression", str(getattr(error, "message", error)))
            return None
    elif scene is None:
        wrong("graph", "the first graph of a lesson needs an expression, such as `expression: c = a * b`")
        return None
    elif values:
        scene = replace(scene, values=tuple({**dict(scene.values), **dict(values)}.items()))
        try:
            scene.timeline()
        except ExpressionError as error:
            wrong("values", error.message)
            return None
    scene = replace(scene, lab=None, predict=block.get("predict") == "yes", leaves=())
    if block.get("predict") not in ("", "yes", "no"):
        wrong("predict", f"predict is yes or no, not {block.get('predict')!r}")
    nodes = scene.timeline().nodes
    names, movable = (
        [node.name for node in nodes],
        [node.name for node in nodes if not node.inputs and not node.constant],
    )
    sliders = block.get("leaves")
    if sliders not in ("", "no"):
        chosen = movable if sliders == "yes" else sliders.replace(",", " ").split()
        if not set(chosen) <= set(movable):
            wrong("leaves", f"leaves is yes, no, or some of {', '.join(movable)}, not {sliders!r}")
        scene = replace(scene, leaves=tuple(chosen))
    if block.get("step"):
        place = _place(block.get("step"), scene)
        if place is None:
            told = "start, forward, backward, end, a number of frames, or `into a from b`"
            wrong("step", f"there is no frame {block.get('step')!r}: a step is {told}")
        scene = replace(scene, place="start" if place is None else place)
    elif block.get("expression"):
        scene = replace(scene, place="start")
    if block.get("lab"):
        lab = _lab(block.get("lab"), names)
        if lab is None:
            orders, bugs = ", ".join(ORDERS), ", ".join(idea["key"] for idea in language_free()["ideas"])
            wrong("lab", f"there is no lab {block.get('lab')!r}: `order` with {orders} or names; `bug` with {bugs}")
        scene = replace(scene, lab=lab)
    return scene


def _place(text: str, scene: Scene) -> Any:
    """A frame as the page finds it: a word, a number of frames, or the names of an edge."""
    if text in PLACES:
        return text
    timeline = scene.timeline()
    if text.isdigit():
        return int(text) if int(text) <= len(timeline) else None
    match = _INTO.match(text)
    if match is None:
        return None
    names = [node.name for node in timeline.nodes]
    for k, frame in enumerate(timeline):
        into, source = names[frame.input or 0], names[frame.node]
        if frame.kind == "backward" and into == match[2] and match[3] in (None, source):
            return k + (0 if match[1] else 1)
    return None


def place_of(place: Any, timeline: Timeline) -> int:
    """How many frames are shown at a place."""
    if isinstance(place, int):
        return place
    seed = next((k for k, frame in enumerate(timeline) if frame.kind == "seed"), len(timeline))
    return {"start": 0, "forward": seed, "backward": seed + 1}.get(place, len(timeline))


def _lab(text: str, names: list[str]) -> Any:
    kind, _, what = text.partition(" ")
    if kind == "bug" and what in {idea["key"] for idea in language_free()["ideas"]}:
        return {"bug": what}
    if kind == "order" and what in ORDERS:
        return {"order": what}
    order = what.replace(",", " ").split()
    return {"order": order} if kind == "order" and order and set(order) <= set(names) else None
