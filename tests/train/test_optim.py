"""Optimizers, schedules and clipping: PyTorch's numbers, and loud refusals."""

import functools
import itertools
import json
import math
import random
import struct
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from micrograd import Value, losses, optim
from micrograd.engine import NATIVE
from micrograd.optim.rules import RULES
from micrograd.optim.slots import PythonSlots, Slots
from micrograd.train import fit

BETAS = ((0.9, 0.999), (0.8, 0.95))
DECAYS = (0.0, 0.1)
BOTH = (False, True)


def every(name, **options):
    """Every combination of the options of an optimizer."""
    for values in itertools.product(*options.values()):
        yield name, dict(zip(options, values))


OPTIMIZERS = [
    *every("SGD", lr=[0.02], weight_decay=DECAYS, maximize=BOTH),
    *every("SGD", lr=[0.02], momentum=[0.9], weight_decay=DECAYS, dampening=[0.0, 0.3], maximize=BOTH),
    *every("SGD", lr=[0.02], momentum=[0.9], weight_decay=DECAYS, nesterov=[True], maximize=BOTH),
    *every("Adam", lr=[0.05], betas=BETAS, eps=[1e-8, 1e-4], weight_decay=DECAYS, amsgrad=BOTH, maximize=BOTH),
    *every("AdamW", lr=[0.05], betas=BETAS, eps=[1e-8, 1e-4], weight_decay=DECAYS, amsgrad=BOTH, maximize=BOTH),
    *every("NAdam", lr=[0.02], betas=BETAS, weight_decay=DECAYS, momentum_decay=[4e-3, 0.1],
           decoupled_weight_decay=BOTH, maximize=BOTH),
    *every("RMSprop", lr=[0.02], alpha=[0.99, 0.9], eps=[1e-8, 1e-4], weight_decay=DECAYS, momentum=[0.0, 0.8],
           centered=BOTH, maximize=BOTH),
    *every("Adagrad", lr=[0.1], lr_decay=[0.0, 0.01], weight_decay=DECAYS, initial_accumulator_value=[0.0, 0.5],
           eps=[1e-10, 1e-4], maximize=BOTH),
]  # fmt: skip
SOME = [
    ("SGD", {"lr": 0.05}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1, "dampening": 0.3}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("AdamW", {"lr": 0.05, "betas": (0.8, 0.99), "weight_decay": 0.3}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RMSprop", {"lr": 0.02, "momentum": 0.8, "centered": True}),
    ("Adagrad", {"lr": 0.2, "lr_decay": 0.1, "initial_accumulator_value": 0.1}),
    ("Lion", {"lr": 0.01, "weight_decay": 0.1}),
]
IDS = [f"{name}-{'-'.join(map(str, options))}" for name, options in SOME]


def start(count=7):
    rng = random.Random(4)
    return [rng.uniform(-2.0, 2.0) for _ in range(count)]


def surface(p, k, cos):
    """A bumpy loss that changes with the step, for our Values and for tensors."""
    total = 0.0
    for i, x in enumerate(p):
        total = total + (0.5 + i) * (x - 0.3 * i) ** 2 + cos(3.0 * x + 0.1 * k)
    return total + p[0] * p[1]


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("SGD", "AdamW", "NAdam", "RMSprop", "Adagrad")]


@pytest.mark.parametrize("name", ["Adam", *OTHERS])
def test_four_hundred_steps_with_every_combination_of_options_are_pytorchs(torch, name):
    """The gradients are ours for both, so that what differs is the optimizers alone."""
    rng = random.Random(3)
    grads = [[rng.gauss(0.0, 1.0) * 10.0 ** rng.randint(-3, 1) for _ in range(7)] for _ in range(400)]
    for options in [options for other, options in OPTIMIZERS if other == name]:
        ours = [Value(x) for x in start()]
        theirs = torch.tensor(start(), dtype=torch.float64, requires_grad=True)
        mine, reference = getattr(optim, name)(ours, **options), getattr(torch.optim, name)([theirs], **options)
        for row in grads:
            theirs.grad = torch.tensor(row, dtype=torch.float64)
            for p, g in zip(ours, row):
                p.grad = g
            mine.step()
            reference.step()
        assert [p.data for p in ours] == pytest.approx(theirs.tolist(), rel=1e-10, abs=1e-10), options


