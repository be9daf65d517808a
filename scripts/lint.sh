#!/usr/bin/env bash
# lint.sh - checks scripts with shellcheck, C and CUDA with clang-format, C with clang-tidy.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/lint.sh [FILE...]
# Without arguments everything, in two minutes on two cores; with names of files, only these.
# First installs what is missing, and configures build/lint. clang-format and clang-tidy must be of
# version 14, since others want other things: without them, prints a line that begins with "skipped:",
# and fails if CI is set. Prints what was found, and exits with 1 if anything was.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
named=
[ $# -eq 0 ] || named=$(realpath -e --relative-to="$root" -- "$@")
cd "$root"
if [ -z "$named" ]; then
  named=$(find .ci apps bench datasets examples fuzz include packaging python scripts src test \
    -type f | sort)
fi
mapfile -t files <<<"$named"

scripts/install_deps.sh lint
version=14
failed=0

find_tool() { # name: sets `command` to the one that has the version, or says what is left out
  for command in "$1-$version" "$1"; do
    [[ "$("$command" --version 2>/dev/null)" != *"version $version."* ]] || return 0
  done
  echo "skipped: there is no $1 $version (pip install $1==$version.0.6)"
  [ -z "${CI:-}" ] || failed=1
  return 1
}

# --- Scripts ------------------------------------------------------------------------------------

is_script() { # by its name, or because it names a shell
  local line
  [[ $1 == *.sh || $1 == *.bash ]] && return
  IFS= read -r -n 99 line <"$1" || true
  [[ $line =~ ^'#!'.*[/\ ](ba)?sh$ ]]
}
scripts=()
for file in "${files[@]}"; do
  ! is_script "$file" || scripts+=("$file")
done
[ ${#scripts[@]} -eq 0 ] || shellcheck "${scripts[@]}" || failed=1

# --- The layout of code -------------------------------------------------------------------------

# Without .inc files: clang-format takes macros in place of names for something else.
mapfile -t code < <(printf '%s\n' "${files[@]}" | grep -E '\.(c|h|cpp|hpp|cu|cuh)$')
if [ ${#code[@]} -gt 0 ] && find_tool clang-format; then
  "$command" --dry-run --Werror "${code[@]}" || {
    echo "lint.sh: '$command -i FILE' lays a file out as .clang-format says." >&2
    failed=1
  }
fi

# --- What clang-tidy finds ----------------------------------------------------------------------

# .clang-tidy has the checks. What this build leaves out, such as calls of the CUDA backend, is read
# with the flags of its neighbours.
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep -E '^(apps|src)/.*\.c$')
if [ ${#sources[@]} -gt 0 ] && find_tool clang-tidy; then
  cmake --preset release -B build/lint -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DSZGPU_CUDA=OFF \
    -DSZGPU_HDF5=ON -DSZGPU_MPI=ON >/dev/null
  printf '%s\n' "${sources[@]}" |
    xargs -P "$(nproc)" -n 1 "$command" -p build/lint --quiet --extra-arg=-UNDEBUG \
      2> >(grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?(generated|treated as)' >&2) || failed=1
fi

exit "$failed"
