"""Whether a typed tape makes sense: operands are earlier places that can be read, of the kinds that their instruction takes."""

from __future__ import annotations

from micrograd.ir.forms import ARRAY_OPS, ARRAYS, BOOL, F64, I64, TABLE, Body, Place, Tape, array_of


def check(tape: Tape) -> None:
    """Raise ValueError unless a tape makes sense."""
    _body(tape, set(tape.params))


def _body(body: Body, visible: set[Place]) -> None:
    for place in body.code:
        for a in place.args:
            if a.op != "const" and a not in visible:
                raise ValueError(f"{place.op} reads {a}, which is not defined there")
        _instruction(place, visible)
        visible |= {*place.results} if place.bodies else {place}
    for y in body.yields:
        if y.op != "const" and y not in visible:
            raise ValueError(f"a body yields {y}, which is not defined there")


def _instruction(place: Place, visible: set[Place]) -> None:
    kinds = [a.kind for a in place.args]
    op = place.op
    if op == "check":
        fits = kinds == [BOOL]
    elif op == "if":
        fits = kinds == [BOOL] and len(place.bodies) == 2
        for body in place.bodies:
            _body(body, set(visible))
            fits &= not body.params and [y.kind for y in body.yields] == [r.kind for r in place.results]
    elif op == "loop":
        (body,) = place.bodies
        _body(body, visible | set(body.params))
        carried = kinds[1:] if place.attr else kinds
        fits = not place.attr or kinds[0] == I64
        fits &= [p.kind for p in body.params] == [r.kind for r in place.results] == [*carried, I64]
        fits &= [y.kind for y in body.yields] == [BOOL, *carried]
    elif op == "slopes":
        (body,) = place.bodies
        _body(body, set(body.params))
        wanted = [F64, *(k for k in kinds if k in (F64, "f64[]"))]
        fits = [p.kind for p in body.params] == kinds and [r.kind for r in place.results] == wanted
        fits &= [y.kind for y in body.yields] == [F64]
    elif op == "select":
        fits = len(kinds) == 3 and kinds[0] == BOOL and kinds[1] == kinds[2] == place.kind and place.kind not in ARRAYS
    elif op in TABLE:
        fits = tuple(kinds) == TABLE[op].takes and place.kind == TABLE[op].gives
    elif op == "array":
        fits = bool(kinds) and array_of(kinds[0]) == place.kind and set(kinds) == {kinds[0]}
    else:
        fits = op in ARRAY_OPS and _array(op, kinds, place.kind)
    if not fits:
        raise ValueError(f"{op} over {kinds} does not give {place.kind or [r.kind for r in place.results]}")


def _array(op: str, kinds: list[str], gives: str) -> bool:
    takes = ARRAY_OPS[op]
    if len(kinds) != len(takes):
        return False
    if op == "fill":
        return kinds[0] == I64 and array_of(kinds[1]) == gives
    item = ARRAYS.get(kinds[0])
    wanted = {"a": kinds[0], "x": item, "i": I64}
    result = {"load": item, "size": I64}.get(op, kinds[0])
    return item is not None and kinds == [wanted[t] for t in takes] and gives == result
