"""pickle, copy and deepcopy of a Value carry its graph, whatever its depth."""

from __future__ import annotations

import copy
import pickle

import pytest

from twins import PYTHON, C, cube, in_place


def neuron(Value):
    x, w, b = Value(2.0, label="x"), Value(-3.0, label="w"), Value(6.7, label="b")
    out = (x * w + b).tanh() * 2
    out.label = "out"
    return (x, w, b), out


def leaves_of(root, engine):
    return {v.label: v for v in engine.topological(root) if v.label}


@pytest.fixture(params=[*range(pickle.HIGHEST_PROTOCOL + 1), "deepcopy"])
def duplicate(request):
    """A function that makes an independent copy of anything: pickle in each protocol, and deepcopy."""
    if request.param == "deepcopy":
        return copy.deepcopy
    return lambda x: pickle.loads(pickle.dumps(x, request.param))


class TestWholeCopies:
    def test_a_leaf(self, Value, duplicate):
        v = Value(1.5, label="v")
        v.grad, v.note = 0.25, ["kept"]
        w = duplicate(v)
        assert w is not v and type(w) is Value
        assert (w.data, w.grad, w.label, w.note, w._prev) == (1.5, 0.25, "v", ["kept"], ())

    def test_a_graph_with_its_gradients(self, twin, duplicate):
        _, out = neuron(twin.Value)
        out.backward()
        new = duplicate(out)
        assert (new.data, new.grad, new.label, new._op) == (out.data, 1.0, "out", "*")
        for old, v in zip(twin.engine.topological(out), twin.engine.topological(new), strict=True):
            assert v is not old
            assert (v.data, v.grad, v.label, v._op, v._partials) == (
                old.data,
                old.grad,
                old.label,
                old._op,
                old._partials,
            )

    def test_the_copy_goes_backward_by_itself(self, twin, duplicate):
        leaves, out = neuron(twin.Value)
        new = duplicate(out)
        new.backward()
        copies = leaves_of(new, twin.engine)
        assert [v.grad for v in leaves] == [0.0, 0.0, 0.0]
        out.backward()
        assert [copies[v.label].grad for v in leaves] == [v.grad for v in leaves] and leaves[0].grad

    def test_shared_leaves_stay_shared(self, Value, duplicate):
        w = Value(2.0)
        first, second, same = duplicate([w * 3, w * w, w])
        first.backward()
        second.backward()
        assert same.grad == 3.0 + 4.0 and w.grad == 0.0

    def test_a_node_used_twice_stays_one(self, Value, duplicate):
        a = Value(3.0)
        b = a * 2
        new = duplicate(b * b)
        left, right = new._prev
        assert left is right
        new.backward()
        assert left._prev[0].grad == 24.0

    def test_list_ops_and_numbers(self, Value, mgmath, duplicate):
        xs = [Value(1.0, label="x"), 2.0, Value(3.0, label="z")]
        y = duplicate(mgmath.logsumexp(xs) + mgmath.where(xs[0], xs[2], 5.0))
        y.backward()
        by_label = {v.label: v.grad for v in [*y._prev[0]._prev, *y._prev[1]._prev] if v.label}
        expected = mgmath.logsumexp(xs) + mgmath.where(xs[0], xs[2], 5.0)
        expected.backward()
        assert by_label == {"x": xs[0].grad, "z": xs[2].grad}

    def test_a_node_made_by_hand_keeps_its_name_and_inputs(self, Value, duplicate):
        a, b = Value(1.0), Value(2.0)
        v = duplicate(Value(5.0, (a, b), "mine", label="v"))
        assert (v.data, v._op, v.label, [c.data for c in v._prev]) == (5.0, "mine", "v", [1.0, 2.0])

    def test_a_deep_graph(self, Value, duplicate):
        x = Value(1.0, label="x")
        y = x
        for _ in range(5_000):
            y = y + 1.0
        new = duplicate(y)
        new.backward()
        while new._prev:
            new = new._prev[0]
        assert (new.label, new.grad) == ("x", 1.0)

    def test_inside_other_things(self, Value, duplicate):
        class_of = duplicate({"params": [Value(1.0), Value(2.0)], "step": 3})
        assert [v.data for v in class_of["params"]] == [1.0, 2.0] and class_of["step"] == 3


class Weight(C.Value):
    """A subclass that pickle can find."""


def test_a_leaf_of_a_subclass_keeps_its_class():
    w = Weight(2.0)
    w.rate = 0.1
    for new in (pickle.loads(pickle.dumps(w)), copy.deepcopy(w), copy.copy(w)):
        assert type(new) is Weight and (new.data, new.rate) == (2.0, 0.1)
    y = pickle.loads(pickle.dumps(w * 3))
    y.backward()
    assert type(y._prev[0]) is Weight and y._prev[0].grad == 3.0


class TestCopy:
    def test_of_a_leaf(self, Value):
        v = Value(2.0, label="v")
        v.grad = 3.0
        w = copy.copy(v)
        assert w is not v and (w.data, w.grad, w.label) == (2.0, 3.0, "v")

    def test_of_a_node_has_the_same_inputs(self, Value):
        a, b = Value(2.0), Value(3.0)
        c = a * b
        d = copy.copy(c)
        assert d is not c and d._prev == (a, b) and d._prev[0] is a and d._op == "*"
        d.backward()
        assert (a.grad, b.grad, c.grad) == (3.0, 2.0, 0.0)


class TestHandWrittenBackward:
    def test_pickle_says_that_it_cannot(self, Value):
        with pytest.raises((AttributeError, pickle.PicklingError), match=r"_backward|local object"):
            pickle.dumps(cube(Value, Value(2.0)))

    def test_copy_shares_it(self, Value):
        x = Value(2.0)
        y = copy.copy(cube(Value, x))
        assert y.data == 8.0 and y._backward.__name__ == "_backward"


@pytest.mark.skipif(not C.engine.NATIVE, reason="the C twin is not built")
@pytest.mark.parametrize(("writer", "reader"), [(C, PYTHON), (PYTHON, C)], ids=["C to Python", "Python to C"])
def test_one_twin_reads_what_the_other_wrote(writer, reader):
    with in_place(writer):
        leaves, out = neuron(writer.Value)
        out.backward()
        text = pickle.dumps([out, *leaves])
    with in_place(reader):
        new, *new_leaves = pickle.loads(text)
    assert type(new) is reader.Value
    new.zero_grad()
    new.backward()
    assert [v.grad for v in new_leaves] == [v.grad for v in leaves]
