"""Runs that leave the numbers, on the page of the theatre."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from test_theatre import STATE, expose

from learn.in_node import NODE, run_in_node
from micrograd import data, losses, nn
from micrograd.learn import watch

Visit = Callable[..., Any]


def test_gradients_that_are_no_numbers_are_told_and_marked(visit: Visit, tmp_path: Path) -> None:
    model = nn.MLP(2, [4, 1], rng=0)
    file = watch(model, data.moons(20, seed=0), losses.mse, lr=1e120, scenes=False).save(tmp_path / "x.html")
    page = visit(Path(file).as_uri(), reduced_motion="reduce")
    page.click("[data-do='step']")  # the parameters are finite still, the square of an output is not
    page.click("[data-do='backward']")
    told = page.inner_text(".conductor .words.bad")
    assert "gradients are not finite numbers" in told and "smaller learning rate" in told
    assert page.locator(".wire.lost").count() and "not a number" in page.inner_text(".legend-line")


def test_a_run_that_leaves_the_numbers_says_so(visit: Visit, tmp_path: Path) -> None:
    file = tmp_path / "wild.html"
    model = nn.MLP(2, [4, 1], rng=0)
    file.write_text(expose(watch(model, data.moons(20), losses.mse, lr=50.0, scenes=False).html), encoding="utf-8")
    one = visit(file.as_uri())
    one.select_option("[data-do='speed']", "1000")
    one.click("[data-do='play']")
    one.wait_for_selector(".conductor .sentence .bad")
    assert one.locator("[data-do='step']").is_disabled() and not one.evaluate(STATE)["playing"]
    one.click("[data-do='reset']")
    assert one.locator("[data-do='step']").is_enabled()


def test_the_chart_of_the_loss_shows_what_comes_after_a_large_first_loss() -> None:
    if NODE is None:
        pytest.skip("node is not installed: the page's code was not run")
    script = (
        "return data.map((losses) => { const s = curve.lossScale(losses); return [s.marks, losses.map(s.share)]; });"
    )
    falling, flat, below, none = run_in_node(script, [[100, 1, 0.1, 0.01], [0.5, 0.5], [2, -1, 0.5], []], "curve.js")
    marks, shares = falling
    assert marks[0] == pytest.approx(0.01) and marks[-1] == 100 and all(a < b for a, b in pairwise(marks))
    assert shares[0] > 0.95 and shares[3] == 0.0 and 0.4 < shares[1] < 0.6 and shares[1] - shares[2] > 0.2
    assert 0 < flat[1][0] == flat[1][1] <= 1
    assert below == [[-1, 2], [1, 0, 0.5]] and none[1] == []
