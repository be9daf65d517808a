/* tile_decompress.cu - decompresses tile frames: one kernel from bits to the field.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One warp per tile, one lane per place. The kernel reads each value's bits and 2 bytes of size per
 * tile, and writes the value. docs/notebook.md has the measurements that led to this
 * design.
 */
#include "codecs/lorenzo/tile_cuda.h"

#include <type_traits>

#include "codecs/lorenzo/tile_restore.cuh"
#include "core/cuda_check.cuh"
#include "core/tile_queue.cuh"

namespace szg {
namespace {

/* One large block for each multiprocessor, since it has the 16 KiB table of codes and the rest of
 * the shared memory is for the words of tiles. On an H100 a warp has room for 10 bits per code of a
 * full tile on the 16-bit lattice, 16 (f32) or 23 (f64) on that of 32 bits, 29 on that of 64. */
template <uint32_t kLatticeBits, class Value>
struct TileDecodePolicy {
  static constexpr int kWarps = kLatticeBits == 16   ? 32
                                : kLatticeBits == 64 ? 11
                                : sizeof(Value) == 4 ? 20
                                                     : 15;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kBlocks = 1; /* per multiprocessor */
};

/* ---- kernels ---- */

/* A block's shared memory: the table, the warps' planes, their words, and room behind them that a
 * bad tile's lanes may read. */
template <uint32_t kLatticeBits>
constexpr uint32_t kPlaneBytes = 2 * kPairs *SZG_LANES * sizeof(PointPair<kLatticeBits>);
constexpr uint32_t kZerosBehind = BitWindow::kWordsAhead;
template <uint32_t kLatticeBits, class Value>
constexpr uint32_t shared_bytes(uint32_t staged_words) {
  constexpr uint32_t kWarps = TileDecodePolicy<kLatticeBits, Value>::kWarps;
  uint32_t const words = kWarps * (staged_words + kZerosBehind);
  return (SZG_TILE_ENTRIES + words + kOverrunWords) * (uint32_t)sizeof(uint32_t) +
         kWarps * kPlaneBytes<kLatticeBits>;
}
static_assert(shared_bytes<16, float>(0) <= SZG_LEAST_SHARED_BYTES &&
                  shared_bytes<16, double>(0) <= SZG_LEAST_SHARED_BYTES &&
                  shared_bytes<32, float>(0) <= SZG_LEAST_SHARED_BYTES &&
                  shared_bytes<32, double>(0) <= SZG_LEAST_SHARED_BYTES &&
                  shared_bytes<64, double>(0) <= SZG_LEAST_SHARED_BYTES,
              "what every device has");

/* Fills the block's table. The whole block calls. */
template <uint32_t kLatticeBits, int kThreads>
__device__ __forceinline__ void load_entries(const szg_tile_decoder *decoder, uint32_t *entries) {
  for (uint32_t i = threadIdx.x; i < SZG_TILE_ENTRIES / 4; i += kThreads) {
    uint4 four = ((const uint4 *)decoder->entries)[i];
    if (kLatticeBits > 16)
      four = make_uint4(wide_entry<kLatticeBits>(four.x), wide_entry<kLatticeBits>(four.y),
                        wide_entry<kLatticeBits>(four.z), wide_entry<kLatticeBits>(four.w));
    ((uint4 *)entries)[i] = four;
  }
  __syncthreads(); /* the table is whole */
}

/* Tiles of a share, as bits, that have many more words than most, too many for shared memory. They
 * take several times as long as others, so the kernel decompresses them first; but only if they are
 * few, since one warp does all those of a share. The whole warp calls. */
constexpr uint32_t kShareTiles = 32, kMostHeavyTiles = 2;
template <class A>
__device__ __forceinline__ uint32_t heavy_tiles(const TileDecodeJob<A> &job, uint32_t share,
                                                uint32_t tile_count, unsigned lane) {
  uint32_t const tile = share * kShareTiles + lane;
  bool const is_heavy =
      tile < tile_count && job.input.sizes[job.first_tile + tile] > job.staged_words;
  uint32_t const heavy = __ballot_sync(kAllLanes, is_heavy);
  return __popc(heavy) <= kMostHeavyTiles ? heavy : 0;
}

/* Decompresses a coded tile, through shared memory if there is room. */
template <class A, uint32_t kLatticeBits, int kDims, class Kind>
__device__ __forceinline__ void decode_coded_tile(const TileDecodeJob<A> &job,
                                                  const TileShape &tile, const uint32_t *words,
                                                  uint32_t word_count, const uint32_t *entries,
                                                  uint32_t *staged, PointPair<kLatticeBits> *points,
                                                  unsigned lane) {
  bool const is_staged = word_count <= job.staged_words;
  __syncwarp(); /* the tile before is done with the shared memory */
  if (is_staged) {
#pragma unroll 4
    for (uint32_t j = lane; j < word_count; j += 32) staged[j] = __ldcs(words + j);
    if (lane < kZerosBehind) staged[word_count + lane] = 0;
    __syncwarp(); /* the words are there */
  }
  LaneRange const range =
      read_head(szg_tile_head_form(), ArchiveWords{is_staged ? staged : words, word_count});
  if (!range.is_sound) {
    job.verdict->bad_data = 1;
  } else if (is_staged) {
    StagedWords const source = StagedWords::of(staged);
    decode_tile<A, kLatticeBits, kDims, Kind>(job, tile, source, range, entries, points, lane);
  } else {
    ArchiveWords const source = {words, word_count};
    decode_tile<A, kLatticeBits, kDims, Kind>(job, tile, source, range, entries, points, lane);
  }
}

template <class A, uint32_t kLatticeBits, int kDims, class Kind>
__device__ __forceinline__ void restore_any_tile(const TileDecodeJob<A> &job, uint32_t tile_index,
                                                 const TileShape &tile, const uint32_t *entries,
                                                 uint32_t *staged, PointPair<kLatticeBits> *points,
                                                 unsigned lane) {
  uint32_t const raw_words = szg_raw_tile_words(value_count(tile), sizeof(typename A::Value));
  const uint32_t *words;
  uint32_t word_count;
  if (!find_words(job, tile_index, raw_words, &words, &word_count))
    job.verdict->bad_data = 1;
  else if (word_count == 0)
    zero_tile<A, kDims, Kind::kIsAligned>(job, tile, lane);
  else if (word_count == raw_words)
    copy_raw_tile<typename A::Value>(tile, words, lane, job.wanted);
  else
    decode_coded_tile<A, kLatticeBits, kDims, Kind>(job, tile, words, word_count, entries, staged,
                                                    points, lane);
}

/* kIsAligned: the caller wants the whole frame, and rows can be stored 16 bytes at a time.
 * block_count blocks call. */
template <class A, uint32_t kLatticeBits, int kDims, bool kMayGroup, bool kIsAligned>
__device__ __forceinline__ void decompress_tiles(const TileDecodeJob<A> &job,
                                                 uint32_t block_count) {
  typedef TileDecodePolicy<kLatticeBits, typename A::Value> Policy;
  constexpr int kWarps = Policy::kWarps;
  extern __shared__ __align__(16) uint32_t memory[];
  unsigned const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  auto const points =
      (PointPair<kLatticeBits> *)(memory + SZG_TILE_ENTRIES) + warp * (2 * kPairs * SZG_LANES);
  uint32_t *const staged = memory + SZG_TILE_ENTRIES + kWarps * (kPlaneBytes<kLatticeBits> / 4) +
                           warp * (job.staged_words + kZerosBehind);
  uint32_t const tile_count = job.end_tile - job.first_tile;
  /* First the heavy tiles of each share, then the other tiles. */
  uint32_t const share_count = (tile_count + kShareTiles - 1) / kShareTiles;
  uint32_t const end = share_count + tile_count;
  RenewedTileQueue queue(job.input.counters, end, block_count * kWarps);
  queue.ask(lane);
  load_entries<kLatticeBits, Policy::kThreads>(job.input.decoder, memory);
  for (uint32_t i = queue.take(); i < end; i = queue.take()) {
    queue.ask(lane);
    bool const is_share = i < share_count;
    uint32_t const share = is_share ? i : (i - share_count) / kShareTiles;
    uint32_t const heavy = heavy_tiles(job, share, tile_count, lane);
    uint32_t tiles = is_share ? heavy : 1u << (i - share_count) % kShareTiles & ~heavy;
    for (; tiles != 0; tiles &= tiles - 1) {
      uint32_t const index = job.first_tile + share * kShareTiles + (uint32_t)__ffs((int)tiles) - 1;
      TileShape const tile = tile_shape(job.layout, index);
      if (is_full(tile))
        restore_any_tile<A, kLatticeBits, kDims, TileForm<kMayGroup, true, kIsAligned>>(
            job, index, tile, memory, staged, points, lane);
      else
        restore_any_tile<A, kLatticeBits, kDims, TileForm<true, false, false>>(
            job, index, tile, memory, staged, points, lane);
    }
  }
}

template <class A, uint32_t kLatticeBits, int kDims, bool kMayGroup, bool kIsAligned>
__global__ void __launch_bounds__(TileDecodePolicy<kLatticeBits, typename A::Value>::kThreads,
                                  TileDecodePolicy<kLatticeBits, typename A::Value>::kBlocks)
    tiles_decompress_kernel(TileDecodeJob<A> job) {
  decompress_tiles<A, kLatticeBits, kDims, kMayGroup, kIsAligned>(job, gridDim.x);
}

/* call: the job except what is of an item. Grid: blocks for each item, and the items. */
template <class A, uint32_t kLatticeBits, int kDims, bool kIsAligned>
__global__ void __launch_bounds__(TileDecodePolicy<kLatticeBits, typename A::Value>::kThreads,
                                  TileDecodePolicy<kLatticeBits, typename A::Value>::kBlocks)
    items_decompress_kernel(const __grid_constant__ TileDecodeJob<A> call,
                            const szg_tile_read_item *items) {
  __shared__ TileDecodeJob<A> job;
  const szg_tile_read_item &item = items[blockIdx.y];
  uint32_t const tile_count = (uint32_t)item.grid.tile_count;
  uint32_t const block_count = min(gridDim.x, tile_count);
  if (!item.is_there || blockIdx.x >= block_count) return;
  if (threadIdx.x == 0) {
    job = call;
    job.layout = layout_of(item.grid);
    job.input = item.input;
    job.end_tile = tile_count;
    job.wanted = {(typename A::Value *)item.values, 0, item.grid.value_count};
    job.verdict = item.verdict;
  }
  __syncthreads(); /* the job is there */
  decompress_tiles<A, kLatticeBits, kDims, true, kIsAligned>(job, block_count);
}

/* As many words as blocks of that size leave room for, and no more than a tile can have.
 * other_bytes: of the block's shared memory, beside all that. */
template <uint32_t kLatticeBits, class Value>
szgpu_status choose_staged_words(uint32_t other_bytes, uint32_t *staged_words) {
  typedef TileDecodePolicy<kLatticeBits, Value> Policy;
  constexpr uint32_t raw_words = SZG_TILE_VALUES * (sizeof(Value) / 4);
  int room_bytes = 0;
  SZG_TRY(szg_shared_bytes_each(Policy::kBlocks, &room_bytes));
  uint32_t const fixed_bytes = shared_bytes<kLatticeBits, Value>(0) + other_bytes;
  uint32_t const words = room_bytes > (int)fixed_bytes
                             ? ((uint32_t)room_bytes - fixed_bytes) / (Policy::kWarps * 4)
                             : 0;
  *staged_words = words < raw_words ? words : raw_words;
  return SZGPU_OK;
}

/* As many blocks as the device holds at once. Warps take tiles from a queue; if tiles are few, they
 * spread over all multiprocessors. */
template <uint32_t kLatticeBits, class Value, class Kernel, class Job>
szgpu_status launch(Kernel kernel, const Job &job, cudaStream_t stream) {
  typedef TileDecodePolicy<kLatticeBits, Value> Policy;
  int const bytes = (int)shared_bytes<kLatticeBits, Value>(job.staged_words);
  unsigned blocks = 0;
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  SZG_TRY(szg_spread_blocks(job.end_tile - job.first_tile, 1, Policy::kBlocks, &blocks));
  kernel<<<blocks, Policy::kThreads, bytes, stream>>>(job);
  return szg_launched();
}

template <class A, uint32_t kLatticeBits, int kDims>
szgpu_status launch_kind(const szg_grid &grid, TileDecodeJob<A> job, cudaStream_t stream) {
  job.is_whole = job.wanted.first == 0 && job.wanted.count == grid.value_count;
  bool const is_aligned = (uintptr_t)job.wanted.values % 16 == 0 &&
                          (kDims == 1 || grid.x_extent * sizeof(typename A::Value) % 16 == 0);
  auto kernel = tiles_decompress_kernel<A, kLatticeBits, kDims, true, false>;
  if (job.is_whole && is_aligned)
    kernel = job.input.zero_groups == SZG_ZERO_GROUPS_NONE
                 ? tiles_decompress_kernel<A, kLatticeBits, kDims, false, true>
                 : tiles_decompress_kernel<A, kLatticeBits, kDims, true, true>;
  typedef typename A::Value Value;
  SZG_TRY((choose_staged_words<kLatticeBits, Value>(0, &job.staged_words)));
  return launch<kLatticeBits, Value>(kernel, job, stream);
}

/* The items of a launch; NULL: there is one, and the job has it all. */
struct DecodeItems {
  const szg_tile_read_item *items;
  uint32_t count;
  uint64_t most_tiles;
  bool is_aligned;
};

template <class A, uint32_t kLatticeBits, int kDims>
szgpu_status launch_items(TileDecodeJob<A> call, const DecodeItems &items, cudaStream_t stream) {
  typedef typename A::Value Value;
  typedef TileDecodePolicy<kLatticeBits, Value> Policy;
  auto const kernel = items.is_aligned ? items_decompress_kernel<A, kLatticeBits, kDims, true>
                                       : items_decompress_kernel<A, kLatticeBits, kDims, false>;
  call.is_whole = true;
  SZG_TRY((choose_staged_words<kLatticeBits, Value>(sizeof call, &call.staged_words)));
  int const bytes = (int)shared_bytes<kLatticeBits, Value>(call.staged_words);
  dim3 blocks;
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  SZG_TRY(szg_spread_items(items.most_tiles, Policy::kBlocks, items.count, &blocks));
  kernel<<<blocks, Policy::kThreads, bytes, stream>>>(call, items.items);
  return szg_launched();
}

template <class A, uint32_t kLatticeBits, int kDims>
szgpu_status launch_one_or_items(const szg_grid &grid, const TileDecodeJob<A> &job,
                                 const DecodeItems &items, cudaStream_t stream) {
  return items.items ? launch_items<A, kLatticeBits, kDims>(job, items, stream)
                     : launch_kind<A, kLatticeBits, kDims>(grid, job, stream);
}

/* All values are wanted, and rows can be stored four values at a time. */
template <class A, uint32_t kLatticeBits, int kDims>
szgpu_status launch_narrowing(TileDecodeJob<Narrowing<A>> job, cudaStream_t stream) {
  job.is_whole = true;
  SZG_TRY((choose_staged_words<kLatticeBits, float>(0, &job.staged_words)));
  return launch<kLatticeBits, float>(
      tiles_decompress_kernel<Narrowing<A>, kLatticeBits, kDims, true, true>, job, stream);
}

template <class A, uint32_t kLatticeBits>
szgpu_status launch_narrowing_dims(const szg_grid &grid, const TileDecodeJob<Narrowing<A>> &job,
                                   cudaStream_t stream) {
  if (grid.tile_z > 1) return launch_narrowing<A, kLatticeBits, 3>(job, stream);
  if (grid.tile_y > 1) return launch_narrowing<A, kLatticeBits, 2>(job, stream);
  return launch_narrowing<A, kLatticeBits, 1>(job, stream);
}

template <class A, uint32_t kLatticeBits>
szgpu_status launch_dims(const szg_grid &grid, const TileDecodeJob<A> &job,
                         const DecodeItems &items, cudaStream_t stream) {
  if (grid.tile_z > 1) return launch_one_or_items<A, kLatticeBits, 3>(grid, job, items, stream);
  if (grid.tile_y > 1) return launch_one_or_items<A, kLatticeBits, 2>(grid, job, items, stream);
  return launch_one_or_items<A, kLatticeBits, 1>(grid, job, items, stream);
}

/* launch_with(arithmetic, lattice bits), both as types. */
template <class Launch>
szgpu_status with_lattice(uint32_t arithmetic, uint32_t lattice_bits, Launch launch_with) {
  std::integral_constant<uint32_t, 16> const lattice_16;
  std::integral_constant<uint32_t, 32> const lattice_32;
  bool const has_16_bits = lattice_bits == 16;
  switch (arithmetic) {
    case SZG_ARITHMETIC_F32:
      return has_16_bits ? launch_with(Arithmetic<SZG_ARITHMETIC_F32>(), lattice_16)
                         : launch_with(Arithmetic<SZG_ARITHMETIC_F32>(), lattice_32);
    case SZG_ARITHMETIC_F32_CLOSE:
      return launch_with(Arithmetic<SZG_ARITHMETIC_F32_CLOSE>(), lattice_32);
    case SZG_ARITHMETIC_F64:
      return has_16_bits ? launch_with(Arithmetic<SZG_ARITHMETIC_F64>(), lattice_16)
                         : launch_with(Arithmetic<SZG_ARITHMETIC_F64>(), lattice_32);
    default:
      return launch_with(Arithmetic<SZG_ARITHMETIC_F64_WIDE>(),
                         std::integral_constant<uint32_t, 64>());
  }
}

} // namespace
} // namespace szg

