"""Nodes that people write by hand: local derivatives, other inputs, attributes; and what the collector makes of them."""

from __future__ import annotations

import copy
import gc
import pickle
import signal
import sys
import threading
import weakref

import pytest

from twins import C


class Token:
    """Something that a weak reference can watch."""


class TestGivenPartials:
    """Value(data, children, local derivatives), as in a one-file GPT."""

    def test_they_are_the_partials(self, Value):
        x, y = Value(3.0), Value(2.0)
        z = Value(x.data * y.data, (x, y), (y.data, x.data))
        assert (z._partials, z._op, z._rule, z._prev) == ((2.0, 3.0), "", None, (x, y))
        (z * 10).backward()
        assert (x.grad, y.grad) == (20.0, 30.0)

    def test_a_program_that_knows_no_other_way(self, Value):
        def mul(a, b):
            return Value(a.data * b.data, (a, b), (b.data, a.data))

        def add(a, b):
            return Value(a.data + b.data, (a, b), (1, 1))

        def tanh(a):
            t = a.tanh().data
            return Value(t, (a,), [1 - t * t])

        w, x, b = Value(0.5), Value(2.0), Value(-0.25)
        tanh(add(mul(w, x), b)).backward()
        got = [v.grad for v in (w, x, b)]
        for v in (w, x, b):
            v.grad = 0.0
        (w * x + b).tanh().backward()
        assert got == pytest.approx([v.grad for v in (w, x, b)], rel=1e-14)

    def test_wrong_ones(self, Value):
        x = Value(1.0)
        for wrong in ((1.0, 2.0), (), [1.0] * 3):
            with pytest.raises(ValueError, match=r"local derivatives for \d+ inputs: each needs one"):
                Value(1.0, (x,), wrong)
        with pytest.raises(ValueError, match=r"local derivatives for \d+ inputs: each needs one"):
            Value(1.0, (), (1.0,))
        for wrong in (3.0, None, ("a",)):
            with pytest.raises(TypeError):
                Value(1.0, (x,), wrong)

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
    def test_copies_keep_them(self, Value, duplicate):
        x = Value(3.0)
        z = Value(9.0, (x,), (6.0,))
        z._op = "square"
        new = duplicate(z)
        assert (new._partials, new._op, new.data) == ((6.0,), "square", 9.0)
        new.backward()
        assert new._prev[0].grad == 6.0

    def test_a_trace_refuses_them(self, twin):
        from micrograd.errors import TraceError
        from micrograd.transforms import grad

        with pytest.raises(TraceError, match="hand-written"):
            grad(lambda x: twin.Value(x.data**2, (x,), (2 * x.data,)))(3.0)


class TestOtherInputs:
    def test_a_node_with_other_inputs_is_made_by_hand(self, Value):
        a, b, c = Value(1.0), Value(2.0), Value(3.0)
        v = a * b
        v._prev = (c,)
        assert (v._prev, v._partials, v._rule, v._op) == ((c,), (), None, "*")
        v.backward()
        assert (a.grad, b.grad, c.grad) == (0.0, 0.0, 0.0)
        v._backward = lambda: setattr(c, "grad", c.grad + 5 * v.grad)
        (v + 1).backward()
        assert c.grad == 5.0

    def test_a_leaf_gets_inputs_and_loses_them(self, Value):
        a, v = Value(1.0), Value(2.0)
        v._prev = [a, a]
        assert v._prev == (a, a)
        v._prev = ()
        assert v._prev == () and v._partials == ()
        v.backward()
        v.backward()
        assert v.grad == 2.0  # a leaf again

    def test_only_values(self, Value):
        v = Value(1.0) + 2
        before = v._prev
        for wrong in ((1.0,), "ab", 3):
            with pytest.raises(TypeError):
                v._prev = wrong
        assert v._prev == before

    def test_a_cycle_is_refused_by_copies(self, Value):
        a = Value(1.0)
        b = a * 2
        c = b + 1
        b._prev = (c,)
        for duplicate in (copy.deepcopy, pickle.dumps):
            with pytest.raises(ValueError, match="made from itself"):
                duplicate(c)
        c.zero_grad()
        b._prev = ()


