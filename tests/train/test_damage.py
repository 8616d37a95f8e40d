"""Damaged checkpoints and weight files, full disks, killed writers: no harm is done, and it is said."""

import json
import math
import os
import random
import subprocess
import sys

import pytest

from micrograd import losses, nn, train
from micrograd.nn import files
from micrograd.train import checkpoints, fit
from training_runs import MAKERS, line_problem, noisy, run


def test_every_byte_of_a_checkpoint_is_covered(tmp_path):
    path = tmp_path / "run.json"
    run("SGD", 5, checkpoint=path)
    rng = random.Random(0)
    for file in (path, tmp_path / "run.json.history"):
        text = file.read_bytes()
        for _ in range(150):
            damaged = bytearray(text)
            at = rng.randrange(len(text))
            damaged[at] ^= 1 << rng.randrange(8)
            file.write_bytes(damaged)
            model, points, _ = line_problem()
            optimizer = MAKERS["SGD"](model.parameters())
            before = model.state_dict()
            try:
                history = fit(model, points, losses.mse, optimizer, epochs=2, batch_size=4, checkpoint=path, resume=True,
                              steps=5, quiet=True)  # fmt: skip
            except ValueError as refusal:
                assert "run.json" in str(refusal)
                assert model.state_dict() == before
            else:  # a space, or the case of an exponent: the content is the same
                assert len(history) == 5
        file.write_bytes(text)


def test_a_checkpoint_costs_the_same_after_a_long_history(tmp_path):
    model, _, optimizer = line_problem()
    saved = checkpoints.Checkpoint(tmp_path / "run.json")
    at, history = checkpoints.DataPosition(10, None), train.History()
    sizes = []
    for k in range(2000):
        history.rows.append({"epoch": k + 1, "step": k + 1, "loss": 0.5})
        at.advance()
        if k in (0, 999, 1999):
            saved.save(model, optimizer, random.Random(0), at, history)
            sizes.append(os.path.getsize(tmp_path / "run.json"))
    assert max(sizes) - min(sizes) < 40
    assert len((tmp_path / "run.json.history").read_text().splitlines()) == 2000


def test_a_history_without_its_file_is_said(tmp_path):
    path = tmp_path / "run.json"
    run("SGD", 5, checkpoint=path)
    (tmp_path / "run.json.history").unlink()
    with pytest.raises(
        ValueError, match=r"belongs to .*run\.json\.history, which holds the history and does not exist"
    ):
        run("SGD", checkpoint=path, resume=True)


def test_rows_behind_the_last_checkpoint_are_dropped(tmp_path):
    path = tmp_path / "run.json"
    whole = run("SGD")
    run("SGD", 5, checkpoint=path)
    with open(tmp_path / "run.json.history", "a") as file:
        file.write('{"step": 6, "los')  # killed while it was appending
    assert run("SGD", checkpoint=path, resume=True) == whole


def test_a_state_with_a_nan_never_replaces_a_good_one(tmp_path):
    path = tmp_path / "run.json"
    model, points, optimizer = line_problem()
    fit(model, points, losses.mse, optimizer, epochs=2, checkpoint=path, quiet=True)
    good = path.read_bytes()
    model.layers[0].neurons[0].b.data = math.nan
    saved = checkpoints.Checkpoint(path)
    saved.save(model, optimizer, random.Random(0), checkpoints.DataPosition(10, None), train.History())
    assert path.read_bytes() == good
    model, points, optimizer = line_problem()
    optimizer.step()
    optimizer.groups[0].kept["speed"][0] = math.inf
    saved.save(model, optimizer, random.Random(0), checkpoints.DataPosition(10, None), train.History())
    assert path.read_bytes() == good


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "truncate"])
def test_a_full_disk_keeps_the_history_and_the_last_good_file(tmp_path, monkeypatch, call):
    path = tmp_path / "run.json"
    whole = run("SGD")
    broken = []

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    def fill(history):
        if len(history) == 9:
            broken.append(path.read_bytes())
            if call in ("fsync", "replace"):
                monkeypatch.setattr(os, call, fail)
            else:
                monkeypatch.setattr(checkpoints.Checkpoint, "_append" if call == "truncate" else "save", fail)

    model, points, _ = line_problem()
    source = random.Random(11)
    with pytest.warns(RuntimeWarning, match="could not be written .*No space left on device"):
        history = fit(model, points, noisy(source), MAKERS["SGD"](model.parameters()), epochs=8, batch_size=4, rng=source,
                      callbacks=fill, checkpoint=path, checkpoint_every=1, quiet=True)  # fmt: skip
    assert (history.rows, model.state_dict()) == whole
    assert path.read_bytes() == broken[0]
    monkeypatch.undo()
    assert run("SGD", checkpoint=path, resume=True) == whole


def test_temporaries_of_killed_writers_are_removed(tmp_path):
    path = tmp_path / "run.json"
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    machine = files._writer().partition("-")[0]
    stale, other = (tmp_path / f".run.json.{name}-x.tmp" for name in (f"{machine}-{done.stdout.strip()}", "abc-1"))
    live = tmp_path / f".run.json.{machine}-{os.getpid()}-x.tmp"
    for file in (stale, other, live):
        file.write_text("")
    run("SGD", 5, checkpoint=path)
    assert not stale.exists() and other.exists() and live.exists()


def test_a_link_stays_a_link(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    link.symlink_to(real)
    model, points, optimizer = line_problem()
    fit(model, points, losses.mse, optimizer, epochs=2, checkpoint=link, quiet=True)
    assert link.is_symlink() and real.exists()
    model.save(link)
    assert link.is_symlink() and nn.MLP(1, [3, 1]).load(real).state_dict() == model.state_dict()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000])
def test_deep_nesting_is_an_error_that_names_the_file(tmp_path, text):
    path = tmp_path / "deep.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"deep\.json"):
        nn.MLP(1, [1]).load(path)
    nested = "[" * 600 + "1" + "]" * 600
    path.write_text(f'{{"format": "{files.FORMAT}", "parameters": {{"a": {nested}}}}}')
    with pytest.raises(ValueError, match=r"deep\.json"):
        nn.MLP(1, [1]).load(path)
    model, points, optimizer = line_problem()
    path.write_text(text)
    with pytest.raises(ValueError, match=r"deep\.json"):
        fit(model, points, losses.mse, optimizer, epochs=2, checkpoint=path, resume=True, quiet=True)


def test_a_number_beyond_floats_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "huge.json"
    model = nn.MLP(1, [1], rng=0)
    model.save(path)
    table = json.loads(path.read_text())
    table["parameters"]["layers.0.neurons.0.b"] = 10**400
    table.pop("check")
    path.write_text(json.dumps(table))
    with pytest.raises(ValueError, match=r"huge\.json has a number beyond the range of a float"):
        model.load(path)
