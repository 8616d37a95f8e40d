"""Ctrl-C while LLVM compiles: it is neither lost nor leaves anything behind."""

from __future__ import annotations

import signal
import threading

import pytest

from micrograd import jit
from random_programs import needs_llvm

pytestmark = needs_llvm


@pytest.fixture
def interrupts(monkeypatch):
    """Let Ctrl-C arrive while LLVM hands over its code, inside of a callback from C."""
    import llvmlite.binding as binding

    plain = binding.ExecutionEngine.set_object_cache
    sent = []

    def set_object_cache(engine, notify=None, get=None):
        def notified(module, code):
            sent.append(1)
            signal.raise_signal(signal.SIGINT)
            notify(module, code)

        plain(engine, notified, get)

    monkeypatch.setenv("MICROGRAD_CACHE", "off")
    monkeypatch.setattr(binding.ExecutionEngine, "set_object_cache", set_object_cache)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield sent
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_in_a_callback_of_llvm_is_not_lost(interrupts, monkeypatch):
    f = jit(lambda x: x * 3.0 + 1.0, wait=True)
    with pytest.raises(KeyboardInterrupt):
        f(2.0)
    assert interrupts
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.undo()
    assert f(2.0) == 7.0


def test_another_thread_compiles_without_touching_the_handlers():
    found = []
    thread = threading.Thread(target=lambda: found.append(jit(lambda x: x * 5.0, wait=True)(2.0)))
    thread.start()
    thread.join()
    assert found == [10.0]
