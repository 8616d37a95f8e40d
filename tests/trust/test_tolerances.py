"""The tolerance of the tests is relative (conftest.py): a gradient of 1e-13 in place of 2e-13 is wrong."""

import pytest


def test_a_small_number_is_compared_by_its_size():
    assert pytest.approx(2e-13) != 1e-13
    assert pytest.approx([1.0, 0.0]) != [1.0, 1e-13]
    assert pytest.approx(1.0, rel=1e-15) != 1.0 + 1e-14
    assert pytest.approx(1.0) == 1.0000001
    assert pytest.approx(0.0, abs=1e-12) == 1e-13
