/* levels_encode_edge.cuh - what an encoder does to the points of any tile: values to codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For tiles that are cut off, and for those with values without a lattice value, which it notes.
 */
#ifndef SZG_LEVELS_ENCODE_EDGE_CUH
#define SZG_LEVELS_ENCODE_EDGE_CUH

#include "codecs/interpolation/levels_encode_step.cuh"
#include "codecs/interpolation/levels_march_edge.cuh"
#include "codecs/interpolation/levels_marks.cuh"

namespace szg {

/* A step for levels_march_edge.cuh. Codes have kBytes in shared memory, or 4 bytes in global
 * memory. A plane of the field comes from its place in shared memory, behind the slots, into
 * registers by four rows; then the next one of its kind is on its way there. */
template <uint32_t kReach, uint32_t kBytes, class A>
struct EdgeEncodeStep {
  typedef typename A::Value Value;
  static constexpr uint32_t kCodeBytes = kBytes;
  static constexpr uint32_t kPairs = kTilePairs<kBytes>;
  static constexpr uint32_t kRows = 8, kRowBytes = 64 * sizeof(Value);
  static constexpr uint32_t kPlaneWords = kRows * kRowBytes / 4;
  static constexpr int kSlots = 2, kLateGroups = 1;
  static constexpr uint32_t kSlotWords = march_plane_words(kReach);
  static constexpr uint32_t kStageWords = kSlots * kSlotWords + 2 * kPlaneWords;
  static constexpr bool kPins = true, kIsInner = false;

  LevelsCoder<A> const coder; /* a copy, which is in registers */
  const MarkRule &rule;
  const WarpTile &tile; /* read where there is time */
  LevelsTilePoints<A> const points;
  LevelsCodes<kBytes> codes;
  uint4 *wide_codes; /* not NULL: the tile's codes by place go here, not to shared memory */

  uint32_t lane;
  const unsigned char *mine;                    /* the first value of a row that this lane copies */
  uint32_t plane_bytes, row_bytes, upper_bytes; /* upper: to its second one */
  uint32_t last_row;                            /* of the tile */
  uint32_t plane_count;                         /* likewise */
  uint32_t *planes;                             /* the places of an even and an odd plane */
  uint32_t field; /* shared address of this lane's values in the first row of an even plane */
  int step;

  /* Of rows 4 m to 4 m + 3, m being a class but for z: which points the tile has. */
  uint32_t existing, existing_even; /* in its planes; in the step's even one */
  bool is_stored;                   /* the grid's rows have room for this lane's pairs */
  Value row_values[4][2];           /* of the two classes at hand */
  uint32_t four[4];                 /* codes of a class */
  uint32_t missing; /* points of the plane at hand without a lattice value, as in existing */
  uint32_t beyond;  /* bits of what does not fit */

  __device__ __forceinline__ EdgeEncodeStep(const LevelsCoder<A> &coder_, const MarkRule &rule_,
                                            const WarpTile &tile_,
                                            const LevelsTilePoints<A> &points_,
                                            const uint32_t *memory, uint4 *wide_codes_)
      : coder(coder_),
        rule(rule_),
        tile(tile_),
        points(points_),
        codes(memory),
        wide_codes(wide_codes_),
        lane(threadIdx.x % 32),
        plane_bytes((uint32_t)(points.z_stride * sizeof(Value))),
        row_bytes((uint32_t)(points.y_stride * sizeof(Value))),
        last_row(tile_.y_extent - 1),
        plane_count(tile_.z_extent),
        existing(0),
        is_stored(2 * lane < tile_.x_room()),
        missing(0),
        beyond(0) {
    bool const has_even = 2 * lane < tile.x_extent, has_odd = 2 * lane + 1 < tile.x_extent;
    uint32_t const last = tile.x_extent - 1;
    uint32_t const lower = min(lane, last);
    uint32_t const upper = min(lane + 32, last);
    mine = (const unsigned char *)(points.values + lower * points.x_stride);
    upper_bytes = (upper - lower) * points.x_stride * (uint32_t)sizeof(Value);
#pragma unroll
    for (uint32_t m = 0; m < 4; m++) {
      uint32_t const rows = (tile.y_extent + 1 - (m >> 1)) / 2;
      if (m & SZG_AXIS_X ? has_odd : has_even) existing |= lanes_below(rows) << 4 * m;
    }
  }

  /* The whole warp calls. */
  __device__ __forceinline__ CodedTile result() const {
    bool const is_small = !__any_sync(kAllLanes, beyond != 0);
    return {is_small, !__any_sync(kAllLanes, codes.live != 0), false};
  }

  /* ---- the field ---- */

  /* In place of values that the tile has not, its last ones. */
  __device__ __forceinline__ void copy_plane(uint32_t z, uint32_t *to) const {
    const unsigned char *const plane = step_by(mine, z, plane_bytes);
    Value *const values = (Value *)to + lane;
#pragma unroll
    for (uint32_t y = 0; y < kRows; y++) {
      const unsigned char *const row = step_by(plane, min(y, last_row), row_bytes);
      copy_ahead<sizeof(Value)>(values + 64 * y, row);
      copy_ahead<sizeof(Value)>(values + 64 * y + 32, row + upper_bytes);
    }
  }
  /* The step's planes are in registers: the next ones come, each in a group of its own. */
  __device__ __forceinline__ void copy_next_even() const {
    __syncwarp(); /* the place is free */
    uint32_t const z = 2 * (uint32_t)step + 2;
    if (z < plane_count) copy_plane(z, planes);
    end_copies();
    if (step < 2) end_copies(); /* in place of the next odd plane: the first one waits for step 2 */
  }
  __device__ __forceinline__ void copy_next_odd() const {
    __syncwarp(); /* likewise */
    uint32_t const z = 2 * (uint32_t)step - 1;
    if (z < plane_count) copy_plane(z, planes + kPlaneWords);
    end_copies();
  }

