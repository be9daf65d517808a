/* tile_tally.cuh - a block of threads counts the codes of a tile.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each warp has a group of the tile's rows and each lane a place in them, so one thread's registers
 * hold what decides about zero groups. Neighbours along x are a shuffle away, those in the group
 * are in registers, and those in other groups are in shared memory.
 */
#ifndef SZG_TILE_TALLY_CUH
#define SZG_TILE_TALLY_CUH

#include <stddef.h>

#include "codecs/lorenzo/tile_core.h"
#include "predict/lorenzo_any.cuh"

namespace szg {

struct TallyPolicy {
  static constexpr uint32_t kWarps = SZG_LANE_CODES / SZG_GROUP_ROWS;
  static constexpr uint32_t kThreads = 32 * kWarps;
  static constexpr uint32_t kBlocks = 3; /* that a multiprocessor must have room for */
};
static_assert(kSlots == SZG_GROUP_ROWS, "a walk's group is the format's");

constexpr uint32_t kTallyWords = sizeof(szg_tile_tally) / 4;

template <class A>
struct TallyMemory {
  typename A::Point points[SZG_LANE_CODES][SZG_LANES];
  uint32_t has_point[SZG_LANE_CODES]; /* a bit a lane; only in 1-D where some value has none */
  uint32_t busy_lanes[TallyPolicy::kWarps]; /* that have a nonzero delta, by group */
  union {
    szg_tile_tally tally;
    uint32_t tally_words[kTallyWords];
    uint4 tally_quads[(kTallyWords + 3) / 4];
  };
};

/* ---- a lane's places in a group: one bit per slot ---- */

constexpr uint32_t kHalves[2] = {0x33, 0xCC}; /* rows 0 4 1 5, rows 2 6 3 7 */

/* The places that the tile has. */
template <int kDims>
__device__ uint32_t slots_there(const Walk<kDims> &walk, uint32_t group) {
  szg_tile const &tile = walk.tile;
  if (kDims == 3)
    return group < tile.z_extent && walk.lane < tile.x_extent ? (1u << tile.y_extent) - 1 : 0;
  if (kDims == 2) { /* four rows of the tile, each of two slots */
    uint32_t const halves =
        (uint32_t)(walk.lane < tile.x_extent) | (uint32_t)(walk.lane + 32 < tile.x_extent) << 1;
    uint32_t const rows = min(tile.y_extent - min(group * 4, tile.y_extent), 4u);
    return halves * 0x55 & ((1u << 2 * rows) - 1);
  }
  uint32_t const first = group * 32 * kSlots + walk.lane;
  uint32_t const slots = (tile.x_extent - min(first, tile.x_extent) + 31) / 32;
  return (1u << min(slots, (uint32_t)kSlots)) - 1;
}

/* ---- lattice points ---- */

/* The last point in the rows before first_row, 0 if there is none. The whole warp calls. */
template <class A>
__device__ typename A::Point point_before(const TallyMemory<A> &memory, uint32_t first_row) {
  for (int first = SZG_LANE_CODES - 32; first >= 0; first -= 32) {
    uint32_t const row = first + threadIdx.x % 32;
    bool const has_any = row < first_row && memory.has_point[row] != 0;
    uint32_t const rows = __ballot_sync(kAllLanes, has_any);
    if (rows == 0) continue;
    uint32_t const last_row = first + 31 - __clz((int)rows);
    return memory.points[last_row][31 - __clz((int)memory.has_point[last_row])];
  }
  return 0;
}

/* Gives the values in `lacking`, one bit per slot, the points before them in their row of the tile.
 * The whole block calls. */
template <class A, int kDims>
__device__ void place_holders(uint32_t lacking, uint32_t first_row,
                              typename A::Unsigned (&points)[kSlots], TallyMemory<A> *memory) {
  uint32_t const lane = threadIdx.x % 32;
  typename A::Unsigned before = 0;
  if (kDims == 1) { /* the tile is one row */
#pragma unroll
    for (int s = 0; s < kSlots; s++) {
      uint32_t const lanes = __ballot_sync(kAllLanes, lacking >> s & 1);
      if (lane == 0) memory->has_point[first_row + s] = ~lanes;
    }
    __syncthreads(); /* of all groups, before they are searched */
    before = (typename A::Unsigned)point_before(*memory, first_row);
  }
#pragma unroll
  for (int s = 0; s < kSlots; s++) {
    if (kDims == 3 || (kDims == 2 && s % 2 == 0)) before = 0; /* a row starts */
    uint32_t const has_point = ~__ballot_sync(kAllLanes, lacking >> s & 1);
    uint32_t const up_to_here = has_point & lanes_up_to(lane);
    auto const held = __shfl_sync(kAllLanes, points[s], last_of(up_to_here));
    auto const last = __shfl_sync(kAllLanes, points[s], last_of(has_point));
    if (lacking >> s & 1) {
      points[s] = up_to_here ? held : before;
      memory->points[first_row + s][lane] = (typename A::Point)points[s];
    }
    if (has_point) before = last;
  }
  __syncthreads(); /* placeholders are complete too */
}

/* The lane's points in its warp's group, here and in shared memory. Places that the tile lacks have
 * point 0. The whole block calls. */
template <class A, int kDims>
__device__ void take_points(const szg_quantizer &k, const Walk<kDims> &walk, uint32_t group,
                            uint32_t there, const typename A::Value *frame_values,
                            typename A::Unsigned (&points)[kSlots], TallyMemory<A> *memory) {
  const typename A::Value *next = frame_values + walk.tile.first_value +
                                  walk.value_offset(slot_at<kDims>(group, 0)) + walk.lane;
  typename A::Value loaded[kSlots];
#pragma unroll
  for (int s = 0; s < kSlots; s++) {
    loaded[s] = there >> s & 1 ? *next : (typename A::Value)0;
    next += kDims == 3                 ? (int64_t)walk.tile.y_stride
            : kDims == 2 && s % 2 == 1 ? (int64_t)walk.tile.y_stride - SZG_LANES
                                       : SZG_LANES;
  }
  uint32_t const first_row = group * kSlots;
  uint32_t lacking = 0;
#pragma unroll
  for (int s = 0; s < kSlots; s++) {
    typename A::Point q;
    if (!A::lattice(k, loaded[s], &q)) lacking |= 1u << s;
    points[s] = (typename A::Unsigned)q;
    memory->points[first_row + s][walk.lane] = q;
  }
  if (k.has_fill) {
#pragma unroll
    for (int s = 0; s < kSlots; s++)
      if (A::is_fill(k, loaded[s])) lacking |= 1u << s;
  }
  lacking &= there;
  /* Points complete before neighbours read them. */
  if (__syncthreads_or((int)lacking)) place_holders<A, kDims>(lacking, first_row, points, memory);
}

/* ---- deltas ---- */

/* Turns one group's points into its deltas, one axis after the other: first along the axes of S
 * everywhere, which leaves the edge as it is, then along the others on the edge. */
template <class A, int kDims>
struct GroupDeltas {
  typedef typename A::Unsigned Unsigned;
  /* Rows to the value before along the slowest axis: z, or in 2-D y. */
  static constexpr int kSlowRows = kDims == 3 ? SZG_GROUP_ROWS : SZG_TILE_2D_X / SZG_LANES;

