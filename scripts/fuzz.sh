#!/usr/bin/env bash
# fuzz.sh - builds the fuzz targets and runs each for a while.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/fuzz.sh [seconds] [target...]
# Without arguments: 60 seconds for each target. First installs what is missing. Each target begins
# with what fuzz/seeds.py makes, with fuzz/regressions/ and with what earlier runs found worth
# keeping, in build/fuzz/corpus/. Prints a table. If a claim or a sanitizer fails, it names the
# inputs, which are in build/fuzz/findings/, and exits with 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=60
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
  seconds=$1
  shift
fi
mapfile -t known < <(sed -n 's/^ *szgpu_add_fuzz_target(\([a-z0-9]*\).*/\1/p' fuzz/CMakeLists.txt)
targets=("$@")
[ $# -gt 0 ] || targets=("${known[@]}")
for target in "${targets[@]}"; do
  [[ " ${known[*]} " == *" $target "* ]] || {
    echo "fuzz.sh: there is no target '$target'; there are: ${known[*]}." >&2
    exit 1
  }
done

scripts/install_deps.sh fuzz
jobs=$(nproc)
cmake --preset fuzz -DSZGPU_HDF5=ON >/dev/null
cmake --build --preset fuzz --parallel "$jobs" --target szgpu_cli "${targets[@]/#/fuzz_}"
build=$PWD/build/fuzz
/usr/bin/python3 fuzz/seeds.py "$build/szgpu" "$build/seeds"
findings=$build/findings
mkdir -p "$findings"

# The largest input of each target; larger ones are slow and find no more.
declare -A most_bytes=([archive]=16384 [stream]=16384 [series]=16384 [h5]=16384)

run_target() { # target
  local target=$1 logs=$build/logs/$1 corpus=$build/corpus/$1 folders
  rm -rf "$logs"
  mkdir -p "$logs" "$corpus"
  folders=("$corpus" "$build/seeds/$target")
  [ ! -d "fuzz/regressions/$target" ] || folders+=("$PWD/fuzz/regressions/$target")
  [ ! -f "fuzz/$target.dict" ] || folders+=("-dict=$PWD/fuzz/$target.dict")
  # A leak is a claim of the targets, so libFuzzer need not look for any.
  (cd "$logs" && "$build/fuzz/fuzz_$target" -jobs="$jobs" -workers="$jobs" \
    -max_total_time="$seconds" -max_len="${most_bytes[$target]:-4096}" -timeout=20 \
    -rss_limit_mb=4096 -detect_leaks=0 -print_final_stats=1 \
    -artifact_prefix="$findings/$target-" "${folders[@]}" >all.log 2>&1) || true
}

count() { awk -v key="$1" '$1 == key { sum += $2 } END { print sum + 0 }' "${@:2}"; }

failed=0
printf '%-10s %12s %8s %7s %7s %9s\n' target executions 1/s edges corpus findings
for target in "${targets[@]}"; do
  before=$(find "$findings" -name "$target-*" | wc -l)
  run_target "$target"
  logs=("$build/logs/$target"/fuzz-*.log)
  executions=$(count stat::number_of_executed_units: "${logs[@]}")
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "${logs[@]}" | sort -n | tail -n 1)
  found=$(($(find "$findings" -name "$target-*" | wc -l) - before))
  printf '%-10s %12d %8d %7d %7d %9d\n' "$target" "$executions" \
    $((executions / (seconds > 0 ? seconds : 1))) "${edges:-0}" \
    "$(find "$build/corpus/$target" -type f | wc -l)" "$found"
  # A target that did not get to its end found something, even if it could not keep the input.
  ends=$(cat "${logs[@]}" | grep -c '^stat::number_of_executed_units') || true
  if [ "$found" -gt 0 ] || [ "$ends" -lt "$jobs" ]; then
    failed=1
    grep -hE 'CLAIM FAILED|runtime error|ERROR: |SUMMARY: ' "${logs[@]}" | sort -u | sed -n '1,20p'
  fi
done
if [ "$failed" -ne 0 ]; then
  find "$findings" -type f -newer "$build/seeds" | sort
  echo "fuzz.sh: run build/fuzz/fuzz/fuzz_<target> with such an input to see the failure again." >&2
fi
exit "$failed"
