"""fit: micrograd's recipe, history, early ends, Ctrl-C, and checkpoints that go on to the bit."""

import random
from functools import partial

import pytest

from micrograd import CompileError, Value, data, losses, nn, no_grad, optim
from micrograd.train import History, accuracy, fit
from random_programs import needs_llvm
from training_runs import line_problem, recipe


@pytest.mark.parametrize("seed", range(5))
def test_the_moons_recipe_separates_all_points(seed):
    _, history = recipe([16, 16, 1], seed)
    assert history.loss[-1] < 0.02
    assert history["accuracy"][-1] == 1.0
    assert len(history) == 100 and history.stopped == "epochs"


@pytest.mark.slow
def test_the_moons_recipe_works_where_the_original_runs_out_of_stack():
    _, history = recipe([64, 64, 1], 0, steps=60)
    assert history["accuracy"][-1] == 1.0


def test_one_step_is_what_the_recipe_says_by_hand():
    model, history = recipe([4, 1], 0, steps=1)
    X, y = data.moons(100, noise=0.1, seed=0)
    by_hand = nn.MLP(2, [4, 1], rng=0)
    total = sum((1.0 - (2 * c - 1) * by_hand(x)).relu() for x, c in zip(X, y)) / 100.0
    total = total + 1e-4 * sum(p * p for p in by_hand.parameters())
    total.backward()
    assert history.loss[0] == pytest.approx(total.data, rel=1e-13)
    moved = [p.data - 1.0 * p.grad for p in by_hand.parameters()]
    assert [p.data for p in model.parameters()] == pytest.approx(moved, rel=1e-12, abs=1e-15)


# ---- a small problem with batches


def test_history_has_a_row_for_each_step():
    model, points, optimizer = line_problem()
    history = fit(model, points, losses.mse, optimizer, epochs=3, batch_size=4, quiet=True)
    assert len(history) == 9
    assert [row["epoch"] for row in history.rows] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [row["step"] for row in history.rows] == list(range(1, 10))
    assert history["lr"] == [0.05] * 9
    assert history.by_epoch() == [sum(history.loss[i : i + 3]) / 3 for i in (0, 3, 6)]
    assert repr(history).startswith("History(9 steps, loss ")
    assert repr(History()) == "History(no steps)"
    with pytest.raises(KeyError, match="'accuracy' is not in this history; it has epoch, step, loss, lr"):
        history["accuracy"]


def test_each_epoch_sees_every_item_once_in_another_order():
    seen = []
    model, _, optimizer = line_problem()
    fit(
        lambda x: seen.append(x) or model([0.0]),
        ([*range(10)], [0.0] * 10),
        losses.mse,
        optimizer,
        epochs=2,
        batch_size=3,
        quiet=True,
    )
    first, second = seen[:10], seen[10:]
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second


def test_steps_end_within_an_epoch():
    model, points, optimizer = line_problem()
    history = fit(model, points, losses.mse, optimizer, epochs=9, steps=5, batch_size=4, quiet=True)
    assert len(history) == 5 and history.stopped == "steps"


def test_validation_is_measured_after_each_epoch():
    model, points, optimizer = line_problem()
    history = fit(
        model,
        points,
        losses.mse,
        optimizer,
        epochs=2,
        batch_size=5,
        validation=([[0.5], [-0.5]], [0.0, -2.0]),
        metrics={"worst": lambda ps, ts: max(abs(float(p) - t) for p, t in zip(ps, ts))},
        quiet=True,
    )
    assert len(history["validation_loss"]) == len(history["validation_worst"]) == 2
    left = losses.mse([model([0.5]).data, model([-0.5]).data], [0.0, -2.0])
    assert history["validation_loss"][-1] == pytest.approx(left, rel=1e-14)


def test_patience_ends_a_run_that_no_longer_improves():
    model, points, _ = line_problem()
    optimizer = optim.SGD(model.parameters(), lr=lambda k: 0.05 if k < 5 else 0.0)
    history = fit(model, points, losses.mse, optimizer, epochs=100, patience=3, quiet=True)
    assert history.stopped == "early stop"
    assert len(history) == 9  # 5 steps that improve; the sixth shows the best loss; 3 that do not


def test_a_callback_sees_each_step_and_may_end_the_run():
    model, points, optimizer = line_problem()
    seen = []

    def watch(history):
        seen.append(len(history))
        return len(history) == 4

    history = fit(model, points, losses.mse, optimizer, epochs=100, callbacks=[watch], quiet=True)
    assert seen == [1, 2, 3, 4] and history.stopped == "callback"


