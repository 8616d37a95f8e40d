"""The page in a real browser: the bug lab, predictions and quizzes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clicks import backward, bug, card, end, pick, reload, said, step

from micrograd.learn import explore, texts
from micrograd.learn.lesson import MISCONCEPTIONS, PRESETS, QUIZZES, judge
from micrograd.learn.sentences import show

Visit = Callable[..., Any]


# ---- 4. the bug lab


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
    assert ask.is_visible() and "negative, zero or positive?" in ask.inner_text()
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


@pytest.mark.slow
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
        # nothing else is seen or read out
        assert page.locator(".said").text_content() == texts.get("page.your_turn")
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


@pytest.mark.slow
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
    reload(page)
    page.click("[data-tab='lesson']")
    assert f"{len(QUIZZES)} of {len(QUIZZES)} answered" in page.inner_text(".lesson")  # kept on this machine
    with page.expect_download() as download:
        page.click("[data-do='export']")
    kept = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert sum(answer["right"] for answer in kept["answers"]) == len(QUIZZES)
