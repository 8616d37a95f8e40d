"""backward(), zero_grad(), detach() and no_grad(): what DESIGN.md says they mean, on both twins."""

from __future__ import annotations

import random
import threading

import pytest

from micrograd.ops import OPS


def tangle(twin, leaves, size=200, seed=1):
    """A random graph in which nodes are used many times."""
    rng = random.Random(seed)
    rules = [lambda a, b: a * 0.5 + b * 0.25, lambda a, b: (a - b).tanh(), lambda a, b: twin.math.sin(a * b)]
    nodes = list(leaves)
    for _ in range(size):
        nodes.append(rng.choice(rules)(rng.choice(nodes), rng.choice(nodes[-8:])))
    return nodes


class TestBackward:
    def test_leaves_accumulate_and_the_nodes_between_are_set_anew(self, Value):
        a = Value(3.0)
        b = a * a
        c = b * a
        c.backward()
        assert (a.grad, b.grad, c.grad) == (27.0, 3.0, 1.0)
        c.backward()
        assert (a.grad, b.grad, c.grad) == (54.0, 3.0, 1.0)  # twice the leaf, never 27 then 45

    @pytest.mark.parametrize("name", [op.name for op in OPS.values() if op.steps])
    def test_no_gradient_passes_a_step_not_even_an_infinite_one(self, twin, name):
        """0 times infinity would be nan; grad, jit and vmap leave the term out, as PyTorch and JAX do."""
        op = OPS[name]
        for at, over in ((0.25, lambda y: twin.math.log(y - y)), (float("inf"), lambda y: y * float("nan"))):
            leaves = [twin.Value(at) for _ in range(op.arity)]
            step = twin.engine.apply(twin.ops.OPS[name], *leaves)
            (over(step) + sum(leaves)).backward()
            assert [leaves[k].grad for k in op.steps] == [1.0] * len(op.steps)
            assert [v.grad == 1.0 for k, v in enumerate(leaves) if k not in op.steps] == [False] * (
                op.arity - len(op.steps)
            )

    def test_a_second_call_doubles_the_leaves_exactly(self, twin):
        leaves = [twin.Value(x) for x in (0.3, -0.7, 1.1)]
        nodes = tangle(twin, leaves)
        nodes[-1].backward()
        first = [v.grad for v in nodes]
        nodes[-1].backward()
        assert [v.grad for v in leaves] == [2 * g for g in first[:3]]
        assert [v.grad for v in nodes[3:]] == first[3:]
        assert any(first[:3])

    def test_two_roots_over_one_leaf(self, Value):
        x = Value(2.0)
        (x * 3).backward()
        (x * x).backward()
        assert x.grad == 7.0

    @pytest.mark.parametrize("call", [lambda y: y.backward(2.5), lambda y: y.backward(gradient=2.5)])
    def test_the_gradient_to_start_from(self, Value, call):
        x = Value(3.0)
        y = x * 2
        assert call(y) is None
        assert (y.grad, x.grad) == (2.5, 5.0)

    def test_a_gradient_is_a_number(self, Value):
        x = Value(1.0)
        y = x * 2
        with pytest.raises(TypeError, match="one real number"):
            y.backward("1")
        with pytest.raises(TypeError):
            y.backward(1.0, 2.0)
        with pytest.raises(TypeError):
            y.backward(seed=1.0)
        assert (x.grad, y.grad) == (0.0, 0.0)

    def test_of_a_leaf(self, Value):
        x = Value(1.0)
        x.backward()
        x.backward(2.0)
        assert x.grad == 3.0

    def test_a_root_that_is_also_inside_another_graph(self, Value):
        x = Value(2.0)
        y = x * 3
        z = y * y
        z.backward()
        y.backward()
        assert (y.grad, x.grad) == (1.0, 36.0 + 3.0)

    def test_nodes_that_the_root_does_not_need_are_left_alone(self, Value):
        x = Value(2.0)
        y, aside = x * 3, x * 5
        aside.grad = 7.0
        y.backward()
        assert (x.grad, aside.grad) == (3.0, 7.0)

    def test_it_uses_the_numbers_of_the_forward_pass(self, Value):
        x = Value(2.0)
        y = x * x
        x.data = 100.0
        y.backward()
        assert x.grad == 4.0

    def test_by_hand(self, Value):
        a, b = Value(2.0), Value(3.0)
        c = a * b
        c.grad = 1.0
        c._backward()
        assert (a.grad, b.grad) == (3.0, 2.0)
        c._backward()
        assert (a.grad, b.grad) == (6.0, 4.0)
        assert a._backward() is None  # of a leaf: nothing to push

    def test_the_same_order_on_both_twins(self, twins):
        orders = []
        for twin in twins:
            leaves = [twin.Value(x) for x in (0.3, -0.7, 1.1)]
            nodes = tangle(twin, leaves, size=60)
            place = {id(v): i for i, v in enumerate(nodes)}
            orders.append([place.get(id(v)) for v in twin.engine.topological(nodes[-1]) if id(v) in place])
            seen = []
            for i, v in enumerate(nodes[3:]):
                v._backward = lambda v=v, i=i, seen=seen: (seen.append(i), type(v)._backward(v))
            nodes[-1].backward()
            orders.append(seen)
        assert orders[0] == orders[2] and orders[1] == orders[3] and len(orders[1]) > 30

    def test_the_same_bits_in_every_process(self, run_python):
        program = """
import random
from micrograd.engine import Value
from micrograd import math
rng = random.Random(7)
leaves = [Value(rng.uniform(-1, 1)) for _ in range(20)]
nodes = list(leaves)
for _ in range(500):
    a, b = rng.choice(nodes), rng.choice(nodes[-12:])
    nodes.append(math.tanh(a * b + rng.uniform(-1, 1)) + a * 0.1)
math.sum(nodes).backward()
print([v.grad.hex() for v in leaves])
"""
        outputs = {
            run_python(program, PYTHONHASHSEED=seed, MICROGRAD_PURE=pure).stdout
            for seed in ("0", "1", "4711")
            for pure in ("0", "1")
        }
        assert len(outputs) == 1 and "0x" in outputs.pop()