  __device__ __forceinline__ bool gives_up() const { return false; }
  __device__ __forceinline__ void copy(int, uint32_t *) const {}
  __device__ __forceinline__ void start(uint32_t *stage) {
    planes = stage + kSlots * kSlotWords;
    field = shared_address(planes) + 2 * (uint32_t)sizeof(Value) * lane;
    copy_plane(0, planes);
    end_copies();
    if (plane_count > 1) copy_plane(1, planes + kPlaneWords);
    end_copies();
    put_absent();
  }
  __device__ __forceinline__ void begin(int i, const uint32_t *) {
    step = i;
    existing_even = 2 * (uint32_t)i < plane_count ? existing : 0;
  }
  /* Behind the odd plane's group is that of the coarser grid, and mostly one of an even plane. On
   * far planes values are those of the plane before. */
  __device__ __forceinline__ void load_rows(bool is_odd_plane, bool is_odd_row) {
    if (is_odd_plane && !is_odd_row) {
      await_copies<1>();
      __syncwarp(); /* all lanes' copies have arrived */
    }
    uint32_t const first = (is_odd_plane ? kRows : 0) + (is_odd_row ? 1 : 0);
#pragma unroll
    for (uint32_t j = 0; j < 4; j++)
      load_shared_two(field + (first + 2 * j) * kRowBytes, &row_values[j][0], &row_values[j][1]);
    if (!is_odd_row) return;
    if (is_odd_plane)
      copy_next_odd();
    else
      copy_next_even();
  }

  /* ---- points ---- */

  template <uint32_t kClass>
  __device__ __forceinline__ uint32_t settle(int j, uint32_t predicted, bool) {
    uint32_t const bit = 1u << (4 * (kClass & 3) + (uint32_t)j);
    Value const value = row_values[j][kClass & 1];
    uint32_t none = 0;
    uint32_t const point = coder.point_of(value, &none);
    bool const exists = ((kClass & SZG_AXIS_Z ? existing : existing_even) & bit) != 0;
    bool const is_fill = coder.lattice.has_fill && coder.is_fill(value);
    bool const has_point = !coder.is_none(none) && !is_fill;
    uint32_t const excess = point - predicted;
    uint32_t const code = kBytes == 1 ? (uint32_t)((int32_t)(excess + coder.half) >> coder.log2)
                                      : coder.divide(excess);
    four[j] = exists && has_point ? code : 0;
    if (exists && !has_point) missing |= bit;
    beyond |= code_excess<kBytes>(four[j]);
    return predicted + four[j] * coder.unit;
  }

  /* Notes the points of a plane that have no lattice value. */
  __device__ __forceinline__ void mark_missing(uint32_t z) {
#pragma unroll 1
    for (; missing != 0; missing &= missing - 1) {
      if (!rule.marks) continue;
      uint32_t const place = (uint32_t)__ffs((int)missing) - 1;
      uint32_t const y = 2 * (place % 4) + (place >> 3), x = 2 * lane + (place >> 2 & 1);
      rule.mark_at(tile.box, (uint64_t)(tile.z + z) * points.x_stride,
                   (uint64_t)(tile.y + y) * points.x_stride,
                   (uint64_t)(tile.x + x) * points.x_stride);
    }
  }

  template <uint32_t kClass>
  __device__ __forceinline__ void put_four(uint32_t pair) {
    if (wide_codes)
      wide_codes[((kClass - 1) * kPairs + pair) * 32 + lane] =
          make_uint4(four[0], four[1], four[2], four[3]);
    else
      codes.template put<kClass>(codes.address_of(pair, lane), four);
  }
  template <uint32_t kClass>
  __device__ __forceinline__ void end_class(int pair, bool is_coded) {
    if (!is_coded) return;
    put_four<kClass>((uint32_t)pair);
    if (kClass == 3) mark_missing(2 * (uint32_t)pair);
    if (kClass == 7) mark_missing(2 * (uint32_t)pair + 1);
  }
  /* Codes of planes that the tile has not. */
  __device__ __forceinline__ void put_absent() {
    four[0] = four[1] = four[2] = four[3] = 0;
#pragma unroll 1
    for (uint32_t pair = (plane_count + 1) / 2; pair < kPairs; pair++) {
      put_four<1>(pair);
      put_four<2>(pair);
      put_four<3>(pair);
    }
#pragma unroll 1
    for (uint32_t pair = plane_count / 2; pair < kPairs; pair++) {
      put_four<4>(pair);
      put_four<5>(pair);
      put_four<6>(pair);
      put_four<7>(pair);
    }
  }

  __device__ __forceinline__ void store(int z, int y, uint32_t even, uint32_t odd) const {
    if (kBytes == 1 || (uint32_t)y > last_row) return; /* the finest level has no grid */
    if (is_stored) *(uint2 *)points.grid_at((uint32_t)z, (uint32_t)y) = make_uint2(even, odd);
  }
};

} // namespace szg

#endif
