#!/usr/bin/env bash
# make_man.sh - makes the manual page of the command from its --help.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: scripts/make_man.sh SZGPU [--check]
# SZGPU is the command that was built. Writes apps/szgpu/szgpu.1.in, in which CMake fills in the
# version. With --check it writes nothing, but fails if the page is another, but for its date, or if
# mandoc complains. Needs help2man, and mandoc for --check; exit code 77: they are not there.
set -euo pipefail
szgpu=$(realpath "$1")
mode=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
page=apps/szgpu/szgpu.1.in

for tool in help2man ${mode:+mandoc}; do
  command -v "$tool" >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
made=$(mktemp)
trap 'rm -f "$made"' EXIT
summary=$("$szgpu" --help | sed -n '1s/^szgpu - //p')
# Two paragraphs of --help have sections of their own in the page: its first, and the exit codes.
LC_ALL=C help2man --no-info --name="$summary" --version-string=@PROJECT_VERSION@ \
  --include=apps/szgpu/szgpu.h2m "$szgpu" |
  sed -e '/^szgpu \\- error\\-bounded/d' -e '/^\.PP$/{N;/\nExit codes:/{N;d}}' \
    -e '1s/ by help2man.*/ by scripts\/make_man.sh./' \
    -e "2s/\"[^\"]* [0-9]\{4\}\"/\"$(date +%F)\"/" >"$made"

without_date() { sed '2s/"[0-9-]*"//2' "$1"; }
if [ "$mode" != --check ]; then
  cp "$made" "$page"
elif ! diff -u <(without_date "$page") <(without_date "$made"); then
  echo "make_man.sh: $page is not what --help says; run scripts/make_man.sh $szgpu" >&2
  exit 1
else
  mandoc -T lint -W warning "$page"
fi
