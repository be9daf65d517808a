/* cuda_faults.c - CUDA's runtime with faults.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda_faults.h"

#include <stdlib.h>
#include <string.h>

size_t cuda_fault_asked_bytes, cuda_fault_free_bytes;

static const char *faulty;
static cudaError_t fault_error;
static long spared_calls, call_count;
static bool was_met, is_faked;
static cudaError_t last_error; /* set by a fault, until the program asks for it */

void cuda_fault_set(const char *function, cudaError_t error, long spared) {
  faulty = function;
  fault_error = error;
  spared_calls = spared;
  was_met = false;
  call_count = 0;
  last_error = cudaSuccess;
}

void cuda_fault_leave_error(cudaError_t error) { last_error = error; }
bool cuda_fault_was_met(void) { return was_met; }
int cuda_fault_shared_bytes = 65536, cuda_fault_pointer_device = -1;
long cuda_fault_calls(void) { return call_count; }
void cuda_fault_fake_gpu(void) { is_faked = true; }
bool cuda_fault_is_faked(void) { return is_faked; }

/* ---- streams with work that nobody has waited for ---- */

enum { MOST_BUSY = 64 };
static cudaStream_t busy[MOST_BUSY];
static int busy_count;

static void note_idle(cudaStream_t stream) {
  int kept = 0;
  for (int i = 0; i < busy_count; i++)
    if (busy[i] != stream) busy[kept++] = busy[i];
  busy_count = kept;
}

static void note_busy(cudaStream_t stream) {
  note_idle(stream);
  if (busy_count < MOST_BUSY) busy[busy_count++] = stream;
}

bool cuda_fault_is_idle(void) { return busy_count == 0; }

/* ---- wraps ---- */

static bool fails(const char *function) {
  call_count++;
  if (!faulty || strcmp(function, faulty) != 0 || spared_calls-- > 0) return false;
  was_met = true;
  last_error = fault_error;
  return true;
}

/* Wraps a function of the runtime: notes the call, then fails if a fault is due, else does what the
 * fake does, else calls the real function. Some versions of the runtime lack some of them. */
#define WRAP_NOTED(function, parameters, arguments, note, fake)   \
  cudaError_t __real_##function parameters __attribute__((weak)); \
  cudaError_t __wrap_##function parameters;                       \
  cudaError_t __wrap_##function parameters {                      \
    note;                                                         \
    if (fails(#function)) return fault_error;                     \
    return is_faked ? (fake) : __real_##function arguments;       \
  }
#define WRAP(function, parameters, arguments, fake) \
  WRAP_NOTED(function, parameters, arguments, (void)0, fake)

/* ---- devices ---- */

static char fake_thing; /* every event and kernel points to it */

static cudaError_t give_int(int *place, int value) {
  *place = value;
  return cudaSuccess;
}

static int fake_attribute(enum cudaDeviceAttr attribute) {
  return attribute == cudaDevAttrComputeCapabilityMajor   ? 9
         : attribute == cudaDevAttrComputeCapabilityMinor ? 0
         : attribute == cudaDevAttrMultiProcessorCount    ? 4
                                                          : cuda_fault_shared_bytes;
}

static cudaError_t give_attributes(struct cudaFuncAttributes *attributes) {
  memset(attributes, 0, sizeof *attributes);
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxThreadsPerBlock = 1024;
  return cudaSuccess;
}

static cudaError_t give_pointer(struct cudaPointerAttributes *attributes) {
  memset(attributes, 0, sizeof *attributes);
  bool const is_device = cuda_fault_pointer_device >= 0;
  attributes->type = is_device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  attributes->device = cuda_fault_pointer_device;
  return cudaSuccess;
}

WRAP(cudaGetDeviceCount, (int *count), (count), give_int(count, 1))
WRAP(cudaGetDevice, (int *device), (device), give_int(device, 0))
WRAP(cudaSetDevice, (int device), (device), device ? cudaErrorInvalidDevice : cudaSuccess)
WRAP(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
     (value, attribute, device), give_int(value, fake_attribute(attribute)))
WRAP(cudaPointerGetAttributes, (struct cudaPointerAttributes * attributes, const void *pointer),
     (attributes, pointer), give_pointer(attributes))
WRAP(cudaFuncGetAttributes, (struct cudaFuncAttributes * attributes, const void *kernel),
     (attributes, kernel), give_attributes(attributes))
WRAP(cudaFuncSetAttribute, (const void *kernel, enum cudaFuncAttribute attribute, int value),
     (kernel, attribute, value), cudaSuccess)
WRAP(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
     (int *blocks, const void *kernel, int threads, size_t shared_bytes, unsigned flags),
     (blocks, kernel, threads, shared_bytes, flags), give_int(blocks, 1))
WRAP(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
     (int *blocks, const void *kernel, int threads, size_t shared_bytes),
     (blocks, kernel, threads, shared_bytes), give_int(blocks, 1))

/* ---- memory ---- */

static cudaError_t give_memory(void **memory, size_t bytes) {
  *memory = calloc(1, bytes ? bytes : 1);
  return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t take_memory(void *memory) {
  free(memory);
  return cudaSuccess;
}

static cudaError_t copy(void *to, const void *from, size_t bytes) {
  memmove(to, from, bytes);
  return cudaSuccess;
}

static cudaError_t set(void *memory, int value, size_t bytes) {
  memset(memory, value, bytes);
  return cudaSuccess;
}

cudaError_t __real_cudaMalloc(void **memory, size_t bytes);
cudaError_t __wrap_cudaMalloc(void **memory, size_t bytes);
cudaError_t __wrap_cudaMalloc(void **memory, size_t bytes) {
  cuda_fault_asked_bytes = bytes;
  if (fails("cudaMalloc")) return fault_error;
  return is_faked ? give_memory(memory, bytes) : __real_cudaMalloc(memory, bytes);
}

cudaError_t __real_cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes);
cudaError_t __wrap_cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes);
cudaError_t __wrap_cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes) {
  if (fails("cudaMemGetInfo")) return fault_error;
  cudaError_t const error = is_faked ? cudaSuccess : __real_cudaMemGetInfo(free_bytes, all_bytes);
  if (is_faked) *free_bytes = 123456789, *all_bytes = 987654321;
  cuda_fault_free_bytes = *free_bytes;
  return error;
}

