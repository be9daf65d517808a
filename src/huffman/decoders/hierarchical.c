/* hierarchical.c - byte symbols by chained tables: tables, side data, decoding on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The decoder goes through a block as the device does, thread after thread, each from its gap, so
 * that it refuses the same streams. Threads of the CPU take whole blocks.
 */
#include <assert.h>
#include <string.h>

#include "core/bytes.h"
#include "core/dispatch.h"
#include "huffman/decoders/hierarchical.h"

/* ---- tables ---- */

enum { PACK_SYMBOLS = 3, PACK_FIRST_BIT = 5, PACK_COUNT_BIT = 29, SPAN_COUNT_BIT = 8 };
enum { SPAN_BORDERS_BIT = 16 };

/* `entry` wherever the index begins with the low `length` bits of the code. */
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

/* The whole codes that `byte` begins with, one after the other. */
static void pack_byte(szg_hierarchical_tables *tables, uint32_t byte) {
  uint32_t bits = 0, pack = 0, pack_bits = 0, pack_count = 0, count = 0, borders = 1;
  for (;;) {
    uint32_t const entry = tables->entries[0][byte << bits & 255];
    if (entry == 0 || entry & SZG_HIERARCHICAL_LINK || bits + (entry >> 8) > 8) break;
    bits += entry >> 8;
    borders |= 1u << bits;
    count++;
    if (count > PACK_SYMBOLS) continue;
    pack |= (entry & 255) << (PACK_FIRST_BIT + 8 * pack_count++);
    pack_bits = bits;
  }
  tables->packs[byte] = pack | pack_bits | pack_count << PACK_COUNT_BIT;
  tables->spans[byte] = count ? bits | count << SPAN_COUNT_BIT | borders << SPAN_BORDERS_BIT : 0;
}

void szg_hierarchical_build(const szg_codebook *book, szg_hierarchical_tables *tables) {
  assert(book->symbol_count <= SZG_HIERARCHICAL_SYMBOLS);
  memset(tables, 0, offsetof(szg_hierarchical_tables, entries));
  memset(tables->entries[0], 0, sizeof tables->entries[0]);
  tables->table_count = 1;
  for (uint32_t s = 0; s < book->symbol_count; s++)
    if (book->lengths[s]) add_code(tables, s, book->codes[s], book->lengths[s]);
  for (uint32_t byte = 0; byte < 256; byte++) pack_byte(tables, byte);
}

size_t szg_hierarchical_tables_bytes(const szg_hierarchical_tables *tables) {
  return offsetof(szg_hierarchical_tables, entries) +
         tables->table_count * sizeof tables->entries[0];
}

/* ---- bits ---- */

static uint32_t word_at(const szg_hierarchical_stream *stream, uint64_t index) {
  return index < stream->word_count ? szg_load_u32((const uint8_t *)stream->words + 4 * index) : 0;
}

/* The code that the high end of `bits` begins with: its entry; 0: it is none. */
SZG_INLINE uint32_t entry_of(const szg_hierarchical_tables *tables, uint32_t bits) {
  uint32_t const entry = tables->entries[0][bits >> 24];
  if (!(entry & SZG_HIERARCHICAL_LINK)) return entry;
  return tables->entries[entry % SZG_HIERARCHICAL_LINK][bits >> 16 & 255];
}

/* The words of a thread, and the one after. */
typedef struct thread_words {
  uint64_t own;
  uint32_t next;
} thread_words;

static thread_words words_of(const szg_hierarchical_stream *stream, uint64_t thread) {
  return (thread_words){
      (uint64_t)word_at(stream, 2 * thread) << 32 | word_at(stream, 2 * thread + 1),
      word_at(stream, 2 * thread + 2)};
}

/* 32 bits from bit `at`, below 64, on. */
SZG_INLINE uint32_t bits_at(thread_words words, uint32_t at) {
  uint64_t const low = (words.own << 32 | words.next) << at % 32;
  return (uint32_t)((at < 32 ? words.own << at : low) >> 32);
}

static bool sizes_agree(const szg_hierarchical_stream *stream) {
  assert(stream->gap_bits == 4 || stream->gap_bits == 5);
  assert(stream->position_bytes == 4 || stream->position_bytes == 8);
  return stream->bit_count <= UINT64_MAX / 2 &&
         stream->word_count == szg_div_up(stream->bit_count, 32);
}

/* ---- side data ---- */

typedef struct stream_marks {
  const szg_hierarchical_stream *stream;
  uint8_t *gaps;
  void *positions;
  uint64_t next_thread; /* whose gap is not known yet */
} stream_marks;

static void put_position(const stream_marks *marks, uint64_t block, uint64_t position) {
  if (marks->stream->position_bytes == 4)
    ((uint32_t *)marks->positions)[block] = (uint32_t)position;
  else
    ((uint64_t *)marks->positions)[block] = position;
}

