"""The code of docs/explore.md runs, and its figures are those of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from micrograd.learn import explore, orders, page, texts
from micrograd.learn.explorer import MAX_NODES
from micrograd.learn.lesson import PRESETS

TEXT = (Path(__file__).parents[2] / "docs" / "explore.md").read_text(encoding="utf-8")


def test_the_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda url: True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    space: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        exec(block, space)
    assert (tmp_path / "lesson.html").stat().st_size == pytest.approx(180_000, rel=0.05)
    assert f"# {explore(space['L'])!r}".split(":")[0] in TEXT  # type: ignore[arg-type]


def test_the_orders_give_what_the_table_says() -> None:
    line = PRESETS["order"].timeline()
    for rule in orders.ORDERS:
        grad = orders.run(line, rule).grads[0]
        assert f"| {texts.get(f'orders.{rule}')} | {grad:g} |" in TEXT


def test_every_file_and_limit_is_named_as_it_is() -> None:
    assert {f"{name}.js" for name in page.MODULES} == set(re.findall(r"`(\w+\.js)`", TEXT))
    assert f"up to {MAX_NODES:,} nodes" in TEXT and f"up to {page.MAX_FLAT} nodes" in TEXT
