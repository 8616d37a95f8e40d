"""What several tests of the stage set."""

from __future__ import annotations

import pytest

from micrograd.compile.tuning import TUNING


@pytest.fixture
def short_loops_are_rolled(monkeypatch):
    monkeypatch.setattr(TUNING, "rolled_work", 20)
