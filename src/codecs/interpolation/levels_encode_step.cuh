/* levels_encode_step.cuh - what an encoder does to the points of a tile that a warp marches over:
 * values to codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The step takes full tiles whose values all have lattice values and whose codes fit in shared
 * memory, and says afterwards if that was not so; levels_encode_edge.cuh has one for any tile.
 */
#ifndef SZG_LEVELS_ENCODE_STEP_CUH
#define SZG_LEVELS_ENCODE_STEP_CUH

#include "codecs/interpolation/levels_encode_lanes.cuh"
#include "codecs/interpolation/levels_march.cuh"
#include "core/shared_two.cuh"

namespace szg {

/* ---- values to codes ---- */

/* How a level's values become codes. */
template <class A>
struct LevelsCoder {
  typedef typename A::Value Value;
  static constexpr uint32_t kRoundBits = 0x4B400000; /* of SZG_LEVELS_ROUND_F32 */

  szg_levels_lattice lattice;
  uint32_t unit, half, log2;         /* 2^log2 is at most the unit */
  uint32_t factor, offset, quotient; /* to divide */
  /* In the finest level, whose unit is 2^log2: */
  uint32_t bias;  /* 128 units, which make codes of 8 bits from 0 on */
  uint32_t start; /* of an excess: see excess_of */
  uint32_t scale; /* from an excess to 16 bits, of which the upper 8 are the code */
  uint32_t above; /* from bits of a sum, in f32, to how far it is above the least lattice value */

  /* A unit of 1 would need the factor 2^32; with one less, a quotient is one less. */
  explicit LevelsCoder(const szg_levels_lattice &k, uint32_t level_unit)
      : lattice(k), unit(level_unit), half(level_unit / 2), log2(0), bias(level_unit << 7) {
    while (unit >> (log2 + 1) != 0) log2++;
    start = half + bias - (sizeof(Value) == 4 ? kRoundBits : 0);
    scale = 1u << (8 - log2);
    uint64_t const rounded_up = (((uint64_t)1 << 32) + unit - 1) / unit;
    quotient = (2u << SZG_LEVELS_LIMIT_BITS) / unit + 1;
    offset = half + quotient * unit;
    factor = (uint32_t)(rounded_up - (unit == 1));
    quotient -= unit == 1;
    above = (uint32_t)lattice.limit - kRoundBits;
  }

  /* The code of an excess over a clamped prediction: floor((excess + half) / unit). The magnitude
   * of an excess is at most 2^23; with that the division is exact. */
  __device__ __forceinline__ uint32_t divide(uint32_t excess) const {
    return __umulhi(excess + offset, factor) - quotient;
  }
  /* The lattice value; *none becomes large (is_none) if there is none. Fill values count, too. */
  __device__ __forceinline__ uint32_t point_of(Value value, uint32_t *none) const;
  /* How far the lattice value is above the prediction, with half a unit and the bias. */
  __device__ __forceinline__ uint32_t excess_of(Value value, uint32_t predicted,
                                                uint32_t *none) const;
  __device__ __forceinline__ bool is_none(uint32_t none) const {
    return none >= 2 * (uint32_t)lattice.limit;
  }

