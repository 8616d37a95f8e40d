"""Random programs: the merged tape gives what eager code gives, row by row, whichever row it was staged on."""

import warnings

import pytest

from stage import programs


@pytest.mark.parametrize("seed", range(0, 4000, 100))
def test_a_random_program_gives_the_results_of_eager_code(seed):
    rows = programs.inputs(seed, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        what, compared, _ = programs.wrong(programs.Writer(seed).program(), rows)
    assert not what
    assert compared
