"""Build the C engine with AddressSanitizer and UndefinedBehaviorSanitizer, and run the engine's tests on it.

    python tools/sanitize.py [--leaks | --races] [--only hostile,faults] [pytest arguments]

The build goes to build/sanitize, beside the usual one. Each node is an allocation of its own there, and Python
takes its memory from malloc, so that a use after free is seen. With --leaks, LeakSanitizer looks for memory that nothing
refers to at exit; what Python and LLVM leave there is no matter, but a frame of the C engine in the record of a leak is.

With --races, the build is one with ThreadSanitizer, for the tests that use threads. An ordinary CPython is not instrumented:
its locks are seen, since they are those of the system, and its own memory is not. With a CPython that was configured with
--with-thread-sanitizer (make sanitize-threads PYTHON=...), objects that the C engine shares with the interpreter are seen
too; reports in which no frame is one of the C engine are then counted apart. Machine code of kernels is not instrumented;
the C code that deals out rows to threads, and all that is done under the interpreter lock or without it, is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "sanitize"
FLAGS = (
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1 -DMICROGRAD_SANITIZE"
)
THREADS = "-fsanitize=thread -fno-omit-frame-pointer -g -O1 -DMICROGRAD_SANITIZE"
THREADED = ["backward", "by_hand", "hostile", "safety", "blocks", "calls", "captured", "kept_numbers", "no_grad_calls",
            "vmap_rows", "vmap_values", "tiles", "leave"]  # fmt: skip
INSTRUMENTED = "--with-thread-sanitizer" in str(sysconfig.get_config_var("CONFIG_ARGS"))
RACE = """
import ctypes, threading
library = ctypes.CDLL({!r})
threads = [threading.Thread(target=library.add, args=(5_000_000,)) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
"""
TESTS = ["tiny", "engine", "backward", "copies", "safety", "hostile", "by_hand", "faults", "faults_compiled", "primitive",
         "seeds", "math", "ops", "random", "transforms", "tape", "trace", "calls", "captured", "kept_numbers", "no_grad_calls",
         "vmap", "vmap_values", "tiles", "behind_steps", "no_grad", "comparisons", "scopes", "unread_values",
         "classes_in_later_calls", "plain_runs", "steps", "settled_steps", "layouts", "changed_modules"]  # fmt: skip


def build(flags: str) -> None:
    shutil.rmtree(PLACE, ignore_errors=True)
    command = ["setup.py", "--quiet", "build", "--build-lib", str(PLACE / "lib"), "--build-temp", str(PLACE / "temp")]
    env = os.environ | {"MICROGRAD_CFLAGS": flags, "MICROGRAD_REQUIRE_NATIVE": "1"}
    subprocess.run([sys.executable, "-W", "ignore", *command], cwd=ROOT, env=env, check=True)


def runtime(name: str) -> str:
    """The compiler's library of a sanitizer, which has to be in the process before Python is."""
    compiler = os.environ.get("CC", "cc").split()
    done = subprocess.run([*compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = done.stdout.strip()
    if not os.path.isabs(path):
        sys.exit(f"{compiler[0]} has no {name}: install gcc, or set CC to a compiler with this sanitizer")
    return path


def main() -> int:
    races = "--races" in sys.argv
    library = runtime("libtsan.so" if races else "libasan.so")
    build(THREADS if races else FLAGS)
    env = {name: x for name, x in os.environ.items() if not name.startswith("MICROGRAD")} | {
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",  # Python itself leaves memory at exit
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "MICROGRAD_REQUIRE_NATIVE": "1",
        # Processes that tests start import the same build.
        "PYTHONPATH": os.pathsep.join([str(PLACE / "lib"), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    arguments = sys.argv[1:]
    names = THREADED if races else TESTS
    python = [sys.executable]
    if races:
        arguments.remove("--races")
        env["TSAN_OPTIONS"] = f"exitcode=0:ignore_noninstrumented_modules=1:log_path={PLACE / 'races'}"
        if shutil.which("setarch"):  # the sanitizer wants its part of the address space free
            python = ["setarch", "-R", sys.executable]
        if not _a_race_is_seen(python, env):
            sys.exit(
                "a race that was made on purpose is not seen: ThreadSanitizer does not work with this compiler and system"
            )
    leaks = "--leaks" in arguments
    if leaks:
        arguments.remove("--leaks")
        env["ASAN_OPTIONS"] = env["ASAN_OPTIONS"].replace("detect_leaks=0", "detect_leaks=1")
        env["LSAN_OPTIONS"] = f"exitcode=0:log_path={PLACE / 'leaks'}"
    if arguments[:1] == ["--only"]:
        names, arguments = arguments[1].split(","), arguments[2:]
    tests = [str(next((ROOT / "tests").glob(f"*/test_{name}.py"))) for name in names]
    options = ["-q", "-p", "no:cacheprovider", "-o", f"pythonpath={PLACE / 'lib'}", "-m", "not slow"]
    # Not the other twin, what starts processes, and what limits the address space, of which a sanitizer takes terabytes.
    chosen = ["-k", "not Python and not pytorch and not every_process and not fit_into_memory"]
    done = subprocess.run([*python, "-m", "pytest", *options, *chosen, *tests, *arguments], env=env).returncode
    if races:
        reports = _races()
        ours = [report for report in reports if "_engine" in report or "native/" in report]
        how = "" if INSTRUMENTED else "not "
        print(f"{len(ours)} races of the C engine, {len(reports) - len(ours)} others; Python is {how}instrumented")
        print(*ours, sep="\n\n")
        return done or len(ours)
    return done or (leaks and _leaks_of_the_engine())


def _a_race_is_seen(python: list[str], env: dict[str, str]) -> bool:
    """Whether two threads that add to one number are reported."""
    source, library = PLACE / "race.c", PLACE / "race.so"
    source.write_text("static volatile int total; void add(int n) { for (int i = 0; i < n; i++) total += i; }\n")
    compiler = os.environ.get("CC", "cc").split()
    subprocess.run([*compiler, "-shared", "-fPIC", *THREADS.split(), str(source), "-o", str(library)], check=True)
    subprocess.run([*python, "-c", RACE.format(str(library))], env=env, check=True)
    seen = _races()
    for path in PLACE.glob("races*"):
        path.unlink()
    return bool(seen)


def _races() -> list[str]:
    """The reports of ThreadSanitizer."""
    text = "".join(path.read_text(errors="replace") for path in PLACE.glob("races*"))
    return [part for part in text.split("==================") if "WARNING: ThreadSanitizer" in part]


def _leaks_of_the_engine() -> int:
    """How many records of leaks have a frame of the C engine in them; they are printed."""
    text = "".join(path.read_text(errors="replace") for path in PLACE.glob("leaks*"))
    records = [record for record in text.split("\n\n") if " leak of " in record]
    ours = [record for record in records if "_engine" in record or "native/" in record]
    print(f"{len(records)} leaks at exit, {len(ours)} of the C engine", *ours, sep="\n\n")
    return len(ours)


if __name__ == "__main__":
    sys.exit(main())
