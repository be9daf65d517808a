/* levels_sample.cu - counts of all stages of a levels frame, from its values alone.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One block per counted tile. What a tile needs of the coarser grid is estimated from the values
 * into shared memory; the tile is then coded as in levels_code.cu, but its codes go no further than
 * to the warp that counts them. There are about five tiles for each multiprocessor, so the kernel
 * takes as long as a tile or two: values are loaded many at a time, before any is used.
 *
 * Memory traffic: reads up to 60 KB for each counted tile; adds up to 10 KB of counts for each.
 */
#include "codecs/interpolation/levels_sample.h"

#include "codecs/interpolation/levels_sample_level.cuh"
#include "core/cuda_check.cuh"

namespace szg {
namespace {

constexpr uint32_t kMostStages = SZG_LEVELS_MOST + 1;
static_assert((int)LevelsPolicy::kThreads == (int)CountPolicy::kThreads, "one block does both");

/* ---- the job ---- */

struct SampleStage {
  LevelsGrid job;
  BoxRows rows;
  szg_tokens_tiles tiles;
  UnitRule coarse_unit; /* what known points are rounded to */
  uint32_t counted_count;

  SampleStage() = default;
  SampleStage(const szg_levels &levels, uint32_t stage, const szg_tokens_tiles &tiles_)
      : job(levels, stage, nullptr),
        rows(job),
        tiles(tiles_),
        coarse_unit(levels.stages[stage > 0 ? stage - 1 : 0].unit),
        counted_count(szg_levels_counted_tiles(levels.stages[stage].tile_count)) {}
};

struct SampleJob {
  szg_levels_lattice lattice;
  SampleStage stages[kMostStages];
  uint32_t sample_count; /* of all stages */
  szg_tokens_tally *tallies;
  uint8_t *scratch;
  uint32_t box_bytes; /* of shared memory, before the scratch if that is there too */
};
static_assert(sizeof(SampleJob) <= 4096, "what a launch takes on every device");

template <class A>
constexpr bool kHasSharedScratch = sizeof(typename A::Unsigned) == 4;
static_assert(sizeof(SampleScratch<uint64_t>) <= SZG_LEVELS_SAMPLE_BYTES, "a piece");

/* Narrow blocks share a multiprocessor with three others, whose values they wait for in turn. */
template <class A>
struct SamplePolicy {
  static constexpr int kBlocks = kHasSharedScratch<A> ? 4 : 1;
};

/* A block's sample. */
struct SampleBlock {
  LevelsPlace place;
  BridgedRows<kKnownRows> bridged;
  CountMemory counts;
};

/* ---- tiles of groups ---- */

/* A tile whose codes are found place by place: of the base, or of one axis. */
template <class A>
struct SampleGroups {
  typedef typename A::Unsigned Unsigned;
  typedef typename A::Point Point;

  const SampleStage &stage;
  const szg_levels_lattice &lattice;
  const LevelsPlace &place;
  const typename A::Value *values;
  Unsigned *codes; /* [kGroupPlaces]: the warp's */
  CountMemory *counts;
  CountedBits *bits;

  __device__ __forceinline__ typename A::Value load(bool exists, uint32_t z, uint32_t y,
                                                    uint32_t x) const {
    uint64_t const index = place.value_at(stage.job, z, y, x);
    bool const is_virtual = stage.job.has_virtual && index >= stage.job.value_count;
    return value_or_none<A>(exists && !is_virtual, values + index);
  }

  /* Group after group. code_of(place): the code. The whole block calls. */
  template <class CodeOf>
  __device__ void count(CodeOf code_of) const {
    uint32_t const lane = threadIdx.x % 32;
    TokensTile const tile = tokens_tile_of(place.tile, stage.tiles);
    for (uint32_t i = threadIdx.x / 32; i < stage.tiles.group_count; i += LevelsPolicy::kWarps) {
      codes[lane] = code_of(i * kGroupPlaces + lane);
      codes[32 + lane] = code_of(i * kGroupPlaces + 32 + lane);
      __syncwarp(); /* codes are there */
      count_codes(stage.tiles, tile, i, (const Point *)codes, counts, bits);
      __syncwarp(); /* their memory is free */
    }
  }

