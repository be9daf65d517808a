/* lorenzo.cu - values of tiles to codes and back, on the GPU: one warp per tile.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Most tiles are full with aligned rows and have kernels of their own (lorenzo_full.cuh); tiles at
 * the upper edges, and of fields with awkward extents, have others (lorenzo_any.cuh). Being kernels
 * of their own, neither pays for the other's registers.
 *
 *   code      reads the values once, writes 2 bytes per value
 *   escapes   reads the values of the tiles that have escapes, writes those
 *   restore   reads 2 bytes per value, writes the values once
 */
#include "core/cuda_check.cuh"
#include "predict/lorenzo_any.cuh"
#include "predict/lorenzo_full.cuh"

namespace szg {
namespace {

struct TilePolicy {
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / 32;
};

__device__ uint64_t global_warp() {
  return (uint64_t)blockIdx.x * TilePolicy::kWarps + threadIdx.x / 32;
}

/* Which tiles a kernel takes. */
enum TileChoice { kAllTiles, kFullTiles, kOtherTiles };

template <int kDims>
__device__ bool is_chosen(const szg_tile &tile, TileChoice choice) {
  return choice == kAllTiles || is_full<kDims>(tile) == (choice == kFullTiles);
}

/* ---- values to codes ---- */

/* What a warp notes about a tile's escapes. */
template <class A>
struct EscapeNotes {
  uint32_t count;          /* of the tile */
  int64_t least, greatest; /* this lane's */

  __device__ EscapeNotes() : count(0), least(0), greatest(0) {}
  __device__ void note(typename A::Point delta) {
    if (delta < least) least = delta;
    if (delta > greatest) greatest = delta;
  }
};

/* Writes a tile's counts. The whole warp calls. */
template <class A>
__device__ void finish_tile(const EscapeNotes<A> &escapes, bool has_marks, uint64_t tile_index,
                            const szg_coded_frame_cuda &coded) {
  bool const is_marked = __any_sync(kAllLanes, has_marks);
  bool const is_first_lane = threadIdx.x % 32 == 0;
  if (is_first_lane) {
    coded.escape_counts[tile_index] = (uint16_t)escapes.count;
    coded.tile_marks[tile_index] = is_marked;
  }
  if (escapes.count == 0) return;
  long long least = escapes.least, greatest = escapes.greatest;
  for (int step = 16; step > 0; step /= 2) {
    long long const other_least = __shfl_xor_sync(kAllLanes, least, step);
    long long const other_greatest = __shfl_xor_sync(kAllLanes, greatest, step);
    if (other_least < least) least = other_least;
    if (other_greatest > greatest) greatest = other_greatest;
  }
  if (!is_first_lane) return;
  atomicMin((long long *)&coded.escape_extremes[0], least);
  atomicMax((long long *)&coded.escape_extremes[1], greatest);
}

template <class A>
struct CodeSink {
  uint16_t *codes; /* of the tile */
  uint32_t radius;
  EscapeNotes<A> escapes;