  __device__ __forceinline__ bool is_fill(Value value) const {
    return A::bits(value) == (typename A::Bits)lattice.fill_bits;
  }
};
static_assert(SZG_LEVELS_MOST_FINE <= 8, "units up to 256");
static_assert(SZG_LEVELS_ROUND_F32 == 12582912.0f, "kRoundBits");

/* Bits of the sum of a value and the rounding constant: they rise with sums that are not negative,
 * and those of other sums, and of NaN, are above them. */
__device__ __forceinline__ uint32_t rounded_bits(const LevelsCoder<LevelsF32> &coder, float value,
                                                 uint32_t *none) {
  uint32_t const bits =
      __float_as_uint(__fmaf_rn(value, coder.lattice.inverse_f32, SZG_LEVELS_ROUND_F32));
  *none = __viaddmax_u32(bits, coder.above, *none);
  return bits;
}

template <>
__device__ __forceinline__ uint32_t LevelsCoder<LevelsF32>::point_of(float value,
                                                                     uint32_t *none) const {
  return rounded_bits(*this, value, none) - kRoundBits;
}
template <>
__device__ __forceinline__ uint32_t LevelsCoder<LevelsF32>::excess_of(float value,
                                                                      uint32_t predicted,
                                                                      uint32_t *none) const {
  return rounded_bits(*this, value, none) - predicted + start;
}

template <>
__device__ __forceinline__ uint32_t LevelsCoder<LevelsF64>::point_of(double value,
                                                                     uint32_t *none) const {
  int32_t point;
  if (!LevelsF64::lattice(lattice, value, &point)) *none = ~0u;
  return (uint32_t)point;
}
template <>
__device__ __forceinline__ uint32_t LevelsCoder<LevelsF64>::excess_of(double value,
                                                                      uint32_t predicted,
                                                                      uint32_t *none) const {
  return point_of(value, none) - predicted + start;
}

/* Codes of four points of a class, one row after another, in shared memory. A class has 256 words
 * in all levels, four regions. */
template <uint32_t kCodeBytes>
struct LevelsCodes {
  static constexpr uint32_t kClassBytes = 4 * 4 * LevelsRegions::kPitch;
  static_assert(kTilePairs<kCodeBytes> * 32 * kCodeBytes == 4 * LevelsRegions::kWords, "");

  uint32_t first; /* shared address of the memory, LevelsRegions */
  uint32_t live;  /* of what this lane has put: bits if a code is not 0 */

  __device__ __forceinline__ explicit LevelsCodes(const uint32_t *memory)
      : first(shared_address(memory)), live(0) {}

  /* Where a lane's codes of class 1 are in a pair of planes. */
  __device__ __forceinline__ uint32_t address_of(uint32_t pair, uint32_t lane) const {
    return first + 4 * LevelsRegions::at((pair * 32 + lane) * kCodeBytes);
  }
  /* A word of codes of one byte; nothing unless is_coded. */
  template <uint32_t kClass>
  __device__ __forceinline__ void put_bytes(uint32_t address, uint32_t four, bool is_coded) {
    store_shared_if(is_coded, address + (kClass - 1) * kClassBytes, four);
    live |= (is_coded ? four : 0x80808080u) ^ 0x80808080u;
  }
  /* codes: as many bytes of each as there is room for. */
  template <uint32_t kClass>
  __device__ __forceinline__ void put(uint32_t address, const uint32_t (&codes)[4]) {
    uint32_t const at = address + (kClass - 1) * kClassBytes;
    if (kCodeBytes == 1) {
      uint32_t const low = __byte_perm(codes[0], codes[1], 0x0040);
      put_bytes<kClass>(
          address, __byte_perm(low, __byte_perm(codes[2], codes[3], 0x0040), 0x5410) ^ 0x80808080u,
          true);
      return;
    }
    live |= codes[0] | codes[1] | codes[2] | codes[3];
    if (kCodeBytes == 2) {
      store_shared(at, __byte_perm(codes[0], codes[1], 0x5410));
      store_shared(at + 4, __byte_perm(codes[2], codes[3], 0x5410));
    } else {
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) store_shared(at + 4 * j, codes[j]);
    }
  }
};

/* What is above the bits of a code in shared memory, of the code and half their range. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ uint32_t code_excess(uint32_t code) {
  if (kCodeBytes == 4) return 0;
  return (code + (1u << (8 * kCodeBytes - 1))) >> (8 * kCodeBytes % 32);
}

/* A tile's points in the field and in the level's grid. */
template <class A>
struct LevelsTilePoints {
  const typename A::Value *values; /* at the tile's first point */
  uint64_t z_stride, y_stride;     /* from point to point, in values */
  uint32_t x_stride;
  uint32_t *grid; /* likewise; NULL in the last level */
  uint64_t z_points;
  uint32_t y_points;

  __device__ __forceinline__ const typename A::Value *row(uint32_t z, uint32_t y) const {
    return values + z * z_stride + y * y_stride;
  }
  __device__ __forceinline__ uint32_t *grid_at(uint32_t z, uint32_t y) const {
    return grid + z * z_points + y * y_points + 2 * (threadIdx.x % 32);
  }
};

