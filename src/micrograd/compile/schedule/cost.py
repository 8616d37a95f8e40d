"""What an op costs a processor, as far as schedules ask."""

from __future__ import annotations

from micrograd.ops import Op

CHEAP = ("add", "sub", "mul", "neg")  # one instruction of a few cycles each
INSTRUCTIONS = ("fma", "abs", "sqrt", "floor", "ceil", "round", "trunc")  # functions that processors have


def is_cheap(op: Op) -> bool:
    """Whether an op is cheaper to compute twice than to keep in a distant cache."""
    return op.name in CHEAP


def is_call(op: Op) -> bool:
    """Whether an op is a call of a function of the C library."""
    return op.kind == "call" and op.name not in INSTRUCTIONS
