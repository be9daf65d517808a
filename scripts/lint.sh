#!/usr/bin/env bash
# lint.sh - checks scripts with shellcheck, C and CUDA with clang-format, C with clang-tidy.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/lint.sh [FILE...]
# Without arguments everything, in two minutes on two cores; with names of files, only these.
# First installs what is missing, and configures build/release. clang-format and clang-tidy must be
# of version 14, since others want other things: without them, prints a line that begins with
# "skipped:". Prints what was found, and exits with 1 if anything was.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_deps.sh lint
version=14
failed=0
if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(find .ci apps bench datasets examples fuzz include packaging python scripts \
    src test -type f | sort)
fi

tool() { # name: prints the command that has the version, or fails
  local command
  for command in "$1-$version" "$1"; do
    if [[ "$("$command" --version 2>/dev/null)" == *"version $version."* ]]; then
      echo "$command"
      return
    fi
  done
  echo "skipped: there is no $1 $version (pip install $1==$version.0.6)" >&2
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
mapfile -t code < <(printf '%s\n' "${files[@]}" | grep -E '\.(c|h|cu|cuh)$')
if [ ${#code[@]} -gt 0 ] && format=$(tool clang-format); then
  "$format" --dry-run --Werror "${code[@]}" || {
    echo "lint.sh: '$format -i FILE' lays a file out as .clang-format says." >&2
    failed=1
  }
fi

# --- What clang-tidy finds ----------------------------------------------------------------------

# What is compiled without CUDA. .clang-tidy has the checks.
database=build/release/compile_commands.json
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep -E '^(apps|src)/.*\.c$')
if [ ${#sources[@]} -gt 0 ] && tidy=$(tool clang-tidy); then
  cmake --preset release >/dev/null # a file may be new
  mapfile -t sources < <(printf '%s\n' "${sources[@]}" |
    grep -Fxf <(sed -n "s|^ *\"file\": \"$PWD/\(.*\)\",\?\$|\1|p" $database))
  printf '%s\n' "${sources[@]}" |
    xargs -r -P "$(nproc)" -n 1 "$tidy" -p build/release --quiet --extra-arg=-UNDEBUG \
      2> >(grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?(generated|treated as)' >&2) || failed=1
fi

exit "$failed"
