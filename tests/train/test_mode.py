"""What is random in training: Dropout draws a new mask in every step, and is off in validation."""

import functools

import pytest

from micrograd import Value, losses, nn, optim
from micrograd.train import fit
from random_programs import needs_llvm

ROWS = [[0.1 * k, 1.0 - 0.2 * k] for k in range(6)], [0.3 * k for k in range(6)]
WAYS = [False, pytest.param(True, marks=needs_llvm)]


class Net(nn.Module):
    """A module with a method beside its forward."""

    def __init__(self):
        self.net = nn.Sequential(nn.Linear(2, 8, rng=0), nn.Dropout(0.5, rng=1), nn.Linear(8, 1, rng=2))

    def forward(self, x):
        return self.net(x)[0]

    def score(self, x):
        return self.net(x)[0]


class Plain:
    """A plain class around modules, in a list."""

    def __init__(self):
        self.parts = [nn.Linear(2, 8, rng=0), nn.Dropout(0.5, rng=1), nn.Linear(8, 1, rng=2)]

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x[0]

    def parameters(self):
        return [p for part in self.parts for p in part.parameters()]

    def score(self, x):
        return self(x)


class Own(Plain):
    """A plain class with a mode of its own."""

    training = True

    def eval(self):
        self.training = False
        for part in self.parts:
            part.eval()

    def train(self):
        self.training = True
        for part in self.parts:
            part.train()


def models():
    net, plain = Net(), Plain()
    return {
        "module": (net, net),
        "function": (lambda x: net(x), net),
        "partial": (functools.partial(lambda model, x: model(x), net), net),
        "method": (net.score, net),
        "plain": (plain, plain),
        "plain method": (plain.score, plain),
        "function of plain": (lambda x: plain(x), plain),
        "own mode": (own := Own(), own),
    }


@pytest.mark.parametrize("compiled", WAYS)
@pytest.mark.parametrize("name", models())
def test_validation_is_without_dropout_whatever_the_model_is(name, compiled):
    model, owner = models()[name]
    optimizer = optim.SGD(owner.parameters(), lr=0.0)
    history = fit(model, ROWS, losses.mse, optimizer, 3, validation=ROWS, compile=compiled, quiet=True)
    parts = owner.parts if isinstance(owner, Plain) else list(owner.net.parts)
    assert all(part.training for part in parts)
    assert len(set(history["loss"])) == 3  # dropout acts in training
    for part in parts:
        part.eval()
    expected = losses.mse([model(x) for x in ROWS[0]], ROWS[1]).data
    assert history["validation_loss"] == pytest.approx([expected] * 3, rel=1e-12)


@pytest.mark.parametrize("compiled", WAYS)
@pytest.mark.parametrize("validated", [None, ROWS])
def test_validation_leaves_each_module_in_its_mode(validated, compiled):
    model = Net()
    model.net.parts[1].eval()
    optimizer = optim.SGD(model.parameters(), lr=0.0)
    history = fit(model, ROWS, losses.mse, optimizer, 3, validation=validated, compile=compiled, quiet=True)
    assert [part.training for _, part in model.modules()] == [True, True, True, False, True]
    assert len(set(history["loss"])) == 1


def test_validation_that_raises_leaves_each_module_in_its_mode():
    model = Net()
    model.net.parts[1].eval()
    with pytest.raises(ZeroDivisionError):
        fit(model, ROWS, losses.mse, optim.SGD(model.parameters()), 2, validation=ROWS, quiet=True,
            metrics={"broken": lambda p, t: 1.0 if model.training else 1 / 0})  # fmt: skip
    assert [part.training for _, part in model.modules()] == [True, True, True, False, True]


@needs_llvm
@pytest.mark.parametrize("change", ["p", "mode"])
def test_a_dropout_may_begin_to_act_in_the_middle_of_a_compiled_run(change):
    def run(compiled):
        model = Net()
        drop = model.net.parts[1]
        if change == "p":
            drop.p = 0.0
        else:
            drop.eval()

        def act(history):
            if change == "p":
                drop.p = 0.1 * len(history)
            else:
                drop.train(len(history) % 3 > 0)

        optimizer = optim.SGD(model.parameters(), lr=0.1)
        return fit(model, ROWS, losses.mse, optimizer, 6, callbacks=act, compile=compiled, quiet=True).loss

    assert run(True) == pytest.approx(run(False), rel=1e-9)