class TestZeroGradAndDetach:
    def test_zero_grad_clears_the_whole_graph(self, twin):
        leaves = [twin.Value(x) for x in (0.3, -0.7, 1.1)]
        nodes = tangle(twin, leaves)
        nodes[-1].backward()
        aside = leaves[0] * 2
        aside.grad = 5.0
        number = (nodes[-1] * 3)._prev[1]
        number.grad = 1.0
        nodes[-1].zero_grad()
        assert not any(v.grad for v in twin.engine.topological(nodes[-1]))
        assert (aside.grad, number.grad) == (5.0, 1.0)

    def test_zero_grad_clears_numbers_too(self, Value):
        y = Value(1.0) * 3
        y._prev[1].grad = 4.0
        y.zero_grad()
        assert y._prev[1].grad == 0.0

    def test_detach_lets_no_gradient_through(self, Value):
        x = Value(3.0, label="x")
        d = (x * x).detach()
        y = d * x
        y.backward()
        assert (d.data, d._prev, d._op, d.grad, x.grad) == (9.0, (), "", 3.0, 9.0)


class TestNoGrad:
    def test_results_are_leaves(self, engine, Value, mgmath):
        x = Value(2.0)
        with engine.no_grad():
            for y in (x * 3, -x, mgmath.exp(x), mgmath.sum([x, x]), mgmath.where(x, x, 1.0), x.relu(), 2**x):
                assert type(y) is Value and y._prev == () and y._op == ""
        assert (x * 3)._prev

    def test_nested(self, engine, Value):
        x = Value(2.0)
        with engine.no_grad():
            with engine.no_grad():
                pass
            assert (x * 3)._prev == ()
        assert (x * 3)._prev != ()

    def test_one_object_entered_twice(self, engine, Value):
        x, off = Value(2.0), engine.no_grad()
        with off, off:
            assert (x * 3)._prev == ()
        assert (x * 3)._prev != ()

    def test_an_exception_restores_it(self, engine, Value):
        with pytest.raises(ZeroDivisionError), engine.no_grad():
            raise ZeroDivisionError
        assert (Value(2.0) * 3)._prev != ()

    def test_as_a_decorator(self, engine, Value):
        @engine.no_grad()
        def predict(x, scale=1.0):
            """Say something."""
            return x * scale

        y = predict(Value(2.0), scale=3.0)
        assert y.data == 6.0 and y._prev == () and predict.__name__ == "predict" and predict.__doc__ == "Say something."
        assert (Value(2.0) * 3)._prev != ()

    def test_a_node_made_by_hand_keeps_its_inputs(self, engine, Value):
        x = Value(2.0)
        with engine.no_grad():
            assert Value(4.0, (x,), "mine")._prev == (x,)

    def test_it_belongs_to_one_thread(self, engine, Value):
        x, seen = Value(2.0), []
        with engine.no_grad():
            thread = threading.Thread(target=lambda: seen.append((x * 3)._prev))
            thread.start()
            thread.join()
        assert len(seen) == 1 and seen[0]


class TestWatching:
    """What drawings, traces and the search for nan hook into."""

    def test_the_maker_is_told_of_each_new_node(self, engine, Value, mgmath):
        made = []
        before = engine.set_watch(None, made.append)
        try:
            x = Value(2.0)
            y = mgmath.sum([x * 3, x])
        finally:
            assert engine.set_watch(*before) == (None, made.append, False)
        assert [v._op for v in made] == ["*", "sum"] and made[-1] is y
        assert (x + 1)._op == "+" and len(made) == 2

    def test_the_watcher_is_told_of_numbers_that_leave(self, engine, Value):
        told, x, y = [], Value(2.0), Value(3.0)
        before = engine.set_watch(lambda how, v, other, result: told.append((how, other, result)), None)
        try:
            float(x), int(x), bool(x), x < y, x >= 1, round(x), x.data
            x.data = 2.0
            x.backward()
        finally:
            engine.set_watch(*before)
        assert told == [
            ("float()", None, None), ("int()", None, None), ("ne", 0.0, True), ("lt", y, True), ("ge", 1.0, True),
            ("round()", None, None), ("data", None, None), ("data =", None, None), ("backward()", None, None),
        ]  # fmt: skip

    def test_an_error_in_a_watcher_is_an_error(self, engine, Value):
        def no(*_):
            raise LookupError("not here")

        before = engine.set_watch(no, no)
        try:
            x = Value(1.0)
            for work in (lambda: x * 2, lambda: float(x), lambda: x < 1, lambda: bool(x)):
                with pytest.raises(LookupError, match="not here"):
                    work()
        finally:
            engine.set_watch(*before)
        assert (x * 2).data == 2.0

    def test_scopes_are_stamped_on_nodes(self, engine, Value):
        x = Value(1.0)
        before = engine.set_scope(7)
        try:
            y = x * 2
        finally:
            assert engine.set_scope(before) == 7
        assert (x._scope, y._scope, (x * 2)._scope) == (0, 7, 0)