/* ---- full tiles ---- */

/* What a march found of a tile. The whole warp has the same. */
struct CodedTile {
  bool fits; /* its codes are in shared memory, and right */
  bool is_zero;
  bool is_sound; /* the tile is full, and all values that were taken have lattice values */
};

/* Rows of the field that step i needs, of even plane 2 i and of odd plane 2 i - 3, are copied ahead
 * into shared memory. There is one place for even planes and one for odd ones, behind the slots:
 * when a plane's rows have come from there into registers, the next plane is on its way. In the
 * finest level half of the rows come at a time, which leaves registers for more warps; in coarser
 * ones all come at once. At a spacing of 2 rows are copied with the values between their points,
 * since single values take more instructions than the memory pipe has room for.
 * kIsInner_: as in the march; then rows come in pieces of 16 bytes, but for single values, and the
 * field has no fill value. */
template <uint32_t kReach, uint32_t kBytes, class A, bool kIsInner_>
struct FullEncodeStep {
  typedef typename A::Value Value;
  static constexpr uint32_t kCodeBytes = kBytes;
  static constexpr bool kIsFinest = kBytes == 1, kIsInner = kIsInner_;
  static constexpr uint32_t kPairs = kTilePairs<kBytes>;
  static constexpr uint32_t kSpread = kBytes == 2 ? 2 : 1; /* of points, in shared memory */
  static constexpr uint32_t kRows = 8, kRowBytes = 64 * kSpread * sizeof(Value);
  static constexpr uint32_t kPlaneBytes = kRows * kRowBytes, kPieceBytes = 32 * 16;
  static constexpr int kSlots = 2, kLateGroups = 1;
  static constexpr uint32_t kSlotWords = march_plane_words(kReach);
  static constexpr uint32_t kStageWords = kSlots * kSlotWords + 2 * kPlaneBytes / 4;
  static constexpr bool kPins = true;

  const LevelsCoder<A> &coder;
  LevelsTilePoints<A> points;
  LevelsCodes<kBytes> codes;
  bool copies_16; /* rows of the field begin at multiples of 16 bytes */

  uint32_t lane;
  const unsigned char *mine; /* what this lane copies first of the tile's first plane */
  uint32_t plane_bytes, row_bytes, half_row_bytes;
  uint32_t *planes; /* the places of an even and an odd plane */
  int step;

  uint32_t even_mask, even_bias; /* of codes of even planes: as below, or 0 on far planes */
  uint32_t field; /* shared address of this lane's values in the first row of an even plane */
  uint32_t place; /* and of its codes of class 1 in the step's even plane */
  Value loaded[kIsFinest ? 1 : kRows][2]; /* coarser levels: the plane at hand */
  Value row_values[4][2];                 /* of the two classes at hand */
  uint32_t four[4];                       /* codes of a class */
  uint32_t beyond;                        /* bits of what does not fit */
  uint32_t none; /* large (LevelsCoder::is_none) if a value has no lattice value */

  __device__ __forceinline__ FullEncodeStep(const LevelsCoder<A> &coder_,
                                            const LevelsTilePoints<A> &points_,
                                            const uint32_t *memory, bool copies_16_)
      : coder(coder_),
        points(points_),
        codes(memory),
        copies_16(kBytes <= 2 && (kIsInner || copies_16_)),
        lane(kept(threadIdx.x % 32)),
        plane_bytes((uint32_t)(points.z_stride * sizeof(Value))),
        row_bytes((uint32_t)(points.y_stride * sizeof(Value))),
        half_row_bytes((uint32_t)(32 * points.x_stride * sizeof(Value))),
        beyond(0),
        none(0) {
    asm volatile("" : "+r"(codes.first)); /* made anew in each step otherwise */
    uint32_t const x_bytes = points.x_stride * sizeof(Value);
    constexpr uint32_t kRowLanes = kRowBytes < kPieceBytes ? kRowBytes / 16 : 32;
    mine = (const unsigned char *)points.values;
    mine += copies_16 ? lane / kRowLanes * row_bytes + lane % kRowLanes * 16 : lane * x_bytes;
    asm volatile("" : "+l"(mine));
  }

