/* cuda_check.cuh - from CUDA's errors to statuses, and small things that launchers share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CUDA_CHECK_CUH
#define SZG_CUDA_CHECK_CUH

#include <cuda_runtime.h>

#include "core/status.h"

/* The CUDA runtime keeps the error for szg_device_why. */
inline szgpu_status szg_status_of_cuda(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return SZGPU_OK;
    case cudaErrorMemoryAllocation:
      return SZGPU_OUT_OF_MEMORY;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidKernelImage:
    case cudaErrorUnsupportedPtxVersion:
      return SZGPU_NO_DEVICE;
    default:
      return SZGPU_DEVICE_ERROR;
  }
}

#define SZG_TRY_CUDA(call)                                                        \
  do {                                                                            \
    cudaError_t const szg_cuda_error = (call);                                    \
    if (szg_cuda_error != cudaSuccess) return szg_status_of_cuda(szg_cuda_error); \
  } while (0)

/* After each launch: one of the two. */
inline szgpu_status szg_launched() { return szg_status_of_cuda(cudaPeekAtLastError()); }
#define SZG_TRY_LAUNCH() SZG_TRY_CUDA(cudaPeekAtLastError())

/* Blocks for a kernel whose threads stride over count items. */
inline unsigned szg_grid_blocks(uint64_t item_count, unsigned items_per_block,
                                unsigned most_blocks) {
  uint64_t const blocks = (item_count + items_per_block - 1) / items_per_block;
  return blocks < most_blocks ? (blocks ? (unsigned)blocks : 1u) : most_blocks;
}

/* Blocks for each of item_count items of a launch, if one item has work for `useful` of them: at
 * least one, and together no more than most_blocks, which the device holds at once. */
inline unsigned szg_blocks_each(uint64_t useful, unsigned most_blocks, uint64_t item_count) {
  uint64_t const most = most_blocks / item_count;
  return szg_grid_blocks(useful, 1, most > 1 ? (unsigned)most : 1);
}

/* Of the current device. */
inline szgpu_status szg_multiprocessor_count(int *count) {
  int device = 0;
  SZG_TRY_CUDA(cudaGetDevice(&device));
  SZG_TRY_CUDA(cudaDeviceGetAttribute(count, cudaDevAttrMultiProcessorCount, device));
  return SZGPU_OK;
}

/* Blocks for a kernel whose threads stride over count items: up to `each` for a multiprocessor. */
inline szgpu_status szg_spread_blocks(uint64_t item_count, unsigned items_per_block, unsigned each,
                                      unsigned *blocks) {
  int multiprocessors = 0;
  SZG_TRY(szg_multiprocessor_count(&multiprocessors));
  *blocks = szg_grid_blocks(item_count, items_per_block, each * (unsigned)multiprocessors);
  return SZGPU_OK;
}

/* The same for each of item_count items: those that one item has work for, as szg_blocks_each. */
inline szgpu_status szg_spread_items(uint64_t useful, unsigned each, unsigned item_count,
                                     dim3 *blocks) {
  int multiprocessors = 0;
  SZG_TRY(szg_multiprocessor_count(&multiprocessors));
  *blocks = dim3(szg_blocks_each(useful, each * (unsigned)multiprocessors, item_count), item_count);
  return SZGPU_OK;
}

/* Calls function(an unsigned integer of that width) for values of 1, 2, 4 or 8 bytes. */
template <class Function>
auto szg_with_width(uint64_t bytes, Function function) {
  return bytes == 1   ? function(uint8_t())
         : bytes == 2 ? function(uint16_t())
         : bytes == 4 ? function(uint32_t())
                      : function(uint64_t());
}

/* Shared memory that one block can have at most. */
inline szgpu_status szg_most_shared_bytes(int *bytes) {
  int device = 0;
  SZG_TRY_CUDA(cudaGetDevice(&device));
  SZG_TRY_CUDA(cudaDeviceGetAttribute(bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return SZGPU_OK;
}

/* Shared memory that each of so many blocks of a multiprocessor can have. The system reserves
 * some bytes for each block, so two blocks get less than half of one block's limit each. */
inline szgpu_status szg_shared_bytes_each(int block_count, int *bytes) {
  int device = 0, all_bytes = 0, reserved_bytes = 0;
  SZG_TRY_CUDA(cudaGetDevice(&device));
  SZG_TRY_CUDA(
      cudaDeviceGetAttribute(&all_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  SZG_TRY_CUDA(
      cudaDeviceGetAttribute(&reserved_bytes, cudaDevAttrReservedSharedMemoryPerBlock, device));
  *bytes = all_bytes / block_count - reserved_bytes;
  return SZGPU_OK;
}

/* Allows the kernel so much dynamic shared memory, and says how many blocks the device then holds
 * at once: at least one for each multiprocessor, whose launch fails if it does not fit. */
template <class Kernel>
szgpu_status szg_resident_blocks(Kernel kernel, int threads, int shared_bytes, unsigned *blocks) {
  int multiprocessors = 0, blocks_each = 0;
  SZG_TRY(szg_multiprocessor_count(&multiprocessors));
  SZG_TRY_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  SZG_TRY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, kernel, threads,
                                                             (size_t)shared_bytes));
  *blocks = (unsigned)multiprocessors * (unsigned)(blocks_each > 0 ? blocks_each : 1);
  return SZGPU_OK;
}

#endif
