"""export_c: the C file compiles without a warning, and computes what eager code computes, gradients and loops included."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import pytest

from micrograd import CompileError, Value, c_text, export_c, grad, jit, math, nn, random, vmap
from micrograd.compile.derivative_tapes import program
from micrograd.compile.llvm import vector_math
from micrograd.interop import c as exporter
from micrograd.interop import c_writer
from micrograd.ops import OPS
from micrograd.ops import call as apply
from micrograd.tape import interpret, passes
from micrograd.tape.passes import primal
from micrograd.tape.tape import INPUT
from micrograd.tape.text import parse
from random_programs import needs_llvm

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
pytestmark = pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
FLAGS = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]


def build(text, folder, compiler=None):
    source, library = folder / "f.c", folder / f"f-{compiler or COMPILERS[0]}.so"
    source.write_text(text)
    done = subprocess.run(
        [compiler or COMPILERS[0], *FLAGS, "-o", library, source, "-lm"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr + text
    return ctypes.CDLL(str(library))


def call(function, numbers, *sizes):
    given = (ctypes.c_double * max(len(numbers), 1))(*numbers)
    outs = [(ctypes.c_double * max(n, 1))() for n in sizes]
    return function(given, *outs), *[list(out) for out in outs]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_value_and_gradient_are_those_of_eager_code(tmp_path, compiler):
    def f(x, y, z):
        return math.sin(x) * y / z + math.max(x, y) % 0.7 + math.sigmoid(z) + math.where(x > y, x, -2.5 * y)

    library = build(export_c(f, 0.5, -2.0, 3.0, name="f"), tmp_path, compiler)
    for point in [(0.5, -2.0, 3.0), (1.5, 2.0, -0.25), (-3.0, 0.125, 7.0)]:
        code, out, slopes = call(library.f_gradient, point, 1, 3)
        assert code == 0
        assert out[0] == pytest.approx(f(*point), rel=1e-15)
        assert slopes == pytest.approx(list(grad(f, (0, 1, 2))(*point)), rel=1e-14)
        assert call(library.f, point, 1)[1] == out


EXAMPLES = {
    "acosh": (1.5,),
    "asin": (0.3,),
    "acos": (0.3,),
    "atanh": (0.3,),
    "zeta": (2.5, 1.3),
    "probit": (0.2,),
    "philox": (7.0, 12.0, 3.0),
    "normal": (7.0, 12.0, 3.0),
}


def test_every_op_of_the_table(tmp_path):
    texts, want = [], {}
    for op in OPS.values():
        numbers = EXAMPLES.get(op.name, (0.7, 1.3, 0.2)[: op.arity] if op.arity > 0 else (0.7, 1.3, 0.2, 0.4))
        f = (
            (lambda *xs, op=op: engine_apply(op, xs))
            if op.arity > 0
            else (lambda *xs, op=op: engine_apply(op, [list(xs)]))
        )
        text = export_c(f, *numbers, name=f"op_{op.name}")
        texts.append(
            text if not texts else re.sub(r"#include <.*>\n|static double mg_\w+\(.*?\n}\n", "", text, flags=re.S)
        )
        want[op.name] = numbers, f(*numbers), grad(f, tuple(range(len(numbers))))(*numbers)
    helpers = c_text.HEADERS + "#include <string.h>\n" + "".join(f"static {h}" for h in c_text.HELPERS.values())
    body = "".join(re.sub(r"#include <.*>\n|static double mg_\w+\(.*?\n}\n", "", t, flags=re.S) for t in texts)
    library = build(helpers + body, tmp_path)
    for name, (numbers, value, slopes) in want.items():
        _, out, found = call(getattr(library, f"op_{name}_gradient"), numbers, 1, len(numbers))
        assert out[0] == pytest.approx(float(value), rel=1e-14), name
        assert found == pytest.approx([float(s) for s in slopes], rel=1e-13, abs=1e-300, nan_ok=True), name
    assert len(want) > 60


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_a_count_below_0_or_between_two_gives_nan(tmp_path, name):
    def f(key, row, number):
        return getattr(random, name)(key, row=row, draw=number)

    library = build(export_c(f, 1.0, 2.0, 3.0, name="f"), tmp_path)
    for k in range(3):
        for count in (-1.0, -2.0, 0.5, 2.0**53, float("nan")):
            numbers = [4.0, 5.0, 6.0]
            numbers[k] = count
            code, out = call(library.f, numbers, 1)
            assert (code, out[0] != out[0]) == (0, True), numbers
    assert call(library.f, [4.0, 5.0, 6.0], 1) == (0, [f(4.0, 5.0, 6)])


def engine_apply(op, xs):
    from micrograd import engine

    return engine.apply(op, *xs)


def test_several_results_and_unused_arguments(tmp_path):
    library = build(export_c(lambda p, q: {"a": p[0] * q, "b": [p[0], 2.0]}, [3.0, 4.0], 5.0, name="g"), tmp_path)
    code, out, slopes = call(library.g_gradient, [3.0, 4.0, 5.0], 3, 9)
    assert (code, out) == (0, [15.0, 3.0, 2.0])
    assert slopes == [5.0, 0.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_a_model_is_written_with_its_parameters(tmp_path):
    model = nn.MLP(2, [3, 1], rng=0)
    library = build(export_c(model, [0.5, -1.0], name="model"), tmp_path)
    code, out = call(library.model, [0.25, 2.0], 1)
    assert code == 0 and out[0] == pytest.approx(float(model([0.25, 2.0])), rel=1e-14)


def test_another_path_is_told_by_the_code(tmp_path):
    def f(x):
        if math.floor(x) > 2.0:
            return [x * x, x]
        return [x, x * 3.0]

    library = build(export_c(f, 1.0, name="h"), tmp_path)
    assert call(library.h, [0.5], 2) == (0, [0.5, 1.5])
    code, out = call(library.h, [5.0], 2)
    assert code == 1 or out == [25.0, 5.0]


LOOP = """
%0 = input 0
%1 = input 1
%2 = const 1.0
%3 = loop 5 carry %0 %2 with %1 do {
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = input 3
  %4 = mul %0 %2
  %5 = sin %4
  %6 = add %5 %3
  %7 = mul %1 %6
  return %7 %0 %6
}
%4 = result %3 0
%5 = result %3 1
%6 = result %3 2
%7 = loop 5 reverse carry %4 over %6 do {
  %0 = input 0
  %1 = input 1
  %2 = mul %0 %1
  return %2
}
%8 = result %7 0
%9 = lt %8 %5
%10 = choose %9 %8 %5 then {
  %0 = input 0
  %1 = input 1
  %2 = exp %0
  return %2
} else {
  %0 = input 0
  %1 = input 1
  %2 = mul %0 %1
  return %2
}
%11 = result %10 0
return %8 %11
"""


class FromTape:
    def __init__(self, text):
        self.tape, self.params, self.name, self.outputs = parse(text), [], "from a tape", 2


@pytest.mark.parametrize("point", [(0.3, 0.9), (-1.2, 0.4), (2.0, -0.5)])
def test_loops_and_choices_stay_loops_and_choices(tmp_path, point):
    traced = FromTape(LOOP)
    swept = passes.adjoint(traced.tape, passes.sources(traced.tape, INPUT, 2))
    text = "#include <math.h>\n#include <string.h>\n"
    text += "int v(const double *, double *);\nint g(const double *, double *, double *);\n"
    text += exporter._function("v", traced, program(traced.tape, "value", [], None))
    text += exporter._function("g", traced, program(traced.tape, "gradient", [0, 1], None))
    assert text.count("for (size_t") >= 4 and "else {" in text
    library = build(text, tmp_path)
    want = interpret.run(swept, list(point))
    code, out, slopes = call(library.g, point, 2, 4)
    assert code == 0 and [*out, *slopes] == pytest.approx(want, rel=1e-14)
    assert call(library.v, point, 2)[1] == pytest.approx(want[:2], rel=1e-15)


def newton(p, q):
    x = p
    while abs(x * x - p) > 1e-12:
        x = 0.5 * (x + p / x)
    return x * q


def loops_in_loops(a, b):
    total = 0.0 * a
    for _ in range(40):  # a loop with a condition inside of one without
        x = a + total
        while x < 3.0:
            x = x * 1.3 + 0.01 * b if x < 2.0 else x * 1.1
        total = total + 0.01 * math.sin(x) * b
    rest = total
    while rest < 1.0:  # and one inside of another
        x = a
        while x < 2.0:
            x = x * 1.5 + 0.01 * rest
        rest = rest + 0.1 * x
    return total * rest


def long_loop(x, y):
    for _ in range(4_000):
        x, y = x + 1e-4 * math.sin(y), y - 1e-4 * x
    return x * y


def american_put(spot, sigma):
    up = math.exp(sigma * 0.1)
    p = (1.0 - 1.0 / up) / (up - 1.0 / up)
    values = [max(100.0 - spot * up ** (2 * j - 30), 0.0) for j in range(31)]
    for i in range(29, -1, -1):
        values = [
            max(0.999 * (p * values[j + 1] + (1.0 - p) * values[j]), 100.0 - spot * up ** (2 * j - i))
            for j in range(i + 1)
        ]
    return values[0]


PROGRAMS = [  # a function, the numbers it is traced on, others
    (newton, (2.0, 3.0), (1000.0, 0.5), (1.0, 1.0)),
    (loops_in_loops, (0.5, 2.0), (0.9, -0.3), (4.0, 1.0)),
    (long_loop, (1.0, 2.0), (0.3, -1.0)),
    (american_put, (100.0, 0.2), (80.0, 0.4)),
]


@pytest.mark.parametrize("f, first, others", [(f, first, others) for f, first, *others in PROGRAMS])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_loops_whose_length_is_not_known_and_large_arrays(tmp_path, compiler, f, first, others):
    text = export_c(f, *first)
    assert "for (size_t" in text and len(text) < 200_000
    library = build(text, tmp_path, compiler)
    for point in (first, *others):
        code, out, slopes = call(library.f_gradient, point, 1, 2)
        assert code == 0 and out == call(library.f, point, 1)[1]
        assert out == pytest.approx([f(*point)], rel=1e-12)
        assert slopes == pytest.approx(list(grad(f, (0, 1))(*point)), rel=1e-10, abs=1e-14)


def test_no_memory_is_told_by_the_code_and_all_of_it_is_given_back(tmp_path, monkeypatch):
    """Each allocation fails in turn; whatever was taken before it is given back."""
    monkeypatch.setattr(primal, "joined", lambda *args: None)  # with joined tangents, this loop takes no memory at all
    counting = """
    #include <stddef.h>
    void *counted_calloc(size_t, size_t); void counted_free(void *);
    static long left, alive;
    #include <stdlib.h>
    void *counted_calloc(size_t n, size_t size) { if (left-- <= 0) return NULL; ++alive; return calloc(n, size); }
    void counted_free(void *p) { --alive; free(p); }
    void allow(long n); long held(void);
    void allow(long n) { left = n; }
    long held(void) { return alive; }
    #define calloc counted_calloc
    #define free counted_free
    """
    library = build(
        "".join(line.strip() + "\n" for line in counting.splitlines()) + export_c(newton, 2.0, 3.0), tmp_path
    )
    codes = []
    for allowed in range(20):
        library.allow(ctypes.c_long(allowed))
        codes.append(call(library.f_gradient, (1e6, 3.0), 1, 2)[0])
        assert library.held() == 0
    assert codes[0] == 2 and codes[-1] == 0 and codes == sorted(codes, reverse=True)


RAGGED = """
%0 = input 0
%1 = const 0.5
%2 = stack %0 %1
%3 = loop 3 carry %0 with %2 do {
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = loop carry %0 while {
    %0 = input 0
    %1 = input 1
    %2 = const 50.0
    %3 = lt %0 %2
    return %3
  } do {
    %0 = input 0
    %1 = input 1
    %2 = const 2.0
    %3 = mul %0 %2
    %4 = const 1.0
    %5 = add %3 %4
    %6 = stack %3 %1
    return %5 %0 %6
  }
  %4 = result %3 0
  %5 = result %3 1
  %6 = result %3 2
  %7 = pad %5 9
  %8 = load %7 %2
  %9 = bump %1 %2 %8
  %10 = stack %9 %1
  %11 = bump %10 %2 %9
  %12 = const 0.05
  %13 = mul %4 %12
  return %13 %5 %6 %11
}
%4 = result %3 1
%5 = result %3 2
%6 = result %3 3
%7 = const 0.0
%8 = loop 3 reverse carry %7 over %4 %5 %6 do {
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = input 3
  %4 = input 4
  %5 = element %3 1
  %6 = element %5 0
  %7 = loop carry %0 with %6 over %1 %2 do {
    %0 = input 0
    %1 = input 1
    %2 = input 2
    %3 = input 3
    %4 = element %3 1
    %5 = mul %2 %4
    %6 = add %0 %5
    %7 = add %6 %1
    return %7
  }
  %8 = result %7 0
  return %8
}
%9 = result %8 0
return %9
"""


def test_arrays_of_arrays_whose_lengths_are_not_known(tmp_path):
    traced = FromTape(RAGGED)
    traced.outputs = 1
    body = exporter._function("v", traced, program(traced.tape, "value", [], None))
    text = "#include <math.h>\n#include <stdlib.h>\n#include <string.h>\nint v(const double *, double *);\n"
    library = build(text + c_writer.memory(body) + body, tmp_path)
    for x in (0.25, 3.0, 60.0):
        assert call(library.v, [x], 1) == (0, interpret.run(traced.tape, [x]))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_draws_are_those_of_the_engine(tmp_path, compiler):
    def f(x, row):
        return x * random.normal(random.key(7), draw=3, row=row) + random.uniform(random.key(8), draw=2, row=row)

    library = build(export_c(f, 1.5, 2.0), tmp_path, compiler)
    for row in (0.0, 1.0, 12345.0, 2.0**40):
        assert call(library.f, (1.5, row), 1) == (0, [f(1.5, row)])


def test_what_cannot_be_exported_is_refused():
    with pytest.raises(ValueError, match="a name that C allows"):
        export_c(lambda x: x, 1.0, name="2f")
    with pytest.raises(CompileError, match="returns no numbers"):
        export_c(lambda x: None, 1.0)


def test_a_jitted_function_is_exported_as_what_it_was_made_from():
    assert "v0 * v0" in export_c(jit(lambda x: x * x), 3.0)


def test_captured_values_are_numbers_of_now():
    w = Value(2.5)
    assert "2.5" in export_c(lambda x: x * w, 3.0, gradient=False)


def own_functions():
    """The ops whose spelling in C is a function that a file can have of its own."""
    return [op for op in OPS.values() if op.arity > 0 and op.c.partition("(")[0] in exporter.OWN]


@pytest.fixture(scope="module", params=COMPILERS)
def own_library(request, tmp_path_factory):
    ops = own_functions()
    text = export_c(lambda a, b: [apply(op, *(a, b)[: op.arity]) for op in ops], 0.5, 0.5, gradient=False, libm=False)
    assert not re.search(r"(?<!mg_)\b(exp|log|pow|sin|cos|tanh|erf)\(", text)
    return build(text, tmp_path_factory.mktemp("own"), request.param)


@needs_llvm
def test_functions_of_its_own_have_the_bits_of_vectors(own_library):
    np = pytest.importorskip("numpy")
    ops = own_functions()
    assert {"exp", "log", "pow", "sin", "cos", "tan", "tanh", "cbrt", "hypot", "erf", "atan2"} <= {
        op.name for op in ops
    }
    rng = np.random.default_rng(3)
    odd = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e308, 700.0, -746.0, 1e22, 0.5, -709.5]
    a = np.concatenate([rng.uniform(-4, 4, 300), rng.uniform(-1, 1, 100) * 10.0 ** rng.uniform(-300, 300, 100), odd])
    b = np.roll(a, 7)[::-1].copy()
    want = vmap(lambda x, y: [apply(op, *(x, y)[: op.arity]) for op in ops])(a, b)
    of_libm = vmap(lambda x, y: [apply(op, *(x, y)[: op.arity]) for op in ops], exact=True)(a, b)
    found = np.array([call(own_library.f, point, len(ops))[1] for point in zip(a.tolist(), b.tolist())]).T
    for op, got, vectors, libm in zip(ops, found, want, of_libm):
        assert np.array_equal(got, vectors, equal_nan=True), op
        signs = ~np.isnan(got)
        assert np.array_equal(np.signbit(got[signs]), np.signbit(vectors[signs])), op
        if vector_math.of_the_library(op.c.partition("(")[0]):
            assert np.array_equal(got, libm, equal_nan=True), op


def test_a_file_without_libm_keeps_the_other_text():
    f = lambda x, y: math.gamma(x) * math.exp(y) % 2.0  # noqa: E731
    text = export_c(f, 1.0, 2.0, libm=False)
    assert "tgamma(v0)" in text and "mg_exp(v1)" in text and "static const uint64_t mg_powers_of_two[256]" in text
    assert export_c(f, 1.0, 2.0) == export_c(f, 1.0, 2.0, libm=True) and "mg_exp" not in export_c(f, 1.0, 2.0)
    plain = lambda x: x * x + 1.0  # noqa: E731
    assert export_c(plain, 1.0, libm=False) == export_c(plain, 1.0)


def test_loops_call_functions_of_the_file(tmp_path):
    def f(x, y):
        for _ in range(40):
            x = math.tanh(x * y) + math.log1p(math.exp(-x))
        return x

    library = build(export_c(f, 0.5, 0.7, libm=False), tmp_path)
    code, out, slopes = call(library.f_gradient, (0.3, 1.2), 1, 2)
    assert code == 0 and out[0] == pytest.approx(f(0.3, 1.2), rel=1e-12)
    assert slopes == pytest.approx(list(grad(f, (0, 1))(0.3, 1.2)), rel=1e-10)
