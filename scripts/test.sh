#!/usr/bin/env bash
# test.sh - builds szgpu, runs every test that needs no GPU, in release and under sanitizers, and
# fuzzes for two minutes.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/test.sh [slow]
# First installs what is missing. "slow", or SZGPU_TEST_TIERS=slow, adds the slow tier (large
# fields; minutes and gigabytes) to the release run. If it finds CUDA's compiler, it also builds the
# CUDA backend and runs its tests; without a GPU they skip, each by name (scripts/gpu_check.sh is
# for a machine with one). May run again, and from anywhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

left_out='cuda|slow'
case "${1:-${SZGPU_TEST_TIERS:-}}" in
  '') ;;
  slow) left_out='cuda' ;;
  *)
    echo "test.sh: unknown tier '${1:-$SZGPU_TEST_TIERS}'; it takes 'slow' or nothing." >&2
    exit 1
    ;;
esac

scripts/install_deps.sh test

# In CI a warning is an error. Elsewhere a newer compiler may warn about code that you did not
# change, and sanitizers make any compiler warn about errors that are not there.
werror=OFF
[ -z "${CI:-}" ] || werror=ON

failed=0
suites=()
configure() { # preset, options
  local preset=$1
  shift
  suites+=("$preset")
  cmake --preset "$preset" -DSZGPU_TESTS=ON "$@"
}
run_tests() { # preset, ctest's options
  local preset=$1
  shift
  # One more than there are cores, because some tests wait: for MPI, for signals, for pip.
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
    --parallel "$(($(nproc) + 1))" "$@" | tee "build/$preset/test.log" || failed=1
}

configure release -DSZGPU_HDF5=ON -DSZGPU_MPI=ON -DSZGPU_WERROR="$werror"
cmake --build --preset release --parallel "$(nproc)"
run_tests release -LE "^($left_out)\$"

configure asan -DSZGPU_HDF5=ON
cmake --build --preset asan --parallel "$(nproc)"
run_tests asan -LE '^(cuda|slow)$'

# Inputs that no test has, for half a minute each target.
scripts/fuzz.sh 30 || failed=1

# Without OpenMP and HDF5: the same archives, and the sentences of what this build cannot do.
configure bare -DSZGPU_WERROR="$werror"
cmake --build --preset bare --parallel "$(nproc)" --target szgpu_cli
run_tests bare -R '^(cli|golden)$'

# The wheel is built, installed in a folder of its own and tested there.
python_failed=0
scripts/test_python.sh || python_failed=1

# The C tests are the same as in release, so this builds only what CUDA adds.
without_cuda='the CUDA sources were not compiled: there is no nvcc in PATH or /usr/local/cuda/bin'
if [ -n "${CUDACXX:-}" ] || command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  without_cuda=
  configure cuda -DSZGPU_HDF5=ON -DSZGPU_WERROR="$werror" \
    -DCMAKE_CUDA_ARCHITECTURES="$(scripts/cuda_architecture.sh)" \
    -DSZGPU_PYTHON_MODULE=ON -DPython_EXECUTABLE="$PWD/build/python-test/build/bin/python"
  cmake --build --preset cuda --parallel "$(nproc)" --target cuda_tests szgpu_python
  PYTHONPATH=python:build/cuda/python build/python-test/build/bin/python -c \
    'import _core; assert _core.has_cuda' || python_failed=1
  run_tests cuda -L '^cuda$'
fi

for suite in "${suites[@]}"; do
  printf '\n%s:\n' "$suite"
  sed -n '/tests passed, /,$p' "build/$suite/test.log"
  awk -f scripts/why_skipped.awk "build/$suite/test.log" \
    "build/$suite/Testing/Temporary/LastTest.log"
done
if [ "$python_failed" -ne 0 ]; then
  printf '\npython: scripts/test_python.sh failed; its output is above.\n'
  failed=1
else
  printf '\npython: the tests of the wheel passed.\n'
fi
[ -z "$without_cuda" ] || printf '\ncuda: %s.\n' "$without_cuda"
exit "$failed"
