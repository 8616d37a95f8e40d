"""Leave out what no result needs: instructions, results of branches, and carried values of loops."""

from __future__ import annotations

from collections.abc import Iterable

from micrograd.ir.forms import Body, Place, Tape


def prune(tape: Tape) -> Tape:
    """Remove from a tape what nothing needs. The tape itself is changed, and returned."""
    found = _Needs()
    found.need(tape.yields)
    found.look_into(tape, ())
    found.pass_on()
    _sweep(tape, found)
    return tape


class _Needs:
    """What is needed: a place that is, passes it on to what it was made of; each place once, however deep the regions are."""

    def __init__(self) -> None:
        self.needed: set[Place] = set()
        self.waiting: list[Place] = []
        self.made_by: dict[Place, tuple[Place, int]] = {}  # of a result or a parameter: the region, and which one it is
        self.checked: set[Place] = set()  # regions with a check inside, which are needed for that alone
        self.entered: set[Place] = set()  # regions that run for any reason

    def need(self, places: Iterable[Place]) -> None:
        for place in places:
            if place not in self.needed:
                self.needed.add(place)
                self.waiting.append(place)

    def look_into(self, body: Body, around: tuple[Place, ...]) -> None:
        """Find out what makes which place, and what the checks need."""
        for place in body.code:
            if place.op == "check":
                self.need(place.args[:1])
                self.checked.update(around)
            for inner in place.bodies:
                self.look_into(inner, (*around, place))
            if place.bodies:
                made = [*place.results, *([] if place.op in ("if", "slopes") else place.bodies[0].params)]
                self.made_by.update((x, (place, k)) for k, x in enumerate(made))
                if place in self.checked:
                    self.enter(place)

    def enter(self, region: Place) -> None:
        """Need what a region needs to run at all."""
        if region in self.entered:
            return
        self.entered.add(region)
        if region.op == "slopes":
            self.need((*region.args, *region.bodies[0].yields))
        elif region.op == "if":
            self.need(region.args[:1])
        else:
            self.need(region.bodies[0].yields[:1])
            self.need(region.args[:1] if region.attr else ())

    def pass_on(self) -> None:
        """Follow all needs to their end."""
        while self.waiting:
            place = self.waiting.pop()
            region, k = self.made_by.get(place, (None, 0))
            if region is None:
                self.need(place.args)
                continue
            self.enter(region)
            if region.op == "if":
                self.need(inner.yields[k] for inner in region.bodies)
            elif region.op != "slopes":
                self._carry(region, k if k < len(region.results) else k - len(region.results))

    def _carry(self, region: Place, k: int) -> None:
        """Need a value that a loop carries: what it is at first, in an iteration, and after one. The last parameter counts."""
        (inner,) = region.bodies
        carried = region.args[1:] if region.attr else region.args
        if k < len(carried):
            self.need((carried[k], inner.params[k], inner.yields[1 + k]))


def _sweep(body: Body, found: _Needs) -> None:
    needed, code = found.needed, []
    for place in body.code:
        if not place.bodies:
            if place in needed or place.op == "check":
                code.append(place)
            continue
        if not (any(r in needed for r in place.results) or place in found.checked):
            continue
        if place.op == "if":
            kept = [k for k, r in enumerate(place.results) if r in needed]
            for inner in place.bodies:
                inner.yields = [inner.yields[k] for k in kept]
        elif place.op == "slopes":
            kept = list(range(len(place.results)))
        else:
            (inner,) = place.bodies
            first = 1 if place.attr else 0
            count = len(inner.params) - 1
            kept = [k for k in range(count) if place.results[k] in needed or inner.params[k] in needed]
            place.args = (*place.args[:first], *(place.args[first + k] for k in kept))
            inner.yields = [inner.yields[0], *(inner.yields[1 + k] for k in kept)]
            inner.params = [*(inner.params[k] for k in kept), inner.params[-1]]
            kept.append(count)
        place.results = [place.results[k] for k in kept]
        for k, r in enumerate(place.results):
            r.attr = k
        for inner in place.bodies:
            _sweep(inner, found)
        code.append(place)
    body.code = code
