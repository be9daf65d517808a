/* levels_restore.cu - a stage of a levels frame on the GPU: codes to lattice values, or to values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One block per tile. Reads codes and the coarser grid; writes all points of the tile once.
 */
#include "codecs/interpolation/levels_base.cuh"
#include "codecs/interpolation/levels_box.cuh"

namespace szg {
namespace {

/* Where lattice values of a tile go: to a grid, or, as values, to the part of the frame that is
 * wanted. */
template <class A>
struct PointWriter {
  typedef typename A::Value Value;
  typedef typename A::Unsigned Unsigned;

  Unsigned *grid; /* NULL: to values */
  Value *values;  /* of the window */
  uint64_t first_value, value_count;

  __device__ __forceinline__ Value value_of(const LevelsJob &job, Unsigned point) const {
    return A::restore(job.lattice, (typename A::Point)point);
  }
  __device__ __forceinline__ void store(const LevelsJob &job, const LevelsPlace &place, uint32_t z,
                                        uint32_t y, uint32_t x, Unsigned point) const {
    if (grid) {
      grid[place.point_at(z, y, x)] = point;
      return;
    }
    uint64_t const index = place.value_at(job, z, y, x) - first_value;
    if (index < value_count) values[index] = value_of(job, point);
  }
  /* Two neighbours along x; values come two at a time only from the last stage, where they are
   * neighbours too. */
  __device__ __forceinline__ void store_pair(const LevelsJob &job, const LevelsPlace &place,
                                             uint32_t z, uint32_t y, uint32_t x, Unsigned even,
                                             Unsigned odd, bool has_odd) const {
    if (grid) {
      store_two(even, odd, has_odd, grid + place.point_at(z, y, x));
      return;
    }
    uint64_t const index = place.value_at(job, z, y, x) - first_value;
    if (index < value_count && index + 1 < value_count)
      store_two(value_of(job, even), value_of(job, odd), has_odd, values + index);
    else if (index < value_count)
      values[index] = value_of(job, even);
    else if (has_odd && index + 1 < value_count) /* the window begins between them */
      values[index + 1] = value_of(job, odd);
  }
};

/* ---- levels ---- */

/* As levels_box.cuh says. */
template <class A>
struct RestoreStep {
  typedef typename A::Unsigned Unsigned;
  static constexpr bool kHasCodes = true;

  const LevelsJob &job;
  const LevelsPlace &place;
  const PointWriter<A> &writer;
  const Unsigned *codes; /* of the tile */
  uint32_t unit;

