"""The optimizers: for each its settings, its update rule, and the constants of a step."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod, sqrt
from typing import Any

from micrograd.optim.groups import Group, Settings, check_betas, put
from micrograd.optim.optimizer import Optimizer
from micrograd.optim.rules import Rule, rule
from micrograd.optim.schedules import Schedule


def _decay(settings: Settings, kind: str = "coupled") -> str:
    return kind if settings["weight_decay"] else "none"


def _new(settings: Settings) -> Settings:
    """Return the shares of the newest gradient in two running means."""
    return {"new1": 1.0 - settings["beta1"], "new2": 1.0 - settings["beta2"]}


def _momentum(beta1: float, decay: float, step: int) -> float:
    """Return the share of the old mean in a step of NAdam."""
    return beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))  # type: ignore[no-any-return]


class SGD(Optimizer):
    """p -= lr · gradient; with momentum, by a running sum of the gradients.

    >>> from micrograd import Value, optim
    >>> p = Value(1.0)
    >>> optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    >>> (p * p).backward()
    >>> optimizer.step()
    >>> p.data
    0.8
    """

    settles = True

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float | Schedule = 1e-3,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        dampening: float = 0.0,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            parameters, lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov, dampening=dampening,
            maximize=maximize,
        )  # fmt: skip

    def _consistent(self, settings: Settings) -> None:
        if settings["nesterov"] and (settings["momentum"] <= 0 or settings["dampening"] != 0):
            raise ValueError("nesterov looks ahead along the momentum: it needs momentum above 0, and dampening 0")

    def _rule(self, settings: Settings) -> Rule:
        return rule("sgd", _decay(settings), bool(settings["momentum"]), bool(settings["nesterov"]))

    def _varying(self, group: Group, lr: float, step: int) -> tuple[tuple[str, float], ...]:
        is_first = step == 1 or "speed" not in group.kept
        return ("lr", lr), ("fresh", 1.0 if is_first else 1.0 - group._settings["dampening"])


class Adam(Optimizer):
    """Steps of about lr in each direction: the mean of the gradients over the root of the mean of their squares.

    `amsgrad` divides by the greatest mean of squares so far.

    >>> from micrograd import Value, optim
    >>> p = Value(1.0)
    >>> optimizer = optim.Adam([p], lr=0.1)
    >>> (p * p).backward()
    >>> optimizer.step()
    >>> round(p.data, 6)
    0.9
    """

    decay = "coupled"

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        amsgrad: bool = False,
        maximize: bool = False,
    ) -> None:
        beta1, beta2 = check_betas(betas)
        super().__init__(
            parameters, lr, beta1=beta1, beta2=beta2, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
            maximize=maximize,
        )  # fmt: skip

    def _rule(self, settings: Settings) -> Rule:
        return rule("adam", _decay(settings, self.decay), bool(settings["amsgrad"]))

    def _fixed(self, settings: Settings) -> Settings:
        return super()._fixed(settings) | _new(settings)

    def _varying(self, group: Group, lr: float, step: int) -> tuple[tuple[str, float], ...]:
        settings = group._settings
        size = lr / (1.0 - settings["beta1"] ** step)  # both means begin at zero: these two factors make up for it
        lift = 1.0 / sqrt(1.0 - settings["beta2"] ** step)
        return ("size", size), ("lift", lift), ("shrink", 1.0 - lr * settings["weight_decay"])


class AdamW(Adam):
    """Adam with a weight decay that acts on the parameter itself and not through the gradient.

    >>> from micrograd import nn, optim
    >>> model = nn.MLP(2, [4, 1])
    >>> optim.AdamW(optim.decay_groups(model, 0.1), lr=0.01).lr
    0.01
    """

    decay = "decoupled"

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        *,
        amsgrad: bool = False,
        maximize: bool = False,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay, amsgrad=amsgrad, maximize=maximize)


class NAdam(Optimizer):
    """Adam with Nesterov's look ahead along the momentum.

    >>> from micrograd import Value, optim
    >>> p = Value(1.0)
    >>> optimizer = optim.NAdam([p], lr=0.1)
    >>> (p * p).backward()
    >>> optimizer.step()
    >>> p.data < 1.0
    True
    """

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float | Schedule = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        *,
        decoupled_weight_decay: bool = False,
        maximize: bool = False,
    ) -> None:
        beta1, beta2 = check_betas(betas)
        super().__init__(
            parameters, lr, beta1=beta1, beta2=beta2, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize,
        )  # fmt: skip

    def _rule(self, settings: Settings) -> Rule:
        return rule("nadam", _decay(settings, "decoupled" if settings["decoupled_weight_decay"] else "coupled"))

    def _fixed(self, settings: Settings) -> Settings:
        return super()._fixed(settings) | _new(settings)

    def _varying(self, group: Group, lr: float, step: int) -> tuple[tuple[str, float], ...]:
        settings = group._settings
        beta1, decay = settings["beta1"], settings["momentum_decay"]
        now, ahead = _momentum(beta1, decay, step), _momentum(beta1, decay, step + 1)
        missed = self.steps + 1 - step
        name = f"product after {missed} missed" if missed else "product"
        before = group.numbers.get(name)
        if before is None:  # at the start, and for what was frozen until now
            before = prod(_momentum(beta1, decay, k) for k in range(1, step)) if missed else 1.0
        product = before * now
        put(group, "_pending", {**(group._pending or group.numbers), name: product})
        return (
            ("now", lr * (1.0 - now) / (1.0 - product)),
            ("ahead", lr * ahead / (1.0 - product * ahead)),
            ("left", 1.0 - settings["beta2"] ** step),
            ("shrink", 1.0 - lr * settings["weight_decay"]),
        )


class RMSprop(Optimizer):
    """Each gradient over the root of the mean of its squares.

    >>> from micrograd import Value, optim
    >>> p = Value(1.0)
    >>> optimizer = optim.RMSprop([p], lr=0.01)
    >>> (p * p).backward()
    >>> optimizer.step()
    >>> round(p.data, 6)
    0.9
    """

    settles = True

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float | Schedule = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            parameters, lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered,
            maximize=maximize,
        )  # fmt: skip

    def _rule(self, settings: Settings) -> Rule:
        return rule("rmsprop", _decay(settings), bool(settings["centered"]), bool(settings["momentum"]))

    def _fixed(self, settings: Settings) -> Settings:
        return super()._fixed(settings) | {"new": 1.0 - settings["alpha"]}


class Adagrad(Optimizer):
    """Each gradient over the root of the sum of its squares so far.

    >>> from micrograd import Value, optim
    >>> p = Value(1.0)
    >>> optimizer = optim.Adagrad([p], lr=0.1)
    >>> (p * p).backward()
    >>> optimizer.step()
    >>> round(p.data, 6)
    0.9
    """

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float | Schedule = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            parameters, lr, lr_decay=lr_decay, weight_decay=weight_decay, initial=initial_accumulator_value, eps=eps,
            maximize=maximize,
        )  # fmt: skip

    def _rule(self, settings: Settings) -> Rule:
        return rule("adagrad", _decay(settings))

    def _varying(self, group: Group, lr: float, step: int) -> tuple[tuple[str, float], ...]:
        return (("lr", lr / (1.0 + (step - 1) * group._settings["lr_decay"])),)


class Lion(Optimizer):
    """Steps of exactly lr, by the sign of a running mean of the gradients; use a third to a tenth of Adam's lr.

    >>> from micrograd import Value, optim
    >>> p = Value(1.0)
    >>> optimizer = optim.Lion([p], lr=0.1)
    >>> (p * p).backward()
    >>> optimizer.step()
    >>> p.data
    0.9
    """

    settles = True

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float | Schedule = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        beta1, beta2 = check_betas(betas)
        super().__init__(parameters, lr, beta1=beta1, beta2=beta2, weight_decay=weight_decay, maximize=maximize)

    def _rule(self, settings: Settings) -> Rule:
        return rule("lion", _decay(settings, "decoupled"))

    def _fixed(self, settings: Settings) -> Settings:
        return super()._fixed(settings) | _new(settings)
