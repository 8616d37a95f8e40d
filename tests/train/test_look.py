"""The comparison of eager and compiled loss before and during a run: it never fails a program that is right."""

import functools

import pytest

from micrograd import Value, data, losses, math, nn, optim
from micrograd.train import accuracy, fit
from random_programs import needs_llvm

pytestmark = needs_llvm
X, y = data.moons(40, noise=0.1, seed=0)


def ranking(predictions, targets):
    """A loss of pairs of rows, which has no value where all rows are of one class."""
    n = range(len(predictions))
    return math.mean([math.softplus(predictions[j] - predictions[i]) for i in n for j in n if targets[i] > targets[j]])


def summed_ranking(predictions, targets):
    """The same with a sum, which is the number 0 where there are no pairs."""
    n = range(len(predictions))
    return sum(math.softplus(predictions[j] - predictions[i]) for i in n for j in n if targets[i] > targets[j])


def kept_ranking(predictions, targets):
    """The same with a Value that depends on nothing where there are no pairs."""
    return Value(0.0) + summed_ranking(predictions, targets)


def of_eight(predictions, targets):
    """A loss that takes eight rows, and no others."""
    assert len(predictions) == 8
    return math.mean([(predictions[i] - predictions[i + 4]) ** 2 for i in range(4)])


IGNORING = functools.partial(losses.cross_entropy, ignore_index=-100)
SORTED = [[0.1 * i, 1.0] for i in range(60)]
CASES = {
    "ignored": (X, [-100, -100, *y[2:]], IGNORING, 2, {}),
    "many ignored": (SORTED, [-100] * 50 + [0, 1] * 5, IGNORING, 2, {}),
    "ignored batch": (SORTED, [-100] * 50 + [0, 1] * 5, IGNORING, 2, {"batch_size": 10, "accumulate": 6}),
    "weights": (X, [2, 2, *y[2:]], functools.partial(losses.cross_entropy, weight=[1.0, 1.0, 0.0]), 3, {}),
    "pairs": (SORTED, [0] * 40 + [1] * 20, ranking, 1, {}),
    "sum of pairs": (SORTED, [0] * 40 + [1] * 20, summed_ranking, 1, {}),
    "kept pairs": (SORTED, [0] * 40 + [1] * 20, kept_ranking, 1, {}),
    "eight rows": (X, y, of_eight, 1, {"batch_size": 8}),
    "eight rows added": (X, y, of_eight, 1, {"batch_size": 8, "accumulate": 2}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_loss_without_a_value_for_a_few_rows_is_compiled(name):
    rows, targets, loss, width, settings = CASES[name]
    results = []
    for compiled in (False, True):
        model = nn.MLP(2, [5, width], rng=3)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        history = fit(model, (rows, targets), loss, optimizer, 3, compile=compiled, quiet=True, **settings)
        results.append(history.loss)
    assert results[0] == pytest.approx(results[1], rel=1e-9)


def test_a_metric_of_several_batches_is_of_all_their_rows():
    def metric(predictions, targets):
        assert len(predictions) == 40
        return accuracy(predictions, targets)

    model = nn.MLP(2, [5, 2], rng=3)
    history = fit(model, (X, y), losses.cross_entropy, optim.SGD(model.parameters(), lr=0.1), 2, batch_size=20,
                  accumulate=2, compile=True, metrics={"right": metric}, quiet=True)  # fmt: skip
    assert len(history["right"]) == 2


def test_what_is_wrong_is_told_before_the_first_step():
    model = nn.MLP(2, [5, 2], rng=3)
    seen = []

    def broken(predictions, targets):
        seen.append(len(predictions))
        raise KeyError("nothing")

    with pytest.raises(KeyError, match="nothing"):
        fit(model, (X, y), broken, optim.SGD(model.parameters()), 2, compile=True, quiet=True)
    assert seen == [32, 40]
    with pytest.raises(ValueError, match="the target in row 39 of the data is 7"):
        fit(model, (X, [*y[:-1], 7]), losses.cross_entropy, optim.SGD(model.parameters()), 2, compile=True, quiet=True)
    with pytest.raises(ValueError, match="depends on no parameter"):
        fit(model, (X, y), lambda p, t: Value(1.0), optim.SGD(model.parameters()), 2, compile=True, quiet=True)


# ---- ignored targets in a metric


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("arrays", [False, True])
def test_accuracy_leaves_ignored_targets_out(arrays, compiled):
    np = pytest.importorskip("numpy", reason="for arrays")
    right = functools.partial(accuracy, ignore_index=-100)
    scores, single = [[0.1, 0.9], [0.8, 0.2], [0.3, 0.4]], [0.5, -0.5, 0.5]
    for predictions, targets in ((scores, [1, -100, 0]), (single, [1, -100, 0]), (single, [[1], [-100], [-1]])):
        given = (np.array(predictions), np.array(targets)) if arrays else (predictions, targets)
        assert right(*given) == 0.5
        with pytest.raises(ValueError, match="no predictions at all"):
            right(given[0][:1], [-100])
    model = nn.MLP(2, [8, 2], rng=0)
    targets = [-100 if k % 4 == 0 else t for k, t in enumerate(y)]
    points = (np.array(X), np.array(targets)) if arrays else (X, targets)
    history = fit(model, points, IGNORING, optim.Adam(model.parameters(), lr=0.1), 60, compile=compiled, quiet=True,
                  metrics={"all": accuracy, "counted": right})  # fmt: skip
    assert history["counted"][-1] == 1.0 and history["all"][-1] == 0.75


# ---- arrays that change


class Shifted(nn.Module):
    """A model with an array of plain numbers."""

    def __init__(self):
        self.inner, self.mean = nn.Linear(2, 1, rng=0), None

    def forward(self, x):
        return self.inner([v - float(m) for v, m in zip(x, self.mean)])[0]


@pytest.mark.parametrize("in_place", [False, True])
def test_the_advice_for_an_array_that_changes_is_right(in_place, recwarn):
    np = pytest.importorskip("numpy", reason="for arrays")
    results = []
    for compiled in (False, True):
        model = Shifted()
        model.mean = np.zeros(2)

        def change(history, model=model):
            if in_place:
                model.mean[0] = len(history)
            else:
                model.mean = np.array([float(len(history)), 0.0])

        optimizer = optim.SGD(model.parameters(), lr=0.0)
        fit(model, (X, y), losses.mse, optimizer, 4, callbacks=change, compile=compiled, quiet=True)
        results.append(
            fit(model, (X, y), losses.mse, optimizer, 4, callbacks=change, compile=compiled, quiet=True).loss
        )
    told = [str(w.message) for w in recwarn if "assign a new list or array" in str(w.message)]
    if in_place:
        assert told
    else:
        assert not told and results[0] == pytest.approx(results[1], rel=1e-9)
