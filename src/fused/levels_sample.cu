/* levels_sample.cu - counts of all stages of a levels frame, from its values alone.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One block per counted tile. What a tile needs of the coarser grid is estimated from the values
 * into shared memory; the tile is then coded as in levels_code.cu, but its codes go no further than
 * to the warp that counts them.
 *
 * Memory traffic: reads up to 60 KB for each counted tile; adds up to 10 KB of counts for each.
 */
#include "fused/levels_sample.h"

#include "core/cuda_check.cuh"
#include "huffman/tokens_count.cuh"
#include "predict/levels_base.cuh"
#include "predict/levels_box.cuh"

namespace szg {
namespace {

constexpr uint32_t kMostStages = SZG_LEVELS_MOST + 1;
constexpr uint32_t kKnownRows = SZG_LEVELS_KNOWN_ROWS;
constexpr uint32_t kKnownPoints = SZG_LEVELS_ROW + 3; /* one before the row, two after it */
constexpr uint32_t kKnownWords = (kKnownPoints + 31) / 32;
constexpr uint32_t kWarpCodes = 128; /* four rows of points */
static_assert((int)LevelsPolicy::kThreads == (int)CountPolicy::kThreads, "one block does both");

/* ---- the job ---- */

struct SampleStage {
  LevelsJob job;
  BoxRows rows;
  szg_tokens_tiles tiles;
  UnitRule coarse_unit; /* what known points are rounded to */
  uint32_t counted_count;

  SampleStage() = default;
  SampleStage(const szg_levels &levels, uint32_t stage, const szg_levels_lattice &lattice,
              const szg_tokens_tiles &tiles_)
      : job(levels, stage, lattice, nullptr),
        rows(job),
        tiles(tiles_),
        coarse_unit(levels.stages[stage > 0 ? stage - 1 : 0].unit),
        counted_count(szg_levels_counted_tiles(levels.stages[stage].tile_count)) {}
};

struct SampleJob {
  SampleStage stages[kMostStages];
  uint32_t sample_count; /* of all stages */
  szg_tokens_tally *tallies;
  uint8_t *scratch;
};
static_assert(sizeof(SampleJob) <= 4096, "what a launch takes on every device");

/* What a block needs besides the rows of its box: in shared memory, or, if lattice values are wide,
 * in the scratch. */
template <class Unsigned>
struct SampleScratch {
  Unsigned known[kKnownRows][kKnownPoints];
  uint32_t has[kKnownRows][kKnownWords]; /* bit i: the value of point i has a lattice value */
  alignas(16) Unsigned codes[LevelsPolicy::kWarps][kWarpCodes]; /* stored in pieces */
};
static_assert(sizeof(SampleScratch<uint64_t>) <= SZG_LEVELS_SAMPLE_BYTES, "a piece");

template <class A>
constexpr bool kHasSharedScratch = sizeof(typename A::Unsigned) == 4;

/* A block's sample. */
struct SampleBlock {
  SampleStage stage;
  uint32_t stage_index;
  LevelsPlace place;
  BridgedRows<kKnownRows> bridged;
  CountMemory counts;
};

/* ---- values ---- */

template <class A>
struct SampleReader {
  typedef typename A::Unsigned Unsigned;

  const LevelsJob &job;
  const LevelsPlace &place;
  const typename A::Value *values;

  /* The code of a point of the tile; 0 and false if it has no lattice value. */
  __device__ __forceinline__ bool code(uint32_t z, uint32_t y, uint32_t x, Unsigned prediction,
                                       Unsigned *units) const {
    uint64_t const index = place.value_at(job, z, y, x);
    *units = 0;
    if (job.has_virtual && index >= job.value_count) return false;
    return units_of<A>(job.lattice, job.unit, __ldg(values + index), prediction, units);
  }
};

/* ---- points of the coarser grid ---- */

/* Rows of 35 points, from one before the tile's first on; in 1-D, the tile is one row of 32 after
 * the other. */
template <class A>
struct KnownSample {
  typedef typename A::Unsigned Unsigned;

