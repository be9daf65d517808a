/* tokens_places.h - codes of tiles by place, for the CPU's counter, encoder and decoder.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_PLACES_H
#define SZG_TOKENS_PLACES_H

#include "core/dispatch.h"
#include "huffman/tokens.h"
#include "huffman/tokens_core.h"

SZG_INLINE int64_t szg_code_at(const void *codes, bool is_wide, uint32_t place) {
  return is_wide ? ((const int64_t *)codes)[place] : ((const int32_t *)codes)[place];
}

SZG_INLINE void szg_set_code(void *codes, bool is_wide, uint32_t place, int64_t code) {
  if (is_wide)
    ((int64_t *)codes)[place] = code;
  else
    ((int32_t *)codes)[place] = (int32_t)code;
}

static inline size_t szg_code_bytes(bool is_wide) {
  return is_wide ? sizeof(int64_t) : sizeof(int32_t);
}

static inline uint64_t szg_existing_of(const uint64_t *existing, uint32_t group) {
  return existing ? existing[group] : UINT64_MAX;
}

/* Sets a bit for each place with a nonzero code. */
void szg_tokens_find_nonzero(const szg_tokens_shape *shape, const void *codes, uint64_t *nonzero);

/* The same for frames that are not wide. */
typedef void szg_tokens_find_nonzero_narrow(const int32_t *codes, uint32_t group_count,
                                            uint64_t *nonzero);
szg_tokens_find_nonzero_narrow szg_tokens_find_nonzero_plain;
szg_tokens_find_nonzero_narrow szg_tokens_find_nonzero_avx2; /* x86-64 with AVX2 only */

#endif
