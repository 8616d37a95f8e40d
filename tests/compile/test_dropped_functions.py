"""A function that nobody holds any longer leaves nothing behind: its code, its classes, its syntax trees."""

from __future__ import annotations

import gc
import linecache
import weakref

import pytest

from background import settle
from micrograd import jit, value_and_grad, vmap
from micrograd.core.remembered import MOST, PerFile
from random_programs import needs_llvm

pytestmark = needs_llvm

BRANCHES = """
class Box:
    def __init__(self, x):
        self.x = x
    def __mul__(self, k):
        return Box(self.x * k)
def f(x):
    box = Box(x) * 2.0
    if box.x > 1.0:
        return box.x
    return sum(box.x * k for k in range(3))
"""
SLOTS = BRANCHES.replace("class Box:", "class Box:\n    __slots__ = ('x',)")
LOOPS = """
from typing import NamedTuple
class Box(NamedTuple):
    x: float
def f(x):
    box, total = Box(x), 0
    for k in range(20):
        total += box.x * k
    return total
"""


def used(text, number):
    """Use a function in several ways; return weak references to its code and its class."""
    name, space = f"<cell {number}>", {"__name__": "cells"}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), space)
    f = space["f"]
    for way in (jit(f), jit(value_and_grad(f)), jit(f, exact=True)):
        way(2.0), way(-2.0)
    vmap(f)([0.5, 2.0, -1.0])
    settle()
    del linecache.cache[name]
    return weakref.ref(f.__code__), weakref.ref(space["Box"])


@pytest.mark.parametrize("text", [BRANCHES, SLOTS, LOOPS], ids=["branches", "slots", "loops"])
def test_the_code_and_the_classes_of_a_function_are_let_go(text):
    pytest.importorskip("numpy")
    code, cls = used(text, 0)
    gc.collect()
    assert code() is None
    assert cls() is None


def test_texts_of_files_are_kept_for_the_last_ones():
    kept: PerFile[str] = PerFile()
    for k in range(3 * MOST):
        assert kept.get(k, "text", lambda k=k: f"found {k}") == f"found {k}"
        assert kept.get(0, "text", lambda: "found again") == "found 0"
    assert len(kept.found) == MOST
    assert kept.get(1, "text", lambda: "found again") == "found again"
    assert kept.get(0, "other text", lambda: "another") == "another"
