"""Machine code that is left in the middle: Ctrl-C in a loop without an end, and no memory for what a loop keeps."""

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from micrograd import Value, jit, vmap

if not hasattr(signal, "setitimer"):
    pytest.skip("a timer that interrupts needs signals", allow_module_level=True)


def endless(x):
    """Ends at once for negative numbers, and never for others."""
    while x > 0:
        x = x * 1.0001 if x < 2 else x * 0.5
    return x


NEGATIVE = -np.ones(9000)
FIRST, LAST, FEW = NEGATIVE.copy(), NEGATIVE.copy(), -np.ones(10)
FIRST[0] = LAST[-1] = FEW[3] = 1.0


def point():
    f = jit(endless, wait=True)
    f(-1.0)
    return f, 1.0


def node():
    w = Value(1.0)
    f = vmap(lambda x: endless(x * w), reduce="sum")
    f(NEGATIVE)
    return f, LAST


def batch(rows, **options):
    def make():
        f = vmap(endless, **options)
        f(NEGATIVE)
        return f, rows

    return make


CALLS = {
    "point": point, "node": node, "few rows": batch(FEW, threads=1), "one thread": batch(LAST, threads=1),
    "the calling thread": batch(FIRST, threads=2), "another thread": batch(LAST, threads=2),
    "summed": batch(LAST, threads=2, reduce="sum"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_loop_without_an_end_is_interrupted(name):
    f, x = CALLS[name]()
    assert all(v.trace.merged for v in f.variants)  # otherwise the loop would run in Python, to be traced
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            f(x)
        assert time.monotonic() - began > 0.15  # it was in the loop, and not stopped by something else
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    again = f(-1.0) if np.isscalar(x) else f(NEGATIVE)
    np.testing.assert_array_equal(np.asarray(getattr(again, "data", again)).sum(), -1.0 if np.isscalar(x) else -9000.0)


def test_a_signal_handler_may_run_compiled_code_in_the_middle_of_compiled_code():
    outer, inner = jit(endless, wait=True), jit(lambda x: endless(x) * 2.0, wait=True)
    outer(-1.0), inner(-1.0)
    seen = []

    def handler(*_):
        seen.append(inner(-3.0))
        if len(seen) == 3:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        with pytest.raises(KeyboardInterrupt):
            outer(1.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen == [-6.0] * 3


def test_a_loop_whose_states_do_not_fit_into_memory_is_an_error_and_not_the_end(tmp_path):
    program = """
        import resource
        import numpy as np
        from micrograd import jit, math, value_and_grad, vmap

        def long(x):  # five active numbers enter the loop: too many for tangents, which would need no memory
            a = b = c = d = 1.0 * x
            while x > 0:
                x = math.sin(x) * 1.000001 + a * 1e-9
                a, b, c, d = math.sin(a + b), math.sin(b + c), math.sin(c + d), math.sin(d + x)
            return x

        point = jit(value_and_grad(long), wait=True)
        rows = [vmap(value_and_grad(long), threads=n) for n in (1, 2)]
        assert point(-1.0) == (-1.0, 1.0)
        many = -np.ones(9000)
        for f in rows:
            f(many)
        assert all(v.trace.merged for f in (point, *rows) for v in f.variants)
        many[7], many[8000] = 1.0, 1.0
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20), resource.RLIM_INFINITY))
        for call in (lambda: point(1.0), lambda: rows[0](many), lambda: rows[1](many)):
            try:
                call()
            except MemoryError:
                print("MemoryError")
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert point(-2.0) == (-2.0, 1.0)
        assert (rows[1](-np.ones(9000))[1] == 1.0).all()
        print("alive")
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("it limits memory as Linux does")
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(program))
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300)
    assert ran.stdout.split() == ["MemoryError"] * 3 + ["alive"], ran.stderr[-2000:]
