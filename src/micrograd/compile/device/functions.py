"""Which elementary functions a device has (compile/elementary), and which of them have the bits of eager code."""

from __future__ import annotations

from micrograd.compile.elementary import functions
from micrograd.compile.elementary.formula import symbol
from micrograd.compile.llvm import vector_math
from micrograd.errors import CompileError


def same_bits(function: str) -> bool:
    """Whether a function has the bits of the C library of this machine."""
    return vector_math.of_the_library(function)


def needed(function: str, exact: bool = False, space: str = "") -> tuple[str, list[str]]:
    """The name of a function for a device, and the texts that it needs: declarations, tables, and other functions."""
    if function not in functions.WRITERS:
        raise CompileError(
            f"{function.removeprefix('t')} has no formula for a GPU\n"
            "  Run this function on the CPU, without device=, or write that part in other functions."
        )
    if exact and not same_bits(function):
        raise CompileError(
            f"exact=True promises the bits of eager code, and {function} on a GPU has others in the last place or two\n"
            "  Leave out exact=True, or run it on the CPU, without device=. Arithmetic and comparisons are exact in any case, "
            "and where the C library is a glibc since 2.28, so are exp, log, pow and erfc."
        )
    return symbol(function, None), functions.needed(function, None, space)
