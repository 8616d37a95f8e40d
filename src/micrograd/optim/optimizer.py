"""Optimizer: parameters in groups, a learning rate and settings for each group, and the numbers kept from step to step."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from math import inf, isfinite
from numbers import Real
from typing import Any

from micrograd.engine import Value
from micrograd.optim.rules import Rule
from micrograd.optim.schedules import Schedule, constant
from micrograd.optim.slots import Slots, Update
from micrograd.optim.state import describe_rate, load_state

Settings = dict[str, float]
RANGES = {  # setting -> (least, bound): at least the first and below the second
    "alpha": (0.0, 1.0),
    "beta1": (0.0, 1.0),
    "beta2": (0.0, 1.0),
    "dampening": (0.0, inf),
    "eps": (0.0, inf),
    "initial": (0.0, inf),
    "lr_decay": (0.0, inf),
    "momentum": (0.0, inf),
    "momentum_decay": (0.0, inf),
    "weight_decay": (0.0, inf),
}


class Ready:
    """What stays the same from step to step as long as the settings of a group do: made once, not in each step."""

    def __init__(self, settings: tuple[float, ...], group: Group, rule: Rule, fixed: Settings) -> None:
        self.settings, self.kept, self.number = settings, group.keep(rule, fixed.get("initial", 0.0)), _number(rule)
        self.constants = [fixed.get(name, 0.0) for name in rule.constants]
        self.place = {name: k for k, name in enumerate(rule.constants)}


class Group:
    """Parameters that share their settings, and the numbers that the optimizer keeps for each of them."""

    def __init__(self, parameters: list[Value], settings: Settings, schedule: Schedule | None) -> None:
        self.parameters, self.settings = parameters, settings
        self.schedule = schedule  # None for the optimizer's own
        self.slots: Any = Slots(parameters)
        self.kept: dict[str, array[float]] = {}  # one number for each parameter
        self.numbers: dict[str, float] = {}  # one number for the group
        self.pending: dict[str, float] | None = None  # the same after the step that is being taken
        self.frozen = bytes(len(parameters))
        self.ready: Ready | None = None

    def keep(self, rule: Rule, initial: float = 0.0) -> tuple[array[float], ...]:
        """Return the kept numbers of a rule, made on the first call."""
        for name in rule.kept:
            if name not in self.kept:
                self.kept[name] = array("d", [initial]) * len(self.parameters)
        return tuple([self.kept[name] for name in rule.kept])

    def __repr__(self) -> str:
        told = "".join(f", {name}={x:g}" for name, x in self.settings.items())
        return f"Group({len(self.parameters)} parameters{told})"


class Optimizer:
    """What optimizers share.

    `parameters` is a list of Values, or a list of groups: dicts with "parameters" and any settings that differ from the
    optimizer's own, such as {"parameters": model.head.parameters(), "lr": 0.1, "weight_decay": 0.0}.
    """

    def __init__(self, parameters: Iterable[Any], lr: float | Schedule, **settings: float) -> None:
        if hasattr(parameters, "parameters"):
            raise TypeError(
                f"an optimizer takes parameters, not a {type(parameters).__name__}: pass model.parameters()"
            )
        given = list(parameters)
        self.settings: Settings = self._checked(settings)
        self.groups: list[Group] = []
        if given and all(isinstance(part, dict) for part in given):
            for part in given:
                self.groups.append(self._group(dict(part)))
        else:
            self.groups.append(Group(_parameters(given), dict(self.settings), None))
        self.parameters = [p for group in self.groups for p in group.parameters]
        if not self.parameters:
            raise ValueError("an optimizer needs parameters, and was given none: pass model.parameters()")
        if len({id(p) for p in self.parameters}) < len(self.parameters):
            raise ValueError("one parameter is in the list twice, and would be moved twice in a step")
        self.slots: Any = Slots(self.parameters)
        self.lr = lr  # type: ignore[assignment]
        self.steps = 0
        self.initial = self._describe()

    def _group(self, part: dict[str, Any]) -> Group:
        names = [name for name in ("parameters", "params") if name in part]
        if len(names) != 1:
            raise ValueError('a group of parameters is a dict with "parameters" and the settings of the group')
        values, lr = _parameters(list(part.pop(names[0]))), part.pop("lr", None)
        betas = part.pop("betas", None)
        if betas is not None:
            part["beta1"], part["beta2"] = check_betas(betas)
        for name in part:
            if name not in self.settings:
                raise ValueError(
                    f"{type(self).__name__} has no setting {name!r} for a group: it has lr, {', '.join(self.settings)}"
                )
        if not values:
            raise ValueError("a group of parameters is empty")
        return Group(values, self.settings | self._checked(part), None if lr is None else _schedule(lr))

    def _checked(self, settings: dict[str, Any]) -> Settings:
        checked = {}
        for name, x in settings.items():
            if isinstance(x, bool):
                checked[name] = float(x)
                continue
            least, bound = RANGES.get(name, (-inf, inf))
            if not isinstance(x, Real) or not least <= float(x) < bound or (name == "eps" and x == 0.0):
                told = (
                    "above 0"
                    if name == "eps"
                    else f"{least:g} or more" + (f" and below {bound:g}" if bound < inf else "")
                )
                raise ValueError(f"{name} is {told}, not {x!r}")
            checked[name] = float(x)
        return checked

    # ---- learning rate

    @property
    def lr(self) -> float:
        """The learning rate of the next step; assign a number or a function of the number of steps taken.

        A group that was given a learning rate of its own keeps it.
        """
        return self._rate(self._schedule)

    @lr.setter
    def lr(self, rate: float | Schedule) -> None:
        self._schedule = _schedule(rate)

    def scale_lr(self, factor: float, least: float = 0.0) -> None:
        """Multiply the learning rate of every group by a factor; from then on it is a number, not below `least`.

        >>> from micrograd import Value, optim
        >>> a, b = Value(1.0), Value(1.0)
        >>> optimizer = optim.SGD([{"parameters": [a]}, {"parameters": [b], "lr": 0.5}], lr=0.1)
        >>> optimizer.scale_lr(0.5)
        >>> optimizer.lr, optimizer.groups[1].schedule(0)
        (0.05, 0.25)
        """
        for group in self.groups:
            if group.schedule is not None:
                group.schedule = _schedule(max(self._rate(group.schedule) * factor, least))
        self.lr = max(self.lr * factor, least)

    def _rate(self, schedule: Schedule) -> float:
        rate = schedule(self.steps)
        if not isfinite(rate) or rate < 0.0:
            raise ValueError(
                f"the learning rate of step {self.steps} is {rate}: it has to be a finite number, 0 or more"
            )
        return float(rate)

    # ---- steps

    def zero_grad(self) -> None:
        """Set the gradient of every parameter to zero."""
        self.slots.zero()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move each parameter, by its gradient, in place.

        A closure, as PyTorch has it, is called first: it computes the loss and calls backward(), and the loss is returned.
        """
        loss = None if closure is None else closure()
        for slots, rule, constants, kept in self.updates():
            slots.update(rule, constants, kept)
        self.advance()
        return loss

    def updates(self) -> tuple[Update, ...]:
        """Return what the next step does, one update for each group; `advance` says that it was done."""
        found = []
        for group in self.groups:
            lr = self._rate(group.schedule or self._schedule)
            settings = tuple(group.settings.values())
            varying = self._varying(group, lr, self.steps + 1)
            ready = group.ready
            if ready is None or ready.settings != settings:
                rule = self._rule(group.settings)
                ready = group.ready = Ready(settings, group, rule, self._fixed(group.settings))
            constants = ready.constants.copy()
            for name, x in varying:
                if name in ready.place:
                    constants[ready.place[name]] = x
            found.append((group.slots, ready.number, tuple(constants), ready.kept))
        return tuple(found)

    def advance(self) -> None:
        """Count a step that was taken."""
        self.steps += 1
        for group in self.groups:
            if group.pending is not None:
                group.numbers, group.pending = group.pending, None

    def _rule(self, settings: Settings) -> Rule:
        raise NotImplementedError(f"{type(self).__name__} has no update rule: use one of its subclasses, such as Adam")

    def _fixed(self, settings: Settings) -> Settings:
        """Return the constants of the rule that follow from the settings alone."""
        return settings | {"turn": -1.0 if settings["maximize"] else 1.0}

    def _varying(self, group: Group, lr: float, step: int) -> tuple[tuple[str, float], ...]:
        """Return the constants of the rule that may change from step to step."""
        return ("lr", lr), ("shrink", 1.0 - lr * group.settings["weight_decay"])

    # ---- parameters that stay

    def freeze(self, parameters: Iterable[Value]) -> None:
        """Leave these parameters, and what is kept for them, as they are in the steps to come; `unfreeze` ends that.

        >>> from micrograd import Value, optim
        >>> a, b = Value(1.0), Value(1.0)
        >>> optimizer = optim.SGD([a, b], lr=0.1)
        >>> optimizer.freeze([a])
        >>> (a * b).backward()
        >>> optimizer.step()
        >>> a.data, b.data
        (1.0, 0.9)
        """
        self._mark(parameters, 1)

    def unfreeze(self, parameters: Iterable[Value]) -> None:
        """Let these parameters move again."""
        self._mark(parameters, 0)

    def _mark(self, parameters: Iterable[Value], mark: int) -> None:
        chosen = {id(p) for p in parameters}
        unknown = chosen - {id(p) for p in self.parameters}
        if unknown:
            raise ValueError(f"{len(unknown)} of the {len(chosen)} parameters are not this optimizer's")
        for group in self.groups:
            self.set_frozen(
                group, bytes([mark if id(p) in chosen else f for p, f in zip(group.parameters, group.frozen)])
            )

    def set_frozen(self, group: Group, marks: bytes) -> None:
        """Say which parameters of a group stay, with a byte for each."""
        group.frozen = marks
        group.slots.freeze(marks)
        self.slots.freeze(b"".join(g.frozen for g in self.groups))

    # ---- state

    def _describe(self) -> list[dict[str, Any]]:
        return [
            {"settings": dict(group.settings), "lr": describe_rate(group.schedule or self._schedule)}
            for group in self.groups
        ]

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to continue from here: settings, learning rates, steps and the kept numbers.

        A learning rate that is a function is described by its value at some steps.
        """
        groups = [
            {
                "parameters": len(group.parameters),
                **now,
                "kept": {name: x.tolist() for name, x in group.kept.items()},
                "numbers": dict(group.numbers),
                "frozen": [i for i, f in enumerate(group.frozen) if f],
            }
            for group, now in zip(self.groups, self._describe())
        ]
        return {"optimizer": type(self).__name__, "steps": self.steps, "initial": self.initial, "groups": groups}

    def load_state_dict(self, state: dict[str, Any], source: str = "the state", settings: str = "same") -> None:
        """Continue from a state_dict of the same kind of optimizer over as many parameters.

        settings  "same": both optimizers were made with the same settings and learning rates, or it is an error; what
                  was changed since then is taken from the state. "saved": all of it is taken from the state.
                  "own": this optimizer keeps its settings and learning rates.
        """
        load_state(self, state, source, settings)

    def __repr__(self) -> str:
        told = "".join(f", {name}={x:g}" for name, x in self.settings.items())
        groups = f" in {len(self.groups)} groups" if len(self.groups) > 1 else ""
        return f"{type(self).__name__}({len(self.parameters)} parameters{groups}, lr={self.lr:g}{told})"


_numbers: dict[str, int] = {}


def _number(rule: Rule) -> int:
    found = _numbers.get(rule.name)
    if found is None:
        found = _numbers[rule.name] = Slots.rule(rule.name)
    return found


def _schedule(rate: Any) -> Schedule:
    if callable(rate):
        return rate  # type: ignore[no-any-return]
    if isinstance(rate, bool) or not isinstance(rate, Real) or not 0.0 <= float(rate) < inf:
        raise ValueError(f"a learning rate is a finite number, 0 or more, or a function of the step, not {rate!r}")
    return constant(float(rate))


def _parameters(given: list[Any]) -> list[Value]:
    for p in given:
        if not isinstance(p, Value):
            raise TypeError(f"parameters are Values, not {type(p).__name__}: pass model.parameters()")
        if p._prev:
            raise ValueError(f"{p!r} was computed, by {p._op!r}: only a leaf can be a parameter")
        if not getattr(p, "requires_grad", True):
            raise ValueError(
                f"{p!r} has requires_grad = False, which Values do not know: leave it out, or call optimizer.freeze([p])"
            )
    return given


def check_betas(betas: Any) -> tuple[float, float]:
    """Return the two decay rates of an optimizer; anything else is refused."""
    pair = tuple(betas) if isinstance(betas, (tuple, list)) else ()
    if len(pair) != 2:
        raise ValueError(f"betas are two numbers, such as (0.9, 0.999), not {betas!r}")
    for beta in pair:
        if not isinstance(beta, Real) or not 0.0 <= float(beta) < 1.0:
            raise ValueError(f"betas are at least 0 and below 1, not {beta}")
    return float(pair[0]), float(pair[1])


def decay_groups(model: Any, weight_decay: float, skip: Iterable[str] = ("b", "bias", "gain")) -> list[dict[str, Any]]:
    """Return two groups of parameters: those that decay, and those of biases and gains, which do not.

    `skip` holds the last names of what does not decay: "bias" skips every parameter in an attribute called bias.

    >>> from micrograd import nn, optim
    >>> model = nn.MLP(2, [16, 1])
    >>> optim.AdamW(optim.decay_groups(model, 0.1), lr=0.01).groups
    [Group(48 parameters, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0.1, amsgrad=0, maximize=0), \
Group(17 parameters, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0, amsgrad=0, maximize=0)]
    """
    names = set(skip)
    decayed: list[Value] = []
    rest: list[Value] = []
    for path, p in model.named_parameters():
        words = [part for part in path.split(".") if not part.isdigit()]
        (rest if words[-1] in names else decayed).append(p)
    groups = [{"parameters": decayed, "weight_decay": weight_decay}, {"parameters": rest, "weight_decay": 0.0}]
    return [group for group in groups if group["parameters"]]
