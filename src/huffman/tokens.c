/* tokens.c - chooses how the codes of a level are written, by their counts; books.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/tokens.h"

#include <assert.h>
#include <string.h>

#include "core/dispatch.h"
#include "huffman/tokens_books_core.h"

/* ---- choice ---- */

/* Counts of a book's symbols, zeros too, in lanes of 2^g groups. */
SZG_INLINE void find_counts(const szg_tokens_tally *tally, uint32_t g, uint32_t mode, uint32_t book,
                            uint64_t *counts) {
  szg_tokens_book_kind const kind = szg_tokens_book_kind_of(book);
  const uint64_t *const counted = szg_tokens_counted(tally, mode, book);
  uint64_t sum = 0;
  for (uint32_t s = 0; s < kind.symbol_count; s++) {
    counts[s] = counted[s];
    sum += counted[s];
  }
  if (szg_tokens_has_zero(mode, book))
    counts[kind.zero] = szg_tokens_zero_count(tally, g, book, sum);
}

SZG_HOT uint64_t szg_tokens_cost(const szg_tokens_tally *tally, uint32_t lane_groups_log2,
                                 uint32_t mode) {
  assert(mode < SZG_LEVELS_MODES && lane_groups_log2 < SZG_TOKENS_LANE_SIZES);
  uint64_t const raw_bits = mode == SZG_LEVELS_MODE_PAIRS ? tally->pair_raw_bits : tally->raw_bits;
  uint64_t cost = raw_bits << SZG_LOG_FRACTION_BITS;
  for (uint32_t i = 0; i < szg_tokens_book_count(mode); i++) {
    uint32_t const book = szg_tokens_book_of(mode, i);
    uint64_t counts[SZG_TOKENS_MOST_SYMBOLS], total = 0, most = 0;
    find_counts(tally, lane_groups_log2, mode, book, counts);
    uint32_t const symbol_count = szg_tokens_book_kind_of(book).symbol_count;
    for (uint32_t s = 0; s < symbol_count; s++) {
      total += counts[s];
      if (counts[s] > most) most = counts[s];
    }
    if (total > 0) cost += szg_huffman_cost(total, szg_logs_of(counts, symbol_count), most);
  }
  return cost;
}

/* Symbols that a sample does not have are about as likely, all together, as those that it has once:
 * the estimate of Good and Turing. */
static void count_escape(szg_tokens_book_kind kind, uint64_t *counts) {
  uint64_t once = 1;
  for (uint32_t s = 0; s < kind.symbol_count; s++) once += counts[s] == 1;
  if (counts[kind.escape] < once) counts[kind.escape] = once;
}

void szg_tokens_choose(const szg_tokens_tally *tally, uint32_t group_count, uint32_t lane_bits,
                       bool is_whole, szg_codebook *book, szg_codebook_work *work,
                       szg_tokens_plan *plan) {
  memset(plan, 0, sizeof *plan);
  uint32_t g = szg_tokens_least_lane_groups_log2(group_count);
  plan->lane_groups_log2 = g;
  uint64_t const lane_count = tally->live_lanes[g];
  uint64_t costs[SZG_LEVELS_MODES] = {0};
  for (uint32_t mode = SZG_LEVELS_MODE_PLAIN; mode < SZG_LEVELS_MODES; mode++)
    costs[mode] = szg_tokens_cost(tally, g, mode);
  plan->mode = szg_tokens_choose_mode(costs, lane_count);
  g = szg_tokens_choose_lanes(group_count, lane_bits, costs[plan->mode], lane_count);
  plan->lane_groups_log2 = g;
  for (uint32_t i = 0; i < szg_tokens_book_count(plan->mode); i++) {
    uint32_t const own = szg_tokens_book_of(plan->mode, i);
    szg_tokens_book_kind const kind = szg_tokens_book_kind_of(own);
    uint64_t counts[SZG_TOKENS_MOST_SYMBOLS];
    find_counts(tally, g, plan->mode, own, counts);
    if (!is_whole) count_escape(kind, counts);
    szg_codebook_lengths(counts, kind.symbol_count, SZG_LEVELS_CODE_BITS, book, work);
    memcpy((uint8_t *)&plan->books + kind.lengths_at, book->lengths, kind.symbol_count);
  }
}

/* ---- books in an archive ---- */

static void put_unit(uint32_t unit, uint8_t *bytes, size_t *unit_count) {
  size_t const i = (*unit_count)++;
  if (i % 2 == 0)
    bytes[i / 2] = (uint8_t)(unit << 4);
  else
    bytes[i / 2] |= (uint8_t)unit;
}

