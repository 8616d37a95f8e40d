"""JupyterLab's own front-end in a browser: a picture is never wider than its cell, and the page works inside it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
CELLS = [
    "from micrograd import Value, nn\nfrom micrograd.learn import draw_dot, explore\n"
    "model, x = nn.MLP(3, [4, 4, 1]), [Value(1.0), Value(-2.0), Value(0.5)]\nloss = (model(x) - 1.0) ** 2\nloss.backward()",
    "draw_dot(loss)",
    "a, b = Value(2.0), Value(-3.0)\nsmall = ((a * b + 10).tanh() * a + b).tanh() * 2 + a\nsmall.backward()\nsmall",
    "explore(loss)",
    "from micrograd import data, losses, optim, train\nfrom micrograd.learn import watch\n"
    "X, y = data.moons(30)\nnet = nn.MLP(2, [5, 2], rng=0)\noptimizer = optim.SGD(net.parameters(), lr=0.5)\n"
    "theatre = watch(net, (X, y), losses.cross_entropy, optimizer, scenes=False)\n"
    "history = train.fit(net, (X, y), losses.cross_entropy, optimizer, 40, callbacks=[theatre], quiet=True)",
    "theatre",
    "theatre.live.step = 7",
    "print('Python reads', theatre.live.step, len(theatre.live.parameters))",
]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """A JupyterLab on the loopback interface, with one notebook."""
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed: nothing was shown in it")
    pytest.importorskip("ipykernel")
    cells = [
        {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None} for text in CELLS
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "look.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = tmp_path / "home"
    home.mkdir()
    command = [sys.executable, "-m", "jupyterlab", "--allow-root", "--no-browser", f"--port={port}", "--ip=127.0.0.1",
               "--IdentityProvider.token=", f"--notebook-dir={tmp_path}", "--LabApp.news_url=None"]  # fmt: skip
    server = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env={**os.environ, "HOME": str(home)}
    )
    try:
        assert server.stderr is not None
        for line in server.stderr:
            if re.search(rf"http://127.0.0.1:{port}/lab", line):
                break
        yield f"http://127.0.0.1:{port}/lab/tree/look.ipynb?reset"
    finally:
        server.terminate()
        server.communicate(timeout=60)


def test_pictures_and_the_page_in_a_notebook(lab: str, browser: Any, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(lab)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell >> nth=3")
    page.wait_for_selector("text=/ipykernel.*Idle/")
    page.click("text=Run >> nth=0")
    page.click("text=Run All Cells >> nth=0")
    page.wait_for_selector("text=/Python reads \\d+ 27/")
    for k in (1, 2):
        cell = page.locator(".jp-CodeCell").nth(k)
        cell.scroll_into_view_if_needed()
        image = cell.locator(".jp-OutputArea-output img, .jp-OutputArea-output svg.mg-drawing").first
        image.wait_for()
        area, shown = cell.locator(".jp-OutputArea-output").last.bounding_box(), image.bounding_box()
        assert (
            100 < shown["width"] <= area["width"] + 1 and shown["x"] + shown["width"] <= area["x"] + area["width"] + 1
        )
    explored = page.locator(".jp-CodeCell").nth(3)
    explored.scroll_into_view_if_needed()
    frame, inside = explored.locator("iframe"), explored.frame_locator("iframe")
    inside.locator("[data-do='to_end']").click()
    assert ".grad += " in inside.locator(".sentence").inner_text()
    box, area = frame.bounding_box(), page.locator(".jp-CodeCell").nth(3).bounding_box()
    assert box["x"] + box["width"] <= area["x"] + area["width"] + 1
    screenshots = Path(__file__).parents[2] / "screenshots"
    screenshots.mkdir(exist_ok=True)
    page.screenshot(path=screenshots / "jupyterlab.png")
    look_at_the_theatre(page, screenshots)
    page.keyboard.press("Control+s")
    page.wait_for_selector(".jp-mod-current .jp-TabBar-closeIcon, .lm-TabBar-tab:not(.jp-mod-dirty)")
    context.close()
    look_at_the_export(browser, tmp_path)


def look_at_the_theatre(page: Any, screenshots: Path) -> None:
    """The live widget has the run of the cell, Python drives it and reads it; without a widget there is the page."""
    cell = page.locator(".jp-CodeCell").nth(4)
    cell.scroll_into_view_if_needed()
    count = cell.locator(".theatre .conductor .count")
    count.wait_for()
    page.wait_for_timeout(500)
    assert count.inner_text() == "7 / 40"  # where the cell below put it
    assert cell.locator(".theatre [data-do='live']").is_hidden()
    page.screenshot(path=screenshots / "jupyterlab-watch.png")
    cell.locator("[data-do='step']").click()
    assert count.inner_text() == "8 / 40"
    last = page.locator(".jp-CodeCell").nth(7)
    last.locator(".jp-InputArea-editor").click()
    page.keyboard.press("Shift+Enter")
    last.locator("text=Python reads 8 27").wait_for()
    shown = page.locator(".jp-CodeCell").nth(5)
    shown.scroll_into_view_if_needed()
    inside = shown.frame_locator("iframe")
    assert inside.locator(".conductor .count").inner_text() == "40 / 40"
    box, area = shown.locator("iframe").bounding_box(), shown.bounding_box()
    assert box["x"] + box["width"] <= area["x"] + area["width"] + 1


def look_at_the_export(browser: Any, folder: Path) -> None:
    """The notebook as HTML: pictures and pages work without a kernel and without a network."""
    pytest.importorskip("nbconvert")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "look.ipynb"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    context = browser.new_context(viewport={"width": 1100, "height": 900}, offline=True)
    page = context.new_page()
    page.goto((folder / "look.html").as_uri())
    cells = page.locator(".jp-CodeCell")
    assert cells.nth(1).locator("svg, img").first.is_visible()
    explored, watched = cells.nth(3).frame_locator("iframe"), cells.nth(5).frame_locator("iframe")
    cells.nth(3).scroll_into_view_if_needed()
    explored.locator("[data-do='to_end']").click()
    assert ".grad += " in explored.locator(".sentence").inner_text()
    cells.nth(5).scroll_into_view_if_needed()
    watched.locator("[data-do='back']").click()
    assert watched.locator(".conductor .count").inner_text() == "39 / 40"
    context.close()
