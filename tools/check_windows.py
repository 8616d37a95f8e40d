"""Compile every unit of the C engine alone, for Windows, with the cross compiler of mingw-w64.

    python tools/check_windows.py        needs x86_64-w64-mingw32-gcc (on Debian: apt-get install gcc-mingw-w64-x86-64)

Python's headers are those of the interpreter that runs this, with a pyconfig.h for 64-bit Windows in the place of its own.
Nothing is linked or run: that needs Python's import library, and Windows.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

COMPILER = "x86_64-w64-mingw32-gcc"
NATIVE = Path(__file__).resolve().parent.parent / "src" / "micrograd" / "native"
# What CPython's PC/pyconfig.h says of 64-bit Windows, as far as its headers ask.
CONFIG = """
#define MS_WIN32 1
#define MS_WINDOWS 1
#define MS_WIN64 1
#define NT_THREADS 1
#define WITH_THREAD 1
#define HAVE_DECLSPEC_DLL 1
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_WCHAR_H 1
#define HAVE_LONG_LONG 1
#define HAVE_SSIZE_T 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_TIME_T 8
#define SIZEOF_PID_T 8
#define SIZEOF_OFF_T 4
#define SIZEOF_FPOS_T 8
#define ALIGNOF_MAX_ALIGN_T 16
#include <basetsd.h>
"""


def main() -> int:
    if shutil.which(COMPILER) is None:
        print(f"{COMPILER} is not installed, so nothing was compiled for Windows")
        return 0
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        headers = Path(folder) / "include"
        shutil.copytree(sysconfig.get_paths()["include"], headers, ignore=shutil.ignore_patterns("pyconfig*"))
        (headers / "pyconfig.h").write_text(CONFIG)
        for unit in sorted(NATIVE.glob("*.c")):
            flags = ["-std=c11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-fsyntax-only"]
            if subprocess.run([COMPILER, *flags, "-isystem", str(headers), str(unit)]).returncode:
                failed.append(unit.name)
    print(
        f"do not compile for Windows: {', '.join(failed)}" if failed else "every unit compiles alone, for Windows too"
    )
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
