"""Build the C twin of the engine; without a C compiler the install goes on with the Python one."""

import os
import sys
from glob import glob

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools"))
from index_page import index_page

NATIVE = "src/micrograd/native"
required = os.environ.get("MICROGRAD_REQUIRE_NATIVE", "0") not in ("", "0")
# The bits must not depend on the compiler: no contraction of a*b+c, no reordering. Hidden names are reached without a table:
# a training step of an MLP takes 8 % less time.
unix = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden"]
flags = ["/O2", "/fp:precise"] if sys.platform == "win32" else unix


class wheel(bdist_wheel):  # type: ignore[misc]
    """Tag a wheel without the C engine py3-none-any, so that a cache never offers it in place of the fast one."""

    def run(self) -> None:
        self.run_command("build_ext")
        built = self.get_finalized_command("build_ext").get_outputs()
        if not all(os.path.exists(path) for path in built):
            self.distribution.ext_modules = []
            self.root_is_pure = True
            for name in ("build", "build_py", "build_ext"):  # they have the folders of a build with an extension
                self.distribution.command_obj.pop(name, None)
                self.distribution.have_run.pop(name, None)
        super().run()


setup(
    cmdclass={"bdist_wheel": wheel},
    long_description=index_page(),
    long_description_content_type="text/markdown",
    ext_modules=[
        Extension(
            "micrograd._engine",
            sorted(glob(f"{NATIVE}/*.c")),
            depends=sorted(glob(f"{NATIVE}/*.h")),
            extra_compile_args=flags + os.environ.get("MICROGRAD_CFLAGS", "").split(),
            extra_link_args=os.environ.get("MICROGRAD_CFLAGS", "").split(),
            optional=not required,
        )
    ],
)