class TestLeaks:
    """Cycles that the collector finds, in whatever order they were closed."""

    @staticmethod
    def collected(make):
        token = Token()
        watched = weakref.ref(token)
        make(token)
        del token
        gc.collect()
        return watched() is None

    def test_an_attribute_that_comes_after_the_node(self, Value):
        def make(token):
            a = Value(1.0)
            b = a * 2
            c = (b + 1).tanh()
            a.ref, a.token = c, token

        assert self.collected(make)

    def test_a_late_backward_that_knows_a_later_node(self, Value):
        def make(token):
            a = Value(1.0)
            b = a * 2
            c = b + a
            a._backward = lambda: (c, token)

        assert self.collected(make)

    def test_an_entry_of_the_dict(self, Value):
        def make(token):
            a = Value(1.0)
            b = a * 2
            vars(a)["ref"] = [b, token]

        assert self.collected(make)

    def test_a_dict_that_is_filled_later(self, Value):
        def make(token):
            a = Value(1.0)
            held = vars(a)
            b = a * 2
            held["ref"] = [b, token]

        assert self.collected(make)

    def test_a_list_that_is_filled_later(self, Value):
        def make(token):
            a, box = Value(1.0), []
            b = a * 2
            a.box = box
            box += [b, token]

        assert self.collected(make)

    def test_a_label(self, Value):
        def make(token):
            box = [token]
            v = Value(1.0, label=box)
            box.append(v)

        assert self.collected(make)

    def test_inputs_that_were_assigned(self, Value):
        def make(token):
            a = Value(1.0)
            b = a * 2
            c = b + 1
            c.token = token
            a._prev = (c,)

        assert self.collected(make)

    def test_a_wide_node(self, Value, mgmath):
        def make(token):
            xs = [Value(1.0) for _ in range(100)]
            total = mgmath.sum(xs)
            xs[50].ref, xs[50].token = total, token

        assert self.collected(make)

    def test_numbers_and_texts_need_no_collector(self, Value):
        """A parameter with numbers and a label is as cheap as one without."""
        v = Value(1.0, label="w")
        v.momentum, v.step, v.name = 0.5, 3, "w"
        y = v * 2
        assert y.data == 2.0
        if Value is C.Value:
            assert not gc.is_tracked(v) and not gc.is_tracked(y)


class TestABackwardInTheDict:
    def test_it_is_called(self, Value):
        x = Value(2.0)
        y = x * 3
        vars(y)["_backward"] = lambda: setattr(x, "grad", x.grad + 100.0)
        (y * 1.0).backward()
        assert x.grad == 100.0
        del vars(y)["_backward"]
        (y * 1.0).backward()
        assert x.grad == 103.0

    def test_another_dict(self, Value):
        x = Value(2.0)
        y = x * 3
        y.__dict__ = {"_backward": lambda: setattr(x, "grad", 7.0)}
        y.backward()
        assert x.grad == 7.0


