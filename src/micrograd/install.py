"""How this copy of micrograd was installed, and the commands that mend or extend it.

    >>> from micrograd import install
    >>> "install" in install.command("jit")
    True

The distribution is called micrograd-next, because `micrograd` on the Python Package Index is the original; the import is
`micrograd` in both. Every message that tells the user to install something gets its command here.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DISTRIBUTION = "micrograd-next"
PLACE = os.path.dirname(os.path.abspath(__file__))  # the package itself

EXTRAS = {  # extra -> (what it is for, its packages)
    "jit": ("functions compiled to machine code", ("numpy", "llvmlite")),
    "train": ("progress bars, pictures, .safetensors, digits", ("matplotlib", "rich", "safetensors", "scikit-learn")),
    "notebook": ("graphs to step through in a notebook", ("anywidget",)),
    "cluster": ("rows on the workers of a cluster", ("numpy", "llvmlite", "dask", "distributed")),
    "scipy": ("minimize, least_squares, root and sparse Jacobians", ("numpy", "llvmlite", "scipy")),
    "onnx": ("export_onnx", ("onnx", "numpy")),
}


def command(extra: str) -> str:
    """Return the command that installs an extra for the interpreter that is running.

    >>> from micrograd import install
    >>> install.command("jit").endswith(("micrograd-next[jit]\\"", "numpy llvmlite"))
    True
    """
    # pip takes the extra from the metadata that is installed, so this works for a clone, a wheel and an index alike.
    # Without metadata (a source folder on the path) only the packages themselves can be named.
    wanted = f'"{DISTRIBUTION}[{extra}]"' if _distribution() is not None else " ".join(EXTRAS[extra][1])
    return f"{_pip('install')} {wanted}"


def command_for(packages: str) -> str:
    """Return the command that installs other packages for the interpreter that is running.

    >>> from micrograd import install
    >>> install.command_for("tensorboardX").endswith(" tensorboardX")
    True
    """
    return f"{_pip('install')} {packages}"


def require(module: str, user: str, package: str, extra: str = "") -> Any:
    """Import an optional dependency; if it is missing, say who needs it and how to install it.

    >>> from micrograd import install
    >>> install.require("no_such_module", "this example", "no-such-package")
    Traceback (most recent call last):
        ...
    ImportError: this example needs no-such-package, which is not installed
      Install it with: ...
    """
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as reason:
        if reason.name is not None and reason.name.split(".")[0] != module.split(".")[0]:
            raise  # it is there, and something that it needs is not
        how = command(extra) if extra else command_for(package)
        raise ImportError(f"{user} needs {package}, which is not installed\n  Install it with: {how}") from None


def why_not(user: str, package: str, reason: Exception, extra: str) -> str:
    """Return what is wrong where a package that `user` needs could not be imported, and the way out.

    >>> from micrograd import install
    >>> print(install.why_not("vmap", "NumPy", ImportError("cannot load module"), "jit"))
    vmap needs NumPy, which is installed but cannot be imported: cannot load module
      If an import of it was interrupted before, as by Ctrl-C, start Python again.
    """
    if isinstance(reason, ModuleNotFoundError) and reason.name in (None, package.lower()):
        return f"{user} needs {package}, which is not installed\n  Install it with: {command(extra)}"
    return (
        f"{user} needs {package}, which is installed but cannot be imported: {reason}\n"
        "  If an import of it was interrupted before, as by Ctrl-C, start Python again."
    )


def native_way_out(reason: str = "") -> str:
    """Say how to get the C engine where the Python engine runs; reason: why the C engine was not imported."""
    import sysconfig

    if "interpreter" in reason:  # module.c says so, or Python itself for a subinterpreter with a lock of its own
        return (
            "The first interpreter of a process that imports micrograd has the C engine: do the heavy work in that one"
        )
    if "built from" in reason:
        return f"In a clone, run `make ops`; elsewhere: {native_command()}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "The C engine needs the interpreter lock: use a build of Python that is not free-threaded"
    tool = "Visual Studio's build tools" if sys.platform == "win32" else "a C compiler"
    return f"Install {tool}, and then: {native_command()}"


def native_command() -> str:
    """Return the command that builds the C engine, to be run once a C compiler is installed."""
    source, editable = _source()
    again = f"{_pip('install')} --force-reinstall --no-cache-dir --no-deps"
    if source is None and _distribution() is not None:  # from an index
        return f"{again} --no-binary {DISTRIBUTION} {DISTRIBUTION}"
    if source is None:
        source, editable = os.path.dirname(os.path.dirname(PLACE)), True
        if not os.path.exists(os.path.join(source, "setup.py")):
            return f"{again} {DISTRIBUTION}"
    return f"{again} {'--editable ' if editable else ''}{_quoted(source)}"


def old_engine(sources: str, built: float) -> str:
    """Return what is wrong and how to mend it where C files of a clone are newer than the C engine, else ''."""
    changed = sorted(f.name for f in os.scandir(sources) if f.name.endswith((".c", ".h")) and f.stat().st_mtime > built)
    if not changed:
        return ""
    return (
        f"the C engine was built before native/{changed[0]} was changed\n"
        "  The package calls the functions of the new C files: calls may fail with a TypeError, or give old results.\n"
        f"  Build it again: run `make setup` in {os.path.dirname(os.path.dirname(PLACE))}, or {native_command()}"
    )


def original_beside() -> str:
    """Return what is wrong and how to mend it where the original micrograd is installed in the same place, else ''.

    Both distributions own `micrograd/__init__.py` and `micrograd/engine.py`: the one that was installed last has overwritten
    the files of the other, and uninstalling either removes files of both.
    """
    site = os.path.dirname(PLACE)
    try:
        others = [n for n in os.listdir(site) if n.startswith("micrograd-") and n.endswith((".dist-info", ".egg-info"))]
    except OSError:  # inside a zip file
        return ""
    if not others:
        return ""
    version = others[0].removeprefix("micrograd-").rsplit(".", 1)[0]
    source, editable = _source()
    again = DISTRIBUTION if source is None else f"{'--editable ' if editable else ''}{_quoted(source)}"
    return (
        f"the distribution 'micrograd' {version} is installed beside {DISTRIBUTION} in {site}\n"
        f"  Both own the files of the package 'micrograd', and the one installed last has overwritten the other's.\n"
        f"  Keep one of them: {_pip('uninstall')} --yes micrograd\n"
        f"  and then:         {_pip('install')} --force-reinstall --no-deps {again}"
    )


def _pip(verb: str) -> str:
    """Return how to call `pip install` or `pip uninstall` for this interpreter.

    That depends on where the call is made: in a notebook, in an active environment, or anywhere, by the interpreter's path.
    """
    from importlib.util import find_spec

    notebook = "ipykernel" in sys.modules
    python = os.path.abspath(sys.executable)
    if find_spec("pip") is None:  # uv makes environments without pip
        return f"{'!' if notebook else ''}uv pip {verb} --python {_quoted(python)}"
    if notebook:
        return f"%pip {verb}"
    from shutil import which

    found = which("pip")
    if found is not None and os.path.dirname(os.path.abspath(found)) == os.path.dirname(python):
        return f"pip {verb}"
    return f"{_quoted(python)} -m pip {verb}"


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path or os.name == "nt" else path


def _distribution() -> Any:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return None


def _source() -> tuple[str | None, bool]:
    """Return (the folder that this was installed from, whether as an editable clone); no folder for a wheel or an index."""
    found = _distribution()
    text = found.read_text("direct_url.json") if found is not None else None
    if not text:
        return None, False
    import json
    from urllib.parse import urlparse
    from urllib.request import url2pathname

    record = json.loads(text)
    folder = url2pathname(urlparse(record.get("url", "")).path)
    if "dir_info" not in record or not os.path.exists(os.path.join(folder, "pyproject.toml")):
        return None, False
    return folder, bool(record["dir_info"].get("editable"))
