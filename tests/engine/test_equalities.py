"""Inside detect_anomaly, a warning names each line where an equality alone decides a branch."""

from __future__ import annotations

import importlib
import warnings

import pytest


def cardinal_sine(x, math):
    return 1.0 if x == 0.0 else math.sin(x) / x


def warned(run):
    package = importlib.import_module("micrograd")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with package.detect_anomaly():
            run(package)
    return [w for w in found if "decides a branch" in str(w.message)]


@pytest.mark.parametrize(
    "run",
    [
        lambda mg: cardinal_sine(mg.Value(0.0), mg.math),
        lambda mg: mg.grad(lambda x: cardinal_sine(x, mg.math))(0.0),
        lambda mg: mg.grad(mg.grad(lambda x: cardinal_sine(x, mg.math)))(0.0),
        lambda mg: mg.jacobian(lambda v: [cardinal_sine(x, mg.math) for x in v])([1.0, 0.0]),
        lambda mg: 2.0 if mg.Value(1.0) != 1.0 else 3.0,
        lambda mg: 2.0 if mg.Value(0.0) else 3.0,
        lambda mg: mg.Value(3.0) in [1.0, 3.0],
    ],
    ids=["value", "grad", "grad of grad", "jacobian", "not equal", "truth", "in"],
)
def test_an_equality_that_holds_is_named(twin, run):
    found = warned(run)
    assert found
    assert found[0].filename == __file__
    assert "test_equalities.py:" in str(found[0].message)


@pytest.mark.parametrize(
    "run",
    [
        lambda mg: cardinal_sine(mg.Value(1.0), mg.math),
        lambda mg: mg.grad(lambda x: cardinal_sine(x, mg.math))(0.5),
        lambda mg: [mg.math.isnan(mg.Value(1.0)), mg.math.isinf(mg.Value(1.0)), mg.math.isfinite(mg.Value(0.0))],
        lambda mg: mg.Value(mg.math.inf) == mg.math.inf,
        lambda mg: mg.Value(0.0) < 0.0 or mg.Value(0.0) >= 0.0,
        lambda mg: (mg.Value(0.0).relu() * mg.math.max(mg.Value(0.0), 0.0)).backward(),
        lambda mg: mg.Value(1.0) == "one",
    ],
    ids=["value", "grad", "nan and inf", "infinity", "order", "ties of ops", "text"],
)
def test_what_decides_otherwise_is_not(twin, run):
    assert not warned(run)


def test_outside_nothing_is_said(twin):
    package = importlib.import_module("micrograd")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cardinal_sine(package.Value(0.0), package.math) == 1.0
