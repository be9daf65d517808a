#!/usr/bin/env bash
# gpu_check.sh - runs every test that needs a GPU, on a machine that has one.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/gpu_check.sh [--build DIR] [--fields DIR] [--sanitize] [--floats] [--bench]
#                             [--python WHEEL] [--logs DIR] [--only TEXT] [--jobs COUNT]
#   --build DIR   holds the programs, which may come from another machine: DIR/szgpu,
#                 DIR/test/test_cuda_*, DIR/test/hdf5/test_cuda_h5 with DIR/hdf5/plugin,
#                 DIR/fuzz/replay_cuda, DIR/bench_stages, bench_decoders, bench_async and
#                 bench_frames. Without it they are built in build/cuda.
#   --fields DIR  real fields; else $SZGPU_FIELDS, else ../shared/datasets
#   --sanitize    run each test also under the four tools of compute-sanitizer, with fewer cases;
#                 initcheck without damaged archives, since what these leave unwritten is copied
#   --floats      then all 2^32 bit patterns of f32 at eight bounds of each mode, and more
#   --bench       then time stages, decoders, stream-ordered calls and frames through all GPUs, on
#                 fields of 512^3 values made by bench/gpu_fields.py
#   --python WHEEL
#                 also install the wheel, which must have the CUDA backend, in a folder of its own,
#                 and run python/tests/test_cuda.py, as the test cuda_python, by python3, which must
#                 have pip, pytest, numpy, cupy and torch; prints what was skipped
#   --logs DIR    takes the output of every run; else build/gpu_check
#   --only TEXT   run only the tests with TEXT in their names
#   --jobs COUNT  how many runs of compute-sanitizer share the GPU; else 4
# Prints a line for each run, the end of its log if it failed, and a summary. Fails if anything did;
# without a GPU, everything does.
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build='' fields=${SZGPU_FIELDS:-$PWD/../shared/datasets} logs=$PWD/build/gpu_check only='' jobs=4
sanitize='' floats='' bench='' python=''
usage() {
  sed -n '/^# usage/,/^#   --jobs/s/^# \?//p' "${BASH_SOURCE[0]}" >&2
  exit 1
}
while [ $# -gt 0 ]; do
  case $1 in
    --sanitize) sanitize=1 ;;
    --floats) floats=1 ;;
    --bench) bench=1 ;;
    --build | --fields | --logs | --python)
      [ $# -ge 2 ] || usage
      declare "${1#--}=$(cd "$caller" && realpath -m "$2")"
      shift
      ;;
    --only | --jobs)
      [ $# -ge 2 ] || usage
      declare "${1#--}=$2"
      shift
      ;;
    *) usage ;;
  esac
  shift
done
[[ $jobs =~ ^[1-9][0-9]*$ ]] || usage

# --- The programs -------------------------------------------------------------------------------

