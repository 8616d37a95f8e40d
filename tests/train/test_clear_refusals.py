"""Trainers say what cannot be, before anything has moved: nan data, schedules below zero, options of losses, log files."""

from __future__ import annotations

import math

import pytest

from micrograd import TraceError, Value, data, losses, nn, optim, train, vmap

X, Y = data.moons(12, seed=0)


def model_and_optimizer(*layers):
    model = nn.Sequential(*layers) if layers else nn.MLP(2, [4, 2], rng=0)
    return model, optim.SGD(model.parameters(), lr=0.1)


def test_find_lr_names_a_loss_that_is_nan_before_the_first_step():
    model, optimizer = model_and_optimizer()
    before = [p.data for p in model.parameters()]
    with pytest.raises(FloatingPointError, match=r"nan before any parameter has moved.*\n.*in the data"):
        train.find_lr(model, ([[math.nan, 1.0]] * 12, Y), losses.cross_entropy, optimizer)
    assert [p.data for p in model.parameters()] == before and optimizer.lr == 0.1
    assert train.find_lr(model, (X, Y), losses.cross_entropy, optimizer, steps=5).lr > 0.0


@pytest.mark.parametrize("weight", [[1.0], [1.0, 2.0, 3.0], []])
def test_weights_of_classes_are_counted_in_compiled_steps_too(weight):
    model, optimizer = model_and_optimizer()
    step = train.step(lambda xs, ts: losses.cross_entropy([model(x) for x in xs], ts, weight=weight), optimizer)
    with pytest.raises(ValueError, match=f"2 classes and {len(weight)} weights"):
        step(X[:4], Y[:4])
    with pytest.raises(ValueError, match=f"2 classes and {len(weight)} weights"):
        loss = lambda p, t: losses.cross_entropy(p, t, weight=weight)  # noqa: E731
        train.fit(model, (X, Y), loss, optimizer, epochs=1, compile=True, quiet=True)


@pytest.mark.parametrize("ignored", ["a", 1.5, math.nan, True, [1], Value(1.0)])
def test_the_target_to_be_ignored_is_a_whole_number(ignored):
    with pytest.raises(TypeError, match="ignore_index is a whole number"):
        losses.cross_entropy([[1.0, 2.0]], [0], ignore_index=ignored)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: optim.constant(-0.1), "lr=-0.1"),
        (lambda: optim.constant(math.nan), "lr=nan"),
        (lambda: optim.linear(0.1, -0.1, 10), "end=-0.1.*\n.*maximize=True"),
        (lambda: optim.linear(-0.1, 0.1, 10), "start=-0.1"),
        (lambda: optim.cosine(0.1, math.inf, 10), "end=inf"),
        (lambda: optim.step(0.1, 10, -0.5), "factor=-0.5: a learning rate is multiplied by it"),
        (lambda: optim.exponential(0.1, -1.0), "factor=-1.0"),
        (lambda: optim.warm_restarts(0.1, -1.0, 10), "end=-1.0"),
        (lambda: optim.one_cycle(-1.0, 10), "top=-1.0"),
        (lambda: optim.one_cycle(1.0, 10, start_divisor=0.0), "start_divisor divides"),
        (lambda: optim.one_cycle(1.0, 10, end_divisor=-4.0), "end_divisor divides"),
        (lambda: optim.warmup(-1.0, 10), "lr=-1.0"),
    ],
)
def test_a_schedule_below_zero_is_refused_where_it_is_made(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_schedules_may_end_at_zero():
    assert (
        optim.linear(0.1, 0.0, 10)(10) == 0.0
        and optim.constant(0.0)(3) == 0.0
        and optim.exponential(0.1, 0.0)(1) == 0.0
    )


def fit(model, optimizer, log, **options):
    return train.fit(model, (X, Y), losses.cross_entropy, optimizer, quiet=True, callbacks=[log], **options)


def test_a_log_of_two_runs_has_the_rows_of_both(tmp_path):
    log, (model, optimizer) = train.CSVLog(tmp_path / "log.csv"), model_and_optimizer()
    first = fit(model, optimizer, log, epochs=2)
    second = fit(model, optimizer, log, epochs=3, validation=(X, Y))
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert len(lines) == 1 + len(first) + len(second) and "validation_loss" in lines[0]
    losses_written = [float(line.split(",")[lines[0].split(",").index("loss")]) for line in lines[1:]]
    assert losses_written == [*first["loss"], *second["loss"]]


def test_a_run_that_is_resumed_writes_no_row_twice(tmp_path):
    log, (model, optimizer) = train.CSVLog(tmp_path / "log.csv"), model_and_optimizer()
    where = tmp_path / "run.json"
    fit(model, optimizer, log, epochs=2, checkpoint=where)
    whole = fit(model, optimizer, log, epochs=4, checkpoint=where, resume=True)
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 1 + len(whole) > 3


def test_a_log_without_a_folder_is_told_before_the_training(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*missing"):
        train.CSVLog(tmp_path / "missing" / "log.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        train.CSVLog(tmp_path)


def test_a_dropout_in_rows_that_vmap_has_compiled_says_how_to_train(tmp_path):
    np = pytest.importorskip("numpy")
    model, optimizer = model_and_optimizer(nn.Linear(2, 3, rng=0), nn.Dropout(0.5, rng=1), nn.Linear(3, 2, rng=2))
    rows = vmap(lambda x, t: losses.cross_entropy(model(x), t), reduce="mean")
    with pytest.raises(TraceError, match="a loss of the whole batch that vmap has not compiled"):
        train.step(rows, optimizer)(np.array(X), np.array(Y, float))
    step = train.step(lambda xs, ts: losses.cross_entropy([model(x) for x in xs], ts), optimizer)
    assert math.isfinite(step(X, Y))
