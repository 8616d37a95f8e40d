"""float(x) of an object that holds a Value passes the Value on inside of a transform, as float(x) of the Value itself."""

from __future__ import annotations

import pytest

from micrograd import engine, grad, jit, vmap

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(not engine.NATIVE, reason="the Python engine cannot reach into compiled functions")


class Angle:
    def __init__(self, degrees):
        self.degrees = degrees

    def __float__(self):
        return self.degrees


def doubled(x):
    return float(Angle(x * x)) * 2.0


def test_the_slope_passes():
    assert doubled(3.0) == 18.0
    assert grad(doubled)(3.0) == 12.0
    assert jit(grad(doubled), wait=True)(3.0) == 12.0
    assert list(vmap(doubled)(np.array([1.0, 2.0]))) == [2.0, 8.0]
    assert grad(grad(doubled))(3.0) == 4.0


def test_what_float_asks_of_other_classes_is_what_it_was():
    class Wrong:
        def __float__(self):
            return "1"

    class Raising:
        def __float__(self):
            raise KeyError("why")

    class Index:
        def __index__(self):
            return 7

    class Sub(float):
        def __float__(self):
            return 5.0

    class OfSub:
        def __float__(self):
            return Sub(2.5)

    def f(x):
        with pytest.raises(TypeError, match=r"Wrong.__float__ returned non-float \(type str\)"):
            float(Wrong())
        with pytest.raises(KeyError, match="why"):
            float(Raising())
        for x_, y in ((Index(), 7.0), (Sub(2.0), 5.0), (OfSub(), float(Sub(2.5))), ("2.5", 2.5), (b"1", 1.0)):
            assert isinstance(float(x_), float) and float(x_) == y
        with pytest.raises(TypeError):
            float(object())
        return x * 2.0

    assert grad(f)(1.0) == 2.0
