"""LBFGS: minimize a function of all parameters with curvature from the last steps, and a line search for each step."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from math import inf, isfinite, sqrt
from typing import Any

from micrograd.engine import Value
from micrograd.optim.groups import Settings
from micrograd.optim.optimizer import Optimizer
from micrograd.optim.slots import Slots, Update

Vector = array  # of doubles
DECREASE, CURVATURE = 1e-4, 0.9  # the strong Wolfe conditions, with the constants that are usual for quasi-Newton steps


class NotFiniteError(ValueError):
    """The loss or a gradient is not finite where a step begins: no parameter has moved."""


class LBFGS(Optimizer):
    """Minimize a function that can be evaluated again and again: all data at once, no noise between evaluations.

    `step(closure)` takes up to `max_iter` iterations. The closure computes the loss and returns it as a Value; it may call
    `backward()` itself, or leave that to the optimizer. Compile it with `jit` for full speed.

    >>> from micrograd import Value, optim
    >>> x, y = Value(-1.2), Value(1.0)
    >>> optimizer = optim.LBFGS([x, y], max_iter=100)
    >>> loss = optimizer.step(lambda: (1 - x) ** 2 + 100 * (y - x * x) ** 2)
    >>> round(x.data, 6), round(y.data, 6)
    (1.0, 1.0)

    lr               the length of the first trial step of each line search but the first
    tolerance_grad   stop when no gradient is greater
    tolerance_change stop when the loss and all parameters change by less
    history_size     how many steps the curvature is estimated from
    """

    assignable = Optimizer.assignable | {"evaluations"}

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float = 1.0,
        max_iter: int = 20,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 10,
        max_evaluations: int = 25,
    ) -> None:
        super().__init__(
            parameters, lr, max_iter=max_iter, tolerance_grad=tolerance_grad, tolerance_change=tolerance_change,
            history_size=history_size, max_evaluations=max_evaluations,
        )  # fmt: skip
        if len(self.groups) > 1:
            raise ValueError("LBFGS minimizes over all parameters together: give it one list, not groups")
        self.evaluations = 0  # of the closure, in all steps
        self._pairs: list[tuple[Any, Any]] = []  # (change of the parameters, change of the gradient), oldest first

    def _consistent(self, settings: Settings) -> None:
        for name in ("max_iter", "history_size", "max_evaluations"):
            n = settings[name]
            if not n >= 1 or n != int(n):
                raise ValueError(f"{name} is a whole number, 1 or more, not {n:g}")
        for name in ("tolerance_grad", "tolerance_change"):
            if not 0.0 <= settings[name] < inf:
                raise ValueError(f"{name} is 0 or more, not {settings[name]}")

    def step(self, closure: Callable[[], Value] | None = None) -> float:
        """Run up to `max_iter` iterations and return the loss at the end; parameters and gradients are those of that point."""
        if closure is None:
            raise TypeError("LBFGS evaluates the loss several times in a step: call step(closure), which returns it")
        point, settings = _Point(self.slots, closure), self.groups[0]._settings
        loss, gradient = point.evaluate()
        if not isfinite(loss):
            raise NotFiniteError(f"the loss is {loss} where LBFGS begins: it needs a finite one")
        if not all(map(isfinite, gradient)):
            raise NotFiniteError("a gradient is not finite where LBFGS begins: no direction leads downhill from there")
        for _ in range(int(settings["max_iter"])):
            if max(map(abs, gradient)) <= settings["tolerance_grad"]:
                break
            direction = self._direction(gradient)
            slope = Slots.dot(gradient, direction)
            if not -inf < slope < 0.0:  # not downhill, by rounding or a kink: forget the curvature
                self._pairs.clear()
                direction = Vector("d", [-g for g in gradient])
                slope = Slots.dot(gradient, direction)
            lr = self.groups[0].lr
            first = lr if self._pairs else min(1.0, 1.0 / sum(map(abs, gradient))) * lr
            start = point.position()
            length, new_loss, new_gradient = _search(
                point, start, direction, first, loss, gradient, slope, int(settings["max_evaluations"])
            )
            moved = Vector("d", bytes(8 * len(start)))
            if length:
                Slots.add(length, direction, moved)
            change = Vector("d", new_gradient)
            Slots.add(-1.0, gradient, change)
            if Slots.dot(moved, change) > 1e-10 * Slots.dot(change, change) > 0.0:
                self._pairs = [*self._pairs, (moved, change)][-int(settings["history_size"]) :]
            still = abs(new_loss - loss) < settings["tolerance_change"] * max(1.0, abs(loss))
            loss, gradient = new_loss, new_gradient
            self.steps += 1
            if length == 0.0 or (still and max(map(abs, moved)) <= settings["tolerance_change"]):
                break
        if point.moved:  # the last search ended at a length before the one that it evaluated last
            point.evaluate()
        self.evaluations += point.evaluations
        return loss

    def _direction(self, gradient: Any) -> Any:
        """Return minus the inverse Hessian, as the kept pairs estimate it, times the gradient."""
        q = Vector("d", gradient)
        shares = []
        for moved, change in reversed(self._pairs):
            share = Slots.dot(moved, q) / Slots.dot(moved, change)
            Slots.add(-share, change, q)
            shares.append(share)
        if self._pairs:
            moved, change = self._pairs[-1]
            scale = Slots.dot(moved, change) / Slots.dot(change, change)
            q = Vector("d", [scale * x for x in q])
        for (moved, change), share in zip(self._pairs, reversed(shares)):
            Slots.add(share - Slots.dot(change, q) / Slots.dot(moved, change), moved, q)
        return Vector("d", [-x for x in q])

    def updates(self) -> tuple[Update, ...]:
        """LBFGS has no update that a gradient alone decides."""
        raise TypeError("LBFGS evaluates the loss several times in a step: call step(closure), or pass it to fit")

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to continue from here."""
        pairs = [[moved.tolist(), change.tolist()] for moved, change in self._pairs]
        return super().state_dict() | {"pairs": pairs}

    def load_state_dict(self, state: dict[str, Any], source: str = "the state", settings: str = "same") -> None:
        """Continue from a state_dict of another LBFGS over as many parameters."""
        pairs = state.get("pairs")
        count = len(self.parameters)
        if not isinstance(pairs, list) or any(len(pair) != 2 or {len(x) for x in pair} != {count} for pair in pairs):
            raise ValueError(f"{source} has no curvature of {count} parameters")
        found = [(Vector("d", moved), Vector("d", change)) for moved, change in pairs]
        super().load_state_dict(state, source, settings)
        self._pairs = found