  __device__ __forceinline__ void take(uint32_t index, typename A::Point delta, bool has_value) {
    bool const is_coded = has_code<A>(delta, radius);
    uint32_t const code = is_coded ? (uint32_t)delta + radius : (uint32_t)SZG_ESCAPE_SYMBOL;
    if (has_value) codes[index] = (uint16_t)code;
    bool const is_escape = has_value && !is_coded;
    escapes.count += __popc(__ballot_sync(kAllLanes, is_escape));
    if (is_escape) escapes.note(delta);
  }
};

template <class A, int kDims>
__global__ void __launch_bounds__(TilePolicy::kThreads)
    tiles_code_kernel(szg_quantizer k, szg_grid grid, const typename A::Value *values,
                      const uint32_t *axes, const uint32_t *radius, TileChoice choice,
                      szg_coded_frame_cuda coded) {
  uint64_t const tile_index = global_warp();
  if (tile_index >= grid.tile_count) return;
  Walk<kDims> const walk(szg_tile_at(&grid, tile_index));
  if (!is_chosen<kDims>(walk.tile, choice)) return;
  CodeSink<A> sink = {coded.codes + walk.tile.first_code, *radius, EscapeNotes<A>()};
  Axes const along(*axes, all_axes<kDims>());
  bool const has_marks = walk_deltas<A>(k, walk, values + walk.tile.first_value, along, sink);
  finish_tile<A>(sink.escapes, has_marks, tile_index, coded);
}

/* Turns a lane's deltas into codes and stores them in one piece. */
template <class A>
__device__ __forceinline__ void store_codes(const typename A::Unsigned (&deltas)[kLaneValues],
                                            uint32_t radius, uint16_t *codes,
                                            EscapeNotes<A> *escapes) {
  uint16_t lane_codes[kLaneValues];
  uint32_t escape_count = 0;
#pragma unroll
  for (int i = 0; i < kLaneValues; i++) {
    bool const is_coded = has_code<A>((typename A::Point)deltas[i], radius);
    lane_codes[i] = is_coded ? (uint16_t)((uint32_t)deltas[i] + radius) : SZG_ESCAPE_SYMBOL;
    escape_count += !is_coded;
  }
  store_lane(lane_codes, codes);
  if (!__any_sync(kAllLanes, escape_count > 0)) return;
  escapes->count += warp_sum(escape_count);
#pragma unroll
  for (int i = 0; i < kLaneValues; i++)
    if (lane_codes[i] == SZG_ESCAPE_SYMBOL) escapes->note((typename A::Point)deltas[i]);
}

template <class A, int kDims>
__global__ void __launch_bounds__(TilePolicy::kThreads)
    full_tiles_code_kernel(szg_quantizer k, szg_grid grid, const typename A::Value *values,
                           const uint32_t *axes, const uint32_t *radius,
                           szg_coded_frame_cuda coded) {
  typedef typename A::Unsigned Unsigned;
  uint64_t const tile_index = global_warp();
  if (tile_index >= grid.tile_count) return;
  szg_tile const tile = szg_tile_at(&grid, tile_index);
  if (!is_full<kDims>(tile)) return;
  uint32_t const lane = threadIdx.x % 32;
  PatchAxes<kDims> const along(*axes, lane);
  uint32_t const code_radius = *radius;
  DeltaState<Unsigned, kDims> state;
  EscapeNotes<A> escapes;
  bool has_marks = false;
  uint64_t const stride = patch_stride<kDims>(tile);
  const typename A::Value *from = values + lane_offset<kDims>(tile, lane);
  uint16_t *to = coded.codes + tile.first_code + lane * kLaneValues;
  typename A::Value loaded[kLaneValues];
  load_lane(from, loaded);
#pragma unroll 1
  for (uint32_t patch = 0; patch < Patch<kDims>::kCount; patch++) {
    typename A::Point points[kLaneValues];
    typename A::Point const before = kDims == 1 ? (typename A::Point)state.before[0] : 0;
    has_marks |= quantize_lane<A, kDims>(k, loaded, before, points);
    from += stride;
    if (patch + 1 < Patch<kDims>::kCount) load_lane(from, loaded); /* during this patch */
    Unsigned lattice[kLaneValues], deltas[kLaneValues];
#pragma unroll
    for (int i = 0; i < kLaneValues; i++) lattice[i] = (Unsigned)points[i];
    patch_deltas<Unsigned, kDims>(lattice, along, patch, lane, state, deltas);
    store_codes<A>(deltas, code_radius, to, &escapes);
    to += Patch<kDims>::kValues;
  }
  finish_tile<A>(escapes, has_marks, tile_index, coded);
}

/* ---- escapes ---- */

template <class A>
struct EscapeSink {
  uint8_t *escapes; /* of the tile */
  uint32_t radius;
  uint32_t escape_count; /* so far */
  unsigned width;

