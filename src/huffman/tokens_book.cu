/* tokens_book.cu - chooses how to write the codes of a level, and makes its books, on the GPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One block for each level does it all, in the steps of tokens.c and codebook.c: a warp adds up
 * each cost, then there is a thread for each symbol. Package-merge merges lists by rank: an item's
 * place is its place in its own list plus the number of items of the other list that come before
 * it.
 *
 * Memory traffic: each block reads 10 KB and writes 7 KB. Only the time of a block matters.
 */
#include <cub/block/block_scan.cuh>

#include "core/cuda_check.cuh"
#include "core/warp.cuh"
#include "huffman/tokens_codes.cuh"
#include "huffman/tokens_cuda.h"

namespace szg {
namespace {

struct BookPolicy {
  static constexpr uint32_t kThreads = TokensCodesPolicy::kThreads;
  static constexpr uint32_t kWarps = kThreads / 32;
};

constexpr uint32_t kMostSymbols = SZG_TOKENS_MOST_SYMBOLS;
constexpr uint32_t kLists = SZG_LEVELS_CODE_BITS;
constexpr uint32_t kFrontWords = SZG_TOKENS_FRONT_MOST_BYTES / 4;
constexpr uint32_t kHeadUnits = 2 * SZG_TOKENS_HEAD_BYTES;
constexpr uint32_t kStripes = (kMostSymbols + 31) / 32;
static_assert(kMostSymbols <= SZG_TOKENS_LONGEST_MANY, "a run of symbols without codes is one");

typedef cub::BlockScan<uint32_t, BookPolicy::kThreads> UnitScan;

struct MergeMemory {
  uint64_t leaves[kMostSymbols]; /* ascending */
  uint16_t symbols[kMostSymbols];
  uint64_t items[2][2 * kMostSymbols]; /* the list before and the current one */
};

struct BookMemory {
  szg_tokens_tally tally;
  szg_tokens_plan plan;
  uint64_t costs[SZG_LEVELS_MODES][SZG_TOKENS_BOOKS];
  uint64_t counts[kMostSymbols]; /* of the book at hand */
  uint64_t counted;              /* their sum, zeros left out */
  MergeMemory merge;
  TokensCodes codes;
  uint32_t entries[kMostSymbols]; /* of the book at hand */
  uint32_t occurring[kStripes];   /* a bit for each symbol that has a code */
  UnitScan::TempStorage scan;
  uint32_t front[kFrontWords];
};

struct BooksJob {
  szg_tokens_book_facts stages[SZG_TOKENS_MOST_STAGES];
  const szg_tokens_tally *tallies;
  szg_tokens_book_cuda *books;
};

__device__ uint64_t warp_most(uint64_t value) {
  for (int step = 16; step > 0; step /= 2) {
    uint64_t const other = __shfl_xor_sync(kAllLanes, value, step);
    value = other > value ? other : value;
  }
  return value;
}

/* ---- choice ---- */

/* What a book costs, as in szg_tokens_cost. The whole warp calls. */
__device__ uint64_t book_cost(const szg_tokens_tally &tally, uint32_t g, uint32_t mode,
                              uint32_t book) {
  szg_tokens_book_kind const kind = szg_tokens_book_kind_of(book);
  const uint64_t *const counted = szg_tokens_counted(&tally, mode, book);
  uint64_t sum = 0;
  for (uint32_t s = threadIdx.x % 32; s < kind.symbol_count; s += 32) sum += counted[s];
  sum = warp_sum(sum);
  bool const has_zero = szg_tokens_has_zero(mode, book);
  uint64_t const zeros = has_zero ? szg_tokens_zero_count(&tally, g, book, sum) : 0;
  uint64_t total = 0, logs = 0, most = 0;
  for (uint32_t s = threadIdx.x % 32; s < kind.symbol_count; s += 32) {
    uint64_t const count = has_zero && s == kind.zero ? zeros : counted[s];
    total += count;
    logs += szg_count_log(count);
    most = count > most ? count : most;
  }
  total = warp_sum(total);
  logs = warp_sum(logs);
  most = warp_most(most);
  return total > 0 ? szg_huffman_cost(total, logs, most) : 0;
}

/* Finds the costs of all books of all modes. The whole block calls. */
__device__ void find_costs(uint32_t g, BookMemory *memory) {
  uint32_t number = 0; /* of the book, of all modes' */
  for (uint32_t mode = SZG_LEVELS_MODE_PLAIN; mode < SZG_LEVELS_MODES; mode++)
    for (uint32_t i = 0; i < szg_tokens_book_count(mode); i++, number++) {
      if (number % BookPolicy::kWarps != threadIdx.x / 32) continue;
      uint64_t const cost = book_cost(memory->tally, g, mode, szg_tokens_book_of(mode, i));
      if (threadIdx.x % 32 == 0) memory->costs[mode][i] = cost;
    }
  __syncthreads(); /* costs are known */
}

/* Chooses as szg_tokens_choose does. One thread calls. */
__device__ void choose_plan(uint32_t group_count, uint64_t tile_count, BookMemory *memory) {
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
  memory->plan.mode = mode;
  memory->plan.lane_groups_log2 =
      szg_tokens_choose_lanes(group_count, tile_count, costs[mode], lane_count);
}

/* ---- lengths ---- */

/* Finds the counts that a book is made for. The whole block calls. */
__device__ void find_counts(uint32_t book, bool is_whole, BookMemory *memory) {
  szg_tokens_book_kind const kind = szg_tokens_book_kind_of(book);
  uint32_t const mode = memory->plan.mode, s = threadIdx.x;
  const uint64_t *const counted = szg_tokens_counted(&memory->tally, mode, book);
  uint64_t const own = s < kind.symbol_count ? counted[s] : 0;
  if (s == 0) memory->counted = 0;
  __syncthreads(); /* the sum begins at 0 */
  uint64_t const sum = warp_sum(own);
  if (s % 32 == 0) atomicAdd((unsigned long long *)&memory->counted, (unsigned long long)sum);
  if (s < kind.symbol_count) memory->counts[s] = own;
  __syncthreads(); /* counts are there, and their sum */
  if (s == 0) {
    uint64_t *const counts = memory->counts;
    if (szg_tokens_has_zero(mode, book))
      counts[kind.zero] = szg_tokens_zero_count(&memory->tally, memory->plan.lane_groups_log2, book,
                                                memory->counted);
  }
  __syncthreads(); /* zeros are counted */
  bool const is_once = s < kind.symbol_count && memory->counts[s] == 1;
  auto const once = (uint64_t)__syncthreads_count(is_once) + 1;
  if (s == kind.escape && !is_whole && memory->counts[s] < once) memory->counts[s] = once;
  __syncthreads(); /* counts are final */
}

/* Sorts the symbols that occur by (count, symbol). Returns how many. The whole block calls. */
__device__ uint32_t sort_leaves(uint32_t symbol_count, BookMemory *memory) {
  uint32_t const s = threadIdx.x;
  const uint64_t *const counts = memory->counts;
  uint64_t const own = s < symbol_count ? counts[s] : 0;
  uint32_t const leaf_count = (uint32_t)__syncthreads_count(own > 0);
  if (own > 0) {
    uint32_t rank = 0;
    for (uint32_t other = 0; other < symbol_count; other++) {
      uint64_t const count = counts[other];
      rank += count > 0 && (count < own || (count == own && other < s));
    }
    memory->merge.leaves[rank] = own;
    memory->merge.symbols[rank] = (uint16_t)s;
  }
  __syncthreads(); /* leaves are in order */
  return leaf_count;
}

/* How many of `count` ascending weights come before this one; those that are equal, too, if
 * is_behind_equal. */
template <class WeightAt>
__device__ uint32_t weights_before(uint32_t count, uint64_t weight, bool is_behind_equal,
                                   WeightAt weight_at) {
  uint32_t first = 0, end = count;
  while (first < end) {
    uint32_t const middle = (first + end) / 2;
    uint64_t const other = weight_at(middle);
    if (other < weight || (is_behind_equal && other == weight))
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

/* Makes a list of the leaves and of the packages of the list before; returns the place of this
 * thread's leaf. Leaves come before packages of equal weight. */
__device__ uint32_t merge_list(uint32_t list, uint32_t leaf_count, uint32_t package_count,
                               MergeMemory *memory) {
  uint32_t const j = threadIdx.x;
  const uint64_t *const from = memory->items[(list + 1) % 2], *const leaves = memory->leaves;
  uint64_t *const to = memory->items[list % 2];
  auto const package_at = [=](uint32_t i) { return from[2 * i] + from[2 * i + 1]; };
  uint32_t place = 0;
  if (j < leaf_count) {
    place = j + weights_before(package_count, leaves[j], false, package_at);
    to[place] = leaves[j];
  }
  if (j < package_count) {
    uint64_t const weight = package_at(j);
    to[j + weights_before(leaf_count, weight, true, [=](uint32_t i) { return leaves[i]; })] =
        weight;
  }
  return place;
}

/* Finds optimal lengths for memory->counts. lengths: zeros. The whole block calls. */
__device__ void find_lengths(uint32_t symbol_count, BookMemory *memory, uint8_t *lengths) {
  uint32_t const leaf_count = sort_leaves(symbol_count, memory), j = threadIdx.x;
  if (leaf_count < 2) {
    if (j < leaf_count) lengths[memory->merge.symbols[j]] = 1;
    __syncthreads(); /* lengths are complete */
    return;
  }
  uint32_t places[kLists], item_count = 0;
#pragma unroll
  for (uint32_t list = 0; list < kLists; list++) {
    places[list] = merge_list(list, leaf_count, item_count / 2, &memory->merge);
    item_count = leaf_count + item_count / 2;
    __syncthreads(); /* the list is complete, and nobody reads the one before */
  }
  /* The first 2 n - 2 items of the last list are taken, and all that their packages hold. */
  uint32_t taken = 2 * leaf_count - 2, length = 0;
#pragma unroll
  for (uint32_t i = 0; i < kLists; i++) {
    bool const is_taken = j < leaf_count && places[kLists - 1 - i] < taken;
    length += is_taken;
    taken = 2 * (taken - (uint32_t)__syncthreads_count(is_taken));
  }
  if (j < leaf_count) lengths[memory->merge.symbols[j]] = (uint8_t)length;
  __syncthreads(); /* lengths are complete */
}

__device__ uint8_t *lengths_of(uint32_t book, BookMemory *memory) {
  return (uint8_t *)&memory->plan.books + szg_tokens_book_kind_of(book).lengths_at;
}

/* ---- the encoder's tables ---- */

/* Makes memory->entries of a book. The whole block calls. */
__device__ void find_entries(uint32_t book, BookMemory *memory) {
  uint32_t const symbol_count = szg_tokens_book_kind_of(book).symbol_count, s = threadIdx.x;
  const uint8_t *const lengths = lengths_of(book, memory);
  lay_out_token_codes(lengths, symbol_count, &memory->codes);
  if (s < symbol_count) {
    uint32_t const length = lengths[s];
    uint32_t const code =
        length ? memory->codes.first_codes[length] + rank_of_token(lengths, s) : 0;
    memory->entries[s] = length ? code << (32 - length) | length : 0;
  }
  __syncthreads(); /* entries are complete */
}

/* Writes entries as szg_tokens_encoder_build does. The whole block calls. */
__device__ void write_entries(uint32_t book, const BookMemory &memory,
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
__device__ void put_unit(uint32_t unit, uint32_t at, BookMemory *memory) {
  atomicOr(&memory->front[at / 8], unit << (at % 8 / 2 * 8 + (at % 2 ? 0 : 4)));
}

/* Symbols from this one on that have no code, up to the next that has. Only if there is one. */
__device__ uint32_t run_from(uint32_t s, const BookMemory &memory) {
  uint32_t stripe = s / 32;
  uint32_t bits = memory.occurring[stripe] & ~lanes_below(s % 32);
  while (bits == 0) bits = memory.occurring[++stripe];
  return stripe * 32 + (uint32_t)__ffs((int)bits) - 1 - s;
}

/* Puts a book's units from `at` on; returns where they end. The whole block calls. */
__device__ uint32_t put_book(uint32_t book, uint32_t at, BookMemory *memory) {
  uint32_t const symbol_count = szg_tokens_book_kind_of(book).symbol_count, s = threadIdx.x;
  const uint8_t *const lengths = lengths_of(book, memory);
  uint32_t const length = s < symbol_count ? lengths[s] : 0;
  uint32_t const stripe = __ballot_sync(kAllLanes, length > 0);
  if (s % 32 == 0) memory->occurring[s / 32] = stripe;
  __syncthreads();  /* it is known which symbols have codes */
  uint32_t end = 0; /* behind the last symbol with a code */
  for (uint32_t i = 0; i < kStripes; i++)
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
__device__ uint32_t make_front(uint32_t unit, BookMemory *memory) {
  uint32_t const mode = memory->plan.mode;
  uint32_t at = kHeadUnits;
  for (uint32_t i = 0; i < szg_tokens_book_count(mode); i++)
    at = put_book(szg_tokens_book_of(mode, i), at, memory);
  uint32_t const front_bytes = (at + 7) / 8 * 4;
  if (threadIdx.x == 0) {
    memory->front[0] = mode | memory->plan.lane_groups_log2 << 8;
    memory->front[1] = unit;
    memory->front[2] = front_bytes - SZG_TOKENS_HEAD_BYTES;
  }
  __syncthreads(); /* the front is complete */
  return front_bytes;
}

/* ---- kernel ---- */

template <class T>
__device__ void copy_words(const T &from, T *to) {
  static_assert(sizeof(T) % 4 == 0, "whole words");
  auto const *const words = reinterpret_cast<const uint32_t *>(&from);
  for (uint32_t i = threadIdx.x; i < sizeof(T) / 4; i += BookPolicy::kThreads)
    reinterpret_cast<uint32_t *>(to)[i] = words[i];
}

template <class T>
__device__ void clear_words(T *to) {
  static_assert(sizeof(T) % 4 == 0, "whole words");
  for (uint32_t i = threadIdx.x; i < sizeof(T) / 4; i += BookPolicy::kThreads)
    reinterpret_cast<uint32_t *>(to)[i] = 0;
}

__global__ void __launch_bounds__(BookPolicy::kThreads)
    tokens_book_kernel(const __grid_constant__ BooksJob job) {
  __shared__ BookMemory memory;
  szg_tokens_book_facts const facts = job.stages[blockIdx.x];
  szg_tokens_book_cuda *const made = &job.books[blockIdx.x];
  copy_words(job.tallies[blockIdx.x], &memory.tally);
  clear_words(&memory.plan);
  clear_words(&memory.front);
  __syncthreads(); /* the tally is there */
  find_costs(szg_tokens_least_lane_groups_log2(facts.group_count), &memory);
  if (threadIdx.x == 0) choose_plan(facts.group_count, facts.tile_count, &memory);
  __syncthreads(); /* the plan is known */
  for (uint32_t i = 0; i < szg_tokens_book_count(memory.plan.mode); i++) {
    uint32_t const book = szg_tokens_book_of(memory.plan.mode, i);
    find_counts(book, facts.is_whole, &memory);
    find_lengths(szg_tokens_book_kind_of(book).symbol_count, &memory, lengths_of(book, &memory));
  }
  for (uint32_t book = 0; book < SZG_TOKENS_BOOKS; book++) {
    find_entries(book, &memory);
    write_entries(book, memory, &made->encoder);
    __syncthreads(); /* entries are no longer needed */
  }
  uint32_t const front_bytes = make_front(facts.unit, &memory);
  copy_words(memory.plan, &made->plan);
  copy_words(memory.front, &made->front);
  if (threadIdx.x == 0) {
    made->encoder.mode = memory.plan.mode;
    made->front_bytes = front_bytes;
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
  szg::tokens_book_kernel<<<stage_count, szg::BookPolicy::kThreads, 0, stream>>>(job);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}
