"""Write a tape, instruction by instruction."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign
from typing import Any

from micrograd.ops import OPS, Op
from micrograd.tape.tape import (
    CONST,
    INPUT,
    LOAD,
    SOURCES,
    STACK,
    STORE,
    Choose,
    Loop,
    Projection,
    Region,
    Tape,
    result,
)

WHERE = OPS["where"]


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


def bits(x: float) -> tuple[float, float]:
    """What tells constants apart: 0.0 and -0.0 are two."""
    return (x, copysign(1.0, x))


class Builder:
    """Writes a tape. `emit` does not write again what is there already, and folds constants; `append` writes as it is told.

    All of it is exact (the same bits as without), unless `fast` allows what holds for real numbers only.

    >>> b = Builder(1)
    >>> x = b.source(INPUT, 0)
    >>> print(b.finish([b.emit(OPS["mul"], (x, b.const(2.0)))]))
    %0 = input 0
    %1 = const 2.0
    %2 = mul %0 %1
    return %2
    """

    def __init__(self, inputs: int = 0, params: int = 0, fast: bool = False) -> None:
        self.inputs, self.params, self.fast = inputs, params, fast
        self.ops: list[Op] = []
        self.args: list[tuple[Any, ...]] = []
        self.known: dict[Any, int] = {}

    # ---- beginning and end

    def copy(self, tape: Tape, once: bool = False) -> list[int]:
        """Write a whole tape, each instruction as it is or (once) only if it is new; returns where each went."""
        at: list[int] = []
        for op, args in zip(tape.ops, tape.args):
            if op in SOURCES:
                at.append(self.const(args[0]) if op is CONST else self.source(op, args[0]))
            elif once:
                at.append(self.again(op, tuple([at[a] for a in args])))
            else:
                row = tuple([at[a] for a in args])
                at.append(len(self.ops))
                self.known.setdefault((op, row), len(self.ops))
                self.ops.append(op)
                self.args.append(row)
        return at

    def inline(self, tape: Tape, inputs: Sequence[int], params: Sequence[int] = ()) -> list[int]:
        """Write what a tape does to these places; returns the places of its outputs. Its guards are left out."""
        at: list[int] = []
        for op, args in zip(tape.ops, tape.args):
            if op is CONST:
                at.append(self.const(args[0]))
            elif op in SOURCES:
                at.append((inputs if op is INPUT else params)[args[0]])
            else:
                at.append(self.again(op, tuple([at[a] for a in args])))
        return [at[o] for o in tape.outputs]

    def finish(self, outputs: Sequence[int], tape: Tape | None = None, at: Any = None) -> Tape:
        """The tape that returns these places; with another tape, and where its places went, also with its guards."""
        if tape is not None:
            new = tape.remap(at, self.ops, self.args, outputs)
            return new.copy(inputs=self.inputs, params=self.params)
        return Tape(self.inputs, self.params, tuple(self.ops), tuple(self.args), tuple(outputs))

    # ---- instructions

    def append(self, op: Op, *args: Any) -> int:
        """Add one instruction as it is; returns its place."""
        self.ops.append(op)
        self.args.append(args)
        return len(self.ops) - 1

    def place(self, x: Any) -> int:
        """The place of a Ref, or of a number as a constant."""
        return x.place if isinstance(x, Ref) else self.const(x)

    def source(self, op: Op, k: int) -> int:
        """The place of an input or a param."""
        return self._once((op, k), op, (k,))

    def input(self, k: int) -> int:
        """The place of an input."""
        return self.source(INPUT, k)

    def const(self, x: float) -> int:
        """The place of a number."""
        x = float(x)
        return self._once((CONST, bits(x) if x == x else "nan"), CONST, (x,))

    def _once(self, key: Any, op: Op, args: tuple[Any, ...]) -> int:
        place = self.known.get(key)
        if place is None:
            place = self.known[key] = len(self.ops)
            self.ops.append(op)
            self.args.append(args)
        return place

    def number(self, place: int) -> float | None:
        """The number at a place, if it is a constant."""
        return self.args[place][0] if self.ops[place] is CONST else None

    def region(self, op: Region, args: Sequence[int]) -> list[int]:
        """The places of the results of a region over args."""
        place = self.emit(op, tuple(args))
        return [self.emit(result(k), (place,)) for k in range(op.results)]

    def choose(self, condition: int, args: Sequence[int], then: Tape, otherwise: Tape) -> list[int]:
        """The places of the results of one of two tapes over args."""
        return self.region(Choose(then, otherwise), (condition, *args))

    def loop(
        self,
        body: Tape,
        carry: Sequence[int] = (),
        invariants: Sequence[int] = (),
        over: Sequence[int] = (),
        iterations: int | None = None,
        condition: Tape | None = None,
        reverse: bool = False,
    ) -> list[int]:
        """The places of the results of a loop: the carried values after it, then the arrays of what it stacks."""
        op = Loop(body, len(carry), len(invariants), iterations, condition, reverse)
        return self.region(op, (*carry, *invariants, *over))

    def emit(self, op: Op, args: tuple[int, ...]) -> int:
        """The place of op over args: an old one where there is one, else a new instruction."""
        ops = self.ops
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
                return self.const(op.value(self.args[args[0]][0]))
            if op.name == "neg" and ops[args[0]] is op:  # -(-x) is x
                return int(self.args[args[0]][0])
        elif op.llvm == "select" and ops[args[0]] is CONST:  # where(1.0, a, b) is a
            return args[1] if self.args[args[0]][0] else args[2]
        elif op.llvm == "select" and args[1] == args[2]:
            return args[1]
        elif isinstance(op, Projection) and ops[args[0]] is STACK:
            return int(self.args[args[0]][op.number])
        elif op is LOAD and ops[args[0]] is STACK and ops[args[1]] is CONST:
            items = self.args[args[0]]
            return int(items[min(max(int(self.args[args[1]][0]), 0), len(items) - 1)])
        elif op is LOAD and ops[args[0]] is STORE and self.args[args[0]][1] == args[1]:
            return int(self.args[args[0]][2])
        return self._once((op, args), op, args)

    def again(self, op: Op, args: tuple[int, ...]) -> int:
        """The place of an instruction of another tape, of which a derivative may be taken later.

        A `where` stays, even if its condition is a constant: it passes 0.0 * g on to the arm that is not chosen, which is nan
        if g is infinite or nan. A `pick` passes nothing on to it.
        """
        if op is WHERE:
            chosen = self.number(args[0])
            if chosen is None or self.ops[args[2] if chosen else args[1]] is not CONST:
                return self._once((op, args), op, args)
        return self.emit(op, args)

    def _with_constant(self, op: Op, a: int, b: int) -> int | None:
        x, y = self.number(a), self.number(b)
        if x is not None and y is not None:
            return self.const(op.value(x, y))
        if op.identity is not None:
            same = (lambda u, v: u == v) if self.fast else (lambda u, v: bits(u) == bits(v))
            if y is not None and same(y, op.identity):
                return a
            if x is not None and op.commutative and same(x, op.identity):
                return b
        if op.absorbing is not None and self.fast and op.absorbing in (x, y):
            return self.const(op.absorbing)
        if op.name == "mul" and -1.0 in (x, y):
            return self.emit(OPS["neg"], (b if x is not None else a,))
        return None
