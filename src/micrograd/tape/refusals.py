"""What a trace cannot see, with the reason and the way out: the number of a Value is read, or something is changed."""

from __future__ import annotations

from typing import Any

from micrograd import observed
from micrograd.errors import TraceError
from micrograd.tree import name_of
from micrograd.values.callsite import calling_lines, user_frame, user_line
from micrograd.values.conversion import formats_text

INDEX = "index()"
DIGITS = "round() to digits"
ALL_DIGITS = "all digits"  # of a number leave as an int or in a text
TEXT = "the text"
WAYS_OUT = {
    "float()": "Keep it a Value (micrograd.math has the functions of math, and where), or pass it in as an argument.",
    "data": "Keep it a Value: arithmetic on it is traced, and micrograd.math has floor, round and where.",
    "data =": "Return the new number instead, and assign it outside of the compiled function.",
    "backward()": "Compile the derivative itself: jit(grad(f)) or jit(value_and_grad(f)).",
    "grad": "Compile the derivative itself, jit(grad(f)), or read .grad outside and pass it in as an argument.",
    "grad =": "Reset and change gradients outside of the compiled function.",
    "no_grad()": "Write `with no_grad():` around the call, or x.detach() where no gradient is to pass.",
    TEXT: "Print the Value, or compare the number itself: math.isnan(x), x == 0.5, x in (1, 2).",
    "format()": "Print the Value itself, print(x), or return it and build the text outside.",
    DIGITS: "Compiled code rounds to -22 to 22 digits. Keep it a Value (micrograd.math has floor and round).",
    "hash()": "Compare it (x == 1, x in (1, 2)), or make the argument static: jit(f, static_argnums=...).",
}
FROZEN = "{} is traced and then replayed, so the value seen while tracing would be reused in every later call."
REASONS = {
    "hash()": "A set, a dict or a cache finds a Value by its identity and not by its number, so {} would not find it."
}
KEEP_IT = "Keep it a Value (micrograd.math has floor, round and where), or pass it in as an argument."


def refusal(how: str, f: Any) -> TraceError:
    """The error for a function in which a Value is used in this way, at the line where that happens."""
    error = TraceError(
        f"{_phrase(how)} inside a compiled function, at {calling_lines() if how == 'float()' else user_line()}\n"
        f"  {REASONS.get(how, FROZEN).format(name_of(f))}\n"
        f"  {WAYS_OUT.get(how, KEEP_IT)}"
    )
    error.of_number = how in ("format()", TEXT) or (how == "float()" and formats_text(user_frame()))
    return error


WAY_OUT = (
    "Write it with operators, the functions of math and those of micrograd.math,"
    if observed.NATIVE
    else "With the Python engine, write `from micrograd import math` in place of `import math`, and x in place of float(x),"
)


def number_taken(f: Any) -> TraceError:
    """The error for compiled code that takes the number of a Value inside of a function of which a derivative is taken."""
    return TraceError(
        f"compiled code takes the number of a Value, at {calling_lines()}\n"
        f"  A derivative is taken of {name_of(f)}, and would not pass: the number alone is a constant from there on.\n"
        f"  {WAY_OUT} or give it a derivative with micrograd.custom_vjp. Where a constant is meant: x.data, or "
        "micrograd.math.stop_gradient(x)."
    )


def digits_taken(f: Any) -> TraceError:
    """The error for an int of a large Value, or a text of 15 digits, where a derivative is taken."""
    return TraceError(
        f"an int or a text with all digits of a Value is made, at {calling_lines()}\n"
        f"  A derivative is taken of {name_of(f)}, and would not pass: an int from 2**52 on is the number itself, and so is a "
        "text of 15 digits or more.\n"
        f"  {WAY_OUT} or give it a derivative with micrograd.custom_vjp. Where a constant is meant: x.data, or "
        "micrograd.math.stop_gradient(x)."
    )


def whole_wanted(how: str, f: Any, frozen: bool) -> TraceError:
    """The error for a Value where only a whole number will do, such as an index or a count."""
    wanted = "a whole number wanted" if how == INDEX else f"{how} of whole numbers wanted"
    name = name_of(f)
    if frozen:
        return TraceError(
            f"{wanted}, and a Value found, inside a compiled function, at {calling_lines()}\n"
            f"  In {name}, numbers among the arguments are Values, so that one tape serves all of them.\n"
            "  Say which argument is a count or an index: jit(f, static_argnums=...) compiles once for each of its values, "
            "and so does vmap of that."
        )
    return TraceError(
        f"{wanted}, and a Value found, at {calling_lines()}\n"
        f"  A derivative of {name} is taken with respect to this number, so it is a Value there, and no int.\n"
        "  Leave a count or an index out of argnums, or write int(x) where its derivative is to be 0."
    )


def _phrase(how: str) -> str:
    phrases = {TEXT: "the text of a Value read", "data": ".data of a Value read", "data =": ".data of a Value assigned",
               "backward()": "backward() called", "grad": ".grad of a Value read", "grad =": ".grad of a Value assigned",
               "no_grad()": "no_grad() entered"}  # fmt: skip
    return phrases.get(how, f"{how} of a Value")
