"""Philox 4×32 with 10 rounds (Salmon et al., 2011): a counter-based generator, in plain integers.

Four words of 32 bits are a pure function of a counter of 128 bits and a key of 64: nothing is stored between two draws, so
any draw can be made by itself, in any order and on any machine.
"""

from __future__ import annotations

from math import nan

WORD = 0xFFFFFFFF
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
INCREMENTS = (0x9E3779B9, 0xBB67AE85)  # of the key in each round: the golden ratio and √3 - 1, as fractions of 2³²
ROUNDS = 10
EXACT = 2.0**53  # whole numbers below it are floats without rounding


def words(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the four random words of a counter.

    >>> [f"{word:08x}" for word in words((0, 0, 0, 0), (0, 0))]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    a, b, c, d = counter
    k, m = key
    for _ in range(ROUNDS):
        left, right = MULTIPLIERS[0] * a, MULTIPLIERS[1] * c
        a, b, c, d = (right >> 32) ^ b ^ k, right & WORD, (left >> 32) ^ d ^ m, left & WORD
        k, m = (k + INCREMENTS[0]) & WORD, (m + INCREMENTS[1]) & WORD
    return a, b, c, d


def fraction(key: float, row: float, draw: float) -> float:
    """Return the uniform number in [0, 1) of one draw, a multiple of 2⁻⁵³; nan where one is no whole number from 0 on.

    The draw -1 is the one that keys are made of (random.fold_in).
    One counter has two draws in it: the even one in its first two words, the odd one in the others.
    """
    for x, least in ((key, 0.0), (row, 0.0), (draw, -1.0)):
        if not least <= x < EXACT or x != int(x):
            return nan
    k, r, n = int(key), int(row), int(draw)
    pair = n >> 1
    found = words((pair & WORD, pair >> 32 & WORD, r & WORD, r >> 32 & WORD), (k & WORD, k >> 32 & WORD))
    high, low = found[2:] if n & 1 else found[:2]
    return ((high << 32 | low) >> 11) / EXACT
