"""Run TestU01's batteries on the random numbers that compiled code draws, in several orders of drawing.

    python tools/random_quality.py [--battery SmallCrush] [--testu01 FOLDER] [--only NAME]

Needs gcc and TestU01 (Debian: libtestu01-0-dev, from non-free; --testu01 names a folder with usr/include and usr/lib in it).
A battery computes p-values of many statistics; it names those outside of [0.001, 0.999]. One such p-value among hundreds is
expected, one near 0 or 1 to many digits is a defect. Exits with 1 when a p-value is below 1e-6 or above 1 - 1e-6.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from micrograd import random, vmap

CHUNK = 1 << 20
READER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unif01.h>
#include <bbattery.h>

static unsigned int words[1 << 16];
static size_t have, at;

static unsigned int next(void)
{
    if (at == have) {
        have = fread(words, sizeof *words, 1 << 16, stdin);
        at = 0;
        if (!have) exit(3);
    }
    return words[at++];
}

int main(void)
{
    unif01_Gen *gen = unif01_CreateExternGenBits("micrograd.random", next);
    bbattery_BATTERY(gen);
    for (int j = 0; j < bbattery_NTests; j++)
        printf("p %s = %.17g\n", bbattery_TestNames[j], bbattery_pVal[j]);
    return 0;
}
"""

uniform: Any = vmap(lambda key, row, draw: random.uniform(key, row=row, draw=draw))


def draws(order: str) -> Iterator[Any]:
    """Uniform numbers without end: along the draws of one row, along rows, along both, or along keys."""
    start, zero = 0, np.zeros(CHUNK)
    while True:
        n = np.arange(start, start + CHUNK, dtype=float)
        start += CHUNK
        if order == "draws":
            yield uniform(zero, zero, n)
        elif order == "rows":
            yield uniform(zero, n, zero)
        elif order == "keys":
            yield uniform(n, zero, zero)
        elif order == "split keys":
            yield uniform(np.array(fold(zero, n)), zero, zero)
        else:  # 64 draws of each row, as a simulation takes them
            yield uniform(zero, n // 64, n % 64)


fold: Any = vmap(random.fold_in)


def reversed_bits(words: Any) -> Any:
    """The words with their bits in the opposite order: batteries look at the upper bits most closely."""
    for mask, shift in ((0x55555555, 1), (0x33333333, 2), (0x0F0F0F0F, 4), (0x00FF00FF, 8), (0x0000FFFF, 16)):
        words = (words & mask) << shift | (words >> shift) & mask
    return words


def words(order: str, low: bool) -> Iterator[bytes]:
    """The stream as words of 32 bits: the upper bits of each draw, or the lower ones, the last bit first."""
    for u in draws(order):
        bits = (u * 2.0**53).astype(np.uint64)
        yield (reversed_bits(bits & 0xFFFFFFFF) if low else bits >> 21).astype(np.uint32).tobytes()


def build(battery: str, root: Path, folder: Path) -> Path:
    """Compile the reader."""
    source, program = folder / "reader.c", folder / "reader"
    source.write_text(READER.replace("BATTERY", battery))
    found = sorted(root.glob("usr/lib/*/libtestu01*.a")) or sorted(root.glob("usr/lib/libtestu01*.a"))
    libraries = [str(p) for p in found] if found else ["-ltestu01", "-ltestu01probdist", "-ltestu01mylib"]
    folders = [root / "usr/include", *root.glob("usr/include/*-linux-gnu")]
    includes = [f"-I{f / more}" for f in folders for more in ("", "testu01")]
    command = ["gcc", "-O2", "-o", str(program), str(source), *includes]
    subprocess.run([*command, "-Wl,--start-group", *libraries, "-Wl,--end-group", "-l:libgmp.so.10", "-lm"], check=True)
    return program


def run(program: Path, order: str, low: bool) -> list[tuple[str, float]]:
    """Feed one stream to the battery; return its statistics and their p-values."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False) as process:
        assert process.stdin and process.stdout
        out, said = process.stdout, list[bytes]()
        reader = threading.Thread(target=lambda: said.append(out.read()))
        reader.start()
        with suppress(BrokenPipeError):
            for part in words(order, low):
                process.stdin.write(part)
        with suppress(BrokenPipeError):
            process.stdin.close()
        reader.join()
    text = said[0].decode(errors="replace")
    return [(name, float(p)) for name, p in re.findall(r"^p (.*) = (\S+)$", text, re.MULTILINE)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--battery", default="SmallCrush", choices=["SmallCrush", "Crush", "BigCrush"])
    parser.add_argument("--testu01", type=Path, default=Path("/"))
    parser.add_argument("--only", help="the order of one stream")
    args = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        program = build(args.battery, args.testu01, Path(folder))
        for order in ("draws", "rows", "64 draws of each row", "keys", "split keys"):
            for low in (False, True):
                if args.only and args.only != order:
                    continue
                found = run(program, order, low)
                odd = [(name, p) for name, p in found if not 1e-3 < p < 1 - 1e-3]
                bad += sum(not 1e-6 < p < 1 - 1e-6 for _, p in found) + (not found)
                told = ", ".join(f"{name} {p:.2g}" for name, p in odd) or "none"
                print(f"{args.battery}, {order}, {'lower' if low else 'upper'} bits: {len(found)} p-values, "
                      f"outside of [0.001, 0.999]: {told}", flush=True)  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
