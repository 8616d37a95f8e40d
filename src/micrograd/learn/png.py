"""SVG to PNG by whatever converter the machine has; the package itself needs none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile

from micrograd import install
from micrograd.errors import MicrogradError

SCALE = 2  # pixels of the PNG for one of the drawing: sharp on a slide
SECONDS = 60
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


class NoConverter(MicrogradError, RuntimeError):
    """No program on this machine turns an SVG into a PNG."""


def convert(svg: str, path: str) -> None:
    """Write an SVG text as a PNG file."""
    try:
        import cairosvg  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except (ImportError, OSError):  # OSError: the module without its C library
        pass
    else:
        cairosvg.svg2png(bytestring=svg.encode(), write_to=path, scale=SCALE)
        return
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "drawing.svg")
        with open(source, "w", encoding="utf-8") as file:
            file.write(svg)
        command = _command(svg, source, os.path.abspath(path), folder)
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != 0 or not os.path.exists(path):
        raise NoConverter(f"{os.path.basename(command[0])} could not write {path}: {done.stderr.strip()[-300:]}")


def _command(svg: str, source: str, path: str, folder: str) -> list[str]:
    if program := shutil.which("rsvg-convert"):
        return [program, "--zoom", str(SCALE), "--output", path, source]
    if program := shutil.which("inkscape"):
        return [program, source, "--export-type=png", f"--export-filename={path}", f"--export-dpi={96 * SCALE}"]
    for name in BROWSERS:
        if program := shutil.which(name):
            size = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
            w, h = (round(float(x)) for x in size.groups()) if size else (800, 600)
            sandbox = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
            return [program, "--headless", "--disable-gpu", "--hide-scrollbars", *sandbox, f"--user-data-dir={folder}",
                    f"--force-device-scale-factor={SCALE}", f"--window-size={w},{h}", f"--screenshot={path}",
                    "--default-background-color=00000000", f"file://{source}"]  # fmt: skip
    raise NoConverter(
        "a PNG needs a converter, and this machine has none.\n"
        "  Save as .svg (every browser and slide program reads it), or install rsvg-convert, inkscape, chromium, or cairosvg:\n"
        f"  {install.command_for('cairosvg')}"
    )