static void write_book(const uint8_t *lengths, uint32_t symbol_count, uint8_t *bytes,
                       size_t *unit_count) {
  uint32_t end = symbol_count;
  while (end > 0 && lengths[end - 1] == 0) end--;
  for (uint32_t s = 0; s < end;) {
    if (lengths[s]) {
      put_unit(lengths[s++], bytes, unit_count);
      continue;
    }
    uint32_t run = 1;
    while (lengths[s + run] == 0 && run < SZG_TOKENS_LONGEST_MANY)
      run++; /* lengths[end - 1] is not 0 */
    put_unit(SZG_TOKENS_UNIT_NONE, bytes, unit_count);
    if (run < SZG_TOKENS_SHORTEST_MANY) {
      put_unit(run - 1, bytes, unit_count);
    } else {
      put_unit(SZG_TOKENS_UNIT_MANY, bytes, unit_count);
      put_unit((run - SZG_TOKENS_SHORTEST_MANY) >> 4, bytes, unit_count);
      put_unit((run - SZG_TOKENS_SHORTEST_MANY) & 15, bytes, unit_count);
    }
    s += run;
  }
  if (end < symbol_count) put_unit(SZG_TOKENS_UNIT_END, bytes, unit_count);
}

size_t szg_tokens_books_write(const szg_tokens_books *books, uint32_t mode, uint8_t *bytes) {
  size_t unit_count = 0;
  for (uint32_t i = 0; i < szg_tokens_book_count(mode); i++) {
    szg_tokens_book_kind const kind = szg_tokens_book_kind_of(szg_tokens_book_of(mode, i));
    write_book((const uint8_t *)books + kind.lengths_at, kind.symbol_count, bytes, &unit_count);
  }
  while (unit_count % 8) put_unit(0, bytes, &unit_count);
  return unit_count / 2;
}

typedef struct unit_reader {
  const uint8_t *bytes;
  uint64_t next, count;
} unit_reader;

/* The next unit; 0, and *is_missing is set, if there is none. */
static uint32_t take_unit(unit_reader *reader, bool *is_missing) {
  if (reader->next >= reader->count) {
    *is_missing = true;
    return 0;
  }
  uint64_t const i = reader->next++;
  return (uint32_t)(reader->bytes[i / 2] >> (i % 2 ? 0 : 4)) & 15;
}

static bool is_code(const uint8_t *lengths, uint32_t symbol_count) {
  uint32_t used = 0, occurring = 0; /* used: of 2^12 windows */
  for (uint32_t s = 0; s < symbol_count; s++) {
    if (lengths[s] == 0) continue;
    used += 1u << (SZG_LEVELS_CODE_BITS - lengths[s]);
    occurring++;
  }
  return szg_tokens_is_code(occurring, used);
}

/* lengths: all 0 before. */
static szgpu_status read_book(unit_reader *reader, uint32_t symbol_count, uint8_t *lengths) {
  bool is_missing = false;
  for (uint32_t s = 0; s < symbol_count;) {
    uint32_t const unit = take_unit(reader, &is_missing);
    SZG_REQUIRE(!is_missing && unit <= SZG_TOKENS_UNIT_END, SZGPU_BAD_DATA);
    if (unit == SZG_TOKENS_UNIT_END) break;
    if (unit != SZG_TOKENS_UNIT_NONE) {
      lengths[s++] = (uint8_t)unit;
      continue;
    }
    uint32_t run = take_unit(reader, &is_missing) + 1;
    if (run == SZG_TOKENS_UNIT_MANY + 1) {
      uint32_t const high = take_unit(reader, &is_missing);
      run = SZG_TOKENS_SHORTEST_MANY + 16 * high + take_unit(reader, &is_missing);
    }
    SZG_REQUIRE(!is_missing && run <= symbol_count - s, SZGPU_BAD_DATA);
    s += run;
  }
  SZG_REQUIRE(is_code(lengths, symbol_count), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

szgpu_status szg_tokens_books_read(const uint8_t *bytes, uint64_t byte_count, uint32_t mode,
                                   szg_tokens_books *books) {
  memset(books, 0, sizeof *books);
  SZG_REQUIRE(mode < SZG_LEVELS_MODES && byte_count <= UINT32_MAX, SZGPU_BAD_DATA);
  unit_reader reader = {bytes, 0, 2 * byte_count};
  for (uint32_t i = 0; i < szg_tokens_book_count(mode); i++) {
    szg_tokens_book_kind const kind = szg_tokens_book_kind_of(szg_tokens_book_of(mode, i));
    SZG_TRY(read_book(&reader, kind.symbol_count, (uint8_t *)books + kind.lengths_at));
  }
  SZG_REQUIRE((reader.next + 7) / 8 * 4 == byte_count, SZGPU_BAD_DATA);
  bool is_missing = false;
  while (reader.next < reader.count)
    SZG_REQUIRE(take_unit(&reader, &is_missing) == 0, SZGPU_BAD_DATA);
  return SZGPU_OK;
}
