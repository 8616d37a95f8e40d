"""Data to learn from: points in the plane in shapes that take a network to tell apart, digits, and names.

The points come as `X, y`: a list of [x0, x1] and a list of classes, 0 and up. The same seed gives the same points
everywhere; nothing but the standard library is used (digits are scikit-learn's).

>>> from micrograd import data
>>> X, y = data.moons(100)
>>> len(X), sorted(set(y))
(100, [0, 1])
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from math import cos, hypot, pi, sin
from operator import index
from typing import Any, TypeVar

from micrograd.tree import by_position

Points = tuple[list[list[float]], list[int]]
A = TypeVar("A")
B = TypeVar("B")

# ---- points


def moons(n: int = 100, noise: float = 0.1, seed: int = 0) -> Points:
    """Two half circles, each reaching into the other."""
    rng = _begin("moons", n, noise, seed)
    points = []
    for i in range(n):
        upper, angle = i % 2 == 0, pi * (i // 2) / max((n - 1) // 2, 1)
        x = [cos(angle), sin(angle)] if upper else [1.0 - cos(angle), 0.5 - sin(angle)]
        points.append((x, int(not upper)))
    return _finish(points, noise, rng)


def circles(n: int = 100, noise: float = 0.05, seed: int = 0, inner: float = 0.5) -> Points:
    """A circle around a smaller one."""
    rng = _begin("circles", n, noise, seed)
    points = []
    for i in range(n):
        radius, angle = (1.0, inner)[i % 2], 2.0 * pi * (i // 2) / max((n + 1) // 2, 1)
        points.append(([radius * cos(angle), radius * sin(angle)], i % 2))
    return _finish(points, noise, rng)


def spirals(n: int = 150, noise: float = 0.02, seed: int = 0, arms: int = 3, turns: float = 0.75) -> Points:
    """Arms that wind out from the centre, one class each."""
    rng = _begin("spirals", n, noise, seed, classes=arms)
    points = []
    for i in range(n):
        arm, along = i % arms, (i // arms + 1) / ((n - 1) // arms + 1)
        angle = 2.0 * pi * (arm / arms + turns * along)
        points.append(([along * cos(angle), along * sin(angle)], arm))
    return _finish(points, noise, rng)


def blobs(n: int = 100, noise: float = 0.25, seed: int = 0, centres: int = 3) -> Points:
    """Clouds around points on the unit circle, one class each."""
    rng = _begin("blobs", n, noise, seed, classes=centres)
    points = []
    for i in range(n):
        angle = 2.0 * pi * (i % centres) / centres
        points.append(([cos(angle), sin(angle)], i % centres))
    return _finish(points, noise, rng)


def yin_yang(n: int = 150, noise: float = 0.0, seed: int = 0) -> Points:
    """The two halves of a yin-yang sign, and its two dots as a third class."""
    rng = _begin("yin_yang", n, noise, seed, classes=3)
    points: list[tuple[list[float], int]] = []
    while len(points) < n:
        x0, x1 = rng.uniform(-1.0, 1.0), rng.uniform(-1.0, 1.0)
        c = _sign(x0, x1)
        if c == len(points) % 3:  # as many points of each class; None, outside the sign, is never one
            points.append(([x0, x1], c))
    return _finish(points, noise, rng)


def _sign(x0: float, x1: float) -> int | None:
    left, right = hypot(x0 + 0.5, x1), hypot(x0 - 0.5, x1)
    if hypot(x0, x1) > 1.0:
        return None
    if left < 0.2 or right < 0.2:
        return 2
    return int(right > 0.5 and (x1 < 0.0 or left <= 0.5))


def xor(n: int = 100, noise: float = 0.1, seed: int = 0) -> Points:
    """Four corners: class 1 where exactly one of the two coordinates is above zero."""
    rng = _begin("xor", n, noise, seed, classes=4)
    points = []
    for i in range(n):
        a, b = i % 2, i // 2 % 2
        points.append(([a - 0.5, b - 0.5], a ^ b))
    return _finish(points, noise, rng)


def _begin(name: str, n: int, noise: float, seed: int, classes: int = 2) -> random.Random:
    if classes < 1:
        raise ValueError(f"{name} has one class or more, not {classes}")
    if n < classes:
        raise ValueError(f"{name} needs {classes} points or more, one for each part, not {n}")
    if not noise >= 0:
        raise ValueError(f"the noise of {name} is a standard deviation, 0 or more, not {noise}")
    return random.Random(f"{name} {seed}")


def _finish(points: list[tuple[list[float], int]], noise: float, rng: random.Random) -> Points:
    if noise:
        points = [([x + rng.gauss(0.0, noise) for x in xs], c) for xs, c in points]
    rng.shuffle(points)
    return [xs for xs, _ in points], [c for _, c in points]


# ---- digits and names


def digits(n: int | None = None, seed: int = 0) -> Points:
    """scikit-learn's 1,797 handwritten digits, 8 by 8, each pixel from 0 to 1; n of them, in an order made by seed."""
    from micrograd import install

    datasets = install.require("sklearn.datasets", "data.digits", "scikit-learn", "train")
    images, classes = datasets.load_digits(return_X_y=True)
    order = list(range(len(images)))
    if n is not None and not 1 <= n <= len(order):
        raise ValueError(f"there are {len(order)} digits: n is 1 to {len(order)}, not {n}")
    random.Random(f"digits {seed}").shuffle(order)
    return [(images[i] / 16.0).tolist() for i in order[:n]], [int(classes[i]) for i in order[:n]]


