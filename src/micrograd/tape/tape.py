"""The tape: a function as a list of instructions, each made from earlier ones.

    tape    = line*
    line    = "%" n "=" op operand*          one instruction; operands are earlier places
            | "%" n "=" "input" k            the k-th number of the arguments (of a region's body: its k-th input)
            | "%" n "=" "param" k            the k-th captured Value: its .data at the time of the call
            | "%" n "=" "const" number
            | "%" n "=" "pick" "%" c "%" a "%" b     a where c is not 0.0, else b; no derivative passes through the other one
            | "%" n "=" "stack" ("%" a)*             an array of numbers, or of arrays of one shape
            | "%" n "=" "element" "%" a k            element k of an array
            | "%" n "=" "pad" "%" a k                an array of numbers, with zeros behind them up to length k
            | "%" n "=" "load" "%" a "%" i           element number %i of an array
            | "%" n "=" "bump" "%" a "%" i "%" x     the array with %x added to element number %i
            | "%" n "=" "store" "%" a "%" i "%" x    the array with %x in place of element number %i
            | "%" n "=" "result" "%" r k             result k of the region at place r
            | "%" n "=" region
            | "guard" comparison "%" a "%" b "is" ("true" | "false")      the way that an `if` went
            | "return" ("%" n)*
    region  = "choose" "%" c ("%" a)* "then" body "else" body
            | "loop" [iterations] ["reverse"] ["carry" ("%" a)*] ["with" ("%" a)*] ["over" ("%" a)*] ["while" body] "do" body
    body    = "{" tape "}"                   on lines of their own

The index %i of `load`, `bump` and `store` is a whole number that is the same in all rows: it is made from constants and from
the numbers of iterations. An index before the first element or behind the last one stands for that element.

The bodies of a region are tapes of their own: they read nothing but their inputs, and have no params and no guards.

`choose` runs its first body if %c is not 0.0, else its second, on the operands behind %c. Its results are what they return.

`loop` runs `do` several times. Its inputs are the carried values, the invariants (`with`), one element of each array (`over`)
and the iteration number, counted from 0. It returns the carried values of the next iteration, and behind them what is stacked.
The results of the loop are the carried values after the last iteration, then an array of each stacked value, by iterations.

    iterations, no while    that many iterations; the arrays have that many elements
    while, no iterations    as long as the condition, a tape with the inputs of `do`, does not return 0.0
    both                    the same, but at most that many iterations; the arrays have that many elements
    neither                 as many iterations as the first array, which came out of a loop with a condition, has elements
    reverse                 the iterations are numbered, and elements taken and stacked, from the last to the first

`str(tape)` prints this, `text.parse` reads it, `check.check` says whether it makes sense.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from micrograd.ops import Op


def _not_an_op(*_: Any) -> float:
    raise TypeError("inputs, params, constants, arrays and regions are not computed by a rule of the table")


class _Named(Op):
    """An op of tapes alone, of which there is one object."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)


def _named(name: str) -> Op:
    return {op.name: op for op in (INPUT, PARAM, CONST, PICK, STACK, LOAD, BUMP, STORE)}[name]


# The operand of these is a number, not a place.
INPUT = _Named("input", _not_an_op, [])
PARAM = _Named("param", _not_an_op, [])
CONST = _Named("const", _not_an_op, [])
SOURCES = (INPUT, PARAM, CONST)

PICK = _Named(
    "pick",
    lambda c, a, b: a if c else b,
    [lambda c, a, b, y: 0.0, lambda c, a, b, y: 1.0, lambda c, a, b, y: 1.0],
    c="{0} != 0.0 ? {1} : {2}",
    llvm="select",
)

Guard = tuple[str, int, int, bool]
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