  __device__ __forceinline__ void take(uint32_t, typename A::Point delta, bool has_value) {
    bool const is_escape = has_value && !has_code<A>(delta, radius);
    unsigned const all = __ballot_sync(kAllLanes, is_escape);
    if (is_escape) {
      uint32_t const rank = escape_count + rank_among(all, threadIdx.x % 32);
      uint8_t *const out = escapes + (size_t)rank * width;
      for (unsigned i = 0; i < width; i++) out[i] = (uint8_t)((uint64_t)(int64_t)delta >> 8 * i);
    }
    escape_count += __popc(all);
  }
};

template <class A, int kDims>
__global__ void __launch_bounds__(TilePolicy::kThreads)
    tiles_escapes_kernel(szg_quantizer k, szg_grid grid, const typename A::Value *values,
                         uint32_t axes, uint32_t radius, const uint32_t *tiles,
                         const uint32_t *tile_count, const szg_tile_place *places, unsigned width,
                         uint8_t *escapes) {
  Axes const along(axes, all_axes<kDims>());
  uint64_t const stride = (uint64_t)gridDim.x * TilePolicy::kWarps;
  for (uint64_t i = global_warp(); i < *tile_count; i += stride) {
    uint32_t const tile_index = tiles[i];
    Walk<kDims> const walk(szg_tile_at(&grid, tile_index));
    EscapeSink<A> sink = {escapes + places[tile_index].escape * width, radius, 0, width};
    walk_deltas<A>(k, walk, values + walk.tile.first_value, along, sink);
  }
}

/* ---- codes to values ---- */

extern __shared__ uint8_t length_table[]; /* code length of each symbol */

/* Loads the block's copy of the table. */
__device__ void load_lengths(const szg_restore_input_cuda &input) {
  for (uint32_t i = threadIdx.x; i < 2 * input.radius; i += TilePolicy::kThreads)
    length_table[i] = input.code_lengths[i];
  __syncthreads(); /* the table is complete before any lookup */
}

__device__ EscapeSource escapes_of(const szg_restore_input_cuda &input, uint64_t tile_index) {
  if (!input.counts.escapes) return {NULL, 0, 0, input.escape_bytes};
  /* By the running sums: the counts are in the archive, and may have changed since then. */
  uint64_t const begin = input.places[tile_index].escape;
  uint32_t const count = (uint32_t)(input.places[tile_index + 1].escape - begin);
  const uint8_t *const first = count ? input.escapes + begin * input.escape_bytes : NULL;
  return {first, count, 0, input.escape_bytes};
}

/* Checks that a tile's codes have the bits and escapes that it claims. lane_bits: this lane's. */
__device__ void judge_tile(const szg_restore_input_cuda &input, const szg_tile &tile,
                           uint64_t tile_index, uint32_t lane_bits, const EscapeSource &escapes,
                           szg_verdict *verdict) {
  uint32_t const bits = warp_sum(lane_bits);
  bool const agrees =
      bits == input.counts.bits[tile_index] + tile.value_count && escapes.taken == escapes.count;
  if (!agrees && threadIdx.x % 32 == 0) verdict->bad_data = 1;
}

template <class A, int kDims>
__global__ void __launch_bounds__(TilePolicy::kThreads)
    tiles_restore_kernel(szg_quantizer k, szg_grid grid, szg_restore_input_cuda input,
                         uint64_t first_tile, uint64_t end_tile, TileChoice choice,
                         Window<typename A::Value> window, szg_verdict *verdict) {
  if (__syncthreads_or(verdict->bad_data != 0)) return; /* the whole block: others may set it */
  load_lengths(input);
  uint64_t const tile_index = first_tile + global_warp();
  if (tile_index >= end_tile) return;
  Walk<kDims> const walk(szg_tile_at(&grid, tile_index));
  if (!is_chosen<kDims>(walk.tile, choice)) return;
  EscapeSource escapes = escapes_of(input, tile_index);
  Axes const axes(input.axes, all_axes<kDims>());
  uint32_t const bits = restore_tile<A>(k, walk, input.codes + walk.tile.first_code, length_table,
                                        axes, input.radius, escapes, window);
  judge_tile(input, walk.tile, tile_index, bits, escapes, verdict);
}

/* Turns a lane's codes into deltas; returns the bits that the codes take. */
template <class Unsigned>
__device__ __forceinline__ uint32_t uncode_lane(const uint16_t (&codes)[kLaneValues],
                                                uint32_t radius, EscapeSource *escapes,
                                                Unsigned (&deltas)[kLaneValues]) {
  uint32_t bits = 0, escape_count = 0;
#pragma unroll
  for (int i = 0; i < kLaneValues; i++) {
    bits += length_table[codes[i]];
    deltas[i] = (Unsigned)codes[i] - (Unsigned)radius;
    escape_count += codes[i] == SZG_ESCAPE_SYMBOL;
  }
  if (!__any_sync(kAllLanes, escape_count > 0)) return bits;
  uint32_t rank = escapes->begin_lanes(escape_count);
#pragma unroll
  for (int i = 0; i < kLaneValues; i++)
    if (codes[i] == SZG_ESCAPE_SYMBOL) deltas[i] = (Unsigned)escapes->at(rank++);
  return bits;
}

template <class A, int kDims>
__global__ void __launch_bounds__(TilePolicy::kThreads)
    full_tiles_restore_kernel(szg_quantizer k, szg_grid grid, szg_restore_input_cuda input,
                              uint64_t first_tile, uint64_t end_tile, typename A::Value *values,
                              szg_verdict *verdict) {
  typedef typename A::Unsigned Unsigned;
  if (__syncthreads_or(verdict->bad_data != 0)) return; /* the whole block: others may set it */
  load_lengths(input);
  uint64_t const tile_index = first_tile + global_warp();
  if (tile_index >= end_tile) return;
  szg_tile const tile = szg_tile_at(&grid, tile_index);
  if (!is_full<kDims>(tile)) return;
  uint32_t const lane = threadIdx.x % 32;
  EscapeSource escapes = escapes_of(input, tile_index);
  PatchAxes<kDims> const axes(input.axes, lane);
  SumsState<Unsigned, kDims> state;
  uint32_t bits = 0;
  uint64_t const stride = patch_stride<kDims>(tile);
  const uint16_t *from = input.codes + tile.first_code + lane * kLaneValues;
  typename A::Value *to = values + lane_offset<kDims>(tile, lane);
  uint16_t codes[kLaneValues];
  load_lane(from, codes);
#pragma unroll 1
  for (uint32_t patch = 0; patch < Patch<kDims>::kCount; patch++) {
    Unsigned points[kLaneValues];
    bits += uncode_lane<Unsigned>(codes, input.radius, &escapes, points);
    from += Patch<kDims>::kValues;
    if (patch + 1 < Patch<kDims>::kCount) load_lane(from, codes); /* during this patch */
    patch_sums<Unsigned, kDims>(points, axes, patch, lane, state);
    typename A::Value restored[kLaneValues];
#pragma unroll
    for (int i = 0; i < kLaneValues; i++) restored[i] = A::value(k, (typename A::Point)points[i]);
    store_lane(restored, to);
    to += stride;
  }
  judge_tile(input, tile, tile_index, bits, escapes, verdict);
}

/* ---- the switches over shapes ---- */

/* The number of axes that tiles extend over, as a type. */
template <int kCount>
struct Dims {
  static constexpr int kDims = kCount;
};

template <class Function>
szgpu_status with_dims(const szg_grid &grid, Function function) {
  if (grid.tile_z > 1) return function(Dims<3>());
  if (grid.tile_y > 1) return function(Dims<2>());
  return function(Dims<1>());
}

/* Which kernels a grid's tiles need: full tiles with aligned rows have their own. */
struct TileShares {
  bool has_full_kernel, has_other_tiles;

