/* decoders.c - the table of decoders: what each one needs, and its steps on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/decoders.h"

#include "huffman/decoders/table.h"

typedef struct decoder_row {
  unsigned backends, needs;
  const szg_decoder_cpu *cpu;
} decoder_row;

typedef struct decoder_words {
  const char *name, *summary;
} decoder_words;

static const decoder_row rows[] = {
#define ROW_OF(decoder, backends, needs, cpu, cuda) {backends, needs, cpu},
    SZG_DECODER_TABLE(ROW_OF)
#undef ROW_OF
};

static const decoder_words words[] = {
#define WORDS_OF(decoder, value, name, summary) {name, summary},
    SZGPU_DECODER_LIST(WORDS_OF)
#undef WORDS_OF
};

/* A decoder's number is the index of its row and of its line in the list. */
enum {
#define PLACE_OF_ROW(decoder, backends, needs, cpu, cuda) decoder##_ROW,
  SZG_DECODER_TABLE(PLACE_OF_ROW)
#undef PLACE_OF_ROW
      DECODER_COUNT
};
enum {
#define PLACE_OF_WORDS(decoder, value, name, summary) decoder##_WORDS,
  SZGPU_DECODER_LIST(PLACE_OF_WORDS)
#undef PLACE_OF_WORDS
      WORDS_COUNT
};
static_assert((int)DECODER_COUNT == (int)WORDS_COUNT, "the list and the table are as long");
#define CHECK_PLACE(decoder, value, name, summary)          \
  static_assert((int)decoder##_WORDS == value, "its line"); \
  static_assert((int)decoder##_ROW == value, "and its row");
SZGPU_DECODER_LIST(CHECK_PLACE)
#undef CHECK_PLACE

bool szg_decoder_exists(szgpu_decoder decoder) { return (unsigned)decoder < DECODER_COUNT; }

const char *szg_decoder_name(szgpu_decoder decoder) {
  return szg_decoder_exists(decoder) ? words[decoder].name : NULL;
}

const char *szg_decoder_summary(szgpu_decoder decoder) {
  return szg_decoder_exists(decoder) ? words[decoder].summary : NULL;
}

bool szg_decoder_runs_on(szgpu_decoder decoder, szgpu_backend backend) {
  unsigned const asked = backend == SZGPU_BACKEND_CPU    ? SZG_ON_CPU
                         : backend == SZGPU_BACKEND_CUDA ? SZG_ON_CUDA
                                                         : SZG_ON_BOTH;
  return rows[decoder].backends & asked;
}

const char *szg_decoder_refusal(szgpu_decoder decoder, szgpu_mode mode, szgpu_layout layout,
                                bool has_gaps) {
  unsigned const needs = rows[decoder].needs;
  bool const is_tile = layout == SZGPU_LAYOUT_TILE, is_lossless = mode == SZGPU_MODE_LOSSLESS;
  if (needs & SZG_NEEDS_LINEAR && is_tile) return "has the tile layout";
  if (needs & SZG_NEEDS_CODES && is_tile && is_lossless) return "is lossless in the tile layout";
  if (needs & SZG_NEEDS_LOSSLESS && !is_lossless) return "is not lossless";
  if (needs & SZG_NEEDS_GAPS && !has_gaps) return "has no gap array";
  return NULL;
}

szgpu_decoder szg_decoder_resolve(szgpu_decoder decoder, szgpu_backend backend, bool has_gaps) {
  if (decoder != SZGPU_DECODER_AUTO) return decoder;
  if (backend == SZGPU_BACKEND_CPU) return SZGPU_DECODER_TABLE;
  return has_gaps ? SZGPU_DECODER_GAP_ARRAY : SZGPU_DECODER_SELF_SYNC;
}

const szg_decoder_cpu *szg_decoder_for_cpu(szgpu_decoder decoder, bool has_gaps) {
  return rows[szg_decoder_resolve(decoder, SZGPU_BACKEND_CPU, has_gaps)].cpu;
}
