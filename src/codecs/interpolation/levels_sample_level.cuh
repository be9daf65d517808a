/* levels_sample_level.cuh - a sampled tile of a level with several axes: its codes, class by class.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All values of the tile are loaded before the first is needed, many by each thread at once, and
 * stand as lattice values where restored values will: in the rows of the box, and in rows of their
 * own for the last class. From then on nothing waits for memory. A warp takes four rows of a class
 * at once, whose codes it counts without storing them.
 */
#ifndef SZG_LEVELS_SAMPLE_LEVEL_CUH
#define SZG_LEVELS_SAMPLE_LEVEL_CUH

#include "codecs/interpolation/levels_sample_known.cuh"

namespace szg {

__device__ __forceinline__ uint32_t floor_log2(uint32_t number) {
  return 31 - (uint32_t)__clz((int)number);
}

template <class A>
struct SampleLevel {
  typedef typename A::Unsigned Unsigned;
  typedef typename A::Point Point;
  typedef LevelsBox<A, KnownSample<A>> Box;
  static constexpr uint32_t kWarps = LevelsPolicy::kWarps;

  const LevelsGrid &job;
  const szg_levels_lattice &lattice;
  const LevelsPlace &place;
  Box const &box;
  SampleScratch<Unsigned> *const scratch;
  CountMemory *const counts;
  CountedBits *const bits;
  /* Of a class in a full tile; powers of 2. */
  uint32_t const planes, row_count, planes_log2, fours_log2;

  __device__ SampleLevel(const LevelsGrid &job_, const szg_levels_lattice &lattice_,
                         const LevelsPlace &place_, const Box &box_,
                         SampleScratch<Unsigned> *scratch_, CountMemory *counts_,
                         CountedBits *bits_)
      : job(job_),
        lattice(lattice_),
        place(place_),
        box(box_),
        scratch(scratch_),
        counts(counts_),
        bits(bits_),
        planes(level_planes(job_.stage)),
        row_count(level_rows(job_.stage)),
        planes_log2(floor_log2(planes)),
        fours_log2(floor_log2(row_count / 4)) {}

  /* ---- rows ---- */

  __device__ __forceinline__ uint32_t last_class() const { return (1u << job.axis_count) - 1; }
  /* Of the tile itself: far planes have rows in the box only. */
  __device__ __forceinline__ Unsigned *row_of(uint32_t m, uint32_t z, uint32_t y) const {
    return m == last_class() ? scratch->last[z * row_count + y] : box.row_of(m, z, y);
  }

  /* Four rows of a class, and which of a lane's points in them exist, a bit for each. */
  struct Four {
    uint32_t m, z, y;
    uint32_t existing;
  };

  __device__ __forceinline__ uint32_t row_of_four(uint32_t n) const {
    return 4 * n & (row_count - 1);
  }
  /* As codes go: by class, plane and row. */
  __device__ __forceinline__ Four four_at(uint32_t n) const {
    uint32_t const at = n >> fours_log2;
    return four_of((at >> planes_log2) + 1, at & (planes - 1), row_of_four(n));
  }
  __device__ __forceinline__ Four four_of(uint32_t m, uint32_t z, uint32_t y) const {
    uint32_t const z_in_tile = m & SZG_AXIS_Z ? box.z_counts.odd : box.z_counts.in_tile;
    uint32_t const y_in_tile = m & SZG_AXIS_Y ? box.y_counts.odd : box.y_counts.in_tile;
    uint32_t const x = 2 * (threadIdx.x % 32) + (m & 1);
    bool const has_any = z < z_in_tile && y < y_in_tile && x < box.tile.x_extent;
    return {m, z, y, has_any ? (1u << min(y_in_tile - y, 4u)) - 1 : 0};
  }

  /* ---- values ---- */

  __device__ __forceinline__ void load(const Four &four, const typename A::Value *values,
                                       typename A::Value (&x)[4]) const {
    uint64_t index = place.value_at(job, 2 * four.z + (four.m >> 2), 2 * four.y + (four.m >> 1 & 1),
                                    2 * (threadIdx.x % 32) + (four.m & 1));
#pragma unroll
    for (uint32_t r = 0; r < 4; r++) {
      bool const is_virtual = job.has_virtual && index >= job.value_count;
      x[r] = value_or_none<A>(four.existing >> r & 1 && !is_virtual, values + index);
      index += 2 * job.y_stride;
    }
  }
  __device__ __forceinline__ void keep(const Four &four, const typename A::Value (&x)[4]) const {
    Unsigned *const at = row_of(four.m, four.z, four.y) + threadIdx.x % 32;
#pragma unroll
    for (uint32_t r = 0; r < 4; r++) {
      Point point;
      bool const is_fill = lattice.has_fill && A::bits(x[r]) == (typename A::Bits)lattice.fill_bits;
      bool const has_point = A::lattice(lattice, x[r], &point) && !is_fill;
      if (four.existing >> r & 1)
        at[r * SZG_LEVELS_ROW] = has_point ? (Unsigned)point : kNoPoint<A>;
    }
  }
  /* Brings all values. The whole block calls, and synchronizes before it uses them. */
  __device__ void bring(const typename A::Value *values) const {
    constexpr uint32_t kAhead = sizeof(typename A::Value) == 4 ? 4 : 2;
    uint32_t const four_count = last_class() << planes_log2 << fours_log2;
    for (uint32_t n = threadIdx.x / 32; n < four_count; n += kWarps * kAhead) {
      typename A::Value x[kAhead][4];
#pragma unroll
      for (uint32_t k = 0; k < kAhead; k++)
        if (n + k * kWarps < four_count) load(four_at(n + k * kWarps), values, x[k]);
#pragma unroll
      for (uint32_t k = 0; k < kAhead; k++)
        if (n + k * kWarps < four_count) keep(four_at(n + k * kWarps), x[k]);
    }
  }

