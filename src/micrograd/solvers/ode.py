"""odeint, odeint_event: ordinary differential equations y' = f(t, y), and the time at which an event ends them.

The steps are differentiated as they were taken: their lengths are constants, which the error control has chosen for the numbers
of this call. So a gradient is that of the numbers that were returned, and as near to that of the equation as they are.

Times have derivatives as well. A step from a time to itself, of length t - stop_gradient(t), changes no number, and has
the derivatives by t of a step of this method.

>>> from micrograd import grad
>>> from micrograd.solvers import odeint
>>> def decay(rate):
...     return odeint(lambda t, y: -rate * y, 1.0, [0.0, 2.0])[-1]
>>> round(decay(0.5), 7), round(grad(decay)(0.5), 7)
(0.3678794, -0.7357589)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from micrograd import math
from micrograd.engine import Value, apply
from micrograd.jacobians import jacobian
from micrograd.math import stop_gradient, where
from micrograd.solvers.dense import DIV, lu, lu_solve
from micrograd.solvers.implicit import ORDER, at_solution, beside
from micrograd.solvers.interpolate import interval
from micrograd.solvers.roots import _between
from micrograd.transforms import jvp

Step = Callable[
    ..., "tuple[list[Any], list[Any], list[Any]]"
]  # (f, t, y, h, f(t, y)) -> y and f at the end, error of y


class Method(NamedTuple):
    """How one step is made: the order by which its length is controlled (0: as many steps as are asked for), and its code."""

    order: int
    step: Step


def _combined(weights: tuple[float, ...], slopes: list[list[Any]], k: int) -> Any:
    used = [i for i, w in enumerate(weights) if w]
    return math.dot([weights[i] for i in used], [slopes[i][k] for i in used])


def _explicit(nodes: tuple[float, ...], stages: tuple[tuple[float, ...], ...], error: tuple[float, ...]) -> Step:
    """Make the step of an explicit Runge-Kutta method whose last stage is the result."""

    def step(f: Any, t: Any, y: list[Any], h: Any, first: list[Any]) -> Any:
        slopes, v = [first], y
        for node, weights in zip(nodes, stages):
            v = [yk + h * _combined(weights, slopes, k) for k, yk in enumerate(y)]
            slopes = [*slopes, f(t + node * h, v)]
        return v, slopes[-1], [h * _combined(error, slopes, k) for k in range(len(y))] if error else []

    return step


RK4 = _explicit((1 / 2, 1 / 2, 1.0, 1.0), ((1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6)), ())
DORMAND_PRINCE = _explicit(
    (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    (
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
)
TSITOURAS = _explicit(  # Tsitouras, Computers & Mathematics with Applications 62 (2011)
    (0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0),
    (
        (0.161,),
        (-0.008480655492356989, 0.335480655492357),
        (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
        (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
        (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383),
        (0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774),
    ),
    (-0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629, 0.5823571654525552,
     -0.45808210592918697, 1 / 66),
)  # fmt: skip


def _symplectic(parts: tuple[float, ...]) -> Step:
    """Make steps of velocity Verlet, of these parts of a step one after the other: y holds positions and then velocities."""

    def step(f: Any, t: Any, y: list[Any], h: Any, first: list[Any]) -> Any:
        half = len(y) // 2
        position, velocity, slopes = y[:half], y[half:], first
        for part in parts:
            length = part * h
            velocity = [v + 0.5 * length * a for v, a in zip(velocity, slopes[half:])]
            position = [x + length * s for x, s in zip(position, f(t, [*position, *velocity])[:half])]
            t = t + length
            slopes = f(t, [*position, *velocity])
            velocity = [v + 0.5 * length * a for v, a in zip(velocity, slopes[half:])]
        return [*position, *velocity], f(t, [*position, *velocity]), []

    return step


CUBE_ROOT_2 = 2.0 ** (1 / 3)
YOSHIDA = (1 / (2 - CUBE_ROOT_2), -CUBE_ROOT_2 / (2 - CUBE_ROOT_2), 1 / (2 - CUBE_ROOT_2))

# RODAS of Hairer and Wanner (Solving Ordinary Differential Equations II, IV.7): order 4(3), stiffly accurate, L-stable
GAMMA = 0.25
RODAS_A = (
    (),
    (1.544,),
    (0.9466785280815826, 0.2557011698983284),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0),
)
RODAS_C = (
    (),
    (-5.6688,),
    (-2.430093356833875, -0.2063599157091915),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
)
RODAS_T = (0.0, 0.386, 0.21, 0.63, 1.0, 1.0)
RODAS_D = (0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0)


def _rodas(f: Any, t: Any, y: list[Any], h: Any, first: list[Any]) -> Any:
    slopes = jacobian(lambda v: list(f(t, v)))(y)
    by_time = jvp(lambda s: list(f(s, y)), (t,), (1.0,))[1]
    n = len(y)
    # The system is multiplied by the length of the step, which may be 0.
    factors = lu([[(1.0 if i == j else 0.0) / GAMMA - h * slopes[i][j] for j in range(n)] for i in range(n)])
    found: list[list[Any]] = []
    v = y
    for weights, others, node, d in zip(RODAS_A, RODAS_C, RODAS_T, RODAS_D):
        v = [yk + _sum_of(weights, found, k) for k, yk in enumerate(y)]
        slope = first if node == 0.0 else f(t + node * h, v)
        known = [h * slope[k] + h * h * d * by_time[k] + _sum_of(others, found, k) for k in range(n)]
        found = [*found, lu_solve(factors, known)]
    end = [a + b for a, b in zip(v, found[-1])]
    return end, f(t + h, end), found[-1]


def _sum_of(weights: tuple[float, ...], found: list[list[Any]], k: int) -> Any:
    return _combined(weights, found, k) if weights else 0.0


METHODS = {
    "dopri5": Method(5, DORMAND_PRINCE),
    "tsit5": Method(5, TSITOURAS),
    "rodas": Method(4, _rodas),
    "rk4": Method(0, RK4),
    "verlet": Method(0, _symplectic((1.0,))),
    "yoshida4": Method(0, _symplectic(YOSHIDA)),
}


class _Control(NamedTuple):
    """What steps are made to: the method, tolerances and bounds of a call."""

    method: Method
    rtol: Any
    atol: Any
    longest: Any
    steps: int  # the most of them; for a method without error control, as many as are made


def _control(method: str, rtol: Any, atol: Any, max_step: Any, steps: int | None, max_steps: int) -> _Control:
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r}: choose one of {', '.join(METHODS)}")
    found = METHODS[method]
    if (steps is None) != (found.order > 0):
        raise TypeError(
            f"method {method!r} makes steps of equal length: give steps=, how many lie between two times"
            if found.order == 0
            else f"method {method!r} chooses its steps by their error: give rtol= and atol=, not steps="
        )
    return _Control(found, rtol, atol, max_step, max_steps if steps is None else steps)


def _constants(values: list[Any]) -> list[Any]:
    return [stop_gradient(v) for v in values]


def _norm(values: list[Any], scales: list[Any]) -> Any:
    parts = [apply(DIV, v, s) for v, s in zip(values, scales)]
    return math.sqrt(math.dot(parts, parts) / len(parts))


def _first_length(control: _Control, y: list[Any], slopes: list[Any], span: Any) -> Any:
    """Choose a first step by which y would change by a hundredth, or by the tolerance where it is near 0."""
    y = _constants(y)
    scales = [control.atol + control.rtol * math.abs(v) for v in y]
    size, speed = math.max(_norm(y, scales), 1.0), _norm(_constants(slopes), scales)
    return math.min(math.min(0.01 * apply(DIV, size, math.max(speed, 1e-300)), span), control.longest)


def _moved(control: _Control, f: Any, t: Any, y: list[Any]) -> list[Any]:
    """Return y, with derivatives by the time t at which it stands."""
    if not isinstance(t, Value):
        return list(y)
    now = stop_gradient(t)
    return control.method.step(f, now, y, t - now, f(now, y))[0]


class _State(NamedTuple):
    """Where the steps have come to. The times are constants."""

    t: Any
    y: list[Any]
    slopes: list[Any]  # f(t, y)
    length: Any  # of the next step, without its sign
    done: Any  # a number: 1.0 at the end
    made: Any  # how many steps


def _attempt(control: _Control, f: Any, state: _State, end: Any) -> _State:
    """Try one step towards the time `end`; where its error is too large, only its length changes."""
    t, y, slopes, length, _, made = state
    left = math.abs(end - t)
    last = math.le(left, length * 1.000001)
    now = where(last, left, length)
    reached, following, error = control.method.step(f, t, y, where(math.lt(end, t), -now, now), slopes)
    scales = [
        control.atol + control.rtol * math.max(math.abs(a), math.abs(b))
        for a, b in zip(_constants(y), _constants(reached))
    ]
    ratio = _norm(_constants(error), scales)
    good, finite = math.le(ratio, 1.0), math.lt(ratio, math.inf)
    change = 0.9 * math.pow(math.max(where(finite, ratio, 1.0), 1e-10), -1.0 / control.method.order)
    changed = now * where(finite, math.min(10.0, math.max(0.2, change)), 0.1)
    # A last step that is cut short says little of how long the next may be.
    length = math.min(where(good * last, math.max(length, changed), changed), control.longest)
    t = where(good, where(last, end, where(math.lt(end, t), t - now, t + now)), t)
    y = [where(good, a, b) for a, b in zip(reached, y)]
    slopes = [where(good, a, b) for a, b in zip(following, slopes)]
    return _State(t, y, slopes, length, good * last, made + 1)


def _steps(control: _Control, f: Any, state: _State, end: Any) -> _State:
    """Make steps to the time `end`. An attempt whose error is too large counts as one."""
    while state.made < control.steps and state.done < 0.5:
        state = _attempt(control, f, state, end)
    return state


def _advance(control: _Control, f: Any, t: Any, y: Any, slopes: Any, length: Any, end: Any) -> Any:
    """Go to the time `end`: y, its slopes, and the length of the next step. Where that takes too many, y is nan."""
    if control.method.order == 0:
        h = (end - t) / control.steps
        for k in range(control.steps):
            y, slopes, _ = control.method.step(f, t + k * h, y, h, slopes)
        return y, slopes, length
    state = _State(t, y, slopes, length, math.eq(t, end), 0)
    state = _steps(control, f, state, end)
    reached = math.gt(state.done, 0.5)
    return [where(reached, v, math.nan) for v in state.y], [*state.slopes], state.length


def odeint(
    f: Callable[[Any, Any], Any], y0: Any, times: Any, *, method: str = "tsit5", rtol: Any = 1e-8, atol: Any = 1e-8,
    max_step: Any = math.inf, steps: int | None = None, max_steps: int = 100_000,
) -> list[Any]:  # fmt: skip
    """Solve y' = f(t, y) with y = y0 at the first of the times, and return the list of y at all of them.

    y is a number or a list of numbers, and so is each item of the result. Methods "tsit5" and "dopri5" (order 5) and
    "rodas" (order 4, for stiff equations) choose the lengths of their steps, so that the error of a step is below
    atol + rtol·|y|. "rk4", "verlet" and "yoshida4" make `steps` equal steps between two times; the last two are symplectic,
    and y holds positions and then velocities. Numbers are nan where `max_steps` steps did not lead from one time to the next.

    >>> from micrograd.solvers import odeint
    >>> [round(y, 6) for y in odeint(lambda t, y: t * y, 1.0, [0.0, 1.0, 2.0])]
    [1.0, 1.648721, 7.389056]
    >>> swing = odeint(lambda t, y: [y[1], -y[0]], [1.0, 0.0], [0.0, math.pi / 3.0], method="yoshida4", steps=200)
    >>> [round(v, 6) for v in swing[-1]]
    [0.5, -0.866025]
    """
    control = _control(method, rtol, atol, max_step, steps, max_steps)
    if isinstance(y0, (int, float, Value)):
        found = _solutions(control, lambda t, y: [f(t, y[0])], [y0], times)
        return [y[0] for y in found]
    return _solutions(control, lambda t, y: list(f(t, y)), list(y0), times)


def _solutions(control: _Control, f: Any, y0: list[Any], times: Any) -> list[list[Any]]:
    if len(times) < 1:
        raise ValueError("odeint needs the time at which y is y0, as the first of its times")
    if len(y0) < 1:
        raise ValueError("y0 is empty, so there is nothing to solve for\n  Give the state at the first of the times.")
    start, n = stop_gradient(times[0]), len(y0)
    y = _before(control, f, times[0], y0)
    slopes = f(start, y)
    if len(slopes) != n:
        raise ValueError(f"f(t, y) returns {len(slopes)} numbers for {n} in y: return the derivative of each")
    y = [beside(v, w) for v, w in zip(y, slopes)]
    t, length, found = beside(start, slopes[0]), math.inf, []
    if control.method.order:
        span = math.abs(stop_gradient(times[len(times) - 1]) - start)
        length = _first_length(control, y, slopes, span)
    # One flat list: a loop that appends numbers stays a loop when it is compiled, and one that appends lists does not.
    for k in range(1, len(times)):
        end = stop_gradient(times[k])
        y, slopes, length = _advance(control, f, t, [*y], [*slopes], length, end)
        t = end + 0.0 * t
        row = _moved(control, f, times[k], y)
        for i in range(n):
            found.append(row[i])
    return [y0] + [found[k * n : (k + 1) * n] for k in range(len(times) - 1)]


def _before(control: _Control, f: Any, t: Any, y: list[Any]) -> list[Any]:
    """Return y, which stands at the time t, as seen at the constant of this number."""
    if not isinstance(t, Value):
        return list(y)
    return control.method.step(f, t, y, stop_gradient(t) - t, f(t, y))[0]


def odeint_dense(
    f: Callable[[Any, Any], Any], y0: Any, t0: Any, t1: Any, *, knots: int = 33, **options: Any
) -> Callable[[Any], Any]:
    """Solve y' = f(t, y) from y = y0 at t0 to t1, and return y as a function of the time.

    It keeps y at so many knots, and goes on from the one before t with the method and the tolerances of `odeint`, which are
    given as options. So y is as exact between knots as at them, and more knots make its calls cheaper.

    >>> from micrograd.solvers import odeint_dense
    >>> y = odeint_dense(lambda t, y: -y, 1.0, 0.0, 5.0)
    >>> round(y(1.234), 7), round(y(4.0), 7)
    (0.2911257, 0.0183156)
    """
    times = [t0 + (t1 - t0) * (k / (knots - 1)) for k in range(knots)]
    states = odeint(f, y0, times, **options)
    upwards = 1.0 if t1 > t0 else -1.0

    def solution(t: Any) -> Any:
        k = interval(upwards * t, [upwards * v for v in times])
        return odeint(f, states[k], [times[k], t], **options)[-1]

    return solution


def odeint_event(
    f: Callable[[Any, Any], Any], y0: Any, t0: Any, t1: Any, event: Callable[[Any, Any], Any], *, method: str = "tsit5",
    direction: int = 0, rtol: Any = 1e-8, atol: Any = 1e-8, max_step: Any = math.inf, max_steps: int = 100_000,
    order: int = ORDER,
) -> tuple[Any, Any]:  # fmt: skip
    """Solve y' = f(t, y) from y = y0 at t0 until `event(t, y)` changes its sign, and return the time and y.

    Both have implicit derivatives, up to the order that is given. `direction=1` waits until the event becomes positive, -1
    until it becomes negative. Both are nan where no event has come by t1. Two events within one step are not seen:
    `max_step` bounds its length.

    >>> from micrograd import grad
    >>> from micrograd.solvers import odeint_event
    >>> def landing(speed):
    ...     return odeint_event(lambda t, y: [y[1], -9.81], [0.0, speed], 0.0, 10.0, lambda t, y: y[0], direction=-1)[0]
    >>> round(landing(9.81), 9), round(grad(landing)(9.81), 9)
    (2.0, 0.203873598)
    """
    if isinstance(y0, (int, float, Value)):
        t, y = odeint_event(
            lambda t, y: [f(t, y[0])], [y0], t0, t1, lambda t, y: event(t, y[0]), method=method, direction=direction,
            rtol=rtol, atol=atol, max_step=max_step, max_steps=max_steps, order=order,
        )  # fmt: skip
        return t, y[0]
    control = _control(method, rtol, atol, max_step, None, max_steps)
    found: tuple[Any, Any] = _until(control, lambda t, y: list(f(t, y)), list(y0), t0, t1, event, direction, order)
    return found


def _until(control: _Control, f: Any, y: list[Any], t0: Any, t1: Any, event: Any, direction: int, order: int) -> Any:
    start, end = stop_gradient(t0), stop_gradient(t1)
    y = _before(control, f, t0, y)
    slopes = f(start, y)
    y = [beside(v, w) for v, w in zip(y, slopes)]
    length = _first_length(control, y, slopes, math.abs(end - start))
    state = _State(beside(start, slopes[0]), y, slopes, length, 0.0, 0)
    before, happened, going = beside(stop_gradient(event(start, _constants(y))), slopes[0]), 0.0, math.ne(start, end)
    last, made = state, 0
    while made < control.steps and going > 0.5:
        last = state
        state = _attempt(control, f, last, end)
        now = stop_gradient(event(state.t, _constants(state.y)))
        rises, falls = math.lt(before, 0.0) * math.ge(now, 0.0), math.gt(before, 0.0) * math.le(now, 0.0)
        happened = rises if direction > 0 else falls if direction < 0 else math.max(rises, falls)
        going = math.eq(happened + state.done, 0.0)
        before = now
        made += 1
    # One step from the last state before the event, of the length at which the event is 0.
    now, y, slopes = last.t, last.y, last.slopes

    def after(h: Any) -> Any:
        return control.method.step(f, now, y, h, slopes)[0]

    def missed(h: Any) -> Any:
        return event(now + h, after(h))

    found = _between(missed, 0.0 * now, state.t - now, 1e-14, 200)
    h = at_solution(missed, where(happened, found, math.nan), order)
    return now + h, after(h)


__all__ = ["METHODS", "odeint", "odeint_dense", "odeint_event"]
