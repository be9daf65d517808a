/* hierarchical_forms.c - side data of any width for chained tables, and decoding to bf16 on the
 * CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "study/hierarchical_forms.h"

#include <string.h>

#include "huffman/decoders/hierarchical_block.h"

/* ---- side data ---- */

typedef struct stream_marks {
  const szg_hierarchical_stream *stream;
  uint8_t *gaps;
  void *positions;
  uint64_t next_thread; /* the first whose gap is not known yet */
} stream_marks;

static void put_position(const stream_marks *marks, uint64_t block, uint64_t position) {
  if (marks->stream->position_bytes == 4)
    ((uint32_t *)marks->positions)[block] = (uint32_t)position;
  else
    ((uint64_t *)marks->positions)[block] = position;
}

/* Sets the missing gaps of the threads up to that of `bit`. Code number `code` begins at `bit`, or
 * the stream ends there; it is the first code at or after these threads' first bits. */
static void mark_threads(stream_marks *marks, uint64_t bit, uint64_t code) {
  uint32_t const gap_bits = marks->stream->gap_bits;
  for (; marks->next_thread * SZG_HIERARCHICAL_THREAD_BITS <= bit; marks->next_thread++) {
    uint64_t const thread = marks->next_thread;
    if (thread * SZG_HIERARCHICAL_THREAD_BITS >= marks->stream->bit_count) return;
    uint32_t const gap = (uint32_t)(bit - thread * SZG_HIERARCHICAL_THREAD_BITS);
    uint32_t const place = (uint32_t)(thread * gap_bits % 8);
    uint32_t const two = gap << (16 - gap_bits - place);
    uint8_t *const bytes = marks->gaps + thread * gap_bits / 8;
    bytes[0] = (uint8_t)(bytes[0] | two >> 8);
    bytes[1] = (uint8_t)(bytes[1] | two);
    if (thread % SZG_HIERARCHICAL_BLOCK_THREADS == 0)
      put_position(marks, thread / SZG_HIERARCHICAL_BLOCK_THREADS, code);
  }
}

szgpu_status szg_hierarchical_mark(const szg_hierarchical_tables *tables,
                                   const szg_hierarchical_stream *stream, uint8_t *gaps,
                                   void *positions) {
  SZG_REQUIRE(szg_hierarchical_sizes_agree(stream), SZGPU_BAD_DATA);
  SZG_REQUIRE(stream->position_bytes == 8 || stream->code_count <= UINT32_MAX, SZGPU_BAD_DATA);
  memset(gaps, 0, szg_hierarchical_gap_bytes(stream->bit_count, stream->gap_bits));
  stream_marks marks = {stream, gaps, positions, 0};
  uint64_t bit = 0, code = 0;
  for (; bit < stream->bit_count; code++) {
    mark_threads(&marks, bit, code);
    uint64_t const thread = bit / SZG_HIERARCHICAL_THREAD_BITS;
    uint32_t const at = (uint32_t)(bit % SZG_HIERARCHICAL_THREAD_BITS);
    uint32_t const entry = szg_hierarchical_entry(
        tables, szg_hierarchical_bits(szg_hierarchical_words_of(stream, thread), at));
    SZG_REQUIRE(entry != 0, SZGPU_BAD_DATA);
    bit += entry >> 8;
  }
  SZG_REQUIRE(bit == stream->bit_count && code == stream->code_count, SZGPU_BAD_DATA);
  mark_threads(&marks, bit, code);
  put_position(&marks, szg_hierarchical_block_count(stream->bit_count), code);
  return SZGPU_OK;
}

/* ---- bf16 values ---- */

SZG_INLINE void put_bf16(void *output, uint64_t place, uint32_t symbol) {
  const szg_bf16_output *const own = output;
  own->values[place] = szg_bf16_of(symbol, own->rest[place]);
}

SZG_HOT static szgpu_status decode_bf16(void *opaque, uint64_t part, int worker) {
  (void)worker;
  return szg_hierarchical_block(opaque, put_bf16, part);
}

szgpu_status szg_decode_bf16(const szg_hierarchical_tables *tables,
                             const szg_hierarchical_stream *stream, const szg_bf16_output *output,
                             szg_threads *threads) {
  szg_bf16_output own = *output;
  szg_hierarchical_job const job = {tables, stream, &own};
  return szg_hierarchical_blocks(&job, decode_bf16, threads);
}
