"""Several interpreters in one process: the first one to import the C engine has it, the others run the Python engine."""

from __future__ import annotations

import sys

import pytest

from twins import NATIVE

PROGRAM = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

INSIDE = '''
import sys, warnings
sys.path[:0] = {path!r}
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from micrograd import Value, engine, grad, math
x = Value(3.0)
(x * x).backward()
assert (x.grad, grad(math.sin)(0.0)) == (6.0, 1.0)
assert engine.NATIVE is {native}, engine.NATIVE
assert len(said) == {warnings} and all("first interpreter" in str(w.message) for w in said), [str(w.message) for w in said]
'''

def inside(native, isolated=False):  # isolated: with an interpreter lock of its own, from Python 3.12 on
    try:
        new = interpreters.create("isolated" if isolated else "legacy")
    except TypeError:
        new = interpreters.create(isolated=isolated)
    failed = interpreters.run_string(new, INSIDE.format(path=sys.path, native=native, warnings=0 if native else 1))
    interpreters.destroy(new)
    assert failed is None, failed
"""


@pytest.fixture
def run_inside(run_python):
    done = run_python("try:\n    import _interpreters\nexcept ImportError:\n    import _xxsubinterpreters", check=False)
    if done.returncode:
        pytest.skip("this Python has no module that starts interpreters")
    if not NATIVE:
        pytest.skip("the C twin is not built")
    return lambda rest: run_python(PROGRAM + rest)


def test_a_second_interpreter_runs_the_python_engine_and_says_so(run_inside):
    run_inside("import micrograd.engine\nassert micrograd.engine.NATIVE\ninside(False)\ninside(False)")


def test_the_engine_stays_with_the_interpreter_that_loaded_it(run_inside):
    run_inside("inside(True)\ninside(False)")


@pytest.mark.skipif(
    sys.version_info < (3, 13),
    reason="3.11 has one lock; 3.12 crashes in `import hashlib`",
)
def test_an_interpreter_with_a_lock_of_its_own_runs_the_python_engine(run_inside):
    run_inside("inside(False, isolated=True)\ninside(False, isolated=True)")
