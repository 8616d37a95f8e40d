"""Split a long tape into chunks, and decide what a chunk rematerializes instead of reading it from memory.

The reverse sweep of a simulation reads what the forward sweep made long before: some twenty values for each step of the
simulation. They do not fit into the near caches, and fetching one takes as long as several additions. So the schedule is
split into spans, at points where few values are live; a chunk that reads many values of a distant span computes them again
from the few values that enter that span.

A step of a schedule is one of

    ("compute", place)         run the instruction at this place of the tape
    ("rematerialize", place)   run it again; an earlier chunk has run it before
    ("keep", place)            store a value for code outside of the chunk
    ("guard",)                 check all guards
    ("out", k, place)          store result k
"""

from __future__ import annotations

from typing import Any

from micrograd.compile.schedule.cost import is_cheap
from micrograd.compile.tuning import TUNING
from micrograd.tape.tape import CONST, INPUT, PARAM, SOURCES, Tape

Step = tuple[Any, ...]
GUARD: Step = ("guard",)


def steps(tape: Tape) -> list[Step]:
    """Schedule a tape: guards as soon as their operands are there, and each result as soon as it is known to be valid."""
    last_guarded = max(tape.guarded(), default=-1)
    waiting: dict[int, list[int]] = {}
    for k, place in enumerate(tape.outputs):
        waiting.setdefault(max(place, last_guarded), []).append(k)
    schedule: list[Step] = []
    if tape.guards and last_guarded < 0:
        schedule.append(GUARD)
    for place, op in enumerate(tape.ops):
        if op not in (INPUT, PARAM, CONST):
            schedule.append(("compute", place))
        if place == last_guarded and tape.guards:
            schedule.append(GUARD)
        schedule += [("out", k, tape.outputs[k]) for k in waiting.get(place, ())]
    return schedule


def used(tape: Tape, step: Step) -> tuple[int, ...]:
    """The places that a step reads."""
    if step[0] == "out":
        return (step[2],)
    if step[0] == "guard":
        return tuple(tape.guarded())
    return tape.args[step[1]]


def spans(tape: Tape, schedule: list[Step], near: int) -> list[list[Step]]:
    """Split a schedule into spans, at points where the fewest values are live.

    A value is live from a step that makes or reads it to the next step that reads it, if that follows within `near` steps.
    """
    change = [0] * (len(schedule) + 1)  # of the number of live values, before each step
    last: dict[int, int] = {}
    for at, step in enumerate(schedule):
        for place in used(tape, step):
            since = last.get(place)
            if since is None:
                continue  # a source
            if at <= since + near:
                change[since + 1] += 1
                change[at + 1] -= 1
            last[place] = at
        if step[0] == "compute":
            last[step[1]] = at
    live, total = [], 0
    for c in change:
        total += c
        live.append(total)
    found, start = [], 0
    shortest, longest, count = TUNING.shortest_span, TUNING.longest_span, len(schedule)
    while start < count:
        ends = range(min(start + shortest, count), min(start + longest, count) + 1)
        end = count if count - start <= shortest else min(ends, key=live.__getitem__)
        found.append(schedule[start:end])
        start = end
    return found


def chunks(tape: Tape, spans: list[list[Step]], size: int) -> list[list[Step]]:
    """Join spans to chunks of about `size` steps; where there is a choice, so that the next chunk begins as this one did.

    The chunks of an unrolled loop are then whole iterations, and have the same form.
    """
    shapes = [tuple([tape.ops[s[1]] if s[0] == "compute" else s[0] for s in span]) for span in spans]
    found: list[list[Step]] = []
    start = 0
    while start < len(spans):
        count, end, best = 0, start, 0
        while end < len(spans) and (end == start or count + len(spans[end]) <= size):
            count += len(spans[end])
            end += 1
            if end < len(spans) and shapes[end] == shapes[start] and 2 * count >= size:
                best = end
        if best and end < len(spans):
            end = best
        found.append([step for span in spans[start:end] for step in span])
        start = end
    return found


def live_out(tape: Tape, chunks: list[list[Step]]) -> tuple[dict[int, int], dict[int, int]]:
    """The chunk that makes each value; and for the values that leave their chunk, the last chunk that reads them."""
    made_in: dict[int, int] = {}
    last_in: dict[int, int] = {}
    for number, chunk in enumerate(chunks):
        here = set()
        for step in chunk:
            for a in used(tape, step):
                if made_in.get(a, number) != number and a not in here:
                    last_in[a] = number
            if step[0] == "compute":
                made_in[step[1]] = number
            elif step[0] == "rematerialize":
                here.add(step[1])
    return made_in, last_in


