"""vmap(f, client=client): the rows of a batch on real workers, processes of this machine, with the bits of one machine."""

from __future__ import annotations

import os
import random as stdlib_random
import signal
import threading
import time

import pytest

pytest.importorskip(
    "distributed", reason="the cluster needs dask and distributed: pip install 'micrograd-next[cluster]'"
)
pytest.importorskip("llvmlite", reason="workers compile")

import dask
import numpy as np
from distributed import Client, LocalCluster

from micrograd import Value, engine, grad, math, nn, no_grad, random, value_and_grad, vmap
from micrograd.errors import ClusterError

pytestmark = [
    pytest.mark.skipif(not engine.NATIVE, reason="workers run machine code, which needs the C engine"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.xdist_group("cluster"),
]

ROWS = 150_001  # five chunks, the last one with a block that is not full
MARKET = (100.0, 0.2, 0.03)


def start(workers: int, **more):
    settings = {
        "distributed.scheduler.allowed-failures": 30,
        "distributed.comm.timeouts.connect": "20s",
        "distributed.deploy.lost-worker-timeout": "1s",
    }
    with dask.config.set(settings):
        return LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1",
            silence_logs=50, **more,
        )  # fmt: skip


@pytest.fixture(scope="module")
def client():
    with start(2) as cluster, Client(cluster) as client:
        yield client


def path(spot, vol, rate, key, row):
    price, total = spot, 0.0
    for date in range(8):
        price = price * math.exp((rate - 0.5 * vol * vol) / 8 + vol * 0.35 * random.normal(key, draw=date, row=row))
        total = total + price
    return math.exp(-rate) * math.relu(total / 8 - 100.0)


GREEKS = {"in_axes": (None, None, None, None, 0), "reduce": "mean"}


def greeks(client=None, **options):
    return vmap(value_and_grad(path, argnums=(0, 1, 2)), **GREEKS, **options, client=client)


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


@pytest.mark.slow
class TestWorkersComeAndGo:
    @pytest.fixture(scope="class")
    def restless(self):
        with start(3) as cluster, Client(cluster) as client:
            yield cluster, client

    @pytest.mark.parametrize("moment", range(20))
    def test_a_worker_killed_at_a_random_moment_changes_nothing(self, restless, moment):
        cluster, client = restless
        _complete(cluster, client)
        rng = stdlib_random.Random(moment)
        f = greeks(client)
        f(*MARKET, random.key(0), range(1000))
        want = greeks()(*MARKET, random.key(moment), np.arange(2_000_000))
        pids = list(client.run(os.getpid).values())
        timer = threading.Timer(rng.uniform(0.0, 0.6), os.kill, (rng.choice(pids), signal.SIGKILL))
        timer.start()
        try:
            assert f(*MARKET, random.key(moment), range(2_000_000)) == want
        finally:
            timer.join()

    def test_a_worker_killed_in_the_middle(self, restless):
        cluster, client = restless
        _complete(cluster, client)
        f = greeks(client)
        killed = []

        def kill(progress):
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        f.progress = kill
        want = greeks()(*MARKET, random.key(3), np.arange(1_000_000))
        assert f(*MARKET, random.key(3), range(1_000_000)) == want and killed

    def test_a_worker_added_in_the_middle_and_one_retired(self, restless):
        cluster, client = restless
        _complete(cluster, client)
        f = greeks(client)
        steps = iter([lambda: cluster.scale(4), lambda: client.retire_workers([next(iter(client.ncores()))])])

        def change(progress):
            next(steps, lambda: None)()

        f.progress = change
        want = greeks()(*MARKET, random.key(4), np.arange(1_000_000))
        assert f(*MARKET, random.key(4), range(1_000_000)) == want

    def test_a_stuck_worker_is_overtaken(self, monkeypatch):
        from micrograd.cluster import run

        monkeypatch.setattr(run, "AT_LEAST", 0.5)
        with start(2) as cluster, Client(cluster) as client:
            f = greeks(client)
            f(*MARKET, random.key(5), range(1000))
            stuck = next(iter(client.run(os.getpid).values()))
            want = greeks()(*MARKET, random.key(5), np.arange(400_000))
            os.kill(stuck, signal.SIGSTOP)
            try:
                assert f(*MARKET, random.key(5), range(400_000)) == want
                assert f.last_run.again >= 1
            finally:
                os.kill(stuck, signal.SIGCONT)

    def test_workers_that_always_die_are_an_error_that_names_them(self):
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 1}),
            LocalCluster(
                n_workers=1, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1", silence_logs=50
            ) as cluster,
            Client(cluster) as client,
        ):
            f = vmap(lambda x: x * x, reduce="sum", client=client)
            f(np.ones(10))
            client.run(_die_on_rows)
            with pytest.raises(ClusterError, match=r"rows 0 to 9 were lost with their worker"):
                _in_thread(lambda: f(np.arange(10.0)), client)


