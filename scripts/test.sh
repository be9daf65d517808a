#!/usr/bin/env bash
# test.sh - builds szgpu and runs every test that needs no GPU, in release and under sanitizers.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/test.sh [slow]
# Installs what is missing first. "slow", or SZGPU_TEST_TIERS=slow, adds the slow tier (large
# fields; minutes and gigabytes) to the release run. Can be run again, from anywhere.
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

# Where a machine judges the result, a warning is an error. Elsewhere a newer compiler may warn of
# what is not yours, and sanitizers make any compiler warn of what is not there.
werror=OFF
[ -z "${CI:-}" ] || werror=ON

failed=0
run_suite() { # preset, labels to leave out, options
  local preset=$1 labels=$2
  shift 2
  cmake --preset "$preset" -DSZGPU_TESTS=ON "$@"
  cmake --build --preset "$preset" --parallel "$(nproc)"
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
    --parallel "$(nproc)" -LE "^($labels)\$" | tee "build/$preset/test.log" || failed=1
}
run_suite release "$left_out" -DSZGPU_WERROR="$werror"
run_suite asan 'cuda|slow'

for preset in release asan; do
  printf '\n%s:\n' "$preset"
  sed -n '/tests passed, /,$p' "build/$preset/test.log"
done
exit "$failed"
