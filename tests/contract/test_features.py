"""The table of features in docs/comparison.md: what it says of this package is tried, and no cell is empty."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "features.py"
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="a tool of the clone")


@pytest.fixture(scope="module")
def features():
    spec = importlib.util.spec_from_file_location("features", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_has_a_cell_for_each_library_in_each_row(features):
    said = features.cells()
    rows = {row for row, _ in said}
    assert set(said) == {(row, name) for row in rows for name in features.MODULES}
    assert all(cell.startswith(("yes", "partly", "no")) for cell in said.values())


def test_what_it_says_of_this_package_is_true(features):
    pytest.importorskip("scipy")
    said, probes = features.cells(), features.here()
    assert len(probes) > 5
    for row, probe in probes.items():
        assert features.works(probe) != said[row, "here"].startswith("no"), row


def test_a_wrong_cell_is_noticed(features, monkeypatch, capsys):
    cells = {("complex numbers", "here"): "yes"}
    monkeypatch.setattr(features, "cells", lambda: cells)
    monkeypatch.setattr(features, "MODULES", {"here": "micrograd"})
    assert features.main() == 1 and "DISAGREES" in capsys.readouterr().out
    cells["complex numbers", "here"] = "no"
    assert features.main() == 0
