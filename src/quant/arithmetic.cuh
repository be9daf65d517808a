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

#define SZG_ARITHMETIC(number, V, P, U, format, core, within_core)                              \
  template <>                                                                                   \
  struct Arithmetic<number> {                                                                   \
    typedef V Value;                                                                            \
    typedef P Point;                                                                            \
    typedef U Unsigned;                                                                         \
    static __device__ bool lattice(const szg_quantizer &k, Value x, Point *q) {                 \
      return szg_lattice_##core(&k, x, q);                                                      \
    }                                                                                           \
    static __device__ Value restore(const szg_quantizer &k, Point q) {                          \
      return szg_restore_##core(&k, q);                                                         \
    }                                                                                           \
    static __device__ Value value(const szg_quantizer &k, Point q) {                            \
      return szg_value_##core(&k, q);                                                           \
    }                                                                                           \
    static __device__ bool within(const szg_quantizer &k, Value x, Value restored) {            \
      return szg_within_##within_core(&k, x, restored);                                         \
    }                                                                                           \
    static __device__ bool is_fill(const szg_quantizer &k, Value x) {                           \
      return k.has_fill && szg_bits_##format(x) == (decltype(szg_bits_##format(x)))k.fill_bits; \
    }                                                                                           \
  };
SZG_ARITHMETIC(SZG_ARITHMETIC_F32, float, int32_t, uint32_t, f32, f32, f32)
SZG_ARITHMETIC(SZG_ARITHMETIC_F32_CLOSE, float, int32_t, uint32_t, f32, f32_close, f32_close)
SZG_ARITHMETIC(SZG_ARITHMETIC_F64, double, int32_t, uint32_t, f64, f64, f64)
SZG_ARITHMETIC(SZG_ARITHMETIC_F64_WIDE, double, int64_t, uint64_t, f64, f64_wide, f64)
#undef SZG_ARITHMETIC

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
