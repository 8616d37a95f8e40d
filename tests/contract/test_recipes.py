"""The recipes of CONTRIBUTING.md, followed: the op, the pass and the backend that they show do what they say."""

from __future__ import annotations

import re
import sys
import textwrap
import types

import pytest

import bounds
import micrograd.ops
import oracle
from micrograd import jit, math
from micrograd.compile import backend as backends
from micrograd.compile import pipeline
from micrograd.ops import OPS
from random_programs import needs_llvm
from twins import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def blocks(title: str) -> list[str]:
    """The code of one recipe, block by block."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    found = re.findall(r"^( *)```(?:python|text)\n(.*?)^\1```", section, re.S | re.M)
    return [textwrap.dedent(text) for _, text in found]


def test_an_op_is_as_exact_as_its_bound_says():
    row, _, reference, bound = blocks("Add an op")
    op = eval(f"[{row}]", vars(micrograd.ops))[0]
    ((_, exact),) = eval(f"{{{reference}}}", vars(oracle)).items()
    (((name, slot), allowed),) = eval(f"{{{bound}}}", vars(bounds)).items()
    assert (name, slot) == (op.name, 1) and op.name not in OPS and not hasattr(math, op.name)
    from mpmath import mpf, workdps

    for x in (0.001, -0.3, 1.7, 25.0, -1e300, 1e-300):
        with workdps(50):
            want = [exact.value(mpf(x)), *exact.partials(mpf(x))]
        found = [op.value(x), op.partials[0](x, op.value(x))]
        for y, w, ulps in zip(found, want, (bounds.USUAL, allowed.ulps([x]))):
            assert abs(mpf(y) - w) <= ulps * mpf(math.ulp(float(w)))


@needs_llvm
def test_a_pass_runs_in_the_pipeline(monkeypatch):
    text, line = blocks("Add a pass")
    module = types.ModuleType("halves")
    exec(text, vars(module))
    monkeypatch.setattr(pipeline.passes, "halves", module.halves, raising=False)
    step = eval(line.strip().rstrip(","), vars(pipeline))
    at = [p.name for p in pipeline.PASSES].index("prune")
    monkeypatch.setattr(pipeline, "PASSES", [*pipeline.PASSES[:at], step, *pipeline.PASSES[at:]])
    f = jit(lambda x: math.sin(x) / 2, wait=True)
    told = f.explain(1.3)
    assert "-- halves: 5 instructions" in told and told.rstrip().endswith(
        "%2 = const 0.5\n   %3 = mul %1 %2\n   return %3"
    )
    assert f(1.3) == math.sin(1.3) / 2


@needs_llvm
def test_a_backend_is_used_under_its_name(monkeypatch):
    c_backend = pytest.importorskip("c_backend", reason="NumPy is not installed")
    if c_backend.COMPILER is None:
        pytest.skip("there is no C compiler")
    text = (ROOT / "tests" / "c_backend.py").read_text(encoding="utf-8")
    module = types.ModuleType("my_backend")
    monkeypatch.setitem(sys.modules, "my_backend", module)
    monkeypatch.setattr(backends, "_backends", dict(backends._backends))
    exec(text.replace('name = "c"', 'name = "mine"'), vars(module))
    assert len(text.splitlines()) < 150
    assert jit(lambda x: math.sin(x) * x, backend="mine", wait=True)(1.3) == math.sin(1.3) * 1.3
