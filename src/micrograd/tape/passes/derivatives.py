"""What the sweeps of all derivatives share: which places depend on what, and the partials of one instruction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from micrograd.errors import CompileError
from micrograd.observed import STOP
from micrograd.ops import Op, facts, partials
from micrograd.tape.builder import Builder, Ref
from micrograd.tape.tape import INPUT, PARAM, SOURCES, Choose, Loop, Projection, Region, Tape


def active_places(tape: Tape, wrt: Sequence[int | None]) -> list[bool]:
    """Which places depend on one of wrt."""
    active = [False] * len(tape)
    for i in wrt:
        if i is not None:
            active[i] = True
    inside: dict[int, list[bool]] = {}  # place of a region -> which of its results depend on one of wrt
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op in SOURCES:
            continue
        if isinstance(op, Region):
            inside[i] = active_results(op, [active[a] for a in args])
            active[i] = any(inside[i])
        elif isinstance(op, Projection) and args[0] in inside:
            active[i] = inside[args[0]][op.number]
        elif op is not STOP and any(active[a] for a in args):
            active[i] = True
    return active


def active_inputs(op: Region, given: Sequence[bool]) -> list[bool]:
    """Which inputs of the (first) body of a region depend on operands of which `given` says whether they do."""
    if isinstance(op, Choose):
        return list(given[1:])
    assert isinstance(op, Loop)
    inputs = [*given, False]
    while True:  # what an iteration hands on may make more of the next iteration's inputs depend
        active = active_places(op.body, input_places(op.body, inputs))
        found = [active[o] for o in op.body.outputs[: op.carried]]
        more = [a or b for a, b in zip(inputs, found)] + inputs[op.carried :]
        if more == inputs:
            return inputs
        inputs = more


def active_results(op: Region, given: Sequence[bool]) -> list[bool]:
    """Which results of a region depend on operands of which `given` says whether they do."""
    if not any(given):
        return [False] * op.results
    inputs = active_inputs(op, given)
    found = [False] * op.results
    for body in op.bodies() if isinstance(op, Choose) else op.bodies()[:1]:
        active = active_places(body, input_places(body, inputs))
        found = [a or active[o] for a, o in zip(found, body.outputs)]
    if isinstance(op, Loop):  # without an iteration, the carried values are the operands themselves
        found = [a or b for a, b in zip(found, given[: op.carried])] + found[op.carried :]
    return found


def input_places(body: Tape, inputs: Sequence[bool]) -> list[int]:
    """The places of those inputs of a body for which `inputs` holds."""
    return [i for i, (op, args) in enumerate(zip(body.ops, body.args)) if op is INPUT and inputs[args[0]]]


def connected(tape: Tape, inputs: Sequence[int]) -> list[bool]:
    """Which places depend on one of these inputs, or on a param."""
    rows = enumerate(zip(tape.ops, tape.args))
    return active_places(tape, [i for i, (op, k) in rows if op is PARAM or (op is INPUT and k[0] in inputs)])


def sources(tape: Tape, op: Op, count: int) -> list[int | None]:
    """The place of each input (or param) of a tape; None where it is not used."""
    where: list[int | None] = [None] * count
    for i in places_of(tape, op):
        where[tape.args[i][0]] = i
    return where


def places_of(tape: Tape, op: Op) -> Iterator[int]:
    """The places of an op on a tape. They are found without a step of Python's for each instruction."""
    start = 0
    with suppress(ValueError):
        while True:
            start = tape.ops.index(op, start) + 1
            yield start - 1


def reached(tape: Tape, outputs: Sequence[int]) -> list[int]:
    """The outputs whose gradient may reach a place, for each place, as bits: not those that read it by steps (floor) alone."""
    found = [0] * len(tape)
    for k, o in enumerate(outputs):
        found[o] |= 1 << k
    for i in range(len(tape) - 1, -1, -1):
        op = tape.ops[i]
        if found[i] and op not in SOURCES and op is not STOP:
            for k, a in enumerate(tape.args[i]):
                if k not in op.steps:
                    found[a] |= found[i]
    return found


def unread(tape: Tape, inputs: Sequence[int], params: Sequence[int]) -> bytes | None:
    """For each output, a 1 for each of these inputs and params that its gradient never reaches; None where there is no 1."""
    of_input, of_param = sources(tape, INPUT, tape.inputs), sources(tape, PARAM, tape.params)
    found = reached(tape, tape.outputs)
    readers = [0 if i is None else found[i] for i in [*(of_input[k] for k in inputs), *(of_param[k] for k in params)]]
    flags = bytes([not by >> k & 1 for k in range(len(tape.outputs)) for by in readers])
    return flags if any(flags) else None


def slopes_of(builder: Builder, op: Op, args: tuple[int, ...], place: int, wanted: list[bool]) -> list[Any]:
    """The partials of one instruction as Refs or numbers; None for those that nobody wants."""
    refs = [Ref(builder, a) for a in args]
    y = Ref(builder, place)
    try:
        if op.arity >= 0:
            return [p(*refs, y) if w else None for p, w in zip(op.partials, wanted)]
        return partials(op, refs, y) if facts(op) else [op.partials[0]()] * len(args)
    except (TypeError, AttributeError, ValueError) as reason:
        raise CompileError(
            f"the partials of the primitive {op.name} cannot be compiled: {reason}\n"
            "  They are run on places of a tape, not on floats.\n"
            "  Write them with operators and the functions of micrograd.math."
        ) from None


def visiting_order(tape: Tape, root: int) -> list[int]:
    """The places behind root in the order of engine.topological: a tape of several outputs has the order of the first."""
    order: list[int] = []
    seen = set()
    stack = [(root, False)]
    while stack:
        i, inputs_done = stack.pop()
        if inputs_done:
            order.append(i)
        elif i not in seen:
            seen.add(i)
            stack.append((i, True))
            if tape.ops[i] not in SOURCES:
                stack.extend((a, False) for a in reversed(tape.args[i]))
    return order
