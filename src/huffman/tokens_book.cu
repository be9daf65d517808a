/* tokens_book.cu - chooses how to write the codes of a level, and makes its books, on the GPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   tallies --lengths kernel: a block for each book--> plans --tables kernel--> entries, fronts
 *
 * All blocks of a stage find its costs and its mode, which takes less time than to wait for one of
 * them; then each makes one of the mode's books, in the steps of tokens.c and codebook.c.
 *
 * Memory traffic: each block reads 10 KB and writes 2 KB. Only the time of a block matters.
 */
#include "core/cuda_check.cuh"
#include "huffman/small_lengths.cuh"
#include "huffman/tokens_cuda.h"
#include "huffman/tokens_tables.cuh"

namespace szg {
namespace {

/* Tables of counts: those of the books, and values after pairs. */
constexpr uint32_t kPairValues = SZG_TOKENS_BOOKS, kTables = kPairValues + 1;
constexpr uint32_t kStripes = SmallBookPolicy::kStripes;
constexpr uint32_t kWarps = SmallBookPolicy::kThreads / 32;
constexpr uint32_t kTallyWords = sizeof(szg_tokens_tally) / sizeof(uint64_t);

/* Of counts, without that of zeros. */
struct CountSums {
  uint64_t total, logs, most;
};

struct TokensBookMemory {
  szg_tokens_tally tally;
  CountSums sums[kTables][kStripes]; /* of 32 symbols each */
  uint64_t costs[SZG_LEVELS_MODES][SZG_TOKENS_BOOKS];
  uint32_t mode, lane_groups_log2;
  union {
    SmallBookMemory<uint32_t> small;
    SmallBookMemory<uint64_t> large;
  } merge;
  uint8_t lengths[SmallBookPolicy::kSymbols];
};

/* ---- choice ---- */

__device__ __forceinline__ uint32_t table_of(uint32_t mode, uint32_t book) {
  return book == SZG_TOKENS_VALUES && mode == SZG_LEVELS_MODE_PAIRS ? kPairValues : book;
}
/* A mode and a book that have the table. */
__device__ __forceinline__ uint32_t mode_of_table(uint32_t table) {
  return table == kPairValues || table == SZG_TOKENS_PAIRS ? SZG_LEVELS_MODE_PAIRS
                                                           : SZG_LEVELS_MODE_MASKS;
}
__device__ __forceinline__ uint32_t book_of_table(uint32_t table) {
  return table == kPairValues ? (uint32_t)SZG_TOKENS_VALUES : table;
}

__device__ bool has_book(uint32_t mode, uint32_t book) {
  bool has = false;
  for (uint32_t i = 0; i < szg_tokens_book_count(mode); i++)
    has = has || szg_tokens_book_of(mode, i) == book;
  return has;
}

/* Sums the tables' counts, stripe by stripe. The whole block calls. */
__device__ void sum_tables(TokensBookMemory *memory) {
  uint32_t const lane = threadIdx.x % 32;
  for (uint32_t i = threadIdx.x / 32; i < kTables * kStripes; i += kWarps) {
    uint32_t const table = i / kStripes, stripe = i % kStripes, s = stripe * 32 + lane;
    uint32_t const book = book_of_table(table);
    szg_tokens_book_kind const kind = szg_tokens_book_kind_of(book);
    bool const is_counted = s < kind.symbol_count && s != kind.zero;
    uint64_t const count =
        is_counted ? szg_tokens_counted(&memory->tally, mode_of_table(table), book)[s] : 0;
    uint64_t const total = warp_sum(count), most = warp_most(count);
    uint64_t const logs = total > 0 ? warp_sum(szg_count_log(count)) : 0;
    if (lane == 0) memory->sums[table][stripe] = {total, logs, most};
  }
  __syncthreads(); /* sums are there */
}

/* The sums of a table. */
__device__ CountSums sums_of(uint32_t table, const TokensBookMemory &memory) {
  CountSums sums = {0, 0, 0};
  for (uint32_t stripe = 0; stripe < kStripes; stripe++) {
    CountSums const own = memory.sums[table][stripe];
    sums.total += own.total;
    sums.logs += own.logs;
    sums.most = own.most > sums.most ? own.most : sums.most;
  }
  return sums;
}

/* The count of zeros in lanes of 2^g groups. total: of the other counts. */
__device__ uint64_t count_zeros(const szg_tokens_tally &tally, uint32_t g, uint32_t mode,
                                uint32_t book, uint64_t total) {
  szg_tokens_book_kind const kind = szg_tokens_book_kind_of(book);
  if (kind.zero >= kind.symbol_count) return 0;
  uint64_t const counted = szg_tokens_counted(&tally, mode, book)[kind.zero];
  return szg_tokens_has_zero(mode, book) ? szg_tokens_zero_count(&tally, g, book, total + counted)
                                         : counted;
}

/* What a book costs, as in szg_tokens_cost. */
__device__ uint64_t book_cost(uint32_t g, uint32_t mode, uint32_t book,
                              const TokensBookMemory &memory) {
  CountSums sums = sums_of(table_of(mode, book), memory);
  uint64_t const zeros = count_zeros(memory.tally, g, mode, book, sums.total);
  sums.total += zeros;
  sums.logs += szg_count_log(zeros);
  sums.most = zeros > sums.most ? zeros : sums.most;
  return sums.total > 0 ? szg_huffman_cost(sums.total, sums.logs, sums.most) : 0;
}

/* Finds the costs of all books of all modes, one for each warp. The whole block calls. */
__device__ void find_costs(uint32_t g, TokensBookMemory *memory) {
  uint32_t number = 0; /* of the book, of all modes' */
  for (uint32_t mode = SZG_LEVELS_MODE_PLAIN; mode < SZG_LEVELS_MODES; mode++)
    for (uint32_t i = 0; i < szg_tokens_book_count(mode); i++, number++)
      if (threadIdx.x == 32 * number)
        memory->costs[mode][i] = book_cost(g, mode, szg_tokens_book_of(mode, i), *memory);
  static_assert(kWarps >= 6, "there are six");
  __syncthreads(); /* costs are known */
}

/* Chooses as szg_tokens_choose does. One thread calls. */
__device__ void choose_plan(uint32_t group_count, uint32_t lane_bits, TokensBookMemory *memory) {
  const szg_tokens_tally &tally = memory->tally;
  uint32_t const g = szg_tokens_least_lane_groups_log2(group_count);
  uint64_t const lane_count = tally.live_lanes[g];
  uint64_t costs[SZG_LEVELS_MODES] = {0};
  for (uint32_t mode = SZG_LEVELS_MODE_PLAIN; mode < SZG_LEVELS_MODES; mode++) {
    uint64_t const raw_bits = mode == SZG_LEVELS_MODE_PAIRS ? tally.pair_raw_bits : tally.raw_bits;
    costs[mode] = raw_bits << SZG_LOG_FRACTION_BITS;
    for (uint32_t i = 0; i < szg_tokens_book_count(mode); i++)
      costs[mode] += memory->costs[mode][i];
  }
  uint32_t const mode = szg_tokens_choose_mode(costs, lane_count);
  memory->mode = mode;
  memory->lane_groups_log2 =
      szg_tokens_choose_lanes(group_count, lane_bits, costs[mode], lane_count);
}

/* ---- lengths ---- */

/* The count that a book is made for, of symbol threadIdx.x. sum: gets that of all counts, nearly.
 * The whole block calls. */
__device__ uint64_t find_count(uint32_t book, bool is_whole, const TokensBookMemory &memory,
                               uint64_t *sum) {
  szg_tokens_book_kind const kind = szg_tokens_book_kind_of(book);
  uint32_t const mode = memory.mode, s = threadIdx.x;
  uint64_t const total = sums_of(table_of(mode, book), memory).total;
  uint64_t const zeros = count_zeros(memory.tally, memory.lane_groups_log2, mode, book, total);
  uint64_t count = 0;
  if (s < kind.symbol_count)
    count = s == kind.zero ? zeros : szg_tokens_counted(&memory.tally, mode, book)[s];
  auto const once = (uint64_t)__syncthreads_count(count == 1) + 1;
  if (s == kind.escape && !is_whole && count < once) count = once;
  *sum = total + zeros + once; /* or less, if the escape has its own count */
  return count;
}

__device__ void make_book(uint32_t book, bool is_whole, TokensBookMemory *memory) {
  uint64_t sum;
  uint64_t const count = find_count(book, is_whole, *memory, &sum);
  if (sum < kSmallCounts)
    find_lengths(count, &memory->merge.small, memory->lengths);
  else
    find_lengths(count, &memory->merge.large, memory->lengths);
}

/* ---- kernel ---- */

/* Grid: books x stages. */
__global__ void __launch_bounds__(SmallBookPolicy::kThreads)
    tokens_lengths_kernel(const __grid_constant__ BooksJob job) {
  __shared__ TokensBookMemory memory;
  uint32_t const book = blockIdx.x, stage = blockIdx.y, s = threadIdx.x;
  szg_tokens_book_facts const facts = job.stages[stage];
  auto const *const numbers = reinterpret_cast<const uint64_t *>(&job.tallies[stage]);
  for (uint32_t i = s; i < kTallyWords; i += SmallBookPolicy::kThreads)
    reinterpret_cast<uint64_t *>(&memory.tally)[i] = numbers[i];
  __syncthreads(); /* the tally is there */
  sum_tables(&memory);
  find_costs(szg_tokens_least_lane_groups_log2(facts.group_count), &memory);
  if (s == 0) choose_plan(facts.group_count, facts.lane_bits, &memory);
  __syncthreads(); /* the plan is known */
  bool const is_needed = has_book(memory.mode, book);
  if (is_needed) make_book(book, facts.is_whole, &memory);
  szg_tokens_plan *const plan = &job.books[stage].plan;
  szg_tokens_book_kind const kind = szg_tokens_book_kind_of(book);
  uint8_t *const lengths = (uint8_t *)&plan->books + kind.lengths_at;
  if (s < kind.symbol_count) lengths[s] = is_needed ? memory.lengths[s] : 0;
  if (book == 0 && s == 0) {
    plan->mode = memory.mode;
    plan->lane_groups_log2 = memory.lane_groups_log2;
  }
}

} // namespace
} // namespace szg

szgpu_status szg_tokens_books_make_cuda(const szg_tokens_book_facts *facts, uint32_t stage_count,
                                        const szg_tokens_tally *tallies,
                                        szg_tokens_book_cuda *books, struct CUstream_st *stream) {
  szg::BooksJob job;
  for (uint32_t i = 0; i < stage_count; i++) job.stages[i] = facts[i];
  job.tallies = tallies;
  job.books = books;
  dim3 const lengths(SZG_TOKENS_BOOKS, stage_count), tables(szg::kTableParts, stage_count);
  szg::tokens_lengths_kernel<<<lengths, szg::SmallBookPolicy::kThreads, 0, stream>>>(job);
  SZG_TRY_LAUNCH();
  szg::tokens_tables_kernel<<<tables, szg::TablesPolicy::kThreads, 0, stream>>>(job);
  return szg_launched();
}
