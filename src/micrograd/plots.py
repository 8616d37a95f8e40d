"""Pictures of training, with matplotlib: the loss over the steps, what a model decides, how large its gradients are.

Each function draws into `ax`, or into a new figure, and gives the axes back; matplotlib is imported when one is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

from micrograd import install
from micrograd.engine import NATIVE, no_grad

COLOURS = ("#2f6fde", "#e4572e", "#2a9d5c", "#8a4fd3", "#e0a100", "#0f9fb5", "#d6408c", "#6b7280", "#7a5230", "#a3b818")
INK, PALE = "#1f2430", "#c9ced8"


def _axes(ax: Any) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(f"pictures are drawn by matplotlib: {install.command('train')}") from None
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
    """Draw the loss over the steps; a noisy one gets its running mean on top. Takes a History or a list of numbers."""
    ax = _axes(ax)
    losses = list(getattr(history, "loss", history))
    steps = range(1, len(losses) + 1)
    window = max(1, len(losses) // 25)
    ups = sum(b > a for a, b in pairwise(losses))
    noisy = window > 1 and ups > len(losses) / 4
    ax.plot(steps, losses, color=COLOURS[0], lw=1.0 if noisy else 2.0, alpha=0.3 if noisy else 1.0, label=label)
    if noisy:
        mean = [sum(losses[max(0, i - window) : i]) / min(i, window) for i in steps]
        ax.plot(steps, mean, color=COLOURS[0], lw=2.2, label=f"mean of {window} steps")
        ax.legend(frameon=False, labelcolor=INK)
    if losses and min(losses) > 0 and max(losses) > 20 * min(losses):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
    if losses:
        last = mean[-1] if noisy else losses[-1]
        ax.plot([len(losses)], [last], "o", color=COLOURS[0], ms=6, clip_on=False)
        ax.annotate(
            f"{last:.3g}", (len(losses), last), (-4, 9), textcoords="offset points", ha="right", color=COLOURS[0]
        )
    ax.grid(axis="y", color=PALE, lw=0.6, alpha=0.7)
    ax.margins(x=0.02)
    return _finish(ax, "Loss", "step", label)


def decision_boundary(
    model: Any, X: Sequence[Sequence[float]], y: Sequence[int], ax: Any = None, cells: int | None = None
) -> Any:
    """Draw what a model of two inputs decides where, with the points that it learned from.

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
    pad = 0.12 * (high - low).max() or 1.0
    across, up = (np.linspace(a - pad, b + pad, cells) for a, b in zip(low, high))
    with no_grad():
        outputs = [[model([float(a), float(b)]) for a in across] for b in up]
    single = not isinstance(outputs[0][0], list)
    if single:
        scores = np.array([[float(v) for v in row] for row in outputs])
        leads = [-scores, scores]
    else:
        columns = np.moveaxis(np.array([[[float(v) for v in cell] for cell in row] for row in outputs]), 2, 0)
        leads = [mine - np.delete(columns, c, axis=0).max(axis=0) for c, mine in enumerate(columns)]
    for c, lead in enumerate(leads):  # by how much class c is ahead: it decides where that is above zero
        if lead.max() > 0:
            colour = COLOURS[c % len(COLOURS)]
            ax.contourf(across, up, lead, levels=[0.0, lead.max() + 1.0], colors=[colour], alpha=0.28)
            if lead.min() < 0:
                ax.contour(across, up, lead, levels=[0.0], colors=INK, linewidths=1.6)
    for level in (-1.0, 1.0):
        if single and scores.min() < level < scores.max():
            ax.contour(across, up, scores, levels=[level], colors=INK, linewidths=0.8, linestyles="dashed", alpha=0.6)
    labels = [int(c > 0) if single else int(c) for c in y]
    for c in sorted(set(labels)):
        mine = points[[label == c for label in labels]]
        ax.scatter(
            mine[:, 0], mine[:, 1], s=34, color=COLOURS[c % len(COLOURS)], edgecolor="white", linewidth=0.9, zorder=3
        )
    ax.set_aspect("equal")
    ax.set_xlim(across[0], across[-1])
    ax.set_ylim(up[0], up[-1])
    return _finish(ax, "Decision boundary", "x₀", "x₁")


def gradient_histogram(model: Any, ax: Any = None, bins: int = 40) -> Any:
    """Draw how large the gradients of each layer are, on a scale of powers of ten; zeros are told in the legend.

    Layers whose hills lie far apart learn at different speeds; a hill far to the left has stopped learning.
    """
    ax = _axes(ax)
    import numpy as np

    layers = gradients_by_layer(model)
    sizes = {name: [log10(abs(g)) for g in grads if g] for name, grads in layers.items()}
    everything = [s for part in sizes.values() for s in part]
    if not everything:
        raise ValueError("every gradient is zero: call backward() on a loss first, and draw before zero_grad()")
    low, high = min(everything), max(everything)
    edges = np.linspace(low - 0.1, high + 0.1, bins + 1)
    for i, (name, part) in enumerate(sizes.items()):
        counts = np.histogram(part, edges)[0] / max(len(part), 1)
        smooth = np.convolve(np.pad(counts, 2, mode="edge"), [0.1, 0.2, 0.4, 0.2, 0.1], mode="valid")
        zeros = 1 - len(part) / len(layers[name])
        told = f"{name}: {len(layers[name])} parameters" + (f", {zeros:.0%} zero" if zeros else "")
        colour = COLOURS[i % len(COLOURS)]
        middles = (edges[:-1] + edges[1:]) / 2
        ax.fill_between(middles, smooth, color=colour, alpha=0.16, lw=0)
        ax.plot(middles, smooth, color=colour, lw=1.8, label=told)
    whole = range(ceil(low), floor(high) + 1)
    every = max(1, len(whole) // 8)
    ax.set_xticks([t for t in whole if t % every == 0], [f"$10^{{{t}}}$" for t in whole if t % every == 0])
    ax.set_ylim(0, ax.get_ylim()[1] * (1.05 + 0.06 * len(sizes)))  # room for the legend
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.legend(frameon=False, labelcolor=INK, fontsize=9)
    return _finish(ax, "Gradients by layer", "size of the gradient", "share of the layer's parameters")


def gradients_by_layer(model: Any) -> dict[str, list[float]]:
    """The gradients of a model, by the part of it that they belong to: "layer 0", "head" ..."""
    layers: dict[str, list[float]] = {}
    for name, p in model.named_parameters():
        first, *rest = name.split(".")
        inside = len(rest) > 1 and rest[0].isdigit() and not rest[1].isdigit()
        layers.setdefault(f"{first.removesuffix('s')} {rest[0]}" if inside else first, []).append(p.grad)
    return layers
