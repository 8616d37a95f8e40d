"""Checkpoints: a resumed run is the uninterrupted one to the bit, and no damage goes unseen."""

import json
import math
import random
import signal
import zlib

import pytest

from micrograd import losses, optim, train
from micrograd.train import fit
from training_runs import MAKERS, line_problem, noisy, run


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
    assert json.loads(path.read_text())["content"]["epoch"] == 4
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
        (lambda c: c.pop("rng"), "is damaged: rng is missing"),
        (lambda c: c.update(rng=None), "is damaged: rng is a NoneType"),
        (lambda c: c.update(rng=[3, [1, 2], None]), "is damaged: the state of its random generator"),
        (lambda c: c.update(optimizer=None), "is damaged: optimizer is a NoneType"),
        (lambda c: c.update(history=None), "is damaged: history is a NoneType"),
        (lambda c: c.update(batch=3), "is damaged: batch 3 of 3"),
        (lambda c: c.update(batch=-1), "is damaged: batch is -1"),
        (lambda c: c.update(epoch=2), "is damaged: the length of its history"),
        (lambda c: c.update(epoch=1.5), "is damaged: epoch is a float"),
        (lambda c: c.update(best={"data": [1.0]}), "is damaged: its best parameters"),
        (lambda c: c["optimizer"]["groups"][0].update(kept={"speed": [1.0]}), "keeps speed for 1 parameters"),
        (
            lambda c: c["optimizer"]["groups"][0]["kept"].update(speed=[math.nan] * 10),
            "speed that is not a finite number",
        ),
        (
            lambda c: c["optimizer"]["groups"][0]["kept"].update(speed=[10**400] * 10),
            "speed that is not a finite number",
        ),
        (lambda c: c["optimizer"].update(steps=-1), "has taken -1 steps"),
        (lambda c: c["optimizer"].pop("groups"), "has no groups of parameters"),
        (lambda c: c["model"].update({"layers.1.neurons.0.b": 10**400}), "beyond the range of a float"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_and_changes_nothing(tmp_path, change, told):
    path = tmp_path / "run.json"
    run("SGD", 5, checkpoint=path)
    table = json.loads(path.read_text())
    change(table["content"])
    table["check"] = zlib.crc32(json.dumps(table["content"]).encode())
    path.write_text(json.dumps(table))
    model, points, _ = line_problem()
    optimizer = MAKERS["SGD"](model.parameters())
    before, source = model.state_dict(), random.Random(0)
    with pytest.raises(ValueError, match=told):
        fit(
            model,
            points,
            noisy(source),
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


# ---- settings


def stop_at(count):
    return lambda history: signal.raise_signal(signal.SIGINT) if len(history) == count else None


def test_a_learning_rate_that_a_callback_changed_goes_on(tmp_path):
    def run(stop=None, **options):
        model, points, optimizer = line_problem()

        def halve(history):
            if len(history) % 4 == 0:
                optimizer.lr = optimizer.lr / 2
                optimizer.groups[0].settings["momentum"] *= 0.9

        fit(model, points, losses.mse, optimizer, epochs=12, callbacks=[halve, stop_at(stop)], quiet=True, **options)
        return model.state_dict(), optimizer.lr

    whole = run()
    path = tmp_path / "run.json"
    assert run(stop=6, checkpoint=path) != whole
    assert run(checkpoint=path, resume=True) == whole


def test_a_learning_rate_that_falls_on_a_plateau_goes_on(tmp_path):
    def run(stop=None, **options):
        model, points, optimizer = line_problem(lr=0.4)
        plateau = train.ReduceOnPlateau(optimizer, factor=0.5, patience=1)
        history = fit(model, points, losses.mse, optimizer, epochs=30, batch_size=5, quiet=True,
                      callbacks=[plateau, stop_at(stop)], **options)  # fmt: skip
        return model.state_dict(), history["lr"]

    whole = run()
    assert len(set(whole[1])) > 2
    for stop in (7, 8, 21):
        path = tmp_path / f"run{stop}.json"
        run(stop=stop, checkpoint=path)
        assert run(checkpoint=path, resume=True) == whole


@pytest.mark.parametrize(
    "change, told",
    [
        ({"momentum": 0.8}, "was made with momentum=0.9, and this optimizer has momentum=0.8"),
        ({"lr": 0.04}, "another learning rate"),
        ({"lr": optim.linear(0.05, 0.01, 99)}, "another learning rate"),
        ({"weight_decay": 0.1}, "weight_decay=0, and this optimizer has weight_decay=0.1"),
        ({"nesterov": True}, "nesterov=0, and this optimizer has nesterov=1"),
    ],
)
def test_other_settings_are_an_error_unless_one_asks(tmp_path, change, told):
    path = tmp_path / "run.json"
    settings = {"lr": optim.linear(0.05, 0.01, 30), "momentum": 0.9}

    def run(settings, epochs, **options):
        model, points, _ = line_problem()
        optimizer = optim.SGD(model.parameters(), **settings)
        fit(model, points, losses.mse, optimizer, epochs=epochs, quiet=True, checkpoint=path, **options)
        return model.state_dict(), optimizer

    run(settings, 4)
    text = path.read_bytes()
    with pytest.raises(ValueError, match=told):
        run(settings | change, 8, resume=True)
    assert path.read_bytes() == text
    _, optimizer = run(settings | change, 8, resume=True, resume_settings="own")
    assert all(optimizer.groups[0].settings[k] == v for k, v in change.items() if k != "lr")
    path.write_bytes(text)
    if "lr" not in change:
        resumed, optimizer = run(settings | change, 8, resume=True, resume_settings="saved")
        assert optimizer.groups[0].settings["momentum"] == 0.9
        path.unlink()
        assert run(settings, 8)[0] == resumed


def test_betas_are_settings_too():
    a, b = (optim.Adam(line_problem()[0].parameters(), betas=betas) for betas in ((0.9, 0.99), (0.8, 0.99)))
    with pytest.raises(ValueError, match=r"beta1=0\.9, and this optimizer has beta1=0\.8"):
        b.load_state_dict(a.state_dict())


# ---- runs that ended


@pytest.mark.parametrize("how", ["early stop", "callback"])
def test_a_run_that_ended_takes_no_further_step(tmp_path, how):
    path = tmp_path / "run.json"

    def run(**options):
        model, points, _ = line_problem()
        optimizer = optim.SGD(model.parameters(), lr=lambda k: 0.05 if k < 5 else 0.0)
        ends = {"patience": 3} if how == "early stop" else {"callbacks": lambda history: len(history) == 9}
        return fit(model, points, losses.mse, optimizer, epochs=100, quiet=True, checkpoint=path, **ends, **options)

    first, again = run(), run(resume=True)
    assert first.stopped == again.stopped == how
    assert again.rows == first.rows and len(again) == 9


def test_the_best_weights_survive_a_stop(tmp_path):
    path = tmp_path / "run.json"

    def run(stop=None, **options):
        model, points, _ = line_problem()
        optimizer = optim.SGD(model.parameters(), lr=lambda k: 0.05 if k < 5 else 0.5)
        history = fit(model, points, losses.mse, optimizer, epochs=12, restore_best=True, quiet=True,
                      callbacks=stop_at(stop), **options)  # fmt: skip
        return model.state_dict(), history.best

    whole = run()
    run(stop=9, checkpoint=path)
    assert run(checkpoint=path, resume=True) == whole
