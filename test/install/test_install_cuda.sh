#!/usr/bin/env bash
# test_install_cuda.sh - installs a built szgpu that has CUDA and links a user's C project with it.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: test_install_cuda.sh SOURCE_DIR BUILD_DIR CMAKE C_COMPILER
# Uses find_package and pkg-config. Needs no GPU: the programs take whatever backend there is, and
# load no CUDA library, so that they also start without a driver.
set -euo pipefail

source_dir=$1 build=$2 cmake=$3 cc=$4
consumer=$source_dir/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CFLAGS LDFLAGS CPPFLAGS DESTDIR

fail() {
  echo "test_install_cuda.sh: $*" >&2
  exit 1
}
must() { # what it is, then the command
  local what=$1
  shift
  "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "$what failed"; }
}
check() { # program, arguments
  "$@" || fail "$1 failed"
  ! readelf -d "$1" | grep NEEDED | grep -i -e cuda -e nvidia || fail "$1 needs CUDA to start"
}

must installing "$cmake" --install "$build" --prefix "$work/first"
mv "$work/first" "$work/moved" # because users may move an installed tree
libdir=$(dirname "$(find "$work/moved" -name 'libszgpu.*' -print -quit)")

check "$work/moved/bin/szgpu" --version
must find_package "$cmake" -S "$consumer" -B "$work/use" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_PREFIX_PATH="$work/moved"
must "building with find_package" "$cmake" --build "$work/use"
check "$work/use/app"

flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs szgpu)
# shellcheck disable=SC2086  # flags are words
must "building with pkg-config" "$cc" -std=c11 -o "$work/consumer" "$consumer/compress.c" $flags -lm
export LD_LIBRARY_PATH=$libdir
check "$work/consumer"

! grep -rlF -e "$work" -e "$source_dir" "$libdir/cmake" "$libdir/pkgconfig" ||
  fail "an installed file names the place it was built in"
