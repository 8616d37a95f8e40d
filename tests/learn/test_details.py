"""Details that learners trip over: choices that give themselves away, digits, fields, panels that show an answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from in_node import needs_node, run_in_node
from test_course_browser import CHAPTERS, ask_of, course_file

from micrograd.learn import frames, page
from micrograd.learn.course import markdown
from micrograd.learn.course.asks import Ask
from micrograd.learn.course.scenes import scenes
from micrograd.learn.expression import build
from micrograd.learn.lesson import judge

__all__ = ["course_file"]  # a fixture of the other file
Visit = Callable[..., Any]
BANNED = (
    "Asked for is", "Left is the", "Which sign has", "fill in every data", "so that the answer stays",
    "has the slope zero", "the *own*", "the own one", "That is all they are for",
)  # fmt: skip


def choices() -> Iterator[tuple[str, Ask]]:
    for lesson in CHAPTERS.values():
        for step, scene in scenes(lesson, []):
            for block in step.blocks("ask"):
                ask = ask_of(block, scene, step)
                if ask.kind == "choice" and not ask.targets:
                    yield f"{lesson.key}:{block.line}", ask


def length(text: str) -> int:
    """How long a choice is on the page."""
    return len(re.sub(r"[`*]", "", markdown.STATED.sub(lambda match: match[1], text)))


# ---- the right choice cannot be told from its place or its length


def test_the_right_choice_stands_anywhere() -> None:
    places = Counter([right for right, *_ in ask.choices].index(True) for _, ask in choices() if len(ask.choices) > 2)
    assert max(places.values()) <= 0.45 * places.total() and len(places) >= 3


def test_a_question_keeps_the_order_of_its_choices() -> None:
    assert [ask.choices for _, ask in choices()] == [ask.choices for _, ask in choices()]


def test_the_right_choice_is_neither_the_longest_nor_the_shortest_too_often() -> None:
    longest = shortest = count = 0
    for where, ask in choices():
        right = next(length(text) for good, text, _ in ask.choices if good)
        wrong = [length(text) for good, text, _ in ask.choices if not good]
        assert right <= 1.4 * max(wrong) and right >= 0.5 * min(max(wrong), 30), where
        longest, shortest, count = longest + (right > max(wrong)), shortest + (right < min(wrong)), count + 1
    assert longest <= 0.4 * count and shortest <= 0.4 * count, (longest, shortest, count)


# ---- sentences that had to be read twice


@pytest.mark.parametrize("words", BANNED)
def test_no_text_has_a_sentence_that_had_to_be_read_twice(words: str) -> None:
    folder = page.STATIC.parent
    texts = [*folder.glob("course/chapters/*/*.md"), *folder.glob("texts/*.json"), *folder.glob("workshop/*.py")]
    assert len(texts) > 15
    assert [path.name for path in texts if words in path.read_text(encoding="utf-8")] == []


# ---- digits


SHOWN = """
const g = graph.readGraph(data.timeline), n = graph.evaluate(g, {}), id = g.nodes.findIndex((one) => one.name === data.node);
return judge.fromShown(g, n, data.kind, id, orders.rightGradients(g, n.partials));"""


@needs_node
@pytest.mark.parametrize(
    ("expression", "values", "node", "kind", "wanted"),
    [
        ("t = tanh(x)", {"x": 3}, "x", "gradient", 1 - 0.9951**2),
        ("p = a / b; L = p * c", {"a": 1, "b": 3, "c": 5}, "L", "data", 0.3333 * 5),
        ("p = a / b; L = p * p", {"a": 1, "b": 3}, "p", "gradient", 2 * 0.3333),
        ("b = a * 3; c = b + 1; d = b * c", {"a": 2}, "a", "gradient", 39),
    ],
)
def test_what_the_shown_digits_give_is_computed_from_the_neighbours(
    expression: str, values: dict[str, float], node: str, kind: str, wanted: float
) -> None:
    timeline = page.pack(frames(build(expression, **values), names={}).nodes)
    files = [f"{name}.js" for name in ("graph", "judge", "orders")]
    data = {"timeline": timeline, "node": node, "kind": kind}
    assert run_in_node(SHOWN, data, *files) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("said", "right"), [(0.00977599, True), (0.009776, True), (0.0099, True), (0.0093, False), (-8, False)]
)
def test_the_contribution_of_tanh_is_right_to_the_digits_shown(said: float, right: bool) -> None:
    line = frames(build("t = tanh(x)", x=3), names={})
    frame = next(frame for frame in line if frame.kind == "backward")
    assert judge(line, frame, said).right is right


def test_the_course_accepts_the_shown_digits_and_says_so(visit: Visit, course_file: Any) -> None:
    from test_course_browser import open_at, type_answer

    tab = open_at(visit, course_file, "neuron/6")
    assert "Two significant figures are enough." in tab.inner_text(".stage .ask")
    type_answer(tab, 1 - 0.9951**2)
    assert tab.locator(".task.done").count() == 1


# ---- panels


def test_a_leaf_shows_its_gradient_when_the_pass_has_brought_it(visit: Visit, course_file: Any) -> None:
    from test_course_browser import open_at

    tab = open_at(visit, course_file, "neuron/8")
    slope = tab.locator(".leaf[data-leaf='z'] output")
    assert slope.inner_text() == "—"
    tab.locator(".leaf [data-do='nudge']").click()
    assert "The gradient says" not in tab.inner_text(".leaf .nudge")
    tab.click("[data-do='to_end']")
    assert slope.inner_text() == "0.009866" and "The gradient says" in tab.inner_text(".leaf .nudge")


def test_the_first_chapter_speaks_of_slopes_only(visit: Visit, course_file: Any) -> None:
    from test_course_browser import open_at

    tab = open_at(visit, course_file, "slope/1")
    for k in range(1, 9):
        tab.evaluate(f"location.hash = '#slope/{k}'")
        tab.wait_for_function("k => document.querySelector('.trail').innerText.includes(`step ${k} of`)", arg=k)
        if tab.locator(".stage [data-do='to_end']").is_enabled():
            tab.click(".stage [data-do='to_end']")
        assert not re.search(r"\bgrad\b", tab.inner_text(".text") + tab.inner_text(".side-stage"))


def test_a_long_number_fits_into_its_field_and_is_shown_in_full_where_it_is_typed(page: Any) -> None:
    page.select_option("select[aria-label='graph']", "neuron")
    field = page.locator(".leaf[data-leaf='b'] input[type='text']")
    overflows = "(e) => e.scrollWidth > e.clientWidth + 1"
    assert field.input_value() == "6.8814" and not field.evaluate(overflows)
    field.focus()
    assert field.input_value().startswith("6.88137358")
    field.blur()
    assert field.input_value() == "6.8814"
    for box in page.locator(".leaf input[type='text']").all():
        assert not box.evaluate(overflows)


def test_the_question_mark_opens_the_help_of_the_course(visit: Visit, course_file: Any) -> None:
    tab = visit(course_file.as_uri())
    tab.keyboard.press("?")
    told = tab.inner_text("dialog.help")
    assert "step forward" in told and "order lab" not in told.lower()
    tab.keyboard.press("Escape")
    assert tab.locator("dialog[open]").count() == 0


def test_every_key_of_the_help_of_the_course_acts(visit: Visit, course_file: Any) -> None:
    from test_course_browser import open_at

    tab = open_at(visit, course_file, "sums-and-products/5")
    tab.keyboard.press("ArrowRight")
    assert tab.inner_text(".count").startswith("1 /")
    tab.keyboard.press("End")
    assert tab.inner_text(".count") == "2 / 2"
    tab.keyboard.press("ArrowLeft")
    assert tab.inner_text(".count").startswith("1 /")


# ---- the order lab and the theatre


def test_a_right_order_has_a_green_timeline(visit: Visit, course_file: Any) -> None:
    from test_course_browser import open_at, tap

    tab = open_at(visit, course_file, "order/4")
    for name in "Lzp":
        tap(tab, name)
    tab.click("[data-do='run']")
    assert tab.locator(".track.lab").evaluate("(e) => e.style.getPropertyValue('--mark')") == "100%"


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720), (820, 700), (390, 844)])
def test_the_loss_is_seen_beside_the_controls_of_the_theatre(
    visit: Visit, tmp_path: Any, width: int, height: int
) -> None:
    from micrograd.learn.theatre import watch

    file = tmp_path / "watch.html"
    file.write_text(watch().html, encoding="utf-8")
    tab = visit(file.as_uri(), width=width, height=height)
    for _ in range(3):
        tab.click("[data-do='step']")
    seen = """() => [".curve .graph", ".spark"].some((one) => {
      const box = document.querySelector(one).getBoundingClientRect(), sheet = document.querySelector(".conductor");
      const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
      return box.width > 50 && box.bottom <= innerHeight && Boolean(top?.closest(one) || (one === ".spark" && top === sheet));
    })"""
    tab.wait_for_function(seen)
