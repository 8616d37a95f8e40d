"""train.step: one call that computes, differentiates, clips and moves."""

import math
import random

import pytest

from micrograd import TraceError, Value, jit, losses, nn, no_grad, optim, train, vmap
from random_programs import needs_llvm

MAKERS = {
    "SGD": lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda ps: optim.Adam(ps, lr=optim.linear(0.05, 0.01, 20)),
    "AdamW": lambda ps: optim.AdamW([{"parameters": ps[:5], "lr": 0.1}, {"parameters": ps[5:], "weight_decay": 0.2}]),
    "NAdam": lambda ps: optim.NAdam(ps, lr=0.01),
    "Lion": lambda ps: optim.Lion(ps, lr=0.01),
}


def problem():
    rng = random.Random(0)
    model = nn.MLP(2, [4, 1], activation="tanh", rng=0)
    points = [([rng.gauss(0, 1), rng.gauss(0, 1)], rng.gauss(0, 1)) for _ in range(20)]
    return model, points


@pytest.mark.parametrize("name", list(MAKERS))
@pytest.mark.parametrize("clip", [None, 0.1])
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_llvm)])
def test_a_step_is_the_four_lines_of_a_loop(name, clip, compiled):
    model, points = problem()
    optimizer = MAKERS[name](model.parameters())
    step = train.step(lambda x, y: losses.mse(model(x), y), optimizer, clip=clip, compile=compiled)
    other, _ = problem()
    reference = MAKERS[name](other.parameters())
    for x, y in points:
        got = step(x, y)
        loss = losses.mse(other(x), y)
        reference.zero_grad()
        loss.backward()
        if clip:
            optim.clip_norm(other.parameters(), clip)
        reference.step()
        assert got == pytest.approx(loss.data, rel=1e-9)
        assert [p.grad for p in model.parameters()] == pytest.approx(
            [p.grad for p in other.parameters()], rel=1e-8, abs=1e-12
        )
    assert [p.data for p in model.parameters()] == pytest.approx([p.data for p in other.parameters()], rel=1e-8)
    assert optimizer.steps == reference.steps == 20


@needs_llvm
def test_rows_are_taken_as_they_are():
    np = pytest.importorskip("numpy", reason="for rows")
    model, points = problem()
    X, y = np.array([x for x, _ in points]), np.array([t for _, t in points])
    rows = vmap(lambda x, t: (model(x) - t) ** 2, reduce="mean")
    step = train.step(jit(rows, wait=True), optim.Adam(model.parameters(), lr=0.05))
    first = step(X, y)
    for _ in range(200):
        last = step(X, y)
    assert last < 0.5 * first


def test_a_gradient_that_is_not_finite_moves_nothing():
    w = Value(1.0)
    step = train.step(lambda x: (w * x).log(), optim.SGD([w], lr=0.1))
    assert step(1.0) == 0.0
    before = w.data
    with pytest.raises(FloatingPointError, match="a gradient is not finite at step 2: no parameter was moved"):
        step(math.nan)
    assert w.data == before and step.optimizer.steps == 1


def test_what_cannot_be_a_step_is_said():
    w = Value(1.0)
    optimizer = optim.SGD([w])
    for make, error, told in [
        (lambda: train.step(3.0, optimizer), TypeError, "a function that returns the loss"),
        (lambda: train.step(lambda: w, "SGD"), TypeError, "an optimizer with a step for each gradient"),
        (lambda: train.step(lambda: w, optim.LBFGS([w])), TypeError, "an optimizer with a step for each gradient"),
        (lambda: train.step(lambda: w, optimizer, clip=0), ValueError, "above 0"),
        (lambda: train.step(lambda x: Value(1.0) * x, optimizer)(2.0), ValueError, "depends on no parameter"),
        (lambda: train.step(lambda x: 3.0 * x, optimizer)(2.0), TypeError, "a loss is a Value"),
    ]:
        with pytest.raises(error, match=told):
            make()
    with no_grad(), pytest.raises((ValueError, RuntimeError)):
        train.step(lambda x: w * x, optimizer)(2.0)
    assert w.data == 1.0


def test_a_loss_that_is_nan_moves_no_parameter_though_its_gradients_are_finite():
    model = nn.MLP(2, [4, 2], rng=0)
    step = train.step(
        lambda X, y: losses.cross_entropy([model(x) for x in X], y), optim.Adam(model.parameters(), lr=0.1)
    )
    step([[0.5, 1.0], [1.0, -1.0]], [0, 1])
    before = [p.data for p in model.parameters()]
    with pytest.raises(FloatingPointError, match="no parameter was moved"):
        step([[0.5, 1.0], [1.0, -1.0]], [0, 7])
    assert [p.data for p in model.parameters()] == before


def test_an_optimizer_inside_a_compiled_function_is_refused():
    w = Value(1.0)
    optimizer = optim.Adam([w])

    @jit
    def f(x):
        loss = w * x
        loss.backward()
        optimizer.step()
        return loss

    with pytest.raises(TraceError):
        f(1.0)
    assert w.data == 1.0


# ---- dropout


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_llvm)])
def test_dropout_draws_anew_at_each_step(compiled):
    w = [Value(1.0) for _ in range(8)]
    drop = nn.Dropout(0.5, rng=1)
    step = train.step(lambda: sum(drop(w)), optim.SGD(w, lr=0.0), compile=compiled)
    masks = []
    for _ in range(20):
        step()
        masks.append(tuple(p.grad for p in w))
    assert len(set(masks)) > 15 and {g for mask in masks for g in mask} == {0.0, 2.0}
    again = nn.Dropout(0.5, rng=1)
    other = train.step(lambda: sum(again(w)), optim.SGD(w, lr=0.0), compile=not compiled)
    for mask in masks:
        other()
        assert tuple(p.grad for p in w) == mask


def test_dropout_in_a_compiled_function_without_a_count_of_steps_is_refused():
    drop = nn.Dropout(0.5, rng=1)
    with pytest.raises(TraceError, match=r"fit\(compile=True\), or with train\.step"):
        jit(lambda x: drop([x])[0])(1.0)
    drop.eval()
    assert jit(lambda x: drop([x])[0])(1.0) == 1.0


def test_dropout_keeps_the_mean_and_its_share():
    drop = nn.Dropout(0.3, rng=7)
    kept = [v for _ in range(200) for v in drop([1.0] * 50)]
    assert sum(v == 0.0 for v in kept) / len(kept) == pytest.approx(0.3, abs=0.02)
    assert sum(kept) / len(kept) == pytest.approx(1.0, abs=0.03)
    for bad in (1.0, -0.1, math.nan, True):
        with pytest.raises(ValueError, match="probability of a zero"):
            nn.Dropout(bad)
