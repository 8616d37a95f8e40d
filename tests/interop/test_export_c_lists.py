"""Functions whose loops change lists, as C code."""

from __future__ import annotations

import pytest

from interop.test_export_c import COMPILERS, build, call
from micrograd import grad
from micrograd.interop.c import export_c

pytestmark = pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")


def swept(x, k):
    u = [x * (i + 1) for i in range(30)]
    v = [0.0] * 30
    for _ in range(40):
        for i in range(1, 29):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, v = v, u
        if u[3] > 100.0:
            return x * k
    return u[4] * v[7]


def test_c_code_of_a_loop_that_changes_lists_gives_what_eager_code_gives(tmp_path):
    text = export_c(swept, 0.5, 0.2, name="f")
    assert len(text.splitlines()) < 3000  # the loops are loops: unrolled, there are 1,120 assignments
    library = build(text, tmp_path)
    for point in [(0.5, 0.2), (1.5, 0.1), (40.0, 0.25)]:
        code, out, slopes = call(library.f_gradient, point, 1, 2)
        assert code == 0
        assert out[0] == pytest.approx(swept(*point), rel=1e-12)
        assert slopes == pytest.approx(list(grad(swept, (0, 1))(*point)), rel=1e-9)
