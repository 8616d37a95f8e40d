"""What a cluster costs: the same simulation by threads of this process and by workers of a local cluster, in one run.

    python benchmarks/cluster.py [--seconds 10] [--rounds 3] [--plain]

Dask runs with the settings that docs/cluster.md recommends, or with --plain as it comes. Prints the overhead (target: at most
10 % at 10 s of work), by the clock and in processor time, which is what to look at on a machine that does other work too; the
time of a chunk on its worker, and the size of its messages.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from micrograd import random, value_and_grad, vmap
from micrograd.cli.cluster import MARKET, payoff

CORES = os.cpu_count() or 1
# as docs/cluster.md has them: without them Dask looks at itself many times a second
SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}


def processor(client) -> float:
    """Seconds of processor time that this process (with the scheduler in it) and the workers have used."""
    return sum(os.times()[:2]) + sum(sum(used) for used in client.run(lambda: os.times()[:2]).values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of work by threads")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--plain", action="store_true", help="Dask as it comes, without the settings of docs/cluster.md"
    )
    args = parser.parse_args()
    import dask
    from distributed import Client, LocalCluster

    f = value_and_grad(payoff, argnums=(0, 1, 2))
    how = {"in_axes": (None,) * 4 + (0,), "reduce": "mean"}
    market = [*MARKET.values(), random.key(0)]
    threads = vmap(f, **how, threads=CORES)
    probe = np.arange(2_000_000)
    threads(*market, probe)
    start = sum(os.times()[:2])
    threads(*market, probe)
    paths = int(
        len(probe) * args.seconds * CORES / (sum(os.times()[:2]) - start)
    )  # as on a machine with nothing else to do
    rows = np.arange(paths)
    dask.config.set({} if args.plain else SETTINGS)
    settings = {"n_workers": CORES, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(host="127.0.0.1", **settings) as local, Client(local) as client:
        cluster = vmap(f, **how, client=client)
        cluster(*market, range(1))
        overheads, added = [], []
        for _ in range(args.rounds):
            start, busy = perf_counter(), processor(client)
            here = threads(*market, rows)
            one, busy_one = perf_counter() - start, processor(client) - busy
            start, busy = perf_counter(), processor(client)
            there = cluster(*market, range(paths))
            two, busy_two = perf_counter() - start, processor(client) - busy
            assert here == there, "the bits differ"
            overheads.append(two / one - 1.0)
            added.append(busy_two / busy_one - 1.0)
            print(
                f"{paths:,} paths: {one:.2f} s by {CORES} threads ({busy_one:.2f} s of processor time), "
                f"{two:.2f} s by {CORES} workers ({busy_two:.2f} s)",
                flush=True,
            )
        done = cluster.last_run
        idle = processor(client)
        sleep(5.0)
        idle = (processor(client) - idle) / 5.0
    overhead = median(overheads)
    print(f"overhead {overhead:+.1%} by the clock (target: at most 10 %), {median(added):+.1%} of processor time")
    print(f"of that, Dask takes {idle / CORES:.1%} of {CORES} cores when it has nothing to do")
    each = sorted(done.sizes)
    print(
        f"{done.done} chunks, {1000 * done.seconds / done.done:.0f} ms each on average, from {each[0]:,} to {each[-1]:,} rows; "
        f"results {done.bytes / done.done / 1024:.1f} kB each"
    )
    program = pickle.dumps([v.tape for v in cluster.variants])
    print(f"the program is {len(program) / 1024:.1f} kB, sent once to each worker that asks for it")
    return 0 if overhead <= 0.10 else 1


if __name__ == "__main__":
    sys.exit(main())
