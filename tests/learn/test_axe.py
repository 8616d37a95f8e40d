"""axe-core finds nothing on the page, in any state, light and dark, wide and narrow.

axe-core is a test asset that is not part of this repository (MPL-2.0, 550 kB): AXE_PATH names its axe.min.js, or
`npm ci` installs the version that package-lock.json pins.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Visit = Callable[..., Any]


def find() -> Path | None:
    if named := os.environ.get("AXE_PATH"):
        return Path(named)
    for folder in Path(__file__).resolve().parents:
        if (found := folder / "node_modules" / "axe-core" / "axe.min.js").exists():
            return found
    return None


AXE = find()
pytestmark = pytest.mark.skipif(AXE is None, reason="axe-core is not installed (npm ci, or AXE_PATH)")


def wrong(page: Any) -> list[str]:
    """What axe finds, one line each."""
    assert AXE is not None
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run(document, { resultTypes: ['violations'] })).violations")
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:200]}" for one in found for node in one["nodes"]
    ]


def ask(page: Any) -> None:
    page.click("[data-do='next']")
    page.click(".ask [data-sign='negative']")


def answered(page: Any) -> None:
    page.click("[data-do='ask'] >> nth=0")
    page.fill(".ask input", "1")
    page.keyboard.press("Enter")


def nudged(page: Any) -> None:
    page.click("[data-do='nudge'] >> nth=0")


STATES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "start": ("graph=product", lambda page: None),
    "forward": ("graph=neuron&step=8", lambda page: None),
    "backward": ("graph=network&step=40", lambda page: None),
    "end": ("graph=softmax&step=26&tab=code", lambda page: None),
    "nudge": ("graph=neuron&tab=leaves", nudged),
    "order": ("graph=order&order=preorder&tab=order", lambda page: None),
    "order end": ("graph=diamond&order=postorder&tab=order&step=5", lambda page: None),
    "bug": ("graph=square&bug=assign&tab=bugs", lambda page: None),
    "silent bug": ("graph=product&tab=bugs", lambda page: page.check("input[value='tanh']")),
    "predict": ("graph=product&step=7&predict=1", ask),
    "closed lab": ("graph=product&step=7&predict=1&tab=order", lambda page: None),
    "lesson": ("graph=diamond&tab=lesson", answered),
    "help": ("graph=product", lambda page: page.keyboard.press("?")),
}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width,height", [(1280, 800), (360, 740)])
def test_axe_finds_nothing(visit: Visit, lesson_file: Path, width: int, height: int, scheme: str) -> None:
    for name, (state, act) in STATES.items():
        page = visit(
            f"{lesson_file.as_uri()}#{state}", width=width, height=height, scheme=scheme, reduced_motion="reduce"
        )
        if width < 900 and "tab=" in state:
            assert page.locator("[role='tab'][aria-selected='true']").count() == 1
        act(page)
        assert not wrong(page), name
        page.context.close()


@pytest.mark.slow
def test_axe_finds_nothing_with_boxes_and_with_forced_colours(visit: Visit, tmp_path: Path, lesson_file: Path) -> None:
    from micrograd import Value, nn
    from micrograd.learn import explore

    model = nn.MLP(3, [4, 4, 1])
    file = Path(explore(model([Value(1.0), Value(2.0), Value(-1.0)])).save(tmp_path / "mlp.html"))
    page = visit(f"{file.as_uri()}#step=30", reduced_motion="reduce")
    assert page.locator(".group.closed").count() >= 3
    assert not wrong(page)
    page.locator(".group.closed").first.click()
    assert not wrong(page)
    forced = visit(f"{lesson_file.as_uri()}#graph=product&step=9", forced_colors="active", reduced_motion="reduce")
    assert not wrong(forced)
    stroke, canvas = forced.evaluate(
        """() => [getComputedStyle(document.querySelector('.edge .mg-edge')).stroke,
        getComputedStyle(document.querySelector('.node .box')).fill]"""
    )
    assert stroke != canvas