  TileShares(const szg_grid &grid, const void *values, size_t value_bytes) {
    bool const is_ragged =
        grid.x_extent % grid.tile_x || grid.y_extent % grid.tile_y || grid.z_extent % grid.tile_z;
    has_full_kernel = (uintptr_t)values % 16 == 0 &&
                      (grid.tile_y == 1 || grid.x_extent * value_bytes % 16 == 0) &&
                      /* codes of a batch's fields begin anywhere */
                      (grid.batch_extent == 1 ||
                       grid.z_extent * grid.y_extent * grid.x_extent % kLaneValues == 0);
    has_other_tiles = is_ragged || !has_full_kernel;
  }
  TileChoice others() const { return has_full_kernel ? kOtherTiles : kAllTiles; }
};

/* Allows a kernel a table of any size. Always asks for the largest, because the permission belongs
 * to the kernel, not to the launch, and other threads launch it too. */
template <class Kernel>
szgpu_status allow_tables(Kernel kernel) {
  static_assert(2 * SZG_MAX_RADIUS <= SZG_LEAST_SHARED_BYTES, "what every device has");
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    2 * SZG_MAX_RADIUS));
  return SZGPU_OK;
}

unsigned blocks_of_tiles(uint64_t tile_count) {
  return (unsigned)((tile_count + TilePolicy::kWarps - 1) / TilePolicy::kWarps);
}

} // namespace
} // namespace szg

