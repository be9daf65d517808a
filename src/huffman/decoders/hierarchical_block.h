/* hierarchical_block.h - byte symbols by chained tables on the CPU: decodes a block to any values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The decoder goes through a block as the device does, thread after thread, each from its gap, so
 * that both refuse the same streams.
 */
#ifndef SZG_HIERARCHICAL_BLOCK_H
#define SZG_HIERARCHICAL_BLOCK_H

#include <assert.h>

#include "core/bytes.h"
#include "core/dispatch.h"
#include "huffman/decoders/hierarchical.h"

/* Bits of szg_hierarchical_tables.packs. */
enum { SZG_PACK_SYMBOLS = 3, SZG_PACK_FIRST_BIT = 5, SZG_PACK_COUNT_BIT = 29 };

/* ---- bits ---- */

SZG_INLINE uint32_t szg_hierarchical_word(const szg_hierarchical_stream *stream, uint64_t index) {
  return index < stream->word_count ? szg_load_u32((const uint8_t *)stream->words + 4 * index) : 0;
}

/* The entry of the code at the high end of `bits`; 0: the bits are no code. */
SZG_INLINE uint32_t szg_hierarchical_entry(const szg_hierarchical_tables *tables, uint32_t bits) {
  uint32_t const entry = tables->entries[0][bits >> 24];
  if (!(entry & SZG_HIERARCHICAL_LINK)) return entry;
  return tables->entries[entry % SZG_HIERARCHICAL_LINK][bits >> 16 & 255];
}

/* The words of a thread, and the word after them. */
typedef struct szg_hierarchical_words {
  uint64_t own;
  uint32_t next;
} szg_hierarchical_words;

SZG_INLINE szg_hierarchical_words szg_hierarchical_words_of(const szg_hierarchical_stream *stream,
                                                            uint64_t thread) {
  return (szg_hierarchical_words){(uint64_t)szg_hierarchical_word(stream, 2 * thread) << 32 |
                                      szg_hierarchical_word(stream, 2 * thread + 1),
                                  szg_hierarchical_word(stream, 2 * thread + 2)};
}

/* 32 bits from bit `at` on; at < 64. */
SZG_INLINE uint32_t szg_hierarchical_bits(szg_hierarchical_words words, uint32_t at) {
  uint64_t const low = (words.own << 32 | words.next) << at % 32;
  return (uint32_t)((at < 32 ? words.own << at : low) >> 32);
}

SZG_INLINE bool szg_hierarchical_sizes_agree(const szg_hierarchical_stream *stream) {
  assert(stream->gap_bits == 4 || stream->gap_bits == 5);
  assert(stream->position_bytes == 4 || stream->position_bytes == 8);
  return stream->bit_count <= UINT64_MAX / 2 &&
         stream->word_count == szg_div_up(stream->bit_count, 32);
}

/* ---- decoding ---- */

typedef struct szg_hierarchical_job {
  const szg_hierarchical_tables *tables;
  const szg_hierarchical_stream *stream;
  void *output; /* for the put function */
} szg_hierarchical_job;

/* Stores a symbol as value number `place`. */
typedef void (*szg_put_symbol)(void *output, uint64_t place, uint32_t symbol);

/* Decodes a thread's codes that begin before `limit`, to places up to `last`. Returns where the
 * last code ends; 0: bits are no code, or there are more codes than places. */
SZG_INLINE uint32_t szg_hierarchical_thread(const szg_hierarchical_job *job, szg_put_symbol put,
                                            szg_hierarchical_words words, uint32_t at,
                                            uint32_t limit, uint64_t *place, uint64_t last) {
  szg_hierarchical_tables const *const tables = job->tables;
  while (at < limit) {
    uint32_t const bits = szg_hierarchical_bits(words, at), pack = tables->packs[bits >> 24];
    if (pack && at + 8 <= limit && *place + SZG_PACK_SYMBOLS <= last) {
      uint32_t const count = pack >> SZG_PACK_COUNT_BIT;
      for (uint32_t i = 0; i < count; i++)
        put(job->output, *place + i, pack >> (SZG_PACK_FIRST_BIT + 8 * i) & 255);
      *place += count;
      at += pack & 31;
      continue;
    }
    uint32_t const entry = szg_hierarchical_entry(tables, bits);
    if (entry == 0 || *place == last) return 0;
    put(job->output, (*place)++, entry & 255);
    at += entry >> 8;
  }
  return at;
}

/* Decodes a block. put: a constant, so that the compiler inlines it. SZGPU_BAD_DATA: the block does
 * not agree with its side data. */
SZG_INLINE szgpu_status szg_hierarchical_block(const szg_hierarchical_job *job, szg_put_symbol put,
                                               uint64_t block) {
  szg_hierarchical_stream const *const stream = job->stream;
  uint64_t const thread_count = szg_hierarchical_thread_count(stream->bit_count);
  uint64_t const first_thread = block * SZG_HIERARCHICAL_BLOCK_THREADS;
  uint64_t const end_thread =
      szg_min_u64(first_thread + SZG_HIERARCHICAL_BLOCK_THREADS, thread_count);
  uint32_t const position_bytes = stream->position_bytes;
  uint64_t place = szg_hierarchical_position(stream->positions, position_bytes, block);
  uint64_t const last = szg_hierarchical_position(stream->positions, position_bytes, block + 1);
  SZG_REQUIRE(place <= last && last <= stream->code_count, SZGPU_BAD_DATA);
  SZG_REQUIRE(block > 0 || place == 0, SZGPU_BAD_DATA);
  SZG_REQUIRE(end_thread < thread_count || last == stream->code_count, SZGPU_BAD_DATA);
  uint32_t at = szg_hierarchical_gap(stream->gaps, stream->gap_bits, first_thread);
  SZG_REQUIRE(block > 0 || at == 0, SZGPU_BAD_DATA);
  for (uint64_t thread = first_thread; thread < end_thread; thread++) {
    uint64_t const bits_left = stream->bit_count - thread * SZG_HIERARCHICAL_THREAD_BITS;
    bool const is_last = bits_left <= SZG_HIERARCHICAL_THREAD_BITS;
    uint32_t const limit = is_last ? (uint32_t)bits_left : SZG_HIERARCHICAL_THREAD_BITS;
    uint32_t const next =
        is_last ? 0 : szg_hierarchical_gap(stream->gaps, stream->gap_bits, thread + 1);
    uint32_t const end = szg_hierarchical_thread(
        job, put, szg_hierarchical_words_of(stream, thread), at, limit, &place, last);
    SZG_REQUIRE(end == limit + next, SZGPU_BAD_DATA);
    at = next;
  }
  return place == last ? SZGPU_OK : SZGPU_BAD_DATA;
}

/* Divides the blocks among the threads; decode_part decodes block `part` of the
 * szg_hierarchical_job. */
SZG_INLINE szgpu_status szg_hierarchical_blocks(const szg_hierarchical_job *job,
                                                szg_part_function decode_part,
                                                szg_threads *threads) {
  const szg_hierarchical_stream *const stream = job->stream;
  SZG_REQUIRE(szg_hierarchical_sizes_agree(stream), SZGPU_BAD_DATA);
  if (!stream->bit_count) return stream->code_count ? SZGPU_BAD_DATA : SZGPU_OK;
  szg_hierarchical_job own = *job;
  return szg_for_parts(threads, szg_hierarchical_block_count(stream->bit_count), 0, decode_part,
                       &own);
}

#endif
