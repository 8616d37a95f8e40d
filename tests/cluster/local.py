"""A cluster of processes of this machine, and the program that the tests run on it."""

from __future__ import annotations

from contextlib import contextmanager

import dask
import pytest
from distributed import Client, LocalCluster

from micrograd import engine, math, random, value_and_grad, vmap

MARKS = [
    pytest.mark.skipif(not engine.NATIVE, reason="workers run machine code, which needs the C engine"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
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


def path(spot, vol, rate, key, row):
    price, total = spot, 0.0
    for date in range(8):
        price = price * math.exp((rate - 0.5 * vol * vol) / 8 + vol * 0.35 * random.normal(key, draw=date, row=row))
        total = total + price
    return math.exp(-rate) * math.relu(total / 8 - 100.0)


GREEKS = {"in_axes": (None, None, None, None, 0), "reduce": "mean"}


def greeks(client=None, **options):
    return vmap(value_and_grad(path, argnums=(0, 1, 2)), **GREEKS, **options, client=client)


@contextmanager
def in_process():
    """A client of one worker, which is a thread of this process."""
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(silence_logs=50, **settings) as cluster, Client(cluster) as client:
        yield client