/* Code number `code` begins at `bit`, or the stream ends there, and it is the first one to begin in
 * the threads up to its own that are not marked yet. */
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
  SZG_REQUIRE(sizes_agree(stream), SZGPU_BAD_DATA);
  SZG_REQUIRE(stream->position_bytes == 8 || stream->code_count <= UINT32_MAX, SZGPU_BAD_DATA);
  memset(gaps, 0, szg_hierarchical_gap_bytes(stream->bit_count, stream->gap_bits));
  stream_marks marks = {stream, gaps, positions, 0};
  uint64_t bit = 0, code = 0;
  for (; bit < stream->bit_count; code++) {
    mark_threads(&marks, bit, code);
    uint64_t const thread = bit / SZG_HIERARCHICAL_THREAD_BITS;
    uint32_t const at = (uint32_t)(bit % SZG_HIERARCHICAL_THREAD_BITS);
    uint32_t const entry = entry_of(tables, bits_at(words_of(stream, thread), at));
    SZG_REQUIRE(entry != 0, SZGPU_BAD_DATA);
    bit += entry >> 8;
  }
  SZG_REQUIRE(bit == stream->bit_count && code == stream->code_count, SZGPU_BAD_DATA);
  mark_threads(&marks, bit, code);
  put_position(&marks, szg_hierarchical_block_count(stream->bit_count), code);
  return SZGPU_OK;
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

/* Where the codes of a thread end that begin at `at` and before bit 64 of it; 0: bits are none. */
static uint32_t pass_thread(const szg_hierarchical_tables *tables, thread_words words,
                            uint32_t at) {
  while (at < SZG_HIERARCHICAL_THREAD_BITS) {
    uint32_t const bits = bits_at(words, at), span = tables->spans[bits >> 24];
    if (span && at + 8 <= SZG_HIERARCHICAL_THREAD_BITS) {
      at += span & 255;
      continue;
    }
    uint32_t const entry = entry_of(tables, bits);
    if (entry == 0) return 0;
    at += entry >> 8;
  }
  return at;
}

/* A thread's gap is where the codes of the one before end; of a subsequence's last thread that is
 * in the archive. Threads that are not all there have their codes looked at by the decoder. */
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
    uint32_t const end = pass_thread(job->tables, words_of(&job->stream, thread), gap);
    if (end == 0) return false;
    gap = end - SZG_HIERARCHICAL_THREAD_BITS;
    thread++;
  }
}

/* The subsequences of a sequence. */
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

typedef struct hierarchical_job {
  const szg_hierarchical_tables *tables;
  const szg_hierarchical_stream *stream;
  const szg_hierarchical_output *output;
} hierarchical_job;

SZG_INLINE void put_value(const szg_hierarchical_output *output, bool has_rest, uint64_t place,
                          uint32_t symbol) {
  if (has_rest)
    ((uint16_t *)output->values)[place] = szg_bf16_of(symbol, output->rest[place]);
  else
    ((uint8_t *)output->values)[place] = (uint8_t)symbol;
}

/* The codes of a thread that begin before `limit`. Returns where the last one ends; 0: bits are no
 * code, or go beyond `last`. */
SZG_INLINE uint32_t decode_thread(const hierarchical_job *job, bool has_rest, thread_words words,
                                  uint32_t at, uint32_t limit, uint64_t *place, uint64_t last) {
  szg_hierarchical_tables const *const tables = job->tables;
  while (at < limit) {
    uint32_t const bits = bits_at(words, at), pack = tables->packs[bits >> 24];
    if (pack && at + 8 <= limit && *place + PACK_SYMBOLS <= last) {
      uint32_t const count = pack >> PACK_COUNT_BIT;
      for (uint32_t i = 0; i < count; i++)
        put_value(job->output, has_rest, *place + i, pack >> (PACK_FIRST_BIT + 8 * i) & 255);
      *place += count;
      at += pack & 31;
      continue;
    }
    uint32_t const entry = entry_of(tables, bits);
    if (entry == 0 || *place == last) return 0;
    put_value(job->output, has_rest, (*place)++, entry & 255);
    at += entry >> 8;
  }
  return at;
}

SZG_INLINE szgpu_status decode_block(const hierarchical_job *job, bool has_rest, uint64_t block) {
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
    uint32_t const end =
        decode_thread(job, has_rest, words_of(stream, thread), at, limit, &place, last);
    SZG_REQUIRE(end == limit + next, SZGPU_BAD_DATA);
    at = next;
  }
  return place == last ? SZGPU_OK : SZGPU_BAD_DATA;
}

SZG_HOT static szgpu_status decode_bytes(const hierarchical_job *job, uint64_t block) {
  return decode_block(job, false, block);
}
SZG_HOT static szgpu_status decode_bf16(const hierarchical_job *job, uint64_t block) {
  return decode_block(job, true, block);
}

static szgpu_status decode_part(void *opaque, uint64_t part, int worker) {
  (void)worker;
  hierarchical_job const *const job = opaque;
  return job->output->rest ? decode_bf16(job, part) : decode_bytes(job, part);
}

szgpu_status szg_decode_hierarchical(const szg_hierarchical_tables *tables,
                                     const szg_hierarchical_stream *stream,
                                     const szg_hierarchical_output *output, szg_threads *threads) {
  SZG_REQUIRE(sizes_agree(stream), SZGPU_BAD_DATA);
  if (!stream->bit_count) return stream->code_count ? SZGPU_BAD_DATA : SZGPU_OK;
  hierarchical_job job = {tables, stream, output};
  return szg_for_parts(threads, szg_hierarchical_block_count(stream->bit_count), 0, decode_part,
                       &job);
}
