# szgpu.bash - completes options, their values and names of files of the command szgpu, in bash.
# SPDX-License-Identifier: BSD-3-Clause

# The words that may follow; nothing for what only the user knows, or for a file.
_szgpu_values() { # option
  case $1 in
    -m) echo rel abs psnr pwrel lossless ;;
    -t) echo f32 f64 f16 bf16 fp8 u8 i8 u16 i16 i32 ;;
    -b) echo auto cpu cuda ;;
    --layout) echo tile linear ;;
    --predictor) echo auto lorenzo interpolation ;;
    --progress) echo auto none json ;;
    --chunks) echo auto keep ;;
    --decoder)
      echo auto serial table gap-array chunked self-sync all-offsets hierarchical
      ;;
  esac
}

# Folders, and files with these names.
_szgpu_files() { # word, pattern
  compopt -o filenames 2>/dev/null # fails where no completion is in progress
  mapfile -t COMPREPLY < <(compgen -d -- "$1"; compgen -f -X "!$2" -- "$1" |
    while IFS= read -r name; do [ -d "$name" ] || printf '%s\n' "$name"; done)
}

_szgpu() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} pattern='*'
  local options='-z -x -l -e -m -t -d -b -j -o -f -q -v -V -h --test --sweep --repack --unpack --h5-args --verify
    --var --bounds --like --chunks --dry-run --fill --greatest --zstd --zstd= --frame --layout --predictor --no-gap --target-ratio --append
    --time --strict --named --slab --region --level --step --compare --decoder --device --memory
    --memory-limit --json --progress --help --version'
  COMPREPLY=()
  case $before in
    -m | -t | -b | --layout | --predictor | --decoder | --progress | --chunks)
      mapfile -t COMPREPLY < <(compgen -W "$(_szgpu_values "$before")" -- "$word")
      return
      ;;
    -o | --compare | --bounds | --like)
      _szgpu_files "$word" '*'
      return
      ;;
    --append)
      _szgpu_files "$word" '*.szgs'
      return
      ;;
    -e | -d | -j | --sweep | --fill | --greatest | --frame | --target-ratio | --time | --slab | \
      --var | --region | --level | --step | --device | --memory | --memory-limit)
      return
      ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    return
  fi
  case " ${COMP_WORDS[*]:1:COMP_CWORD - 1} " in
    *' -x '* | *' -l '* | *' --test '*) pattern='*.szg*' ;; # archives, and series
  esac
  _szgpu_files "$word" "$pattern"
}
complete -F _szgpu szgpu
