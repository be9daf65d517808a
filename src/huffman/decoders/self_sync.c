/* self_sync.c - self-synchronization on CPU threads; self_sync.h has the idea.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Phases 1 and 2 only find where codes end, by lookups that skip all codes in 11 bits. Phase 4 gets
 * runs with known places, like tiles; the table decoder checks them.
 *
 * A thread walks four guesses at a time, because a lookup waits for the one before it, and
 * continues each through several subsequences: few guesses leave little to mend. Mending goes from
 * left to right, whereas the papers' threads mend all at once, round by round. The result is the
 * same.
 */
#include "huffman/decoders/self_sync.h"

#include <assert.h>
#include <string.h>

#include "core/arena.h"
#include "core/bit_reader.h"
#include "core/dispatch.h"

enum {
  LANES = 4,
  LOOKUPS = 3,                                /* per step */
  STEP_BITS = LOOKUPS * SZG_SYNC_WINDOW_BITS, /* bits that its lookups see */
  SPAN_BITS_MASK = (1 << SZG_SYNC_COUNT_SHIFT) - 1,
  PART_BITS = 1 << 18, /* a part's codes stay in the second-level cache */
  PART_RUNS = 16       /* for the table decoder, which takes four at a time */
};
static_assert(STEP_BITS <= 33, "a load gives 33 bits");
static_assert(STEP_BITS > 32, "where a step is left, there are two words");
static_assert(STEP_BITS <= SPAN_BITS_MASK, "sums of spans");
static_assert(SZG_SELF_SYNC_MOST_BITS <= UINT16_MAX, "code counts");

/* ---- where codes end ---- */

/* Finds the mask to canonical order and the limits by which longer codes get their lengths. */
static void find_limits(const szg_codebook *book, szg_sync_table *table) {
  uint32_t const zero = book->symbol_count / 2, zero_length = book->lengths[zero];
  uint32_t length_counts[SZG_MAX_CODE_BITS + 1] = {0};
  uint32_t rank = 0; /* of delta 0's code among codes of its length */
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s)) {
    length_counts[book->lengths[s]]++;
    rank += s < zero && book->lengths[s] == zero_length;
  }
  table->mask = table->limits[0] = 0;
  uint32_t code = 0;
  for (uint32_t length = 1; length <= SZG_MAX_CODE_BITS; length++) {
    code <<= 1;
    if (length == zero_length) table->mask = (code + rank) << (SZG_MAX_CODE_BITS - length);
    code += length_counts[length];
    table->limits[length] = code << (SZG_MAX_CODE_BITS - length);
  }
}

void szg_sync_table_build(const szg_codebook *book, szg_sync_table *table) {
  uint8_t lengths[SZG_SYNC_WINDOWS] = {0}; /* of each window's first code */
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s)) {
    uint32_t const length = book->lengths[s];
    if (length == 0 || length > SZG_SYNC_WINDOW_BITS) continue;
    uint32_t const unused_bits = SZG_SYNC_WINDOW_BITS - length;
    memset(lengths + ((uint32_t)book->codes[s] << unused_bits), (int)length, 1u << unused_bits);
  }
  for (uint32_t window = 0; window < SZG_SYNC_WINDOWS; window++) {
    uint32_t bits = 0, count = 0, borders = 1;
    for (;;) {
      uint32_t const length = lengths[window << bits & (SZG_SYNC_WINDOWS - 1)];
      if (length == 0 || bits + length > SZG_SYNC_WINDOW_BITS) break;
      bits += length;
      count++;
      borders |= 1u << bits;
    }
    table->spans[window] = (uint16_t)(count << SZG_SYNC_COUNT_SHIFT | bits);
    table->borders[window] = (uint16_t)borders;
  }
  find_limits(book, table);
}

/* State that all parts share. */
typedef struct sync_job {
  const szg_sync_table *table;
  const szg_decode_table *decode_table;
  const szg_self_sync_work *work;
  const szg_linear_input *input;
  uint64_t subsequence_count, part_count;
  uint16_t *codes;
} sync_job;

/* A walk through subsequences. */
typedef struct sync_lane {
  uint64_t position, border; /* bits; the end of the subsequence */
  uint64_t subsequence, end_subsequence;
  uint32_t code_count; /* in the subsequence so far */
} sync_lane;

