"""docs/training.md: each block of code runs, and prints what the page says it prints."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from blocks import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "training.md"


def blocks(page: str) -> list[tuple[str, str]]:
    """(code, what it prints) of each block."""
    found = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page, re.S)
    return [(code, printed) for code, printed in found]


def test_the_page_runs_from_top_to_bottom(tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib", reason="the page draws pictures")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for number, (code, printed) in enumerate(blocks(PAGE.read_text(encoding="utf-8")), 1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            run(code, "training.md", names)
        assert out.getvalue() == printed, f"block {number} of the page:\n{code}"
    assert number > 10
    assert (tmp_path / "moons.png").stat().st_size > 10_000
    import matplotlib.pyplot as plt

    plt.close("all")
