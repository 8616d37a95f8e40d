"""Data: shapes, seeds, names and batches."""

import random
import re
from collections import Counter
from math import hypot

import pytest

from micrograd import data, install

SHAPES = {"moons": 2, "circles": 2, "spirals": 3, "blobs": 3, "yin_yang": 3, "xor": 2}


@pytest.mark.parametrize("name", list(SHAPES))
def test_the_same_seed_gives_the_same_points(name):
    make = getattr(data, name)
    X, y = make(n=90, seed=3)
    assert (X, y) == make(n=90, seed=3)
    assert make(n=90, seed=4)[0] != X
    assert len(X) == len(y) == 90
    assert all(len(x) == 2 and all(type(v) is float for v in x) for x in X)
    assert y != sorted(y)  # shuffled, so that a batch has all classes


@pytest.mark.parametrize("name", list(SHAPES))
@pytest.mark.parametrize("n", [90, 91])
def test_classes_are_counted_from_zero_and_evenly(name, n):
    counts = Counter(getattr(data, name)(n=n)[1])
    assert sorted(counts) == list(range(SHAPES[name]))
    assert max(counts.values()) - min(counts.values()) <= 2


@pytest.mark.parametrize("name", list(SHAPES))
def test_making_points_leaves_the_random_module_alone(name):
    random.seed(1)
    before = random.getstate()
    getattr(data, name)(n=30, noise=0.1)
    assert random.getstate() == before


@pytest.mark.parametrize("name", list(SHAPES))
@pytest.mark.parametrize("options, told", [({"n": 0}, "points or more"), ({"noise": -1.0}, "0 or more, not -1.0")])
def test_what_cannot_be_is_said(name, options, told):
    with pytest.raises(ValueError, match=told):
        getattr(data, name)(**options)


def test_moons_without_noise_lie_on_half_circles():
    for (a, b), c in zip(*data.moons(50, noise=0.0)):
        radius = hypot(a, b) if c == 0 else hypot(a - 1.0, b - 0.5)
        assert radius == pytest.approx(1.0)
        assert b >= -1e-9 if c == 0 else b <= 0.5 + 1e-9


def test_moons_are_fixed():
    """Figures that people quote depend on these points: they must not move between versions."""
    X, y = data.moons()
    assert [round(v, 6) for v in X[0]] == [1.973098, 0.316139]
    assert y[:8] == [1, 1, 1, 0, 1, 0, 0, 1]


def test_circles_have_their_radii():
    for (a, b), c in zip(*data.circles(40, noise=0.0, inner=0.3)):
        assert hypot(a, b) == pytest.approx(0.3 if c else 1.0)


def test_xor_is_xor():
    for (a, b), c in zip(*data.xor(40, noise=0.0)):
        assert c == ((a > 0) != (b > 0))


def test_yin_yang_is_symmetric():
    """Turned by half a circle, each half of the sign is the other one."""
    for (a, b), c in zip(*data.yin_yang(300)):
        assert hypot(a, b) <= 1.0
        turned = data._sign(-a, -b)
        assert turned == (2 if c == 2 else 1 - c)


def test_digits_are_pixels_and_classes():
    pytest.importorskip("sklearn", reason="the digits are scikit-learn's")
    X, y = data.digits(50, seed=1)
    assert (X, y) == data.digits(50, seed=1)
    assert len(X) == 50 and len(X[0]) == 64 and set(y) <= set(range(10))
    assert min(map(min, X)) >= 0.0 and max(map(max, X)) == 1.0
    assert len(data.digits()[0]) == 1797
    with pytest.raises(ValueError, match="1 to 1797, not 2000"):
        data.digits(2000)


def test_without_scikit_learn_the_way_out_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match=re.escape(install.command("train"))):
        data.digits()


def test_names_are_many_distinct_and_plain():
    names = data.names()
    assert len(names) == len(set(names)) == 1200
    assert names == sorted(names)
    assert all(name.isascii() and name.isalpha() and name.islower() and 3 <= len(name) <= 9 for name in names)
    assert len(data.Alphabet(names)) == 27


def test_an_alphabet_goes_there_and_back():
    letters = data.Alphabet(["ada", "bea"])
    assert letters.letters == "abde" and letters.end == 4 and len(letters) == 5
    assert letters.decode(letters.encode("bead")) == "bead"
    with pytest.raises(ValueError, match="'z' of 'zed' is not in the alphabet 'abde'"):
        letters.encode("zed")


def test_batches_cover_the_data_once():
    X, y = list(range(10)), [x * x for x in range(10)]
    parts = list(data.batches(X, y, size=4, rng=1))
    assert [len(xs) for xs, _ in parts] == [4, 4, 2]
    assert sorted(x for xs, _ in parts for x in xs) == X
    assert all(t == x * x for xs, ts in parts for x, t in zip(xs, ts))
    assert [x for xs, _ in parts for x in xs] != X
    assert parts == list(data.batches(X, y, size=4, rng=random.Random(1)))
    assert list(data.batches(X, y)) == [(X, y)]
    assert list(data.batches([], [])) == []


@pytest.mark.parametrize(
    "X, y, size, told", [([1], [], None, "1 inputs and 0 targets"), ([1], [1], 0, "1 item or more")]
)
def test_batches_that_cannot_be_are_refused_at_once(X, y, size, told):
    with pytest.raises(ValueError, match=told):
        data.batches(X, y, size)
