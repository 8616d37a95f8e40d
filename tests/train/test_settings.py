"""Settings of an optimizer that are assigned between steps take effect, as in PyTorch, or the assignment is an error."""

import random

import pytest

from micrograd import Value, nn, optim, train
from random_programs import needs_llvm

STARTS = [0.7, -1.3, 2.1, 0.4]
CHANGES = [
    ("SGD", {"momentum": 0.9}, {"lr": 0.02, "momentum": 0.5, "weight_decay": 0.1}),
    ("SGD", {}, {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9}, {"nesterov": True}),
    ("SGD", {"momentum": 0.9}, {"dampening": 0.3, "maximize": True}),
    ("Adam", {}, {"betas": (0.5, 0.9), "eps": 1e-4}),
    ("Adam", {}, {"weight_decay": 0.2, "lr": 0.3}),
    ("AdamW", {"amsgrad": True}, {"weight_decay": 0.5, "betas": (0.8, 0.99)}),
    ("NAdam", {}, {"betas": (0.7, 0.9), "momentum_decay": 0.1, "weight_decay": 0.1}),
    ("RMSprop", {"momentum": 0.3}, {"alpha": 0.5, "momentum": 0.8, "weight_decay": 0.1, "eps": 1e-3}),
    ("Adagrad", {}, {"lr_decay": 0.1, "weight_decay": 0.1, "eps": 1e-3, "lr": 0.5}),
]


def by_torch(torch, name, options, changes):
    ps = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in STARTS]
    optimizer = getattr(torch.optim, name)(ps, lr=0.02, **options)
    for k in range(8):
        if k == 4:
            optimizer.param_groups[0].update(changes)
        optimizer.zero_grad()
        loss = sum((p * p - 0.5) ** 2 for p in ps)
        loss.backward()
        optimizer.step()
    return [p.item() for p in ps]


def assign(target, changes):
    for name, x in changes.items():
        setattr(target, name, x)


@pytest.mark.parametrize("to", ["optimizer", "group", "settings"])
@pytest.mark.parametrize("way", ["eager", pytest.param("compiled", marks=needs_llvm), "fit"])
@pytest.mark.parametrize("name, options, changes", CHANGES, ids=[f"{name} {list(new)}" for name, _, new in CHANGES])
def test_a_setting_that_is_assigned_takes_effect(torch, name, options, changes, way, to):
    ps = [Value(x) for x in STARTS]
    optimizer = getattr(optim, name)(ps, lr=0.02, **options)

    def change():
        if to == "settings":
            for setting, x in changes.items():
                if setting in optimizer.settings:
                    optimizer.settings[setting] = x
                else:  # lr and betas are attributes alone
                    setattr(optimizer, setting, x)
        else:
            assign(optimizer if to == "optimizer" else optimizer.groups[0], changes)

    def loss():
        return sum((p * p - 0.5) ** 2 for p in ps)

    if way == "fit":
        train.fit(
            lambda x: x, ([0.0], [0.0]), None, optimizer, epochs=8, objective=lambda xs, ys: loss(), quiet=True,
            callbacks=lambda history: change() if len(history) == 4 else None,
        )  # fmt: skip
    else:
        step = train.step(loss, optimizer, compile=way == "compiled")
        for k in range(8):
            if k == 4:
                change()
            step()
    assert [p.data for p in ps] == pytest.approx(by_torch(torch, name, options, changes), rel=1e-9)


def test_lion_takes_new_settings():
    ps = [Value(x) for x in STARTS]
    optimizer = optim.Lion(ps, lr=0.1)
    assign(optimizer, {"lr": 0.5, "betas": (0.0, 0.5), "weight_decay": 0.1})
    for p in ps:
        p.grad = -1.0
    optimizer.step()
    assert [p.data for p in ps] == pytest.approx([x * (1.0 - 0.5 * 0.1) + 0.5 for x in STARTS])


