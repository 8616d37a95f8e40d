"""Answers are given at the node that they are about; numbers travel along the edges; the points of curves can be dragged."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_course_browser import course_file, open_at, type_answer

__all__ = ["course_file"]  # a fixture of the other file
Visit = Callable[..., Any]


def place(page: Any, selector: str) -> dict[str, float]:
    box: dict[str, float] = page.locator(selector).first.bounding_box()
    return box


def overlap(a: dict[str, float], b: dict[str, float]) -> float:
    wide = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
    tall = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
    return max(0.0, wide) * max(0.0, tall)


def far(a: dict[str, float], b: dict[str, float]) -> float:
    """How far two rectangles are apart."""
    wide = max(a["x"], b["x"]) - min(a["x"] + a["width"], b["x"] + b["width"])
    tall = max(a["y"], b["y"]) - min(a["y"] + a["height"], b["y"] + b["height"])
    return max(wide, tall, 0.0)


def node(name: str) -> str:
    return f".node:has(> .mg-name:text-is('{name}'))"


@pytest.mark.parametrize(("step", "name"), [("attention/10", "out"), ("network/1", "o"), ("neuron/1", "w2")])
def test_the_field_stands_at_its_node_and_covers_no_card_much(
    visit: Visit, course_file: Path, step: str, name: str
) -> None:
    page = open_at(visit, course_file, step)
    ask = place(page, ".ask.anchored")
    assert far(ask, place(page, f"{node(name)} .box")) < 14
    cards = [box.bounding_box() for box in page.locator(".node .box").all()]
    assert all(overlap(ask, card) < 0.25 * card["width"] * card["height"] for card in cards)
    assert page.locator(f"{node(name)}.asked").count() == 1
    assert page.locator(f"{node(name)} .mg-grad").text_content() == "?"


def test_a_right_answer_stays_on_its_node_and_a_wrong_one_bounces_off(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "network/1")
    type_answer(page, 5.0)
    assert page.locator(f"{node('o')}.bounce").count() == 1 and page.locator(".node.settled").count() == 0
    assert page.locator(".stage .ask .verdict.bad").count() == 1 and page.locator(".task .verdict.bad").count() == 0
    type_answer(page, 4.0)
    assert page.locator(f"{node('o')}.settled .mg-grad").text_content() == "4"
    assert page.locator(f"{node('v1')}.asked").count() == 1  # the next question, at its node
    assert "gradient 4" in page.locator(node("o")).get_attribute("aria-label")


def test_after_the_last_answer_there_is_one_next_action(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "used-twice/1")
    type_answer(page, 6.0)
    assert page.locator(".ask:visible").count() == 0 and page.locator(".verdict.good:visible").count() == 1
    assert page.locator("[data-do='next-step']:focus").count() == 1


def test_in_a_narrow_window_the_question_stands_below_the_drawing(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "attention/10", width=390, height=844)
    ask, views = place(page, ".stage .ask"), place(page, ".stage .views")
    assert page.locator(".ask.anchored").count() == 0 and ask["y"] >= views["y"] + views["height"] - 1


@pytest.mark.parametrize("height", [740, 520])
def test_a_question_and_an_open_panel_share_a_narrow_window(visit: Visit, lesson_file: Path, height: int) -> None:
    state = "graph=product&step=7&predict=1&tab=leaves"
    page = visit(f"{lesson_file.as_uri()}#{state}", width=360, height=height, reduced_motion="reduce")
    page.click("[data-do='next']")
    ask, panel, sheet = (place(page, f".stage {part}") for part in (".ask", ".slot", ".sheet"))
    assert ask["height"] > 60 and ask["y"] + ask["height"] <= panel["y"] + 1
    assert panel["y"] + panel["height"] <= sheet["y"] + 1 and sheet["y"] + sheet["height"] <= height
    page.click(".ask [data-sign='negative']", timeout=10_000)  # the panel does not lie over it
    assert page.locator(".ask .verdict.bad").count() == 1


def test_an_order_is_given_by_tapping_nodes_and_by_enter(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "order/4")
    page.locator(f"{node('L')} .box").click()
    page.locator(node("z")).focus()
    page.keyboard.press("Enter")
    page.locator(f"{node('p')} .box").click()
    badges = ".badge[visibility='visible'] text"
    assert [page.locator(f"{node(name)} {badges}").text_content() for name in "Lzp"] == ["1.", "2.", "3."]
    assert "1." in page.locator(node("L")).get_attribute("aria-label")
    page.click("[data-do='run']")
    assert page.locator(".task.done").count() == 1


def test_a_film_moves_numbers_forward_and_backward(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "sums-and-products/5")  # a choice: the stage is free
    page.emulate_media(reduced_motion="no-preference")
    page.click("[data-do='leave']")
    page.select_option(".transport select", label="quick")
    page.evaluate(
        """() => { window.seen = new Set(); const look = () => { for (const one of document.querySelectorAll(".packet"))
        window.seen.add(one.getAttribute("class") + " " + one.textContent); requestAnimationFrame(look); }; look(); }"""
    )
    page.click("[data-do='play']")
    page.locator(".count", has_text=re.compile(r"^(\d+) / \1$")).wait_for()
    page.locator(".packet").wait_for(state="detached")
    seen = set(page.evaluate("[...window.seen]"))
    assert {"packet ahead 2", "packet ahead −3"} <= seen and {"packet −3 × 1 = −3", "packet 2 × 1 = 2"} <= seen


def test_with_reduced_motion_a_film_has_steps_only(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "sums-and-products/5")
    page.click("[data-do='leave']")
    page.select_option(".transport select", label="quick")
    page.evaluate("window.moved = 0; new MutationObserver((all) => all.forEach((one) => one.addedNodes.forEach((node) =>"
                  "{ if (node.classList?.contains('packet')) window.moved++; }))).observe(document.body,"
                  "{ childList: true, subtree: true })")  # fmt: skip
    page.click("[data-do='play']")
    page.locator(".count", has_text=re.compile(r"^(\d+) / \1$")).wait_for()
    assert page.evaluate("window.moved") == 0


def test_the_point_of_a_curve_can_be_dragged(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "slope/4")
    dot = place(page, ".slopes .grip")
    x, y = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y, steps=4)
    page.mouse.up()
    moved = place(page, ".slopes .grip")
    assert moved["x"] == pytest.approx(dot["x"] - 60, abs=3)
    assert float(page.locator(".leaf[data-leaf='e'] input[type='range']").input_value()) < 3
