"""Pictures of training, with matplotlib: the loss over the steps, what a model decides, how large its gradients are.

Each function draws into `ax`, or into a new figure, and returns the axes; matplotlib is imported when one is called.

>>> from micrograd import plots
>>> plots.colour(0)
'#2f6fde'
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import Any

import micrograd.observed  # first: it says so where the original micrograd has overwritten engine.py  # noqa: F401
from micrograd import install
from micrograd.engine import NATIVE, no_grad

COLOURS = (
    "#2f6fde", "#e4572e", "#2a9d5c", "#8a4fd3", "#e0a100", "#0f9fb5", "#d6408c", "#6b7280", "#7a5230", "#a3b818",
    "#12306b", "#8c1c04", "#0b4f2a", "#c9a6f5", "#f3d477", "#8fe0ec", "#f7b3d6", "#b9bfca", "#d2a98a", "#4c5a00",
)  # fmt: skip
MARKERS = "os^DvPX<>*"
HILLS = 6  # layers whose histograms can be told apart when they lie one over the other
INK, PALE = "#1f2430", "#c9ced8"


def colour(k: int) -> str:
    """Return the colour of the k-th curve, class or layer; they repeat after 20, with another marker or dash."""
    return COLOURS[k % len(COLOURS)]


def _axes(ax: Any) -> Any:
    plt = install.require("matplotlib.pyplot", "a picture", "matplotlib", "train")
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
    return ax


def _finish(ax: Any, title: str, x: str, y: str) -> Any:
    ax.set_title(title, color=INK, fontsize=12, pad=10)
    ax.set_xlabel(x, color=INK)
    ax.set_ylabel(y, color=INK)
    ax.tick_params(colors=INK, which="both", length=3)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(PALE)
    return ax


def loss_curve(history: Any, ax: Any = None, label: str = "loss") -> Any:
    """Draw the loss over the steps, and the validation loss where there is one; a noisy loss gets its running mean.

    Takes a History or a list of numbers. Call it again with the same axes and another label to compare runs.

    >>> from micrograd import plots
    >>> axes = plots.loss_curve([1.0, 0.5, 0.25])
    >>> axes.get_xlabel()
    'step'
    """
    ax = _axes(ax)
    losses = list(getattr(history, "loss", history))
    drawn = [line for line in ax.lines if line.get_gid() == "curve"]
    tone = colour(len(drawn))
    steps = range(1, len(losses) + 1)
    window = max(1, len(losses) // 25)
    noisy = window > 1 and sum(b > a for a, b in pairwise(losses)) > len(losses) / 4
    [line] = ax.plot(steps, losses, color=tone, lw=1.0 if noisy else 2.0, alpha=0.3 if noisy else 1.0, label=label)
    line.set_gid("curve")
    last = losses[-1] if losses else 0.0
    if noisy:
        mean = [sum(losses[max(0, i - window) : i]) / min(i, window) for i in steps]
        ax.plot(
            steps,
            mean,
            color=tone,
            lw=2.2,
            label=f"{label}, mean of {window} steps" if drawn else f"mean of {window} steps",
        )
        last = mean[-1]
    if losses:
        _end(ax, len(losses), last, tone)
    rows = [row for row in getattr(history, "rows", []) if "validation_loss" in row]
    held = [row["validation_loss"] for row in rows]
    if held:
        other = colour(len(drawn) + 1)
        dots = "o" if len(held) < 30 else ""
        [line] = ax.plot([row["step"] for row in rows], held, color=other, lw=2.0, ls="--", marker=dots, ms=4,
                         label=f"{label}, validation" if drawn else "validation loss")  # fmt: skip
        line.set_gid("curve")
        _end(ax, rows[-1]["step"], held[-1], other)
    everything = [y for line in ax.lines for y in line.get_ydata() if y == y]
    if everything and min(everything) > 0 and max(everything) > 20 * min(everything):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
    if noisy or held or drawn:
        ax.legend(frameon=False, labelcolor=INK)
    ax.grid(axis="y", color=PALE, lw=0.6, alpha=0.7)
    ax.margins(x=0.02)
    return _finish(ax, "Loss", "step", label if not drawn and not held else "loss")


def _end(ax: Any, x: float, y: float, tone: str) -> None:
    """Mark the end of a curve, with its number to the right of it, where no curve is."""
    ax.plot([x], [y], "o", color=tone, ms=6, clip_on=False, label="_end")
    ax.annotate(f"{y:.3g}", (x, y), (9, 0), textcoords="offset points", ha="left", va="center", color=tone,
                annotation_clip=False)  # fmt: skip


def decision_boundary(
    model: Any, X: Sequence[Sequence[float]], y: Sequence[int], ax: Any = None, cells: int | None = None
) -> Any:
    """Draw which class a model of two inputs predicts at each place, with the points that it learned from.

    A model of one output decides by its sign (the lines where it is -1 and 1 are dashed), one of several by the
    greatest.
    """
    ax = _axes(ax)
    import numpy as np

    cells = cells or (120 if NATIVE else 50)  # a side; the Python engine takes some milliseconds for each point
    points = np.array(X, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"a decision boundary is drawn in the plane: points have 2 coordinates, not shape {points.shape}"
        )
    low, high = points.min(axis=0), points.max(axis=0)
    spans = np.where(high > low, high - low, 1.0)
    alike = (
        spans.max() < 5.0 * spans.min()
    )  # one scale for both axes keeps the shape, unless it would squeeze one of them
    pads = 0.12 * (np.full(2, spans.max()) if alike else spans)
    across, up = (np.linspace(a - pad, b + pad, cells) for a, b, pad in zip(low, high, pads))
    scores = _scores(model, across, up, np)
    single = scores.shape[0] == 1
    leads = (
        [-scores[0], scores[0]]
        if single
        else [m - np.delete(scores, c, axis=0).max(axis=0) for c, m in enumerate(scores)]
    )
    for c, lead in enumerate(leads):  # by how much class c is ahead: it decides where that is above zero
        if lead.max() > 0:
            ax.contourf(across, up, lead, levels=[0.0, lead.max() + 1.0], colors=[colour(c)], alpha=0.28)
            if lead.min() < 0:
                ax.contour(across, up, lead, levels=[0.0], colors=INK, linewidths=1.6)
    for level in (-1.0, 1.0):
        if single and scores.min() < level < scores.max():
            ax.contour(
                across, up, scores[0], levels=[level], colors=INK, linewidths=0.8, linestyles="dashed", alpha=0.6
            )
    labels = [int(c > 0) if single else int(c) for c in y]
    classes = sorted(set(labels))
    for c in classes:
        mine = points[[label == c for label in labels]]
        ax.scatter(mine[:, 0], mine[:, 1], s=34, color=colour(c), marker=MARKERS[c // len(COLOURS) % len(MARKERS)],
                   edgecolor="white", linewidth=0.9, zorder=3, label=f"class {c}")  # fmt: skip
    if len(classes) > 3:
        ax.legend(frameon=False, labelcolor=INK, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5),
                  ncols=1 + len(classes) // 16)  # fmt: skip
    ax.set_aspect("equal" if alike else "auto")
    ax.set_xlim(across[0], across[-1])
    ax.set_ylim(up[0], up[-1])
    return _finish(ax, "Decision boundary", "x₀", "x₁")


def _scores(model: Any, across: Any, up: Any, np: Any) -> Any:
    """Return the scores of each class over a grid: one array for a model of one output, bare or in a list."""
    with no_grad():
        outputs = [[model([float(a), float(b)]) for a in across] for b in up]
    rows = [[list(cell) if hasattr(cell, "__len__") else [cell] for cell in row] for row in outputs]
    return np.moveaxis(np.array([[[float(v) for v in cell] for cell in row] for row in rows]), 2, 0)


def gradient_histogram(model: Any, ax: Any = None, bins: int = 40) -> Any:
    """Draw how large the gradients of each layer are, on a scale of powers of ten; zeros are listed in the legend.

    Layers whose hills lie far apart learn at different speeds; a hill far to the left has stopped learning.
    """
    ax = _axes(ax)
    import numpy as np

    layers = gradients_by_layer(model)
    sizes = {name: [log10(abs(g)) for g in grads if g and isfinite(g)] for name, grads in layers.items()}
    told = {name: _told(name, grads) for name, grads in layers.items()}
    everything = [s for part in sizes.values() for s in part] or [0.0]
    low, high = min(everything), max(everything)
    if len(layers) <= HILLS:
        _hills(ax, sizes, told, np.linspace(low - 0.1, high + 0.1, bins + 1), np)
    else:
        _ranges(ax, sizes, told, np)
    if not any(sizes.values()):
        ax.text(0.5, 0.45, "every gradient is zero", transform=ax.transAxes, ha="center", color=INK)
    whole = range(ceil(low), floor(high) + 1)
    every = max(1, len(whole) // 8)
    ax.set_xticks([t for t in whole if t % every == 0], [f"$10^{{{t}}}$" for t in whole if t % every == 0])
    hills = len(layers) <= HILLS
    return _finish(ax, "Gradients by layer", "size of the gradient", "share of the layer's parameters" if hills else "")


def _told(name: str, grads: list[float]) -> str:
    zeros, broken = sum(g == 0.0 for g in grads), sum(not isfinite(g) for g in grads)
    text = f"{name}: {len(grads)} parameters" + (f", {zeros / len(grads):.0%} zero" if zeros else "")
    return text + (f", {broken} not finite" if broken else "")


def _hills(ax: Any, sizes: dict[str, list[float]], told: dict[str, str], edges: Any, np: Any) -> None:
    """Draw a histogram for each of a few layers, one over the other."""
    for i, (name, part) in enumerate(sizes.items()):
        counts = np.histogram(part, edges)[0] / max(len(part), 1)
        smooth = np.convolve(np.pad(counts, 2, mode="edge"), [0.1, 0.2, 0.4, 0.2, 0.1], mode="valid")
        middles = (edges[:-1] + edges[1:]) / 2
        ax.fill_between(middles, smooth, color=colour(i), alpha=0.16, lw=0)
        ax.plot(middles, smooth, color=colour(i), lw=1.8, label=told[name])
    top = ax.get_ylim()[1] if any(sizes.values()) else 1.0
    ax.set_ylim(0, top * (1.05 + 0.06 * len(sizes)))  # with room for the legend
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.legend(frameon=False, labelcolor=INK, fontsize=9)


def _ranges(ax: Any, sizes: dict[str, list[float]], told: dict[str, str], np: Any) -> None:
    """Draw a row for each of many layers: all of its gradients thin, the middle half of them thick, the median as a dot."""
    for i, part in enumerate(sizes.values()):
        if part:
            least, lower, middle, upper, most = np.quantile(part, [0.0, 0.25, 0.5, 0.75, 1.0])
            ax.plot([least, most], [i, i], color=COLOURS[0], lw=1.0, alpha=0.5)
            ax.plot([lower, upper], [i, i], color=COLOURS[0], lw=5.0, alpha=0.55, solid_capstyle="round")
            ax.plot([middle], [i], "o", color=COLOURS[0], ms=6)
    ax.set_yticks(range(len(sizes)), list(told.values()), fontsize=8)
    ax.set_ylim(len(sizes) - 0.5, -0.5)
    ax.grid(axis="x", color=PALE, lw=0.6, alpha=0.7)


def gradients_by_layer(model: Any) -> dict[str, list[float]]:
    """The gradients of a model, by the part of it that they belong to: "layer 0", "head" ..."""
    layers: dict[str, list[float]] = {}
    for name, p in model.named_parameters():
        first, *rest = name.split(".")
        inside = len(rest) > 1 and rest[0].isdigit() and not rest[1].isdigit()
        layers.setdefault(f"{first.removesuffix('s')} {rest[0]}" if inside else first, []).append(p.grad)
    return layers