  /* The multiples of all points of a tile of the base. The whole block calls. */
  __device__ void find_multiples(const BaseTile<A> &base) const {
    constexpr uint32_t kAhead = sizeof(typename A::Value) == 4 ? 8 : 4;
    constexpr uint32_t kWarps = LevelsPolicy::kWarps;
    static_assert(kBasePieces % (kWarps * kAhead) == 0, "all have as many");
    uint32_t const lane = threadIdx.x % 32;
    bool any_none = false;
    for (uint32_t first = threadIdx.x / 32; first < kBasePieces; first += kWarps * kAhead) {
      typename A::Value x[kAhead];
#pragma unroll
      for (uint32_t k = 0; k < kAhead; k++) {
        BasePoint const point = base.of_piece(first + k * kWarps, lane);
        x[k] = load(base.exists(point), point.z, point.y, point.x);
      }
#pragma unroll
      for (uint32_t k = 0; k < kAhead; k++) {
        BasePoint const point = base.of_piece(first + k * kWarps, lane);
        Unsigned multiple;
        bool const has = units_of<A>(lattice, stage.job.unit, x[k], 0, &multiple);
        base.at(point) = multiple;
        uint32_t const none = __ballot_sync(kAllLanes, base.exists(point) && !has);
        if (lane == 0) base.shared->has_none[first + k * kWarps] = none;
        any_none |= none != 0;
      }
    }
    base.fill_gaps(any_none);
  }

  __device__ void count_base(void *memory) const {
    auto *const shared = (BaseShared<Unsigned> *)memory;
    if (threadIdx.x == 0) shared->place = place;
    __syncthreads(); /* the place is known */
    BaseTile<A> const base(stage.job, shared);
    if (stage.job.is_halved)
      base.settle_halves([&](uint32_t x, Unsigned predicted) {
        Unsigned code;
        units_of<A>(lattice, stage.job.unit, load(true, 0, 0, x), predicted, &code);
        return predicted + code * stage.job.unit.size;
      });
    else
      find_multiples(base);
    count([&](uint32_t at) { return base.code_of(at); });
  }

