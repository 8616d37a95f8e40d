"""The tasks of a call: their names, the order in which they run, and the row numbers that a worker makes."""

from __future__ import annotations

import importlib.util

import pytest

pytest.importorskip(
    "distributed", reason="the cluster needs dask and distributed: pip install 'micrograd-next[cluster]'"
)
pytest.importorskip("llvmlite", reason="workers compile")

import numpy as np

from cluster.local import MARKET, MARKS, greeks, in_process
from micrograd import random, vmap
from micrograd.cluster import run, worker
from micrograd.cluster.columns import ClusterRows
from micrograd.compile.pipeline import Goal
from micrograd.errors import ClusterError
from micrograd.tape.text import parse

pytestmark = MARKS


@pytest.fixture(scope="module")
def one_thread():
    with in_process() as client:
        yield client


def test_chunks_run_in_the_order_of_their_numbers(one_thread):
    """So the small ones come last; Dask ran them in any order, and a large one at the end."""
    f = vmap(lambda x: x * 2.0, reduce="sum", client=one_thread)
    assert f(range(5_000_000)) == 5_000_000 * 4_999_999.0
    sizes, want = f.last_run.sizes, sorted(f.last_run.sizes, reverse=True)
    assert len(sizes) > 6 and sorted(sizes[:3]) == sorted(want[:3]) and sizes[3:] == want[3:]  # three are sent at once


def test_chunks_of_one_call_are_a_group_of_their_own(one_thread):
    """Dask hands out the tasks of a large group as workers become free; those of a mixed group it hands out beforehand."""
    tg = pytest.importorskip("distributed.scheduler").key_split_group
    work = _run(run)
    rows, program = work._task(0, work.shared, 0).key, work.shared[0].key
    assert tg(rows) != tg(program) and tg(rows) == tg(work._task(1, work.shared, 0).key)
    assert tg(rows) != tg(_run(run)._task(0, work.shared, 0).key)


def test_two_processes_give_their_tasks_different_names():
    """They counted from 0 each, so one of them got the results of the other where both ran the same program."""
    found = [_run(_module_of_another_process()) for _ in range(2)]
    keys = [{work.shared[1].key, work._task(0, work.shared, 0).key} for work in found]
    assert not keys[0] & keys[1]


def _run(module):
    program = worker.PathTapes.of((parse("%0 = input 0\nreturn %0"),), Goal())
    rows = ClusterRows((range(100_000),), {}, 0, ())
    return module.ClusterCall(None, rows, program, [1.0], None, 1)


def _module_of_another_process():
    """A copy of the module, as it is after an import."""
    spec = importlib.util.spec_from_file_location("micrograd.cluster.run_elsewhere", run.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("numbers", [
    range(10_000), range(5, 40_000, 3), range(9_000, -9_000, -2), range(2**60, 2**60 + 10**6, 131), range(-(2**63), 0, 2**50),
    range(2**63 - 3000, 2**63 - 1),
], ids=repr)  # fmt: skip
def test_row_numbers_are_those_of_one_machine(one_thread, numbers):
    """Beyond 2**53 they were all the same."""
    here = vmap(lambda x: x * 0.5)(np.array(numbers))
    assert np.array_equal(here, vmap(lambda x: x * 0.5, client=one_thread)(numbers))
    assert vmap(lambda x: x, reduce="sum")(np.array(numbers)) == vmap(lambda x: x, reduce="sum", client=one_thread)(
        numbers
    )


def test_workers_that_are_all_gone_are_an_error(monkeypatch):
    """The call waited for ever."""
    monkeypatch.setattr(run, "QUIET", 0.1)
    monkeypatch.setattr(run, "ALONE", 0.5)
    with in_process() as client:
        f = greeks(client)

        def leave(progress):
            if progress.done == 1:
                client.cluster.sync(next(iter(client.cluster.workers.values())).close)

        f.progress = leave
        with pytest.raises(ClusterError, match=r"has had no workers for \d+ s, and rows [\d,]+ to [\d,]+ are not done"):
            f(*MARKET, random.key(0), range(5_000_000))


@pytest.mark.parametrize("when", ["before", "in the middle"])
def test_a_client_that_is_closed_is_an_error(when):
    """It was a KeyError, or an error about a message that could not be sent."""
    with in_process() as client:
        f = greeks(client)
        if when == "before":
            client.close()
        else:
            f.progress = lambda progress: client.close()
        with pytest.raises(ClusterError, match="the client is closed"):
            f(*MARKET, random.key(0), range(5_000_000))


def test_row_numbers_are_made_in_one_place():
    """Memory that is allocated for each piece costs a worker more than the numbers do."""
    made = worker._RowNumbers(range(10, 100, 3), 8)
    first = made.rows(0, 8)
    assert first.tolist() == list(range(10, 34, 3))
    assert np.shares_memory(first, made.rows(8, 16)) and first.tolist() == list(range(34, 58, 3))
    assert made.rows(24, 30).tolist() == list(range(82, 100, 3))
