/* async_lossless.cuh - fields of all types for lossless calls, for tests.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_ASYNC_LOSSLESS_CUH
#define SZG_TEST_ASYNC_LOSSLESS_CUH

#include "codecs/planes/planes_core.h"
#include "cuda/async_batch.cuh"

namespace async_test {

inline szgpu_params lossless_params() {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_LOSSLESS;
  return params;
}

/* Weights: the highest plane is like the exponents of weights, the others are random. Mixed: each
 * plane has one symbol, two, few or all of them. Random: nothing shrinks. Constant: one value. */
enum LosslessKind { kWeights, kMixed, kRandom, kConstant, kLosslessKinds };

/* How a plane's symbols are distributed: one, two, few, ever fewer, all alike. */
inline uint32_t plane_symbol(uint64_t kind) {
  switch (kind) {
    case 0:
      return 77;
    case 1:
      return random_below(50) ? 3 : 250;
    case 2:
      return 121 - (uint32_t)__builtin_ctzll(cuda_test::random_bits() | (uint64_t)1 << 40);
    case 3:
      return (uint32_t)(cuda_test::random_bits() >> random_below(64)) & 255;
    default:
      return (uint32_t)random_below(256);
  }
}

/* Values of value_bytes. */
inline Bytes make_planes(uint64_t byte_count, uint32_t value_bytes, LosslessKind kind) {
  uint64_t kinds[8];
  Bytes field(byte_count);
  for (uint32_t p = 0; p < value_bytes; p++)
    kinds[p] = kind == kConstant      ? 0
               : kind == kRandom      ? 4
               : kind == kMixed       ? random_below(5)
               : p + 1 == value_bytes ? 2
                                      : 4;
  for (uint64_t i = 0; i < byte_count; i += value_bytes) {
    uint64_t turned = 0;
    for (uint32_t p = 0; p < value_bytes; p++) turned |= (uint64_t)plane_symbol(kinds[p]) << 8 * p;
    uint64_t const value = szg_planes_turned_back(turned, value_bytes);
    memcpy(&field[i], &value, value_bytes);
  }
  return field;
}

/* A field of bytes may be one of wider values. */
inline Bytes make_lossless_field(const szgpu_shape &shape, LosslessKind kind) {
  uint64_t const byte_count = value_count(shape) * value_bytes(shape);
  uint32_t width = (uint32_t)value_bytes(shape);
  if (shape.dtype == SZGPU_U8)
    for (uint64_t twice = random_below(4); twice > 0 && byte_count % (2 * width) == 0; twice--)
      width *= 2;
  return make_planes(byte_count, width, kind);
}

} // namespace async_test

#endif