def test_lbfgs_takes_new_settings():
    x = Value(3.0)
    optimizer = optim.LBFGS([x], max_iter=50)
    optimizer.max_iter = 1
    optimizer.step(lambda: (x - 1.0) ** 4)
    assert optimizer.steps == 1
    optimizer.groups[0].max_iter = 3
    optimizer.step(lambda: (x - 1.0) ** 4)
    assert optimizer.steps == 4
    with pytest.raises(ValueError, match="history_size is a whole number, 1 or more, not 0"):
        optimizer.history_size = 0


def two_groups():
    a, b = Value(1.0), Value(1.0)
    return optim.AdamW([{"parameters": [a]}, {"parameters": [b], "lr": 0.5, "betas": (0.5, 0.6)}], lr=0.1)


def test_a_group_keeps_what_it_was_given():
    optimizer = two_groups()
    optimizer.lr, optimizer.betas, optimizer.weight_decay = 0.2, (0.1, 0.2), 0.3
    assert [(g.lr, g.betas, g.weight_decay) for g in optimizer.groups] == [
        (0.2, (0.1, 0.2), 0.3),
        (0.5, (0.5, 0.6), 0.3),
    ]
    optimizer.groups[0].beta1 = 0.7
    optimizer.betas = (0.3, 0.4)
    assert [g.betas for g in optimizer.groups] == [(0.7, 0.4), (0.5, 0.6)] and optimizer.betas == (0.3, 0.4)
    optimizer.groups[1].lr = optim.linear(1.0, 0.0, 10)
    assert optimizer.groups[1].lr == 1.0
    optimizer.steps = 5
    assert optimizer.groups[1].lr == 0.5


def test_a_setting_that_no_group_would_take_is_said():
    groups = [{"parameters": [Value(1.0)], "lr": rate, "momentum": 0.9} for rate in (0.5, 0.3)]
    optimizer = optim.SGD(groups, lr=0.1)
    assert optimizer.lr == 0.5
    with pytest.raises(ValueError, match="every group has a lr of its own"):
        optimizer.lr = 0.1
    with pytest.raises(ValueError, match="every group has a momentum of its own"):
        optimizer.momentum = 0.1


@pytest.mark.parametrize("name, x, told", [
    ("momentun", 0.9, "SGD has no 'momentun': its settings are lr, momentum, weight_decay, nesterov"),
    ("learning_rate", 0.1, "the learning rate is called lr"),
    ("betas", (0.9, 0.99), "SGD has no 'betas'"),
    ("param_groups", [], "optimizer.groups"),
    ("parameters", [], "'parameters' cannot be assigned to SGD: make a new optimizer"),
    ("groups", [], "'groups' cannot be assigned"),
    ("slots", None, "'slots' cannot be assigned"),
    ("settings", {}, "assign each of them"),
    ("step", print, "'step' cannot be assigned"),
])  # fmt: skip
def test_an_assignment_without_effect_is_an_error(name, x, told):
    optimizer = optim.SGD([Value(1.0)], lr=0.1)
    with pytest.raises(AttributeError, match=told):
        setattr(optimizer, name, x)
    if name in ("momentun", "learning_rate", "parameters", "slots", "settings"):
        with pytest.raises(AttributeError):
            setattr(optimizer.groups[0], name, x)
    with pytest.raises(AttributeError, match="call freeze"):
        optimizer.groups[0].frozen = b"\1"


def test_nothing_can_be_appended_without_effect():
    optimizer = optim.SGD([Value(1.0)], lr=0.1)
    for many in (optimizer.parameters, optimizer.groups, optimizer.groups[0].parameters):
        assert not hasattr(many, "append")


@pytest.mark.parametrize("name, x, told", [
    ("momentum", -1.0, "momentum is 0 or more"),
    ("momentum", "0.9", "momentum is 0 or more"),
    ("weight_decay", float("nan"), "weight_decay is 0 or more"),
    ("nesterov", True, "nesterov looks ahead"),
    ("lr", -0.1, "a learning rate is a finite number"),
])  # fmt: skip
def test_a_setting_that_cannot_be_is_said_and_changes_nothing(name, x, told):
    optimizer = optim.SGD([Value(1.0)], lr=0.1)
    before = optimizer.state_dict()
    for target in (optimizer, optimizer.groups[0]):
        with pytest.raises(ValueError, match=told):
            setattr(target, name, x)
    assert optimizer.state_dict() == before


