/* operators.cuh - what CUB's scans and reductions join numbers with.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The versions of CUDA that we build with do not agree on a name for CUB's own operator.
 */
#ifndef SZG_OPERATORS_CUH
#define SZG_OPERATORS_CUH

namespace szg {

struct Greater {
  template <class Number>
  __device__ Number operator()(Number a, Number b) const {
    return a > b ? a : b;
  }
};

} // namespace szg

#endif