def test_clip_bounds_the_step():
    model, points, _ = line_problem()
    before = [p.data for p in model.parameters()]
    fit(model, points, losses.mse, optim.SGD(model.parameters(), lr=1.0), epochs=1, clip=1e-3, quiet=True)
    moved = sum((p.data - b) ** 2 for p, b in zip(model.parameters(), before)) ** 0.5
    assert moved == pytest.approx(1e-3, rel=2e-3)


def test_an_objective_takes_the_place_of_model_and_loss():
    results = []
    for compiled in (False, True):
        model, points, optimizer = line_problem()
        objective = (lambda xs, ys, model=model: losses.mse([model(x) for x in xs], ys)) if compiled else None
        history = fit(
            model,
            points,
            losses.mse,
            optimizer,
            epochs=5,
            objective=objective,
            metrics={"first": lambda ps, ts: float(ps[0])},
            quiet=True,
        )
        results.append((history.rows, model.state_dict()))
    assert results[0] == results[1]


def test_a_loss_that_is_no_number_ends_the_run_before_it_spoils_the_model():
    model, points, _ = line_problem()
    optimizer = optim.SGD(model.parameters(), lr=1e200)
    with pytest.warns(RuntimeWarning, match=r"the loss is (nan|inf) at step \d+, so training ends"):
        history = fit(model, points, losses.mse, optimizer, epochs=10, quiet=True)
    assert history.stopped == "diverged"
    assert all(loss < float("inf") for loss in history.loss)


@pytest.mark.parametrize(
    "options, error, told",
    [
        ({"data": ([], [])}, ValueError, "no data to learn from"),
        ({"data": ([[1.0]], [])}, ValueError, "1 inputs and 0 targets"),
        ({"epochs": -1}, ValueError, "not -1"),
        ({"loss": lambda p, t: 3.0}, TypeError, "a loss is a Value to call backward"),
        ({"loss": lambda p, t: 3.0, "compile": True}, TypeError, "a loss is a Value to call backward"),
        ({"checkpoint_every": 0}, ValueError, "1 or more, not 0"),
        ({"batch_size": 0}, ValueError, "1 or more, not 0"),
        ({"batch_size": -1}, ValueError, "1 or more, not -1"),
        ({"batch_size": 2.0}, TypeError, "batch_size is a whole number"),
        ({"steps": -1}, ValueError, "steps is a whole number, 0 or more, not -1"),
        ({"epochs": 2.5}, TypeError, "epochs is a whole number"),
        ({"clip": 0.0}, ValueError, "clip, the greatest norm of the gradients, is a number above 0, not 0.0"),
        ({"clip": -1.0}, ValueError, "above 0, not -1.0"),
        ({"clip": float("nan")}, ValueError, "above 0, not nan"),
        ({"patience": 0}, ValueError, "patience is a whole number, 1 or more"),
        ({"accumulate": 0}, ValueError, "accumulate is a whole number, 1 or more"),
        ({"metrics": {"loss": accuracy}}, ValueError, "a metric is called 'loss', which is a column"),
        ({"metrics": {"step": accuracy}}, ValueError, "a metric is called 'step'"),
        ({"metrics": {"epoch": accuracy}}, ValueError, "a metric is called 'epoch'"),
        ({"metrics": [accuracy]}, TypeError, "metrics are a dict"),
        ({"callbacks": [3]}, TypeError, "a callback is a function of the history, not int"),
        ({"rng": "x"}, TypeError, "rng is a whole number"),
        ({"data": [[1.0]]}, TypeError, "a pair of lists or arrays"),
        ({"data": "xy"}, TypeError, "a pair of lists or arrays"),
        ({"loss": lambda p, t: Value(1.0)}, ValueError, "the loss depends on no parameter of the optimizer"),
        ({"loss": lambda p, t: sum(v.data for v in p) * Value(1.0)}, ValueError, "depends on no parameter"),
        ({"optimizer": optim.SGD([Value(1.0)])}, ValueError, "none of the parameters of this model"),
        ({"optimizer": "SGD"}, TypeError, "one of micrograd.optim"),
        ({"compile": True, "objective": losses.mse}, ValueError, "not both"),
        ({"resume": True}, ValueError, "without a checkpoint to resume from"),
        ({"checkpoint": "."}, OSError, "is a folder"),
        ({"checkpoint": "/no/such/folder/run.json"}, OSError, "cannot be written"),
    ],
)
def test_what_cannot_be_is_said(options, error, told):
    model, points, optimizer = line_problem()
    arguments = {"data": points, "loss": losses.mse, "epochs": 1, "quiet": True, "optimizer": optimizer} | options
    before = model.state_dict()
    with pytest.raises(error, match=told):
        fit(model, **arguments)
    assert model.state_dict() == before