  const LevelsJob &job;
  const szg_levels_tile &tile;
  SampleScratch<Unsigned> *const scratch;
  AxisCounts const z, y;
  int32_t const before_z, before_y; /* rows before the tile's first */
  uint32_t const plane_rows, row_count;

  __device__ KnownSample(const LevelsJob &job_, const szg_levels_tile &tile_,
                         SampleScratch<Unsigned> *scratch_)
      : job(job_),
        tile(tile_),
        scratch(scratch_),
        z(tile_.z, tile_.z_extent, job_.stage.z_extent),
        y(tile_.y, tile_.y_extent, job_.stage.y_extent),
        before_z(job_.axis_count == 3),
        before_y(job_.axis_count >= 2),
        plane_rows(job_.axis_count == 1 ? job_.stage.tile_x / (2 * SZG_LEVELS_ROW)
                                        : level_rows(job_.stage) + 3),
        row_count(plane_rows * (job_.axis_count == 3 ? level_planes(job_.stage) + 3 : 1)) {}

  /* As in KnownGrid. */
  __device__ __forceinline__ Unsigned at(int32_t z_at, int32_t y_at, int32_t i, int32_t n) const {
    uint32_t const row =
        (uint32_t)(z_at + before_z) * plane_rows + (uint32_t)(y_at + before_y + i / SZG_LEVELS_ROW);
    return scratch->known[row][i % SZG_LEVELS_ROW + n + 1];
  }

  /* The values of a row. */
  struct Row {
    bool is_needed;
    uint64_t first_value; /* of point 0 of the row, if it is in the grid */
    uint64_t first_point; /* along x */
  };

  __device__ __forceinline__ Row row_of(uint32_t row) const {
    Row found;
    if (job.axis_count == 1) {
      found.is_needed = row < row_count && row * 2 * SZG_LEVELS_ROW < tile.x_extent;
      found.first_point = tile.x / 2 + row * SZG_LEVELS_ROW - 1;
      found.first_value = tile.box * job.box_stride;
    } else {
      int32_t const z_at = (int32_t)(row / plane_rows) - before_z;
      int32_t const y_at = (int32_t)(row % plane_rows) - before_y;
      uint64_t const grid_z = tile.z / 2 + (uint64_t)(int64_t)z_at; /* wraps before the first */
      uint64_t const grid_y = tile.y / 2 + (uint64_t)(int64_t)y_at;
      bool const is_beside_z = z_at < 0 || z_at >= (int32_t)z.in_box;
      bool const is_beside_y = y_at < 0 || y_at >= (int32_t)y.in_box;
      found.is_needed = row < row_count && grid_z < job.coarse_z && grid_y < job.coarse_y &&
                        z_at < (int32_t)z.odd + 2 && y_at < (int32_t)y.odd + 2 &&
                        !(is_beside_z && is_beside_y);
      found.first_point = tile.x / 2 - 1;
      found.first_value =
          tile.box * job.box_stride + 2 * (grid_z * job.z_stride + grid_y * job.y_stride);
    }
    return found;
  }
  /* Whether the grid has point i of the row. (Point 0 may be before the first.) */
  __device__ __forceinline__ bool has_point(const Row &row, uint32_t i) const {
    return row.is_needed && i < kKnownPoints && row.first_point + i < job.coarse_x;
  }

  /* Estimates the points; the whole block calls. */
  __device__ void estimate(const UnitRule &unit, const typename A::Value *values,
                           BridgedRows<kKnownRows> *bridged) const {
    constexpr uint32_t kAhead = 4, kWarps = LevelsPolicy::kWarps;
    uint32_t const lane = threadIdx.x % 32;
    bool any_none = false;
    for (uint32_t first = threadIdx.x / 32; first < row_count; first += kWarps * kAhead) {
      typename A::Value x[kAhead][kKnownWords];
#pragma unroll
      for (uint32_t k = 0; k < kAhead; k++)
#pragma unroll
        for (uint32_t half = 0; half < kKnownWords; half++)
          x[k][half] = load(row_of(first + k * kWarps), lane + 32 * half, values);
#pragma unroll
      for (uint32_t k = 0; k < kAhead; k++)
#pragma unroll
        for (uint32_t half = 0; half < kKnownWords; half++)
          any_none |= settle(unit, first + k * kWarps, half, x[k][half]);
    }
    if (!__syncthreads_or(any_none)) return; /* points are there */
    bridge(bridged);
    __syncthreads(); /* stand-ins, too */
  }

