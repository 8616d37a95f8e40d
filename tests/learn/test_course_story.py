"""The pictures of ideas move with the graph, chapters end with what one can do now, and drills repeat with other numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from in_node import needs_node, run_in_node
from test_course_browser import CHAPTERS, course_file, drill, leaves, open_at, screens, type_answer

from micrograd.learn.course.check import check
from micrograd.learn.course.drill import SKILLS, shapes
from micrograd.learn.course.lessons import parse
from micrograd.learn.course.page import data

__all__ = ["course_file"]  # a fixture of the other file
Visit = Callable[..., Any]
KEY = "micrograd.course.micrograd-course"


def test_every_chapter_says_what_one_can_do_now_and_its_graph_grows() -> None:
    course = data(list(CHAPTERS.values()), "c", "t")
    drawn = {graph["key"]: graph["timeline"]["nodes"] for graph in course["graphs"]}
    sizes = []
    for lesson, row in zip(CHAPTERS.values(), course["chapters"]):
        assert len(lesson.can) >= 2 and row["fresh"], lesson.key
        sizes.append(len(drawn[row["grown"]]))
    assert sizes[:5] == sorted(sizes[:5]) and sizes[9] == max(sizes[:10])
    assert [row["plain"] for row in course["chapters"]] == [True] + [False] * 11


def test_a_chapter_ends_with_what_one_can_do_now(visit: Visit, course_file: Path) -> None:
    page = open_with(visit, course_file, "slope/8", everything())
    page.click("[data-do='next-step']")
    told = page.inner_text(".chapter-end")
    assert "Chapter finished: Slope" in told and CHAPTERS["slope"].can[0] in told and "About 6 min" in told
    assert page.url.endswith("#slope/end") and page.locator(".stage .node").count() >= 5
    page.click("[data-do='next-chapter']")
    assert page.inner_text(".text h2") == "Three knobs, three slopes"
    page.go_back()
    assert "Chapter finished" in page.inner_text(".text h2")
    page.goto(f"{course_file.as_uri()}#attention/end")
    assert "You have finished the course" in page.inner_text(".text h2") and "12 chapters" in page.inner_text(
        ".certificate"
    )


def open_with(visit: Visit, file: Path, place: str, known: dict[str, Any], **more: Any) -> Any:
    """The course at a place, with this progress, which is written before the page reads it."""
    state = {
        "version": 2,
        "course": "micrograd-course",
        "solved": {},
        "reached": {},
        "drills": {},
        "reviews": [],
        "count": 0,
    }
    before = f"""if (location.protocol === "file:" && localStorage.getItem({KEY!r}) === null)
        localStorage.setItem({KEY!r}, {json.dumps(json.dumps(state | known))});"""
    return visit(f"{file.as_uri()}#{place}", reduced_motion="reduce", before=before, **more)


def everything() -> dict[str, Any]:
    """A progress in which all questions are answered."""
    rows = data(list(CHAPTERS.values()), "c", "t")["chapters"]
    solved = {
        f"{row['key']}/{step['key']}/{part['task']['key']}": 1
        for row in rows
        for step in row["steps"]
        for part in step["parts"]
        if "task" in part
    }
    last = {row["key"]: row["steps"][-1]["key"] for row in rows}
    return {"solved": solved, "reached": last, "drills": dict.fromkeys(last, 1), "seconds": {"slope": 360}, "count": 99}


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_the_graph_that_grows_is_seen_whole(visit: Visit, course_file: Path, width: int, height: int) -> None:
    from test_course_fits import LEAST, LOOK

    page = open_with(visit, course_file, "slope/1", everything(), width=width, height=height)
    for key in CHAPTERS:
        found = page.evaluate(LOOK, f"{key}/end")
        assert page.locator(".chapter-end").count() == 1, key
        for view in found["seen"]:
            assert not view["cut"] and view["letters"] >= LEAST, (key, view)


# ---- pictures


def test_the_knob_turns_by_keys_and_pointer(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "slope/2")
    dial = page.locator(".dial")
    assert dial.get_attribute("aria-valuenow") == "2"
    dial.focus()
    page.keyboard.press("ArrowUp")
    assert float(dial.get_attribute("aria-valuenow")) == pytest.approx(2.1)
    assert "y is 7.3" in dial.get_attribute("aria-valuetext")
    box = dial.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 40, box["y"] + box["height"] / 2 - 20, steps=4)
    page.mouse.up()
    assert leaves(page)["x"] > 3


def test_gears_turn_by_the_ratios_and_keep_the_answer_to_themselves(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "chain-rule/1")  # with motion reduced, the turn is done at once
    page.click("[data-do='turn-gears']")
    told = page.text_content(".idea.gears")
    assert "x · 1" in told and "u · 3" in told and "y · ?" in told
    type_answer(page, 6.0)
    assert "y · 6" in page.text_content(".idea.gears")


def test_the_ball_goes_downhill(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "loss-and-descent/5")
    place = page.get_attribute(".idea .ball", "cx")
    for _ in range(30):
        page.click("[data-do='downhill']")
    assert page.get_attribute(".idea .ball", "cx") != place
    assert "done" in page.get_attribute(".task", "class")  # the loss is below the goal


def test_streams_bars_and_the_heat_map_show_numbers_when_they_are_known(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "used-twice/4")
    assert "?" in page.text_content(".idea.tap") and "15" not in page.text_content(".idea.tap")
    type_answer(page, 15.0)
    assert "a · 15" in page.text_content(".idea.tap")
    page.goto(f"{course_file.as_uri()}#softmax/1")
    type_answer(page, 0.659)
    assert "66%" in page.text_content(".idea.bars")
    page.goto(f"{course_file.as_uri()}#attention/5")
    assert "Together: 100%" in page.inner_text(".figure figcaption")
    page.select_option(".figure select[aria-label='what is hidden']", "after")
    assert "Together: 100%" not in page.inner_text(".figure figcaption")


def test_a_picture_of_what_is_not_there_is_told_with_its_line() -> None:
    head = "---\ntitle: T\n---\n## One\n```graph\nexpression: y = 2 * x\nvalues: x=1\n```\n"
    for block, told in (("of: nothing\nshow: x", "no picture of 'nothing'"), ("of: gears\nshow: q", "'q' is not a node"),
                        ("of: gears", "shows nodes")):  # fmt: skip
        problems = check(parse(f"{head}```picture\n{block}\n```\n"))
        assert any(told in problem.text for problem in problems), problems


# ---- drills


def test_a_value_comes_back_with_other_numbers(visit: Visit, course_file: Path) -> None:
    knob = "slope/a-machine-with-one-knob/y.data"
    known = {"count": 9, "solved": {knob: 0}, "reviews": [{"id": knob, "due": 3, "box": 0}]}
    page = open_with(visit, course_file, "slope/1", known)
    page.click("[data-chapter='nudge']")
    assert page.inner_text(".text h2") == "Once more"
    x = leaves(page)["x"]
    assert x != 2.0
    type_answer(page, 3 * x + 1)
    page.click("[data-do='after-review']")


def test_two_right_answers_finish_a_drill_and_a_wrong_one_asks_for_more(visit: Visit, course_file: Path) -> None:
    at = 1 + next(k for k, (step, _) in enumerate(screens(CHAPTERS["sums-and-products"])) if step is None)
    page = open_at(visit, course_file, f"sums-and-products/{at}")
    drill(page, CHAPTERS["sums-and-products"])
    assert "Two right at once" in page.inner_text(".drill")
    kept = json.loads(page.evaluate(f"localStorage.getItem({KEY!r})"))
    assert kept["count"] == 0 and kept["drills"] == {"sums-and-products": 1}
    page = open_at(visit, course_file, f"sums-and-products/{at}")
    before = leaves(page)
    type_answer(page, 12345.0)
    type_answer(page, 12346.0)
    page.click(".ask [data-do='show']")
    page.click("[data-do='next-question']")
    assert leaves(page) != before
    drill(page, CHAPTERS["sums-and-products"])
    assert "Drill finished" in page.inner_text(".drill")


@needs_node
def test_the_numbers_of_a_drill_are_all_different() -> None:
    pools = [shape.pools for skill in SKILLS for shape in shapes([skill], "x")]
    script = """
return data.map((pools) => Array.from({ length: 20 }, (_, k) => Object.values(drill.different(pools, drill.randomFrom(k)))));"""
    rows = run_in_node(script, pools, "drill.js")
    for names, found in zip(pools, rows):
        for values in found:
            union = {x for pool in names.values() for x in pool}
            if len(union) >= len(names):
                assert len(set(values)) == len(values), (names, values)
