/* decode_table.c - decodes by wide-table lookups of several symbols, four tiles at a time.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A lookup waits for the bits of the one before, so four independent tiles keep the processor busy.
 * A table entry holds up to three symbols, so that well-predicted fields, with codes of one to
 * three bits, take a third of the lookups.
 */
#include <string.h>

#include "core/bit_reader.h"
#include "core/dispatch.h"
#include "huffman/decoders/steps.h"
#include "huffman/huffman.h"

enum {
  LANES = 4,
  LOOKUPS = 2, /* between refills: 2 * 16 bits of the window's 33 */
  MOST_SYMBOLS = LOOKUPS * SZG_TABLE_SYMBOLS,
  STORE_SYMBOLS = 4, /* symbols that a lookup stores, whatever their number */
  COUNT_SHIFT = 48,
  BITS_SHIFT = 56
};

/* Fills `single`, indexed by the next SZG_TABLE_BITS bits, for the codes that fit. */
static void fill_short_codes(const szg_codebook *book, uint32_t *single) {
  memset(single, 0, SZG_TABLE_ENTRIES * sizeof *single);
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s)) {
    uint32_t const length = book->lengths[s];
    if (length == 0 || length > SZG_TABLE_BITS) continue;
    uint32_t const first = (uint32_t)book->codes[s] << (SZG_TABLE_BITS - length);
    for (uint32_t i = 0; i < 1u << (SZG_TABLE_BITS - length); i++)
      single[first + i] = length << 16 | s;
  }
}

static uint64_t packed_entry(const uint32_t *single, uint32_t prefix) {
  uint64_t entry = 0, count = 0;
  uint32_t bits = 0;
  while (count < SZG_TABLE_SYMBOLS) {
    uint32_t const next = single[prefix << bits & (SZG_TABLE_ENTRIES - 1)];
    uint32_t const length = next >> 16;
    if (length == 0 || bits + length > SZG_TABLE_BITS) break;
    entry |= (uint64_t)(next & 0xFFFF) << 16 * count;
    bits += length;
    count++;
  }
  return entry | count << COUNT_SHIFT | (uint64_t)bits << BITS_SHIFT;
}

void szg_decode_table_build(const szg_codebook *book, szg_decode_table *table) {
  uint32_t single[SZG_TABLE_ENTRIES];
  fill_short_codes(book, single);
  table->book = book;
  uint32_t group = 0;
  for (uint32_t prefix = 0; prefix < SZG_TABLE_ENTRIES; prefix++) {
    table->entries[prefix] = packed_entry(single, prefix);
    if (single[prefix]) continue;
    table->entries[prefix] = group;
    memset(table->long_codes + group, 0, sizeof *table->long_codes << SZG_TABLE_LONG_BITS);
    group += 1u << SZG_TABLE_LONG_BITS;
  }
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s)) {
    uint32_t const length = book->lengths[s];
    if (length <= SZG_TABLE_BITS) continue;
    uint32_t const aligned = (uint32_t)book->codes[s] << (SZG_MAX_CODE_BITS - length);
    uint32_t const place = (uint32_t)table->entries[aligned >> SZG_TABLE_LONG_BITS] +
                           (aligned & ((1u << SZG_TABLE_LONG_BITS) - 1));
    for (uint32_t i = 0; i < 1u << (SZG_MAX_CODE_BITS - length); i++)
      table->long_codes[place + i] = length << 16 | s;
  }
}

/* The state of a tile that is being decoded. */
typedef struct decode_lane {
  uint64_t position; /* in bits */
  uint16_t *out;
  uint16_t *end;
  const szg_code_run *run;
} decode_lane;

/* The entry of a code longer than the table's index. Bits that are not a code give a symbol of no
 * bits: then the lane stays in place, fills up, and the check at its end fails. */
static uint64_t long_entry(const szg_decode_table *table, uint64_t entry, uint64_t window) {
  uint32_t const rest =
      (uint32_t)(window >> (64 - SZG_MAX_CODE_BITS)) & ((1u << SZG_TABLE_LONG_BITS) - 1);
  uint32_t const found = table->long_codes[(entry & 0xFFFF) + rest];
  uint64_t const bits = found >> 16;
  return (found & 0xFFFF) | (uint64_t)1 << COUNT_SHIFT | bits << BITS_SHIFT;
}

/* LOOKUPS lookups: give up to MOST_SYMBOLS symbols, may overwrite STORE_SYMBOLS - 1 more. */
SZG_INLINE void lane_step(const szg_decode_table *table, const uint8_t *words, uint64_t *position,
                          uint16_t **out) {
  uint64_t window = szg_window_at(words, *position);
  for (int i = 0; i < LOOKUPS; i++) {
    uint64_t entry = table->entries[window >> (64 - SZG_TABLE_BITS)];
    if (__builtin_expect(entry >> COUNT_SHIFT == 0, 0)) entry = long_entry(table, entry, window);
    memcpy(*out, &entry, STORE_SYMBOLS * sizeof **out);
    unsigned const bits = (unsigned)(entry >> BITS_SHIFT);
    *out += entry >> COUNT_SHIFT & 255;
    window <<= bits;
    *position += bits;
  }
}

