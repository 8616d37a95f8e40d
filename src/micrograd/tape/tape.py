"""The tape: a function as a list of instructions, each made from earlier ones.

    tape  = line*
    line  = "%" n "=" op operand*          one instruction; operands are earlier places
          | "%" n "=" "input" k            the k-th number of the arguments
          | "%" n "=" "param" k            the k-th captured Value: its .data at the time of the call
          | "%" n "=" "const" number
          | "guard" comparison "%" a "%" b "is" ("true" | "false")      the way that an `if` went
          | "return" ("%" n)*

`str(tape)` prints this, `parse` reads it, `check` says whether it makes sense.
"""

from __future__ import annotations

from math import copysign
from typing import Any

from micrograd.ops import OPS, Op


def _not_an_op(*_: Any) -> float:
    raise TypeError("inputs, params and constants are not computed")


INPUT = Op("input", _not_an_op, [])
PARAM = Op("param", _not_an_op, [])
CONST = Op("const", _not_an_op, [])
SOURCES = (INPUT, PARAM, CONST)  # their operand is a number, not a place

Guard = tuple[str, int, int, bool]
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


class Tape:
    """A linear program: `ops[i]` over `args[i]` is place i."""

    def __init__(self, inputs: int = 0, params: int = 0) -> None:
        self.inputs = inputs
        self.params = params
        self.ops: list[Op] = []
        self.args: list[tuple[Any, ...]] = []
        self.guards: list[Guard] = []
        self.outputs: list[int] = []

    def __len__(self) -> int:
        return len(self.ops)

    def __str__(self) -> str:
        lines = []
        for i, (op, args) in enumerate(zip(self.ops, self.args)):
            operands = [repr(a) if op in SOURCES else f"%{a}" for a in args]
            lines.append(" ".join([f"%{i} = {op.name}", *operands]))
        lines += [f"guard {op} %{a} %{b} is {str(went).lower()}" for op, a, b, went in self.guards]
        lines.append(" ".join(["return", *(f"%{i}" for i in self.outputs)]))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<tape of {len(self)} instructions: print it to see them>"

    def append(self, op: Op, *args: Any) -> int:
        """Add one instruction as it is; returns its place."""
        self.ops.append(op)
        self.args.append(args)
        return len(self.ops) - 1


def parse(text: str) -> Tape:
    """Read what `str(tape)` wrote."""
    tape = Tape()
    names = {**OPS, "input": INPUT, "param": PARAM, "const": CONST}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        try:
            if not words:
                continue
            if words[0] == "return":
                tape.outputs = [int(w[1:]) for w in words[1:]]
            elif words[0] == "guard":
                _, how, a, b, _, went = words
                tape.guards.append((how, int(a[1:]), int(b[1:]), {"true": True, "false": False}[went]))
            else:
                op = names[words[2]]
                read: Any = float if op is CONST else int if op in SOURCES else lambda w: int(w[1:])
                place = tape.append(op, *(read(w) for w in words[3:]))
                if words[0] != f"%{place}" or words[1] != "=":
                    raise ValueError
        except (KeyError, IndexError, ValueError):
            raise ValueError(f"line {number} of the tape cannot be read: {line.strip()!r}") from None
    tape.inputs = 1 + max([args[0] for op, args in zip(tape.ops, tape.args) if op is INPUT], default=-1)
    tape.params = 1 + max([args[0] for op, args in zip(tape.ops, tape.args) if op is PARAM], default=-1)
    check(tape)
    return tape


def check(tape: Tape) -> None:
    """Raise ValueError unless operands are earlier places, ops have the inputs that they take, and guards compare."""
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op in SOURCES:
            limit = {INPUT: tape.inputs, PARAM: tape.params}.get(op)
            if len(args) != 1 or (limit is not None and not 0 <= args[0] < limit):
                raise ValueError(f"%{i} = {op.name} {args}: no such {op.name}")
        elif op.arity >= 0 and len(args) != op.arity:
            raise ValueError(f"%{i}: {op.name} takes {op.arity} operands, not {len(args)}")
        elif not all(0 <= a < i for a in args):
            raise ValueError(f"%{i} = {op.name} {args}: an operand is not an earlier place")
    for how, *_ in tape.guards:
        if how not in COMPARISONS:
            raise ValueError(f"guard {how}: a guard is one of {', '.join(COMPARISONS)}")
    for place in [*tape.outputs, *(p for _, a, b, _ in tape.guards for p in (a, b))]:
        if not 0 <= place < len(tape):
            raise ValueError(f"%{place} is returned or guarded, but there is no such place")


