"""What Dask collections an argument may be: numbers that may be missing are floats, and what is no number is refused."""

from __future__ import annotations

import pytest

pytest.importorskip(
    "distributed", reason="the cluster needs dask and distributed: pip install 'micrograd-next[cluster]'"
)
pytest.importorskip("llvmlite", reason="workers compile")

import dask
import dask.array as da
import numpy as np
from distributed import Client

from cluster.local import MARKS, in_process
from micrograd import vmap

pytestmark = MARKS


@pytest.fixture(scope="module")
def client():
    with in_process() as client:
        yield client


def double(x):
    return x * 2.0


@pytest.mark.parametrize("column, told", [
    (np.ones(3) + 1j, "argument 0 has dtype complex128, which is no real number"),
    (np.ones(3).astype("M8[s]"), r"argument 0 has dtype datetime64\[s\], which is no real number"),
    (np.array(["a", "b"]), "argument 0 has dtype <U1"),
    (np.array([1.0, None], dtype=object), "argument 0 has dtype object"),
    (np.array(3.0), "argument 0 is one number and has no rows"),
    (np.ma.masked_array([1.0, 2.0], [False, True]), "a masked array"),
], ids=["complex", "time", "text", "objects", "one number", "masked"])  # fmt: skip
@pytest.mark.parametrize("reduce", [None, "sum"])
def test_what_is_no_column_of_numbers_is_refused(client, column, told, reduce):
    """Of complex numbers the real parts counted, of times their seconds, and of masked numbers all."""
    far = da.from_array(column, chunks=2) if column.ndim else da.from_array(column)
    with pytest.raises(TypeError, match=told):
        vmap(double, reduce=reduce, client=client)(far)


def test_numbers_that_are_masked_on_the_worker_are_refused(client):
    hidden = da.ones(10, chunks=5).map_blocks(lambda x: np.ma.masked_greater(x, 0.5), meta=np.ones(0))
    with pytest.raises(TypeError, match="a masked array"):
        vmap(double, reduce="sum", client=client)(hidden)


def test_an_axis_that_is_not_there(client):
    with pytest.raises(ValueError, match="argument 0 has 2 axes, so its rows cannot lie along axis 2"):
        vmap(double, in_axes=2, client=client)(da.ones((3, 4)))


def test_collections_that_are_no_arrays(client):
    bag = pytest.importorskip("dask.bag").from_sequence([1.0, 2.0])
    for x, name in ((bag, "Bag"), (dask.delayed(np.ones)(3), "Delayed")):
        with pytest.raises(TypeError, match=f"argument 0 is a Dask {name}, which is not an array of rows"):
            vmap(double, client=client)(x)
        with pytest.raises(TypeError, match=f"argument 'x' is a Dask {name}"):
            vmap(double, client=client)(x=x)


@pytest.mark.parametrize(
    "wrap", [lambda x: x, lambda x: [1.0, x], lambda x: {"a": (x,)}], ids=["alone", "list", "dict"]
)
def test_a_collection_that_would_be_the_same_in_all_rows(client, wrap):
    with pytest.raises(TypeError, match=r"argument 1 has in_axes=None and is a Dask Array(.|\n)*x\.compute\(\)"):
        vmap(lambda x, w: x, in_axes=(0, None), client=client)(np.ones(3), wrap(da.ones(2)))


class TestDataframes:
    @pytest.fixture(scope="class")
    def frame(self):
        pd = pytest.importorskip("pandas")
        missing = [1, None, 3, None, 5]
        return pd.DataFrame({
            "Int64": pd.array(missing, dtype="Int64"), "Float64": pd.array(missing, dtype="Float64"),
            "boolean": pd.array([True, None, False, None, True], dtype="boolean"), "int64": [1, 2, 3, 4, 5],
            "category": pd.Categorical(list("ababa")), "text": list("ababa"),
        })  # fmt: skip

    @pytest.fixture(scope="class")
    def far(self, frame):
        return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2, sort=False)

    @pytest.mark.parametrize("name", ["Int64", "Float64", "boolean", "int64"])
    @pytest.mark.filterwarnings("error::UserWarning")
    def test_numbers_that_are_missing_are_nan(self, client, frame, far, name):
        want = vmap(double)(frame[name].to_numpy(dtype=float, na_value=np.nan))
        assert np.array_equal(vmap(double, client=client)(far[name]).compute(), want, equal_nan=True)

    @pytest.mark.filterwarnings("error::UserWarning")
    def test_several_columns_at_once(self, client, frame, far):
        names = ["Int64", "int64"]
        want = frame[names].to_numpy(dtype=float, na_value=np.nan)
        found = vmap(lambda row: row[0] - row[1], client=client)(far[names]).compute()
        assert np.array_equal(found, want[:, 0] - want[:, 1], equal_nan=True)

    @pytest.mark.parametrize("name", ["category", "text"])
    @pytest.mark.filterwarnings("error::UserWarning")
    def test_what_is_no_number_is_refused(self, client, far, name):
        with pytest.raises(TypeError, match=r"argument 0 has dtype \w+, which is no real number"):
            vmap(double, client=client)(far[name])


def test_data_are_fetched_by_the_client_that_was_given(client):
    """The first row was fetched by the default client, on whose cluster the data are not."""
    from micrograd import losses, nn, optim
    from micrograd.train import fit

    far = client.persist(da.arange(5000.0, chunks=700))
    with in_process() as default:
        assert Client.current() is default
        assert vmap(double, reduce="sum", client=client)(far) == 5000 * 4999.0
        model = nn.Sequential(lambda x: [x * 1e-3], nn.Linear(1, 1, rng=0), lambda out: out[0])
        history = fit(
            model, (far, far), losses.mse, optim.SGD(model.parameters(), lr=0.01), 2, quiet=True, client=client
        )
        assert len(history) == 2


def test_chunks_of_many_results_by_row_are_small():
    """A chunk of a million rows with 60 results each took more memory than workers have."""
    from micrograd.cluster.columns import largest_chunk

    assert largest_chunk(61) * 61 <= 16 * 2**20 < 2 * largest_chunk(61) * 61
    assert largest_chunk(10**6) == 16 * 2048 and largest_chunk(1) == 1024 * 2048


def test_large_arrays_of_the_caller_are_no_warning(client, recwarn):
    x = np.ones(2_000_000)
    assert vmap(double, reduce="sum", client=client)(x) == 4_000_000.0
    assert not [w for w in recwarn if "large graph" in str(w.message)]


def test_rows_to_look_at_are_fetched_at_once(client, monkeypatch):
    """A function with branches is looked at on 256 rows, of which each was fetched by itself: ten seconds before it began."""
    from micrograd.cluster.columns import ClusterRows

    x, y = np.random.default_rng(0).normal(size=(2, 1000, 2))
    args = (da.from_array(x, chunks=(77, 1)), y.T, range(5, 3005, 3), 0.5)
    rows = ClusterRows(args, {}, (0, 1, 0, None), ())
    fetched = []
    compute = da.Array.compute
    monkeypatch.setattr(da.Array, "compute", lambda a, *args, **how: fetched.append(1) or compute(a, *args, **how))
    assert rows.spread(256) == [[*x[r], *y[r], 5.0 + 3 * r, 0.5] for r in range(0, 1000, 3)]
    assert len(fetched) == 1