szgpu_status szg_tile_decompress_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                      const szg_grid *grid, const szg_tile_input_cuda *input,
                                      uint64_t first_tile, uint64_t end_tile, void *values,
                                      uint64_t first_value, uint64_t value_count,
                                      szg_verdict *verdict, struct CUstream_st *stream) {
  if (first_tile >= end_tile) return SZGPU_OK;
  SZG_REQUIRE(end_tile < (uint64_t)1 << 31, SZGPU_UNSUPPORTED); /* the queue goes beyond */
  auto const launch_with = [&](auto arithmetic, auto bits) {
    typedef decltype(arithmetic) A;
    szg::TileDecodeJob<A> job = {};
    job.quantizer = *quantizer;
    job.layout = szg::layout_of(*grid);
    job.input = *input;
    job.first_tile = (uint32_t)first_tile;
    job.end_tile = (uint32_t)end_tile;
    job.wanted = {(typename A::Value *)values, first_value, value_count};
    job.verdict = verdict;
    return szg::launch_dims<A, decltype(bits)::value>(*grid, job, {}, stream);
  };
  return szg::with_lattice(quantizer->arithmetic, lattice_bits, launch_with);
}

bool szg_tile_narrows_cuda(const szg_quantizer *quantizer, const szg_grid *grid, szgpu_dtype dtype,
                           const void *values) {
  uint64_t const four = 4 * szg_dtype_bytes(dtype);
  bool const is_f32 = quantizer->arithmetic == SZG_ARITHMETIC_F32 ||
                      quantizer->arithmetic == SZG_ARITHMETIC_F32_CLOSE;
  return is_f32 && four <= 8 && (uintptr_t)values % four == 0 &&
         (grid->tile_y == 1 || grid->x_extent % 4 == 0);
}

