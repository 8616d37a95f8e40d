"""A loop stays a loop: RK4 with 1,000, 10,000 and 1,000,000 steps, value and gradient, beside C by hand.

    python benchmarks/loops.py       about 20 seconds

The program is plain Python. For each number of steps, in a process of its own and without a cache on disk: the seconds to trace
and compile it, the time of a step beside that of benchmarks/hand/lotka.c (which keeps the states of all stages), and the
memory that the process has taken at most beyond what it had before. Fails where a figure misses its target.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

STEPS = (1_000, 10_000, 1_000_000)
START = [1.1, 0.4, 0.4, 0.1, 2.0, 3.0]
TIME = 10.0  # from the first step to the last
RATIO, SECONDS, MEGABYTES, SPREAD = 1.3, 1.0, 200.0, 1.5  # the targets


def one(steps: int) -> dict[str, float]:
    """The figures of one number of steps, in this process."""
    import works
    from contenders import Double, Hand, _array
    from micrograd import jit, value_and_grad

    def compiled(n: int) -> Any:
        return jit(value_and_grad(works.rk4(n, TIME / n), tuple(range(6))), wait=True)

    compiled(200)(*START)  # a warm-up of LLVM, and of what is imported late
    seconds = []
    for _ in range(5):
        f = compiled(steps)
        start = time.perf_counter()
        f.source(*START)  # traced, compiled, and not run
        seconds.append(time.perf_counter() - start)
    compile_time = min(seconds)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    value, slopes = f(*START)
    result = [value, *slopes]
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024

    def ours() -> float:
        reps = max(1, 200_000 // steps)
        start = time.perf_counter()
        for _ in range(reps):
            f(*START)
        return (time.perf_counter() - start) / reps / steps

    function, out = Hand().library("lotka").time_lotka, _array([0.0] * 7)
    function.restype = Double
    reps = max(1, 200_000 // steps)

    def hand() -> float:
        return float(function(_array(START), steps, Double(TIME / steps), out, 1, reps)) / steps

    rounds = [(ours(), hand()) for _ in range(9)]
    want = [float(x) for x in out.kept]
    worst = max(abs(x - y) / max(abs(y), 1e-3) for x, y in zip(result, want))
    assert worst < 1e-8, (result, want)
    mine, by_hand = (min(times) * 1e9 for times in zip(*rounds))
    return {"compile": compile_time, "ns": mine, "hand": by_hand, "memory": memory}


def main() -> None:
    """Print the figures; exit with 1 where one misses its target."""
    figures = []
    for steps in STEPS:
        environment = {**os.environ, "MICROGRAD_CACHE": "0"}
        command = [sys.executable, __file__, "one", str(steps)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        figures.append(json.loads(done.stdout))
    print(f"{'steps':>9}  {'compile':>8}  {'a step':>8}  {'C by hand':>9}  {'ratio':>5}  {'memory':>8}")
    for steps, f in zip(STEPS, figures):
        ratio = f["ns"] / f["hand"]
        times = f"{f['ns']:>5.1f} ns  {f['hand']:>6.1f} ns  {ratio:>5.2f}"
        print(f"{steps:>9,}  {f['compile']:>6.3f} s  {times}  {f['memory']:>5.0f} MB")
    seconds = [f["compile"] for f in figures]
    missed = [
        *(
            f"a step of {s:,} takes more than {RATIO} times C by hand"
            for s, f in zip(STEPS, figures)
            if f["ns"] > RATIO * f["hand"]
        ),
        *([f"compiling takes more than {SECONDS} s"] if max(seconds) > SECONDS else []),
        *([f"compile times differ by more than {SPREAD} times"] if max(seconds) > SPREAD * min(seconds) else []),
        *([f"a million steps take more than {MEGABYTES:.0f} MB"] if figures[-1]["memory"] > MEGABYTES else []),
    ]
    print("\n".join(missed) or "every figure meets its target")
    sys.exit(bool(missed))


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "one":
        print(json.dumps(one(int(sys.argv[2]))))
    else:
        main()
