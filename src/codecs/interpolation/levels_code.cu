/* levels_code.cu - a stage of a levels frame on the GPU: values to codes. One block per tile.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the values of the stage's points and the coarser grid; writes codes, and lattice values
 * unless the stage is the last.
 */
#include "codecs/interpolation/levels_base.cuh"
#include "codecs/interpolation/levels_box.cuh"
#include "codecs/interpolation/levels_marks.cuh"

namespace szg {
namespace {

/* ---- values of a tile ---- */

/* What the points of a tile's values need. */
template <class A>
struct ValueReader {
  typedef typename A::Unsigned Unsigned;

  const LevelsJob &job;
  const MarkRule &rule;
  const LevelsPlace &place;
  const typename A::Value *values;

  /* Coordinates in the tile. */
  __device__ __noinline__ void mark(uint32_t z, uint32_t y, uint32_t x) const {
    const szg_levels_tile &tile = place.tile;
    uint64_t const spacing = job.stage.spacing;
    if (rule.is_line)
      rule.mark_value(place.value_at(job, z, y, x));
    else
      rule.mark(tile.box, (tile.z + z) * (job.axis_count == 3 ? spacing : 1),
                (tile.y + y) * (job.axis_count >= 2 ? spacing : 1), (tile.x + x) * spacing);
  }

  /* The code of a point of the tile; 0 and false if it has no lattice value. */
  __device__ __forceinline__ bool code(uint32_t z, uint32_t y, uint32_t x, Unsigned prediction,
                                       Unsigned *units) const {
    uint64_t const index = place.value_at(job, z, y, x);
    *units = 0;
    if (job.has_virtual && index >= job.value_count) return false;
    bool const has_point =
        units_of<A>(job.lattice, job.unit, __ldg(values + index), prediction, units);
    if (!has_point && rule.marks) mark(z, y, x);
    return has_point;
  }
};

/* ---- levels ---- */

/* As levels_box.cuh says. */
template <class A>
struct CodeStep {
  typedef typename A::Unsigned Unsigned;
  static constexpr bool kHasCodes = false;

  ValueReader<A> reader;
  Unsigned *codes; /* of the tile */
  Unsigned *grid;  /* NULL in the last stage */

