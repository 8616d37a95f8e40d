"""Words of the glossary in the course: the first one on a screen says what it means, in both languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from test_course_browser import course_file, open_at

from micrograd.learn import texts
from micrograd.learn.course import site
from micrograd.learn.course.lessons import parse
from micrograd.learn.course.page import chapters, html

__all__ = ["course_file"]  # a fixture of the other file
Visit = Callable[..., Any]


def test_a_word_says_what_it_means_and_is_said_once(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "chain-rule/5")
    words = page.locator(".text button.term").all_text_contents()
    assert "gradient" in words and len(words) == len(set(words))
    before = page.inner_text(".text .body p >> nth=0")
    page.locator(".text button.term", has_text="gradient").first.focus()
    page.keyboard.press("Enter")
    told = page.locator(".text .term-told")
    assert "how fast the last node moves" in told.inner_text()
    assert page.locator("button.term[aria-expanded='true']").count() == 1
    page.keyboard.press("Enter")
    assert told.count() == 0 and page.inner_text(".text .body p >> nth=0") == before  # the text stays as it was
    assert page.locator(".text :is(code, strong, a) button.term").count() == 0


def test_each_word_of_the_glossary_occurs_in_the_course() -> None:
    for language in ("en", "de"):
        said = " ".join(
            part.text
            for lesson in chapters(language)
            for step in lesson.steps
            for part in step.parts
            if hasattr(part, "text")
        )
        for key, entry in texts.read(language)["glossary"]["words"].items():
            forms = entry["forms"].replace(" ", "|").replace("_", " ")
            assert re.search(rf"(?<![\w-])({forms})(?![\w-])", said), (language, key)


def test_a_lesson_on_which_no_code_is_written_has_no_editor() -> None:
    body = "---\ntitle: T\n---\n## One\n```graph\nexpression: b = a * a\nvalues: a=3\n```\n"
    small, large = html([parse(body)], "t", "T"), site.course()
    assert "CodeMirror 6, bundled" not in small and "CodeMirror 6, bundled" in large
    assert len(small) < len(large) - 300_000
