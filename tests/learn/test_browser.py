"""The page clicked through in a real browser, from file:// with the network blocked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from clicks import backward, card, end, frames_of, pick, said, step

from micrograd.learn import orders
from micrograd.learn.lesson import PRESETS
from micrograd.learn.sentences import show

Visit = Callable[..., Any]


# ---- 1. the stepper


STEP_AND_READ = """(count) => Array.from({ length: count }, () => {
  document.querySelector("[data-do='next']").click();
  const read = (name) => document.querySelector(name)?.innerText ?? "";
  return [read(".sentence"), read(".count"), read(".said .rule"), document.querySelector(".said .spoken").textContent];
})"""


@pytest.mark.parametrize("key", PRESETS)
def test_every_frame_of_every_preset_says_what_python_says(page: Any, key: str) -> None:
    pick(page, key)
    line = PRESETS[key].timeline()
    told = page.evaluate(STEP_AND_READ, len(line))
    for k, (frame, (sentence, count, rule, spoken)) in enumerate(zip(line, told, strict=True), 1):
        assert (sentence, count, spoken) == (frame.sentence, f"{k} / {len(line)}", frame.spoken)
        assert frame.kind != "backward" or frame.rule in rule
    grads = line.gradients()
    for node in line.nodes:
        if not node.constant:
            assert re.search(r"gradient [−\d∞]", card(page, node.name)), card(page, node.name)
    assert all(g is not None for n, g in zip(line.nodes, grads) if not n.constant)


def test_step_back_reset_jump_and_end(page: Any) -> None:
    line = PRESETS["product"].timeline()
    assert "data not known yet" in card(page, "a") and "gradient not known yet" in card(page, "a")
    end(page)
    assert said(page) == line[-1].sentence
    page.click("[data-do='back']")
    assert said(page) == line[-2].sentence
    page.locator("[aria-label='frame']").fill("3")
    assert said(page) == line[2].sentence
    backward(page)
    assert page.inner_text(".phase") == "backward · the seed"
    page.click("[data-do='reset']")
    assert page.inner_text(".phase") == "start"
    assert "data not known yet" in card(page, "L")


def test_play_runs_to_the_end_and_pause_stops_it(page: Any) -> None:
    page.clock.install(time=0)
    page.reload()
    page.clock.pause_at(3_600_000)  # from here on time passes when the test says so
    page.select_option("[aria-label='pace of play']", label="quick")
    page.click("[aria-label='play']")
    page.clock.run_for(1000)  # at 450 ms a frame: one at once, two more
    assert page.inner_text(".count") == "3 / 10"
    page.click("[aria-label='pause']")
    page.clock.run_for(5000)
    assert page.inner_text(".count") == "3 / 10"
    page.click("[aria-label='play']")
    page.clock.run_for(5000)
    assert page.inner_text(".count") == "10 / 10"
    assert page.locator("[aria-label='play']").is_visible()


def test_the_line_of_code_is_marked(page: Any) -> None:
    page.click("[data-tab='code']")
    step(page, 3)
    assert page.inner_text(".lines .now code") == "d = a + b"
    backward(page)
    assert page.inner_text(".lines .now code") == "L.backward()"
    step(page)
    assert page.inner_text(".lines .now code") == "L = d * c"
    assert page.locator(".lines [aria-current='step']").count() == 1


def test_a_times_a_has_two_edges_and_two_contributions(page: Any) -> None:
    pick(page, "square")
    assert page.locator(".edge").count() == 2
    step(page, 4)
    assert said(page) == "a.grad += a.data * b.grad → 0 + (3)(1) = 3"
    assert page.locator(".edge.live").get_attribute("data-edge") == "1:0"
    step(page)
    assert said(page) == "a.grad += a.data * b.grad → 3 + (3)(1) = 6"
    assert page.locator(".edge.live").get_attribute("data-edge") == "1:1"


# ---- 2. leaves and the nudge


def test_slider_and_field_change_everything_live(page: Any) -> None:
    end(page)
    page.locator("[aria-label='value of c']").fill("4")
    assert card(page, "L") == "L, made by *, data −4, gradient 1"
    assert "gradient 4" in card(page, "a")
    assert page.locator(".lines li:nth-child(4)").text_content() == "c = 4.0"
    field = page.locator("[aria-label='value of a, as a number']")
    field.fill("5.5")
    field.press("Enter")
    assert "data 10," in card(page, "L")
    assert said(page) == frames_of("d = a + b; L = d * c", a=5.5, b=-3, c=4)[-1]
    field.fill("five")
    field.press("Enter")
    assert field.get_attribute("aria-invalid") == "true"
    assert "data 10," in card(page, "L")
    page.click("text=put values back")
    assert "data −10" in card(page, "L")


def test_nudge_puts_the_finite_difference_beside_the_gradient(page: Any) -> None:
    pick(page, "neuron")
    page.click("[data-leaf='x1'] [data-do='nudge']")
    told = page.inner_text("[data-leaf='x1'] .nudge")
    assert "that is −1.5" in told and "says" not in told  # the backward pass has not come yet
    end(page)
    told = page.inner_text("[data-leaf='x1'] .nudge")
    assert "that is −1.5" in told and "says −1.5 ✓" in told
    page.locator("[aria-label='value of w1']").fill("-2.8")
    assert "✓" in page.inner_text("[data-leaf='x1'] .nudge")
    assert told != page.inner_text("[data-leaf='x1'] .nudge")


# ---- 3. the order lab: the right pass and this one, scrubbed together


@pytest.mark.parametrize("rule,grad", [("reverse", "39"), ("naive", "60"), ("preorder", "21"), ("postorder", "0")])
def test_the_four_orders_give_39_60_21_and_0(page: Any, rule: str, grad: str) -> None:
    line = PRESETS["order"].timeline()
    right, done = orders.run(line, "reverse"), orders.run(line, rule)
    pick(page, "order")
    page.click("[data-tab='order']")
    page.click(f"[data-order='{rule}']")
    row = page.locator("#" + page.locator("[data-tab='order']").get_attribute("aria-controls") + " [data-node='a']")
    assert row.locator(".got").inner_text().removeprefix("✗ ") == grad
    assert row.locator(".right").inner_text() == "39"
    views = page.locator(".view")
    assert views.count() == 2
    total = max(len(right.pushes), len(done.pushes))
    at = total if done.first < 0 else min(total, done.first + 1)
    assert page.inner_text(".count") == f"{at} / {total}"  # stopped at the first difference
    assert (done.reason in said(page)) and (("first differ" in said(page)) == (rule != "reverse"))
    page.keyboard.press("End")
    assert f"gradient {grad}" in card(page, "a")
    assert ("✗ should be 39" in card(page, "a")) == (grad != "39")
    assert "gradient 39" in views.nth(0).locator(".node.leaf").get_attribute("aria-label")
    label = views.nth(1).locator("[data-label='2:0']").text_content()
    short = {"naive": "×2: +21", "preorder": "✕ 18", "postorder": "✕ 39"}
    assert short.get(rule, "3") in label
    assert page.locator(".reasons li").all_inner_texts() == [flow.reason for flow in done.faults]
    page.click("[data-do='reset']")
    assert page.inner_text(".count") == f"0 / {total}"
    for k in range(total):
        step(page)
        for view, run in zip((0, 1), (right, done)):
            if k < len(run.pushes):
                push = run.pushes[k]
                text = views.nth(view).locator(f".node[data-id='{push.input}']").get_attribute("aria-label")
                assert f"gradient {show(push.after)}" in text
    page.click("[data-do='leave']")
    assert views.count() == 1 and page.inner_text(".phase") == "start"


def test_play_stops_at_the_first_difference(page: Any) -> None:
    pick(page, "order")
    page.click("[data-tab='order']")
    page.click("[data-order='preorder']")
    page.click("[data-do='reset']")
    page.clock.install()
    page.select_option("[aria-label='pace of play']", label="quick")
    page.click("[data-do='play']")
    page.clock.run_for(10_000)
    assert page.inner_text(".count") == "3 / 4" and "first differ" in said(page)
    page.click("[data-do='play']")
    page.clock.run_for(10_000)
    assert page.inner_text(".count") == "4 / 4"


def test_an_order_is_placed_by_clicks_keys_and_dragging(page: Any) -> None:
    pick(page, "order")
    page.click("[data-tab='order']")
    for name in "bcd":
        page.click(f"[data-place='{name}']")
    chips = page.locator(".chips .placed")
    assert [text.split()[1] for text in chips.all_inner_texts()] == ["b", "c", "d"]
    chips.nth(2).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert [text.split()[1] for text in chips.all_inner_texts()] == ["d", "b", "c"]
    page.click("[data-do='run']")
    assert "b fired before c had delivered 6" in page.inner_text(".reasons")
    chips.nth(2).drag_to(chips.nth(1))
    assert [text.split()[1] for text in chips.all_inner_texts()] == ["d", "c", "b"]
    page.click("[data-do='run']")
    assert "every gradient is right" in page.inner_text(".panel:visible .verdict")
    chips.nth(1).focus()
    page.keyboard.press("Delete")
    assert [text.split()[1] for text in chips.all_inner_texts()] == ["d", "b"]
    page.click("[data-do='run']")
    assert "c never fired" in page.inner_text(".reasons")
    page.click("[data-do='clear']")
    page.locator(".node:has(> .mg-name:text-is('d'))").click()
    assert [text.split()[1] for text in chips.all_inner_texts()] == ["d"]
    step(page)
    assert page.locator(".node.wrong").count() == 0


@pytest.mark.parametrize("key", PRESETS)
def test_the_order_lab_works_on_any_graph(page: Any, key: str) -> None:
    pick(page, key)
    page.click("[data-tab='order']")
    page.click("[data-order='reverse']")
    assert "every gradient is right" in page.inner_text(".panel:visible .verdict")
    page.click("[data-order='postorder']")
    assert key in ("square", "double") or "wrong" in page.inner_text(".panel:visible .verdict")


def test_a_right_order_has_a_green_timeline_to_its_end(page: Any) -> None:
    pick(page, "order")
    page.click("[role='tab']:has-text('Order lab')")
    page.click("[data-order='reverse']")
    assert page.locator(".track.lab").evaluate("(e) => e.style.getPropertyValue('--mark')") == "100%"
    page.click("[data-order='preorder']")
    assert page.locator(".track.lab").evaluate("(e) => parseFloat(e.style.getPropertyValue('--mark'))") < 100