 private:
  /* A value that has no lattice value, if the frame has none there. */
  __device__ __forceinline__ typename A::Value load(const Row &row, uint32_t i,
                                                    const typename A::Value *values) const {
    typename A::Value const none = (typename A::Value)__int_as_float(0x7fc00000);
    uint64_t const index = row.first_value + 2 * (row.first_point + i) * job.x_stride;
    if (!has_point(row, i) || (job.has_virtual && index >= job.value_count)) return none;
    return __ldg(values + index);
  }
  /* Notes a word of a row. Whether it has a point without a lattice value. */
  __device__ __forceinline__ bool settle(const UnitRule &unit, uint32_t row, uint32_t half,
                                         typename A::Value x) const {
    uint32_t const i = 32 * half + threadIdx.x % 32;
    if (row >= row_count) return false; /* for the whole warp */
    Unsigned multiple;
    bool const has = units_of<A>(job.lattice, unit, x, 0, &multiple);
    bool const is_point = has_point(row_of(row), i);
    uint32_t const has_it = __ballot_sync(kAllLanes, has && is_point);
    if (i < kKnownPoints) scratch->known[row][i] = multiple * unit.size;
    if (threadIdx.x % 32 == 0) scratch->has[row][half] = has_it;
    return is_point && !has;
  }
  __device__ void bridge(BridgedRows<kKnownRows> *bridged) const {
    bridged->find_filled(scratch->has[0], row_count, kKnownWords);
    __syncthreads(); /* filled rows are known */
    for (uint32_t row = threadIdx.x / 32; row < row_count; row += LevelsPolicy::kWarps)
      for (uint32_t i = threadIdx.x % 32; i < kKnownPoints; i += 32) {
        if (scratch->has[row][i / 32] >> i % 32 & 1 || !has_point(row_of(row), i)) continue;
        typedef typename A::Point Point;
        auto const value_at = [&](uint32_t from, uint32_t x) {
          return (Point)scratch->known[from][x];
        };
        bool const is_alone = job.axis_count == 1; /* rows of one axis have nothing of others */
        Point stand_in = 0;
        if (!is_alone || bridged->filled[row / 32] >> row % 32 & 1)
          stand_in =
              bridged->template stand_in<Point>(scratch->has[0], kKnownWords, row, i, value_at);
        scratch->known[row][i] = (Unsigned)stand_in;
      }
  }
};

/* ---- counting ---- */

/* As levels_box.cuh says. */
template <class A>
struct SampleStep {
  typedef typename A::Unsigned Unsigned;
  typedef typename A::Point Point;
  static constexpr bool kHasCodes = false;

  SampleReader<A> reader;
  const szg_tokens_tiles &tiles;
  TokensTile tile;
  Unsigned *codes; /* [kWarpCodes]: the warp's */
  CountMemory *counts;
  CountedBits bits;

  __device__ __forceinline__ Unsigned settle(uint32_t z, uint32_t y, uint32_t x, Unsigned predicted,
                                             Unsigned *code) const {
    reader.code(z, y, x, predicted, code);
    return predicted + *code * reader.job.unit.size;
  }
  __device__ __forceinline__ void store(uint32_t, uint32_t, uint32_t, Unsigned, Unsigned,
                                        bool) const {}
  template <uint32_t kCount>
  __device__ __forceinline__ void load_codes(uint32_t, Unsigned (&)[kCount]) const {}

