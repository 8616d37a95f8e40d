"""The order lab: what each wrong visit order gives, and which contribution it lost or counted twice."""

from math import inf

import pytest
from hypothesis import given, settings
from test_frames import graphs

from micrograd import Value
from micrograd.learn import frames, orders
from micrograd.learn.lesson import PRESETS


def three_lines():
    return PRESETS["order"].timeline()


@pytest.mark.parametrize(
    ("order", "grad", "fault", "said"),
    [
        ("reverse", 39.0, None, ""),
        ("naive", 60.0, "repeated", "21 too much"),
        ("preorder", 21.0, "early", "before c had delivered 6: a lost 18"),
        ("postorder", 0.0, "early", "a lost 39"),
    ],
)
def test_each_order_on_the_three_lines(order, grad, fault, said):
    run = orders.run(three_lines(), order)
    assert run.grads[0] == grad
    assert run.right[0] == 39.0
    into_a = [flow for flow in run.faults if flow.input == 0]
    assert [flow.fault for flow in into_a] == ([fault] if fault else [])
    assert all(said in flow.reason for flow in into_a)


def test_an_order_of_ones_own_by_names():
    timeline = three_lines()
    assert orders.run(timeline, ["d", "c", "b", "a"]).grads[0] == 39.0
    assert orders.run(timeline, ["d", "b", "c", "a"]).grads[0] == 21.0
    missing = orders.run(timeline, ["d", "b"])
    assert [flow.fault for flow in missing.faults] == ["inherited", "never"]
    with pytest.raises(ValueError, match="no node 'q'"):
        orders.run(timeline, ["d", "q"])


def test_the_diamond_is_15_when_a_comes_last():
    timeline = PRESETS["diamond"].timeline()
    for order in (["d", "b", "c", "a"], ["d", "c", "b", "a"]):
        assert orders.run(timeline, order).grads[0] == 15.0
    assert orders.run(timeline, ["d", "b"]).grads[0] == 9.0


def test_naive_recursion_is_stopped():
    x = Value(1.0)
    for _ in range(40):
        x = x + x
    assert len(orders.run(frames(x), "naive").visits) == orders.MOST_VISITS


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_reverse_topological_is_the_engine(root):
    timeline = frames(root)
    run = orders.run(timeline, "reverse")
    assert not run.faults
    root.backward()
    for node, grad in zip(timeline.nodes, run.grads):
        if not node.constant:
            assert repr(grad) == repr(node.value.grad) or grad == node.value.grad


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_where_no_edge_is_at_fault_the_gradients_are_right(root):
    timeline = frames(root)
    for order in orders.ORDERS:
        run = orders.run(timeline, order)
        if not run.faults and len(run.visits) < orders.MOST_VISITS:
            for i, (got, right) in enumerate(zip(run.grads, run.right)):
                size = sum(abs(flow.wanted) for flow in run.flows if flow.input == i)  # contributions may cancel
                assert orders.same(got, right) or abs(got - right) <= 1e-8 * size or not size < inf
