"""The core of the course in Firefox: a prediction, a slider, a lab, the drill, progress that stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from bidi import Firefox
from test_course_browser import course_file
from test_firefox import ENTER, firefox

from micrograd.learn.course import site

__all__ = ["course_file", "firefox"]  # fixtures of other files
pytestmark = pytest.mark.slow  # a second browser; on a busy machine it takes a minute to answer

KEPT = "micrograd.course.micrograd-course"


def type_in(page: Firefox, text: str) -> None:
    for figure in text:
        page.press(figure)
    page.press(ENTER)


def test_the_first_steps_of_the_course(firefox: Firefox, course_file: Path) -> None:
    firefox.open(f"{course_file.as_uri()}#slope/1", 1280, 800)
    assert firefox.text(".text h2") == "A machine with one knob"
    assert firefox.run("document.querySelector('[data-do=next-step]').disabled")
    firefox.click(".ask input")
    type_in(firefox, "6")
    assert "One is still to be added" in firefox.text(".stage .ask .verdict.bad")
    firefox.click(".ask input")
    firefox.run("document.querySelector('.ask input').select()")
    type_in(firefox, "7")
    assert not firefox.run("document.querySelector('[data-do=next-step]').disabled")
    firefox.click("[data-do='next-step']")
    assert firefox.text(".text h2") == "Turn the knob"
    firefox.run("document.querySelector('.leaf input[type=text]').select()")
    firefox.click(".leaf input[type=text]")
    firefox.run("document.querySelector('.leaf input[type=text]').select()")
    type_in(firefox, "5")
    assert firefox.run("document.querySelectorAll('.task.done').length") == 1
    firefox.open(f"{course_file.as_uri()}#order/1", 1280, 800)
    assert firefox.run("document.documentElement.scrollWidth") <= 1280
    firefox.open(f"{course_file.as_uri()}#slope/2", 360, 740)
    assert firefox.text(".text h2") == "Turn the knob"  # what was reached is kept
    assert firefox.run("document.documentElement.scrollWidth") <= 360


def test_code_is_run_and_an_engine_trains(firefox: Firefox, course_file: Path) -> None:
    firefox.open(f"{course_file.as_uri()}#slope/1", 1280, 800)
    known = {
        "version": 1,
        "course": "micrograd-course",
        "solved": {},
        "reached": {"picture-to-code": 99, "network": 99},
        "drills": {},
        "reviews": [],
        "count": 0,
    }
    firefox.open_with(f"{course_file.as_uri()}#picture-to-code/2", KEPT, known)
    assert firefox.text(".text h2") == "Write the product"
    firefox.click("[data-do='check-code']")
    assert "three dots" in firefox.text(".task .verdict.bad")
    firefox.open(f"{course_file.as_uri()}#network/15", 1280, 800)
    firefox.click("[data-do='own-step']")
    assert "step 1 " in firefox.text(".own-training .moon-facts")


def test_a_choice_is_made_in_the_picture_of_a_german_page(firefox: Firefox, tmp_path: Path) -> None:
    file = tmp_path / "course.de.html"
    file.write_text(site.course(language="de"), encoding="utf-8")
    known = {
        "version": 1,
        "course": "micrograd-course",
        "solved": {},
        "reached": {"order": 99},
        "drills": {},
        "reviews": [],
        "count": 0,
    }
    firefox.open(f"{file.as_uri()}#slope/1", 1280, 800)
    assert firefox.text(".text h2") == "Eine Maschine mit einem Knopf"
    firefox.open_with(f"{file.as_uri()}#order/2", KEPT, known)
    assert firefox.text(".text h2") == "Zu früh"
    firefox.click("[data-pick='z']")
    assert "Nur L benutzt z" in firefox.text(".pick-reply .verdict.bad")
    firefox.click("[data-pick='p']")
    assert firefox.run("document.querySelectorAll('.task.done').length") == 1
    firefox.click(".text button.term")
    assert firefox.run("document.querySelectorAll('.term-told').length") == 1
