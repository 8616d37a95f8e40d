"""Allocation number n fails, for every n, in the operations of the C engine: a MemoryError, and everything as it was before."""

from __future__ import annotations

import copy
import gc
import itertools

import pytest

from twins import NATIVE, C

_testcapi = pytest.importorskip("_testcapi", reason="CPython's own test helpers make allocations fail")
pytestmark = pytest.mark.skipif(not NATIVE, reason="the C twin is not built")


class Token:
    """Something to hang on a node."""


def operations():
    Value, mg, engine, OPS = C.Value, C.math, C.engine, C.ops.OPS
    x, y, z = Value(0.5), Value(0.25), Value(2.0, label="z")
    xs = [Value(0.01 * i) for i in range(70)]
    root = mg.sum([a * b.tanh() for a, b in itertools.pairwise(xs)]) + x * y
    hooked = Value(1.0, (root,), "by hand")
    hooked._backward = lambda: setattr(root, "grad", root.grad + hooked.grad)
    box = Token()
    yield "operators", lambda: x * y + 2.0 - z / x
    yield "a method", lambda: x.tanh()
    yield "three inputs", lambda: mg.where(x, y, z)
    yield "a long sum", lambda: mg.sum(xs)
    yield "a dot", lambda: mg.dot(xs, xs)
    yield "an iterator", lambda: mg.mean(iter(xs))
    yield "a Value", lambda: Value(1.0)
    yield "a Value by hand", lambda: Value(1.0, (x, y), "mine", label="name")
    yield "local derivatives", lambda: Value(1.0, [x, y], [2.0, 3.0])
    yield "apply", lambda: engine.apply(OPS["mul"], x, 3)
    yield "node", lambda: engine.node(1.0, OPS["mul"], [x, y], [1.0, None])
    yield "attributes", lambda: ((x * y)._prev, (x * 2.0)._prev, (x * y)._partials, (x * y)._op, z._op)
    yield "an attribute", lambda: setattr(x * y, "box", box)
    yield "other inputs", lambda: setattr(x * y, "_prev", (z, z))
    yield "text", lambda: (repr(z), f"{x:.3f}")
    yield "comparisons", lambda: (x < y, x == 2, bool(x), float(x), int(z), round(x, 1))
    yield "comparisons with exact numbers", lambda: (x < 2**60, x == -(2**70), x >= 10**400)
    yield "backward", root.backward
    yield "backward with a hook", hooked.backward
    yield "zero_grad", lambda: (root * 1.0).zero_grad()
    yield "copies", lambda: (copy.copy(root), copy.deepcopy(x * y))
    yield "no_grad", lambda: [C.engine.set_recording(on) for on in (False, True)]
    yield "a block of no_grad", without_recording


def without_recording():
    with C.engine.no_grad():
        pass


@pytest.mark.parametrize("name", [name for name, _ in (operations() if NATIVE else ())])
def test_every_allocation_fails_once(name):
    operation = dict(operations())[name]
    operation()  # whatever is made the first time only
    before = gc.isenabled()
    gc.disable()
    failed = 0
    try:
        for n in range(1, 3_000):
            _testcapi.set_nomemory(n, n + 1)
            try:
                operation()
                done = True
            except MemoryError:
                done = False
            finally:
                _testcapi.remove_mem_hooks()
            failed += not done
            if done and n > 3 and failed < n - 40:  # the operation needs fewer allocations than that
                break
        else:
            pytest.fail("it never came to an end")
    finally:
        if before:
            gc.enable()
    operation()  # and it still works


def test_gradients_are_as_before():
    """backward() that runs out of memory has not been called."""
    Value = C.Value
    xs = [Value(0.5) for _ in range(600)]
    for k, v in enumerate(xs):
        v.grad = float(k)
    roots = []
    for v in xs:
        roots.append(v * 2.0 + (roots[-1] if roots else 1.0))
    root = roots[-1]
    root.backward()
    before = [v.grad for v in [*xs, *roots]]
    gave_up = 0
    for n in range(1, 40):
        _testcapi.set_nomemory(n, n + 1)
        try:
            root.backward(3.0)
        except MemoryError:
            gave_up += 1
            _testcapi.remove_mem_hooks()
            assert [v.grad for v in [*xs, *roots]] == before
        finally:
            _testcapi.remove_mem_hooks()
        before = [v.grad for v in [*xs, *roots]]
    root.zero_grad()
    root.backward()
    assert xs[0].grad == 2.0