@pytest.mark.parametrize("options", [{"clip": 1.0}, {"accumulate": 2, "batch_size": 2}])
def test_a_line_search_takes_no_clipping_and_no_accumulation(options):
    model, points, _ = line_problem()
    with pytest.raises(ValueError, match=f"takes no {next(iter(options))}"):
        fit(model, points, losses.mse, optim.LBFGS(model.parameters()), 1, quiet=True, **options)


def test_an_optimizer_with_all_parameters_frozen_is_refused():
    model, points, optimizer = line_problem()
    optimizer.freeze(model.parameters())
    with pytest.raises(ValueError, match="every parameter of the optimizer is frozen"):
        fit(model, points, losses.mse, optimizer, 1, quiet=True)


def test_fit_inside_no_grad_is_refused():
    model, points, optimizer = line_problem()
    with no_grad(), pytest.raises(RuntimeError, match=r"fit inside no_grad\(\)"):
        fit(model, points, losses.mse, optimizer, epochs=1, quiet=True)


@pytest.mark.parametrize(
    "loss, outputs, targets, told",
    [
        (losses.cross_entropy, 3, [0, 1, 7], "row 2 of the data is 7: cross_entropy takes .* from 0 to 2"),
        (losses.cross_entropy, 3, [0, -1, 2], "row 1 of the data is -1"),
        (losses.cross_entropy, 3, [0, 1, 0.5], "row 2 of the data is 0.5"),
        (losses.cross_entropy, 3, [float("nan"), 1, 2], "row 0 of the data is nan"),
        (losses.cross_entropy, 3, [0, "1", 2], "row 1 of the data is a str, not a number: '1'"),
        (partial(losses.cross_entropy, ignore_index=-1), 3, [0, -1, -2], "row 2 of the data is -2"),
        (losses.max_margin, 1, [1, 0, 1], "row 1 of the data is 0: max_margin takes labels 1 and -1"),
        (losses.binary_cross_entropy, 1, [1, -1, 1], "row 1 of the data is -1: .* from 0 to 1"),
        (losses.binary_cross_entropy, 1, [1, 0, 2], "row 2 of the data is 2"),
        (losses.mse, 1, [1.0, float("inf"), 0.0], "row 1 of the data is inf: it is not finite"),
    ],
)
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_llvm)])
def test_targets_that_make_no_sense_are_refused_with_their_row(loss, outputs, targets, told, compiled):
    model = nn.MLP(2, [outputs], rng=0)
    before = model.state_dict()
    with pytest.raises((ValueError, TypeError, CompileError), match=f"{told}|row 1 of the data holds"):
        fit(model, ([[0.1, 0.2]] * 3, targets), loss, optim.SGD(model.parameters()), 1, compile=compiled, quiet=True)
    assert model.state_dict() == before


def test_a_single_callback_may_be_given_bare():
    model, points, optimizer = line_problem()
    seen = []
    fit(model, points, losses.mse, optimizer, epochs=3, callbacks=lambda history: seen.append(len(history)), quiet=True)
    assert seen == [1, 2, 3]


def test_any_whole_number_or_none_seeds_the_batches():
    np = pytest.importorskip("numpy", reason="for its integers")
    results = []
    for rng in (3, np.int64(3), random.Random(3)):
        model, points, optimizer = line_problem()
        fit(model, points, losses.mse, optimizer, epochs=3, batch_size=3, rng=rng, quiet=True)
        results.append(model.state_dict())
    assert results[0] == results[1] == results[2]
    random.seed(5)
    model, points, optimizer = line_problem()
    fit(model, points, losses.mse, optimizer, epochs=3, batch_size=3, rng=None, quiet=True)
    assert model.state_dict() != results[0]


def test_a_gradient_that_is_no_number_under_a_finite_loss_moves_nothing(tmp_path):
    model, points, optimizer = line_problem()
    before = model.state_dict()

    def loss(predictions, targets):
        broken = Value(0.0, (predictions[0],))
        broken._backward = lambda: setattr(predictions[0], "grad", float("nan"))
        return losses.mse(predictions, targets) + broken

    with pytest.warns(RuntimeWarning, match="a gradient is not finite at step 1"):
        history = fit(model, points, loss, optimizer, epochs=3, checkpoint=tmp_path / "run.json", quiet=True)
    assert history.stopped == "diverged" and model.state_dict() == before


