"""The examples in the docstrings of training run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

PLACES = ("micrograd.nn", "micrograd.optim", "micrograd.train")
MODULES = ["micrograd.losses", "micrograd.data", "micrograd.plots"] + [
    f"{place}.{found.name}"
    for place in PLACES
    for found in pkgutil.iter_modules(importlib.import_module(place).__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    if name == "micrograd.plots":
        pytest.importorskip("matplotlib", reason="for pictures").use("Agg")
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("place", [*PLACES, "micrograd.losses"])
def test_every_public_name_has_an_example(place):
    module = importlib.import_module(place)
    names = getattr(module, "__all__", None) or [
        n for n, x in vars(module).items() if getattr(x, "__module__", "") == place and n[0] != "_"
    ]
    classes = {
        "Group",
        "Schedule",
        "Step",
        "ACTIVATIONS",
        "INITIALISERS",
        "Optimizer",
        "Neuron",
        "Layer",
        "Attention",
        "Block",
    }
    missing = [n for n in names if n not in classes and ">>>" not in (getattr(module, n).__doc__ or "")]
    assert not missing, missing
