/* hd.h - SZG_HD marks arithmetic that both backends compile; the one place that asks which.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_HD_H
#define SZG_HD_H

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "options that drop NaN or reorder operations break the error bound"
#endif

#ifdef __CUDACC__
#define SZG_HD static __host__ __device__ inline
#else
#define SZG_HD static inline
#endif

#endif
