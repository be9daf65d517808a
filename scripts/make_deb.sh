#!/usr/bin/env bash
# make_deb.sh - builds Debian packages of szgpu, for the CPU.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/make_deb.sh [FOLDER]
# Builds in FOLDER, build/deb by default, and leaves there libszgpu0, szgpu, libszgpu-dev and
# hdf5-filter-plugin-szgpu, each a .deb. The packages name their maintainer: DEBFULLNAME and DEBEMAIL
# from the environment, or git's user.name and user.email, or else a name that stands for nobody.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${1:-build/deb}

: "${DEBFULLNAME:=$(git config user.name || true)}" "${DEBEMAIL:=$(git config user.email || true)}"
if [ -z "$DEBFULLNAME" ] || [ -z "$DEBEMAIL" ]; then
  DEBFULLNAME="Local build of szgpu" DEBEMAIL=szgpu@example.org
  echo "make_deb.sh: note: the packages name '$DEBFULLNAME <$DEBEMAIL>' as their maintainer; set" \
    "DEBFULLNAME and DEBEMAIL to change that."
fi
scripts/install_deps.sh deb

# Debian's flags harden the code. They change no byte of an archive.
export DEB_CFLAGS_MAINT_STRIP=-g # the packages have no debug symbols
CFLAGS="$(dpkg-buildflags --get CFLAGS) $(dpkg-buildflags --get CPPFLAGS)"
LDFLAGS=$(dpkg-buildflags --get LDFLAGS)
export CFLAGS LDFLAGS
cmake -S . -B "$folder" -DCMAKE_BUILD_TYPE=Release -DSZGPU_DEB=ON -DSZGPU_HDF5=ON \
  -DSZGPU_DEB_MAINTAINER="$DEBFULLNAME <$DEBEMAIL>"
cmake --build "$folder" --parallel "$(nproc)"
rm -f "$folder"/*.deb
cd "$folder"
cpack -G DEB
