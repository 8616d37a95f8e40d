"""Groups, freezing, whole steps in C, schedules beside PyTorch's, LBFGS, running means, the search for a learning rate."""

import itertools
import math
import random
import subprocess
import sys
from array import array

import pytest

from micrograd import Value, data, jit, losses, nn, optim, train
from micrograd.engine import NATIVE
from micrograd.optim.slots import PythonSlots, Slots
from random_programs import needs_llvm
from training_runs import step, values

# ---- groups and freezing


def test_groups_have_settings_of_their_own(torch):
    ours = values()
    theirs = [torch.tensor(p.data, dtype=torch.float64, requires_grad=True) for p in ours]
    options = [{"lr": 0.1}, {"weight_decay": 0.3, "betas": (0.5, 0.9)}, {}]
    mine = optim.AdamW([{"parameters": ours[i : i + 2], **o} for i, o in zip((0, 2, 4), options)], lr=0.01)
    reference = torch.optim.AdamW([{"params": theirs[i : i + 2], **o} for i, o in zip((0, 2, 4), options)], lr=0.01)
    rng = random.Random(1)
    for _ in range(50):
        grads = [rng.gauss(0, 1) for _ in ours]
        for q, g in zip(theirs, grads):
            q.grad = torch.tensor(g, dtype=torch.float64)
        step(mine, grads)
        reference.step()
    assert [p.data for p in ours] == pytest.approx([q.item() for q in theirs], rel=1e-12)
    again = optim.AdamW([{"params": values()[i : i + 2], **o} for i, o in zip((0, 2, 4), options)], lr=0.01)
    again.load_state_dict(mine.state_dict())
    assert again.state_dict() == mine.state_dict()


@pytest.mark.parametrize(
    "groups, told",
    [
        ([{"lr": 0.1}], 'a dict with "parameters"'),
        ([{"parameters": values(), "momentum": 0.9}], "Adam has no setting 'momentum' for a group: it has lr, beta1"),
        ([{"parameters": []}], "empty"),
        ([{"parameters": values(), "betas": (0.9,)}], "betas are two numbers"),
        ([{"parameters": values(), "lr": -1}], "0 or more"),
    ],
)
def test_groups_that_cannot_be_are_said(groups, told):
    with pytest.raises(ValueError, match=told):
        optim.Adam(groups)


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda p: optim.Adam(p, betas=(0.9, 0.99, 0.999)), "betas are two numbers"),
        (lambda p: optim.Adam(p, betas=0.9), "betas are two numbers"),
        (lambda p: optim.RMSprop(p, alpha=1.5), "alpha is 0 or more and below 1, not 1.5"),
        (lambda p: optim.RMSprop(p, alpha=math.nan), "alpha"),
        (lambda p: optim.SGD(p, lr=True), "a learning rate is a finite number"),
        (lambda p: optim.SGD(p, lr="0.1"), "a learning rate is a finite number"),
        (lambda p: optim.clip_norm(p, 0.0), "above 0, not 0.0"),
        (lambda p: optim.clip_norm(p, -1.0), "above 0, not -1.0"),
        (lambda p: optim.clip_norm(p, math.nan), "above 0, not nan"),
        (lambda p: optim.clip_value(p, -1.0), "above 0, not -1.0"),
    ],
)
def test_settings_that_cannot_be_are_said(make, told):
    with pytest.raises(ValueError, match=told):
        make(values())


@pytest.mark.parametrize("flag", [False, True])
def test_requires_grad_is_said_not_to_be_known(flag):
    """Also after the optimizer was made, where the parameter would go on moving."""
    p = Value(1.0)
    optim.SGD([p])
    with pytest.raises(AttributeError, match=r"optimizer\.freeze"):
        p.requires_grad = flag
    assert not hasattr(p, "requires_grad")


def test_frozen_parameters_stay_and_so_does_what_is_kept_for_them():
    ps = values()
    optimizer = optim.Adam(ps, lr=0.1)
    step(optimizer, [1.0] * 6)
    before, kept = [p.data for p in ps], optimizer.groups[0].kept["mean"].tolist()
    optimizer.freeze(ps[1:3])
    after = step(optimizer, [0.5] * 6)
    assert [a == b for a, b in zip(after, before)] == [False, True, True, False, False, False]
    assert optimizer.groups[0].kept["mean"].tolist()[1:3] == kept[1:3]
    other = optim.Adam(values(), lr=0.1)
    other.load_state_dict(optimizer.state_dict())
    assert other.groups[0].frozen == optimizer.groups[0].frozen
    optimizer.unfreeze(ps)
    assert all(a != b for a, b in zip(step(optimizer, [0.5] * 6), after))
    with pytest.raises(ValueError, match="1 of the 1 parameters are not this optimizer's"):
        optimizer.freeze([Value(1.0)])


