"""What the parameters of a module are: one definition, whatever class it is made from and wherever its Values are kept."""

from collections import deque

import pytest

from micrograd import Value, losses, nn, optim
from micrograd.nn.dropout import dropouts
from micrograd.nn.parameters import parts


def names(model):
    return [name for name, _ in model.named_parameters()]


@pytest.mark.parametrize(
    "make", [lambda c: c(2, [2, 1]), lambda c: c(2, 2), lambda c: c(2)], ids=["MLP", "Layer", "Neuron"]
)
def test_a_subclass_trains_what_it_adds(make, request):
    parent = {"MLP": nn.MLP, "Layer": nn.Layer, "Neuron": nn.Neuron}[request.node.callspec.id]

    class Scaled(parent):
        def __init__(self, *args):
            super().__init__(*args)
            self.scale = Value(2.0)

    model = make(Scaled)
    model.later = Value(3.0)
    assert model.scale in model.parameters() and model.later in model.parameters()
    assert [id(p) for _, p in model.named_parameters()] == [id(p) for p in model.parameters()]
    assert model.state_dict()["scale"] == 2.0 and model.state_dict()["later"] == 3.0
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    (model.scale * model.later).backward()
    optimizer.step()
    assert (model.scale.data, model.later.data) == (1.7, 2.8)


def test_an_overridden_forward_is_what_runs():
    class Twice(nn.MLP):
        def forward(self, x):
            return 2.0 * super().forward(x)

    class Flat(nn.Layer):
        def forward(self, x):
            return [0.0 * v for v in super().forward(x)]

    class Loud(nn.Neuron):
        def forward(self, x):
            return 10.0 * super().forward(x)

    x = [0.5, -0.25]
    assert Twice(2, [3, 1], rng=1)(x).data == 2.0 * nn.MLP(2, [3, 1], rng=1)(x).data
    assert [v.data for v in Flat(2, 3, rng=1)(x)] == [0.0] * 3
    assert Loud(2, rng=1)(x).data == 10.0 * nn.Neuron(2, rng=1)(x).data
    layer = nn.Layer(2, 2, rng=1)
    before = [v.data for v in layer(x)]
    layer.neurons[0].__class__ = Loud
    assert [v.data for v in layer(x)] == [10.0 * before[0], before[1]]


def test_a_class_that_lists_its_own_parameters_is_taken_at_its_word():
    class Part(nn.Module):
        def __init__(self):
            self.used, self.unused = Value(1.0), Value(2.0)
            self._hidden = Value(3.0)

        def parameters(self):
            return [self.used, self._hidden]

    class Whole(nn.Module):
        def __init__(self):
            self.part = Part()

    for model, prefix in ((Part(), ""), (Whole(), "part.")):
        assert [p.data for p in model.parameters()] == [1.0, 3.0]
        assert model.state_dict() == {f"{prefix}used": 1.0, f"{prefix}parameters.0": 3.0}


class Holder(nn.Module):
    def __init__(self, thing=None):
        self.w = Value(1.0)
        self.thing = thing


@pytest.mark.parametrize(
    "thing", [[2, 16, 1], [], (1.5, 2), "abc", {"a": 1}, {3, 4}, b"x", range(3), deque([1]), 3 + 4j]
)
def test_what_is_no_parameter_does_no_harm(tmp_path, thing):
    model = Holder(thing)
    assert model.state_dict() == {"w": 1.0} and names(model) == ["w"]
    model.save(tmp_path / "model.json")
    assert Holder(thing).load(tmp_path / "model.json").w.data == 1.0


def test_values_are_found_wherever_they_can_be_named():
    np = pytest.importorskip("numpy", reason="for arrays")
    a, b = Value(2.0), Value(3.0)
    for thing, found in [
        ([a, 1.0, b], ["thing.0", "thing.2"]),
        (deque([a, b]), ["thing.0", "thing.1"]),
        (np.array([a, b], dtype=object), ["thing.0", "thing.1"]),
        ({1: a, "x": [b]}, ["thing.1", "thing.x.0"]),
        ([nn.Linear(1, 1), 3, [a]], ["thing.0.weight.0.0", "thing.0.bias.0", "thing.2.0"]),
    ]:
        model = Holder(thing)
        assert names(model) == ["w", *found]
        assert [id(p) for _, p in model.named_parameters()] == [id(p) for p in model.parameters()]
        again = Holder(thing)
        again.load_state_dict(model.state_dict())
        assert again.state_dict() == model.state_dict()


