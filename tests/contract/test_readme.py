"""The front page: its Python runs, one block after the other."""

import re
from pathlib import Path

import pytest

from blocks import run

README = Path(__file__).resolve().parents[2] / "README.md"


def test_every_block_of_the_front_page_runs(tmp_path, monkeypatch):
    pytest.importorskip("llvmlite", reason="the front page compiles, which needs llvmlite")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 4
    for block in blocks:
        run(block, "README.md", names)
    assert (round(names["a"].grad, 4), round(names["b"].grad, 4), round(names["c"].grad, 4)) == (
        -2.3593,
        1.5729,
        0.7864,
    )
    assert names["history"]["accuracy"][-1] == 1.0
    assert names["L"].data == pytest.approx(0.0, abs=0.02)


def test_files_that_the_front_page_names_are_there():
    for link in re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8")):
        if not link.startswith("http"):
            assert (README.parent / link).exists(), link
