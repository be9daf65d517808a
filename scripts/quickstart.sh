#!/usr/bin/env bash
# quickstart.sh - builds szgpu, then compresses, restores and verifies a real field.
# SPDX-License-Identifier: BSD-3-Clause
#
# Needs Debian or Ubuntu, but no GPU. Installs what is missing and builds in build/release. At its end
# prints a line of figures, and what to try next. May run again, and from anywhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_deps.sh build
cmake --preset release
cmake --build --preset release --parallel "$(nproc)"

szgpu=build/release/szgpu
field=datasets/sample/navywind_u_36x73x144.f32
work=build/release/quickstart
mkdir -p "$work"

# The bound is 1e-4 of the values' range. --compare checks every value against the original and
# fails, and with it this script, if one exceeds the bound.
"$szgpu" -z -q -f -e 1e-4 -o "$work/wind.szg" "$field"
echo
"$szgpu" -x -f -o "$work/wind.f32" --compare "$field" "$work/wind.szg"

# The lines of README.md that a reader meets next.
next_lines=$(awk '/^```/ { on = 0 } /^PATH=/ { on = 1 } on' README.md)
printf '\nThe command is %s. Next you can try, in %s:\n\n%s\n' \
  "$PWD/$szgpu" "$PWD" "$next_lines"
