/* all_offsets.c - decoding from every bit at once, window by window (all_offsets.h).
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The paper's four stages run in two loops over the windows of a batch, with one thread per window.
 * The first loop finds the code at every bit (1) and the rows of W (2). The second, once every
 * window's entry is known, finds places (3) and codes (4). Between the loops one thread takes the
 * carry through the batch, in one step per row of each window.
 *
 * The paper's `dopar` loops are plain loops over offsets. Stages 1 and 2 read what the loop before
 * wrote. Stage 3 in the paper's form reads places that the same loop wrote; those are right, too,
 * so any order gives the same result.
 */
#include <assert.h>
#include <string.h>

#include "core/bytes.h"
#include "core/dispatch.h"
#include "huffman/decoders/all_offsets.h"

static uint32_t const no_place = UINT32_MAX; /* the paper's P = -1 */

/* What the loops over windows share. */
typedef struct offsets_job {
  const szg_all_offsets_book *book;
  const szg_all_offsets_tables *tables;
  const szg_linear_input *input;
  uint64_t first_bit; /* of the first window: the run's, rounded down to a whole word */
  uint64_t end_bit;
  uint64_t batch_window; /* the window in slot 0 */
  uint64_t code_count;
  uint16_t *codes;
} offsets_job;

void szg_all_offsets_book_build(const szg_codebook *book, szg_all_offsets_book *codes) {
  memset(codes->codes, 0, sizeof codes->codes);
  codes->shortest = codes->longest = 0;
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s)) {
    uint32_t const length = book->lengths[s];
    if (!length) continue;
    if (!codes->shortest || length < codes->shortest) codes->shortest = length;
    if (length > codes->longest) codes->longest = length;
  }
  if (!codes->longest) codes->shortest = codes->longest = 1;
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s)) {
    uint32_t const length = book->lengths[s];
    if (!length) continue;
    uint32_t const first = (uint32_t)book->codes[s] << (codes->longest - length);
    for (uint32_t i = 0; i < 1u << (codes->longest - length); i++)
      codes->codes[first + i] = length << 16 | s;
  }
}

uint64_t szg_all_offsets_lay_rows(const szg_all_offsets_options *options, uint32_t shortest,
                                  uint32_t longest, szg_all_offsets_row *rows, int *row_count) {
  uint32_t const window_bits = options->window_bits;
  assert(window_bits >= SZG_ALL_OFFSETS_LEAST_WINDOW_BITS && window_bits % 32 == 0);
  assert(window_bits <= SZG_ALL_OFFSETS_MOST_WINDOW_BITS && options->slot_count >= 1);
  assert(1 <= shortest && shortest <= longest && longest <= SZG_MAX_CODE_BITS);
  *row_count = szg_all_offsets_row_count(window_bits, shortest);
  assert(*row_count <= SZG_ALL_OFFSETS_MOST_ROWS);
  uint64_t widths_bytes = 0;
  uint32_t entry_bytes = options->is_narrow ? 1 : 4;
  for (int j = 0; j < *row_count; j++) {
    int const bits = szg_all_offsets_row_bits(window_bits, shortest, longest, j);
    while ((uint32_t)bits > 8 * entry_bytes) entry_bytes *= 2; /* never less than the row before */
    rows[j].first_byte = widths_bytes;
    rows[j].bias = options->is_narrow ? szg_all_offsets_least(shortest, j) - 1 : 0;
    rows[j].entry_bytes = entry_bytes;
    widths_bytes += szg_align_up((uint64_t)window_bits * entry_bytes, SZG_ARENA_ALIGNMENT);
  }
  return widths_bytes;
}

void szg_all_offsets_carve(szg_arena *arena, const szg_all_offsets_options *options,
                           uint32_t shortest, uint32_t longest, szg_all_offsets_tables *tables) {
  uint32_t const window_bits = options->window_bits, slot_count = options->slot_count;
  memset(tables, 0, sizeof *tables);
  tables->options = *options;
  tables->shortest = shortest;
  tables->longest = longest;
  tables->widths_bytes =
      szg_all_offsets_lay_rows(options, shortest, longest, tables->rows, &tables->row_count);
  tables->widths = szg_arena_take(arena, slot_count, tables->widths_bytes);
  uint64_t const offset_count = (uint64_t)slot_count * window_bits;
  tables->places = szg_arena_take(arena, offset_count, sizeof *tables->places);
  tables->symbols = szg_arena_take(arena, offset_count, sizeof *tables->symbols);
  tables->windows = szg_arena_take(arena, slot_count, sizeof *tables->windows);
}

/* ---- the window in a slot ---- */

