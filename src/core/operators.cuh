/* operators.cuh - what CUB's scans and reductions join numbers with.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The versions of CUDA that we build with do not agree on a name for CUB's own operator.
 */
#ifndef SZG_OPERATORS_CUH
#define SZG_OPERATORS_CUH

#include "core/code_cost.h"

namespace szg {

/* Of any integers, in 64 bits. */
struct Sum {
  __host__ __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return a + b; }
};

struct MergeCounts {
  __device__ szg_count_sums operator()(const szg_count_sums &a, const szg_count_sums &b) const {
    return szg_sums_merged(a, b);
  }
};

struct Greater {
  template <class Number>
  __device__ Number operator()(Number a, Number b) const {
    return a > b ? a : b;
  }
};

} // namespace szg

#endif
