"""The theatre as a widget of a notebook: Python reads its state, drives it and sends it the steps of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from theatre_runs import make, run
from widget_host import widget_page

from micrograd import Value, losses
from micrograd.learn import audience, page, watch
from micrograd.learn.record import Record

Visit = Callable[..., Any]


@pytest.fixture
def widget(visit: Visit, tmp_path: Path) -> Any:
    """The widget of a run that the page trains itself."""
    return run_page(visit, tmp_path, "step: 2, fed: false")


def run_page(visit: Visit, tmp_path: Path, state: str) -> Any:
    """The widget of a run, with these fields of its state."""
    model, points, optimizer = make(12)
    play = page._data(watch(model, points, losses.cross_entropy, optimizer, scenes=False, open=False).play)
    fields = f'play: {play}, scene: "own", steps: 0, {state}, rate: 0.5, zeroes: true, playing: false, points: [], '
    fields += "loss: null, accuracy: 0, parameters: []"
    return widget_page(visit, tmp_path, page.WATCH, ("page", "theatre"), fields, "play")


def test_python_reads_and_drives_the_widget(widget: Any) -> None:
    assert widget.inner_text(".conductor .count") == "2 / 2"  # where Python put it
    widget.click("[data-do='step']")
    widget.wait_for_function("sent.at(-1)?.step === 3")
    state = widget.evaluate("sent.at(-1)")
    assert (
        state["steps"] == 3 and len(state["parameters"]) == 32 and 0 < state["loss"] < 5 and len(state["points"]) == 12
    )
    widget.evaluate("python('step', 10)")
    assert widget.inner_text(".conductor .count") == "10 / 10"
    widget.evaluate("python('rate', 0.01)")
    assert widget.inner_text(".rate output") == "0.01"
    widget.evaluate("python('zeroes', false)")
    assert not widget.is_checked("[data-do='zero']")
    widget.evaluate("python('points', [[[0, 0], 0], [[1, 1], 1]])")
    assert widget.locator(".dot").count() == 2
    widget.evaluate("python('playing', true)")
    widget.wait_for_function("model.get('step') >= 12")
    widget.evaluate("python('playing', false)")
    widget.wait_for_function("model.get('playing') === false")
    widget.evaluate("stop()")
    assert widget.evaluate("count()") == 0 and widget.locator(".theatre").count() == 0


def test_the_widget_takes_the_steps_that_python_sends(visit: Visit, tmp_path: Path) -> None:
    widget = run_page(visit, tmp_path, "step: 0, fed: true")
    assert widget.evaluate("asked") == {"kind": "ready"} and widget.locator("[data-do='live']").is_visible()
    _, theatre, _ = run(5)
    widget.evaluate("(x) => message(x)", {"kind": "steps", **theatre.record.whole(10**6)})
    assert widget.inner_text(".conductor .count") == "5 / 5"
    widget.wait_for_timeout(50)
    assert widget.evaluate("sent.length") == 0  # Python knows what it trains
    widget.evaluate("message({ kind: 'ended' })")
    assert widget.inner_text(".conductor .count") == "5 / 5" and widget.locator("[data-do='live']").is_hidden()
    widget.wait_for_function("sent.at(-1)?.steps === 5")


def test_a_view_that_opens_late_goes_where_python_put_it(visit: Visit, tmp_path: Path) -> None:
    widget = run_page(visit, tmp_path, "step: 3, fed: true")
    _, theatre, _ = run(5)
    widget.evaluate("(x) => message(x)", {"kind": "steps", **theatre.record.whole(10**6)})
    widget.evaluate("message({ kind: 'ended' })")
    assert widget.inner_text(".conductor .count") == "3 / 5"
    early = run_page(visit, tmp_path, "step: 0, fed: true")
    early.evaluate("python('step', 4)")  # before its steps have come
    early.evaluate("(x) => message(x)", {"kind": "steps", **theatre.record.whole(10**6)})
    early.evaluate("message({ kind: 'ended' })")
    assert early.inner_text(".conductor .count") == "4 / 5"


def test_the_widget_in_python() -> None:
    pytest.importorskip("anywidget")
    _, theatre, _ = run(5)
    one = theatre.widget()
    assert one.step == one.steps == 5 and one.rate == 0.5 and len(one.points) == 30 and one.scene == "own"
    one.step = 2
    assert one.get_state()["step"] == 2 and "export default{render}" in one.get_state()["_esm"]


class Paper:
    """A widget that writes down what it is sent."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.step = self.steps = 0

    def send(self, message: Any) -> None:
        self.messages.append(message)


def test_a_widget_is_sent_ten_messages_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("micrograd.learn.audience.time.monotonic", lambda: now[0])
    p = Value(0.0)
    one = audience.Widget.__new__(audience.Widget)
    one.record, one.widget, one.seen, one.sent, one.last = Record([p]), Paper(), 0, {0}, -1.0
    one.running = True
    rows: list[dict[str, float]] = []
    for k in range(1000):
        now[0] += 0.001
        rows.append({"step": k + 1, "loss": 1.0})
        one.record.append(rows)
        one.told()
    assert 8 <= len(one.widget.messages) <= 11
    one.record.end()
    one.told()
    assert one.widget.messages[-1] == {"kind": "ended"} and one.widget.step == 1000
    assert sum(len(message.get("loss", ())) for message in one.widget.messages) == 1000
    assert {k for message in one.widget.messages[:-1] for k, _ in message["parameters"]} == set(range(1, 1001))
    one.widget.messages.clear()
    one.widget.step = 7
    one.asked(None, {"kind": "ready"}, [])  # a view that opened late
    assert sum(len(message.get("loss", ())) for message in one.widget.messages) == 1000
    assert one.widget.step == 7  # where somebody has put it since
    one.asked(None, "something else", [])
