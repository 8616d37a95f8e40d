"""What was measured: a line for the terminal, a table in Markdown, the numbers as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from . import hand_written
from .contenders import FORMS, HAND, OURS, PEERS
from .evals import Eval, Size
from .session import Limits, Outcome

OTHERS = (HAND, *PEERS)

COLUMNS = (
    "eval, size",
    "function",
    "micrograd",
    *(f"÷ {name}" for name in OTHERS),
    "first call",
    "of JAX",
    "settling",
    "memory",
    "of C",
)
HEAD = (f"| {' | '.join(COLUMNS)} |", "| --- | --- |" + " ---: |" * (len(COLUMNS) - 2))

ABOUT = (
    "Made by `make bench-gradbench`: every function runs in a process of its own on one core, with {limits.seconds:g} s and "
    "{limits.gigabytes:g} GB for the first call. Times are processor time, and medians of rounds in which all take turns. The "
    "number below ÷ is how many times as long as the other one micrograd takes. The first call compiles; `settling` is what "
    "the calls after it took in all, until their time was the one of the table. Memory is what is resident at most in addition "
    "to the package and the input."
)


@dataclass(frozen=True)
class Entry:
    """One function of an eval at one size, and what was seen of each contender."""

    e: Eval
    function: str
    size: Size
    outcomes: dict[str, Outcome]


def seconds(s: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if s >= size:
            return f"{s / size:.3g} {unit}"
    return f"{s * 1e9:.3g} ns"


def memory(size: int | None) -> str:
    if size is None:
        return ""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def ratio(a: Outcome, b: Outcome) -> float | None:
    """Return how many times as long as b one call of a takes: the median over the rounds."""
    return median(x / y for x, y in zip(a.times, b.times)) if a.times and b.times else None


def times_as_long(r: float | None) -> str:
    return "" if r is None else f"{r:,.0f}" if r >= 100 else f"{r:.2g}" if r < 10 else f"{r:.0f}"


def lines(entry: Entry) -> Iterator[str]:
    """Yield what the terminal shows of an entry."""
    yield f"{entry.e.title(entry.size)}: {entry.function}"
    ours = entry.outcomes.get(OURS)
    for contender, seen in entry.outcomes.items():
        if seen.failed:
            yield f"  {contender:16} {seen.failed}"
            continue
        beside = ratio(ours, seen) if ours is not None and contender != OURS else None
        facts = [
            f"{seconds(seen.time or 0.0):>8} a call",
            f"first {seconds(seen.first):>8}",
            f"{seen.calls} more to settle: {seconds(seen.settled):>8}",
            f"memory {memory(seen.memory) or '?'}",
        ]
        if beside is not None:
            facts.append(f"{OURS} takes {times_as_long(beside)} × as long")
        if seen.wrong:
            facts.append(f"WRONG: {seen.wrong}")
        yield f"  {contender:16} " + ", ".join(facts)


def markdown(entries: list[Entry], limits: Limits) -> str:
    """Return the table: a line for each function of each eval and size."""
    about = versions()
    text = [
        "# GradBench's evals",
        "",
        f"{date.today().isoformat()}, {machine()}, Python {platform.python_version()}. {ABOUT.format(limits=limits)}",
        "",
        *HEAD,
    ]
    text += [row(entry, entry.e.title(entry.size), OURS) for entry in entries]
    others = [(entry, form) for entry in entries for form in FORMS if form in entry.outcomes]
    if others:
        text += [
            "",
            "The same in another form: " + "; ".join(f"{name}: {what}" for name, what in FORMS.items()) + ".",
            "",
            *HEAD,
        ]
        text += [row(entry, f"{entry.e.title(entry.size)}, {form}", form) for entry, form in others]
    text += ["", "Versions: " + ", ".join(f"{name} {version}" for name, version in about.items()) + ".", ""]
    return "\n".join(text)


def row(entry: Entry, title: str, who: str) -> str:
    """Return a line of the table for one of our forms."""
    seen = entry.outcomes.get(who, Outcome(failed="not run"))
    jax, hand = entry.outcomes.get("JAX"), entry.outcomes.get(HAND)
    of_jax = "" if jax is None else jax.failed or seconds(jax.first)
    of_hand = "" if hand is None or hand.failed else memory(hand.memory)
    if seen.failed:
        cells = [seen.failed, *[""] * len(OTHERS), "", of_jax, "", "", of_hand]
    else:
        beside = [times_as_long(ratio(seen, entry.outcomes[o])) if o in entry.outcomes else "" for o in OTHERS]
        call = f"wrong: {seen.wrong}" if seen.wrong else seconds(seen.time or 0.0)
        cells = [call, *beside, seconds(seen.first), of_jax, seconds(seen.settled), memory(seen.memory), of_hand]
    return f"| {title} | {entry.function} | " + " | ".join(cells) + " |"


def machine() -> str:
    """Return the processor and how many cores of it there are."""
    name = platform.processor() or platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    return f"{names[0] if names else name}, {os.cpu_count()} cores"


def versions() -> dict[str, str]:
    """Return the versions of all contenders that can run here."""
    import micrograd

    found = {OURS: micrograd.__version__, HAND: hand_written.version()}
    for name, (package, _) in PEERS.items():
        try:
            found[name] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {name: version for name, version in found.items() if version}


def write(folder: Path, entries: list[Entry], limits: Limits) -> None:
    """Write gradbench.md and gradbench.json."""
    folder.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {
        "date": date.today().isoformat(),
        "machine": machine(),
        "python": platform.python_version(),
        "versions": versions(),
        "limits": asdict(limits),
    }
    seen = [
        {
            "eval": entry.e.name,
            "size": dict(zip(entry.e.parameters, entry.size)),
            "function": entry.function,
            "contenders": {name: asdict(outcome) for name, outcome in entry.outcomes.items()},
        }
        for entry in entries
    ]
    (folder / "gradbench.json").write_text(json.dumps(about | {"entries": seen}, indent=1) + "\n", encoding="utf-8")
    (folder / "gradbench.md").write_text(markdown(entries, limits), encoding="utf-8")
