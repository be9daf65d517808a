/* tile_output.cuh - where the values of tiles go, in their own type or in a narrower one.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An output has the part of a frame that the caller wants. value_bytes(): of a value there.
 */
#ifndef SZG_TILE_OUTPUT_CUH
#define SZG_TILE_OUTPUT_CUH

#include "core/hd.h"
#include "quant/arithmetic.cuh"
#include "values/mapping_core.h"

namespace szg {

template <class Value>
struct WantedValues {
  Value *values; /* where value `first` of the frame goes */
  uint64_t first, count;
  static __device__ __forceinline__ uint32_t value_bytes() { return sizeof(Value); }
  __device__ __forceinline__ char *at(uint64_t i) const { return (char *)(values + i); }
  __device__ __forceinline__ void store(uint64_t i, Value value) const {
    if (i - first < count) values[i - first] = value;
  }
  /* place: at() of the value's number, if the whole frame is wanted; `further` values later. */
  static __device__ __forceinline__ void put(char *place, uint64_t further, Value value) {
    ((Value *)place)[further] = value;
  }
  /* Four neighbours, at a multiple of 16 bytes. */
  static __device__ __forceinline__ void put_four(char *place, const float (&four)[4]) {
    __stcs((float4 *)place, make_float4(four[0], four[1], four[2], four[3]));
  }
  static __device__ __forceinline__ void put_four(char *place, const double (&four)[4]) {
    __stcs((double2 *)place, make_double2(four[0], four[1]));
    __stcs((double2 *)place + 1, make_double2(four[2], four[3]));
  }
};

/* Values of f32 as they are narrowed to one or two bytes (values/mapping_core.h). */
struct NarrowValues {
  uint8_t *values; /* as above */
  uint64_t first, count;
  szgpu_dtype dtype;
  uint32_t bytes;
  float least, greatest; /* of an integer type */

  static NarrowValues of(szgpu_dtype dtype, void *values, uint64_t count) {
    bool const is_signed = dtype == SZGPU_I8 || dtype == SZGPU_I16;
    uint32_t const bytes = (uint32_t)szg_dtype_bytes(dtype);
    float const numbers = bytes == 1 ? 0x1p8f : 0x1p16f;
    float const least = is_signed ? -numbers / 2 : 0.0f;
    return {(uint8_t *)values, 0, count, dtype, bytes, least, least + numbers - 1.0f};
  }

  __device__ __forceinline__ uint32_t value_bytes() const { return bytes; }
  __device__ __forceinline__ char *at(uint64_t i) const { return (char *)values + i * bytes; }
  /* The value's bits and zeros before them. */
  __device__ __forceinline__ uint32_t narrowed(float value) const {
    if (dtype == SZGPU_F16) return szg_narrow_f16(szg_bits_of_float(value));
    if (dtype == SZGPU_BF16) return szg_narrow_bf16(szg_bits_of_float(value));
    uint32_t const bits = (uint32_t)szg_narrow_integer_f32(value, least, greatest);
    return bytes == 2 ? bits & 0xFFFF : bits & 0xFF;
  }
  __device__ __forceinline__ void put(char *place, uint64_t further, float value) const {
    if (bytes == 2)
      ((uint16_t *)place)[further] = (uint16_t)narrowed(value);
    else
      ((uint8_t *)place)[further] = (uint8_t)narrowed(value);
  }
  __device__ __forceinline__ void store(uint64_t i, float value) const {
    if (i - first < count) put((char *)values, i - first, value);
  }
  /* At a multiple of four values. */
  __device__ __forceinline__ void put_four(char *place, const float (&four)[4]) const {
    uint32_t bits[4];
#pragma unroll
    for (int i = 0; i < 4; i++) bits[i] = narrowed(four[i]);
    if (bytes == 2)
      __stcs((uint2 *)place, make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16));
    else
      __stcs((uint32_t *)place, bits[0] | bits[1] << 8 | bits[2] << 16 | bits[3] << 24);
  }
};

/* An arithmetic whose values are narrowed when they are restored. */
template <class Inner>
struct Narrowing : Inner {};

template <class A>
struct OutputOf {
  typedef WantedValues<typename A::Value> Output;
};
template <class Inner>
struct OutputOf<Narrowing<Inner>> {
  typedef NarrowValues Output;
};

} // namespace szg

#endif
