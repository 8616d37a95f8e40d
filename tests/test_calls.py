"""What lies around the machine code: results that are written over, captured Values that a result shares."""

from __future__ import annotations

import gc
import sys
import threading

import pytest

from micrograd import jit, value_and_grad
from random_programs import needs_llvm

pytestmark = needs_llvm


def product():
    f = jit(value_and_grad(lambda a, b: a * b + a, (0, 1)), wait=True)
    f(1.0, 1.0)
    return f


def wanted(a, b):
    return a * b + a, (b + 1, a)


class TestResultsAreOnesOwn:
    """A result that nobody has any longer is written over by a later call; one that somebody has never is."""

    @pytest.mark.parametrize("n", [1, 2, 3, 7])
    def test_results_that_are_kept_stay(self, n):
        f, kept = product(), []
        for i in range(40):
            kept.append(f(float(i), 2.0))
            kept = kept[-n:]
            assert kept == [wanted(float(j), 2.0) for j in range(max(0, i - n + 1), i + 1)]

    def test_parts_that_are_kept_stay(self):
        f, values, slopes, one = product(), [], [], []
        for i in range(30):
            y, grads = f(float(i), 3.0)
            match i % 3:
                case 0:
                    values.append((i, y))
                case 1:
                    slopes.append((i, grads))
                case _:
                    one.append((i, grads[1]))
            del y, grads
        assert values == [(i, wanted(float(i), 3.0)[0]) for i, _ in values]
        assert slopes == [(i, wanted(float(i), 3.0)[1]) for i, _ in slopes]
        assert one == [(i, float(i)) for i, _ in one]

    def test_a_result_may_be_an_argument_of_the_next_call(self):
        f, x = product(), 1.0
        for _ in range(10):
            x, (a, b) = f(x, 0.5)
        assert x == 1.5**10 and a == 1.5 and b == 1.5**9

    def test_a_key_of_a_dict_stays(self):
        f = product()
        table = {f(float(i), 1.0): i for i in range(20)}
        assert all(table[wanted(float(i), 1.0)] == i for i in range(20))

    def test_threads_do_not_see_each_other(self):
        f, wrong = product(), []

        def work(seed):
            for i in range(3000):
                a = float(seed * 10_000 + i)
                r = f(a, 2.0)
                if r != wanted(a, 2.0):
                    wrong.append(r)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong

    def test_another_arrangement_of_arguments_gives_another_of_results(self):
        f = jit(lambda *xs: (sum(xs), tuple(x * 2 for x in xs)), wait=True)
        for _ in range(3):
            for n in (1, 2, 3, 2):
                xs = [float(i) for i in range(1, n + 1)]
                for _ in range(3):
                    assert f(*xs) == (sum(xs), tuple(2 * x for x in xs))

    def test_references_balance(self):
        f = product()
        for _ in range(4):
            f(1.0, 2.0)
        gc.collect()
        before = sys.getallocatedblocks()
        for i in range(2000):
            y, _ = f(float(i), 2.0)
            f(y, y)
        del y, _
        gc.collect()
        assert sys.getallocatedblocks() - before < 200

    def test_the_collector_has_nothing_to_walk(self):
        y, grads = result = product()(2.0, 3.0)
        assert y == 8.0 and not gc.is_tracked(result) and not gc.is_tracked(grads)