class TestGivingUp:
    def test_a_backward_that_raises_leaves_all_gradients(self, Value):
        x, w = Value(2.0), Value(5.0)
        y = x * 3 + w
        (y * 2).backward()
        a = y * 4
        b = Value(1.0, (a,), "raises")
        b._backward = lambda: 1 / 0
        root = a * b
        root.grad, before = 0.25, [v.grad for v in (x, w, y, a, b)]
        with pytest.raises(ZeroDivisionError):
            root.backward()
        assert [v.grad for v in (x, w, y, a, b)] == before and root.grad == 0.25

    @pytest.mark.skipif(sys.platform == "win32", reason="timers by signal")
    @pytest.mark.skipif(
        threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread"
    )
    def test_a_signal_ends_a_long_sweep(self, Value):
        """The handler raises while a sweep over many nodes is at work: gradients are as before, and the next one is right."""
        x = Value(1.0)
        x.grad = 0.5
        y = x
        for _ in range(400_000 if Value is C.Value else 20_000):
            y = y * 1.0 + x
        y.grad = 0.125

        class Enough(Exception):
            pass

        def ring(*_):
            raise Enough

        before = signal.signal(signal.SIGALRM, ring)
        interrupted = 0
        gc.disable()  # what a handler raises inside a callback of the collector, as other packages have them, is lost
        try:
            for _ in range(200):
                signal.setitimer(signal.ITIMER_REAL, 0.002)
                try:
                    for _ in range(100):
                        y.backward(0.0)
                except Enough:
                    interrupted += 1
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                if interrupted >= 2:
                    break
        finally:
            gc.enable()
            signal.signal(signal.SIGALRM, before)
        assert interrupted
        x.grad = 0.0
        y.backward()
        assert x.grad == y.data

    @pytest.mark.skipif(sys.platform == "win32", reason="timers by signal")
    def test_a_handler_that_sweeps_the_same_graph_is_refused(self, Value):
        if Value is not C.Value:
            pytest.skip("of the C engine: Python code is interrupted anywhere")
        x = Value(1.0)
        y = x
        said = []

        def ring(*_):
            try:
                y.backward()
            except RuntimeError as error:
                said.append(str(error))

        before = signal.signal(signal.SIGALRM, ring)
        try:
            for _ in range(20):  # a longer graph each time, until the sweep lasts long enough to look at signals
                for _ in range(600_000):
                    y = y * 1.0 + x
                x.grad = 0.0
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                y.backward()
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                if said:
                    break
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
        assert said and "signal handler" in said[0] and x.grad == y.data


class TestDetachedAndCopied:
    """detach(), stop_gradient() and copies inside of differentiated functions."""

    @pytest.fixture
    def mg(self, twin):
        import micrograd.transforms

        return micrograd.transforms

    def test_detach_and_stop_gradient(self, mg, mgmath):
        for stop in (lambda x: x.detach(), mgmath.stop_gradient):
            assert mg.grad(lambda x, stop=stop: stop(x) * x)(3.0) == 3.0
            assert mg.grad(mg.grad(lambda x, stop=stop: stop(x * x) * x * x))(3.0) == 18.0
            assert mg.grad(lambda x, stop=stop: stop(x))(3.0) == 0.0
            assert mg.value_and_grad(lambda x, y, stop=stop: stop(x) * y, (0, 1))(3.0, 4.0) == (12.0, (0.0, 3.0))

    def test_an_infinite_gradient_does_not_pass(self, mg, mgmath):
        f = lambda x: mgmath.sqrt(mgmath.stop_gradient(x)) + x  # noqa: E731
        assert mg.grad(f)(0.0) == 1.0

    def test_on_numbers_and_values(self, Value, mgmath):
        assert mgmath.stop_gradient(2) == 2.0
        x = Value(3.0)
        y = mgmath.stop_gradient(x) * x
        y.backward()
        assert x.grad == 3.0 and y._prev[0]._prev == ()

    def test_it_is_compiled_too(self, mgmath):
        pytest.importorskip("llvmlite")
        if mgmath is not C.math:
            pytest.skip("compiled code needs the C engine")
        import numpy as np

        from micrograd import grad, jit, vmap

        f = jit(grad(lambda x: mgmath.stop_gradient(x) * x * x))
        assert [f(3.0), f(5.0)] == [18.0, 50.0]
        rows = vmap(grad(lambda x: (x * x).detach() * x))(np.array([1.0, 2.0, 3.0]))
        assert rows.tolist() == [1.0, 4.0, 9.0]

    def test_a_copy_is_part_of_the_function(self, mg):
        assert mg.grad(lambda x: copy.deepcopy(x) * x)(3.0) == 6.0
        assert mg.grad(lambda x: sum(copy.deepcopy([x, x * x])))(3.0) == 7.0
        assert mg.grad(lambda x: copy.copy(x) * 2)(3.0) == 2.0
        assert mg.grad(mg.grad(lambda x: copy.deepcopy(x) ** 3))(2.0) == 12.0

    def test_outside_of_one_it_is_a_graph_of_its_own(self, Value):
        x = Value(3.0)
        y = copy.deepcopy(x * 2)
        y.backward()
        assert x.grad == 0.0 and y._prev[0].grad == 2.0
