"""Compiled code keeps the data and the gradients of captured Values in a row: nobody ever sees an old number.

The data are read again after any assignment. Gradients of several backward() calls wait in the row until somebody looks, and
are then those of calls with a look after each, to the bit.
"""

from __future__ import annotations

import copy
import gc
import pickle
import struct
import threading
from array import array

import pytest

from micrograd import Value, detect_anomaly, engine, jit, math, nn, no_grad, optim
from micrograd.optim.slots import Slots
from random_programs import needs_llvm
from threads import together

pytestmark = [needs_llvm, pytest.mark.skipif(not engine.NATIVE, reason="machine code needs the C engine")]


class Model(nn.Module):
    """Parameters in lists, and one in an attribute."""

    def __init__(self):
        self.rows = [[Value(0.1 * i - 0.2 * k) for i in range(3)] for k in range(4)]
        self.bias = Value(0.3)

    def forward(self, x):
        return math.sum([math.tanh(math.dot(row, x)) for row in self.rows]) + self.bias * self.bias


X = [0.5, -1.0, 2.0]


def compiled(model):
    f = jit(lambda x: model(x), wait=True)
    for _ in range(3):
        f(X)
    return f


def bits(numbers):
    return [struct.pack("d", x) for x in numbers]


def grads(model):
    return bits(p.grad for p in model.parameters())


def set_all(model):
    for k, p in enumerate(model.parameters()):
        p.data = 0.01 * k


def train_step(make):
    def change(model):
        opt = make(model.parameters())
        model(X).backward()
        opt.step()

    return change


def descend(model):
    opt = optim.SGD(model.parameters(), lr=0.5)
    f = jit(lambda x: model(x), wait=True)
    assert Slots(model.parameters()).descend(f(X), float("inf"), opt.updates())


def load(model):
    other = Model()
    set_all(other)
    model.load_state_dict(other.state_dict())


def vector_of(model, what):
    slots = Slots(model.parameters())
    numbers = array("d", bytes(8 * len(slots)))
    slots.copy(what, numbers)
    return numbers


def write_vector(model):
    Slots(model.parameters()).copy("write", array("d", [x + 0.5 for x in vector_of(model, "read")]))


def in_a_thread(model):
    thread = threading.Thread(target=set_all, args=(model,))
    thread.start()
    thread.join()


def by_hook(model):
    """In the middle of a sweep that knows nothing of compiled code."""
    y = Value(2.0) * Value(3.0)
    y._backward = lambda: setattr(model.rows[1][1], "data", -2.5)
    y.backward()


CHANGES = {
    "data": lambda m: setattr(m.rows[2][2], "data", 4.0),
    "data of the first": lambda m: setattr(m.rows[0][0], "data", 4.0),
    "data of the last": lambda m: setattr(m.bias, "data", -4.0),
    "setattr of all": set_all,
    "augmented": lambda m: [setattr(p, "data", p.data - 0.5) for p in m.parameters()],
    "__init__": lambda m: m.rows[0][1].__init__(9.0),
    "__setattr__": lambda m: Value.__setattr__(m.rows[0][1], "data", 9.0),
    "its descriptor": lambda m: Value.data.__set__(m.rows[0][1], 9.0),
    "another Value in a list": lambda m: m.rows[3].__setitem__(0, Value(2.5)),
    "a longer list": lambda m: m.rows.append([Value(0.5)] * 3),
    "a list in place": lambda m: m.rows[0].reverse(),
    "a slice": lambda m: m.rows[0].__setitem__(slice(0, 2), [Value(1.0), Value(2.0)]),
    "an attribute": lambda m: setattr(m, "bias", Value(-1.5)),
    "SGD": train_step(lambda ps: optim.SGD(ps, lr=0.5)),
    "SGD with momentum": train_step(lambda ps: optim.SGD(ps, lr=0.5, momentum=0.9)),
    "Adam": train_step(lambda ps: optim.Adam(ps, lr=0.5)),
    "descend": descend,
    "load_state_dict": load,
    "a vector of all": write_vector,
    "another thread": in_a_thread,
    "a hook": by_hook,
}


