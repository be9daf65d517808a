/* tell.cuh - a kernel tells the host that results are there before it ends.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TELL_CUH
#define SZG_TELL_CUH

#include <stdint.h>

namespace szg {

/* Sets a word in pinned memory, for szg_device_await: the host then sees what this thread has
 * written there, and what its block has written before a barrier. One thread calls. */
__device__ inline void tell(uint32_t *told) {
  __threadfence_system(); /* the results before the word */
  *(volatile uint32_t *)told = 1;
}

} // namespace szg

#endif
