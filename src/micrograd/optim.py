"""Optimizers: how gradients change parameters. SGD, Adam, AdamW and RMSprop, with PyTorch's arguments and numbers.

A learning rate is a number, or a function of the count of steps taken: `constant`, `linear`, `cosine` and `step` make
the usual ones. `clip_norm` and `clip_value` bound the gradients before a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import cos, inf, isfinite, pi, sqrt
from typing import Any

from micrograd.engine import Value, descend, zero_grads

Schedule = Callable[[int], float]  # steps taken -> learning rate

# ---- learning rates


def constant(lr: float) -> Schedule:
    """The same learning rate at each step."""
    return lambda k: lr


def linear(start: float, end: float, steps: int) -> Schedule:
    """From start to end in a straight line over so many steps, then end."""
    _count("steps", steps)
    return lambda k: start + (end - start) * min(k / steps, 1.0)


def cosine(start: float, end: float, steps: int, warmup: int = 0) -> Schedule:
    """From start to end along half a cosine over so many steps, then end; `warmup` steps from near zero come first."""
    _count("steps", steps)

    def schedule(k: int) -> float:
        if k < warmup:
            return start * (k + 1) / (warmup + 1)
        done = min((k - warmup) / steps, 1.0)
        return end + (start - end) * (1.0 + cos(pi * done)) / 2.0

    return schedule


def step(start: float, every: int, factor: float = 0.1) -> Schedule:
    """Multiply by factor after each so many steps."""
    _count("every", every)
    return lambda k: start * factor ** (k // every)


def _count(name: str, n: int) -> None:
    if n < 1:
        raise ValueError(f"{name} counts steps and is 1 or more, not {n}")


# ---- gradients


def clip_norm(parameters: Iterable[Value], limit: float) -> float:
    """Scale all gradients by one factor so that their norm is at most limit; gives the norm that they had."""
    held = list(parameters)
    norm = sqrt(sum(p.grad * p.grad for p in held))
    factor = limit / (norm + 1e-6)  # the 1e-6 is PyTorch's
    if factor < 1.0 or factor != factor:  # a nan is passed on, for all to see
        for p in held:
            p.grad *= factor
    return norm


def clip_value(parameters: Iterable[Value], limit: float) -> None:
    """Move each gradient into [-limit, limit]."""
    for p in parameters:
        if p.grad > limit:
            p.grad = limit
        elif p.grad < -limit:
            p.grad = -limit


# ---- optimizers


class Optimizer:
    """What optimizers share: parameters, a learning rate, a count of steps, and numbers kept for each parameter."""

    def __init__(self, parameters: Iterable[Value], lr: float | Schedule, **settings: float) -> None:
        self.parameters = list(parameters)
        if not self.parameters:
            raise ValueError("an optimizer needs parameters, and was given none: pass model.parameters()")
        for p in self.parameters:
            if not isinstance(p, Value):
                raise TypeError(f"parameters are Values, not {type(p).__name__}: pass model.parameters()")
            if p._prev:
                raise ValueError(f"{p!r} was computed, by {p._op!r}: only a leaf can be a parameter")
        if len({id(p) for p in self.parameters}) < len(self.parameters):
            raise ValueError("one parameter is in the list twice, and would be moved twice in a step")
        for name, x in settings.items():
            if not 0.0 <= x < inf or (name == "eps" and x == 0.0):
                raise ValueError(f"{name} is {'above 0' if name == 'eps' else '0 or more'}, not {x}")
        self.lr = lr  # type: ignore[assignment]
        self.steps = 0
        self.settings = settings
        self.kept: dict[str, list[float]] = {}

    @property
    def lr(self) -> float:
        """The learning rate of the next step; assign a number or a function of the count of steps."""
        rate = self._schedule(self.steps)
        if not isfinite(rate) or rate < 0.0:
            raise ValueError(
                f"the learning rate of step {self.steps} is {rate}: it has to be a finite number, 0 or more"
            )
        return rate

    @lr.setter
    def lr(self, rate: float | Schedule) -> None:
        self._schedule = rate if callable(rate) else constant(float(rate))
        if not callable(rate) and not (isfinite(rate) and rate >= 0.0):
            raise ValueError(f"a learning rate is a finite number, 0 or more, not {rate}")

    def zero_grad(self) -> None:
        """Set the gradient of every parameter to zero."""
        zero_grads(self.parameters)

    def step(self) -> None:
        """Move each parameter, by its gradient, in place."""
        lr = self.lr
        self.steps += 1
        self._move(lr, [p.grad for p in self.parameters])

    def _move(self, lr: float, grads: list[float]) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _move(): an Optimizer says there how parameters move")

    def _keep(self, name: str) -> list[float]:
        """A number for each parameter that stays from step to step, zero at first."""
        return self.kept.setdefault(name, [0.0] * len(self.parameters))

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on from here: the count of steps and the numbers kept for each parameter."""
        return {
            "optimizer": type(self).__name__,
            "steps": self.steps,
            "kept": {k: list(v) for k, v in self.kept.items()},
        }

    def load_state_dict(self, state: dict[str, Any], source: str = "the state") -> None:
        """Go on from a state_dict of the same optimizer over as many parameters."""
        if state.get("optimizer") != type(self).__name__:
            raise ValueError(f"{source} is of {state.get('optimizer')}, and this optimizer is {type(self).__name__}")
        for name, numbers in state["kept"].items():
            if len(numbers) != len(self.parameters):
                raise ValueError(
                    f"{source} keeps {name} for {len(numbers)} parameters, and here are {len(self.parameters)}"
                )
        self.steps = int(state["steps"])
        self.kept = {name: [float(x) for x in numbers] for name, numbers in state["kept"].items()}

    def __repr__(self) -> str:
        told = "".join(f", {name}={x:g}" for name, x in self.settings.items())
        return f"{type(self).__name__}({len(self.parameters)} parameters, lr={self.lr:g}{told})"


