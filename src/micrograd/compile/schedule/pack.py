"""SLP packing: which instructions of one point are computed together in the lanes of a vector.

A loop that a trace has unrolled (over the neurons of a layer, or the positions of a text) is on the tape once for each
iteration, over different places. Here the iterations are found again:

    unit    an instruction, or a chain of additions with the products that nothing else reads: a·b + c·d + e, term by term in
            the order of the chain, so that no bit of the result changes; a term may be a product that is fused with its sum
    level   units of one kind that can be computed at a time, so that they do not depend on each other
    run     units of one level with the same operations over evenly spaced places: each operand is the same in all of them, or
            moves on by a fixed number of places; their results get consecutive places
    pack    as much of a run as a vector has lanes

Places are renumbered by their position in memory: scratch, parameters, inputs, constants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any, NamedTuple

from micrograd.compile.schedule.cost import is_call
from micrograd.compile.tuning import TUNING
from micrograd.ops import OPS, Op
from micrograd.tape.tape import CONST, INPUT, PARAM, Tape

ADD, MUL, FMA = OPS["add"], OPS["mul"], OPS["fma"]
FUSED = 3  # as the length of a term

# Where things lie: a number for each place in scratch, among the params, the inputs and the constants.
PARAMS, INPUTS, CONSTS = 1 << 40, 2 << 40, 3 << 40


Regular = tuple[int, int]  # where the first lane lies, and how far the next one is


class Scattered(tuple[int, ...]):
    """The places of the lanes of an operand that are not evenly spaced."""


Operand = Regular | Scattered

# The op over its places; for a chain, in place of the op, the lengths of its terms: 1 is a place, 2 a product, and FUSED a
# product that is added to the terms before it in one rounding.
Unit = tuple[Any, tuple[int, ...]]
Run = tuple[list[int], Any, list[Operand]]  # the places of the results, what is done, over what


class Pack(NamedTuple):
    """Equal units in the lanes of a vector; their results lie at `to`, `to + 1`, …"""

    roots: list[int]  # the places on the tape
    how: Any
    operands: list[Operand]
    to: int


class PackedSchedule(NamedTuple):
    """The packed schedule: strips of packs with the same operations; a strip reads only what earlier strips have computed."""

    strips: list[list[Pack]]
    floors: list[int]  # for each strip: everything below this slot of scratch has been computed by then
    where: list[int]  # place on the tape -> where it lies
    constants: list[float]
    slots: int  # in scratch
    cost: float
    scalar_cost: float


def units(tape: Tape) -> dict[int, Unit]:
    """Return each unit by the place of its result: its operation, and the places that it reads."""
    ops, args = tape.ops, tape.args
    uses = [0] * len(ops)
    for op, row in zip(ops, args):
        if op is not CONST and op is not PARAM and op is not INPUT:
            for a in row:
                uses[a] += 1
    for place in tape.roots():
        uses[place] += 2
    taken = bytearray(len(ops))  # what is part of another unit
    found: dict[int, Unit] = {}
    for root in range(len(ops) - 1, -1, -1):
        op = ops[root]
        if taken[root] or op is CONST or op is PARAM or op is INPUT:
            continue
        if op is not ADD and op is not FMA:
            found[root] = op, _ordered(ops, args[root]) if op.commutative else args[root]
            continue
        terms: list[tuple[int, tuple[int, ...]]] = []  # their lengths and operands, the last one first
        at = root
        while at >= 0:
            link = at
            if ops[at] is FMA:
                a, b, rest = args[at]
                terms.append((FUSED, _ordered(ops, (a, b))))
                at = rest if _goes_on(ops, uses, rest, terms) else -1
            else:
                rest, b = args[at]
                if not _goes_on(ops, uses, rest, terms) and _goes_on(ops, uses, b, terms):
                    rest, b = b, rest
                at = rest if _goes_on(ops, uses, rest, terms) else -1
                if at < 0 and _first(ops, uses, b) < _first(ops, uses, rest):
                    rest, b = b, rest
                terms.append(_term(ops, args, uses, taken, b))
            if at < 0:
                terms.append(_term(ops, args, uses, taken, rest))
            if link != root:
                taken[link] = 1
        terms.reverse()
        found[root] = bytes([length for length, _ in terms]), tuple([a for _, operands in terms for a in operands])
    return dict(sorted(found.items()))


def _goes_on(ops: Sequence[Op], uses: list[int], place: int, terms: list[Any]) -> bool:
    """Whether a chain goes on with the sum at a place."""
    return (ops[place] is ADD or ops[place] is FMA) and uses[place] == 1 and len(terms) < TUNING.longest_chain


def _first(ops: Sequence[Op], uses: list[int], place: int) -> tuple[bool, int]:
    """What decides which of two operands is the first term of a chain."""
    return uses[place] == 1 and ops[place] is MUL, _rank(ops[place])


def _term(
    ops: Sequence[Op], args: Sequence[Any], uses: list[int], taken: bytearray, place: int
) -> tuple[int, tuple[int, ...]]:
    """A term of a chain, its length and operands: a place, or a product that nothing else reads."""
    if ops[place] is MUL and uses[place] == 1:
        taken[place] = 1
        return 2, _ordered(ops, args[place])
    return 1, (place,)


def levels(all_units: dict[int, Unit]) -> list[list[int]]:
    """Units level by level: of what can be computed, all units of one kind at a time, those of the least work first.

    The positions of a text, say, take turns of different lengths through attention. The long chains that follow, which fill the
    lanes best, wait until all positions are there: with the least level for each unit they would come one position at a time.
    """
    waits: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    ready: dict[Any, list[int]] = {}
    for root, (how, operands) in all_units.items():
        before = {a for a in operands if a in all_units}
        waits[root] = len(before)
        for a in before:
            readers.setdefault(a, []).append(root)
        if not before:
            ready.setdefault(how, []).append(root)
    numbers = {how: k for k, how in enumerate(dict.fromkeys(how for how, _ in all_units.values()))}
    heap = [(work(how), numbers[how], how) for how in ready]
    heapify(heap)
    found: list[list[int]] = []
    while heap:
        how = heappop(heap)[2]
        found.append(sorted(ready.pop(how)))
        for root in found[-1]:
            for reader in readers.get(root, ()):
                waits[reader] -= 1
                if not waits[reader]:
                    kind = all_units[reader][0]
                    if kind not in ready:
                        ready[kind] = []
                        heappush(heap, (work(kind), numbers[kind], kind))
                    ready[kind].append(reader)
    return found


def _ordered(ops: Sequence[Op], pair: tuple[int, int]) -> tuple[int, int]:
    """A pair of operands that may be exchanged, sources first: so that the same work is written the same way."""
    a, b = pair
    return (b, a) if _rank(ops[b]) < _rank(ops[a]) else pair


def _rank(op: Op) -> int:
    return 0 if op is CONST else 1 if op is PARAM or op is INPUT else 2


class _Layout:
    """Runs being formed, and places in scratch given to them."""

    def __init__(self, tape: Tape, lanes: int) -> None:
        self.tape, self.lanes = tape, lanes
        self.where = [-1] * len(tape)
        self.family: list[Any] = [None] * len(tape)  # the run of a place; what sources are
        self.constants: list[float] = []
        self.top = 0
        for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
            if op is PARAM:
                self.where[i], self.family[i] = PARAMS + args[0], "param"
            elif op is INPUT:
                self.where[i], self.family[i] = INPUTS + args[0], "input"
            elif op is CONST:
                self.where[i], self.family[i] = CONSTS + len(self.constants), ("const", i)
                self.constants.append(args[0])

    def runs(self, level: dict[int, Unit]) -> list[Run]:
        """The units of a level as runs: first among those made from the same runs, then among what is left."""
        where, family = self.where, self.family
        made: list[Run] = []
        alike: dict[Any, list[int]] = {}
        for root, (how, operands) in level.items():
            alike.setdefault((how, tuple([family[a] for a in operands])), []).append(root)
        left: dict[Any, list[int]] = {}
        for (how, _), roots in alike.items():
            for run in self.split(roots, level):
                if len(run[0]) > 1:
                    made.append(run)
                else:
                    left.setdefault(how, []).append(run[0][0])
        for roots in left.values():
            made += self.split(roots, level)
        made.sort(key=lambda run: run[0][0])
        for roots, _, _ in made:
            if len(roots) > 1:  # a vector is stored whole: what lies after its last lane must be nobody's
                self.round_up()
            first = self.top
            for root in roots:
                where[root], family[root] = self.top, first
                self.top += 1
            if len(roots) > 1:
                self.round_up()
        return made

    def round_up(self) -> None:
        self.top = -(-self.top // self.lanes) * self.lanes

    def split(self, roots: list[int], level: dict[int, Unit]) -> list[Run]:
        """Like units as runs, in the order of where their operands lie; or of the tape, where that fills many more lanes.

        The former lays out what follows alike: a transformer's step took a quarter less than with the cheaper of both.
        """
        if len(roots) == 1:
            return self.cut(roots, level)
        runs = self.cut(sorted(roots, key=lambda root: [self.where[a] for a in level[root][1]]), level)
        other = self.cut(roots, level) if self.packs(runs) > 1 else runs
        return other if self.packs(other) <= 0.6 * self.packs(runs) else runs

    def packs(self, runs: list[Run]) -> int:
        return sum(-(-len(roots) // self.lanes) for roots, _, _ in runs)

    def cut(self, roots: list[int], level: dict[int, Unit]) -> list[Run]:
        """Equal units in this order, split into runs where the spacing of their operands changes."""
        where = self.where
        runs: list[Run] = []
        at = 0
        while at < len(roots):
            how, operands = level[roots[at]]
            anywhere = not isinstance(how, bytes) and is_call(how)  # to gather operands costs less than a call
            first = before = [where[a] for a in operands]
            distances: list[int] = []
            strange: set[int] = set()  # operands that keep no distance
            rows = [first]
            while at + len(rows) < len(roots):
                here = [where[a] for a in level[roots[at + len(rows)]][1]]
                step = [b - a for a, b in zip(before, here)]
                if not distances:
                    if not anywhere and not _near(first, step):
                        break
                    distances = step
                elif step != distances:
                    more = strange | {k for k, (a, b) in enumerate(zip(step, distances)) if a != b}
                    if not anywhere and len(more) * TUNING.scattered_share > len(step):
                        break
                    strange = more
                rows.append(here)
                before = here
            if not anywhere and len(rows) < TUNING.shortest_run and not all(d in (0, 1) for d in distances):
                del rows[1:]
            found: list[Operand] = list(zip(first, distances or [0] * len(first)))
            for k in strange if len(rows) > 1 else ():
                found[k] = Scattered([row[k] for row in rows])
            runs.append((roots[at : at + len(rows)], how, found))
            at += len(rows)
        return runs


def _near(first: list[int], distances: list[int]) -> bool:
    """Whether at least half of the operands are the same, or next to each other, or sources."""
    good = sum(d == 0 or d == 1 or (a >= PARAMS and abs(d) < PARAMS // 2) for a, d in zip(first, distances))
    return 2 * good >= len(distances)


def work(how: Any) -> int:
    """Instructions of a unit."""
    return len(how) if isinstance(how, bytes) else TUNING.call_cost if is_call(how) else 1


def gathered(operand: Operand) -> bool:
    """Whether the lanes of an operand must be gathered one by one."""
    return isinstance(operand, Scattered) or (operand[1] not in (0, 1) and operand[0] < CONSTS)


def is_one(operand: Operand) -> bool:
    """Whether all lanes of an operand are one number."""
    return not isinstance(operand, Scattered) and operand[1] == 0


def lane(operand: Operand, j: int) -> int:
    """Where one lane of an operand lies."""
    return operand[j] if isinstance(operand, Scattered) else operand[0] + j * operand[1]


def part(operand: Operand, j: int, lanes: int) -> Operand:
    """An operand from lane j on."""
    return Scattered(operand[j : j + lanes]) if isinstance(operand, Scattered) else (lane(operand, j), operand[1])


def plan(tape: Tape, lanes: int, strip: int, worth: float = inf) -> PackedSchedule | None:
    """Packs of up to `lanes` units, in strips of up to `strip` packs.

    None where they cost more than `worth` of the scalar code; it is given up as soon as that is certain.
    """
    all_units = units(tape)
    in_levels = levels(all_units)
    best = [_full_packs([all_units[root][0] for root in level], lanes) for level in in_levels]
    least, most = sum(best), worth * sum([work(how) for how, _ in all_units.values()])
    layout = _Layout(tape, lanes)
    packs: list[list[Pack]] = []
    level_floors = []
    for level, cost_if_full in zip(in_levels, best):
        if least > most:
            return None
        least -= cost_if_full
        packs.append([])
        level_floors.append(layout.top)
        for roots, how, over in layout.runs({root: all_units[root] for root in level}):
            for j in range(0, len(roots), lanes):
                packs[-1].append(
                    Pack(roots[j : j + lanes], how, [part(o, j, lanes) for o in over], layout.where[roots[j]])
                )
                least += work(how)  # and what it takes to collect its operands
    layout.round_up()
    shared = Counter(
        o for together in packs for p in together if len(p.roots) > 1 for o in set(p.operands) if gathered(o)
    )
    cost = scalar_cost = 0.0
    strips: list[list[Pack]] = []
    floors: list[int] = []
    for packs_of_level, floor in zip(packs, level_floors):
        alike: dict[Any, list[Pack]] = {}
        for p in packs_of_level:
            n, one = len(p.roots), work(p.how)
            collecting = (
                sum(n * TUNING.gather_cost / shared[o] for o in set(p.operands) if gathered(o)) if n > 1 else 0.0
            )
            scalar_cost += n * one
            if n > 1 and one + collecting < 0.9 * n * one:
                cost += one + collecting
                alike.setdefault((p.how, True), []).append(p)
                continue
            cost += n * one
            for j, root in enumerate(p.roots):
                alike.setdefault((p.how, False), []).append(
                    Pack([root], p.how, [(lane(o, j), 0) for o in p.operands], p.to + j)
                )
        for same in alike.values():
            strips += [same[i : i + strip] for i in range(0, len(same), strip)]
        floors += [floor] * (len(strips) - len(floors))
    if cost > worth * scalar_cost:
        return None
    return PackedSchedule(strips, floors, layout.where, layout.constants, layout.top, cost, scalar_cost)


def _full_packs(kinds: list[Any], lanes: int) -> int:
    """The instructions of units of these kinds, if all packs were full."""
    return sum([-(-count // lanes) * work(how) for how, count in Counter(kinds).items()])
