"""An optimizer remembers what its steps do as long as nothing is assigned. Every assignment takes effect with the next step."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from micrograd import Value, optim

KINDS: dict[str, Callable[[list[Any]], optim.Optimizer]] = {
    "sgd": lambda given: optim.SGD(given, lr=0.1),
    "momentum": lambda given: optim.SGD(given, lr=0.1, momentum=0.9, dampening=0.5),
    "rmsprop": lambda given: optim.RMSprop(given, lr=0.1),
    "lion": lambda given: optim.Lion(given, lr=0.1),
    "adam": lambda given: optim.Adam(given, lr=0.1),
    "adam with a schedule": lambda given: optim.Adam(given, lr=optim.linear(0.5, 0.1, 9), weight_decay=0.1),
    "nadam": lambda given: optim.NAdam(given, lr=0.1),
    "sgd with a schedule": lambda given: optim.SGD(given, lr=optim.linear(0.1, 0.01, 9), momentum=0.5),
}


def set_group_setting(optimizer: Any) -> None:
    optimizer.groups[0].settings["weight_decay"] = 0.3


def schedule(optimizer: Any) -> None:
    optimizer.lr = optim.linear(1.0, 0.0, 20)


def load(optimizer: Any) -> None:
    other = copy.deepcopy(optimizer)
    other.weight_decay, other.steps = 0.7, 11
    optimizer.load_state_dict(other.state_dict(), settings="saved")


def begin_momentum(optimizer: Any) -> None:
    if "momentum" in optimizer.settings:
        optimizer.momentum = 0.8


CHANGES: dict[str, Callable[[Any], None]] = {
    "nothing": lambda optimizer: None,
    "lr": lambda optimizer: setattr(optimizer, "lr", 0.01),
    "lr of a group": lambda optimizer: setattr(optimizer.groups[0], "lr", 0.01),
    "schedule": schedule,
    "scale_lr": lambda optimizer: optimizer.scale_lr(0.5),
    "setting": lambda optimizer: setattr(optimizer, "weight_decay", 0.2),
    "setting of a group": set_group_setting,
    "maximize": lambda optimizer: setattr(optimizer, "maximize", True),
    "momentum": begin_momentum,
    "steps": lambda optimizer: setattr(optimizer, "steps", 0),
    "freeze": lambda optimizer: optimizer.freeze(optimizer.parameters[:1]),
    "load": load,
}


def run(make: Any, change: Any, groups: int, forget: bool) -> list[float]:
    values = [Value(0.3 * k - 1.0) for k in range(5)]
    given: Any = values if groups == 1 else [{"parameters": values[:2]}, {"parameters": values[2:], "maximize": False}]
    optimizer = make(given)
    for k in range(12):
        if k == 4:
            change(optimizer)
        if k == 8:
            optimizer.unfreeze(optimizer.parameters[:1])
        if forget:
            optimizer._unsettle()
        optimizer.zero_grad()
        for p in values:
            (p * p * p - p).backward()
        optimizer.step()
    return [p.data for p in values] + [float(optimizer.steps)]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_change_takes_effect_as_if_each_step_were_worked_out_anew(kind: str, change: str, groups: int) -> None:
    assert run(KINDS[kind], CHANGES[change], groups, False) == run(KINDS[kind], CHANGES[change], groups, True)


@pytest.mark.parametrize("change", [c for c in CHANGES if c not in ("nothing", "momentum", "steps")])
def test_the_changes_of_the_test_above_do_change_something(change: str) -> None:
    assert run(KINDS["momentum"], CHANGES[change], 1, False) != run(KINDS["momentum"], CHANGES["nothing"], 1, False)


def test_steps_of_sgd_settle_and_those_of_adam_do_not() -> None:
    for kind, settled in {"sgd": True, "momentum": True, "rmsprop": True, "lion": True, "adam": False}.items():
        optimizer: Any = KINDS[kind]([Value(1.0)])
        for _ in range(3):
            optimizer.step()
        assert (optimizer._settled is not None) is settled, kind


def test_steps_of_one_group_look_at_its_settings_once() -> None:
    """Until something is assigned; what varies from step to step is computed each time."""
    for kind, alone in {"sgd": False, "adam": True, "nadam": True, "sgd with a schedule": True}.items():
        optimizer: Any = KINDS[kind]([Value(1.0)])
        optimizer.step()
        assert (optimizer._alone is not None) is alone, kind
        optimizer.weight_decay = 0.5
        assert optimizer._alone is None
    groups: Any = optim.Adam([{"parameters": [Value(1.0)]}, {"parameters": [Value(2.0)]}], lr=0.1)
    frozen: Any = optim.Adam([Value(1.0), Value(2.0)], lr=0.1)
    frozen.freeze(frozen.parameters[:1])
    frozen.step()
    frozen.unfreeze(frozen.parameters)
    for optimizer in (groups, frozen):
        optimizer.step()
        assert optimizer._alone is None


def test_a_subclass_of_adam_is_asked_for_its_rule_in_each_step() -> None:
    class Switching(optim.Adam):
        def _fixed(self, settings: Any) -> Any:
            asked.append(self.steps)
            return super()._fixed(settings)

    asked: list[int] = []
    optimizer = Switching([Value(1.0)], lr=0.1)
    for k in range(3):
        optimizer.groups[0]._settings["eps"] = 0.1 * (k + 1)  # past all checks
        optimizer.step()
    assert asked == [0, 1, 2]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_adam_moves_its_own_parameters_and_keeps_its_own_means(copied: Any) -> None:
    p, q = Value(1.0), Value(1.0)
    optimizer: Any = optim.Adam([p], lr=0.5)
    whole: Any = optim.Adam([q], lr=0.5)
    for k in range(3):
        p.grad = q.grad = 1.0 + k
        optimizer.step()
        whole.step()
    other = copied(optimizer)
    other.parameters[0].grad = q.grad = 4.0
    other.step()
    whole.step()
    assert other.parameters[0].data == q.data != p.data
    p.grad = 4.0
    optimizer.step()
    assert p.data == q.data


def test_dampening_begins_with_the_second_step_of_a_momentum_that_was_assigned_later() -> None:
    p = Value(1.0)
    optimizer = optim.SGD([p], lr=1.0, dampening=0.75)
    for _ in range(3):
        p.grad = 1.0
        optimizer.step()
    assert p.data == -2.0
    optimizer.momentum = 0.5
    moved = []
    for _ in range(3):
        before = p.data
        p.grad = 1.0
        optimizer.step()
        moved.append(before - p.data)
    assert moved == [
        1.0,
        0.75,
        0.625,
    ]  # the first speed is the whole gradient, then 0.5 of it and a quarter of the gradient


def test_a_subclass_whose_constants_change_is_asked_in_each_step() -> None:
    class Falling(optim.SGD):
        def _varying(self, group: Any, lr: float, step: int) -> tuple[tuple[str, float], ...]:
            return (("lr", lr / step),)

    p = Value(0.0)
    optimizer = Falling([p], lr=1.0)
    for _ in range(4):
        p.grad = 1.0
        optimizer.step()
    assert p.data == pytest.approx(-(1 + 1 / 2 + 1 / 3 + 1 / 4))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_a_settled_optimizer_moves_its_own_parameters(copied: Any) -> None:
    p = Value(1.0)
    optimizer: Any = optim.SGD([p], lr=0.5)
    for _ in range(3):
        p.grad = 1.0
        optimizer.step()
    other = copied(optimizer)
    other.parameters[0].grad = 1.0
    other.step()
    assert (p.data, other.parameters[0].data) == (-0.5, -1.0)
    other.lr = 0.25
    other.step()
    assert other.parameters[0].data == -1.25


@pytest.mark.parametrize(
    ("make", "after"),
    [
        (lambda p: optim.SGD([p], lr=0.1), [False, True, True]),
        (lambda p: optim.SGD([{"parameters": [p], "lr": 0.5}, {"parameters": [Value(2.0)]}], lr=0.1), [False] * 3),
        (lambda p: optim.SGD([p], lr=optim.linear(1.0, 0.0, 20)), [False] * 3),
        (lambda p: optim.Adam([p], lr=0.1), [False] * 3),
    ],
    ids=["constant", "a group with a rate of its own", "a schedule", "Adam"],
)
def test_what_steps_do_is_kept_from_the_second_on_if_it_is_always_the_same(make: Any, after: list[bool]) -> None:
    p = Value(1.0)
    optimizer, found = make(p), []
    for _ in after:
        optimizer.step()
        found.append(optimizer._settled is not None)
    assert found == after
