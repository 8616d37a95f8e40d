"""micrograd info: the version, which engine runs, which extras and devices are there, and how to get what is not."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from micrograd import install
from micrograd.install import EXTRAS


def add_arguments(parser: Any) -> None:
    """It takes none."""


def run(args: Any) -> int:
    """Print the report."""
    print(report())
    return 0


def report() -> str:
    """What is installed, in lines."""
    from micrograd import __version__, engine

    beside = install.original_beside()
    lines = [
        f"micrograd {__version__} on Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        *([f"warning   {beside}"] if beside else []),
        f"engine    {'C' if engine.NATIVE else 'Python'}{'' if engine.NATIVE else _why_python()}",
    ]
    missing = []
    for extra, (use, packages) in EXTRAS.items():
        found = {package: _version(package) for package in packages}
        told = ", ".join(f"{package} {number}" if number else f"{package} missing" for package, number in found.items())
        lines.append(f"{extra:<9} {told}")
        if not all(found.values()):
            missing.append((extra, use))
    if engine.NATIVE and "jit" not in [extra for extra, _ in missing]:
        lines += _compiled()
    for extra, use in missing:
        lines.append(f"for {use}: {install.command(extra)}")
    return "\n".join(lines)


def _compiled() -> list[str]:
    """What compiled code has here: elementary functions and devices."""
    from micrograd.compile import cuda, opencl
    from micrograd.compile.llvm import vector_math
    from micrograd.errors import CompileError

    lines = [f"{'functions' if k == 0 else '':<9} {line}" for k, line in enumerate(vector_math.told())]
    for name, device in (("cuda", cuda.driver.device), ("opencl", opencl.runtime.device)):
        try:
            lines.append(f"{name:<9} {device(0).name()}")
        except CompileError as reason:
            why = str(reason).splitlines()[0].removeprefix(f'device="{name}"').lstrip(": ")
            lines.append(f"{name:<9} none: it {why}" if why.startswith("needs") else f"{name:<9} none: {why}")
    return lines


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _why_python() -> str:
    import os

    if os.environ.get("MICROGRAD_PURE", "0") not in ("", "0"):
        return ", chosen by MICROGRAD_PURE; unset it for the C engine, which gives the same numbers many times faster"
    return f": the C one was not built. {install.native_way_out()}"
