"""Workers that die, come late, get stuck or differ: the same bits, or an error that says what happened."""

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

from cluster.local import MARKET, MARKS, greeks, start
from micrograd import math, random, vmap
from micrograd.errors import ClusterError

pytestmark = MARKS


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
    """Wait until there are three workers. A nanny whose worker is killed while it starts gives up, so it is asked for again."""
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


@pytest.mark.parametrize("status", ["pending", "lost"])
def test_a_result_that_was_lost_with_its_worker_is_waited_for(status):
    """Dask says that it is lost for a moment, and runs the task again."""
    from micrograd.cluster.run import ClusterCall

    class Future:
        pass

    run, future = ClusterCall.__new__(ClusterCall), Future()
    run.running, future.status = {}, status
    assert run._note(future, 3, False) is future and run.running[future][0] == 3
