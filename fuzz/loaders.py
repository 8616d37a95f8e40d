"""python -m fuzz.loaders: feed damaged input to whatever reads it, guided by coverage where Atheris is installed.

Each reader either understands its input or raises the error that it promises: nothing else, whatever the bytes are.
Without Atheris the inputs are valid ones, damaged at random (a run of bytes removed, repeated, exchanged or overwritten).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]
FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-loaders-"))
os.environ["MICROGRAD_CACHE"] = str(FOLDER / "kernels")
RESULTS = ROOT / "build" / "fuzz-loaders.json"


def read_tape(data: bytes) -> None:
    """A text is refused by ValueError, or is a tape that prints as a text of the same tape."""
    from micrograd.tape.text import parse

    try:
        tape = parse(data.decode("utf-8", "replace"))
    except ValueError:
        return
    assert str(parse(str(tape))) == str(tape), "a tape does not survive being printed"


def read_expression(data: bytes) -> None:
    """A text is refused with a position inside it, or builds a graph."""
    from micrograd.learn.expression import ExpressionError, parse

    text = data.decode("utf-8", "replace")
    try:
        parse(text).build({}, default=1.0)
    except ExpressionError as error:
        assert 0 <= error.position <= len(text), "the position lies outside of the text"


def read_weights(data: bytes) -> None:
    """A file is refused by a ValueError that names it, or holds numbers."""
    from micrograd.nn import files

    path = FOLDER / "weights.json"
    path.write_bytes(data)
    try:
        files.load(path)
    except ValueError as error:
        assert "weights.json" in str(error), f"the error does not name the file: {error}"


def read_checkpoint(data: bytes) -> None:
    """A damaged checkpoint is a ValueError that names the file, and leaves model and optimizer as they were."""
    from micrograd.nn import MLP
    from micrograd.optim import SGD
    from micrograd.train.checkpoints import Checkpoint, DataPosition

    path = FOLDER / "run.json"
    path.write_bytes(_with_checksum(data))
    model = MLP(2, [2, 1], rng=1)
    before = model.state_dict()
    try:
        Checkpoint(path).load(model, SGD(model.parameters(), lr=0.1), random.Random(0), DataPosition(8, 4))
    except ValueError as error:
        assert "run.json" in str(error), f"the error does not name the file: {error}"
        assert model.state_dict() == before, "a refused checkpoint changed the model"


def _with_checksum(data: bytes) -> bytes:
    """The file with a checksum that fits, where it is JSON: what is behind the checksum is to be looked at too."""
    try:
        table = json.loads(data)
        table["check"] = zlib.crc32(json.dumps(table["content"]).encode())
        return json.dumps(table).encode()
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return data


def read_cache(data: bytes) -> None:
    """A file that is not as it was written is not there. (Atheris reads the checksum that is compared, and may forge it.)"""
    from micrograd.compile import cache

    folder = cache.directory()
    assert folder is not None
    key = cache.name("fuzz")
    (folder / key).write_bytes(data)
    found = cache.load(key)
    assert found is None or data == cache._digest(key, found) + found, "damaged code was taken for good"


def read_request(data: bytes) -> None:
    """The body of a request is answered, or refused with a status of 4xx."""
    from micrograd.learn.server import BadRequest, graph_of

    try:
        json.dumps(graph_of(data))
    except BadRequest as error:
        assert 400 <= error.status < 500


CODE = bytes(range(256)) * 4


def _samples() -> dict[str, list[bytes]]:
    """Valid inputs of each reader."""
    from micrograd import grad, jit, math
    from micrograd.compile import cache
    from micrograd.nn import MLP, files
    from micrograd.optim import SGD
    from micrograd.train.checkpoints import Checkpoint, DataPosition
    from micrograd.train.history import History

    tape = str(jit(grad(lambda x, y: math.tanh(x) * y if x > y else math.max([x, y, 2.0]))).tape(1.0, 0.5))
    model = MLP(2, [2, 1], rng=1)
    files.save(model.state_dict(), FOLDER / "sample.json")
    Checkpoint(FOLDER / "run.json").save(
        model, SGD(model.parameters(), lr=0.1), random.Random(0), DataPosition(8, 4), History([])
    )
    cache.save(cache.name("fuzz"), CODE)
    folder = cache.directory()
    kept = (folder / cache.name("fuzz")).read_bytes() if folder else b""
    request = json.dumps({"expression": "a*b + tanh(c)", "values": "a=1, b=-2"}).encode()
    return {
        "tape": [tape.encode()],
        "expression": [b"(a+b)*c", b"b=a*3; c=b+1; d=b*c", b"tanh(x) / max(1e-3, y) - sum(a, b, 2)"],
        "weights": [(FOLDER / "sample.json").read_bytes()],
        "checkpoint": [(FOLDER / "run.json").read_bytes()],
        "cache": [kept],
        "request": [request],
    }


READERS: dict[str, Callable[[bytes], None]] = {
    "tape": read_tape, "expression": read_expression, "weights": read_weights, "checkpoint": read_checkpoint,
    "cache": read_cache, "request": read_request,
}  # fmt: skip


def damaged(sample: bytes, rng: random.Random) -> bytes:
    """A sample after one to four accidents."""
    data = bytearray(sample)
    for _ in range(rng.randint(1, 4)):
        at, size = rng.randrange(len(data) + 1), rng.choice((1, 1, 2, 5, 20))
        kind = rng.randrange(5)
        if kind == 0:
            del data[at : at + size]
        elif kind == 1:
            data[at:at] = data[at : at + size]
        elif kind == 2:
            data[at : at + size] = bytes(rng.randrange(256) for _ in range(size))
        elif kind == 3:
            other = rng.randrange(len(data) + 1)
            data[at : at + size] = data[other : other + size]
        else:
            data[at:at] = rng.choice(
                (b"[" * 2000, b"9" * 400, b"1e400", b"-", b"null", b"\xff", b"\x00", b'"', b"(((", b"%0")
            )
    return bytes(data)


def plain(name: str, seconds: float, seed: int) -> tuple[int, str]:
    """Feed damaged samples for so long; how many, and the first that was not handled."""
    rng, reader = random.Random(seed), READERS[name]
    samples = _samples()[name]
    for sample in samples:
        reader(sample)
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        data = damaged(rng.choice(samples), rng)
        try:
            reader(data)
        except Exception as error:
            return count, f"{type(error).__name__}: {error}\n  input: {data[:400]!r}"
        count += 1
    return count, ""


def guided(name: str, seconds: int) -> None:
    """The same by Atheris, which looks for inputs that reach new code; it ends the process."""
    import atheris

    corpus = FOLDER / "corpus"
    corpus.mkdir()
    with atheris.instrument_imports(include=["micrograd"]):
        samples = _samples()[name]
        READERS[name](samples[0])  # it imports what it reads with
    for k, sample in enumerate(samples):
        (corpus / str(k)).write_bytes(sample)
    options = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1", str(corpus)]
    atheris.Setup([sys.argv[0], *options], READERS[name])
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.loaders", description=__doc__)
    parser.add_argument("readers", nargs="*", help=f"some of {', '.join(READERS)}; all of them by default")
    parser.add_argument("--seconds", type=int, default=10, help="for each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--guided", action="store_true", help="use Atheris; for one reader at a time")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.guided:
        guided(given.readers[0], given.seconds)
        return 0
    bad, counts = 0, {}
    for name in given.readers or READERS:
        count, reason = plain(name, given.seconds, given.seed)
        counts[name] = count
        bad += bool(reason)
        print(f"{name}: {count} inputs, {reason or 'all handled'}", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"inputs": counts, "failures": bad}))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
