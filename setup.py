"""Build the C twin of the engine; without a C compiler the install goes on with the Python one."""

import os
import sys

from setuptools import Extension, setup

PARTS = (
    "ops",
    "node",
    "make",
    "captured",
    "sweep",
    "protocol",
    "trace",
    "point",
    "kernel",
    "batch",
    "again",
    "optim",
    "optim_rules",
)
required = os.environ.get("MICROGRAD_REQUIRE_NATIVE", "0") not in ("", "0")
# The bits must not depend on the compiler: no contraction of a*b+c, no reordering.
flags = ["/O2", "/fp:precise"] if sys.platform == "win32" else ["-O3", "-ffp-contract=off", "-fno-math-errno"]

setup(
    ext_modules=[
        Extension(
            "micrograd._engine",
            ["src/micrograd/native/engine.c", "src/micrograd/native/optim.c"],
            depends=[f"src/micrograd/native/{name}.h" for name in PARTS],
            extra_compile_args=flags + os.environ.get("MICROGRAD_CFLAGS", "").split(),
            extra_link_args=os.environ.get("MICROGRAD_CFLAGS", "").split(),
            optional=not required,
        )
    ]
)
