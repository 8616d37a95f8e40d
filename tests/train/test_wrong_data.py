"""What goes wrong with data, losses and penalties in fit: the same clear error in eager and in compiled training."""

import functools
import re

import pytest

from micrograd import Value, data, losses, nn, optim, train
from micrograd.train import fit
from random_programs import needs_llvm

X = [[0.1 * k, 1.0 - 0.2 * k] for k in range(8)]
Y = [0.3 * k - 1.0 for k in range(8)]
WIDE = [*X[:5], [1.0, 2.0, 3.0], *X[6:]]
BOTH_WAYS = pytest.mark.parametrize("compile", [False, pytest.param(True, marks=needs_llvm)])


def run(data=(X, Y), loss=losses.mse, epochs=2, **options):
    model = nn.MLP(2, [3, 1], rng=0)
    history = fit(model, data, loss, optim.SGD(model.parameters(), lr=0.1), epochs, quiet=True, **options)
    return history.loss, model.state_dict()


def notes(error):
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


# ---- losses that are no Value

RETURNED = {
    "list": (lambda p, t: [losses.mse(p, t)], "not list: .*; reduction="),
    "none": (functools.partial(losses.mse, reduction="none"), "not list: .*; reduction="),
    "None": (lambda p, t: None, "not NoneType: None"),
    "tuple": (lambda p, t: (losses.mse(p, t), 1.0), "not tuple"),
    "number": (lambda p, t: 1.5, "not float: 1.5"),
    "dict": (lambda p, t: {"loss": losses.mse(p, t)}, "not dict"),
}


@BOTH_WAYS
@pytest.mark.parametrize("batch_size", [None, 3])
@pytest.mark.parametrize("loss, told", RETURNED.values(), ids=RETURNED.keys())
def test_a_loss_that_is_no_value(loss, told, batch_size, compile):
    with pytest.raises(TypeError, match=f"a loss is a Value to call backward\\(\\) on, {told}") as caught:
        run(loss=loss, batch_size=batch_size, compile=compile)
    assert len(str(caught.value)) < 250


@BOTH_WAYS
@pytest.mark.parametrize("loss, told", RETURNED.values(), ids=RETURNED.keys())
def test_a_step_down_a_loss_that_is_no_value(loss, told, compile):
    w = Value(1.0)
    step = train.step(lambda x: loss([w * x], [0.0]), optim.SGD([w], lr=0.1), compile=compile)
    with pytest.raises(TypeError, match=f"a loss is a Value to call backward\\(\\) on, {told}"):
        step(2.0)
    assert w.data == 1.0


# ---- penalties


@BOTH_WAYS
@pytest.mark.parametrize("loss", [losses.mse, lambda p, t: losses.mse(p, t)], ids=["by rows", "mixed"])
@pytest.mark.parametrize("penalty, told", [
    (lambda: None, "the penalty returned None, which is no Value"),
    (lambda: [Value(1.0)], r"the penalty returned \[Value"),
    (lambda: 0.5, "the penalty returned 0.5, which has no derivative"),
    (0.5, "penalty is a function without arguments that returns a Value, not float"),
])  # fmt: skip
def test_a_penalty_that_is_none(penalty, told, loss, compile):
    with pytest.raises(TypeError, match=told):
        run(loss=loss, penalty=penalty, compile=compile)


@BOTH_WAYS
def test_a_penalty_of_nothing_is_nothing(compile):
    assert run(penalty=lambda: 0, compile=compile) == run(compile=compile)


# ---- rows


@BOTH_WAYS
@pytest.mark.parametrize("labels, row, told", [
    (["a", "b"] * 4, 0, "is a str, not a number"),
    ([0.0, 1.0, None, *Y[3:]], 2, "is a NoneType, not a number"),
])  # fmt: skip
def test_a_target_that_is_no_number_is_named(labels, row, told, compile):
    with pytest.raises(TypeError, match=f"the target in row {row} of the data {told}"):
        run((X, labels), compile=compile)


@needs_llvm
@pytest.mark.parametrize("options, told", [
    ({"data": ([*X[:3], ["a", 1.0], *X[4:]], Y)}, "the input in row 3 of the data holds something else"),
    ({"validation": (X, ["a"] * 8)}, "the target in row 0 of the validation data is a str"),
])  # fmt: skip
def test_compiled_training_names_what_is_no_number(options, told):
    with pytest.raises(TypeError, match=told):
        run(compile=True, loss=lambda p, t: losses.mse(p, Y), **options)


