"""The examples in docstrings run, and print what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import micrograd
from micrograd import install, math

PACKAGE = Path(micrograd.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8") and path.name != "__main__.py" and path != PACKAGE / "__init__.py"
)
NEEDS = {"interop.torch": "torch", "interop.jax": "jax", "interop.onnx": "onnx", "interop.scipy": "scipy",
         "sparse": "scipy", "compile.jit": "llvmlite", "compile.vmap": "llvmlite", "plots": "matplotlib"}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(f"micrograd.{name}")
    except ModuleNotFoundError as missing:
        if str(missing.name).startswith("micrograd"):
            raise
        pytest.skip(f"{missing.name} is not installed")
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert found.failed == 0


@pytest.mark.parametrize("name", micrograd.__all__)
def test_every_public_name_has_an_example_that_runs(name, tmp_path, monkeypatch):
    if micrograd._LAZY.get(name) in NEEDS:
        pytest.importorskip(NEEDS[micrograd._LAZY[name]])
    monkeypatch.chdir(tmp_path)
    thing = getattr(micrograd, name)
    text = inspect.getdoc(thing) or ""
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert test.examples, name
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert runner.run(test).failed == 0


def test_help_of_value_reads_well():
    import pydoc

    text = pydoc.plain(pydoc.render_doc(micrograd.Value))
    assert "A number that remembers how it was made" in text and ">>> c.backward()" in text
    assert str(inspect.signature(micrograd.Value)) == "(data, _children=(), _op='', label='')"


def test_install_and_math_have_docstrings():
    assert install.__doc__ and math.__doc__
