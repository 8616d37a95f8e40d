"""Many threads at once, with the interpreter lock and without it: what they share is read, and what they write is their own.

On a free-threaded Python these tests run without the lock, and `make test-parallel` runs each of them in several threads.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from threads import together
from twins import FREE_THREADED

THREADS = 6


@pytest.fixture(autouse=True)
def often(request: pytest.FixtureRequest) -> Any:
    """Let threads take turns often, where there is a lock to hand over."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.skipif(not FREE_THREADED, reason="this Python has an interpreter lock")
def test_importing_the_package_leaves_the_lock_off(run_python):
    program = (
        "import sys, micrograd, micrograd.nn, micrograd.learn; print(sys._is_gil_enabled(), micrograd.engine.NATIVE)"
    )
    assert run_python(program, MICROGRAD_PURE="1").stdout.split() == ["False", "False"]
    said = run_python(program, MICROGRAD_PURE="0")
    assert said.stdout.split() == ["False", "False"]
    assert "use a build of Python that is not free-threaded" in said.stderr


def test_graphs_of_their_own_over_shared_leaves(mg):
    shared = [mg.Value(0.1 * i) for i in range(10)]

    def work(i: int) -> list[float]:
        found = []
        for k in range(60):
            own = mg.Value(float(i + k))
            total = own * 0.0
            for v in shared:
                total = total + (v * own).tanh() * v.detach()
            found.append(total.data)
            (own * own + total.detach()).backward()  # shared leaves are read, not written
            found.append(own.grad)
        return found

    alone = [work(i) for i in range(THREADS)]
    assert together(work, THREADS) == alone


def test_each_thread_trains_a_model_of_its_own(mg):
    from micrograd import nn, optim, random

    def work(i: int) -> list[float]:
        model = nn.MLP(2, [4, 1], rng=i)
        optimizer = optim.Adam(model.parameters(), lr=0.05)
        for step in range(12):
            x = [random.normal(i, step), random.normal(i, step + 100)]
            loss = (model(x) - x[0] * x[1]) ** 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [p.data for p in model.parameters()]

    alone = [work(i) for i in range(THREADS)]
    assert together(work, THREADS) == alone


def test_transforms_of_one_function_in_all_threads(mg):
    def f(x: Any, y: Any) -> Any:
        return mg.math.sin(x * y) / (1.0 + x * x)

    def work(i: int) -> list[Any]:
        x, y = 0.3 + i, 1.7 - 0.1 * i
        return [mg.grad(f)(x, y), mg.value_and_grad(f)(x, y), mg.hessian(lambda v: f(v[0], v[1]))([x, y])]

    alone = [work(i) for i in range(THREADS)]
    for _ in range(3):
        assert together(work, THREADS) == alone


def test_a_compiled_function_whose_first_calls_come_at_once(mg):
    def f(x: Any, n: int) -> Any:
        total = x * 0.0
        for k in range(n):
            total = total + mg.math.exp(-x * k) if x > k else total - x
        return total

    for _ in range(4):
        compiled = mg.jit(f, static_argnums=1)

        def work(i: int, compiled: Any = compiled) -> list[tuple[float, float]]:
            found = []
            for k in range(6):
                x = mg.Value(0.5 + (i + k) % THREADS)
                y = compiled(x, 4)
                y.backward()
                found.append((y.data, x.grad))
            return found

        def plain(i: int) -> list[tuple[float, float]]:
            return work(i, f)

        for got, expected in zip(together(work, THREADS), [plain(i) for i in range(THREADS)], strict=True):
            assert got == [(pytest.approx(a, rel=1e-14), pytest.approx(b, rel=1e-14)) for a, b in expected]


def test_modes_belong_to_the_thread_that_set_them(mg):
    leaf = mg.Value(2.0)

    def work(i: int) -> bool:
        right = True
        for _ in range(200):
            if i % 2:
                with mg.no_grad():
                    right &= (leaf * 3.0)._prev == ()
            else:
                right &= len((leaf * 3.0 + leaf)._prev) == 2
        return right

    assert all(together(work, THREADS))


def test_ops_of_users_made_at_once(mg):
    def work(i: int) -> tuple[float, float]:
        for k in range(20):

            @mg.primitive(lambda x, y: i * x ** (i - 1) if i else 0.0)
            def power(x: float) -> float:
                return x**i

            x = mg.Value(1.5 + k)
            y = power(x)
            y.backward()
        return y.data, x.grad

    assert together(work, THREADS) == [(20.5**i, i * 20.5 ** (i - 1) if i else 0.0) for i in range(THREADS)]


def test_a_trace_sees_its_own_thread_only(mg):
    stop = threading.Event()

    def noise() -> None:
        v = mg.Value(1.0)
        while not stop.is_set():
            w = (v * 1.0001 + 1e-9).tanh()
            bool(w > 0.5)  # a comparison, which a trace of this thread would keep as a guard
            v = mg.Value(w.data + 0.3)

    others = [threading.Thread(target=noise) for _ in range(2)]
    for thread in others:
        thread.start()
    try:
        for k in range(60):
            assert mg.grad(lambda x, k=k: x * x * k if x > 0 else -x)(3.0) == 6.0 * k
            tape = mg.jit(lambda x: x * x + 1.0).tape(2.0)
            assert len(tape.ops) <= 5, tape
    finally:
        stop.set()
        for thread in others:
            thread.join(60)
