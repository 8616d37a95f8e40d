"""Time compiled functions beside hand-written C and the peers, and say which figures fall short.

    python benchmarks/compiled.py                         this package and hand-written C
    python benchmarks/compiled.py --peers DIRECTORY       and each peer of that environment, a process each

Everything that is compared runs in one session, in rounds: each round asks every contender once, in turn. A ratio is the median
over the rounds of what the round saw, since both sides of it ran within a second; times are the best of the rounds, since other
work on the machine can only slow one down. What two threads gain is the ratio of the best: whatever else runs takes a core from
them. The targets are ratios, but for calls at one point and for compiling
(compile_time.py).
Writes benchmarks/results/latest.md, .json and .png; exits with 1 when a figure falls short.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import compile_time  # noqa: E402
import training  # noqa: E402
from contenders import Contender, Hand, Ours, Peer  # noqa: E402
from report import Row, write  # noqa: E402

OURS = "micrograd"
TORCH, JAX, CASADI = ("torch", "torch compiled"), ("jax",), ("casadi", "casadi C")

# task -> what it is called in the table; times are in seconds a call, of a row or a name where `per` says so
TASKS = {
    "tiny": "tiny graph, one point, value + gradient",
    "readme": "README expression, one point, value + gradient",
    "moons step": "moons step, 100 rows, 337 parameters, with the update",
    "moons rows": "moons, 100,000 rows, 1 thread, a row",
    "moons rows 2": "moons, 100,000 rows, 2 threads, a row",
    "asian": "Asian call, 64 dates, value + 5 derivatives, 1 thread, a path",
    "asian 2": "Asian call, 64 dates, value + 5 derivatives, 2 threads, a path",
    "simulation": "Asian call with its normals made inside, value + 5 derivatives, 1 thread, a path",
    "adamoons": "moons step with Adam, 100 rows, 337 parameters",
    "microgpt": "transformer step with Adam and linear decay, one name of 9 positions",
    "gpt": "transformer, one name of 8 places, forward + backward",
    "gpt batch": "transformer, 32 names at once, 1 thread, a name",
    "lotka": "Lotka-Volterra, RK4, 1,000 steps, 6 gradients",
}
# gradient and value of the same rows, both compiled: the first is timed above, or here
RATIOS = {
    "tiny batch": "tiny graph, 8,192 rows",
    "readme batch": "README expression, 8,192 rows",
    "moons rows": TASKS["moons rows"],
    "asian": TASKS["asian"],
    "gpt batch": TASKS["gpt batch"],
    "lotka batch": "Lotka-Volterra, RK4, 1,000 steps, 64 rows",
}

# (task, other, target): at most `target` × the time of hand-written C
BESIDE_C = (
    ("moons step", 1.3), ("moons rows", 1.5), ("asian", 1.3), ("simulation", 1.3), ("adamoons", 1.5), ("microgpt", 3.0),
    ("gpt", 1.5), ("gpt batch", 3.0), ("lotka", 4.0),
)  # fmt: skip
# (task, peers, target): at least `target` × faster than the fastest of these peers
BESIDE_PEERS = (
    ("tiny", CASADI, 1.0), ("readme", CASADI, 1.0),
    ("moons step", JAX, 3.0), ("moons step", ("torch", "torch compiled"), 20.0), ("moons step", ("micrograd 0.1.0",), 30_000.0),
    ("moons rows", JAX, 2.0), ("moons rows", TORCH, 2.0), ("moons rows 2", JAX, 2.0), ("moons rows 2", TORCH, 2.0),
    ("asian", TORCH, 4.0), ("asian", ("casadi C",), 4.0), ("asian", JAX, 4.0),
    ("simulation", JAX, 5.0),
    ("microgpt", ("casadi C",), 1.0), ("microgpt", TORCH, 1.0), ("microgpt", JAX, 1.0),
    ("gpt", ("casadi C",), 1.0), ("gpt", TORCH, 1.0),
    ("lotka", ("casadi",), 1.0), ("lotka", JAX, 1.0),
)  # fmt: skip


TWO_CORES = 3  # times as many rounds where the gain of a second core is a figure: it is seldom free

Rounds = dict[str, dict[str, list[float]]]  # task -> contender -> seconds, one number a round


def measure(contenders: list[Contender], tasks: list[str], rounds: int) -> Rounds:
    """The times of each contender for tasks that are compared with each other; a contender without a task is left out."""
    able = [(t, c) for t in tasks for c in contenders if (t in TASKS or isinstance(c, Ours)) and c.prepare(t)]
    seen: Rounds = {t: {c.name: [] for asked, c in able if asked == t} for t in tasks}
    for _ in range(rounds):
        for t, c in able:
            seen[t][c.name].append(c.time(t))
    for t in tasks:
        said = ", ".join(f"{name} {shown(s)}" for name, s in sorted(best(seen)[t].items(), key=lambda item: item[1]))
        print(f"{TASKS.get(t, t)}: {said}", flush=True)
    for t, c in able:
        c.finish(t)
    return seen


def best(seen: Rounds) -> dict[str, dict[str, float]]:
    """The best time of each contender for each task."""
    return {task: {name: min(s) for name, s in who.items()} for task, who in seen.items()}


def sessions(wanted: Callable[[str], bool]) -> list[list[str]]:
    """The tasks, those together that are compared with each other."""
    together: dict[str, list[str]] = {}
    for task in [*TASKS, *(t for t in RATIOS if t not in TASKS), *(f"{t} value" for t in RATIOS)]:
        if wanted(task):
            together.setdefault(task.removesuffix(" value").removesuffix(" 2"), []).append(task)
    return list(together.values())


def shown(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def rows(seen: Rounds) -> list[Row]:
    """Each figure beside its target."""
    found: list[Row] = []

    def row(task: str, what: str, measured: float, target: float, unit: str, at_least: bool) -> None:
        found.append(Row(TASKS.get(task) or RATIOS[task], what, measured, target, unit, at_least))

    def ratio(a: str, who_a: str, b: str, who_b: str) -> float | None:
        over, under = seen.get(a, {}).get(who_a), seen.get(b, {}).get(who_b)
        return median(x / y for x, y in zip(over, under)) if over and under else None

    for task, limit in (("tiny", 120.0), ("readme", 200.0)):
        if OURS in seen.get(task, {}):
            row(task, "time of a call from Python", min(seen[task][OURS]) * 1e9, limit, " ns", False)
    for task, limit in BESIDE_C:
        if (r := ratio(task, OURS, task, "C by hand")) is not None:
            row(task, "time beside hand-written C", r, limit, "×", False)
    if OURS in seen.get("asian", {}) and OURS in seen.get("asian 2", {}):
        row("asian", "2 threads beside 1", min(seen["asian"][OURS]) / min(seen["asian 2"][OURS]), 1.7, "× faster", True)
    for task, peers, limit in BESIDE_PEERS:
        others = {p: r for p in peers if (r := ratio(task, p, task, OURS)) is not None}
        if others:
            name = min(others, key=lambda p: others[p])
            row(task, f"beside {name}", others[name], limit, "× faster", True)
    for task in RATIOS:
        if (r := ratio(task, OURS, f"{task} value", OURS)) is not None:
            row(task, "gradient ÷ value", r, 3.0, "×", False)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, help="a virtual environment that has the peers (make bench makes it)")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", action="append", help="a task, or its beginning; may be given more than once")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the report goes")
    args = parser.parse_args()
    contenders: list[Contender] = [Ours(), Hand()]
    if args.peers:
        contenders += Peer.all(args.peers)
    seen: Rounds = {}
    try:
        for tasks in sessions(lambda t: not args.only or any(t.startswith(o) for o in args.only)):
            seen |= measure(contenders, tasks, args.rounds * (TWO_CORES if "asian 2" in tasks else 1))
    finally:
        for c in contenders:
            c.close()
    found = rows(seen) + ([] if args.only else [*training.figures(), *compile_time.figures()])
    for line in table(found):
        print(line)
    if not args.only:
        write(args.out, found, best(seen), TASKS, [c for c in contenders if c.version])
    short = [r for r in found if not r.good]
    print(
        f"\n{len(short)} of {len(found)} figures fall short."
        if short
        else f"\nAll {len(found)} figures meet their target."
    )
    return 1 if short else 0


def table(found: list[Row]) -> list[str]:
    lines = [f"\n{'':66} {'':28} {'measured':>16} {'target':>18}"]
    last = ""
    for r in found:
        lines.append(
            f"{r.task if r.task != last else '':66} {r.what:28} {r.measured_text:>16} {r.target_text:>18}  {r.verdict}"
        )
        last = r.task
    return lines


if __name__ == "__main__":
    sys.exit(main())
