/* base_encode.cu - the base of three axes on the GPU: from values to words. One block per tile.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   multiples   values to multiples of the unit, in registers, and to the grid
 *   codes       differences along z in registers, along x by shuffles, along y from shared memory
 *   words       groups to bits in shared memory (base_encode_groups.cuh), and these to the next
 *               free place in global memory
 *
 * All levels wait for the grid, and there are few tiles. So what counts is latency: each step has
 * all threads at work. Memory traffic: reads the values of the base's points, of which each takes a
 * sector of 32 bytes, and writes points and words once.
 */
#include "codecs/interpolation/base_encode_groups.cuh"
#include "codecs/interpolation/levels_encode.h"
#include "codecs/interpolation/levels_encode_step.cuh"
#include "codecs/interpolation/levels_marks.cuh"
#include "core/copy_ahead.cuh"

namespace szg {
namespace {

struct BaseEncodePolicy {
  static constexpr uint32_t kThreads = LevelsPolicy::kThreads;
  static constexpr uint32_t kWarps = kThreads / 32;
};

struct BaseEncodeMemory {
  BaseGroups groups;
  union {
    BaseShared<uint32_t> bridge; /* of tiles in which some values have no lattice value */
    alignas(16) uint32_t words[kBaseTileWords]; /* cleared by pieces */
  };
};
static_assert(sizeof(BaseEncodeMemory) <= SZG_LEAST_SHARED_BYTES, "a block fits on any GPU");

template <class A>
struct BaseEncodeJob {
  LevelsJob stage;
  BaseLevel level;
  LevelsCoder<A> coder;
  MarkRule rule;
  const typename A::Value *values;
  uint32_t *grid;
  const szg_tokens_book_cuda *book;
  szg_levels_encode_work_cuda work;
  szg_levels_encoded_cuda encoded;

