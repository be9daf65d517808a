/* log.cuh - what kernels know of the pairs of a field's type and the type of its logarithms.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LOG_CUH
#define SZG_LOG_CUH

#include "values/log_core.h"

namespace szg {

/* F32 in F32, F32 in F64 and F64 in F64; all values are bits. Plain values are those of whose
 * logarithms, and of logarithms those of whose numbers, nothing but the sign is special: normal
 * numbers below all known fill values, and not the field's own. */
#define SZG_LOG_PAIR(Name, suffix, SUFFIX, Bits, bits_of)                                       \
  struct Name {                                                                                 \
    using Outer = Bits;                                                                         \
    using Inner = Bits;                                                                         \
    static __device__ bool is_plain(Outer x, szg_log_fill fill) {                               \
      Bits const magnitude = x & SZG_SIGNLESS_##SUFFIX;                                         \
      return magnitude - SZG_NORMAL_##SUFFIX < SZG_FILL_LEAST_##SUFFIX - SZG_NORMAL_##SUFFIX && \
             !(fill.is_there && x == (Bits)fill.bits);                                          \
    }                                                                                           \
    static __device__ Inner log_of_plain(Outer x) {                                             \
      return bits_of(szg_log2_##suffix(x & SZG_SIGNLESS_##SUFFIX));                             \
    }                                                                                           \
    static __device__ bool is_plain_log(Inner y, szg_log_fill fill) {                           \
      return (y & SZG_SIGNLESS_##SUFFIX) < SZG_INFINITY_##SUFFIX &&                             \
             !(fill.is_there && y == SZG_LOG_MINUS_ZERO_##SUFFIX);                              \
    }                                                                                           \
    static __device__ Outer exp_of_plain(Inner y, bool is_negative) {                           \
      return szg_exp2_##suffix(y) | (Bits)is_negative << (8 * sizeof(Bits) - 1);                \
    }                                                                                           \
    static __device__ Inner to_inner(Outer x, szg_log_fill fill) {                              \
      return szg_log_to_inner_##suffix(x, fill);                                                \
    }                                                                                           \
    static __device__ bool is_negative(Outer x, szg_log_fill fill) {                            \
      return szg_log_is_negative_##suffix(x, fill);                                             \
    }                                                                                           \
    static __device__ Outer to_outer(Inner y, bool is_negative, szg_log_fill fill) {            \
      return szg_log_to_outer_##suffix(y, is_negative, fill);                                   \
    }                                                                                           \
  };
SZG_LOG_PAIR(LogF32, f32, F32, uint32_t, szg_bits_of_float)
SZG_LOG_PAIR(LogF64, f64, F64, uint64_t, szg_bits_of_double)
#undef SZG_LOG_PAIR

struct LogF32Close {
  using Outer = uint32_t;
  using Inner = uint64_t;
  static __device__ bool is_plain(Outer x, szg_log_fill fill) {
    uint32_t const magnitude = x & SZG_SIGNLESS_F32;
    return magnitude - SZG_NORMAL_F32 < SZG_FILL_LEAST_F32 - SZG_NORMAL_F32 &&
           !(fill.is_there && szg_log_widen(x) == fill.bits);
  }
  static __device__ Inner log_of_plain(Outer x) { return LogF64::log_of_plain(szg_log_widen(x)); }
  static __device__ bool is_plain_log(Inner y, szg_log_fill fill) {
    return LogF64::is_plain_log(y, fill);
  }
  static __device__ Outer exp_of_plain(Inner y, bool is_negative) {
    return szg_log_narrow(LogF64::exp_of_plain(y, is_negative));
  }
  static __device__ Inner to_inner(Outer x, szg_log_fill fill) {
    return LogF64::to_inner(szg_log_widen(x), fill);
  }
  static __device__ bool is_negative(Outer x, szg_log_fill fill) {
    return LogF64::is_negative(szg_log_widen(x), fill);
  }
  static __device__ Outer to_outer(Inner y, bool is_negative, szg_log_fill fill) {
    return szg_log_narrow(LogF64::to_outer(y, is_negative, fill));
  }
};

/* Calls launch.run<Pair>() for the mapping's types. */
template <class Launch>
szgpu_status with_log_pair(szgpu_dtype outer, szgpu_dtype inner, const Launch &launch) {
  if (outer == SZGPU_F64) return launch.template run<LogF64>();
  return inner == SZGPU_F64 ? launch.template run<LogF32Close>() : launch.template run<LogF32>();
}

} // namespace szg

#endif
