"""Who owns the memory of each array of a typed tape, so that it is changed in place, moved on, copied or given back.

Arrays are values: `store` leaves its operand as it was. In memory each array that the tape makes has one owner: the body that
defines it, or that has it as a carried value. An instruction that changes an array takes its memory over if nobody reads the
array afterwards, else it works on a copy. So does a loop with what it carries, and a body with what it yields. An `if` that is
the last to read an array hands it to both of its arms. What a body owns and nobody takes over is given back after its last
use. Arguments, constants and what a loop reads from outside are never owned.
"""

from __future__ import annotations

from micrograd.ir.dataflow import captured
from micrograd.ir.forms import CHANGES, Body, Place, Tape, is_array


class Ownership:
    """What happens to the memory of arrays."""

    def __init__(self, tape: Tape) -> None:
        # Operands whose memory is taken over: an instruction or a body, and the number of the operand or of the yield.
        self.moves: set[tuple[Place | Body, int]] = set()
        self.begins: dict[Body, list[Place]] = {}  # what a body gives back at its beginning
        self.ends: dict[Place, list[Place]] = {}  # what is given back after an instruction
        self._group: dict[Place, Place] = {}
        self._body(tape, [])

    def group(self, place: Place) -> Place:
        """Return the array that stands for all that may share memory with this one."""
        while place in self._group:
            place = self._group[place]
        return place

    def _join(self, a: Place, b: Place) -> None:
        a, b = self.group(a), self.group(b)
        if a is not b:
            self._group[a] = b

    def _body(self, body: Body, begin: list[Place]) -> None:
        """Plan a body, which owns some arrays when it begins."""
        owned = set(begin)
        reads = [self._reads(place) for place in body.code]
        last = {a: k for k, places in enumerate(reads) for a in places}
        last.update(dict.fromkeys(body.yields, len(body.code)))
        self.begins[body] = [a for a in begin if a not in last]
        for k, place in enumerate(body.code):
            ending = [a for a in dict.fromkeys(reads[k]) if a in owned and last[a] == k]
            taken = self._instruction(place, ending)
            made = [p for p in (place.results if place.bodies else [place]) if is_array(p.kind)]
            owned.update(made)
            self.ends[place] = [a for a in ending if a not in taken] + [p for p in made if p not in last]
        given: set[Place] = set()
        for n, y in enumerate(body.yields):
            if y in owned and y not in given:
                given.add(y)
                self.moves.add((body, n))

    def _reads(self, place: Place) -> list[Place]:
        if place.op == "size":
            return []  # the length of an array is a number of its own
        found = [a for a in place.args if is_array(a.kind)]
        if place.bodies:
            found += [q for q in captured(place.bodies) if is_array(q.kind)]
        return found

    def _instruction(self, place: Place, ending: list[Place]) -> set[Place]:
        """Plan an instruction, which is the last to read some arrays; returns those whose memory it takes over."""
        if place.op in CHANGES and place.args[0] in ending:
            self.moves.add((place, 0))
            self._join(place, place.args[0])
            return {place.args[0]}
        if place.op == "if":
            for inner in place.bodies:
                self._body(inner, ending)
                for n, (r, y) in enumerate(zip(place.results, inner.yields)):
                    if (inner, n) in self.moves:
                        self._join(r, y)
            return set(ending)
        if place.op == "loop":
            return self._loop(place, ending)
        return set()

    def _loop(self, place: Place, ending: list[Place]) -> set[Place]:
        (inner,) = place.bodies
        first = 1 if place.attr else 0
        taken: set[Place] = set()
        outside = captured(place.bodies)
        for n, (x, p) in enumerate(zip(place.args[first:], inner.params)):
            if x in ending and place.args.count(x) == 1 and x not in outside:
                self.moves.add((place, first + n))
                taken.add(x)
                self._join(p, x)
        self._body(inner, [p for p in inner.params if is_array(p.kind)])
        for n, (p, r) in enumerate(zip(inner.params, place.results)):
            if is_array(p.kind):
                self._join(r, p)
                if (inner, 1 + n) in self.moves:
                    self._join(inner.yields[1 + n], p)
        return taken
