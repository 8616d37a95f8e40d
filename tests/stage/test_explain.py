"""What a user is told: of each `if` and loop in explain(), and by a warning where there is no source."""

import warnings

import numpy as np
import pytest

from micrograd import jit, math, value_and_grad, vmap

XS = np.array([-1.0, 0.5, 2.0])


def several(x):
    total = x
    if x > 0:  # line 1
        total = total * 2.0
    while total < 40.0:  # line 3
        total = total * total + 1.0
    for k in range(3):  # line 5
        total = total + k
    items = []
    while len(items) < 4 and total > 30.0:  # line 8
        items.append(total)
        total = total * 0.9
    for k in range(50):  # line 11
        if total * k > 10.0:
            break
    if x > 100.0:  # line 14
        print("effect")
    return total + len(items)


def lines_of(report, f):
    first = f.__code__.co_firstlineno + 1
    return {
        int(s.split(":")[1]) - first: s for s in str(report).splitlines() if s.strip().startswith("test_explain.py:")
    }


def test_explain_says_what_became_of_each_choice_and_loop():
    found = lines_of(vmap(several).explain(XS), several)
    assert "merged" in found[1] and "masked" in found[1]
    assert (
        "a loop in the tape" in found[3] and "instructions per iteration" in found[3] and "each row needs" in found[3]
    )
    assert "3 iterations, unrolled" in found[5]
    assert "iterations, unrolled" in found[8] and "masked" in found[8]
    assert "a loop in the tape" in found[11] and "50 iterations" in found[11]
    assert "on their own" in found[15] and "print" in found[15]
    assert set(found) >= {1, 3, 5, 8, 11, 15}
    assert found[1].endswith(", 2 instructions")  # a product, and the choice between it and what was there


def halves(x):
    for _ in range(30):
        if x > 1.0:  # line 1
            x = x * 0.5 + math.sin(x)
    return x


def test_the_instructions_of_a_choice_in_a_loop_are_those_of_one_iteration_and_no_line_of_the_package_is_shown():
    report = str(vmap(value_and_grad(halves)).explain(XS))
    assert lines_of(report, halves)[1].endswith(", 4 instructions")
    assert "transforms.py" not in report.split("the variant and the kernel")[0]


def without_source():
    names = {}
    exec("def f(x):\n    return x * 2.0 if x > 0 else -x\n", names)
    return names["f"]


def test_code_without_a_source_gets_a_warning_and_a_line_in_explain():
    f = without_source()
    h = vmap(f)
    with pytest.warns(RuntimeWarning, match="source of f is not available"):
        assert h(XS).tolist() == [1.0, 1.0, 4.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = h.explain(XS)
    assert "one by one" in report and "the source of f is not available" in report
    point = jit(without_source(), wait=True)
    with pytest.warns(RuntimeWarning, match="source of f is not available"):
        assert point(3.0) == 6.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [point(x) for x in XS.tolist()] == [1.0, 1.0, 4.0]


def test_a_helper_without_a_source_keeps_its_rows_apart():
    f = without_source()

    def g(x):
        return f(x) + 1.0 if x > -5 else x

    xs = np.array([-9.0, *XS, -7.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert vmap(g)(xs).tolist() == [g(x) for x in xs.tolist()]


def test_code_without_branches_needs_no_source():
    names = {}
    exec("def f(x):\n    return x * 2.0\n", names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vmap(names["f"])(XS).tolist() == (2 * XS).tolist()


@pytest.mark.filterwarnings("error")
def test_rows_with_more_paths_than_are_kept_run_eagerly_with_a_warning(monkeypatch):
    from micrograd.compile.tuning import TUNING

    assert TUNING.max_variants >= 4096
    monkeypatch.setattr(TUNING, "max_variants", 3)
    seen = []

    def f(x):
        n = 0
        while x > n:  # kept apart: something outside is changed
            seen.append(None)
            seen.pop()
            n += 1
        return x * n

    xs = np.arange(8.0)
    with pytest.warns(RuntimeWarning, match=r"test_explain.py:\d+"):
        assert vmap(f)(xs).tolist() == [f(x) for x in xs.tolist()]