def test_biases_and_gains_may_be_spared_the_decay():
    model = nn.Sequential(nn.Linear(2, 3, init="uniform", rng=0), nn.LayerNorm(3), nn.MLP(3, [2], rng=1))
    optimizer = optim.AdamW(optim.decay_groups(model, 0.5), lr=0.1)
    names = {id(p): name for name, p in model.named_parameters()}
    before = {name: p.data for name, p in model.named_parameters()}
    optimizer.zero_grad()
    optimizer.step()  # no gradient: what moves is the decay alone
    moved = {name for name, p in model.named_parameters() if p.data != before[name]}
    assert {names[id(p)] for p in optimizer.groups[0].parameters} >= moved
    assert all(".weight." in name or ".w." in name for name in moved) and len(moved) == 6 + 6


# ---- a whole step in C


@pytest.mark.skipif(not NATIVE, reason="this is about the C engine beside the Python one")
@pytest.mark.parametrize("limit", [math.inf, 0.5, 1e-3])
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_llvm)])
def test_a_whole_step_in_c_is_the_python_one_to_the_bit(limit, compiled):
    results = []
    for make in (Slots, PythonSlots):
        model = nn.MLP(3, [5, 1], activation="tanh", rng=0)
        unused = [Value(1.0), Value(-0.0)]
        ps = [*model.parameters()[::-1], *unused]
        groups = [{"parameters": ps[:9]}, {"parameters": ps[9:], "weight_decay": 0.1}]
        optimizer = optim.AdamW(groups, lr=0.05, amsgrad=True)
        for group in optimizer.groups:
            vars(group)["slots"] = make(group.parameters)
        vars(optimizer)["slots"] = make(ps)
        optimizer.freeze(ps[3:5])
        f = jit(lambda x, m=model: m(x) ** 2, exact=True, wait=True) if compiled else lambda x, m=model: m(x) ** 2
        rng = random.Random(0)
        for _ in range(5):
            loss = f([rng.gauss(0, 1) for _ in range(3)])
            updates = tuple((s, make.rule(["adam_decoupled_true"][0]), c, k) for s, _, c, k in optimizer.updates())
            assert optimizer.slots.descend(loss, limit, updates)
            optimizer.advance()
        results.append(([p.data for p in ps], [p.grad for p in ps], [g.kept for g in optimizer.groups], loss.grad))
    assert repr(results[0]) == repr(results[1])


def test_huge_and_tiny_gradients_are_clipped_as_they_are():
    for scale in (1e200, 1e-200, 1e-310):
        ps = values(3)
        for p, g in zip(ps, (3.0, 4.0, 0.0)):
            p.grad = g * scale
        assert optim.clip_norm(ps, 1e-300) == pytest.approx(5.0 * scale, rel=1e-9)
    for p in ps:
        p.grad = 1e200
    optim.clip_norm(ps, 1.0)
    assert [p.grad for p in ps] == pytest.approx([3**-0.5] * 3)