szgpu_status szg_tile_decompress_narrow_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                             const szg_grid *grid, const szg_tile_input_cuda *input,
                                             szgpu_dtype dtype, void *values, szg_verdict *verdict,
                                             struct CUstream_st *stream) {
  SZG_REQUIRE(grid->tile_count < (uint64_t)1 << 31, SZGPU_UNSUPPORTED); /* the queue goes beyond */
  auto const launch_with = [&](auto arithmetic, auto bits) {
    typedef decltype(arithmetic) A;
    szg::TileDecodeJob<szg::Narrowing<A>> job = {};
    job.quantizer = *quantizer;
    job.layout = szg::layout_of(*grid);
    job.input = *input;
    job.end_tile = (uint32_t)grid->tile_count;
    job.wanted = szg::NarrowValues::of(dtype, values, grid->value_count);
    job.verdict = verdict;
    return szg::launch_narrowing_dims<A, decltype(bits)::value>(*grid, job, stream);
  };
  std::integral_constant<uint32_t, 16> const lattice_16;
  std::integral_constant<uint32_t, 32> const lattice_32;
  if (quantizer->arithmetic == SZG_ARITHMETIC_F32_CLOSE)
    return launch_with(szg::Arithmetic<SZG_ARITHMETIC_F32_CLOSE>(), lattice_32);
  return lattice_bits == 16 ? launch_with(szg::Arithmetic<SZG_ARITHMETIC_F32>(), lattice_16)
                            : launch_with(szg::Arithmetic<SZG_ARITHMETIC_F32>(), lattice_32);
}

szgpu_status szg_tile_decompress_items_cuda(const szg_quantizer *quantizer, uint32_t lattice_bits,
                                            const szg_grid *example, uint64_t most_tiles,
                                            bool is_aligned, const szg_tile_read_item *items,
                                            uint32_t item_count, struct CUstream_st *stream) {
  SZG_REQUIRE(most_tiles < (uint64_t)1 << 31, SZGPU_UNSUPPORTED); /* the queue goes beyond */
  szg::DecodeItems const all = {items, item_count, most_tiles, is_aligned};
  auto const launch_with = [&](auto arithmetic, auto bits) {
    typedef decltype(arithmetic) A;
    szg::TileDecodeJob<A> call = {};
    call.quantizer = *quantizer;
    return szg::launch_dims<A, decltype(bits)::value>(*example, call, all, stream);
  };
  return szg::with_lattice(quantizer->arithmetic, lattice_bits, launch_with);
}
