"""Progress of a learner: names of steps that outlive a change of the course, old files, two tabs, damage, the keyboard."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clicks import reload

from learn.in_node import NODE, run_in_node
from micrograd.learn.course import site
from micrograd.learn.course.lessons import LessonError, parse
from micrograd.learn.course.page import chapters, data, html

KEPT = "micrograd.course.micrograd-course"
STEP = """## {title}
Text.
```graph
expression: c = a * b
values: a=2 b=3
step: forward
```
```ask
of: a.grad
answer: 3
```
"""
Visit = Callable[..., Any]


def lesson(*titles: str, front: str = "title: Mine") -> Any:
    return parse(f"---\n{front}\n---\n" + "".join(STEP.format(title=title) for title in titles), "mine.md")


# ---- names


def test_steps_and_questions_have_names_that_words_and_numbers_do_not_change() -> None:
    found = lesson("Two paths", "Two paths", "Ünder {#below} {milestone}", "??")
    assert [step.key for step in found.steps] == ["two-paths", "two-paths-2", "below", "step"]
    assert found.steps[2].title == "Ünder" and found.steps[2].milestone
    with pytest.raises(LessonError, match="another step has the name 'one'"):
        lesson("One {#one}", "Two {#one}")


def test_no_two_questions_of_the_course_share_a_name() -> None:
    rows = data(chapters(), "micrograd-course", "course")["chapters"]
    names = [(row["key"], step["key"], part["task"]["key"])
             for row in rows for step in row["steps"] for part in step["parts"] if "task" in part]  # fmt: skip
    assert len(names) == len(set(names)) > 120
    assert not any("/" in word for name in names for word in name)


# ---- what is read


def node(script: str) -> Any:
    if NODE is None:
        pytest.skip("node is not installed: the logic of progress was not run")
    return run_in_node(f"{script}\nreturn answer;", None, "progress.js")


PLAN = """
const plan = {c: [{key: "x", tasks: ["a.grad"]}, {key: "y", tasks: ["choice", "choice-2"]}, {key: "*drill", tasks: []}]};
"""
OLD = """
const old = {version: 1, course: "m", solved: {"c/0/0": 1, "c/1/1": 0, "c/7/0": 1, "gone/0/0": 1}, reached: {c: 99, gone: 2},
  drills: {c: 1}, reviews: [{id: "c/1/1", due: 5, box: 0}, {id: "c/9/9", due: 5, box: 0}], count: 3};
"""


def test_progress_that_counted_steps_is_read_by_names() -> None:
    known = node(PLAN + OLD + 'const answer = progress.readProgress(old, "m", plan);')
    assert known == {
        "version": 2,
        "course": "m",
        "solved": {"c/x/a.grad": 1, "c/y/choice-2": 0},
        "reached": {"c": "*drill"},
        "drills": {"c": 1},
        "reviews": [{"id": "c/y/choice-2", "due": 5, "box": 0}],
        "count": 3,
        "drafts": {},
        "code": {},
        "seconds": {},
    }


def test_a_step_that_is_added_moves_nothing() -> None:
    script = """
const known = {reached: {c: "y"}, solved: {"c/y/choice": 1}};
const longer = {c: [plan.c[0], {key: "new", tasks: ["a.grad"]}, ...plan.c.slice(1)]};
const shorter = {c: [plan.c[0], {key: "z", tasks: []}]};
const answer = [plan, longer, shorter, {}].map((one) => progress.reachedIn(known, one, "c"));"""
    assert node(PLAN + script) == [1, 2, 0, 0]


def test_what_two_tabs_know_is_joined() -> None:
    script = """