  /* Whether a code does not fit. The whole warp calls all of these. */
  __device__ __forceinline__ bool is_beyond() const {
    return __any_sync(kAllLanes, (kIsFinest ? beyond >> (coder.log2 + 8) : beyond) != 0);
  }
  /* Another march is to follow, which takes any tile. */
  __device__ __forceinline__ bool gives_up() const { return kIsFinest && is_beyond(); }
  __device__ __forceinline__ CodedTile result() const {
    bool const has_points = !__any_sync(kAllLanes, coder.is_none(none));
    bool const is_small = !is_beyond();
    return {has_points && is_small, !__any_sync(kAllLanes, codes.live != 0), has_points};
  }

  /* If is_wanted. */
  __device__ __forceinline__ void copy_plane(bool is_wanted, uint32_t z, uint32_t *words) const {
    const unsigned char *const plane = step_by(mine, z, plane_bytes);
    if (kBytes <= 2 && (kIsInner || copies_16)) {
#pragma unroll
      for (uint32_t i = 0; i < kPlaneBytes; i += kPieceBytes)
        copy_16_ahead_if(is_wanted, words + i / 4 + 4 * lane,
                         step_by(plane, i / kRowBytes, row_bytes) + i % kRowBytes);
      return;
    }
    if (!is_wanted) return;
    uint32_t const half_bytes = kIsFinest ? 32 * sizeof(Value) : half_row_bytes;
#pragma unroll(kBytes == 2 ? 1 : 8)
    for (uint32_t y = 0; y < kRows; y++) {
      const unsigned char *const row = step_by(plane, y, row_bytes);
      Value *const to = (Value *)words + 64 * kSpread * y + kSpread * lane;
      copy_ahead<sizeof(Value)>(to, row);
      copy_ahead<sizeof(Value)>(to + 32 * kSpread, row + half_bytes);
    }
  }

  __device__ __forceinline__ void copy(int, uint32_t *) const {}
  __device__ __forceinline__ void start(uint32_t *stage) {
    planes = stage + kSlots * kSlotWords;
    field = shared_address(planes) + 2 * (uint32_t)sizeof(Value) * lane;
    copy_plane(true, 0, planes);
    end_copies();
    copy_plane(true, 1, planes + kPlaneBytes / 4);
    end_copies();
  }

  /* The step's planes are in registers: the next ones come, each in a group of its own. */
  __device__ __forceinline__ void copy_next_even() const {
    __syncwarp(); /* the place is free */
    copy_plane(step + 1 < (int)kPairs, 2 * (uint32_t)step + 2, planes);
    end_copies();
    if (step < 2) end_copies(); /* in place of the next odd plane: the first one waits for step 2 */
  }
  __device__ __forceinline__ void copy_next_odd() const {
    __syncwarp(); /* likewise */
    copy_plane(step <= (int)kPairs, 2 * (uint32_t)step - 1, planes + kPlaneBytes / 4);
    end_copies();
  }
  /* A whole plane from its place to registers. */
  __device__ __forceinline__ void take_plane(const uint32_t *from) {
    constexpr uint32_t kLaneBytes = 2 * kSpread * sizeof(Value);
    uint32_t const address = shared_address(from) + kLaneBytes * lane;
#pragma unroll
    for (uint32_t y = 0; y < kRows; y++) {
      Value *const two = loaded[y % (kIsFinest ? 1 : kRows)];
      if (kSpread == 2)
        load_shared_apart(address + y * kRowBytes, &two[0], &two[1]);
      else
        load_shared_two(address + y * kRowBytes, &two[0], &two[1]);
    }
  }

  /* Finds fill values in a plane of the step. */
  __device__ __forceinline__ void find_fill(bool is_odd_plane) {
#pragma unroll
    for (uint32_t y = 0; y < kRows; y++) {
      Value two[2];
      load_row((is_odd_plane ? kRows : 0) + y, two);
      if (coder.is_fill(two[0]) || coder.is_fill(two[1])) none = ~0u;
    }
  }

