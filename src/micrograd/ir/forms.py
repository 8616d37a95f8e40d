"""The grammar of the typed tape.

    tape    = "tape" "(" params ")" "{" line* "yield" place* "}"
    params  = [place ":" kind ("," place ":" kind)*]
    kind    = "f64" | "i64" | "bool" | "f64[]" | "i64[]" | "bool[]"
    line    = place ":" kind "=" op operand*            an operation of the table: numbers to a number
            | place ":" kind "=" "const" literal        a number, or an array `[1.0, 2.0]` that is the same in all calls
            | place ":" kind "=" "array" place*         the array of these numbers
            | place ":" kind "=" "fill" %n %x           n times x
            | place ":" kind "=" "load" %a %i           item i of a
            | place ":" kind "=" "store" %a %i %x       a with x in place of item i
            | place ":" kind "=" "bump" %a %i %x        a with x added to item i
            | place ":" kind "=" "append" %a %x         a and one more item
            | place ":" kind "=" "grow" %a %n           a and n more items, which mean nothing before they are stored
            | place ":" kind "=" "slice" %a %i %n       n items of a, from item i on
            | place ":" kind "=" "size" %a              how many items a has
            | "check" %c text                           where c is false, the run ends here and gives nothing
            | results "=" "if" %c body "else" body
            | results "=" "loop" ["times" %n] ["carry" place*] body
            | results "=" "slopes" place* body
    results = [place ":" kind ("," place ":" kind)*]
    body    = "(" [param ("," param)*] ")" "{" line* "yield" place* "}"
    param   = place ":" kind ["steady"]                 a steady array has the same size in all iterations of its loop

The first operand is an earlier place of the same body or of a body around it: a body reads whatever is defined before it.

`if` runs one of its bodies, which have no params. Its results are what that body yields.

`loop` runs its body again and again. The params of the body are the carried values and the number of the iteration, from 0.
The body yields a bool `again`, and the carried values of the next iteration. The loop ends after `times` iterations, or
when `again` is false. With neither iterations nor `times`, one iteration is made at least. The results are the carried
values at the end, and how many iterations there were.

`slopes` runs its body on its operands, which reads nothing from around it. The results are the number that it yields, then its
derivatives by those params that are f64 or arrays of f64. It is for tapes that become tapes of floats (stage/lowered.py),
whose own passes differentiate it; elsewhere a derivative is written out where it is taken.

Arrays are values: `store` leaves its operand as it was. A backend writes in place where nobody reads the operand afterwards. An
index that is not in range has no meaning; whoever makes a tape proves that it is in range, or puts a `check` in front of it.
Whole numbers wrap at 64 bits. Arithmetic of numbers is IEEE 754, and comparisons with nan are false, all but `ne`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import copysign
from typing import Any, NamedTuple

from micrograd.ops import OPS, Op

F64, I64, BOOL = "f64", "i64", "bool"
ARRAYS = {"f64[]": F64, "i64[]": I64, "bool[]": BOOL}
ZERO: dict[str, Any] = {F64: 0.0, I64: 0, BOOL: False}


def array_of(kind: str) -> str:
    """Return the kind of an array of such items."""
    return kind + "[]"


def is_array(kind: str) -> bool:
    """Return whether a kind is that of arrays."""
    return kind in ARRAYS


class Place:
    """One instruction, and what it gives. A region gives several values: its `results`, which are places of the op `result`.

    `line` says which loop of the program a loop is: file:line.
    """

    __slots__ = ("op", "args", "kind", "attr", "bodies", "results", "line")

    def __init__(self, op: str, args: tuple[Place, ...], kind: str, attr: Any = None) -> None:
        self.op, self.args, self.kind, self.attr = op, args, kind, attr
        self.bodies: tuple[Body, ...] = ()
        self.results: list[Place] = []
        self.line = ""

    def __repr__(self) -> str:
        return f"<{self.op} : {self.kind}>"


class Body:
    """Instructions in their order, the params that they may read, and what the body yields."""

    __slots__ = ("params", "code", "yields")

    def __init__(self, params: list[Place] | None = None) -> None:
        self.params: list[Place] = params or []
        self.code: list[Place] = []
        self.yields: list[Place] = []

    def __len__(self) -> int:
        """How many instructions there are, those of bodies inside included; constants and results are not counted."""
        return sum(1 + sum(map(len, place.bodies)) for place in self.code)


Tape = Body  # a whole program: its params are the arguments, what it yields are the results


class Rule(NamedTuple):
    """An operation on numbers: the kinds that it takes, the kind that it gives, and what it does with Python's numbers."""

    takes: tuple[str, ...]
    gives: str
    value: Callable[..., Any]
    op: Op | None = None  # its row of the table of differentiable operations


