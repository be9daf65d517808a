#!/usr/bin/env bash
# check_style.sh - checks the rules of CONTRIBUTING.md that a machine can check.
# SPDX-License-Identifier: BSD-3-Clause
#
# Prints each broken rule and the lines that break it; exits with 1 if there are any.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
rule() { # the rule, then the lines that break it, if any
  [ -n "$2" ] || return 0
  printf '%s\n%s\n\n' "$1" "$2" | sed '2,$s/^/  /'
  failed=1
}
search() { # grep that finds nothing without failing
  grep -nE "$@" || true
}

mapfile -t library < <(find src include -type f | sort)
mapfile -t code < <(find src include apps bench test fuzz datasets examples \
  -type f -regex '.*\.\(c\|h\|cpp\|hpp\|inc\|cu\|cuh\|[fF]90\)' | sort)
mapfile -t scripts < <(find scripts test fuzz .ci bench datasets examples -type f \
  \( -name '*.sh' -o -name '*.py' -o -path '.ci/run' \) | sort)
mapfile -t cmake < <(find . -path ./build -prune -o \( -name CMakeLists.txt -o -name "*.cmake" \) -print | sort)
texts=("${code[@]}" "${scripts[@]}" "${cmake[@]}" CMakePresets.json ./*.md)

# --- Includes (check_layers.py has the order of folders) ----------------------------------------

mapfile -t sources < <(printf '%s\n' "${library[@]}" | grep '^src/')
rule "src/ includes its own headers by \"\"." "$(search '#\s*include\s+<(szgpu|[a-z]+/)' \
  "${sources[@]}" | grep -vE '<(sys|nv|arpa|linux|cub|thrust|cuda)/' || true)"

# --- What the library may not do ----------------------------------------------------------------

forbidden='v?f?printf|puts|putchar|fputs|perror|exit|_Exit|abort|(secure_)?getenv|setenv|signal'
rule "src/ does not print, end the process or read the environment." \
  "$(search "(^|[^_[:alnum:]])($forbidden) *\(|\b(stdout|stderr)\b" "${sources[@]}")"
rule "No fast-math, anywhere." \
  "$(search -e '-Ofast|fast-math|use_fast_math|-funsafe-math|-fassociative-math|GCC optimize' \
    "${code[@]}" "${cmake[@]}" CMakePresets.json | grep -vE 'MATCHES|[Nn]o fast-math' || true)"
rule "#ifdef in src/ only in backend.h, hd.h, the dispatch header and around Linux." \
  "$(search '^\s*#\s*(if|ifdef)\b' "${sources[@]}" |
    grep -vE '^src/(pipeline/backend\.h|core/(hd|dispatch|cores)\.[ch]):' || true)"

alone='cuda(Malloc|Free|Host(Alloc|Free)|Mem(cpy|set)(2D|3D)?) *\('
rule "In src/, only core/device.cu allocates device memory and copies outside the stream." \
  "$(search "$alone" "${sources[@]}" | grep -v '^src/core/device\.cu:' || true)"
wait='cuda(Device|Stream|Event)Synchronize *\('
rule "In src/, only core/device.cu and core/staging.cu wait for a GPU." \
  "$(search "$wait" "${sources[@]}" | grep -vE '^src/core/(device|staging)\.cu:' || true)"

# --- The text -----------------------------------------------------------------------------------

# The first line names the file; in a script it is the second.
misnamed() {
  local file name line
  for file in "$@"; do
    name=$(basename "$file")
    line=$(sed -n '1{/^#!/n;p;q}' "$file")
    case $line in
      "/* $name - "* | "! $name - "* | "# $name - "* | "\"\"\"$name - "*) ;;
      *) echo "$file: $line" ;;
    esac
  done
}
rule "The first line is a comment that names the file and says its job." \
  "$(misnamed "${code[@]}" "${scripts[@]}" "${cmake[@]}")"
rule "The licence follows near the top: SPDX-License-Identifier." \
  "$(for file in "${code[@]}"; do
    [[ $(head -n 3 "$file") == *'SPDX-License-Identifier: BSD-3-Clause'* ]] || echo "$file"
  done)"
rule "Nothing is left for later in the text: it is done, or it is an issue." \
  "$(search -w 'TO[D]O|FIX[M]E|HA[C]K|X[X]X' "${texts[@]}")"
rule "Lines of C, C++, Fortran and CMake end at 100 columns." "$(search '.{101}' "${code[@]}" "${cmake[@]}")"
rule "No tabs, no blanks at the end of a line." \
  "$(search -e $'\t' -e ' +$' "${code[@]}" "${scripts[@]}" "${cmake[@]}")"

# --- The documents ------------------------------------------------------------------------------

shown=$(awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' README.md)
real=$(sed -n '/example begins/,/example ends/{/example \(begins\|ends\)/!s/^  //p}' \
  examples/compress.c)
[ "$shown" = "$real" ] ||
  rule "README.md's C example is the one of examples/compress.c." \
    "$(diff <(echo "$shown") <(echo "$real") || true)"

dead_links() { # prints each relative link in the pages that leads nowhere
  local page link
  for page in "$@"; do
    { grep -oE '\]\([^)#]+' "$page" || true; } | cut -c 3- | grep -v '://' | while read -r link; do
      [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
    done
  done
}
mapfile -t pages < <(find . -path ./build -prune -o -name '*.md' -print | sort)
rule "Links between the documents lead somewhere." "$(dead_links "${pages[@]}")"

exit "$failed"
