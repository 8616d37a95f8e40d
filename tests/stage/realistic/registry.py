"""The table of realistic programs, which their modules fill."""

from __future__ import annotations

PROGRAMS: dict[str, tuple] = {}  # name → (function, rows, whether all rows run on one merged tape)


def program(*rows, merged=True):
    """Register a function of as many numbers as a row has."""

    def register(f):
        PROGRAMS[f.__name__] = (f, [tuple(float(x) for x in row) for row in rows], merged)
        return f

    return register
