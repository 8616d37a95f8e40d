"""Names in exported files: that of the function, and those of arguments, which stand in a comment."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import pytest

from micrograd import export_c, export_text, import_text
from micrograd.interop import c as exporter
from micrograd.ops import OPS

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]


def build(text, folder, compiler):
    source, library = folder / "f.c", folder / f"f-{compiler}.so"
    source.write_text(text, encoding="ascii")
    done = subprocess.run([compiler, *FLAGS, "-o", library, source, "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + text
    return ctypes.CDLL(str(library))


class TestTheNameOfTheFunction:
    @pytest.mark.parametrize("name", ["double", "while", "main", "sin", "powf", "fabsl", "memcpy", "free", "NAN", "_Bool",
                                      "mg_release", "uint64_t", "size_t", "printf"])  # fmt: skip
    def test_one_that_c_has_already_is_refused(self, name):
        with pytest.raises(ValueError, match=f"name='{name}' is a keyword of C, or a name of its library"):
            export_c(lambda x: x * x, 2.0, name=name)

    @pytest.mark.parametrize("name", ["café", "two words", "2nd", "", "a;"])
    def test_one_that_is_no_name_is_refused(self, name):
        with pytest.raises(ValueError, match="it must be a name that C allows"):
            export_c(lambda x: x * x, 2.0, name=name)

    @pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
    def test_all_others_compile(self, tmp_path):
        """One file with many functions: names that look like those of C, and those of the variables in the file."""
        names = [
            "strain",
            "member",
            "sinus",
            "isotope",
            "index",
            "gamma",
            "in",
            "out",
            "gradient",
            "v0",
            "all",
            "code",
            "_f",
            "F",
        ]
        parts = [export_c(lambda x: x * x, 2.0, name=name) for name in names]
        build("\n".join(parts), tmp_path, COMPILERS[0])

    def test_the_list_has_the_functions_that_exported_files_call(self):
        text = " ".join(str(op.c) for op in OPS.values() if op.c)
        called = set(re.findall(r"([A-Za-z_]\w*)\(", text))
        assert {"sin", "pow"} <= called
        assert all(name in exporter.TAKEN or exporter.RESERVED.fullmatch(name) for name in called)


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
@pytest.mark.parametrize("compiler", COMPILERS)
class TestComments:
    @pytest.mark.parametrize(
        "key", ["*/", "/*", "*/ int injected; /*", "/*/", "??/", "a\\", "\n", "é", "\u2028", '"', "//"]
    )
    def test_a_key_of_any_characters_stays_in_the_comment(self, tmp_path, compiler, key):
        text = export_c(lambda p: p[key] * 3.0, {key: 2.0})
        assert "injected" not in text.split("*/", 1)[1]
        out = (ctypes.c_double * 1)()
        assert build(text, tmp_path, compiler).f((ctypes.c_double * 1)(2.0), out) == 0
        assert out[0] == 6.0

    def test_the_name_of_a_python_function_too(self, tmp_path, compiler):
        def f(x):
            return x * x

        f.__name__ = f.__qualname__ = "a */ b"
        build(export_c(f, 2.0), tmp_path, compiler)

    def test_a_function_without_arguments(self, tmp_path, compiler):
        build(export_c(lambda: 3.0), tmp_path, compiler)


class TestDamagedText:
    TEXT = export_text(lambda x, y: [x * y, x], 2.0, 3.0)

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda text: text[: text.index("return")], "the tape returns 0 numbers, and the result holds 2"),
            (
                lambda text: text.replace("return %2 %0", "return %2"),
                "the tape returns 1 numbers, and the result holds 2",
            ),
            (lambda text: text + " %0", "the tape returns 3 numbers, and the result holds 2"),
            (
                lambda text: text.replace("input 1", "input 7"),
                "the tape reads 8 inputs, and the arguments hold 2 numbers",
            ),
            (lambda text: text.replace('result ["list", ["*", "*"]]', 'result ["array", [-1]]'), "cannot be read"),
            (lambda text: text.replace('result ["list", ["*", "*"]]', 'result ["array", [2.5]]'), "cannot be read"),
        ],
    )
    def test_is_refused_when_it_is_read(self, damage, message):
        text = damage(self.TEXT)
        assert text != self.TEXT
        with pytest.raises(ValueError, match=message):
            import_text(text)

    @pytest.mark.parametrize("text", [b"micrograd tape 1", None])
    def test_something_else_than_text_is_refused(self, text):
        with pytest.raises(TypeError, match="import_text takes the text that export_text has written"):
            import_text(text)