def names() -> list[str]:
    """1,200 names, in lower case and alphabetical order, made up for this package."""
    from importlib.resources import files

    return (files("micrograd") / "assets" / "names.txt").read_text(encoding="utf-8").split()


class Alphabet:
    """The letters of some words as tokens 0 and up; one token more, `end`, is where a word begins and ends.

    >>> from micrograd.data import Alphabet
    >>> letters = Alphabet(["ada", "bea"])
    >>> letters.encode("bad")
    [4, 1, 0, 2, 4]
    >>> letters.decode([4, 1, 0, 2, 4])
    'bad'
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.letters = "".join(sorted(set("".join(words))))
        self.end = len(self.letters)

    def __len__(self) -> int:
        return len(self.letters) + 1

    def encode(self, word: str) -> list[int]:
        """The tokens of a word, between two ends."""
        for letter in word:
            if letter not in self.letters:
                raise ValueError(f"{letter!r} of {word!r} is not in the alphabet {self.letters!r}")
        return [self.end, *map(self.letters.index, word), self.end]

    def decode(self, tokens: Iterable[int]) -> str:
        """The letters of tokens; ends are left out."""
        return "".join(self.letters[token] for token in tokens if token != self.end)

    def __repr__(self) -> str:
        return f"Alphabet({self.letters!r})"


# ---- batches


def batches(
    X: Sequence[A], y: Sequence[B], size: int | None = None, rng: random.Random | int | None = None
) -> Iterator[tuple[list[A], list[B]]]:
    """Cut data into batches of a size (all of it, unless said), shuffled if a generator or a seed is given.

    >>> from micrograd.data import batches
    >>> list(batches([1, 2, 3], ["a", "b", "c"], size=2))
    [([1, 2], ['a', 'b']), ([3], ['c'])]
    """
    if len(X) != len(y):
        raise ValueError(f"there are {len(X)} inputs and {len(y)} targets: each input has one")
    if size is not None and size < 1:
        raise ValueError(f"a batch has 1 item or more, not {size}")
    order = list(range(len(X)))
    if rng is not None:
        (rng if isinstance(rng, random.Random) else random.Random(index(rng))).shuffle(order)
    return _cut(by_position(X), by_position(y), order, size or max(len(order), 1))


def _cut(X: Any, y: Any, order: list[int], size: int) -> Iterator[tuple[list[Any], list[Any]]]:
    for start in range(0, len(order), size):
        part = order[start : start + size]
        yield [X[i] for i in part], [y[i] for i in part]
