"""What several tests of the stage set."""

from __future__ import annotations

import pytest

from micrograd.compile.tuning import TUNING


@pytest.fixture(autouse=True)
def _traced(traced_at_points):
    """The tests of this folder are about traces and staged sources, also where a typed tape would answer a call."""


@pytest.fixture
def short_loops_are_rolled(monkeypatch):
    monkeypatch.setattr(TUNING, "rolled_work", 20)
