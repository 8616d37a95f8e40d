"""Groups of parameters and their settings, which are attributes: assigning one takes effect with the next step."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from micrograd.engine import Value
from micrograd.optim.rules import Rule
from micrograd.optim.schedules import Schedule, constant
from micrograd.optim.slots import Slots

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
NAMES = {*RANGES, "amsgrad", "betas", "centered", "decoupled_weight_decay", "initial_accumulator_value", "learning_rate",
         "maximize", "nesterov", "param_groups"}  # fmt: skip
FIXED = {"groups", "kept", "numbers", "parameters", "slots"}  # made with the optimizer
INSTEAD = {
    "learning_rate": "the learning rate is called lr",
    "param_groups": "they are called groups, and have settings as attributes: optimizer.groups[0].lr = 0.1",
    "initial": "it is where the kept sums begin: give initial_accumulator_value to a new optimizer",
    "initial_accumulator_value": "it is where the kept sums begin: give it to a new optimizer",
    "frozen": "call freeze() and unfreeze() of the optimizer",
    "settings": "assign each of them, settings[name] = x",
}


class View(Mapping[str, float]):
    """The settings of an optimizer or a group by name; assigning to one is checked, and takes effect, as for an attribute."""

    def __init__(self, owner: Adjustable) -> None:
        self._owner = owner

    def __getitem__(self, name: str) -> float:
        return self._owner._settings[name]

    def __setitem__(self, name: str, x: float) -> None:
        setattr(self._owner, name, x)

    def __iter__(self) -> Iterator[str]:
        return iter(self._owner._settings)

    def __len__(self) -> int:
        return len(self._owner._settings)

    def __repr__(self) -> str:
        return repr(self._owner._settings)


class Adjustable:
    """Settings as attributes, of an optimizer and of its groups. An assignment that would have no effect is an error."""

    assignable: frozenset[str] = frozenset()  # attributes besides the settings that may be assigned
    _settings: Settings

    @property
    def settings(self) -> View:
        """The settings by name."""
        return View(self)

    def _adjust(self, changes: Settings) -> None:
        raise NotImplementedError

    if TYPE_CHECKING:  # they are properties, see `declare`: a __getattr__ would slow down every attribute

        def __getattr__(self, name: str) -> Any: ...

    def _unsettle(self) -> None:
        """Let the next step look at all settings again."""

    def __setattr__(self, name: str, x: Any) -> None:
        self._assign(name, x)
        self._unsettle()

    def _assign(self, name: str, x: Any) -> None:
        if name in self.assignable or name.startswith("_"):
            object.__setattr__(self, name, x)
            return
        settings = getattr(self, "_settings", {})
        if name in settings and name not in INSTEAD:
            self._adjust(checked({name: x}))
        elif name == "betas" and "beta1" in settings:
            beta1, beta2 = check_betas(x)
            self._adjust({"beta1": beta1, "beta2": beta2})
        elif name in NAMES and name not in INSTEAD:
            raise AttributeError(self._unknown(name))
        elif (
            name in FIXED or name in INSTEAD or any(name in vars(kind) for kind in type(self).__mro__ if is_ours(kind))
        ):
            way_out = INSTEAD.get(name, "make a new optimizer")
            raise AttributeError(f"{name!r} cannot be assigned to {self._told()}: {way_out}")
        elif is_ours(type(self)):
            raise AttributeError(self._unknown(name))
        else:  # an attribute of somebody's own subclass
            object.__setattr__(self, name, x)

    def __dir__(self) -> list[str]:
        betas = ["betas"] if "beta1" in self._settings else []
        return sorted({*object.__dir__(self)} - _declared | {*self._settings, *betas})

    def _unknown(self, name: str) -> str:
        settings = [known for known in getattr(self, "_settings", {}) if known not in INSTEAD]
        told = f"; {INSTEAD[name]}" if name in INSTEAD else f": its settings are {', '.join(['lr', *settings])}"
        return f"{self._told()} has no {name!r}{told}"

    def _told(self) -> str:
        return type(self).__name__


put = (
    object.__setattr__
)  # past the checks: for what users may not assign, and for each step, where they would take too long
_declared: set[str] = set()


def declare(names: Iterable[str]) -> None:
    """Make settings readable as attributes, of those optimizers and groups that have them."""
    for name in names:
        if name not in _declared and not hasattr(Adjustable, name):
            _declared.add(name)
            setattr(Adjustable, name, property(functools.partial(_read, name)))


def _read(name: str, owner: Adjustable) -> Any:
    settings = getattr(owner, "_settings", {})
    if name in settings and name not in INSTEAD:
        return settings[name]
    if name == "betas" and "beta1" in settings:
        return settings["beta1"], settings["beta2"]
    raise AttributeError(owner._unknown(name))


declare(NAMES)


def is_ours(kind: type) -> bool:
    """Whether a class is one of this package."""
    return kind.__module__.startswith("micrograd.optim.")


class Ready:
    """What a step needs and the settings of a group determine: made once, and again when a setting changes."""

    def __init__(self, settings: tuple[float, ...], group: Group, rule: Rule, fixed: Settings) -> None:
        self.settings, self.kept, self.number = settings, group.keep(rule, fixed.get("initial", 0.0)), _number(rule)
        self.constants = [fixed.get(name, 0.0) for name in rule.constants]
        self.place = {name: k for k, name in enumerate(rule.constants)}
        self.constants.append(0.0)  # the place of a constant that the rule does not use

    def filled(self, varying: Iterable[tuple[str, float]]) -> tuple[float, ...]:
        """Return the constants of a step, of which some vary."""
        constants, place = self.constants.copy(), self.place
        for name, x in varying:
            constants[place.get(name, -1)] = x
        constants.pop()
        return tuple(constants)


class Stretch(NamedTuple):
    """Neighbours in a group that were frozen for as many steps: Adam and others count the steps of each parameter."""

    start: int
    stop: int
    missed: int
    slots: Any


def _runs(parameters: tuple[Value, ...], frozen: bytes, missed: list[int]) -> tuple[Stretch, ...] | None:
    """Return a group in parts of equal counts; None where no parameter that moves has missed a step."""
    if not any(m for m, f in zip(missed, frozen) if not f):
        return None
    found: list[Stretch] = []
    start, current = 0, None
    for i in range(len(parameters) + 1):
        at_end = i == len(parameters)
        if not at_end and (frozen[i] or current in (None, missed[i])):  # what stays may be in any part
            current = current if frozen[i] else missed[i]
            continue
        slots = Slots(parameters[start:i])
        slots.freeze(frozen[start:i])
        found.append(Stretch(start, i, current or 0, slots))
        if not at_end:
            start, current = i, missed[i]
    return tuple(found)


class Group(Adjustable):
    """Parameters that share their settings, and the numbers that the optimizer keeps for each of them.

    >>> from micrograd import Value, optim
    >>> a, b = Value(1.0), Value(1.0)
    >>> optimizer = optim.SGD([{"parameters": [a]}, {"parameters": [b], "momentum": 0.5}], lr=0.1)
    >>> optimizer.groups[0].lr = 0.2
    >>> optimizer.momentum = 0.9
    >>> [(group.lr, group.momentum) for group in optimizer.groups]
    [(0.2, 0.9), (0.1, 0.5)]
    """

    assignable = frozenset({"lr", "schedule"})
    parameters: tuple[Value, ...]
    slots: Any
    kept: dict[str, array[float]]  # one number for each parameter
    numbers: dict[str, float]  # one number for the group
    frozen: bytes

    def __init__(self, owner: Any, parameters: list[Value], own: Settings, rate: Schedule | None) -> None:
        self._owner, self._own = owner, set(own)  # the settings that the optimizer's do not replace
        self._settings = owner._settings | own
        self._rate = rate  # None for the optimizer's own
        self._pending: dict[str, float] | None = None  # the numbers after the step that is being taken
        self._ready: Ready | None = None
        self._missed, self._counted = [0] * len(parameters), 0  # steps in which each was frozen, up to this step
        self._runs: tuple[Stretch, ...] | None = None
        put(self, "parameters", tuple(parameters))
        put(self, "slots", Slots(parameters))
        put(self, "kept", {})
        put(self, "numbers", {})
        put(self, "frozen", bytes(len(parameters)))

    @property
    def lr(self) -> float:
        """The learning rate of the group in the next step; assign a number, or a function of the number of steps taken."""
        return float(self._owner._rate(self._rate or self._owner._schedule))

    @lr.setter
    def lr(self, rate: float | Schedule) -> None:
        if self._is_alone():
            self._owner._schedule = schedule_of(rate)
        else:
            self._rate = schedule_of(rate)

    @property
    def schedule(self) -> Schedule | None:
        """The learning rate of the group as a function; None where it is that of the optimizer."""
        return self._rate

    @schedule.setter
    def schedule(self, rate: Schedule | None) -> None:
        self._rate = None if rate is None else schedule_of(rate)

    def _unsettle(self) -> None:
        if hasattr(self, "_owner"):
            self._owner._unsettle()

    def _is_alone(self) -> bool:
        """Whether this is the only group, which has nothing of its own: its settings are those of the optimizer."""
        return len(self._owner.groups) == 1

    def _adjust(self, changes: Settings) -> None:
        if self._is_alone():
            self._owner._adjust(changes)
            return
        self._owner._consistent(self._settings | changes)
        self._settings.update(changes)
        self._own.update(changes)

    def give_up(self, owner: Any) -> None:
        """Hand the settings of this group to the optimizer, which has no other group."""
        owner._settings.update(self._settings)
        owner._schedule = self._rate or owner._schedule
        self._rate = None
        self._own.clear()

    def put(self, settings: Settings, kept: dict[str, array[float]], numbers: dict[str, float]) -> None:
        """Replace the settings and all kept numbers."""
        self._settings, self._pending, self._ready = settings, None, None
        put(self, "kept", kept)
        put(self, "numbers", numbers)

    def missed(self, steps: int) -> list[int]:
        """Return for each parameter in how many of the steps so far it was frozen."""
        new = max(0, steps - self._counted)
        return [m + new if f else m for m, f in zip(self._missed, self.frozen)]

    def mark(self, frozen: bytes, missed: list[int], steps: int) -> None:
        """Say which parameters stay, with a byte for each, and how many of the steps so far they have missed."""
        put(self, "frozen", frozen)
        self.slots.freeze(frozen)
        self._missed, self._counted = missed, steps
        self._runs = _runs(self.parameters, frozen, missed)

    def advance(self) -> None:
        """Take over the numbers after a step that was taken."""
        put(self, "numbers", self._pending)
        put(self, "_pending", None)

    def keep(self, rule: Rule, initial: float = 0.0) -> tuple[array[float], ...]:
        """Return the kept numbers of a rule, made on the first call."""
        for name in rule.kept:
            if name not in self.kept:
                self.kept[name] = array("d", [initial]) * len(self.parameters)
        return tuple([self.kept[name] for name in rule.kept])

    def _told(self) -> str:
        return f"a group of {type(self._owner).__name__}" if hasattr(self, "_owner") else "a group"

    def __repr__(self) -> str:
        told = "".join(f", {name}={x:g}" for name, x in self._settings.items())
        return f"Group({len(self.parameters)} parameters{told})"


_numbers: dict[str, int] = {}


def _number(rule: Rule) -> int:
    found = _numbers.get(rule.name)
    if found is None:
        found = _numbers[rule.name] = Slots.rule(rule.name)
    return found


def checked(settings: Mapping[str, Any]) -> Settings:
    """Return settings as floats; one that makes no sense is refused."""
    found = {}
    for name, x in settings.items():
        if isinstance(x, bool):
            found[name] = float(x)
            continue
        least, bound = RANGES.get(name, (-inf, inf))
        if not isinstance(x, Real) or not least <= float(x) < bound or (name == "eps" and x == 0.0):
            told = (
                "above 0" if name == "eps" else f"{least:g} or more" + (f" and below {bound:g}" if bound < inf else "")
            )
            raise ValueError(f"{name} is {told}, not {x!r}")
        found[name] = float(x)
    return found


def schedule_of(rate: Any) -> Schedule:
    """Return a learning rate, a number or a function of the step, as a function."""
    if callable(rate):
        found: Callable[[int], float] = rate
        return found
    if isinstance(rate, bool) or not isinstance(rate, Real) or not 0.0 <= float(rate) < inf:
        raise ValueError(f"a learning rate is a finite number, 0 or more, or a function of the step, not {rate!r}")
    return constant(float(rate))


def check_betas(betas: Any) -> tuple[float, float]:
    """Return the two decay rates of an optimizer; anything else is refused."""
    pair = tuple(betas) if isinstance(betas, (tuple, list)) else ()
    if len(pair) != 2:
        raise ValueError(f"betas are two numbers, such as (0.9, 0.999), not {betas!r}")
    for beta in pair:
        if not isinstance(beta, Real) or not 0.0 <= float(beta) < 1.0:
            raise ValueError(f"betas are at least 0 and below 1, not {beta}")
    return float(pair[0]), float(pair[1])
