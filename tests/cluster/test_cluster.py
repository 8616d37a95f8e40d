"""vmap(f, client=client): the rows of a batch on real workers, processes of this machine, with the bits of one machine."""

from __future__ import annotations

import pytest

pytest.importorskip(
    "distributed", reason="the cluster needs dask and distributed: pip install 'micrograd-next[cluster]'"
)
pytest.importorskip("llvmlite", reason="workers compile")

import numpy as np
from distributed import Client

from cluster.local import MARKET, MARKS, greeks, start
from micrograd import Value, grad, math, nn, no_grad, random, vmap
from micrograd.errors import ClusterError

ROWS = 150_001  # five chunks, the last one with a block that is not full
pytestmark = MARKS


def column(seed: int = 0, rows: int = ROWS):
    return np.random.default_rng(seed).normal(size=rows)


class TestSameBits:
    @pytest.mark.slow
    @pytest.mark.parametrize("workers", [1, 3, 5])
    def test_for_any_number_of_workers(self, workers):
        with start(workers) as cluster, Client(cluster) as client:
            found = greeks(client)(*MARKET, random.key(7), range(ROWS))
        assert found == greeks(threads=1)(*MARKET, random.key(7), np.arange(ROWS))

    def test_for_two_workers_and_threads(self, client):
        want = greeks(threads=1)(*MARKET, random.key(7), np.arange(ROWS))
        assert greeks(client)(*MARKET, random.key(7), range(ROWS)) == want
        assert greeks(threads=3)(*MARKET, random.key(7), np.arange(ROWS)) == want

    @pytest.mark.parametrize("options", [{}, {"exact": True}, {"float32": True}, {"width": 2}])
    def test_with_every_option(self, client, options):
        f = lambda x, y: math.sin(x) * y + math.exp(-x * x)  # noqa: E731
        for reduce in ("sum", "mean", None):
            here = vmap(f, reduce=reduce, **options)(column(1), column(2))
            there = vmap(f, reduce=reduce, **options, client=client)(column(1), column(2))
            assert np.array_equal(here, there) and np.asarray(here).dtype == np.asarray(there).dtype

    @pytest.mark.parametrize("reduce", ["sum", None])
    def test_with_branches_whose_paths_only_some_chunks_take(self, client, reduce):
        x = column(3)
        x[-5:] = [40.0, 50.0, 60.0, 70.0, 80.0]  # the last chunk alone takes the third path

        def f(x):
            if x > 30.0:
                return math.log(x) * x
            return x * x if x > 0 else math.sin(x)

        assert np.array_equal(vmap(f, reduce=reduce)(x), vmap(f, reduce=reduce, client=client)(x))

    def test_with_captured_parameters(self, client):
        w, b = Value(0.7), Value(-0.2)

        def loss(x, y):
            return ((w * x + b).tanh() - y) ** 2

        found = []
        for more in ({}, {"client": client}):
            w.grad = b.grad = 0.0
            result = vmap(loss, reduce="mean", **more)(column(4), column(5))
            result.backward()
            found.append((result.data, w.grad, b.grad))
        assert found[0] == found[1]

    def test_parameters_are_read_anew_in_each_call(self, client):
        w = Value(1.0)
        f = vmap(lambda x: w * x, reduce="sum", client=client)
        first = f(np.ones(10)).data
        w.data = 3.0
        assert (first, f(np.ones(10)).data) == (10.0, 30.0)

    def test_a_training_loop(self, client):
        def train(**more):
            model = nn.MLP(2, [8, 1], rng=0)
            X, y = np.stack([column(6, 5000), column(7, 5000)], axis=1), np.sign(column(8, 5000))
            loss = vmap(lambda row, label: (1 - label * model(row)).relu(), reduce="mean", **more)
            for _ in range(5):
                L = loss(X, y)
                for p in model.parameters():
                    p.grad = 0.0
                L.backward()
                for p in model.parameters():
                    p.data -= 0.1 * p.grad
            return [p.data for p in model.parameters()]

        assert train() == train(client=client)

    def test_an_object_that_holds_its_client(self, client):
        class Pricer:
            def __init__(self, client):
                self.client, self.scale = client, 2.0

            def one(self, x):
                return self.scale * x

            def total(self, x):
                return vmap(self.one, reduce="sum", client=self.client)(x)

        before = client.map(abs, range(200))  # futures come and go while it is traced
        pricer = Pricer(client)
        del before
        assert pricer.total(np.ones(10)) == 20.0

    def test_nested_structures_and_keyword_arguments(self, client):
        f = lambda p, *, scale: p["a"] * p["b"][0] + scale  # noqa: E731
        p = {"a": column(1), "b": [column(2)]}
        assert np.array_equal(vmap(f)(p, scale=column(3)), vmap(f, client=client)(p, scale=column(3)))

    def test_rows_along_another_axis(self, client):
        z = np.random.default_rng(0).normal(size=(3, ROWS))
        f = lambda z: z[0] * z[1] + z[2]  # noqa: E731
        assert np.array_equal(vmap(f, in_axes=1)(z), vmap(f, in_axes=1, client=client)(z))

    def test_second_derivatives(self, client):
        f = grad(grad(lambda x: math.sin(x) * x))
        assert np.array_equal(vmap(f)(column(1)), vmap(f, client=client)(column(1)))


