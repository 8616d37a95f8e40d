"""Parameters that were frozen for a while: they have taken fewer steps than the optimizer."""

import copy
import json
import math
import pickle

import pytest

from micrograd import Value, optim
from micrograd import math as mm
from training_runs import step, values

FREEZABLE = {
    "SGD": {"momentum": 0.9, "dampening": 0.5},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "NAdam": {},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "Adagrad": {"lr_decay": 0.1},
}


@pytest.mark.parametrize("way", ["step", "descend"])
@pytest.mark.parametrize("kind", list(FREEZABLE))
def test_steps_are_counted_for_each_parameter_as_pytorch_does(torch, kind, way):
    """What was frozen for a while has taken fewer steps, so that its first one after is not too large."""
    ours = [Value(0.3 * k - 1.0) for k in range(6)]
    theirs = [torch.tensor(p.data, dtype=torch.float64, requires_grad=True) for p in ours]
    optimizer = getattr(optim, kind)([{"params": ours[:5]}, {"params": ours[5:]}], lr=0.05, **FREEZABLE[kind])
    other = getattr(torch.optim, kind)(theirs, lr=0.05, **FREEZABLE[kind])
    frozen = set()
    for k in range(40):
        for at, chosen, freezes in (
            (0, [0, 5], 1),
            (9, [2, 3], 1),
            (20, [0, 2], 0),
            (25, [5], 0),
            (30, [0], 1),
            (33, [0, 3], 0),
        ):
            if at == k:
                (optimizer.freeze if freezes else optimizer.unfreeze)([ours[i] for i in chosen])
                frozen = frozen | set(chosen) if freezes else frozen - set(chosen)
        if k in (12, 22, 31):  # a state in the middle goes on in another optimizer
            state = json.loads(json.dumps(optimizer.state_dict()))
            optimizer = getattr(optim, kind)([{"params": ours[:5]}, {"params": ours[5:]}], lr=0.05, **FREEZABLE[kind])
            optimizer.load_state_dict(state)
            assert json.loads(json.dumps(optimizer.state_dict())) == state
        loss = mm.sum([(p - i) ** 2 * (i + 1.0) + mm.sin(p) for i, p in enumerate(ours)])
        other.zero_grad()
        sum((q - i) ** 2 * (i + 1.0) + torch.sin(q) for i, q in enumerate(theirs)).backward()
        for i in frozen:
            theirs[i].grad = None
        other.step()
        if way == "descend":
            assert optimizer.slots.descend(loss, math.inf, optimizer.updates())
            optimizer.advance()
        else:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        assert [p.data for p in ours] == pytest.approx([q.item() for q in theirs], rel=1e-12, abs=1e-12), k


def test_an_optimizer_with_parameters_that_missed_steps_can_be_copied():
    ps = values()
    optimizer = optim.Adam(ps, lr=0.1)
    optimizer.freeze(ps[:2])
    step(optimizer, [1.0] * 6)
    optimizer.unfreeze(ps)
    step(optimizer, [1.0] * 6)
    twin = pickle.loads(pickle.dumps(copy.deepcopy(optimizer)))
    after = step(optimizer, [0.5] * 6)
    for p in twin.parameters:
        p.grad = 0.5
    twin.step()
    assert [p.data for p in twin.parameters] == after
    assert twin.state_dict() == optimizer.state_dict()


@pytest.mark.parametrize("missed", [[1], [-1] * 6, [1.5] * 6, "ab"])
def test_a_state_with_wrong_counts_is_refused(missed):
    optimizer = optim.Adam(values())
    state = optimizer.state_dict()
    state["groups"][0]["missed"] = missed
    with pytest.raises(ValueError, match="how many steps each parameter has missed"):
        optimizer.load_state_dict(state)


def test_lbfgs_leaves_a_frozen_parameter_where_it_is(mg):
    a, b = mg.Value(1.0), mg.Value(1.0)
    optimizer = mg.optim.LBFGS([a, b])
    optimizer.freeze([a])

    def closure():
        optimizer.zero_grad()
        loss = (a - 3.0) ** 2 + 3.0 * (b - 2.0) ** 2
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)
    assert a.data == 1.0
    assert b.data == pytest.approx(2.0, rel=1e-9)
