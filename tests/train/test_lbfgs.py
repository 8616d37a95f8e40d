"""LBFGS in fit: with every kind of loss, and with gradients and metrics of the point where its step ended."""

import math

import pytest

from micrograd import Value, data, losses, nn, optim
from micrograd import math as mm
from micrograd.train import fit
from random_programs import needs_llvm

X, Y = data.moons(40, seed=0)


def run(loss, compile=False, epochs=4, **settings):
    model = nn.MLP(2, [6, 2], activation="tanh", rng=0)
    optimizer = optim.LBFGS(model.parameters(), **settings)
    gradients = []
    history = fit(
        model, (X, Y), loss, optimizer, epochs, compile=compile, quiet=True,
        metrics={"same": lambda p, t: losses.cross_entropy(p, t).data},
        callbacks=lambda _: gradients.append([p.grad for p in model.parameters()]),
    )  # fmt: skip
    return model, history, gradients


@needs_llvm
@pytest.mark.parametrize(
    "loss", [losses.cross_entropy, lambda p, t: losses.cross_entropy(p, t)], ids=["by rows", "own"]
)
def test_compiled_training_takes_every_loss(loss):
    _, eager, _ = run(loss, max_iter=3)
    _, compiled, _ = run(loss, compile=True, max_iter=3)
    assert compiled.loss == pytest.approx(eager.loss, rel=1e-9)
    assert compiled["same"] == pytest.approx(compiled.loss, rel=1e-9)


@pytest.mark.parametrize("compile", [False, pytest.param(True, marks=needs_llvm)])
def test_gradients_and_metrics_are_of_where_a_step_ended(compile):
    """A line search that runs out of evaluations goes back to its best point, which is not the one it looked at last."""
    model, history, gradients = run(losses.cross_entropy, compile, 15, max_iter=1, max_evaluations=2)
    assert history["same"] == pytest.approx(history.loss, rel=1e-9)
    for p in model.parameters():
        p.grad = 0.0
    losses.cross_entropy([model(x) for x in X], Y).backward()
    assert gradients[-1] == pytest.approx([p.grad for p in model.parameters()], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("epochs", [1, 4])
def test_the_best_parameters_are_those_whose_loss_is_the_best(epochs):
    """The loss of a step of LBFGS is that after the step, unlike with the other optimizers."""
    model = nn.MLP(2, [6, 2], activation="tanh", rng=0)
    optimizer = optim.LBFGS(model.parameters(), max_iter=3)
    history = fit(model, (X, Y), losses.cross_entropy, optimizer, epochs, restore_best=True, quiet=True)
    assert losses.cross_entropy([model(x) for x in X], Y).data == pytest.approx(history.best["loss"], rel=1e-9)


@pytest.mark.parametrize("power", [0.5, 0.0])
def test_a_start_that_is_not_finite_moves_nothing(power):
    w, v = Value(0.0), Value(1.0)
    optimizer = optim.LBFGS([w, v])
    with pytest.raises(ValueError, match="not finite" if power else "loss is nan"):
        optimizer.step(lambda: (w**0.5 if power else w * math.nan) + (v - 3.0) ** 2)
    assert (w.data, v.data, optimizer.steps) == (0.0, 1.0, 0)


def test_a_gradient_that_overflows_moves_nothing_to_nan():
    w, v = Value(1.0), Value(1.0)
    optim.LBFGS([w, v]).step(lambda: 1e200 * w * w + 1e200 * v * v)
    assert math.isfinite(w.data) and math.isfinite(v.data)


@pytest.mark.parametrize("compile", [False, pytest.param(True, marks=needs_llvm)])
def test_training_ends_where_a_gradient_is_not_finite(compile):
    """The norm of weights that are all zero has no gradient there."""
    model = nn.Linear(2, 1, init="zeros", rng=0)
    before = [p.data for p in model.parameters()]
    with pytest.warns(RuntimeWarning, match="a gradient is not finite at step 1"):
        history = fit(
            model, (X, Y), losses.mse, optim.LBFGS(model.parameters()), 3, quiet=True, compile=compile,
            penalty=lambda: 0.01 * mm.sqrt(mm.dot(model.weight[0], model.weight[0])),
        )  # fmt: skip
    assert history.stopped == "diverged" and [p.data for p in model.parameters()] == before


def test_training_keeps_its_history_where_the_loss_becomes_nan():
    model = nn.Linear(2, 1, rng=0)
    seen = []

    def loss(predictions, targets):
        seen.append(1)
        return losses.mse(predictions, targets) * (math.nan if len(seen) > 30 else 1.0)

    optimizer = optim.LBFGS(model.parameters(), max_iter=2)
    with pytest.warns(RuntimeWarning, match="the loss is nan at step"):
        history = fit(model, (X, Y), loss, optimizer, 20, batch_size=10, quiet=True)
    assert history.stopped == "diverged" and len(history) > 1
    assert all(math.isfinite(p.data) for p in model.parameters())
