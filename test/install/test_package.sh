#!/usr/bin/env bash
# test_package.sh - builds the Debian packages, and installs, uses and removes them in another root.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: test_package.sh SOURCE_DIR FOLDER
# Builds in FOLDER, which the next run uses again. The other root is this system as it is, with a
# layer on top that takes all changes and vanishes with the test: dpkg really installs there, with
# all dependencies, and nothing that the test's environment says helps programs to find anything.
set -euo pipefail

source_dir=$1 folder=$2
fail() {
  echo "test_package.sh: $*" >&2
  exit 1
}

# --- In the other root --------------------------------------------------------------------------

packages=(libszgpu0 szgpu hdf5-filter-plugin-szgpu libszgpu-dev)

use_command() {
  cp /source/datasets/sample/*.f32 .
  szgpu -z -q -e 1e-4 -- *.f32
  szgpu -x -q -o back.f32 --compare ./*.f32 -- *.szg
  ldconfig -p | grep 'libszgpu\.so\.0 ' >log || fail "ldconfig does not know the library"
  gzip -dc /usr/share/man/man1/szgpu.1.gz >page
  grep -q "\"szgpu $(szgpu --version | sed -n '1s/.* //p')\"" page ||
    fail "the manual page is of another version"
  bash -uc '. /usr/share/bash-completion/completions/szgpu; complete -p szgpu' >/dev/null
  [ -s /usr/share/zsh/vendor-completions/_szgpu ] || fail "the completion for zsh is missing"
  [ -s /usr/share/doc/szgpu/docs/cli.md ] || fail "the documentation is missing"
}

use_filter() {
  szgpu --h5-args -m abs -e 0.01 >forms
  /usr/bin/python3 /source/test/install/use_plugin.py field.h5 <forms || fail "h5py: no filter"
  h5repack -f NONE field.h5 plain.h5
  h5diff -d 0.01 field.h5 plain.h5
  nm -D /usr/lib/*/hdf5/openmpi/plugins/libh5zszgpu.so | grep H5PLget_plugin_info >log ||
    fail "the filter of HDF5 for MPI leads nowhere"
}

use_library() {
  local consumer=/source/examples
  # shellcheck disable=SC2046  # flags are words
  cc -std=c11 -o by_pkg_config $consumer/compress.c $(pkg-config --cflags --libs szgpu) -lm
  ./by_pkg_config
  if ! { cmake -S $consumer -B by_cmake && cmake --build by_cmake; } >log 2>&1; then
    cat log
    fail "find_package failed"
  fi
  by_cmake/app
}

if [ "$source_dir" = --inside ]; then
  dpkg -i /packages/*.deb >log 2>&1 || { cat log; fail "dpkg -i failed"; }
  dpkg --verify "${packages[@]}"
  use_command
  use_filter
  use_library
  dpkg --purge "${packages[@]}" >log 2>&1 || { cat log; fail "dpkg --purge failed"; }
  left=$(find /etc /usr /var/lib/dpkg/info -name '*szgpu*')
  [ -z "$left" ] || fail "left behind: $left"
  exit 0
fi

# --- Around it ----------------------------------------------------------------------------------

command -v dpkg-deb >/dev/null || { echo "skipped: Debian's packages, for there is no dpkg"; exit 77; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Without an identity of git's it refused to build.
env -u DEBFULLNAME -u DEBEMAIL HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 \
  "$source_dir/scripts/make_deb.sh" "$folder" >"$log" 2>&1 || { cat "$log"; fail "building failed"; }
for package in "${packages[@]}"; do
  [ -e "$(echo "$folder/${package}"_*.deb)" ] || fail "there is no package $package"
done
if command -v lintian >/dev/null; then
  lintian --fail-on error --allow-root "$folder"/*.deb
else
  echo "skipped: lintian, which is not there"
fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(--map-root-user)
# shellcheck disable=SC2016  # expanded by the shell inside
layered='
  set -euo pipefail
  mount -t tmpfs tmpfs "$1"
  mkdir "$1/upper" "$1/work" "$1/root"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
  [ $# -gt 1 ] || exit 0
  cd "$1/root"
  mkdir -p source/datasets source/test packages work dev proc
  cp "$3"/*.deb packages
  cp -r "$2/datasets/sample" source/datasets
  cp -r "$2/test/install" source/test
  cp -r "$2/examples" source
  mount --rbind /dev dev
  mount --rbind /proc proc
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C chroot . \
    bash -c "cd /work && exec bash /source/test/install/test_package.sh --inside /work"'
mount_point=$(mktemp -d)
trap 'rm -f "$log"; rmdir "$mount_point"' EXIT
if ! unshare --mount "${as_root[@]}" bash -c "$layered" bash "$mount_point" 2>"$log"; then
  echo "skipped: installing the packages, for this system permits no other root: $(tail -n 1 "$log")"
  exit 0
fi
unshare --mount "${as_root[@]}" bash -c "$layered" bash "$mount_point" "$source_dir" "$folder"
