/* tokens_tables.cuh - from code lengths to the encoder's tables and to the front of a section.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A block for each book's entries, and one for the front, all at once.
 *
 * Memory traffic: a block reads 1 KB and writes up to 4 KB. Only the time of a block matters.
 */
#ifndef SZG_TOKENS_TABLES_CUH
#define SZG_TOKENS_TABLES_CUH

#include <cub/block/block_scan.cuh>

#include "core/warp.cuh"
#include "huffman/canonical.cuh"
#include "huffman/tokens_books_core.h"
#include "huffman/tokens_cuda.h"

namespace szg {
namespace {

struct TablesPolicy {
  static constexpr uint32_t kThreads = 288;
  static constexpr uint32_t kWarps = kThreads / 32;
};
static_assert(SZG_TOKENS_MOST_SYMBOLS <= TablesPolicy::kThreads, "a thread a symbol");

constexpr uint32_t kFrontWords = SZG_TOKENS_FRONT_MOST_BYTES / 4;
constexpr uint32_t kHeadUnits = 2 * SZG_TOKENS_HEAD_BYTES;
constexpr uint32_t kOccurringWords = (SZG_TOKENS_MOST_SYMBOLS + 31) / 32;
constexpr uint32_t kTableParts = SZG_TOKENS_BOOKS + 1; /* of a stage: entries, and the front */
static_assert(SZG_TOKENS_MOST_SYMBOLS <= (int)SZG_TOKENS_LONGEST_MANY,
              "a run of symbols without codes is one");

typedef cub::BlockScan<uint32_t, TablesPolicy::kThreads> UnitScan;

struct BooksJob {
  szg_tokens_book_facts stages[SZG_TOKENS_MOST_STAGES];
  const szg_tokens_tally *tallies;
  szg_tokens_book_cuda *books;
};

struct EntriesMemory {
  CodeStrips<TablesPolicy::kWarps, SZG_LEVELS_CODE_BITS> codes;
  uint32_t entries[SZG_TOKENS_MOST_SYMBOLS];
};

struct FrontMemory {
  szg_tokens_books books;              /* lengths */
  uint32_t occurring[kOccurringWords]; /* a bit for each symbol that has a code */
  UnitScan::TempStorage scan;
  uint32_t words[kFrontWords];
};

/* ---- the encoder's tables ---- */

/* Makes the entries of a book. The whole block calls. */
__device__ void find_entries(const uint8_t *lengths, uint32_t symbol_count, EntriesMemory *memory) {
  uint32_t const s = threadIdx.x, length = s < symbol_count ? lengths[s] : 0;
  memory->codes.find<TablesPolicy::kThreads>([=](uint32_t) { return length; });
  uint32_t const rank = memory->codes.rank_in_length(s / 32, length);
  uint32_t const code = length ? memory->codes.layout.first_code(length) + rank : 0;
  if (s < symbol_count) memory->entries[s] = length ? code << (32 - length) | length : 0;
  __syncthreads(); /* entries are complete */
}

/* Writes entries as szg_tokens_encoder_build does. The whole block calls. */
__device__ void write_entries(uint32_t book, const EntriesMemory &memory,
                              szg_tokens_encoder *encoder) {
  szg_tokens_book_kind const kind = szg_tokens_book_kind_of(book);
  uint32_t const s = threadIdx.x;
  uint32_t const entry = s < kind.symbol_count ? memory.entries[s] : 0;
  if (book == SZG_TOKENS_OCTETS || book == SZG_TOKENS_MASKS) {
    uint32_t *const entries = book == SZG_TOKENS_OCTETS ? encoder->octets : encoder->masks;
    bool const has_code = entry != 0 && s != kind.escape;
    uint32_t const escape = memory.entries[kind.escape];
    if (s < 256) entries[s] = has_code ? entry : szg_tokens_escaped_byte(escape, s);
  } else if (book == SZG_TOKENS_PAIRS) {
    if (s < SZG_LEVELS_PAIRS) {
      encoder->pairs[s] = entry;
      encoder->small_pairs[s] = s == SZG_LEVELS_PAIR_ESCAPE ? 0 : entry;
    }
  } else {
    if (s < SZG_LEVELS_VALUES) encoder->values[s] = entry;
    int32_t const code = (int32_t)s - SZG_LEVELS_DIRECT;
    if (s < 2 * SZG_LEVELS_DIRECT)
      encoder->direct[s] = s ? memory.entries[szg_direct_symbol(code)] : 0;
  }
}

/* ---- the section's front ---- */

/* Puts unit `at` of the front. */
__device__ void put_unit(uint32_t unit, uint32_t at, FrontMemory *memory) {
  atomicOr(&memory->words[at / 8], unit << (at % 8 / 2 * 8 + (at % 2 ? 0 : 4)));
}

/* Symbols from this one on that have no code, up to the next that has. Only if there is one. */
__device__ uint32_t run_from(uint32_t s, const FrontMemory &memory) {
  uint32_t stripe = s / 32;
  uint32_t bits = memory.occurring[stripe] & ~lanes_below(s % 32);
  while (bits == 0) bits = memory.occurring[++stripe];
  return stripe * 32 + (uint32_t)__ffs((int)bits) - 1 - s;
}

/* Puts a book's units from `at` on; returns where they end. The whole block calls. */
__device__ uint32_t put_book(uint32_t book, uint32_t at, FrontMemory *memory) {
  uint32_t const symbol_count = szg_tokens_book_kind_of(book).symbol_count, s = threadIdx.x;
  const uint8_t *const lengths =
      (const uint8_t *)&memory->books + szg_tokens_book_kind_of(book).lengths_at;
  uint32_t const length = s < symbol_count ? lengths[s] : 0;
  uint32_t const stripe = __ballot_sync(kAllLanes, length > 0);
  if (s % 32 == 0) memory->occurring[s / 32] = stripe;
  __syncthreads();  /* it is known which symbols have codes */
  uint32_t end = 0; /* behind the last symbol with a code */
  for (uint32_t i = 0; i < kOccurringWords; i++)
    if (memory->occurring[i]) end = i * 32 + 32 - (uint32_t)__clz((int)memory->occurring[i]);
  bool const begins_run = s < end && length == 0 && (s == 0 || lengths[s - 1] != 0);
  uint32_t const run = begins_run ? run_from(s, *memory) : 0;
  bool const is_many = run >= SZG_TOKENS_SHORTEST_MANY;
  bool const ends_book = s == end && end < symbol_count;
  uint32_t const unit_count = length ? 1 : run ? (is_many ? 4 : 2) : ends_book ? 1 : 0;
  uint32_t place = 0, all_units = 0;
  UnitScan(memory->scan).ExclusiveSum(unit_count, place, all_units);
  place += at;
  if (length) put_unit(length, place, memory);
  if (ends_book) put_unit(SZG_TOKENS_UNIT_END, place, memory);
  if (run && !is_many) put_unit(run - 1, place + 1, memory); /* the unit before is 0 */
  if (is_many) {
    put_unit(SZG_TOKENS_UNIT_MANY, place + 1, memory);
    put_unit((run - SZG_TOKENS_SHORTEST_MANY) >> 4, place + 2, memory);
    put_unit((run - SZG_TOKENS_SHORTEST_MANY) & 15, place + 3, memory);
  }
  __syncthreads(); /* units are there, and the scan's memory is free */
  return at + all_units;
}

/* Makes head and books; returns their bytes. front: zeros. The whole block calls. */
__device__ uint32_t make_front(uint32_t mode, uint32_t lane_groups_log2, uint32_t unit,
                               FrontMemory *memory) {
  uint32_t at = kHeadUnits;
  for (uint32_t i = 0; i < szg_tokens_book_count(mode); i++)
    at = put_book(szg_tokens_book_of(mode, i), at, memory);
  uint32_t const front_bytes = (at + 7) / 8 * 4;
  if (threadIdx.x == 0) {
    memory->words[0] = mode | lane_groups_log2 << 8;
    memory->words[1] = unit;
    memory->words[2] = front_bytes - SZG_TOKENS_HEAD_BYTES;
  }
  __syncthreads(); /* the front is complete */
  return front_bytes;
}

/* ---- kernel ---- */

__device__ void make_entries(uint32_t book, szg_tokens_book_cuda *made) {
  __shared__ EntriesMemory memory;
  szg_tokens_book_kind const kind = szg_tokens_book_kind_of(book);
  auto const *const lengths = (const uint8_t *)&made->plan.books + kind.lengths_at;
  find_entries(lengths, kind.symbol_count, &memory);
  write_entries(book, memory, &made->encoder);
}

__device__ void make_whole_front(uint32_t unit, szg_tokens_book_cuda *made) {
  __shared__ FrontMemory memory;
  auto const *const lengths = (const uint8_t *)&made->plan.books;
  for (uint32_t i = threadIdx.x; i < sizeof memory.books; i += TablesPolicy::kThreads)
    ((uint8_t *)&memory.books)[i] = lengths[i];
  for (uint32_t i = threadIdx.x; i < kFrontWords; i += TablesPolicy::kThreads) memory.words[i] = 0;
  __syncthreads(); /* lengths are there, and the front begins with zeros */
  uint32_t const mode = made->plan.mode;
  uint32_t const front_bytes = make_front(mode, made->plan.lane_groups_log2, unit, &memory);
  for (uint32_t i = threadIdx.x; i < kFrontWords; i += TablesPolicy::kThreads)
    made->front[i] = memory.words[i];
  if (threadIdx.x == 0) {
    made->encoder.mode = mode;
    made->front_bytes = front_bytes;
  }
}

/* Grid: parts x stages. */
__global__ void __launch_bounds__(TablesPolicy::kThreads)
    tokens_tables_kernel(const __grid_constant__ BooksJob job) {
  uint32_t const part = blockIdx.x, stage = blockIdx.y;
  if (part < SZG_TOKENS_BOOKS)
    make_entries(part, &job.books[stage]);
  else
    make_whole_front(job.stages[stage].unit, &job.books[stage]);
}

} // namespace
} // namespace szg

#endif
