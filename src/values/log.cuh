/* log.cuh - what kernels know of the pairs of a field's type and the type of its logarithms.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LOG_CUH
#define SZG_LOG_CUH

#include "values/log_core.h"

namespace szg {

/* F32 in F32, F32 in F64 and F64 in F64; all values are bits. */
struct LogF32 {
  using Outer = uint32_t;
  using Inner = uint32_t;
  static __device__ Inner to_inner(Outer x, szg_log_fill fill) {
    return szg_log_to_inner_f32(x, fill);
  }
  static __device__ bool is_negative(Outer x, szg_log_fill fill) {
    return szg_log_is_negative_f32(x, fill);
  }
  static __device__ Outer to_outer(Inner y, bool is_negative, szg_log_fill fill) {
    return szg_log_to_outer_f32(y, is_negative, fill);
  }
};

struct LogF64 {
  using Outer = uint64_t;
  using Inner = uint64_t;
  static __device__ Inner to_inner(Outer x, szg_log_fill fill) {
    return szg_log_to_inner_f64(x, fill);
  }
  static __device__ bool is_negative(Outer x, szg_log_fill fill) {
    return szg_log_is_negative_f64(x, fill);
  }
  static __device__ Outer to_outer(Inner y, bool is_negative, szg_log_fill fill) {
    return szg_log_to_outer_f64(y, is_negative, fill);
  }
};

struct LogF32Close {
  using Outer = uint32_t;
  using Inner = uint64_t;
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