  Unsigned values[kSlots];

  /* The point in the row that is `rows` before the group's first row, 0 if there is none. */
  __device__ Unsigned earlier(const TallyMemory<A> &memory, uint32_t group, int rows,
                              uint32_t lane) const {
    return group > 0 ? (Unsigned)memory.points[(int)group * kSlots - rows][lane] : 0;
  }

  template <class Applies>
  __device__ void along_slow(const TallyMemory<A> &memory, uint32_t group, uint32_t lane,
                             Applies applies) {
#pragma unroll
    for (int s = kSlots - 1; s >= 0; s--) {
      Unsigned const before = s >= kSlowRows ? values[s >= kSlowRows ? s - kSlowRows : 0]
                                             : earlier(memory, group, kSlowRows - s, lane);
      if (applies(s)) values[s] -= before;
    }
  }

  /* Differences along y in 3-D. */
  template <class Applies>
  __device__ void along_rows(Applies applies) {
#pragma unroll
    for (int s = kSlots - 1; s > 0; s--)
      if (applies(s)) values[s] -= values[s - 1];
  }

  template <class Applies>
  __device__ void along_x(const TallyMemory<A> &memory, uint32_t group, uint32_t lane,
                          Applies applies) {
#pragma unroll
    for (int s = kSlots - 1; s >= 0; s--) {
      Unsigned const left = __shfl_up_sync(kAllLanes, values[s], 1);
      Unsigned row_before = 0; /* its last value comes before lane 0's: 2-D rows are pairs */
      if ((kDims == 2 && s % 2 == 1) || (kDims == 1 && s > 0))
        row_before = __shfl_sync(kAllLanes, values[s > 0 ? s - 1 : 0], 31);
      if (kDims == 1 && s == 0) row_before = earlier(memory, group, 1, SZG_LANES - 1);
      if (applies(s)) values[s] -= lane ? left : row_before;
    }
  }

