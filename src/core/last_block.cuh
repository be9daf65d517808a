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

/* As is_last_block, for one thread of each block, if no other has written anything. */
__device__ inline bool takes_last_ticket(uint32_t *ticket) {
  uint32_t const last = gridDim.x * gridDim.y - 1;
  __threadfence(); /* all that the block wrote before the ticket: fences are cumulative */
  bool const is_last = atomicInc(ticket, last) == last;
  __threadfence(); /* and the ticket before what others wrote */
  return is_last;
}

/* Whether all other blocks of the grid have called before; what they wrote can then be read.
 * ticket: 0 before, and again once all blocks have called. The whole block calls. */
__device__ inline bool is_last_block(uint32_t *ticket) {
  __shared__ bool is_last;
  __syncthreads(); /* the block has written what it found */
  if (threadIdx.x == 0) is_last = takes_last_ticket(ticket);
  __syncthreads(); /* known to all */
  return is_last;
}

} // namespace szg

#endif
