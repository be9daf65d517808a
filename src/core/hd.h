/* hd.h - SZG_HD marks arithmetic that both backends compile; the one place that asks which.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_HD_H
#define SZG_HD_H

#ifdef __CUDACC__
#define SZG_HD static __host__ __device__ inline
#else
#define SZG_HD static inline
#endif

#endif
