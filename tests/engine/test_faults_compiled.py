"""Allocation number n fails, for every n, in the C entry points of compiled code, traces and optimizers.

Each ends in a MemoryError or in the right result; Values and arrays are as before; nothing is left behind.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import itertools
import pickle
import sys
import types
from collections import namedtuple

import pytest

from micrograd.compile import worker
from random_programs import needs_llvm
from twins import NATIVE, C

_testcapi = pytest.importorskip("_testcapi", reason="CPython's own test helpers make allocations fail")
np = pytest.importorskip("numpy")
pytestmark = [needs_llvm, pytest.mark.skipif(not NATIVE, reason="the C twin is not built")]

# What needs no new memory, as a rule: a node comes from a slab that is there.
WITHOUT = {"point with plain numbers", "point of a method", "point with captured Values", "point with Values",
           "norm of gradients", "numbers of slots", "scopes_in_use", "attributes", "point itself",
           "rows, summed, with gradients", "point with ints", "point with Values that a result does not read",
           "rows, summed, without recording"}  # fmt: skip
ROWS = 5_000  # several blocks, and more than one thread


Pair = namedtuple("Pair", "a b")


class Scaled:
    def __init__(self, k):
        self.k = k

    def times(self, x):
        return self.k * x


class Place:
    """Values and arrays that operations read; `state` tells whether one of them has changed."""

    def __init__(self):
        self.w = [C.Value(0.1 * k) for k in range(1, 4)]
        self.x = [C.Value(0.5), C.Value(-1.5)]
        self.rows = np.linspace(-2.0, 2.0, ROWS)
        self.many = np.linspace(-2.0, 2.0, 500 * ROWS)  # more sums than a call keeps on the stack
        self.held = types.SimpleNamespace(x=1.5, n=1)
        self.many_numbers, self.few, self.pair = [0.5] * 200, np.array([1.0, 2.0]), Pair(1.0, 2.0)
        self.nested = (1.0, [2.0, [self.w[0], 3.0]], (4.0, 5.0))

    def state(self):
        return [(v.data, v.grad) for v in [*self.w, *self.x]], self.rows.tobytes()


def operations(p):
    from micrograd import _engine, jit, math, vmap
    from micrograd.optim.slots import Slots

    w, x = p.w, p.x

    def scalar(a, b):
        return math.tanh(a * w[0] + w[1]) * b + w[2]

    def branching(a):
        return a * w[0] if a > 0.0 else math.exp(a) * w[1]

    point, plain = jit(scalar, wait=True), jit(lambda a, b: [a * b, (a + b, {"c": a})], wait=True)
    structured = jit(lambda a, h, k: a[0] * a[1][0] + h.x * k["a"] * k["b"].x, wait=True)
    long = jit(lambda xs: [x * x for x in xs], wait=True)
    shaped = jit(lambda q, a: (Pair(q.a * a[0], q.b), np.array([a[0] * q.b, a[1]])), wait=True)
    method = jit(Scaled(2.0).times, wait=True)
    some = jit(lambda a, b: [a * w[0], b * w[1]], wait=True)  # neither result reads all Values
    by_row, summed, chosen = vmap(lambda a: math.sin(a) * a), vmap(scalar, reduce="mean"), vmap(branching, reduce="sum")
    root = scalar(*x)
    graph = [root * v for v in w]
    slots = Slots(w)
    kept = np.zeros(len(w))
    yield "point with plain numbers", lambda: plain(1.0, 2.0)
    yield "point with ints", lambda: plain(1, 2)
    yield "point with lists and objects", lambda: structured([1.0, (2.0,)], p.held, k={"a": 1.0, "b": p.held})
    yield "point with many numbers", lambda: long(p.many_numbers)
    yield "point with arrays and named tuples", lambda: shaped(p.pair, p.few)
    yield "point of a method", lambda: method(1.0)
    yield "point with captured Values", lambda: point(1.0, 2.0)
    yield "point with Values that a result does not read", lambda: some(1.0, 2.0)
    yield "point with Values", lambda: point(*x)
    yield "gradients of a point", lambda: point.tape(1.0, 2.0) and None
    yield "rows", lambda: by_row(p.rows)
    yield "rows, summed, with gradients", lambda: summed(p.rows, p.rows)
    yield "rows, summed, without recording", lambda: without_recording(summed, p.rows, p.rows)
    yield "many rows, summed, with gradients", lambda: summed(p.many, p.many)
    yield "rows on several paths", lambda: chosen(p.rows)
    yield "lay_flat", lambda: _engine.lay_flat(p.nested, [])
    yield "captured", lambda: _engine.captured(w)
    yield "linearize", lambda: _engine.linearize(graph, x, 0, _sources())
    yield "point itself", _itself(_engine, "point", lambda: point(*x))
    yield "point itself, with Values that a result does not read", _itself(_engine, "point", lambda: some(*x))
    yield "batch itself", _itself(_engine, "batch", lambda: summed(p.rows, p.rows))
    yield "scopes_in_use", _engine.scopes_in_use
    yield "attributes", lambda: _engine.attributes(root)
    yield "slots", lambda: Slots(w)
    yield "norm of gradients", slots.norm
    yield "numbers of slots", lambda: slots.copy("read", kept)


def without_recording(function, *args):
    with C.engine.no_grad():
        return function(*args)


def _itself(engine, name, call):
    """A C entry point with the arguments that compiled code gives it: CPython itself leaks where its frames find no memory."""
    seen, entry = [], getattr(engine, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, name, lambda *args: seen.append(args) or entry(*args))
        call()
    return functools.partial(entry, *seen[-1])


def _sources():
    from micrograd.tape.tape import SOURCES

    return SOURCES


HELD: set[int] = set()  # the addresses of code objects that live for ever


def hold_code():
    """Hold the code of every inner function: CPython 3.12 and 3.13 lose a reference to it where the function finds no memory.

    A def or a lambda that has lost as many as there were ends in a segmentation fault, without any C code of ours
    (https://github.com/python/cpython/issues/122752). The list of references is never freed, so none can be the last.
    """
    if not (3, 12) <= sys.version_info[:2] <= (3, 13):
        return
    gc.unfreeze()  # what the tests have loaded at the start is frozen
    codes = [f.__code__ for f in gc.get_objects() if type(f) is types.FunctionType]
    gc.freeze()
    inner = []
    for code in codes:  # the list grows: a function within a function within a function
        for found in code.co_consts:
            if isinstance(found, types.CodeType) and id(found) not in HELD:
                HELD.add(id(found))
                codes.append(found)
                inner.append(found)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(inner * 100))


NAMES = [name for name, _ in operations(Place())] if NATIVE and sys.platform != "win32" else []


@pytest.mark.parametrize("name", NAMES)
def test_every_allocation_fails_once(name):
    place = Place()
    operation = dict(operations(place))[name]
    # CPython 3.10 makes a cache in the 1024th call of a function. Where it finds no memory for it, the call fails without an
    # exception, and later ones end in a segmentation fault, without any C code of ours.
    # The first batches of a merged function are looked at with NumPy for some ms, which gives errors without an exception, too.
    first = {"gradients of a point": 1030 if sys.version_info < (3, 11) else 12, "rows on several paths": 300}
    for _ in range(first.get(name, 12)):
        operation()  # whatever is made the first times only
    hold_code()
    before, failed, ends = place.state(), 0, 0
    gc.collect()
    worker.in_llvm(lambda: None)  # the machine code that was dropped before is freed on its own thread
    gc.collect()  # which empties lists of free objects
    enabled = gc.isenabled()
    gc.disable()
    try:
        n = 0
        while n < 200_000:  # a trace needs thousands, more with each module that is loaded: then not every one of them
            n += 1 + n // 300
            error = None
            _testcapi.set_nomemory(n, n + 1)
            try:
                operation()
            except MemoryError:
                error = "MemoryError"
            except BaseException as other:  # kept until memory is back
                error = other
            finally:
                _testcapi.remove_mem_hooks()
            assert error is None or error == "MemoryError" or _came_of_memory(error), repr(error)
            assert place.state() == before, f"allocation {n} failed, and something has changed"
            failed += error is not None
            ends = 0 if error is not None else ends + 1
            if ends > 40:  # the operation needs fewer allocations than that
                break
        else:
            pytest.fail("it never came to an end")
    finally:
        if enabled:
            gc.enable()
    operation()
    assert failed > 0 or name in WITHOUT, "nothing failed"


def _came_of_memory(error):
    """NumPy and others answer a failed allocation with an error of their own, which has the MemoryError behind it.

    CPython's pickle hides it: it says that the import of a module has failed.
    """
    while error is not None:
        if isinstance(error, (MemoryError, pickle.PicklingError)):
            return True
        error = error.__cause__ or error.__context__
    return False


@pytest.mark.parametrize(
    "name",
    [
        "point itself",
        "point itself, with Values that a result does not read",
        "batch itself",
        "linearize",
        "lay_flat",
        "captured",
        "slots",
    ],
)
def test_what_fails_leaves_nothing_behind(name):
    place = Place()
    operation = dict(operations(place))[name]
    for _ in range(3):
        operation()

    def every_failure():
        for n in range(1, 60):
            _testcapi.set_nomemory(n, n + 1)
            try:
                operation()
            except MemoryError:
                pass
            finally:
                _testcapi.remove_mem_hooks()
        gc.collect()
        worker.in_llvm(lambda: None)
        return sys.getallocatedblocks()

    every_failure()
    counts = [every_failure() for _ in range(4)]
    assert min(b - a for a, b in itertools.pairwise(counts)) <= 2, counts  # a leak would show in every round
