"""Elementwise: a module that maps a number to a number and a vector to a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from micrograd.nn.module import Module
from micrograd.typed import N, Vector


class Elementwise(Module):
    """A module that is applied to each number of a vector, or to a single number."""

    if TYPE_CHECKING:

        @overload
        def __call__(self, x: N, /) -> N: ...
        @overload
        def __call__(self, x: Sequence[N], /) -> list[N]: ...
        @overload
        def __call__(self, x: Vector, /) -> Any: ...
        def __call__(self, x: Any, /) -> Any: ...
