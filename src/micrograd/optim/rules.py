"""The update rules: how one parameter moves, from its gradient and the numbers that the optimizer keeps for it.

This is the only definition. `slots.py` runs a rule in Python, parameter by parameter; `tools/gen_optim_h.py` runs it once
on names in place of numbers and writes down the C that `native/optim.c` runs, equal to the bit. A rule may therefore use
+ - * / and the functions `root`, `larger` and `sign` below, and nothing that looks at a number.

A rule is called with the parameter p, its gradient g, the constants c of this step (the same for all parameters: the
learning rate, for instance) and the kept numbers. It returns the new p and the new kept numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import sqrt
from typing import Any, NamedTuple

Update = Callable[[Any, Any, Any, tuple[Any, ...]], tuple[Any, ...]]


class Rule(NamedTuple):
    """An update rule: its name, what it computes, the names of what it keeps and of the constants that it reads."""

    name: str
    update: Update
    kept: tuple[str, ...]
    constants: tuple[str, ...]


RULES: dict[str, Rule] = {}


def rule(*parts: Any) -> Rule:
    """Return a rule by its name and options, such as rule("adam", "decoupled", False)."""
    return RULES["_".join(str(part).lower() for part in parts)]


# ---- the functions that a rule may use, on numbers and, by a method of the same name, on the generator's names


def root(x: Any) -> Any:
    """Return the square root."""
    return sqrt(x) if isinstance(x, float) else x.root()


def larger(a: Any, b: Any) -> Any:
    """Return a if it is greater than b, otherwise b."""
    return (a if a > b else b) if isinstance(a, float) else a.larger(b)


def sign(x: Any) -> Any:
    """Return 1.0, -1.0, or x itself if it is neither above nor below zero."""
    return (1.0 if x > 0.0 else -1.0 if x < 0.0 else x) if isinstance(x, float) else x.sign()


# ---- the rules. c.turn is 1.0, or -1.0 to maximize; weight decay is "none", "coupled" (added to the gradient) or
# "decoupled" (the parameter shrinks by a factor)


def _decayed(p: Any, g: Any, c: Any, decay: str) -> tuple[Any, Any]:
    g = c.turn * g
    if decay == "coupled":
        g = g + c.weight_decay * p
    elif decay == "decoupled":
        p = p * c.shrink
    return p, g


def _decay_constants(decay: str) -> tuple[str, ...]:
    return {"none": ("turn",), "coupled": ("turn", "weight_decay"), "decoupled": ("turn", "shrink")}[decay]


def _sgd(decay: str, momentum: bool, nesterov: bool) -> tuple[Update, tuple[str, ...], tuple[str, ...]]:
    def update(p: Any, g: Any, c: Any, kept: tuple[Any, ...]) -> tuple[Any, ...]:
        p, g = _decayed(p, g, c, decay)
        if not momentum:
            return (p - c.lr * g,)
        speed = c.momentum * kept[0] + c.fresh * g
        move = g + c.momentum * speed if nesterov else speed
        return p - c.lr * move, speed

    constants = ("lr", "momentum", "fresh") if momentum else ("lr",)
    return update, ("speed",) if momentum else (), (*constants, *_decay_constants(decay))


def _adam(decay: str, amsgrad: bool) -> tuple[Update, tuple[str, ...], tuple[str, ...]]:
    def update(p: Any, g: Any, c: Any, kept: tuple[Any, ...]) -> tuple[Any, ...]:
        p, g = _decayed(p, g, c, decay)
        mean = c.beta1 * kept[0] + c.new1 * g
        square = c.beta2 * kept[1] + c.new2 * g * g
        if not amsgrad:
            return p - c.size * mean / (root(square) * c.lift + c.eps), mean, square
        most = larger(square, kept[2])
        return p - c.size * mean / (root(most) * c.lift + c.eps), mean, square, most

    constants = ("size", "lift", "beta1", "new1", "beta2", "new2", "eps", *_decay_constants(decay))
    return update, ("mean", "square", "most") if amsgrad else ("mean", "square"), constants


def _nadam(decay: str) -> tuple[Update, tuple[str, ...], tuple[str, ...]]:
    def update(p: Any, g: Any, c: Any, kept: tuple[Any, ...]) -> tuple[Any, ...]:
        p, g = _decayed(p, g, c, decay)
        mean = c.beta1 * kept[0] + c.new1 * g
        square = c.beta2 * kept[1] + c.new2 * g * g
        spread = root(square / c.left) + c.eps
        return p - c.now * g / spread - c.ahead * mean / spread, mean, square

    constants = ("now", "ahead", "left", "beta1", "new1", "beta2", "new2", "eps", *_decay_constants(decay))
    return update, ("mean", "square"), constants


def _rmsprop(decay: str, centered: bool, momentum: bool) -> tuple[Update, tuple[str, ...], tuple[str, ...]]:
    def update(p: Any, g: Any, c: Any, kept: tuple[Any, ...]) -> tuple[Any, ...]:
        p, g = _decayed(p, g, c, decay)
        square = c.alpha * kept[0] + c.new * g * g
        new, spread = [square], square
        if centered:
            mean = c.alpha * kept[1] + c.new * g
            spread = larger(square - mean * mean, 0.0)  # rounding may take it below zero
            new.append(mean)
        move = g / (root(spread) + c.eps)
        if momentum:
            move = c.momentum * kept[-1] + move
            new.append(move)
        return p - c.lr * move, *new

    kept = ("square", *(["mean"] if centered else []), *(["speed"] if momentum else []))
    constants = ("lr", "alpha", "new", "eps", *(["momentum"] if momentum else []), *_decay_constants(decay))
    return update, kept, constants


def _adagrad(decay: str) -> tuple[Update, tuple[str, ...], tuple[str, ...]]:
    def update(p: Any, g: Any, c: Any, kept: tuple[Any, ...]) -> tuple[Any, ...]:
        p, g = _decayed(p, g, c, decay)
        total = kept[0] + g * g
        return p - c.lr * g / (root(total) + c.eps), total

    return update, ("total",), ("lr", "eps", *_decay_constants(decay))


def _lion(decay: str) -> tuple[Update, tuple[str, ...], tuple[str, ...]]:
    def update(p: Any, g: Any, c: Any, kept: tuple[Any, ...]) -> tuple[Any, ...]:
        p, g = _decayed(p, g, c, decay)
        move = sign(c.beta1 * kept[0] + c.new1 * g)
        return p - c.lr * move, c.beta2 * kept[0] + c.new2 * g

    return update, ("mean",), ("lr", "beta1", "new1", "beta2", "new2", *_decay_constants(decay))


def _add(name: str, make: Callable[..., tuple[Update, tuple[str, ...], tuple[str, ...]]], *options: Any) -> None:
    for chosen in product(*options):
        full = "_".join(str(part).lower() for part in (name, *chosen))
        RULES[full] = Rule(full, *make(*chosen))


_BOTH = (False, True)
_add("sgd", _sgd, ("none", "coupled"), _BOTH, _BOTH)
_add("adam", _adam, ("none", "coupled", "decoupled"), _BOTH)
_add("nadam", _nadam, ("none", "coupled", "decoupled"))
_add("rmsprop", _rmsprop, ("none", "coupled"), _BOTH, _BOTH)
_add("adagrad", _adagrad, ("none", "coupled"))
_add("lion", _lion, ("none", "decoupled"))
