"""fit(compile=True): the same numbers as the eager loop, for any loss, shape of data, metric and optimizer."""

import random
from functools import partial
from typing import Any, NamedTuple

import pytest

from micrograd import Value, data, jit, losses, math, nn, optim, vmap
from micrograd.train import accuracy, fit
from random_programs import needs_llvm

pytestmark = needs_llvm
np = pytest.importorskip("numpy", reason="compiled training works on arrays")

OPTIMIZERS = {
    "SGD": partial(optim.SGD, lr=0.1, momentum=0.9),
    "Adam": partial(optim.Adam, lr=optim.cosine(0.05, 0.001, 30)),
    "RMSprop": partial(optim.RMSprop, lr=0.01, momentum=0.5),
}


def moons(n=24, classes=2):
    X, y = (data.moons if classes == 2 else data.spirals)(n, seed=0)
    return X, y


def both(make, points, loss, optimizer="Adam", epochs=4, **options):
    """The histories and parameters of an eager and of a compiled run."""
    results = []
    for compile in (False, True):
        model = make()
        history = fit(model, points, loss, OPTIMIZERS[optimizer](model.parameters()), epochs, compile=compile, quiet=True,
                      **{k: v(model) if k == "penalty" else v for k, v in options.items()})  # fmt: skip
        rows = [[row[k] for k in sorted(row)] for row in history.rows]
        results.append(([sorted(row) for row in history.rows], rows, [p.data for p in model.parameters()]))
    return results


def agree(make, points, loss, rel=1e-9, **options):
    (names, rows, parameters), (names2, rows2, parameters2) = both(make, points, loss, **options)
    assert names == names2
    for a, b in zip(rows, rows2):
        assert a == pytest.approx(b, rel=rel, abs=1e-11)
    assert parameters == pytest.approx(parameters2, rel=rel, abs=1e-11)


def signs(y):
    return [2 * c - 1 for c in y]


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
@pytest.mark.parametrize("batch_size", [None, 5])
def test_a_compiled_run_is_the_eager_one(optimizer, batch_size):
    X, y = moons()
    agree(lambda: nn.MLP(2, [4, 1], rng=1), (X, signs(y)), losses.max_margin, optimizer=optimizer, batch_size=batch_size,
          metrics={"accuracy": accuracy}, validation=(X[:7], signs(y[:7])), clip=1.0)  # fmt: skip


LOSSES = {
    "mse": (losses.mse, 1, lambda y: [0.3 + c for c in y]),
    "mae": (losses.mae, 1, lambda y: [0.3 + c for c in y]),
    "huber": (partial(losses.huber, delta=0.5), 1, lambda y: [0.3 + c for c in y]),
    "binary": (losses.binary_cross_entropy, 1, lambda y: [c % 2 for c in y]),
    "cross": (losses.cross_entropy, 3, list),
    "sum": (partial(losses.cross_entropy, reduction="sum"), 3, list),
    "weighted": (partial(losses.cross_entropy, weight=[1.0, 2.0, 0.5]), 3, list),
    "ignored": (partial(losses.cross_entropy, ignore_index=1, label_smoothing=0.1), 3, list),
    "vectors": (losses.mse, 2, lambda y: [[c, 0.5] for c in y]),
    "any": (lambda ps, ts: math.max(*[(p - t) ** 2 for p, t in zip(ps, ts)]), 1, list),
    "variance": (lambda ps, ts: math.mean([p * p for p in ps]) - math.mean(ps) ** 2 + losses.mse(ps, ts), 1, list),
    "any of vectors": (lambda ps, ts: sum((p[0] * p[1] - t) ** 2 for p, t in zip(ps, ts)), 2, list),
}


@pytest.mark.parametrize("name", list(LOSSES))
@pytest.mark.parametrize("batch_size", [None, 7])
def test_any_loss_compiles_to_what_it_is(name, batch_size):
    loss, outputs, targets = LOSSES[name]
    X, y = moons(20, classes=3)
    agree(
        lambda: nn.MLP(2, [3, outputs], activation="tanh", rng=1),
        (X, targets(y)),
        loss,
        batch_size=batch_size,
        epochs=2,
    )


def test_a_penalty_is_part_of_the_loss():
    X, y = moons()
    agree(lambda: nn.MLP(2, [4, 1], rng=1), (X, signs(y)), losses.max_margin,
          penalty=lambda model: lambda: losses.l2(model.parameters(), 0.01))  # fmt: skip


@pytest.mark.parametrize("loss", [losses.cross_entropy, lambda ps, ts: losses.cross_entropy(ps, ts)])
def test_sequences_of_several_lengths(loss):
    words = ["ab", "ba", "aba", "bab", "bb"]
    letters = data.Alphabet(words)
    tokens = [letters.encode(word) for word in words]
    agree(lambda: nn.GPT(len(letters), 8, 4, 2, 1, rng=0), ([t[:-1] for t in tokens], [t[1:] for t in tokens]), loss,
          batch_size=2, epochs=1)  # fmt: skip


