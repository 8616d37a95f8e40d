"""Time compiled functions beside hand-written C and the peers, and say which figures fall short.

    python benchmarks/compiled.py                         this package and hand-written C
    python benchmarks/compiled.py --peers DIRECTORY       and each peer of that environment, a process each

Everything that is compared runs in one session, in rounds: each round asks every contender once, in turn, and the best answer
of each counts, since other work on the machine can only slow one down. All targets but two are ratios within this run.
Writes benchmarks/results/latest.md, .json and .png; exits with 1 when a figure falls short.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

from contenders import Contender, Hand, Ours, Peer  # noqa: E402
from report import Row, write  # noqa: E402

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
    ("moons step", 2.5), ("moons rows", 1.5), ("asian", 1.3), ("gpt", 8.0), ("gpt batch", 3.0), ("lotka", 4.0),
)  # fmt: skip
# (task, peers, target): at least `target` × faster than the fastest of these peers
BESIDE_PEERS = (
    ("tiny", CASADI, 1.0), ("readme", CASADI, 1.0),
    ("moons step", JAX, 3.0), ("moons step", ("torch", "torch compiled"), 20.0), ("moons step", ("micrograd 0.1.0",), 30_000.0),
    ("moons rows", JAX, 2.0), ("moons rows", TORCH, 2.0), ("moons rows 2", JAX, 2.0), ("moons rows 2", TORCH, 2.0),
    ("asian", TORCH, 4.0), ("asian", ("casadi C",), 4.0), ("asian", JAX, 4.0),
    ("gpt", ("casadi C",), 1.0), ("gpt", TORCH, 1.0),
    ("lotka", ("casadi",), 1.0), ("lotka", JAX, 1.0),
)  # fmt: skip


def measure(contenders: list[Contender], tasks: list[str], rounds: int) -> dict[str, dict[str, float]]:
    """The best time of each contender for each task; a contender without the task is left out."""
    times: dict[str, dict[str, float]] = {}
    for task in tasks:
        able = [c for c in contenders if c.prepare(task)]
        best = {c.name: float("inf") for c in able}
        for _ in range(rounds):
            for c in able:
                best[c.name] = min(best[c.name], c.time(task))
        times[task] = best
        said = ", ".join(f"{name} {shown(t)}" for name, t in sorted(best.items(), key=lambda item: item[1]))
        print(f"{TASKS.get(task, task)}: {said}", flush=True)
        for c in able:
            c.finish(task)
    return times


def shown(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def rows(times: dict[str, dict[str, float]]) -> list[Row]:
    """Each figure beside its target."""
    found: list[Row] = []

    def ours(task: str) -> float | None:
        return times.get(task, {}).get("micrograd")

    def row(task: str, what: str, measured: float, target: float, unit: str, at_least: bool) -> None:
        found.append(Row(TASKS.get(task) or RATIOS[task], what, measured, target, unit, at_least))

    for task, limit in (("tiny", 120.0), ("readme", 200.0)):
        if (t := ours(task)) is not None:
            row(task, "time of a call from Python", t * 1e9, limit, " ns", False)
    for task, limit in BESIDE_C:
        c = times.get(task, {}).get("C by hand")
        if (t := ours(task)) is not None and c is not None:
            row(task, "time beside hand-written C", t / c, limit, "×", False)
    one, two = ours("asian"), ours("asian 2")
    if one is not None and two is not None:
        row("asian", "2 threads beside 1", one / two, 1.7, "× faster", True)
    for task, peers, limit in BESIDE_PEERS:
        others = {p: times[task][p] for p in peers if p in times.get(task, {})}
        if (t := ours(task)) is not None and others:
            name = min(others, key=lambda p: others[p])
            row(task, f"beside {name}", others[name] / t, limit, "× faster", True)
    for task in RATIOS:
        t, v = ours(task), ours(f"{task} value")
        if t is not None and v is not None:
            row(task, "gradient ÷ value", t / v, 3.0, "×", False)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, help="a virtual environment that has the peers (make bench makes it)")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", action="append", help="a task, or its beginning; may be given more than once")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the report goes")
    args = parser.parse_args()
    tasks = [t for t in TASKS if not args.only or any(t.startswith(o) for o in args.only)]
    contenders: list[Contender] = [Ours(), Hand()]
    if args.peers:
        contenders += Peer.all(args.peers)
    try:
        times = measure(contenders, tasks, args.rounds)
        wanted = [t for t in RATIOS if not args.only or any(t.startswith(o) for o in args.only)]
        more = [t for t in wanted if t not in times] + [f"{t} value" for t in wanted]
        times |= measure(contenders[:2], more, args.rounds)
    finally:
        for c in contenders:
            c.close()
    found = rows(times)
    for line in table(found):
        print(line)
    if not args.only:
        write(args.out, found, times, TASKS, [c for c in contenders if c.version])
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
