"""What a cluster costs: the same simulation by threads of this process and by workers of a local cluster, in one run.

    python benchmarks/cluster.py [--seconds 10] [--rounds 3]

Prints the overhead (target: at most 10 % at 10 s of work), the time of a chunk on its worker, and the size of its messages.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from micrograd import random, value_and_grad, vmap
from micrograd.cli.cluster import MARKET, payoff

CORES = os.cpu_count() or 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of work by threads")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    from distributed import Client, LocalCluster

    f = value_and_grad(payoff, argnums=(0, 1, 2))
    how = {"in_axes": (None,) * 4 + (0,), "reduce": "mean"}
    market = [*MARKET.values(), random.key(0)]
    threads = vmap(f, **how, threads=CORES)
    probe = np.arange(2_000_000)
    threads(*market, probe)
    start = perf_counter()
    threads(*market, probe)
    paths = int(len(probe) * args.seconds / (perf_counter() - start))
    rows = np.arange(paths)
    settings = {"n_workers": CORES, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(host="127.0.0.1", **settings) as local, Client(local) as client:
        cluster = vmap(f, **how, client=client)
        cluster(*market, range(1))
        overheads = []
        for _ in range(args.rounds):
            start = perf_counter()
            here = threads(*market, rows)
            one = perf_counter() - start
            start = perf_counter()
            there = cluster(*market, range(paths))
            two = perf_counter() - start
            assert here == there, "the bits differ"
            overheads.append(two / one - 1.0)
            print(f"{paths:,} paths: {one:.2f} s by {CORES} threads, {two:.2f} s by {CORES} workers", flush=True)
        done = cluster.last_run
    overhead = median(overheads)
    print(f"overhead {overhead:+.1%} (target: at most 10 %)")
    print(
        f"{done.done} chunks, {1000 * done.seconds / done.done:.1f} ms each, results {done.bytes / done.done / 1024:.2f} kB"
    )
    program = pickle.dumps([v.tape for v in cluster.variants])
    print(f"the program is {len(program) / 1024:.1f} kB, sent once to each worker that asks for it")
    return 0 if overhead <= 0.10 else 1


if __name__ == "__main__":
    sys.exit(main())