szgpu_status szg_tiles_code_cuda(const szg_quantizer *quantizer, const szg_grid *grid,
                                 const void *frame_values, const uint32_t *axes,
                                 const uint32_t *radius, const szg_coded_frame_cuda *coded,
                                 struct CUstream_st *stream) {
  constexpr int kThreads = szg::TilePolicy::kThreads;
  unsigned const blocks = szg::blocks_of_tiles(grid->tile_count);
  return szg::with_arithmetic(quantizer->arithmetic, [&](auto arithmetic) {
    return szg::with_dims(*grid, [&](auto dims) {
      typedef decltype(arithmetic) A;
      constexpr int kDims = decltype(dims)::kDims;
      auto const values = (const typename A::Value *)frame_values;
      szg::TileShares const shares(*grid, values, sizeof *values);
      if (shares.has_full_kernel) {
        szg::full_tiles_code_kernel<A, kDims>
            <<<blocks, kThreads, 0, stream>>>(*quantizer, *grid, values, axes, radius, *coded);
        SZG_TRY_LAUNCH();
      }
      if (!shares.has_other_tiles) return SZGPU_OK;
      szg::tiles_code_kernel<A, kDims><<<blocks, kThreads, 0, stream>>>(
          *quantizer, *grid, values, axes, radius, shares.others(), *coded);
      return szg_launched();
    });
  });
}

szgpu_status szg_tiles_write_escapes_cuda(const szg_quantizer *quantizer, const szg_grid *grid,
                                          const void *frame_values, uint32_t axes, uint32_t radius,
                                          const uint32_t *tiles, const uint32_t *tile_count,
                                          const szg_tile_place *places, unsigned escape_bytes,
                                          uint8_t *escapes, struct CUstream_st *stream) {
  unsigned blocks = 0;
  SZG_TRY(szg_spread_blocks(grid->tile_count, szg::TilePolicy::kWarps, 8, &blocks));
  return szg::with_arithmetic(quantizer->arithmetic, [&](auto arithmetic) {
    return szg::with_dims(*grid, [&](auto dims) {
      typedef decltype(arithmetic) A;
      szg::tiles_escapes_kernel<A, decltype(dims)::kDims>
          <<<blocks, szg::TilePolicy::kThreads, 0, stream>>>(
              *quantizer, *grid, (const typename A::Value *)frame_values, axes, radius, tiles,
              tile_count, places, escape_bytes, escapes);
      return szg_launched();
    });
  });
}

szgpu_status szg_tiles_restore_cuda(const szg_quantizer *quantizer, const szg_grid *grid,
                                    const szg_restore_input_cuda *input, uint64_t first_tile,
                                    uint64_t end_tile, void *values, uint64_t first_value,
                                    uint64_t value_count, szg_verdict *verdict,
                                    struct CUstream_st *stream) {
  if (first_tile >= end_tile) return SZGPU_OK;
  constexpr int kThreads = szg::TilePolicy::kThreads;
  unsigned const blocks = szg::blocks_of_tiles(end_tile - first_tile);
  size_t const table_bytes = 2 * (size_t)input->radius;
  bool const is_whole = first_value == 0 && value_count == grid->value_count;
  return szg::with_arithmetic(quantizer->arithmetic, [&](auto arithmetic) {
    return szg::with_dims(*grid, [&](auto dims) {
      typedef decltype(arithmetic) A;
      typedef typename A::Value Value;
      constexpr int kDims = decltype(dims)::kDims;
      szg::TileShares const shares(*grid, values, sizeof(Value));
      bool const takes_full = is_whole && shares.has_full_kernel;
      if (takes_full) {
        auto const kernel = szg::full_tiles_restore_kernel<A, kDims>;
        SZG_TRY(szg::allow_tables(kernel));
        kernel<<<blocks, kThreads, table_bytes, stream>>>(*quantizer, *grid, *input, first_tile,
                                                          end_tile, (Value *)values, verdict);
        SZG_TRY_LAUNCH();
        if (!shares.has_other_tiles) return SZGPU_OK;
      }
      szg::Window<Value> const window = {(Value *)values, first_value, value_count};
      auto const kernel = szg::tiles_restore_kernel<A, kDims>;
      SZG_TRY(szg::allow_tables(kernel));
      kernel<<<blocks, kThreads, table_bytes, stream>>>(
          *quantizer, *grid, *input, first_tile, end_tile,
          takes_full ? szg::kOtherTiles : szg::kAllTiles, window, verdict);
      return szg_launched();
    });
  });
}