/* Skips the code at the lane's position, which has no span. */
SZG_INLINE void pass_long_code(const szg_sync_table *table, const szg_linear_input *input,
                               sync_lane *lane) {
  uint64_t const window = szg_last_window_at(input->words, input->word_bytes, lane->position);
  uint32_t const length = szg_sync_long_bits(table, (uint32_t)(window >> (64 - SZG_MAX_CODE_BITS)));
  bool const is_code = length <= SZG_MAX_CODE_BITS;
  lane->position += is_code ? length : 1;
  lane->code_count += is_code;
}

/* LOOKUPS lookups; STEP_BITS must be left, so that all skipped codes begin before the border. A
 * long code stops the lookups and is skipped afterwards. */
SZG_INLINE void step_lane(const szg_sync_table *table, const szg_linear_input *input,
                          sync_lane *lane) {
  uint64_t window = szg_window_at(input->words, lane->position);
  uint32_t sum = 0, span = 0;
  for (int i = 0; i < LOOKUPS; i++) {
    span = table->spans[window >> (64 - SZG_SYNC_WINDOW_BITS)];
    sum += span;
    window <<= span & 63; /* the count is in higher bits */
  }
  lane->position += sum & SPAN_BITS_MASK;
  lane->code_count += sum >> SZG_SYNC_COUNT_SHIFT;
  if (__builtin_expect(span == 0, 0)) pass_long_code(table, input, lane);
}

/* Skips the codes that begin before the border. */
SZG_INLINE void walk_to_border(const sync_job *job, sync_lane *lane) {
  const szg_sync_table *const table = job->table;
  while (lane->position < lane->border) {
    uint64_t const left = lane->border - lane->position;
    uint64_t const window =
        szg_last_window_at(job->input->words, job->input->word_bytes, lane->position);
    uint32_t const prefix = (uint32_t)(window >> (64 - SZG_SYNC_WINDOW_BITS));
    uint32_t const span = table->spans[prefix], bits = span & SPAN_BITS_MASK;
    if (span == 0) {
      pass_long_code(table, job->input, lane);
    } else if (bits <= left) {
      lane->position += bits;
      lane->code_count += span >> SZG_SYNC_COUNT_SHIFT;
    } else { /* some codes begin beyond the border: stop at the first of those */
      uint32_t const borders = table->borders[prefix];
      uint32_t const first = (uint32_t)left + (uint32_t)__builtin_ctz(borders >> left);
      lane->position += first;
      lane->code_count += (uint32_t)__builtin_popcount(borders & ((1u << first) - 1));
    }
  }
}

SZG_INLINE void enter_subsequence(const sync_job *job, uint32_t start, sync_lane *lane) {
  uint32_t const bits = job->work->options.subsequence_bits;
  lane->position = lane->subsequence * bits + start;
  lane->border = szg_self_sync_border(lane->subsequence, bits, job->input->bit_count);
  lane->code_count = 0;
  job->work->records[lane->subsequence].start = (uint8_t)start;
}

/* Finishes the subsequence, which has less than a step left, and enters the next one. False if it
 * was the last. */
SZG_INLINE bool cross_border(const sync_job *job, sync_lane *lane) {
  walk_to_border(job, lane);
  uint32_t const end = (uint32_t)(lane->position - lane->border);
  assert(end < SZG_MAX_CODE_BITS);
  szg_self_sync_record *const record = &job->work->records[lane->subsequence];
  record->code_count = (uint16_t)lane->code_count;
  record->end = (uint8_t)end;
  if (++lane->subsequence == lane->end_subsequence) return false;
  enter_subsequence(job, end, lane);
  return true;
}

SZG_INLINE bool has_step(const sync_lane *lane) {
  return lane->position + STEP_BITS <= lane->border;
}

SZG_INLINE void finish_lane(const sync_job *job, sync_lane *lane) {
  do {
    while (has_step(lane)) step_lane(job->table, job->input, lane);
  } while (cross_border(job, lane));
}

/* ---- phases 1 and 2: agreement ---- */

/* Stretches still to be walked. */
typedef struct stretch_queue {
  uint64_t next, end; /* subsequences */
} stretch_queue;

static uint64_t sequence_end(const sync_job *job, uint64_t subsequence) {
  uint64_t const count = job->work->options.sequence_subsequences;
  return szg_min_u64((subsequence / count + 1) * count, job->subsequence_count);
}

