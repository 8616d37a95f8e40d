"""LBFGS in fit: with every kind of loss, and with gradients and metrics of the point where its step ended."""

import pytest

from micrograd import data, losses, nn, optim
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
