"""A run is resumed as the run that it was: what differs is an error, and what is said about its end is true."""

import functools
import json
import zlib

import pytest

from micrograd import Value, losses, nn, optim, train
from micrograd import math as mm
from micrograd.train import fit, identity
from micrograd.train.objective import Examples
from random_programs import needs_llvm

X = [[0.1 * k, 1.0 - 0.2 * k] for k in range(8)]
Y = [0.3 * k - 1.0 for k in range(8)]
OTHER = [*Y[:-1], 9.0]


def run(path, epochs=4, data=(X, Y), loss=losses.mse, activation="tanh", rng=0, **options):
    model = nn.MLP(2, [3, 1], activation=activation, rng=1)
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    history = fit(
        model, data, loss, optimizer, epochs, batch_size=4, rng=rng, checkpoint=path, **({"quiet": True} | options)
    )
    return history, model.state_dict()


def penalty():
    return 0.0


DIFFERENT = {
    "data": ({"data": (X, OTHER)}, "on other data"),
    "inputs": ({"data": ([[0.0, 0.0], *X[1:]], Y)}, "on other data"),
    "validation": ({"validation": (X, OTHER)}, "with other validation data"),
    "no validation": ({"validation": None}, "with other validation data"),
    "clip": ({"clip": 0.5}, "with clip=1.0, and this one has clip=0.5"),
    "no clip": ({"clip": None}, "with clip=1.0, and this one has clip=None"),
    "loss": ({"loss": losses.mae}, "with loss='mse', and this one has loss='mae'"),
    "options": ({"loss": functools.partial(losses.huber, delta=2.0)}, r"this one has loss='huber\(delta=2.0\)'"),
    "penalty": ({"penalty": penalty}, "with penalty='', and this one has penalty='penalty'"),
    "objective": ({"objective": lambda xs, ys: None}, "with loss='mse', and this one has loss=''"),
    "model": ({"activation": "relu"}, "of another model"),
    "rng": ({"rng": 7}, "with rng=0, and this one has rng=7"),
}


