"""The package itself as a pure wheel, made from its installed files: what a browser's Python can take."""

from __future__ import annotations

import io
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import micrograd

ROOT = Path(micrograd.__file__).parent
KINDS = (".py", ".json", ".txt", ".css", ".js", ".md")
# What no exercise needs: the compiler, its native sources, and what trains on many machines.
LEFT_OUT = ("native", "cluster", "assets", "compile", "interop")
EDITOR = "learn/static/codemirror.js"  # 100 kB packed: the pages beside the wheel have it in themselves
TIME = (2020, 1, 1, 0, 0, 0)  # the same bytes for the same files


def name() -> str:
    """The file name of the wheel."""
    return f"micrograd_next-{micrograd.__version__}-py3-none-any.whl"


def build() -> bytes:
    """The wheel."""
    info = f"micrograd_next-{micrograd.__version__}.dist-info"
    files = {f"micrograd/{path.relative_to(ROOT).as_posix()}": path.read_bytes() for path in _sources()}
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: micrograd-next\nVersion: {micrograd.__version__}\n".encode()
    )
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: micrograd\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = [f"{path},sha256={_digest(text)},{len(text)}" for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]).encode() + b"\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            entry = zipfile.ZipInfo(path, TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, text)
    return out.getvalue()


def _sources() -> list[Path]:
    found = sorted(path for path in ROOT.rglob("*") if path.suffix in KINDS and "__pycache__" not in path.parts)
    places = {path: path.relative_to(ROOT) for path in found}
    return [path for path, at in places.items() if at.parts[0] not in LEFT_OUT and at.as_posix() != EDITOR]


def _digest(text: bytes) -> str:
    return urlsafe_b64encode(sha256(text).digest()).rstrip(b"=").decode()
