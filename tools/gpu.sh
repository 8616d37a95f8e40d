#!/usr/bin/env bash
# Run what needs an NVIDIA GPU: the tests on the device, and the times of benchmarks/gpu.py. Logs go to a folder.
#
#   tools/gpu.sh PYTHON FOLDER [ARGUMENTS of benchmarks/gpu.py]
#
# PYTHON needs NumPy, llvmlite and pytest; arrays of PyTorch, CuPy and JAX are tried where these are installed.
set -uo pipefail
cd "$(dirname "$0")/.."
python=$1 folder=$2
shift 2
mkdir -p "$folder"
export PYTHONPATH="$PWD/src${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 XLA_PYTHON_CLIENT_PREALLOCATE=false
{
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    "$python" -c 'import sys, numpy, llvmlite; print("Python", sys.version.split()[0], "NumPy", numpy.__version__, "llvmlite", llvmlite.__version__)'
} 2>&1 | tee "$folder/machine.txt"
timeout 240 "$python" -m pytest -q -p no:cacheprovider tests/compile/test_cuda_device.py 2>&1 | tee "$folder/tests.txt"
tests=$?
timeout 330 "$python" benchmarks/gpu.py "$@" 2>&1 | tee "$folder/times.txt"
exit $tests
