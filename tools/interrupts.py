"""Send real interrupts to processes that call compiled functions for the first time, and count how the processes end.

python tools/interrupts.py 1000            a thousand interrupts, at random moments
python tools/interrupts.py 1000 --seed 7   the same with other moments

Each process runs one of the programs below. It gets SIGINT once, twice or three times, each at a random moment between its
start (before micrograd is imported) and its end. It catches KeyboardInterrupt and goes on, until all its results are there. It
ends well if its results are right, if it does not say that something is missing which is there, and if it ends by itself: with
status 0, or with the traceback of a KeyboardInterrupt that came where the program does not catch it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "interrupts.json"
LIMIT = 30.0  # seconds after which a process is said to never end; the slowest one takes 2 s on an idle machine

# What precedes each program: `again` calls a function until it is not interrupted, and compares what it returns.
HEAD = """
import faulthandler, os, signal, sys
faulthandler.register(signal.SIGUSR1)
def again(run, right):
    while True:
        try:
            result = run()
            break
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    if result != right:
        print("wrong:", result, "instead of", right, flush=True)
        os._exit(3)
def load():
    global Value, jit, math, value_and_grad, vmap
    from micrograd import Value, jit, math, value_and_grad, vmap
again(load, None)
"""

PROGRAMS = {
    "waits for machine code": """
for k in range(6):
    f = jit(lambda x: x * k + 1.5, wait=True)
    again(lambda: f(2.0), 2.0 * k + 1.5)
""",
    "compiles in the background": """
for k in range(6):
    f = jit(lambda x: x * k + 1.5)
    again(lambda: f(2.0), 2.0 * k + 1.5)
again(lambda: f(2.0), 2.0 * k + 1.5)
""",
    "ends while it compiles": """
def long(x, y):
    for k in range(600):
        x = x * y + k
    return x
for k in range(3):
    f = jit(lambda x: long(x + k, 0.5))
    again(lambda: f(2.0), long(2.0 + k, 0.5))
""",
    "background, then foreground": """
fs = [jit(lambda x, k=k: x * k + math.floor(x)) for k in range(4)]
for k, f in enumerate(fs):
    again(lambda: f(2.5), 2.5 * k + 2.0)
for k in range(4):
    f = jit(lambda x: x * k - 1.0, wait=True)
    again(lambda: f(2.0), 2.0 * k - 1.0)
""",
    "rows": """
for k in range(3):
    f = vmap(lambda x: x * k if x > 1.0 else -x)
    again(lambda: f([0.5, 2.0]).tolist(), [-0.5, 2.0 * k])
""",
    "gradients": """
for k in range(4):
    f = jit(value_and_grad(lambda x: x * x * k), wait=bool(k % 2))
    again(lambda: f(2.0), (4.0 * k, 4.0 * k))
v = Value(3.0)
g = jit(lambda x: x * v, wait=True)
again(lambda: g(2.0).data, 6.0)
""",
    "functions that are dropped": """
import gc
for k in range(12):
    f = jit(lambda x: x * k + 1.5, wait=bool(k % 3))
    again(lambda: f(2.0), 2.0 * k + 1.5)
    del f
    again(lambda: gc.collect() < 0, False)
""",
    "a forked process": """
def forked():
    import warnings
    warnings.simplefilter("ignore")
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if jit(lambda x: x * 3.0, wait=True)(2.0) == 6.0 else 3)
        except KeyboardInterrupt:
            os._exit(0)
    while True:
        try:
            return os.waitpid(child, 0)[1]
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        except ChildProcessError:  # the interrupt came when its status was there, and took it away
            return forked()
f = jit(lambda x: x * 2.0 + 1.0)
again(lambda: f(2.0), 5.0)
again(forked, 0)
again(lambda: jit(lambda x: x * 2.0 + 4.0, wait=True)(2.0), 8.0)
""",
    "at exit": """
import atexit
def last():
    again(lambda: jit(lambda x: x * 2.0 + 4.0, wait=True)(2.0), 8.0)
atexit.register(last)
f = jit(lambda x: x * 2.0 + 1.0)
again(lambda: f(2.0), 5.0)
""",
}


def duration(command: list[str], environment: dict[str, str]) -> float:
    """How long a process takes that is not interrupted; the longer one of two."""
    took = []
    for _ in range(2):
        start = time.monotonic()
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=LIMIT)
        took.append(time.monotonic() - start)
    return max(took)


def interrupted(command: list[str], environment: dict[str, str], moments: list[float]) -> tuple[str, int, str]:
    """How a process ends that is interrupted at these moments; how many of them it lived to see, and what it printed."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
        start, sent = time.monotonic(), 0
        for moment in moments:
            try:
                process.wait(max(0.0, start + moment - time.monotonic()))
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                sent += 1
        try:
            process.wait(LIMIT)
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
            process.send_signal(signal.SIGUSR1)  # so that it says where it is
            time.sleep(1.0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # itself, and processes that it has forked
        process.wait()
        output.seek(0)
        text = output.read()
    return verdict(ended, process.returncode, text), sent, text


def verdict(ended: bool, status: int, text: str) -> str:
    """How a process ended, in words."""
    if not ended:
        return "did not end"
    if "not installed" in text:
        return "said that something is not installed"
    if "wrong:" in text:
        return "wrong result"
    if status == 0:
        return "went on" if "interrupted" in text else "was not disturbed"
    lines = text.splitlines()
    if status in (-signal.SIGINT, 130) or (status == 1 and "KeyboardInterrupt" in lines):
        return "crashed" if any("Error" in line.split(":")[0] for line in lines) else "ended by KeyboardInterrupt"
    return f"crashed with status {status}"


GOOD = ("went on", "was not disturbed", "ended by KeyboardInterrupt")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="how many interrupts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=PROGRAMS, help="one of the programs")
    options = parser.parse_args()
    # A shell's background job ignores interrupts, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    choose = random.Random(options.seed)
    environment = {**os.environ, "MICROGRAD_CACHE": "off"}
    names = [options.only] if options.only else list(PROGRAMS)
    commands = {name: [sys.executable, "-c", HEAD + PROGRAMS[name]] for name in names}
    took = {name: duration(command, environment) for name, command in commands.items()}
    ends: Counter[str] = Counter()
    sent = processes = 0
    begin = time.monotonic()
    while sent < options.count:
        name = names[processes % len(names)]
        moments = sorted(choose.uniform(0.0, 1.1 * took[name]) for _ in range(choose.choice((1, 1, 2, 3))))
        end, interrupts, text = interrupted(commands[name], environment, moments)
        sent, processes = sent + interrupts, processes + 1
        ends[end] += 1
        if end not in GOOD:
            print(f"{name}, interrupted after {moments}: {end}\n{text}", flush=True)
        if processes % 50 == 0:
            print(f"{sent} interrupts, {processes} processes: {dict(ends)}", flush=True)
    found = {"interrupts": sent, "processes": processes, "ends": dict(ends), "seconds": round(time.monotonic() - begin)}
    print(json.dumps(found))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found) + "\n")
    if not ends["went on"]:
        print("no process went on after an interrupt: the signals do not reach them")
        return 1
    return 0 if all(end in GOOD for end in ends) else 1


if __name__ == "__main__":
    sys.exit(main())
