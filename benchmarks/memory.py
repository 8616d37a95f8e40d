"""Resident memory after a large graph is freed: python benchmarks/memory.py [--nodes 10000000]

Each line is a process of its own. Ratios are of resident memory after the graph was freed to what is in use then: the process
as it was before, and 96 bytes with a header of 16 for each node that is kept. Fails where the first is above 1.15.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

PROGRAM = """
import gc, os, sys
from micrograd import Value

NODES, EVERY, TIMES = map(int, sys.argv[1:4])


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


before = resident()
for _ in range(TIMES):
    y, kept = Value(1.0), []
    for k in range(NODES):
        y = y * 1.0
        if EVERY and k % EVERY == 0:
            kept.append(Value(2.0))
    most = resident()
    del y
    gc.collect()
in_use = before + len(kept) * 112 + sys.getsizeof(kept)
print(before, most, resident(), in_use)
"""

CASES = [
    ("one graph, nothing kept", 0, 1),
    ("three graphs in a row, nothing kept", 0, 3),
    ("one node in 1,000 kept", 1000, 1),
    ("one node in 30,000 kept", 30_000, 1),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000_000)
    nodes = parser.parse_args().nodes
    print(f"{nodes:,} nodes            at most   after   in use   after / in use")
    worst = 0.0
    for name, every, times in CASES:
        command = [sys.executable, "-c", PROGRAM, str(nodes), str(every), str(times)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        _, most, after, in_use = (int(x) / 1e6 for x in done.stdout.split())
        print(f"{name:36}{most:7.0f}{after:8.1f}{in_use:9.1f} MB{after / in_use:10.2f}", flush=True)
        worst = worst or after / in_use
    return 0 if worst <= 1.15 else 1


if __name__ == "__main__":
    sys.exit(main())
