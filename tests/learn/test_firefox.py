"""The core of the page in Firefox: steps, labs, predictions, links, a narrow screen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from bidi import Firefox

from micrograd.learn import orders
from micrograd.learn.lesson import PRESETS, judge

pytestmark = pytest.mark.slow  # a second browser; on a busy machine it takes a minute to answer

FIREFOX = os.environ.get("FIREFOX_PATH") or shutil.which("firefox-esr") or shutil.which("firefox")
RIGHT, END, ENTER = "\ue014", "\ue010", "\ue007"


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    pytest.importorskip("websockets", reason="websockets is not installed: the page was not opened in Firefox")
    if FIREFOX is None:
        pytest.skip("no firefox on this machine (set FIREFOX_PATH): the page was not opened in it")
    one = Firefox(FIREFOX, tmp_path_factory.mktemp("profile"))
    yield one
    one.close()
    assert not one.troubles, one.troubles


def test_every_preset_steps_as_python_says(firefox: Firefox, lesson_file: Path) -> None:
    for key, preset in PRESETS.items():
        firefox.open(f"{lesson_file.as_uri()}#graph={key}", 1280, 800)
        line = preset.timeline()
        for frame in list(line)[:4]:
            firefox.press(RIGHT)
            assert firefox.text(".sentence") == frame.sentence
        firefox.press(END)
        assert firefox.text(".sentence") == line[-1].sentence and firefox.text(".spoken") == line[-1].spoken
        assert firefox.text(".count") == f"{len(line)} / {len(line)}"


def test_the_sentence_is_on_the_screen_and_edges_point_backward(firefox: Firefox, lesson_file: Path) -> None:
    for width, height in ((1280, 800), (360, 740)):
        firefox.open(f"{lesson_file.as_uri()}#graph=neuron&step=14", width, height)
        box = firefox.run("document.querySelector('.said').getBoundingClientRect().toJSON()")
        graph = firefox.run("document.querySelector('.views').getBoundingClientRect().toJSON()")
        assert graph["height"] > 150 and graph["bottom"] <= box["top"] + 1 and box["bottom"] <= height
        assert firefox.run("document.documentElement.scrollWidth") <= width
        assert firefox.run("getComputedStyle(document.querySelector('.edge .back')).display") != "none"
        assert firefox.text(".landing[visibility=visible] text").startswith("+= ")


def test_a_lab_stops_at_the_first_difference(firefox: Firefox, lesson_file: Path) -> None:
    firefox.open(f"{lesson_file.as_uri()}#graph=order&tab=order", 1280, 800)
    firefox.click("[data-order='preorder']")
    run = orders.run(PRESETS["order"].timeline(), "preorder")
    assert firefox.run("document.querySelectorAll('.view').length") == 2
    assert firefox.text(".count") == f"{run.first + 1} / {len(run.pushes)}" and run.reason in firefox.text(".sentence")
    firefox.open(f"{lesson_file.as_uri()}#graph=square&bug=assign&tab=bugs", 1280, 800)
    assert "a held 3 already" in firefox.text(".sentence")


def test_a_prediction_is_judged(firefox: Firefox, lesson_file: Path) -> None:
    firefox.open(f"{lesson_file.as_uri()}#graph=product&step=6&predict=1", 1280, 800)
    line = PRESETS["product"].timeline()
    firefox.press(END)
    firefox.click(".ask [data-sign='positive']")
    for figure in "1":
        firefox.press(figure)
    firefox.press(ENTER)
    assert judge(line, line[6], 1.0).text in firefox.text(".ask .verdict.bad")
    for figure in "10":  # what was typed before is selected
        firefox.press(figure)
    firefox.press(ENTER)
    assert firefox.text(".sentence") == line[6].sentence


def test_back_comes_back(firefox: Firefox, lesson_file: Path) -> None:
    firefox.open(f"{lesson_file.as_uri()}#graph=product", 1280, 800)
    firefox.click("[data-tab='order']")
    firefox.click("[data-order='naive']")
    assert firefox.run("document.querySelectorAll('.view').length") == 2
    firefox.run("new Promise((done) => { addEventListener('popstate', () => setTimeout(done, 50)); history.back(); })")
    assert firefox.run("document.querySelectorAll('.view').length") == 1
    assert firefox.run("document.querySelector('[data-tab=order]').getAttribute('aria-selected')") == "true"
