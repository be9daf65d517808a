/* levels_probe.cu - what a sample says, found on the GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A warp takes a run, a lane one of its points, which it loads with its neighbours from the field;
 * caches serve those that lanes share. A block counts one slice of what is to be counted in shared
 * memory, and adds its counts to those of all blocks. The traffic is small and latency dominates,
 * so the block that finishes last for a slice does what needs all of its counts.
 *
 *   scores   periods of a line; last, the fold          only for lines
 *   entries  first pass; last, entropies
 *   ways     each block finds the best way; second pass; last, entropies and floors, to the host
 *
 * With a fold, the second and third kernel look at the line and at the folded one side by side.
 */
#include "codecs/interpolation/levels_lattice.cuh"
#include "codecs/interpolation/levels_probe.cuh"
#include "codecs/interpolation/levels_probe.h"
#include "codecs/interpolation/levels_probe_costs.cuh"
#include "core/cuda_check.cuh"
#include "core/device.h"
#include "core/last_block.cuh"
#include "core/tell.cuh"

namespace szg {
namespace {

struct ProbePolicy {
  static constexpr uint32_t kThreads = 512;
  static constexpr uint32_t kWarps = kThreads / 32; /* each takes one run at most */
};
struct ScorePolicy {
  static constexpr uint32_t kThreads = 256;
};

/* What the second pass counts apart: the scales, tables of units, differences. */
constexpr uint32_t kFirstTable = SZG_PROBE_SCALES;
constexpr uint32_t kDifferences = kFirstTable + SZG_PROBE_TABLES;
constexpr uint32_t kPieces = kDifferences + 1;
static_assert(kPieces == SZG_PROBE_PIECES, "the host waits for as many");
/* Counts of a piece: its own, then, of scales, those of disturbed points, and by blended
 * stencils. */
constexpr uint32_t kDisturbed = SZG_PROBE_SETS, kBlended = 2 * SZG_PROBE_SETS;
constexpr uint32_t kCosts = 3 * SZG_PROBE_SETS;

/* Of a view, all zero before. */
struct ViewCounts {
  uint32_t slice_tickets[kSlices], piece_tickets[kPieces];
  szg_probe_counts entries[kSlices][SZG_PROBE_ENTRIES];
  szg_probe_counts ways[kPieces][kCosts];
};
struct ProbeCounts {
  uint32_t score_ticket;
  uint32_t scores[SZG_MOST_FOLD + 1]; /* by period */
  ViewCounts views[2];                /* plain, folded */
};
/* Written by kernels. */
struct ProbeResults {
  uint32_t fold; /* of a line */
  szg_entry_costs costs[2];
};

/* ---- points ---- */

template <class A>
struct Points {
  typedef typename A::Point Point;
  szg_levels_lattice lattice;
  const typename A::Value *values;

