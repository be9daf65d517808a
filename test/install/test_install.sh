#!/usr/bin/env bash
# test_install.sh - installs szgpu, moves the tree and builds a user's project against it.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: test_install.sh SOURCE_DIR CMAKE C_COMPILER
# Does so with a static library, by the README's commands, and a shared one, each by find_package and
# by pkg-config. Also checks what both libraries export and call, and that they hold no writable data.
# If HDF5 is there, also uses the installed filter plugin and its header.
set -euo pipefail

source_dir=$1 cmake=$2 cc=$3
consumer=$source_dir/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CFLAGS LDFLAGS CPPFLAGS DESTDIR

fail() {
  echo "test_install.sh: $*" >&2
  exit 1
}

# A command of the README, as it stands there, for a user whose home is $work/first/static.
readme_line() { # how it begins
  local line
  line=$(sed -n "s|^\($1.*\)|\1|p" "$source_dir/README.md" | sed 's/  *#.*//')
  [ -n "$line" ] || fail "the README has no line that begins with: $1"
  CC=$cc HOME=$work/first/static bash -euo pipefail -c "$line" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "the README's $line failed"; }
}

# The static library, by the README's commands in a tree that has nothing built.
install_as_readme_says() {
  mkdir -p "$work/clone" "$work/first/static"
  tar -C "$source_dir" --exclude=./build --exclude=./.git -c . | tar -C "$work/clone" -x
  cd "$work/clone"
  readme_line scripts/quickstart.sh
  grep -qF "The command is $work/clone/build/release/szgpu." "$work/log" ||
    { cat "$work/log"; fail "quickstart.sh does not say where the command is"; }
  [[ $(tail -n 5 "$work/log") == "PATH="*"szgpu -x --region"* ]] ||
    { cat "$work/log"; fail "quickstart.sh does not end with what to try next"; }
  readme_line 'cmake --install'
  mv "$work/log" "$work/installing-static"
  cd - >/dev/null
  rm -rf "$work/clone"
}

install_shared() {
  local build=$work/build-shared
  "$cmake" -S "$source_dir" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
    -DSZGPU_TESTS=OFF -DCMAKE_C_COMPILER="$cc" -DCMAKE_INSTALL_PREFIX="$work/nowhere" \
    -DSZGPU_FORTRAN="$(command -v gfortran >/dev/null && echo ON || echo OFF)" \
    >"$work/log" 2>&1 || { cat "$work/log"; fail "shared: configuring failed"; }
  "$cmake" --build "$build" --parallel "$(nproc)" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "shared: building failed"; }
  "$cmake" --install "$build" --prefix "$work/first/shared" >"$work/installing-shared"
  rm -rf "$build"
}

use_by_find_package() { # kind, prefix
  "$cmake" -S "$consumer" -B "$work/use-$1" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$2" \
    >"$work/log" 2>&1 || { cat "$work/log"; fail "$1: find_package failed"; }
  "$cmake" --build "$work/use-$1" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "$1: the project did not build"; }
  "$work/use-$1/app" || fail "$1: the program built by find_package failed"
}

use_by_pkg_config() { # kind, prefix, libdir
  local kind=$1 prefix=$2 libdir=$3 flags
  flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs szgpu)
  [[ $flags == *"$prefix"* ]] || fail "$kind: pkg-config does not follow the tree: $flags"
  compile_example compress.c cc "$work/consumer-$kind" "$libdir" "$cc -std=c11"
  LD_LIBRARY_PATH=$libdir "$work/consumer-$kind" ||
    fail "$kind: the program built by pkg-config failed"
}

