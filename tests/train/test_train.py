"""fit: micrograd's recipe, history, early ends, Ctrl-C, and checkpoints that go on to the bit."""

import json
import random
import signal

import pytest

from micrograd import Value, data, losses, nn, optim
from micrograd.train import History, accuracy, fit


def recipe(sizes, seed, steps=100, **options):
    """micrograd's moons: full batch, learning rate 1 - 0.9 k/100, max-margin and 1e-4 Σp²."""
    X, y = data.moons(100, noise=0.1, seed=seed)
    model = nn.MLP(2, sizes, rng=seed)
    return model, fit(
        model,
        (X, [2 * c - 1 for c in y]),
        lambda scores, labels: losses.max_margin(scores, labels) + losses.l2(model.parameters(), 1e-4),
        optim.SGD(model.parameters(), lr=optim.linear(1.0, 0.1, 100)),
        epochs=steps,
        metrics={"accuracy": accuracy},
        quiet=True,
        **options,
    )


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


def line_problem(seed=0, lr=0.05, momentum=0.9):
    rng = random.Random(seed)
    X = [[rng.uniform(-1, 1)] for _ in range(10)]
    y = [2.0 * x[0] - 1.0 for x in X]
    model = nn.MLP(1, [3, 1], rng=seed)
    return model, (X, y), optim.SGD(model.parameters(), lr=lr, momentum=momentum)


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
    with pytest.warns(RuntimeWarning, match="the loss is (nan|inf), so training ends"):
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
        ({"checkpoint_every": 0}, ValueError, "1 or more, not 0"),
        ({"batch_size": 0}, ValueError, "1 item or more, not 0"),
    ],
)
def test_what_cannot_be_is_said(options, error, told):
    model, points, optimizer = line_problem()
    arguments = {"data": points, "loss": losses.mse, "epochs": 1, "quiet": True} | options
    with pytest.raises(error, match=told):
        fit(model, optimizer=optimizer, **arguments)


def test_accuracy_counts_by_sign_or_by_the_greatest():
    assert accuracy([Value(0.5), Value(-0.5), Value(2.0)], [1, 1, 1]) == pytest.approx(2 / 3)
    assert accuracy([Value(0.5), Value(-0.5)], [1, 0]) == accuracy([0.5, -0.5], [1, -1]) == 1.0
    assert accuracy([[Value(1.0), Value(3.0)], [2.0, 1.0]], [1, 1]) == 0.5


# ---- Ctrl-C


def test_ctrl_c_finishes_the_step_and_keeps_the_history():
    model, points, optimizer = line_problem()
    before = signal.getsignal(signal.SIGINT)

    def press(history):
        if len(history) == 7:
            signal.raise_signal(signal.SIGINT)

    history = fit(model, points, losses.mse, optimizer, epochs=100, callbacks=[press], quiet=True)
    assert len(history) == 7 and history.stopped == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before
    other, points, optimizer = line_problem()
    fit(other, points, losses.mse, optimizer, epochs=7, quiet=True)
    assert other.state_dict() == model.state_dict()


def test_a_second_ctrl_c_ends_at_once():
    model, points, optimizer = line_problem()

    def press(history):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("not reached")

    history = fit(model, points, losses.mse, optimizer, epochs=100, callbacks=[press], quiet=True)
    assert len(history) == 1 and history.stopped == "interrupted"


def test_fit_in_another_thread_leaves_signals_alone():
    import threading

    model, points, optimizer = line_problem()
    done = []
    thread = threading.Thread(
        target=lambda: done.append(fit(model, points, losses.mse, optimizer, epochs=2, quiet=True))
    )
    thread.start()
    thread.join()
    assert len(done[0]) == 2


# ---- checkpoints

MAKERS = {
    "SGD": lambda ps: optim.SGD(ps, lr=optim.linear(0.05, 0.01, 30), momentum=0.9),
    "Adam": lambda ps: optim.Adam(ps, lr=optim.cosine(0.05, 0.001, 30)),
    "AdamW": lambda ps: optim.AdamW(ps, lr=0.05),
    "RMSprop": lambda ps: optim.RMSprop(ps, lr=0.01, momentum=0.5, centered=True),
}


def noisy(source):
    """A loss that draws from the run's own generator, as dropout would."""
    return lambda predictions, targets: losses.mse(predictions, targets) * (1.0 + 0.1 * source.random())


def run(optimizer, stop_after=None, batch_size=4, **options):
    model, points, _ = line_problem()
    source = random.Random(11)

    def stop(history):
        if len(history) == stop_after:
            signal.raise_signal(signal.SIGINT)

    history = fit(
        model,
        points,
        noisy(source),
        MAKERS[optimizer](model.parameters()),
        epochs=8,
        batch_size=batch_size,
        rng=source,
        callbacks=[stop],
        quiet=True,
        **options,
    )
    return history.rows, model.state_dict()


