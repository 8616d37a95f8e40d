#!/bin/sh
# Called by the Makefile before any target: remove what is left of an environment that no longer works, so that the
# targets make it again. An environment breaks when its interpreter or a package in it is removed, when the folder is moved
# (scripts and the editable install hold absolute paths), or when the C engine is deleted by `git clean`.
venv=$1
python=$2
[ -e "$venv" ] || exit 0
[ -e "$venv/.place" ] || pwd -P >"$venv/.place"
needs="setuptools"
if [ -e "$venv/.package" ]; then needs="$needs numpy llvmlite rich matplotlib"; fi
if [ -e "$venv/.dev" ]; then needs="$needs pytest ruff mypy"; fi
# Without pyvenv.cfg the interpreter is the system's, and packages would be installed there.
works='
import sys, importlib.util
found = [importlib.util.find_spec(name) for name in sys.argv[1:]]
sys.exit(sys.prefix == sys.base_prefix or any(spec is None or spec.origin is None for spec in found))
'
if ! "$python" -c "$works" $needs >/dev/null 2>&1 || [ "$(cat "$venv/.place")" != "$(pwd -P)" ]; then
    echo "make: $venv is broken or was made elsewhere; it is made anew" >&2
    rm -rf "$venv"
elif [ -e "$venv/.package" ]; then
    if ! "$python" -W ignore -c 'import micrograd' >/dev/null 2>&1; then
        echo "make: micrograd cannot be imported in $venv; it is installed again" >&2
        rm -f "$venv/.package" "$venv/.dev"
    elif [ -e "$venv/.native" ] && ! "$python" -c 'import micrograd._engine' >/dev/null 2>&1; then
        echo "make: the C engine is gone; it is built again" >&2
        rm -f "$venv/.package"
    fi
fi
