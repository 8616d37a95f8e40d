"""Losses: PyTorch's numbers and gradients, each reduction, and loud refusals."""

import random

import pytest

from micrograd import Value, losses

N = 9


def draw(low, high, seed, count=N):
    rng = random.Random(seed)
    return [rng.uniform(low, high) for _ in range(count)]


def signs(count=N):
    return [1 if i % 3 else -1 for i in range(count)]


LOSSES = {  # name -> (ours, theirs, targets)
    "mse": (losses.mse, lambda F, p, t, r: F.mse_loss(p, t, reduction=r), draw(-3, 3, 2)),
    "mae": (losses.mae, lambda F, p, t, r: F.l1_loss(p, t, reduction=r), draw(-3, 3, 2)),
    "huber": (losses.huber, lambda F, p, t, r: F.huber_loss(p, t, reduction=r), draw(-3, 3, 2)),
    "huber-0.3": (
        lambda p, t, reduction: losses.huber(p, t, delta=0.3, reduction=reduction),
        lambda F, p, t, r: F.huber_loss(p, t, delta=0.3, reduction=r),
        draw(-3, 3, 2),
    ),
    "binary_cross_entropy": (
        losses.binary_cross_entropy,
        lambda F, p, t, r: F.binary_cross_entropy_with_logits(p, t, reduction=r),
        [0.0, 1.0, 0.25] * 3,
    ),
    "max_margin": (
        losses.max_margin,
        lambda F, p, t, r: F.margin_ranking_loss(p, p * 0, t, margin=1.0, reduction=r),
        signs(),
    ),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", list(LOSSES))
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_losses_are_pytorchs(torch, name, reduction, scale):
    ours, theirs, targets = LOSSES[name]
    predictions = [scale * x for x in draw(-3, 3, 1)]
    values = [Value(x) for x in predictions]
    tensor = torch.tensor(predictions, dtype=torch.float64, requires_grad=True)
    got = ours(values, targets, reduction=reduction)
    expected = theirs(torch.nn.functional, tensor, torch.tensor(targets, dtype=torch.float64), reduction)
    if reduction == "none":
        assert [v.data for v in got] == pytest.approx(expected.tolist(), rel=1e-12, abs=1e-14)
        got, expected = sum(got), expected.sum()
    assert got.data == pytest.approx(expected.item(), rel=1e-12, abs=1e-14)
    got.backward()
    expected.backward()
    assert [v.grad for v in values] == pytest.approx(tensor.grad.tolist(), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_cross_entropy_is_pytorchs(torch, reduction, scale):
    rows = [[scale * x for x in draw(-2, 2, seed, 4)] for seed in range(5)]
    classes = [0, 3, 1, 1, 2]
    values = [[Value(x) for x in row] for row in rows]
    tensor = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    got = losses.cross_entropy(values, classes, reduction=reduction)
    expected = torch.nn.functional.cross_entropy(tensor, torch.tensor(classes), reduction=reduction)
    if reduction == "none":
        assert [v.data for v in got] == pytest.approx(expected.tolist(), rel=1e-12, abs=1e-12)
        got, expected = sum(got), expected.sum()
    assert got.data == pytest.approx(expected.item(), rel=1e-12, abs=1e-12)
    got.backward()
    expected.backward()
    assert [v.grad for row in values for v in row] == pytest.approx(
        tensor.grad.flatten().tolist(), rel=1e-11, abs=1e-13
    )


def test_cross_entropy_takes_one_row_a_batch_or_a_batch_of_sequences():
    row = [0.1, 0.2, 0.7]
    one = losses.cross_entropy(row, 2)
    assert losses.cross_entropy([row], [2]) == one
    assert losses.cross_entropy([[row, row], [row]], [[2, 2], [2]]) == pytest.approx(one, rel=1e-15)


@pytest.mark.parametrize("target", [0, 1, 2])
def test_a_target_that_is_a_value_gives_the_same_loss_and_gradient(target):
    a, b = ([Value(x) for x in (0.1, 0.2, 0.7)] for _ in range(2))
    left, right = losses.cross_entropy(a, target), losses.cross_entropy(b, Value(target))
    assert left.data == right.data
    left.backward()
    right.backward()
    assert [v.grad for v in a] == [v.grad for v in b]


def test_numbers_in_give_a_number_out():
    assert losses.mse([1.0, 2.0], [0.0, 0.0]) == 2.5
    assert losses.mse(3.0, 1.0) == 4.0
    assert isinstance(losses.mse(Value(3.0), 1.0), Value)


def test_nested_predictions_are_taken_one_by_one():
    assert losses.mse([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 2.0]]) == 1.0


def test_arrays_are_taken_as_lists():
    np = pytest.importorskip("numpy", reason="for arrays")
    assert losses.mse(np.array([1.0, 2.0]), np.array([0.0, 0.0])) == 2.5
    assert losses.cross_entropy(np.zeros((2, 4)), np.array([1, 2])) == pytest.approx(np.log(4.0))


@pytest.mark.parametrize("loss", [losses.cross_entropy, losses.mse, losses.max_margin])
@pytest.mark.parametrize("predictions", [{"a": Value(1.0)}, [{"a": Value(1.0)}]])
def test_predictions_by_name_are_refused(loss, predictions):
    with pytest.raises(TypeError, match="not a dict"):
        loss(predictions, [1])


def test_l2_prices_large_parameters():
    ps = [Value(3.0), Value(-4.0)]
    penalty = losses.l2(ps, 0.5)
    assert penalty.data == 12.5
    penalty.backward()
    assert [p.grad for p in ps] == [3.0, -4.0]


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: losses.mse([1.0, 2.0], [1.0]), "2 predictions and 1 targets"),
        (lambda: losses.mse([1.0], [1.0], reduction="avg"), "no reduction 'avg': choose one of mean, sum, none"),
        (lambda: losses.mse([], []), "no predictions at all"),
        (lambda: losses.max_margin([1.0], [0]), r"labels 1 and -1, not 0: .* 2 \* y - 1"),
        (lambda: losses.cross_entropy([1.0, 2.0], 2), "classes 0 to 1, and a target is 2"),
        (lambda: losses.cross_entropy([1.0, 2.0], 0.5), "a target is 0.5"),
        (lambda: losses.cross_entropy([1.0, 2.0], -1), "a target is -1"),
        (lambda: losses.huber([1.0], [1.0], delta=0.0), "above 0"),
    ],
)
def test_what_cannot_be_is_said(make, told):
    with pytest.raises(ValueError, match=told):
        make()


