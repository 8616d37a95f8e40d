"""Programs over arrays: one tape for every length, with the results of plain Python to the bit."""

from __future__ import annotations

import random

import pytest
import running
from array_programs import PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_one_tape_serves_all_lengths(program):
    arguments = PROGRAMS[program]
    r = random.Random(program.__name__)
    found = running.staged(program, arguments(9, r))
    assert any(p.what == "length" for p in found.params)
    assert str(running.staged(program, arguments(13, r)).tape) == str(found.tape)
    for n in (9, 3, 4, 12, 17):
        given = arguments(n, r)
        assert running.equal(running.run(found, given), program(*given))