static uint64_t window_first_bit(const offsets_job *job, uint64_t slot) {
  return job->first_bit + (job->batch_window + slot) * job->tables->options.window_bits;
}

/* Offsets in the window: its bits before the run's end. */
static uint32_t window_offsets(const offsets_job *job, uint64_t slot) {
  return (uint32_t)szg_min_u64(job->tables->options.window_bits,
                               job->end_bit - window_first_bit(job, slot));
}

static uint8_t *row_of(const szg_all_offsets_tables *tables, uint64_t slot, int row) {
  return tables->widths + slot * tables->widths_bytes + tables->rows[row].first_byte;
}

/* A finished row of the slot's window, as stage 3 and the carry read it. */
typedef struct row_view {
  const uint8_t *entries;
  uint32_t entry_bytes, bias, end;
} row_view;

static row_view view_row(const szg_all_offsets_tables *tables, uint64_t slot, int row) {
  return (row_view){row_of(tables, slot, row), tables->rows[row].entry_bytes,
                    tables->rows[row].bias, tables->windows[slot].row_ends[row]};
}

/* Bits of the row's 2^j codes from `offset` on; 0: fewer codes begin in the window.
 */
SZG_INLINE uint32_t width_at(row_view row, uint32_t offset) {
  if (offset >= row.end) return 0;
  uint32_t const entry = szg_all_offsets_load(row.entries, row.entry_bytes, offset);
  return entry ? entry + row.bias : 0;
}

/* One past the last of the first `count` entries that is not none. */
SZG_INLINE uint32_t row_end(const uint8_t *row, uint32_t entry_bytes, uint32_t count) {
  while (count && !szg_all_offsets_load(row, entry_bytes, count - 1)) count--;
  return count;
}

/* ---- stage 1: a code at every offset ---- */

static uint32_t word_at(const szg_linear_input *input, uint64_t word) {
  return 4 * word + 4 <= input->word_bytes ? szg_load_u32(input->words + 4 * word) : 0;
}

SZG_INLINE void decode_offsets(const offsets_job *job, uint64_t first_bit, uint32_t count,
                               uint8_t *row, uint32_t entry_bytes, uint32_t bias,
                               uint16_t *symbols) {
  szg_all_offsets_book const *const book = job->book;
  unsigned const shift = 64 - book->longest;
  uint32_t word = word_at(job->input, first_bit / 32);
  for (uint32_t begin = 0; begin < count; begin += 32) {
    uint32_t const next_word = word_at(job->input, (first_bit + begin) / 32 + 1);
    uint64_t window = (uint64_t)word << 32 | next_word;
    word = next_word;
    uint32_t const end = count - begin < 32 ? count : begin + 32;
    for (uint32_t i = begin; i < end; i++, window <<= 1) {
      uint32_t const found = book->codes[window >> shift];
      symbols[i] = (uint16_t)found;
      szg_all_offsets_store(row, entry_bytes, i, found >> 16 ? (found >> 16) - bias : 0);
    }
  }
  /* A code that the run's end cuts counts as none. */
  uint64_t const bits_left = job->end_bit - first_bit;
  for (uint32_t back = 1; back < book->longest && back <= count; back++) {
    uint32_t const entry = szg_all_offsets_load(row, entry_bytes, count - back);
    if (entry && entry + bias > bits_left - (count - back))
      szg_all_offsets_store(row, entry_bytes, count - back, 0);
  }
}

SZG_HOT static void decode_offsets_u32(const offsets_job *job, uint64_t first_bit, uint32_t count,
                                       uint8_t *row, uint16_t *symbols) {
  decode_offsets(job, first_bit, count, row, 4, 0, symbols);
}
SZG_HOT static void decode_offsets_u8(const offsets_job *job, uint64_t first_bit, uint32_t count,
                                      uint8_t *row, uint32_t bias, uint16_t *symbols) {
  decode_offsets(job, first_bit, count, row, 1, bias, symbols);
}

/* ---- stage 2: each row from the one before ---- */

/* Makes entries 0 .. count - 1 of a row. The row before has none from from_end on. */
SZG_INLINE void double_row(const uint8_t *from, uint32_t from_bytes, uint32_t from_end,
                           uint32_t from_bias, uint8_t *to, uint32_t to_bytes, uint32_t to_bias,
                           uint32_t count) {
  uint32_t const bias = 2 * from_bias - to_bias; /* modulo 2^32: to_bias may be one more */
  for (uint32_t i = 0; i < count; i++) {
    uint32_t const first = szg_all_offsets_load(from, from_bytes, i);
    uint32_t const next = i + first + from_bias;
    uint32_t const second =
        first && next < from_end ? szg_all_offsets_load(from, from_bytes, next) : 0;
    szg_all_offsets_store(to, to_bytes, i, second ? first + second + bias : 0);
  }
}

