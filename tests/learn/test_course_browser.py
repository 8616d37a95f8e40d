"""The course walked through as a learner would, in a real browser, from file:// with the network blocked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from micrograd.learn.course import site
from micrograd.learn.course.asks import Ask, read_ask
from micrograd.learn.course.drill import Shape, shapes
from micrograd.learn.course.lessons import Block, Lesson, Step
from micrograd.learn.course.page import chapters
from micrograd.learn.course.scenes import Scene, scenes
from micrograd.learn.expression import parse
from micrograd.learn.frames import frames

Visit = Callable[..., Any]
CHAPTERS = {lesson.key: lesson for lesson in chapters()}
GOALS = {  # numbers for the sliders that reach each goal
    "y.data = 16 within 0.01": {"x": "5"},
    "x.grad = 0 within 0.15": {"x": "0"},
    "y.data < -3.99": {"x": "2"},
    "x.grad > 0.9": {"x": "0.1"},
    "o.data >= 2": {"b": "9"},
    "L.data < 0.05": {"w": "3"},
    "L.data < 0.1": {"w": "2", "b": "1"},
}


@pytest.fixture(scope="session")
def course_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("course") / "course.html"
    file.write_text(site.course(), encoding="utf-8")
    return file


def screens(lesson: Lesson) -> list[tuple[Step | None, Scene | None]]:
    """Steps in the order of the page: the drill (None) before the milestones."""
    all_steps: list[tuple[Step | None, Scene | None]] = list(scenes(lesson, []))
    plain = [pair for pair in all_steps if pair[0] and not pair[0].milestone]
    last = [pair for pair in all_steps if pair[0] and pair[0].milestone]
    return [*plain, *([(None, None)] if lesson.drill else []), *last]


def ask_of(block: Block, scene: Scene | None) -> Ask:
    ask = read_ask(block, scene, [])
    assert ask is not None
    return ask


def gradient(scene: Scene, node: str, **values: float) -> float:
    line = scene.timeline(**values)
    return next(g or 0.0 for n, g in zip(line.nodes, line.gradients()) if n.name == node)


def leaves(page: Any) -> dict[str, float]:
    """The numbers of the leaves on the stage, as they are read out."""
    labels = page.eval_on_selector_all(".stage .node", "els => els.map((e) => e.getAttribute('aria-label'))")
    rows = [label.split(", ") for label in labels if ", a leaf, " in label]
    return {row[0]: float(row[2].removeprefix("data ").replace("−", "-")) for row in rows}


def type_answer(page: Any, x: float) -> None:
    page.fill(".stage .ask input", repr(x))
    page.click(".stage .ask button.strong:not([data-sign]) >> nth=0")


def answer(page: Any, card: Any, ask: Ask, scene: Scene | None) -> None:
    """Give the right answer to one question, with the means that a learner has."""
    if ask.kind in ("gradient", "data"):
        type_answer(page, float(ask.answer.replace("−", "-")))
    elif ask.kind == "contribution":
        assert scene is not None
        line = scene.timeline()
        names = [node.name for node in line.nodes]
        frame = next(
            f for f in line if f.kind == "backward" and (names[f.input or 0], names[f.node]) == (ask.node, ask.source)
        )
        assert frame.product is not None and frame.after is not None
        page.click(
            f".ask [data-sign='{'positive' if frame.product > 0 else 'negative' if frame.product < 0 else 'zero'}']"
        )
        type_answer(page, frame.after)
    elif ask.kind == "number":
        card.locator("input").fill(ask.answer)
        card.locator("input").press("Enter")
    elif ask.kind == "choice":
        card.locator("input").nth([right for right, *_ in ask.choices].index(True)).check()
    elif ask.kind == "goal":
        for name, x in GOALS[ask.block.get("goal")].items():
            field = page.locator(f".leaf[data-leaf='{name}'] input[type='text']")
            field.fill(x)
            field.press("Enter")
    else:
        assert scene is not None
        for node in reversed(scene.timeline().nodes):
            if node.inputs and card.locator(f"[data-place='{node.name}']").count():
                card.locator(f"[data-place='{node.name}']").click()
        card.locator("[data-do='run']").click()


def drill(page: Any, lesson: Lesson) -> None:
    known = {f"{lesson.key}-drill-{k}": shape for k, shape in enumerate(shapes(lesson.drill, lesson.key))}
    for _ in range(20):
        if page.locator("[data-do='next-step']").is_enabled():
            return
        shape: Shape = known[page.get_attribute(".stage", "data-graph")]
        numbers = leaves(page)
        assert set(numbers) == set(shape.pools) and all(x in shape.pools[name] for name, x in numbers.items())
        line = frames(parse(shape.expression).build(numbers), names={})
        wanted = page.inner_text(".stage .ask .asks").rsplit("what is ", 1)[1].removesuffix(".grad?")
        assert wanted in shape.asks
        type_answer(page, next(g or 0.0 for n, g in zip(line.nodes, line.gradients()) if n.name == wanted))
        if page.locator("[data-do='next-question']").count():
            page.click("[data-do='next-question']")
    raise AssertionError("the drill has no end")


def walk(page: Any, lesson: Lesson) -> int:
    """Answer everything in a chapter; says how many questions there were."""
    count = 0
    for k, (step, scene) in enumerate(screens(lesson)):
        assert f"step {k + 1} of" in page.inner_text(".trail")
        if step is None:
            drill(page, lesson)
        else:
            assert step.title in page.inner_text(".text h2")
            asks = [ask_of(block, scene) for block in step.blocks("ask")]
            cards = page.locator(".task")
            assert cards.count() == len(asks)
            for i, ask in enumerate(asks):
                assert page.locator("[data-do='next-step']").is_disabled()
                answer(page, cards.nth(i), ask, scene)
                assert "done" in cards.nth(i).get_attribute("class"), (step.title, ask.kind, ask.node)
                count += 1
        assert page.locator("[data-do='next-step']").is_enabled()
        page.click("[data-do='next-step']")
    return count


@pytest.mark.parametrize("key", CHAPTERS)
def test_a_learner_finishes_the_chapter(visit: Visit, course_file: Path, key: str) -> None:
    page = visit(f"{course_file.as_uri()}#{key}/1", reduced_motion="reduce")
    asked = walk(page, CHAPTERS[key])
    assert asked >= 6
    assert page.locator(f"[data-chapter='{key}'] .tick.done").count() == 1
    kept = json.loads(page.evaluate("localStorage.getItem('micrograd.course.micrograd-course')"))
    assert len(kept["solved"]) == asked and kept["drills"] == {key: 1} and kept["reviews"] == []