@BOTH_WAYS
@pytest.mark.parametrize("options, told", [
    ({"data": (WIDE, Y)}, "row 5 of the data"),
    ({"data": (WIDE, Y), "batch_size": 2}, "row 5 of the data"),
    ({"data": ([[1.0, 2.0, 3.0]] * 8, Y)}, "row 0 of the data"),
    ({"validation": (WIDE, Y)}, "row 5 of the validation data"),
    ({"validation": ([[1.0, 2.0, 3.0]] * 8, Y)}, "row (0 )?of the validation data"),
])  # fmt: skip
def test_an_input_of_another_width_is_named(options, told, compile):
    with pytest.raises(ValueError, match="takes 2 inputs, and was given 3") as caught:
        run(compile=compile, **options)
    assert re.search(told, notes(caught.value))


# ---- a list of pairs


@BOTH_WAYS
@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("make", [list, zip, tuple], ids=["list", "zip", "tuple"])
def test_pairs_are_rows(make, count, compile):
    xs, ys = X[:count], Y[:count]
    pairs = zip(xs, ys) if make is zip else make(zip(xs, ys))
    assert run(pairs, compile=compile, validation=list(zip(X, Y))) == run((xs, ys), compile=compile, validation=(X, Y))


def test_two_lists_are_inputs_and_targets_also_in_a_list():
    assert run([X[:2], Y[:2]]) == run((X[:2], Y[:2]))


@pytest.mark.parametrize("data, error, told", [
    ([(1.0, 2.0), (3.0, 4.0)], ValueError, "can be read as inputs and targets or as two rows"),
    ([([1.0, 2.0], [0.0]), ([3.0, 4.0], [1.0])], ValueError, "can be read as inputs and targets or as two rows"),
    ([X, Y, Y], TypeError, r"a list of tuples \(input, target\), not a list of 3 items"),
    ({"X": X, "y": Y}, TypeError, r"a list of tuples \(input, target\), not dict"),
    ([], ValueError, "there are no data to learn from"),
])  # fmt: skip
def test_data_that_can_be_read_in_two_ways_are_refused(data, error, told):
    with pytest.raises(error, match=told):
        run(data)


# ---- arguments of the wrong kind


@pytest.mark.parametrize("options, told", [
    ({"loss": "mse"}, r"the loss is a function of \(predictions, targets\), not str: 'mse'"),
    ({"loss": None}, "the loss is a function"),
    ({"objective": 3}, r"the objective is a function of \(inputs, targets\), not int"),
    ({"callbacks": 3}, "callbacks are functions of the history in a list, not int: 3"),
])  # fmt: skip
def test_what_cannot_be_called_is_said(options, told):
    with pytest.raises(TypeError, match=told):
        run(**options)


def test_no_callbacks():
    assert run(callbacks=None) == run()


def test_batches_to_accumulate_have_a_size():
    with pytest.raises(ValueError, match="give batch_size too"):
        run(accumulate=2)


def test_a_metric_that_raises_is_named():
    with pytest.raises(ZeroDivisionError) as caught:
        run(metrics={"share": lambda p, t: 1 / 0})
    assert "in the metric 'share'" in notes(caught.value)


def test_a_plateau_belongs_to_the_optimizer_of_the_run():
    with pytest.raises(ValueError, match="of another optimizer than that of fit"):
        run(callbacks=train.ReduceOnPlateau(optim.SGD([Value(1.0)])))
    with pytest.raises(TypeError, match=r"takes an optimizer of .*, not int"):
        train.ReduceOnPlateau(3)


@pytest.mark.parametrize("target", [2, 0.5])
def test_a_single_score_has_two_classes(target):
    with pytest.raises(ValueError, match="the target of a single score is 0 or 1, or -1 or 1"):
        train.accuracy([0.3, 0.1], [1, target])
    np = pytest.importorskip("numpy", reason="for arrays")
    with pytest.raises(ValueError, match="the target of a single score is 0 or 1, or -1 or 1"):
        train.accuracy(np.array([0.3, 0.1]), [1, target])