@pytest.mark.parametrize("kind", ["lists", "arrays", "numbers"])
def test_inputs_of_any_kind(kind):
    class Wave(nn.Module):
        def __init__(self):
            self.line = nn.Linear(1, 1, init="uniform", rng=0)

        def forward(self, x):
            return math.sin(self.line([x] if kind == "numbers" else [x[0]])[0])

    X = [0.1 * i for i in range(12)]
    y = [math.sin(2.0 * x) for x in X]
    given = {"lists": [[x] for x in X], "arrays": np.array(X)[:, None], "numbers": X}[kind]
    agree(Wave, (given, np.array(y) if kind == "arrays" else y), losses.mse, batch_size=5)


def test_dropout_drops_the_same_eagerly_and_compiled():
    X, y = moons(16)

    def make():
        return nn.Sequential(nn.Linear(2, 6, rng=1), nn.Tanh(), nn.Dropout(0.4, rng=3), nn.Linear(6, 1, rng=2),
                             lambda out: out[0])  # fmt: skip

    agree(make, (X, signs(y)), losses.max_margin, batch_size=6, metrics={"accuracy": accuracy},
          validation=(X, signs(y)))  # fmt: skip


def test_metrics_of_ones_own_get_values():
    X, y = moons()
    worst = {"worst": lambda ps, ts: max(abs(p.data - t) for p, t in zip(ps, ts))}
    agree(lambda: nn.MLP(2, [3, 1], rng=1), (X, y), losses.mse, metrics=worst)


def test_equal_runs_have_equal_bits(tmp_path):
    X, y = moons(20, classes=3)

    def run(**options):
        model = nn.MLP(2, [4, 3], rng=1)
        fit(model, (X, y), losses.cross_entropy, optim.Adam(model.parameters(), lr=0.05), 6, batch_size=7, compile=True,
            quiet=True, **options)  # fmt: skip
        return model.state_dict()

    whole = run()
    assert run() == whole
    run(steps=8, checkpoint=tmp_path / "run.json")
    assert run(checkpoint=tmp_path / "run.json", resume=True) == whole


def test_lbfgs_fits_a_curve_as_machine_code():
    class Wave(nn.Module):
        def __init__(self):
            from micrograd import Value

            self.height, self.speed, self.start = Value(1.0), Value(1.2), Value(0.0)

        def forward(self, t):
            return self.height * math.sin(self.speed * t + self.start)

    times = [0.1 * i for i in range(50)]
    heights = [2.0 * math.sin(1.5 * t + 0.3) for t in times]
    wave = Wave()
    fit(wave, (times, heights), losses.mse, optim.LBFGS(wave.parameters(), max_iter=50), 2, compile=True, quiet=True)
    assert [p.data for p in wave.parameters()] == pytest.approx([2.0, 1.5, 0.3], abs=1e-6)


# ---- objectives of one's own


def test_an_objective_gets_arrays_with_rows_first():
    """As many rows as features: a list of rows would be read as columns, and the model learn from the transpose."""
    rng = random.Random(0)
    X = [[rng.gauss(0, 1) for _ in range(6)] for _ in range(18)]
    y = [x[0] - 2.0 * x[5] for x in X]
    results = []
    for compiled in (True, False):
        model = nn.Linear(6, 1, rng=0)
        rows = jit(vmap(lambda x, t, model=model: (model(x)[0] - t) ** 2, reduce="mean"), wait=True)
        fit(lambda x, model=model: model(x)[0], (X, y), losses.mse, optim.SGD(model.parameters(), lr=0.05), 20,
            batch_size=6, objective=rows if compiled else None, quiet=True)  # fmt: skip
        results.append([p.data for p in model.parameters()])
    assert results[0] == pytest.approx(results[1], rel=1e-10)


def test_what_a_trace_would_freeze_is_found_before_the_first_step():
    calls = []

    class Odd(nn.Module):
        def __init__(self):
            self.w = nn.Linear(1, 1, init="uniform", rng=0)

        def forward(self, x):
            calls.append(1)
            return self.w(x)[0] * float(len(calls))

    model = Odd()
    before = model.state_dict()
    with pytest.raises(Exception, match=r"the list `calls` changed its length"):
        fit(model, ([[1.0], [2.0]], [1.0, 2.0]), losses.mse, optim.SGD(model.parameters()), 3, compile=True, quiet=True)
    assert model.state_dict() == before


# ---- numbers that change after compiling


@pytest.mark.parametrize("where", ["penalty", "model"])
def test_a_number_that_changes_after_compiling_is_told(where):
    w, strength = Value(0.5), [1.0] * 100_001  # so long a list is data

    def change(history):
        if len(history) == 3:
            strength[0] = 5.0

    def model(x):
        return w * x * (strength[0] if where == "model" else 1.0)

    penalty = (lambda: losses.l2([w], strength[0])) if where == "penalty" else None
    with pytest.warns(RuntimeWarning, match="uses a number that has changed since it was compiled") as caught:
        fit(
            model, ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), losses.mse, optim.SGD([w], lr=0.0), 20, compile=True,
            penalty=penalty, callbacks=change, quiet=True,
        )  # fmt: skip
    assert len(caught) == 1 and caught[0].filename == __file__


