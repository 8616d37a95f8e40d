"""The course walked through as a learner would, in a real browser, from file:// with the network blocked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clicks import reload

from micrograd.learn.course import site
from micrograd.learn.course.asks import Ask, read_ask
from micrograd.learn.course.drill import DrillGraph, shapes
from micrograd.learn.course.lessons import Block, Lesson, LessonScreen, Prose
from micrograd.learn.course.page import chapters
from micrograd.learn.course.scenes import Scene, scenes
from micrograd.learn.expression import parse
from micrograd.learn.frames import frames

Visit = Callable[..., Any]
CHAPTERS = {lesson.key: lesson for lesson in chapters()}
GOALS = {  # numbers for the sliders that reach each goal
    "z.data = 16 within 0.01": {"x": "5"},
    "e.grad = 0 within 0.15": {"e": "0"},
    "L.data < -3.99": {"w": "2"},
    "z.grad > 0.9": {"z": "0.1"},
    "h.data >= 2": {"b": "9"},
    "L.data < 0.05": {"w": "3"},
    "L.data < 0.1": {"w": "2", "b": "1"},
}


@pytest.fixture(scope="session")
def course_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("course") / "course.html"
    file.write_text(site.course(), encoding="utf-8")
    return file


def screens(lesson: Lesson) -> list[tuple[LessonScreen | None, Scene | None]]:
    """Steps in the order of the page: the drill (None) before the milestones."""
    all_steps: list[tuple[LessonScreen | None, Scene | None]] = list(scenes(lesson, []))
    plain = [pair for pair in all_steps if pair[0] and not pair[0].milestone]
    last = [pair for pair in all_steps if pair[0] and pair[0].milestone]
    return [*plain, *([(None, None)] if lesson.drill else []), *last]


def ask_of(block: Block, scene: Scene | None, step: LessonScreen) -> Ask:
    ask = read_ask(block, scene, [], step)
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
    elif ask.targets:
        target = " ".join(ask.targets[[right for right, *_ in ask.choices].index(True)]).strip()
        page.click(f".stage [data-pick='{target}']")
    elif ask.kind == "choice":
        card.locator("input").nth([right for right, *_ in ask.choices].index(True)).check()
    elif ask.kind == "goal" and not ask.node and page.locator("[data-do='own-train']").count():
        page.click("[data-do='own-train']")
        card.and_(page.locator(".done")).wait_for(timeout=60_000)
    elif ask.kind == "goal" and not ask.node:
        page.select_option("[data-do='speed']", index=-1 + page.locator("[data-do='speed'] option").count())
        if page.locator("[data-do='rate']").evaluate("(e) => 10 ** Number(e.value)") > 1:
            page.locator("[data-do='rate']").evaluate(
                "(e) => { e.value = Math.log10(0.5); e.dispatchEvent(new Event('input')); }"
            )
        page.click("[data-do='play']")
        card.and_(page.locator(".done")).wait_for(timeout=60_000)
    elif ask.kind == "goal":
        for name, x in GOALS[ask.block.get("goal")].items():
            field = page.locator(f".leaf[data-leaf='{name}'] input[type='text']")
            field.fill(x)
            field.press("Enter")
    else:
        assert scene is not None
        for node in reversed(scene.timeline().nodes):
            if node.inputs:
                tap(page, node.name)
        card.locator("[data-do='run']").click()


def tap(page: Any, name: str) -> None:
    """Tap a node in the picture."""
    page.locator(f".stage .node:has(> .mg-name:text-is('{name}')) .box").first.click()


def write(card: Any, code: str) -> None:
    """Type code into the editor of a card and run it."""
    card.locator(".cm-content").fill(code)
    card.locator("[data-do='check-code']").click()


def drill(page: Any, lesson: Lesson) -> None:
    known = {f"{lesson.key}-drill-{k}": shape for k, shape in enumerate(shapes(lesson.drill, lesson.key))}
    for _ in range(20):
        if page.locator("[data-do='next-step']").is_enabled():
            return
        shape: DrillGraph = known[page.get_attribute(".stage", "data-graph")]
        numbers = leaves(page)
        assert set(numbers) == set(shape.pools) and all(x in shape.pools[name] for name, x in numbers.items())
        line = frames(parse(shape.expression).build(numbers), names={})
        asked = page.inner_text(".stage .ask .asks")
        wanted = asked.rsplit("what is ", 1)[1].removeprefix("the slope for ").removesuffix("?").removesuffix(".grad")
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
            solutions = iter([block.body for block in step.blocks("solution")])
            blocks = list(step.blocks("ask", "write"))
            cards = page.locator(".task")
            assert cards.count() == len(blocks)
            for i, block in enumerate(blocks):
                assert page.locator("[data-do='next-step']").is_disabled(), (step.title, i)
                if block.kind == "write":
                    write(cards.nth(i), next(solutions))
                else:
                    answer(page, cards.nth(i), ask_of(block, scene, step), scene)
                assert "done" in cards.nth(i).get_attribute("class"), (step.title, block.line)
                count += 1
        assert page.locator("[data-do='next-step']").is_enabled()
        page.click("[data-do='next-step']")
    return count


FEW = (
    "slope",
    "order",
    "network",
)  # one with sliders, one with the order of a sweep, one in which a network is trained


@pytest.mark.parametrize("key", [pytest.param(key, marks=() if key in FEW else pytest.mark.slow) for key in CHAPTERS])
def test_a_learner_finishes_the_chapter(visit: Visit, course_file: Path, key: str) -> None:
    page = visit(f"{course_file.as_uri()}#{key}/1", reduced_motion="reduce")
    asked = walk(page, CHAPTERS[key])
    assert asked >= 6
    assert page.locator(f"[data-chapter='{key}'] .tick.done").count() == 1
    kept = json.loads(page.evaluate("localStorage.getItem('micrograd.course.micrograd-course')"))
    assert len(kept["solved"]) == asked and kept["drills"] == {key: 1} and kept["reviews"] == []


# ---- wrong answers


def test_a_wrong_answer_meets_its_misconception_and_comes_back(visit: Visit, course_file: Path) -> None:
    page = visit(f"{course_file.as_uri()}#used-twice/1", reduced_motion="reduce")
    type_answer(page, 3.0)
    assert "one of the two parts" in page.inner_text(".stage .ask .verdict.bad")
    assert page.locator(".task .verdict.bad").count() == 0  # the reply stands at the node, and nowhere else
    assert page.locator("[data-do='next-step']").is_disabled()
    type_answer(page, 6.0)
    kept = json.loads(page.evaluate("localStorage.getItem('micrograd.course.micrograd-course')"))
    assert kept["reviews"] == [{"id": "used-twice/one-node-two-arrows/e.grad", "due": 4, "box": 0}]
    assert "come back: 1" in page.inner_text(".contents")
    for k, (step, scene) in enumerate(screens(CHAPTERS["used-twice"])[:3]):
        if k:
            assert step is not None
            for i, block in enumerate(step.blocks("ask")):
                answer(page, page.locator(".task").nth(i), ask_of(block, scene, step), scene)
        page.click("[data-do='next-step']")
    assert page.inner_text(".text h2") == "Once more"  # on the same graph, with another number
    assert page.locator("[data-do='next-step']").count() == 0
    x = leaves(page)["e"]
    assert x != 3.0
    type_answer(page, 2 * x)
    page.click("[data-do='after-review']")
    assert page.inner_text(".text h2") == "Two paths"
    kept = json.loads(page.evaluate("localStorage.getItem('micrograd.course.micrograd-course')"))
    assert [one["box"] for one in kept["reviews"]] == [1]


@pytest.mark.parametrize(
    ("place", "said", "key", "words"),
    [
        ("used-twice/4", 100.0, "", "Multiply along a path"),
        ("used-twice/4", 1.0, "upstream", "how fast q moves"),
        ("order/1", 7.0, "listed", "straight from"),
        ("sums-and-products/4", 2.0, "listed", "swaps"),
        ("chain-rule/3", 6.0, "own", "A product swaps"),
        ("neuron/1", -4.0, "sign", "sign is not"),
        ("picture-to-code/10", 1.0, "", ""),
    ],
)
def test_any_wrong_gradient_is_explained(
    visit: Visit, course_file: Path, place: str, said: float, key: str, words: str
) -> None:
    page = open_at(visit, course_file, place)
    type_answer(page, said)
    verdict = page.locator(".stage .ask .verdict.bad")
    assert words in verdict.inner_text()
    if key:
        assert verdict.get_attribute("data-misconception") == key


def open_at(visit: Visit, file: Path, place: str, known: dict[str, Any] | None = None, **more: Any) -> Any:
    """The course at a step, with every step before it open; `known` is what the progress holds besides.

    The progress is written before the page reads it, in each document that finds none: chromium may lose what a page
    writes to its storage just before it is left.
    """
    state = {
        "version": 1,
        "course": "micrograd-course",
        "solved": {},
        "reached": dict.fromkeys(CHAPTERS, 99),
        "drills": {},
        "reviews": [],
        "count": 0,
        **(known or {}),
    }
    key = "micrograd.course.micrograd-course"
    before = f"""if (location.protocol === "file:" && localStorage.getItem({key!r}) === null)
        localStorage.setItem({key!r}, {json.dumps(json.dumps(state))});"""
    page = visit(f"{file.as_uri()}#{place}", reduced_motion="reduce", before=before, **more)
    assert_at(page, place)
    return page


def assert_at(page: Any, place: str) -> None:
    """The page shows this step, and not an earlier one because this one is not open yet."""
    page.wait_for_function("() => document.querySelector('.trail .now')")
    shown = page.evaluate(
        "[...document.querySelectorAll('.trail .stop')].findIndex((e) => e.classList.contains('now')) + 1"
    )
    assert shown == int(place.split("/")[1])


def test_after_two_wrong_tries_the_answer_is_offered(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "used-twice/1")
    type_answer(page, 100.0)
    assert page.locator(".ask [data-do='show']").count() == 0
    type_answer(page, 101.0)
    page.click(".ask [data-do='show']")
    assert "The answer is: 6" in page.inner_text(".task.done").replace("\n", " ")
    assert page.locator("[data-do='next-step']").is_enabled()
    page.goto(f"{course_file.as_uri()}#slope/5")
    for way in ("up", "still"):
        page.click(f".stage [data-pick='L {way}']")
    page.click(".stage [data-do='give']")
    assert "L shrinks" in page.inner_text(".task.done .verdict")
    page.goto(f"{course_file.as_uri()}#loss-and-descent/2")
    for text in ("Find the best", "Go in the wrong"):
        page.locator(".task .choice", has_text=text).locator("input").check()
    page.click(".task [data-do='give']")
    assert "Nothing: every step" in page.inner_text(".task.done .verdict")


def test_nothing_shows_the_answer_before_it_is_given(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "nudge/2")
    assert "?" in page.inner_text(".leaf[data-leaf='w'] output")
    assert page.locator(".leaf [data-do='nudge']").first.is_disabled()
    step = page.inner_text(".stage .count")
    page.click(".stage [data-do='to_end']")
    assert page.inner_text(".stage .count") == step
    page = open_at(visit, course_file, "sums-and-products/1")
    label = page.locator(".stage .node", has_text="p").first.get_attribute("aria-label")
    assert "gradient not known yet" in label


# ---- moving about


def test_progress_is_kept_saved_and_loaded(visit: Visit, course_file: Path, tmp_path: Path) -> None:
    page = visit(course_file.as_uri(), reduced_motion="reduce")
    assert "start here" in page.inner_text(".contents")
    assert page.locator(".trail .stop:enabled").count() == 1
    type_answer(page, 7.0)
    page.click("[data-do='next-step']")
    assert page.url.endswith("#slope/2") and page.locator(".trail .stop:enabled").count() == 2
    reload(page)
    assert page.inner_text(".text h2") == "Turn the knob"
    with page.expect_download() as saving:
        page.click("header [data-do='save']")
    saving.value.save_as(tmp_path / "mine.json")
    assert saving.value.suggested_filename == "micrograd-course-progress.json"
    page = visit(course_file.as_uri())  # another browser profile: no progress is kept there
    assert page.inner_text(".text h2") == "A machine with one knob"
    page.set_input_files("input[type='file']", tmp_path / "mine.json")
    page.get_by_text("Progress loaded.").wait_for()
    assert page.inner_text(".text h2") == "Turn the knob"
    for text in (
        b"nothing",
        b"{}",
        b'{"version": 1, "course": "other"}',
        b"[]",
        b'{"version":1,"course":"micrograd-course","solved":[]}',
    ):
        page.set_input_files("input[type='file']", {"name": "x.json", "mimeType": "application/json", "buffer": text})
        page.get_by_text("not progress of this course").wait_for()
        assert page.inner_text(".text h2") == "Turn the knob"


def test_links_chapters_and_the_browsers_back(visit: Visit, course_file: Path) -> None:
    page = visit(f"{course_file.as_uri()}#slope/7", reduced_motion="reduce")
    assert page.inner_text(".text h2") == "A machine with one knob"  # a link does not skip what is not reached
    page.click("[data-chapter='softmax']")
    assert page.inner_text(".text h2") == "Scores, not probabilities" and page.url.endswith("#softmax/1")
    page.go_back()
    assert page.inner_text(".text h2") == "A machine with one knob"
    page.go_forward()
    assert page.inner_text(".text h2") == "Scores, not probabilities"
    page.goto(f"{course_file.as_uri()}#nonsense/x")
    assert page.inner_text(".text h2") == "A machine with one knob"


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (768, 1024), (360, 740)])
def test_nothing_is_wider_than_the_screen(visit: Visit, course_file: Path, width: int, height: int) -> None:
    page = open_at(visit, course_file, "slope/1", width=width, height=height)
    for place in ("slope/4", "order/2", "order/4", "picture-to-code/4", "network/9", "softmax/3", "attention/8"):
        page.goto(f"{course_file.as_uri()}#{place}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place
        assert page.locator("[data-do='next-step']").count() == 1
    if width < 1000:
        assert not page.locator(".contents").is_visible()
        page.click("[data-do='menu']")
        page.click("[data-chapter='slope']")
        assert not page.locator(".contents").is_visible() and "Slope" in page.inner_text(".trail")


def test_a_lesson_of_ones_own_is_a_page(visit: Visit, tmp_path: Path) -> None:
    from micrograd.cli import main

    file = tmp_path / "mine.md"
    assert main(["lesson", "new", str(file)]) == 0 and main(["lesson", "build", str(file)]) == 0
    page = visit(file.with_suffix(".html").as_uri(), reduced_motion="reduce")
    assert page.inner_text("h1") == "My first lesson" and not page.locator(".contents").count()
    type_answer(page, 2.0)
    assert "That is the value of a" in page.inner_text(".stage .ask .verdict.bad")
    type_answer(page, -1.0)
    page.click("[data-do='next-step']")
    page.locator(".leaf[data-leaf='a'] input[type='text']").fill("-20")
    page.locator(".leaf[data-leaf='a'] input[type='text']").press("Enter")
    assert page.locator("[data-do='next-step']").is_enabled()


@pytest.mark.parametrize(
    "width", [1280, pytest.param(820, marks=pytest.mark.slow), pytest.param(390, marks=pytest.mark.slow)]
)
def test_code_and_formulas_are_read_without_scrolling(visit: Visit, course_file: Path, width: int) -> None:
    page, looked = open_at(visit, course_file, "slope/1", width=width, height=800), 0
    for key, chapter in CHAPTERS.items():
        for at, (step, _) in enumerate(screens(chapter), 1):
            formula = step is not None and any("$$" in part.text for part in step.parts if isinstance(part, Prose))
            if step is not None and (formula or any(step.blocks("code", "output", "text"))):
                page.goto(f"{course_file.as_uri()}#{key}/{at}")
                assert step.title in page.inner_text(".text h2")
                hidden = "els => els.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"
                assert page.eval_on_selector_all(".text :is(pre.code, .formula)", hidden) == [], step.title
                looked += page.locator(".text pre.code").count()
    assert looked > 10


def test_the_card_that_passes_on_has_plain_letters(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "picture-to-code/1")
    strokes = page.eval_on_selector_all(".node.source text", "els => els.map((e) => getComputedStyle(e).stroke)")
    assert strokes and set(strokes) <= {"none", "rgb(255, 255, 255)"}  # the outline of a remark is that of the paper


def test_a_step_can_be_printed(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "picture-to-code/10", height=500)
    page.emulate_media(media="print")
    assert not page.locator(".contents").is_visible() and not page.locator("[data-do='next-step']").is_visible()
    whole = page.locator(".text").evaluate("(e) => e.scrollHeight <= e.clientHeight + 1")
    assert (
        whole and page.locator(".text pre.code").last.is_visible() and page.locator(".stage .node").first.is_visible()
    )
