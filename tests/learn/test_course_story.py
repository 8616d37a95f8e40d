"""The pictures of ideas move with the graph, chapters end with what one can do now, and drills repeat with other numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from in_node import needs_node, run_in_node
from test_course_browser import CHAPTERS, course_file, drill, leaves, open_at, screens, type_answer

from micrograd.learn import frames
from micrograd.learn.course.check import check
from micrograd.learn.course.drill import SKILLS, shapes
from micrograd.learn.course.lessons import Prose, parse
from micrograd.learn.course.page import data, known_as, story
from micrograd.learn.course.scenes import scenes
from micrograd.learn.expression import build
from micrograd.learn.layout import layout

__all__ = ["course_file"]  # a fixture of the other file
Visit = Callable[..., Any]
KEY = "micrograd.course.micrograd-course"


def test_every_chapter_says_what_one_can_do_now() -> None:
    course = data(list(CHAPTERS.values()), "c", "t")
    for lesson, row in zip(CHAPTERS.values(), course["chapters"]):
        assert len(lesson.can) >= 2 and row["fresh"] and row["grown"], lesson.key
    assert [row["plain"] for row in course["chapters"]] == [True] + [False] * 11


# ---- one graph grows

REPLACED = {"softmax": set("epstwxbz"), "attention": set("qvylL")}  # what these two, which look at the end, leave out
LONE = {"h1", "h2", "o"}  # what the last chapter looks at from near


def test_one_graph_grows_through_the_chapters() -> None:
    lessons = list(CHAPTERS.values())
    for before, lesson in pairwise(lessons):
        old, new = ({node.name: node for node in story(one) if not node.constant} for one in (before, lesson))
        now = {known_as(name, list(old)): name for name in new if known_as(name, list(old))}
        gone = {name.rstrip("1234") for name in set(old) - set(now)}
        assert gone <= REPLACED.get(lesson.key, set()), (lesson.key, gone)
        for name, later in now.items():
            if lesson.key == "attention":
                continue
            row, then = old[name], new[later]
            if lesson.key == "softmax" and not then.inputs:
                continue  # what is before the last neuron is left out
            same = {row.op, then.op}
            assert len(same) == 1 or same == {"mul", "neg"}, (lesson.key, name)  # L: a square, then a minus
            kept = {now[one.name] for one in old.values() if one.id in row.inputs and one.name in now}
            below = above(then, {node.id: node for node in story(lesson)})
            assert kept <= below, (lesson.key, name, kept - below)  # what fed a node feeds it still
    assert {node.name for node in story(lessons[-1])} & {node.name for node in story(lessons[-2])} >= LONE
    sizes = [len(story(lesson)) for lesson in lessons[:10]]
    assert sizes == sorted(sizes) and sizes[9] == max(sizes)


def above(node: Any, nodes: dict[int, Any]) -> set[str]:
    """The names of all nodes that a node is made from."""
    found = {name for one in node.inputs for name in above(nodes[one], nodes)}
    return found | {nodes[one].name for one in node.inputs}


def test_a_node_of_the_story_is_the_same_operation_wherever_a_chapter_draws_it() -> None:
    """`p` is always a product, `h` the output of a gate, `e` a difference and `L` the end."""
    kinds = {"p": {"mul"}, "h": {"tanh", "relu"}, "z": {"add", "mul"}, "o": {"add", "relu", "mul"}}
    for key in list(CHAPTERS)[:10]:
        for _, scene in scenes(CHAPTERS[key], []):
            for node in scene.timeline().nodes if scene else ():
                kind = kinds.get(node.name.rstrip("123"))
                if kind and node.inputs and (key, node.name) not in {("loss-and-descent", "p"), ("network", "h1"),
                                                                      ("network", "h2")}:  # fmt: skip
                    assert node.op in kind, (key, node.name, node.op)


def test_each_chapter_says_which_part_is_known() -> None:
    for key, lesson in list(CHAPTERS.items())[1:]:
        words = " ".join(part.text for step in lesson.steps for part in step.parts if isinstance(part, Prose))
        assert "ou know th" in words or "old friend" in words or "you know the first" in words, key


def test_the_end_of_a_chapter_marks_what_is_new(visit: Visit, course_file: Path) -> None:
    page = open_with(visit, course_file, "chain-rule/end", everything())
    marked = page.locator(".node:has(.badge[visibility='visible']) > .mg-name").all_text_contents()
    assert marked == ["h"]
    page.goto(f"{course_file.as_uri()}#order/end")
    page.locator(".node > .mg-name", has_text="p3").wait_for()
    marked = page.locator(".node:has(.badge[visibility='visible']) > .mg-name").all_text_contents()
    assert set(marked) == {"w3", "p3", "h2", "o"}  # and not h1, which was h
    page.goto(f"{course_file.as_uri()}#order/1")
    assert page.locator(".badge[visibility='visible']").count() == 0


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
    assert "z is 7.3" in dial.get_attribute("aria-valuetext")
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
    assert "x · 1" in told and "p · 3" in told and "z · ?" in told
    type_answer(page, 6.0)
    assert "z · 6" in page.text_content(".idea.gears")


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
    assert "x · 15" in page.text_content(".idea.tap")
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
    knob = "slope/a-machine-with-one-knob/z.data"
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


def test_a_drill_has_the_names_of_the_story() -> None:
    """`p` is a product, `z` a sum or what stands before a gate, `h` its output, `e` a difference, `L` the end."""
    kinds = {"p": {"mul", "neg"}, "h": {"relu"}, "e": {"sub", "add", "exp"}, "o": {"add"}}
    for skill in SKILLS:
        for shape in shapes([skill], "names"):
            nodes = build(shape.expression, **{name: pool[0] for name, pool in shape.pools.items()})
            line = frames(nodes, names={}).nodes
            assert not {"u", "y", "a", "c", "d", "f"} & {node.name for node in line}, shape.expression
            for node in line:
                kind = kinds.get(node.name.rstrip("123"))
                assert not node.inputs or skill in ("softmax", "order") or kind is None or node.op in kind, (
                    shape.expression
                )


def test_old_friends_stand_where_they_stood() -> None:
    """What stands at the left of another node in one graph of the story does so in all of them."""
    sides: dict[tuple[str, str], set[bool]] = {}
    for lesson in list(CHAPTERS.values())[:10]:
        drawn = [scene.timeline().nodes for _, scene in scenes(lesson, []) if scene]
        for nodes in (*drawn, story(lesson)):
            cards = layout(nodes, "TB")["nodes"]
            spots = {node.name: cards[str(node.id)]["card"] for node in nodes if not node.constant}
            for a, b in combinations(sorted(spots), 2):
                if abs(spots[a]["y"] - spots[b]["y"]) < 1:  # side by side
                    sides.setdefault((a, b), set()).add(spots[a]["x"] < spots[b]["x"])
    assert not {pair for pair, found in sides.items() if len(found) > 1} and len(sides) > 30
