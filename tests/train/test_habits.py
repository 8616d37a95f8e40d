"""What people bring along from PyTorch and NumPy: it works, or an error says what to write."""

import pytest

from micrograd import Value, data, losses, nn, optim, train
from random_programs import needs_llvm
from training_runs import step, values


@pytest.mark.parametrize("copier", ["deepcopy", "pickle"])
def test_an_optimizer_can_be_copied(copier):
    import copy
    import pickle

    make = copy.deepcopy if copier == "deepcopy" else lambda x: pickle.loads(pickle.dumps(x))
    for lr in (0.1, optim.warmup(optim.cosine(0.1, 0.0, 9), 3), optim.one_cycle(0.1, 9), optim.warm_restarts(1, 0, 3)):
        one = optim.Adam(values(), lr=lr)
        step(one, [1.0] * 6)
        one.freeze(one.parameters[:2])
        two = make(one)
        assert two.parameters[0] is not one.parameters[0]
        assert step(one, [0.5] * 6) == step(two, [0.5] * 6) and one.state_dict() == two.state_dict()


def test_numbers_of_numpy_are_settings():
    np = pytest.importorskip("numpy", reason="for its numbers")
    optimizer = optim.SGD(values(), lr=np.float64(0.1), momentum=np.float64(0.5))
    assert optimizer.lr == 0.1 and type(optimizer.settings["momentum"]) is float
    assert optim.clip_norm(values(), np.int64(1)) == 0.0


def test_what_people_from_pytorch_write():
    p = Value(1.0)
    optimizer = optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = p * p
        loss.backward()
        return loss

    assert optimizer.step(closure).data == 1.0 and p.data == 0.8
    with pytest.raises(TypeError, match=r"not a MLP: pass model\.parameters\(\)"):
        optim.SGD(nn.MLP(1, [1]))


def test_tensors_are_data(torch):
    X, y = data.moons(12)
    results = []
    for points in ((X, y), (torch.tensor(X, dtype=torch.float64), torch.tensor(y))):
        model = nn.MLP(2, [2], rng=0)
        train.fit(model, points, losses.cross_entropy, optim.SGD(model.parameters(), lr=0.1), 3, quiet=True)
        results.append(model.state_dict())
    assert results[0] == results[1]


@needs_llvm
def test_a_layer_added_after_compiling_is_said():
    model = nn.MLP(2, [2, 1], rng=0)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    move = train.step(lambda x, y: losses.mse(model(x), y), optimizer)
    move([1.0, 2.0], 1.0)
    model.note = "an attribute that is no layer"
    move([1.0, 2.0], 1.0)
    model.layers.append(nn.Layer(1, 1))
    with pytest.raises(RuntimeError, match="other parameters than when its training step was made"):
        move([1.0, 2.0], 1.0)
    model.layers.pop()
    add = {3: lambda: model.layers.insert(1, nn.Layer(2, 2)), 5: lambda: setattr(model, "extra", nn.Linear(1, 1))}
    for at, change in add.items():
        with pytest.raises(RuntimeError, match="other parameters than when it was compiled"):
            train.fit(model, ([[1.0, 2.0]], [1.0]), losses.mse, optimizer, 9, compile=True, quiet=True,
                      callbacks=lambda h, at=at, change=change: change() if len(h) == at else None)  # fmt: skip
        model.layers[:] = [model.layers[0], model.layers[-1]]


def test_a_metric_that_returns_no_number_is_said():
    model = nn.MLP(2, [1], rng=0)
    with pytest.raises(TypeError, match="the metric 'a' returned 'x': a metric returns one number"):
        train.fit(model, ([[1.0, 2.0]], [1.0]), losses.mse, optim.SGD(model.parameters()), 1, quiet=True,
                  metrics={"a": lambda p, t: "x"})  # fmt: skip
