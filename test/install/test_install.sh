#!/usr/bin/env bash
# test_install.sh - installs szgpu, moves the tree and builds a user's project against it.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: test_install.sh SOURCE_DIR CMAKE C_COMPILER
# Once static and once shared, each by find_package and by pkg-config. Also looks into both
# libraries: what they export, what they call, that they hold no changeable data.
set -euo pipefail

source_dir=$1 cmake=$2 cc=$3
consumer=$source_dir/test/install/consumer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CFLAGS LDFLAGS CPPFLAGS DESTDIR

fail() {
  echo "test_install.sh: $*" >&2
  exit 1
}

install_szgpu() { # kind, BUILD_SHARED_LIBS
  local build=$work/build-$1
  "$cmake" -S "$source_dir" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS="$2" \
    -DSZGPU_TESTS=OFF -DCMAKE_C_COMPILER="$cc" -DCMAKE_INSTALL_PREFIX="$work/nowhere" \
    >"$work/log" 2>&1 || { cat "$work/log"; fail "$1: configuring failed"; }
  "$cmake" --build "$build" --parallel "$(nproc)" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "$1: building failed"; }
  "$cmake" --install "$build" --prefix "$work/first/$1" >/dev/null
  rm -rf "$build"
}

use_by_find_package() { # kind, prefix
  "$cmake" -S "$consumer" -B "$work/use-$1" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$2" \
    >"$work/log" 2>&1 || { cat "$work/log"; fail "$1: find_package failed"; }
  "$cmake" --build "$work/use-$1" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "$1: the project did not build"; }
  "$work/use-$1/consumer" || fail "$1: the program built by find_package failed"
}

use_by_pkg_config() { # kind, prefix, libdir, pkg-config's options
  local kind=$1 prefix=$2 libdir=$3 flags
  shift 3
  flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config "$@" --cflags --libs szgpu)
  [[ $flags == *"$prefix"* ]] || fail "$kind: pkg-config does not follow the tree: $flags"
  # shellcheck disable=SC2086  # flags are words
  "$cc" -std=c11 -o "$work/consumer-$kind" "$consumer/consumer.c" $flags -lm
  LD_LIBRARY_PATH=$libdir "$work/consumer-$kind" ||
    fail "$kind: the program built by pkg-config failed"
}

use_command() { # kind, prefix
  "$2/bin/szgpu" --version >"$work/log" || fail "$1: the installed command does not run"
}

check_static() { # archive
  local forbidden called data
  forbidden='(__)?v?f?printf(_chk)?|puts|putchar|fputs|fputc|fwrite|perror|stdout|stderr'
  forbidden+='|_?exit|_Exit|abort|(secure_)?getenv|__assert_fail'
  called=$(nm -u "$1" | awk '$1 == "U" { print $2 }' | sort -u | grep -xE "$forbidden" || true)
  [ -z "$called" ] || fail "the library prints, exits or reads the environment: ${called//$'\n'/ }"
  data=$(size -A "$1" | awk '$1 ~ /^\.(data|bss|tdata|tbss)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0')
  [ -z "$data" ] || fail "the library has changeable globals: $data"
}

check_shared() { # library
  local alien
  alien=$(nm -D --defined-only "$1" | awk '{ print $NF }' | grep -v '^szgpu_' || true)
  [ -z "$alien" ] || fail "the shared library exports more than szgpu_*: ${alien//$'\n'/ }"
}

install_szgpu static OFF
install_szgpu shared ON
mv "$work/first" "$work/moved" # an installed tree can be moved

for kind in static shared; do
  prefix=$work/moved/$kind
  libdir=$(dirname "$(find "$prefix" -name 'libszgpu.*' | head -n 1)")
  use_command "$kind" "$prefix"
  use_by_find_package "$kind" "$prefix"
  if [ $kind = static ]; then
    use_by_pkg_config "$kind" "$prefix" "$libdir" --static
    check_static "$libdir/libszgpu.a"
  else
    use_by_pkg_config "$kind" "$prefix" "$libdir"
    check_shared "$libdir/libszgpu.so"
  fi
  ! grep -rlF -e "$work" -e "$source_dir" "$libdir/cmake" "$libdir/pkgconfig" ||
    fail "$kind: an installed file names the place it was built in"
done
