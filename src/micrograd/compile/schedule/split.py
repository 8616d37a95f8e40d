"""Where a long tape is cut into pieces, and what a piece computes again rather than read it from memory.

A reverse sweep reads what the forward sweep made long ago: of a simulation, some twenty values a step, of all steps. They
do not fit into the near caches, and fetching one takes as long as several additions. So the tape is cut into spans, where
few values are in use; a piece that reads many values of a span far back computes them again, from the few that enter it.
"""

from __future__ import annotations

from typing import Any

from micrograd.tape.tape import SOURCES, Tape

# What each piece does, in order: ("do", place), ("again", place), ("guard",) and ("out", k, place).
Step = tuple[Any, ...]

SHORTEST, LONGEST = 16, 64  # steps of a span: up to 128 or 256 took 3 % more
FAR = 4  # pieces between two: what lies less far back is in a near cache still
READERS = 2  # a value that more pieces read from afar is kept
PRICE = 4  # steps that may be done again for each value that then need not be kept

# What may be computed again: one instruction of a few cycles each. Where products and sums may be fused, the second time can
# differ from the first by a rounding. That is as good, unless a comparison would then go another way than in the first sweep or
# a quotient change its sign: so only what sums and products alone read is computed again.
CHEAP = ("fadd", "fsub", "fmul", "fneg")


def used(tape: Tape, step: Step) -> tuple[int, ...]:
    """The places that a step reads."""
    if step[0] == "out":
        return (step[2],)
    if step[0] == "guard":
        return tuple(tape.guarded())
    return tape.args[step[1]]


def spans(tape: Tape, plan: list[Step], near: int) -> list[list[Step]]:
    """The plan in parts of SHORTEST to LONGEST steps, cut where the fewest values are in use.

    A value is in use from one step that makes or reads it to the next, if that follows within `near` steps.
    """
    change = [0] * (len(plan) + 1)  # of the number of values in use, before each step
    last: dict[int, int] = {}
    for at, step in enumerate(plan):
        for place in used(tape, step):
            since = last.get(place)
            if since is None:
                continue  # a source
            if at <= since + near:
                change[since + 1] += 1
                change[at + 1] -= 1
            last[place] = at
        if step[0] == "do":
            last[step[1]] = at
    in_use, total = [], 0
    for c in change:
        total += c
        in_use.append(total)
    found, start = [], 0
    while start < len(plan):
        ends = range(min(start + SHORTEST, len(plan)), min(start + LONGEST, len(plan)) + 1)
        end = len(plan) if len(plan) - start <= SHORTEST else min(ends, key=in_use.__getitem__)
        found.append(plan[start:end])
        start = end
    return found


def pieces(tape: Tape, parts: list[list[Step]], size: int) -> list[list[Step]]:
    """Parts put together to about `size` steps; if there is a choice, so that the next piece begins as this one began.

    Pieces of a loop are then whole turns of it, and do the same.
    """
    shapes = [tuple([tape.ops[s[1]] if s[0] == "do" else s[0] for s in part]) for part in parts]
    found: list[list[Step]] = []
    start = 0
    while start < len(parts):
        steps, end, best = 0, start, 0
        while end < len(parts) and (end == start or steps + len(parts[end]) <= size):
            steps += len(parts[end])
            end += 1
            if end < len(parts) and shapes[end] == shapes[start] and 2 * steps >= size:
                best = end
        if best and end < len(parts):
            end = best
        found.append([step for part in parts[start:end] for step in part])
        start = end
    return found


def crossing(tape: Tape, cut: list[list[Step]]) -> tuple[dict[int, int], dict[int, int]]:
    """The piece that makes each value; and of values that one piece makes and another reads, the last piece that does."""
    made_in: dict[int, int] = {}
    last_in: dict[int, int] = {}
    for number, piece in enumerate(cut):
        here = set()
        for step in piece:
            for a in used(tape, step):
                if made_in.get(a, number) != number and a not in here:
                    last_in[a] = number
            if step[0] == "do":
                made_in[step[1]] = number
            elif step[0] == "again":
                here.add(step[1])
    return made_in, last_in


