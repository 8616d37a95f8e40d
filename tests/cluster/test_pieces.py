"""The rows of a range are made on the worker, piece by piece: the pieces change neither a bit nor which rows are told."""

from __future__ import annotations

import pytest

pytest.importorskip(
    "distributed", reason="the cluster needs dask and distributed: pip install 'micrograd-next[cluster]'"
)
pytest.importorskip("llvmlite", reason="workers compile")

import numpy as np

from cluster.local import MARKS, in_process
from micrograd import math, random, value_and_grad, vmap
from micrograd.cluster import worker
from micrograd.compile.backend import BLOCK

pytestmark = MARKS

ROWS = 9 * BLOCK + 17


@pytest.fixture(scope="module")
def client():
    with in_process() as client:
        yield client


@pytest.fixture(params=[1, 2, 128])
def pieces(request, monkeypatch):
    """The number of blocks in a piece, and how often a worker has run one."""
    monkeypatch.setattr(worker, "PIECE", request.param * BLOCK)
    whole, runs = worker._run_rows, []

    def run_rows(*args):
        runs.append(args)
        return whole(*args)

    monkeypatch.setattr(worker, "_run_rows", run_rows)
    return request.param, runs


def test_sums_have_the_same_bits(client, pieces):
    def f(a, row):
        return math.sin(a * random.normal(random.key(3), row=row))

    how = {"in_axes": (None, 0), "reduce": "sum"}
    want = vmap(value_and_grad(f), **how)(0.7, np.arange(ROWS))
    assert vmap(value_and_grad(f), **how, client=client)(0.7, range(ROWS)) == want
    blocks, runs = pieces
    if blocks == 1:
        assert len(runs) >= 10


def test_a_path_that_only_the_last_piece_takes(client, pieces):
    def f(row):
        return math.sqrt(row) if row < ROWS - 5 else int(row) * 2.0

    assert vmap(f, reduce="sum", client=client)(range(ROWS)) == vmap(f, reduce="sum")(np.arange(float(ROWS)))


def test_an_error_in_a_late_piece_names_its_row(client, pieces):
    def f(row):
        if row == ROWS - 3:
            raise ValueError("not this one")
        return row

    with pytest.raises(ValueError, match="not this one") as found:
        vmap(f, reduce="sum", client=client)(range(ROWS))
    assert any(f"row {ROWS - 3}" in note for note in getattr(found.value, "__notes__", [str(found.value)]))
