"""docs/engine.md runs from top to bottom, on both twins, and the front page's example gives its numbers."""

from __future__ import annotations

import re

from twins import ROOT

BLOCK = re.compile(r"```python\n(.*?)```", re.S)


def test_the_page_runs_from_top_to_bottom(twin):
    blocks = BLOCK.findall((ROOT / "docs" / "engine.md").read_text())
    assert len(blocks) > 8
    scope = {}
    for block in blocks:
        exec(compile(block, "docs/engine.md", "exec"), scope)
    assert scope["Value"] is twin.Value


def test_the_front_page_s_example_gives_the_numbers_beside_it(twin):
    text = (ROOT / "README.md").read_text()
    scope = {}
    exec(BLOCK.search(text)[1], scope)
    drawing = re.search(r"```\n(a  data.*?)```", text, re.S)[1]
    for name in ("a", "b", "c", "loss"):
        v = scope[name]
        data, grad = re.escape(f"{v.data:.4f}"), re.escape(f"{v.grad:.4f}")
        assert re.search(rf"{name}  data\s+{data}.*?\n.*?grad\s+{grad}", drawing)


def test_the_count_of_ops_is_right():
    from micrograd.ops import OPS

    for page in ("README.md", "CHANGELOG.md"):
        assert f"{len(OPS)} ops" in (ROOT / page).read_text()
