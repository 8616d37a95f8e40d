"""The page in a real browser: presets and the learner's own graph, keyboard, screen readers, motion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clicks import backward, card, end, pick, reload, said, step

from micrograd.learn import explore, frames
from micrograd.learn.lesson import PRESETS

Visit = Callable[..., Any]


# ---- 6. presets, and the learner's own graph


def test_all_presets_are_there(page: Any) -> None:
    options = page.locator("select[aria-label='graph'] option").all_inner_texts()
    assert options == [preset.title for preset in PRESETS.values()]


def test_the_learners_own_graph_is_the_first(visit: Visit, tmp_path: Path) -> None:
    from micrograd import Value

    weight, x = Value(0.5), Value(3.0)
    loss = (weight * x - 1) ** 2
    page = visit(Path(explore(loss).save(tmp_path / "own.html")).as_uri())
    end(page)
    assert "data 0.5, gradient 3" in card(page, "weight")
    assert "data 0.25, gradient 1" in card(page, "loss")
    assert "test_browser_reach.py" in page.inner_text(".origin")
    assert "loss = (weight * x - 1) ** 2" in page.inner_text(".origin")  # the learner's own line


def test_an_op_that_only_python_knows_is_shown_and_stands_still(visit: Visit, tmp_path: Path) -> None:
    from micrograd import Value

    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    out = Value(a.data * b.data, (a, b), "times", label="out")

    def backward() -> None:
        a.grad += b.data * out.grad
        b.grad += a.data * out.grad

    out._backward = backward  # type: ignore[method-assign]
    page = visit(Path(explore(out).save(tmp_path / "own.html")).as_uri())
    end(page)
    assert "gradient −3" in card(page, "a") and "gradient 2" in card(page, "b")
    assert said(page) == frames(out)[-1].sentence
    assert page.locator("[aria-label='value of a']").is_disabled()
    assert "only Python can run again" in page.inner_text(".panel:visible")
    page.click("[data-tab='order']")
    page.click("[data-order='reverse']")
    assert "every gradient is right" in page.inner_text(".panel:visible .verdict")


def test_a_large_graph_still_steps(visit: Visit, tmp_path: Path) -> None:
    from micrograd import Value

    total = Value(1.0, label="x")
    for k in range(150):
        total = total * Value(1.0 + k / 1000, label=f"w{k}")
    page = visit(Path(explore(total).save(tmp_path / "large.html")).as_uri())
    backward(page)
    step(page, 3)
    assert page.inner_text(".phase").startswith("backward · 3 of ")
    page.locator("[aria-label='value of x']").fill("0.5")
    page.click("[data-tab='order']")
    page.click("[data-order='reverse']")
    assert "every gradient is right" in page.inner_text(".panel:visible .verdict")


# ---- 7. keyboard, screen readers, motion, width


def test_everything_by_keyboard(page: Any) -> None:
    line = PRESETS["product"].timeline()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("n")
    assert said(page) == line[1].sentence
    page.keyboard.press("ArrowLeft")
    assert said(page) == line[0].sentence
    page.keyboard.press("End")
    assert said(page) == line[-1].sentence
    page.keyboard.press("r")
    assert page.inner_text(".phase") == "start"
    page.keyboard.press("b")
    assert page.inner_text(".phase") == "backward · the seed"
    for key, tab in zip("12345", ("leaves", "order", "bugs", "lesson", "code")):
        page.keyboard.press(key)
        assert page.locator(f"[data-tab='{tab}']").get_attribute("aria-selected") == "true"
    page.keyboard.press("q")
    assert page.is_checked("[data-do='predict']")
    page.keyboard.press("q")
    page.keyboard.press("Space")
    page.wait_for_selector("[aria-label='pause']")
    page.keyboard.press("Space")
    page.wait_for_selector("[aria-label='play']")
    page.keyboard.press("?")
    assert page.locator("dialog[open]").is_visible()
    assert "step forward" in page.inner_text("dialog")
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.press("g")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "graph"
    page.locator("[data-tab='leaves']").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.tab") == "order"
    page.locator(".mg-scroll").focus()
    width = page.locator(".mg-drawing").bounding_box()["width"]
    page.keyboard.press("+")
    assert page.locator(".mg-drawing").bounding_box()["width"] > width
    page.keyboard.press("0")
    assert page.locator(".mg-drawing").bounding_box()["width"] == pytest.approx(width)
    before = page.locator(".mg-drawing").bounding_box()["height"]
    page.keyboard.press("t")
    assert page.locator(".mg-drawing").bounding_box()["height"] != before
    page.keyboard.press("d")
    assert page.get_attribute(".mg", "data-theme") == "dark"


def test_keys_are_the_page_s_as_soon_as_the_help_is_closed(page: Any) -> None:
    page.keyboard.press("?")
    page.evaluate(
        """() => { const help = document.querySelector('dialog');
        help.close();
        help.querySelector('h2').dispatchEvent(new KeyboardEvent('keydown', {key: 'g', bubbles: true, composed: true})); }"""
    )
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "graph"


def test_a_screen_reader_is_told_each_frame_in_words(page: Any) -> None:
    live = page.locator(".said [aria-live='polite']")
    assert live.get_attribute("role") == "status"
    step(page, 3)
    assert live.text_content() == "d is a plus b: two plus minus three is minus one"
    step(page, 5)
    assert live.text_content() == "the gradient of c grows by minus one times one, from zero to minus one"
    assert page.locator(".sentence").get_attribute("aria-hidden") == "true"
    unnamed = page.evaluate(
        """[...document.querySelectorAll('button, input, select')].filter((el) => el.offsetParent
        && !el.getAttribute('aria-label') && !el.textContent.trim() && !el.closest('label')).length"""
    )
    assert unnamed == 0


def test_keys_of_one_character_can_be_switched_off(page: Any) -> None:
    page.keyboard.press("n")
    assert page.inner_text(".count") == "1 / 10"
    page.keyboard.press("?")
    page.uncheck("dialog input[type='checkbox']")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.keyboard.press("2")
    assert page.inner_text(".count") == "1 / 10"
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".count") == "2 / 10"
    reload(page)
    at = page.inner_text(".count")
    page.keyboard.press("n")
    assert page.inner_text(".count") == at  # remembered


def test_nodes_are_reached_and_read_by_keyboard(page: Any) -> None:
    pick(page, "neuron")
    end(page)
    focused = lambda: page.evaluate("document.activeElement.getAttribute('aria-label')")  # noqa: E731
    _, _, wide, tall = map(float, page.get_attribute(".mg-drawing", "viewBox").split())
    if tall > wide:  # from left to right, whatever fits best
        page.click("[data-do='turn']")
    page.locator(".mg-scroll").focus()
    page.keyboard.press("Tab")
    assert focused() == "o, made by tanh, data 0.7071, gradient 1"
    page.keyboard.press("ArrowLeft")
    assert focused() == "n, made by +, data 0.8814, gradient 0.5"
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    first = focused()
    assert "a leaf" in first
    page.keyboard.press("ArrowDown")
    assert focused() != first and page.inner_text(".count") == "20 / 20"  # arrows in the graph take no step
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert focused() != first  # Tab comes back to where one was


def test_the_packet_flies_and_reduced_motion_is_respected(visit: Visit, lesson_file: Path) -> None:
    moving = visit(lesson_file.as_uri())
    still = visit(lesson_file.as_uri(), reduced_motion="reduce")
    for page in (moving, still):
        backward(page)
        step(page)
    assert still.locator("g.packet").count() == 0
    assert still.locator(".node.waiting").count() == 0
    assert still.locator(".landing[visibility='visible'] text").text_content() == "+= 10 × 1 = 10"
    moving.evaluate("() => { window.seen = []; }")
    moving.evaluate(
        """() => { const look = () => { const p = document.querySelector('g.packet');
        if (p?.getAttribute('visibility') === 'visible') window.seen.push(+p.querySelector('text').getAttribute('x'));
        requestAnimationFrame(look); }; look(); }"""
    )
    step(moving)
    for _ in range(200):
        if moving.evaluate("seen.length > 2") and moving.locator("g.packet").count() == 0:
            break
        moving.wait_for_timeout(50)
    seen = moving.evaluate("window.seen")
    assert seen[0] > seen[-1]  # from the output back towards the inputs
    assert moving.locator(".landing[visibility='visible'] text").text_content() == "+= −1 × 1 = −1"