@pytest.mark.parametrize("where", ["penalty", "model", "loss"])
def test_a_number_that_changes_outside_is_followed(where):
    weights = []
    for compiled in (False, True):
        w, strength = Value(0.5), [1.0]

        def change(history, strength=strength):
            if len(history) == 3:
                strength[0] = 5.0

        def model(x, w=w, strength=strength):
            return w * x * (strength[0] if where == "model" else 1.0)

        def loss(y, target, strength=strength):
            return losses.mse(y, target) * (strength[0] if where == "loss" else 1.0)

        penalty = (lambda w=w, strength=strength: losses.l2([w], strength[0])) if where == "penalty" else None
        fit(
            model, ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), loss, optim.SGD([w], lr=0.01), 20, compile=compiled,
            penalty=penalty, callbacks=change, quiet=True,
        )  # fmt: skip
        weights.append(w.data)
    assert weights[1] == pytest.approx(weights[0], rel=1e-12)


def test_what_compiled_training_follows():
    """The probability of Dropout, the mode, attributes of modules: a compiled run goes on as the eager one does."""

    class Scaled(nn.Module):
        def __init__(self):
            self.inner = nn.Sequential(nn.Linear(2, 4, rng=0), nn.Dropout(0.5, rng=0), nn.Linear(4, 1, rng=1))
            self.scale = 1.0

        def forward(self, x):
            return self.inner(x)[0] * self.scale

    def run(compile):
        model = Scaled()

        def change(history):
            step = len(history)
            if step in (2, 4):
                model.inner.parts[1].p = 0.0 if step == 2 else 0.8
            model.train(step not in (6, 7))
            model.scale = 1.0 if step < 9 else 2.5

        X, y = [[0.1 * k, 1.0] for k in range(6)], [1.0, -1.0] * 3
        optimizer = optim.SGD(model.parameters(), lr=0.05)
        return fit(model, (X, y), losses.mse, optimizer, 12, compile=compile, callbacks=change, quiet=True).loss

    assert run(True) == pytest.approx(run(False), rel=1e-12)


def test_lbfgs_on_batches_parts_from_the_eager_run_by_rounding_alone():
    """A step of LBFGS multiplies a difference; the compiled run differs no more than an eager one that began an ulp away."""
    X, y = data.moons(60, seed=0)

    def run(compile=False, factor=1.0):
        model = nn.MLP(2, [8, 2], activation="tanh", rng=0)
        model.parameters()[0].data *= factor
        optimizer = optim.LBFGS(model.parameters(), max_iter=5)
        return fit(model, (X, y), losses.cross_entropy, optimizer, 3, batch_size=16, compile=compile, quiet=True).loss

    eager, compiled, moved = run(), run(True), run(factor=1.0 + 2.0**-52)
    assert compiled[:3] == pytest.approx(eager[:3], rel=1e-12)
    for a, b, c in zip(eager, compiled, moved):
        assert abs(b - a) <= 100.0 * abs(c - a) + 1e-13 * abs(a)


# ---- predictions in any arrangement


class Pair(NamedTuple):
    """A prediction with two named parts."""

    mean: Any
    spread: Any


ARRANGED = {
    "dict": (lambda m, s: {"mean": m, "spread": [s]}, lambda p: (p["mean"], p["spread"][0])),
    "tuple": (lambda m, s: (m, (s,)), lambda p: (p[0], p[1][0])),
    "named": (lambda m, s: Pair(m, s), lambda p: (p.mean, p.spread)),
    "list": (lambda m, s: [m, [s]], lambda p: (p[0], p[1][0])),
}


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("name", ARRANGED)
def test_predictions_reach_a_loss_of_ones_own_as_the_model_gives_them(name, ragged):
    make, take = ARRANGED[name]
    rows = [[0.1 * k, 1.0, 0.5][: 3 if ragged and k % 2 else 2] for k in range(8)], [0.2 * k for k in range(8)]
    kinds = set()

    def loss(predictions, targets):
        kinds.update(map(type, predictions))
        return math.mean([(m - t) ** 2 * math.exp(-s) + s for (m, s), t in zip(map(take, predictions), targets)])

    def metric(predictions, targets):
        return sum(float(take(p)[1]) for p in predictions)

    results = []
    for compiled in (False, True):
        net = nn.Linear(2, 2, rng=0)
        history = fit(lambda x, net=net: make(*net(x[:2])), rows, loss, optim.SGD(net.parameters(), lr=0.1), 3,
                      compile=compiled, metrics={"spread": metric}, quiet=True)  # fmt: skip
        results.append([*history.loss, *history["spread"], *(p.data for p in net.parameters())])
    assert results[0] == pytest.approx(results[1], rel=1e-9) and len(kinds) == 1