  /* Takes all differences. The whole warp calls. */
  __device__ void take(const TallyMemory<A> &memory, const Axes &axes, uint32_t group,
                       uint32_t lane) {
    bool const slow = kDims == 3 ? axes.z : axes.y;
    auto const everywhere = [](int) { return true; };
    if (kDims > 1 && slow) along_slow(memory, group, lane, everywhere);
    if (kDims == 3 && axes.y) along_rows(everywhere);
    if (axes.x) along_x(memory, group, lane, everywhere);
    if (axes.is_all) return;
    auto const on_edge = [&](int s) {
      return axes.is_edge_lane(slot_at<kDims>(group, (uint32_t)s), lane);
    };
    if (kDims > 1 && !slow) along_slow(memory, group, lane, on_edge);
    if (kDims == 3 && !axes.y) along_rows(on_edge);
    if (!axes.x) along_x(memory, group, lane, on_edge);
  }
};

/* A delta on the lattice: szg_delta_of_bits without a branch. */
template <class A>
__device__ typename A::Point delta_of(typename A::Unsigned value, uint32_t lattice_bits) {
  uint32_t const unused_bits = 8 * sizeof value - lattice_bits;
  return (typename A::Point)(value << unused_bits) >> unused_bits;
}

/* ---- counts ---- */

/* Counts the nonzero deltas and returns which those are, one bit per slot. */
template <class A, int kDims>
__device__ uint32_t count_others(uint32_t there, uint32_t lattice_bits,
                                 const GroupDeltas<A, kDims> &group, uint32_t *counts) {
  constexpr uint32_t kMostDirect = SZG_TILE_DIRECT - 1;
  typename A::Point deltas[kSlots];
#pragma unroll
  for (int s = 0; s < kSlots; s++) deltas[s] = delta_of<A>(group.values[s], lattice_bits);
  if (there + 1 != 1u << kSlots) {
#pragma unroll
    for (int s = 0; s < kSlots; s++)
      if (!(there >> s & 1)) deltas[s] = 0;
  }
  uint32_t others = 0;
  bool has_large = false;
#pragma unroll
  for (int s = 0; s < kSlots; s++) {
    bool const is_large = (typename A::Unsigned)deltas[s] + kMostDirect > 2 * kMostDirect;
    has_large |= is_large;
    if (deltas[s] == 0) continue;
    others |= 1u << s;
    if (!is_large) atomicAdd(&counts[SZG_TILE_ZERO + (int32_t)deltas[s]], 1u);
  }
  if (!has_large) return others; /* the usual case */
#pragma unroll
  for (int s = 0; s < kSlots; s++)
    if (!szg_is_direct(deltas[s])) atomicAdd(&counts[szg_delta_symbol(deltas[s])], 1u);
  return others;
}

/* Adds the zero-group sums of the warp's lanes that are busy in some group. there, others: one bit
 * per slot. The whole warp calls. */
__device__ inline void add_zeros(uint32_t there, uint32_t others, uint32_t busy_lanes,
                                 uint32_t *tally_words) {
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const zeros = there & ~others;
  uint32_t const in_halves = (others & kHalves[0] ? zeros & kHalves[0] : 0) |
                             (others & kHalves[1] ? zeros & kHalves[1] : 0);
  uint32_t const all_count = (uint32_t)__popc((int)zeros);
  uint32_t const in_groups_count = others ? all_count : 0;
  uint32_t const counts =
      all_count | in_groups_count << 10 | (uint32_t)__popc((int)in_halves) << 20;
  /* Sums over a warp are at most 32 * SZG_GROUP_ROWS: 10 bits hold one. */
  static_assert(32 * SZG_GROUP_ROWS < 1 << 10, "sums share a word");
  uint32_t const sums = warp_sum(busy_lanes >> lane & 1 ? counts : 0);
  uint32_t const first = busy_lanes & __ballot_sync(kAllLanes, (there & kHalves[0]) != 0);
  uint32_t const second = busy_lanes & __ballot_sync(kAllLanes, (there & kHalves[1]) != 0);
  uint32_t const groups = (uint32_t)__popc((int)(first | second));
  uint32_t const halves = (uint32_t)(__popc((int)first) + __popc((int)second));

  /* One lane per sum: zeros by kind, bits by kind, and all zeros once more under their symbol. */
  constexpr uint32_t kZeros = offsetof(szg_tile_tally, zeros) / 4;
  constexpr uint32_t kBits = offsetof(szg_tile_tally, group_bits) / 4;
  static_assert(kBits == kZeros + 3 && SZG_ZERO_GROUPS_4 == 2, "lanes 0 to 2, 3 to 5");
  uint32_t const all_zeros = lane == 3 + SZG_ZERO_GROUPS_COUNT;
  uint32_t const word = all_zeros ? (uint32_t)SZG_TILE_ZERO : kZeros + lane;
  uint32_t const value = lane == 3 + SZG_ZERO_GROUPS_8   ? groups
                         : lane == 3 + SZG_ZERO_GROUPS_4 ? halves
                                                         : sums >> (lane % 3 * 10) & 1023;
  if (lane < 7 && lane != 3) atomicAdd(&tally_words[word], value);
}

/* Counts as szg_tile_count does, into memory->tally, which it first zeroes. The whole block of
 * TallyPolicy::kThreads calls, and synchronizes before it reads. */
template <class A, int kDims>
__device__ void count_tile(const szg_quantizer &k, const szg_tile &tile, uint32_t lattice_bits,
                           const typename A::Value *frame_values, uint32_t axes,
                           TallyMemory<A> *memory) {
  uint32_t const group = threadIdx.x / 32;
  Walk<kDims> const walk(tile);
  constexpr uint32_t kQuads = sizeof memory->tally_quads / sizeof *memory->tally_quads;
  static_assert(kQuads <= TallyPolicy::kThreads, "a thread a quad");
  if (threadIdx.x < kQuads) /* in time: a barrier follows with the points */
    memory->tally_quads[threadIdx.x] = make_uint4(0, 0, 0, 0);
  GroupDeltas<A, kDims> deltas;
  uint32_t const there = slots_there(walk, group);
  take_points<A, kDims>(k, walk, group, there, frame_values, deltas.values, memory);
  deltas.take(*memory, Axes(axes, all_axes<kDims>()), group, walk.lane);
  uint32_t const others = count_others<A, kDims>(there, lattice_bits, deltas, memory->tally.counts);
  uint32_t const busy = __ballot_sync(kAllLanes, others != 0);
  if (walk.lane == 0) memory->busy_lanes[group] = busy;
  __syncthreads(); /* of all groups, before any is summed */
  uint32_t busy_lanes = 0;
#pragma unroll
  for (uint32_t g = 0; g < TallyPolicy::kWarps; g++) busy_lanes |= memory->busy_lanes[g];
  add_zeros(there, others, busy_lanes, memory->tally_words);
}

} // namespace szg

#endif
