"""export_c with argnums and second derivatives, and export_library: header, library, errors, and Pyomo's external functions."""

import ctypes
import shutil
import subprocess

import pytest

from micrograd import CompileError, export_c, export_library, grad, hessian, hvp, math

pytestmark = pytest.mark.skipif(not shutil.which("cc") and not shutil.which("gcc"), reason="there is no C compiler")
POINT = [1.25, -2.0, 3.0]


def wave(x, y):
    return math.sin(x[0]) * y + x[1] ** 2 * y**3


def flat(v):
    return wave([v[0], v[1]], v[2])


def numbers(*xs):
    return (ctypes.c_double * len(xs))(*xs)


def library_of(tmp_path, *how, **options):
    return ctypes.CDLL(str(export_library(wave, [1.0, 2.0], 3.0, *how, name="wave", folder=tmp_path, **options)))


@pytest.mark.parametrize(("argnums", "wrt"), [(None, [0, 1, 2]), (0, [0, 1]), (1, [2]), ((1, 0), [2, 0, 1])])
def test_derivatives_by_some_arguments(tmp_path, argnums, wrt):
    library = library_of(tmp_path, hessian=True, hvp=True, argnums=argnums)
    n = len(wrt)
    out, slopes, second, product = numbers(0.0), numbers(*[7.0] * n), numbers(*[7.0] * (n * n)), numbers(*[7.0] * n)
    assert library.wave_gradient(numbers(*POINT), out, slopes) == 0
    assert (out[0], list(slopes)) == (pytest.approx(flat(POINT)), pytest.approx([grad(flat)(POINT)[k] for k in wrt]))
    assert library.wave_hessian(numbers(*POINT), out, slopes, second) == 0
    want = hessian(flat)(POINT)
    assert list(second) == pytest.approx([want[i][k] for i in wrt for k in wrt], abs=1e-14)
    v = [0.5, -1.0, 2.0][:n]
    full = [0.0] * 3
    for k, x in zip(wrt, v):
        full[k] = x
    assert library.wave_hvp(numbers(*POINT), numbers(*v), product) == 0
    assert list(product) == pytest.approx([hvp(flat, (POINT,), (full,))[k] for k in wrt], rel=1e-12)


def loop(x, n):
    total = 0.0
    i = 0.0
    while i < n:
        total = total + math.sin(x * i)
        i = i + 1.0
    return total


def test_second_derivatives_of_loops_that_take_memory(tmp_path):
    text = export_c(loop, 0.5, 3.0, name="loop", hessian=True, hvp=True, argnums=0)
    (tmp_path / "loop.c").write_text(text)
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    done = subprocess.run(
        ["cc", *flags, "-o", tmp_path / "l.so", tmp_path / "loop.c", "-lm"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(tmp_path / "l.so"))
    for x, n in [(0.5, 3.0), (0.25, 40.0), (0.5, 0.0)]:
        out, slope, second, product = [numbers(7.0) for _ in range(4)]
        assert library.loop_hessian(numbers(x, n), out, slope, second) == 0
        want = -sum(i * i * math.sin(x * i) for i in range(int(n)))
        assert (out[0], second[0]) == (pytest.approx(loop(x, n)), pytest.approx(want, rel=1e-11))
        assert library.loop_hvp(numbers(x, n), numbers(2.0), product) == 0
        assert product[0] == pytest.approx(2.0 * want, rel=1e-11)


def test_the_header_declares_what_the_library_has(tmp_path):
    export_library(wave, [1.0, 2.0], 3.0, name="wave", folder=tmp_path, hvp=True)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix in (".c", ".h")) == ["wave.c", "wave.h"]
    program = '#include <stdio.h>\n#include "wave.h"\n#include "wave.h"\n'
    program += "int main(void) { double in[3] = {1.25, -2, 3}, out[1]; int code = wave(in, out);"
    program += ' printf("%.17g", out[0]); return code; }\n'
    (tmp_path / "main.c").write_text(program)
    libraries = [path for path in tmp_path.iterdir() if path.name.startswith("libwave")]
    command = [
        "cc",
        "-std=c99",
        "-Wall",
        "-Werror",
        "-o",
        tmp_path / "main",
        tmp_path / "main.c",
        *libraries,
        f"-Wl,-rpath,{tmp_path}",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(subprocess.run([tmp_path / "main"], capture_output=True, text=True).stdout) == pytest.approx(
        flat(POINT), rel=1e-15
    )


def test_errors(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="asks for argument 5"):
        export_c(wave, [1.0, 2.0], 3.0, argnums=5)
    with pytest.raises(TypeError, match="a hessian needs a function that returns one number"):
        export_c(lambda x: [x, x], 1.0, hessian=True)
    with pytest.raises(ValueError, match="ampl=True needs a function of numbers that returns one number"):
        export_library(lambda x: [x, x], 1.0, folder=tmp_path, ampl=True)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(CompileError, match="there is no no-such-compiler"):
        export_library(wave, [1.0, 2.0], 3.0, folder=tmp_path)


def test_pyomo_calls_it_with_first_and_second_derivatives(tmp_path):
    pyomo = pytest.importorskip("pyomo.environ")
    path = export_library(wave, [1.0, 2.0], 3.0, name="wave", folder=tmp_path, ampl=True)
    model = pyomo.ConcreteModel()
    model.wave = pyomo.ExternalFunction(library=str(path), function="wave")
    value, first, second = model.wave.evaluate_fgh(POINT)
    want = hessian(flat)(POINT)
    assert (value, list(first)) == (pytest.approx(flat(POINT)), pytest.approx(grad(flat)(POINT)))
    assert list(second) == pytest.approx([want[i][j] for j in range(3) for i in range(j + 1)], abs=1e-14)
    model.x = pyomo.Var(initialize=1.25)
    assert pyomo.value(model.wave(model.x, -2.0, 3.0)) == pytest.approx(flat(POINT))
