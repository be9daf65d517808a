#!/usr/bin/env bash
# test.sh - builds szgpu and tests it.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/test.sh [all|slow]
# Without arguments, what matters in 5 to 10 minutes: most tests in release, those that read what
# strangers write under sanitizers too, and the Python package.
# all: what CI runs. Every test that needs no GPU, in release; scripts/lint.sh; more tests under
# sanitizers, and the fuzz targets' inputs; a build without HDF5; the wheel; and, where there is nvcc,
# the CUDA backend, whose tests are skipped by name without a GPU (scripts/gpu_check.sh is for a
# machine with one).
# slow: all, every test under sanitizers, half a minute of fuzzing for each target, and fields of
# gigabytes.
# First installs what is missing. May run again, and from anywhere. Ends with the time of each part.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

what=${1:-quick}
case $what in
  quick | all | slow) ;;
  *)
    echo "test.sh: unknown argument '$what'; it takes 'all', 'slow' or nothing." >&2
    exit 1
    ;;
esac

# Programs of the tests of what reads archives, and of threads and memory.
sanitized=(test_{archive_changes,bombs,container,memory,open,open_levels,open_tile,region,roundtrip}
  test_{series_faults,stream_status,threads})
[ "$what" != all ] || # szgpu_cli makes inputs for the replays
  sanitized+=(test_{alloc,lossless_damage} replay_{archive,field,h5,roundtrip,series,stream} szgpu_cli)

if [ "$what" = quick ]; then
  echo "test.sh: builds and tests szgpu in build/: 5 to 10 minutes on two cores. Installs what is"
  echo "missing: by apt-get compilers and libraries, by pip numpy and zarr in build/python-test."
  echo "'scripts/test.sh all' runs every test: half an hour to an hour."
  scripts/install_deps.sh quick
else
  echo "test.sh: runs the tests of '$what' in build/: half an hour to an hour on two cores, hours if slow."
  echo "Installs what is missing: by apt-get MPI, netCDF's tools and a browser too, by pip what the"
  echo "package's tests import, in build/python-test."
  scripts/install_deps.sh test
fi

# Several tests build the library again, in folders of their own.
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1
fi

# In CI a warning is an error. Elsewhere a newer compiler may warn about code that you did not
# change, and sanitizers make any compiler warn about errors that are not there.
werror=OFF
[ -z "${CI:-}" ] || werror=ON

failed=0
suites=()
times=()
part() { # what, a command
  local -r name=$1 before=$SECONDS
  local status=0
  shift
  "$@" || status=$?
  times+=("$(printf '%5d s  %s' $((SECONDS - before)) "$name")")
  return "$status"
}
# shellcheck disable=SC2317  # part calls it
build() { # preset, options of cmake, "--", options of the build
  local -r preset=$1
  local options=()
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  cmake --preset "$preset" -DSZGPU_TESTS=ON "${options[@]}" &&
    cmake --build --preset "$preset" --parallel "$(nproc)" "$@"
}
# shellcheck disable=SC2317  # part calls it
run_tests() { # preset, ctest's options
  local -r preset=$1
  shift
  suites+=("$preset")
  # One more than there are cores, because some tests wait: for MPI, for signals, for pip.
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
    --parallel "$(($(nproc) + 1))" "$@" | tee "build/$preset/test.log"
}

# Without a GPU nothing runs what nvcc makes, so it may make it in a fifth of the time. It makes it
# twice if the binary is to hold PTX too.
# shellcheck disable=SC2317  # part calls it
build_cuda() {
  local -r nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
  local flags=''
  if ! nvidia-smi -L >/dev/null 2>&1 && [[ $("$nvcc" --help) = *--Ofast-compile* ]]; then
    flags=-Ofc=max
  fi
  build cuda -DCMAKE_CUDA_FLAGS="$flags" "$@"
}

mpi=ON
fortran=OFF
! command -v gfortran >/dev/null || fortran=ON
case $what in
  quick) mpi=OFF chosen=(-L '^(fast|quick)$') ;;
  all) chosen=(-LE '^(cuda|slow)$') ;;
  slow) chosen=(-LE '^cuda$') ;;