@pytest.mark.parametrize("stop_after", [1, 3, 8, 9, 23])
@pytest.mark.parametrize("optimizer", list(MAKERS))
def test_interrupted_and_resumed_is_uninterrupted_to_the_bit(tmp_path, optimizer, stop_after):
    path = tmp_path / "run.json"
    whole = run(optimizer)
    part = run(optimizer, stop_after, checkpoint=path)
    assert len(part[0]) == stop_after and part[1] != whole[1]
    assert run(optimizer, checkpoint=path, resume=True) == whole


def test_a_run_killed_between_checkpoints_goes_on_from_the_last_one(tmp_path):
    path = tmp_path / "run.json"
    whole = run("Adam")

    def die(history):
        if len(history) == 14:
            raise RuntimeError("power cut")

    model, points, _ = line_problem()
    source = random.Random(11)
    with pytest.raises(RuntimeError, match="power cut"):
        fit(
            model,
            points,
            noisy(source),
            MAKERS["Adam"](model.parameters()),
            epochs=8,
            batch_size=4,
            rng=source,
            callbacks=[die],
            checkpoint=path,
            checkpoint_every=2,
            quiet=True,
        )
    assert json.loads(path.read_text())["epoch"] == 4
    assert run("Adam", checkpoint=path, resume=True) == whole


def test_a_finished_run_that_is_resumed_changes_nothing(tmp_path):
    path = tmp_path / "run.json"
    assert run("SGD", checkpoint=path) == run("SGD", checkpoint=path, resume=True)


def test_resuming_without_a_file_starts_at_the_beginning(tmp_path, capsys):
    model, points, optimizer = line_problem()
    fit(model, points, losses.mse, optimizer, epochs=2, checkpoint=tmp_path / "run.json", resume=True)
    assert "there is no" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda c: c.update(items=9), "items=9, and this one has items=10"),
        (lambda c: c.update(batch_size=2), "batch_size=2, and this one has batch_size=4"),
        (lambda c: c["optimizer"].update(optimizer="Adam"), "is of Adam, and this optimizer is SGD"),
        (lambda c: c["model"].pop("layers.1.neurons.0.b"), r"lacks layers\.1\.neurons\.0\.b"),
        (lambda c: c.pop("rng"), "is damaged"),
        (lambda c: c.update(rng=None), "is damaged"),
        (lambda c: c.update(optimizer=None), "is damaged"),
        (lambda c: c.update(format="other"), "its format is 'other'"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_and_changes_nothing(tmp_path, change, told):
    path = tmp_path / "run.json"
    run("SGD", 5, checkpoint=path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    model, points, optimizer = line_problem()
    before, source = model.state_dict(), random.Random(0)
    with pytest.raises(ValueError, match=told):
        fit(
            model,
            points,
            losses.mse,
            optimizer,
            epochs=8,
            batch_size=4,
            checkpoint=path,
            resume=True,
            rng=source,
            quiet=True,
        )
    assert model.state_dict() == before
    assert optimizer.steps == 0 and not optimizer.groups[0].kept
    assert source.getstate() == random.Random(0).getstate()


def test_a_checkpoint_cut_short_is_refused(tmp_path):
    path = tmp_path / "run.json"
    run("SGD", 5, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match=r"run\.json is damaged or cut short"):
        run("SGD", checkpoint=path, resume=True)


# ---- progress


def test_output_that_is_no_terminal_gets_plain_lines(capsys):
    model, points, optimizer = line_problem()
    fit(model, points, losses.mse, optimizer, epochs=20, metrics={"accuracy": lambda p, t: 0.5})
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert [line.split()[1] for line in lines] == [f"{k}/20" for k in (1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20)]
    assert lines[0].startswith("step  1/20  loss ") and "accuracy 50.0%" in lines[0]
    assert "\r" not in out and "\x1b" not in out


def test_quiet_is_silent(capfd):
    recipe([4, 1], 0, steps=5)
    assert capfd.readouterr() == ("", "")


def test_an_early_end_is_shown(capsys):
    model, points, optimizer = line_problem(lr=0.0)
    fit(model, points, losses.mse, optimizer, epochs=30, patience=3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith("step  4/30") and lines[-1] == "stopped early: no lower loss in 3 epochs"


@pytest.mark.parametrize("rich", [True, False])
def test_a_terminal_gets_a_bar_where_rich_is_installed(monkeypatch, capsys, rich):
    import sys

    if rich:
        pytest.importorskip("rich", reason="for the bar")
        monkeypatch.setenv("TERM", "xterm")
    else:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    model, points, optimizer = line_problem()
    fit(model, points, losses.mse, optimizer, epochs=20)
    out = capsys.readouterr().out
    assert ("20/20" in out) and ("step 20/20" in out) is (not rich)