@pytest.mark.parametrize(
    "name, options", [case for case in SOME if case[0] != "Lion"], ids=[i for i in IDS if "Lion" not in i]
)
def test_four_hundred_steps_down_a_bumpy_surface_are_pytorchs(torch, name, options):
    ours = [Value(x) for x in start()]
    theirs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in start()]
    mine, reference = getattr(optim, name)(ours, **options), getattr(torch.optim, name)(theirs, **options)
    for k in range(400):
        for optimizer, p, cos in ((mine, ours, lambda v: v.cos()), (reference, theirs, torch.cos)):
            optimizer.zero_grad()
            surface(p, k, cos).backward()
            optimizer.step()
    assert [p.data for p in ours] == pytest.approx([p.item() for p in theirs], rel=5e-10, abs=5e-10)


def test_lion_is_the_rule_of_its_paper():
    rng = random.Random(5)
    p, q, mean = Value(1.0), 1.0, 0.0
    optimizer = optim.Lion([p], lr=0.01, betas=(0.9, 0.98), weight_decay=0.1)
    for _ in range(400):
        p.grad = g = rng.gauss(0, 1)
        optimizer.step()
        mixed = 0.9 * mean + (1 - 0.9) * g
        q = q * (1 - 0.01 * 0.1) - 0.01 * math.copysign(1.0, mixed)
        mean = 0.98 * mean + (1 - 0.98) * g
        assert p.data == pytest.approx(q, rel=1e-12)


# ---- the C twin

CORNERS = [0.0, -0.0, 1.0, -2.5, 1e-310, -1e308, 1e308, 3e-5, math.inf, -math.inf, math.nan]


@pytest.mark.skipif(not NATIVE, reason="this is about the C engine beside the Python one")
@pytest.mark.parametrize("name", list(RULES))
def test_an_update_rule_in_c_is_the_python_one_to_the_bit(name):
    rule, rng = RULES[name], random.Random(name)
    count = 700  # more than two blocks
    data = [rng.choice(CORNERS) if i % 9 == 0 else rng.gauss(0, 1) for i in range(count)]
    grads = [rng.choice(CORNERS) if i % 7 == 0 else rng.gauss(0, 1) for i in range(count)]
    kept = [[abs(rng.gauss(0, 1)) for _ in range(count)] for _ in rule.kept]
    constants = tuple(rng.uniform(0.01, 0.99) for _ in rule.constants)
    for frozen in (bytes(count), bytes(rng.randrange(2) for _ in range(count))):
        results = []
        for make in (Slots, PythonSlots):
            values = [Value(x) for x in data]
            for v, g in zip(values, grads):
                v.grad = g
            slots, buffers = make(values), tuple(array("d", k) for k in kept)
            slots.freeze(frozen)
            for _ in range(3):
                slots.update(make.rule(name), constants, buffers)
            results.append([*(struct.pack("d", v.data) for v in values), *(b.tobytes() for b in buffers)])
        same = [a == b or (len(a) == 8 and math.isnan(struct.unpack("d", a)[0]) and math.isnan(struct.unpack("d", b)[0]))
                for a, b in zip(*results)]  # fmt: skip
        assert all(same[:count])
        for a, b in zip(results[0][count:], results[1][count:]):
            for x, y in zip(array("d", a), array("d", b)):
                assert struct.pack("d", x) == struct.pack("d", y) or (math.isnan(x) and math.isnan(y))


@pytest.mark.skipif(not NATIVE, reason="this is about the C engine beside the Python one")
def test_gradients_are_measured_and_clipped_in_c_as_in_python():
    rng = random.Random(0)
    for case in range(200):
        scale = 10.0 ** rng.choice([-300, -160, -5, 0, 5, 160, 300])
        grads = [rng.gauss(0, 1) * scale for _ in range(rng.randrange(1, 50))]
        if case % 20 == 0:
            grads[0] = rng.choice([math.inf, math.nan, 0.0])
        results = []
        for make in (Slots, PythonSlots):
            values = [Value(0.0) for _ in grads]
            slots = make(values)
            for v, g in zip(values, grads):
                v.grad = g
            slots.freeze(bytes(i % 5 == 4 for i in range(len(grads))))
            norm = [slots.norm(), slots.clip_norm(1.0)]
            slots.clip_value(0.3)
            results.append(norm + [v.grad for v in values] + [float(Slots.dot(array("d", grads), array("d", grads)))])
        assert repr(results[0]) == repr(results[1])


