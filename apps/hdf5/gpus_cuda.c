/* gpus_cuda.c - the GPUs that CUDA's runtime shows.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <cuda_runtime_api.h>

#include "gpus.h"

int gpu_count(void) {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}
