"""Optimizer: parameters in groups, a learning rate and settings for each group, and the numbers kept from step to step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from micrograd.engine import Value
from micrograd.optim.groups import (
    Adjustable,
    Group,
    Ready,
    Settings,
    check_betas,
    checked,
    declare,
    is_ours,
    put,
    schedule_of,
)
from micrograd.optim.rules import Rule
from micrograd.optim.schedules import Schedule, is_constant
from micrograd.optim.slots import Slots, Update
from micrograd.optim.state import describe_rate, load_state, rate_at


class Optimizer(Adjustable):
    """What optimizers share.

    `parameters` is a list of Values, or a list of groups: dicts with "parameters" and any settings that differ from the
    optimizer's own, such as {"parameters": model.head.parameters(), "lr": 0.1, "weight_decay": 0.0}.

    The learning rate and the settings are attributes, of the optimizer and of each of its `groups`, and may be assigned
    between steps: `optimizer.weight_decay = 0.1`. A group keeps what it was given itself.
    """

    assignable = frozenset({"lr", "steps"})
    groups: tuple[Group, ...]  # tuples, since what is appended would not take part
    parameters: tuple[Value, ...]
    slots: Any
    # Whether the constants of a step follow from the learning rate and the settings alone, but for the first step of a rule.
    settles = False
    # What every step does until something is assigned, here or to a group; None where that varies from step to step. A step of
    # SGD over 337 parameters took 1.8 µs when it was worked out each time, and 0.6 with this.
    _settled: tuple[Update, ...] | None = None
    # The only group, where nothing but the varying constants of its rule changes until something is assigned. To look at all
    # settings in each step of Adam took 1.5 µs, and takes 0.8 with this.
    _alone: tuple[Group, Ready] | None = None

    def __init__(self, parameters: Iterable[Any], lr: float | Schedule, **settings: float) -> None:
        if hasattr(parameters, "parameters"):
            raise TypeError(
                f"an optimizer takes parameters, not a {type(parameters).__name__}: pass model.parameters()"
            )
        given = list(parameters)
        self._settings = checked(settings)
        declare(settings)
        self._consistent(self._settings)
        groups: list[Group] = []
        if given and all(isinstance(part, dict) for part in given):
            for part in given:
                groups.append(self._group(dict(part)))
        else:
            groups.append(Group(self, _parameters(given), {}, None))
        values = [p for group in groups for p in group.parameters]
        if not values:
            raise ValueError("an optimizer needs parameters, and was given none: pass model.parameters()")
        if len({id(p) for p in values}) < len(values):
            raise ValueError("one parameter is in the list twice, and would be moved twice in a step")
        put(self, "groups", tuple(groups))
        put(self, "parameters", tuple(values))
        put(self, "slots", Slots(values))
        self._schedule = schedule_of(lr)
        if len(groups) == 1:
            groups[0].give_up(self)
        self.steps = 0
        for group in groups:  # a function that gives no number is an error here, and not in the first step
            self._rate(group._rate or self._schedule)
        self._initial = self._describe()

    def _group(self, part: dict[str, Any]) -> Group:
        names = [name for name in ("parameters", "params") if name in part]
        if len(names) != 1:
            raise ValueError('a group of parameters is a dict with "parameters" and the settings of the group')
        values, lr = _parameters(list(part.pop(names[0]))), part.pop("lr", None)
        betas = part.pop("betas", None)
        if betas is not None:
            part["beta1"], part["beta2"] = check_betas(betas)
        for name in part:
            if name not in self._settings:
                raise ValueError(
                    f"{type(self).__name__} has no setting {name!r} for a group: it has lr, {', '.join(self._settings)}"
                )
        if not values:
            raise ValueError("a group of parameters is empty")
        return Group(self, values, checked(part), None if lr is None else schedule_of(lr))

    def _adjust(self, changes: Settings) -> None:
        taken = {id(g): {name: x for name, x in changes.items() if name not in g._own} for g in self.groups}
        if not any(taken.values()):
            name = " and ".join(changes)
            raise ValueError(
                f"every group has a {name} of its own, which it keeps: assign to the groups, in optimizer.groups"
            )
        self._consistent(self._settings | changes)
        for group in self.groups:
            self._consistent(group._settings | taken[id(group)])
        self._settings.update(changes)
        for group in self.groups:
            group._settings.update(taken[id(group)])

    def _unsettle(self) -> None:
        put(self, "_settled", None)
        put(self, "_alone", None)

    def _consistent(self, settings: Settings) -> None:
        """Refuse settings that contradict each other."""

    # ---- learning rate

    @property
    def lr(self) -> float:
        """The learning rate of the next step; assign a number or a function of the number of steps taken.

        A group that was given a learning rate of its own keeps it; where all were, this is that of the first.
        """
        for group in self.groups:
            if group._rate is None:
                return rate_at(self._schedule, self.steps)
        return self.groups[0].lr

    @lr.setter
    def lr(self, rate: float | Schedule) -> None:
        if all(group.schedule is not None for group in self.groups):
            raise ValueError(
                "every group has a lr of its own, which it keeps: assign to the groups, in optimizer.groups"
            )
        self._schedule = schedule_of(rate)

    def scale_lr(self, factor: float, least: float = 0.0) -> None:
        """Multiply the learning rate of every group by a factor; from then on it is a number, not below `least`.

        >>> from micrograd import Value, optim
        >>> a, b = Value(1.0), Value(1.0)
        >>> optimizer = optim.SGD([{"parameters": [a]}, {"parameters": [b], "lr": 0.5}], lr=0.1)
        >>> optimizer.scale_lr(0.5)
        >>> optimizer.lr, optimizer.groups[1].lr
        (0.05, 0.25)
        """
        for group in self.groups:
            if group.schedule is not None:
                group.lr = max(group.lr * factor, least)
        self._schedule = schedule_of(max(self._rate(self._schedule) * factor, least))

    def _rate(self, schedule: Schedule) -> float:
        return rate_at(schedule, self.steps)

    # ---- steps

    def zero_grad(self) -> None:
        """Set the gradient of every parameter to zero."""
        self.slots.zero()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move each parameter, by its gradient, in place.

        A closure, as in PyTorch, is called first: it computes the loss and calls backward(), and the loss is returned.
        """
        loss = None if closure is None else closure()
        for slots, rule, constants, kept in self._settled or self.updates():
            slots.update(rule, constants, kept)
        self.advance()
        return loss

    def updates(self) -> tuple[Update, ...]:
        """Return what the next step does, by groups and their runs; `advance` says that it was done."""
        return self._settled or self._new_updates()

    def _new_updates(self) -> tuple[Update, ...]:
        """Work out what the next step does."""
        step = self.steps + 1
        if self._alone is not None:
            only, known = self._alone
            constants = known.filled(self._varying(only, rate_at(self._schedule, self.steps), step))
            return ((only.slots, known.number, constants, known.kept),)
        found: list[Update] = []
        settles = step > 1 and self.settles and is_ours(type(self)) and is_constant(self._schedule)
        for group in self.groups:
            settings, runs = tuple(group._settings.values()), group._runs
            lr = self._rate(group._rate or self._schedule)
            if runs is None:
                varying = [self._varying(group, lr, step)]
            else:
                varying = [self._varying(group, lr, max(1, step - run.missed)) for run in runs]
            ready = group._ready
            if ready is None or ready.settings != settings:
                rule = self._rule(group._settings)
                ready = group._ready = Ready(settings, group, rule, self._fixed(group._settings))
                settles = False  # it may be the first step of this rule
            settles = settles and runs is None and group._rate is None
            if runs is None:
                found.append((group.slots, ready.number, ready.filled(varying[0]), ready.kept))
                continue
            for run, constants in zip(runs, map(ready.filled, varying)):
                kept = tuple([memoryview(x)[run.start : run.stop] for x in ready.kept])
                found.append((run.slots, ready.number, constants, kept))
        put(self, "_settled", tuple(found) if settles else None)
        varies = not (self.settles and is_constant(self._schedule))
        if varies and len(self.groups) == 1 and group._rate is None and runs is None and is_ours(type(self)):
            put(self, "_alone", (group, ready))
        return tuple(found)

    def advance(self) -> None:
        """Count a step that was taken."""
        put(self, "steps", self.steps + 1)
        if self._settled is not None:
            return
        for group in self.groups:
            if group._pending is not None:
                group.advance()

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

        As in PyTorch, Adam, NAdam and Adagrad do not count these steps for them: the first one after is of the usual size.

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

    def set_frozen(self, group: Group, marks: bytes, missed: list[int] | None = None) -> None:
        """Say which parameters of a group stay, with a byte for each; `missed` counts the steps in which they stayed."""
        group.mark(marks, group.missed(self.steps) if missed is None else missed, self.steps)
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
                "own": sorted(group._own) + ([] if group.schedule is None else ["lr"]),
                "frozen": [i for i, f in enumerate(group.frozen) if f],
                "missed": group.missed(self.steps) if any(group.missed(self.steps)) else [],
            }
            for group, now in zip(self.groups, self._describe())
        ]
        return {"optimizer": type(self).__name__, "steps": self.steps, "initial": self._initial, "groups": groups}

    def load_state_dict(self, state: dict[str, Any], source: str = "the state", settings: str = "same") -> None:
        """Continue from a state_dict of the same kind of optimizer over as many parameters.

        settings  "same": both optimizers were made with the same settings and learning rates, or it is an error; what
                  was changed since then is taken from the state. "saved": all of it is taken from the state.
                  "own": this optimizer keeps its settings and learning rates.
        """
        load_state(self, state, source, settings)

    def __repr__(self) -> str:
        told = "".join(f", {name}={x:g}" for name, x in self._settings.items())
        groups = f" in {len(self.groups)} groups" if len(self.groups) > 1 else ""
        try:
            lr = f"{self.lr:g}"
        except (TypeError, ValueError):  # a schedule that ends with the training
            lr = f"none at step {self.steps}"
        return f"{type(self).__name__}({len(self.parameters)} parameters{groups}, lr={lr}{told})"


