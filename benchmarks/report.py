"""The report of benchmarks/compiled.py: a table in Markdown, the numbers as JSON, a bar chart."""

from __future__ import annotations

import json
import os
import platform
from datetime import date
from pathlib import Path
from textwrap import fill
from typing import Any


class Row:
    """One figure and its target."""

    def __init__(self, task: str, what: str, measured: float, target: float, unit: str, at_least: bool) -> None:
        self.task, self.what, self.measured, self.target = task, what, measured, target
        self.unit, self.at_least = unit, at_least

    @property
    def good(self) -> bool:
        return self.measured >= self.target if self.at_least else self.measured <= self.target

    @property
    def verdict(self) -> str:
        return "ok" if self.good else "short"

    @property
    def measured_text(self) -> str:
        shown = f"{self.measured:,.0f}" if self.measured >= 100 else f"{self.measured:.3g}"
        return shown + self.unit

    @property
    def target_text(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.target:,g}{self.unit}"


def machine() -> str:
    """The processor and how many cores of it there are."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores"


def text_of(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def write(
    folder: Path, rows: list[Row], times: dict[str, dict[str, float]], tasks: dict[str, str], who: list[Any]
) -> None:
    """All three files."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {
        "date": date.today().isoformat(),
        "machine": machine(),
        "python": platform.python_version(),
        "versions": {c.name: c.version for c in who},
    }
    figures = [{"task": r.task, "what": r.what, "measured": r.measured, "target": r.target, "unit": r.unit.strip(),
                "ok": r.good} for r in rows]  # fmt: skip
    (folder / "latest.json").write_text(json.dumps(about | {"seconds": times, "figures": figures}, indent=1) + "\n")
    (folder / "latest.md").write_text(markdown(rows, times, tasks, about))
    chart(folder / "latest.png", times, tasks, about)


def markdown(rows: list[Row], times: dict[str, dict[str, float]], tasks: dict[str, str], about: dict[str, Any]) -> str:
    """The tables: times of everybody, then figures beside targets."""
    names = [n for n in about["versions"] if any(n in times.get(t, {}) for t in tasks)]
    lines = [
        "# Compiled functions beside C and the peers",
        "",
        f"{about['date']}, {about['machine']}, Python {about['python']}. Made by `make bench`; "
        "times are the best of many short rounds in turn, figures the median of the rounds' ratios "
        "(what two threads gain, the ratio of the best)."
        " Hand-written C is called from C, everybody else from Python.",
        "",
        "| work | " + " | ".join(names) + " |",
        "| --- |" + " ---: |" * len(names),
    ]
    for task, title in tasks.items():
        cells = [text_of(times[task][n]) if n in times.get(task, {}) else "" for n in names]
        if any(cells):
            lines.append(f"| {title} | " + " | ".join(cells) + " |")
    lines += ["", "| work | figure | measured | target | |", "| --- | --- | ---: | ---: | --- |"]
    lines += [f"| {r.task} | {r.what} | {r.measured_text} | {r.target_text} | {r.verdict} |" for r in rows]
    lines += ["", "Versions: " + ", ".join(f"{n} ({v})" for n, v in about["versions"].items()) + ".", ""]
    return "\n".join(lines)


COLOURS = {
    "micrograd": "#0b6e4f", "C by hand": "#9aa5b1", "jax": "#c98bdb", "torch": "#ee6c4d", "torch compiled": "#f4a98f",
    "casadi": "#3d7ea6",
    "casadi C": "#8fbcd4", "autograd": "#c9b458", "xad": "#7a6f9b", "micrograd 0.1.0": "#b0413e",
}  # fmt: skip


def chart(file: Path, times: dict[str, dict[str, float]], tasks: dict[str, str], about: dict[str, Any]) -> None:
    """Bars of time on a log scale: a panel for each task, the fastest on top, this package in one strong colour."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [t for t in tasks if times.get(t)]
    columns = 2
    lines = (len(shown) + columns - 1) // columns
    heights = [max(len(times[t]) for t in shown[r * columns : (r + 1) * columns]) + 1.6 for r in range(lines)]
    figure, axes = plt.subplots(
        lines, columns, figsize=(13, 0.27 * sum(heights) + 1.2), squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    for axis, task in zip(axes.flat, shown, strict=False):
        bars = sorted(times[task].items(), key=lambda item: item[1])
        names, seconds = [n for n, _ in bars], [s for _, s in bars]
        low, high = min(seconds) / 2.0, max(seconds) * 6.0
        colours = [COLOURS.get(n, "#888888") for n in names]
        axis.barh(range(len(bars)), [s - low for s in seconds], left=low, color=colours, height=0.72)
        axis.set_xscale("log")
        axis.set_xlim(low, high)
        axis.set_yticks(range(len(bars)), names)
        row = shown.index(task) // columns
        tallest = max(len(times[t]) for t in shown[row * columns : (row + 1) * columns])
        axis.set_ylim(tallest - 0.4, -0.6)  # bars of one thickness in all panels, the fastest on top
        for i, (name, s) in enumerate(bars):
            mine = times[task].get("micrograd")
            beside = (
                ""
                if mine is None or name == "micrograd"
                else f"  ({s / mine:.3g}×)"
                if s / mine < 1000
                else f"  ({s / mine:,.0f}×)"
            )
            weight = "bold" if name == "micrograd" else "normal"
            axis.annotate(
                text_of(s) + beside,
                (s, i),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                fontweight=weight,
                color="#222222",
            )
            axis.get_yticklabels()[i].set_fontweight(weight)
        axis.set_title(fill(tasks[task], 70), fontsize=10, loc="left", color="#222222")
        axis.tick_params(axis="y", length=0, labelsize=9)
        axis.tick_params(axis="x", bottom=False, labelbottom=False, which="both")
        for side in axis.spines.values():
            side.set_visible(False)
    figure.suptitle(
        "How long a call takes: shorter is faster, on a log scale. In brackets: times as long as micrograd",
        x=0.01,
        ha="left",
        fontsize=13,
        fontweight="bold",
    )
    figure.text(
        0.01,
        0.004,
        f"{about['date']} · {about['machine']} · Python {about['python']} · make bench",
        fontsize=8,
        color="#666666",
    )
    figure.tight_layout(rect=(0, 0.01, 1, 0.985), h_pad=1.4, w_pad=2.0)
    figure.savefig(file, dpi=130)
    plt.close(figure)