  __device__ __forceinline__ Unsigned settle(uint32_t, uint32_t, uint32_t, Unsigned predicted,
                                             const Unsigned *code) const {
    return predicted + *code * unit;
  }
  __device__ __forceinline__ void store(uint32_t z, uint32_t y, uint32_t x, Unsigned even,
                                        Unsigned odd, bool has_odd) const {
    writer.store_pair(job, place, z, y, x, even, odd, has_odd);
  }
  template <uint32_t kCount>
  __device__ __forceinline__ void load_codes(uint32_t at, Unsigned (&lane_codes)[kCount]) const {
    load_piece(codes + at, lane_codes);
  }
  template <uint32_t kCount>
  __device__ __forceinline__ void store_codes(uint32_t, const Unsigned (&)[kCount]) const {}
};

template <class A>
__global__ void __launch_bounds__(LevelsPolicy::kThreads)
    level_restore_kernel(const __grid_constant__ LevelsJob job,
                         const __grid_constant__ BoxRows rows, const typename A::Unsigned *known,
                         const typename A::Unsigned *codes, const uint32_t *unit,
                         const __grid_constant__ PointWriter<A> writer) {
  extern __shared__ __align__(16) unsigned char box_memory[];
  __shared__ LevelsPlace place;
  if (threadIdx.x == 0) place = LevelsPlace(job, blockIdx.x);
  __syncthreads(); /* the place is known */
  RestoreStep<A> step = {job, place, writer, codes + (uint64_t)blockIdx.x * job.stage.place_count,
                         unit ? *unit : job.unit.size};
  KnownGrid<A> const known_points(job, place.tile, known);
  LevelsBox<A> const box(job, rows, place.tile, known_points, (typename A::Unsigned *)box_memory);
  box.settle_tile(step);
}

/* ---- the base ---- */

template <class A>
__global__ void __launch_bounds__(LevelsPolicy::kThreads)
    base_restore_kernel(const __grid_constant__ LevelsJob job, const typename A::Unsigned *codes,
                        const uint32_t *unit, const __grid_constant__ PointWriter<A> writer) {
  typedef typename A::Unsigned Unsigned;
  uint32_t const size = unit ? *unit : job.unit.size;
  __shared__ BaseShared<Unsigned> shared;
  if (threadIdx.x == 0) shared.place = LevelsPlace(job, blockIdx.x);
  BaseTile<A> const base(job, &shared);
  const Unsigned *const tile_codes = codes + (uint64_t)blockIdx.x * SZG_LEVELS_BASE_PLACES;
  if (!job.is_halved)
    for (uint32_t i = threadIdx.x; i < SZG_LEVELS_BASE_PLACES; i += LevelsPolicy::kThreads)
      base.at(base.of_place(i)) = tile_codes[i];
  __syncthreads(); /* the codes are there, and the place is known */
  if (job.is_halved)
    base.settle_halves(
        [&](uint32_t x, Unsigned predicted) { return predicted + tile_codes[x] * size; });
  else
    base.sum_tile();
  for (uint32_t piece = threadIdx.x / 32; piece < kBasePieces; piece += LevelsPolicy::kWarps) {
    BasePoint const at = base.of_piece(piece, threadIdx.x % 32);
    if (base.exists(at))
      writer.store(job, shared.place, at.z, at.y, at.x, base.lattice_of(at, size));
  }
}

/* ---- launchers ---- */

template <class A>
szgpu_status restore_level(const LevelsJob &job, const uint32_t *unit, const void *known,
                           const void *codes, const PointWriter<A> &writer, cudaStream_t stream) {
  typedef typename A::Unsigned Unsigned;
  BoxRows const rows(job);
  unsigned blocks;
  SZG_TRY(levels_blocks(job, &blocks));
  auto const kernel = level_restore_kernel<A>;
  SZG_TRY_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostBoxBytes<A>));
  kernel<<<blocks, LevelsPolicy::kThreads, (size_t)box_bytes<A>(rows), stream>>>(
      job, rows, (const Unsigned *)known, (const Unsigned *)codes, unit, writer);
  return szg_launched();
}

template <class A>
szgpu_status restore_base(const LevelsJob &job, const uint32_t *unit, const void *codes,
                          const PointWriter<A> &writer, cudaStream_t stream) {
  unsigned blocks;
  SZG_TRY(levels_blocks(job, &blocks));
  base_restore_kernel<A><<<blocks, LevelsPolicy::kThreads, 0, stream>>>(
      job, (const typename A::Unsigned *)codes, unit, writer);
  return szg_launched();
}

} // namespace
} // namespace szg

szgpu_status szg_levels_restore_stage_cuda(const szg_levels *levels, uint32_t stage,
                                           const szg_levels_tiles_cuda *tiles,
                                           const szg_levels_lattice *lattice, const uint32_t *unit,
                                           const void *codes, void *const *grids, void *values,
                                           uint64_t first_value, uint64_t end_value,
                                           struct CUstream_st *stream) {
  szg::LevelsJob const job(*levels, stage, *lattice, tiles);
  bool const to_values = stage == levels->level_count && values;
  if (job.tiles.tile_count == 0) return SZGPU_OK;
  return szg::with_levels_lattice(*lattice, [&](auto kind) {
    typedef decltype(kind) A;
    szg::PointWriter<A> const writer = {to_values ? nullptr : (typename A::Unsigned *)grids[stage],
                                        (typename A::Value *)values, first_value,
                                        end_value > first_value ? end_value - first_value : 0};
    if (stage == 0) return szg::restore_base<A>(job, unit, codes, writer, stream);
    return szg::restore_level<A>(job, unit, grids[stage - 1], codes, writer, stream);
  });
}
