"""The options of jit and vmap, under the names that users write."""

from __future__ import annotations

from dataclasses import dataclass, replace

WIDTHS = (1, 2, 4, 8, 16, 32, 64)  # rows at a time


@dataclass(frozen=True)
class Options:
    """How a function is compiled."""

    exact: bool = False  # the bits of eager code
    fastmath: bool = False  # rewrites that hold for real numbers but not for nan, inf and -0.0
    float32: bool = False  # rows in single precision
    width: int | None = None  # rows at a time; None: as many as the processor's vectors hold
    wait: bool = False  # compile in the first call, not in the background
    backend: str = "llvm"
    device: int = 0  # the number of the GPU, for the backend that runs on one

    def for_guards(self, guarded: bool) -> Options:
        """The options for a tape; one with guards must decide as eager code does, so it gets neither fastmath nor float32."""
        return replace(self, fastmath=False, float32=False) if guarded else self

    def __post_init__(self) -> None:
        if self.exact and (self.fastmath or self.float32):
            raise ValueError(
                "exact=True promises the bits of eager code, so it cannot be combined with fastmath or float32"
            )
        if self.width is not None and (type(self.width) is not int or self.width not in WIDTHS):
            raise ValueError(f"width={self.width!r}: it must be 1, 2, 4, 8, 16, 32 or 64 rows at a time")
