#!/bin/sh
# Called by the Makefile before any target: remove what is left of an environment that no longer works, so that the
# targets make it again. An environment breaks when its interpreter is removed, when the folder is moved (scripts and the
# editable install hold absolute paths), or when the C engine is deleted by `git clean`.
venv=$1
python=$2
[ -e "$venv" ] || exit 0
[ -e "$venv/.place" ] || pwd -P >"$venv/.place"
if ! "$python" -c 'import setuptools' >/dev/null 2>&1 || [ "$(cat "$venv/.place")" != "$(pwd -P)" ]; then
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