def _complete(cluster, client, workers=3):
    """Wait until there are three workers. A nanny whose worker is killed while it starts gives up, so it is asked for anew."""
    for _ in range(240):
        if len(client.scheduler_info(n_workers=-1)["workers"]) >= workers:
            return
        cluster.scale(workers)
        time.sleep(0.5)
    raise AssertionError(f"there are not {workers} workers after two minutes")


def _die_on_rows():
    """Let this worker, and those that take its place, end at the next chunk."""
    from micrograd.cluster import worker

    worker.ByVariant = lambda *_: os._exit(1)


def _in_thread(call, client):
    """Make each worker that the nanny starts again a deadly one too, while the call waits."""
    stop = threading.Event()

    def poison():
        while not stop.is_set():
            try:
                client.run(_die_on_rows, on_error="ignore")
            except Exception:
                time.sleep(0.05)
            stop.wait(0.1)

    thread = threading.Thread(target=poison, daemon=True)
    thread.start()
    try:
        return call()
    finally:
        stop.set()
        thread.join()


class TestErrors:
    def test_another_version_is_an_error_at_once(self):
        with start(1) as cluster, Client(cluster) as client:
            client.run(_pretend_to_be_older)
            with pytest.raises(ClusterError, match=r"has micrograd 0\.9\.0"):
                vmap(lambda x: x * x, client=client)(np.ones(3))

    def test_another_processor_is_told(self):
        with start(1) as cluster, Client(cluster) as client:
            client.run(_pretend_to_have_short_vectors)
            with pytest.warns(RuntimeWarning, match="vectors 128"):
                assert vmap(lambda x: x * x, reduce="sum", client=client)(np.ones(3)) == 3.0

    def test_no_workers(self):
        with start(0) as cluster, Client(cluster) as client, pytest.raises(ClusterError, match="has no workers"):
            vmap(lambda x: x * x, client=client)(np.ones(3))

    def test_something_that_is_no_client(self):
        with pytest.raises(TypeError, match=r"dask\.distributed\.Client"):
            vmap(lambda x: x, client="tcp://127.0.0.1:1")

    def test_arguments_of_different_lengths(self, client):
        with pytest.raises(ValueError, match="3 and 4"):
            vmap(lambda x, y: x + y, client=client)(np.ones(3), range(4))

    def test_an_empty_batch(self, client):
        with pytest.raises(ValueError, match="empty"):
            vmap(lambda x: x, client=client)(range(0))

    def test_an_error_of_the_function_names_its_row(self, client):
        def f(x):
            if x > 99_999.5:
                raise ArithmeticError("too large")
            return x * x

        with pytest.raises(ArithmeticError, match="too large") as told:
            vmap(f, client=client)(np.arange(120_000.0))
        assert any("row 100000" in note for note in getattr(told.value, "__notes__", ["row 100000"]))

    def test_it_cannot_be_pickled(self, client):
        import pickle

        with pytest.raises(TypeError, match="connection"):
            pickle.dumps(vmap(math.sin, client=client))

    def test_ctrl_c_leaves_the_cluster_clean(self, client):
        f = greeks(client)
        f(*MARKET, random.key(0), range(1000))

        def interrupt(progress):
            raise KeyboardInterrupt

        f.progress = interrupt
        with pytest.raises(KeyboardInterrupt):
            f(*MARKET, random.key(0), range(3_000_000))
        deadline = time.monotonic() + 30
        while any(client.processing().values()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(client.processing().values())


def _pretend_to_be_older():
    from micrograd.cluster import worker

    worker.version = lambda: "0.9.0"


def _pretend_to_have_short_vectors():
    from micrograd.compile.llvm import build

    build.vector_bits = lambda: 128


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
        from micrograd.cluster.worker import Program
        from micrograd.compile.pipeline import Goal
        from micrograd.tape.text import parse

        tape = parse("%0 = input 0\nreturn %0")
        assert Program.of((tape,), Goal()).digest != Program.of((tape.copy(inputs=2),), Goal()).digest

    def test_equal_programs_have_one_name(self, client):
        one, two = greeks(client), greeks(client)
        for f in (one, two):
            f(*MARKET, random.key(1), range(10))
        assert _digest(one) == _digest(two)


def _digest(f):
    from micrograd.cluster.worker import Program

    (plan,) = f.plans.values()
    return Program.of(tuple(v.tape for v in f.variants), plan.goal).digest


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