esac
part 'build, release' build release -DSZGPU_HDF5=ON -DSZGPU_MPI=$mpi -DSZGPU_FORTRAN=$fortran \
  -DSZGPU_WERROR="$werror" --
part 'tests, release' run_tests release "${chosen[@]}" || failed=1

lint_failed=0
# shellcheck disable=SC2317  # part calls it
lint() {
  scripts/lint.sh 2>&1 | tee build/lint.log
}
[ "$what" = quick ] || part 'lint' lint || lint_failed=1

if [ "$what" = slow ]; then
  part 'build, sanitizers' build asan -DSZGPU_HDF5=ON --
  part 'tests, sanitizers' run_tests asan -LE '^(cuda|slow)$' || failed=1
  # Inputs that no test has.
  part 'fuzzing' scripts/fuzz.sh 30 || failed=1
else
  part 'build, sanitizers' build asan -DSZGPU_HDF5=ON -- --target "${sanitized[@]}"
  part 'tests, sanitizers' run_tests asan \
    -R "^($(IFS='|' && echo "${sanitized[*]#test_}"))\$" || failed=1
fi

if [ "$what" != quick ]; then
  # Without HDF5: the same archives, and the sentences of what this build cannot do.
  part 'build, bare' build bare -DSZGPU_WERROR="$werror" -- --target szgpu_cli
  part 'tests, bare' run_tests bare -R '^(cli_.*|golden)$' -E '^cli_faults$' || failed=1
fi

python_failed=0
quick=()
[ "$what" != quick ] || quick=(quick)
part 'python' scripts/test_python.sh "${quick[@]}" || python_failed=1

# The C tests are the same as in release, so this builds only what CUDA adds.
without_cuda=
if [ "$what" = quick ]; then
  without_cuda="left out; 'scripts/test.sh all' compiles it, scripts/gpu_check.sh tests it on a GPU"
elif [ -n "${CUDACXX:-}" ] || command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  part 'build, cuda' build_cuda -DSZGPU_HDF5=ON -DSZGPU_WERROR="$werror" \
    -DCMAKE_CUDA_ARCHITECTURES="$(scripts/cuda_architecture.sh)-real" -DSZGPU_PYTHON_MODULE=ON \
    -DPython_EXECUTABLE="$PWD/build/python-test/build/bin/python" -- --target cuda_tests szgpu_python
  PYTHONPATH=python:build/cuda/python build/python-test/build/bin/python -c \
    'import _core; assert _core.has_cuda' || python_failed=1
  part 'tests, cuda' run_tests cuda -L '^cuda$' || failed=1
else
  without_cuda='the sources were not compiled: there is no nvcc in PATH or /usr/local/cuda/bin'
fi

for suite in "${suites[@]}"; do
  printf '\n%s:\n' "$suite"
  sed -n '/tests passed, /,$p' "build/$suite/test.log"
  awk -f scripts/why_skipped.awk "build/$suite/test.log" \
    "build/$suite/Testing/Temporary/LastTest.log"
done
if [ "$lint_failed" -ne 0 ]; then
  printf '\nlint: scripts/lint.sh failed; its output is above.\n'
  failed=1
elif [ "$what" != quick ]; then
  printf '\nlint: nothing was found.\n'
  sed -n 's/^skipped: /  &/p' build/lint.log
fi
if [ "$python_failed" -ne 0 ]; then
  printf '\npython: scripts/test_python.sh failed; its output is above.\n'
  failed=1
else
  printf '\npython: the tests passed.\n'
fi
[ -z "$without_cuda" ] || printf '\ncuda: %s.\n' "$without_cuda"
printf '\ntime:\n'
printf '%s\n' "${times[@]}"
[ "$failed" -eq 0 ] && echo 'All tests passed.' || echo 'SOME TESTS FAILED; see above.'
exit "$failed"
