"""no_grad(): entered and left in pairs, whatever happens between, and whenever somebody presses Ctrl-C."""

import contextlib
import signal

import pytest

from micrograd import observed


def test_blocks_nest_and_end_as_they_began(twin):
    x, one = twin.Value(3.0), twin.engine.no_grad()
    with one, one:
        assert (x * x)._prev == ()
    with twin.engine.no_grad():
        with one:
            pass
        assert (x * x)._prev == ()
    assert (x * x)._prev == (x, x)
    with contextlib.suppress(ZeroDivisionError), one:
        1 / 0  # noqa: B018
    assert (x * x)._prev == (x, x)


def test_a_block_that_was_not_entered_cannot_be_left(twin):
    with pytest.raises((RuntimeError, IndexError)):
        twin.engine.no_grad().__exit__(None, None, None)
    with pytest.raises(TypeError):
        twin.engine.no_grad(False)


def test_a_function_records_nothing(twin):
    @twin.engine.no_grad()
    def square(x):
        """x * x"""
        return x * x

    x = twin.Value(3.0)
    assert square(x)._prev == () and square.__doc__ == "x * x"
    assert (x * x)._prev == (x, x)


def test_a_compiled_function_cannot_enter_it(mg):
    def f(x):
        with mg.no_grad():
            square = x * x
        return square * x

    with pytest.raises(mg.TraceError, match=r"(?s)no_grad\(\) entered inside a compiled function.*x.detach\(\)"):
        mg.jit(f)(3.0)


class Interrupted(list):
    """Ctrl-C is pressed while something is put into it or taken out of it."""

    def append(self, item):
        super().append(item)
        raise KeyboardInterrupt

    def pop(self):
        raise KeyboardInterrupt


def test_ctrl_c_while_a_block_of_the_python_engine_begins_or_ends(twin):
    block = twin.engine.no_grad()
    if not hasattr(block, "_before"):
        pytest.skip("the C engine begins and ends a block without running any Python")
    x, block._before = twin.Value(3.0), Interrupted()
    with pytest.raises(KeyboardInterrupt), block:
        pytest.fail("the block began")
    assert (x * x)._prev == (x, x)
    block._before = []
    with pytest.raises(KeyboardInterrupt), block:
        block._before = Interrupted(block._before)
        assert (x * x)._prev == ()
    assert (x * x)._prev == (x, x)


@pytest.mark.skipif(not observed.NATIVE, reason="an __exit__ in Python can be interrupted before its first line")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that sends signals")
def test_ctrl_c_leaves_no_thread_without_recording():
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        while interrupted < 200:
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-5 + interrupted * 1e-6)
                while True:
                    with observed.no_grad():
                        pass
            except KeyboardInterrupt:
                interrupted += 1
            assert observed.is_recording()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not observed.NATIVE, reason="objects of the Python engine do not notice that they are released")
def test_an_exception_between_enter_and_the_block_brings_recording_back():
    def entered():
        block = observed.no_grad()
        block.__enter__()
        return block

    with pytest.raises(ZeroDivisionError):
        print(entered(), 1 / 0)  # as Ctrl-C there since Python 3.14: nobody calls __exit__
    assert observed.is_recording()
    with observed.no_grad():
        with pytest.raises(ZeroDivisionError):
            print(entered(), 1 / 0)
        assert not observed.is_recording()


def test_a_block_that_is_entered_by_hand_stays_open():
    try:
        observed.no_grad().__enter__()
        assert not observed.is_recording()
    finally:
        observed.set_recording(True)