@pytest.mark.parametrize(
    "thing, told",
    [
        ({Value(1.0)}, "a set with Values or modules in it"),
        (frozenset([Value(1.0)]), "frozenset"),
        ([{"a": {nn.Linear(1, 1)}}], "a set with Values"),
        ({1: Value(1.0), "1": Value(2.0)}, "two keys that are written '1'"),
        ({"a": Value(1.0)}.values(), "keep them in a list"),
    ],
)
def test_values_that_could_not_be_named_are_refused_when_assigned(thing, told):
    with pytest.raises((TypeError, ValueError), match=told):
        Holder(thing)
    model = Holder([])
    model.thing.append(thing)  # past the assignment: refused by the first walk
    with pytest.raises((TypeError, ValueError), match=told):
        model.parameters()


def test_two_parameters_of_one_name_are_refused():
    model = Holder({"a.b": Value(1.0), "a": {"b": Value(2.0)}})
    with pytest.raises(ValueError, match=r"two parameters are called thing\.a\.b"):
        model.state_dict()


def test_a_child_that_holds_its_parent_is_refused_and_hidden_is_fine():
    parent = Holder(nn.Linear(1, 1))
    with pytest.raises(ValueError, match=r"would hold the module itself.*_parent"):
        parent.thing.parent = parent
    with pytest.raises(ValueError, match="would hold the module itself"):
        parent.myself = [parent]
    parent.thing._parent = parent
    assert len(parent.parameters()) == 3
    other = Holder([])
    other.thing.append(other)
    for walk in (other.parameters, other.state_dict):
        with pytest.raises(ValueError, match="a Holder is inside itself"):
            walk()


def test_arrays_and_tensors_are_states():
    np = pytest.importorskip("numpy", reason="for arrays")
    model = nn.Linear(2, 2)
    model.load_state_dict({"weight": np.array([[1.0, 2.0], [3.0, 4.0]]), "bias": [np.float32(0.5), np.int64(2)]})
    assert model.state_dict() == {"weight": [[1.0, 2.0], [3.0, 4.0]], "bias": [0.5, 2.0]}
    with pytest.raises(TypeError, match="the state is a list"):
        model.load_state_dict([1.0])
    with pytest.raises(ValueError, match=r"has bias of shape \(3,\), and the model's has shape \(2,\)"):
        model.load_state_dict({"weight": np.zeros((2, 2)), "bias": np.zeros(3)})
    with pytest.raises(ValueError, match=r"beyond the range of a float at bias\.0"):
        model.load_state_dict({"weight": np.zeros((2, 2)), "bias": [10**400, 0.0]})


# ---- sizes, widths and tokens


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: nn.MLP(2, [3, -1]), "1 or more, not -1"),
        (lambda: nn.MLP(0, [3]), "1 or more, not 0"),
        (lambda: nn.MLP(2, [2.5]), "whole number"),
        (lambda: nn.Layer(2, 0), "the number of neurons of a layer"),
        (lambda: nn.Neuron(-2), "the number of inputs of a neuron"),
        (lambda: nn.Linear(2, -1), "1 or more, not -1"),
        (lambda: nn.Embedding(0, 3), "1 or more"),
        (lambda: nn.LayerNorm(0), "the width of a norm"),
        (lambda: nn.RMSNorm(-1), "the width of a norm"),
        (lambda: nn.Attention(4, 0), "the number of heads"),
        (lambda: nn.GPT(0), "1 or more"),
        (lambda: nn.LayerNorm(3)([1.0, 2.0]), r"LayerNorm\(3\) takes a vector of 3 numbers, and was given 2"),
        (lambda: nn.RMSNorm(2)([1.0, 2.0, 3.0]), "takes a vector of 2 numbers, and was given 3"),
        (lambda: nn.RMSNorm(2, gain=False)([1.0]), "takes a vector of 2 numbers, and was given 1"),
        (lambda: nn.Linear(2, 1)([1.0]), "takes a vector of 2 numbers, and was given 1"),
        (lambda: nn.Embedding(3, 2)(3), "token 3 of an embedding of 3"),
        (lambda: nn.Embedding(3, 2)(0.5), "token 0.5"),
        (lambda: nn.MLP(2, [1], rng="7"), "rng is a whole number"),
        (lambda: nn.MLP(2, [1], rng=1.5), "rng is a whole number"),
    ],
)
def test_sizes_that_cannot_be_are_said(make, told):
    with pytest.raises((ValueError, TypeError, IndexError), match=told):
        make()


