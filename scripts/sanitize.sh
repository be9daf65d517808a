#!/usr/bin/env bash
# sanitize.sh - looks for data races, or for reads of memory that was never written.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/sanitize.sh thread|memory
#   thread  the fast tests and the replayed fuzz targets under ThreadSanitizer; half an hour
#   memory  the fuzz targets archive and roundtrip, replayed under MemorySanitizer; needs clang
# First installs what is missing. ASan and UBSan have the preset asan.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/${1:-}-sanitizer
configure() {
  cmake -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSZGPU_TESTS=ON \
    -DSZGPU_HDF5=OFF -DSZGPU_SANITIZE="$1" "${@:2}"
}
case ${1:-} in
  thread)
    scripts/install_deps.sh test
    configure thread
    cmake --build "$build" --parallel "$(nproc)"
    # Tests that fork go on with threads in the child, which it refuses unless told.
    export TSAN_OPTIONS=allocator_may_return_null=1:die_after_fork=0
    ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)" -R '^replay_|^fuzz_seeds$' -L full
    # archive_changes is a race: it rewrites archives while they are read.
    ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)" -L fast -E '^archive_changes$'
    ;;
  memory)
    scripts/install_deps.sh test
    scripts/install_deps.sh fuzz
    configure memory -DCMAKE_C_COMPILER=clang
    cmake --build "$build" --parallel "$(nproc)" --target replay_archive replay_roundtrip
    # The command comes from a plain build, because it also calls functions of zstd.
    cmake --preset release -DSZGPU_HDF5=OFF
    cmake --build --preset release --parallel "$(nproc)" --target szgpu_cli
    /usr/bin/python3 fuzz/seeds.py build/release/szgpu "$build/seeds"
    for target in archive roundtrip; do
      inputs=("$build/seeds/$target")
      [ ! -d "fuzz/regressions/$target" ] || inputs+=("fuzz/regressions/$target")
      # It does not know what some functions of AVX2 write.
      "$build/fuzz/replay_$target" --changes=40 --without-avx2 "${inputs[@]}"
    done
    ;;
  *)
    sed -n '/^# usage/,/^# First/s/^# \?//p' "${BASH_SOURCE[0]}" >&2
    exit 1
    ;;
esac
