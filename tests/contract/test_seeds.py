"""What the lectures, courses and pages about micrograd show, run as they write it, with the numbers that they state.

Each program runs on three engines: the one in C, the one in Python, and the page of code in lecture.py.
"""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import pytest

from micrograd import lecture
from twins import NATIVE, PYTHON, C, in_place


@pytest.fixture(params=["C", "Python", "lecture"])
def twin(request):
    """The package with one engine, then with the other, then the lecture."""
    if request.param == "lecture":
        yield SimpleNamespace(name="lecture", Value=lecture.Value)
    elif request.param == "Python":
        with in_place(PYTHON):
            yield PYTHON
    elif NATIVE:
        yield C
    else:
        pytest.skip("the C twin is not built")


def build_topo(root):
    """The sort that every lecture writes by hand."""
    topo, visited = [], set()

    def visit(v):
        if v not in visited:
            visited.add(v)
            for child in v._prev:
                visit(child)
            topo.append(v)

    visit(root)
    return topo


def neuron(Value):
    x1, x2 = Value(2.0, label="x1"), Value(0.0, label="x2")
    w1, w2 = Value(-3.0, label="w1"), Value(1.0, label="w2")
    b = Value(6.8813735870195432, label="b")
    x1w1 = x1 * w1
    x1w1.label = "x1*w1"
    x2w2 = x2 * w2
    x2w2.label = "x2*w2"
    x1w1x2w2 = x1w1 + x2w2
    x1w1x2w2.label = "x1*w1 + x2*w2"
    n = x1w1x2w2 + b
    n.label = "n"
    o = n.tanh()
    o.label = "o"
    return o, n, x1, x2, w1, w2


def check_neuron(o, n, x1, x2, w1, w2):
    assert math.isclose(o.data, math.sqrt(0.5)) and math.isclose(n.grad, 0.5)
    assert math.isclose(x1.grad, -1.5) and math.isclose(w1.grad, 1.0)
    assert math.isclose(x2.grad, 0.5) and w2.grad == 0.0


class TestExpressions:
    def test_a_plus_b_times_c(self, Value):
        a, b, c = Value(2.0), Value(-3.0), Value(10.0)
        e = a + b
        d = e * c
        d.backward()
        assert (d.data, d.grad, e.grad, c.grad, a.grad, b.grad) == (-10.0, 1.0, 10.0, -1.0, 10.0, 10.0)

    def test_one_neuron(self, Value):
        parts = neuron(Value)
        parts[0].backward()
        check_neuron(*parts)

    def test_one_neuron_by_hand_in_topological_order(self, Value):
        o, *rest = neuron(Value)
        o.grad = 1.0
        for node in reversed(build_topo(o)):
            node._backward()
        check_neuron(o, *rest)

    def test_one_neuron_with_tanh_taken_apart(self, Value):
        o, n, *leaves = neuron(Value)
        e = (2 * n).exp()
        o = (e - 1) / (e + 1)
        o.backward()
        check_neuron(o, n, *leaves)

    def test_a_node_used_twice_in_a_product(self, Value):
        a = Value(3.0)
        b = a * a
        b.backward()
        assert (b.data, a.grad) == (9.0, 6.0)

    def test_a_node_used_twice_in_a_sum(self, Value):
        a = Value(3.0, label="a")
        b = a + a
        b.backward()
        assert (b.data, a.grad) == (6.0, 2.0)

    def test_the_diamond(self, Value):
        a = Value(2.0)
        b = 3 * a
        c = a + 1
        d = b * c
        d.backward()
        assert (b.data, c.data, d.data, a.grad) == (6.0, 3.0, 18.0, 15.0)

    def test_gradient_flow(self, Value):
        a, b = Value(2.0), Value(3.0)
        c = a * b
        d = c + a
        e = d**2
        e.backward()
        assert (e.data, e.grad, d.grad, c.grad, a.grad, b.grad) == (64.0, 1.0, 16.0, 16.0, 64.0, 32.0)

    def test_shared_variables_in_a_larger_graph(self, Value):
        a, b = Value(-2.0, label="a"), Value(3.0, label="b")
        d = a * b
        e = a + b
        f = d * e
        f.backward()
        assert (f.data, d.grad, e.grad, a.grad, b.grad) == (-6.0, 1.0, -6.0, -3.0, -8.0)

    def test_backward_called_by_hand(self, Value):
        a, b = Value(2.0), Value(3.0)
        c = a * b
        c.grad = 1.0
        c._backward()
        assert (c.data, a.grad, b.grad) == (6.0, 3.0, 2.0)

    def test_the_order_of_the_sort(self, Value):
        a, b = Value(2.0), Value(-3.0)
        c = a + b
        d = 2 * c
        loss = c + d
        places = {id(v): i for i, v in enumerate(reversed(build_topo(loss)))}
        assert places[id(loss)] == 0 and places[id(d)] < places[id(c)] < min(places[id(a)], places[id(b)])
        loss.backward()
        assert (a.grad, b.grad, c.grad, d.grad) == (3.0, 3.0, 3.0, 1.0)

    def test_the_chain_rule_in_numbers(self, Value):
        x = Value(5.0)
        y = 3 * x
        z = 2 * y
        z.backward()
        assert (x.grad, y.grad) == (6.0, 2.0)