def test_any_whole_number_is_a_seed():
    np = pytest.importorskip("numpy", reason="for its integers")
    assert nn.MLP(2, [1], rng=np.int64(3)).state_dict() == nn.MLP(2, [1], rng=3).state_dict()


# ---- targets that compiled code cannot refuse


@pytest.mark.parametrize("token", [-1.0, 3.0, 0.5, float("nan")])
def test_a_token_outside_the_vocabulary_is_nan_in_compiled_code(token):
    assert any(v.data != v.data for v in nn.Embedding(3, 2)(Value(token)))


@pytest.mark.parametrize("label", [7.0, -1.0, 0.5, float("nan"), 3.0])
def test_a_label_of_no_class_is_nan_in_compiled_code(label):
    row = [Value(0.1), Value(0.2), Value(0.3)]
    loss = losses.cross_entropy(row, Value(label))
    assert loss.data != loss.data
    ignored = losses.cross_entropy([row, row], [Value(label), Value(1.0)], ignore_index=-1).data
    assert (ignored == losses.cross_entropy(row, 1).data) if label == -1.0 else ignored != ignored


@pytest.mark.parametrize(
    "loss, bad", [(losses.max_margin, [0.0, 2.0, 0.5]), (losses.binary_cross_entropy, [-1.0, 2.0, 1.5])]
)
def test_a_label_that_makes_no_sense_is_nan_in_compiled_code_and_an_error_elsewhere(loss, bad):
    for label in bad:
        got = loss(Value(0.3), Value(label)).data
        assert got != got
        with pytest.raises(ValueError, match=r"labels|targets"):
            loss(Value(0.3), label)


@pytest.mark.parametrize(
    "loss", [losses.mse, losses.mae, losses.huber, losses.binary_cross_entropy, losses.cross_entropy]
)
def test_a_target_that_is_no_number_is_said(loss):
    predictions = [[0.1, 0.2]] if loss is losses.cross_entropy else [0.1]
    for target in ("1", None):
        with pytest.raises(TypeError, match=r"is a number, not (str|NoneType)"):
            loss(predictions, [target])


def test_a_subclass_that_adds_to_what_its_base_lists_has_each_parameter_once():
    class Scaled(nn.Neuron):
        def __init__(self, nin):
            super().__init__(nin)
            self.scale = Value(2.0)

        def parameters(self):
            return [*super().parameters(), self.scale]

    neuron = Scaled(2)
    assert len(neuron.parameters()) == 4
    assert sum(p is neuron.scale for p in neuron.parameters()) == 1


def test_the_parts_of_a_module_are_its_modules_in_their_order():
    """In lists, tuples, dicts, deques and arrays, and each once, also if it is there twice or refers to its parent."""
    np = pytest.importorskip("numpy")

    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.MLP(2, [3, 1])
            self.listed = [nn.Dropout(0.5), [nn.Neuron(2), {"deep": (nn.Dropout(0.1),)}], 3.0, "text", Value(1.0)]
            self.again = self.listed[0]
            self.waiting = deque([nn.Layer(1, 2)])
            held = np.empty(2, dtype=object)
            held[:] = [nn.Dropout(0.3), nn.Neuron(1)]
            self.held, self.numbers = held, np.zeros(3)
            self._parent = self

        def forward(self, x):
            return x

    model = Nested()
    wanted = [part for _, part in model.modules()]
    found = parts(model)
    assert len(found) == len(wanted) > 12 and all(a is b for a, b in zip(found, wanted))
    assert [d.p for d in dropouts(model)] == [0.5, 0.1, 0.3]
