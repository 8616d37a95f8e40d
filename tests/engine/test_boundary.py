"""The C engine as its stub describes it: the same names and numbers of arguments, and no wrong call that ends the process."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from twins import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="the C twin is not built")

ONLY_TYPES = {"Captured", "MachineCode", "RowCall"}  # what functions return, which has no name in the module


def stub() -> ast.Module:
    import micrograd

    return ast.parse(Path(micrograd.__file__).with_name("_engine.pyi").read_text(encoding="utf-8"))


def test_the_stub_names_what_the_module_has():
    from micrograd import _engine

    described = {n.name for n in stub().body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    described |= {n.target.id for n in stub().body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    assert described - ONLY_TYPES == {name for name in vars(_engine) if not name.startswith("__")} - {"Value"}


def test_the_stub_names_the_methods_and_members_of_each_class():
    from micrograd import _engine

    for node in [n for n in stub().body if isinstance(n, ast.ClassDef) and n.name not in ONLY_TYPES]:
        described = {n.name for n in node.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("__")}
        described |= {n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        assert described == {name for name in vars(getattr(_engine, node.name)) if not name.startswith("__")}, node.name


@pytest.mark.parametrize("node", [n for n in stub().body if isinstance(n, ast.FunctionDef)], ids=lambda n: n.name)
def test_the_stub_has_the_number_of_arguments(node):
    from micrograd import _engine

    function, args = getattr(_engine, node.name), node.args
    most = len(args.posonlyargs) + len(args.args)
    assert not args.kwonlyargs and not args.kwarg
    wrong = list(range(most - len(args.defaults)))
    for count in wrong if args.vararg else [*wrong, most + 1, most + 5]:
        with pytest.raises(TypeError):
            function(*[None] * count)


@pytest.mark.parametrize("seed", range(2))
def test_a_wrong_call_of_any_function_is_an_exception(seed):
    pytest.importorskip("numpy")
    pytest.importorskip("llvmlite")
    program = str(Path(__file__).with_name("wrong_calls.py"))
    command = [sys.executable, "-X", "faulthandler", program, str(seed), "400"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    *_, functions, calls = done.stdout.splitlines()
    assert {"batch", "point", "row_call", "linearize", "fire", "Slots.descend", "Kernel.install"} <= set(
        functions.split()
    )
    assert int(calls.split()[0]) > 3000
