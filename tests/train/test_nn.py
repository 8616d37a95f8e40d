"""Module, Neuron, Layer, MLP: micrograd's classes, and what every module can do."""

import copy
import pickle
import random

import pytest

from micrograd import Value, math, nn
from micrograd.engine import set_scope, topological
from micrograd.values import module_scopes as scopes


def test_mlp_has_the_repr_of_micrograd():
    assert repr(nn.MLP(2, [3, 1])) == (
        "MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(3)]]"
    )


def test_weights_are_drawn_as_micrograd_draws_them():
    random.seed(1337)
    model = nn.MLP(3, [4, 2])
    random.seed(1337)
    for layer in model.layers:
        for neuron in layer.neurons:
            assert [w.data for w in neuron.w] == [random.uniform(-1, 1) for _ in neuron.w]
            assert neuron.b.data == 0.0


def test_mlp_computes_what_its_weights_say():
    model = nn.MLP(2, [3, 2], rng=3)
    x = [0.3, -0.7]
    hidden = [max(sum(w.data * v for w, v in zip(n.w, x)) + n.b.data, 0.0) for n in model.layers[0].neurons]
    expected = [sum(w.data * h for w, h in zip(n.w, hidden)) + n.b.data for n in model.layers[1].neurons]
    assert [v.data for v in model(x)] == pytest.approx(expected, rel=1e-14)


def test_parameters_are_counted_and_ordered_as_in_micrograd():
    model = nn.MLP(2, [16, 16, 1])
    assert len(model.parameters()) == 337
    first = model.layers[0].neurons[0]
    assert all(a is b for a, b in zip(model.parameters(), [*first.w, first.b]))
    assert all(a is b for a, (_, b) in zip(model.parameters(), model.named_parameters(), strict=True))


def test_a_single_output_is_bare_and_several_are_a_list():
    assert isinstance(nn.MLP(2, [1])([1.0, 2.0]), Value)
    assert len(nn.MLP(2, [2])([1.0, 2.0])) == 2
    assert isinstance(nn.MLP(1, [1, 1, 1])(2.0), Value)  # bare between layers too


@pytest.mark.parametrize("name", list(nn.ACTIVATIONS))
def test_each_activation_bends_the_sum(name):
    neuron = nn.Neuron(2, activation=name, rng=0)
    total = sum(w.data * x for w, x in zip(neuron.w, [0.5, -2.0]))
    expected = total if name == "linear" else getattr(math, name)(total)
    assert neuron([0.5, -2.0]).data == pytest.approx(expected, rel=1e-14)
    assert repr(neuron).lower() == f"{name}neuron(2)"


def test_a_neuron_of_your_own_is_called():
    class Doubled(nn.Neuron):
        def __call__(self, x):
            return 2.0 * super().__call__(x)

    layer = nn.Layer(2, 3, rng=0)
    before = [v.data for v in layer([1.0, 2.0])]
    layer.neurons[1].__class__ = Doubled
    assert [v.data for v in layer([1.0, 2.0])] == [before[0], 2.0 * before[1], before[2]]


def test_the_last_layer_is_linear_whatever_the_activation():
    model = nn.MLP(2, [3, 1], activation="tanh")
    assert [n.activation for layer in model.layers for n in layer.neurons] == ["tanh"] * 3 + ["linear"]


SPREADS = {
    "uniform": 3**-0.5,
    "kaiming": (2 / 50) ** 0.5,
    "kaiming_uniform": (2 / 50) ** 0.5,
    "xavier": (2 / 90) ** 0.5,
    "xavier_normal": (2 / 90) ** 0.5,
    "small": 0.08,
    "zeros": 0.0,
}


@pytest.mark.parametrize("name", list(nn.INITIALISERS))
def test_each_initialiser_has_its_spread(name):
    weights = [w.data for n in nn.Layer(50, 40, init=name, rng=1).neurons for w in n.w]
    assert (sum(w * w for w in weights) / len(weights)) ** 0.5 == pytest.approx(SPREADS[name], rel=0.05)


