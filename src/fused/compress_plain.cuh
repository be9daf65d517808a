/* compress_plain.cuh - tiles to bits on any lattice, one value at a time.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_COMPRESS_PLAIN_CUH
#define SZG_COMPRESS_PLAIN_CUH

#include "fused/compress_walk.cuh"

namespace szg {

/* For the 32- and 64-bit lattices, and the 16-bit one if lines are too far apart for PairWalk. */
template <class A, int kDims>
struct PlainWalk {
  typedef typename A::Value Value;
  typedef typename A::Point Point;
  typedef typename A::Unsigned Unsigned;
  static constexpr int kBlocks = sizeof(Value) == 4 ? 4 : 3; /* that must fit a multiprocessor */

  /* Escapes one after the other, and two bits of zero groups. */
  static constexpr uint32_t kMostGroupWords =
      (31 + SZG_GROUP_ROWS * (SZG_TILE_CODE_BITS + 8 * sizeof(Point)) + 2) / 32;
  static_assert(kMostGroupWords < CompressPolicy::kStageWords, "the stage has room for a group");

  static __device__ __forceinline__ void load_group(const Value *values, const TileShape &shape,
                                                    uint32_t group, uint32_t lane, uint32_t rows,
                                                    Value (&loaded)[SZG_GROUP_ROWS]) {
#pragma unroll
    for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++)
      loaded[row] = rows >> row & 1 ? __ldcs(values + value_offset<kDims>(shape, group, row, lane))
                                    : (Value)0;
  }

  /* Like PairWalk's walk. */
  static __device__ __forceinline__ bool walk(const CompressJob &job, uint32_t,
                                              const TileShape &shape, const Coder &coder,
                                              LaneBits &bits, LaneStage *stage, bool *has_marks) {
    uint32_t const lane = threadIdx.x % 32, groups = group_count<kDims>(shape);
    AxisChoice const axes = axis_choice<kDims>(*job.axes);
    const Value *const values = (const Value *)job.values + shape.first_value;
    Unsigned before[kRowsBefore<kDims>] = {};
    bool is_marked = false, has_deltas = false;
#pragma unroll 1
    for (uint32_t group = 0; group < groups; group++) {
      uint32_t const rows = rows_of_lane<kDims>(shape, group, lane);
      Value loaded[SZG_GROUP_ROWS];
      load_group(values, shape, group, lane, rows, loaded);
      Unsigned points[SZG_GROUP_ROWS], differences[SZG_GROUP_ROWS];
      is_marked |= group_points<A, kDims>(job.k, loaded, rows, before, group, points);
      group_differences<Unsigned, kDims>(points, before, axes, group, lane, differences);
      keep_rows<Unsigned, kDims>(points, before);
      Point deltas[SZG_GROUP_ROWS];
      uint32_t with_deltas = 0;
#pragma unroll
      for (uint32_t row = 0; row < SZG_GROUP_ROWS; row++) {
        deltas[row] = (Point)differences[row];
        if (sizeof(Point) == 4 && coder.lattice_bits == 16)
          deltas[row] = (int16_t)(uint16_t)differences[row];
        with_deltas |= deltas[row] != 0 ? 1u << row : 0;
      }
      with_deltas &= rows;
      has_deltas |= with_deltas != 0;
      keep_room(bits, kMostGroupWords, stage);
      append_group(bits, rows, with_deltas, coder.zero_groups,
                   [&](uint32_t row) { append_delta(bits, deltas[row], coder); });
    }
    *has_marks = is_marked;
    return has_deltas;
  }
};

} // namespace szg

#endif
