"""The learner's backward pass, one contribution at a time, up to the first one that is wrong."""

from __future__ import annotations

from typing import Any

from micrograd import Value
from micrograd.engine import topological
from micrograd.learn.workshop.messages import say
from micrograd.learn.workshop.programs import OPS, Fault, Program, close, show


def local_slopes(op: str, a: float, b: float) -> tuple[float, float]:
    """The partials of one operation, by the real engine; both operands count as different values."""
    x, y = Value(a), Value(b)
    OPS[op](x, y).backward()
    return x.grad, y.grad


def first_wrong_contribution(program: Program, make: Any, seed: float = 1.0) -> None:
    """Run the learner's rules in the order of the engine, and raise a Fault at the first wrong contribution."""
    values, names, lines = program.run(make), program.names(), [program.text()]
    graph = dict(zip(names, values))
    for v in values:
        v.grad = 0.0
    values[-1].grad = seed
    lines.append(say("{node}.grad = {seed}, where the pass starts", node=names[-1], seed=show(seed)))
    leaves = len(program.leaves)
    real = program.run(Value)
    place = {id(v): k - leaves for k, v in enumerate(real)}
    for k in [place[id(v)] for v in reversed(topological(real[-1])) if place[id(v)] >= 0]:  # as a page steps through it
        op, i, j = program.rows[k]
        out = values[leaves + k]
        if not callable(out._backward):
            raise Fault(
                say(
                    "out._backward of {op} is {given}, and must be a function: assign it without calling it "
                    "(out._backward = _backward, no brackets).",
                    op=f"{op!r}",
                    given=f"{out._backward!r}",
                ),
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
                message = say(
                    "{node} got {after}, should get {want}: {reason}",
                    node=names[at],
                    after=show(after),
                    want=show(want),
                    reason=reason,
                )
                raise Fault(message, lines, graph, names[at], seed=seed)


def diagnose(op: str, after: Any, before: float, slopes: list[float], arrived: float, own: float) -> str:
    """Name the error that gives this number."""
    last, total = slopes[-1] * arrived, sum(slopes) * arrived
    if close(after, before):
        return say(
            "_backward of {op} does nothing for it. Assign the function to out._backward, and serve both operands.",
            op=f"{op!r}",
        )
    if close(after, last) or (before and close(after, total)):  # what was there, or the other part, is gone
        return say("you wrote = where += is needed. A gradient arrives in parts, one for each use.")
    gain = after - before
    if close(gain, sum(slopes)):
        return say(
            "the gradient from above ({arrived}) is left out. A part is the local slope times what arrived.",
            arrived=show(arrived),
        )
    if op == "*" and close(gain, own * arrived * len(slopes)):
        return say("a product gives each factor the data of the other one, and you gave it its own data.")
    if close(gain, -total):
        return say("the size is right, the sign is not.")
    if close(gain, arrived):
        return say("the gradient from above is passed on, and the local slope is left out.")
    return say("{total} should be added (local slope times the gradient from above).", total=show(total))