static bool take_stretch(const sync_job *job, stretch_queue *queue, sync_lane *lane) {
  if (queue->next == queue->end) return false;
  lane->subsequence = queue->next;
  queue->next = lane->end_subsequence = szg_min_u64(
      queue->next + job->work->options.stretch_subsequences, sequence_end(job, queue->next));
  enter_subsequence(job, 0, lane);
  return true;
}

/* Walks all stretches from first to end, each from its first bit. */
SZG_HOT static void guess_starts(const sync_job *job, uint64_t first, uint64_t end) {
  stretch_queue queue = {first, end};
  sync_lane lanes[LANES];
  int lane_count = 0;
  while (lane_count < LANES && take_stretch(job, &queue, &lanes[lane_count])) lane_count++;
  while (lane_count == LANES) {
    for (int i = 0; i < LANES; i++) {
      if (has_step(&lanes[i])) {
        step_lane(job->table, job->input, &lanes[i]);
      } else if (!cross_border(job, &lanes[i]) && !take_stretch(job, &queue, &lanes[i])) {
        lanes[i] = lanes[--lane_count];
        break;
      }
    }
  }
  for (int i = 0; i < lane_count; i++) finish_lane(job, &lanes[i]);
}

/* Mends the border before `first`, and the ones that this unsettles, up to `end`. Returns how many
 * subsequences it walked. */
SZG_HOT static uint64_t mend_border(const sync_job *job, uint64_t first, uint64_t end) {
  const szg_self_sync_record *const records = job->work->records;
  uint64_t i = first;
  for (; i < end && records[i].start != records[i - 1].end; i++) {
    sync_lane lane = {.subsequence = i, .end_subsequence = i + 1};
    enter_subsequence(job, records[i - 1].end, &lane);
    finish_lane(job, &lane);
  }
  return i - first;
}

static uint64_t part_first(const sync_job *job, uint64_t part) {
  return szg_min_u64(part * job->work->part_subsequences, job->subsequence_count);
}

/* Phase 1. */
static szgpu_status agree_in_sequences(void *job_of_parts, uint64_t part, int worker) {
  (void)worker;
  const sync_job *const job = job_of_parts;
  uint64_t const first = part_first(job, part), end = part_first(job, part + 1);
  uint64_t const stretch = job->work->options.stretch_subsequences;
  uint64_t decodings = end - first;
  guess_starts(job, first, end);
  for (uint64_t sequence = first; sequence < end; sequence = sequence_end(job, sequence)) {
    uint64_t const its_end = sequence_end(job, sequence);
    for (uint64_t i = sequence + stretch; i < its_end; i += stretch)
      decodings += mend_border(job, i, its_end);
  }
  job->work->parts[part].decodings = decodings;
  return SZGPU_OK;
}

/* Phase 2, in a part. */
static szgpu_status agree_across_sequences(void *job_of_parts, uint64_t part, int worker) {
  (void)worker;
  const sync_job *const job = job_of_parts;
  uint64_t const first = part_first(job, part), end = part_first(job, part + 1);
  uint64_t decodings = 0;
  for (uint64_t i = sequence_end(job, first); i < end; i = sequence_end(job, i))
    decodings += mend_border(job, i, end);
  job->work->parts[part].decodings = decodings;
  return SZGPU_OK;
}

/* Phase 2, between parts. */
static uint64_t agree_across_parts(const sync_job *job) {
  uint64_t decodings = 0;
  for (uint64_t part = 1; part < job->part_count; part++)
    decodings += mend_border(job, part_first(job, part), job->subsequence_count);
  return decodings;
}

static uint64_t part_decodings(const sync_job *job) {
  uint64_t decodings = 0;
  for (uint64_t part = 0; part < job->part_count; part++)
    decodings += job->work->parts[part].decodings;
  return decodings;
}

/* ---- phases 3 and 4: the codes ---- */

static szgpu_status count_codes(void *job_of_parts, uint64_t part, int worker) {
  (void)worker;
  const sync_job *const job = job_of_parts;
  uint64_t const end = part_first(job, part + 1);
  uint64_t code_count = 0;
  for (uint64_t i = part_first(job, part); i < end; i++)
    code_count += job->work->records[i].code_count;
  job->work->parts[part].code_count = code_count;
  return SZGPU_OK;
}