def test_a_model_of_the_wrong_kind_is_said():
    with pytest.raises(TypeError, match="are in a list"):
        nn.MLP(2, 3)
    with pytest.raises(ValueError, match="weight with something else than numbers"):
        nn.Linear(2, 1).load_state_dict({"weight": [["a", 2.0]], "bias": [1.0]})
    model = nn.Linear(2, 1)
    for many in (map(abs, []), (p for p in [Value(1.0)])):
        with pytest.raises(TypeError, match="which can be gone through once"):
            model.more = many


def test_a_learning_rate_that_is_no_number_is_said():
    with pytest.raises(TypeError, match="the learning rate of step 0 is a str, not a number"):
        optim.SGD([Value(1.0)], lr=lambda k: "0.1")


@BOTH_WAYS
def test_a_batch_of_which_every_target_is_ignored_has_no_mean(compile):
    model = nn.MLP(2, [3, 2], rng=0)
    loss = functools.partial(losses.cross_entropy, ignore_index=1)
    with pytest.raises(ValueError, match="every target is ignored"):
        fit(model, (X, [1] * 8), loss, optim.SGD(model.parameters()), 2, compile=compile, quiet=True)


# ---- frames and series of pandas, which are indexed by their labels


@pytest.fixture
def shuffled():
    pandas = pytest.importorskip("pandas", reason="for its frames")
    frame = pandas.DataFrame(X, columns=[1, 0]).assign(target=Y).sample(frac=1.0, random_state=3)
    return frame[[1, 0]], frame["target"]


@BOTH_WAYS
@pytest.mark.parametrize("batch_size", [None, 3])
def test_rows_of_a_shuffled_frame_keep_their_targets(shuffled, batch_size, compile):
    inputs, targets = shuffled
    plain = inputs.to_numpy().tolist(), targets.to_numpy().tolist()
    assert run(shuffled, batch_size=batch_size, compile=compile) == run(plain, batch_size=batch_size, compile=compile)


def test_losses_and_metrics_of_frames_go_by_position(shuffled):
    inputs, targets = shuffled
    logits, classes = inputs.to_numpy().tolist(), [0, 1] * 4
    assert losses.cross_entropy(inputs, classes) == losses.cross_entropy(logits, classes)
    assert losses.mse(inputs, logits) == 0.0 and losses.mse(targets, targets.to_numpy().tolist()) == 0.0
    assert train.accuracy(inputs, classes) == train.accuracy(logits, classes)


def test_batches_of_frames_go_by_position(shuffled):
    inputs, targets = shuffled
    plain = inputs.to_numpy().tolist(), targets.to_numpy().tolist()
    for (xs, ys), (us, vs) in zip(
        data.batches(*shuffled, size=3, rng=1), data.batches(*plain, size=3, rng=1), strict=True
    ):
        assert [list(x) for x in xs] == us and list(ys) == vs


# ---- inputs and targets in other arrangements


def test_an_input_may_be_whatever_the_model_takes():
    w = Value(0.5)
    rows = [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}]
    history = fit(lambda d: w * d["a"], (rows, [1.0, 2.0]), losses.mse, optim.SGD([w], lr=0.1), 2, quiet=True)
    assert history.loss[1] < history.loss[0]


@BOTH_WAYS
def test_targets_in_a_column_have_an_accuracy(compile):
    np = pytest.importorskip("numpy", reason="for a column")
    model = nn.MLP(2, [2], rng=0)
    history = fit(
        model, (np.array(X), np.array([[0], [1]] * 4)), losses.cross_entropy, optim.SGD(model.parameters()), 1,
        metrics={"accuracy": train.accuracy}, compile=compile, quiet=True,
    )  # fmt: skip
    model = nn.MLP(2, [2], rng=0)
    assert history["accuracy"] == [train.accuracy([model(x) for x in X], [0, 1] * 4)]


def test_one_hot_targets_and_rows_of_other_lengths_are_said():
    with pytest.raises(ValueError, match="not a one-hot list"):
        losses.cross_entropy([[1.0, 2.0], [3.0, 4.0]], [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="2 weights of classes, and a row of 3 logits"):
        losses.cross_entropy([[1.0, 2.0], [1.0, 2.0, 3.0]], [0, 2], weight=[1.0, 1.0])
    with pytest.raises(ValueError, match="the number of a class for each prediction"):
        train.accuracy([[0.1, 0.2]], [[0, 1]])
