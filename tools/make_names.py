"""Write the bundled list of names: invented ones, put together from syllables, the same list at each run."""

import random
from itertools import pairwise
from pathlib import Path

BEGINNINGS = """
a al am an ar as au av ba bel ben bo bra bri ca cal cam car cas ce cla co cor cy da dal dan dar del di do dor
e ed el em en er es ev fa fal fe fi flo fra ga gal ge gil gra gwe ha hal har he hel hol i il im in ir is iv ja
jan jas je jo jor ju ka kal kar ke kel ki kor la lan lar le len li lil lo lor lu ly ma mal mar mel mi mil mo
mor na nal ne nel ni no nor o ol or os pa pel pen per phi pi qua qui ra ral ran re ri ro ros ru sa sal sam se
sel sha si sil so sol ste ta tal tam te tes tho ti to tor tri u ul ur va val ve ver vi vol wa wen wi wil xa
xan ya yo yu za zel zi zo
"""
MIDDLES = """
a ba be bi da de di do e i la le li lo ma me mi na ne ni no ra re ri ro sa se si so ta te ti va ve vi
"""
OPEN_ENDINGS = """
a ana anna ara bella bia da dia dra ela ella ena enna ia ica ie ila illa ina ira issa ita la lia lina lla
lotta ly mia my na nia nna nora ny ra ria rina sa sha sia ta tha tia va via xa y ya za zia
"""
SHUT_ENDINGS = """
an ander ard bert bin bran by cas den der don dred dric dwin el en er eth ett gan ian iel in is ius jin kai
ker kin lan las len les lin lis lon lor mar mas min mon mund nan nard nas neth nick nis non o on or os quin
rad ram ran ren rick rin ris ron rus sen son stan tan ter thor tin ton tor us van vin ward win wyn yn zo
"""
VOWELS = "aeiouy"
WORDS = {"amen", "hella", "key", "paris", "reward", "titha"}  # what comes out and is no name


def is_speakable(name: str) -> bool:
    """Whether a name is easy to say: no three vowels or consonants in a row, no stutter, no double letter at an end."""
    runs = "".join("v" if c in VOWELS else "c" for c in name)
    stutter = any(name[i : i + 2] == name[i + 2 : i + 4] for i in range(len(name) - 3))
    double = any(a == b and a not in "lnst" for a, b in pairwise(name))
    ends = name[0] == name[1] or name[-1] == name[-2]
    return 3 <= len(name) <= 9 and "vvv" not in runs and "ccc" not in runs and not stutter and not double and not ends


def make_names(count: int, seed: int = 7) -> list[str]:
    """So many distinct names, in alphabetical order."""
    rng = random.Random(seed)
    names: set[str] = set()
    while len(names) < count:
        middle = rng.choice(MIDDLES.split()) if rng.random() < 0.3 else ""
        ending = rng.choice((OPEN_ENDINGS, SHUT_ENDINGS))
        name = rng.choice(BEGINNINGS.split()) + middle + rng.choice(ending.split())
        if is_speakable(name) and name not in WORDS:
            names.add(name)
    return sorted(names)


if __name__ == "__main__":
    target = Path(__file__).parents[1] / "src" / "micrograd" / "assets" / "names.txt"
    target.write_text("\n".join(make_names(1200)) + "\n", encoding="utf-8")
    print(f"wrote 1200 names to {target}")
