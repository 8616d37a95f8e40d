"""What lies behind a step (floor, x < y, the condition of where) alone: no gradient reaches it, on both engines."""

from __future__ import annotations

import math

import pytest

from learn.in_node import needs_node, run_in_node
from micrograd.ops import OPS

SLOTS = [(op.name, k) for op in OPS.values() for k in op.steps]


def stepped(twin, name, slot, behind):
    """The op with a node in one of its step slots, and numbers in the others."""
    op = twin.ops.OPS[name]
    return twin.engine.apply(op, *[behind if k == slot else 2.0 for k in range(op.arity)])


@pytest.mark.parametrize(("name", "slot"), SLOTS)
def test_the_sweep_ends_at_a_step(twin, name, slot):
    x = twin.Value(0.0)
    pole = twin.math.log(x)
    pole.grad = 7.0
    y = stepped(twin, name, slot, pole) * 2.0 + x
    y.backward()
    assert (x.grad, pole.grad, y.grad) == (1.0, 0.0, 1.0)
    y.backward()
    assert x.grad == 2.0


def test_a_node_that_is_also_reached_another_way_gets_that_gradient_alone(twin):
    x = twin.Value(4.0)
    root = twin.math.sqrt(x)
    (twin.math.floor(root) * root).backward()
    assert (root.grad, x.grad) == (2.0, 0.5)


def test_steps_behind_steps_and_a_step_as_the_root(twin):
    m, x = twin.math, twin.Value(0.0)
    (m.floor(m.sign(m.log(x)) / x) + m.where(m.log(x) < m.sqrt(x), x, 3.0 * x)).backward()
    assert x.grad == 1.0
    x, y = twin.Value(0.0), twin.Value(5.0)
    m.floor(m.log(x) * y).backward()
    assert (x.grad, y.grad) == (0.0, 0.0)


def test_a_product_with_zero_is_no_step(twin):
    for f in (lambda x: twin.math.log(x * 0.0) + x, lambda x: twin.math.log(x) * 0.0 + x):
        x = twin.Value(0.0)
        f(x).backward()
        assert math.isnan(x.grad)


def test_given_partials_of_zero_are_no_step(twin):
    x = twin.Value(0.0)
    pole = twin.math.log(x)
    (twin.Value(1.0, (pole,), (0.0,)) + x).backward()
    assert math.isnan(x.grad)


def straight_through(twin, x, children):
    """A rounding that hands its gradient on, as quantization does."""
    out = twin.Value(round(x.data, 0), children, "quantize")

    def _backward():
        x.grad += out.grad

    out._backward = _backward
    return out


def test_a_step_with_a_hand_written_backward_hands_its_gradient_on(twin):
    x = twin.Value(1.2)
    square = x * x
    y = twin.math.round(square)
    y._backward = lambda: setattr(square, "grad", square.grad + y.grad)
    (y * 3.0).backward()
    assert x.grad == pytest.approx(7.2)


def test_a_hand_written_backward_may_reach_around_a_step(twin):
    x = twin.Value(1.2)
    square = x * x
    (straight_through(twin, square, (twin.math.round(square),)) * 3.0).backward()
    assert x.grad == pytest.approx(7.2)


def test_a_hand_written_backward_behind_a_step_is_not_called(twin):
    called = []
    x = twin.Value(0.5)
    inner = twin.Value(0.25, (x,), "square")
    inner._backward = lambda: called.append(inner.grad)
    x._backward = lambda: called.append("leaf")
    y = twin.Value(2.0)
    (twin.math.floor(inner) + y).backward()
    assert (called, y.grad) == ([], 1.0)
    (twin.math.floor(inner) + y * x).backward()
    assert (called, x.grad) == (["leaf"], 2.0)


def test_a_failed_sweep_puts_all_gradients_back(twin):
    x = twin.Value(0.0)
    pole = twin.math.log(x)
    pole.grad, x.grad = 3.0, 4.0
    leaf = twin.Value(1.0)
    bad = twin.Value(1.0, (leaf,), "bad")

    def _backward():
        raise ValueError("stop")

    bad._backward = _backward
    y = twin.math.floor(pole) * bad + x
    with pytest.raises(ValueError, match="stop"):
        y.backward()
    assert (pole.grad, x.grad, bad.grad) == (3.0, 4.0, 0.0)


