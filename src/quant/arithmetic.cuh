/* arithmetic.cuh - the four arithmetics of quant_core.h as types, for kernels.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_ARITHMETIC_CUH
#define SZG_ARITHMETIC_CUH

#include "quant/quant_core.h"

namespace szg {

/* SZG_ARITHMETIC_* as a type. Value: the field's type; Point: the lattice's; Unsigned: Point's
 * unsigned type, in which differences wrap. */
template <uint32_t kArithmetic>
struct Arithmetic;

template <>
struct Arithmetic<SZG_ARITHMETIC_F32> {
  typedef float Value;
  typedef int32_t Point;
  typedef uint32_t Unsigned;
  static __device__ bool lattice(const szg_quantizer &k, Value x, Point *q) {
    return szg_lattice_f32(&k, x, q);
  }
  static __device__ Value restore(const szg_quantizer &k, Point q) {
    return szg_restore_f32(&k, q);
  }
  static __device__ Value value(const szg_quantizer &k, Point q) { return szg_value_f32(&k, q); }
  static __device__ bool within(const szg_quantizer &k, Value x, Value restored) {
    return szg_within_f32(&k, x, restored);
  }
  static __device__ bool is_fill(const szg_quantizer &k, Value x) {
    return k.has_fill && szg_bits_f32(x) == (uint32_t)k.fill_bits;
  }
};

template <>
struct Arithmetic<SZG_ARITHMETIC_F32_CLOSE> : Arithmetic<SZG_ARITHMETIC_F32> {
  static __device__ bool lattice(const szg_quantizer &k, Value x, Point *q) {
    return szg_lattice_f32_close(&k, x, q);
  }
  static __device__ Value restore(const szg_quantizer &k, Point q) {
    return szg_restore_f32_close(&k, q);
  }
  static __device__ Value value(const szg_quantizer &k, Point q) {
    return szg_value_f32_close(&k, q);
  }
  static __device__ bool within(const szg_quantizer &k, Value x, Value restored) {
    return szg_within_f32_close(&k, x, restored);
  }
};

template <>
struct Arithmetic<SZG_ARITHMETIC_F64> {
  typedef double Value;
  typedef int32_t Point;
  typedef uint32_t Unsigned;
  static __device__ bool lattice(const szg_quantizer &k, Value x, Point *q) {
    return szg_lattice_f64(&k, x, q);
  }
  static __device__ Value restore(const szg_quantizer &k, Point q) {
    return szg_restore_f64(&k, q);
  }
  static __device__ Value value(const szg_quantizer &k, Point q) { return szg_value_f64(&k, q); }
  static __device__ bool within(const szg_quantizer &k, Value x, Value restored) {
    return szg_within_f64(&k, x, restored);
  }
  static __device__ bool is_fill(const szg_quantizer &k, Value x) {
    return k.has_fill && szg_bits_f64(x) == k.fill_bits;
  }
};

template <>
struct Arithmetic<SZG_ARITHMETIC_F64_WIDE> : Arithmetic<SZG_ARITHMETIC_F64> {
  typedef int64_t Point;
  typedef uint64_t Unsigned;
  static __device__ bool lattice(const szg_quantizer &k, Value x, Point *q) {
    return szg_lattice_f64_wide(&k, x, q);
  }
  static __device__ Value restore(const szg_quantizer &k, Point q) {
    return szg_restore_f64_wide(&k, q);
  }
  static __device__ Value value(const szg_quantizer &k, Point q) {
    return szg_value_f64_wide(&k, q);
  }
};

/* Calls function.template operator()<Arithmetic<...>>() for the given arithmetic: the only switch
 * over types. */
template <class Function>
szgpu_status with_arithmetic(uint32_t arithmetic, Function function) {
  switch (arithmetic) {
    case SZG_ARITHMETIC_F32:
      return function(Arithmetic<SZG_ARITHMETIC_F32>());
    case SZG_ARITHMETIC_F32_CLOSE:
      return function(Arithmetic<SZG_ARITHMETIC_F32_CLOSE>());
    case SZG_ARITHMETIC_F64:
      return function(Arithmetic<SZG_ARITHMETIC_F64>());
    default:
      return function(Arithmetic<SZG_ARITHMETIC_F64_WIDE>());
  }
}

} // namespace szg

#endif
