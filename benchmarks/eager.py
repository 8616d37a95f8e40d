"""Time the eager engine beside plain floats and micrograd 0.1.0, and say which figures fall short.

    python benchmarks/eager.py --peer PATH/TO/python     (make bench-eager makes that environment)

Each contender is a process of its own. Rounds are interleaved: every round asks each of them once, and the best answer
of each counts, since other work on the machine can only slow one down; seconds are processor time. All targets are
ratios within this run.
Exits with 1 when a figure falls short.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SRC = HERE.parent / "src"


class Contender:
    """A process that runs eager_work.py and answers with seconds."""

    def __init__(self, who: str, python: str, **environment: str) -> None:
        self.who = who
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MICROGRAD"))} | environment
        self.process = subprocess.Popen(
            [python, str(HERE / "eager_work.py"), who],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )

    def ask(self, task: str) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(task + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.who} ended during {task!r} (exit status {self.process.wait()})")
        return float(line)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def ours(**environment: str) -> Contender:
    environment = {"PYTHONPATH": str(SRC), "MICROGRAD_REQUIRE_NATIVE": "1"} | environment
    return Contender("micrograd", sys.executable, **environment)


class Table:
    """Figures beside their targets."""

    def __init__(self) -> None:
        self.missed: list[str] = []
        print(f"{'':58} {'measured':>12} {'target':>12}")

    def row(self, what: str, measured: float, target: float, unit: str, at_least: bool = False) -> None:
        good = measured >= target if at_least else measured <= target
        sign = "≥" if at_least else "≤"
        shown = f"{measured:.2f}" if measured < 1000 else f"{measured:.0f}"
        print(
            f"{what:58} {shown + unit:>12} {f'{sign} {target:g}{unit}':>12}  {'' if good else 'MISSED'}".rstrip(),
            flush=True,
        )
        if not good:
            self.missed.append(what)

    def note(self, text: str) -> None:
        print(f"  {text}", flush=True)


def interleaved(task: str, contenders: list[Contender], rounds: int) -> list[float]:
    best = [float("inf")] * len(contenders)
    for _ in range(rounds):
        best = [min(b, c.ask(task)) for b, c in zip(best, contenders, strict=True)]
    return best


def duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.2f} µs"
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def speed(table: Table, peer_python: str, rounds: int) -> None:
    floats, mine, peer = Contender("float", sys.executable), ours(), Contender("peer", peer_python)
    try:
        for task, what, most, least in (
            ("chain", "acc = acc*x + y, 20,000 steps, forward+backward+free", 3.5, 50.0),
            ("readme", "the expression of micrograd's README, with backward", 3.0, 40.0),
        ):
            f, m, p = interleaved(task, [floats, mine, peer], rounds)
            table.row(what, m / f, most, "× floats")
            table.row("", p / m, least, "× 0.1.0", at_least=True)
            table.note(f"floats {duration(f)}, this package {duration(m)}, micrograd 0.1.0 {duration(p)}")
        m, p = interleaved("mlp", [mine, peer], max(2, rounds // 2))
        table.row("one training step, MLP(2, [16, 16, 1]), 100 points", p / m, 60.0, "× 0.1.0", at_least=True)
        table.note(f"this package {duration(m)}, micrograd 0.1.0 {duration(p)}")
    finally:
        for contender in (floats, mine, peer):
            contender.close()


def once(task: str, contender: Contender) -> float:
    try:
        return contender.ask(task)
    finally:
        contender.close()


def memory(table: Table, peer_python: str) -> None:
    mine, theirs = once("memory 2000000", ours()), once("memory 200000", Contender("peer", peer_python))
    table.row("resident memory, 2,000,000 binary nodes", mine, 100.0, " B/node")
    table.note(f"micrograd 0.1.0: {theirs:.0f} B/node (over 200,000 nodes)")


def flatness(table: Table, rounds: int) -> None:
    sizes = [1_000, 10_000, 100_000, 1_000_000, 3_000_000]
    mine = ours()
    best = dict.fromkeys(sizes, float("inf"))
    try:
        for _ in range(rounds):
            for n in sizes:
                best[n] = min(best[n], mine.ask(f"flat {n}"))
    finally:
        mine.close()
    table.row("time per node, 10^3 to 3·10^6 nodes, slowest/fastest", max(best.values()) / min(best.values()), 2.0, "×")
    table.note(", ".join(f"{n:,}: {t * 1e9:.0f} ns" for n, t in best.items()))


def depth(table: Table) -> None:
    for twin, environment in (("C", {}), ("Python", {"MICROGRAD_PURE": "1"})):
        took = once("deep 3000000", ours(**environment))
        table.note(f"chain of 3,000,000 nodes, {twin} engine: built, backward, freed in {took:.1f} s")
        took = once("wide 1000000", ours(**environment))
        table.note(f"sum of 1,000,000 terms, {twin} engine, as one node and as a chain: {took:.1f} s")


def children() -> float:
    """Processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def import_time(table: Table, rounds: int) -> None:
    """Of fresh interpreters that see the standard library and this package, nothing else."""
    command = [sys.executable, "-I", "-S", "-c"]
    programs = [
        "pass",
        f"import sys; sys.path.insert(0, {str(SRC)!r}); import micrograd; assert micrograd.engine.NATIVE",
    ]
    best = [float("inf")] * 2
    for _ in range(max(10, 3 * rounds)):
        for i, program in enumerate(programs):
            start = children()
            subprocess.run([*command, program], check=True)
            best[i] = min(best[i], children() - start)
    table.row("import micrograd, beyond a bare interpreter", (best[1] - best[0]) * 1e3, 30.0, " ms")
    table.note(f"bare interpreter {best[0] * 1e3:.1f} ms")


def transformer(table: Table) -> None:
    """The rows of transformer_eager.py, in a process of its own."""
    program = "import json, transformer_eager; print(json.dumps(transformer_eager.run()))"
    env = os.environ | {"PYTHONPATH": f"{SRC}{os.pathsep}{HERE}", "MICROGRAD_REQUIRE_NATIVE": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True, text=True)
    for what, measured, relation, target in json.loads(done.stdout):
        if relation is None:
            table.note(f"{what}: {measured:.2f}")
        else:
            table.row(what, measured, target, "×", at_least=relation == ">=")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", required=True, help="a Python that has micrograd 0.1.0 from PyPI")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no depth rows")
    args = parser.parse_args()
    rounds = 3 if args.quick else args.rounds
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    print(f"{machine}; best of {rounds} interleaved rounds\n")
    table = Table()
    speed(table, args.peer, rounds)
    memory(table, args.peer)
    flatness(table, rounds)
    import_time(table, rounds)
    if not args.quick:
        transformer(table)
        depth(table)
    if table.missed:
        print(f"\n{len(table.missed)} figure(s) fall short of their target.")
        return 1
    print("\nEvery figure meets its target.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
