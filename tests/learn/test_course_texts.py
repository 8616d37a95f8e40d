"""The pages of the course and the workshop in a made-up language: accented, 40 % longer, once from right to left."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pseudo import pseudo
from test_course_browser import tap, type_answer
from test_texts import CODE, NAMES, TEXTS, direction

from micrograd.learn.course import parse, site
from micrograd.learn.course.page import html

__all__ = ["direction"]  # a fixture of the other file
Visit = Callable[..., Any]
LESSON = f"""---
title: {pseudo("Two paths")}
minutes: 5
drill: reuse
---
## {pseudo("The first step")}
{pseudo("A text about gradients")}.

```graph
expression: b = a * 3; c = a + 1; d = b * c
values: a=2
step: forward
```

```ask
of: a.grad
answer: 15
```

```ask
order: yes
question: {pseudo("In which order")}?
```

## {pseudo("The second step")}

```graph
step: forward
leaves: yes
```

```curve
over: a
```

```ask
goal: d.data < 1
question: {pseudo("Move it")}.
```

```ask
number: d
answer: 18
question: {pseudo("How much")}?
```

```ask
question: {pseudo("Which one")}?
right: {pseudo("This one")}
choice: {pseudo("That one")} | {pseudo("Wrong")}
```

```ask
question: {pseudo("Which way")}?
right: @d up
choice: @d down | {pseudo("Wrong")}
```
"""


def plain(page: Any) -> set[str]:
    """What still reads as English."""
    found: set[str] = set()
    for text in page.evaluate(TEXTS, CODE + ", .editor, .leaf .name, .goal-now, .task-text"):
        found |= set(re.findall(r"(?<![^\W\d_])[A-Za-z_]{4,}(?![^\W\d_])", text)) - NAMES
    return found


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (360, 740)])
def test_the_course_can_be_translated(visit: Visit, tmp_path: Path, direction: str, width: int, height: int) -> None:
    file = tmp_path / "course.html"
    chapters = [parse(LESSON, name) for name in ("one.md", "two.md")]
    file.write_text(html(chapters, "pseudo", pseudo("A course"), {"explore": "explore.html"}), encoding="utf-8")
    page = visit(file.as_uri(), width=width, height=height, reduced_motion="reduce")
    assert page.evaluate("document.documentElement.dir") == direction

    def look() -> None:
        assert not plain(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    look()
    type_answer(page, 1.0)
    look()
    type_answer(page, 100.0)
    look()
    type_answer(page, 15.0)
    for name in "dcb":
        tap(page, name)
    look()
    page.click(".task [data-do='run']")
    look()
    page.click("[data-do='next-step']")
    look()
    if width < 400:  # a phone shows one question at a time: those before the choice are answered
        radio = page.locator(".task input[type='radio']").first
        assert not radio.is_visible() and not page.locator(".task[data-kind='number']").is_visible()
        field = page.locator(".leaf[data-leaf='a'] input[type='text']")
        field.fill("0")
        field.press("Enter")
        look()
        number = page.locator(".task[data-kind='number'] input")
        number.fill("18")
        number.press("Enter")
        look()
        assert page.locator(".task.done").count() == 2 and radio.is_visible()
    page.locator(".task [data-kind='choice'] input, .task input[type='radio']").nth(1).check()
    look()
    page.add_init_script(  # before the scripts of the page, which keeps its own progress when it is left
        "try { localStorage.setItem('micrograd.course.pseudo', JSON.stringify({version: 1, course: 'pseudo', solved: {},"
        " reached: {one: 9, two: 9}, drills: {}, reviews: [{id: 'one/0/0', due: 0, box: 0}], count: 1})) } catch {}"
    )
    page.goto("about:blank")
    page.goto(f"{file.as_uri()}#one/3")
    look()  # the drill
    page.goto("about:blank")
    page.goto(f"{file.as_uri()}#one/2")
    page.locator(".trail .stop").nth(2).click()
    look()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (360, 740)])
def test_the_workshop_can_be_translated(visit: Visit, tmp_path: Path, direction: str, width: int, height: int) -> None:
    file = tmp_path / "workshop.html"
    text = site.workshop({"course": "index.html"})
    file.write_text(text, encoding="utf-8")
    page = visit(file.as_uri(), width=width, height=height)
    assert page.evaluate("document.documentElement.dir") == direction
    # Titles and tasks are those of the exercise files.
    titles = set(re.findall(r"[A-Za-z]{4,}", " ".join(page.locator("[data-exercise]").all_text_contents())))
    assert not plain(page) - titles
    assert page.evaluate("document.documentElement.scrollWidth") <= width
