"""The checks of exercises 8 to 12: numbers on both sides, powers, functions, and the learner's own checker."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

from micrograd import Value
from micrograd.learn.workshop.messages import say
from micrograd.learn.workshop.programs import Fault, Idea, Nudges, compare, difference, number, require

Load = Callable[[str], Any]


def function(make: Any, told: str, f: Callable[[Any], Any], x: float, values: list[Idea], slopes: list[Idea]) -> None:
    """Compare value and gradient of f at x with the real engine, with a gradient above that is not 1."""
    above = 2.5
    true = Value(x)
    result = f(true)
    (result * above).backward()
    v = make(x)
    try:
        out = f(v)
    except RecursionError:
        raise Fault(
            say(
                "{told} calls itself for ever. Python asked your method because the number gave up: compute it.",
                told=told,
            )
        ) from None
    except OverflowError:
        raise Fault(
            say(
                "{told} at {x} overflows. The same function has a formula that does not: use the math module.",
                told=told,
                x=f"{x:g}",
            )
        ) from None
    except TypeError as reason:
        raise Fault(say("{told} fails at {x}: {reason}.", told=told, x=f"{x:g}", reason=reason)) from None
    require(
        isinstance(out, make),
        say("{told} gave a {kind}, not a Value: it forgot where it came from.", told=told, kind=type(out).__name__),
    )
    compare(say("{told} at {x}", told=told, x=f"{x:g}"), out.data, result.data, values, graph={"x": v, "f": out})
    root = out * above
    root.backward()
    general = [
        (true.grad / above, say("the gradient from above is left out. Multiply the local slope by out.grad.")),
        (-true.grad, say("the size is right, the sign is not.")),
        (above, say("the local slope is left out.")),
        (
            0.0,
            say("no gradient arrives. Assign the function to out._backward, and build on Values, not on their data."),
        ),
    ]
    ideas = [(slope * above, idea) for slope, idea in slopes]
    compare(
        say("the gradient of {told} at {x}, with {above} above,", told=told, x=f"{x:g}", above=above),
        v.grad,
        true.grad,
        ideas + general,
        1e-6,
        {"x": v, "f": out, "L": root},
        "x",
    )
    again = make(x)
    twice = f(again) + f(again)
    twice.backward()
    slope = true.grad / above
    parts = [(slope, say("you wrote = where += is needed. A gradient arrives in parts, one for each use."))]
    compare(
        say("the gradient of {told} + {told} at {x}", told=told, x=f"{x:g}"),
        again.grad,
        2 * slope,
        parts,
        1e-6,
        {"x": again, "L": twice},
        "x",
    )


def e08_numbers(load: Load) -> None:
    """All operand kinds of + - *."""
    make, rng = load("e08_numbers").Value, random.Random(8)
    for _ in range(4):
        x = number(rng)
        turned = say("the operands are in the wrong order.")
        added = say("that is the sum. The second operand needs its minus.")
        function(make, "2 + x", lambda a: 2 + a, x, [], [])
        function(make, "2 * x", lambda a: 2 * a, x, [], [])
        function(make, "-x", lambda a: -a, x, [(x, say("the sign is missing."))], [])
        function(make, "x - 5.5", lambda a: a - 5.5, x, [(5.5 - x, turned), (x + 5.5, added)], [])
        function(make, "5.5 - x", lambda a: 5.5 - a, x, [(x - 5.5, turned)], [])
        function(
            make, "x - x*x", lambda a: a - a * a, x, [], [(1 + 2 * x, say("the sign of the second operand is lost."))]
        )
        function(make, "sum([x, x, x])", lambda a: sum([a, a, a]), x, [], [])


def e09_power(load: Load) -> None:
    """Powers and both divisions."""
    make, rng = load("e09_power").Value, random.Random(9)
    for _ in range(4):
        x = abs(number(rng))
        for n in (2, 3, -1, 0.5):
            slopes = [
                (n * x**n, say("the exponent comes down and drops by one: n * x ** (n - 1).")),
                (x ** (n - 1), say("the factor n is missing.")),
            ]

            def powered(a: Any, n: float = n) -> Any:
                return a**n

            function(make, f"x ** {n}", powered, x, [], slopes)
        turned = say("the operands are in the wrong order.")
        function(make, "x / 4.5", lambda a: a / 4.5, x, [(4.5 / x, turned)], [])
        function(make, "4.5 / x", lambda a: 4.5 / a, x, [(x / 4.5, turned)], [])
        function(make, "x / (x + 3)", lambda a: a / (a + 3), x, [((x + 3) / x, turned)], [])


def e10_exp_log(load: Load) -> None:
    """exp and log."""
    make, rng = load("e10_exp_log").Value, random.Random(10)
    for _ in range(4):
        x = number(rng)
        slopes = [
            (x * math.exp(x - 1), say("that is the rule of a power. exp is its own derivative.")),
            (math.exp(math.exp(x)), say("exp was applied twice: the slope is the output itself.")),
            (x, say("that is the input. The slope of exp is its output.")),
        ]
        function(make, "exp(x)", lambda a: a.exp(), x, [], slopes)
        x = abs(x)
        slopes = [
            (1 / math.log(x), say("that divides by the output. The slope of log is 1 / input.")),
            (x, say("the slope of log is 1 / x, not x.")),
        ]
        values = [
            (math.log10(x), say("that is the logarithm to base 10.")),
            (math.log2(x), say("that is the logarithm to base 2.")),
        ]
        function(make, "log(x)", lambda a: a.log(), x, values, slopes)


def e11_tanh_relu(load: Load) -> None:
    """tanh and relu, far from 0 too."""
    make = load("e11_tanh_relu").Value
    for x in (-3.0, -0.5, 0.5, 3.0, 1000.0, -1000.0):
        t = math.tanh(x)
        slopes = [
            (1 - x * x, say("the slope of tanh is one minus its output squared, and you squared the input.")),
            (1 - t, say("the output must be squared: 1 - t ** 2.")),
            (1 - math.tanh(t) ** 2, say("tanh was applied twice: the output is already tanh of the input.")),
        ]
        function(make, "tanh(x)", lambda a: a.tanh(), x, [], slopes)
    for x in (-3.0, -0.5, 0.5, 3.0, 0.0):
        gate = say("relu is a gate, not a source: pass on what arrived where the input is positive, and 0 elsewhere.")
        values = [(x, say("a negative number must become 0.")), (-x, say("that is the wrong side."))]
        slopes = [(1 / 2.5, gate), (1.0, say("at 0 and below, the slope is 0.")), (x, gate)]
        function(make, "relu(x)", lambda a: a.relu(), x, values, slopes)


def e12_checker(load: Load) -> None:
    """The learner's checker accepts right rules and rejects broken ones."""
    module = load("e12_checker")
    check, make = module.check, load("e11_tanh_relu").Value

    def rule(
        value: Callable[[float], float], slope: Callable[[float], float], times: float = 1.0
    ) -> Callable[[Any], Any]:
        def f(a: Any) -> Any:
            out = make(value(a.data), (a,), "f")

            def push() -> None:
                a.grad += slope(a.data) * times * out.grad

            out._backward = push
            return out

        return f

    def assigned(a: Any) -> Any:
        out = make(a.data * 2, (a,), "f")

        def push() -> None:
            a.grad = 2 * out.grad

        out._backward = push
        return out

    right: list[tuple[str, Callable[..., Any], list[float]]] = [
        ("a * b + c", lambda a, b, c: a * b + c, [2.0, -3.0, 10.0]),
        ("tanh(x) at 0.5", lambda a: a.tanh(), [0.5]),
        ("1e-7 * x * x", lambda a: a * a * 1e-7, [1.5]),
        ("1e9 * exp(x)", lambda a: a.exp() * 1e9, [0.7]),
        ("a / b", lambda a, b: a / b, [2.0, 3.0]),
    ]
    for told, f, xs in right:
        limit = (
            say("use a tolerance relative to the size of the gradient")
            if told.startswith("1e")
            else say("equal numbers are too strict")
        )
        nudges = Nudges(f)
        found = check(nudges, xs)
        why = nudges.fault() or say("{limit}. Differences agree to about 8 digits, not exactly.", limit=limit)
        require(
            found is True,
            say("check rejects {told}, which is right: {why}", told=told, why=why),
            _compared(make, f, xs),
        )
    tiny = rule(lambda x: 1e-7 * x * x, lambda x: 3e-7 * x)
    near = say("the slope 0.75 for 0.786 has the right sign, and is wrong. Compare the numbers.")
    wrong: list[tuple[str, Callable[..., Any], list[float], str]] = [
        (
            say("a rule with the wrong sign"),
            rule(math.exp, lambda x: -math.exp(x)),
            [1.0],
            say("compare the numbers, with their signs."),
        ),
        (say("tanh with 1 - input squared"), rule(math.tanh, lambda x: 1 - x * x), [0.5], near),
        (
            say("a tiny gradient that is 50 % off"),
            tiny,
            [1.0],
            say("use a tolerance relative to the size of the gradient."),
        ),
        (
            say("a second argument with a wrong rule"),
            lambda a, b: a * 2 + tiny(b) * 1e7,
            [1.0, 2.0],
            say("compare every argument."),
        ),
        (
            say("a rule with = for +="),
            lambda a: assigned(a) + assigned(a),
            [1.5],
            say("compare with differences of the whole function."),
        ),
    ]
    for told, f, xs, idea in wrong:
        require(
            check(f, xs) is False, say("check accepts {told}: {idea}", told=told, idea=idea), _compared(make, f, xs)
        )


def _compared(make: Any, f: Callable[..., Any], xs: list[float]) -> list[str]:
    """What the learner's checker has to compare: each gradient, and the difference that it should be close to."""
    values = [make(x) for x in xs]
    f(*values).backward()
    slopes = [difference(lambda *ys: f(*[make(y) for y in ys]).data, xs, i) for i in range(len(xs))]
    return [
        say("argument {i}: gradient {grad}, by nudging {d}", i=i, grad=f"{v.grad:.10g}", d=f"{d:.10g}")
        for i, (v, d) in enumerate(zip(values, slopes))
    ]