const a = {count: 1, solved: {"c/x/a.grad": 1}, reached: {c: "y"}, drills: {}, reviews: [{id: "c/x/a.grad", due: 4, box: 0}]};
const b = {count: 2, solved: {"c/y/choice": 0}, reached: {c: "x", d: "p"}, drills: {c: 1}, reviews: []};
const answer = [progress.joinProgress(a, b, plan), progress.joinProgress(b, a, plan)];"""
    one, other = node(PLAN + script)
    assert one == other
    assert set(one["solved"]) == {"c/x/a.grad", "c/y/choice"} and one["reached"] == {"c": "y", "d": "p"}
    assert one["drills"] == {"c": 1} and one["reviews"] == [] and one["count"] == 2


@pytest.mark.parametrize(
    "text", ["null", "[]", '"x"', '{"version": 3}', '{"version": 2, "course": "m", "solved": {}, "reached": {"c": 1}}']
)
def test_anything_else_is_not_progress(text: str) -> None:
    assert node(f'{PLAN} const answer = progress.readProgress({text}, "m", plan);') is None


# ---- in a browser


@pytest.fixture(scope="module")
def course_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("course") / "course.html"
    file.write_text(site.course(), encoding="utf-8")
    return file


def kept(page: Any) -> Any:
    return json.loads(page.evaluate(f"localStorage.getItem('{KEPT}')"))


def test_a_learner_with_a_keyboard_alone(visit: Visit, course_file: Path) -> None:
    page = visit(course_file.as_uri(), reduced_motion="reduce")
    for _ in range(5):  # past the words of the text that say what they mean
        page.keyboard.press("Tab")
        if page.locator(".task button:focus").count():
            break
    page.keyboard.press("Enter")  # to the stage
    for said in ("6", "7"):
        page.keyboard.type(said)
        page.keyboard.press("Enter")
    assert page.locator("[data-do='next-step']:focus").count() == 1
    page.keyboard.press("Enter")
    assert page.inner_text(".text h2") == "Turn the knob"
    page.goto("about:blank")
    page.goto(f"{course_file.as_uri()}#order/2")
    page.click("[data-chapter='used-twice']")
    page.fill(".stage .ask input", "6")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.locator(".task input").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")  # arrow keys look at the answers; none of them is given
    assert "Press Enter" in page.inner_text(".task .told") and not page.locator(".task .verdict").count()
    page.keyboard.press("Enter")
    assert page.locator(".task .verdict.bad").count() == 1
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press(" ")
    page.wait_for_selector("[data-do='next-step']:focus")
    assert page.locator(".task.done").count() == 1


def test_damaged_progress_is_set_aside_and_told(visit: Visit, course_file: Path) -> None:
    page = visit(course_file.as_uri(), reduced_motion="reduce")
    page.evaluate(f"localStorage.setItem('{KEPT}', '{{\"version\": 2, \"sol')")
    reload(page)
    assert "could not be read" in page.inner_text("header [role='status']")
    assert page.evaluate(f"localStorage.getItem('{KEPT}.unread')").startswith('{"version": 2')
    page.fill(".stage .ask input", "7")
    page.keyboard.press("Enter")
    assert list(kept(page)["solved"]) == ["slope/a-machine-with-one-knob/z.data"]
    reload(page)
    assert page.inner_text("header [role='status']") == ""


def test_two_tabs_lose_nothing_of_each_other(visit: Visit, course_file: Path) -> None:
    page = visit(course_file.as_uri(), reduced_motion="reduce")
    other = page.context.new_page()
    other.goto(f"{course_file.as_uri()}#used-twice/1")
    both = ["slope/a-machine-with-one-knob/z.data", "used-twice/one-node-two-arrows/e.grad"]
    for tab, said, key in zip((page, other), ("7", "6"), both):
        tab.fill(".stage .ask input", said)
        tab.keyboard.press("Enter")
        for reader in (page, other):  # the browser tells another tab a moment later, sooner than a learner gets there
            reader.wait_for_function(f"(localStorage.getItem('{KEPT}') || '').includes('{key}')")
    solved = f"Object.keys(JSON.parse(localStorage.getItem('{KEPT}')).solved)"
    page.wait_for_function(f"{solved}.length == 2")  # what another tab has written comes a moment later
    assert sorted(page.evaluate(solved)) == both


def test_a_step_added_later_leaves_the_ticks_where_they_were(visit: Visit, tmp_path: Path) -> None:
    file = tmp_path / "mine.html"
    file.write_text(html([lesson("One", "Two")], "mine", "Mine"), encoding="utf-8")
    page = visit(file.as_uri(), reduced_motion="reduce")
    for _ in range(2):
        page.fill(".stage .ask input", "3")
        page.keyboard.press("Enter")
        page.click("[data-do='next-step']")
    assert "finished this lesson" in page.inner_text(".foot")
    file.write_text(html([lesson("One", "Between", "Two")], "mine", "Mine"), encoding="utf-8")
    page.goto("about:blank")
    page.goto(file.as_uri())
    assert page.locator(".trail .stop").all_inner_texts() == ["●", "○", "●"]