class TestData:
    @pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "no_grad"])
    @pytest.mark.parametrize("change", CHANGES)
    def test_a_change_is_seen_by_the_next_call(self, change, recorded):
        model = Model()
        f = compiled(model)

        def call():
            if recorded:
                return f(X).data
            with no_grad():
                return f(X).data

        before = call()
        assert before == call()
        CHANGES[change](model)
        after, want = call(), model(X).data
        assert after == pytest.approx(want, rel=1e-13) and after != before
        assert after == call()

    def test_copies_have_numbers_of_their_own(self):
        model = Model()
        f = compiled(model)
        first = f(X).data
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            g = compiled(other)
            assert g(X).data == first
            other.bias.data = 5.0
            assert g(X).data == pytest.approx(other(X).data, rel=1e-13)
            assert f(X).data == first
            model.bias.data = 0.1
            assert f(X).data != first
            assert g(X).data == pytest.approx(other(X).data, rel=1e-13)
            model.bias.data = 0.3
            assert f(X).data == first

    def test_two_functions_over_the_same_values(self):
        model = Model()
        f, g = compiled(model), jit(lambda x: model(x) * 2.0, wait=True)
        for k in range(13):
            model.parameters()[k].data = 0.05 * k
            order = [f, g] if k % 2 else [g, f]
            got = {h: h(X).data for h in order}
            assert got[f] == pytest.approx(model(X).data, rel=1e-13)
            assert got[g] == pytest.approx(2.0 * model(X).data, rel=1e-13)

    def test_runs_of_other_threads_keep_the_numbers_that_they_began_with(self):
        """Machine code runs without the interpreter lock: a call sees all of one assignment of all parameters, or none."""
        w = [Value(0.0) for _ in range(2000)]
        f = jit(lambda x: math.sum([math.exp(math.sin(p * 1e-9)) * x for p in w]), wait=True)
        known = {}
        for k in range(4):
            for p in w:
                p.data = float(k)
            known[k] = f(1.0).data
        assert len(set(known.values())) == 4
        seen, stop, slots = [], threading.Event(), Slots(w)

        def read():
            while not stop.is_set():
                seen.append(f(1.0).data)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for k in range(400):
            slots.copy("write", array("d", [float(k % 4)] * len(w)))
            f(1.0)
        stop.set()
        for thread in threads:
            thread.join()
        assert seen and set(seen) <= set(known.values())


def zero_all(model):
    for p in model.parameters():
        p.grad = 0.0


LOOKS = {
    "grad of each": lambda m: None,
    "one of them first": lambda m: m.rows[2][2].grad,
    "repr": lambda m: repr(m.bias),
    "norm": lambda m: Slots(m.parameters()).norm(),
    "clip": lambda m: Slots(m.parameters()).clip_norm(0.5),
    "clip to a value": lambda m: Slots(m.parameters()).clip_value(0.5),
    "grad = of one": lambda m: setattr(m.rows[1][1], "grad", 0.125),
    "zero_grad of the module": lambda m: m.zero_grad(),
    "zero_grad of an optimizer": lambda m: optim.SGD(m.parameters(), lr=0.1).zero_grad(),
    "zero of slots": lambda m: Slots(m.parameters()).zero(),
    "zero_grad of a graph": lambda m: m(X).zero_grad(),
    "a plain sweep": lambda m: m(X).backward(),
    "a sweep over one": lambda m: (m.bias * 3.0).backward(),
    "a sweep over something else": lambda m: (Value(1.0) * 3.0).backward(),
    "a vector of all": lambda m: vector_of(m, "gradients"),
    "SGD": lambda m: optim.SGD(m.parameters(), lr=0.1).step(),
    "Adam": lambda m: optim.Adam(m.parameters(), lr=0.1).step(),
    "a frozen parameter": lambda m: step_without_bias(m),
    "__init__": lambda m: m.rows[0][1].__init__(9.0),
    "another class": lambda m: setattr(m.rows[0][1], "__class__", type("Mine", (Value,), {"__slots__": ()})),
    "collection": lambda m: gc.collect() * 0,
    "pickle": lambda m: pickle.loads(pickle.dumps(m)).parameters()[3].grad,
    "a trace": lambda m: jit(lambda x: m(x) + 1.0, wait=True)(X).data,
    "_prev": lambda m: setattr(m.bias, "_prev", (Value(1.0),)),
    "detect_anomaly": lambda m: sweep_and_watch(m),
}


def step_without_bias(model):
    opt = optim.SGD(model.parameters(), lr=0.1)
    opt.freeze([model.bias])
    opt.step()


def sweep_and_watch(model):
    with detect_anomaly():
        model(X).backward()


