"""What is needed after a loop of the iteration in which it is left."""

from __future__ import annotations

from dataclasses import dataclass, field

from micrograd.abstract.objects import Objects
from micrograd.abstract.outcomes import Heap, Label, Way
from micrograd.abstract.values import Value, mapped
from micrograd.ir.builder import Scope
from micrograd.ir.forms import BOOL, I64, Body, Place


@dataclass
class Attempt:
    """One interpretation of the body of a loop."""

    scope: Scope
    k: Place
    params: list[Place]
    head: Heap
    ways: dict[Label, Way] = field(default_factory=dict)


class Exits:
    """What is needed after a loop of the iteration in which it is left: carried values, or more of them."""

    def __init__(self, machine: Objects, attempt: Attempt, following: list[Place]) -> None:
        self.m, self.b, self.attempt = machine, machine.b, attempt
        self.following = list(following)
        self.extra: list[Place] = []  # what is carried for this alone
        self.where: dict[
            tuple[Place, Label], int
        ] = {}  # the number of the result that a place becomes, for each way out
        self.used: dict[int, Place] = {}
        self.results: list[Place] = []

    def flag(self, flag: Place) -> Place:
        """Carry whether a way is taken."""
        self._extra(flag)
        return flag

    def noted(self, value: Value, flag: Place, label: Label) -> Value:
        """Carry what a value consists of, for one way out of the loop."""

        def note(p: Place) -> Place:
            self._carry(p, flag, label)
            return p

        mapped(value, note)
        return value

    def _inside(self, place: Place) -> bool:
        return place.op != "const" and not (self.b.visible(place) and self.b.home[place] is not self.attempt.scope.body)

    def _carry(self, place: Place, flag: Place, label: Label) -> None:
        if (place, label) in self.where or place in self.extra or not self._inside(place):
            return
        if place.kind == I64 and self._affine(place):
            return
        for number, following in enumerate(self.following):
            if following.kind != place.kind or self.used.get(number, place) is not place:
                continue
            if following is place:
                self.where[place, label], self.used[number] = number, place
                return
            if place.op == "param" and self.attempt.params[number] is not place:
                continue
            edits: list[tuple[Body, int, Place]] = []
            merged = _merged(self, following, place, flag, self.attempt.scope.body, edits)
            if merged is not None:
                for body, i, new in edits:
                    body.yields[i] = new
                self.following[number] = merged
                self.where[place, label], self.used[number] = number, place
                return
        self._extra(place)

    def _extra(self, place: Place) -> None:
        if place not in self.extra:
            self.extra.append(place)

    def _affine(self, place: Place) -> bool:
        """Return whether a place can be made after the loop from the number of iterations."""
        k, known = self.attempt.k, self.b.known
        terms = [known.places.get(number) for number, _ in known.of(place).terms]
        return all(t is k or (t is not None and not self._inside(t)) for t in terms)

    def place(self, place: Place, label: Label) -> Place:
        """Return the place after the loop of one that is carried."""
        if place.op == "const":
            return place
        if (place, label) in self.where:
            return self.results[self.where[place, label]]
        if place in self.extra:
            return self.results[len(self.following) + self.extra.index(place)]
        if self.b.visible(place):
            return place
        last = self.b.sum(self.results[-1], -1)
        hoisted = self.m.hoisted(place, self.attempt.k, last)
        assert hoisted is not None
        return hoisted

    def outside(self, value: Value, label: Label) -> Value:
        """Return a value as it is after the loop, if it is left in one way."""
        return mapped(value, lambda p: self.place(p, label))


def _merged(
    exits: Exits, going_on: Place, leaving: Place, flag: Place | None, body: Body, edits: list[tuple[Body, int, Place]]
) -> Place | None:
    """Return a place that is `going_on` where the loop goes on, and `leaving` where it is left; None where there is none.

    Both are results of branches, in whose arms a filler stands for what does not matter. `flag` says whether the loop is left.
    The edits change what the arms yield.
    """
    fillers = exits.m.fillers
    if going_on is leaving or leaving in fillers or (flag is not None and flag.op == "const" and not flag.attr):
        return going_on
    if going_on in fillers or (flag is not None and flag.op == "const" and flag.attr):
        return leaving
    if going_on.op != "result" or going_on.args[0].op != "if" or exits.b.home.get(going_on) is not body:
        return None
    branch = going_on.args[0]
    same_branch = leaving.op == "result" and leaving.args[0] is branch
    if not same_branch and not _defined_before(exits, leaving, branch, body):
        return None
    if going_on in (y for b, i, _ in edits for y in (b.yields[i],)):
        return None
    for side, arm in enumerate(branch.bodies):
        inner_flag = _flag_inside(flag, branch, side)
        left = arm.yields[leaving.attr] if same_branch else leaving
        new = _merged(exits, arm.yields[going_on.attr], left, inner_flag, arm, edits)
        if new is None:
            return None
        edits.append((arm, going_on.attr, new))
    return going_on


def _flag_inside(flag: Place | None, branch: Place, side: int) -> Place | None:
    """Return a flag as it is in an arm of a branch; None where that is not known."""
    if flag is None or flag.op == "const":
        return flag
    if flag.op == "result" and flag.args[0] is branch:
        inside: Place = branch.bodies[side].yields[flag.attr]
        return inside
    holds = None
    if flag is branch.args[0]:
        holds = side == 0
    elif flag.op == "not" and flag.args[0] is branch.args[0]:
        holds = side == 1
    return None if holds is None else Place("const", (), BOOL, holds)


def _defined_before(exits: Exits, place: Place, branch: Place, body: Body) -> bool:
    """Return whether a branch of a body can read a place."""
    if place.op in ("const", "param") or exits.b.home.get(place) is not body:
        return place.op in ("const", "param") or exits.b.visible(place)
    owner = place.args[0] if place.op == "result" else place
    for instruction in body.code:
        if instruction is branch:
            return False
        if instruction is owner:
            return True
    return False