# ---- weights, ignored targets, smoothed labels

OPTIONS = [
    {"weight": [0.5, 1.0, 2.0, 0.0]},
    {"ignore_index": 3},
    {"ignore_index": -100},
    {"label_smoothing": 0.1},
    {"weight": [0.5, 1.0, 2.0, 3.0], "ignore_index": 1, "label_smoothing": 0.3},
    {"label_smoothing": 1.0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("kind", ["number", "value"])
def test_cross_entropy_with_options_is_pytorchs(torch, options, reduction, kind):
    rows, classes = [draw(-2, 2, seed, 4) for seed in range(6)], [0, 3, 1, 1, 2, 0]
    if options.get("ignore_index") == -100:
        classes[2] = -100
    values = [[Value(x) for x in row] for row in rows]
    tensor = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    theirs = dict(options)
    if "weight" in theirs:
        theirs["weight"] = torch.tensor(theirs["weight"], dtype=torch.float64)
    expected = torch.nn.functional.cross_entropy(tensor, torch.tensor(classes), reduction=reduction, **theirs)
    targets = classes if kind == "number" else [Value(c) for c in classes]
    got = losses.cross_entropy(values, targets, reduction=reduction, **options)
    if reduction == "none":
        assert [float(v) for v in got] == pytest.approx(expected.tolist(), rel=1e-12, abs=1e-12)
        got, expected = sum(got), expected.sum()
    assert got.data == pytest.approx(expected.item(), rel=1e-12, abs=1e-12)
    got.backward()
    expected.backward()
    assert [v.grad for row in values for v in row] == pytest.approx(
        tensor.grad.flatten().tolist(), rel=1e-10, abs=1e-12
    )


def test_torch_labels_are_taken_as_numbers(torch):
    assert losses.cross_entropy([[1.0, 2.0]], torch.tensor([1])) == losses.cross_entropy([[1.0, 2.0]], [1])
    assert losses.cross_entropy([[1.0, 2.0]], [torch.tensor(1)]) == losses.cross_entropy([[1.0, 2.0]], [1])
    assert losses.mse([1.0], [torch.tensor(0.5)]) == 0.25


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: losses.cross_entropy([1.0, 2.0], 0, weight=[1.0]), "2 classes and 1 weights"),
        (lambda: losses.cross_entropy([1.0, 2.0], 0, weight=[1.0, -1.0]), "0 or more, not -1.0"),
        (lambda: losses.cross_entropy([1.0, 2.0], 0, label_smoothing=1.5), "from 0 to 1, not 1.5"),
        (lambda: losses.cross_entropy([1.0, 2.0], 1, ignore_index=1), "every target is ignored"),
        (lambda: losses.huber([1.0], [1.0], delta=float("nan")), "above 0"),
        (lambda: losses.cross_entropy([1.0, 2.0], float("nan")), "a target is nan"),
    ],
)
def test_options_that_cannot_be_are_said(make, told):
    with pytest.raises(ValueError, match=told):
        make()


@pytest.mark.parametrize("target", [object(), None, "1"], ids=lambda x: type(x).__name__)
def test_a_target_that_is_no_number_is_refused(target):
    from micrograd import Value, losses

    with pytest.raises(TypeError, match="target"):
        losses.mse([Value(1.0)], [target])


@pytest.mark.parametrize("bad", [True, 1.5, "1"])
def test_an_ignored_index_that_is_none_is_refused(bad):
    with pytest.raises((TypeError, ValueError), match="ignore_index"):
        losses.cross_entropy([[0.1, 0.2], [0.3, 0.4]], [0, 1], ignore_index=bad)
