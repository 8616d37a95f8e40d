"""The fuzzer of cliffs: harmless edits of programs cost the same, and a planted cliff is noticed."""

from __future__ import annotations

import random
import sys

import pytest

from random_programs import needs_llvm
from twins import ROOT

pytest.importorskip("numpy", reason="the programs have arrays")
sys.path.insert(0, str(ROOT))

from fuzz import cliffs

pytestmark = needs_llvm
LOOP = """
def f(x, p):
    s = 0.0 * x
    for i in range(90):
        s = s * 0.5 + 2.0 * min(p[0], p[1] * i)
    return s
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_edits_of_written_programs_cost_no_more(seed):
    found = list(cliffs.pairs(cliffs.written(seed), random.Random(seed)))
    assert len(found) >= 2 and not [one.wrong for one in found if one.wrong]


def test_each_edit_finds_its_place_and_leaves_the_result():
    done = set()
    for seed in range(40):
        case = cliffs.written(seed)
        f, r = cliffs.built(case.text), random.Random(seed)
        for name, edit in cliffs.EDITS.items():
            text = cliffs.edited(case.text, edit, r)
            if text is not None and name not in done:
                assert cliffs.built(text)(*case.args) == pytest.approx(f(*case.args), rel=1e-12), name
                done.add(name)
    assert done >= set(cliffs.EDITS) - {"tuple_for_list", "generator_for_list"}


@pytest.mark.filterwarnings("ignore")
def test_a_loop_that_is_written_out_when_it_is_longer_is_noticed(monkeypatch):
    """The cliff that was there once: more than 100 iterations were unrolled, each on its own."""
    from micrograd.abstract.errors import Unrollable
    from micrograd.abstract.loops import Loops
    from micrograd.abstract.values import Const

    case = cliffs.Case(LOOP, (0.5, [0.3, 0.7]), "planted")
    assert not [one.wrong for one in cliffs.pairs(case, random.Random(1), 2) if one.wrong]
    real = Loops._roll

    def rolled(self, node, frame, head, count):
        if isinstance(count, Const) and count.value > 100:
            raise Unrollable("it is long")
        return real(self, node, frame, head, count)

    monkeypatch.setattr(Loops, "_roll", rolled)
    longer = next(cliffs.pairs(case, random.Random(1), 1))
    assert longer.edit == "longer" and "instructions before and" in longer.wrong


def test_a_result_that_an_edit_changes_is_noticed(monkeypatch):
    def wrong(f, r):
        f.body[-1].value = cliffs._expression("s + 1e-6")
        return True

    monkeypatch.setattr(cliffs, "EDITS", {"wrong": wrong})
    case = cliffs.Case(LOOP, (0.5, [0.3, 0.7]), "planted")
    found = [one for one in cliffs.pairs(case, random.Random(1)) if one.edit == "wrong"]
    assert found and "the results differ" in found[0].wrong