# ---- masks


class Masks(nn.Module):
    """A model whose gradient by `w[k]` in a row tells whether number k was dropped there."""

    def __init__(self):
        self.w = [Value(1.0) for _ in range(40)]
        self.drop = nn.Dropout(0.5, rng=1)

    def forward(self, x):
        return self.drop([w * v for w, v in zip(self.w, x)])


def steps_of(compiled, loss, *sizes, **settings):
    """Return the parameters after calls of fit, each of so many epochs."""
    model = Masks()
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    rows = [[1.0 + k + 0.1 * i for i in range(40)] for k in range(4)]
    for epochs in sizes:
        fit(model, (rows, rows), loss, optimizer, epochs, compile=compiled, quiet=True, **settings)
    return [w.data for w in model.w]


def own_mse(predictions, targets):
    return losses.mse(predictions, targets)


@pytest.mark.parametrize("compiled", WAYS)
@pytest.mark.parametrize("loss", [losses.mse, own_mse])
def test_the_rows_of_accumulated_batches_have_masks_of_their_own(loss, compiled):
    whole = steps_of(compiled, loss, 2, batch_size=4)
    assert steps_of(compiled, loss, 2, batch_size=2, accumulate=2) == pytest.approx(whole, rel=1e-12)
    assert steps_of(compiled, loss, 2, batch_size=3, accumulate=2) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("compiled", WAYS)
def test_each_call_of_fit_goes_on_with_other_masks(compiled):
    assert steps_of(compiled, losses.mse, 1, 1, 1) == steps_of(compiled, losses.mse, 3)


@pytest.mark.parametrize("compiled", WAYS)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_resumed_run_has_the_masks_of_the_whole_one_whatever_their_seed(wrapped, compiled, tmp_path):
    def run(keys=None, **settings):
        net = nn.Sequential(nn.Linear(2, 8, rng=0), nn.Dropout(0.5), nn.Linear(8, 4, rng=2), nn.Dropout(0.5))
        for k, part in zip((1, 3), keys or ()):
            net.parts[k]._key = part
        drawn = [net.parts[k]._key for k in (1, 3)]
        model = (lambda x: net(x)) if wrapped else net
        optimizer = optim.SGD(net.parameters(), lr=0.1)
        targets = [[t] * 4 for t in ROWS[1]]
        history = fit(model, (ROWS[0], targets), losses.mse, optimizer, 6, compile=compiled, quiet=True, **settings)
        return history.loss, drawn

    path = tmp_path / "run.json"
    half, keys = run(checkpoint=path, steps=3)
    whole, _ = run(keys)
    resumed, others = run(checkpoint=path, resume=True)
    assert others != keys and half == whole[:3] and resumed == whole


# ---- callbacks


@pytest.mark.parametrize("kind", ["bool", "numpy", "array"])
def test_a_callback_ends_the_training_with_any_true_bool(kind):
    def stop(history):
        if kind == "bool":
            return len(history) >= 2
        np = pytest.importorskip("numpy", reason="for its bool")
        reached = np.float64(len(history)) >= 2
        return np.array(reached) if kind == "array" else reached

    model = nn.Linear(2, 1, rng=0)
    history = fit(model, ROWS, lambda p, t: losses.mse([v[0] for v in p], t), optim.SGD(model.parameters()), 5,
                  callbacks=stop, quiet=True)  # fmt: skip
    assert len(history) == 2 and history.stopped == "callback"


@pytest.mark.parametrize("other", [None, 1, 1.0, "yes", [1]])
def test_other_results_of_a_callback_mean_nothing(other):
    model = nn.Linear(2, 1, rng=0)
    history = fit(model, ROWS, lambda p, t: losses.mse([v[0] for v in p], t), optim.SGD(model.parameters()), 3,
                  callbacks=lambda history: other, quiet=True)  # fmt: skip
    assert len(history) == 3 and history.stopped == "epochs"
