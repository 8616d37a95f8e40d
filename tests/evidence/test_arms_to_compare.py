"""A merged tape is compared with plain runs on rows from every arm that occurs, also where one row in 20,000 takes an arm."""

import numpy as np
import pytest

from micrograd import math, value_and_grad, vmap
from micrograd.evidence import arms, merged
from micrograd.evidence.arms import Others
from micrograd.ops import OPS
from micrograd.stage import attempt
from micrograd.tape import interpret
from micrograd.tape.trace import peek, trace
from micrograd.tree import NUMBER
from random_programs import needs_llvm

pytestmark = [needs_llvm, pytest.mark.usefixtures("traced_at_points")]
ROWS, RARE = 20_000, 13_577


def plain_choice(x, y):
    if x > 3.0:
        return x * math.sin(y)
    return x + y


def nested_choice(x, y):
    if y < 2.0:
        z = x * y
        if z > 2.5 and x < 100.0:
            return z * z
        return z - math.log(x + 5.0)
    return math.lgamma(x)


def inside_a_loop(x, y):
    total = x * 0.0
    for k in range(40):
        if x > 3.0 and k == 17:
            total = total + 100.0 * y
        else:
            total = total + x * k * 0.01
    return total


def inside_a_while(x, y):
    steps = 0
    while abs(x) > 0.01:
        x = x * (0.5 if x < 3.0 else 0.25)
        steps += 1
    return x * y + steps


def in_a_list(x, y):
    values = [max(x * k * 0.01, y * 0.1) for k in range(60)]
    for _ in range(3):
        values = [values[k] if values[k] < 1.5 else y for k in range(60)]
    return sum(values)


PROGRAMS = [plain_choice, nested_choice, inside_a_loop, inside_a_while, in_a_list]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("derived", [False, True], ids=["value", "gradient"])
def test_a_row_from_every_arm_is_compared(f, derived, monkeypatch):
    compared = []
    agrees = merged.agrees

    def noted(user, arrange, found, row, most):
        compared.append(tuple(row))
        return agrees(user, arrange, found, row, most)

    monkeypatch.setattr(merged, "agrees", noted)
    x, y = np.linspace(0.1, 2.0, ROWS), np.linspace(0.5, 1.0, ROWS)
    x[RARE] = 3.5
    batch = vmap(value_and_grad(f, (0, 1)) if derived else f)
    batch(x, y)
    assert len(list(batch.variants)) == 1
    assert (3.5, float(y[RARE])) in compared


def test_what_is_wrong_in_a_rare_arm_is_noticed(monkeypatch):
    changed = []
    staged = attempt.stage

    def broken(*args):
        found = staged(*args)
        ops = list(found.tape.ops)
        k = next(k for k, op in enumerate(ops) if op.name == "sin")
        ops[k] = OPS["cos"]
        found.tape = found.tape.copy(ops=tuple(ops))
        changed.append(k)
        return found

    monkeypatch.setattr(attempt, "stage", broken)
    x, y = np.linspace(0.1, 2.0, ROWS), np.linspace(0.5, 1.0, ROWS)
    x[RARE] = 3.5
    with pytest.warns(RuntimeWarning, match="please report it"):
        values = vmap(plain_choice)(x, y)
    assert changed and values[RARE] == pytest.approx(plain_choice(3.5, float(y[RARE])), rel=1e-14)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_columns_give_what_the_interpreter_gives_for_each_row(f):
    def of_flat(*inputs):
        return f(*inputs)

    shape = ("tuple", (NUMBER,) * 2)
    found = attempt.stage(of_flat, lambda flat: (flat, {}), [0.5, 1.0])
    x, y = np.random.default_rng(0).uniform(0.2, 4.0, (2, 50))
    run = arms._Survey(np, 50)
    got = run.run(found.tape, [x, y], peek(found.captured), np.ones(50, bool))
    for k in range(50):
        want = interpret.run(found.tape, [float(x[k]), float(y[k])], peek(found.captured))
        np.testing.assert_allclose([np.broadcast_to(g, 50)[k] for g in got], want, rtol=1e-12)
    assert trace(of_flat, shape, [0.5, 1.0], frozen=True).numbers


@pytest.mark.parametrize("many", [30, 40, 80])
def test_sums_of_many_terms_are_surveyed(many):
    """NumPy's own functions of many arguments end at 32 or 64 of them."""

    def f(*xs):
        return math.logsumexp(list(xs)) if xs[0] > 0.0 else sum(xs) * xs[1]

    found = attempt.stage(f, lambda flat: (flat, {}), [0.5] * many)
    columns = [np.linspace(-1.0, 1.0, 20) + 0.01 * i for i in range(many)]
    (got,) = arms._Survey(np, 20).run(found.tape, columns, peek(found.captured), np.ones(20, bool))
    for k in range(20):
        want = interpret.run(found.tape, [float(c[k]) for c in columns], peek(found.captured))
        np.testing.assert_allclose(got[k], want[0], rtol=1e-12)


def test_the_budget_ends_a_survey_and_keeps_what_was_seen(monkeypatch):
    monkeypatch.setattr(arms, "BUDGET", 20_000)
    found = attempt.stage(inside_a_while, lambda flat: (flat, {}), [0.5, 1.0])
    x, y = np.full(1000, 0.5), np.full(1000, 1.0)
    x[7] = 1e300
    found_rows = arms.rare(found, Others(columns=lambda most: [x[:most], y[:most]]))
    assert [0.5, 1.0] in found_rows and len(found_rows) <= arms.ROWS
