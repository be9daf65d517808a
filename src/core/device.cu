/* device.cu - a GPU's streams, memory and transfers.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/device.h"

#include <string.h>

#include "core/cuda_check.cuh"
#include "core/tell.cuh"

namespace {

/* Fails if the build has no code for the device; that is its only purpose. */
__global__ void probe_kernel() {}

struct BringPolicy {
  static constexpr int kThreads = 1024;
};

/* The whole block calls. */
__device__ __forceinline__ void bring(const szg_brought &part) {
  uint64_t const word_count = part.bytes / sizeof(uint32_t);
  for (uint64_t i = threadIdx.x; i < word_count; i += BringPolicy::kThreads)
    ((uint32_t *)part.to)[i] = ((const uint32_t *)part.from)[i];
  uint64_t const rest = word_count * sizeof(uint32_t) + threadIdx.x;
  if (rest < part.bytes) ((uint8_t *)part.to)[rest] = ((const uint8_t *)part.from)[rest];
}

/* One block. All places are aligned to words. */
__global__ void __launch_bounds__(BringPolicy::kThreads)
    bytes_bring_kernel(szg_brought first, szg_brought second, uint32_t *told) {
  bring(first);
  bring(second);
  __syncthreads(); /* all is written */
  if (told && threadIdx.x == 0) szg::tell(told);
}

} // namespace

static szgpu_status probe(const szg_device *device) {
  int shared_bytes = 0;
  SZG_TRY_CUDA(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                      device->index));
  SZG_REQUIRE(shared_bytes >= SZG_LEAST_SHARED_BYTES, SZGPU_NO_DEVICE);
  probe_kernel<<<1, 1, 0, device->stream>>>();
  return szg_launched();
}

static szgpu_status open_sides(szg_device *device) {
  int least = 0, greatest = 0;
  SZG_TRY_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (szg_side_stream &side : device->sides) {
    SZG_TRY_CUDA(cudaStreamCreateWithPriority(&side.stream, cudaStreamNonBlocking, greatest));
    SZG_TRY_CUDA(cudaEventCreateWithFlags(&side.fork, cudaEventDisableTiming));
    SZG_TRY_CUDA(cudaEventCreateWithFlags(&side.join, cudaEventDisableTiming));
  }
  return SZGPU_OK;
}

static szgpu_status open_streams(szg_device *device, struct CUstream_st *stream) {
  device->stream = stream;
  if (!stream) {
    SZG_TRY_CUDA(cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking));
    device->owns_stream = true;
  }
  return open_sides(device);
}

/* Closes the streams that exist. A lost device has nothing to wait for. */
static void close_streams(szg_device *device) {
  for (szg_side_stream &side : device->sides) {
    if (side.stream) {
      cudaStreamSynchronize(side.stream);
      cudaStreamDestroy(side.stream);
    }
    if (side.fork) cudaEventDestroy(side.fork);
    if (side.join) cudaEventDestroy(side.join);
  }
  if (!device->owns_stream) return;
  cudaStreamSynchronize(device->stream);
  cudaStreamDestroy(device->stream);
}

static szgpu_status open_current(szg_device *device, struct CUstream_st *stream) {
  szgpu_status status = open_streams(device, stream);
  if (status == SZGPU_OK) status = probe(device);
  if (status != SZGPU_OK) close_streams(device);
  return status;
}

int szg_device_count(void) {
  int device_count = 0;
  if (cudaGetDeviceCount(&device_count) == cudaSuccess) return device_count;
  (void)cudaGetLastError();
  return 0;
}

szgpu_status szg_device_open(int index, struct CUstream_st *stream, szg_device *device) {
  memset(device, 0, sizeof *device);
  device->index = index;
  int device_count = 0, previous = 0;
  SZG_TRY_CUDA(cudaGetDeviceCount(&device_count));
  if (index < 0 || index >= device_count) {
    SZG_TRY_CUDA(cudaSetDevice(index)); /* fails and says why */
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
  close_streams(device);
  szg_device_release_memory(device);
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
    cudaGetLastError(); /* memory that the runtime does not know is host memory */
    return SZGPU_OK;
  }
  bool const is_device = attributes.type == cudaMemoryTypeDevice;
  SZG_REQUIRE(!is_device || attributes.device == device->index, SZGPU_BAD_ARGUMENT);
  *is_reached = is_device || attributes.type == cudaMemoryTypeManaged;
  return SZGPU_OK;
}

bool szg_device_is_pinned(const void *pointer) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess)
    return attributes.type == cudaMemoryTypeHost;
  cudaGetLastError(); /* memory that the runtime does not know */
  return false;
}

/* Memory that is not there any more does not count. */
static void forget(szg_device *device, uint8_t **memory, uint64_t *bytes) {
  szg_account_give_back(device->account, *bytes);
  *memory = NULL;
  *bytes = 0;
}

szgpu_status szg_device_reserve(szg_device *device, uint64_t bytes, uint64_t *free_bytes) {
  if (bytes <= device->arena_bytes) return SZGPU_OK;
  SZG_TRY_CUDA(cudaStreamSynchronize(device->stream));
  SZG_TRY_CUDA(cudaFree(device->arena));
  forget(device, &device->arena, &device->arena_bytes);
  SZG_TRY(szg_account_take(device->account, bytes));
  device->arena_bytes = bytes;
  size_t free_now = 0, total = 0;
  cudaError_t error = cudaMemGetInfo(&free_now, &total);
  *free_bytes = free_now;
  if (error == cudaSuccess) error = cudaMalloc(&device->arena, bytes);
  if (error != cudaSuccess) forget(device, &device->arena, &device->arena_bytes);
  SZG_TRY_CUDA(error);
  return SZGPU_OK;
}

