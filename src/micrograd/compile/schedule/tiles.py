"""Tiles: sums over rows of products of pairs. The gradient of a weight matrix is Σ g·x over rows, for each g and each x.

Row by row, every such sum is read and written for two operations. Here a few vectors of rows first leave their g and x in
scratch; then a tile of sums (four g by four x) is read once, all those rows are added, and it is written once: each number
that is loaded serves four products. A network of 337 parameters took 64 ns a row before, and 48 with tiles.

Sums of single numbers, such as the gradient of a bias, Σ g, go with a tile that reads the number anyway: the processor adds
while it multiplies.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from micrograd.compile.schedule.split import Step, used
from micrograd.compile.tuning import TUNING
from micrograd.ops import OPS
from micrograd.tape.tape import CONST, PARAM, SOURCES, Tape

MUL = OPS["mul"]


class Tile(NamedTuple):
    """All products of two short lists of places, and the number of the sum of each; and sums of single places."""

    left: list[int]
    right: list[int]
    sums: list[list[int]]
    alone: list[tuple[int, int]]  # (place, number of its sum)

    def sums_of(self) -> list[tuple[int, int | None, int]]:
        """Each sum as (left place, right place or None, number)."""
        products = [(a, b, n) for a, row in zip(self.left, self.sums) for b, n in zip(self.right, row)]
        return products + [(place, None, n) for place, n in self.alone]


def find(tape: Tape, reduced: list[bool], numbers: list[int], registers: int) -> tuple[list[Tile], set[int]]:
    """The sums over rows as tiles of at most `registers` sums, and the places of products that nothing else reads.

    `numbers` has, for each output, its number among the sums.
    """
    reads = [a for op, args in zip(tape.ops, tape.args) if op not in SOURCES for a in args]
    uses = Counter([*reads, *tape.outputs])
    partners: dict[int, dict[int, tuple[int, int]]] = {}  # left -> right -> (number of the sum, place of the product)
    plain: list[tuple[int, int]] = []
    for k, place in enumerate(tape.outputs):
        if not reduced[k]:
            continue
        if tape.ops[place] is MUL and uses[place] == 1:
            right, left = tape.args[place]
            new = right not in partners.get(left, ())
            if new and all(tape.ops[a] not in (PARAM, CONST) for a in (left, right)):
                partners.setdefault(left, {})[right] = numbers[k], place
                continue
        plain.append((place, numbers[k]))
    alike: dict[tuple[int, ...], list[int]] = {}  # a list of right operands -> the left ones that go with all of it
    for left, others in partners.items():
        alike.setdefault(tuple(sorted(others)), []).append(left)
    found: list[Tile] = []
    products: set[int] = set()
    single: dict[int, list[int]] = {}  # a place -> the numbers of its sums
    for place, number in plain:
        single.setdefault(place, []).append(number)
    for rights, lefts in alike.items():
        high = min(len(lefts), max(4 if registers >= 16 else 2, registers // len(rights)))
        wide = max(1, registers // high)
        for i in range(0, len(lefts), high):
            for j in range(0, len(rights), wide):
                left_side, right_side = lefts[i : i + high], list(rights[j : j + wide])
                sums = [[partners[a][b][0] for b in right_side] for a in left_side]
                alone = _taken(single, [*left_side, *right_side], max(1, registers // 2))
                found.append(Tile(left_side, right_side, sums, alone))
                products.update(partners[a][b][1] for a in left_side for b in right_side)
    rest = [(place, number) for place, numbers_of in single.items() for number in numbers_of]
    for i in range(0, len(rest), registers):
        found.append(Tile([], [], [], rest[i : i + registers]))
    return found, products


def _taken(single: dict[int, list[int]], places: list[int], most: int) -> list[tuple[int, int]]:
    """Take at most so many of the sums of single places out of `single`: those of these places."""
    found: list[tuple[int, int]] = []
    for place in places:
        while place in single and len(found) < most:
            found.append((place, single[place].pop(0)))
            if not single[place]:
                del single[place]
    return found


def places(tiles: list[Tile]) -> list[int]:
    """What the tiles read, each place once."""
    return list(dict.fromkeys(p for tile in tiles for p in (*tile.left, *tile.right, *(a for a, _ in tile.alone))))


def steps(tape: Tape, schedule: list[Step], tiles: list[Tile], reduced: list[bool], products: set[int]) -> list[Step]:
    """What remains to be done for one vector of rows, with ("keep", place) for sources that the tiles read."""
    kept: list[Step] = [("keep", p) for p in places(tiles) if tape.ops[p] in SOURCES]
    in_tiles = [("out", k, place) for k, place in enumerate(tape.outputs) if reduced[k]]
    done = {*in_tiles, *(("compute", place) for place in products)}
    return kept + [step for step in schedule if step not in done]


def pieces(tape: Tape, steps: list[Step], kept: set[int]) -> list[list[Step]]:
    """Cut the steps where all values that are read later are kept for the tiles anyway, or are sources.

    Each piece runs for several vectors of rows before the next one: what ends a piece in a long chain, such as the score of a
    network, is then computed beside the beginning of the next vector, and fewer values wait in registers.
    """
    last = {a: at for at, step in enumerate(steps) for a in used(tape, step)}
    found: list[list[Step]] = [[]]
    waiting: set[int] = set()  # made in this piece, not kept, and read later
    for at, step in enumerate(steps):
        if len(found[-1]) >= TUNING.tiled_steps and not waiting and len(steps) - at >= TUNING.tiled_steps:
            found.append([])
        found[-1].append(step)
        waiting.difference_update([a for a in used(tape, step) if last[a] == at])
        if step[0] == "compute" and step[1] not in kept and step[1] in last:
            waiting.add(step[1])
    return found
