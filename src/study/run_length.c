/* run_length.c - run-length coding of symbols on the CPU: symbol by symbol, and by parts.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Coding by parts has the steps of the data-parallel form: a mask of the symbols that begin a run,
 * the mask's running sum, which gives each run its index, the positions where runs begin, and
 * counts as differences of these. No step stores its result. Each part makes its mask twice, 64
 * symbols per word: first to count its runs, and again to write them once the sums over parts are
 * known. A run may end many parts later, so its count is written where the next run begins.
 */
#include "study/run_length.h"

#include <assert.h>
#include <string.h>

#include "core/bytes.h"
#include "core/dispatch.h"

enum { BLOCK = 64 }; /* symbols per word of the mask */
static_assert(SZG_RUN_SPAN % SZG_RUN_PART == 0 && SZG_RUN_PART % BLOCK == 0,
              "only the first symbol of a part, and of a block, is at a multiple of the span");

/* ---- symbols of either width; each caller passes the width as a constant ---- */

SZG_INLINE uint32_t symbol_at(uint32_t symbol_bytes, const void *symbols, uint64_t i) {
  return symbol_bytes == 1 ? ((const uint8_t *)symbols)[i] : ((const uint16_t *)symbols)[i];
}

SZG_INLINE void set_symbol(uint32_t symbol_bytes, void *symbols, uint64_t i, uint32_t symbol) {
  if (symbol_bytes == 1)
    ((uint8_t *)symbols)[i] = (uint8_t)symbol;
  else
    ((uint16_t *)symbols)[i] = (uint16_t)symbol;
}

/* ---- symbol by symbol ---- */

SZG_INLINE uint64_t encode_one_by_one(uint32_t symbol_bytes, const void *symbols,
                                      uint64_t symbol_count, const szg_run_output *runs) {
  uint64_t run_count = 0, begin = 0;
  uint32_t before = 0;
  for (uint64_t i = 0; i < symbol_count; i++) {
    uint32_t const symbol = symbol_at(symbol_bytes, symbols, i);
    if (szg_run_begins(i, before, symbol)) {
      if (run_count > 0 && run_count <= runs->capacity)
        runs->counts[run_count - 1] = (uint32_t)(i - begin);
      if (run_count < runs->capacity) set_symbol(symbol_bytes, runs->symbols, run_count, symbol);
      run_count++;
      begin = i;
      before = symbol;
    }
  }
  if (run_count > 0 && run_count <= runs->capacity)
    runs->counts[run_count - 1] = (uint32_t)(symbol_count - begin);
  return run_count;
}

szgpu_status szg_runs_encode_serial(uint32_t symbol_bytes, const void *symbols,
                                    uint64_t symbol_count, szg_run_output *runs) {
  assert(symbol_bytes == 1 || symbol_bytes == 2);
  runs->count = symbol_bytes == 1 ? encode_one_by_one(1, symbols, symbol_count, runs)
                                  : encode_one_by_one(2, symbols, symbol_count, runs);
  return runs->count <= runs->capacity ? SZGPU_OK : SZGPU_CAPACITY;
}

szgpu_status szg_runs_decode_serial(uint32_t symbol_bytes, const szg_run_input *runs, void *symbols,
                                    uint64_t symbol_count) {
  assert(symbol_bytes == 1 || symbol_bytes == 2);
  uint64_t filled = 0;
  for (uint64_t run = 0; run < runs->count; run++) {
    uint32_t const count = runs->counts[run];
    SZG_REQUIRE(count > 0 && count <= symbol_count - filled, SZGPU_BAD_DATA);
    uint32_t const symbol = symbol_at(symbol_bytes, runs->symbols, run);
    for (uint32_t i = 0; i < count; i++) set_symbol(symbol_bytes, symbols, filled++, symbol);
  }
  return filled == symbol_count ? SZGPU_OK : SZGPU_BAD_DATA;
}

/* ---- coding by parts ---- */

typedef struct encode_job {
  uint32_t symbol_bytes;
  const void *symbols;
  uint64_t symbol_count;
  const szg_run_output *runs;
  szg_run_tally *tallies; /* [parts] of the part alone, then of all parts before it */
} encode_job;

/* The mask of any block; bit b is symbol first + b. */
SZG_INLINE uint64_t mask_one_by_one(uint32_t symbol_bytes, const void *symbols, uint64_t first,
                                    uint64_t count) {
  uint64_t mask = 0;
  uint32_t before = first > 0 ? symbol_at(symbol_bytes, symbols, first - 1) : 0;
  for (uint64_t b = 0; b < count; b++) {
    uint32_t const symbol = symbol_at(symbol_bytes, symbols, first + b);
    mask |= (uint64_t)szg_run_begins(first + b, before, symbol) << b;
    before = symbol;
  }
  return mask;
}

/* The mask of a full block that does not begin at a multiple of the span, in loops that the
 * compiler vectorizes. */
