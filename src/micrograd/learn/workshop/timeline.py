"""The learner's backward pass, one contribution at a time, up to the first one that is wrong."""

from __future__ import annotations

from typing import Any

from micrograd import Value
from micrograd.learn.workshop.programs import OPS, Fault, Program, close, show


def local_slopes(op: str, a: float, b: float) -> tuple[float, float]:
    """The partials of one operation, by the real engine; both operands count as different values."""
    x, y = Value(a), Value(b)
    OPS[op](x, y).backward()
    return x.grad, y.grad


def first_wrong_contribution(program: Program, make: Any, seed: float = 1.0) -> None:
    """Run the learner's rules in the right order, and raise a Fault at the first wrong contribution."""
    values, names, lines = program.run(make), program.names(), [program.text()]
    graph = dict(zip(names, values)) if seed == 1.0 else None  # a page starts its pass with 1
    for v in values:
        v.grad = 0.0
    values[-1].grad = seed
    lines.append(f"{names[-1]}.grad = {show(seed)}, where the pass starts")
    leaves = len(program.leaves)
    for k in range(len(program.rows) - 1, -1, -1):
        op, i, j = program.rows[k]
        out = values[leaves + k]
        if not callable(out._backward):
            raise Fault(
                f"out._backward of {op!r} is {out._backward!r}, and must be a function: assign it without calling it "
                "(out._backward = _backward, no brackets).",
                lines,
            )
        before = {i: values[i].grad, j: values[j].grad}
        out._backward()
        slopes = local_slopes(op, values[i].data, values[j].data)
        parts = {i: 0.0, j: 0.0}
        for at, slope in zip((i, j), slopes):
            parts[at] += slope * out.grad
        for at in parts:
            after, want = values[at].grad, before[at] + parts[at]
            told = f"{names[leaves + k]} = {names[i]} {op} {names[j]}: {names[at]}.grad {show(before[at])} -> {show(after)}"
            lines.append(told)
            if not close(after, want):
                mine = [slope for place, slope in zip((i, j), slopes) if place == at]
                reason = diagnose(op, after, before[at], mine, out.grad, values[at].data)
                raise Fault(f"{names[at]} got {show(after)}, should get {show(want)}: {reason}", lines, graph)


def diagnose(op: str, after: Any, before: float, slopes: list[float], arrived: float, own: float) -> str:
    """Name the error that gives this number."""
    last, total = slopes[-1] * arrived, sum(slopes) * arrived
    if close(after, before):
        return (
            f"_backward of {op!r} does nothing for it. Assign the function to out._backward, and serve both operands."
        )
    if close(after, last):
        return "you wrote = where += is needed. A gradient arrives in parts, one for each use."
    gain = after - before
    if close(gain, sum(slopes)):
        return f"the gradient from above ({show(arrived)}) is left out. A part is the local slope times what arrived."
    if op == "*" and close(gain, own * arrived * len(slopes)):
        return "a product passes on the other factor, and you passed on the own one."
    if close(gain, -total):
        return "the size is right, the sign is not."
    if close(gain, arrived):
        return "the gradient from above is passed on, and the local slope is left out."
    return f"{show(total)} should be added (local slope times the gradient from above)."