def slots(made_in: dict[int, int], last_in: dict[int, int], chunks: int) -> dict[int, int]:
    """Give each live-out a slot of scratch memory; a slot is free again after the last chunk that reads it.

    Less memory means that more of it stays in the nearest cache: the 48,000 live-outs of a transformer's training step fit into
    7,200 slots.
    """
    free: list[int] = []
    released: list[list[int]] = [[] for _ in range(chunks + 1)]  # the slots that are free from that chunk on
    found: dict[int, int] = {}
    count = chunk = 0
    for place in sorted(last_in):
        while chunk < made_in[place]:
            chunk += 1
            free += released[chunk]
        if free:
            found[place] = free.pop()
        else:
            found[place] = count
            count += 1
        released[last_in[place] + 1].append(found[place])
    return found


def _rounded_once(tape: Tape) -> set[int]:
    """The places that more than sums and products read: guards, comparisons, quotients, functions.

    Where products and sums may be fused, a value that is computed twice may differ by a rounding. That is harmless unless a
    comparison then has another outcome than in the forward sweep, or a quotient changes its sign.
    """
    places = set(tape.guarded())
    for op, args in zip(tape.ops, tape.args):
        if op not in SOURCES and not is_cheap(op):
            places.update(args)
    return places


def rematerialize(tape: Tape, spans: list[list[Step]], chunks: list[list[Step]]) -> list[list[Step]]:
    """The chunks, with ("rematerialize", place) where a distant value is cheaper to compute again than to keep."""
    span_of: dict[int, int] = {}
    for number, span in enumerate(spans):
        span_of.update((step[1], number) for step in span if step[0] == "compute")
    chunk_of: dict[int, int] = {}
    readers: dict[int, list[int]] = {}  # the chunks that read a place from a distance
    kept = _rounded_once(tape)
    for number, chunk in enumerate(chunks):
        for step in chunk:
            for place in used(tape, step):
                if number - chunk_of.get(place, number) < TUNING.far_chunks:
                    continue
                known = readers.setdefault(place, [])
                if not known or known[-1] != number:
                    known.append(number)
                if step[0] != "compute":
                    kept.add(place)
            if step[0] == "compute":
                chunk_of[step[1]] = number
    kept.update([place for place, those in readers.items() if len(those) > TUNING.far_readers])
    chosen: dict[tuple[int, int], dict[int, None]] = {}  # (chunk, span) -> what that chunk rematerializes of that span
    for number in range(len(spans) - 1, -1, -1):  # from the end: what a span needs is known before its operands' spans
        wanted: dict[int, list[int]] = {}
        for step in spans[number]:
            if step[0] == "compute" and step[1] not in kept and is_cheap(tape.ops[step[1]]):
                for reader in readers.get(step[1], ()):
                    wanted.setdefault(reader, []).append(step[1])
        slices = {reader: _slice(tape, places, number, span_of, kept) for reader, places in wanted.items()}
        saved = {place for places in wanted.values() for place in places}
        entering = {place for _, leaves in slices.values() for place in leaves} - kept
        gain = len(saved) - sum([place not in readers for place in entering])
        if gain > 0 and sum([len(places) for places, _ in slices.values()]) <= TUNING.rematerialize_price * gain:
            kept |= entering
            chosen.update({(reader, number): dict.fromkeys(places) for reader, (places, _) in slices.items()})
    return [_rematerialized(tape, number, chunk, span_of, chosen) for number, chunk in enumerate(chunks)]


def _slice(
    tape: Tape, wanted: list[int], number: int, span_of: dict[int, int], kept: set[int]
) -> tuple[list[int], set[int]]:
    """What of a span must be computed for the wanted places, in order, and the places that it is computed from."""
    found, leaves, open_ = set(wanted), set(), list(wanted)
    while open_:
        for place in tape.args[open_.pop()]:
            if place in found or tape.ops[place] in SOURCES:
                continue
            if span_of[place] == number and place not in kept and is_cheap(tape.ops[place]):
                found.add(place)
                open_.append(place)
            else:
                leaves.add(place)
    return sorted(found), leaves


def _rematerialized(
    tape: Tape, number: int, chunk: list[Step], span_of: dict[int, int], chosen: dict[tuple[int, int], dict[int, None]]
) -> list[Step]:
    """A chunk with what it rematerializes in front of the first step that reads any of it."""
    found: list[Step] = []
    there: set[int] = set()
    for step in chunk:
        for place in used(tape, step):
            span = span_of.get(place)
            if span is not None and (number, span) in chosen and place not in there:
                places = chosen[number, span]
                if place in places:
                    found += [("rematerialize", p) for p in places]
                    there.update(places)
        found.append(step)
    return found