  /* ---- points ---- */

  template <uint32_t m>
  __device__ __forceinline__ Unsigned predict(uint32_t z, uint32_t y) const {
    uint32_t const i = threadIdx.x % 32;
    return (m & (m - 1)) == 0 ? box.predict_single(m, z, y, i) : box.predict_from_box(m, z, y, i);
  }

  /* A point of the tile, of which *at has the value and gets what will be restored; returns its
   * code. */
  __device__ __forceinline__ Point settle(Unsigned predicted, Unsigned *at) const {
    Unsigned const own = *at;
    Point code = 0;
    if (own != kNoPoint<A>) code = job.unit.divide((Point)(own - predicted + job.unit.half));
    *at = predicted + (Unsigned)code * job.unit.size;
    return code;
  }

  /* Rows of the box from row y on, of which the first up to four are the tile's if the lane has
   * points there. The loop is not unrolled: all that a block executes must be fetched. */
  template <uint32_t m>
  __device__ __forceinline__ void settle_rows(const Four &four, uint32_t count,
                                              Point (&codes)[4]) const {
    bool const is_in_box = 2 * (threadIdx.x % 32) + (m & 1) < box.tile.x_extent;
    Unsigned *at = row_of(m, four.z, four.y) + threadIdx.x % 32;
#pragma unroll 1
    for (uint32_t r = 0; r < count; r++, at += SZG_LEVELS_ROW) {
      Point code = 0;
      if (is_in_box) {
        Unsigned const predicted = predict<m>(four.z, four.y + r);
        if (four.existing >> r & 1)
          code = settle(predicted, at);
        else
          *at = predicted;
      }
      if (r < 4) codes[0] = codes[1], codes[1] = codes[2], codes[2] = codes[3], codes[3] = code;
    }
  }

  /* Four rows of a class, and the far row behind them if there is one. Far planes have no codes. */
  __device__ __forceinline__ void settle_four(const Four &four) const {
    uint32_t const m = four.m;
    uint32_t const z_in_box = m & SZG_AXIS_Z ? box.z_counts.odd : box.z_counts.in_box;
    uint32_t const y_in_box = m & SZG_AXIS_Y ? box.y_counts.odd : box.y_counts.in_box;
    bool const has_far_row = four.y + 4 == row_count && y_in_box > row_count;
    Point codes[4] = {0, 0, 0, 0};
    uint32_t const count = four.z < z_in_box ? 4 + has_far_row : 0;
    switch (m) {
      case 1:
        settle_rows<1>(four, count, codes);
        break;
      case 2:
        settle_rows<2>(four, count, codes);
        break;
      case 3:
        settle_rows<3>(four, count, codes);
        break;
      case 4:
        settle_rows<4>(four, count, codes);
        break;
      case 5:
        settle_rows<5>(four, count, codes);
        break;
      case 6:
        settle_rows<6>(four, count, codes);
        break;
      default:
        settle_rows<7>(four, count, codes);
    }
    __syncwarp(); /* all lanes have their codes */
    if (four.z == planes) return;
    uint32_t const n = (((m - 1) << planes_log2) + four.z) * (row_count / 4) + four.y / 4;
    count_fours(n, codes, four.existing, counts, bits);
  }

  /* ---- classes ---- */

  /* Classes that do not need each other, 4 bits each, and those of them that have far planes, which
   * come last. */
  struct Phase {
    uint32_t classes, class_count, far_classes, far_count;
  };

  __device__ __forceinline__ Phase phase_at(uint32_t i) const {
    if (job.axis_count == 2) return i == 0 ? Phase{0x21, 2, 0, 0} : Phase{0x3, 1, 0, 0};
    bool const has_far = box.z_counts.in_box > planes;
    if (i == 0) return {0x421, 3, 0x21, has_far ? 2u : 0};
    if (i == 1) return {0x653, 3, 0x3, has_far ? 1u : 0};
    return {0x7, 1, 0, 0};
  }

  /* The whole block calls, once values are there. */
  __device__ __forceinline__ void settle_tile() const {
    for (uint32_t i = 0; i < job.axis_count; i++) {
      Phase const phase = phase_at(i);
      uint32_t const coded = phase.class_count << planes_log2 << fours_log2;
      uint32_t const all = coded + (phase.far_count << fours_log2);
      if (i > 0) __syncthreads(); /* points with fewer odd axes are there */
      for (uint32_t n = threadIdx.x / 32; n < all; n += kWarps) {
        bool const is_far = n >= coded;
        uint32_t const at = is_far ? (n - coded) >> fours_log2 : n >> fours_log2;
        uint32_t const m = is_far ? phase.far_classes >> 4 * at & 15
                                  : phase.classes >> 4 * (at >> planes_log2) & 15;
        settle_four(four_of(m, is_far ? planes : at & (planes - 1), row_of_four(n)));
      }
    }
  }
};

} // namespace szg

#endif
