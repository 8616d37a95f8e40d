"""A client of two workers, for each file of tests."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def client():
    from distributed import Client

    from cluster.local import start

    with start(2) as cluster, Client(cluster) as client:
        yield client
