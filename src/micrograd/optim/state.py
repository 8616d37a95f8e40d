"""The state of an optimizer, checked as a whole before anything is changed."""

from __future__ import annotations

from array import array
from math import inf, isfinite, nan
from typing import Any

from micrograd.optim.schedules import Schedule, constant

SAMPLES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)
MODES = ("same", "saved", "own")


def rate_at(schedule: Schedule, step: int) -> float:
    """Return the learning rate of a step; what is no finite number, 0 or more, is an error that names the step."""
    try:
        rate = schedule(step)
    except Exception as reason:
        raise ValueError(
            f"the learning rate of step {step} cannot be computed ({type(reason).__name__}: {reason}): the function is called "
            "with the number of steps taken so far, and has to be defined for all steps of the training"
        ) from reason
    if type(rate) is float and 0.0 <= rate < inf:  # the usual case, in every step
        return rate
    if isinstance(rate, complex) or not hasattr(rate, "__float__"):
        raise TypeError(f"the learning rate of step {step} is a {type(rate).__name__}, not a number: {rate!r}")
    if not isfinite(rate) or rate < 0.0:
        raise ValueError(f"the learning rate of step {step} is {rate}: it has to be a finite number, 0 or more")
    return float(rate)


def describe_rate(schedule: Schedule) -> list[float | None]:
    """Describe a learning rate by its values at some steps: two functions that agree there are taken to be the same.

    A schedule need not be defined behind the end of a training: None is where it gives no number.
    """
    found: list[float | None] = []
    for k in SAMPLES:
        try:
            rate = float(schedule(k))
        except Exception:
            rate = nan
        found.append(rate if isfinite(rate) else None)
    return found


def load_state(optimizer: Any, state: dict[str, Any], source: str, mode: str) -> None:
    """Check a state against an optimizer, then put it in; an error leaves the optimizer as it was."""
    if mode not in MODES:
        raise ValueError(f"settings={mode!r}: it is one of {', '.join(MODES)}")
    if not isinstance(state, dict):
        raise ValueError(f"{source} is damaged: it has no state of an optimizer")
    if state.get("optimizer") != type(optimizer).__name__:
        raise ValueError(f"{source} is of {state.get('optimizer')}, and this optimizer is {type(optimizer).__name__}")
    groups, initial, steps = state.get("groups"), state.get("initial"), state.get("steps")
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
        raise ValueError(f"{source} has taken {steps!r} steps, which is not a valid count")
    if not isinstance(groups, list) or not isinstance(initial, list) or len(groups) != len(initial):
        raise ValueError(f"{source} has no groups of parameters")
    if len(groups) != len(optimizer.groups):
        raise ValueError(f"{source} has {len(groups)} groups of parameters, and this optimizer {len(optimizer.groups)}")
    if mode == "same":
        _compare(initial, optimizer._initial, source)
    ready = [_checked(group, mine, mode, source) for group, mine in zip(groups, optimizer.groups)]
    now = optimizer._describe()
    rates = [_rate(saved["lr"], old["lr"], mine["lr"], mode, source) for saved, old, mine in zip(groups, initial, now)]
    optimizer.steps = steps
    for k, (group, (settings, kept, numbers, marks, missed)) in enumerate(zip(optimizer.groups, ready)):
        group.put(settings, kept, numbers)
        optimizer.set_frozen(group, marks, missed)
        rate, own = rates[k], groups[k].get("own")
        if mode != "own" and own is not None:
            group._own = set(own) - {"lr"}
        if rate is not None and (group.schedule is not None or "lr" in (own or ())):
            group.lr = rate
        elif rate is not None:
            optimizer._schedule = constant(rate)
    for name in optimizer._settings:
        shared = [group for group in optimizer.groups if name not in group._own]
        if shared:
            optimizer._settings[name] = shared[0].settings[name]
    if mode == "saved":
        optimizer._initial = initial


