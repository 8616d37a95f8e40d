"""The order in which rows are summed: eight lanes for each segment of 256 rows, whatever the width of vectors is."""

from __future__ import annotations

import random

import pytest

from micrograd import nn, value_and_grad, vmap
from micrograd.compile.tuning import TUNING
from random_programs import needs_llvm

np = pytest.importorskip("numpy")
pytestmark = needs_llvm

WIDTHS = [None, 1, 2, 4, 8, 16, 32, 64]
ROWS = [1, 7, 8, 9, 64, 255, 256, 257, 300, 2047, 2048, 2049, 5003]


def by_definition(numbers, lanes):
    """The sum of an array, in the order that the documentation gives."""
    total = 0.0
    for block in range(0, len(numbers), 2048):
        of_block = 0.0
        for start in range(block, min(block + 2048, len(numbers)), 256):
            in_lanes = np.zeros(lanes, numbers.dtype)
            for i, x in enumerate(numbers[start : min(start + 256, block + 2048)]):
                in_lanes[i % lanes] += x
            parts = [float(x) for x in in_lanes]
            while len(parts) > 1:
                half = len(parts) // 2
                parts = [a + b for a, b in zip(parts[:half], parts[half:])]
            of_block += parts[0]
        total += of_block
    return total


def cubic(x):
    return x * x * x - 3.0 * x + 0.1


def guarded(x):
    return x * x * 0.3 if x > 0.2 else 1.0 - x


@pytest.mark.parametrize(("options", "lanes"), [({}, 8), ({"exact": True}, 8), ({"float32": True}, 16)])
def test_sums_have_the_order_of_the_documentation_at_every_width(options, lanes):
    by_row = vmap(cubic, **options)
    sums = [vmap(cubic, reduce="sum", width=width, **options) for width in WIDTHS]
    for rows in ROWS:
        x = np.random.default_rng(rows).standard_normal(rows)
        each = by_row(x)
        assert each.dtype == (np.float32 if lanes == 16 else np.float64)
        assert {f(x) for f in sums} == {by_definition(each, lanes)}


def test_rows_that_take_another_path_do_not_change_the_order_of_the_others():
    sums = [vmap(value_and_grad(guarded), reduce="sum", width=width) for width in WIDTHS]
    for rows in (9, 300, 2049):
        x = np.random.default_rng(rows).standard_normal(rows)
        assert len({f(x) for f in sums}) == 1


@pytest.mark.parametrize("float32", [False, True])
def test_gradients_of_a_network_have_the_same_bits_at_every_width(float32):
    random.seed(1)
    model = nn.MLP(2, [8, 8, 1])

    def loss(x, y):
        return (model(x) - y) ** 2

    losses = [vmap(loss, reduce="mean", width=width, float32=float32) for width in (None, 2, 4, 8, 32)]
    for rows in (5, 100, 257, 2049):
        rng = np.random.default_rng(rows)
        x, y = rng.standard_normal((rows, 2)), rng.standard_normal(rows)
        found = set()
        for f in losses:
            model.zero_grad()
            total = f(x, y)
            total.backward()
            found.add((total.data, *(p.grad for p in model.parameters())))
        assert len(found) == 1


def test_packed_rows_are_added_in_the_same_lanes(monkeypatch):
    monkeypatch.setattr(TUNING, "chunk", 30)  # tapes that are packed are far longer than those that are added in tiles
    monkeypatch.setattr(TUNING, "pack_rows_cost", 99.0)
    random.seed(1)
    model = nn.MLP(4, [8, 8, 1])
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((300, 4)), rng.standard_normal(300)

    def loss(x, y):
        return (model(x) - y) ** 2

    found = []
    for shortest in (131_072, 10):
        monkeypatch.setattr(TUNING, "pack_rows", shortest)
        f = vmap(loss, reduce="mean")
        assert ("%of_lane" in f.source(x, y)) == (shortest == 10)
        model.zero_grad()
        total = f(x, y)
        total.backward()
        found.append([total.data, *(p.grad for p in model.parameters())])
    assert found[0] == found[1]


def test_a_vector_of_32_bytes_takes_turns_in_tiles():
    """What a processor with AVX2 runs, which has vectors of half of the lanes."""
    random.seed(2)
    model = nn.MLP(3, [12, 1])
    x = np.random.default_rng(3).standard_normal((1000, 3))
    narrow, wide = (vmap(lambda x: model(x) ** 2, reduce="sum", width=width) for width in (4, 8))
    assert "%none1 = icmp eq" in narrow.source(x)
    assert "%none1 = icmp eq" not in wide.source(x)
    assert narrow(x).data == wide(x).data


def test_variants_whose_guards_only_compare_with_other_constants_are_added_in_one_order():
    weights = {k: 0.1 * 3.0**k for k in range(40)}

    def f(x):
        return weights[int(x)]  # a path for each int: the outcomes of their guards are the same

    rows = np.array([3.0, 30.0, 11.0, 7.0, 1.0, 22.0, 35.0, 2.0, 19.0] * 3) + 0.5
    afresh = vmap(f, reduce="sum")(rows)
    for shift in range(9):
        h = vmap(f, reduce="sum")
        for x in np.roll(rows[:9], shift):
            h(np.array([x]))
        assert h(rows) == afresh
        assert len(list(h.variants)) == 9