class Ref:
    """A place on a tape that is being built: rules of the table run on Refs, and leave instructions behind."""

    __slots__ = ("builder", "place")

    def __init__(self, builder: Builder, place: int) -> None:
        self.builder, self.place = builder, place

    def _apply(self, op: Op, args: Any) -> Ref:
        operands = args[0] if op.arity < 0 else args
        return Ref(self.builder, self.builder.emit(op, tuple([self.builder.place(a) for a in operands])))

    def __add__(self, other: Any) -> Ref:
        return self._apply(OPS["add"], (self, other))

    def __radd__(self, other: Any) -> Ref:
        return self._apply(OPS["add"], (other, self))

    def __sub__(self, other: Any) -> Ref:
        return self._apply(OPS["sub"], (self, other))

    def __rsub__(self, other: Any) -> Ref:
        return self._apply(OPS["sub"], (other, self))

    def __mul__(self, other: Any) -> Ref:
        return self._apply(OPS["mul"], (self, other))

    def __rmul__(self, other: Any) -> Ref:
        return self._apply(OPS["mul"], (other, self))

    def __truediv__(self, other: Any) -> Ref:
        return self._apply(OPS["div"], (self, other))

    def __rtruediv__(self, other: Any) -> Ref:
        return self._apply(OPS["div"], (other, self))

    def __pow__(self, other: Any) -> Ref:
        return self._apply(OPS["pow"], (self, other))

    def __rpow__(self, other: Any) -> Ref:
        return self._apply(OPS["pow"], (other, self))

    def __neg__(self) -> Ref:
        return self._apply(OPS["neg"], (self,))

    def __abs__(self) -> Ref:
        return self._apply(OPS["abs"], (self,))

    def _is_not_known(self, *_: Any) -> Any:
        """Stop an `if`, which would go one way for all numbers."""
        raise TypeError("a comparison of a number that is not known yet; micrograd.math.where(condition, a, b) chooses")

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __hash__ = _is_not_known  # type: ignore[assignment]


def _bits(x: float) -> tuple[float, float]:
    return (x, copysign(1.0, x))  # 0.0 and -0.0 are two constants


class Builder:
    """Writes a tape. An instruction that is already there is not written again; constants are folded.

    All of it is exact (the same bits as without), unless `fast` allows what holds for real numbers only.
    """

    def __init__(self, inputs: int, params: int, fast: bool = False) -> None:
        self.tape = Tape(inputs, params)
        self.fast = fast
        self.known: dict[Any, int] = {}

    def place(self, x: Any) -> int:
        """The place of a Ref, or of a number as a constant."""
        return x.place if isinstance(x, Ref) else self.const(x)

    def source(self, op: Op, k: int) -> int:
        """The place of an input or a param."""
        return self._once((op, k), op, (k,))

    def const(self, x: float) -> int:
        """The place of a number."""
        x = float(x)
        return self._once((CONST, _bits(x) if x == x else "nan"), CONST, (x,))

    def _once(self, key: Any, op: Op, args: tuple[Any, ...]) -> int:
        place = self.known.get(key)
        if place is None:
            place = self.known[key] = len(self.tape.ops)
            self.tape.ops.append(op)
            self.tape.args.append(args)
        return place

    def number(self, place: int) -> float | None:
        """The number at a place, if it is a constant."""
        return self.tape.args[place][0] if self.tape.ops[place] is CONST else None

    def emit(self, op: Op, args: tuple[int, ...]) -> int:
        """The place of op over args: an old one where there is one, else a new instruction."""
        ops = self.tape.ops
        if op.arity == 2:
            a, b = args
            if op.commutative and a > b:
                args = a, b = b, a
            if ops[a] is CONST or ops[b] is CONST:
                found = self._with_constant(op, a, b)
                if found is not None:
                    return found
            elif self.fast and a == b and op.name == "sub":
                return self.const(0.0)
        elif op.arity == 1:
            if ops[args[0]] is CONST:
                return self.const(op.value(self.tape.args[args[0]][0]))
            if op.name == "neg" and ops[args[0]] is op:  # -(-x) is x
                return int(self.tape.args[args[0]][0])
        elif op.arity == 3 and ops[args[0]] is CONST:  # where(1.0, a, b) is a
            return args[1] if self.tape.args[args[0]][0] else args[2]
        elif op.arity == 3 and args[1] == args[2]:
            return args[1]
        return self._once((op, args), op, args)

    def _with_constant(self, op: Op, a: int, b: int) -> int | None:
        x, y = self.number(a), self.number(b)
        if x is not None and y is not None:
            return self.const(op.value(x, y))
        if op.identity is not None:
            same = (lambda u, v: u == v) if self.fast else (lambda u, v: _bits(u) == _bits(v))
            if y is not None and same(y, op.identity):
                return a
            if x is not None and op.commutative and same(x, op.identity):
                return b
        if op.absorbing is not None and self.fast and op.absorbing in (x, y):
            return self.const(op.absorbing)
        if op.name == "mul" and -1.0 in (x, y):
            return self.emit(OPS["neg"], (b if x is not None else a,))
        return None