@pytest.mark.parametrize("changes, told", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_what_differs_from_the_run_is_an_error(tmp_path, changes, told):
    path = tmp_path / "run.json"
    before = {"validation": (X, Y), "clip": 1.0}
    run(path, 2, **before)
    kept = path.read_bytes()
    with pytest.raises(ValueError, match=told):
        run(path, 4, resume=True, **(before | changes))
    assert path.read_bytes() == kept


@needs_llvm
def test_a_compiled_run_is_not_resumed_eagerly(tmp_path):
    run(tmp_path / "run.json", 2, compile=True)
    with pytest.raises(ValueError, match="with compile=True, and this one has compile=False"):
        run(tmp_path / "run.json", 4, resume=True)


@pytest.mark.parametrize("name", [name for name in DIFFERENT if name not in ("objective", "penalty")])
def test_what_differs_is_taken_when_asked(tmp_path, name):
    path = tmp_path / "run.json"
    run(path, 2, validation=(X, Y), clip=1.0)
    options = {"validation": (X, Y), "clip": 1.0} | DIFFERENT[name][0]
    history, _ = run(path, 4, resume=True, resume_settings="own", **options)
    assert len(history) == 8 and history.stopped == "epochs"
    again, _ = run(path, 5, resume=True, **options)  # from now on it is that run
    assert len(again) == 10


def test_the_clip_of_the_file_is_taken_when_asked(tmp_path):
    _, wanted = run(tmp_path / "whole.json", 4, clip=0.01)
    run(tmp_path / "run.json", 2, clip=0.01)
    _, got = run(tmp_path / "run.json", 4, resume=True, resume_settings="saved")
    assert got == wanted


def test_lists_and_arrays_of_the_same_numbers_are_the_same_data(tmp_path):
    np = pytest.importorskip("numpy", reason="for arrays")
    run(tmp_path / "run.json", 2)
    history, _ = run(tmp_path / "run.json", 4, data=(np.array(X), np.array(Y)), resume=True)
    assert len(history) == 8


def test_checksums_tell_data_apart():
    texts = Examples(["ab", "cde"], [0, 1])
    assert identity.checksum(texts) == identity.checksum(Examples(["ab", "cde"], [0, 1]))
    assert identity.checksum(texts) != identity.checksum(Examples(["ab", "cdf"], [0, 1]))
    ragged = Examples([[1.0], [2.0, 3.0]], [0, 1])
    assert identity.checksum(ragged) != identity.checksum(Examples([[1.0], [2.0, 3.5]], [0, 1]))
    assert identity.checksum(Examples([object()], [0])) is None


def test_models_are_told_apart_by_what_this_package_prints():
    class Shown(nn.MLP):
        def __repr__(self):
            return f"weights {[p.data for p in self.parameters()]}"

    one, two = nn.MLP(2, [3, 1], rng=0), nn.MLP(2, [3, 1], rng=1)
    assert identity.structure(one) == identity.structure(two) is not None
    assert identity.structure(one) != identity.structure(nn.MLP(2, [3, 1], activation="tanh"))
    assert identity.structure(Shown(2, [1])) is identity.structure(nn.Sequential(Shown(2, [1]))) is None
    assert identity.structure(lambda x: x) is None


def test_a_checkpoint_of_an_earlier_version_is_resumed(tmp_path):
    path = tmp_path / "run.json"
    run(path, 2)
    table = json.loads(path.read_text())
    del table["content"]["run"]
    import zlib

    table["check"] = zlib.crc32(json.dumps(table["content"]).encode())
    path.write_text(json.dumps(table))
    history, _ = run(path, 4, resume=True)
    assert len(history) == 8


@pytest.mark.parametrize("asked", [{"epochs": 2}, {"epochs": 8}, {"epochs": 2, "steps": 3}])
def test_a_run_that_has_all_steps_says_so(tmp_path, capsys, asked):
    path = tmp_path / "run.json"
    _, before = run(path, 8)
    history, after = run(path, resume=True, quiet=False, **asked)
    assert history.stopped == "epochs" and len(history) == 16 and before == after
    assert "no further step is taken" in capsys.readouterr().out


def test_a_run_that_ended_by_steps_says_so(tmp_path):
    run(tmp_path / "run.json", 8, steps=5)
    history, _ = run(tmp_path / "run.json", 8, steps=3, resume=True)
    assert history.stopped == "steps" and len(history) == 5


# ---- callbacks that watch a column


@pytest.mark.parametrize("monitor, options, told", [
    ("nope", {}, "watches 'nope', which is no column of this history: it has loss, lr$"),
    ("validation_loss", {"metrics": {"size": lambda p, t: 1.0}}, "it has loss, lr, size$"),
    ("validation_sizes", {"metrics": {"size": lambda p, t: 1.0}, "validation": (X, Y)},
     "it has loss, lr, size, validation_loss, validation_size$"),
])  # fmt: skip
def test_a_column_that_is_not_there_is_no_plateau(monitor, options, told):
    model = nn.MLP(2, [3, 1], rng=0)
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    plateau = train.ReduceOnPlateau(optimizer, monitor=monitor)
    with pytest.raises(ValueError, match=told):
        fit(model, (X, Y), losses.mse, optimizer, 2, callbacks=[plateau], quiet=True, **options)


def test_a_column_that_is_not_there_is_no_plateau_outside_of_fit():
    optimizer = optim.SGD(nn.MLP(2, [3, 1]).parameters(), lr=0.05)
    history = train.History([{"epoch": 1, "step": 1, "loss": 1.0}])
    history.epoch_ended = True
    with pytest.raises(KeyError, match="'nope' is not in this history; it has epoch, step, loss"):
        train.ReduceOnPlateau(optimizer, monitor="nope")(history)


class Hidden(nn.Module):
    """A module with a parameter in a private attribute, which its state_dict does not have."""

    def __init__(self):
        self.w, self._b = Value(0.1), Value(0.2)

    def forward(self, x):
        return self.w * x[0] + self._b * x[1]


class Plain:
    """A model without a state."""

    def __init__(self):
        self.w, self.b = Value(0.1), Value(0.2)

    def __call__(self, x):
        return self.w * x[0] + self.b * x[1]


class OwnState(Plain):
    """A model with a state of its own that lacks a parameter."""

    def state_dict(self):
        return {"w": self.w.data}

    def load_state_dict(self, state):
        self.w.data = state["w"]


def hidden():
    model = Hidden()
    return model, [model.w, model._b], {}


def plain(kind=Plain):
    model = kind()
    return model, [model.w, model.b], {}


def function():
    model = Plain()
    return (lambda x: model(x)), [model.w, model.b], {}


def objective():
    model = Plain()
    return None, [model.w, model.b], {"objective": lambda xs, ts: losses.mse([model(x) for x in xs.tolist()], ts)}


def in_loss():
    model, s = nn.Linear(2, 1, rng=0), Value(0.0)
    return model, [*model.parameters(), s], {"loss": lambda p, t: losses.mse(p, t) * mm.exp(-s) + s}


@pytest.mark.parametrize("make", [hidden, plain, lambda: plain(OwnState), function, objective, in_loss])
def test_all_parameters_of_the_optimizer_go_on(tmp_path, make):
    def go(steps, **options):
        model, parameters, more = make()
        options = {"loss": losses.mse} | more | options
        fit(model, (X, Y), optimizer=optim.Adam(parameters, lr=0.05), steps=steps, epochs=9, quiet=True, **options)
        return [p.data for p in parameters]

    path = tmp_path / "run.json"
    whole = go(9)
    go(4, checkpoint=path)
    assert go(9, checkpoint=path, resume=True) == whole


def test_a_file_without_parameters_that_the_run_needs_is_refused(tmp_path):
    path = tmp_path / "run.json"

    def go(**options):
        model, parameters, more = in_loss()
        fit(
            model,
            (X, Y),
            optimizer=optim.SGD(parameters, lr=0.05),
            epochs=2,
            quiet=True,
            checkpoint=path,
            **more,
            **options,
        )
        return parameters

    go()
    for change, told in (
        (lambda c: c.pop("outside"), "lacks 1 parameters"),
        (lambda c: c.update(outside=[1.0, 2.0]), "has 2 parameters beside"),
        (lambda c: c.update(outside=None), "outside is a NoneType"),
    ):
        table = json.loads(path.read_text())
        change(table["content"])
        other = json.dumps(table["content"])
        path.with_name("other.json").write_text(
            json.dumps({"format": table["format"], "check": zlib.crc32(other.encode()), "content": table["content"]})
        )
        path.with_name("other.json.history").write_bytes(path.with_name("run.json.history").read_bytes())
        model, parameters, more = in_loss()
        before = [p.data for p in parameters]
        with pytest.raises(ValueError, match=told):
            fit(
                model, (X, Y), optimizer=optim.SGD(parameters, lr=0.05), epochs=2, quiet=True, resume=True,
                checkpoint=path.with_name("other.json"), **more,
            )  # fmt: skip
        assert [p.data for p in parameters] == before


def test_a_state_that_json_cannot_hold_is_refused_before_the_first_step(tmp_path):
    class Odd(OwnState):
        def state_dict(self):
            return {"w": {1.0}}

    model = Odd()
    with pytest.raises(TypeError, match=r"state_dict\(\) of Odd does not fit"):
        fit(model, (X, Y), losses.mse, optim.SGD([model.w], lr=0.1), 2, quiet=True, checkpoint=tmp_path / "run.json")
    assert model.w.data == 0.1


def test_a_running_mean_goes_on(tmp_path):
    def go(steps, with_mean=True, **options):
        model = nn.MLP(2, [3, 1], rng=1)
        mean = train.EMA(model.parameters(), 0.9)
        optimizer = optim.Adam(model.parameters(), lr=0.05)
        callbacks = [mean] if with_mean else []
        fit(model, (X, Y), losses.mse, optimizer, 9, steps=steps, quiet=True, callbacks=callbacks, **options)
        return mean.state_dict()["mean"], [p.data for p in model.parameters()]

    path = tmp_path / "run.json"
    whole = go(9)
    go(4, checkpoint=path)
    assert go(9, checkpoint=path, resume=True) == whole
    _, loaded = go(4, with_mean=False, checkpoint=path)
    mean, now = go(5, checkpoint=path, resume=True)
    assert mean == pytest.approx([0.9 * a + 0.1 * b for a, b in zip(loaded, now)])


def test_a_mean_of_other_parameters_is_refused():
    mean = train.EMA([Value(1.0)])
    for state, told in (
        ({"mean": [1.0, 2.0]}, "mean of 2 parameters"),
        ({}, "no running mean"),
        (None, "no running mean"),
    ):
        with pytest.raises(ValueError, match=told):
            mean.load_state_dict(state)