# ---- accumulated gradients, best weights


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_llvm)])
def test_accumulated_batches_are_one_large_batch(compiled):
    results = []
    for size, accumulate in ((6, 1), (2, 3), (3, 2)):
        model, points, optimizer = line_problem()
        history = fit(model, points, losses.mse, optimizer, 4, batch_size=size, accumulate=accumulate, quiet=True,
                      compile=compiled)  # fmt: skip
        results.append([*(p.data for p in model.parameters()), *history.loss])
    assert results[1] == pytest.approx(results[0], rel=1e-12) and results[2] == pytest.approx(results[0], rel=1e-12)


@pytest.mark.parametrize("kind", ["loss", "validation"])
def test_the_best_weights_are_put_back(kind):
    model, points, _ = line_problem()
    optimizer = optim.SGD(model.parameters(), lr=lambda k: 0.05 if k < 5 else 3.0)
    options = {"validation": points} if kind == "validation" else {}
    history = fit(model, points, losses.mse, optimizer, 12, restore_best=True, quiet=True, clip=1.0, **options)
    column = history["validation_loss" if options else "loss"]
    best = column.index(min(column))
    assert 0 < best < 11 and history.best == history.rows[best]
    assert losses.mse([model(x) for x in points[0]], points[1]).data == pytest.approx(column[best], rel=1e-14)


def test_accuracy_counts_by_sign_or_by_the_greatest():
    assert accuracy([Value(0.5), Value(-0.5), Value(2.0)], [1, 1, 1]) == pytest.approx(2 / 3)
    assert accuracy([Value(0.5), Value(-0.5)], [1, 0]) == accuracy([0.5, -0.5], [1, -1]) == 1.0
    assert accuracy([[Value(1.0), Value(3.0)], [2.0, 1.0]], [1, 1]) == 0.5
    assert accuracy([[Value(1.0)], [-1.0]], [1, 0]) == accuracy([[2.0], [-2.0]], [1, -1]) == 1.0  # one score in a list
    nan = float("nan")
    assert accuracy([nan, 1.0], [-1, 1]) == accuracy([[nan, 1.0], [0.0, 1.0]], [0, 1]) == 0.5
    for wrong in ([], [1, 2]):
        with pytest.raises(ValueError, match="accuracy"):
            accuracy([] if not wrong else [1.0], wrong)


def test_accuracy_of_arrays_is_that_of_lists():
    np = pytest.importorskip("numpy", reason="for arrays")
    rng = random.Random(0)
    for columns in (1, 2, 5):
        rows = [[rng.gauss(0, 1) for _ in range(columns)] for _ in range(50)]
        rows[3][0] = float("nan")
        targets = [rng.randrange(columns) if columns > 1 else rng.choice([-1, 1]) for _ in range(50)]
        assert accuracy(np.array(rows), targets) == accuracy(rows, targets)
        assert accuracy(np.array(rows)[:, 0], [1] * 50) == accuracy([row[0] for row in rows], [1] * 50)


# ---- several batches in a step

KINDS = {
    "mean": losses.cross_entropy,
    "sum": partial(losses.cross_entropy, reduction="sum"),
    "weights": partial(losses.cross_entropy, weight=[0.2, 0.8]),
    "ignored": partial(losses.cross_entropy, ignore_index=1),
    "of one's own": lambda p, t: losses.cross_entropy(p, t),
}


@pytest.mark.parametrize("loss", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("compile", [False, pytest.param(True, marks=needs_llvm)])
def test_accumulated_batches_are_a_step_of_all_their_rows(loss, compile):
    X, y = data.moons(30, seed=0)
    y = sorted(y)  # so that classes are spread unevenly over batches, and some batches are ignored whole

    def run(**options):
        model = nn.MLP(2, [4, 2], rng=0)
        history = fit(
            model, (X, y), loss, optim.SGD(model.parameters(), lr=0.01), 3, compile=compile, quiet=True,
            penalty=lambda: losses.l2(model.parameters(), 0.1), metrics={"accuracy": accuracy}, **options,
        )  # fmt: skip
        return [p.data for p in model.parameters()], history

    (wanted, whole), (got, batches) = run(), run(batch_size=2, accumulate=15)
    assert got == pytest.approx(wanted, rel=1e-9) and batches.loss == pytest.approx(whole.loss, rel=1e-9)
    if loss is not KINDS["ignored"]:  # batches that count for nothing are left out
        assert batches["accuracy"] == whole["accuracy"]
