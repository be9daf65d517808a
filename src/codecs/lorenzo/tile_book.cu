/* tile_book.cu - the codebook of a tile frame, counted and built on the GPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   tally    one block per counted tile: values to deltas to counts
 *   book     one block: zero groups, lengths, codes, the section, the encoder's table
 *
 * The block that finishes last could make the book and save a launch. But then all blocks would
 * need its memory and registers, which slows counting by more than a launch.
 *
 * Memory traffic: the first kernel reads at most 1024 tiles of 16 or 32 KB. The rest is small, and
 * only the time of its one block matters.
 */
#include "codecs/lorenzo/tile_cuda.h"

#include <cub/block/block_reduce.cuh>

#include "codecs/lorenzo/tile_book_core.h"
#include "codecs/lorenzo/tile_codes.cuh"
#include "codecs/lorenzo/tile_decoder.cuh"
#include "codecs/lorenzo/tile_lengths.cuh"
#include "codecs/lorenzo/tile_tally.cuh"
#include "core/cuda_check.cuh"
#include "core/operators.cuh"

namespace szg {
namespace {

struct TileBookPolicy {
  static constexpr uint32_t kThreads = LengthsPolicy::kThreads;
};

static_assert(kMostBytes <= SZG_TILE_BOOK_BYTES && SZG_TILE_BOOK_BYTES % 4 == 0, "a section fits");
static_assert(offsetof(szg_tile_book_cuda, section) % 16 == 0, "sections are aligned");

/* ---- the book ---- */

typedef cub::BlockReduce<szg_count_sums, TileBookPolicy::kThreads> SumsReduce;

struct TileBookMemory {
  LengthsMemory lengths_work;
  szg_tile_tally tally;
  uint8_t lengths[SZG_TILE_SYMBOLS];
  union {
    SumsReduce::TempStorage reduce;
    TileCodes codes_work;
  };
  szg_count_sums others; /* all counts but delta 0's */
  uint64_t costs[SZG_ZERO_GROUPS_COUNT];
  uint32_t first, end; /* symbols that the section's runs cover */
  uint16_t codes[SZG_TILE_SYMBOLS];
  alignas(4) uint8_t section[SZG_TILE_BOOK_BYTES]; /* copied by words */
};

/* Chooses as szg_choose_zero_groups does; also sets `others`. The whole block calls. */
__device__ uint32_t choose_zero_groups(TileBookMemory *memory) {
  szg_tile_tally const &tally = memory->tally;
  szg_count_sums sums = {};
  for (uint32_t s = threadIdx.x; s < SZG_TILE_SYMBOLS; s += TileBookPolicy::kThreads)
    if (s != SZG_TILE_ZERO) szg_sums_add(&sums, tally.counts[s]);
  sums = SumsReduce(memory->reduce).Reduce(sums, MergeCounts());
  if (threadIdx.x == 0) memory->others = sums;
  __syncthreads(); /* sums known */
  uint32_t const v = threadIdx.x;
  if (v < SZG_ZERO_GROUPS_COUNT)
    memory->costs[v] = szg_zero_groups_cost(&memory->others, tally.zeros[v], tally.group_bits[v]);
  __syncthreads(); /* costs known */
  return szg_cheapest_zero_groups(memory->costs);
}

/* Moves the counts of rare direct symbols to their classes. */
__device__ void move_rare_deltas(uint64_t total, uint32_t *counts) {
  for (uint32_t s = first_of_share(); s < end_of_share(); s++) {
    if (s == SZG_TILE_ZERO || !szg_is_direct_symbol(s)) continue; /* others change classes now */
    uint32_t const count = counts[s];
    if (count == 0 || szg_is_delta_kept(count, total)) continue;
    atomicAdd(&counts[szg_rarer_symbol(s)], count);
    counts[s] = 0;
  }
}

/* Moves the counts of rare classes to the escape. The whole warp calls. */
__device__ void move_rare_classes(uint64_t total, uint32_t *counts) {
  uint32_t moved = 0;
  for (uint32_t s = first_of_share(); s < end_of_share(); s++) {
    if (s == SZG_ESCAPE_SYMBOL || szg_is_direct_symbol(s) || szg_is_class_kept(counts[s], total))
      continue;
    moved += counts[s];
    counts[s] = 0;
  }
  moved = warp_sum(moved);
  if (threadIdx.x % 32 == 0 && moved > 0) atomicAdd(&counts[SZG_ESCAPE_SYMBOL], moved);
}

/* Makes counts those that the book codes. The whole block calls. */
__device__ void settle_counts(uint32_t zero_groups, TileBookMemory *memory) {
  uint32_t *const counts = memory->tally.counts;
  uint32_t const zeros = memory->tally.zeros[zero_groups];
  uint64_t const total = memory->others.total + zeros;
  move_rare_deltas(total, counts);
  __syncthreads(); /* classes have what they take */
  move_rare_classes(total, counts);
  __syncthreads(); /* and the escape */
  if (threadIdx.x == 0) {
    counts[SZG_TILE_ZERO] = max(zeros, 1u);
    counts[SZG_ESCAPE_SYMBOL] = max(counts[SZG_ESCAPE_SYMBOL], 1u);
  }
  __syncthreads(); /* counts final */
}

/* Lengths to codes. The whole block calls. */
__device__ void assign_codes(TileBookMemory *memory) {
  uint16_t *const codes = memory->codes;
  memory->codes_work.find<TileBookPolicy::kThreads>([=](uint32_t s) { return memory->lengths[s]; });
  rank_symbols<TileBookPolicy::kThreads>(
      memory->lengths, &memory->codes_work, [=](uint32_t s, uint32_t length, uint32_t rank) {
        codes[s] = (uint16_t)(memory->codes_work.layout.first_code(length) + rank);
      });
  __syncthreads(); /* codes and mask known */
  for (uint32_t s = first_of_share(); s < end_of_share(); s++) {
    uint32_t const length = memory->lengths[s];
    codes[s] = length
                   ? codes[s] ^ (uint16_t)(memory->codes_work.mask >> (SZG_TILE_CODE_BITS - length))
                   : (uint16_t)0;
  }
  __syncthreads(); /* codes final */
}

/* Finds the first and the last symbol with a code, the escape excepted. The whole block calls, and
 * synchronizes before it reads the result. */
__device__ void find_covered(TileBookMemory *memory) {
  uint32_t const lane = threadIdx.x % 32;
  for (uint32_t strip = threadIdx.x / 32; strip < kStrips; strip += LengthsPolicy::kWarps) {
    uint32_t const s = strip * 32 + lane;
    uint32_t const found =
        __ballot_sync(kAllLanes, s != SZG_ESCAPE_SYMBOL && memory->lengths[s] > 0);
    if (lane == 0 && found != 0) {
      atomicMin(&memory->first, strip * 32 + (uint32_t)__ffs((int)found) - 1);
      atomicMax(&memory->end, strip * 32 + 32 - (uint32_t)__clz((int)found));
    }
  }
}

/* Builds the table that szg_tile_encoder_build does. */
__device__ void write_encoder(const TileBookMemory &memory, szg_tile_encoder *encoder) {
  for (uint32_t i = threadIdx.x; i < 2 * SZG_TILE_DIRECT; i += TileBookPolicy::kThreads)
    encoder->direct[i] =
        i ? szg_direct_entry(memory.lengths, memory.codes, (int32_t)i - SZG_TILE_DIRECT) : 0;
  for (uint32_t i = threadIdx.x; i < 2 * SZG_TILE_CLASSES; i += TileBookPolicy::kThreads) {
    uint32_t const symbol = szg_class_symbol(i % SZG_TILE_CLASSES, i >= SZG_TILE_CLASSES);
    encoder->classes[i] = szg_class_entry(memory.lengths, memory.codes, symbol);
  }
  if (threadIdx.x == 0)
    encoder->escape = szg_class_entry(memory.lengths, memory.codes, SZG_ESCAPE_SYMBOL);
}

/* Writes the section that szg_codebook_write does, into zeros; delta 0 has a code. A run begins at
 * each length that differs from the one before, and after as many symbols as the longest run has.
 * Returns the section's bytes. The whole block calls. */
__device__ uint32_t write_section(TileBookMemory *memory) {
  const uint8_t *const lengths = memory->lengths;
  uint32_t const first = memory->first, end = memory->end;
  uint32_t own_start = 0, start = 0;
  for (uint32_t s = first_of_share(); s < end_of_share(); s++)
    if (s == first || (s > first && lengths[s] != lengths[s - 1])) own_start = s;
  BookScan(memory->lengths_work.scan).ExclusiveScan(own_start, start, 0u, Greater());
  uint32_t run_count = 0, place = 0, all_runs = 0;
  uint32_t is_run = 0; /* one bit per symbol */
  for (uint32_t s = first_of_share(); s < end_of_share(); s++) {
    if (s == first || (s > first && lengths[s] != lengths[s - 1])) start = s;
    bool const begins = s >= first && s < end && (s - start) % SZG_BOOK_LONGEST_RUN == 0;
    is_run |= (uint32_t)begins << (s - first_of_share());
    run_count += begins;
  }
  __syncthreads(); /* the scan's memory is free */
  BookScan(memory->lengths_work.scan).ExclusiveSum(run_count, place, all_runs);
  for (uint32_t s = first_of_share(); s < end_of_share(); s++) {
    if (!(is_run >> (s - first_of_share()) & 1)) continue;
    uint32_t run = 1;
    while (run < SZG_BOOK_LONGEST_RUN && s + run < end && lengths[s + run] == lengths[s]) run++;
    memory->section[SZG_BOOK_HEAD_BYTES + place++] =
        (uint8_t)((run - 1) << SZG_BOOK_LENGTH_BITS | lengths[s]);
  }
  if (threadIdx.x == 0) {
    memory->section[0] = lengths[SZG_ESCAPE_SYMBOL];
    memory->section[2] = (uint8_t)first;
    memory->section[3] = (uint8_t)(first >> 8);
    memory->section[4] = (uint8_t)(end - first);
    memory->section[5] = (uint8_t)((end - first) >> 8);
  }
  __syncthreads(); /* bytes complete */
  return SZG_BOOK_HEAD_BYTES + all_runs;
}

/* Loads the tally and sets up the state of a new book. The whole block calls. */
__device__ void begin_book(const szg_tile_tally *tally_sums, TileBookMemory *memory) {
  uint32_t const *const counted = reinterpret_cast<const uint32_t *>(tally_sums);
  uint32_t *const tally = reinterpret_cast<uint32_t *>(&memory->tally);
  for (uint32_t i = threadIdx.x; i < kTallyWords; i += TileBookPolicy::kThreads)
    tally[i] = counted[i];
  uint32_t *const section = reinterpret_cast<uint32_t *>(memory->section);
  for (uint32_t i = threadIdx.x; i < SZG_TILE_BOOK_BYTES / 4; i += TileBookPolicy::kThreads)
    section[i] = 0;
  for (uint32_t s = first_of_share(); s < end_of_share(); s++) memory->lengths[s] = 0;
  if (threadIdx.x == 0) {
    memory->first = SZG_TILE_SYMBOLS;
    memory->end = 0;
  }
  __syncthreads(); /* the tally is here */
}

/* ---- kernels ---- */

/* Counts tile blockIdx.x of those that are counted. */
template <class A, int kDims>
__device__ __forceinline__ void tally_tile(const szg_quantizer &quantizer, uint32_t lattice_bits,
                                           const szg_grid &grid, uint32_t counted_tiles,
                                           const typename A::Value *frame_values,
                                           const uint32_t *axes, szg_tile_tally *tally) {
  __shared__ TallyMemory<A> memory;
  szg_tile const tile =
      szg_tile_at(&grid, szg_sample_tile(grid.tile_count, counted_tiles, blockIdx.x));
  count_tile<A, kDims>(quantizer, tile, lattice_bits, frame_values, *axes, &memory);
  __syncthreads(); /* the tile is counted */
  uint32_t *const sums = reinterpret_cast<uint32_t *>(tally);
  for (uint32_t i = threadIdx.x; i < kTallyWords; i += TallyPolicy::kThreads)
    if (memory.tally_words[i]) atomicAdd(&sums[i], memory.tally_words[i]);
}

template <class A, int kDims>
__global__ void __launch_bounds__(TallyPolicy::kThreads, TallyPolicy::kBlocks)
    tiles_tally_kernel(szg_quantizer quantizer, uint32_t lattice_bits, szg_grid grid,
                       const typename A::Value *frame_values, const uint32_t *axes,
                       szg_tile_tally *tally) {
  tally_tile<A, kDims>(quantizer, lattice_bits, grid, gridDim.x, frame_values, axes, tally);
}

/* Grid: a block per counted tile, and the items. */
template <class A, int kDims>
__global__ void __launch_bounds__(TallyPolicy::kThreads, TallyPolicy::kBlocks)
    items_tally_kernel(szg_quantizer quantizer, uint32_t lattice_bits, const szg_tile_item *items) {
  const szg_tile_item &item = items[blockIdx.y];
  uint32_t const counted_tiles = szg_counted_tiles(item.grid.tile_count);
  if (blockIdx.x >= counted_tiles) return;
  tally_tile<A, kDims>(quantizer, lattice_bits, item.grid, counted_tiles,
                       (const typename A::Value *)item.values, item.axes,
                       (szg_tile_tally *)item.book_work);
}

/* The whole block calls. */
__device__ __forceinline__ void make_book(const szg_tile_tally *tally, szg_tile_book_cuda *book) {
  __shared__ TileBookMemory memory;
  begin_book(tally, &memory);
  uint32_t const zero_groups = choose_zero_groups(&memory);
  settle_counts(zero_groups, &memory);
  find_lengths(memory.tally.counts, &memory.lengths_work, memory.lengths);
  __syncthreads(); /* lengths complete */
  find_covered(&memory);
  assign_codes(&memory); /* has barriers: first and end are known after it */
  write_encoder(memory, &book->encoder);
  uint32_t const section_bytes = write_section(&memory);
  uint32_t const *const section = reinterpret_cast<const uint32_t *>(memory.section);
  uint32_t *const words = reinterpret_cast<uint32_t *>(book->section);
  for (uint32_t i = threadIdx.x; i < SZG_TILE_BOOK_BYTES / 4; i += TileBookPolicy::kThreads)
    words[i] = section[i];
  if (threadIdx.x == 0) {
    book->zero_groups = zero_groups;
    book->section_bytes = section_bytes;
    book->padding = 0;
  }
}

__global__ void __launch_bounds__(TileBookPolicy::kThreads)
    book_make_kernel(const szg_tile_tally *tally, szg_tile_book_cuda *book) {
  make_book(tally, book);
}

__global__ void __launch_bounds__(TileBookPolicy::kThreads)
    items_book_kernel(const szg_tile_item *items) {
  const szg_tile_item &item = items[blockIdx.x];
  make_book((const szg_tile_tally *)item.book_work, item.book);
}

/* ---- launchers ---- */

template <class A>
szgpu_status count_samples(const szg_quantizer &quantizer, uint32_t lattice_bits,
                           const szg_grid &example, uint64_t most_tiles, const szg_tile_item *items,
                           uint32_t item_count, cudaStream_t stream) {
  auto const kernel = example.tile_z > 1   ? items_tally_kernel<A, 3>
                      : example.tile_y > 1 ? items_tally_kernel<A, 2>
                                           : items_tally_kernel<A, 1>;
  dim3 const blocks(szg_counted_tiles(most_tiles), item_count);
  kernel<<<blocks, TallyPolicy::kThreads, 0, stream>>>(quantizer, lattice_bits, items);
  return szg_launched();
}

template <class A>
szgpu_status count_sample(const szg_quantizer &quantizer, uint32_t lattice_bits,
                          const szg_grid &grid, const void *frame_values, const uint32_t *axes,
                          szg_tile_tally *tally, cudaStream_t stream) {
  auto const *const values = (const typename A::Value *)frame_values;
  auto const kernel = grid.tile_z > 1   ? tiles_tally_kernel<A, 3>
                      : grid.tile_y > 1 ? tiles_tally_kernel<A, 2>
                                        : tiles_tally_kernel<A, 1>;
  kernel<<<szg_counted_tiles(grid.tile_count), TallyPolicy::kThreads, 0, stream>>>(
      quantizer, lattice_bits, grid, values, axes, tally);
  return szg_launched();
}

} // namespace
} // namespace szg