def test_the_sums_of_adagrad_begin_once():
    optimizer = optim.Adagrad([Value(1.0)], initial_accumulator_value=0.5)
    for name in ("initial", "initial_accumulator_value"):
        with pytest.raises(AttributeError, match="to a new optimizer"):
            setattr(optimizer, name, 0.1)


def test_an_optimizer_of_ones_own_may_have_attributes():
    class Logged(optim.SGD):
        def __init__(self, parameters):
            self.seen = []
            super().__init__(parameters, lr=0.5)
            self.note = "mine"

    optimizer = Logged([Value(1.0)])
    optimizer.note = "still mine"
    optimizer.momentum = 0.5
    assert optimizer.groups[0].momentum == 0.5
    with pytest.raises(AttributeError, match="its settings are"):
        optimizer.betas = (0.9, 0.99)


def test_new_settings_are_part_of_the_state():
    model = nn.MLP(2, [3, 1], rng=0)
    one, two = (optim.SGD(model.parameters(), lr=0.1, momentum=0.9) for _ in range(2))
    one.momentum, one.groups[0].lr = 0.5, 0.3
    two.load_state_dict(one.state_dict())
    assert two.momentum == two.groups[0].momentum == 0.5 and two.groups[0].lr == 0.3


def test_a_single_group_has_nothing_of_its_own():
    optimizer = optim.SGD([{"parameters": [Value(1.0)], "lr": 0.5, "momentum": 0.9}], lr=0.1)
    assert optimizer.lr == 0.5 and optimizer.momentum == 0.9
    optimizer.groups[0].lr, optimizer.groups[0].momentum = 0.3, 0.2
    assert optimizer.lr == 0.3 and optimizer.momentum == 0.2
    optimizer.lr, optimizer.momentum = 0.4, 0.6
    assert optimizer.groups[0].lr == 0.4 and optimizer.groups[0].momentum == 0.6


def test_what_one_group_was_given_stays_with_it_after_loading():
    one, two = two_groups(), two_groups()
    one.groups[0].lr, one.groups[0].weight_decay = 0.7, 0.9
    two.load_state_dict(one.state_dict())
    for optimizer in (one, two):
        optimizer.weight_decay = 0.0
    assert [(g.lr, g.weight_decay, g.betas) for g in two.groups] == [(0.7, 0.9, (0.9, 0.999)), (0.5, 0.0, (0.5, 0.6))]
    assert two.state_dict() == one.state_dict()


def test_the_learning_rate_of_one_group_is_not_that_of_the_others_after_loading():
    def make():
        return optim.SGD([{"parameters": [Value(1.0)]}, {"parameters": [Value(1.0)]}], lr=0.1)

    one, two = make(), make()
    one.groups[0].lr = 0.7
    two.load_state_dict(one.state_dict())
    assert [g.lr for g in two.groups] == [0.7, 0.1] and two.lr == 0.1


def test_settings_show_in_a_notebook():
    assert {"lr", "betas", "weight_decay", "beta1"} <= set(dir(two_groups())) & set(dir(two_groups().groups[0]))
    assert repr(optim.SGD([Value(random.random())], momentum=0.5).settings).startswith("{'momentum': 0.5")


