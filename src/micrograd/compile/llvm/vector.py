"""The LLVM text of one point whose instructions are packed into the lanes of vectors; schedule/pack.py decides which.

Every result is stored: those of a pack in a row, from where a later one takes them all, or one for all its lanes.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from micrograd.compile.llvm.build import Target
from micrograd.compile.llvm.emit import Access, IRText, hexadecimal
from micrograd.compile.schedule import pack
from micrograd.compile.schedule.pack import CONSTS, INPUTS, PARAMS, Operand, Pack, PackedSchedule, Scattered
from micrograd.ops import OPS
from micrograd.tape.tape import Tape

Key = tuple[Operand, int]  # an operand, and the width at which it is wanted


class PackedText(IRText):
    """The IR of a plan, being written."""

    def __init__(self, tape: Tape, target: Target, plan: PackedSchedule, order: list[int]) -> None:
        super().__init__(tape, target, [], True)
        self.plan, self.full = plan, target.bits // 64
        self.top, self.floor = plan.slots, 0
        self.lines_moved: dict[int, int] | None = None  # where the lines of scratch lie (reuse.py); None: as planned
        self.once: list[list[str]] = []  # what collects params, a list of lines each
        self.loaded: dict[tuple[Operand, int, int], str] = {}  # what the instruction at hand has loaded
        # Collected operands and how many of their lanes -> where in scratch.
        self.kept: dict[tuple[Operand, int], int] = {}
        # The level that is being written, and the first one at which each collected operand is there: a transposed square
        # also keeps operands that an earlier level has collected for itself.
        self.level = -1
        self.since: dict[tuple[Operand, int], int] = {}
        packs = [p for strip in plan.strips for p in strip]
        self.wanted = Counter((o, len(p.roots)) for p in packs if len(p.roots) > 1 for o in p.operands)
        self.read = {pack.lane(o, j) for p in packs for o in p.operands for j in range(len(p.roots))}
        self.read |= {plan.where[p] for p in tape.guarded()}
        self.outputs: dict[int, list[int]] = {}
        for k, place in zip(order, tape.outputs):  # where each result is written
            self.outputs.setdefault(place, []).append(k)

    def forget(self) -> None:
        """Begin a new function."""
        self.lines, self.names, self.masks, self.loaded = [], {}, {}, {}

    # ---- operands

    def flag(self, key: Any) -> str | None:
        """A pack of comparisons as i1; None for any other."""
        return self.masks.get(key)

    def number(self, at: int) -> str:
        """The number that lies there."""
        if at >= CONSTS:
            written = hexadecimal(x := self.plan.constants[at - CONSTS], False)
            self.literals[written] = x
            return written
        return self.fetch("double", 1, self.pointer(at))

    def fetch(self, kind: str, count: int, pointer: str) -> str:
        """Load so many doubles."""
        x = self.fresh()
        self.lines.append(Access.of(f"  {x} = load {kind}, ptr {pointer}, align 8", False, count, pointer))
        return x

    def put(self, kind: str, count: int, x: str, pointer: str) -> None:
        """Store so many doubles."""
        self.lines.append(Access.of(f"  store {kind} {x}, ptr {pointer}, align 8", True, count, pointer))

    def pointer(self, at: int) -> str:
        if at >= INPUTS:
            return self.address("%in", 8 * (at - INPUTS))
        return (
            self.address("%params", 8 * (at - PARAMS)) if at >= PARAMS else self.address("%scratch", 8 * self.moved(at))
        )

    def moved(self, at: int) -> int:
        """Where a place of the plan lies in scratch."""
        if self.lines_moved is None:
            return at
        return self.lines_moved[at // self.full] * self.full + at % self.full

    def get(self, key: Key) -> str:
        if key in self.names:
            return self.names[key]
        if key in self.masks:
            r = self.fresh()
            self.line(
                f"{r} = select {self.B} {self.masks[key]}, {self.T} {self.splat(1.0)}, {self.T} {self.splat(0.0)}"
            )
            self.names[key] = r
        else:
            exactly = (*key, self.lanes)  # the contents of lanes past these are arbitrary
            if exactly not in self.loaded:
                self.loaded[exactly] = self.load(key[0])
            return self.loaded[exactly]
        return self.names[key]

    def load(self, operand: Operand) -> str:
        if self.point:
            return self.number(operand[0])
        if isinstance(operand, Scattered):
            return self.collect(operand)
        at, distance = operand
        if distance == 0:
            if at >= CONSTS:
                return self.splat(self.plan.constants[at - CONSTS])
            return self.broadcast(self.number(at))
        if min(at, pack.lane(operand, self.lanes - 1)) >= CONSTS:  # the next lane may be an argument or a param
            numbers = [self.number(at + min(j, self.lanes - 1) * distance) for j in range(self.width)]
            return "<" + ", ".join(f"double {x}" for x in numbers) + ">"
        if self.is_whole(operand):
            return self.fetch(self.T, self.width, self.pointer(at))
        return self.collect(operand)

    def is_whole(self, operand: Operand) -> bool:
        """Whether the lanes of an operand lie side by side, and a vector does not reach past the memory that they are in."""
        at, end = operand[0], operand[0] + self.width
        inside = at < PARAMS or end <= (INPUTS + self.tape.inputs if at >= INPUTS else PARAMS + self.tape.params)
        return not isinstance(operand, Scattered) and operand[1] == 1 and inside

    def gathered_before(self, packs: list[Pack]) -> list[list[str]]:
        """Gather the operands of packs that are kept for later uses too; return the lines of each."""
        found: list[list[str]] = []
        self.shape(self.full)
        for p in packs:
            self.lanes = len(p.roots)
            for o in p.operands if self.lanes > 1 else ():
                constants = not isinstance(o, Scattered) and min(o[0], pack.lane(o, self.lanes - 1)) >= CONSTS
                if pack.is_one(o) or constants or self.is_whole(o) or (o, self.lanes) in self.kept:
                    continue
                if self.of_params(o) or self.wanted[o, self.lanes] > 1:
                    before, self.lines = self.lines, []
                    self.collect(o)
                    if self.lines[:-2]:
                        found.append(self.lines[:-2])  # without the load that collect() ends with
                    self.lines = before
        return found

    def recorded(self, packs: list[Pack]) -> list[str]:
        """The lines of a strip that reads all its operands from memory."""
        before = self.lines, self.names, self.masks, self.loaded
        self.lines, self.names, self.masks, self.loaded = [], {}, {}, {}
        self.strip(packs)
        found = self.lines
        self.lines, self.names, self.masks, self.loaded = before
        return found

    def collect(self, operand: Operand) -> str:
        """Gather the lanes of an operand one by one, and keep the vector for later uses. Parameters are gathered first."""
        key = operand, self.lanes
        if self.since.get(key, self.level) > self.level:
            return self.one_by_one(operand)
        if key not in self.kept:
            of_params = self.of_params(operand)
            if not of_params and self.wanted[key] == 1:
                return self.one_by_one(operand)
            lines = self.lines
            if of_params:
                self.lines = []
                self.once.append(self.lines)
            if not self.transposed(operand):
                self.remember(operand, self.one_by_one(operand))
            self.lines = lines
        return self.fetch(self.T, self.width, self.pointer(self.kept[key]))

    def of_params(self, operand: Operand) -> bool:
        """Whether all lanes are parameters."""
        return all(PARAMS <= pack.lane(operand, j) < INPUTS for j in range(self.lanes))

    def one_by_one(self, operand: Operand) -> str:
        result = "poison"
        for j in range(self.lanes):
            x, r = self.number(pack.lane(operand, j)), self.fresh()
            self.line(f"{r} = insertelement {self.T} {result}, double {x}, i64 {j}")
            result = r
        return result

    def transposed(self, operand: Operand) -> bool:
        """Collect this operand and its neighbours at once, where they are wanted too: the rows of a square become columns.

        Eight operands of eight lanes take 8 loads and 24 shuffles, instead of 64 loads and as many insertions.
        """
        W = self.width
        if isinstance(operand, Scattered) or self.lanes < W or operand[0] >= INPUTS:
            return False
        at, distance = operand
        neighbours: list[Operand] = [(at + j, distance) for j in range(W)]
        if not all(self.wanted[o, W] and (o, W) not in self.kept for o in neighbours):
            return False
        ends = [at, at + (W - 1) * distance]  # the rows are read whole: all of one memory, and all there by now
        limit = self.floor if at < PARAMS else PARAMS + self.tape.params
        if (min(ends) < PARAMS) != (at < PARAMS) or max(ends) + W > limit:
            return False
        rows = []
        for j in range(W):
            rows.append(self.fetch(self.T, W, self.pointer(at + j * distance)))
        step = 1
        while step < W:  # swap the halves of squares of twice the size
            mixed = list(rows)
            for i in range(W):
                if i & step:
                    continue
                for k, into in ((0, i), (step, i + step)):
                    lanes_of = [j & ~step | k if not j & step else W + (j & ~step | k) for j in range(W)]
                    mixed[into] = self.fresh()
                    indices = ", ".join(f"i32 {x}" for x in lanes_of)
                    self.line(
                        f"{mixed[into]} = shufflevector {self.T} {rows[i]}, {self.T} {rows[i + step]}, "
                        f"<{W} x i32> <{indices}>"
                    )
            rows, step = mixed, 2 * step
        for o, x in zip(neighbours, rows):
            self.remember(o, x)
        return True

    def remember(self, operand: Operand, x: str) -> None:
        self.kept[operand, self.lanes] = self.top
        self.since[operand, self.lanes] = -1 if self.of_params(operand) else self.level
        self.put(self.T, self.width, x, self.pointer(self.top))
        self.top += self.width

    # ---- packs

    def strip(self, packs: list[Pack]) -> None:
        """Write packs with the same operations, one term of each in turn, so that their sums do not wait for each other."""
        how, count = packs[0].how, max(len(p.roots) for p in packs)
        self.shape(self.full if count > 1 else None)
        W = self.width
        if not isinstance(how, bytes):
            for p in packs:
                self.loaded, self.lanes = {}, len(p.roots)
                to = self.key(p)
                with self.rounding(p.roots):
                    self.operate(to, how, [(o, W) for o in p.operands])
                self.finish(p, self.get(to))
            return
        totals: list[str] = []
        at = 0
        for length in how:
            self.loaded = {}
            width = 2 if length == pack.FUSED else length
            for i, p in enumerate(packs):
                self.lanes = len(p.roots)
                x = [self.get((o, W)) for o in p.operands[at : at + width]]
                if length == pack.FUSED:
                    totals[i] = self.fma(x[0], x[1], totals[i])
                    continue
                term = x[0] if length == 1 else self.write("mul", *x)
                if at == 0:
                    totals.append(term)
                else:
                    totals[i] = self.write("add", totals[i], term)
            at += width
        for p, total in zip(packs, totals):
            self.lanes = len(p.roots)
            self.names[self.key(p)] = total
            self.finish(p, total)

    def key(self, p: Pack) -> Key:
        """Return the operand that a later pack has if it reads exactly this pack."""
        return (p.to, 0 if self.point else 1), self.width

    def write(self, op: str, *operands: str) -> str:
        r = self.fresh()
        self.line(f"{r} = " + OPS[op].llvm.format(*operands, T=self.T, F=self.F))
        return r

    def fma(self, a: str, b: str, c: str) -> str:
        """a·b + c, rounded once."""
        r, declare = self.fresh(), f"declare {self.T} @llvm.fma.{self.S}({self.T}, {self.T}, {self.T})"
        self.declared[declare] = declare
        self.line(f"{r} = call {self.T} @llvm.fma.{self.S}({self.T} {a}, {self.T} {b}, {self.T} {c})")
        return r

    def guarded(self, status: str, compare: str, a: int, b: int, went: bool) -> str:
        """Return a status that is also nonzero if this comparison has another outcome than in the trace."""
        x, y = self.number(a), self.number(b)
        holds, number, both = self.fresh(), self.fresh(), self.fresh()
        self.line(f"{holds} = {compare} double {x}, {y}")
        failed = holds
        if went:
            failed = self.fresh()
            self.line(f"{failed} = xor i1 {holds}, true")
        self.line(f"{number} = zext i1 {failed} to i32")
        self.line(f"{both} = or i32 {status}, {number}")
        return both

    def finish(self, p: Pack, x: str) -> None:
        """Store what later packs read, and what the function returns."""
        count = len(p.roots)
        if any(p.to + j in self.read for j in range(count)):
            self.put(self.T, self.width, x, self.pointer(p.to))
        to = [self.outputs.get(root, []) for root in p.roots]
        if count == self.width > 1 and all(ks == [to[0][0] + j] if to[0] else False for j, ks in enumerate(to)):
            self.put(self.T, self.width, x, self.address("%out", 8 * to[0][0]))
            return
        for j, ks in enumerate(to):
            one = x
            if ks and not self.point:
                one = self.fresh()
                self.line(f"{one} = extractelement {self.T} {x}, i64 {j}")
            for k in ks:
                self.put("double", 1, one, self.address("%out", 8 * k))