SZG_INLINE uint64_t mask_of_full_block(uint32_t symbol_bytes, const void *symbols, uint64_t first) {
  uint8_t begins[BLOCK];
  if (symbol_bytes == 1) {
    const uint8_t *const own = (const uint8_t *)symbols + first, *const before = own - 1;
    for (uint32_t b = 0; b < BLOCK; b++) begins[b] = own[b] != before[b];
  } else {
    const uint16_t *const own = (const uint16_t *)symbols + first, *const before = own - 1;
    for (uint32_t b = 0; b < BLOCK; b++) begins[b] = own[b] != before[b];
  }
  uint64_t any = 0, mask = 0;
  for (uint32_t b = 0; b < BLOCK; b += 8) any |= szg_load_u64(begins + b);
  if (!any) return 0;
  for (uint32_t b = 0; b < BLOCK; b += 8) /* gathers the lowest bits of eight bytes */
    mask |= (szg_load_u64(begins + b) * UINT64_C(0x0102040810204080) >> 56) << b;
  return mask;
}

SZG_INLINE uint64_t mask_of_block(const encode_job *job, uint32_t symbol_bytes, uint64_t first,
                                  uint64_t end) {
  if (end - first < BLOCK || first % SZG_RUN_SPAN == 0)
    return mask_one_by_one(symbol_bytes, job->symbols, first, szg_min_u64(end - first, BLOCK));
  return mask_of_full_block(symbol_bytes, job->symbols, first);
}

/* A step of threads, compiled for each width. */
#define BY_SYMBOL_BYTES(name, work, job_type)                                     \
  SZG_HOT static szgpu_status name(void *job_of_all, uint64_t part, int worker) { \
    (void)worker;                                                                 \
    const job_type *const job = job_of_all;                                       \
    if (job->symbol_bytes == 1)                                                   \
      work(job, 1, part);                                                         \
    else                                                                          \
      work(job, 2, part);                                                         \
    return SZGPU_OK;                                                              \
  }

SZG_INLINE void tally_part(const encode_job *job, uint32_t symbol_bytes, uint64_t part) {
  uint64_t const begin = part * SZG_RUN_PART;
  uint64_t const end = szg_min_u64(begin + SZG_RUN_PART, job->symbol_count);
  szg_run_tally tally = {0, 0};
  for (uint64_t first = begin; first < end; first += BLOCK) {
    uint64_t const mask = mask_of_block(job, symbol_bytes, first, end);
    if (!mask) continue;
    tally.count += (uint64_t)__builtin_popcountll(mask);
    tally.last = first + (uint64_t)(63 - szg_leading_zeros_u64(mask));
  }
  job->tallies[part] = tally;
}

SZG_INLINE void write_part(const encode_job *job, uint32_t symbol_bytes, uint64_t part) {
  uint64_t const begin = part * SZG_RUN_PART;
  uint64_t const end = szg_min_u64(begin + SZG_RUN_PART, job->symbol_count);
  uint32_t *const counts = job->runs->counts;
  uint64_t run = job->tallies[part].count, last = job->tallies[part].last;
  for (uint64_t first = begin; first < end; first += BLOCK) {
    uint64_t mask = mask_of_block(job, symbol_bytes, first, end);
    for (; mask; mask &= mask - 1) {
      uint64_t const i = first + (uint64_t)__builtin_ctzll(mask);
      if (run > 0) counts[run - 1] = (uint32_t)(i - last);
      set_symbol(symbol_bytes, job->runs->symbols, run, symbol_at(symbol_bytes, job->symbols, i));
      last = i;
      run++;
    }
  }
}

BY_SYMBOL_BYTES(run_tally_part, tally_part, encode_job)
BY_SYMBOL_BYTES(run_write_part, write_part, encode_job)

uint64_t szg_runs_encode_scratch_bytes(uint64_t symbol_count) {
  return szg_div_up(symbol_count, SZG_RUN_PART) * sizeof(szg_run_tally);
}

szgpu_status szg_runs_encode(szg_threads *threads, uint32_t symbol_bytes, const void *symbols,
                             uint64_t symbol_count, void *scratch, szg_run_output *runs) {
  assert(symbol_bytes == 1 || symbol_bytes == 2);
  uint64_t const part_count = szg_div_up(symbol_count, SZG_RUN_PART);
  encode_job job = {symbol_bytes, symbols, symbol_count, runs, scratch};
  SZG_TRY(szg_for_parts(threads, part_count, 0, run_tally_part, &job));
  szg_run_tally all = {0, 0};
  for (uint64_t part = 0; part < part_count; part++) {
    szg_run_tally const own = job.tallies[part];
    job.tallies[part] = all;
    all = szg_run_tally_join(all, own);
  }
  runs->count = all.count;
  SZG_REQUIRE(all.count <= runs->capacity, SZGPU_CAPACITY);
  SZG_TRY(szg_for_parts(threads, part_count, 0, run_write_part, &job));
  if (all.count > 0) runs->counts[all.count - 1] = (uint32_t)(symbol_count - all.last);
  return SZGPU_OK;
}

