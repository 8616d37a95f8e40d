"""The code of docs/watch.md runs, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from micrograd.learn import record
from micrograd.learn.live import SECONDS
from micrograd.learn.screen import FRAMES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "watch.md").read_text(encoding="utf-8")


def test_the_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("anywidget")
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        exec(block, space)
    assert (tmp_path / "run.html").stat().st_size > 300_000 and (tmp_path / "scenes.html").exists()
    assert "step 5 of 5" in capsys.readouterr().out


def test_figures_and_files_are_those_of_the_package() -> None:
    assert record.ROOM == 8_000_000 and "8 million numbers" in TEXT
    assert SECONDS == 10.0 and "after ten seconds" in TEXT
    assert FRAMES == 12 and "about twelve\ntimes a second" in TEXT
    assert (ROOT / "benchmarks" / "theatre.py").exists() and (ROOT / "docs" / "images" / "watch.png").exists()