def test_a_generator_or_a_seed_makes_the_weights_and_leaves_random_alone():
    random.seed(5)
    before = random.getstate()
    a, b = nn.MLP(2, [4, 1], rng=7), nn.MLP(2, [4, 1], rng=random.Random(7))
    assert a.state_dict() == b.state_dict() != nn.MLP(2, [4, 1], rng=8).state_dict()
    assert random.getstate() == before


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: nn.MLP(2, []), "one layer or more"),
        (lambda: nn.Neuron(2, activation="swish"), "relu, tanh"),
        (lambda: nn.MLP(2, [1], init="xaver"), "xavier"),
        (lambda: nn.MLP(2, [3, 1])([1.0, 2.0, 3.0]), "takes 2 inputs, and was given 3"),
        (lambda: nn.Neuron(2)([1.0]), "takes 2 inputs, and was given 1"),
    ],
)
def test_what_cannot_be_is_said(make, told):
    with pytest.raises(ValueError, match=told):
        make()


class Line(nn.Module):
    """As a newcomer writes one: no super().__init__(), parameters in attributes."""

    def __init__(self):
        self.slope, self.start = Value(2.0), Value(1.0)
        self.tables = {"a": [Value(3.0)], "b": (Value(4.0), Value(5.0))}
        self.ragged = [[Value(6.0)], [Value(7.0), Value(8.0)]]
        self.inner = nn.Neuron(1, rng=0)
        self._hidden = Value(9.0)
        self.count = 3

    def forward(self, x):
        self.last = self.slope * x + self.start
        return self.last


def test_a_module_finds_its_parameters_in_its_attributes():
    line = Line()
    assert line(3.0).data == 7.0
    names = [name for name, _ in line.named_parameters()]
    assert names == ["slope", "start", "tables.a.0", "tables.b.0", "tables.b.1", "ragged.0.0", "ragged.1.0",
                     "ragged.1.1", "inner.w.0", "inner.b"]  # fmt: skip
    assert all(a is b for a, (_, b) in zip(line.parameters(), line.named_parameters(), strict=True))
    assert line.state_dict()["tables.b"] == [4.0, 5.0]


def test_a_parameter_that_is_used_twice_is_one_parameter():
    line = Line()
    line.again = line.slope
    assert len(line.parameters()) == len(Line().parameters())


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="has no forward"):
        nn.Module()(1.0)


def test_zero_grad_clears_every_parameter():
    model = nn.MLP(2, [3, 1], rng=0)
    model([1.0, 2.0]).backward()
    assert any(p.grad for p in model.parameters())
    model.zero_grad()
    assert not any(p.grad for p in model.parameters())


# ---- state


