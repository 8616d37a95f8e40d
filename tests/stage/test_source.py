"""The source of a function among others on the same line, with the columns that Python 3.11 keeps and without them."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from micrograd.core.remembered import PerFile
from micrograd.stage import source
from micrograd.stage.errors import NoSource, Unsupported

scale, shift = 3.0, 1.0


def several(factor):
    return (lambda x: x * 2, lambda x: x * 3, lambda x: factor * x, lambda x: [lambda: x * factor, lambda: x][0](), lambda x: x * scale)  # noqa: E501  # fmt: skip


def inner_before_outer():
    return (lambda: 1.0) if (lambda: 2.0)() > 1.0 else (lambda: 3.0)


def alike():
    return (lambda x: x * 2, lambda x: x * 2)


@pytest.fixture(params=[True, False], ids=["columns", "no columns"])
def columns(request, monkeypatch):
    if request.param and not source.HAS_COLUMNS:
        pytest.skip("Python 3.10 keeps no columns")
    monkeypatch.setattr(source, "HAS_COLUMNS", request.param)
    monkeypatch.setattr(source, "_modules", PerFile())


def text(f):
    return ast.unparse(source.tree_of(f).body).replace("lambda :", "lambda:")


def test_each_function_of_a_line_is_told_from_the_others(columns):
    wanted = ["x * 2", "x * 3", "factor * x", "[lambda: x * factor, lambda: x][0]()", "x * scale"]
    assert [text(f) for f in several(2.0)] == wanted


def test_the_order_in_which_python_compiles_does_not_matter(columns):
    assert text(inner_before_outer()) == "1.0"


def test_functions_that_are_the_same_are_not_told_apart(columns):
    assert [text(f) for f in alike()] == ["x * 2", "x * 2"]


def test_other_text_in_the_file_is_no_source(columns):
    f = eval(compile("\n" * 14 + "lambda x: x * 7", __file__, "eval"))
    with pytest.raises((NoSource, Unsupported)):
        source.tree_of(f)


CELL = """
from micrograd import math
import math as standard


def payoff(price, strike):
    return math.exp(price) - strike if price > strike else standard.pi * price


half = lambda x: math.sqrt(x) * 0.5
"""


@pytest.mark.parametrize("by_statements", [True, False], ids=["notebook", "file"])
def test_a_cell_that_imports_what_its_functions_call(columns, by_statements):
    import linecache

    name = f"<cell {by_statements} {source.HAS_COLUMNS}>"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(keepends=True), name)
    try:
        tree, names = ast.parse(CELL, name), {}
        parts = [ast.Module(body=[s], type_ignores=[]) for s in tree.body] if by_statements else [tree]
        for part in parts:  # as IPython runs a cell; math.exp is then compiled in another way
            exec(compile(part, name, "exec"), names)
        assert text(names["half"]) == "math.sqrt(x) * 0.5"
        assert "standard.pi * price" in ast.unparse(source.tree_of(names["payoff"]))
    finally:
        del linecache.cache[name]


TYPED_IN = """from micrograd.stage.source import tree_of
def f(x):
    return x * 2.0 if x > 0 else -x

print(tree_of(f).body[0].value.body.left.id, tree_of(lambda u: u).body.id)
"""


@pytest.mark.parametrize("words, text", [(["-c", TYPED_IN], ""), (["-i"], TYPED_IN)], ids=["python -c", "prompt"])
def test_what_is_typed_in_has_a_source_where_python_keeps_it(words, text):
    done = subprocess.run([sys.executable, *words], input=text, capture_output=True, text=True)
    if sys.version_info >= (3, 14):  # and in later releases of Python 3.13
        assert done.stdout.split() == ["x", "u"], done.stderr
    else:
        assert done.stdout.split() == ["x", "u"] or "source of f is not available" in done.stderr