mkdir -p "$logs"
rm -f "$logs"/*.log "$logs"/*.list "$logs"/*.json
if [ -z "$build" ]; then
  scripts/install_deps.sh test
  targets=(cuda_tests)
  [ -z "$bench" ] || targets+=(bench_stages bench_decoders bench_async bench_frames)
  cmake --preset cuda -DSZGPU_BENCH="${bench:+ON}" \
    -DCMAKE_CUDA_ARCHITECTURES="$(scripts/cuda_architecture.sh)"
  cmake --build --preset cuda --parallel "$(nproc)" --target "${targets[@]}"
  build=$PWD/build/cuda
fi
mapfile -t programs < <(find "$build/test" -maxdepth 2 -type f -name 'test_cuda_*' \
  -name "*$only*" -perm -u+x | sort)
scripts=" cuda_cli cuda_replay cuda_fields ${python:+cuda_python }" # what runs beside the programs
if [ ${#programs[@]} -eq 0 ] && [[ -z $only || $scripts != *"$only"* ]]; then
  echo "gpu_check.sh: $build/test holds no test_cuda_* with '$only'; build the target cuda_tests." >&2
  exit 1
fi

export SZGPU_REQUIRE_GPU=1 SZGPU_FIELDS=$fields
export HDF5_PLUGIN_PATH=$build/hdf5/plugin
export SZGPU_SOURCE_DIR=$PWD # programs built elsewhere look for the golden archives there

# --- Runs ---------------------------------------------------------------------------------------

run() { # name, seconds it may take, command
  local name=$1 limit=$2 rc=0 start=$SECONDS verdict text
  shift 2
  timeout --kill-after=20 "$limit" "$@" >"$logs/$name.log" 2>&1 </dev/null || rc=$?
  case $rc in
    0) verdict=passed ;;
    77) verdict=skipped ;;
    124 | 137) verdict=FAILED && echo "stopped after $limit s" >>"$logs/$name.log" ;;
    *) verdict=FAILED && echo "exit code $rc" >>"$logs/$name.log" ;;
  esac
  echo "$name" >>"$logs/$verdict.list"
  printf -v text '%-8s %-36s %4d s' "$verdict" "$name" $((SECONDS - start))
  [ $verdict = passed ] || text+=$'\n'$(tail -n 20 "$logs/$name.log" | sed 's/^/  | /')
  printf '%s\n' "$text"
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || true
for program in "${programs[@]}"; do
  run "$(basename "$program" | sed 's/^test_//')" 600 "$program"
done
[[ cuda_cli != *"$only"* ]] ||
  run cuda_cli 600 python3 test/cli/test_cli.py "$build/szgpu" cases_gpu
if [[ cuda_replay == *"$only"* ]] && [ -x "$build/fuzz/replay_cuda" ]; then
  python3 fuzz/seeds.py "$build/szgpu" "$logs/seeds" >/dev/null
  inputs=("$logs/seeds/archive")
  [ ! -d fuzz/regressions/archive ] || inputs+=(fuzz/regressions/archive)
  run cuda_replay 600 "$build/fuzz/replay_cuda" --changes=40 "${inputs[@]}"
fi
[[ cuda_fields != *"$only"* ]] ||
  run cuda_fields 900 python3 test/cuda_fields.py "$build/szgpu" --fields "$fields"

if [ -n "$python" ] && [[ cuda_python == *"$only"* ]]; then
  site=$(mktemp -d)
  # shellcheck disable=SC2016  # expanded by the shell inside
  run cuda_python 600 bash -c 'set -e
    python3 -m pip install -q --no-index --no-deps --target "$1" "$2"
    export PYTHONPATH=$1${PYTHONPATH:+:$PYTHONPATH}
    python3 -m pytest -q -rs -p no:cacheprovider python/tests/test_cuda.py' _ "$site" "$python"
  rm -rf "$site"
  grep -E '^SKIPPED|[0-9] passed' "$logs/cuda_python.log" | sed 's/^/  | /' || true
fi

# --- compute-sanitizer --------------------------------------------------------------------------

if [ -n "$sanitize" ]; then
  export PATH=$PATH:/usr/local/cuda/bin
  if ! command -v compute-sanitizer >/dev/null; then
    echo "gpu_check.sh: there is no compute-sanitizer in PATH; it comes with the CUDA toolkit." >&2
    exit 1
  fi
  # The tests judge the errors that the runtime returns; some cause them on purpose.
  common=(--error-exitcode 99 --report-api-errors no --print-limit 20)
  options_of() { # tool, what runs
    # Warnings of racecheck are reads of words that no thread uses: those that it fetched ahead. If
    # launches do not wait, initcheck may learn too late what one stream wrote for another; but
    # stream-ordered calls, which have one stream, claim that they do not wait.
    case $1.$2 in
      racecheck.*) echo --tool racecheck --print-level error ;;
      initcheck.cuda_async*) echo --tool initcheck ;;
      initcheck.*) echo --tool initcheck --force-blocking-launches ;;
      *) echo --tool "$1" ;;
    esac
  }
  for program in "${programs[@]}"; do
    name=$(basename "$program" | sed 's/^test_//')
    for tool in memcheck racecheck initcheck synccheck; do
      read -ra options <<<"$(options_of $tool "$name")"
      # If calls fail on purpose, those that free memory may be among them.
      [ $tool != memcheck ] || [ "$name" = cuda_errors ] || options+=(--leak-check full)
      settings=(SZGPU_TEST_QUICK=1)
      [ $tool != initcheck ] || settings+=(SZGPU_TEST_SOUND=1)
      while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
      run "$name.$tool" 580 env "${settings[@]}" \
        compute-sanitizer "${common[@]}" "${options[@]}" "$program" &
    done
  done
  wait
  # The command on small fields: every kernel of both layouts and ways, in seconds.
  small=$(mktemp -d)
  python3 test/cuda_small_fields.py "$small"
  # shellcheck disable=SC2016  # expanded by the shell inside
  there_and_back='set -e
    for layout in tile linear; do
      "${@:4}" "$1" -z -f -q -b cuda --layout $layout -m abs -e 1e-2 -o "$3" "$2"
      "${@:4}" "$1" -x -f -q -b cuda -o "$3.back" "$3"
      "$1" -x -f -q -b cpu -o "$3.again" "$3"
      cmp "$3.back" "$3.again"
    done
    "${@:4}" "$1" -x -f -q -b cuda --decoder chunked -o "$3.again" "$3"
    cmp "$3.back" "$3.again"'
  for field in "$small"/*.f*; do
    for tool in memcheck racecheck initcheck synccheck; do
      read -ra options <<<"$(options_of $tool cuda_command)"
      while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
      run "cuda_command.$(basename "$field").$tool" 580 bash -c "$there_and_back" _ \
        "$build/szgpu" "$field" "$small/$tool.$(basename "$field").szg" \
        compute-sanitizer "${common[@]}" "${options[@]}" &
    done
  done
  wait
  rm -rf "$small"
fi

# --- Every float --------------------------------------------------------------------------------

if [ -n "$floats" ]; then
  every_float() { # sweep, options
    run "every_float.$1" 3600 "$build/test/test_cuda_every_float" --only "$@"
    tail -n 12 "$logs/every_float.$1.log"
  }
  every_float f32 --sample 1 --block-bits 24 --every-way
  every_float lattice --sample 67 # of very many small fields, which take a launch's time each
  every_float f64 --sample 1
  every_float bytes --sample 1
fi

# --- Times --------------------------------------------------------------------------------------

if [ -n "$bench" ]; then
  made=$(mktemp -d)
  trap 'rm -rf "$made"' EXIT
  run bench_fields 600 python3 bench/gpu_fields.py "$made" 512
  mapfile -t made_fields < <(find "$made" -name '*.f32' -o -name '*.f64' | sort)
  bench_stages() { # name, arguments
    local name=bench_stages.$1
    run "$name" 600 "$build/bench_stages" "${@:2}" --json "$logs/$name.json" "${made_fields[@]}"
    cat "$logs/$name.log"
  }
  bench_stages tile --predictor lorenzo -e 1e-3,1e-4
  bench_stages levels --predictor interpolation,auto --host-runs 0 -e 1e-2,1e-3,1e-4
  bench_stages linear --layout linear --predictor lorenzo -e 1e-3,1e-4
  bench_decoders() { # command, its arguments
    local name=bench_decoders.$1
    run "$name" 600 "$build/bench_decoders" "$@" --json "$logs/$name.json"
    cat "$logs/$name.log"
  }
  bench_decoders fields --host-runs 1 -e 1e-3 "$made"/{turb,wave}_*.f32
  bench_decoders sweep -e 1e-3 "$made"/turb_*.f32
  bench_decoders bf16
  bench_decoders hierarchical
  bench_decoders rle --host-runs 1
  run bench_async 600 "$build/bench_async"
  cat "$logs/bench_async.log"
  run bench_frames 600 "$build/bench_frames" "$made"/turb_*.f32
  cat "$logs/bench_frames.log"
fi

# --- Summary ------------------------------------------------------------------------------------

count() { # verdict
  if [ -e "$logs/$1.list" ]; then wc -l <"$logs/$1.list"; else echo 0; fi
}
printf '\n%d passed, %d skipped, %d failed; logs are in %s\n' "$(count passed)" "$(count skipped)" \
  "$(count FAILED)" "$logs"
[ ! -e "$logs/FAILED.list" ] || { sed 's/^/  FAILED /' "$logs/FAILED.list" && exit 1; }
