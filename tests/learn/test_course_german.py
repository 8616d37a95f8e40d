"""The course in German: each chapter has all its words, its numbers are computed, and the page switches with the progress."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_course_browser import type_answer

from micrograd.cli import main
from micrograd.learn import texts
from micrograd.learn.course import site
from micrograd.learn.course.check import check
from micrograd.learn.course.lessons import Problem, Prose, parse
from micrograd.learn.course.markdown import html
from micrograd.learn.course.page import CHAPTERS, chapters, data
from micrograd.learn.course.translation import is_translation, merge, translated

Visit = Callable[..., Any]
GERMAN = sorted((CHAPTERS / "de").glob("*.md"))
ENGLISH = """---
title: Sums
about: What a sum does.
can: add | copy
---
## One
A sum copies {3 = a.grad}.
```graph
expression: c = a * b
values: a=2 b=3
step: forward
```
```ask
of: a.grad
answer: 3
question: What is it, for {2 = a.data}?
wrong: 2 | Its value.
why: The other.
```
```ask
question: Which?
right: @b
choice: @a | No.
```
"""
WORDS = """---
title: Summen
about: Was eine Summe tut.
can: addieren | kopieren
---
## Eins
Eine Summe kopiert {}.
```graph
```
```ask
question: Was ist es, bei {}?
wrong: | Sein Wert.
why: Der andere.
```
```ask
question: Welcher?
choice: | Nein.
```
"""


@pytest.mark.parametrize("path", GERMAN, ids=lambda path: path.stem)
def test_a_german_chapter_lacks_nothing_and_its_numbers_are_right(path: Path) -> None:
    problems: list[Problem] = []
    lesson = translated(path, problems)
    assert not problems and not check(lesson)
    english = {one.key: one for one in chapters()}[lesson.key]
    assert [step.key for step in lesson.steps] == [step.key for step in english.steps]
    said = html("\n\n".join(part.text for step in lesson.steps for part in step.parts if isinstance(part, Prose)))
    words = set(re.findall(r"\b[a-z]+\b", re.sub(r"<code.*?</code>|<em>.*?</em>|<[^>]*>", " ", said)))
    assert not words & {"the", "and", "which", "of", "its", "gradient", "with", "what"}


def test_a_translation_takes_all_but_the_words_from_the_english_chapter() -> None:
    problems: list[Problem] = []
    made = merge(parse(ENGLISH), parse(WORDS), problems)
    assert not problems and not check(made)
    step = made.steps[0]
    asks = list(step.blocks("ask"))
    assert (made.title, step.title, step.key) == ("Summen", "Eins", "one")
    assert step.parts[0].text == "Eine Summe kopiert {3 = a.grad}."
    assert asks[0].get("question") == "Was ist es, bei {2 = a.data}?" and asks[0].get("wrong") == "2 | Sein Wert."
    assert asks[0].get("answer") == "3" and asks[1].get("choice") == "@a | Nein."


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("kopiert {}.", "kopiert {} und {}.", "stands here 2 times"),
        ("why: Der andere.\n", "", "no 'why'"),
        ("wrong: | Sein Wert.\n", "", "has 0 of 'wrong', and in English 1"),
        ("wrong: | Sein", "wrong: 2 | Sein", "taken from English"),
        ("question: Welcher?", "question: Welcher?\nhint: Nun?", "has no 'hint'"),
        ("question: Welcher?", "question: Welcher?\nanswer: 3", "leave it out"),
        ("```graph\n```\n", "", "in English text between blocks, graph"),
        ("can: addieren | kopieren", "can: addieren", "1 parts, in English 2"),
        ("about: Was eine Summe tut.\n", "", "`about` of the front matter is missing"),
        ("## Eins", "## Eins\nText.\n## Zwei", "2 steps, and in English 1"),
    ],
)
def test_what_a_translation_lacks_is_named(old: str, new: str, told: str) -> None:
    problems: list[Problem] = []
    assert old in WORDS
    made = merge(parse(ENGLISH), parse(WORDS.replace(old, new)), problems)
    assert any(told in problem.text for problem in problems), problems
    assert not check(made)  # what is left is shown in English


def test_the_command_names_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, text in (("en", ENGLISH), ("de", WORDS.replace("why: Der andere.\n", ""))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "01-sums.md").write_text(text, encoding="utf-8")
    assert is_translation(tmp_path / "de" / "01-sums.md") and not is_translation(tmp_path / "en" / "01-sums.md")
    assert main(["lesson", "check", str(tmp_path / "de" / "01-sums.md")]) == 1
    assert "01-sums.md:10: this question has no 'why'" in capsys.readouterr().out
    assert main(["lesson", "build", str(tmp_path / "de" / "01-sums.md"), "-o", str(tmp_path / "x.html")]) == 0
    assert "Eine Summe kopiert" in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_a_chapter_that_is_not_translated_is_english_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from micrograd.learn.course import page

    (tmp_path / "en").mkdir()
    (tmp_path / "de").mkdir()
    for name in ("01-slope.md", "02-nudge.md"):
        (tmp_path / "en" / name).write_text((CHAPTERS / "en" / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "de" / "01-slope.md").write_text(
        (CHAPTERS / "de" / "01-slope.md").read_text(encoding="utf-8"), encoding="utf-8"
    )
    monkeypatch.setattr(page, "CHAPTERS", tmp_path)
    found = data(chapters("de"), "c", "t")["chapters"]
    assert [(row["title"], row["language"]) for row in found] == [("Steigung", ""), ("Nudge", "en")]


def test_the_page_switches_the_language_and_keeps_the_progress(visit: Visit, tmp_path: Path) -> None:
    for name, text in site.courses({}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert texts.current()["language"] == "en"
    page = visit((tmp_path / "course.html").as_uri(), reduced_motion="reduce")
    type_answer(page, 7.0)
    page.click("[data-do='next-step']")
    page.click("header [data-language='de']")
    page.wait_for_url("**/course.de.html#slope/2")
    assert page.get_attribute("html", "lang") == "de" and page.inner_text(".text h2") == "Dreh den Knopf"
    page.click("[data-do='back-step']")
    assert page.locator(".task.done").count() == 1 and "Drei mal 2 ist 6" in page.inner_text(".task.done")
    shown = set(re.findall(r"\b[a-z]+\b", page.inner_text("main") + page.inner_text("header")))
    assert not shown & {"the", "and", "step", "answer", "question", "chapter", "next", "back"}
    page.click("header [data-language='en']")
    page.wait_for_url("**/course.html#slope/1")
    assert page.inner_text(".text h2") == "A machine with one knob"
