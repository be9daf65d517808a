/* raw_planes.cuh - the threads of a grid split values into byte planes, and merge planes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Values are handled as unsigned integers of their width. The gridDim.x blocks of a row call.
 */
#ifndef SZG_RAW_PLANES_CUH
#define SZG_RAW_PLANES_CUH

#include <stdint.h>

namespace szg {

template <class Bits>
__device__ __forceinline__ void split_planes(const Bits *values, uint64_t value_count,
                                             uint8_t *planes) {
  uint64_t const stride = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < value_count; i += stride) {
    Bits const bits = values[i];
#pragma unroll
    for (unsigned plane = 0; plane < sizeof(Bits); plane++)
      planes[plane * value_count + i] = (uint8_t)(bits >> 8 * plane);
  }
}

/* The values first_value to first_value + value_count - 1 of a frame. */
template <class Bits>
__device__ __forceinline__ void merge_planes(const uint8_t *planes, uint64_t frame_values,
                                             uint64_t first_value, uint64_t value_count,
                                             Bits *values) {
  uint64_t const stride = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < value_count; i += stride) {
    Bits bits = 0;
#pragma unroll
    for (unsigned plane = 0; plane < sizeof(Bits); plane++)
      bits |= (Bits)planes[plane * frame_values + first_value + i] << 8 * plane;
    values[i] = bits;
  }
}

} // namespace szg

#endif