def test_the_c_file_is_made_from_the_rules():
    tool = Path(__file__).resolve().parent.parent.parent / "tools" / "gen_optim_h.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name, options", SOME, ids=IDS)
def test_a_state_goes_on_to_the_bit(name, options):
    def run(optimizer, steps, first=0):
        for k in range(first, steps):
            optimizer.zero_grad()
            surface(optimizer.parameters, k, lambda v: v.cos()).backward()
            optimizer.step()
        return [p.data for p in optimizer.parameters]

    make = getattr(optim, name)
    whole = run(make([Value(x) for x in start()], **options), 20)
    half = make([Value(x) for x in start()], **options)
    middle = run(half, 10)
    other = make([Value(x) for x in middle], **options)
    other.load_state_dict(half.state_dict())
    assert run(other, 20, first=10) == whole


# ---- learning rates


def test_a_warmup_rises_to_the_first_rate_of_what_follows():
    rate = optim.warmup(optim.linear(1.0, 0.0, 10), 4)
    assert [rate(k) for k in range(4)] == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert (rate(4), rate(9), rate(14), rate(99)) == (1.0, 0.5, 0.0, 0.0)
    assert [optim.warmup(2.0, 1)(k) for k in (0, 1, 7)] == [1.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="steps counts steps"):
        optim.warmup(2.0, 0)


def test_schedules_have_their_shapes():
    line = optim.linear(1.0, 0.1, 100)
    assert [line(0), line(50), line(100), line(500)] == pytest.approx([1.0, 0.55, 0.1, 0.1])
    assert [line(k) for k in range(100)] == pytest.approx([1.0 - 0.9 * k / 100 for k in range(100)])
    assert optim.constant(0.3)(12345) == 0.3
    steps = optim.step(1.0, every=10, factor=0.5)
    assert [steps(k) for k in (0, 9, 10, 25)] == [1.0, 1.0, 0.5, 0.25]
    wave = optim.cosine(1.0, 0.0, 10, warmup=4)
    assert [wave(k) for k in (0, 1, 3, 4, 9, 14, 99)] == pytest.approx([0.2, 0.4, 0.8, 1.0, 0.5, 0.0, 0.0])


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (optim.cosine(0.5, 0.1, 20), lambda t, o: t.CosineAnnealingLR(o, T_max=20, eta_min=0.1)),
        (optim.step(0.5, 7, 0.3), lambda t, o: t.StepLR(o, step_size=7, gamma=0.3)),
        (optim.linear(0.5, 0.1, 20), lambda t, o: t.LinearLR(o, 1.0, 0.2, total_iters=20)),
        (optim.constant(0.5), lambda t, o: t.LambdaLR(o, lambda k: 1.0)),
    ],
    ids=["cosine", "step", "linear", "constant"],
)
def test_schedules_are_pytorchs(torch, ours, theirs):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    schedule = theirs(torch.optim.lr_scheduler, optimizer)
    for k in range(20):
        assert ours(k) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
        optimizer.step()
        schedule.step()


def test_any_function_of_the_step_is_a_learning_rate():
    p = Value(0.0)
    optimizer = optim.SGD([p], lr=lambda k: 10.0**-k)
    for _ in range(3):
        p.grad = -1.0
        optimizer.step()
    assert p.data == pytest.approx(1.11)
    assert optimizer.lr == pytest.approx(1e-3)
    optimizer.lr = 0.5
    assert optimizer.lr == 0.5


TABLE = [0.1, 0.05, 0.01]


@pytest.mark.parametrize(
    "schedule, error, told",
    [
        (lambda k: TABLE[k], ValueError, "the learning rate of step 3 cannot be computed .IndexError"),
        (lambda k: 0.1 * (1 - k / 3) ** 0.9 if k < 3 else 1j, TypeError, "the learning rate of step 3 is a complex"),
        (lambda k: 0.1 if k < 3 else math.inf, ValueError, "the learning rate of step 3 is inf"),
    ],
)
def test_a_learning_rate_is_asked_for_the_steps_that_are_taken(schedule, error, told):
    """A function of one's own need not be defined behind the end of the training."""
    p = Value(1.0)
    optimizer = optim.SGD([p], lr=schedule)
    for _ in range(3):
        optimizer.step()
    assert "lr=none at step 3" in repr(optimizer)
    other = optim.SGD([p], lr=schedule)
    other.load_state_dict(json.loads(json.dumps(optimizer.state_dict())))
    assert other.steps == 3
    with pytest.raises(ValueError, match="was made with another learning rate"):
        optim.SGD([p], lr=0.1).load_state_dict(optimizer.state_dict())
    before = p.data
    with pytest.raises(error, match=told):
        optimizer.step()
    assert p.data == before and optimizer.steps == 3


