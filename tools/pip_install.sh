#!/bin/sh
# pip_install.sh PYTHON ARGUMENTS...: `pip install` into the environment of PYTHON, by uv where that works.
python=$1
shift
"$python" -m uv pip install --quiet --python "$python" "$@" 2>/dev/null ||
    "$python" -m pip --disable-pip-version-check --quiet install "$@"