class TestGradients:
    @pytest.mark.parametrize("times", [2, 3])
    @pytest.mark.parametrize("look", LOOKS)
    def test_each_look_finds_the_sums_of_all_calls(self, look, times):
        found = []
        for after_each in (False, True):
            model = Model()
            f = compiled(model)
            zero_all(model)
            for k in range(times):
                f([x + k for x in X]).backward(1.0 + k)
                if after_each:
                    grads(model)
            seen = LOOKS[look](model)
            found.append((seen, grads(model), bits(p.data for p in model.parameters())))
            for _ in range(times):
                f(X).backward()
                if after_each:
                    grads(model)
            found[-1] += (grads(model),)
        assert found[0] == found[1]

    def test_a_node_pushes_by_itself(self):
        model = Model()
        f = compiled(model)
        y = model.bias * 3.0
        y.grad = 1.0
        for _ in range(3):
            f(X).backward()
        y._backward()
        got = model.bias.grad
        zero_all(model)
        for _ in range(3):
            f(X).backward()
        assert got == model.bias.grad + 3.0

    def test_a_step_from_a_root_with_a_backward_of_its_own(self):
        model = Model()
        f = compiled(model)

        class Root(Value):
            def backward(self, gradient=1.0):
                for _ in range(3):
                    f(X).backward()

        before = [p.data for p in model.parameters()]
        opt = optim.SGD(model.parameters(), lr=0.5)
        assert Slots(model.parameters()).descend(Root(1.0), float("inf"), opt.updates())
        after, slopes = [p.data for p in model.parameters()], [p.grad for p in model.parameters()]
        assert after == [x - 0.5 * g for x, g in zip(before, slopes, strict=True)] and any(slopes)

    def test_they_outlive_the_function(self):
        model = Model()
        f = compiled(model)
        for _ in range(5):
            f(X).backward()
        f(X).backward()
        del f
        gc.collect()
        other = Model()
        for _ in range(6):
            g = jit(lambda x: other(x), wait=True)
            g(X).backward()
            grads(other)
        assert grads(model) == grads(other)

    def test_two_functions_in_turns(self):
        found = []
        for after_each in (False, True):
            model = Model()
            f, g = compiled(model), jit(lambda x, model=model: model(x) * model.bias, wait=True)
            zero_all(model)
            for k in range(12):
                (f if k % 5 < 3 else g)(X).backward(0.1 * k)
                if after_each:
                    grads(model)
            found.append(grads(model))
        assert found[0] == found[1]

    def test_a_hook_that_sweeps_compiled_results(self):
        """It runs in the middle of a sweep that writes to the same gradients."""
        found = []
        for after_each in (False, True):
            model = Model()
            f = compiled(model)
            zero_all(model)

            def hook(f=f, model=model, after_each=after_each):
                for k in range(3):
                    f(X).backward(0.3 + k)
                    if after_each:
                        grads(model)

            y = model.bias * 2.0
            y._backward = hook
            (y + model.bias * 5.0 + math.sum([p * 0.7 for p in model.parameters()])).backward()
            for _ in range(3):
                f(X).backward()
            found.append(grads(model))
        assert found[0] == found[1]

    def test_signs_of_zero_and_numbers_that_are_not_finite(self):
        for start in (-0.0, 0.0, float("inf"), float("nan"), 1e308):
            found = []
            for after_each in (False, True):
                model = Model()
                f = compiled(model)
                for p in model.parameters():
                    p.grad = start
                for seed in (0.0, -0.0, 1.0, -1.0, 1e308):
                    f(X).backward(seed)
                    if after_each:
                        grads(model)
                found.append(["nan" if p.grad != p.grad else p.grad for p in model.parameters()])
            assert str(found[0]) == str(found[1])

    def test_threads_that_sweep_and_look(self):
        model = Model()
        f = compiled(model)
        f(X).backward()
        zero_all(model)
        f(X).backward()
        one = [p.grad for p in model.parameters()]
        zero_all(model)

        def work(_):
            for k in range(300):
                f(X).backward()
                if k % 7 == 0:
                    model.rows[0][0].grad  # noqa: B018

        together(work)
        assert [p.grad for p in model.parameters()] == pytest.approx([1200 * g for g in one], rel=1e-12)

    def test_results_that_were_kept(self):
        model = Model()
        f = compiled(model)
        zero_all(model)
        kept = [f([x * k for x in X]) for k in range(4)]
        for y in [*kept, *reversed(kept)]:
            y.backward()
        late = grads(model)
        zero_all(model)
        for y in [*kept, *reversed(kept)]:
            y.backward()
            grads(model)
        assert late == grads(model)
        assert {y.grad for y in kept} == {1.0}