@pytest.mark.parametrize("kind", [optim.SGD, functools.partial(optim.LBFGS, max_iter=1)])
def test_a_learning_rate_that_ends_with_the_training_trains(kind, tmp_path):
    """Also with a checkpoint, which keeps no infinite number."""
    p = Value(0.0)
    history = fit(
        lambda x: p * x, ([1.0, 2.0], [0.3, 0.5]), losses.mse, kind([p], lr=lambda k: TABLE[k]), 3, quiet=True,
        checkpoint=tmp_path / "run.json",
    )  # fmt: skip
    assert history["lr"] == TABLE and (tmp_path / "run.json").exists()


# ---- clipping


@pytest.mark.parametrize("limit", [0.1, 1.0, 100.0])
def test_clip_norm_is_pytorchs(torch, limit):
    grads = start()
    ours = [Value(0.0) for _ in grads]
    theirs = [torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in grads]
    for p, q, g in zip(ours, theirs, grads):
        p.grad, q.grad = g, torch.tensor(g, dtype=torch.float64)
    norm = torch.nn.utils.clip_grad_norm_(theirs, limit)
    assert optim.clip_norm(ours, limit) == pytest.approx(norm.item(), rel=1e-14)
    assert [p.grad for p in ours] == pytest.approx([q.grad.item() for q in theirs], rel=1e-14)


def test_clip_norm_passes_a_nan_on():
    a, b = Value(0.0), Value(0.0)
    a.grad, b.grad = math.nan, 1.0
    assert math.isnan(optim.clip_norm([a, b], 1.0))
    assert math.isnan(b.grad)


def test_clip_value_bounds_each_gradient():
    ps = [Value(0.0) for _ in range(4)]
    for p, g in zip(ps, [-3.0, -0.5, 0.5, 3.0]):
        p.grad = g
    optim.clip_value(ps, 1.0)
    assert [p.grad for p in ps] == [-1.0, -0.5, 0.5, 1.0]


# ---- refusals


P = Value(1.0)


@pytest.mark.parametrize(
    "make, error, told",
    [
        (lambda: optim.SGD([]), ValueError, "needs parameters"),
        (lambda: optim.SGD([1.0]), TypeError, "parameters are Values, not float"),
        (lambda: optim.SGD([P * 2.0]), ValueError, "only a leaf can be a parameter"),
        (lambda: optim.SGD([P, P]), ValueError, "in the list twice"),
        (lambda: optim.SGD([P], lr=-0.1), ValueError, "0 or more, or a function of the step, not -0.1"),
        (lambda: optim.SGD([P], lr=math.nan), ValueError, "not nan"),
        (lambda: optim.SGD([P], lr=lambda k: -1.0).step(), ValueError, "the learning rate of step 0 is -1.0"),
        (lambda: optim.SGD([P], nesterov=True), ValueError, "needs momentum above 0"),
        (lambda: optim.SGD([P], momentum=-1), ValueError, "momentum is 0 or more"),
        (lambda: optim.Adam([P], betas=(1.0, 0.9)), ValueError, "below 1, not 1.0"),
        (lambda: optim.Adam([P], eps=0.0), ValueError, "eps is above 0"),
        (lambda: optim.linear(1.0, 0.0, 0), ValueError, "1 or more, not 0"),
        (lambda: optim.SGD([P]).load_state_dict(optim.Adam([P]).state_dict()), ValueError, "is of Adam"),
    ],
)
def test_what_cannot_be_is_said(make, error, told):
    with pytest.raises(error, match=told):
        make()
    assert P.data == 1.0


def test_a_state_over_other_parameters_is_refused():
    a = optim.SGD([Value(0.0), Value(0.0)], momentum=0.9)
    a.step()
    with pytest.raises(ValueError, match="for 2 parameters, but there are 1"):
        optim.SGD([Value(0.0)], momentum=0.9).load_state_dict(a.state_dict())


def test_a_nan_gradient_is_not_skipped():
    p = Value(1.0)
    for make in (optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop):
        p.data, p.grad = 1.0, math.nan
        make([p], lr=0.1).step()
        assert math.isnan(p.data)
