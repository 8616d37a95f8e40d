"""The page clicked through in a real browser, from file:// with the network blocked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from micrograd.learn import explore, frames, orders
from micrograd.learn.lesson import MISCONCEPTIONS, PRESETS, QUIZZES, judge
from micrograd.learn.sentences import show

Visit = Callable[..., Any]


@pytest.fixture
def page(visit: Visit, lesson_file: Path) -> Any:
    return visit(lesson_file.as_uri())


def pick(page: Any, key: str) -> None:
    page.select_option("select[aria-label='graph']", key)


def card(page: Any, name: str) -> str:
    """What the drawing shows of one node."""
    text: str = page.locator(f".node:has(> .mg-name:text-is('{name}')) >> nth=-1").get_attribute("aria-label")
    return text


def said(page: Any) -> str:
    text: str = page.inner_text(".sentence")
    return text


def step(page: Any, times: int = 1) -> None:
    for _ in range(times):
        page.click("[data-do='next']")


def end(page: Any) -> None:
    page.click("[data-do='to_end']")


def backward(page: Any) -> None:
    page.click("[data-do='to_backward']")


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
        assert page.locator(".said .spoken").text_content() == frame.spoken
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


def frames_of(expression: str, **values: float) -> list[str]:
    from micrograd.learn.expression import build

    return [frame.sentence for frame in frames(build(expression, **values), names={})]


def test_nudge_puts_the_finite_difference_beside_the_gradient(page: Any) -> None:
    pick(page, "neuron")
    page.click("[data-leaf='x1'] [data-do='nudge']")
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


# ---- 4. the bug lab


def bug(page: Any, key: str) -> None:
    page.check(f"[role='radiogroup'] input[value='{key}']")


def test_each_bug_shows_what_it_does(page: Any) -> None:
    page.click("[data-tab='bugs']")
    row = lambda name: page.locator(f"[role='tabpanel']:visible [data-node='{name}']")  # noqa: E731
    pick(page, "square")
    bug(page, "assign")
    assert row("a").locator(".got").inner_text() == "✗ 3" and row("a").locator(".right").inner_text() == "6"
    assert page.inner_text(".count") == "2 / 2" and "a held 3 already" in said(page)
    assert "a.grad = a.data * b.grad → (3)(1) = 3" in said(page)
    bug(page, "zero")
    assert row("a").locator(".got").inner_text() == "✗ 12"
    pick(page, "product")
    bug(page, "own")
    assert row("c").locator(".got").inner_text() == "✗ 10"
    bug(page, "upstream")
    assert row("a").locator(".got").inner_text() == "✗ 1"
    bug(page, "assign")  # one that cannot show, after one that did
    assert page.is_checked("[role='radiogroup'] input[value='assign']") and page.locator(".view").count() == 1
    pick(page, "neuron")
    bug(page, "tanh")
    assert row("w1").locator(".got").inner_text().startswith("✗")
    assert row("w1").locator("td").last.inner_text() == "1"  # the nudge tells the truth


@pytest.mark.parametrize("key,why", [("assign", "No node is used twice here"), ("tanh", "This graph has no tanh")])
def test_a_bug_that_cannot_show_says_why_and_offers_a_graph_where_it_does(page: Any, key: str, why: str) -> None:
    page.click("[data-tab='bugs']")
    bug(page, key)
    assert why in page.inner_text(".panel:visible .verdict")
    assert page.locator(".view").count() == 1
    page.click("[data-do='elsewhere']")
    assert page.input_value("select[aria-label='graph']") != "product"
    assert page.locator(".view").count() == 2 and "first differ" in said(page)
    assert page.is_checked(f"[role='radiogroup'] input[value='{key}']")


# ---- 5. predict, then reveal


def test_a_prediction_is_met_by_its_misconception(page: Any) -> None:
    line = PRESETS["product"].timeline()
    page.check("[data-do='predict']")
    backward(page)
    step(page)
    ask = page.locator(".ask")
    assert ask.is_visible() and "Which sign" in ask.inner_text()
    page.click(".ask [data-sign='negative']")
    assert "✗" in ask.inner_text() and "10" not in ask.locator(".told").inner_text()  # a wrong sign tells no number
    page.keyboard.press("+")
    assert "✓" in ask.inner_text()
    field = page.locator(".ask input")
    frame = line[6]
    for wrong in (-1.0, 1.0, 77.0, -10.0, 9.9):
        field.fill(str(wrong))
        field.press("Enter")
        verdict = judge(line, frame, wrong)
        assert ask.locator("[data-misconception]").get_attribute("data-misconception") == verdict.key
        assert verdict.text in ask.inner_text()
    field.fill("10")
    field.press("Enter")
    page.wait_for_selector(".ask", state="hidden")
    assert said(page) == frame.sentence


def test_with_predict_first_nothing_shows_an_answer_before_it_is_given(page: Any) -> None:
    pick(page, "neuron")
    line = PRESETS["neuron"].timeline()
    page.check("[data-do='predict']")
    seed = next(k for k, frame in enumerate(line) if frame.kind == "seed") + 1
    for jump in (lambda: end(page), lambda: page.keyboard.press("End"),
                 lambda: page.locator("[aria-label='frame']").fill(str(len(line)))):  # fmt: skip
        jump()
        assert page.inner_text(".count") == f"{seed} / {len(line)}" and page.locator(".ask").is_visible()
    known: dict[str, float] = {"o": 1.0}
    for k in range(seed, len(line)):
        frame = line[k]
        assert frame.after is not None and frame.input is not None and frame.product is not None
        if not page.locator(".ask").is_visible():
            step(page)
        for node in line.nodes:
            want = show(known[node.name]) if node.name in known else "not known yet"
            assert f"gradient {want}" in card(page, node.name)
        for tab in ("leaves", "order", "bugs"):
            page.click(f"[data-tab='{tab}']")
            text = page.inner_text(".panel:visible")
            assert (
                (("grad ?" in text) and page.locator("[data-do='nudge']").first.is_disabled())
                if tab == "leaves"
                else ("would show the answers" in text and not page.locator(".panel:visible button:visible").count())
            )
        assert page.locator(f"[data-label='{frame.node}:{frame.slot}']").text_content() == "??"  # the halo and the text
        assert page.locator(".landing[visibility='visible'] text").text_content() == "+= ?"
        assert not page.locator(".said").is_visible() and page.locator(".said .spoken").text_content() != frame.spoken
        sign = "zero" if frame.product == 0 else "positive" if frame.product > 0 else "negative"
        page.click(f".ask [data-sign='{sign}']")
        page.fill(".ask input", str(frame.after))
        page.keyboard.press("Enter")
        known[line.nodes[frame.input].name] = frame.after
    page.click("[data-tab='leaves']")
    assert "grad 0.5" in page.inner_text(".panel:visible")


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
    page.check("[data-do='predict']")
    backward(page)
    step(page)
    for _ in range(6):  # to the frame at which the idea shows
        page.click(f".ask [data-sign='{sign}']")
        field = page.locator(".ask input")
        if not field.is_visible():
            page.click("[data-do='show']")
            step(page)
            continue
        field.fill(str(wrong))
        field.press("Enter")
        found = page.locator("[data-misconception]")
        if found.count() and found.get_attribute("data-misconception") == key:
            return
        if page.locator(".ask").is_visible():
            page.click("[data-do='show']")
        step(page)
    pytest.fail(f"{MISCONCEPTIONS[key].title} was never named")


def test_the_quizzes_of_the_lesson_are_asked_on_the_stage(page: Any) -> None:
    page.click("[data-tab='lesson']")
    assert page.locator(".quiz").count() == len(QUIZZES)
    for quiz in QUIZZES:
        box = page.locator(f"[data-quiz='{quiz.key}']")
        box.locator("[data-do='ask']").click()
        assert page.input_value("select[aria-label='graph']") == quiz.preset
        assert page.inner_text(".ask .asks") == quiz.question
        step(page)  # while the question is open, the timeline waits
        assert page.inner_text(".count").startswith("0 /")
        for value, idea, text in quiz.replies:
            page.fill(".ask input", str(value))
            page.keyboard.press("Enter")
            assert text in page.inner_text(".ask .verdict.bad")
            assert page.locator(".ask [data-misconception]").get_attribute("data-misconception") == idea
        page.fill(".ask input", str(quiz.answer))
        page.keyboard.press("Enter")
        assert quiz.why in page.inner_text(".ask .verdict.good")
        assert box.locator(".tick").inner_text().strip() == "✓"
    assert f"{len(QUIZZES)} of {len(QUIZZES)} answered" in page.inner_text(".lesson")
    page.reload()
    page.click("[data-tab='lesson']")
    assert f"{len(QUIZZES)} of {len(QUIZZES)} answered" in page.inner_text(".lesson")  # kept on this machine
    with page.expect_download() as download:
        page.click("[data-do='export']")
    kept = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert sum(answer["right"] for answer in kept["answers"]) == len(QUIZZES)


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
    for k in range(290):
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
    page.reload()
    at = page.inner_text(".count")
    page.keyboard.press("n")
    assert page.inner_text(".count") == at  # remembered


def test_nodes_are_reached_and_read_by_keyboard(page: Any) -> None:
    pick(page, "neuron")
    end(page)
    focused = lambda: page.evaluate("document.activeElement.getAttribute('aria-label')")  # noqa: E731
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
    assert still.locator("g.packet").get_attribute("visibility") == "hidden"
    assert still.locator(".node.waiting").count() == 0
    assert still.locator(".landing[visibility='visible'] text").text_content() == "+= 10 × 1 = 10"
    moving.evaluate("() => { window.seen = []; }")
    moving.evaluate(
        """() => { const look = () => { const p = document.querySelector('g.packet');
        if (p.getAttribute('visibility') === 'visible') window.seen.push(+p.querySelector('text').getAttribute('x'));
        requestAnimationFrame(look); }; look(); }"""
    )
    step(moving)
    for _ in range(200):
        if moving.evaluate("seen.length > 2") and moving.locator("g.packet").get_attribute("visibility") == "hidden":
            break
        moving.wait_for_timeout(50)
    seen = moving.evaluate("window.seen")
    assert seen[0] > seen[-1]  # from the output back towards the inputs
    assert moving.locator(".landing[visibility='visible'] text").text_content() == "+= −1 × 1 = −1"
