"""Random programs: the merged tape gives what eager code gives, row by row, whichever row it was staged on."""

import warnings

import pytest

from stage import programs


@pytest.mark.parametrize("batch", range(10))
def test_random_programs_give_the_results_of_eager_code(batch):
    total = own = 0
    for seed in range(100 * batch + 1, 100 * batch + 5):
        program = programs.generate(seed)
        rows = programs.inputs(seed, 6, program.inputs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            what, compared, apart = programs.wrong(program, rows)
        assert not what, f"seed {seed}"
        total, own = total + compared, own + apart
    assert own < total  # most rows run on merged tapes


def test_a_wrong_program_is_shortened(monkeypatch):
    program = programs.generate(5)
    monkeypatch.setattr(programs, "wrong", lambda p, rows, orders: ("wrong" if "return" in p.text else "", 0, 0))
    assert len(programs.shortened(program, [], ("value",)).text) < len(program.text) / 2
