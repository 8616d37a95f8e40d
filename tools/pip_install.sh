#!/bin/sh
# pip_install.sh PYTHON ARGUMENTS...: `pip install` into the environment of PYTHON, by uv where that works.
python=$1
shift
"$python" -m uv pip install --quiet --python "$python" "$@" 2>/dev/null ||
    # A package without a wheel for this Python (a free-threaded one, say) is taken in an older version that has one.
    "$python" -m pip --disable-pip-version-check --quiet install --prefer-binary "$@"
