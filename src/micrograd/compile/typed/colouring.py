"""The pattern of a sparse matrix by few runs of 64 bits each, and colours for its columns.

`pattern` looks for the entries from the coarse to the fine. First, blocks of columns that lie side by side have a bit each.
Then the blocks that have entries are divided, again and again: blocks that no row has both of share their bits, so that a run
tells for each row which parts of its blocks it has. That takes about as many runs as the logarithm of the number of columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from micrograd.compile.typed.call import ELSEWHERE, Asked, Calls, Variant

BITS = 64
SMALL = 20_000  # steps of a colouring in plain Python, about 2 ms; compiling it takes 0.1 s
PART = 1 << 16  # rows whose bits are looked at together


def pattern(words: Callable[[Any], Any], columns: int) -> tuple[Any, Any, Any]:
    """Return the entries of a matrix, row after row, where each row ends, and the colours of the columns.

    `words` takes a word for each column, and gives for each row the bits of the columns that it has an entry in.
    """
    import numpy as np

    count = min(BITS, columns)
    bounds = np.arange(count + 1) * columns // max(count, 1)
    found = words(_bits(np.repeat(np.arange(count), np.diff(bounds))))
    height = len(found)
    rows, blocks = _decoded(found, count)
    while True:
        ends = np.searchsorted(rows, np.arange(height + 1))
        colours = coloured(blocks, ends, count)
        sizes = np.diff(bounds)
        if count == columns:
            return blocks, ends, colours
        used = 1 + int(colours.max(initial=-1))
        parts = 2
        while parts * 2 * used <= BITS and parts < sizes.max():
            parts *= 2
        # Column j of a block that begins at column a, and has n of them, is in part (j - a)·parts // n.
        block = np.repeat(np.arange(count), sizes)
        part = (np.arange(columns) - bounds[block]) * parts // sizes[block]
        slots = colours[block] * parts + part
        runs = [words(_bits(slots, run)) for run in range(-(-used * parts // BITS))] or [np.zeros(height, np.int64)]
        starts = colours[blocks] * parts
        all_runs = np.stack(runs)
        hits = (all_runs[starts // BITS, rows] >> (starts % BITS))[:, None] >> np.arange(parts) & 1
        which, sub = np.nonzero(hits)
        filled = np.unique(block * parts + part)  # parts without columns are left out
        at = np.searchsorted(filled, blocks[which] * parts + sub)
        rows, blocks = rows[which], at
        bounds = np.append(np.searchsorted(block * parts + part, filled), columns)
        count = len(filled)


def _bits(slots: Any, run: int = 0) -> Any:
    """Return the word of each column: the bit of its slot, if that belongs to a run."""
    import numpy as np

    here = slots // BITS == run
    return np.where(here, np.left_shift(np.uint64(1), (slots % BITS).astype(np.uint64)), np.uint64(0)).view(np.int64)


def _decoded(found: Any, count: int) -> tuple[Any, Any]:
    """Return the rows and the numbers of the bits that are set in their words, in order."""
    import numpy as np

    rows, bits = [], []
    for start in range(0, len(found), PART):
        r, b = np.nonzero(found[start : start + PART, None] >> np.arange(count) & 1)
        rows.append(r + start)
        bits.append(b)
    none = np.zeros(0, np.int64)
    return np.concatenate([none, *rows]), np.concatenate([none, *bits])


def coloured(index: Any, ends: Any, columns: int) -> Any:
    """Return a colour for each column, so that no row has two columns of one colour: greedily, from left to right."""
    import numpy as np

    rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    order = np.argsort(index, kind="stable")
    to = np.searchsorted(index[order], np.arange(columns + 1))
    given = index, ends, rows[order], to
    if int((np.diff(ends) ** 2).sum()) > SMALL:
        found = _compiled().call((*given, columns), None)
        if found is not ELSEWHERE:
            return np.array(found, dtype=np.int64)
    lists: list[Any] = [*(a.tolist() for a in given), columns]
    return np.array(_greedy(*lists), dtype=np.int64)


@cache
def _compiled() -> Calls:
    return Calls(_greedy, Asked(True, (), False), Variant)


def _greedy(index: Any, ends: Any, rows: Any, to: Any, columns: int) -> list[int]:
    """Return the colours, where the entries lie row after row in `index`, and column after column in `rows`."""
    colours = [-1] * columns
    taken = [-1] * (columns + 1)  # the last column for which a colour was taken
    for c in range(columns):
        for e in range(to[c], to[c + 1]):
            r = rows[e]
            for k in range(ends[r], ends[r + 1]):
                other = colours[index[k]]
                if other >= 0:
                    taken[other] = c
        colour = 0
        while taken[colour] == c:
            colour += 1
        colours[c] = colour
    return colours
