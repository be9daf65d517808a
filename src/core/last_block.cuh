/* last_block.cuh - the last block of a grid to finish goes on with what all have found.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * It saves a launch for what one block does in a moment. Which block it is depends on timing, so it
 * must not matter.
 */
#ifndef SZG_LAST_BLOCK_CUH
#define SZG_LAST_BLOCK_CUH

#include <stdint.h>

namespace szg {

/* Whether this is the last of block_count calls. */
__device__ inline bool takes_last_ticket(uint32_t block_count, uint32_t *ticket) {
  __threadfence(); /* all that the block wrote before the ticket: fences are cumulative */
  bool const is_last = atomicInc(ticket, block_count - 1) == block_count - 1;
  __threadfence(); /* and the ticket before what others wrote */
  return is_last;
}

/* As is_last_block, for one thread of each block, if no other has written anything. */
__device__ inline bool takes_last_ticket(uint32_t *ticket) {
  return takes_last_ticket(gridDim.x * gridDim.y, ticket);
}

/* Whether block_count blocks have called now; what they wrote can then be read. ticket: 0 before,
 * and again once all these blocks have called. The whole block calls. */
__device__ inline bool is_last_of(uint32_t block_count, uint32_t *ticket) {
  __shared__ bool is_last;
  __syncthreads(); /* the block has written what it found, and read what a call before gave */
  if (threadIdx.x == 0) is_last = takes_last_ticket(block_count, ticket);
  __syncthreads(); /* known to all */
  return is_last;
}

/* Whether all other blocks of the grid have called before. */
__device__ inline bool is_last_block(uint32_t *ticket) {
  return is_last_of(gridDim.x * gridDim.y, ticket);
}

} // namespace szg

#endif
