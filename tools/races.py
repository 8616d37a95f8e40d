"""Let threads change what compiled functions read from outside while others call them, and count what is kept.

python tools/races.py 1000            a thousand races
python tools/races.py 1000 --seed 7   the same with other moments

In each race one or two threads call a new compiled function, and one thread assigns to something that the function reads: an
attribute, a global name, a variable of a function around, an item of a list, of a dict or of an array. When all of them have
ended, the function is called again. It has to give what plain Python gives then, in every later call. During the race it gives
any number that stood there, or a TraceError that says that something else has changed it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from micrograd import TraceError, grad, jit, math, vmap

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "races.json"
k = 0.0  # the global name
Program = tuple[Callable[[Any], Any], Callable[[float], None]]  # a function, and what changes something that it reads


def attribute() -> Program:
    """Read an attribute of an object."""
    c = SimpleNamespace(k=0.0)
    return lambda a: a * c.k + 1.0, lambda x: setattr(c, "k", x)


def read_twice() -> Program:
    """Read an attribute at two places, between which there is much to do."""
    c = SimpleNamespace(k=0.0)

    def f(a: Any) -> Any:
        s = a * c.k
        for i in range(300):
            s = s * 0.5 + i
        return s + c.k

    return f, lambda x: setattr(c, "k", x)


def global_name() -> Program:
    """Read a global name."""

    def change(x: float) -> None:
        global k
        k = x

    return lambda a: a * k + 1.0, change


def variable() -> Program:
    """Read a variable of a function around."""
    held = 0.0

    def change(x: float) -> None:
        nonlocal held
        held = x

    return lambda a: a * held + 1.0, change


def item_of_a_list() -> Program:
    """Read a list."""
    held = [0.0, 1.0]
    return lambda a: a * held[0] + held[1], lambda x: held.__setitem__(0, x)


def item_of_a_dict() -> Program:
    """Read a dict."""
    held = {"k": 0.0}
    return lambda a: a * held["k"] + 1.0, lambda x: held.__setitem__("k", x)


def item_of_an_array() -> Program:
    """Read an array."""
    held = np.zeros(3)
    return lambda a: a * float(held[1]) + 1.0, lambda x: held.__setitem__(1, x)


def method() -> Program:
    """Call a method that reads its object."""

    class Model:
        k = 0.0

        def value(self, a: Any) -> Any:
            return a * self.k + 1.0

    model = Model()
    return model.value, lambda x: setattr(model, "k", x)


def branch() -> Program:
    """Decide by something outside."""
    c = SimpleNamespace(k=0.0)
    return lambda a: a * 2.0 if c.k % 2.0 else math.exp(-a) + c.k, lambda x: setattr(c, "k", x)


def branch_of_rows() -> Program:
    """Decide by an argument, and read something in one branch."""
    c = SimpleNamespace(k=0.0)
    return lambda a: a * c.k if a > 1.0 else a - c.k, lambda x: setattr(c, "k", x)


PROGRAMS = [
    attribute, read_twice, global_name, variable, item_of_a_list, item_of_a_dict, item_of_an_array, method, branch,
    branch_of_rows,
]  # fmt: skip
WAYS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {  # how it is compiled, and what that has to give
    "jit": (jit, lambda f: f(3.0)),
    "jit, exact": (lambda f: jit(f, exact=True), lambda f: f(3.0)),
    "jit, wait": (lambda f: jit(f, wait=True), lambda f: f(3.0)),
    "gradient": (lambda f: jit(grad(f)), lambda f: grad(f)(3.0)),
    "rows": (lambda f: _of_rows(vmap(f)), lambda f: [f(0.5), f(3.0), f(2.0)]),
    "sums": (lambda f: _of_rows(vmap(f, reduce="sum")), lambda f: sum([f(0.5), f(3.0), f(2.0)])),
}


def _of_rows(f: Any) -> Callable[[float], Any]:
    rows = np.array([0.5, 3.0, 2.0])
    return lambda _: f(rows)


def _numbers(choose: random.Random) -> Iterator[float]:
    """What is assigned: other numbers each time, or two in turn."""
    if choose.random() < 0.5:
        yield from map(float, range(1, 10**9))
    while True:
        yield from (1.0, 2.0)


def race(make: Callable[[], Program], way: str, choose: random.Random) -> Counter[str]:
    """What came of one race."""
    function, change = make()
    compiled, expected = WAYS[way]
    h = compiled(function)
    numbers, stop, found = _numbers(choose), threading.Event(), Counter[str]()
    pause, length = choose.choice((0.0, 0.0, 1e-5, 1e-4, 1e-3)), choose.uniform(0.001, 0.05)

    def write() -> None:
        while not stop.is_set():
            change(next(numbers))
            if pause:
                time.sleep(pause)

    def call() -> None:
        while not stop.is_set():
            try:
                h(3.0)
            except TraceError as error:
                found["told" if "something else" in str(error) else "blamed the function"] += 1
                if "something else" not in str(error):
                    print(f"{make.__name__}, {way}: {error}", flush=True)

    sys.setswitchinterval(choose.choice((1e-6, 1e-5, 1e-4, 5e-3)))
    threads = [threading.Thread(target=t) for t in (write, *[call] * choose.choice((1, 1, 2)))]
    for t in threads:
        t.start()
    time.sleep(length)
    stop.set()
    for t in threads:
        t.join()
    sys.setswitchinterval(5e-3)
    want = expected(function)
    for _ in range(3):
        right = np.allclose(h(3.0), want, rtol=1e-12)
        found["right" if right else "stale"] += 1
        if not right:
            print(f"{make.__name__}, {way}: {h(3.0)} instead of {want}", flush=True)
    return found


def main() -> int:
    """Run the races."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="how many races")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    choose, found, begin = random.Random(options.seed), Counter[str](), time.monotonic()
    warnings.simplefilter("ignore")  # of functions that are traced again and again
    for n in range(options.count):
        found += race(PROGRAMS[n % len(PROGRAMS)], choose.choice(list(WAYS)), choose)
        if n % 100 == 99:
            print(f"{n + 1} races: {dict(found)}", flush=True)
    result = {"races": options.count, "ends": dict(found), "seconds": round(time.monotonic() - begin)}
    print(json.dumps(result))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result) + "\n")
    return 1 if found["stale"] or found["blamed the function"] else 0


if __name__ == "__main__":
    sys.exit(main())