class TestDaskCollections:
    def test_an_array_with_uneven_chunks(self, client):
        import dask.array as da

        x = column(1)
        d = da.from_array(x, chunks=((1, 77_000, 13_000, 60_000),))
        f = lambda x: math.sin(x) * x  # noqa: E731
        found = vmap(f, client=client)(d)
        assert isinstance(found, da.Array) and np.array_equal(found.compute(), vmap(f)(x))
        assert vmap(f, reduce="sum", client=client)(d) == vmap(f, reduce="sum")(x)

    def test_a_matrix_cut_in_both_directions(self, client):
        import dask.array as da

        X = np.random.default_rng(0).normal(size=(70_000, 3))
        f = lambda row: row[0] * row[1] + row[2]  # noqa: E731
        found = vmap(f, client=client)(da.from_array(X, chunks=(9_999, 2)))
        assert np.array_equal(found.compute(), vmap(f)(X))

    def test_columns_of_a_dataframe(self, client):
        dd = pytest.importorskip("dask.dataframe")
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"x": column(1), "n": np.arange(ROWS)})
        f = lambda x, n: x * n  # noqa: E731
        d = dd.from_pandas(frame, npartitions=7)
        want = vmap(f, reduce="sum")(frame["x"].to_numpy(), frame["n"].to_numpy())
        assert vmap(f, reduce="sum", client=client)(d["x"], d["n"]) == want

    def test_with_branches(self, client):
        import dask.array as da

        x = column(1)
        f = lambda x: x * x if x > 0 else math.exp(x)  # noqa: E731
        d = da.from_array(x, chunks=20_000)
        assert np.array_equal(vmap(f, client=client)(d).compute(), vmap(f)(x))

    @pytest.mark.slow
    def test_more_data_than_a_worker_has_memory(self):
        import dask.array as da

        rows = 40_000_000  # 320 MB a column, three columns made on the way
        with start(1, memory_limit="700MB") as cluster, Client(cluster) as client:
            columns = [da.arange(rows, chunks=1_000_000, dtype=float) * k for k in (1.0, 2.0, 3.0)]
            found = vmap(lambda a, b, c: a + b - c, reduce="sum", client=client)(*columns)
        assert found == 0.0

    def test_rows_that_would_be_values_are_refused(self, client):
        import dask.array as da

        w = Value(2.0)
        f = vmap(lambda x: w * x, client=client)
        with pytest.raises(ClusterError, match="no_grad"):
            f(da.ones(100))
        with no_grad():
            assert f(da.ones(100)).compute().sum() == 200.0


class TestChunks:
    @pytest.mark.parametrize("rows", [1, 2047, 2048, 100_000, 3_000_001, 10**9])
    @pytest.mark.parametrize("threads", [1, 2, 7, 64, 1000])
    def test_they_cover_all_rows_in_whole_blocks_and_are_few(self, rows, threads):
        from micrograd.cluster.columns import LARGEST_RANGE, shrinking

        found = shrinking(rows, threads, LARGEST_RANGE)
        assert [stop for _, stop in found[:-1]] == [start for start, _ in found[1:]]
        assert found[0][0] == 0 and found[-1][1] == rows
        assert all(start % 2048 == 0 and 0 < stop - start <= LARGEST_RANGE for start, stop in found)
        assert len(found) <= max(20 * threads, rows // LARGEST_RANGE + 8 * threads) and len(found) <= 1200

    def test_the_last_ones_are_small(self):
        from micrograd.cluster.columns import LARGEST_RANGE, shrinking

        sizes = [stop - start for start, stop in shrinking(20_000_000, 4, LARGEST_RANGE)]
        assert sizes == sorted(sizes, reverse=True) and sizes[-1] <= 20_000_000 / 256 + 2048


class TestWhatTravels:
    def test_a_program_is_compiled_once_by_each_worker(self, client):
        f = greeks(client)
        for seed in (1, 2, 3):
            f(*MARKET, random.key(seed), range(ROWS))
        name = _digest(f)
        kept = client.run(_kernels, name)
        assert sum(kept.values()) >= 1 and max(kept.values()) == 1

    def test_row_numbers_do_not_travel_and_sums_are_small(self, client):
        f = greeks(client)
        f(*MARKET, random.key(1), range(ROWS))
        blocks = -(-ROWS // 2048)
        assert f.last_run.bytes == blocks * 4 * 8
        assert f.last_run.rows_done == ROWS and f.last_run.done == f.last_run.chunks

    def test_a_column_that_is_not_used_makes_another_program(self):
        from micrograd.cluster.worker import PathTapes
        from micrograd.compile.pipeline import Goal
        from micrograd.tape.text import parse

        tape = parse("%0 = input 0\nreturn %0")
        assert PathTapes.of((tape,), Goal()).digest != PathTapes.of((tape.copy(inputs=2),), Goal()).digest

    def test_equal_programs_have_one_name(self, client):
        one, two = greeks(client), greeks(client)
        for f in (one, two):
            f(*MARKET, random.key(1), range(10))
        assert _digest(one) == _digest(two)


def _digest(f):
    from micrograd.cluster.worker import PathTapes

    (plan,) = f.plans.values()
    return PathTapes.of(tuple(v.tape for v in f.variants), plan.goal).digest


def _kernels(name):
    from micrograd.cluster import worker

    return sum(len(v.kernels) for v in worker._programs.get(name, []))


def test_without_dask_the_error_says_how_to_get_it(run_python):
    program = """
import sys
sys.modules["distributed"] = sys.modules["dask"] = None
from micrograd import vmap
try:
    vmap(lambda x: x, client=object())
except TypeError as error:
    print(error)
"""
    assert "dask.distributed.Client" in run_python(program).stdout
