"""Build the C engine with AddressSanitizer and UndefinedBehaviorSanitizer, and run the engine's tests on it.

    python tools/sanitize.py [--leaks] [--only hostile,faults] [pytest arguments]

The build goes to build/sanitize, beside the usual one. Each node is an allocation of its own there, and Python
takes its memory from malloc, so that a use after free is seen. With --leaks, LeakSanitizer looks for memory that nothing
refers to at exit; what Python and LLVM leave there is no matter, but a frame of the C engine in the record of a leak is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "sanitize"
FLAGS = (
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1 -DMICROGRAD_SANITIZE"
)
TESTS = [
    "tiny",
    "engine",
    "backward",
    "copies",
    "safety",
    "hostile",
    "by_hand",
    "faults",
    "faults_compiled",
    "primitive",
    "seeds",
    "math",
    "ops",
    "random",
    "transforms",
    "tape",
    "trace",
    "calls",
    "captured",
    "vmap",
    "vmap_values",
    "tiles",
]


def build() -> None:
    shutil.rmtree(PLACE, ignore_errors=True)
    command = ["setup.py", "--quiet", "build", "--build-lib", str(PLACE / "lib"), "--build-temp", str(PLACE / "temp")]
    env = os.environ | {"MICROGRAD_CFLAGS": FLAGS, "MICROGRAD_REQUIRE_NATIVE": "1"}
    subprocess.run([sys.executable, "-W", "ignore", *command], cwd=ROOT, env=env, check=True)


def runtime() -> str:
    """The compiler's libasan, which has to be in the process before Python is."""
    compiler = os.environ.get("CC", "cc").split()
    done = subprocess.run([*compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    path = done.stdout.strip()
    if not os.path.isabs(path):
        sys.exit(f"{compiler[0]} has no libasan.so: install gcc, or set CC to a compiler with AddressSanitizer")
    return path


def main() -> int:
    library = runtime()
    build()
    env = {name: x for name, x in os.environ.items() if not name.startswith("MICROGRAD")} | {
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",  # Python itself leaves memory at exit
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "MICROGRAD_REQUIRE_NATIVE": "1",
    }
    arguments = sys.argv[1:]
    names = TESTS
    leaks = "--leaks" in arguments
    if leaks:
        arguments.remove("--leaks")
        env["ASAN_OPTIONS"] = env["ASAN_OPTIONS"].replace("detect_leaks=0", "detect_leaks=1")
        env["LSAN_OPTIONS"] = f"exitcode=0:log_path={PLACE / 'leaks'}"
    if arguments[:1] == ["--only"]:
        names, arguments = arguments[1].split(","), arguments[2:]
    tests = [str(next((ROOT / "tests").glob(f"*/test_{name}.py"))) for name in names]
    options = ["-q", "-p", "no:cacheprovider", "-o", f"pythonpath={PLACE / 'lib'}", "-m", "not slow"]
    chosen = ["-k", "not Python and not pytorch and not every_process"]  # the other twin, and what starts processes
    done = subprocess.run([sys.executable, "-m", "pytest", *options, *chosen, *tests, *arguments], env=env).returncode
    return done or (leaks and _leaks_of_the_engine())


def _leaks_of_the_engine() -> int:
    """How many records of leaks have a frame of the C engine in them; they are printed."""
    text = "".join(path.read_text(errors="replace") for path in PLACE.glob("leaks*"))
    records = [record for record in text.split("\n\n") if " leak of " in record]
    ours = [record for record in records if "_engine" in record or "native/" in record]
    print(f"{len(records)} leaks at exit, {len(ours)} of the C engine", *ours, sep="\n\n")
    return len(ours)


if __name__ == "__main__":
    sys.exit(main())
