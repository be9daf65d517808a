#!/usr/bin/env bash
# install_deps.sh - installs what building szgpu needs and, with "quick", "test", "lint", "fuzz" or
# "deb", what scripts/test.sh, all tests, scripts/lint.sh, the fuzz targets or Debian's packages need.
# SPDX-License-Identifier: BSD-3-Clause
#
# Looks for each program or library first, so that one that came some other way is used as it is.
# Installs what is missing with apt-get, as root or by sudo.
set -euo pipefail

purpose=${1:-build}
missing=()

need() { # package, then a command that succeeds if the package is not needed
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}
have() { command -v "$1"; }
compiles() { printf '#include <%s>\n' "$2" | "$1" -fsyntax-only -x "$3" -; }
has_hdf5() { pkg-config --exists hdf5-serial || pkg-config --exists hdf5; }
has_python_header() {
  python3 -c 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")'
}
has_module() { /usr/bin/python3 -c "import $1"; }
has_libfuzzer() {
  echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
    clang -fsanitize=fuzzer,address -x c -o /dev/null -
}

need gcc have cc
need libc6-dev compiles cc stdio.h c
need make have make
need cmake have cmake
need pkg-config have pkg-config
need libzstd-dev pkg-config --exists libzstd
need libxxhash-dev pkg-config --exists libxxhash
if [ "$purpose" = quick ] || [ "$purpose" = test ]; then
  need g++ compiles c++ cstddef c++
  need libcmocka-dev pkg-config --exists cmocka
  need python3-numpy has_module numpy
  need libhdf5-dev has_hdf5
  need python3-venv has_module ensurepip
  need python3-dev has_python_header # of the python3 that builds the package
fi
if [ "$purpose" = test ]; then
  need python3-matplotlib has_module matplotlib # draws what bench/compare.py measures
  need gfortran have gfortran
  need zstd have zstd
  need ccache have ccache
  need help2man have help2man # made the manual page
  need mandoc have mandoc
  need zsh have zsh # has a completion
  need lintian have lintian
  need python3-yaml has_module yaml # reads conda's recipe
  # The programs that tests of the HDF5 filter read and write with.
  need libhdf5-openmpi-dev pkg-config --exists hdf5-openmpi
  need openmpi-bin have mpiexec
  need hdf5-tools have h5repack
  need netcdf-bin have nccopy
  need nco have ncks
  need python3-h5py has_module h5py
  need python3-netcdf4 has_module netCDF4
  need chromium have chromium # looks at the pages of szgpu.report
fi

if [ "$purpose" = deb ] || [ "$purpose" = test ]; then
  need dpkg-dev have dpkg-shlibdeps
  need file have file # cpack calls it
fi

if [ "$purpose" = lint ] || [ "$purpose" = test ]; then
  need shellcheck have shellcheck
  need clang-format have clang-format
  need clang-tidy have clang-tidy
fi

if [ "$purpose" = lint ]; then # clang-tidy reads the headers
  need libhdf5-dev has_hdf5
  need libhdf5-openmpi-dev pkg-config --exists hdf5-openmpi
fi

[ "$purpose" != deb ] || need libhdf5-dev has_hdf5

if [ "$purpose" = fuzz ]; then
  need clang have clang
  need libclang-rt-dev has_libfuzzer
  need python3-numpy has_module numpy
  need libhdf5-dev has_hdf5
fi

[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "install_deps.sh: missing here: ${missing[*]} (Debian's names); there is no apt-get to" \
    "install them with, so install them in your system's way and run this again." >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install_deps.sh: missing here: ${missing[*]}; as root run" \
      "'apt-get install ${missing[*]}' and then this again." >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -q \
    -o DPkg::Lock::Timeout=120 "$@" >>"$log" 2>&1 </dev/null
}
# Tries the old list of packages first, and updates it if that fails.
if ! apt_get install --no-install-recommends "${missing[@]}"; then
  if ! { apt_get update && apt_get install --no-install-recommends "${missing[@]}"; }; then
    tail -n 20 "$log" >&2
    echo "install_deps.sh: apt-get could not install ${missing[*]}; mend what it says above and" \
      "run this again." >&2
    exit 1
  fi
fi