def _parameters(given: list[Any]) -> list[Value]:
    for p in given:
        if not isinstance(p, Value):
            raise TypeError(f"parameters are Values, not {type(p).__name__}: pass model.parameters()")
        if p._prev:
            raise ValueError(f"{p!r} was computed, by {p._op!r}: only a leaf can be a parameter")
    return given


def decay_groups(model: Any, weight_decay: float, skip: Iterable[str] = ("b", "bias", "gain")) -> list[dict[str, Any]]:
    """Return two groups of parameters: those that decay, and those of biases and gains, which do not.

    `skip` holds the last names of what does not decay: "bias" skips every parameter in an attribute called bias.

    >>> from micrograd import nn, optim
    >>> model = nn.MLP(2, [16, 1])
    >>> optim.AdamW(optim.decay_groups(model, 0.1), lr=0.01).groups
    (Group(48 parameters, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0.1, amsgrad=0, maximize=0), \
Group(17 parameters, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0, amsgrad=0, maximize=0))
    """
    names = set(skip)
    decayed: list[Value] = []
    rest: list[Value] = []
    for path, p in model.named_parameters():
        words = [part for part in path.split(".") if not part.isdigit()]
        (rest if words[-1] in names else decayed).append(p)
    groups = [{"parameters": decayed, "weight_decay": weight_decay}, {"parameters": rest, "weight_decay": 0.0}]
    return [group for group in groups if group["parameters"]]
