"""Choices about the picture are made in it: by a tap or by keys, without a second field, with the reply at the node."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_course_browser import CHAPTERS, course_file, open_at, tap

from micrograd.learn.course.asks import read_ask
from micrograd.learn.course.check import check
from micrograd.learn.course.lessons import parse
from micrograd.learn.course.scenes import scenes

__all__ = ["course_file"]  # a fixture of the other file
Visit = Callable[..., Any]


def test_the_course_asks_in_the_picture() -> None:
    asked = [read_ask(block, scene, [], step) for lesson in CHAPTERS.values() for step, scene in scenes(lesson, [])
             for block in step.blocks("ask")]  # fmt: skip
    assert sum(bool(ask and ask.targets) for ask in asked) >= 10
    assert sum(bool(ask and ask.kind == "order") for ask in asked) >= 4


def test_a_wrong_choice_is_answered_at_its_node_and_nowhere_else(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "nudge/4")
    assert page.locator(".task :is(input, .choice)").count() == 0
    page.click("[data-pick='b down']")
    assert "weakest of the three" in page.inner_text(".pick-reply .verdict.bad")
    assert page.locator(".task .verdict").count() == 0
    assert page.locator(".node.bounce > .mg-name").all_text_contents() == ["b"]
    reply, card = page.locator(".pick-reply").bounding_box(), page.locator(".node.bounce .box").bounding_box()
    wide = max(reply["x"], card["x"]) - min(reply["x"] + reply["width"], card["x"] + card["width"])
    tall = max(reply["y"], card["y"]) - min(reply["y"] + reply["height"], card["y"] + card["height"])
    assert max(wide, tall) < 20  # it stands beside the node
    page.click("[data-pick='w up']")
    assert page.locator(".task.done .verdict.good").count() == 1 and page.locator(".pick:visible").count() == 0
    assert page.locator("[data-do='next-step']:focus").count() == 1  # one next action


def test_a_choice_in_the_picture_by_keys_alone(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "order/2")
    page.locator(".task [data-do='in-picture']").focus()
    page.keyboard.press("Enter")
    first = page.evaluate("document.activeElement.dataset.pick")
    assert first in {"p", "z", "L"}
    names = page.eval_on_selector_all(".pick", "els => els.map((e) => e.getAttribute('aria-label'))")
    for _ in range(names.index("p") - names.index(first)):
        page.keyboard.press("Tab")
    for _ in range(names.index(first) - names.index("p")):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert page.locator(".task.done").count() == 1
    assert page.locator("[data-do='next-step']:focus").count() == 1


def test_an_order_has_no_second_list_and_a_second_tap_takes_a_node_out(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "order/4")
    assert page.locator(".task .chip").count() == 0 and "Tap the nodes" in page.inner_text(".task .chosen")
    for name in ("L", "p", "p"):
        tap(page, name)
    assert page.inner_text(".task .chosen") == "1. L"
    tap(page, "p")
    page.click("[data-do='run']")
    assert page.locator(".task .verdict.bad").count() == 1
    tap(page, "p")
    for name in "zp":
        tap(page, name)
    page.click("[data-do='run']")
    assert page.locator(".task.done").count() == 1


def test_on_a_phone_the_question_stands_once_at_the_picture(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "slope/5", width=390, height=844)
    shown = [one for one in page.locator(".asks", has_text="What does L do?").all() if one.is_visible()]
    assert len(shown) == 1 and page.locator(".pick-reply.open .asks").is_visible()
    page.click("[data-pick='L still']")
    assert "how it moves" in page.inner_text(".pick-reply .verdict.bad")
    page.click("[data-pick='L down']")
    assert page.locator(".task.done").is_visible() and not page.locator(".pick-reply").is_visible()


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("right: @b up\nchoice: @q down | No.", "no node q"),
        ("right: @b up\nchoice: Down | No.", "then all of them are"),
        ("right: @b up\nchoice: @a | No.", "and not both"),
        ("right: @b up\nchoice: @b up | No.", "the same place"),
        ("right: @b sideways\nchoice: @b up | No.", "up, down or still"),
    ],
)
def test_a_choice_that_is_not_in_the_picture_is_told_with_its_line(rows: str, told: str) -> None:
    graph = "```graph\nexpression: b = a * a\nvalues: a=3\nstep: forward\n```\n"
    found = check(parse(f"---\ntitle: T\n---\n## One\n{graph}```ask\nquestion: Which?\n{rows}\n```\n"))
    assert [problem.line for problem in found] == [12] and told in found[0].text
