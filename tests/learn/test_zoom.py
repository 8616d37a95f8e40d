"""A large drawing under the hand: wheel, drag, search, and boxes for graphs that no module made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from micrograd import Value
from micrograd.learn import explore

Visit = Callable[..., Any]


def rounds(n: int = 25) -> Value:
    x, w = Value(0.5, label="x"), Value(1.1, label="w")
    for _ in range(n):
        y = x * w
        z = y + 0.1
        x = z.tanh()
    x.label = "out"
    return x


@pytest.fixture
def large(visit: Visit, tmp_path: Path) -> Any:
    file = tmp_path / "large.html"
    explore(rounds()).save(file)
    return visit(file.as_uri(), reduced_motion="reduce")


def zoom(page: Any) -> float:
    found: float = page.locator(".mg-drawing").evaluate(
        "(e) => e.getBoundingClientRect().width / e.viewBox.baseVal.width"
    )
    return found


def test_a_large_graph_opens_as_boxes_without_modules(large: Any) -> None:
    assert large.locator(".group.closed").count() >= 5 and large.locator(".node").count() < 10
    large.click("[data-do='boxes']")
    assert large.locator(".node").count() > 100


def test_the_wheel_zooms_about_the_pointer(large: Any) -> None:
    card = large.locator(".group.closed").nth(1)
    box, before = card.bounding_box(), zoom(large)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    large.mouse.move(x, y)
    for _ in range(4):
        large.mouse.wheel(0, -60)
    large.wait_for_timeout(50)
    assert zoom(large) > 1.5 * before
    now = card.bounding_box()
    assert now["x"] <= x <= now["x"] + now["width"] and now["y"] <= y <= now["y"] + now["height"]
    for _ in range(8):
        large.mouse.wheel(0, 60)
    large.wait_for_timeout(50)
    assert zoom(large) < before


def test_dragging_moves_the_drawing_and_is_no_click(large: Any) -> None:
    box = large.locator(".group.closed").nth(2).bounding_box()
    left = "document.querySelector('.mg-scroll').scrollLeft"
    before, boxes = large.evaluate(left), large.locator(".group.closed").count()
    large.mouse.move(box["x"] + 40, box["y"] + 40)
    large.mouse.down()
    large.mouse.move(box["x"] - 110, box["y"] + 40, steps=5)
    large.mouse.up()
    assert large.evaluate(left) == pytest.approx(before + 150, abs=4)
    assert large.locator(".group.closed").count() == boxes  # no box was opened


def test_a_node_is_found_by_its_name_in_closed_boxes_too(large: Any) -> None:
    name = "v40"
    assert large.locator(f".node:has(> .mg-name:text-is('{name}'))").count() == 0
    large.keyboard.press("f")
    large.keyboard.type(name)
    large.keyboard.press("Enter")
    found = large.locator(f".node.sought:has(> .mg-name:text-is('{name}'))")
    assert found.count() == 1
    box, view = found.bounding_box(), large.locator(".mg-scroll").bounding_box()
    assert view["x"] <= box["x"] and box["x"] + box["width"] <= view["x"] + view["width"] + 1
    large.fill(".seek", "nowhere")
    large.press(".seek", "Enter")
    assert large.get_attribute(".seek", "aria-invalid") == "true"
