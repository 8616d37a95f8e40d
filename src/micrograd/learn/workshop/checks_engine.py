"""The checks of exercises 1 to 7: slopes, the Value, its rules, the order and the backward pass."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from micrograd.learn.workshop import programs
from micrograd.learn.workshop.messages import say
from micrograd.learn.workshop.programs import (
    Fault,
    Nudges,
    Program,
    close,
    compare,
    difference,
    number,
    require,
    show,
    watched,
)
from micrograd.learn.workshop.timeline import first_wrong_contribution

Load = Callable[[str], Any]  # gives the learner's module of this name


def e01_slope(load: Load) -> None:
    """A central difference, with a sensible h."""
    slope, rng = load("e01_slope").slope, random.Random(1)
    for _ in range(5):
        a, b, x = number(rng), number(rng), abs(number(rng))

        def f(t: float, a: float = a, b: float = b) -> float:
            return a * t**3 + b * t

        h, true = 0.1, 3 * a * x * x + b
        up, down = f(x + h), f(x - h)
        ideas = [
            ((up - f(x)) / h, say("that looks to one side only. Look to both sides, and the errors cancel.")),
            ((f(x) - down) / h, say("that looks to one side only. Look to both sides, and the errors cancel.")),
            ((up - down) / h, say("twice the slope. How far apart are your two points?")),
            ((down - up) / (2 * h), say("the sign is turned. Take the value above minus the value below.")),
        ]
        what = say("slope of {a} x³ + {b} x at {x} with h = {h}", a=a, b=b, x=x, h=h)
        calls: list[str] = []
        compare(what, slope(watched(f, calls), x, h), (up - down) / (2 * h), ideas, lines=calls)
        calls.clear()
        nudges = Nudges(watched(f, calls))
        got = slope(nudges, x)
        compare(say("with your default h, the slope"), got, true, [], 1e-6, lines=calls, hint=nudges.fault())


def e02_partials(load: Load) -> None:
    """One slope per argument, the others held still."""
    partials, rng = load("e02_partials").partials, random.Random(2)
    for _ in range(5):
        args = [number(rng) for _ in range(3)]

        def f(a: float, b: float, c: float) -> float:
            return a * b + c * c * a

        calls: list[str] = []
        nudges = Nudges(watched(f, calls))
        kept, got = list(args), partials(nudges, args)
        require(
            args == kept,
            say("partials changed the list args from {kept} to {args}. Put every argument back.", kept=kept, args=args),
        )
        what = say("for a*b + c*c*a at {kept}", kept=kept)
        require(
            isinstance(got, list),
            say(
                "{what} you returned {got}. Three arguments have three slopes: return a list.", what=what, got=show(got)
            ),
        )
        require(
            len(got) == 3,
            say("{what} you returned {count} slopes. Three arguments have three slopes.", what=what, count=len(got)),
        )
        true = [difference(f, args, i) for i in range(3)]
        for i in range(3):
            compare(
                say("slope {i} {what}", i=i, what=what),
                got[i],
                true[i],
                [
                    (
                        sum(true),
                        say("that is the slope when all arguments move together. Move one and hold the others."),
                    ),
                    *[(true[k], say("that is the slope of argument {k}.", k=k)) for k in range(3)],
                ],
                1e-5,
                lines=calls,
                hint=nudges.fault(),
            )


def e03_value(load: Load) -> None:
    """Data like Python's, operands in order and with repeats, nothing changed."""
    make, rng = load("e03_value").Value, random.Random(3)
    for _ in range(5):
        x, y = number(rng), number(rng)
        for op, f in programs.OPS.items():
            a, b = make(x), make(y)
            require(
                a.data == x,
                say(
                    "Value({x}).data is {data}: keep the number in self.data.", x=x, data=show(getattr(a, "data", None))
                ),
            )
            require(
                a.grad == 0.0,
                say("Value({x}).grad is {grad}. A new Value has heard nothing yet: 0.0.", x=x, grad=f"{a.grad!r}"),
            )
            out = f(a, b)
            require(
                a.data == x and b.data == y,
                say("a {op} b changed a or b. Make a new Value and leave the operands alone.", op=op),
            )
            message = say(
                "a {op} b gave {out}, a {kind} that forgot where it came from. Return a Value.",
                op=op,
                out=show(out),
                kind=type(out).__name__,
            )
            require(isinstance(out, make), message)
            compare(f"{x} {op} {y}", out.data, f(x, y), graph={"a": a, "b": b, "c": out})
            twice = f(a, a)
            message = say(
                "a {op} a has {count} operand in your graph. It has two, and both are a: keep a tuple.",
                op=op,
                count=len(twice._prev),
            )
            require(len(twice._prev) == 2, message)
            message = say("_prev of a {op} b is not (a, b). Keep both operands in order.", op=op)
            require(len(out._prev) == 2 and out._prev[0] is a and out._prev[1] is b, message)
            require(
                out._op == op,
                say("_op of a {op} b is {given}, should be {wanted}.", op=op, given=repr(out._op), wanted=repr(op)),
            )
            require(callable(a._backward), say("_backward of a new Value must be a function that does nothing."))
            try:
                right = f(a, 2)
            except (TypeError, AttributeError) as reason:
                raise Fault(
                    say("a {op} 2 fails ({reason}). Wrap a plain number on the right in a Value.", op=op, reason=reason)
                ) from None
            compare(f"{x} {op} 2", right.data, f(x, 2))


