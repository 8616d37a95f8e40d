"""Losses at infinite, huge and tiny numbers beside PyTorch: value and gradient, in eager and in compiled code.

Where PyTorch has nan (a logit of +inf, a row of nothing but -inf) anything else would be no better; there eager and
compiled code agree with each other.
"""

import itertools
import math

import pytest

from micrograd import Value, hessian, jit, losses, optim, train, value_and_grad, vmap
from micrograd.engine import NATIVE

torch = pytest.importorskip("torch", reason="PyTorch is the oracle here: pip install torch")
np = pytest.importorskip("numpy")
F = torch.nn.functional
INF = math.inf
compiled_only = pytest.mark.skipif(not NATIVE, reason="compiled code runs on the C engine")

OPTIONS = {
    "plain": {},
    "smoothing": {"label_smoothing": 0.1},
    "smoothing alone": {"label_smoothing": 1.0},
    "weights": {"weight": [0.5, 2.0, 1.0]},
    "weights and smoothing": {"weight": [0.5, 0.0, 1.0], "label_smoothing": 0.2},
    "ignored": {"ignore_index": 1},
}
LOGITS = (-INF, 0.0, 1.0, 2e3, -1e308, 1e308, INF, 1e-320, -1e9, 1e17)
ROWS = [(*row, target) for row in itertools.product(LOGITS, repeat=3) for target in (0, 1)]


def agree(got, wanted):
    """Where two arrays are equal, or as near as two ways to round."""
    with np.errstate(all="ignore"):
        near = np.abs(got - wanted) <= np.maximum(1e-9 * np.maximum(np.abs(got), np.abs(wanted)), 1e-15)
    return near | (got == wanted) | (np.isnan(got) & np.isnan(wanted))


def of_torch(options, rows):
    """Loss and gradient of each row."""
    given = dict(options)
    if "weight" in given:
        given["weight"] = torch.tensor(given["weight"], dtype=torch.float64)
    table = torch.tensor(rows, dtype=torch.float64)
    logits = table[:, :3].clone().requires_grad_()
    loss = F.cross_entropy(logits, table[:, 3].long(), reduction="none", **given)
    loss.sum().backward()
    return np.concatenate([loss.detach().numpy()[:, None], logits.grad.numpy()], axis=1)


def eagerly(options, rows, as_target):
    found = []
    for *row, target in rows:
        values = [Value(x) for x in row]
        loss = losses.cross_entropy(values, as_target(target), "sum", **options)
        if isinstance(loss, Value):
            loss.backward()
        found.append([float(loss), *(v.grad for v in values)])
    return np.array(found)


def by_machine_code(options, rows):
    def loss(a, b, c, target):
        return losses.cross_entropy([a, b, c], target, "sum", **options)

    columns = np.array(rows, dtype=float).T.copy()
    loss_of, slopes = jit(vmap(value_and_grad(loss, argnums=(0, 1, 2))), wait=True)(*columns)
    return np.stack([loss_of, *slopes], axis=1)


@pytest.mark.parametrize("as_target", [int, Value], ids=["number", "value"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_cross_entropy_of_extreme_logits(options, as_target):
    wanted, got = of_torch(options, ROWS), eagerly(options, ROWS, as_target)
    known = ~np.isnan(wanted).any(axis=1)
    assert known.sum() > 1000
    wrong = np.nonzero(known & ~agree(got, wanted).all(axis=1))[0]
    assert not len(wrong), [(ROWS[i], got[i], wanted[i]) for i in wrong[:3]]


@compiled_only
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_compiled_cross_entropy_of_extreme_logits_is_the_eager_one(options):
    got, wanted = by_machine_code(options, ROWS), eagerly(options, ROWS, Value)
    wrong = np.nonzero(~agree(got, wanted).all(axis=1))[0]
    assert not len(wrong), [(ROWS[i], got[i], wanted[i]) for i in wrong[:3]]


@pytest.mark.parametrize("row, target, slopes", [
    ((-INF, 1.0, 2.0), 0, (-1.0, 0.2689414213699951, 0.7310585786300049)),
    ((-INF, -INF, 1.0), 1, (0.0, -1.0, 1.0)),
    ((0.0, -1e30, 1.0), 1, (0.2689414213699951, -1.0, 0.7310585786300049)),
])  # fmt: skip
@pytest.mark.parametrize("compile", [False, pytest.param(True, marks=compiled_only)])
def test_the_logit_of_the_target_is_masked(row, target, slopes, compile):
    logits = [Value(x) for x in row]
    optimizer = optim.SGD(logits, lr=0.0)
    step = train.step(lambda t: losses.cross_entropy(logits, t), optimizer, compile=compile)
    assert step(float(target)) == (INF if INF in map(abs, row) else pytest.approx(1e30))
    assert [v.grad for v in logits] == pytest.approx(slopes, rel=1e-12)


EXTREME = (-INF, INF, 0.0, 1.0, -2.0, 1e308, -1e308, 1e-320, 700.0, -800.0)
PAIRS = {
    "mse": (losses.mse, F.mse_loss, EXTREME),
    "mae": (losses.mae, F.l1_loss, EXTREME),
    "huber": (losses.huber, F.huber_loss, EXTREME),
    "binary": (losses.binary_cross_entropy, F.binary_cross_entropy_with_logits, (0.0, 1.0, 0.3, 1.0 - 2.0**-53)),
    "margin": (losses.max_margin, lambda x, t: torch.relu(1.0 - t * x).mean(), (1.0, -1.0)),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("compile", [False, pytest.param(True, marks=compiled_only)])
def test_other_losses_of_extreme_numbers(name, compile):
    ours, theirs, targets = PAIRS[name]
    x, t = Value(0.0), Value(0.0)
    compiled = jit(lambda: ours(x, t), wait=True) if compile else lambda: ours(x, t)
    for p, target in itertools.product(EXTREME, targets):
        prediction = torch.tensor(p, dtype=torch.float64, requires_grad=True)
        loss = theirs(prediction, torch.tensor(target, dtype=torch.float64))
        loss.backward()
        if loss.isnan() or prediction.grad.isnan():
            continue
        x.data, t.data = p, target
        x.grad = t.grad = 0.0
        got = compiled()
        got.backward()
        assert agree(np.array([got.data, x.grad]), np.array([loss.item(), prediction.grad.item()])).all(), (p, target)


@pytest.mark.parametrize("x", [2.0, -2.0, 0.0, 30.0])
@pytest.mark.parametrize("target", [0.0, 1.0, 0.5])
def test_binary_cross_entropy_has_a_gradient_by_its_target(x, target):
    t = Value(target)
    losses.binary_cross_entropy(Value(x), t).backward()
    assert t.grad == -x


@pytest.mark.parametrize("compile", [False, pytest.param(True, marks=compiled_only)])
@pytest.mark.parametrize("target", [0, 1])
def test_second_derivatives_of_cross_entropy_near_and_far(target, compile):
    second = hessian(lambda row: losses.cross_entropy(row, target, label_smoothing=0.1))
    second = jit(second, wait=True) if compile else second
    for row in ((0.3, -1.2, 2.0), (30.0, 0.0, -2.0), (1e6, 1e6 - 1.0, 1e6 - 3.0), (0.0, -1e30, 1.0), (-INF, 1.0, 2.0)):
        wanted = torch.autograd.functional.hessian(
            lambda x: F.cross_entropy(x[None], torch.tensor([target]), label_smoothing=0.1),
            torch.tensor(row, dtype=torch.float64),
        )
        assert np.allclose(np.array(second(list(row)), dtype=float), wanted.numpy(), rtol=1e-9, atol=1e-14), row
