"""A compiled function follows what it reads from outside, as plain Python does: names, and what is in the things they name."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import dis
import functools
import itertools
import linecache
import types
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from micrograd import Value, grad, jit, math, nn, optim, train, value_and_grad, vmap
from micrograd.engine import NATIVE
from micrograd.watch.code import globals_in

pytestmark = pytest.mark.skipif(not NATIVE, reason="there is no machine code")

# Each source defines f, which reads something, and change(), after which it reads something else.
PROGRAMS = {
    "a global number": "k = 2.0\ndef f(x): return k * x\ndef change():\n    global k\n    k = 5.0",
    "a whole number": "n = 2\ndef f(x): return sum(x * i for i in range(n))\ndef change():\n    global n\n    n = 4",
    "a text": "mode = 'a'\ndef f(x): return x if mode == 'a' else x * x\ndef change():\n    global mode\n    mode = 'b'",
    "a function": "def g(x): return 2.0 * x\ndef f(x): return g(x)\ndef change():\n    global g\n    g = lambda x: x * x",
    "what a function calls": "k = 2.0\ndef h(x): return k * x\ndef g(x): return h(x)\ndef f(x): return g(x)\n"
    "def change():\n    global k\n    k = 5.0",
    "in a comprehension": "k = 2.0\ndef f(x): return sum([k * x for _ in range(2)])\ndef change():\n    global k\n    k = 5.0",
    "in a lambda": "k = 2.0\ndef f(x): return (lambda y: k * y)(x)\ndef change():\n    global k\n    k = 5.0",
    "an item of a list": "ks = [2.0, 3.0]\ndef f(x): return ks[1] * x\ndef change(): ks[1] = 5.0",
    "an item of a list in a list": "ks = [[2.0], [3.0]]\ndef f(x): return ks[1][0] * x\ndef change(): ks[1][0] = 5.0",
    "the length of a list": "ks = [2.0]\ndef f(x): return sum(k * x for k in ks)\ndef change(): ks.append(5.0)",
    "an item of a dict": "ks = {'a': 2.0}\ndef f(x): return ks['a'] * x\ndef change(): ks['a'] = 5.0",
    "a set": "ks = {2.0}\ndef f(x): return x if 5.0 in ks else 2.0 * x\ndef change(): ks.add(5.0)",
    "a deque": "ks = collections.deque([2.0])\ndef f(x): return ks[0] * x\ndef change(): ks.appendleft(5.0)",
    "an array": "ks = np.array([2.0, 3.0])\ndef f(x): return ks[1] * x\ndef change(): ks[1] = 5.0",
    "every other item of an array": "ks = np.arange(4.0)[::2]\ndef f(x): return ks[1] * x\ndef change(): ks[1] = 5.0",
    "an array by -=": "ks = np.array([2.0, 3.0])\ndef f(x): return ks[1] * x\ndef change():\n    global ks\n    ks -= 0.5",
    "the sign of a zero": "k = 0.0\ndef f(x): return math.copysign(x, k)\ndef change():\n    global k\n    k = -0.0",
    "an attribute": "class S: pass\ns = S()\ns.k = 2.0\ndef f(x): return s.k * x\ndef change(): s.k = 5.0",
    "a namespace": "s = types.SimpleNamespace(k=2.0)\ndef f(x): return s.k * x\ndef change(): s.k = 5.0",
    "a slot": "class S: __slots__ = ('k',)\ns = S()\ns.k = 2.0\ndef f(x): return s.k * x\ndef change(): s.k = 5.0",
    "a dataclass": "@dataclasses.dataclass\nclass S:\n    k: float = 2.0\ns = S()\n"
    "def f(x): return s.k * x\ndef change(): s.k = 5.0",
    "a list in an object": "class S: pass\ns = S()\ns.ks = [2.0]\ndef f(x): return s.ks[0] * x\ndef change(): s.ks[0] = 5.0",
    "a method of an object": "class S:\n    def of(self, x): return self.k * x\ns = S()\ns.k = 2.0\n"
    "def f(x): return s.of(x)\ndef change(): s.k = 5.0",
    "a property": "class S:\n    @property\n    def twice(self): return 2 * self.k\ns = S()\ns.k = 2.0\n"
    "def f(x): return s.twice * x\ndef change(): s.k = 5.0",
    "a global in a method": "k = 2.0\nclass S:\n    def of(self, x): return k * x\ns = S()\n"
    "def f(x): return s.of(x)\ndef change():\n    global k\n    k = 5.0",
    "an attribute of a class": "class S: k = 2.0\ndef f(x): return S.k * x\ndef change(): S.k = 5.0",
    "an attribute of a class, by an object": "class S: k = 2.0\ns = S()\ndef f(x): return s.k * x\ndef change(): S.k = 5.0",
    "an attribute of a base class": "class B: k = 2.0\nclass S(B): pass\ndef f(x): return S.k * x\ndef change(): B.k = 5.0",
    "a list of a class": "class S: ks = [2.0]\ndef f(x): return S.ks[0] * x\ndef change(): S.ks[0] = 5.0",
    "an attribute of a module": "m = types.ModuleType('settings')\nm.k = 2.0\n"
    "def f(x): return m.k * x\ndef change(): m.k = 5.0",
    "a default": "def f(x, ks=[2.0]): return ks[0] * x\ndef change(): f.__defaults__[0][0] = 5.0",
    "a variable around": "def make():\n    k = 2.0\n    def f(x): return k * x\n    def change():\n        nonlocal k\n"
    "        k = 5.0\n    return f, change\nf, change = make()",
    "a variable that is made later": "def make():\n    def f(x): return k * x\n    def change():\n        nonlocal k\n"
    "        k = 5.0\n    k = 2.0\n    return f, change\nf, change = make()",
    "of a partial that is called": "ks = [2.0]\ndef g(a, x): return a[0] * x\nh = functools.partial(g, ks)\n"
    "def f(x): return h(x)\ndef change(): ks[0] = 5.0",
    "of a method that is called": "class S:\n    def of(self, x): return self.k * x\ns = S()\ns.k = 2.0\nh = s.of\n"
    "def f(x): return h(x)\ndef change(): s.k = 5.0",
    "of a partial": "ks = [2.0]\ndef g(a, x): return a[0] * x\nf = functools.partial(g, ks)\ndef change(): ks[0] = 5.0",
    "of a decorated function": "k = 2.0\ndef twice(g):\n    @functools.wraps(g)\n    def of(x): return 2.0 * g(x)\n"
    "    return of\n@twice\ndef f(x): return k * x\ndef change():\n    global k\n    k = 5.0",
    "of a derivative inside": "k = 2.0\ndef g(x): return k * x * x * x\ndef f(x): return grad(g)(x)\n"
    "def change():\n    global k\n    k = 5.0",
    "of a compiled function inside": "k = 2.0\n@jit\ndef g(x): return k * x\ndef f(x): return g(x) * x\n"
    "def change():\n    global k\n    k = 5.0",
    "in a branch": "k = 2.0\ndef f(x): return k * x if x > 0 else x\ndef change():\n    global k\n    k = 5.0",
    "a limit of a branch": "k = 2.0\ndef f(x): return x * x if x < k else x\ndef change():\n    global k\n    k = -5.0",
}  # fmt: skip
NUMBERS = itertools.count()


def over_rows(g: Any) -> Any:
    return lambda x: np.asarray(g(np.array([x, x + 1.0]))).tolist()


WAYS = {
    "jit": lambda f: jit(f),
    "jit of value_and_grad": lambda f: jit(value_and_grad(f)),
    "vmap": lambda f: over_rows(vmap(f)),
    "vmap of grad": lambda f: over_rows(vmap(grad(f))),
}


def defined(source: str) -> dict[str, Any]:
    space: dict[str, Any] = {
        "math": math, "np": np, "types": types, "collections": collections, "dataclasses": dataclasses, "jit": jit,
        "functools": functools, "grad": grad, "Value": Value, "nn": nn, "__name__": __name__,
    }  # fmt: skip
    name = f"<program {next(NUMBERS)}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name  # so that branches can be merged
    exec(compile(source, name, "exec", dont_inherit=True), space)
    return space


def check_that_it_follows(source: str, wrap: Any) -> None:
    """Compare a compiled function, before and after a change outside of it, with one that is compiled after the change."""
    space = defined(source)
    compiled = wrap(space["f"])
    before = [compiled(0.7) for _ in range(3)]
    space["change"]()
    after = [compiled(0.7) for _ in range(3)]
    fresh = wrap(space["f"])(0.7)  # which knows nothing of what was before
    assert before[0] == before[2]
    assert after == [fresh] * 3
    assert repr(after[0]) != repr(before[0])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", PROGRAMS)
def test_what_changes_outside_is_seen(what, way):
    check_that_it_follows(PROGRAMS[what], WAYS[way])


def test_a_captured_value_is_exchanged():
    space = defined("w = Value(2.0)\ndef f(x): return w * x\ndef change():\n    global w\n    w = Value(5.0)")
    f, rows = jit(space["f"]), vmap(space["f"], reduce="sum")
    assert (f(3.0).data, rows([3.0]).data) == (6.0, 6.0)
    space["change"]()
    for y in (f(3.0), rows([3.0])):
        assert y.data == 15.0
        space["w"].grad = 0.0
        y.backward()
        assert space["w"].grad == 3.0


@pytest.mark.parametrize("holder", ["types.SimpleNamespace(w=Value(2.0))", "[Value(2.0)]", "{'w': Value(2.0)}"])
def test_a_captured_value_is_exchanged_in_what_holds_it(holder):
    read = {"t": "s.w", "[": "s[0]", "{": "s['w']"}[holder[0]]
    space = defined(f"s = {holder}\ndef f(x): return {read} * x\ndef change(): {read} = Value(5.0)")
    f = jit(space["f"])
    assert f(3.0).data == 6.0
    space["change"]()
    assert f(3.0).data == 15.0


def test_a_model_is_exchanged_and_its_forward_reads_a_global():
    space = defined(
        "k = 2.0\nclass Net(nn.Module):\n    def __init__(self): self.w = Value(3.0)\n"
        "    def forward(self, x): return k * self.w * x\nnet = Net()\ndef f(x): return net(x)"
    )
    f = jit(space["f"])
    assert f(1.0).data == 6.0
    space["k"] = 5.0
    assert f(1.0).data == 15.0
    space["net"] = space["Net"]()
    space["net"].w.data = 1.0
    assert f(1.0).data == 5.0


@pytest.mark.parametrize("rows", [False, True])
def test_a_training_step_follows_a_number_of_its_loss(rows):
    space = defined("k = 1.0\nw = Value(1.0)\ndef f(x): return k * w * x")
    loss = vmap(space["f"], reduce="sum") if rows else space["f"]
    step = train.step(loss, optim.SGD([space["w"]], lr=1.0))
    step([1.0] if rows else 1.0)
    assert space["w"].data == 0.0
    space["k"] = 5.0
    step([1.0] if rows else 1.0)
    assert space["w"].data == -5.0


def test_what_is_not_read_is_no_reason_to_trace():
    space = defined(
        "k = 2.0\nlosses = []\ndata = 0\nclass S: pass\ns = S()\ns.k, s.n = 1.0, 0\ndef f(x): return k * s.k * x"
    )
    f, rows = jit(space["f"]), vmap(space["f"])
    f(1.0), rows([1.0])
    variants, of_rows = f.variants, rows.variants
    for i in range(5):
        space["losses"].append(f(float(i)))
        space["data"], space["new"], space["s"].n = i, i, i
        rows([float(i)])
    assert f.variants is variants and rows.variants is of_rows


def test_an_equal_number_and_a_function_that_does_the_same_are_no_reason_to_compile():
    source = "def g(x): return 2.0 * x\ndef f(x): return k * g(x)"
    space = defined("k = 2000.5\n" + source)
    f = jit(space["f"], wait=True)
    f(1.0)
    variants, kernels = f.variants, list(f.variants)
    space["k"] = float("2000.5")  # another object
    f(1.0)
    assert f.variants is variants
    exec("def g(x): return 2.0 * x", space)  # a cell of a notebook that is run again
    f(1.0)
    assert f.variants is not variants and list(f.variants) == kernels


def test_long_lists_and_large_arrays_of_numbers_are_data():
    source = "ks = [float(i) for i in range(100_001)]\na = np.arange(2**17 + 1.0)\ndef f(x): return ks[3] * a[3] * x"
    space = defined(source)
    f = jit(space["f"])
    assert f(1.0) == 9.0
    space["ks"][3] = space["a"][3] = 5.0
    assert f(1.0) == 9.0  # as docs/compile.md says
    space["ks"] = list(space["ks"])
    assert f(1.0) == 25.0


def test_a_name_that_is_gone_is_an_error_as_in_plain_python():
    space = defined("k = 2.0\ndef f(x): return k * x")
    f = jit(space["f"])
    f(1.0)
    del space["k"]
    with pytest.raises(NameError, match="'k'"):
        f(1.0)
    space["k"] = 5.0
    assert f(1.0) == 5.0


def test_what_changes_again_and_again_is_told_once():
    space = defined("k = 2.0\ndef f(x): return k * x")
    f = jit(space["f"])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for i in range(70):
            space["k"] = float(i)
            assert f(1.0) == i
    assert len(told) == 1
    assert "<jit of f> was traced again 32 times" in str(told[0].message) and "`k`" in str(told[0].message)
    assert told[0].filename == __file__


def test_training_mode_is_nothing_outside():
    class Scale(nn.Module):
        def forward(self, x: Any) -> Any:
            return 2.0 * x if self.training else x

    model = Scale()
    f = jit(lambda x: model(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(70):
            assert f(1.0) == (1.0 if k % 2 else 2.0)
            model.train(k % 2 == 1)


def test_the_names_of_globals_are_those_that_dis_finds():
    def of(code: Any) -> set[str]:
        found = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
        return found.union(*(of(x) for x in code.co_consts if isinstance(x, types.CodeType)))

    long = "def f(x):\n" + "".join(f"    a{i} = b{i} + x.c{i} + (lambda: d{i})()\n" for i in range(400))
    for code in (
        compile(long, "long", "exec").co_consts[0],
        test_what_changes_outside_is_seen.__code__,
        linecache.getline.__code__,
    ):
        assert set(globals_in(code)) == of(code) != set()


def test_strange_objects_around_are_left_alone():
    class Proxy:
        def __getattribute__(self, name: str) -> Any:
            if name != "__class__":
                raise RuntimeError(name)
            return Proxy

    proxy, k = Proxy(), 2.0

    def f(x: Any, unused: Any = proxy) -> Any:
        return k * x if k else proxy

    assert jit(f)(1.0) == 2.0


@pytest.mark.parametrize("kind", ["SimpleNamespace", "argparse"])
def test_attributes_of_namespaces_of_the_standard_library_in_functions_with_loops(kind):
    settings = SimpleNamespace(k=0.0) if kind == "SimpleNamespace" else argparse.Namespace(k=0.0)

    def f(a):
        s = a * settings.k
        for i in range(20):
            s = s * 0.5 + i
        return s + settings.k

    for compiled, want in ((jit(f), f), (jit(grad(f)), grad(f))):
        for k in (0.0, 1.0, 2.5, 0.0):
            settings.k = k
            assert [compiled(3.0) for _ in range(3)] == [want(3.0)] * 3