def _wrap(x: int) -> int:
    return (x + (1 << 63)) % (1 << 64) - (1 << 63)


def _truncated(x: float) -> int:
    """Return int(x). What LLVM makes of numbers beyond 64 bits is not defined, so nothing may depend on it."""
    return _wrap(int(x)) if abs(x) < 2.0**63 else -(1 << 63)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
_WHOLE = (I64, I64)

TABLE: dict[str, Rule] = {
    **{
        op.name: Rule((F64,) * op.arity, F64, op.value, op)
        for op in OPS.values()
        if op.arity >= 0 and op.name not in _COMPARISONS and op.name != "where"
    },
    **{name: Rule((F64, F64), BOOL, test) for name, test in _COMPARISONS.items()},
    **{f"i{name}": Rule(_WHOLE, BOOL, _COMPARISONS[name]) for name in ("lt", "le", "eq")},
    "iadd": Rule(_WHOLE, I64, lambda a, b: _wrap(a + b)),
    "isub": Rule(_WHOLE, I64, lambda a, b: _wrap(a - b)),
    "imul": Rule(_WHOLE, I64, lambda a, b: _wrap(a * b)),
    "ifloordiv": Rule(_WHOLE, I64, lambda a, b: _wrap(a // b) if b else 0),
    "imod": Rule(_WHOLE, I64, lambda a, b: a % b if b else 0),
    "ior": Rule(_WHOLE, I64, lambda a, b: a | b),
    "imin": Rule(_WHOLE, I64, min),
    "imax": Rule(_WHOLE, I64, max),
    "and": Rule((BOOL, BOOL), BOOL, lambda a, b: a and b),
    "or": Rule((BOOL, BOOL), BOOL, lambda a, b: a or b),
    "not": Rule((BOOL,), BOOL, lambda a: not a),
    "float": Rule((I64,), F64, float),
    "int": Rule((F64,), I64, _truncated),  # towards zero
    "count": Rule((BOOL,), I64, int),
    "reached": Rule((F64,), BOOL, lambda a: a != 0 or copysign(1.0, a) > 0),  # not -0.0: see reverse.py
    "select": Rule((BOOL, "", ""), "", lambda c, a, b: a if c else b),  # numbers of one kind; both are computed
}

REGIONS = ("if", "loop", "slopes")
# Operations on arrays: the kinds of their operands, where "a" is an array, "x" one of its items, and "i" a whole number.
ARRAY_OPS = {
    "fill": ("i", "x"),
    "load": ("a", "i"),
    "store": ("a", "i", "x"),
    "bump": ("a", "i", "x"),
    "append": ("a", "x"),
    "grow": ("a", "i"),
    "slice": ("a", "i", "i"),
    "size": ("a",),
}
CHANGES = ("store", "bump", "append", "grow")  # they give their first operand, changed


def walk(body: Body) -> Iterator[Place]:
    """Yield every instruction of a body and of the bodies inside, each before what is inside of it."""
    for place in body.code:
        yield place
        for inner in place.bodies:
            yield from walk(inner)