/* The number of steps that the lane can take without checks. */
static uint64_t safe_steps(const decode_lane *lane, const szg_linear_input *input) {
  uint64_t const left = (uint64_t)(lane->end - lane->out);
  uint64_t const last_start = input->word_bytes < 8 ? 0 : (input->word_bytes - 8) * 8;
  if (left < MOST_SYMBOLS + STORE_SYMBOLS || lane->position > last_start) return 0;
  uint64_t const by_room = (left - STORE_SYMBOLS) / MOST_SYMBOLS;
  uint64_t const by_bits = (last_start - lane->position) / (LOOKUPS * SZG_MAX_CODE_BITS);
  return szg_min_u64(by_room, by_bits);
}

SZG_HOT static void step_all_lanes(const szg_decode_table *table, const uint8_t *words,
                                   decode_lane *lanes, uint64_t step_count) {
  uint64_t position0 = lanes[0].position, position1 = lanes[1].position;
  uint64_t position2 = lanes[2].position, position3 = lanes[3].position;
  uint16_t *out0 = lanes[0].out, *out1 = lanes[1].out, *out2 = lanes[2].out, *out3 = lanes[3].out;
  for (uint64_t i = 0; i < step_count; i++) {
    lane_step(table, words, &position0, &out0);
    lane_step(table, words, &position1, &out1);
    lane_step(table, words, &position2, &out2);
    lane_step(table, words, &position3, &out3);
  }
  lanes[0].position = position0, lanes[1].position = position1;
  lanes[2].position = position2, lanes[3].position = position3;
  lanes[0].out = out0, lanes[1].out = out1, lanes[2].out = out2, lanes[3].out = out3;
}

/* Decodes the rest of a lane: fast while possible, then symbol by symbol, checking every access. */
static szgpu_status finish_lane(const szg_decode_table *table, const szg_linear_input *input,
                                decode_lane *lane) {
  for (uint64_t steps; (steps = safe_steps(lane, input)) > 0;)
    for (uint64_t i = 0; i < steps; i++)
      lane_step(table, input->words, &lane->position, &lane->out);
  while (lane->out < lane->end) {
    SZG_REQUIRE(lane->position < input->bit_count, SZGPU_BAD_DATA);
    uint64_t const window = szg_last_window_at(input->words, input->word_bytes, lane->position);
    uint64_t entry = table->entries[window >> (64 - SZG_TABLE_BITS)];
    if (entry >> COUNT_SHIFT == 0) entry = long_entry(table, entry, window);
    uint16_t const symbol = (uint16_t)entry;
    SZG_REQUIRE(entry >> BITS_SHIFT != 0, SZGPU_BAD_DATA); /* not a code */
    lane->position += table->book->lengths[symbol];
    *lane->out++ = symbol;
  }
  SZG_REQUIRE(lane->position == lane->run->first_bit + lane->run->bit_count, SZGPU_BAD_DATA);
  SZG_REQUIRE(lane->position <= input->bit_count, SZGPU_BAD_DATA);
  return SZGPU_OK;
}

static decode_lane lane_of_run(const szg_code_run *run) {
  return (decode_lane){run->first_bit, run->codes, run->codes + run->code_count, run};
}

szgpu_status szg_decode_runs(const szg_decode_table *table, const szg_linear_input *input,
                             const szg_code_run *runs, size_t run_count) {
  decode_lane lanes[LANES];
  size_t next_run = 0;
  int lane_count = 0;
  while (lane_count < LANES && next_run < run_count)
    lanes[lane_count++] = lane_of_run(&runs[next_run++]);
  while (lane_count == LANES) {
    uint64_t steps = UINT64_MAX;
    int slowest = 0; /* the lane with the fewest safe steps */
    for (int i = 0; i < LANES; i++) {
      uint64_t const lane_steps = safe_steps(&lanes[i], input);
      if (lane_steps < steps) steps = lane_steps, slowest = i;
    }
    if (steps > 0) {
      step_all_lanes(table, input->words, lanes, steps);
      continue;
    }
    SZG_TRY(finish_lane(table, input, &lanes[slowest]));
    if (next_run < run_count)
      lanes[slowest] = lane_of_run(&runs[next_run++]);
    else
      lanes[slowest] = lanes[--lane_count];
  }
  for (int i = 0; i < lane_count; i++) SZG_TRY(finish_lane(table, input, &lanes[i]));
  return SZGPU_OK;
}

/* ---- the steps that frames call ---- */

static szgpu_status carve(szg_arena *arena, const szg_code_stream *stream,
                          szg_decoder_memory *memory) {
  (void)stream;
  szg_decode_table *const table = szg_arena_take(arena, 1, sizeof *table);
  szg_decoder_keep(memory, &table, sizeof table);
  return SZGPU_OK;
}

static szgpu_status open_table(const szg_code_stream *stream, const szg_decoder_memory *memory) {
  szg_decode_table *table;
  szg_decoder_recall(memory, &table, sizeof table);
  szg_decode_table_build(stream->book, table);
  return SZGPU_OK;
}

static szgpu_status decode_runs(const szg_code_stream *stream, const szg_decoder_memory *memory,
                                const szg_code_run *runs, size_t run_count) {
  szg_decode_table *table;
  szg_decoder_recall(memory, &table, sizeof table);
  return szg_decode_runs(table, stream->input, runs, run_count);
}

const szg_decoder_cpu szg_table_cpu = {
    .carve = carve, .open = open_table, .decode_runs = decode_runs};
