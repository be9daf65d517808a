/* hierarchical.c - byte symbols by chained tables: tables, side data, decoding on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/hierarchical.h"

#include <string.h>

#include "huffman/decoders/hierarchical_block.h"

/* ---- tables ---- */

enum { SPAN_COUNT_BIT = 8, SPAN_BORDERS_BIT = 16 }; /* in szg_hierarchical_tables.spans */

/* Sets `entry` at all indices that begin with the low `length` bits of the code. */
static void fill_entries(uint16_t *table, uint32_t code, uint32_t length, uint16_t entry) {
  uint32_t const first = (code << (8 - length)) & 255;
  for (uint32_t i = 0; i < 1u << (8 - length); i++) table[first + i] = entry;
}

static void add_code(szg_hierarchical_tables *tables, uint32_t symbol, uint32_t code,
                     uint32_t length) {
  uint16_t const entry = (uint16_t)(length << 8 | symbol);
  if (length <= 8) {
    fill_entries(tables->entries[0], code, length, entry);
    return;
  }
  uint16_t *const link = &tables->entries[0][code >> (length - 8)];
  if (!*link) {
    memset(tables->entries[tables->table_count], 0, sizeof tables->entries[0]);
    *link = (uint16_t)(SZG_HIERARCHICAL_LINK | tables->table_count++);
  }
  fill_entries(tables->entries[*link % SZG_HIERARCHICAL_LINK], code, length - 8, entry);
}

/* Packs the whole codes that `byte` begins with, one after the other. */
static void pack_byte(szg_hierarchical_tables *tables, uint32_t byte) {
  uint32_t bits = 0, pack = 0, pack_bits = 0, pack_count = 0, count = 0, borders = 1;
  for (;;) {
    uint32_t const entry = tables->entries[0][byte << bits & 255];
    if (entry == 0 || entry & SZG_HIERARCHICAL_LINK || bits + (entry >> 8) > 8) break;
    bits += entry >> 8;
    borders |= 1u << bits;
    count++;
    if (count > SZG_PACK_SYMBOLS) continue;
    pack |= (entry & 255) << (SZG_PACK_FIRST_BIT + 8 * pack_count++);
    pack_bits = bits;
  }
  tables->packs[byte] = pack | pack_bits | pack_count << SZG_PACK_COUNT_BIT;
  tables->spans[byte] = count ? bits | count << SPAN_COUNT_BIT | borders << SPAN_BORDERS_BIT : 0;
}

void szg_hierarchical_build(const szg_codebook *book, szg_hierarchical_tables *tables) {
  assert(book->symbol_count <= SZG_HIERARCHICAL_SYMBOLS);
  memset(tables, 0, offsetof(szg_hierarchical_tables, entries));
  memset(tables->entries[0], 0, sizeof tables->entries[0]);
  tables->table_count = 1;
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s))
    if (book->lengths[s]) add_code(tables, s, book->codes[s], book->lengths[s]);
  for (uint32_t byte = 0; byte < 256; byte++) pack_byte(tables, byte);
}

size_t szg_hierarchical_tables_bytes(const szg_hierarchical_tables *tables) {
  return offsetof(szg_hierarchical_tables, entries) +
         tables->table_count * sizeof tables->entries[0];
}

/* ---- side data from that of archives ---- */

enum {
  SUBSEQUENCE_THREADS = SZG_SUBSEQUENCE_BITS / SZG_HIERARCHICAL_THREAD_BITS,
  SUBSEQUENCE_GAP_BYTES = SUBSEQUENCE_THREADS * SZG_HIERARCHICAL_SPLIT_GAP_BITS / 8
};

typedef struct split_job {
  const szg_hierarchical_tables *tables;
  const szg_linear_input *input;
  szg_hierarchical_stream stream; /* its words and bits */
  uint8_t *gaps;
} split_job;

/* Where the codes of a thread end that begin from bit `at` on and before bit 64; 0: bits are no
 * code. */
