"""The core of the theatre in Firefox: the three buttons, the way back, a point on the stage, a scene with its question."""

from __future__ import annotations

from pathlib import Path

import pytest
from bidi import Firefox
from test_firefox import END, ENTER, RIGHT, firefox

from micrograd import data, losses, nn, optim, train
from micrograd.learn import texts, watch

pytestmark = pytest.mark.slow
__all__ = ["firefox"]  # the fixture


def test_the_run_of_python_goes_on_in_firefox(firefox: Firefox, tmp_path: Path) -> None:
    X, y = data.moons(30, seed=0)
    model = nn.MLP(2, [4, 2], activation="tanh", rng=0)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    theatre = watch(model, (X, y), losses.cross_entropy, optimizer, scenes=False, open=False)
    history = train.fit(model, (X, y), losses.cross_entropy, optimizer, 10, callbacks=[theatre], quiet=True)
    firefox.open(Path(theatre.save(tmp_path / "run.html")).as_uri(), 1280, 860)
    assert firefox.text(".conductor .count") == "10 / 10"
    firefox.press(RIGHT)
    assert firefox.text(".conductor .count") == "11 / 11"
    assert float(firefox.text(".fact .loss")) < history.loss[-1]
    firefox.run("(document.querySelector('[data-do=rewind]').value = 3, "
                "document.querySelector('[data-do=rewind]').dispatchEvent(new Event('input')))")  # fmt: skip
    assert firefox.text(".conductor .count") == "3 / 11"
    firefox.click("[data-do='backward']")
    assert "Still nothing has moved" in firefox.text(".conductor .sentence")
    firefox.run("document.querySelector('.dot[data-point=\"2\"]').focus()")
    firefox.press(ENTER)
    assert firefox.run("document.querySelector('dialog.opened').open")
    firefox.press(END)
    assert ".grad += " in firefox.text("dialog.opened .sentence")


def test_a_scene_with_its_question_on_a_narrow_screen(firefox: Firefox, tmp_path: Path) -> None:
    firefox.open(Path(watch().save(tmp_path / "scenes.html")).as_uri(), 360, 740)
    assert firefox.run("document.documentElement.scrollWidth") <= 360
    firefox.run("(document.querySelector('.bill select').value = 'dead', "
                "document.querySelector('.bill select').dispatchEvent(new Event('change')))")  # fmt: skip
    firefox.click("[data-do='backward']")
    assert firefox.run("document.querySelectorAll('.face.dead').length") == 8
    firefox.click(".riddle input[value='1']")
    assert texts.get("theatre.scenes.dead")["replies"][1] in firefox.text(".riddle .verdict")
    box = firefox.run("document.querySelector('.conductor [data-do=step]').getBoundingClientRect().toJSON()")
    assert box["top"] >= 0 and box["bottom"] <= 740 and firefox.run("document.documentElement.scrollWidth") <= 360