uint64_t szg_tile_book_work_bytes_cuda(void) { return (sizeof(szg_tile_tally) + 15) / 16 * 16; }

szgpu_status szg_tile_book_make_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                     const szg_grid *grid, const void *frame_values,
                                     const uint32_t *axes, void *work, szg_tile_book_cuda *book,
                                     cudaStream_t stream) {
  auto *const tally = (szg_tile_tally *)work;
  SZG_TRY(szg::with_arithmetic(quantizer->arithmetic, [&](auto arithmetic) {
    return szg::count_sample<decltype(arithmetic)>(*quantizer, lattice_bits, *grid, frame_values,
                                                   axes, tally, stream);
  }));
  szg::book_make_kernel<<<1, szg::TileBookPolicy::kThreads, 0, stream>>>(tally, book);
  return szg_launched();
}

szgpu_status szg_tile_make_books_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                      const szg_grid *example, uint64_t most_tiles,
                                      const szg_tile_item *items, uint32_t item_count,
                                      cudaStream_t stream) {
  SZG_TRY(szg::with_arithmetic(quantizer->arithmetic, [&](auto arithmetic) {
    return szg::count_samples<decltype(arithmetic)>(*quantizer, lattice_bits, *example, most_tiles,
                                                    items, item_count, stream);
  }));
  szg::items_book_kernel<<<item_count, szg::TileBookPolicy::kThreads, 0, stream>>>(items);
  return szg_launched();
}
