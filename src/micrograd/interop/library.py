"""export_library: a function and its derivatives as a shared library with a C header; also for AMPL and Pyomo."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from micrograd.errors import CompileError
from micrograd.interop.c import export_c
from micrograd.interop.traced import Traced
from micrograd.typed import P

ENDING = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


def export_library(
    f: Callable[P, Any], *args: Any, name: str = "f", folder: str | os.PathLike[str] = ".", gradient: bool = True,
    hessian: bool = False, hvp: bool = False, argnums: int | tuple[int, ...] | None = None, ampl: bool = False,
    libm: bool = True,
) -> Path:  # fmt: skip
    """Write the C file of `export_c` and its header into a folder, compile a shared library, and return the path of that.

    The compiler is the one in the environment variable CC, or else cc, gcc or clang. With `ampl`, the library also exports the
    function under its name to AMPL, Pyomo's ExternalFunction and solvers with the AMPL interface, with first and second
    derivatives; f must return one number then.

    >>> import ctypes, tempfile
    >>> from micrograd import export_library
    >>> library = export_library(lambda x: x * x, 3.0, name="square", folder=tempfile.mkdtemp())
    >>> sorted(path.name for path in library.parent.iterdir())  # doctest: +SKIP
    ['libsquare.so', 'square.c', 'square.h']
    """
    compiler = _compiler()
    if ampl:
        if argnums is not None:
            raise ValueError("ampl=True and argnums do not go together: AMPL asks for derivatives by all arguments")
        traced = Traced(f, args)
        if traced.outputs != 1 or not traced.tape.inputs:
            raise ValueError(
                f"ampl=True needs a function of numbers that returns one number, and {traced.name} takes "
                f"{traced.tape.inputs} and returns {traced.outputs}"
            )
        gradient = hessian = True
    text = export_c(f, *args, name=name, gradient=gradient, hessian=hessian, hvp=hvp, argnums=argnums, libm=libm)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    source, library = place / f"{name}.c", place / f"lib{name}{ENDING}"
    source.write_text(text + (_wrapper(name, traced.tape.inputs) if ampl else ""))
    (place / f"{name}.h").write_text(_header(name, text))
    command = [*compiler, "-std=c99", "-O2", "-fPIC", "-shared", "-o", str(library), str(source), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CompileError(f"the compiler failed: {shlex.join(command)}\n  {done.stderr.strip()}")
    return library


def _compiler() -> list[str]:
    asked = shlex.split(os.environ.get("CC", ""))
    found = asked or [name for name in ("cc", "gcc", "clang") if shutil.which(name)][:1]
    if not found or shutil.which(found[0]) is None:
        raise CompileError(
            f"export_library needs a C compiler, and there is no {' '.join(asked) or 'cc, gcc or clang'}\n"
            "  Install one, or set CC to its name; export_c writes the C file without one."
        )
    return found


def _header(name: str, text: str) -> str:
    """The comment of the C file, and what it declares."""
    comment, rest = text.split("*/", 1)
    heads = re.findall(rf"^int {name}(?:_\w+)?\(.*\);$", rest, flags=re.M)
    guard = f"MICROGRAD_{name.upper()}_H"
    top = [f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    return "\n".join([comment + "*/", "", *top, *heads, "", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _wrapper(name: str, n: int) -> str:
    """What AMPL's solver library looks for in a library of functions: see "Hooking your solver to AMPL"."""
    return AMPL.replace("NAME", name).replace("COUNT", str(n))


AMPL = """
/* For AMPL: the beginning of the structs of funcadd.h, as far as they are used. */
#include <stdlib.h>

typedef struct {
    int n, nr, *at;
    double *ra;
    const char **sa;
    double *derivs, *hes;
    char *dig;
    void *funcinfo, *exports, *function, *tva;
    const char *problem;
} mg_arguments;

typedef double (*mg_external)(mg_arguments *);

typedef struct mg_exports {
    void *output;
    void (*add)(const char *, mg_external, int, int, void *, struct mg_exports *);
} mg_exports;

static double NAME_ampl(mg_arguments *given) {
    double in[COUNT], out[1], gradient[COUNT];
    static const char *const why[] = {"", "NAME: a branch that was not exported is taken", "NAME: there is no memory"};
    double *hessian = NULL;
    int code;
    if (given->n != COUNT || given->nr != COUNT) {
        given->problem = "NAME takes COUNT numbers";
        return 0.0;
    }
    for (int i = 0; i < COUNT; i++) in[i] = given->ra[given->at[i]];
    if (given->hes != NULL) {
        hessian = malloc(sizeof(double) * COUNT * COUNT);
        code = hessian == NULL ? 2 : NAME_hessian(in, out, gradient, hessian);
    } else {
        code = given->derivs != NULL ? NAME_gradient(in, out, gradient) : NAME(in, out);
    }
    if (code != 0) {
        given->problem = why[code];
        free(hessian);
        return 0.0;
    }
    for (int i = 0; given->derivs != NULL && i < COUNT; i++) given->derivs[given->at[i]] = gradient[i];
    for (int i = 0; hessian != NULL && i < COUNT; i++)
        for (int j = i; j < COUNT; j++) {
            const int a = given->at[i] < given->at[j] ? given->at[i] : given->at[j];
            const int b = given->at[i] < given->at[j] ? given->at[j] : given->at[i];
            given->hes[a + b * (b + 1) / 2] = hessian[COUNT * i + j];
        }
    free(hessian);
    return out[0];
}

#ifdef _WIN32
__declspec(dllexport)
#endif
void funcadd_ASL(mg_exports *exports);

void funcadd_ASL(mg_exports *exports) {
    exports->add("NAME", NAME_ampl, 0, COUNT, NULL, exports);
}
"""
