"""Sums over rows of products, added in tiles."""

from __future__ import annotations

import re

import pytest

from micrograd import Value, math, nn, vmap
from micrograd.compile.tuning import TUNING
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
pytestmark = needs_llvm


class TestManySums:
    """With many captured Values, the sums over rows are added tile by tile, several vectors of rows at a time."""

    ROWS = [1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 71, 128, 2100]

    def gradients(self, f, weights, monkeypatch, *columns, **options):
        """The result and the gradients of the weights, by tiles and by single sums."""
        results = []
        for fewest in (TUNING.tiled_sums, 10**9):
            monkeypatch.setattr(TUNING, "tiled_sums", fewest)
            total = vmap(f, reduce="sum", **options)
            y = total(*columns)
            assert ("@tiles" in total.source(*columns)) == (fewest < 10**9)
            for w in weights:
                w.grad = 0.0
            y.backward()
            results.append((y.data, [w.grad for w in weights]))
        return results

    @pytest.mark.parametrize("rows", ROWS)
    def test_one_factor_for_all(self, rows, monkeypatch):
        weights = [Value(0.1 * k - 1.7) for k in range(40)]
        x = np.linspace(-1.0, 2.0, rows)
        tiled, single = self.gradients(
            lambda t: math.dot(weights, [t * k for k in range(40)]).tanh(), weights, monkeypatch, x, exact=True
        )
        assert tiled == single

    @pytest.mark.parametrize("options", [{"width": w} for w in (1, 2, 4, 8, 16)] + [{"threads": 2}, {"float32": True}])
    @pytest.mark.parametrize("rows", [5, 64, 100, 2100])
    def test_two_layers(self, rows, options, monkeypatch):
        model = nn.MLP(3, [7, 5, 1])
        X = np.random.default_rng(rows).normal(size=(rows, 3))
        weights = model.parameters()
        tiled, single = self.gradients(lambda x: (model(x) - 0.3) ** 2, weights, monkeypatch, X, **options)
        close = {"rel": 1e-3, "abs": 1e-3} if "float32" in options else {"rel": 1e-11, "abs": 1e-12}
        assert tiled[0] == pytest.approx(single[0], **close)
        assert tiled[1] == pytest.approx(single[1], **close)

    @pytest.mark.parametrize("weights", [3, 40])
    def test_no_more_alignment_is_told_than_memory_has(self, weights):
        ws = [Value(0.1 * k) for k in range(weights)]
        total = vmap(lambda x: math.dot(ws, [x * k for k in range(weights)]).tanh(), reduce="sum", width=64)
        told = {int(n) for n in re.findall(r"align (\d+)", total.source(np.arange(3.0)))}
        assert max(told) == 64

    def test_a_product_that_is_written_twice_is_added_to_both_sums(self):
        from micrograd.compile.schedule import tiles
        from micrograd.tape.text import parse

        tape = parse("%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\n%3 = mul %0 %1\nreturn %2 %3")
        found, _ = tiles.find(tape, [True, True], [0, 1], 16)
        assert sorted(number for tile in found for *_, number in tile.sums_of()) == [0, 1]

    @pytest.mark.parametrize("rows", [1, 3, 13])
    def test_lanes_without_a_row_add_nothing_even_where_they_are_not_finite(self, rows, monkeypatch):
        weights = [Value(0.01 * k + 0.5) for k in range(36)]
        x = np.linspace(1.0, 2.0, rows)  # of a lane without a row: log(0), 1 / 0
        tiled, single = self.gradients(
            lambda t: math.dot(weights, [math.log(t) / t * k for k in range(36)]), weights, monkeypatch, x, exact=True
        )
        assert tiled == single
        assert all(abs(g) < 1e9 for g in tiled[1])

    def test_a_square_and_a_product_that_is_also_a_result(self, monkeypatch):
        weights = [Value(0.1 * k) for k in range(33)]

        def f(t):
            u = t * 2.0
            return math.dot(weights, [u * u, u, t, *[u + k for k in range(30)]]) * u

        tiled, single = self.gradients(f, weights, monkeypatch, np.linspace(-1.0, 1.0, 37), exact=True)
        assert tiled == single

    @pytest.mark.parametrize("count", [1, 7, 8, 9, 17, 40])
    def test_the_lanes_of_every_sum_are_added_by_halves(self, count):
        weights = [Value(1.0) for _ in range(count)]
        x = np.random.default_rng(count).normal(size=(8, count))
        vmap(lambda row: math.dot(weights, row), reduce="sum", exact=True, width=8)(x).backward()
        for w, lanes in zip(weights, x.T.tolist()):
            while len(lanes) > 1:
                half = len(lanes) // 2
                lanes = [a + b for a, b in zip(lanes[:half], lanes[half:])]
            assert w.grad == lanes[0]

    @pytest.mark.parametrize("sizes, least", [([3, 2, 1], 1), ([16, 16, 1], 3)])
    def test_pieces_hand_on_what_the_tiles_keep_and_nothing_else(self, sizes, least):
        from micrograd.compile import backend, pipeline
        from micrograd.compile.schedule import split, tiles

        model = nn.MLP(2, sizes)
        total = vmap(lambda x: (1 - model(x)).relu(), reduce="sum")
        variant, kernel = total._for((np.ones((8, 2)),), {})
        machine = backend.find("llvm")
        tape = pipeline.run([*pipeline.PASSES, *pipeline.ORDERING], variant.tape, kernel.goal, machine)
        reduced = [True] * len(tape.outputs)
        found, products = tiles.find(tape, reduced, list(range(len(reduced))), 16)
        kept = set(tiles.places(found))
        steps = tiles.steps(tape, split.steps(tape), found, reduced, products)
        pieces = tiles.pieces(tape, steps, kept)
        assert [step for piece in pieces for step in piece] == steps
        _, last_in = split.live_out(tape, pieces)
        assert set(last_in) <= kept
        assert len(pieces) >= least
