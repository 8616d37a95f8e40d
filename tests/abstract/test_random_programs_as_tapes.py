"""Random programs as typed tapes: the values of eager code, to the bit."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

import pytest
import running

from micrograd import Value
from micrograd.abstract import Refused
from micrograd.ir.interpret import CheckFailed

sys.path.append(str(Path(__file__).resolve().parents[2]))

from fuzz.generate import NUMBERS, build, generate
from programs import _math as functions

REASONS = ("is called", "`is` between", "round() to digits", "from outside of the function is changed")


def eager(function, row):
    try:
        found = function(*map(Value, row))
        return float(getattr(found, "data", found))
    except Exception as error:
        return error


@pytest.mark.parametrize("seed", range(0, 600, 10))
def test_random_programs_have_the_values_of_eager_code(seed):
    program = generate(seed)
    function = build(program, functions, list(program.captured), None)
    r = random.Random(seed)
    rows = [
        [float(r.choice([r.gauss(0, 2), r.gauss(0, 2), r.choice(NUMBERS)])) for _ in range(program.inputs)]
        for _ in range(6)
    ]
    wanted = [eager(function, row) for row in rows]
    if all(isinstance(w, Exception) for w in wanted):
        pytest.skip("every row raises")
    try:
        found = running.staged(function, rows[0])
    except Refused as reason:
        assert any(text in reason.fact for text in REASONS), reason
        return
    for row, value in zip(rows, wanted):
        if isinstance(value, Exception):
            continue
        try:
            got = running.run(found, row)
        except CheckFailed:
            continue
        assert running.equal(float(got), value) or (math.isnan(value) and math.isnan(got)), row