def e04_rules(load: Load) -> None:
    """Each contribution is the local slope times what arrived, and parts are added."""
    make, rng = load("e04_rules").Value, random.Random(4)
    for op in programs.OPS:
        first_wrong_contribution(Program([number(rng), number(rng)], [(op, 0, 1)]), make, seed=-2.5)
    for op in programs.OPS:
        first_wrong_contribution(Program([3.0], [(op, 0, 0)]), make)
    for _ in range(20):
        first_wrong_contribution(programs.graph(rng), make)


def _plain(program: Program, make: Any) -> tuple[list[Any], dict[int, str]]:
    values = program.run(make)
    return values, {id(v): name for v, name in zip(values, program.names())}


def _misplaced(program: Program, order: list[Any], names: dict[int, str]) -> Fault | None:
    """The fault of an order in which a node comes before one that it is made from; None if there is none."""
    ids = [id(v) for v in order]
    for v in order:
        for child in v._prev:
            if ids.index(id(child)) > ids.index(id(v)):
                me, other = names[id(v)], names[id(child)]
                message = say(
                    "{me} stands before {other}, which it is made from. Append a node after its operands.",
                    me=me,
                    other=other,
                )
                mine = [names[i] for i in ids]
                lines = [program.text(), say("your order: ") + ", ".join(mine)]
                return Fault(message, lines, order=(program, mine[::-1]))
    return None


BONUS = (
    "A bonus, if you like: a chain of 5,000 additions is too deep for recursion. A loop with a stack of your own "
    "has no such limit."
)


def e05_order(load: Load) -> str:
    """Each node once, operands first, root last, to any depth."""
    from micrograd.learn.workshop.replay import replay

    topological, make, rng = load("e05_order").topological, load("e04_rules").Value, random.Random(5)
    found: Fault | None = None
    for kind in (programs.tree, programs.shared, *[programs.graph] * 10):
        program = kind(rng)
        values, names = _plain(program, make)
        order = topological(values[-1])
        require(
            isinstance(order, list), say("topological returned {order}. Return a list of nodes.", order=show(order))
        )
        ids = [id(v) for v in order]
        if len(ids) > 1 and set(ids) == {id(values[-1])}:
            raise Fault(
                say("your list holds the root {count} times. Append the node that you are at.", count=len(ids)),
                [program.text()],
            )
        for i in ids:
            if ids.count(i) > 1:
                raise Fault(
                    say(
                        "{node} is in your list {times} times; each node belongs there once. "
                        "Keep a set of the nodes that you have seen.",
                        node=names.get(i, "?"),
                        times=ids.count(i),
                    ),
                    [program.text()],
                )
        missing = [name for i, name in names.items() if i not in ids]
        require(
            not missing,
            say("{nodes} is missing in your list. In {program}.", nodes=", ".join(missing), program=program.text()),
        )
        fault = _misplaced(program, order, names)
        if fault and replay(fault):  # on some graphs a wrong order happens to give the right gradients
            raise fault
        found = found or fault
    if found:
        raise found
    bonus = ""
    for length in (100, 5000):
        chain = make(1.0)
        for _ in range(length):
            chain = chain + 1.0
        try:
            require(
                len(topological(chain)) == 2 * length + 1,
                say("A chain of {length} additions lost nodes.", length=f"{length:,}"),
            )
        except RecursionError:
            if length == 100:
                raise Fault(
                    say("RecursionError on a chain of 100 additions. Does your function come to an end?")
                ) from None
            bonus = say(BONUS)  # recursion is how every lecture writes it
    double = make(1.0)
    for _ in range(40):
        double = double + double
    require(len(topological(double)) == 41, say("x = x + x, 40 times, has 41 nodes."))
    return bonus