  __device__ __forceinline__ bool is_along(uint32_t axis) const {
    return (stage.base_axes & axis) != 0;
  }
};

/* A thread's points: one y and one x, and all z. */
typedef uint32_t BaseLine[kBaseZ];

/* ---- multiples ---- */

/* Stand-ins for points without a lattice value, whose bits are set in `none`. The whole block
 * calls. */
template <class A>
__device__ __forceinline__ void bridge_base(const BaseEncodeJob<A> &job, const BasePlace &place,
                                            uint32_t none, BaseShared<uint32_t> *bridge,
                                            BaseLine &line) {
  uint32_t const x = threadIdx.x % 32, y = threadIdx.x / 32;
  uint32_t *const own = bridge->multiples + y * kBaseRow + x;
#pragma unroll
  for (uint32_t z = 0; z < kBaseZ; z++) {
    uint32_t const in_row = __ballot_sync(kAllLanes, none >> z & 1);
    if (x == 0) bridge->has_none[z * kBaseY + y] = in_row;
    own[z * kBaseY * kBaseRow] = line[z];
  }
  if (threadIdx.x == 0) bridge->place = LevelsPlace(job.stage, blockIdx.x);
  __syncthreads(); /* multiples are there, and it is known which are missing */
  BaseTile<A>(job.stage, bridge).bridge_none();
  __syncthreads(); /* stand-ins are there */
  uint32_t const spacing = (uint32_t)job.stage.stage.spacing;
#pragma unroll
  for (uint32_t z = 0; z < kBaseZ; z++) {
    line[z] = own[z * kBaseY * kBaseRow];
    if (none >> z & 1 && job.rule.marks)
      job.rule.mark(place.box, (uint64_t)(place.z + z) * spacing, (uint64_t)(place.y + y) * spacing,
                    (uint64_t)(place.x + x) * spacing);
  }
}

/* The whole block calls. */
template <class A>
__device__ __forceinline__ void find_line(const BaseEncodeJob<A> &job, const BasePlace &place,
                                          BaseShared<uint32_t> *bridge, BaseLine &line) {
  typedef typename A::Value Value;
  uint32_t const x = threadIdx.x % 32, y = threadIdx.x / 32;
  const Value *const from =
      job.values + place.first_value(job.level) + y * job.level.y_stride + x * job.level.x_stride;
  Value values[kBaseZ];
#pragma unroll
  for (uint32_t z = 0; z < kBaseZ; z++)
    values[z] = place.extents.has(z, y, x) ? __ldg(from + z * job.level.z_stride) : Value(0);
  uint32_t none = 0; /* bit z: that point has no lattice value */
#pragma unroll
  for (uint32_t z = 0; z < kBaseZ; z++) {
    uint32_t beyond = 0;
    uint32_t const point = job.coder.point_of(values[z], &beyond);
    bool const is_fill = job.coder.lattice.has_fill && job.coder.is_fill(values[z]);
    bool const has_point = !job.coder.is_none(beyond) && !is_fill,
               exists = place.extents.has(z, y, x);
    line[z] = exists && has_point ? job.coder.divide(point) : 0;
    none |= exists && !has_point ? 1u << z : 0;
  }
  if (__syncthreads_or(none != 0)) bridge_base(job, place, none, bridge, line);
}

template <class A>
__device__ __forceinline__ void store_line(const BaseEncodeJob<A> &job, const BasePlace &place,
                                           const BaseLine &line) {
  uint32_t const x = threadIdx.x % 32, y = threadIdx.x / 32;
  uint32_t *const to =
      job.grid + place.first_point(job.level) + (uint64_t)y * job.level.row_points + x;
  uint64_t const plane_points = (uint64_t)job.level.row_points * job.level.y_extent;
#pragma unroll
  for (uint32_t z = 0; z < kBaseZ; z++)
    if (place.extents.stores(z, y, x)) to[z * plane_points] = line[z] * job.coder.unit;
}

/* ---- codes ---- */

/* Differences along z and x, to columns. */
template <class A>
__device__ __forceinline__ void set_columns(const BaseEncodeJob<A> &job, const BaseLine &line,
                                            uint32_t *columns) {
  uint32_t const x = threadIdx.x % 32, y = threadIdx.x / 32;
  uint32_t const along_z = job.is_along(SZG_AXIS_Z) ? kAllLanes : 0;
  uint32_t const along_x = job.is_along(SZG_AXIS_X) && x > 0 ? kAllLanes : 0;
#pragma unroll
  for (uint32_t z = 0; z < kBaseZ; z++) {
    uint32_t const rest = line[z] - (z > 0 ? line[z - 1] & along_z : 0);
    uint32_t const before = __shfl_up_sync(kAllLanes, rest, 1);
    columns[(z * kBaseX + x) * kBasePitch + y] = rest - (before & along_x);
  }
}

/* ---- words ---- */

/* Takes room for the tile's words; returns its place. One thread calls. */
template <class A>
__device__ __forceinline__ unsigned long long take_words(const BaseEncodeJob<A> &job,
                                                         uint32_t word_count) {
  uint32_t const t = blockIdx.x;
  unsigned long long place = 0;
  if (word_count > 0) {
    place = atomicAdd(&job.work.counters->word_count, (unsigned long long)word_count);
    atomicAdd(&job.work.counters->stage_words[0], (unsigned long long)word_count);
    atomicAdd(&job.encoded.sums[t / SZG_LEVELS_SUM_TILES], word_count);
  }
  job.encoded.sizes[t] = (uint16_t)word_count;
  job.encoded.places[t] = place;
  return place;
}

/* Codes to words. The whole block calls; columns are there, and words are free. */
template <class A>
__device__ __forceinline__ void encode_columns(const BaseEncodeJob<A> &job,
                                               const BaseExtents &extents, uint32_t *words,
                                               BaseGroups *memory) {
  constexpr uint32_t kWarps = BaseEncodePolicy::kWarps;
  uint32_t const warp = threadIdx.x / 32;
  bool const along_y = job.is_along(SZG_AXIS_Y);
  for (uint32_t i = threadIdx.x; i < kBaseTileWords / 4; i += BaseEncodePolicy::kThreads)
    ((uint4 *)words)[i] = make_uint4(0, 0, 0, 0);
#pragma unroll 1
  for (uint32_t group = warp; group < kBaseGroups; group += kWarps)
    measure_group(extents, along_y, group, memory);
  __syncthreads(); /* groups are measured, and words are 0 */
  unsigned long long place = 0;
  if (warp == 0) {
    uint32_t const word_count = start_groups(memory, words);
    if (threadIdx.x == 0) {
      memory->word_count = word_count;
      place = take_words(job, word_count);
    }
  }
  __syncthreads(); /* it is known where groups begin */
#pragma unroll 1
  for (uint32_t group = warp; group < kBaseGroups; group += kWarps)
    if (memory->groups.bits[group] > 0) put_group_bits(extents, along_y, group, *memory, words);
  if (threadIdx.x == 0) memory->place = place; /* asked for before the groups */
  __syncthreads();                             /* words are there */
  uint32_t const word_count = memory->word_count;
  if (memory->place + word_count > job.work.word_capacity) return; /* the whole block */
  uint32_t *const to = job.work.words + memory->place;
  for (uint32_t i = threadIdx.x; i < word_count; i += BaseEncodePolicy::kThreads) to[i] = words[i];
}

/* ---- the kernel ---- */

/* What arrives while the values do. The whole block calls. */
__device__ __forceinline__ void load_book(const szg_tokens_book_cuda &book, BaseGroups *memory) {
  static_assert(sizeof book.encoder % 4 == 0, "whole words");
  for (uint32_t i = threadIdx.x; i < sizeof book.encoder / 4; i += BaseEncodePolicy::kThreads)
    copy_ahead<4>((uint32_t *)&memory->encoder + i, (const uint32_t *)&book.encoder + i);
  if (threadIdx.x == 0) copy_ahead<4>(&memory->lane_groups_log2, &book.plan.lane_groups_log2);
  end_copies();
}

template <class A>
__global__ void __launch_bounds__(BaseEncodePolicy::kThreads)
    base_encode_kernel(const __grid_constant__ BaseEncodeJob<A> job) {
  extern __shared__ __align__(16) unsigned char base_memory[];
  auto *const memory = reinterpret_cast<BaseEncodeMemory *>(base_memory);
  load_book(*job.book, &memory->groups);
  BasePlace const place(job.level, blockIdx.x);
  BaseLine line;
  find_line(job, place, &memory->bridge, line);
  store_line(job, place, line);
  set_columns(job, line, memory->groups.columns);
  await_copies<0>();
  __syncthreads(); /* columns and the encoder are there */
  encode_columns(job, place.extents, memory->words, &memory->groups);
}

} // namespace
} // namespace szg

