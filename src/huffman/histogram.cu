/* histogram.cu - how often each code occurs.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads 2 bytes per code. A block counts the symbols around delta 0, which are nearly all codes of
 * most fields, in shared memory, and adds them to the global counts once, at its end. The hardware
 * combines a warp's additions of 1 to the same address, so one table per block is enough. Other
 * symbols go to the global counts one by one, except the escape, which may be any share of a field
 * and is counted in a register.
 */
#include "huffman/huffman.h"

#include <assert.h>

#include "core/cuda_check.cuh"

namespace {

struct HistogramPolicy {
  static constexpr int kThreads = 512;
  static constexpr unsigned kBlocksPerProcessor = 4;
  static constexpr uint32_t kWindow = 4096; /* 16 KiB; all symbols of a radius up to 2048 */
  static constexpr int kLoadsAhead = 2;     /* 16-byte loads in flight per thread */
};

constexpr uint32_t kOctet = 8; /* codes of a 16-byte load */

/* The counters of a thread. */
struct Counters {
  uint32_t *window; /* the block's */
  uint32_t window_first, window_count;
  unsigned long long *counts;
  uint32_t symbol_count;
  uint32_t escape_count; /* this thread's, if not in the window */

  __device__ void count(uint32_t symbol) {
    uint32_t const place = symbol - window_first; /* huge below the window */
    if (place < window_count)
      atomicAdd(&window[place], 1u);
    else if (symbol == SZG_ESCAPE_SYMBOL)
      escape_count++;
    else if (symbol < symbol_count)
      atomicAdd(&counts[symbol], 1ull);
  }

  /* Usually all are in the window; then one test serves the whole octet. */
  __device__ void count_octet(uint4 octet) {
    uint32_t const pairs[kOctet / 2] = {octet.x, octet.y, octet.z, octet.w};
    uint32_t places[kOctet], greatest_place = 0;
#pragma unroll
    for (uint32_t i = 0; i < kOctet; i++) {
      places[i] = (pairs[i / 2] >> 16 * (i % 2) & 0xFFFF) - window_first;
      greatest_place = max(greatest_place, places[i]);
    }
    if (greatest_place < window_count) {
#pragma unroll
      for (uint32_t i = 0; i < kOctet; i++) atomicAdd(&window[places[i]], 1u);
    } else {
      count_each(octet);
    }
  }

  /* Not unrolled, because it is rare and would take registers from the usual case. */
  __device__ void count_each(uint4 octet) {
#pragma unroll 1
    for (uint32_t i = 0; i < kOctet; i++) {
      count(octet.x & 0xFFFF);
      octet.x = __funnelshift_r(octet.x, octet.y, 16);
      octet.y = __funnelshift_r(octet.y, octet.z, 16);
      octet.z = __funnelshift_r(octet.z, octet.w, 16);
      octet.w >>= 16;
    }
  }
};

__global__ void __launch_bounds__(HistogramPolicy::kThreads)
    codes_count_kernel(const uint16_t *__restrict__ codes, uint64_t code_count,
                       const uint32_t *__restrict__ radius, unsigned long long *counts) {
  typedef HistogramPolicy Policy;
  __shared__ uint32_t window[Policy::kWindow];
  __shared__ uint32_t block_escape_count;
  uint32_t const symbol_count = 2 * *radius;
  uint32_t const window_count = min(symbol_count, Policy::kWindow);
  Counters counters = {
      window, (symbol_count - window_count) / 2, window_count, counts, symbol_count, 0};
  for (uint32_t i = threadIdx.x; i < window_count; i += Policy::kThreads) window[i] = 0;
  if (threadIdx.x == 0) block_escape_count = 0;
  __syncthreads(); /* all counters are 0 */

  uint64_t const thread = (uint64_t)blockIdx.x * Policy::kThreads + threadIdx.x;
  uint64_t const stride = (uint64_t)gridDim.x * Policy::kThreads;
  uint64_t const octet_count = code_count / kOctet;
  const uint4 *const octets = reinterpret_cast<const uint4 *>(codes);
  for (uint64_t first = thread; first < octet_count; first += Policy::kLoadsAhead * stride) {
    uint4 loaded[Policy::kLoadsAhead] = {};
#pragma unroll
    for (int i = 0; i < Policy::kLoadsAhead; i++)
      if (first + i * stride < octet_count) loaded[i] = octets[first + i * stride];
#pragma unroll
    for (int i = 0; i < Policy::kLoadsAhead; i++)
      if (first + i * stride < octet_count) counters.count_octet(loaded[i]);
  }
  if (thread < code_count % kOctet) counters.count(codes[octet_count * kOctet + thread]);
  if (counters.escape_count) atomicAdd(&block_escape_count, counters.escape_count);
  __syncthreads(); /* the block has counted all its codes */

  for (uint32_t i = threadIdx.x; i < window_count; i += Policy::kThreads)
    if (window[i]) atomicAdd(&counts[counters.window_first + i], (unsigned long long)window[i]);
  if (threadIdx.x == 0 && block_escape_count)
    atomicAdd(&counts[SZG_ESCAPE_SYMBOL], (unsigned long long)block_escape_count);
}

} // namespace

szgpu_status szg_histogram_cuda(const uint16_t *codes, uint64_t code_count, const uint32_t *radius,
                                uint64_t *counts, struct CUstream_st *stream) {
  typedef HistogramPolicy Policy;
  if (code_count == 0) return SZGPU_OK;
  unsigned blocks = 0;
  SZG_TRY(szg_spread_blocks(code_count, Policy::kThreads * kOctet, Policy::kBlocksPerProcessor,
                            &blocks));
  assert(code_count / blocks < UINT32_MAX / 2); /* a block's counters must not overflow */
  codes_count_kernel<<<blocks, Policy::kThreads, 0, stream>>>(
      codes, code_count, radius, reinterpret_cast<unsigned long long *>(counts));
  return szg_launched();
}