def test_state_goes_from_one_model_to_another():
    a, b = nn.MLP(2, [4, 1], rng=0), nn.MLP(2, [4, 1], rng=1)
    b.load_state_dict(a.state_dict())
    assert b([0.1, 0.2]).data == a([0.1, 0.2]).data
    a.parameters()[0].data = 99.0
    assert b.parameters()[0].data != 99.0  # numbers, not the Values themselves


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda s: s.pop("layers.1.neurons.0.b"), r"lacks layers\.1\.neurons\.0\.b of shape \(\)"),
        (lambda s: s.update(extra=[1.0, 2.0]), r"has what this model lacks: extra of shape \(2,\)"),
        (lambda s: s["layers.0.neurons.1.w"].pop(), r"layers\.0\.neurons\.1\.w of shape \(1,\).* has shape \(2,\)"),
        (
            lambda s: s.update({"layers.1.neurons.0.b": "x"}),
            r"layers\.1\.neurons\.0\.b with something else than numbers",
        ),
        (lambda s: s.update({"layers.1.neurons.0.b": True}), "no number at layers.1.neurons.0.b, but True"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_whole(change, told):
    model = nn.MLP(2, [4, 1], rng=0)
    before = model.state_dict()
    state = nn.MLP(2, [4, 1], rng=1).state_dict()
    change(state)
    with pytest.raises(ValueError, match=told):
        model.load_state_dict(state)
    assert model.state_dict() == before


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_predict_the_same_and_are_their_own(again):
    model = nn.MLP(2, [4, 1], activation="tanh", rng=0)
    twin = again(model)
    assert twin([0.1, 0.2]).data == model([0.1, 0.2]).data
    assert not {id(p) for p in twin.parameters()} & {id(p) for p in model.parameters()}
    assert scopes.path(twin.layers[1].neurons[0]._scope) == ("layer 1", "neuron 0")
    assert twin._scope != model._scope


# ---- scopes


def test_nodes_know_which_neuron_made_them():
    model = nn.MLP(2, [2, 1], rng=0)
    out = model([1.0, 2.0]) * 3.0
    made = {scopes.path(v._scope) for v in topological(out) if v._prev}
    assert made == {("layer 0", "neuron 0"), ("layer 0", "neuron 1"), ("layer 1", "neuron 0"), ()}


def test_parts_of_a_module_are_named_after_their_attributes():
    class Pair(nn.Module):
        def __init__(self):
            self.left, self.rights = nn.Layer(1, 1), [nn.Layer(1, 1), nn.Layer(1, 1)]

    pair = Pair()
    assert scopes.path(pair.left.neurons[0]._scope) == ("left", "neuron 0")
    assert scopes.path(pair.rights[1].neurons[0]._scope) == ("right 1", "neuron 0")


def test_the_scope_is_restored_after_an_error():
    before = set_scope(0)
    try:
        with pytest.raises(ValueError):
            nn.MLP(2, [1])([1.0])
        with pytest.raises(NotImplementedError):
            nn.Module()(1.0)
        assert set_scope(0) == 0
    finally:
        set_scope(before)


def test_scopes_have_paths():
    outer, inner = scopes.new("outer"), scopes.new("")
    assert scopes.path(0) == scopes.path(10**9) == ()
    scopes.adopt(inner, outer, "inner")
    assert scopes.path(inner) == ("outer", "inner")
    with pytest.raises(ValueError, match="cannot be put inside"):
        scopes.adopt(outer, inner, "loop")


class TestALayerThatHasRunBefore:
    """A layer reads the parts of its neurons in one look-up; what changes between two calls counts all the same."""

    def setup_method(self):
        self.layer = nn.Layer(2, 2, rng=1)
        self.before = [v.data for v in self.layer([1.0, 2.0])]
        self.layer([1.0, 2.0])

    def outputs(self):
        return [v.data for v in self.layer([1.0, 2.0])]

    def test_another_bias_and_other_weights(self):
        neuron = self.layer.neurons[0]
        neuron.w, neuron.b = [Value(1.0), Value(2.0)], Value(0.5)
        assert self.outputs() == [5.5, self.before[1]]
        neuron.w[0] = Value(3.0)
        assert self.outputs() == [7.5, self.before[1]]

    def test_another_activation(self):
        neuron = self.layer.neurons[1]
        neuron.w, neuron.activation = [Value(-1.0), Value(-1.0)], "linear"
        assert self.outputs()[1] == -3.0
        neuron.nonlin = True
        neuron.activation = "relu"
        assert self.outputs()[1] == 0.0

    def test_another_neuron(self):
        class Constant(nn.Neuron):
            def forward(self, x):
                return Value(7.0)

        self.layer.neurons[1] = Constant(2)
        self.layer.neurons.append(lambda x: Value(8.0))
        assert self.outputs() == [self.before[0], 7.0, 8.0]

    def test_another_forward(self, monkeypatch):
        monkeypatch.setattr(nn.Neuron, "forward", lambda self, x: Value(9.0))
        assert self.outputs() == [9.0, 9.0]

    def test_nodes_have_the_scopes_of_their_neurons(self):
        root = math.sum(self.layer([1.0, 2.0]))
        made = {v._scope for v in topological(root) if v._prev and v is not root}
        assert made == {neuron._scope for neuron in self.layer.neurons} and root._scope == 0

    def test_a_copy_has_its_own_parts(self):
        other = copy.deepcopy(self.layer)
        other.neurons[0].b.data += 1.0
        other.neurons[0].activation = "linear"
        assert self.outputs() == self.before
        made = {v._scope for v in topological(other([1.0, 2.0])[0]) if v._prev}
        assert made == {other.neurons[0]._scope}