  __device__ __forceinline__ void begin(int i, const uint32_t *) {
    bool const has_even = i < (int)kPairs;
    step = i;
    even_mask = kIsFinest ? (has_even ? 0u - coder.unit : 0) : (has_even ? ~0u : 0);
    even_bias = has_even ? coder.bias : 0;
    place = codes.address_of((uint32_t)i, lane);
    if (!kIsFinest) {
      take_plane(planes);
      copy_next_even();
    }
    if (!kIsInner && coder.lattice.has_fill && has_even) find_fill(false);
  }
  /* Behind the odd plane's group are that of the coarser grid and one of the next even plane, which
   * in the finest level is not there if the march settles no even plane in the step. */
  __device__ __forceinline__ void begin_odd() {
    await_copies<kIsFinest ? 1 : 2>();
    __syncwarp(); /* all lanes' copies have arrived */
    if (!kIsFinest) {
      take_plane(planes + kPlaneBytes / 4);
      copy_next_odd();
    }
    if (!kIsInner && coder.lattice.has_fill) find_fill(true);
  }

  /* This lane's two values of row y of the step's even plane, or row y - kRows of the odd one. */
  __device__ __forceinline__ void load_row(uint32_t y, Value (&two)[2]) const {
    if (kIsFinest) {
      load_shared_two(field + y * kRowBytes, &two[0], &two[1]);
    } else {
      two[0] = loaded[y % (kIsFinest ? 1 : kRows)][0];
      two[1] = loaded[y % (kIsFinest ? 1 : kRows)][1];
    }
  }
  __device__ __forceinline__ void load_rows(bool is_odd_plane, bool is_odd_row) {
    if (is_odd_plane && !is_odd_row) begin_odd();
#pragma unroll
    for (uint32_t j = 0; j < 4; j++)
      load_row((is_odd_plane ? kRows : 0) + 2 * j + (is_odd_row ? 1 : 0), row_values[j]);
    if (!kIsFinest || !is_odd_row) return;
    if (is_odd_plane)
      copy_next_odd();
    else
      copy_next_even();
  }

  /* On far planes values are those of the plane before. */
  template <uint32_t kClass>
  __device__ __forceinline__ uint32_t settle(int j, uint32_t predicted, bool) {
    constexpr bool kIsAlways = (kClass & SZG_AXIS_Z) != 0;
    if (kIsFinest) {
      uint32_t const excess = coder.excess_of(row_values[j][kClass & 1], predicted, &none);
      uint32_t const units = excess & (kIsAlways ? 0u - coder.unit : even_mask);
      four[j] = excess;
      beyond |= units;
      return predicted + units - (kIsAlways ? coder.bias : even_bias);
    }
    uint32_t const point = coder.point_of(row_values[j][kClass & 1], &none);
    uint32_t const code = coder.divide(point - predicted) & (kIsAlways ? ~0u : even_mask);
    four[j] = code;
    beyond |= code_excess<kBytes>(code);
    return predicted + code * coder.unit;
  }

  template <uint32_t kClass>
  __device__ __forceinline__ void end_class(int, bool is_coded) {
    constexpr uint32_t kOddBytes = 4 * kBytes * LevelsRegions::kPitch; /* two pairs of planes */
    uint32_t const at = place - (kClass & SZG_AXIS_Z ? kOddBytes : 0);
    if (!kIsFinest) {
      if (is_coded) codes.template put<kClass>(at, four);
      return;
    }
    uint32_t const low = __byte_perm(four[0], four[1], 0x5410) * coder.scale;
    uint32_t const high = __byte_perm(four[2], four[3], 0x5410) * coder.scale;
    codes.template put_bytes<kClass>(at, __byte_perm(low, high, 0x7531), is_coded);
  }

  __device__ __forceinline__ void store(int z, int y, uint32_t even, uint32_t odd) const {
    if (!kIsFinest) *(uint2 *)points.grid_at((uint32_t)z, (uint32_t)y) = make_uint2(even, odd);
  }
};

} // namespace szg

#endif
