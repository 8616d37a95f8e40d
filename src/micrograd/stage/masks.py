"""Masks: for which rows something holds, as a decision diagram over the comparisons that the program has made.

A mask is TRUE, FALSE or a node (atom, mask if it holds, mask if it does not). An atom is one comparison of Values. The newest
atom is on top, so that "still in the loop after iteration k" is one node over the same for iteration k - 1; with any other
order a loop of n iterations has n² nodes. Each node exists once, so equal masks are the same object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd import engine
from micrograd.ops import OPS
from micrograd.stage.errors import TooManyWays, Unsupported

WHERE = OPS["where"]
MAX_WORK = 150_000  # nodes that are looked at: about 1 s
SWAPPED = {"gt": "lt", "ge": "le"}  # a > b is b < a


class Mask:
    """One node of a decision diagram."""

    __slots__ = ("atom", "inverse", "no", "yes")

    def __init__(self, atom: int, yes: Any, no: Any) -> None:
        self.atom, self.yes, self.no = atom, yes, no
        self.inverse: Mask | None = None


TRUE, FALSE = Mask(-1, None, None), Mask(-1, None, None)
TRUE.inverse, FALSE.inverse = FALSE, TRUE


class Masks:
    """All masks of one staging, and the Values that they are made of."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[int, int, int], Mask] = {}
        self.atoms: list[Any] = []  # the comparison as a Value: 1.0 or 0.0
        self.levels: list[int] = []  # for each atom, the function being differentiated in which it was made
        self.stack = [0]  # those functions, from the outermost to the one that runs
        self.found: dict[Any, int] = {}
        self.work = 0
        self.crowded = False  # whether choices depend on each other in too many ways
        self.kept: list[Any] = []  # operands, so that their ids are not used again
        self.both: dict[tuple[int, int], Mask] = {}
        self.any: dict[tuple[int, int], Mask] = {}
        self.simple: dict[tuple[int, int], Mask] = {}
        self.values: list[dict[int, Any]] = [{}]  # one dict for each level

    def node(self, atom: int, yes: Mask, no: Mask) -> Mask:
        """The mask that is `yes` where the atom holds and `no` where it does not."""
        if yes is no:
            return yes
        key = (atom, id(yes), id(no))
        found = self.nodes.get(key)
        if found is None:
            found = self.nodes[key] = Mask(atom, yes, no)
        return found

    def compare(self, how: str, a: Any, b: Any) -> Mask:
        """The mask of one comparison, of Values or of a Value and a number."""
        if how in SWAPPED:
            how, a, b = SWAPPED[how], b, a
        if how == "ne":  # of nan too: a != b is not (a == b)
            return self.negate(self.compare("eq", a, b))
        keys = [id(x) if isinstance(x, engine.Value) else repr(float(x)) for x in (a, b)]
        key = (how, *keys)
        if key not in self.found or self.levels[self.found[key]] not in self.stack:
            self.found[key] = len(self.atoms)
            self.kept.append((a, b))
            self.atoms.append(engine.apply(OPS[how], a, b))
            self.levels.append(self.stack[-1])
        return self.node(self.found[key], TRUE, FALSE)

    def _count(self) -> None:
        self.work += 1
        if self.work > MAX_WORK:
            self.crowded = True
            raise TooManyWays("the choices depend on each other in too many ways")

    def negate(self, a: Mask) -> Mask:
        """Where a does not hold."""
        if a.inverse is None:
            waiting = [a]
            while waiting:
                top = waiting[-1]
                missing = [x for x in (top.yes, top.no) if x.inverse is None]
                if missing:
                    waiting += missing
                    continue
                waiting.pop()
                if top.inverse is None:
                    top.inverse = self.node(top.atom, top.yes.inverse, top.no.inverse)
                    top.inverse.inverse = top
        assert a.inverse is not None
        return a.inverse

    def both_of(self, a: Mask, b: Mask) -> Mask:
        """Where a and b hold."""
        if a is b or b is TRUE:
            return a
        if a is TRUE:
            return b
        if a is FALSE or b is FALSE or a.inverse is b:
            return FALSE
        return self._combine(self.both, self.both_of, a, b)

    def either(self, a: Mask, b: Mask) -> Mask:
        """Where a or b holds."""
        if a is b or b is FALSE:
            return a
        if a is FALSE:
            return b
        if a is TRUE or b is TRUE or a.inverse is b:
            return TRUE
        return self._combine(self.any, self.either, a, b)

    def _combine(self, known: dict[tuple[int, int], Mask], how: Callable[[Mask, Mask], Mask], a: Mask, b: Mask) -> Mask:
        """Combine two masks by combining what they are where their highest atom holds, and where it does not."""
        key = (id(a), id(b)) if id(a) < id(b) else (id(b), id(a))
        found = known.get(key)
        if found is None:
            self._count()
            top = a.atom if a.atom > b.atom else b.atom
            a1, a0 = (a.yes, a.no) if a.atom == top else (a, a)
            b1, b0 = (b.yes, b.no) if b.atom == top else (b, b)
            found = known[key] = self.node(top, how(a1, b1), how(a0, b0))
        return found

    def without(self, a: Mask, b: Mask) -> Mask:
        """Where a holds and b does not."""
        return self.both_of(a, self.negate(b))

    def restrict(self, a: Mask, care: Mask) -> Mask:
        """A mask that is a where `care` holds, and whatever is simplest elsewhere."""
        if care is TRUE or a is TRUE or a is FALSE:
            return a
        if care is FALSE or a is care:
            return TRUE
        key = (id(a), id(care))
        found = self.simple.get(key)
        if found is None:
            self._count()
            if care.atom > a.atom:
                found = self.restrict(a, self.either(care.yes, care.no))
            elif a.atom > care.atom:
                found = self.node(a.atom, self.restrict(a.yes, care), self.restrict(a.no, care))
            elif care.yes is FALSE:
                found = self.restrict(a.no, care.no)
            elif care.no is FALSE:
                found = self.restrict(a.yes, care.yes)
            else:
                found = self.node(a.atom, self.restrict(a.yes, care.yes), self.restrict(a.no, care.no))
            self.simple[key] = found
        return found

    def value(self, a: Mask) -> Any:
        """The mask as a Value of 1.0 and 0.0."""
        waiting = [a]
        while waiting:
            top = waiting[-1]
            if self._known(top) is not None:
                waiting.pop()
                continue
            missing = [x for x in (top.yes, top.no) if self._known(x) is None]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if self.levels[top.atom] not in self.stack:
                raise Unsupported("a choice made inside a differentiated function is used outside of it")
            atom = self.atoms[top.atom]
            plain = top.yes is TRUE and top.no is FALSE
            made = atom if plain else engine.apply(WHERE, atom, self._known(top.yes), self._known(top.no))
            self.values[-1][id(top)] = made
        return self._known(a)

    def _known(self, a: Mask) -> Any:
        if a is TRUE:
            return 1.0
        if a is FALSE:
            return 0.0
        for level in self.values:
            if id(a) in level:
                return level[id(a)]
        return None