class SGD(Optimizer):
    """p -= lr · gradient; with momentum, of a gradient that remembers the ones before."""

    def __init__(
        self,
        parameters: Iterable[Value],
        lr: float | Schedule = 1e-3,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        if nesterov and momentum <= 0:
            raise ValueError("nesterov looks ahead along the momentum, and momentum is 0: give it one, such as 0.9")
        super().__init__(parameters, lr, momentum=momentum, weight_decay=weight_decay, nesterov=float(nesterov))

    def step(self) -> None:
        """Move each parameter, by its gradient, in place."""
        if self.settings["momentum"]:
            super().step()
        else:  # the engine does it in one go: a compiled training step is much shorter than a loop over its parameters
            lr = self.lr
            self.steps += 1
            descend(self.parameters, lr, self.settings["weight_decay"])

    def _move(self, lr: float, grads: list[float]) -> None:
        momentum, weight_decay, nesterov = self.settings.values()
        if weight_decay:
            grads = [g + weight_decay * p.data for g, p in zip(grads, self.parameters)]
        speed = self._keep("speed")
        speed[:] = [momentum * s + g for s, g in zip(speed, grads)]
        grads = [g + momentum * s for g, s in zip(grads, speed)] if nesterov else speed
        for p, g in zip(self.parameters, grads):
            p.data -= lr * g


class Adam(Optimizer):
    """Steps of about lr in each direction: the mean of the gradients over the root of the mean of their squares."""

    def __init__(
        self,
        parameters: Iterable[Value],
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        for beta in betas:
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"betas are at least 0 and below 1, not {beta}")
        super().__init__(parameters, lr, beta1=betas[0], beta2=betas[1], eps=eps, weight_decay=weight_decay)

    def _decay(self, lr: float, grads: list[float], weight_decay: float) -> list[float]:
        return [g + weight_decay * p.data for g, p in zip(grads, self.parameters)]

    def _move(self, lr: float, grads: list[float]) -> None:
        beta1, beta2, eps, weight_decay = self.settings.values()
        if weight_decay:
            grads = self._decay(lr, grads, weight_decay)
        mean, square = self._keep("mean"), self._keep("square")
        new1, new2 = 1.0 - beta1, 1.0 - beta2
        mean[:] = [beta1 * m + new1 * g for m, g in zip(mean, grads)]
        square[:] = [beta2 * s + new2 * g * g for s, g in zip(square, grads)]
        size = lr / (1.0 - beta1**self.steps)  # both means begin at zero: these two factors make up for it
        root = sqrt(1.0 - beta2**self.steps)
        for p, m, s in zip(self.parameters, mean, square):
            p.data -= size * m / (sqrt(s) / root + eps)


class AdamW(Adam):
    """Adam with a weight decay that acts on the parameter itself, not through the gradient."""

    def __init__(
        self,
        parameters: Iterable[Value],
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)

    def _decay(self, lr: float, grads: list[float], weight_decay: float) -> list[float]:
        for p in self.parameters:
            p.data *= 1.0 - lr * weight_decay
        return grads


class RMSprop(Optimizer):
    """Each gradient over the root of the mean of its squares."""

    def __init__(
        self,
        parameters: Iterable[Value],
        lr: float | Schedule = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
    ) -> None:
        super().__init__(
            parameters,
            lr,
            alpha=alpha,
            eps=eps,
            weight_decay=weight_decay,
            momentum=momentum,
            centered=float(centered),
        )

    def _move(self, lr: float, grads: list[float]) -> None:
        alpha, eps, weight_decay, momentum, centered = self.settings.values()
        if weight_decay:
            grads = [g + weight_decay * p.data for g, p in zip(grads, self.parameters)]
        square = self._keep("square")
        square[:] = [alpha * s + (1.0 - alpha) * g * g for s, g in zip(square, grads)]
        spread = square
        if centered:
            mean = self._keep("mean")
            mean[:] = [alpha * m + (1.0 - alpha) * g for m, g in zip(mean, grads)]
            spread = [max(s - m * m, 0.0) for s, m in zip(square, mean)]  # rounding may take it below
        moves = [g / (sqrt(s) + eps) for g, s in zip(grads, spread)]
        if momentum:
            speed = self._keep("speed")
            speed[:] = [momentum * v + d for v, d in zip(speed, moves)]
            moves = speed
        for p, d in zip(self.parameters, moves):
            p.data -= lr * d