  /* The lattice value of x; false: it has none, or does not exist. */
  __device__ __forceinline__ bool take(bool exists, typename A::Value x, Point *point) const {
    Point own;
    bool const is_fill = lattice.has_fill && A::bits(x) == (typename A::Bits)lattice.fill_bits;
    bool const has_point = A::lattice(lattice, x, &own) && !is_fill && exists;
    *point = has_point ? own : 0;
    return has_point;
  }
};

/* Point x of a run, with its neighbours. False: it counts for nothing. All values are loaded before
 * the first is used; in place of one that does not exist, the run's first. */
template <uint32_t kAxes, class A>
__device__ __forceinline__ bool find_point(const Points<A> &points, const szg_probe_view &view,
                                           const szg_probe_run &run, uint32_t x, uint32_t scale,
                                           Sampled<typename A::Point> *point) {
  bool const is_in_run = x < run.point_count;
  uint64_t const index = is_in_run ? run.index + x : run.index;
  typename A::Value const own = points.values[index];
  typename A::Value values[kAxes][4];
#pragma unroll
  for (uint32_t axis = 0; axis < kAxes; axis++) {
    uint64_t const at = run.at[axis] + (axis == 0 ? x : 0);
    point->at[axis] = (uint32_t)at;
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
      uint64_t const distance = (uint64_t)(i == 0 || i == 3 ? 3 : 1) << scale;
      uint64_t const offset = distance * view.strides[axis];
      bool const is_after = i >= 2;
      bool const exists =
          is_in_run && (is_after ? at + distance < view.extents[axis] : at >= distance);
      values[axis][i] = points.values[!exists    ? run.index
                                      : is_after ? index + offset
                                                 : index - offset];
      point->taps[axis].has[i] = exists;
    }
  }
  bool is_inside = points.take(is_in_run, own, &point->value);
#pragma unroll
  for (uint32_t axis = 0; axis < kAxes; axis++) {
    Taps<typename A::Point> &taps = point->taps[axis];
#pragma unroll
    for (uint32_t i = 0; i < 4; i++)
      taps.has[i] = points.take(taps.has[i], values[axis][i], &taps.at[i]);
    is_inside = is_inside && taps.has[1] && taps.has[2];
  }
  return is_inside;
}

/* The points around it at one scale, loaded likewise. point: from find_point, with all near
 * neighbours. */
template <uint32_t kAxes, class A>
__device__ __forceinline__ Patch<typename A::Point> find_patch(
    const Points<A> &points, const szg_probe_view &view, const szg_probe_run &run, uint32_t x,
    uint32_t scale, const Sampled<typename A::Point> &point) {
  constexpr uint32_t kPlanes = kAxes == 3 ? 3 : 1;
  typename A::Value values[kPlanes][3][3], outer[kAxes][2];
  bool has_outer[kAxes][2];
  Patch<typename A::Point> patch;
  uint64_t const near = (uint64_t)1 << scale, at = run.at[0] + x;
  bool const exists[3] = {at >= near, true, at + near < view.extents[0]};
#pragma unroll
  for (uint32_t k = 0; k < 9 * kPlanes; k++) {
    uint32_t const z_at = kPlanes == 3 ? k / 9 : 1, y_at = k / 3 % 3, x_at = k % 3;
    uint64_t const offset = (z_at - (uint64_t)1) * near * view.strides[2] +
                            (y_at - (uint64_t)1) * near * view.strides[1] +
                            (x_at - (uint64_t)1) * near; /* wraps */
    values[k / 9][y_at][x_at] =
        points.values[exists[x_at] ? run.index + x + offset : run.index + x];
  }
#pragma unroll
  for (uint32_t axis = 0; axis < kAxes; axis++) {
    uint64_t const own = run.at[axis] + (axis == 0 ? x : 0), distance = 5 * near;
    has_outer[axis][0] = own >= distance;
    has_outer[axis][1] = own + distance < view.extents[axis];
    uint64_t const offset = distance * view.strides[axis], index = run.index + x;
    outer[axis][0] = points.values[has_outer[axis][0] ? index - offset : index];
    outer[axis][1] = points.values[has_outer[axis][1] ? index + offset : index];
  }
#pragma unroll
  for (uint32_t axis = 0; axis < kAxes; axis++) {
    bool const has_first = points.take(has_outer[axis][0], outer[axis][0], &patch.outer[axis][0]);
    bool const has_last = points.take(has_outer[axis][1], outer[axis][1], &patch.outer[axis][1]);
    patch.has_outer[axis] = has_first && has_last;
  }
#pragma unroll
  for (uint32_t k = 0; k < 9 * kPlanes; k++) {
    constexpr uint32_t kOrder[3] = {1, 0, 2}; /* those that stand for others come first */
    uint32_t const z_at = kPlanes == 3 ? kOrder[k / 9] : 1, y_at = kOrder[k / 3 % 3],
                   x_at = kOrder[k % 3], plane = kPlanes == 3 ? z_at : 0;
    typename A::Point own;
    bool const has = points.take(exists[x_at], values[plane][y_at][x_at], &own);
    patch.at[z_at][y_at][x_at] = has         ? own
                                 : z_at != 1 ? patch.at[1][y_at][x_at]
                                 : y_at != 1 ? patch.at[1][1][x_at]
                                             : point.value;
  }
  return patch;
}

/* The point and those before it along each set of axes, loaded likewise. False: one is missing. */
template <uint32_t kAxes, class A>
__device__ __forceinline__ bool find_corners(const Points<A> &points, const szg_probe_view &view,
                                             const szg_probe_run &run, uint32_t x,
                                             typename A::Point *corners) {
  typename A::Value values[1u << kAxes];
  bool has_all = true;
#pragma unroll
  for (uint32_t corner = 0; corner < 1u << kAxes; corner++) {
    uint64_t index = run.index + x;
    bool exists = x < run.point_count;
#pragma unroll
    for (uint32_t axis = 0; axis < kAxes; axis++) {
      if (!(corner >> axis & 1)) continue;
      exists = exists && run.at[axis] + (axis == 0 ? x : 0) > 0;
      index -= view.strides[axis];
    }
    values[corner] = points.values[exists ? index : run.index];
    has_all = has_all && exists;
  }
#pragma unroll
  for (uint32_t corner = 0; corner < 1u << kAxes; corner++) {
    bool const has_point = points.take(has_all, values[corner], &corners[corner]);
    has_all = has_all && has_point;
  }
  return has_all;
}

/* ---- counts ---- */

/* The sampled run of this warp; without points if there is none. */
__device__ __forceinline__ szg_probe_run run_of_warp(const szg_probe_view &view) {
  uint32_t const i = blockIdx.x * ProbePolicy::kWarps + threadIdx.x / 32;
  szg_probe_run run = szg_probe_run_of(&view, i);
  if (i >= view.probe_count) run.point_count = 0;
  return run;
}

__device__ void clear_counts(uint32_t *counts, uint32_t count) {
  for (uint32_t c = threadIdx.x; c < count; c += ProbePolicy::kThreads) counts[c] = 0;
  __syncthreads(); /* all are clear before any is counted */
}

/* Adds the block's counts to those of all blocks. */
__device__ void add_counts(const uint32_t *counts, uint32_t count, uint32_t *sums) {
  __syncthreads(); /* the block has counted */
  for (uint32_t c = threadIdx.x; c < count; c += ProbePolicy::kThreads)
    if (counts[c]) atomicAdd(&sums[c], counts[c]);
}

/* ---- the first pass ---- */

/* The last block: writes the entropies of a slice. */
__device__ void finish_entries(uint32_t slice, const ViewCounts *counts, szg_entry_costs *costs) {
  static_assert(ProbePolicy::kWarps >= SZG_PROBE_ENTRIES, "a warp has one entry");
  uint32_t const i = threadIdx.x / 32;
  if (i >= SZG_PROBE_ENTRIES) return;
  szg_probe_sums const sums = sums_of(counts->entries[slice][i]);
  if (threadIdx.x % 32 != 0) return;
  (&costs->of[0][0][0])[slice * SZG_PROBE_ENTRIES + i] =
      sums.total ? szg_probe_entropy_of(&sums, count_log(sums.total)) : 0;
}

template <uint32_t kAxes, class A>
__device__ void rank_ways(const Points<A> &points, szg_probe_view view, uint32_t fine_bits,
                          ViewCounts *counts, szg_entry_costs *costs) {
  constexpr uint32_t kCounts = SZG_PROBE_ENTRIES * SZG_PROBE_CLASSES;
  __shared__ szg_probe_counts own[SZG_PROBE_ENTRIES];
  uint32_t const slice = blockIdx.y;
  uint32_t const scale = slice / SZG_PROBE_STENCILS, stencil = slice % SZG_PROBE_STENCILS;
  view.axis_count = kAxes; /* known to the compiler */
  clear_counts(own[0], kCounts);
  Sampled<typename A::Point> point;
  if (find_point<kAxes>(points, view, run_of_warp(view), threadIdx.x % 32, scale, &point))
    count_entries<kAxes>(view.is_line, fine_bits, scale, stencil > 0, &point, own);
  add_counts(own[0], kCounts, counts->entries[slice][0]);
  if (is_last_of(gridDim.x, &counts->slice_tickets[slice])) finish_entries(slice, counts, costs);
}

/* ---- the second pass ---- */

/* What the second pass knows of a view. */
struct SecondPass {
  ViewCounts *counts;
  const szg_entry_costs *costs;
  uint32_t fold;
  szg_probe_answer *answer; /* in the host's memory */
};

/* Where a cost of a piece goes. Those of differences are entropies, then floors. */
__device__ inline uint64_t *place_of(szg_probe_found *found, uint32_t piece, uint32_t cost) {
  uint32_t const i = cost % SZG_PROBE_SETS, kind = cost / SZG_PROBE_SETS;
  if (piece == kDifferences)
    return kind == 0 ? &found->differences[i].entropy : &found->differences[i].floor;
  if (piece >= kFirstTable) return &found->noisy[piece - kFirstTable][i];
  return kind == 0   ? &found->scales[piece][i]
         : kind == 1 ? &found->disturbed[piece][i]
                     : &found->blended[piece][i];
}
/* One of the costs, for the first lane of the warp that calls. */
__device__ inline uint64_t cost_of(const szg_probe_counts *counts, uint32_t piece, uint32_t cost) {
  bool const is_differences = piece == kDifferences,
             is_floor = is_differences && cost >= kDisturbed;
  const uint32_t *const own = counts[is_differences ? cost % SZG_PROBE_SETS : cost];
  uint32_t const zero_count = is_differences ? __ldcg(&own[SZG_PROBE_ZERO]) : 0;
  szg_probe_sums const sums = sums_of(own);
  if (threadIdx.x % 32 != 0 || sums.total == 0) return 0;
  if (is_floor) return szg_probe_floor_of(&sums, zero_count);
  uint64_t const entropy = szg_probe_entropy_of(&sums, count_log(sums.total));
  if (!is_differences) return entropy;
  return szg_raised_cost(entropy, SZG_LEAST_DIFFERENCE, sums.total, zero_count);
}

/* The last block: writes the costs of a piece, each by a warp. */
__device__ void finish_ways(const SecondPass &pass, uint32_t piece, uint32_t way_number) {
  szg_probe_found *const found =
      blockIdx.z == 0 ? &pass.answer->probes.plain : &pass.answer->probes.folded;
  uint32_t const count = piece < kFirstTable    ? kCosts
                         : piece < kDifferences ? SZG_PROBE_SETS
                                                : 2 * SZG_PROBE_SETS;
  for (uint32_t i = threadIdx.x / 32; i < count; i += ProbePolicy::kWarps) {
    uint64_t const cost = cost_of(pass.counts->ways[piece], piece, i);
    if (threadIdx.x % 32 == 0) *place_of(found, piece, i) = cost;
  }
  if (piece == 0 && threadIdx.x == 0) {
    found->way_number = way_number;
    pass.answer->probes.fold = pass.fold;
  }
  __syncthreads(); /* all is written */
  if (threadIdx.x == 0) tell(&pass.answer->told[blockIdx.z * kPieces + piece]);
}

template <uint32_t kAxes, class A>
__device__ void cost_way(const Points<A> &points, szg_probe_view view, uint32_t fine_bits,
                         const SecondPass &pass) {
  constexpr uint32_t kCounts = kCosts * SZG_PROBE_CLASSES;
  __shared__ szg_probe_counts own[kCosts];
  uint32_t const piece = blockIdx.y, lane = threadIdx.x % 32;
  bool const is_noisy = piece >= kFirstTable;
  uint32_t const scale = is_noisy ? 0 : piece;
  uint32_t const noise_unit = is_noisy ? szg_level_unit(piece - kFirstTable, 1, fine_bits) : 0;
  uint32_t way_number = 0;
  view.axis_count = kAxes; /* known to the compiler */
  clear_counts(own[0], kCounts);
  szg_probe_run const run = run_of_warp(view);
  if (piece == kDifferences) {
    typename A::Point corners[1u << kAxes];
    if (find_corners<kAxes>(points, view, run, lane, corners))
      count_differences<kAxes>(fine_bits, corners, own);
  } else {
    uint64_t const entropy = threadIdx.x < kEntropies ? (&pass.costs->of[0][0][0])[threadIdx.x] : 0;
    Sampled<typename A::Point> point;
    bool const is_inside = find_point<kAxes>(points, view, run, lane, scale, &point);
    Patch<typename A::Point> patch;
    bool const has_patch = kAxes > 1 && is_inside && !is_noisy;
    if constexpr (kAxes > 1)
      if (has_patch) patch = find_patch<kAxes>(points, view, run, lane, scale, point);
    way_number = find_way(view, entropy);
    szg_levels_way const way = szg_way(&view, way_number);
    if (is_inside)
      count_way<kAxes>(view.is_line, way, fine_bits, scale, noise_unit, &point,
                       has_patch ? &patch : nullptr, own, own + kDisturbed, own + kBlended);
  }
  add_counts(own[0], kCounts, pass.counts->ways[piece][0]);
  if (is_last_of(gridDim.x, &pass.counts->piece_tickets[piece]))
    finish_ways(pass, piece, way_number);
}

/* ---- folds ---- */

/* The least of all threads' numbers, for each of them. */
__device__ uint32_t least_of_block(uint32_t number) {
  constexpr uint32_t kWarps = ScorePolicy::kThreads / 32;
  __shared__ uint32_t leasts[kWarps];
  uint32_t const of_warp = warp_least(number);
  __syncthreads(); /* the numbers of a call before are read */
  if (threadIdx.x % 32 == 0) leasts[threadIdx.x / 32] = of_warp;
  __syncthreads(); /* all warps' numbers are here */
  return warp_least(leasts[threadIdx.x % kWarps]);
}

/* The fold, from the scores of all windows. */
__device__ uint32_t find_fold(uint32_t most_fold, const uint32_t *scores) {
  uint32_t least = UINT32_MAX, first = UINT32_MAX;
  for (uint32_t f = 1 + threadIdx.x; f <= most_fold; f += ScorePolicy::kThreads)
    least = min(least, __ldcg(&scores[f]));
  least = least_of_block(least);
  for (uint32_t f = 1 + threadIdx.x; f <= most_fold; f += ScorePolicy::kThreads)
    if (f > 1 && szg_fold_is_about_best(__ldcg(&scores[f]), least)) first = min(first, f);
  first = least_of_block(first);
  return szg_fold_pays(least, __ldcg(&scores[1])) ? first : 0;
}

/* Grid: windows x parts of the periods, one for each thread. */
template <class A>
__global__ void __launch_bounds__(ScorePolicy::kThreads)
    scores_count_kernel(Points<A> points, szg_grid grid, uint32_t fine_bits, ProbeCounts *counts,
                        ProbeResults *results) {
  __shared__ typename A::Point window[SZG_MOST_FOLD + SZG_PROBE_RUN];
  __shared__ bool has[SZG_MOST_FOLD + SZG_PROBE_RUN];
  uint32_t const most = (uint32_t)szg_most_fold(&grid);
  uint64_t const first = szg_fold_window(&grid, most, blockIdx.x);
  for (uint32_t i = threadIdx.x; i < most + SZG_PROBE_RUN; i += ScorePolicy::kThreads)
    has[i] = points.take(true, points.values[first + i], &window[i]);
  __syncthreads(); /* the window is loaded */
  uint32_t const fold = 1 + blockIdx.y * ScorePolicy::kThreads + threadIdx.x;
  uint32_t score = 0;
  if (fold <= most) {
    for (uint32_t p = most; p < most + SZG_PROBE_RUN; p++)
      if (has[p] && has[p - fold])
        score += szg_fold_distance(window[p], window[p - fold], fine_bits);
    if (score) atomicAdd(&counts->scores[fold], score);
  }
  if (!is_last_block(&counts->score_ticket)) return;
  uint32_t const found = find_fold(most, counts->scores);
  if (threadIdx.x == 0) results->fold = found;
}

/* ---- kernels ---- */

/* Grid: blocks of a slice x slices x views. kAxes 1: a line, whose second view is folded. */
template <class A, uint32_t kAxes>
__global__ void __launch_bounds__(ProbePolicy::kThreads)
    entries_count_kernel(Points<A> points, szg_grid grid, szg_probe_view view, uint32_t fine_bits,
                         ProbeCounts *counts, ProbeResults *results) {
  if (blockIdx.z == 0) {
    rank_ways<kAxes>(points, view, fine_bits, &counts->views[0], &results->costs[0]);
  } else if (kAxes == 1 && results->fold > 0) {
    view = szg_probe_view_of(&grid, results->fold);
    rank_ways<2>(points, view, fine_bits, &counts->views[1], &results->costs[1]);
  }
}

/* Grid: blocks of a piece x pieces x views. */
template <class A, uint32_t kAxes>
__global__ void __launch_bounds__(ProbePolicy::kThreads)
    ways_count_kernel(Points<A> points, szg_grid grid, szg_probe_view view, uint32_t fine_bits,
                      ProbeCounts *counts, const ProbeResults *results, szg_probe_answer *answer) {
  uint32_t const fold = gridDim.z > 1 ? results->fold : 0;
  if (blockIdx.z == 0) {
    cost_way<kAxes>(points, view, fine_bits, {&counts->views[0], &results->costs[0], fold, answer});
  } else if (kAxes == 1 && fold > 0) {
    view = szg_probe_view_of(&grid, fold);
    cost_way<2>(points, view, fine_bits, {&counts->views[1], &results->costs[1], fold, answer});
  } else if (blockIdx.x == 0 && threadIdx.x == 0) {
    tell(&answer->told[kPieces + blockIdx.y]);
  }
}

/* ---- launcher ---- */

template <class A, uint32_t kAxes>
szgpu_status probe(const szg_probe_source &source, const szg_probe_view &view, ProbeCounts *counts,
                   ProbeResults *results, szg_probe_answer *answer, cudaStream_t stream) {
  Points<A> const points = {source.lattice, (const typename A::Value *)source.values};
  uint64_t const most_fold = szg_most_fold(&source.grid);
  uint32_t const view_count = most_fold < 2 ? 1 : 2;
  uint64_t const runs =
      view_count == 1 ? view.probe_count : szg_probes_wanted(source.grid.value_count);
  uint32_t const blocks = (uint32_t)szg_div_up(runs, ProbePolicy::kWarps);
  answer->told_count = view_count * kPieces;
  szg_device_expect(answer->told, answer->told_count);
  if (view_count == 2) {
    dim3 const parts(SZG_FOLD_WINDOWS, (unsigned)szg_div_up(most_fold, ScorePolicy::kThreads));
    scores_count_kernel<A><<<parts, ScorePolicy::kThreads, 0, stream>>>(
        points, source.grid, source.fine_bits, counts, results);
    SZG_TRY_LAUNCH();
  }
  entries_count_kernel<A, kAxes>
      <<<dim3(blocks, kSlices, view_count), ProbePolicy::kThreads, 0, stream>>>(
          points, source.grid, view, source.fine_bits, counts, results);
  SZG_TRY_LAUNCH();
  ways_count_kernel<A, kAxes>
      <<<dim3(blocks, kPieces, view_count), ProbePolicy::kThreads, 0, stream>>>(
          points, source.grid, view, source.fine_bits, counts, results, answer);
  return szg_launched();
}

} // namespace
} // namespace szg

void szg_levels_probe_carve_zeroed_cuda(szg_arena *arena, szg_probe_plan_cuda *plan) {
  plan->counts = szg_arena_take(arena, 1, sizeof(szg::ProbeCounts));
}

void szg_levels_probe_carve_cuda(szg_arena *arena, szg_probe_plan_cuda *plan) {
  plan->results = szg_arena_take(arena, 1, sizeof(szg::ProbeResults));
}

szgpu_status szg_levels_probe_cuda(const szg_probe_source *source, const szg_probe_plan_cuda *plan,
                                   cudaStream_t stream) {
  auto *const counts = (szg::ProbeCounts *)plan->counts;
  auto *const results = (szg::ProbeResults *)plan->results;
  szg_probe_view const view = szg_probe_view_of(&source->grid, 0);
  return szg::with_levels_lattice(source->lattice, [&](auto lattice) {
    typedef decltype(lattice) A;
    auto const probe = view.axis_count == 3   ? szg::probe<A, 3>
                       : view.axis_count == 2 ? szg::probe<A, 2>
                                              : szg::probe<A, 1>;
    return probe(*source, view, counts, results, plan->answer, stream);
  });
}