WRAP(cudaFree, (void *memory), (memory), take_memory(memory))
WRAP(cudaHostAlloc, (void **memory, size_t bytes, unsigned flags), (memory, bytes, flags),
     give_memory(memory, bytes))
WRAP(cudaFreeHost, (void *memory), (memory), take_memory(memory))
WRAP_NOTED(cudaMemcpyAsync,
           (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
            cudaStream_t stream),
           (to, from, bytes, kind, stream), note_busy(stream), copy(to, from, bytes))
WRAP_NOTED(cudaMemsetAsync, (void *memory, int value, size_t bytes, cudaStream_t stream),
           (memory, value, bytes, stream), note_busy(stream), set(memory, value, bytes))

/* ---- streams, events, kernels ---- */

static cudaError_t give_thing_at(void *place, void *thing) {
  *(void **)place = thing;
  return cudaSuccess;
}

static cudaError_t give_thing(void *place) { return give_thing_at(place, &fake_thing); }

static cudaError_t give_stream(cudaStream_t *stream) {
  static char streams[2 * MOST_BUSY];
  static int count;
  return give_thing_at(stream, &streams[count++ % (2 * MOST_BUSY)]);
}

static cudaError_t give_priorities(int *least, int *greatest) {
  *least = 0, *greatest = -5;
  return cudaSuccess;
}

WRAP(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest), (least, greatest),
     give_priorities(least, greatest))
WRAP(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags),
     give_stream(stream))
WRAP(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority),
     (stream, flags, priority), give_stream(stream))
WRAP_NOTED(cudaStreamDestroy, (cudaStream_t stream), (stream), note_idle(stream), cudaSuccess)
WRAP_NOTED(cudaStreamSynchronize, (cudaStream_t stream), (stream), note_idle(stream), cudaSuccess)
WRAP(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
     (stream, event, flags), cudaSuccess)
WRAP(cudaEventCreate, (cudaEvent_t * event), (event), give_thing(event))
WRAP(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags),
     give_thing(event))
WRAP(cudaEventDestroy, (cudaEvent_t event), (event), cudaSuccess)
WRAP(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream), cudaSuccess)
WRAP_NOTED(cudaLaunchKernel,
           (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
            cudaStream_t stream),
           (kernel, grid, block, arguments, shared_bytes, stream), note_busy(stream), cudaSuccess)
WRAP_NOTED(cudaLaunchKernelExC,
           (const cudaLaunchConfig_t *configuration, const void *kernel, void **arguments),
           (configuration, kernel, arguments), note_busy(configuration->stream), cudaSuccess)
WRAP(__cudaGetKernel, (void *kernel, const void *entry), (kernel, entry), give_thing(kernel))
WRAP_NOTED(__cudaLaunchKernel,
           (void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
            cudaStream_t stream),
           (kernel, grid, block, arguments, shared_bytes, stream), note_busy(stream), cudaSuccess)

/* ---- the last error ---- */

static cudaError_t take_last_error(void) {
  cudaError_t const error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t __real_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void) {
  if (last_error != cudaSuccess || is_faked) return take_last_error();
  return __real_cudaGetLastError();
}

cudaError_t __real_cudaPeekAtLastError(void);
cudaError_t __wrap_cudaPeekAtLastError(void);
cudaError_t __wrap_cudaPeekAtLastError(void) {
  if (fails("cudaPeekAtLastError") || last_error != cudaSuccess || is_faked) return last_error;
  return __real_cudaPeekAtLastError();
}
