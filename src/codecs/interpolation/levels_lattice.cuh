/* levels_lattice.cuh - the lattice of levels frames on the GPU: nearest point, units, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The twin of levels_lattice.h. Each type of value and width of lattice values is a struct: Value
 * with Bits, Point, and Unsigned, in which sums wrap. The operations are named because each must
 * round once, as the C that they follow does.
 */
#ifndef SZG_LEVELS_LATTICE_CUH
#define SZG_LEVELS_LATTICE_CUH

#include "codecs/interpolation/levels.h"
#include "codecs/interpolation/levels_lattice.h"

namespace szg {

struct NarrowPoints {
  typedef int32_t Point;
  typedef uint32_t Unsigned;
  static constexpr int kLimitBits = SZG_LEVELS_LIMIT_BITS;

  static __device__ __forceinline__ double number(Point q) { return __int2double_rn(q); }
};

struct WidePoints {
  typedef int64_t Point;
  typedef uint64_t Unsigned;
  static constexpr int kLimitBits = SZG_LEVELS_WIDE_LIMIT_BITS;

  static __device__ __forceinline__ double number(Point q) { return __ll2double_rn(q); }
};

struct LevelsF32 : NarrowPoints {
  typedef float Value;
  typedef uint32_t Bits;
  static __device__ __forceinline__ Bits bits(Value x) { return __float_as_uint(x); }
  static __device__ __forceinline__ bool lattice(const szg_levels_lattice &k, Value x, Point *q) {
    float const sum = __fmaf_rn(x, k.inverse_f32, SZG_LEVELS_ROUND_F32);
    uint32_t const low = __float_as_uint(sum) - __float_as_uint(SZG_LEVELS_ROUND_F32);
    *q = (Point)low;
    return low + (uint32_t)k.limit < 2 * (uint32_t)k.limit;
  }
  static __device__ __forceinline__ Value restore(const szg_levels_lattice &k, Point q) {
    return szg_limit_f32(__fmul_rn(__int2float_rn(q), k.fine_f32), (float)k.least,
                         (float)k.greatest);
  }
};

template <class Points>
struct LevelsOfF64 : Points {
  typedef double Value;
  typedef uint64_t Bits;
  typedef typename Points::Point Point;
  static __device__ __forceinline__ Bits bits(Value x) { return (Bits)__double_as_longlong(x); }
  static __device__ __forceinline__ bool lattice(const szg_levels_lattice &k, Value x, Point *q) {
    double const sum = __fma_rn(x, k.inverse, SZG_LEVELS_ROUND_F64);
    uint64_t const low = bits(sum) - bits(SZG_LEVELS_ROUND_F64);
    *q = (Point)low;
    return low + k.limit < 2 * k.limit;
  }
  static __device__ __forceinline__ Value restore(const szg_levels_lattice &k, Point q) {
    return szg_limit_f64(__dmul_rn(Points::number(q), k.fine), k.least, k.greatest);
  }
};
struct LevelsF64 : LevelsOfF64<NarrowPoints> {};
struct LevelsF64Wide : LevelsOfF64<WidePoints> {};

struct LevelsF32Wide : WidePoints {
  typedef float Value;
  typedef uint32_t Bits;
  static __device__ __forceinline__ Bits bits(Value x) { return __float_as_uint(x); }
  static __device__ __forceinline__ bool lattice(const szg_levels_lattice &k, Value x, Point *q) {
    return LevelsF64Wide::lattice(k, (double)x, q);
  }
  static __device__ __forceinline__ Value restore(const szg_levels_lattice &k, Point q) {
    float const restored = __double2float_rn(__dmul_rn(__ll2double_rn(q), k.fine));
    return szg_limit_f32(restored, (float)k.least, (float)k.greatest);
  }
};

/* Calls function(one of the structs above). */
template <class Function>
szgpu_status with_levels_lattice(const szg_levels_lattice &lattice, Function function) {
  if (lattice.dtype == SZGPU_F32)
    return lattice.is_wide ? function(LevelsF32Wide()) : function(LevelsF32());
  return lattice.is_wide ? function(LevelsF64Wide()) : function(LevelsF64());
}

/* A stage's unit, and how to divide by it. */
struct UnitRule {
  uint32_t size, half, shift;
  bool is_power; /* size is 2^shift */

  UnitRule() = default;
  explicit UnitRule(uint32_t unit)
      : size(unit), half(unit / 2), shift(0), is_power((unit & (unit - 1)) == 0) {
    while (unit >> (shift + 1) != 0) shift++;
  }
  /* floor(a / size) */
  template <class Point>
  __device__ __forceinline__ Point divide(Point a) const {
    if (is_power) return a >> shift;
    Point const quotient = a / (Point)size;
    return quotient - (quotient * (Point)size > a);
  }
};

/* The nearest multiple of the unit to x - prediction, as a number of units; 0 and false if x has no
 * lattice value. */
template <class A>
__device__ __forceinline__ bool units_of(const szg_levels_lattice &k, const UnitRule &unit,
                                         typename A::Value x, typename A::Unsigned prediction,
                                         typename A::Unsigned *units) {
  typedef typename A::Unsigned Unsigned;
  typedef typename A::Point Point;
  Point point;
  bool const is_fill = k.has_fill && A::bits(x) == (typename A::Bits)k.fill_bits;
  bool const has_point = A::lattice(k, x, &point) && !is_fill;
  Point const excess = (Point)((Unsigned)point - prediction + unit.half);
  *units = has_point ? (Unsigned)unit.divide(excess) : 0;
  return has_point;
}

} // namespace szg

#endif