def test_contradictions_of_the_optimizer_and_of_a_group_are_found():
    """Neither has to have all of a contradiction itself."""
    given = [{"parameters": [Value(1.0)], "nesterov": True}, {"parameters": [Value(2.0)]}]
    optimizer = optim.SGD(given, lr=0.1, momentum=0.9)
    with pytest.raises(ValueError, match="nesterov looks ahead"):
        optimizer.momentum = 0.0
    assert optimizer.momentum == 0.9 == optimizer.groups[0].momentum
    given = [{"parameters": [Value(1.0)], "momentum": 0.9}, {"parameters": [Value(2.0)], "nesterov": False}]
    optimizer = optim.SGD(given, lr=0.1, momentum=0.5, nesterov=True)
    with pytest.raises(ValueError, match="nesterov looks ahead"):
        optimizer.momentum = 0.0
    assert optimizer.momentum == 0.5 == optimizer.groups[1].momentum


def test_a_schedule_that_gives_no_number_is_an_error_at_once():
    with pytest.raises((TypeError, ValueError)):
        optim.SGD([Value(1.0)], lr=lambda step: "fast")
    with pytest.raises((TypeError, ValueError)):
        optim.SGD([{"parameters": [Value(1.0)], "lr": lambda step: None}], lr=0.1)


def test_a_setting_of_ones_own_is_an_attribute():
    class Mine(optim.Optimizer):
        pass

    assert Mine([Value(1.0)], 0.1, a_setting_that_no_other_has=0.25).a_setting_that_no_other_has == 0.25


def test_a_step_returns_what_its_closure_returns():
    loss = Value(3.0)
    assert optim.SGD([Value(1.0)], lr=0.1).step(lambda: loss) is loss
    assert optim.SGD([Value(1.0)], lr=0.1).step() is None


def test_decay_groups_look_at_the_last_name():
    from micrograd import nn

    class Outer(nn.Module):
        def __init__(self):
            self.bias = Value(1.0)
            self.inner = nn.Module()
            self.inner.deep = nn.Module()
            self.inner.deep.gain, self.inner.deep.bias_of_data = Value(2.0), Value(3.0)

    decayed, rest = optim.decay_groups(Outer(), 0.1)
    assert [p.data for p in decayed["parameters"]] == [3.0]
    assert [p.data for p in rest["parameters"]] == [1.0, 2.0]


def test_the_schedule_of_a_group_is_assigned_and_given_back():
    one, two = Value(1.0), Value(1.0)
    optimizer = optim.SGD([{"params": [one]}, {"params": [two]}], lr=0.5)
    group = optimizer.groups[1]
    assert group.schedule is None and group.lr == 0.5
    group.schedule = optim.step(0.1, every=1, factor=0.5)
    assert group.lr == 0.1
    for p in (one, two):
        p.grad = 1.0
    optimizer.step()
    assert (one.data, two.data) == (0.5, 0.9) and group.lr == 0.05
    group.schedule = None
    assert group.schedule is None and group.lr == 0.5


def test_settings_that_were_taken_from_a_state_are_those_of_the_next_one():
    first, second, third = (
        optim.SGD([Value(1.0)], lr=lr, momentum=m) for lr, m in ((0.1, 0.9), (0.2, 0.5), (0.1, 0.9))
    )
    second.load_state_dict(first.state_dict(), settings="saved")
    third.load_state_dict(second.state_dict())  # as one that was made with the same settings
    with pytest.raises(ValueError, match="momentum"):
        optim.SGD([Value(1.0)], lr=0.2, momentum=0.5).load_state_dict(second.state_dict())


def test_a_state_may_have_whole_numbers_and_no_truths():
    """Other programs write a 0.0 of a JSON file as 0."""
    optimizer = optim.SGD([Value(1.0)], lr=0.5, momentum=0.5)
    optimizer.step()

    def state(x):
        found = optimizer.state_dict()
        found["groups"][0]["kept"]["speed"] = [x]
        return found

    other = optim.SGD([p := Value(1.0)], lr=0.5, momentum=0.5)
    other.load_state_dict(state(3))
    other.step()
    assert p.data == 1.0 - 0.5 * (0.5 * 3.0)
    for bad in (True, 2**1024, None, "3"):
        with pytest.raises(ValueError, match="keeps a speed that is not a finite number"):
            other.load_state_dict(state(bad))
