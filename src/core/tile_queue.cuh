/* tile_queue.cuh - tiles that the warps of a grid take in order, each when it has time.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiles take very different times, so no warp has a fixed share of them. A warp asks for its next
 * tile before it works on the one that it has, since memory takes a while to answer, and takes it
 * afterwards. A number that is no tile's means that there are no more.
 *
 * The counter in global memory is 0 before the launch. The whole warp calls take.
 */
#ifndef SZG_TILE_QUEUE_CUH
#define SZG_TILE_QUEUE_CUH

#include "core/warp.cuh"

namespace szg {

/* The counter goes on counting. It is a parameter of the kernel and no member: that would take
 * registers. */
struct TileQueue {
  uint32_t next; /* lane 0: the tile that the warp has asked for */

  __device__ __forceinline__ void ask(uint32_t *counter, uint32_t lane) {
    next = lane == 0 ? atomicAdd(counter, 1) : 0;
  }
  __device__ __forceinline__ uint32_t take() const { return __shfl_sync(kAllLanes, next, 0); }
};

/* The counter is 0 again after the launch. Each of warp_count warps stops at the first number that
 * is no tile's, so the last one to do so knows itself by what it gets. */
struct RenewedTileQueue {
  uint32_t *counter;
  uint32_t last; /* number that anybody gets */
  uint32_t next; /* as TileQueue's */

  __device__ __forceinline__ RenewedTileQueue(uint32_t *queue_counter, uint32_t tile_count,
                                              uint32_t warp_count)
      : counter(queue_counter), last(tile_count + warp_count - 1), next(0) {}
  __device__ __forceinline__ void ask(uint32_t lane) {
    if (lane == 0) next = atomicInc(counter, last);
  }
  __device__ __forceinline__ uint32_t take() const { return __shfl_sync(kAllLanes, next, 0); }
};

} // namespace szg

#endif