#define DOUBLE_ROW(from_bytes, to_bytes)                                                           \
  SZG_HOT static void double_row_##from_bytes##_##to_bytes(const uint8_t *from, uint32_t from_end, \
                                                           uint32_t from_bias, uint8_t *to,        \
                                                           uint32_t to_bias, uint32_t count) {     \
    double_row(from, from_bytes, from_end, from_bias, to, to_bytes, to_bias, count);               \
  }
DOUBLE_ROW(1, 1)
DOUBLE_ROW(1, 2)
DOUBLE_ROW(2, 2)
DOUBLE_ROW(2, 4)
DOUBLE_ROW(4, 4)

/* Makes the first `count` entries of row `row` of the slot's window. */
static void make_row(const szg_all_offsets_tables *tables, uint64_t slot, int row, uint32_t count) {
  szg_all_offsets_row const *const from = &tables->rows[row - 1], *const to = &tables->rows[row];
  void (*const function)(const uint8_t *, uint32_t, uint32_t, uint8_t *, uint32_t, uint32_t) =
      from->entry_bytes == 4   ? double_row_4_4
      : from->entry_bytes == 2 ? (to->entry_bytes == 4 ? double_row_2_4 : double_row_2_2)
      : to->entry_bytes == 2   ? double_row_1_2
                               : double_row_1_1;
  assert(to->entry_bytes <= 2 * from->entry_bytes);
  function(row_of(tables, slot, row - 1), tables->windows[slot].row_ends[row - 1], from->bias,
           row_of(tables, slot, row), to->bias, count);
}

/* Finds where the row's `count` entries end. False: the row is not needed, because it has no entry
 * at any offset where the first code may begin. */
static bool finish_row(const szg_all_offsets_tables *tables, uint64_t slot, int row,
                       uint32_t count) {
  szg_all_offsets_window *const window = &tables->windows[slot];
  uint32_t const entry_bytes = tables->rows[row].entry_bytes;
  const uint8_t *const entries = row_of(tables, slot, row);
  window->row_ends[row] = tables->options.skips_none ? row_end(entries, entry_bytes, count) : count;
  uint32_t const reach =
      count < SZG_ALL_OFFSETS_ENTRY_OFFSETS ? count : SZG_ALL_OFFSETS_ENTRY_OFFSETS;
  return row_end(entries, entry_bytes, reach) > 0;
}

/* Runs stages 1 and 2 on the window in slot `part`. */
static szgpu_status make_widths(void *opaque, uint64_t part, int worker) {
  (void)worker;
  offsets_job const *const job = opaque;
  szg_all_offsets_tables const *const tables = job->tables;
  szg_all_offsets_window *const window = &tables->windows[part];
  memset(window, 0, sizeof *window);
  uint32_t count = window_offsets(job, part);
  uint16_t *const symbols = tables->symbols + part * tables->options.window_bits;
  uint8_t *const first_row = row_of(tables, part, 0);
  if (tables->options.is_narrow)
    decode_offsets_u8(job, window_first_bit(job, part), count, first_row, tables->rows[0].bias,
                      symbols);
  else
    decode_offsets_u32(job, window_first_bit(job, part), count, first_row, symbols);
  int row = 0;
  while (finish_row(tables, part, row, count) && ++row < tables->row_count) {
    if (tables->options.skips_none) { /* the second half begins at least that much later */
      uint32_t const reach = tables->shortest << (row - 1), end = window->row_ends[row - 1];
      count = end > reach ? end - reach : 0;
    }
    make_row(tables, part, row, count);
  }
  window->row_count = row;
  return SZGPU_OK;
}

/* ---- the carry: from window to window, down the rows ---- */

/* Gives each of the batch's windows its entry and its first code. SZGPU_BAD_DATA: no code begins
 * where one must, or there are too many codes. */
static szgpu_status carry_through(const offsets_job *job, uint64_t window_count, uint32_t *carry,
                                  uint64_t *first_code) {
  szg_all_offsets_tables const *const tables = job->tables;
  for (uint64_t slot = 0; slot < window_count; slot++) {
    szg_all_offsets_window *const window = &tables->windows[slot];
    uint32_t const offset_count = window_offsets(job, slot);
    uint32_t position = *carry;
    window->entry = position;
    for (int row = window->row_count - 1; row >= 0 && position < offset_count; row--) {
      uint32_t const width = width_at(view_row(tables, slot, row), position);
      position += width;
      window->code_count += width ? 1u << row : 0;
    }
    SZG_REQUIRE(position >= offset_count, SZGPU_BAD_DATA);
    SZG_REQUIRE(window->code_count <= job->code_count - *first_code, SZGPU_BAD_DATA);
    window->first_code = *first_code;
    *first_code += window->code_count;
    *carry = position - offset_count;
  }
  return SZGPU_OK;
}