@needs_llvm
@pytest.mark.slow
def test_memory_stays_flat_over_a_hundred_thousand_compiled_steps():
    program = """
import sys
import micrograd  # the one that is tested: the benchmarks take that of src
sys.path.insert(0, "benchmarks")
import training
assert training.grown() < 1e6, training.grown()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


# ---- learning rates


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (optim.exponential(0.5, 0.9), lambda t, o: t.ExponentialLR(o, 0.9)),
        (optim.warm_restarts(0.5, 0.1, 7), lambda t, o: t.CosineAnnealingWarmRestarts(o, 7, eta_min=0.1)),
        (optim.warm_restarts(0.5, 0.1, 5, 2), lambda t, o: t.CosineAnnealingWarmRestarts(o, 5, 2, eta_min=0.1)),
        (optim.one_cycle(0.5, 100), lambda t, o: t.OneCycleLR(o, 0.5, total_steps=100)),
        (
            optim.one_cycle(0.5, 60, rise=0.5, start_divisor=10, end_divisor=100),
            lambda t, o: t.OneCycleLR(o, 0.5, total_steps=60, pct_start=0.5, div_factor=10, final_div_factor=100),
        ),
    ],
    ids=["exponential", "restarts", "restarts-2", "one-cycle", "one-cycle-options"],
)
def test_schedules_are_pytorchs(torch, ours, theirs):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    schedule = theirs(torch.optim.lr_scheduler, optimizer)
    for k in range(59):
        assert ours(k) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)
        optimizer.step()
        schedule.step()


def test_a_plateau_lowers_the_rate_as_pytorchs(torch):
    rng = random.Random(2)
    column = [1.0 / (1 + k // 6) + 0.0001 * rng.random() for k in range(60)]
    theirs = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, factor=0.5, patience=2)
    mine = optim.SGD([Value(0.0)], lr=0.5)
    plateau, history = train.ReduceOnPlateau(mine, factor=0.5, patience=2), train.History()
    for k, loss in enumerate(column):
        history.rows.append({"epoch": k + 1, "step": k + 1, "loss": loss})
        history.epoch_ended = True
        plateau(history)
        schedule.step(loss)
        assert mine.lr == pytest.approx(theirs.param_groups[0]["lr"])
    assert mine.lr < 0.1


def test_a_plateau_lowers_the_rate_of_every_group_as_pytorchs(torch, tmp_path):
    a, b = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    theirs = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.02}], lr=0.5)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, factor=0.5, patience=0, min_lr=0.004)
    x, y = Value(0.0), Value(0.0)
    mine = optim.SGD([{"parameters": [x]}, {"parameters": [y], "lr": 0.02}], lr=0.5)
    plateau, history = train.ReduceOnPlateau(mine, factor=0.5, patience=0, least=0.004), train.History()
    for k in range(8):
        history.rows.append({"epoch": k + 1, "step": k + 1, "loss": 1.0})
        history.epoch_ended = True
        plateau(history)
        schedule.step(1.0)
        x.data = y.data = 0.0
        x.grad = y.grad = -1.0
        mine.step()
        assert [x.data, y.data] == pytest.approx([group["lr"] for group in theirs.param_groups])
    again = optim.SGD([{"parameters": [x]}, {"parameters": [y], "lr": 0.02}], lr=0.5)
    again.load_state_dict(mine.state_dict())
    assert again.state_dict() == mine.state_dict()


def test_the_search_for_a_learning_rate_leaves_everything_as_it_was():
    X, y = data.moons(30, seed=0)
    model = nn.MLP(2, [8, 1], rng=0)
    optimizer = optim.Adam(model.parameters(), lr=optim.linear(0.1, 0.0, 9))
    before, state = model.state_dict(), optimizer.state_dict()
    found = train.find_lr(model, (X, [2 * c - 1 for c in y]), losses.max_margin, optimizer, batch_size=10)
    assert 1e-4 < found.lr < 1.0 and len(found.rates) == len(found.losses)
    assert model.state_dict() == before and optimizer.state_dict() == state and optimizer.lr == 0.1


# ---- LBFGS


def rosenbrock(ps):
    return sum(100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2 for a, b in itertools.pairwise(ps))


@pytest.mark.parametrize("backward", [False, True], ids=["optimizer calls backward", "closure calls backward"])
def test_lbfgs_minimizes_rosenbrock(backward):
    ps = [Value(-1.2 if i % 2 == 0 else 1.0) for i in range(10)]
    optimizer = optim.LBFGS(ps, max_iter=300)

    def closure():
        if backward:
            optimizer.zero_grad()
        loss = rosenbrock(ps)
        if backward:
            loss.backward()
        return loss

    loss = optimizer.step(closure)
    assert loss < 1e-12 and [p.data for p in ps] == pytest.approx([1.0] * 10, abs=1e-5)
    assert optimizer.evaluations < 150


def test_lbfgs_needs_no_more_evaluations_than_pytorchs(torch):
    start = [-1.2 if i % 2 == 0 else 1.0 for i in range(10)]
    theirs = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    reference = torch.optim.LBFGS([theirs], max_iter=1, history_size=10, line_search_fn="strong_wolfe")
    counted = [0]

    def closure():
        counted[0] += 1
        reference.zero_grad()
        loss = rosenbrock(list(theirs))
        loss.backward()
        return loss

    for _ in range(100):
        if reference.step(closure).item() < 1e-12:
            break
    ps = [Value(x) for x in start]
    optimizer = optim.LBFGS(ps, max_iter=1)
    for _ in range(100):
        if optimizer.step(lambda: rosenbrock(ps)) < 1e-12:
            break
    assert optimizer.evaluations <= 1.2 * counted[0]


def test_lbfgs_states_go_on_to_the_bit():
    def run(steps, state=None, at=None):
        ps = [Value(x) for x in (at or [-1.2, 1.0, 0.5])]
        optimizer = optim.LBFGS(ps, max_iter=1)
        if state:
            optimizer.load_state_dict(state)
        for _ in range(steps):
            optimizer.step(lambda: rosenbrock(ps))
        return [p.data for p in ps], optimizer.state_dict()

    whole, _ = run(12)
    half, state = run(6)
    assert run(6, state, half)[0] == whole


def test_lbfgs_says_what_it_cannot_do():
    p = Value(1.0)
    optimizer = optim.LBFGS([p])
    for call, error, told in [
        (lambda: optimizer.step(), TypeError, r"step\(closure\)"),
        (lambda: optimizer.step(lambda: 3.0), TypeError, "returns the loss as a Value"),
        (lambda: optimizer.step(lambda: p * math.nan), ValueError, "the loss is nan where LBFGS begins"),
        (lambda: optim.LBFGS([p], max_iter=0), ValueError, "max_iter"),
        (lambda: optim.LBFGS([{"parameters": [p]}, {"parameters": [Value(1.0)]}]), ValueError, "not groups"),
    ]:
        with pytest.raises(error, match=told):
            call()


# ---- running means, logs


def test_an_average_follows_the_parameters():
    ps = values(3)
    ema = train.EMA(ps, decay=0.9)
    mean = [p.data for p in ps]
    rng = random.Random(0)
    for _ in range(20):
        for p in ps:
            p.data = rng.gauss(0, 1)
        ema(None)
        mean = [m + (1.0 - 0.9) * (p.data - m) for m, p in zip(mean, ps)]
    now = [p.data for p in ps]
    with ema.applied():
        assert [p.data for p in ps] == pytest.approx(mean, rel=1e-12)
    assert [p.data for p in ps] == now
    ema.apply()
    assert [p.data for p in ps] == pytest.approx(mean, rel=1e-12)
    with pytest.raises(ValueError, match="below 1"):
        train.EMA(ps, decay=1.0)


def test_a_csv_file_has_all_rows_and_columns(tmp_path):
    import csv

    model = nn.MLP(1, [2, 1], rng=0)
    points = [[0.1], [0.2], [0.3]], [1.0, 2.0, 3.0]
    log = train.CSVLog(tmp_path / "log.csv")
    history = train.fit(model, points, losses.mse, optim.SGD(model.parameters(), lr=0.1), 3, batch_size=2, callbacks=log,
                        validation=points, quiet=True)  # fmt: skip
    with open(tmp_path / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(history) == 6
    assert [{k: float(v) for k, v in row.items() if v} for row in rows] == history.rows


def test_tensorboard_gets_each_number(monkeypatch):
    import types

    seen = []

    class SummaryWriter:
        def __init__(self, folder):
            self.folder = folder

        def add_scalar(self, *args):
            seen.append(args)

        def flush(self):
            pass

    monkeypatch.setitem(sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=SummaryWriter))
    board = train.TensorBoard("runs")
    board(train.History([{"epoch": 1, "step": 1, "loss": 0.5, "lr": 0.1}]))
    assert seen == [("loss", 0.5, 1), ("lr", 0.1, 1)]
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ImportError, match="install tensorboardX"):
        train.TensorBoard("runs")


@pytest.mark.skipif(not NATIVE, reason="this is about the C engine")
def test_vectors_are_checked_in_c():
    a, b = array("d", [1.0, 2.0]), array("d", [1.0])
    for call in (lambda: Slots.dot(a, b), lambda: Slots.add(1.0, a, b), lambda: Slots([Value(1.0)]).copy("read", a)):
        with pytest.raises((ValueError, IndexError)):
            call()


def test_lion_does_not_move_a_parameter_that_nothing_pulls():
    from micrograd.optim.rules import sign

    assert [sign(x) for x in (2.0, 0.5, -0.5, -2.0)] == [1.0, 1.0, -1.0, -1.0]
    assert [str(sign(x)) for x in (0.0, -0.0, float("nan"))] == ["0.0", "-0.0", "nan"]
    p = Value(3.0)
    optim.Lion([p], lr=0.1).step()
    assert p.data == 3.0