bool szg_base_encode_serves(const szg_levels *levels) { return szg::BaseLevel::serves(*levels); }

szgpu_status szg_base_encode_cuda(const szg_levels *levels, const szg_levels_lattice *lattice,
                                  const void *values, void *grid, const szg_tokens_book_cuda *book,
                                  const szg_levels_marks_cuda *marks,
                                  const szg_levels_encode_work_cuda *work,
                                  const szg_levels_encoded_cuda *encoded,
                                  struct CUstream_st *stream) {
  return szg::with_levels_lattice(*lattice, [&](auto kind) -> szgpu_status {
    typedef decltype(kind) A;
    if constexpr (A::kLimitBits == SZG_LEVELS_LIMIT_BITS) {
      szg::LevelsJob const stage(*levels, 0, *lattice, NULL);
      szg::BaseEncodeJob<A> const job = {stage,
                                         szg::BaseLevel(stage),
                                         szg::LevelsCoder<A>(*lattice, levels->stages[0].unit),
                                         szg::MarkRule(*levels, marks),
                                         (const typename A::Value *)values,
                                         (uint32_t *)grid,
                                         book,
                                         *work,
                                         *encoded};
      size_t const bytes = sizeof(szg::BaseEncodeMemory);
      auto const kernel = szg::base_encode_kernel<A>;
      SZG_TRY_CUDA(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
      auto const blocks = (unsigned)levels->stages[0].tile_count; /* below 2^31 */
      kernel<<<blocks, szg::BaseEncodePolicy::kThreads, bytes, stream>>>(job);
      return szg_launched();
    } else {
      return SZGPU_UNSUPPORTED; /* wide frames are not served */
    }
  });
}
