"""The page clicked through in a real browser, from file:// with the network blocked."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from micrograd.learn import explore, frames
from micrograd.learn.lesson import MISCONCEPTIONS, PRESETS, QUIZZES, judge

Visit = Callable[..., Any]


@pytest.fixture
def page(visit: Visit, lesson_file: Path) -> Any:
    return visit(lesson_file.as_uri())


def pick(page: Any, key: str) -> None:
    page.select_option("select[aria-label='graph']", key)


def card(page: Any, name: str) -> str:
    """What the drawing shows of one node."""
    text: str = page.locator(f".node:has(> .name:text-is('{name}'))").get_attribute("aria-label")
    return text


def said(page: Any) -> str:
    text: str = page.inner_text(".sentence")
    return text


def step(page: Any, times: int = 1) -> None:
    for _ in range(times):
        page.click("[aria-label='step forward']")


# ---- 1. the stepper


@pytest.mark.parametrize("key", PRESETS)
def test_every_frame_of_every_preset_says_what_python_says(page: Any, key: str) -> None:
    pick(page, key)
    line = PRESETS[key].timeline()
    for k, frame in enumerate(line, 1):
        step(page)
        assert said(page) == frame.sentence
        assert page.inner_text(".count") == f"{k} / {len(line)}"
        if frame.kind == "backward":
            assert frame.rule in page.inner_text(".said .rule")
    grads = line.gradients()
    for node in line.nodes:
        if not node.constant:
            assert re.search(r"gradient [−\d∞]", card(page, node.name)), card(page, node.name)
    assert all(g is not None for n, g in zip(line.nodes, grads) if not n.constant)


def test_step_back_reset_jump_and_end(page: Any) -> None:
    line = PRESETS["product"].timeline()
    assert "data not known yet" in card(page, "a") and "gradient not known yet" in card(page, "a")
    page.click("[aria-label='to the end']")
    assert said(page) == line[-1].sentence
    page.click("[aria-label='step back']")
    assert said(page) == line[-2].sentence
    page.locator("[aria-label='frame']").fill("3")
    assert said(page) == line[2].sentence
    page.click("[aria-label='to the backward pass']")
    assert page.inner_text(".phase") == "backward · the seed"
    page.click("[aria-label='reset']")
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
    step(page, 3)
    assert page.inner_text(".lines .now code") == "d = a + b"
    page.click("[aria-label='to the backward pass']")
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
    page.click("[aria-label='to the end']")
    page.locator("[aria-label='value of c']").fill("4")
    assert card(page, "L") == "L, made by *, data −4, gradient 1"
    assert "gradient 4" in card(page, "a")
    assert page.inner_text(".lines li:nth-child(4)").endswith("c = 4")
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


def frames_of(expression: str, **values: float) -> list[str]:
    from micrograd.learn.expression import build

    return [frame.sentence for frame in frames(build(expression, **values), names={})]


def test_nudge_puts_the_finite_difference_beside_the_gradient(page: Any) -> None:
    pick(page, "neuron")
    page.click("[data-leaf='x1'] >> text=nudge")
    told = page.inner_text("[data-leaf='x1'] .nudge")
    assert "that is −1.5" in told and "says −1.5 ✓" in told
    page.locator("[aria-label='value of w1']").fill("-2.8")
    assert "✓" in page.inner_text("[data-leaf='x1'] .nudge")
    assert told != page.inner_text("[data-leaf='x1'] .nudge")


# ---- 3. the order lab


@pytest.mark.parametrize("rule,grad", [("reverse", "39"), ("naive", "60"), ("preorder", "21"), ("postorder", "0")])
def test_the_four_orders_give_39_60_21_and_0(page: Any, rule: str, grad: str) -> None:
    pick(page, "order")
    page.click("[data-tab='order']")
    page.click(f"[data-order='{rule}']")
    row = page.locator("#" + page.locator("[data-tab='order']").get_attribute("aria-controls") + " [data-node='a']")
    assert row.locator(".got").inner_text().removeprefix("✗ ") == grad
    assert row.locator(".right").inner_text() == "39"
    assert f"gradient {grad}" in card(page, "a")
    assert ("✗ should be 39" in card(page, "a")) == (grad != "39")
    label = page.locator("[data-label='2:0']").text_content()
    assert label == {"reverse": "", "naive": "×2: +21", "preorder": "✕ 18 lost", "postorder": "✕ 39 lost"}[rule]
    faults = page.locator(".reasons li").all_inner_texts()
    if rule == "preorder":
        assert faults == ["b fired before c had delivered 6: a lost 18."]
    if rule == "naive":
        assert faults == ["b fired twice: what it had passed on already went to a again, 21 too much."]


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
    page.click("button:text-is('run')")
    assert "b fired before c had delivered 6" in page.inner_text(".reasons")
    chips.nth(2).drag_to(chips.nth(1))
    assert [text.split()[1] for text in chips.all_inner_texts()] == ["d", "c", "b"]
    page.click("button:text-is('run')")
    assert "every gradient is right" in page.inner_text(".verdict")
    chips.nth(1).focus()
    page.keyboard.press("Delete")
    assert [text.split()[1] for text in chips.all_inner_texts()] == ["d", "b"]
    page.click("button:text-is('run')")
    assert "c never fired" in page.inner_text(".reasons")
    page.click("text=clear")
    page.locator(".node:has(> .name:text-is('d'))").click()
    assert [text.split()[1] for text in chips.all_inner_texts()] == ["d"]
    step(page)
    assert page.locator(".node.wrong").count() == 0


@pytest.mark.parametrize("key", PRESETS)
def test_the_order_lab_works_on_any_graph(page: Any, key: str) -> None:
    pick(page, key)
    page.click("[data-tab='order']")
    page.click("[data-order='reverse']")
    assert "every gradient is right" in page.inner_text(".verdict")
    page.click("[data-order='postorder']")
    assert key in ("square", "double") or "wrong" in page.inner_text(".verdict")


# ---- 4. the bug lab


def test_each_bug_shows_what_it_does(page: Any) -> None:
    page.click("[data-tab='bugs']")
    row = lambda name: page.locator(f"[role='tabpanel']:visible [data-node='{name}']")  # noqa: E731
    pick(page, "square")
    page.click("text== in place of +=")
    assert row("a").locator(".got").inner_text() == "✗ 3" and row("a").locator(".right").inner_text() == "6"
    assert page.locator("[data-label='1:0']").text_content() == "✕ erased"
    page.click("text=zero_grad forgotten")
    assert row("a").locator(".got").inner_text() == "✗ 12"
    pick(page, "product")
    page.click("text=× with its own data")
    assert row("c").locator(".got").inner_text() == "✗ 10"
    page.click("text=upstream left out")
    assert row("a").locator(".got").inner_text() == "✗ 1"
    page.click("text== in place of +=")
    assert "No node is used twice here" in page.inner_text("[role='tabpanel']:visible .verdict")
    pick(page, "neuron")
    page.click("text=tanh′ from x")
    assert row("w1").locator(".got").inner_text().startswith("✗")
    assert row("w1").locator("td").last.inner_text() == "1"  # the nudge tells the truth


# ---- 5. predict, then reveal


def test_a_prediction_is_met_by_its_misconception(page: Any) -> None:
    line = PRESETS["product"].timeline()
    page.check("text=predict first")
    page.click("[aria-label='to the backward pass']")
    step(page)
    ask = page.locator(".ask")
    assert ask.is_visible() and "Which sign" in ask.inner_text()
    assert page.inner_text("[data-leaf='a'] .slope") == "grad ?"  # nor is it to be found elsewhere
    assert page.locator("[data-label='4:0']").text_content() == "?"
    assert said(page) != line[6].sentence  # the answer is not shown yet
    page.click(".ask [aria-label='negative']")
    assert "✗" in ask.inner_text()
    page.keyboard.press("+")
    assert "✓" in ask.inner_text()
    field = page.locator(".ask input")
    frame = line[6]
    for wrong in (-1.0, 1.0, 77.0):
        field.fill(str(wrong))
        field.press("Enter")
        verdict = judge(line, frame, wrong)
        assert ask.locator("[data-misconception]").get_attribute("data-misconception") == verdict.key
        assert verdict.text in ask.inner_text()
    field.fill("10")
    field.press("Enter")
    page.wait_for_selector(".ask", state="hidden")
    assert said(page) == frame.sentence


@pytest.mark.parametrize("key,expression,values,wrong,sign", [
    ("own", "a*b", {"a": 2.0, "b": -3.0}, 2.0, "negative"),
    ("upstream", "(a+b)*c", {"a": 2.0, "b": -3.0, "c": 10.0}, 1.0, "positive"),
    ("assign", "a*a", {"a": 3.0}, 3.0, "positive"),
    ("tanh", "tanh(n)", {"n": 0.8813735870195432}, 1 - 0.8813735870195432**2, "positive"),
    ("relu", "relu(n)", {"n": -2.0}, 1.0, "zero"),
])  # fmt: skip
def test_the_five_misconceptions_of_the_lesson(
    visit: Visit, tmp_path: Path, key: str, expression: str, values: dict[str, float], wrong: float, sign: str
) -> None:
    file = Path(explore(expression, **values).save(tmp_path / "x.html"))
    page = visit(file.as_uri())
    page.check("text=predict first")
    page.click("[aria-label='to the backward pass']")
    step(page)
    for _ in range(6):  # to the frame at which the idea shows
        page.click(f".ask [aria-label='{sign}']")
        field = page.locator(".ask input")
        if not field.is_visible():
            page.click("text=show me")
            step(page)
            continue
        field.fill(str(wrong))
        field.press("Enter")
        found = page.locator("[data-misconception]")
        if found.count() and found.get_attribute("data-misconception") == key:
            return
        if page.locator(".ask").is_visible():
            page.click("text=show me")
        step(page)
    pytest.fail(f"{MISCONCEPTIONS[key].title} was never named")


def test_the_quizzes_of_the_lesson(page: Any) -> None:
    page.click("[data-tab='lesson']")
    assert page.locator(".quiz").count() == len(QUIZZES)
    for quiz in QUIZZES:
        box = page.locator(f"[data-quiz='{quiz.key}']")
        box.locator("button", has_text="open ").click()
        assert page.input_value("select[aria-label='graph']") == quiz.preset
        for value, _, text in quiz.wrong:
            box.locator("input").fill(str(value))
            box.locator("text=check").click()
            assert text in box.locator(".verdict.bad").inner_text()
        box.locator("input").fill(str(quiz.answer))
        box.locator("input").press("Enter")
        assert quiz.why in box.locator(".verdict.good").inner_text()


# ---- 6. presets, and the learner's own graph


def test_all_presets_are_there(page: Any) -> None:
    options = page.locator("select[aria-label='graph'] option").all_inner_texts()
    assert options == [preset.title for preset in PRESETS.values()]


def test_the_learners_own_graph_is_the_first(visit: Visit, tmp_path: Path) -> None:
    from micrograd import Value

    weight, x = Value(0.5), Value(3.0)
    loss = (weight * x - 1) ** 2
    page = visit(Path(explore(loss).save(tmp_path / "own.html")).as_uri())
    page.click("[aria-label='to the end']")
    assert "data 0.5, gradient 3" in card(page, "weight")
    assert "data 0.25, gradient 1" in card(page, "loss")
    assert "test_browser.py" in page.inner_text(".origin")
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
    page.click("[aria-label='to the end']")
    assert "gradient −3" in card(page, "a") and "gradient 2" in card(page, "b")
    assert said(page) == frames(out)[-1].sentence
    assert page.locator("[aria-label='value of a']").is_disabled()
    assert "only Python can run again" in page.inner_text(".panel:visible")
    page.click("[data-tab='order']")
    page.click("[data-order='reverse']")
    assert "every gradient is right" in page.inner_text(".verdict")


def test_a_large_graph_still_steps(visit: Visit, tmp_path: Path) -> None:
    from micrograd import Value

    total = Value(1.0, label="x")
    for k in range(290):
        total = total * Value(1.0 + k / 1000, label=f"w{k}")
    page = visit(Path(explore(total).save(tmp_path / "large.html")).as_uri())
    page.click("[aria-label='to the backward pass']")
    step(page, 3)
    assert page.inner_text(".phase").startswith("backward · 3 of ")
    page.locator("[aria-label='value of x']").fill("0.5")
    page.click("[data-tab='order']")
    page.click("[data-order='reverse']")
    assert "every gradient is right" in page.inner_text(".verdict")


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
    for key, tab in zip("1234", ("leaves", "order", "bugs", "lesson")):
        page.keyboard.press(key)
        assert page.locator(f"[data-tab='{tab}']").get_attribute("aria-selected") == "true"
    page.keyboard.press("q")
    assert page.is_checked("text=predict first")
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
    width = page.locator(".mg-graph").bounding_box()["width"]
    page.keyboard.press("+")
    assert page.locator(".mg-graph").bounding_box()["width"] > width
    page.keyboard.press("0")
    assert page.locator(".mg-graph").bounding_box()["width"] == pytest.approx(width)
    before = page.locator(".mg-graph").bounding_box()["height"]
    page.keyboard.press("t")
    assert page.locator(".mg-graph").bounding_box()["height"] != before
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


def test_a_screen_reader_is_told_each_frame(page: Any) -> None:
    live = page.locator(".said [aria-live='polite']")
    assert live.get_attribute("role") == "status"
    step(page, 3)
    assert "d = a + b → 2 + (−3) = −1" in live.inner_text()
    unnamed = page.evaluate(
        """[...document.querySelectorAll('button, input, select')].filter((el) => el.offsetParent
        && !el.getAttribute('aria-label') && !el.textContent.trim() && !el.closest('label')).length"""
    )
    assert unnamed == 0


def test_reduced_motion_is_respected(visit: Visit, lesson_file: Path) -> None:
    moving = visit(lesson_file.as_uri())
    still = visit(lesson_file.as_uri(), reduced_motion="reduce")
    for page, wanted in ((moving, "mg-flow"), (still, "none")):
        page.click("[aria-label='to the backward pass']")
        step(page)
        assert page.locator(".edge.live .line").evaluate("(el) => getComputedStyle(el).animationName") == wanted


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_overflows_and_text_has_contrast(visit: Visit, lesson_file: Path, width: int, scheme: str) -> None:
    page = visit(lesson_file.as_uri(), width=width, scheme=scheme)
    for key in ("network", "product"):
        pick(page, key)
        for tab in ("leaves", "order", "bugs", "lesson"):
            page.click(f"[data-tab='{tab}']")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    pairs = page.evaluate(
        """['ink', 'soft', 'data', 'grad', 'local', 'bad', 'good'].flatMap((name) =>
        ['card', 'paper', 'glow'].map((under) => {
          const style = getComputedStyle(document.querySelector('.mg'));
          const colour = (x) => style.getPropertyValue('--' + x);
          return [name, under, colour(name).trim(), colour(under).trim()]; }))"""
    )
    for name, under, ink, paper in pairs:
        if (name, under) != ("soft", "glow"):
            assert contrast(ink, paper) >= 4.5, (scheme, name, under)


def contrast(a: str, b: str) -> float:
    """The contrast of two colours as WCAG defines it; 4.5 is what text needs."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * blue

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)