bool szg_device_pin(void *bytes, uint64_t byte_count) {
  if (cudaHostRegister(bytes, byte_count, cudaHostRegisterPortable) == cudaSuccess) return true;
  cudaGetLastError(); /* not an error of the call: copies are only slower */
  return false;
}

void szg_device_unpin(void *bytes) {
  if (cudaHostUnregister(bytes) != cudaSuccess) cudaGetLastError();
}

szgpu_status szg_device_reserve_pinned(szg_device *device, uint64_t bytes) {
  if (bytes <= device->pinned_bytes) return SZGPU_OK;
  SZG_TRY_CUDA(cudaStreamSynchronize(device->stream));
  SZG_TRY_CUDA(cudaFreeHost(device->pinned));
  forget(device, &device->pinned, &device->pinned_bytes);
  SZG_TRY(szg_account_take(device->account, bytes));
  device->pinned_bytes = bytes;
  cudaError_t const error = cudaMallocHost(&device->pinned, bytes);
  if (error != cudaSuccess) forget(device, &device->pinned, &device->pinned_bytes);
  SZG_TRY_CUDA(error);
  return SZGPU_OK;
}

void szg_device_release_memory(szg_device *device) {
  cudaFree(device->arena);
  cudaFreeHost(device->pinned);
  szg_staging_close(&device->staging, device->account);
  cudaGetLastError(); /* a lost device has no memory to free */
  forget(device, &device->arena, &device->arena_bytes);
  forget(device, &device->pinned, &device->pinned_bytes);
}

szgpu_status szg_device_fork(szg_device *device, szg_side side) {
  if (device->is_timed) return SZGPU_OK;
  const szg_side_stream *const beside = &device->sides[side];
  SZG_TRY_CUDA(cudaEventRecord(beside->fork, device->stream));
  SZG_TRY_CUDA(cudaStreamWaitEvent(beside->stream, beside->fork, 0));
  return SZGPU_OK;
}

szgpu_status szg_device_join(szg_device *device, szg_side side) {
  if (device->is_timed) return SZGPU_OK;
  const szg_side_stream *const beside = &device->sides[side];
  SZG_TRY_CUDA(cudaEventRecord(beside->join, beside->stream));
  SZG_TRY_CUDA(cudaStreamWaitEvent(device->stream, beside->join, 0));
  return SZGPU_OK;
}

struct CUstream_st *szg_device_beside(const szg_device *device, szg_side side) {
  return device->is_timed ? device->stream : device->sides[side].stream;
}

static szgpu_status copy_in(szg_device *device, cudaStream_t stream, void *to, const void *from,
                            uint64_t bytes) {
  if (bytes == 0) return SZGPU_OK;
  bool const is_of_thread = stream == cudaStreamPerThread; /* to each worker another stream */
  if (!is_of_thread && szg_staging_suits(device->threads, to, from, bytes) &&
      szg_staging_open(&device->staging, device->account, device->threads))
    return szg_staging_copy(&device->staging, device->threads, stream, to, from, bytes);
  SZG_TRY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  return SZGPU_OK;
}

szgpu_status szg_device_copy(szg_device *device, void *to, const void *from, uint64_t bytes) {
  return copy_in(device, device->stream, to, from, bytes);
}

szgpu_status szg_device_copy_beside(szg_device *device, szg_side side, void *to, const void *from,
                                    uint64_t bytes) {
  return copy_in(device, szg_device_beside(device, side), to, from, bytes);
}

szgpu_status szg_device_set(szg_device *device, void *memory, uint8_t value, uint64_t bytes) {
  if (bytes == 0) return SZGPU_OK;
  SZG_TRY_CUDA(cudaMemsetAsync(memory, value, bytes, device->stream));
  return SZGPU_OK;
}

szgpu_status szg_device_bring(szg_device *device, void *to, const void *from, uint64_t bytes,
                              uint32_t *told) {
  return szg_device_bring_both(device, {to, from, bytes}, {NULL, NULL, 0}, told);
}

szgpu_status szg_device_bring_both(szg_device *device, szg_brought first, szg_brought second,
                                   uint32_t *told) {
  if (told) szg_device_expect(told, 1);
  bytes_bring_kernel<<<1, BringPolicy::kThreads, 0, device->stream>>>(first, second, told);
  return szg_launched();
}

void szg_device_expect(uint32_t *told, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) __atomic_store_n(&told[i], 0, __ATOMIC_RELAXED);
}

/* A few milliseconds, after which the microseconds that looking saves do not matter. */
enum { MOST_LOOKS = 1 << 21 };

szgpu_status szg_device_await(szg_device *device, const uint32_t *told, uint32_t count) {
  device->round_trips++;
  uint32_t seen = 0;
  for (int looks = 0; looks < MOST_LOOKS && seen < count; looks++)
    seen += __atomic_load_n(&told[seen], __ATOMIC_ACQUIRE) != 0;
  if (seen < count) SZG_TRY_CUDA(cudaStreamSynchronize(device->stream));
  return SZGPU_OK;
}

szgpu_status szg_device_wait(szg_device *device, bool is_round_trip) {
  SZG_TRY_CUDA(cudaStreamSynchronize(device->stream));
  device->round_trips += is_round_trip;
  return SZGPU_OK;
}

szgpu_status szg_device_wait_for_all(szg_device *device) {
  cudaError_t error = cudaStreamSynchronize(device->stream);
  for (const szg_side_stream &side : device->sides) {
    cudaError_t const error_beside = cudaStreamSynchronize(side.stream);
    if (error == cudaSuccess) error = error_beside;
  }
  SZG_TRY_CUDA(error);
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