def test_a_subclass_with_a_backward_of_its_own_hands_its_gradient_on(twin):
    class Through(twin.Value):
        __slots__ = ()

        def _backward(self):
            for v in self._prev:
                v.grad += self.grad

    class Same(twin.Value):
        __slots__ = ()

    for kind, expected in ((Through, math.inf), (Same, 1.0)):
        x = twin.Value(0.0)
        step = twin.math.floor(twin.math.log(x))
        step.__class__ = kind
        (step + x).backward()
        assert x.grad == expected


def test_a_hand_written_backward_that_hands_on_zero_is_no_step(twin):
    class Zero(twin.Value):
        __slots__ = ()

        def _backward(self):
            self._prev[0].grad += 0.0 * self.grad

    for by_class in (False, True):
        x = twin.Value(0.0)
        root = twin.math.sqrt(x)
        step = twin.math.floor(root)
        if by_class:
            step.__class__ = Zero
        else:
            step._backward = lambda root=root: setattr(root, "grad", root.grad + 0.0)
        (step + x).backward()
        assert math.isnan(x.grad)


def test_large_graphs_with_many_steps_on_both_engines(twins):
    """Steps in the middle of a long chain: bits and order of the sums are the same."""

    def run(twin):
        m, x = twin.math, twin.Value(0.9)
        acc, nodes = twin.Value(0.3), []
        for i in range(3000):
            kept = acc * x
            acc = m.where(m.log(m.floor(kept * 7.0)) > 0.5, kept + 0.1, acc * 0.99 + 0.05) + m.floor(kept) * (i % 3)
            nodes.append(kept)
        (acc + x).backward()
        return [x.grad.hex(), *[v.grad.hex() for v in nodes]]

    first, second = [run(twin) for twin in twins]
    assert first == second
    assert "nan" not in first


def test_anomaly_detection_looks_where_the_sweep_goes(twin):
    m, x = twin.math, twin.Value(0.0)
    y = m.floor(m.log(x)) + x
    with twin.package.detect_anomaly():
        y.backward()
    assert x.grad == 1.0
    bad = m.log(x) * 0.0
    with pytest.raises(twin.package.AnomalyError, match="backward"), twin.package.detect_anomaly():
        bad.backward()


def test_frames_say_that_nothing_passes(twin):
    x = twin.Value(0.0, label="x")
    from micrograd.learn import frames

    pole = twin.math.log(x)
    timeline = frames(twin.math.floor(pole) + x, names={"p": pole})
    assert timeline.gradients()[0] == 1.0
    assert [frame.sentence for frame in timeline if frame.input == 0][-1] == (
        "x.grad += 0 → 1 + 0 = 1, because no gradient passes a step such as floor or sign"
    )


@needs_node
def test_the_program_of_the_page_over_many_points():
    """floor(log(x)) + w*x at x = 0, once with w as a parameter behind the step too."""
    nodes = [
        {"data": 0.0}, {"data": 3.0}, {"op": "mul", "inputs": [0, 1]}, {"op": "log", "inputs": [2]},
        {"op": "floor", "inputs": [3]}, {"op": "add", "inputs": [4, 2]},
    ]  # fmt: skip
    for node in nodes:
        node.setdefault("data", 0.0)
    packed = {
        "timeline": {"nodes": nodes},
        "target": None,
        "x": [0],
        "y": -1,
        "parameters": [1],
        "outputs": [5],
        "neurons": [],
    }
    script = """const p = new program.Program(data);
    p.forward(Float64Array.of(3), [Float64Array.of(0, 2)], Float64Array.of(0, 0));
    return p.backward(1).map((column) => [...column]);"""
    grads = run_in_node(script, packed, "program.js")
    assert (grads[0], grads[1]) == ([3, 3], [0, 2])
