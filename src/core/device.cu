/* device.cu - a GPU's stream, memory and transfers.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/device.h"

#include <string.h>

#include "core/cuda_check.cuh"

namespace {

/* Its only purpose: to fail where the build has no code for the device. */
__global__ void probe_kernel() {}

} // namespace

static szgpu_status probe(const szg_device *device) {
  int shared_bytes = 0;
  SZG_TRY_CUDA(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                      device->index));
  SZG_REQUIRE(shared_bytes >= SZG_LEAST_SHARED_BYTES, SZGPU_NO_DEVICE);
  probe_kernel<<<1, 1, 0, device->stream>>>();
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

static szgpu_status open_current(szg_device *device, struct CUstream_st *stream) {
  device->stream = stream;
  device->owns_stream = stream == NULL;
  if (device->owns_stream)
    SZG_TRY_CUDA(cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking));
  szgpu_status const status = probe(device);
  if (status != SZGPU_OK && device->owns_stream) cudaStreamDestroy(device->stream);
  return status;
}

szgpu_status szg_device_open(int index, struct CUstream_st *stream, szg_device *device) {
  memset(device, 0, sizeof *device);
  device->index = index;
  int device_count = 0, previous = 0;
  SZG_TRY_CUDA(cudaGetDeviceCount(&device_count));
  if (index < 0 || index >= device_count) {
    SZG_TRY_CUDA(cudaSetDevice(index)); /* says so */
    return SZGPU_NO_DEVICE;
  }
  SZG_TRY(szg_device_enter(device, &previous));
  szgpu_status const status = open_current(device, stream);
  szg_device_leave(previous);
  return status;
}

void szg_device_close(szg_device *device) {
  int previous = 0;
  if (szg_device_enter(device, &previous) != SZGPU_OK) return;
  for (int i = 0; i < SZG_MOST_STAGE_TIMES; i++)
    if (device->marks[i]) cudaEventDestroy(device->marks[i]);
  if (device->owns_stream) {
    cudaStreamSynchronize(device->stream);
    cudaStreamDestroy(device->stream);
  }
  cudaFree(device->arena);
  cudaFreeHost(device->pinned);
  cudaGetLastError(); /* of a device that is lost there is nothing to give back */
  szg_device_leave(previous);
  memset(device, 0, sizeof *device);
}

szgpu_status szg_device_enter(const szg_device *device, int *previous) {
  SZG_TRY_CUDA(cudaGetDevice(previous));
  if (*previous != device->index) SZG_TRY_CUDA(cudaSetDevice(device->index));
  return SZGPU_OK;
}

void szg_device_leave(int previous) {
  int current = previous;
  if (cudaGetDevice(&current) == cudaSuccess && current != previous) cudaSetDevice(previous);
}

const char *szg_device_why(void) {
  cudaError_t const error = cudaGetLastError();
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

szgpu_status szg_device_reaches(const szg_device *device, const void *pointer, bool *is_reached) {
  cudaPointerAttributes attributes;
  *is_reached = false;
  if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
    cudaGetLastError(); /* memory that the runtime does not know is the host's */
    return SZGPU_OK;
  }
  bool const is_device = attributes.type == cudaMemoryTypeDevice;
  SZG_REQUIRE(!is_device || attributes.device == device->index, SZGPU_BAD_ARGUMENT);
  *is_reached = is_device || attributes.type == cudaMemoryTypeManaged;
  return SZGPU_OK;
}

szgpu_status szg_device_reserve(szg_device *device, uint64_t bytes, uint64_t *free_bytes) {
  if (bytes <= device->arena_bytes) return SZGPU_OK;
  SZG_TRY_CUDA(cudaStreamSynchronize(device->stream));
  SZG_TRY_CUDA(cudaFree(device->arena));
  device->arena = NULL;
  device->arena_bytes = 0;
  size_t free_now = 0, total = 0;
  SZG_TRY_CUDA(cudaMemGetInfo(&free_now, &total));
  *free_bytes = free_now;
  SZG_TRY_CUDA(cudaMalloc(&device->arena, bytes));
  device->arena_bytes = bytes;
  return SZGPU_OK;
}

szgpu_status szg_device_reserve_pinned(szg_device *device, uint64_t bytes) {
  if (bytes <= device->pinned_bytes) return SZGPU_OK;
  SZG_TRY_CUDA(cudaStreamSynchronize(device->stream));
  SZG_TRY_CUDA(cudaFreeHost(device->pinned));
  device->pinned = NULL;
  device->pinned_bytes = 0;
  SZG_TRY_CUDA(cudaMallocHost(&device->pinned, bytes));
  device->pinned_bytes = bytes;
  return SZGPU_OK;
}

szgpu_status szg_device_copy(szg_device *device, void *to, const void *from, uint64_t bytes) {
  if (bytes == 0) return SZGPU_OK;
  SZG_TRY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, device->stream));
  return SZGPU_OK;
}

szgpu_status szg_device_set(szg_device *device, void *memory, uint8_t value, uint64_t bytes) {
  if (bytes == 0) return SZGPU_OK;
  SZG_TRY_CUDA(cudaMemsetAsync(memory, value, bytes, device->stream));
  return SZGPU_OK;
}

szgpu_status szg_device_wait(szg_device *device, bool is_round_trip) {
  SZG_TRY_CUDA(cudaStreamSynchronize(device->stream));
  device->round_trips += is_round_trip;
  return SZGPU_OK;
}

szgpu_status szg_device_mark(szg_device *device, const char *name) {
  if (!device->is_timed || device->mark_count == SZG_MOST_STAGE_TIMES) return SZGPU_OK;
  cudaEvent_t *const mark = &device->marks[device->mark_count];
  if (!*mark) SZG_TRY_CUDA(cudaEventCreate(mark));
  SZG_TRY_CUDA(cudaEventRecord(*mark, device->stream));
  device->mark_names[device->mark_count++] = name;
  return SZGPU_OK;
}

szgpu_status szg_device_mark_time(const szg_device *device, int i, float *milliseconds) {
  SZG_TRY_CUDA(cudaEventElapsedTime(milliseconds, device->marks[i - 1], device->marks[i]));
  return SZGPU_OK;
}