  /* Counts the groups that the warp has, whose codes are in its memory. */
  __device__ __forceinline__ void count(uint32_t first_group, uint32_t group_count) {
    __syncwarp(); /* codes are there */
    for (uint32_t i = 0; i < group_count; i++)
      count_codes(tiles, tile, first_group + i, (const Point *)codes + i * kGroupPlaces, counts,
                  &bits);
    __syncwarp(); /* their memory is free */
  }
  template <uint32_t kCount>
  __device__ __forceinline__ void store_codes(uint32_t at, const Unsigned (&lane_codes)[kCount]) {
    static_assert(kCount * 32 <= kWarpCodes, "room");
    store_piece(lane_codes, codes + kCount * (threadIdx.x % 32));
    if (kCount * 32 >= kGroupPlaces) count(at / kWarpCodes * 2, kCount * 32 / kGroupPlaces);
  }
};

/* A tile of the base, or one of one axis: group after group. code_of(place): its code. */
template <class A, class CodeOf>
__device__ void count_places(SampleStep<A> &step, CodeOf code_of) {
  uint32_t const lane = threadIdx.x % 32;
  for (uint32_t i = threadIdx.x / 32; i < step.tiles.group_count; i += LevelsPolicy::kWarps) {
    step.codes[lane] = code_of(i * kGroupPlaces + lane);
    step.codes[32 + lane] = code_of(i * kGroupPlaces + 32 + lane);
    step.count(i, 1);
  }
}

template <class A>
__device__ void count_base(SampleStep<A> &step, void *memory) {
  auto *const shared = (BaseShared<typename A::Unsigned> *)memory;
  if (threadIdx.x == 0) shared->place = step.reader.place;
  __syncthreads(); /* the place is known */
  BaseTile<A> const base(step.reader.job, shared);
  base.find_multiples(step.reader);
  count_places(step, [&](uint32_t place) { return base.code_of(place); });
}

template <class A>
__device__ void count_level(const SampleBlock &block, const KnownSample<A> &known,
                            SampleStep<A> &step, void *memory) {
  typedef typename A::Unsigned Unsigned;
  const LevelsJob &job = block.stage.job;
  LevelsBox<A, KnownSample<A>> const box(job, block.stage.rows, block.place.tile, known,
                                         (Unsigned *)memory);
  if (job.axis_count > 1) {
    box.settle_tile(step);
    return;
  }
  count_places(step, [&](uint32_t i) {
    Unsigned code = 0;
    if (2 * i + 1 < block.place.tile.x_extent)
      step.settle(0, 0, 2 * i + 1, box.predict_single(SZG_AXIS_X, 0, 0, i), &code);
    return code;
  });
}

/* ---- kernel ---- */

/* Finds sample n of those of all stages. The whole block calls. */
__device__ void find_sample(const SampleJob &job, uint32_t n, SampleBlock *block) {
  uint32_t stage = 0, i = n;
  while (i >= job.stages[stage].counted_count) i -= job.stages[stage++].counted_count;
  static_assert(sizeof(SampleStage) % 4 == 0, "whole words");
  auto const *const from = reinterpret_cast<const uint32_t *>(&job.stages[stage]);
  auto *const to = reinterpret_cast<uint32_t *>(&block->stage);
  for (uint32_t at = threadIdx.x; at < sizeof(SampleStage) / 4; at += LevelsPolicy::kThreads)
    to[at] = from[at];
  for (uint32_t at = threadIdx.x; at < kTallyNumbers; at += LevelsPolicy::kThreads)
    block->counts.sums[at] = 0;
  __syncthreads(); /* the stage is there, and sums begin at 0 */
  if (threadIdx.x == 0) {
    uint64_t const tile_index =
        szg_levels_counted_tile(block->stage.tiles.tile_count, block->stage.counted_count, i);
    block->place = LevelsPlace(block->stage.job, tile_index);
    block->stage_index = stage;
  }
  __syncthreads(); /* and the tile */
}

template <class A>
__global__ void __launch_bounds__(LevelsPolicy::kThreads)
    levels_sample_kernel(const __grid_constant__ SampleJob job, const typename A::Value *values) {
  typedef typename A::Unsigned Unsigned;
  typedef SampleScratch<Unsigned> Scratch;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ SampleBlock block;
  constexpr uint32_t kOwnScratch = kHasSharedScratch<A> ? sizeof(Scratch) : 0;
  auto *const scratch =
      (Scratch *)(kHasSharedScratch<A> ? memory
                                       : job.scratch + blockIdx.x * SZG_LEVELS_SAMPLE_BYTES);
  for (uint32_t n = blockIdx.x; n < job.sample_count; n += gridDim.x) {
    find_sample(job, n, &block);
    const SampleStage &stage = block.stage;
    SampleStep<A> step = {{stage.job, block.place, values},
                          stage.tiles,
                          tokens_tile_of(block.place.tile, stage.tiles),
                          scratch->codes[threadIdx.x / 32],
                          &block.counts,
                          {}};
    if (stage.tiles.is_base) {
      count_base(step, memory + kOwnScratch);
    } else {
      KnownSample<A> const known(stage.job, block.place.tile, scratch);
      known.estimate(stage.coarse_unit, values, &block.bridged);
      count_level(block, known, step, memory + kOwnScratch);
    }
    step.bits.add_to(&block.counts);
    __syncthreads(); /* all groups are counted */
    count_live(stage.tiles.group_count, &block.counts);
    __syncthreads(); /* sums are complete */
    add_sums(block.counts, &job.tallies[block.stage_index]);
    __syncthreads(); /* the block's memory is free */
  }
}

/* ---- launcher ---- */

/* Dynamic shared memory. */
template <class A>
size_t sample_bytes(const SampleJob &job, uint32_t stage_count) {
  size_t most = sizeof(BaseShared<typename A::Unsigned>);
  for (uint32_t i = 1; i < stage_count; i++)
    if ((size_t)box_bytes<A>(job.stages[i].rows) > most) most = box_bytes<A>(job.stages[i].rows);
  return most + (kHasSharedScratch<A> ? sizeof(SampleScratch<typename A::Unsigned>) : 0);
}
template <class A>
constexpr size_t kMostSampleBytes =
    kMostBoxBytes<A> + (kHasSharedScratch<A> ? sizeof(SampleScratch<typename A::Unsigned>) : 0);
static_assert(kMostSampleBytes<LevelsF64> + sizeof(SampleBlock) <= SZG_LEAST_SHARED_BYTES, "");
static_assert(kMostSampleBytes<LevelsF64Wide> + sizeof(SampleBlock) <= SZG_LEAST_SHARED_BYTES, "");
static_assert(sizeof(BaseShared<uint64_t>) <= kMostBoxBytes<LevelsF64Wide>, "");

template <class A>
szgpu_status sample(const SampleJob &job, uint32_t stage_count, const void *values,
                    uint64_t scratch_bytes, cudaStream_t stream) {
  uint32_t blocks = job.sample_count;
  if (!kHasSharedScratch<A> && blocks > scratch_bytes / SZG_LEVELS_SAMPLE_BYTES)
    blocks = (uint32_t)(scratch_bytes / SZG_LEVELS_SAMPLE_BYTES);
  auto const kernel = levels_sample_kernel<A>;
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)kMostSampleBytes<A>));
  kernel<<<blocks, LevelsPolicy::kThreads, sample_bytes<A>(job, stage_count), stream>>>(
      job, (const typename A::Value *)values);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

} // namespace
} // namespace szg

szgpu_status szg_levels_sample_cuda(const szg_levels *levels, const szg_levels_lattice *lattice,
                                    const szg_tokens_tiles *tiles, const void *values,
                                    szg_tokens_tally *tallies, void *scratch,
                                    uint64_t scratch_bytes, struct CUstream_st *stream) {
  uint32_t const stage_count = levels->level_count + 1;
  szg::SampleJob job;
  job.sample_count = 0;
  job.tallies = tallies;
  job.scratch = (uint8_t *)scratch;
  for (uint32_t i = 0; i < stage_count; i++) {
    job.stages[i] = szg::SampleStage(*levels, i, *lattice, tiles[i]);
    job.sample_count += job.stages[i].counted_count;
  }
  SZG_TRY_CUDA(cudaMemsetAsync(tallies, 0, stage_count * sizeof *tallies, stream));
  if (job.sample_count == 0) return SZGPU_OK;
  return szg::with_levels_lattice(*lattice, [&](auto kind) {
    return szg::sample<decltype(kind)>(job, stage_count, values, scratch_bytes, stream);
  });
}
