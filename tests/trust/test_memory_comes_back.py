"""After graphs were freed, resident memory is within 15 % of what is in use: at once, or after gc.collect()."""

from __future__ import annotations

import gc
import os

import pytest

from twins import NATIVE

pytestmark = [
    pytest.mark.skipif(not NATIVE, reason="of the C engine: Python's own allocator has rules of its own"),
    pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="resident memory is read from /proc"),
]

PROGRAM = """if True:
    import gc, os
    from micrograd import Value

    def resident():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident()
    for _ in range({times}):
        y = Value(1.0)
        for _ in range(400_000):
            y = y * 1.0
        most = resident()
        del y
    {collect}
    print(before, most, resident())
"""


@pytest.mark.parametrize("times, collect", [(1, ""), (1, "gc.collect()"), (3, "gc.collect()")])
def test_resident_memory_is_what_is_in_use(run_python, times, collect):
    before, most, after = map(int, run_python(PROGRAM.format(times=times, collect=collect)).stdout.split())
    assert most > before + 30_000_000
    assert after <= 1.15 * before


def test_a_full_collection_leaves_live_nodes_alone(engine):
    values = [engine.Value(float(k)) for k in range(50_000)]
    del values[1::2]
    gc.collect()
    more = [engine.Value(-1.0) for _ in range(50_000)]
    assert [v.data for v in values] == [float(k) for k in range(0, 50_000, 2)] and more[-1].data == -1.0


def test_the_callback_checks_what_it_is_given():
    from micrograd import _engine

    for arguments in (("stop", {}), ("stop", {"generation": "2"}), ("start", {"generation": 2})):
        assert _engine.after_collection(*arguments) is None
    for arguments in ((), ("stop",), (1, 2), ("stop", {}, 3)):
        with pytest.raises(TypeError):
            _engine.after_collection(*arguments)
    assert gc.callbacks.count(_engine.after_collection) == 1
