"""Functions whose loops change lists, as C code and as ONNX graphs."""

from __future__ import annotations

import numpy as np
import pytest

from interop.test_export_c import COMPILERS, build, call
from micrograd import export_onnx, grad
from micrograd.interop.c import export_c
from stage import tables


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


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
@pytest.mark.parametrize("f", [swept, tables.distances(30)])
def test_c_code_of_a_loop_that_changes_lists_gives_what_eager_code_gives(f, tmp_path):
    text = export_c(f, 0.5, 0.2, name="f")
    assert len(text.splitlines()) < 3000  # the loops are loops: unrolled, there are 900 assignments or more
    library = build(text, tmp_path)
    for point in [(0.5, 0.2), (1.5, 0.1), (40.0, 0.25)]:
        code, out, slopes = call(library.f_gradient, point, 1, 2)
        assert code == 0
        assert out[0] == pytest.approx(f(*point), rel=1e-12)
        assert slopes == pytest.approx(list(grad(f, (0, 1))(*point)), rel=1e-9)


def relaxed(x, k):
    u = [x * (i + 1) for i in range(24)]
    for i in range(1, 23):
        u[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1]) if u[i] > 0.5 else u[i - 1]
    return u[4] * u[22]


@pytest.mark.parametrize("f", [relaxed, tables.distances(12)])
def test_an_onnx_graph_of_a_loop_that_changes_lists_gives_what_eager_code_gives(f):
    pytest.importorskip("onnx")
    ort = pytest.importorskip("onnxruntime")
    rows = np.array([[0.5, 0.2], [1.5, 0.1], [-0.3, 0.25], [0.02, 0.2]], np.float32)
    session = ort.InferenceSession(export_onnx(f, 0.5, 0.2).SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {"x": rows})[0][:, 0]
    assert found == pytest.approx([f(*map(float, row)) for row in rows], rel=1e-4)
