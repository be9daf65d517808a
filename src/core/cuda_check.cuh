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

/* After each launch. */
#define SZG_TRY_LAUNCH() SZG_TRY_CUDA(cudaPeekAtLastError())

/* Blocks for a kernel whose threads stride over count items. */
inline unsigned szg_grid_blocks(uint64_t item_count, unsigned items_per_block,
                                unsigned most_blocks) {
  uint64_t const blocks = (item_count + items_per_block - 1) / items_per_block;
  return blocks < most_blocks ? (blocks ? (unsigned)blocks : 1u) : most_blocks;
}

/* Of the current device. */
inline szgpu_status szg_multiprocessor_count(int *count) {
  int device = 0;
  SZG_TRY_CUDA(cudaGetDevice(&device));
  SZG_TRY_CUDA(cudaDeviceGetAttribute(count, cudaDevAttrMultiProcessorCount, device));
  return SZGPU_OK;
}

#endif
