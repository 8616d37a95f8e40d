"""Training steps a second on the page of `watch`, drawn and undrawn, beside the engine: `python benchmarks/theatre.py`.

The run is that of `micrograd demo`: 100 points of moons, nn.MLP(2, [16, 16, 1]), max-margin with weight decay. It needs
playwright and a Chromium (CHROMIUM_PATH, or `chromium` on the path). The target is 60 drawn steps a second.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from micrograd import data, losses, nn, optim
from micrograd.engine import NATIVE
from micrograd.learn import watch
from micrograd.train import fit

TARGET = 60.0
HOOK = "const theatre=createTheatre("
PLAY = """async (seconds) => {
  const { training } = theatre;
  theatre.show({ speed: 100000, playing: true });
  await new Promise((done) => setTimeout(done, 1000));
  const from = training.at, began = performance.now();
  await new Promise((done) => setTimeout(done, 1000 * seconds));
  const drawn = (1000 * (training.at - from)) / (performance.now() - began);
  theatre.pause();
  const start = performance.now(), first = training.at;
  while (performance.now() - start < 1000 * seconds) training.next();
  return [drawn, (1000 * (training.at - first)) / (performance.now() - start)];
}"""


def moons() -> tuple[Any, Any, Any, Any]:
    """The demo's model, data, optimizer and penalty."""
    X, y = data.moons(100, noise=0.1, seed=0)
    model = nn.MLP(2, [16, 16, 1], rng=0)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    return model, (X, [2 * c - 1 for c in y]), optimizer, lambda: losses.l2(model.parameters(), 1e-4)


def engine(steps: int = 100) -> float:
    """Steps a second of `fit` on the engine."""
    model, points, optimizer, penalty = moons()
    began = perf_counter()
    fit(model, points, losses.max_margin, optimizer, steps, penalty=penalty, quiet=True)
    return steps / (perf_counter() - began)


def main() -> int:
    """Print the three figures and their ratio; fail below the target."""
    chromium = os.environ.get("CHROMIUM_PATH") or shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("playwright and a Chromium are needed (CHROMIUM_PATH)")
        return 1
    model, points, optimizer, penalty = moons()
    html = watch(model, points, losses.max_margin, optimizer, penalty=penalty, scenes=False).html
    policy = html.index("<meta http-equiv"), html.index(">", html.index("<meta http-equiv")) + 1
    html = html[: policy[0]] + html[policy[1] :].replace(HOOK, "const theatre=window.theatre=createTheatre(")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "moons.html"
        file.write_text(html, encoding="utf-8")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(file.as_uri())
        drawn, bare = page.evaluate(PLAY, 3)
        browser.close()
    own = engine()
    print(f"the page, drawn:      {drawn:8.0f} steps a second (target {TARGET:.0f})")
    print(f"the page, undrawn:    {bare:8.0f} steps a second")
    name = f"fit, {'C' if NATIVE else 'Python'} engine:"
    print(f"{name:<21} {own:8.0f} steps a second, {own / bare:.2f} of the page's")
    return 0 if drawn >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
