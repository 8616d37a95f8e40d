"""A function of two numbers, what NumPy says of it, and two columns to run it on."""

from __future__ import annotations

from typing import Any

import numpy as np

from micrograd import math


def f(x: Any, y: Any) -> Any:
    return math.exp(x) * y + x


def want(x: Any, y: Any) -> Any:
    return np.exp(np.asarray(x, float)) * np.asarray(y, float) + np.asarray(x, float)


X, Y = np.linspace(-1, 1, 13), np.linspace(0.5, 2, 13)
