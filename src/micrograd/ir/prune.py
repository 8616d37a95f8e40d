"""Leave out what no result needs: instructions, results of branches, and carried values of loops."""

from __future__ import annotations

from micrograd.ir.forms import Body, Place, Tape


def prune(tape: Tape) -> Tape:
    """Remove from a tape what nothing needs. The tape itself is changed, and returned."""
    needed: set[Place] = set()

    def need(place: Place) -> bool:
        """Write down that a place is needed; return whether that is new."""
        if place in needed:
            return False
        needed.add(place)
        return True

    def visit(body: Body) -> bool:
        """Pass needs on from the last instruction to the first; return whether there is any new one."""
        more = False
        for place in reversed(body.code):
            if place.op == "check":
                more |= need(place.args[0])
            elif place.bodies:
                more |= region(place)
            elif place in needed:
                for a in place.args:
                    more |= need(a)
        return more

    def region(place: Place) -> bool:
        more = False
        for inner in place.bodies:
            more |= visit(inner)
        results = [k for k, r in enumerate(place.results) if r in needed]
        if place.op == "if":
            if results or any(_checks(inner) for inner in place.bodies):
                more |= need(place.args[0])
            for inner in place.bodies:
                for k in results:
                    more |= need(inner.yields[k])
                more |= visit(inner)
            return more
        (inner,) = place.bodies
        if place.op == "slopes":
            for x in (*place.args, *inner.yields) if results or _checks(inner) else ():
                more |= need(x)
            return more | visit(inner)
        carried = place.args[1:] if place.attr else place.args
        if not (results or _checks(inner)):
            return more
        if place.attr:
            more |= need(place.args[0])
        more |= need(inner.yields[0])
        while True:
            new = False
            for k, (x, p, y) in enumerate(zip(carried, inner.params, inner.yields[1:])):
                if place.results[k] in needed or p in needed:
                    new |= need(x) | need(y) | need(p)
            new |= visit(inner)
            more |= new
            if not new:
                return more

    for y in tape.yields:
        need(y)
    while visit(tape):
        pass
    _sweep(tape, needed)
    return tape


def _checks(body: Body) -> bool:
    return any(place.op == "check" or any(map(_checks, place.bodies)) for place in body.code)


def _sweep(body: Body, needed: set[Place]) -> None:
    code = []
    for place in body.code:
        if not place.bodies:
            if place in needed or place.op == "check":
                code.append(place)
            continue
        if not (any(r in needed for r in place.results) or any(map(_checks, place.bodies))):
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
            _sweep(inner, needed)
        code.append(place)
    body.code = code
