"""Write the tables of the elementary functions (compile/elementary/tables.py), with mpmath at 70 digits.

    python tools/elementary.py

Three functions take the steps of glibc since 2.28 (exp, log and pow of ARM's optimized routines, which are under the MIT
licence), so that they have its bits. Their tables follow from a few rules, which are written down here; only the reciprocals of
the logarithm were searched for by their author, and are given by how far they are from the middle of their intervals.
"""

from __future__ import annotations

import struct
from pathlib import Path

import mpmath

FILE = Path(__file__).parent.parent / "src/micrograd/compile/elementary/tables.py"
SIZE = 128
LOG_FROM, POW_FROM = 0x3FE6000000000000, 0x3FE6955500000000  # the bits of where the first interval begins
# 1/c of each interval of the logarithm less the nearest double to 1/middle, in units of 2**-53.
SEARCHED = (
    -46284764, -115287508, -468669678, -249329608, 38090024, -246646796, -1002326510, 684959852, -469186612,
    114842368, 1027234976, -481782956, 170339482, 57318300, 568107598, 685126114, -136840918, -692289424,
    -180227532, -928045960, 570685416, -979097650, 752109696, 94795624, -847275702, -521977068, 672214042,
    896483156, 308354710, 895786768, 482455110, -841273428, -436853460, -193753368, -411670436, -736356396,
    -690257420, -1020569004, 963527462, 418672224, 858672620, 30978658, 884706354, -835668660, 146366742,
    1030465360, 1015969072, 167574550, 660819904, 303193368, 755488408, 396605714, 429596542, -691915432,
    712326214, 431020044, -459795920, -263419452, 430427236, -929038414, -665643992, 771561040, -800689572,
    512416278, 956713054, 691440674, 256933754, 435031502, -324096686, 590255160, -471785550, -138738694,
    187333682, -545720260, 183830348, 58036118, 517786458, 772018560, -483266014, 136798762, 386341370,
    408940642, 65060217, -120872168, 189498853, -32395328, -49955913, 154042178, -346113480, 148348366,
    -396488327, -427431396, 107119491, -500798201, 212184347, 305888811, -330297730, -91422864, 6707636,
    273897542, -512931067, -500150233, 485589437, -280752730, 106848032, 30953893, -291342514, -408884927,
    149302919, -107851081, 225432558, 460497078, -452391632, -490679353, 508304210, 493208081, 336502878,
    526975298, -457361038, -312310462, -365194252, -421357131, 362015322, 310793228, -441535439, -69145545,
    -528727990, 433364383,
)  # fmt: skip


def number(bits: int) -> float:
    """Return the double that has these bits."""
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def bits_of(x: float) -> int:
    """Return the 64 bits of a double."""
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def powers_of_two() -> list[int]:
    """Pairs for 2^(k/128): how far it is from its rounded value, and the bits of that less k in the exponent."""
    cells = []
    for k in range(SIZE):
        exactly = mpmath.mpf(2) ** (mpmath.mpf(k) / SIZE)
        rounded = float(exactly)
        cells += [bits_of(float(exactly / mpmath.mpf(rounded) - 1)), (bits_of(rounded) - (k << 45)) % 2**64]
    return cells


def _logarithm(inverse: float) -> tuple[float, float]:
    """-log of a number: a multiple of 2^-43, so that adding a multiple of ln 2 is exact, and what is missing."""
    exactly = -mpmath.log(mpmath.mpf(inverse))
    rounded = float(mpmath.nint(exactly * 2**43) / mpmath.mpf(2) ** 43)
    return rounded, float(exactly - mpmath.mpf(rounded))


def logarithms() -> list[float]:
    """Pairs (1/c, log c) for log."""
    cells = []
    for k in range(SIZE):
        low, high = (number(LOG_FROM + ((k + j) << 45)) for j in (0, 1))
        inverse = 2.0 / (low + high) + SEARCHED[k] * 2.0**-53
        cells += [inverse, _logarithm(inverse)[0]]
    return cells


def long_logarithms() -> list[float]:
    """Rows (1/c, log c, what is missing of that, 0) for pow; 1/c is so short that z/c - 1 is exact."""
    cells = []
    for k in range(SIZE):
        low, high = (number(POW_FROM + ((k + j) << 45)) for j in (0, 1))
        middle = 2.0 / (low + high)
        short = round(middle * 128.0) / 128.0 if middle >= 1.0 else round(middle * 256.0) / 256.0
        cells += [short, *_logarithm(short), 0.0]
    return cells


def bits_of_two_over_pi() -> list[int]:
    """64 zeros and the first bits of 2/π, in words of 64."""
    words = 20
    with mpmath.workprec(64 * words + 100):
        whole = int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** (64 * words)))
    return [0, *((whole >> (64 * (words - 1 - k))) & (2**64 - 1) for k in range(words))]


def text() -> str:
    """Return the file."""
    lines = ['"""Tables of the elementary functions, written by tools/elementary.py with mpmath."""', ""]
    with mpmath.workdps(70):
        tables = {
            "POWERS_OF_TWO": (powers_of_two(), "2^(k/128): what its rounding left out, relative, and its bits less k << 45"),
            "LOGARITHMS": (logarithms(), "1/c and log(c)"),
            "LONG_LOGARITHMS": (long_logarithms(), "1/c, log(c), what is missing of that, 0"),
            "TWO_OVER_PI": (bits_of_two_over_pi(), "64 zeros and the first bits of 2/π"),
        }  # fmt: skip
    for name, (cells, what) in tables.items():
        lines += [f"# {what}", f"{name} = ("]
        row = ""
        for cell in cells:
            word = f"0x{cell:016X}," if isinstance(cell, int) else f"{cell!r},"
            if len(row) + len(word) > 115:
                lines.append(f"    {row}")
                row = ""
            row += f" {word}" if row else word
        lines += [f"    {row}", ")  # fmt: skip"]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