static uint32_t pass_thread(const szg_hierarchical_tables *tables, szg_hierarchical_words words,
                            uint32_t at) {
  while (at < SZG_HIERARCHICAL_THREAD_BITS) {
    uint32_t const bits = szg_hierarchical_bits(words, at), span = tables->spans[bits >> 24];
    if (span && at + 8 <= SZG_HIERARCHICAL_THREAD_BITS) {
      at += span & 255;
      continue;
    }
    uint32_t const entry = szg_hierarchical_entry(tables, bits);
    if (entry == 0) return 0;
    at += entry >> 8;
  }
  return at;
}

/* A thread's gap is where the codes of the thread before end; the archive holds the gap after a
 * subsequence's last thread. The decoder checks the codes of threads that the stream cuts. */
static bool split_subsequence(const split_job *job, uint64_t subsequence) {
  uint64_t const first_thread = subsequence * SUBSEQUENCE_THREADS;
  uint64_t const end_thread = szg_min_u64(first_thread + SUBSEQUENCE_THREADS,
                                          szg_hierarchical_thread_count(job->stream.bit_count));
  uint8_t *const gaps = job->gaps + subsequence * SUBSEQUENCE_GAP_BYTES;
  uint32_t gap = job->input->gaps[subsequence / 2] >> subsequence % 2 * 4 & 15;
  for (uint64_t thread = first_thread;;) {
    uint64_t const place = thread - first_thread;
    gaps[place / 2] = (uint8_t)(gaps[place / 2] | gap << (place % 2 ? 0 : 4));
    if (thread + 1 == end_thread) return true;
    uint32_t const end =
        pass_thread(job->tables, szg_hierarchical_words_of(&job->stream, thread), gap);
    if (end == 0) return false;
    gap = end - SZG_HIERARCHICAL_THREAD_BITS;
    thread++;
  }
}

/* Splits the gaps of a sequence's subsequences. */
static szgpu_status split_part(void *opaque, uint64_t part, int worker) {
  (void)worker;
  const split_job *const job = opaque;
  uint64_t const end = szg_min_u64((part + 1) * SZG_SEQUENCE_SUBSEQUENCES,
                                   szg_subsequence_count(job->stream.bit_count));
  for (uint64_t s = part * SZG_SEQUENCE_SUBSEQUENCES; s < end; s++)
    SZG_REQUIRE(split_subsequence(job, s), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

szgpu_status szg_hierarchical_split_gaps(const szg_hierarchical_tables *tables,
                                         const szg_linear_input *input, uint8_t *gaps,
                                         uint64_t *positions, szg_threads *threads) {
  uint64_t const bit_count = input->bit_count;
  uint64_t const sequence_count = szg_sequence_count(bit_count);
  split_job job = {.tables = tables,
                   .input = input,
                   .stream = {.words = input->words,
                              .word_count = input->word_bytes / 4,
                              .bit_count = bit_count},
                   .gaps = gaps};
  memset(gaps, 0, szg_hierarchical_gap_bytes(bit_count, SZG_HIERARCHICAL_SPLIT_GAP_BITS));
  positions[0] = 0;
  for (uint64_t i = 0; i < sequence_count; i++)
    positions[i + 1] = positions[i] + szg_load_u16(input->sequence_codes + 2 * i);
  return szg_for_parts(threads, sequence_count, 0, split_part, &job);
}

/* ---- decoding ---- */

SZG_INLINE void put_byte(void *output, uint64_t place, uint32_t symbol) {
  ((uint8_t *)output)[place] = (uint8_t)symbol;
}

SZG_HOT static szgpu_status decode_bytes(void *opaque, uint64_t part, int worker) {
  (void)worker;
  return szg_hierarchical_block(opaque, put_byte, part);
}

szgpu_status szg_decode_hierarchical(const szg_hierarchical_tables *tables,
                                     const szg_hierarchical_stream *stream, uint8_t *symbols,
                                     szg_threads *threads) {
  szg_hierarchical_job const job = {tables, stream, symbols};
  return szg_hierarchical_blocks(&job, decode_bytes, threads);
}