  template <class Box>
  __device__ void count_line(const Box &box) const {
    count([&](uint32_t i) {
      Unsigned code = 0;
      bool const exists = 2 * i + 1 < place.tile.x_extent;
      if (exists)
        units_of<A>(lattice, stage.job.unit, load(true, 0, 0, 2 * i + 1),
                    box.predict_single(SZG_AXIS_X, 0, 0, i), &code);
      return code;
    });
  }
};

/* ---- kernel ---- */

/* Finds sample n of those of all stages; returns its stage. The whole block calls. */
__device__ uint32_t find_sample(const SampleJob &job, uint32_t n, SampleBlock *block) {
  uint32_t stage = 0, i = n;
  while (i >= job.stages[stage].counted_count) i -= job.stages[stage++].counted_count;
  if (threadIdx.x == 0) {
    const SampleStage &own = job.stages[stage];
    uint64_t const tile_index = szg_number_in_part(own.tiles.tile_count, own.counted_count, i);
    block->place = LevelsPlace(own.job, tile_index);
  }
  for (uint32_t at = threadIdx.x; at < kTallyNumbers; at += LevelsPolicy::kThreads)
    block->counts.sums[at] = 0;
  __syncthreads(); /* the tile is known, and sums begin at 0 */
  return stage;
}

template <class A>
__device__ __forceinline__ void count_sample(const SampleStage &stage,
                                             const szg_levels_lattice &lattice,
                                             const typename A::Value *values,
                                             SampleScratch<typename A::Unsigned> *scratch,
                                             unsigned char *memory, SampleBlock *block) {
  typedef typename A::Unsigned Unsigned;
  CountedBits bits;
  LevelsPlace const place = block->place;
  SampleGroups<A> const groups = {
      stage, lattice, place, values, scratch->codes[threadIdx.x / 32], &block->counts, &bits};
  if (stage.tiles.is_base) {
    groups.count_base(memory);
  } else {
    KnownSample<A> const known(stage.job, lattice, place.tile, scratch);
    LevelsBox<A, KnownSample<A>> const box(stage.job, stage.rows, place.tile, known,
                                           (Unsigned *)memory);
    SampleLevel<A> const level(stage.job, lattice, place, box, scratch, &block->counts, &bits);
    known.find_rows();
    if (stage.job.axis_count > 1) level.bring(values);
    __syncthreads(); /* it is known where rows are */
    known.estimate(stage.coarse_unit, values, &block->bridged);
    if (stage.job.axis_count > 1)
      level.settle_tile();
    else
      groups.count_line(box);
  }
  bits.add_to(&block->counts);
}

template <class A>
__global__ void __launch_bounds__(LevelsPolicy::kThreads, SamplePolicy<A>::kBlocks)
    levels_sample_kernel(const __grid_constant__ SampleJob job, const typename A::Value *values) {
  typedef SampleScratch<typename A::Unsigned> Scratch;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ SampleBlock block;
  auto *const scratch =
      (Scratch *)(kHasSharedScratch<A> ? memory + job.box_bytes
                                       : job.scratch + blockIdx.x * SZG_LEVELS_SAMPLE_BYTES);
  for (uint32_t n = blockIdx.x; n < job.sample_count; n += gridDim.x) {
    uint32_t const stage_index = find_sample(job, n, &block);
    const SampleStage &stage = job.stages[stage_index];
    count_sample<A>(stage, job.lattice, values, scratch, memory, &block);
    __syncthreads(); /* all groups are counted */
    count_live(stage.tiles.group_count, &block.counts);
    __syncthreads(); /* sums are complete */
    add_sums(block.counts, &job.tallies[stage_index]);
    __syncthreads(); /* the block's memory is free */
  }
}

/* ---- launcher ---- */

template <class A>
uint32_t most_box_bytes(const SampleJob &job, uint32_t stage_count) {
  uint32_t most = sizeof(BaseShared<typename A::Unsigned>);
  for (uint32_t i = 1; i < stage_count; i++)
    if ((uint32_t)box_bytes<A>(job.stages[i].rows) > most)
      most = (uint32_t)box_bytes<A>(job.stages[i].rows);
  return (most + 15) / 16 * 16;
}
/* Of the scratch, as many rows as a frame needs. */
template <class A>
size_t scratch_bytes_of(bool is_quintic) {
  typedef SampleScratch<typename A::Unsigned> Scratch;
  constexpr uint32_t kUsualRows = 11 * 7;
  uint32_t const rows = is_quintic ? kKnownRows : kUsualRows;
  return offsetof(Scratch, known) + rows * sizeof(Scratch::known[0]);
}
template <class A>
constexpr size_t kMostSampleBytes =
    kMostBoxBytes<A> + (kHasSharedScratch<A> ? sizeof(SampleScratch<typename A::Unsigned>) : 0);
static_assert(kMostSampleBytes<LevelsF64> + sizeof(SampleBlock) <= SZG_LEAST_SHARED_BYTES, "");
static_assert(kMostSampleBytes<LevelsF64Wide> + sizeof(SampleBlock) <= SZG_LEAST_SHARED_BYTES, "");
static_assert(sizeof(BaseShared<uint64_t>) <= kMostBoxBytes<LevelsF64Wide>, "");

template <class A>
szgpu_status sample(SampleJob &job, uint32_t stage_count, const void *values,
                    uint64_t scratch_bytes, cudaStream_t stream) {
  uint32_t blocks = job.sample_count;
  if (!kHasSharedScratch<A> && blocks > scratch_bytes / SZG_LEVELS_SAMPLE_BYTES)
    blocks = (uint32_t)(scratch_bytes / SZG_LEVELS_SAMPLE_BYTES);
  auto const kernel = levels_sample_kernel<A>;
  job.box_bytes = most_box_bytes<A>(job, stage_count);
  size_t bytes = job.box_bytes;
  if (kHasSharedScratch<A>) bytes += scratch_bytes_of<A>(job.stages[0].job.is_quintic);
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)kMostSampleBytes<A>));
  kernel<<<blocks, LevelsPolicy::kThreads, bytes, stream>>>(job, (const typename A::Value *)values);
  return szg_launched();
}

} // namespace
} // namespace szg

szgpu_status szg_levels_sample_cuda(const szg_levels *levels, const szg_levels_lattice *lattice,
                                    const szg_tokens_tiles *tiles, const void *values,
                                    szg_tokens_tally *tallies, void *scratch,
                                    uint64_t scratch_bytes, struct CUstream_st *stream) {
  uint32_t const stage_count = levels->level_count + 1;
  szg::SampleJob job;
  job.lattice = *lattice;
  job.sample_count = 0;
  job.tallies = tallies;
  job.scratch = (uint8_t *)scratch;
  for (uint32_t i = 0; i < stage_count; i++) {
    job.stages[i] = szg::SampleStage(*levels, i, tiles[i]);
    job.sample_count += job.stages[i].counted_count;
  }
  SZG_TRY_CUDA(cudaMemsetAsync(tallies, 0, stage_count * sizeof *tallies, stream));
  if (job.sample_count == 0) return SZGPU_OK;
  return szg::with_levels_lattice(*lattice, [&](auto kind) {
    return szg::sample<decltype(kind)>(job, stage_count, values, scratch_bytes, stream);
  });
}