/* SZGPU_BAD_DATA: a number of codes that is not code_count, or a last one that is cut off. */
static szgpu_status scan_parts(const sync_job *job) {
  uint64_t sum = 0;
  for (uint64_t part = 0; part < job->part_count; part++) {
    uint64_t const code_count = job->work->parts[part].code_count;
    job->work->parts[part].code_count = sum;
    sum += code_count;
  }
  SZG_REQUIRE(sum == job->input->code_count, SZGPU_BAD_DATA);
  uint64_t const count = job->subsequence_count;
  return count == 0 || job->work->records[count - 1].end == 0 ? SZGPU_OK : SZGPU_BAD_DATA;
}

/* The bit of the first code that begins in a subsequence, or the stream's end. */
static uint64_t first_bit_at(const sync_job *job, uint64_t subsequence) {
  if (subsequence == job->subsequence_count) return job->input->bit_count;
  return subsequence * job->work->options.subsequence_bits + job->work->records[subsequence].start;
}

static szgpu_status write_codes(void *job_of_parts, uint64_t part, int worker) {
  (void)worker;
  const sync_job *const job = job_of_parts;
  uint64_t const first = part_first(job, part), count = part_first(job, part + 1) - first;
  uint16_t *codes = job->codes + job->work->parts[part].code_count;
  szg_code_run runs[PART_RUNS];
  for (uint64_t i = 0; i < PART_RUNS; i++) {
    uint64_t const begin = first + count * i / PART_RUNS;
    uint64_t const end = first + count * (i + 1) / PART_RUNS;
    uint32_t code_count = 0;
    for (uint64_t k = begin; k < end; k++) code_count += job->work->records[k].code_count;
    uint64_t const first_bit = first_bit_at(job, begin);
    runs[i] = (szg_code_run){first_bit, first_bit_at(job, end) - first_bit, code_count, codes};
    codes += code_count;
  }
  return szg_decode_runs(job->decode_table, job->input, runs, PART_RUNS);
}

/* ---- all phases ---- */

szgpu_status szg_self_sync_carve(szg_arena *arena, const szg_self_sync_options *options,
                                 uint64_t bit_count, szg_self_sync_work *work) {
  uint32_t const bits = options->subsequence_bits;
  uint32_t const subsequences = options->sequence_subsequences;
  SZG_REQUIRE(bits >= SZG_SELF_SYNC_LEAST_BITS && bits <= SZG_SELF_SYNC_MOST_BITS,
              SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(bits % 32 == 0, SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(subsequences >= 1 && subsequences <= SZG_SELF_SYNC_MOST_SUBSEQUENCES,
              SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(options->stretch_subsequences >= 1 && options->stretch_subsequences <= subsequences,
              SZGPU_BAD_ARGUMENT);
  work->options = *options;
  work->part_subsequences = szg_div_up(PART_BITS, (uint64_t)bits * subsequences) * subsequences;
  work->subsequence_count = szg_self_sync_subsequence_count(bit_count, bits);
  work->part_count = szg_div_up(work->subsequence_count, work->part_subsequences);
  work->records = szg_arena_take(arena, work->subsequence_count, sizeof *work->records);
  work->parts = szg_arena_take(arena, work->part_count, sizeof *work->parts);
  return SZGPU_OK;
}

szgpu_status szg_decode_self_sync(const szg_sync_table *sync_table,
                                  const szg_decode_table *decode_table,
                                  const szg_self_sync_work *work, const szg_linear_input *input,
                                  uint16_t *codes, szg_threads *threads,
                                  szg_self_sync_report *report) {
  sync_job job = {.table = sync_table,
                  .decode_table = decode_table,
                  .work = work,
                  .input = input,
                  .codes = codes};
  job.subsequence_count =
      szg_self_sync_subsequence_count(input->bit_count, work->options.subsequence_bits);
  job.part_count = szg_div_up(job.subsequence_count, work->part_subsequences);
  assert(job.subsequence_count <= work->subsequence_count && job.part_count <= work->part_count);
  szg_self_sync_report unasked, *const done = report ? report : &unasked;
  *done = (szg_self_sync_report){.subsequences = job.subsequence_count};
  SZG_TRY(szg_for_parts(threads, job.part_count, 0, agree_in_sequences, &job));
  done->decodings[0] = part_decodings(&job);
  SZG_TRY(szg_for_parts(threads, job.part_count, 0, agree_across_sequences, &job));
  done->decodings[1] = part_decodings(&job) + agree_across_parts(&job);
  SZG_TRY(szg_for_parts(threads, job.part_count, 0, count_codes, &job));
  SZG_TRY(scan_parts(&job));
  return szg_for_parts(threads, job.part_count, 0, write_codes, &job);
}