/* ---- decoding by parts ---- */

enum { SUM_GROUPS = 32 }; /* groups of a thread's unit of work: 256 KiB of counts */

typedef struct decode_job {
  uint32_t symbol_bytes;
  const szg_run_input *runs;
  uint64_t group_count;
  uint64_t *places; /* [groups] the sum of each group, then the symbols before it */
  void *symbols;
  uint64_t symbol_count;
} decode_job;

/* The sum of a group's counts; 0, which no group sums to, if one of the counts is 0. */
SZG_INLINE uint64_t sum_of_group(const uint32_t *counts, uint64_t count) {
  uint64_t sum = 0;
  uint32_t least = UINT32_MAX;
  for (uint64_t run = 0; run < count; run++) {
    sum += counts[run];
    least = counts[run] < least ? counts[run] : least;
  }
  return least > 0 ? sum : 0;
}

SZG_HOT static szgpu_status sum_groups(void *job_of_all, uint64_t part, int worker) {
  (void)worker;
  const decode_job *const job = job_of_all;
  uint64_t const last = szg_min_u64((part + 1) * SUM_GROUPS, job->group_count);
  for (uint64_t group = part * SUM_GROUPS; group < last; group++) {
    uint64_t const first = group * SZG_RUN_GROUP;
    job->places[group] = sum_of_group(job->runs->counts + first,
                                      szg_min_u64(job->runs->count - first, SZG_RUN_GROUP));
    SZG_REQUIRE(job->places[group] > 0, SZGPU_BAD_DATA);
  }
  return SZGPU_OK;
}

/* The last group that begins at or before symbol `place`. Group 0 begins at symbol 0. */
static uint64_t group_at(const decode_job *job, uint64_t place) {
  uint64_t low = 0, high = job->group_count;
  while (high - low > 1) {
    uint64_t const middle = low + (high - low) / 2;
    if (job->places[middle] <= place)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Writes the symbol `count` times from `place` on. A short run is one store of fixed length if the
 * part, which ends at `end`, has room: the runs after it overwrite the excess. */
SZG_INLINE void fill_run(uint32_t symbol_bytes, void *symbols, uint64_t place, uint64_t end,
                         uint64_t count, uint32_t symbol) {
  enum { STORE = 16 };
  if (end - place >= STORE) {
    for (uint32_t i = 0; i < STORE; i++) set_symbol(symbol_bytes, symbols, place + i, symbol);
    if (count <= STORE) return;
  }
  for (uint64_t i = 0; i < count; i++) set_symbol(symbol_bytes, symbols, place + i, symbol);
}

/* Parts divide the symbols, not the runs: a part may hold thousands of runs, or a piece of one. */
SZG_INLINE void fill_part(const decode_job *job, uint32_t symbol_bytes, uint64_t part) {
  uint64_t place = part * SZG_RUN_PART;
  uint64_t const end = szg_min_u64(place + SZG_RUN_PART, job->symbol_count);
  const uint32_t *const counts = job->runs->counts;
  uint64_t const group = group_at(job, place);
  uint64_t run = group * SZG_RUN_GROUP, run_end = job->places[group] + counts[run];
  while (run_end <= place) run_end += counts[++run];
  for (;;) {
    uint64_t const count = szg_min_u64(run_end, end) - place;
    fill_run(symbol_bytes, job->symbols, place, end, count,
             symbol_at(symbol_bytes, job->runs->symbols, run));
    place += count;
    if (place == end) return;
    run_end += counts[++run];
  }
}

BY_SYMBOL_BYTES(run_fill_part, fill_part, decode_job)

uint64_t szg_runs_decode_scratch_bytes(uint64_t run_count) {
  return szg_div_up(run_count, SZG_RUN_GROUP) * sizeof(uint64_t);
}

szgpu_status szg_runs_decode(szg_threads *threads, uint32_t symbol_bytes, const szg_run_input *runs,
                             void *scratch, void *symbols, uint64_t symbol_count) {
  assert(symbol_bytes == 1 || symbol_bytes == 2);
  decode_job job = {.symbol_bytes = symbol_bytes,
                    .runs = runs,
                    .group_count = szg_div_up(runs->count, SZG_RUN_GROUP),
                    .places = scratch,
                    .symbols = symbols,
                    .symbol_count = symbol_count};
  SZG_TRY(szg_for_parts(threads, szg_div_up(job.group_count, SUM_GROUPS), 0, sum_groups, &job));
  uint64_t before = 0;
  for (uint64_t group = 0; group < job.group_count; group++) {
    uint64_t const sum = job.places[group];
    SZG_REQUIRE(sum <= symbol_count - before, SZGPU_BAD_DATA); /* so the sums cannot wrap */
    job.places[group] = before;
    before += sum;
  }
  SZG_REQUIRE(before == symbol_count, SZGPU_BAD_DATA);
  return szg_for_parts(threads, szg_div_up(symbol_count, SZG_RUN_PART), 0, run_fill_part, &job);
}