class _Point:
    """The parameters as one point, and the loss and gradient there."""

    def __init__(self, slots: Any, closure: Callable[[], Value]) -> None:
        self.slots, self.closure = slots, closure
        self.evaluations = 0
        self.moved = False  # since the last evaluation

    def evaluate(self) -> tuple[float, Any]:
        self.evaluations += 1
        self.moved = False
        self.slots.zero()
        loss = self.closure()
        if not hasattr(
            loss, "backward"
        ):  # in fit it need not be a Value: a loss of one's own runs on compiled predictions
            raise TypeError(f"the closure of LBFGS returns the loss as a Value, not {type(loss).__name__}")
        if self.slots.norm() == 0.0:  # the closure has not called backward() itself
            loss.backward()
        gradient = Vector("d", bytes(8 * len(self.slots)))
        self.slots.copy("gradients", gradient)
        return loss.data, gradient

    def position(self) -> Any:
        x = Vector("d", bytes(8 * len(self.slots)))
        self.slots.copy("read", x)
        return x

    def move(self, start: Any, direction: Any, length: float) -> None:
        x = Vector("d", start)
        if length:  # 0 times a direction that has overflowed would be nan
            Slots.add(length, direction, x)
        self.slots.copy("write", x)
        self.moved = True

    def look(self, start: Any, direction: Any, length: float) -> tuple[float, Any, float]:
        """Return loss, gradient and slope at a length along a direction."""
        self.move(start, direction, length)
        loss, gradient = self.evaluate()
        return loss, gradient, Slots.dot(gradient, direction)


def _search(
    point: _Point, start: Any, direction: Any, length: float, loss: float, gradient: Any, slope: float, most: int
) -> tuple[float, float, Any]:
    """Find a length that fulfils the strong Wolfe conditions; return it with the loss and the gradient there.

    The length grows until a minimum is bracketed, and then the bracket shrinks around the minimum of a cubic through
    its ends. Where `most` evaluations do not suffice, the best length seen is returned, which may be 0.
    """
    low = (0.0, loss, gradient, slope)  # the best so far that decreases enough: (length, loss, gradient, slope)
    high: tuple[float, float, Any, float] | None = None
    for _ in range(most):
        f, g, d = point.look(start, direction, length)
        here = (length, f, g, d)
        if (
            not isfinite(f)
            or not isfinite(d)
            or f > loss + DECREASE * length * slope
            or (f >= low[1] > -inf and low[0] > 0.0)
        ):
            high = here
        elif abs(d) <= -CURVATURE * slope:
            return length, f, g
        else:
            if d * ((high[0] if high else inf) - low[0]) >= 0.0:
                high = low
            low = here
        if high is None:
            length *= 4.0
            continue
        if abs(high[0] - low[0]) <= 1e-16 * max(abs(low[0]), 1e-16):
            break
        length = _between(low, high)
    point.move(start, direction, low[0])
    return low[0], low[1], low[2]


def _between(a: tuple[float, float, Any, float], b: tuple[float, float, Any, float]) -> float:
    """Return where a cubic through two points with these slopes has its minimum, kept away from both ends."""
    (x, f, _, d), (y, h, _, e) = a, b
    width = y - x
    guess = x + 0.5 * width
    if isfinite(h) and isfinite(e):
        theta = d + e - 3.0 * (f - h) / (x - y)
        inside = theta * theta - d * e
        if inside >= 0.0:
            gamma = sqrt(inside) if y > x else -sqrt(inside)
            below = e - d + 2.0 * gamma
            if below != 0.0:
                guess = y - width * ((e + gamma - theta) / below)
    nearest, farthest = sorted((x + 0.1 * width, x + 0.9 * width))
    return min(max(guess, nearest), farthest)
