"""Draw the pictures of the documentation: run the code of each page and draw its results.

Writes docs/images/graph.svg from the first block of README.md, and docs/images/example-*.svg from docs/examples.

python tools/example_pictures.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

from micrograd import draw_dot, plots

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLUE, RED, GREEN = plots.COLOURS[:3]


def names_of(page: str) -> dict[str, Any]:
    """What the Python blocks of a page have defined, after they ran."""
    scope: dict[str, Any] = {"__name__": page}
    text = (DOCS / "examples" / f"{page}.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(block, page, "exec"), scope)
    return scope


def moons(ax: Any) -> None:
    found = names_of("moons")
    plots.decision_boundary(found["model"], found["X"].tolist(), found["sides"], ax=ax)


def lotka(ax: Any) -> None:
    found = names_of("lotka")
    time = np.arange(1, len(found["data"]) // 2 + 1) * 0.3
    curve, fine = found["solve"](found["rates"], every=1), np.arange(1, 61) * 0.05
    for k, (name, tone) in enumerate((("hares", BLUE), ("lynxes", RED))):
        ax.plot(fine, curve[k::2], color=tone, label=f"{name}, fitted")
        ax.plot(time, found["data"][k::2], "o", color=tone, label=name)
    ax.set_xlabel("time")
    ax.legend(frameon=False)


def newton(ax: Any) -> None:
    found = names_of("newton")
    across, up = np.meshgrid(np.linspace(-1.6, 1.6, 200), np.linspace(-0.6, 1.8, 200))
    ax.contour(across, up, np.log(found["valley"]((across, up)) + 1e-3), levels=14, cmap="Greys", linewidths=0.8)
    p = [-1.2, 1.0]
    path = [p]
    for _ in range(7):
        p = (np.array(p) - np.linalg.solve(np.array(found["bend"](p)), np.array(found["slope"](p)))).tolist()
        path.append(p)
    ax.plot(*np.array(path).T, "o-", color=RED, label="Newton's steps")
    ax.set_xlim(-1.6, 1.6)
    ax.set_ylim(-0.6, 1.8)
    ax.legend(frameon=False)


def options(ax: Any) -> None:
    found = names_of("options")
    spots = np.linspace(80.0, 130.0, 26)
    results = [found["price"](spot, *found["market"][1:], found["z"]) for spot in spots]
    ax.plot(spots, [value for value, _ in results], color=BLUE, label="price")
    ax.set_xlabel("spot")
    ax.set_ylabel("price")
    right = ax.twinx()
    right.plot(spots, [slopes[0] for _, slopes in results], color=RED, label="derivative with respect to spot")
    right.set_ylabel("derivative with respect to spot")
    ax.legend(handles=[*ax.get_lines(), *right.get_lines()], frameon=False)


def names(ax: Any) -> None:
    found = names_of("names")
    ax.plot(found["seen"], color=BLUE)
    ax.set_xlabel("steps")
    ax.set_ylabel("loss")


def graph() -> None:
    scope: dict[str, Any] = {}
    readme = DOCS.parent / "README.md"
    text = readme.read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text, re.S)
    assert block is not None
    above = text[: block.start(1)].count("\n")  # so that the lines in the picture are those of the file
    exec(compile("\n" * above + block[1], str(readme), "exec"), scope)
    loss = scope["loss"]
    draw_dot(loss).save(str(DOCS / "images" / "graph.svg"))


def main() -> None:
    graph()
    for draw in (moons, lotka, newton, options, names):
        figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        draw(ax)
        path = DOCS / "images" / f"example-{draw.__name__}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
        print(path, path.stat().st_size)


if __name__ == "__main__":
    plt.rcParams.update(
        {"svg.hashsalt": "micrograd", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    )
    main()
