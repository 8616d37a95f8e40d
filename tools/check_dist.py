"""Check the sdist and the wheel in a folder against the files that git tracks.

    python tools/check_dist.py dist

The sdist must have every file that is needed to build and to test; the wheel every data file of the package, no C source,
and the tag of what it holds.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ONLY_IN_GIT = (".", "benchmarks/results/")  # dot files and folders; results are kept where they were measured


def tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def check_sdist(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    missing = [name for name in tracked() if name not in names and not name.startswith(ONLY_IN_GIT)]
    return [f"{path.name} lacks {name}" for name in missing]


def check_wheel(path: Path) -> list[str]:
    names = set(zipfile.ZipFile(path).namelist())
    wanted = [name.removeprefix("src/") for name in tracked() if name.startswith("src/micrograd/")]
    sources = (".c", ".h")
    wrong = [f"{path.name} lacks {name}" for name in wanted if not name.endswith(sources) and name not in names]
    wrong += [f"{path.name} holds the source {name}" for name in names if name.endswith(sources)]
    native = any(Path(name).name.startswith("_engine.") and name.endswith((".so", ".pyd")) for name in names)
    if native == path.name.endswith("py3-none-any.whl"):
        wrong.append(f"{path.name} {'has' if native else 'lacks'} the C engine, and its tag says otherwise")
    return wrong


def main(folder: str) -> int:
    wrong = [line for path in Path(folder).glob("*.tar.gz") for line in check_sdist(path)]
    wheels = list(Path(folder).glob("*.whl"))
    wrong += [line for path in wheels for line in check_wheel(path)]
    if not wheels:
        wrong.append(f"no wheel in {folder}")
    print("\n".join(wrong) or f"{folder}: the sdist and the wheel are complete")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
