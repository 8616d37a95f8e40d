"""Programs in which some rows raise, leave a block early or are caught: what test_outcomes.py compares with eager code."""

import contextlib

from micrograd import math


def clauses(x, y):
    try:
        if x > 0:
            raise KeyError("a")
        if y > 0:
            raise ValueError(y)
        z = x * y
    except KeyError:
        z = x * 2
    except (ValueError, IndexError):
        z = y * 3
        x = x + 1
    return z + x


def try_in_a_loop(x, y):
    total = 0.0
    for k in range(5):
        try:
            if x * k > 2:
                raise StopIteration
            if y > k:
                continue
            total = total + x
            if total > 3:
                break
        except StopIteration:
            total = total - 1
        finally:
            total = total + 0.125
    return total


def exceptions_of_a_recursive_function(x, y):
    def g(v, d):
        if d == 0:
            if v < 0:
                raise ArithmeticError
            return math.sqrt(v)
        return g(v - 0.5, d - 1) + 1

    r = 0.0
    for v in (x, y):
        try:
            r = r + g(v, 2)
        except ArithmeticError:
            r = r - v
    return r


def nested_tries(x, y):
    try:
        try:
            if x > 0:
                raise ValueError
            r = y
        except ValueError:
            if y > 0:
                raise KeyError from None
            r = x * 2
        finally:
            y = y + 10
    except KeyError:
        r = x * 100
    return r + y


def return_with_a_finally(x, y):
    L = [x]
    try:
        if y > 0:
            L.append(y)
        return L[1] * 2
    except IndexError:
        return x - 1
    finally:
        L.append(3.0)


class CM:
    def __init__(self, box, swallow):
        self.box = box
        self.swallow = swallow

    def __enter__(self):
        self.box.append(1.0)
        return self

    def __exit__(self, t, e, tb):
        self.box.append(2.0 if t is None else 5.0)
        return self.swallow


def managers_that_swallow(x, y):
    box = []
    with CM(box, True):
        if x > 0:
            raise ValueError
        box.append(x)
    try:
        with CM(box, y > 0):
            if y < 1:
                raise KeyError
            box.append(y)
    except KeyError:
        box.append(7.0)
    total = 0.0
    for k, b in enumerate(box):  # sum() of plain floats is exact from Python 3.12 on, and is not merged there
        total = total + b * (k + 1)
    return total


def leaving_a_loop_out_of_a_with(x, y):
    for v in (x, y, x * y):
        with CM([], False):
            if v > 1:
                return v
            if v < -1:
                break
            x = x + v
    return x


@contextlib.contextmanager
def cm(box):
    box[0] = box[0] * 2
    try:
        yield box
    finally:
        box[0] = box[0] + 1


def contextmanager_and_suppress(x, y):
    box = [x]
    try:
        with cm(box) as b:
            if y > 0:
                raise ValueError
            b[0] = b[0] * y
    except ValueError:
        box[0] = box[0] * 10
    with contextlib.suppress(KeyError):
        if x > 0:
            raise KeyError
        box[0] = box[0] - 5
    return box[0]


def an_assertion_and_an_endless_loop(x, y):
    try:
        if not x > 0:
            raise AssertionError
        v = math.log(x)
    except AssertionError:
        v = y
    while True:
        try:
            v = v * 2 + 0.1
            if v > 5:
                raise OverflowError
            if v < -5:
                return v
        except OverflowError:
            break
    return v


def an_exception_half_way(x, y):
    out = []
    try:
        for v in (x, y, x - y):
            out.append(1.0 / v if v > 0 else [][0])
    except IndexError:
        out.append(-1.0)
    return sum(out) * len(out)


def rows_that_wait_while_others_raise(x, y):
    # exception in helper's loop after a break row waits
    def find(items):
        for k, v in enumerate(items):
            if v > 1:
                break
            if v < -1:
                raise LookupError(k)
        else:
            return -1.0 * x
        return v * k

    try:
        return find([x, y, x * y])
    except LookupError:
        return y * 2


def try_in_a_long_loop(x, y):
    # try inside a long rolled loop
    t = 0.0
    for k in range(30):
        try:
            if x * k > 5:
                raise OverflowError
            t = t + x * 0.1
        except OverflowError:
            t = t - y * 0.01
            if t < -0.2:
                break
    return t


def a_loop_that_only_an_exception_ends(x, y):
    # while with try around, unrolled by list
    L = []
    try:
        while True:
            x = x * 1.5 + 0.1
            L.append(x)
            if x > 6:
                raise StopIteration
            if x < -6 or len(L) > 6:
                break
    except StopIteration:
        return sum(L)
    return L[-1] + y


def a_finally_after_the_result(x, y):
    # finally that changes a returned variable does not change the result
    r = x
    try:
        if y > 0:
            return r
        r = r * 2
    finally:
        r = r + 100.0
    return r


def exceptions_and_nonlocal(x, y):
    # exceptions with else, nested function frames and nonlocal
    n = 0

    def risky(v):
        nonlocal n
        n += 1
        if v > 1:
            raise ValueError
        n += 10
        return v

    s = 0.0
    for v in (x, y):
        try:
            s = s + risky(v)
        except ValueError:
            s = s - 1
        else:
            s = s + 0.5
    return s * n


def suppressed_errors(x, y):
    with contextlib.suppress(ZeroDivisionError, IndexError):
        k = [0, 1][0 if x > 0 else 1]
        z = 1 / k
        return z * x
    return y


def a_finally_in_a_try(x, y):
    try:
        v = x
        for _ in range(3):
            try:
                if v > 2:
                    raise KeyError
                v = v * 2
            finally:
                v = v + 0.25
    except KeyError:
        return v * 10
    return v


def raised_again(x, y):
    r = 0.0
    try:
        try:
            if x > 0:
                raise ValueError("v")
            r = 1.0 * x
        except ValueError:
            r = 2.0 * x
            raise
    except ValueError:
        r = r + y
    return r


PROGRAMS = [
    clauses, try_in_a_loop, exceptions_of_a_recursive_function, nested_tries, return_with_a_finally,
    managers_that_swallow, leaving_a_loop_out_of_a_with, contextmanager_and_suppress,
    an_assertion_and_an_endless_loop, an_exception_half_way, rows_that_wait_while_others_raise, try_in_a_long_loop,
    a_loop_that_only_an_exception_ends, a_finally_after_the_result, exceptions_and_nonlocal, suppressed_errors,
    a_finally_in_a_try, raised_again,
]  # fmt: skip
