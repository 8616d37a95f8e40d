"""The ways that rows take, when one of them meets what no other has met."""

from __future__ import annotations

import pytest

from micrograd import Value, vmap
from micrograd.compile.batch import RowsVariant
from micrograd.compile.llvm.machine_code import MachineRows
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
pytestmark = needs_llvm


class TestMoreCaptured:
    """A path that meets a Value which no path before has met: all paths are renumbered."""

    @pytest.mark.parametrize("reduce", [None, "sum"])
    @pytest.mark.parametrize("when", ["before the code", "before the run", "after the run"])
    def test_another_thread_finds_it_during_a_call(self, monkeypatch, when, reduce):
        a, b = Value(2.0), Value(100.0)

        def f(x, u):
            return a * x + u if x < 1.0 else b * x + u

        g, u, few = vmap(f, in_axes=(0, None), reduce=reduce, batch_size=8), Value(10.0), np.array([0.0, 0.5])
        g(few, u)
        todo = [lambda: g(np.array([2.0]), u)]

        def meanwhile(moment):
            if moment == when and todo:
                todo.pop()()

        real_code, real_run = RowsVariant.compile, MachineRows.run

        def code(self, *args, **options):
            meanwhile("before the code")
            found = real_code(self, *args, **options)
            meanwhile("before the run")
            return found

        def run(self, *args):
            result = real_run(self, *args)
            meanwhile("after the run")
            return result

        monkeypatch.setattr(RowsVariant, "compile", code)
        monkeypatch.setattr(MachineRows, "run", run)
        result = g(few, u)
        assert not todo
        if reduce is None:
            assert result.tolist() == [10.0, 11.0]
        else:
            result.backward()
            assert (result.data, a.grad, b.grad, u.grad) == (21.0, 0.5, 0.0, 2.0)