/* ---- stages 3 and 4: places, codes ---- */

/* The paper's form: P over all offsets. */
static void place_by_offset(const szg_all_offsets_tables *tables, uint64_t slot,
                            uint32_t offset_count, uint16_t *codes) {
  szg_all_offsets_window const *const window = &tables->windows[slot];
  uint32_t *const places = tables->places + slot * tables->options.window_bits;
  for (uint32_t i = 0; i < offset_count; i++) places[i] = no_place;
  places[window->entry] = 0;
  for (int row = window->row_count - 1; row >= 0; row--) {
    row_view const view = view_row(tables, slot, row);
    for (uint32_t i = 0; i < offset_count; i++) {
      if (places[i] == no_place) continue;
      uint32_t const width = width_at(view, i);
      if (width && i + width < offset_count) places[i + width] = places[i] + (1u << row);
    }
  }
  const uint16_t *const symbols = tables->symbols + slot * tables->options.window_bits;
  for (uint32_t i = 0; i < offset_count; i++)
    if (places[i] != no_place) codes[places[i]] = symbols[i];
}

/* The inverted P: lists the offsets of known places; each row adds one between every two. */
static void place_by_code(const szg_all_offsets_tables *tables, uint64_t slot, uint16_t *codes) {
  szg_all_offsets_window const *const window = &tables->windows[slot];
  uint32_t *const offsets = tables->places + slot * tables->options.window_bits;
  offsets[0] = window->entry;
  for (int row = window->row_count - 1; row >= 0; row--) {
    row_view const view = view_row(tables, slot, row);
    uint32_t const step = 1u << row;
    for (uint32_t place = 0; place + step < window->code_count; place += 2 * step)
      offsets[place + step] = offsets[place] + width_at(view, offsets[place]);
  }
  const uint16_t *const symbols = tables->symbols + slot * tables->options.window_bits;
  for (uint32_t place = 0; place < window->code_count; place++)
    codes[place] = symbols[offsets[place]];
}

static szgpu_status place_codes(void *opaque, uint64_t part, int worker) {
  (void)worker;
  offsets_job const *const job = opaque;
  szg_all_offsets_window const *const window = &job->tables->windows[part];
  if (!window->code_count) return SZGPU_OK;
  uint16_t *const codes = job->codes + window->first_code;
  if (job->tables->options.skips_none)
    place_by_code(job->tables, part, codes);
  else
    place_by_offset(job->tables, part, window_offsets(job, part), codes);
  return SZGPU_OK;
}

/* ---- the run ---- */

szgpu_status szg_decode_all_offsets(const szg_all_offsets_book *book,
                                    const szg_all_offsets_tables *tables,
                                    const szg_linear_input *input, const szg_code_run *run,
                                    szg_threads *threads) {
  assert(tables->shortest <= book->shortest && book->longest <= tables->longest);
  if (!run->code_count) return run->bit_count ? SZGPU_BAD_DATA : SZGPU_OK;
  uint64_t end_bit;
  SZG_REQUIRE(szg_add_checked(run->first_bit, run->bit_count, &end_bit), SZGPU_BAD_DATA);
  SZG_REQUIRE(run->bit_count && end_bit <= input->bit_count, SZGPU_BAD_DATA);
  uint64_t const first_bit = run->first_bit / 32 * 32;
  offsets_job job = {.book = book,
                     .tables = tables,
                     .input = input,
                     .first_bit = first_bit,
                     .end_bit = end_bit,
                     .code_count = run->code_count,
                     .codes = run->codes};
  uint64_t const window_count = szg_div_up(end_bit - first_bit, tables->options.window_bits);
  uint32_t carry = (uint32_t)(run->first_bit - first_bit);
  uint64_t next_code = 0;
  for (; job.batch_window < window_count; job.batch_window += tables->options.slot_count) {
    uint64_t const batch_count =
        szg_min_u64(window_count - job.batch_window, tables->options.slot_count);
    SZG_TRY(szg_for_parts(threads, batch_count, 0, make_widths, &job));
    SZG_TRY(carry_through(&job, batch_count, &carry, &next_code));
    SZG_TRY(szg_for_parts(threads, batch_count, 0, place_codes, &job));
  }
  return carry == 0 && next_code == run->code_count ? SZGPU_OK : SZGPU_BAD_DATA;
}