class TestNumericalDerivatives:
    h = 0.0001

    @pytest.mark.parametrize(
        ("f", "args", "slopes"),
        [
            (lambda a, b, c: a * b + c, (2.0, -3.0, 10.0), (-3.0, 2.0, 1.0)),
            (lambda a, b: a * b, (2.0, -3.0), (-3.0, 2.0)),
            (lambda a: a**3, (2.0,), (12.0,)),
            (lambda a: a**-1, (2.0,), (-0.25,)),
        ],
    )
    def test_beside_grad(self, Value, f, args, slopes):
        values = [Value(x) for x in args]
        f(*values).backward()
        assert [v.grad for v in values] == list(slopes)
        for i, slope in enumerate(slopes):
            nudged = [x + self.h * (i == k) for k, x in enumerate(args)]
            assert (f(*nudged) - f(*args)) / self.h == pytest.approx(slope, abs=1e-3)


class TestClosures:
    def test_tanh_as_the_lecture_writes_it(self, Value, monkeypatch):
        def tanh(self):
            x = self.data
            t = (math.exp(2 * x) - 1) / (math.exp(2 * x) + 1)
            out = Value(t, (self,), "tanh")

            def _backward():
                self.grad += (1 - t**2) * out.grad

            out._backward = _backward
            return out

        monkeypatch.setattr(Value, "tanh", tanh)
        parts = neuron(Value)
        parts[0].backward()
        check_neuron(*parts)

    def test_the_graph_as_nodes_and_edges(self, Value):
        o, *_ = neuron(Value)
        nodes, edges = set(), set()

        def trace(v):
            if v not in nodes:
                nodes.add(v)
                for child in v._prev:
                    edges.add((child, v))
                    trace(child)

        trace(o)
        assert (len(nodes), len(edges)) == (10, 9)
        assert sorted(v._op for v in nodes if v._op) == ["*", "*", "+", "+", "tanh"]


class TestNetworks:
    @pytest.fixture
    def nn(self, twin):
        if twin.name == "lecture":
            return lecture
        import micrograd.nn

        assert micrograd.nn.Module.__module__.startswith("micrograd.nn")
        return micrograd.nn

    def test_a_basic_backward_pass(self, nn):
        random.seed(1)
        model = nn.MLP(2, [4, 1])
        pred = model([2.0, 3.0])
        loss = (pred - 1.0) ** 2
        assert all(p.grad == 0 for p in model.parameters())
        loss.backward()
        assert any(p.grad != 0 for p in model.parameters())

    def test_a_full_training_step(self, nn):
        random.seed(3)
        model = nn.MLP(2, [4, 4, 1])
        xs = [[2.0, 3.0], [-1.0, -1.0], [3.0, -2.0]]
        ys = [1.0, -1.0, 1.0]

        def forward():
            ypred = [model(x) for x in xs]
            return sum((yout - ygt) ** 2 for ygt, yout in zip(ys, ypred, strict=True))

        losses = []
        for _ in range(20):
            loss = forward()
            model.zero_grad()
            loss.backward()
            for p in model.parameters():
                p.data -= 0.01 * p.grad
            losses.append(loss.data)
        assert losses[-1] < losses[0]

    def test_zero_grad_clears_the_parameters(self, nn):
        model = nn.MLP(3, [4, 4, 1])
        model([1.0, 2.0, 3.0]).backward()
        assert any(p.grad for p in model.parameters())
        model.zero_grad()
        assert not any(p.grad for p in model.parameters())

    def test_counts_and_shapes(self, nn, Value):
        model = nn.MLP(3, [4, 4, 1])
        assert len(model.parameters()) == 4 * (3 + 1) + 4 * (4 + 1) + (4 + 1)
        assert len(nn.MLP(2, [16, 16, 1]).parameters()) == 337
        assert isinstance(model([1.0, 2.0, 3.0]), Value)  # one output comes alone
        assert len(nn.Layer(3, 2)([1.0, 2.0, 3.0])) == 2
        assert len(nn.Neuron(3).parameters()) == 4
        if nn is not lecture:  # which has no class for what its networks have in common
            assert isinstance(model, nn.Module) and isinstance(nn.Neuron(2), nn.Module)

    def test_gradients_of_a_network_against_differences(self, nn):
        random.seed(5)
        model = nn.MLP(2, [3, 1])
        x = [0.7, -0.4]
        (model(x) ** 2).backward()
        for p in model.parameters():
            kept, h = p.data, 1e-6
            p.data = kept + h
            above = model(x).data ** 2
            p.data = kept - h
            below = model(x).data ** 2
            p.data = kept
            assert p.grad == pytest.approx((above - below) / (2 * h), abs=1e-6)


def test_the_lecture_fits_on_a_page():
    with open(lecture.__file__, encoding="utf-8") as file:
        assert len(file.readlines()) <= 120


@pytest.mark.parametrize("seed", range(20))
def test_random_expressions_have_the_gradients_of_the_engine(seed):
    def run(Value):
        draw = random.Random(seed)
        leaves = [Value(draw.uniform(0.5, 1.5)) for _ in range(4)]
        found = list(leaves)
        for _ in range(25):
            a, b = draw.choice(found), draw.choice(found)
            found.append(
                draw.choice(
                    [
                        lambda a, b: a + b,
                        lambda a, b: a * b,
                        lambda a, b: a - b,
                        lambda a, b: a / (b * b + 1),
                        lambda a, b: (a * 0.1).exp(),
                        lambda a, b: a.tanh(),
                        lambda a, b: a.relu(),
                        lambda a, b: (a * a + 1) ** 0.5,
                        lambda a, b: 2 - a,
                        lambda a, b: 1 / (a * a + 2) + -b,
                    ]
                )(a, b).tanh()
            )
        found[-1].backward()
        return found[-1].data, [v.grad for v in leaves]

    value, gradient = run(lecture.Value)
    expected, slopes = run(C.Value)
    assert value == pytest.approx(expected, rel=1e-12) and gradient == pytest.approx(slopes, rel=1e-9, abs=1e-14)