@dataclass(frozen=True)
class Tape:
    """A linear program that does not change: `ops[i]` over `args[i]` is place i."""

    inputs: int = 0
    params: int = 0
    ops: tuple[Op, ...] = ()
    args: tuple[tuple[Any, ...], ...] = ()
    outputs: tuple[int, ...] = ()
    guards: tuple[Guard, ...] = ()

    def __post_init__(self) -> None:
        for name in ("ops", "args", "outputs", "guards"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def __eq__(self, other: object) -> bool:
        """Whether both do the same, to the bit: the constants 0.0 and -0.0 are different."""
        if self is other:
            return True
        if not isinstance(other, Tape):
            return NotImplemented
        mine = self.inputs, self.params, self.ops, self.outputs, self.guards
        if mine != (other.inputs, other.params, other.ops, other.outputs, other.guards):
            return False
        pairs = zip(self.ops, self.args, other.args)
        return all(repr(a) == repr(b) if op is CONST else a == b for op, a, b in pairs)

    def __len__(self) -> int:
        return len(self.ops)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<tape of {len(self)} instructions: print it to see them>"

    def lines(self, indent: str = "") -> Iterable[str]:
        """The lines of the text, each behind `indent`."""
        for i, (op, args) in enumerate(zip(self.ops, self.args)):
            if isinstance(op, Region):
                yield from op.lines(f"{indent}%{i} = ", args, indent)
                continue
            operands = [repr(a) if op in SOURCES else f"%{a}" for a in args]
            if isinstance(op, Projection):
                operands.append(str(op.number))
            yield " ".join([f"{indent}%{i} = {op.name}", *operands])
        for how, a, b, went in self.guards:
            yield f"{indent}guard {how} %{a} %{b} is {str(went).lower()}"
        yield " ".join([f"{indent}return", *(f"%{i}" for i in self.outputs)])

    def copy(self, **changes: Any) -> Tape:
        """The same tape with some fields changed."""
        return replace(self, **changes)

    def roots(self) -> list[int]:
        """The places that must be computed: the outputs, and what the guards compare."""
        return [*self.outputs, *self.guarded()]

    def guarded(self) -> list[int]:
        """The places that the guards compare."""
        return [place for _, a, b, _ in self.guards for place in (a, b)]

    def remap(self, at: Any, ops: Iterable[Op], args: Iterable[tuple[Any, ...]], outputs: Any = None) -> Tape:
        """A tape of other instructions, in which `at[i]` does what place i does here: guards and outputs come along.

        With `outputs`, these places of the new tape are returned instead.
        """
        guards = [(how, at[a], at[b], went) for how, a, b, went in self.guards]
        if outputs is None:
            outputs = [at[o] for o in self.outputs]
        return Tape(self.inputs, self.params, tuple(ops), tuple(args), tuple(outputs), tuple(guards))

    def with_inputs(self, count: int) -> tuple[Tape, list[int]]:
        """The tape with so many more inputs, and their places."""
        rows = [(self.inputs + k,) for k in range(count)]
        ops, args = self.ops + (INPUT,) * count, self.args + tuple(rows)
        places = list(range(len(self), len(self) + count))
        return self.copy(inputs=self.inputs + count, ops=ops, args=args), places

    def size(self) -> int:
        """How many instructions there are, those in the bodies of regions included."""
        inside = [body.size() for op in self.ops if isinstance(op, Region) for body in op.bodies()]
        return len(self.ops) + sum(inside)

    def has_regions(self) -> bool:
        """Whether there is more than numbers made from numbers: regions, arrays."""
        return any(isinstance(op, Structural) for op in self.ops)


class Structural(Op):
    """An instruction whose operands or results are more than numbers: an array, a region, one of their parts."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name, _not_an_op, [], nary=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)


STACK = Structural("stack")
LOAD = Structural("load")
BUMP = Structural("bump")
STORE = Structural("store")


class Projection(Structural):
    """An instruction with a number: result k of a region, element k of an array, an array filled up to length k."""

    __slots__ = ("number",)

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return {"result": result, "element": element, "pad": pad}[self.name], (self.number,)


@cache
def result(number: int) -> Projection:
    """The op that takes one result of a region."""
    return Projection("result", number)


@cache
def element(number: int) -> Projection:
    """The op that takes one element of an array."""
    return Projection("element", number)


@cache
def pad(number: int) -> Projection:
    """The op that fills an array of numbers up with zeros, to this length."""
    return Projection("pad", number)


class Region(Structural):
    """An instruction with tapes inside. Regions that do the same are equal."""

    __slots__ = ("_hash",)

    @property
    def results(self) -> int:
        """How many results it has."""
        raise NotImplementedError

    def bodies(self) -> tuple[Tape, ...]:
        """The tapes inside."""
        raise NotImplementedError

    def with_bodies(self, bodies: Sequence[Tape]) -> Region:
        """The same region over other tapes, in the order of `bodies()`."""
        raise NotImplementedError

    def lines(self, start: str, args: Sequence[int], indent: str) -> Iterable[str]:
        """The text of one instruction."""
        raise NotImplementedError

    def key(self) -> tuple[Any, ...]:
        """What makes two regions of one class different."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self.key() == other.key())  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        if not hasattr(self, "_hash"):
            self._hash = hash(self.key())
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.key()


class Choose(Region):
    """Run one of two tapes on the operands behind the first, which says which."""

    __slots__ = ("then", "otherwise")

    def __init__(self, then: Tape, otherwise: Tape) -> None:
        super().__init__("choose")
        self.then, self.otherwise = then, otherwise

    @property
    def results(self) -> int:
        """How many results it has."""
        return len(self.then.outputs)

    def bodies(self) -> tuple[Tape, ...]:
        """The tapes inside."""
        return self.then, self.otherwise

    def with_bodies(self, bodies: Sequence[Tape]) -> Choose:
        """The same region over other tapes."""
        return Choose(*bodies)

    def key(self) -> tuple[Any, ...]:
        """What makes two of them different."""
        return self.then, self.otherwise

    def lines(self, start: str, args: Sequence[int], indent: str) -> Iterable[str]:
        """The text of one instruction."""
        yield start + " ".join(["choose", *(f"%{a}" for a in args), "then {"])
        yield from self.then.lines(indent + "  ")
        yield indent + "} else {"
        yield from self.otherwise.lines(indent + "  ")
        yield indent + "}"


class Loop(Region):
    """Run a tape several times; its operands are the carried values, the invariants and the arrays, in this order."""

    __slots__ = ("body", "carried", "invariants", "iterations", "condition", "reverse")

    def __init__(
        self,
        body: Tape,
        carried: int,
        invariants: int,
        iterations: int | None = None,
        condition: Tape | None = None,
        reverse: bool = False,
    ) -> None:
        super().__init__("loop")
        self.body, self.carried, self.invariants = body, carried, invariants
        self.iterations, self.condition, self.reverse = iterations, condition, reverse

    @property
    def results(self) -> int:
        """How many results it has: the carried values, then the arrays."""
        return len(self.body.outputs)

    @property
    def elements(self) -> int:
        """Over how many arrays it runs."""
        return self.body.inputs - 1 - self.carried - self.invariants

    def bodies(self) -> tuple[Tape, ...]:
        """The tapes inside."""
        return (self.body,) if self.condition is None else (self.body, self.condition)

    def with_bodies(self, bodies: Sequence[Tape]) -> Loop:
        """The same region over other tapes."""
        condition = bodies[1] if len(bodies) > 1 else None
        return Loop(bodies[0], self.carried, self.invariants, self.iterations, condition, self.reverse)

    def repeats(self) -> bool:
        """Whether it stacks constants and invariants, which are the same in each iteration."""
        body, last = self.body, self.body.inputs - 1
        if self.carried or self.elements or self.condition is not None:
            return False
        return all(op in SOURCES and not (op is INPUT and args[0] == last) for op, args in zip(body.ops, body.args))

    def key(self) -> tuple[Any, ...]:
        """What makes two of them different."""
        return self.body, self.carried, self.invariants, self.iterations, self.condition, self.reverse

    def groups(self, args: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """The operands by kind: carried values, invariants, arrays."""
        middle = self.carried + self.invariants
        return args[: self.carried], args[self.carried : middle], args[middle:]

    def run(
        self,
        args: Sequence[Any],
        goes_on: Callable[[list[Any]], bool],
        iteration: Callable[[list[Any]], Sequence[Any]],
    ) -> list[Any]:
        """The results of the loop, where `iteration` runs the body on its inputs, as long as `goes_on` says so of them."""
        carried, invariants, arrays = self.groups(args)
        count = self.iterations if self.iterations is not None or not arrays else len(arrays[0])
        if self.repeats() and count is not None:
            return [[x] * count for x in iteration([*invariants, 0.0])]
        stacked: list[list[Any]] = [[] for _ in range(self.results - self.carried)]
        done = 0
        while done != count:
            number = count - 1 - done if self.reverse and count is not None else done
            inputs = [*carried, *invariants, *(array[number] for array in arrays), float(number)]
            if not goes_on(inputs):
                break
            returned = iteration(inputs)
            carried = returned[: self.carried]
            for array, x in zip(stacked, returned[self.carried :]):
                array.append(x)
            done += 1
        return [*carried, *(array[::-1] if self.reverse else array for array in stacked)]

    def lines(self, start: str, args: Sequence[int], indent: str) -> Iterable[str]:
        """The text of one instruction."""
        words = ["loop"]
        if self.iterations is not None:
            words.append(str(self.iterations))
        if self.reverse:
            words.append("reverse")
        for word, group in zip(("carry", "with", "over"), self.groups(args)):
            words += [word, *(f"%{a}" for a in group)] if group else []
        if self.condition is None:
            yield start + " ".join([*words, "do {"])
        else:
            yield start + " ".join([*words, "while {"])
            yield from self.condition.lines(indent + "  ")
            yield indent + "} do {"
        yield from self.body.lines(indent + "  ")
        yield indent + "}"