def _watched(program: Program, make: Any) -> tuple[list[Any], list[int], list[str]]:
    """The learner's values, with a log of which node passes on its gradient, and when."""
    values, names = program.run(make), program.names()
    log: list[int] = []
    lines = [program.text()]

    def watch(k: int, rule: Callable[[], None]) -> Callable[[], None]:
        def told() -> None:
            log.append(k)
            lines.append(say("{node} passes on {grad}", node=names[k], grad=show(values[k].grad)))
            rule()

        return told

    for k in range(len(program.leaves), len(values)):
        values[k]._backward = watch(k, values[k]._backward)
    return values, log, lines


def _order_fault(program: Program, values: list[Any], log: list[int], lines: list[str]) -> None:
    names, leaves = program.names(), len(program.leaves)
    root = len(values) - 1
    order = (program, [names[k] for k in log])
    if not log:
        raise Fault(
            say("backward() called no _backward at all. Call it for every node of the topological order."), lines
        )
    if all(v.grad == 0.0 for v in values[:-1]) and values[-1].grad == 0.0:
        raise Fault(say("All gradients are 0: the root must start with the gradient 1.0."), lines)
    if log[0] != root:
        message = say(
            "the pass started at {node}, and must start at the root: go through the order in reverse.",
            node=names[log[0]],
        )
        raise Fault(message, lines[:2], order=order)
    for at, k in enumerate(log):
        users = [leaves + r for r, (_, i, j) in enumerate(program.rows) if k in (i, j)]
        late = [u for u in users if u not in log[:at]]
        if late:
            raise Fault(
                say(
                    "{node} passed on its gradient too early: {user}, which uses it, had not passed on its own. "
                    "A node waits until all its users have passed on theirs.",
                    node=names[k],
                    user=names[late[0]],
                ),
                lines[: at + 2],
                order=order,
            )
        if k in log[:at]:
            message = say("{node} passed on its gradient twice. Each node speaks once in a pass.", node=names[k])
            raise Fault(message, lines[: at + 2], order=order)
    silent = [names[k] for k in range(leaves, root + 1) if k not in log]
    if silent:
        message = say("{nodes} never passed on a gradient. Call _backward of every node.", nodes=", ".join(silent))
        raise Fault(message, lines, order=order)


def e06_backward(load: Load) -> None:
    """The right gradients on trees, on shared nodes and on random graphs; the log says what went wrong."""
    make, rng = load("e06_backward").Value, random.Random(6)
    for kind in (programs.tree, programs.shared, *[programs.graph] * 20):
        program = kind(rng)
        want = program.gradients()
        values, log, lines = _watched(program, make)
        values[-1].backward()
        _order_fault(program, values, log, lines)
        for name, v, true in zip(program.names(), values, want):
            if not close(v.grad, true):
                graph = dict(zip(program.names(), values))
                raise Fault(
                    say("{name} got {grad}, should get {true}.", name=name, grad=show(v.grad), true=show(true)),
                    lines,
                    graph,
                    name,
                )

        def f(*xs: float, program: Program = program) -> float:
            return float(Program(list(xs), program.rows).run(float)[-1])

        if kind is not programs.graph:  # a second, independent opinion
            for i in range(len(program.leaves)):
                compare(say("the gradient"), values[i].grad, difference(f, program.leaves, i), tolerance=1e-5)


def e07_again(load: Load) -> None:
    """A second pass doubles the leaves and leaves the intermediate gradients as they were."""
    make, rng = load("e07_again").Value, random.Random(7)
    for kind in (programs.shared, *[programs.graph] * 10):
        program = kind(rng)
        want = program.gradients()
        values, names, leaves = program.run(make), program.names(), len(program.leaves)
        for turn in (1, 2, 3):
            values[-1].backward()
            for k, v in enumerate(values):
                true = want[k] * turn if k < leaves else want[k]
                if close(v.grad, true):
                    continue
                message = say(
                    "after pass {turn}, {node} has {grad}, should have {true}: ",
                    turn=turn,
                    node=names[k],
                    grad=show(v.grad),
                    true=show(true),
                )
                if turn == 1:
                    message += say(
                        "clear all intermediate gradients before the pass begins, not during it; then seed the root."
                    )
                elif k < leaves and close(v.grad, want[k]):
                    message += say("you cleared the leaves too. Their gradients must add up over passes.")
                else:
                    message += say("an intermediate node kept its gradient of the pass before and passed it on again.")
                raise Fault(message, [program.text()], dict(zip(names, values)), names[k])
