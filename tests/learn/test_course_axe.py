"""axe-core finds nothing on the pages of the course and the workshop, in any state, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_axe import AXE, wrong
from test_course_browser import CHAPTERS, assert_at, course_file, open_at, tap, type_answer

from micrograd.learn.course import site

__all__ = ["course_file"]  # a fixture of the other file
Visit = Callable[..., Any]
pytestmark = pytest.mark.skipif(AXE is None, reason="axe-core is not installed (npm ci, or AXE_PATH)")


def answered(page: Any) -> None:
    type_answer(page, 6.0)


def missed(page: Any) -> None:
    type_answer(page, 3.0)


def chosen(page: Any) -> None:
    page.locator(".task input").first.check()


STATES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "prediction": ("used-twice/1", lambda page: None),
    "wrong": ("used-twice/1", missed),
    "right": ("used-twice/1", answered),
    "curve and sliders": ("slope/4", lambda page: None),
    "table": ("nudge/5", lambda page: None),
    "number": ("slope/3", lambda page: None),
    "choice": ("loss-and-descent/2", chosen),
    "choice in the picture": ("slope/5", lambda page: page.click("[data-pick='L up']")),
    "choice of a node": ("order/2", lambda page: page.click("[data-pick='L']")),
    "contribution": ("chain-rule/2", lambda page: page.click(".ask [data-sign='negative']")),
    "lab": ("order/2", lambda page: None),
    "order": ("order/4", lambda page: tap(page, "L")),
    "code": ("picture-to-code/4", lambda page: None),
    "training": ("network/9", lambda page: page.click("[data-do='step']")),
    "own engine": ("network/15", lambda page: page.click("[data-do='own-step']")),
    "code to write": ("picture-to-code/2", lambda page: page.click("[data-do='check-code']")),
    "knob": ("slope/2", lambda page: None),
    "gears": ("chain-rule/1", lambda page: None),
    "landscape": ("loss-and-descent/5", lambda page: None),
    "bars": ("softmax/1", lambda page: None),
    "heat map": ("attention/5", lambda page: None),
    "drill": ("slope/7", lambda page: None),
    "milestone": ("slope/8", lambda page: None),
    "a word of the glossary": ("chain-rule/5", lambda page: page.click(".text button.term >> nth=0")),
}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (360, 740)])
def test_axe_finds_nothing_in_the_course(visit: Visit, course_file: Path, width: int, height: int, scheme: str) -> None:
    page = open_at(visit, course_file, "slope/1", width=width, height=height, scheme=scheme)
    for name, (place, act) in STATES.items():
        page.goto("about:blank")
        page.goto(f"{course_file.as_uri()}#{place}")
        assert_at(page, place)
        act(page)
        assert not wrong(page), name
    if width < 1000:
        page.click("[data-do='menu']")
        assert not wrong(page), "menu"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (360, 740)])
def test_axe_finds_nothing_in_the_workshop(visit: Visit, tmp_path: Path, width: int, height: int, scheme: str) -> None:
    file = tmp_path / "workshop.html"
    file.write_text(site.workshop({"course": "index.html"}), encoding="utf-8")
    page = visit(file.as_uri(), width=width, height=height, scheme=scheme)
    assert not wrong(page), "start"
    page.click("[data-do='hint']")
    page.fill(".cm-content", "x = 1")
    page.click("[data-do='check']")
    page.locator(".findings .verdict").wait_for()
    assert not wrong(page), "no Python in a file"
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_axe_finds_nothing_with_forced_colours(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "slope/4", forced_colors="active")
    assert not wrong(page) and len(CHAPTERS) == 12


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_at_the_ends_and_in_a_shared_network(visit: Visit, course_file: Path, scheme: str) -> None:
    from test_course_story import everything, open_with

    for place in ("slope/end", "attention/end", "network/15"):
        page = open_with(visit, course_file, place, everything(), scheme=scheme)
        assert not wrong(page), place
    page.click("[data-do='own-step']")
    page.click("[data-do='own-share']")
    page.locator(".link-field").wait_for()
    shared = visit(page.input_value(".link-field"), scheme=scheme)
    shared.locator(".shared-network").wait_for()
    assert shared.locator("[data-chapter]").count() == 12
    assert not wrong(shared), "shared"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_german_course(visit: Visit, tmp_path: Path, scheme: str) -> None:
    file = tmp_path / "course.de.html"
    file.write_text(site.courses({})["course.de.html"], encoding="utf-8")
    page = open_at(visit, file, "slope/1", scheme=scheme)
    assert not wrong(page)
    page.goto("about:blank")
    page.goto(f"{file.as_uri()}#order/2")
    assert_at(page, "order/2")
    page.click("[data-pick='L']")
    assert not wrong(page)
    narrow = open_at(visit, file, "order/4", scheme=scheme, width=390, height=844)
    tap(narrow, "L")
    assert not wrong(narrow)
