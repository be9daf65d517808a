/* hd.h - SZG_HD marks arithmetic that both backends compile; only this file asks which one it is.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_HD_H
#define SZG_HD_H

#include <math.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "options that drop NaN or reorder operations break the error bound"
#endif

#ifdef __CUDACC__
#define SZG_HD static __host__ __device__ inline
#else
#define SZG_HD static inline
#endif

/* For rules of a few operations: they become part of their caller before it is optimized. */
#define SZG_HD_INLINE SZG_HD __attribute__((always_inline))

/* The name of a function for numbers of so many bits: C++ tells them apart by their arguments. */
#ifdef __cplusplus
#define SZG_OF_WIDTH(name, bits) name
#else
#define SZG_OF_WIDTH(name, bits) name##_##bits
#endif

/* These enclose the declarations of every header that .cu files include too. */
#ifdef __cplusplus
#define SZG_C_BEGIN extern "C" {
#define SZG_C_END }
#else
#define SZG_C_BEGIN
#define SZG_C_END
#endif

/* The number of zero bits above the highest set bit; x > 0. */
SZG_HD int szg_leading_zeros_u64(uint64_t x) {
#ifdef __CUDA_ARCH__
  return __clzll((long long)x);
#else
  return __builtin_clzll(x);
#endif
}

/* Brings x, which is no NaN, between the limits, of which none is -0: a least of 0 also makes -0 a
 * +0. So the comparisons give what minimum and maximum give, which kernels take: these hold -0 for
 * less than +0. */
SZG_HD float szg_limit_f32(float x, float least, float greatest) {
#ifdef __CUDA_ARCH__
  return fminf(fmaxf(x, least), greatest);
#else
  x = x > least ? x : least;
  return x > greatest ? greatest : x;
#endif
}

SZG_HD double szg_limit_f64(double x, double least, double greatest) {
#ifdef __CUDA_ARCH__
  return fmin(fmax(x, least), greatest);
#else
  x = x > least ? x : least;
  return x > greatest ? greatest : x;
#endif
}

/* The high half of the product. */
#ifdef __CUDA_ARCH__
SZG_HD int32_t szg_mul_high_i32(int32_t a, int32_t b) { return __mulhi(a, b); }
SZG_HD int64_t szg_mul_high_i64(int64_t a, int64_t b) { return __mul64hi(a, b); }
#else
__extension__ typedef __int128 szg_int128;
SZG_HD int32_t szg_mul_high_i32(int32_t a, int32_t b) { return (int32_t)((int64_t)a * b >> 32); }
SZG_HD int64_t szg_mul_high_i64(int64_t a, int64_t b) { return (int64_t)((szg_int128)a * b >> 64); }
#endif
SZG_HD uint64_t szg_mul_high_u64(uint64_t a, uint64_t b) {
  uint64_t const low_low = (a & UINT32_MAX) * (b & UINT32_MAX);
  uint64_t const high_low = (a >> 32) * (b & UINT32_MAX) + (low_low >> 32);
  uint64_t const low_high = (a & UINT32_MAX) * (b >> 32) + (high_low & UINT32_MAX);
  return (a >> 32) * (b >> 32) + (high_low >> 32) + (low_high >> 32);
}

#endif