page_block() { # language, number: a block of docs/bindings.md
  awk -v start="\`\`\`$1" -v number="$2" '
    /^```/ { on = $0 == start && ++count == number; next }
    on' "$source_dir/docs/bindings.md"
}

# The page's first program in a language, as a stranger would walk it. Sizes may differ.
walk_page() { # kind, libdir, number of the program, its language, its file
  local -r folder=$work/walk-$1-$4
  mkdir "$folder"
  page_block "$4" 1 >"$folder/$5"
  (cd "$folder" && export PKG_CONFIG_PATH=$2/pkgconfig LD_LIBRARY_PATH=$2 &&
    eval "set -e; $(page_block sh "$3")") >"$work/printed" ||
    fail "$1: the commands of docs/bindings.md for $5 failed"
  diff <(page_block text "$3" | sed 's/-> [0-9]* bytes/-> N bytes/') \
    <(sed 's/-> [0-9]* bytes/-> N bytes/' "$work/printed") ||
    fail "$1: docs/bindings.md shows something else than $5 prints"
}

use_cxx() { # kind, libdir
  if ! command -v c++ >/dev/null; then
    echo "skipped: compiling series.cpp, for there is no c++"
    return
  fi
  compile_example series.cpp c++ "$work/series-$1" "$2"
  LD_LIBRARY_PATH=$2 "$work/series-$1" "$work/wave.szgs" || fail "$1: series.cpp failed"
  walk_page "$1" "$2" 2 cpp first.cpp
}

# szgpu.f90 beside the headers is for any compiler; only the shared library has the target, too.
use_fortran() { # kind, prefix, libdir
  local -r consumer=$source_dir/examples/fortran program=$work/heat-$1
  local arguments
  if ! command -v gfortran >/dev/null; then
    echo "skipped: the Fortran module, for there is no gfortran"
    return
  fi
  arguments=$(sed -n 's/^! gfortran //p' "$consumer/heat.f90")
  mkdir "$program"
  (cd "$program" && PKG_CONFIG_PATH=$3/pkgconfig \
    eval "gfortran -o heat ${arguments/ heat.f90/ $consumer/heat.f90}") ||
    fail "$1: heat.f90 cannot be compiled as it says"
  LD_LIBRARY_PATH=$3 "$program/heat" "$program/heat.szgs" || fail "$1: heat.f90 failed"
  walk_page "$1" "$3" 1 fortran first.f90

  if "$cmake" -S "$consumer" -B "$program" -DCMAKE_PREFIX_PATH="$2" >"$work/log" 2>&1; then
    [ "$1" = shared ] || fail "$1: find_package found a Fortran module"
    "$cmake" --build "$program" >"$work/log" 2>&1 ||
      { cat "$work/log"; fail "$1: the Fortran project did not build"; }
    "$program/heat" "$program/heat.szgs" || fail "$1: heat.f90 by find_package failed"
  else
    [ "$1" = static ] || { cat "$work/log"; fail "$1: find_package found no Fortran module"; }
    tr -s ' \n' ' ' <"$work/log" | grep -qF 'this szgpu was built without SZGPU_FORTRAN' ||
      { cat "$work/log"; fail "$1: find_package does not say that there is no Fortran module"; }
  fi
}

use_command() { # kind, prefix
  local file
  for file in share/doc/szgpu/LICENSE share/doc/szgpu/docs/cli.md share/man/man1/szgpu.1 \
    share/bash-completion/completions/szgpu share/zsh/site-functions/_szgpu; do
    [ -s "$2/$file" ] || fail "$1: $file is not installed"
  done
  "$2/bin/szgpu" --version >"$work/log" || fail "$1: the installed command does not run"
  grep -q "\"szgpu $(sed -n '1s/.* //p' "$work/log")\"" "$2/share/man/man1/szgpu.1" ||
    fail "$1: the manual page is of another version"
}

check_static() { # archive
  local forbidden called data
  forbidden='(__)?v?f?printf(_chk)?|puts|putchar|fputs|fputc|fwrite|perror|stdout|stderr'
  forbidden+='|_?exit|_Exit|abort|(secure_)?getenv|__assert_fail'
  called=$(nm -u "$1" | awk '$1 == "U" { print $2 }' | sort -u | grep -xE "$forbidden" || true)
  [ -z "$called" ] || fail "the library prints, exits or reads the environment: ${called//$'\n'/ }"
  data=$(size -A "$1" | awk '
    / \(ex / { member = $1 }
    member != "workers.c.o" && /^\.(data|bss|tdata|tbss)/ && !/^\.data\.rel\.ro/ && $2 > 0')
  [ -z "$data" ] || fail "the library has changeable globals besides its pool of threads: $data"
}

check_shared() { # library
  "$source_dir/scripts/check_abi.py" "$1" || fail "the shared library is not what it was"
}

# Compiles an example as its first comment says, but for this installation and this HDF5.
compile_example() { # source, its compiler, program, libdir
  local -r example=$source_dir/examples/$1
  local arguments
  arguments=$(sed -n "s/^ \* $2 $1 //p" "$example")
  [ -n "$arguments" ] || fail "$1 does not say how it is compiled"
  pkg-config --exists hdf5-serial || arguments=${arguments//hdf5-serial/hdf5}
  PKG_CONFIG_PATH=$4/pkgconfig eval "${5:-$2} -o $3 $example $arguments" ||
    fail "$1 cannot be compiled as it says"
}

compile_hdf5_examples() { # kind, libdir, plugin folder
  if ! pkg-config --exists hdf5-serial && ! pkg-config --exists hdf5; then
    echo "skipped: compiling examples with HDF5, for pkg-config does not know it"
    return
  fi
  compile_example hdf5_write.c cc "$work/hdf5_write-$1" "$2" "$cc"
  HDF5_PLUGIN_PATH=$3 "$work/hdf5_write-$1" "$work/field.h5" >"$work/log" ||
    fail "$1: hdf5_write failed with the installed header and plugin"
  if command -v mpicc >/dev/null && pkg-config --exists hdf5-openmpi; then
    compile_example mpi_write.c mpicc "$work/mpi_write-$1" "$2"
  else
    echo "skipped: compiling mpi_write.c, for there is no mpicc or no HDF5 for MPI"
  fi
}

# Without h5py, HDF5's tools convert the example's file from the filter and back to it.
repack() { # the form for h5repack
  h5repack -f NONE "$work/field.h5" "$work/plain.h5"
  # shellcheck disable=SC2086  # the form is words
  h5repack $1 "$work/plain.h5" "$work/small.h5"
  h5diff -d 0.01 "$work/plain.h5" "$work/small.h5"
  [ "$(stat -c %s "$work/small.h5")" -lt $(($(stat -c %s "$work/plain.h5") / 4)) ] ||
    fail "h5repack did not compress with the installed plugin"
}

use_filter() { # kind, prefix, libdir
  local kind=$1 prefix=$2 plugins=$3/hdf5/plugin form
  [ "$(ls "$plugins")" = libh5zszgpu.so ] || fail "$kind: $plugins does not hold the plugin alone"
  ! readelf -d "$plugins/libh5zszgpu.so" | grep -E 'NEEDED.*lib(hdf5|gomp|omp|iomp)' ||
    fail "$kind: the plugin brings an HDF5 or an OpenMP of its own"
  [ -e "$prefix/include/szgpu_hdf5.h" ] || fail "$kind: szgpu_hdf5.h is not installed"
  grep -qF "HDF5_PLUGIN_PATH=$work/first/${plugins#"$work/moved/"}" "$work/installing-$kind" ||
    fail "$kind: cmake --install does not say where the plugin is"
  compile_hdf5_examples "$kind" "$3" "$plugins"

  "$prefix/bin/szgpu" --h5-args -m abs -e 0.01 >"$work/forms"
  form=$(sed -n 's/^h5repack: *//p' "$work/forms")
  export HDF5_PLUGIN_PATH=$plugins
  if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
    /usr/bin/python3 "$source_dir/test/install/use_plugin.py" "$work/python.h5" <"$work/forms" ||
      fail "$kind: h5py failed with the installed plugin"
  elif [ -e "$work/field.h5" ] && command -v h5repack >/dev/null; then
    (repack "$form")
  else
    echo "skipped: h5py with the installed plugin, for there is neither it nor h5repack" \
      "(Debian: python3-h5py, hdf5-tools)"
  fi
  unset HDF5_PLUGIN_PATH
}

install_as_readme_says
install_shared
mv "$work/first" "$work/moved" # because users may move an installed tree

for kind in static shared; do
  prefix=$work/moved/$kind
  [ $kind = shared ] || prefix+=/.local # where the README installs it
  libdir=$(dirname "$(find "$prefix" -name 'libszgpu.*' -print -quit)")
  use_command "$kind" "$prefix"
  if grep -q '^HDF5: yes' "$work/log"; then # from --version
    use_filter "$kind" "$prefix" "$libdir"
  else
    echo "skipped: the HDF5 filter, for there are no headers of HDF5 (Debian: libhdf5-dev)"
  fi
  use_by_find_package "$kind" "$prefix"
  use_by_pkg_config "$kind" "$prefix" "$libdir"
  use_cxx "$kind" "$libdir"
  use_fortran "$kind" "$prefix" "$libdir"
  if [ $kind = static ]; then
    check_static "$libdir/libszgpu.a"
  else
    check_shared "$libdir/libszgpu.so"
    flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --libs szgpu)
    [[ $flags != *zstd* ]] || fail "$kind: pkg-config names what the shared library calls: $flags"
  fi
  ! grep -rlF -e "$work" -e "$source_dir" "$libdir/cmake" "$libdir/pkgconfig" ||
    fail "$kind: an installed file names the place it was built in"
done
