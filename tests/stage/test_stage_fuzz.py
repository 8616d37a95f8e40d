"""Random programs: the merged tape gives what eager code gives, row by row, whichever row it was staged on."""

import warnings

import pytest

from stage import programs


@pytest.mark.parametrize("batch", range(10))
def test_random_programs_give_the_results_of_eager_code(batch):
    total = own = 0
    for seed in range(100 * batch + 1, 100 * batch + 5):
        rows = programs.inputs(seed, 6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            what, compared, apart = programs.wrong(programs.Writer(seed).program(), rows)
        assert not what, f"seed {seed}"
        total, own = total + compared, own + apart
    assert own < total  # most rows run on merged tapes


def test_the_reducer_shortens_a_wrong_program(monkeypatch):
    text = programs.Writer(5).program()
    monkeypatch.setattr(programs, "wrong", lambda t, rows, orders: ("wrong" if "return" in t else "", 0, 0))
    assert len(programs.reduce(text, [], ("value",))) < len(text) / 2
