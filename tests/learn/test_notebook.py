"""In a notebook: a real kernel draws and explores; the frame works in a browser; the widget is driven from Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from widget_host import widget_page

from micrograd.learn import explore, page
from micrograd.learn.lesson import PRESETS

Visit = Callable[..., Any]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_real_kernel_draws_and_explores(visit: Visit, tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [
        "from micrograd import Value\nfrom micrograd.learn import draw_dot, explore",
        "a, b = Value(2.0), Value(-3.0)\nloss = (a * b + 10).tanh()",
        "draw_dot(loss)",
        "loss.backward()\nexplore(loss)",
        "explore('(a+b)*c', a=2, b=-3, c=10).show()",
        "w = explore('(a+b)*c', a=2, b=-3, c=10).widget()\nw.step = 4\nprint(w.step, w.values)\nw",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [cell["outputs"] for cell in notebook.cells[1:]]
    assert outputs[1][0]["data"]["image/svg+xml"].startswith("<svg")
    shown = outputs[2][0]["data"]
    assert set(shown) == {"text/html", "image/svg+xml", "text/plain"}
    assert "data" in outputs[3][0] and "<iframe" in outputs[3][0]["data"]["text/html"]
    assert outputs[4][0]["text"] == "4 {'a': 2.0, 'b': -3.0, 'c': 10.0}\n"
    assert "application/vnd.jupyter.widget-view+json" in outputs[4][1]["data"]

    file = tmp_path / "cell.html"
    file.write_text(f"<!doctype html><meta charset='utf-8'>{shown['text/html']}", encoding="utf-8")
    inside = visit(file.as_uri()).frame_locator("iframe")
    inside.locator("[aria-label='to the end']").click()
    assert inside.locator(".sentence").inner_text().startswith("b.grad += ")
    labels = [el.get_attribute("aria-label") for el in inside.locator(".node").all()]
    assert any(label.startswith("loss, made by tanh") for label in labels)  # named after the learner's variable


@pytest.fixture
def widget(visit: Visit, tmp_path: Path) -> Any:
    """The module as anywidget runs it: from one blob, with a model that syncs."""
    lesson = page._data(explore("(a+b)*c", a=2, b=-3, c=10).lesson)
    state = f'lesson: {lesson}, preset: "own", step: 2, values: {{a: 2, b: -3, c: 10}}, answers: [], sentence: ""'
    return widget_page(visit, tmp_path, page.MODULES, ("page",), state, "lesson")


def test_the_widget_starts_where_python_put_it(widget: Any) -> None:
    line = explore("(a+b)*c", a=2, b=-3, c=10)
    assert widget.inner_text(".count") == "2 / 10"
    assert widget.locator("select[aria-label='graph'] option").first.inner_text() == line.title


def test_python_reads_what_the_learner_does(widget: Any) -> None:
    widget.click("[aria-label='step forward']")
    assert widget.evaluate("model.get('step')") == 3
    assert widget.evaluate("sent.at(-1).sentence") == "v1 = a + b → 2 + (−3) = −1"
    widget.locator("[aria-label='value of c']").fill("4")
    assert widget.evaluate("sent.at(-1).values") == {"a": 2, "b": -3, "c": 4}
    widget.select_option("select[aria-label='graph']", "square")
    assert widget.evaluate("[sent.at(-1).preset, sent.at(-1).step]") == ["square", 0]
    widget.check("[data-do='predict']")
    widget.click("[data-do='to_backward']")
    widget.click("[data-do='next']")
    widget.click(".ask [data-sign='negative']")
    answer = widget.evaluate("sent.at(-1).answers")[0]
    assert (answer["question"], answer["answer"], answer["right"]) == ("a.grad from b", -1, False)


def test_python_drives_the_page(widget: Any) -> None:
    widget.evaluate("python('step', 10)")
    assert widget.inner_text(".count") == "10 / 10"
    widget.evaluate("python('values', {a: 2, b: -3, c: 5})")
    assert "data −5" in widget.locator(".node").last.get_attribute("aria-label")
    widget.evaluate("python('preset', 'neuron')")
    assert widget.input_value("select[aria-label='graph']") == "neuron"
    assert widget.evaluate("model.get('values')") == PRESETS["neuron"].values
    widget.evaluate("python('step', 9999)")
    assert widget.evaluate("model.get('step')") == len(PRESETS["neuron"].timeline())


def test_a_closed_widget_listens_no_more(widget: Any) -> None:
    assert widget.evaluate("count()") > 0
    widget.evaluate("stop()")
    assert widget.evaluate("count()") == 0


def test_the_widget_in_python() -> None:
    pytest.importorskip("anywidget")
    one = explore("(a+b)*c", a=2, b=-3, c=10).widget()
    assert one.values == {"a": 2.0, "b": -3.0, "c": 10.0} and one.step == 0 and one.preset == "own"
    one.step = 3
    assert one.get_state()["step"] == 3
    assert "export default{render}" in one.get_state()["_esm"]


def test_without_anywidget_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from micrograd.learn import widget as module

    module._kind.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    with pytest.raises(ImportError, match=r"\[notebook\]"):
        explore("a*b", a=1, b=2).widget()
    module._kind.cache_clear()