def _rounded_once(tape: Tape) -> set[int]:
    """The places that more than sums and products read: guards, comparisons, quotients, functions."""
    places = set(tape.guarded())
    for op, args in zip(tape.ops, tape.args):
        if op not in SOURCES and not op.llvm.startswith(CHEAP):
            places.update(args)
    return places


def again(tape: Tape, parts: list[list[Step]], cut: list[list[Step]]) -> list[list[Step]]:
    """The pieces, with ("again", place) where a value made far away is cheaper to make than to keep."""
    span_of: dict[int, int] = {}
    for number, part in enumerate(parts):
        span_of.update((step[1], number) for step in part if step[0] == "do")
    piece_of: dict[int, int] = {}
    readers: dict[int, list[int]] = {}  # the pieces that read a place from afar
    kept = _rounded_once(tape)
    for number, piece in enumerate(cut):
        for step in piece:
            for place in used(tape, step):
                if number - piece_of.get(place, number) < FAR:
                    continue
                known = readers.setdefault(place, [])
                if not known or known[-1] != number:
                    known.append(number)
                if step[0] != "do":
                    kept.add(place)
            if step[0] == "do":
                piece_of[step[1]] = number
    kept.update([place for place, pieces in readers.items() if len(pieces) > READERS])
    chosen: dict[tuple[int, int], dict[int, None]] = {}  # (piece, span) -> what that piece computes again of that span
    for number in range(len(parts) - 1, -1, -1):  # from the end: what a span needs is then known before its own span is
        wanted: dict[int, list[int]] = {}
        for step in parts[number]:
            if step[0] == "do" and step[1] not in kept and _cheap(tape, step[1]):
                for reader in readers.get(step[1], ()):
                    wanted.setdefault(reader, []).append(step[1])
        slices = {reader: _slice(tape, places, number, span_of, kept) for reader, places in wanted.items()}
        saved = {place for places in wanted.values() for place in places}
        entering = {place for _, leaves in slices.values() for place in leaves} - kept
        gain = len(saved) - sum([place not in readers for place in entering])
        if gain > 0 and sum([len(places) for places, _ in slices.values()]) <= PRICE * gain:
            kept |= entering
            chosen.update({(reader, number): dict.fromkeys(places) for reader, (places, _) in slices.items()})
    return [_with_again(tape, number, piece, span_of, chosen) for number, piece in enumerate(cut)]


def _cheap(tape: Tape, place: int) -> bool:
    return tape.ops[place].llvm.startswith(CHEAP)


def _slice(
    tape: Tape, wanted: list[int], number: int, span_of: dict[int, int], kept: set[int]
) -> tuple[list[int], set[int]]:
    """What of a span must be computed for the wanted places, in order, and what it is computed from."""
    found, leaves, open_ = set(wanted), set(), list(wanted)
    while open_:
        for place in tape.args[open_.pop()]:
            if place in found or tape.ops[place] in SOURCES:
                continue
            if span_of[place] == number and place not in kept and _cheap(tape, place):
                found.add(place)
                open_.append(place)
            else:
                leaves.add(place)
    return sorted(found), leaves


def _with_again(
    tape: Tape, number: int, piece: list[Step], span_of: dict[int, int], chosen: dict[tuple[int, int], dict[int, None]]
) -> list[Step]:
    """A piece with what it computes again in front of the first step that reads any of it."""
    found: list[Step] = []
    there: set[int] = set()
    for step in piece:
        for place in used(tape, step):
            span = span_of.get(place)
            if span is not None and (number, span) in chosen and place not in there:
                places = chosen[number, span]
                if place in places:
                    found += [("again", p) for p in places]
                    there.update(places)
        found.append(step)
    return found
