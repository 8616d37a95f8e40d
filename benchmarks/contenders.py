"""Who is timed: this package, C written by hand, and the peers (a process each). All answer in seconds a call."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import works
from clocks import clock, clock_short
from steps import HandSteps, OurSteps, _array

HERE = Path(__file__).resolve().parent
Double, Int = ctypes.c_double, ctypes.c_int


class Contender:
    """Somebody who can do tasks, and says how long they take."""

    name = ""
    version = ""

    def __init__(self) -> None:
        self.timers: dict[str, Callable[[], float]] = {}

    def prepare(self, task: str) -> bool:
        """Get ready for a task; whether it can be done."""
        if task not in self.timers:
            made = self.timer(task)
            if made is None:
                return False
            self.timers[task] = made
        return True

    def timer(self, task: str) -> Callable[[], float] | None:
        raise NotImplementedError

    def time(self, task: str) -> float:
        return self.timers[task]()

    def finish(self, task: str) -> None:
        self.timers.pop(task, None)

    def close(self) -> None:
        pass


class Ours(OurSteps, Contender):
    """This package, called as a user calls it."""

    name = "micrograd"

    def __init__(self) -> None:
        super().__init__()
        import micrograd

        assert micrograd.engine.NATIVE, "the C engine is not built: python setup.py build_ext --inplace"
        self.version = micrograd.__version__

    def timer(self, task: str) -> Callable[[], float] | None:
        kind, _, option = task.partition(" ")
        return getattr(self, kind)(option) if hasattr(self, kind) else None  # type: ignore[no-any-return]

    def point(self, f: Any, args: tuple[float, ...], option: str) -> Callable[[], float]:
        from micrograd import jit, value_and_grad, vmap

        f = f if option.endswith("value") else value_and_grad(f, tuple(range(len(args))))
        if "batch" in option:
            count = 8192 if len(args) == 2 else 64
            spread = np.linspace(0.99, 1.01, count)
            rows, columns = jit(vmap(f, threads=1), wait=True), [x * spread for x in args]
            timed = clock(lambda: rows(*columns))
            return lambda: timed() / count
        g = jit(f, wait=True)
        g(*args)
        if len(args) == 2:
            return clock_short("call(a, b)", call=g, a=args[0], b=args[1])
        return clock(lambda: g(*args))

    def tiny(self, option: str) -> Callable[[], float]:
        return self.point(works.tiny, (-41.0, 2.0), option)

    def readme(self, option: str) -> Callable[[], float]:
        return self.point(works.readme, (-4.0, 2.0), option)

    def lotka(self, option: str) -> Callable[[], float]:
        return self.point(works.lotka, works.RATES, option)

    def moons(self, option: str) -> Callable[[], float]:
        from micrograd import jit, nn, no_grad, optim, vmap

        rows = 100 if option == "step" else 100_000
        X, y = works.moons_rows(rows)
        model = nn.MLP(2, [16, 16, 1])
        for p, x in zip(model.parameters(), works.moons_start(), strict=True):
            p.data = x
        threads = 2 if option.endswith("2") else 1
        loss = jit(vmap(lambda x, y: (1 - y * model(x)).relu(), reduce="mean", threads=threads), wait=True)
        opt = optim.SGD(model.parameters(), lr=0.1)

        def step() -> None:
            L = loss(X, y)
            opt.zero_grad()
            L.backward()
            opt.step()

        def value() -> None:
            with no_grad():
                loss(X, y)

        timed = clock(value if option.endswith("value") else step)
        return timed if rows == 100 else lambda: timed() / rows

    def asian(self, option: str) -> Callable[[], float]:
        from micrograd import jit, math, value_and_grad, vmap

        def price(*args: Any) -> Any:
            return works.asian(*args, math)

        f = price if option == "value" else value_and_grad(price, (0, 1, 2, 3, 4))
        rows = vmap(f, in_axes=(None, None, None, None, None, 1), reduce="mean", threads=2 if option == "2" else 1)
        mean = jit(rows, wait=True)
        z = works.normals()
        timed = clock(lambda: mean(*works.MARKET, z))
        return lambda: timed() / works.PATHS

    def simulation(self, option: str) -> Callable[[], float]:
        from micrograd import jit, math, random, value_and_grad, vmap

        def price(spot: Any, strike: Any, vol: Any, rate: Any, maturity: Any, key: Any, row: Any) -> Any:
            z = [random.normal(key, row=row, draw=t) for t in range(works.DATES)]
            return works.asian(spot, strike, vol, rate, maturity, z, math)

        f = price if option == "value" else value_and_grad(price, (0, 1, 2, 3, 4))
        mean = jit(vmap(f, in_axes=(None,) * 6 + (0,), reduce="mean", threads=1), wait=True)
        rows = np.arange(float(works.PATHS))
        timed = clock(lambda: mean(*works.MARKET, random.key(0), rows))
        return lambda: timed() / works.PATHS

    def gpt(self, option: str) -> Callable[[], float]:
        from micrograd import jit, losses, nn, no_grad, vmap

        model = nn.GPT(works.VOCABULARY, 16, works.WIDTH, 4, 1)
        for p, x in zip(model.parameters(), works.gpt_start(), strict=True):
            p.data = x

        def loss(tokens: Any, following: Any) -> Any:
            return losses.cross_entropy(model(list(tokens)), following)

        tokens, following = works.names()
        if "batch" in option:
            mean = jit(vmap(loss, reduce="mean", threads=1), wait=True)
            args: tuple[Any, Any] = tokens, following
        else:
            mean = jit(loss, wait=True)
            args = tokens[0].tolist(), following[0].tolist()

        def step() -> None:
            mean(*args).backward()

        def value() -> None:
            with no_grad():
                mean(*args)

        timed = clock(value if option.endswith("value") else step)
        return timed if "batch" not in option else lambda: timed() / works.NAMES


class Hand(HandSteps, Contender):
    """The same work in C, as somebody writes it who wants it fast: benchmarks/hand, timed by a loop in C."""

    name = "C by hand"

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        compiler = os.environ.get("CC", "gcc")
        try:
            said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            print(f"hand-written C is left out: there is no {compiler}")
            return
        self.version = said.splitlines()[0]

    def library(self, name: str) -> Any:
        made = Path(self.folder.name) / f"{name}.so"
        if not made.exists():
            flags = ["-O3", "-march=native", "-mprefer-vector-width=512", "-fPIC", "-shared"]
            command = [os.environ.get("CC", "gcc"), *flags, "-o", str(made), str(HERE / "hand" / f"{name}.c")]
            subprocess.run([*command, "-lmvec", "-lm", "-lpthread"], check=True)
        return ctypes.CDLL(str(made))

    def timer(self, task: str) -> Callable[[], float] | None:
        kind, _, option = task.partition(" ")
        return getattr(self, kind)(option) if self.version and hasattr(self, kind) else None  # type: ignore[no-any-return]

    @staticmethod
    def looped(function: Any, *args: Any, least: float = 0.004) -> Callable[[], float]:
        function.restype = Double
        reps = max(1, math.ceil(least / max(function(*args, 1), 1e-9)))
        return lambda: min(function(*args, reps) for _ in range(3))

    def tiny(self, option: str) -> Callable[[], float] | None:
        return (
            None if option else self.looped(self.library("points").time_tiny, _array([-41.0, 2.0]), _array([0.0] * 3))
        )

    def readme(self, option: str) -> Callable[[], float] | None:
        return (
            None if option else self.looped(self.library("points").time_readme, _array([-4.0, 2.0]), _array([0.0] * 3))
        )

    def lotka(self, option: str) -> Callable[[], float] | None:
        if "batch" in option:
            return None
        want = Int(option != "value")
        return self.looped(
            self.library("lotka").time_lotka,
            _array(works.RATES),
            Int(works.STEPS),
            Double(works.STEP),
            _array([0.0] * 7),
            want,
        )

    def moons(self, option: str) -> Callable[[], float] | None:
        if option.endswith("2"):
            return None
        n = 100 if option == "step" else 100_000
        X, y = works.moons_rows(n)
        data = [
            _array(X[:, 0]),
            _array(X[:, 1]),
            _array(y),
            ctypes.c_long(n),
            _array(works.moons_start()),
            _array([0.0] * 337),
        ]
        library = self.library("moons")
        if option == "step":
            return self.looped(library.time_step, *data, Double(0.1))
        timed = self.looped(library.time_moons, *data, Int(not option.endswith("value")))
        return lambda: timed() / n

    def asian(self, option: str) -> Callable[[], float]:
        args = [_array(works.MARKET), _array(works.normals()), ctypes.c_long(works.PATHS), _array([0.0] * 6)]
        timed = self.looped(
            self.library("asian").time_asian, *args, Int(2 if option == "2" else 1), Int(option != "value")
        )
        return lambda: timed() / works.PATHS

    def simulation(self, option: str) -> Callable[[], float] | None:
        if option:
            return None
        args = [_array(works.MARKET), Double(0.0), ctypes.c_long(works.PATHS), _array([0.0] * 6)]
        timed = self.looped(self.library("simulation").time_asian, *args)
        return lambda: timed() / works.PATHS

    def gpt(self, option: str) -> Callable[[], float]:
        tokens, following = works.names()
        count = works.NAMES if "batch" in option else 1
        args = [
            _array(tokens, np.int32),
            _array(following, np.int32),
            Int(works.PLACES),
            Int(count),
            _array(works.gpt_start()),
        ]
        timed = self.looped(
            self.library("gpt").time_gpt, *args, _array([0.0] * 4192), Int(not option.endswith("value"))
        )
        return lambda: timed() / count

    def close(self) -> None:
        self.folder.cleanup()


class Peer(Contender):
    """A library in a process of its own: reads a task a line, answers with one line of seconds, or `no`."""

    def __init__(self, name: str, command: list[str]) -> None:
        super().__init__()
        self.name = name
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MICROGRAD"))}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        first = self.answer()
        self.version = first if first and not first.startswith("missing") else ""
        if not self.version:
            print(f"{name} is left out: {first or 'its process ended'}")

    @staticmethod
    def all(environment: Path) -> list[Contender]:
        """Every peer that this environment has."""
        python = str(environment / "bin" / "python")
        found: list[Contender] = []
        for script, modes in PEERS.items():
            for mode, name in modes.items():
                peer = Peer(name, [python, str(HERE / "peers" / f"{script}.py"), mode])
                if peer.version:
                    found.append(peer)
                else:
                    peer.close()
        return found

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, line: str) -> str:
        if self.process.poll() is not None:
            return ""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def prepare(self, task: str) -> bool:
        said = self.ask(f"prepare {task}")
        if said not in ("yes", "no"):
            print(f"{self.name} cannot do {task!r}: {said or 'its process ended'}")
        return said == "yes"

    def time(self, task: str) -> float:
        said = self.ask(f"time {task}")
        return float(said) if said else math.inf

    def finish(self, task: str) -> None:
        self.ask(f"finish {task}")

    def close(self) -> None:
        if self.process.poll() is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait()


PEERS = {
    "micrograd_010": {"": "micrograd 0.1.0"},
    "torch_": {"": "torch", "compiled": "torch compiled"},
    "jax_": {"1": "jax", "2": "jax"},
    "casadi_": {"": "casadi", "C": "casadi C"},
    "autograd_": {"": "autograd"},
    "xad_": {"": "xad"},
}
