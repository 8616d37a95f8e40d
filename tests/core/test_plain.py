"""Whole programs run by the plain interpreter of the core do what CPython does: output, exceptions, order of evaluation."""

from __future__ import annotations

import sys
from pathlib import Path

import both
import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
NEWER = {"generics": (3, 12), "groups": (3, 11), "templates": (3, 14)}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_do_what_they_do_in_cpython(path):
    if sys.version_info < NEWER.get(path.stem, (3, 10)):
        pytest.skip("Python is too old for this syntax")
    text = path.read_text(encoding="utf-8")
    expected = both.by_cpython(text, str(path))
    printed, result, error = both.by_plain(text, str(path))
    assert printed.splitlines() == expected[0].splitlines()
    assert (result, error) == expected[1:]
    assert len(printed) > 100  # it did something
