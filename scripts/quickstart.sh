#!/usr/bin/env bash
# quickstart.sh - builds szgpu and takes a real field through it: compress, restore, verify.
# SPDX-License-Identifier: BSD-3-Clause
#
# Needs Debian or Ubuntu, no GPU. Installs what is missing, builds into build/release and ends
# with one line of figures. Can be run again, from anywhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_deps.sh build
cmake --preset release
cmake --build --preset release --parallel "$(nproc)"

szgpu=build/release/szgpu
field=datasets/sample/navywind_u_36x73x144.f32
work=build/release/quickstart
mkdir -p "$work"

# Every value within 1e-4 of the range of the values. --compare checks each against the original
# and fails, as this script then does, where one is over the bound.
"$szgpu" -z -q -f -e 1e-4 -o "$work/wind.szg" "$field"
echo
"$szgpu" -x -f -o "$work/wind.f32" --compare "$field" "$work/wind.szg"
