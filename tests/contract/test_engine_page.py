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


def test_the_front_page_s_picture_is_what_draw_dot_gives_for_its_example(twin):
    scope = {}
    exec(BLOCK.search((ROOT / "README.md").read_text())[1], scope)
    picture = (ROOT / "docs" / "images" / "graph.svg").read_text()
    for name in ("a", "b", "c", "loss"):
        for number in (scope[name].data, scope[name].grad):
            assert f"{number:.4f}".rstrip("0").rstrip(".").replace("-", "−") in picture.replace("-", "−"), (
                name,
                number,
            )
