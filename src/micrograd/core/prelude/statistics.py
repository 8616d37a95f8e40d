"""The functions of the module statistics that compute with fractions, on floats.

Python's own round the exact result once. These round a few times, and may differ in the last digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, sqrt
from typing import Any


def mean(data: Iterable[Any]) -> Any:
    values = list(data)
    _refuse_few(values, 1, "mean")
    return _mean(values)


def _mean(values: list[Any]) -> Any:
    count = len(values)
    for value in values:
        if not isinstance(value, int):
            return fsum(values) / count
    total = sum(values)
    return total // count if total % count == 0 else total / count


def harmonic_mean(data: Iterable[Any], weights: Iterable[Any] | None = None) -> Any:
    values = list(data)
    _refuse_few(values, 1, "harmonic_mean")
    counts = [1] * len(values) if weights is None else list(weights)
    if len(counts) != len(values):
        raise _error("Number of weights does not match data size")
    for value in values:
        if value < 0:
            raise _error("harmonic mean does not support negative values")
    if len(values) == 1 and weights is None:
        return values[0]
    parts = []
    for i in range(len(values)):
        if counts[i] < 0:
            raise _error("harmonic mean does not support negative values")
        if values[i] == 0:
            return 0
        parts.append(counts[i] / values[i])
    return fsum(counts) / fsum(parts)


def pvariance(data: Iterable[Any], mu: Any = None) -> Any:
    values = list(data)
    _refuse_few(values, 1, "pvariance")
    return _squares(values, mu) / len(values)


def variance(data: Iterable[Any], xbar: Any = None) -> Any:
    values = list(data)
    _refuse_few(values, 2, "variance")
    return _squares(values, xbar) / (len(values) - 1)


def pstdev(data: Iterable[Any], mu: Any = None) -> Any:
    values = list(data)
    _refuse_few(values, 1, "pstdev")
    return sqrt(_squares(values, mu) / len(values))


def stdev(data: Iterable[Any], xbar: Any = None) -> Any:
    values = list(data)
    _refuse_few(values, 2, "stdev")
    return sqrt(_squares(values, xbar) / (len(values) - 1))


def _squares(values: list[Any], center: Any) -> Any:
    """Return the sum of the squared differences from the mean, or from a given center."""
    middle = _mean(values) if center is None else center
    differences = [value - middle for value in values]
    squares = fsum([d * d for d in differences])
    if center is not None:
        return squares
    lost = fsum(differences)  # what the mean was rounded by, times their number
    return squares - lost * lost / len(values)


def _refuse_few(values: list[Any], least: int, name: str) -> None:
    if len(values) < least:
        raise _error(f"{name} requires at least {'one data point' if least == 1 else 'two data points'}")


def _error(text: str) -> Exception:
    from statistics import StatisticsError

    return StatisticsError(text)
