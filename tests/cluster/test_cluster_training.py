"""fit(..., client=client): training on real workers, with the numbers of one machine to the bit."""

from __future__ import annotations

import functools
import time

import pytest

pytest.importorskip("distributed", reason="the cluster needs dask and distributed")
pytest.importorskip("llvmlite", reason="workers compile")

import numpy as np

from cluster.local import MARKS
from micrograd import data, losses, nn, optim
from micrograd.train import accuracy, fit

pytestmark = MARKS
ROWS = 40_000  # two chunks


def points(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(float)


def trained(X, y, loss=losses.cross_entropy, outputs=2, epochs=4, model=None, **options):
    model = nn.MLP(2, [6, outputs], activation="tanh", rng=0) if model is None else model
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    history = fit(model, (X, y), loss, optimizer, epochs, quiet=True, **options)
    return history.rows, model.state_dict()


def weighted(p, t):
    return losses.cross_entropy(p, t, weight=[1.0, 3.0])


CASES = {
    "all rows": {},
    "metrics and validation": {"metrics": {"accuracy": accuracy}, "validation": points(1000, 1)},
    "batches": {"batch_size": 17_000, "epochs": 2},
    "a penalty and clipping": {"clip": 0.1, "penalty": None},
    "class weights": {"loss": functools.partial(losses.cross_entropy, weight=[1.0, 3.0])},
    "a loss of one's own": {"loss": weighted, "epochs": 2, "X": 500},
    "dropout": {"model": "dropout"},
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_has_the_bits_of_one_machine(client, case):
    found = []
    for how in ({"compile": True}, {"client": client}):
        options = dict(CASES[case]) | how
        X, y = points(options.pop("X", ROWS))
        if options.get("model") == "dropout":
            parts = nn.Linear(2, 6, rng=0), nn.Tanh(), nn.Dropout(0.3, rng=1), nn.Linear(6, 2, rng=2)
            options["model"] = nn.Sequential(*parts)
        if "penalty" in options:
            options["model"] = model = nn.MLP(2, [6, 2], rng=0)
            options["penalty"] = lambda model=model: losses.l2(model.parameters(), 1e-3)
        found.append(trained(X, y, **options))
    assert found[0] == found[1]


@pytest.mark.slow
def test_rows_of_several_lengths(client):
    words = data.names()[:3]
    letters = data.Alphabet(words)
    tokens = [letters.encode(word) for word in words]
    found = []
    for how in ({"compile": True}, {"client": client}):
        model = nn.GPT(len(letters), block=16, width=4, heads=2, layers=1, rng=0)
        pairs = [t[:-1] for t in tokens], [t[1:] for t in tokens]
        fit(model, pairs, losses.cross_entropy, optim.SGD(model.parameters(), lr=0.1), 2, quiet=True, **how)
        found.append(model.state_dict())
    assert found[0] == found[1]


def test_dask_arrays_stay_on_the_cluster(client):
    import dask.array as da

    X, y = points()
    far = da.from_array(X, chunks=(9_999, 1)), da.from_array(y, chunks=7_777)
    options = {"metrics": {"accuracy": accuracy}, "validation": points(1000, 1)}
    assert trained(*far, client=client, **options) == trained(X, y, compile=True, **options)


@pytest.mark.slow
def test_columns_of_a_dataframe(client):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    x = np.linspace(-1.0, 1.0, 5000)
    frame = dd.from_pandas(pd.DataFrame({"x": x, "y": x * x}), npartitions=3)

    def line(how, X, y):
        model = nn.Sequential(lambda x: [x], nn.Linear(1, 3, rng=0), nn.Tanh(), nn.Linear(3, 1, rng=1), lambda o: o[0])
        return trained(X, y, losses.mse, model=model, **how)

    assert line({"client": client}, frame["x"], frame["y"]) == line({"compile": True}, x, x * x)


def test_data_are_sent_once_and_let_go_of_afterwards(client):
    kept = []
    trained(*points(), client=client, epochs=6, callbacks=lambda h: kept.append(_chunks_of_data(client)))
    assert (
        len(kept) == 6 and all(kept) and set().union(*kept) == kept[0]
    )  # two of inputs, two of targets, in every step
    for _ in range(200):  # futures are let go of in the background
        if not _chunks_of_data(client) & kept[0]:
            return
        time.sleep(0.05)
    raise AssertionError("data are left on the cluster")


def _chunks_of_data(client):
    def keys(dask_scheduler):
        return {
            str(key) for key, task in dask_scheduler.tasks.items() if "array-" in str(key) and task.state == "memory"
        }

    return client.run_on_scheduler(keys)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"batch_size": 10}, "leave batch_size out"),
        ({"client": None}, r"fit\(\.\.\., client=client\)"),
        ({"y": np.zeros(30)}, "both Dask collections"),
        ({"y": "labels"}, "the target in row 7 of the data is 5"),
        ({"X": "nan"}, "the input in row 3 of the data is not finite"),
        ({"objective": lambda X, y: 0.0}, "not both"),
    ],
)
def test_what_cannot_be_is_said(client, how, told):
    import dask.array as da

    X, y = points(30)
    if how.get("X") == "nan":
        X[3, 1] = np.nan
    if isinstance(how.get("y"), str):
        y[7] = 5.0
    far_y = how["y"] if isinstance(how.get("y"), np.ndarray) else da.from_array(y, chunks=11)
    options = {"client": client} | {k: v for k, v in how.items() if k not in ("X", "y")}
    with pytest.raises((TypeError, ValueError), match=told):
        trained(da.from_array(X, chunks=(7, 2)), far_y, **options)


def test_something_that_is_no_client_is_refused():
    with pytest.raises(TypeError, match=r"dask\.distributed\.Client"):
        trained(*points(10), client="tcp://127.0.0.1:1")
