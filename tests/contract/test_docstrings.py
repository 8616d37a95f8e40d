"""The examples in docstrings run, and print what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

import micrograd
from micrograd import install, math

MODULES = sorted({*micrograd._LAZY.values(), "install"})
NEEDS = {"interop.torch": "torch", "interop.jax": "jax", "interop.onnx": "onnx", "interop.scipy": "scipy",
         "sparse": "scipy", "compile.jit": "llvmlite", "compile.vmap": "llvmlite", "plots": "matplotlib"}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"micrograd.{name}")
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert found.failed == 0


def test_every_public_name_has_a_docstring():
    for name in micrograd.__all__:
        assert (inspect.getdoc(getattr(micrograd, name)) or "").strip(), name


def test_install_and_math_have_docstrings():
    assert install.__doc__ and math.__doc__