def _compare(saved: list[Any], own: list[Any], source: str) -> None:
    for theirs, mine in zip(saved, own):
        if not isinstance(theirs, dict) or not isinstance(theirs.get("settings"), dict):
            raise ValueError(f"{source} has no settings of its optimizer")
        for name in sorted({*theirs["settings"], *mine["settings"]}):
            a, b = theirs["settings"].get(name), mine["settings"].get(name)
            if a != b:
                raise ValueError(
                    f"{source} was made with {name}={_told(a)}, and this optimizer has {name}={_told(b)}: make it with the "
                    'same settings, or load with settings="saved" to take those of the file or "own" to keep these'
                )
        if theirs.get("lr") != mine["lr"]:
            raise ValueError(
                f"{source} was made with another learning rate ({_rate_told(theirs.get('lr'))}; this optimizer has "
                f'{_rate_told(mine["lr"])}): make it with the same, or load with settings="saved" to take that of the '
                'file or "own" to keep this one'
            )


def _told(x: Any) -> str:
    return f"{x:g}" if isinstance(x, (int, float)) else "none"


def _rate_told(samples: Any) -> str:
    if not isinstance(samples, list) or not samples:
        return "none"
    if all(x == samples[0] for x in samples):
        return _told(samples[0])
    return ", ".join(f"{_told(x)} at step {k}" for k, x in list(zip(SAMPLES, samples))[:8:3])


def _rate(saved: Any, initial: Any, mine: list[float | None], mode: str, source: str) -> float | None:
    """Return the learning rate to set, or None to leave it as it is."""
    if not isinstance(saved, list) or len(saved) != len(SAMPLES) or not all(x is None or _is_number(x) for x in saved):
        raise ValueError(f"{source} has no learning rate")
    if mode == "own" or saved == mine:
        return None
    if saved[0] is not None and all(x == saved[0] for x in saved):
        return float(saved[0])
    raise ValueError(
        f"{source} has a learning rate that is a function and not this optimizer's ({_rate_told(saved)}), and functions "
        "are not saved: assign it to the lr of the optimizer or the group first"
    )


def _is_number(x: Any) -> bool:
    if isinstance(x, float):
        return isfinite(x)
    return isinstance(x, int) and not isinstance(x, bool) and abs(x) < 2**1023


def _checked(group: Any, mine: Any, mode: str, source: str) -> tuple[Any, Any, Any, bytes, list[int]]:
    count = len(mine.parameters)
    if not isinstance(group, dict):
        raise ValueError(f"{source} has an invalid group of parameters")
    settings, kept, numbers, frozen = (group.get(name) for name in ("settings", "kept", "numbers", "frozen"))
    if group.get("parameters") != count:
        raise ValueError(f"{source} is for {group.get('parameters')} parameters, but there are {count}")
    if (
        not isinstance(settings, dict)
        or set(settings) != set(mine.settings)
        or not all(map(_is_number, settings.values()))
    ):
        raise ValueError(f"{source} has other settings than this optimizer")
    own = group.get("own", [])
    if not isinstance(own, list) or not {*own} <= {*mine.settings, "lr"}:
        raise ValueError(f"{source} has settings of a group that this optimizer does not know")
    if not isinstance(kept, dict) or not isinstance(numbers, dict) or not all(map(_is_number, numbers.values())):
        raise ValueError(f"{source} lacks the numbers that the optimizer keeps")
    buffers = {}
    for name, items in kept.items():
        if not isinstance(items, list) or len(items) != count:
            found = len(items) if isinstance(items, list) else "no"
            raise ValueError(f"{source} keeps {name} for {found} parameters, but there are {count}")
        if not all(map(_is_number, items)):
            raise ValueError(f"{source} keeps a {name} that is not a finite number")
        buffers[name] = array("d", items)
    if not isinstance(frozen, list) or not all(isinstance(i, int) and 0 <= i < count for i in frozen):
        raise ValueError(f"{source} lists frozen parameters that do not exist")
    marks = bytearray(count)
    for i in frozen:
        marks[i] = 1
    missed = group.get("missed") or [0] * count  # a state of an earlier version does not have it
    if not isinstance(missed, list) or len(missed) != count or not all(type(m) is int and m >= 0 for m in missed):
        raise ValueError(f"{source} does not say how many steps each parameter has missed")
    chosen = dict(mine.settings) if mode == "own" else {name: float(x) for name, x in settings.items()}
    return chosen, buffers, {name: float(x) for name, x in numbers.items()}, bytes(marks), missed