  __device__ __forceinline__ Unsigned settle(uint32_t z, uint32_t y, uint32_t x, Unsigned predicted,
                                             Unsigned *code) const {
    reader.code(z, y, x, predicted, code);
    return predicted + *code * reader.job.unit.size;
  }
  __device__ __forceinline__ void store(uint32_t z, uint32_t y, uint32_t x, Unsigned even,
                                        Unsigned odd, bool has_odd) const {
    if (grid) store_two(even, odd, has_odd, grid + reader.place.point_at(z, y, x));
  }
  template <uint32_t kCount>
  __device__ __forceinline__ void load_codes(uint32_t, Unsigned (&)[kCount]) const {}
  template <uint32_t kCount>
  __device__ __forceinline__ void store_codes(uint32_t at,
                                              const Unsigned (&lane_codes)[kCount]) const {
    store_piece(lane_codes, codes + at);
  }
};

template <class A>
__global__ void __launch_bounds__(LevelsPolicy::kThreads)
    level_code_kernel(const __grid_constant__ LevelsJob job, const __grid_constant__ BoxRows rows,
                      const __grid_constant__ MarkRule rule, const typename A::Value *values,
                      const typename A::Unsigned *known, typename A::Unsigned *codes,
                      typename A::Unsigned *grid) {
  extern __shared__ __align__(16) unsigned char box_memory[];
  __shared__ LevelsPlace place;
  if (threadIdx.x == 0) place = LevelsPlace(job, blockIdx.x);
  __syncthreads(); /* the place is known */
  CodeStep<A> step = {
      {job, rule, place, values}, codes + (uint64_t)blockIdx.x * job.stage.place_count, grid};
  KnownGrid<A> const known_points(job, place.tile, known);
  LevelsBox<A> const box(job, rows, place.tile, known_points, (typename A::Unsigned *)box_memory);
  box.settle_tile(step);
}

/* ---- the base ---- */

template <class A>
__global__ void __launch_bounds__(LevelsPolicy::kThreads)
    base_code_kernel(const __grid_constant__ LevelsJob job, const __grid_constant__ MarkRule rule,
                     const typename A::Value *values, typename A::Unsigned *codes,
                     typename A::Unsigned *grid) {
  typedef typename A::Unsigned Unsigned;
  __shared__ BaseShared<Unsigned> shared;
  const LevelsPlace &place = shared.place;
  if (threadIdx.x == 0) shared.place = LevelsPlace(job, blockIdx.x);
  __syncthreads(); /* the place is known */
  BaseTile<A> const base(job, &shared);
  ValueReader<A> const reader = {job, rule, place, values};
  if (job.is_halved)
    base.settle_halves([&](uint32_t x, Unsigned predicted) {
      Unsigned code;
      reader.code(0, 0, x, predicted, &code);
      return predicted + code * job.unit.size;
    });
  else
    base.find_multiples(reader);
  Unsigned *const tile_codes = codes + (uint64_t)blockIdx.x * SZG_LEVELS_BASE_PLACES;
  for (uint32_t i = threadIdx.x; i < SZG_LEVELS_BASE_PLACES; i += LevelsPolicy::kThreads)
    tile_codes[i] = base.code_of(i);
  if (!grid) return;
  for (uint32_t piece = threadIdx.x / 32; piece < kBasePieces; piece += LevelsPolicy::kWarps) {
    BasePoint const at = base.of_piece(piece, threadIdx.x % 32);
    if (base.exists(at))
      grid[place.point_at(at.z, at.y, at.x)] = base.lattice_of(at, job.unit.size);
  }
}

/* ---- launchers ---- */

template <class A>
szgpu_status code_level(const LevelsJob &job, const MarkRule &rule, const void *values,
                        const void *known, void *codes, void *grid, cudaStream_t stream) {
  typedef typename A::Unsigned Unsigned;
  BoxRows const rows(job);
  unsigned blocks;
  SZG_TRY(levels_blocks(job, &blocks));
  auto const kernel = level_code_kernel<A>;
  SZG_TRY_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostBoxBytes<A>));
  kernel<<<blocks, LevelsPolicy::kThreads, (size_t)box_bytes<A>(rows), stream>>>(
      job, rows, rule, (const typename A::Value *)values, (const Unsigned *)known,
      (Unsigned *)codes, (Unsigned *)grid);
  return szg_launched();
}

template <class A>
szgpu_status code_base(const LevelsJob &job, const MarkRule &rule, const void *values, void *codes,
                       void *grid, cudaStream_t stream) {
  typedef typename A::Unsigned Unsigned;
  unsigned blocks;
  SZG_TRY(levels_blocks(job, &blocks));
  base_code_kernel<A><<<blocks, LevelsPolicy::kThreads, 0, stream>>>(
      job, rule, (const typename A::Value *)values, (Unsigned *)codes, (Unsigned *)grid);
  return szg_launched();
}

} // namespace
} // namespace szg

szgpu_status szg_levels_code_stage_cuda(const szg_levels *levels, uint32_t stage,
                                        const szg_levels_lattice *lattice, const void *values,
                                        void *const *grids, const szg_levels_tiles_cuda *tiles,
                                        void *codes, const szg_levels_marks_cuda *marks,
                                        struct CUstream_st *stream) {
  szg::LevelsJob const job(*levels, stage, *lattice, tiles);
  szg::MarkRule const rule(*levels, marks);
  void *const grid = stage < levels->level_count ? grids[stage] : nullptr;
  if (job.tiles.tile_count == 0) return SZGPU_OK;
  return szg::with_levels_lattice(*lattice, [&](auto kind) {
    typedef decltype(kind) A;
    if (stage == 0) return szg::code_base<A>(job, rule, values, codes, grid, stream);
    return szg::code_level<A>(job, rule, values, grids[stage - 1], codes, grid, stream);
  });
}
