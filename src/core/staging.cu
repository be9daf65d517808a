/* staging.cu - copies between a GPU and ordinary host memory, by several threads.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/staging.h"

#include <string.h>

#include "core/bytes.h"
#include "core/cuda_check.cuh"

namespace {

enum { MOST_EVENTS = SZG_STAGING_MOST_WORKERS * SZG_STAGING_PIECES };

/* Neither pinned nor a device's. */
bool is_ordinary(const void *pointer) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess)
    return attributes.type == cudaMemoryTypeUnregistered;
  cudaGetLastError(); /* memory that the runtime does not know */
  return true;
}

bool is_device_memory(const void *pointer) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess)
    return attributes.type == cudaMemoryTypeDevice;
  cudaGetLastError();
  return false;
}

int worker_count_of(const szg_threads *threads) {
  return threads->count < SZG_STAGING_MOST_WORKERS ? threads->count : SZG_STAGING_MOST_WORKERS;
}

struct StagedCopy {
  szg_staging *staging;
  cudaStream_t stream;
  int device;
  uint8_t *to;
  const uint8_t *from;
  uint64_t byte_count;
  bool goes_up;
  uint8_t turns[SZG_STAGING_MOST_WORKERS]; /* the piece that a worker takes next */
};

szgpu_status send_piece(const StagedCopy *copy, uint8_t *piece, cudaEvent_t is_free,
                        uint64_t first_byte, uint64_t byte_count) {
  memcpy(piece, copy->from + first_byte, byte_count);
  SZG_TRY_CUDA(cudaMemcpyAsync(copy->to + first_byte, piece, byte_count, cudaMemcpyHostToDevice,
                               copy->stream));
  SZG_TRY_CUDA(cudaEventRecord(is_free, copy->stream));
  return SZGPU_OK;
}

szgpu_status bring_piece(const StagedCopy *copy, uint8_t *piece, cudaEvent_t is_free,
                         uint64_t first_byte, uint64_t byte_count) {
  SZG_TRY_CUDA(cudaMemcpyAsync(piece, copy->from + first_byte, byte_count, cudaMemcpyDeviceToHost,
                               copy->stream));
  SZG_TRY_CUDA(cudaEventRecord(is_free, copy->stream));
  SZG_TRY_CUDA(cudaEventSynchronize(is_free));
  memcpy(copy->to + first_byte, piece, byte_count);
  return SZGPU_OK;
}

szgpu_status copy_part(void *job, uint64_t part, int worker) {
  auto *const copy = (StagedCopy *)job;
  int const turn = copy->turns[worker]++ % SZG_STAGING_PIECES;
  int const number = worker * SZG_STAGING_PIECES + turn;
  cudaEvent_t const is_free = copy->staging->is_free[number];
  uint8_t *const piece = copy->staging->bytes + (uint64_t)number * SZG_STAGING_PIECE_BYTES;
  uint64_t const first_byte = part * SZG_STAGING_PIECE_BYTES;
  uint64_t const byte_count = szg_min_u64(SZG_STAGING_PIECE_BYTES, copy->byte_count - first_byte);
  SZG_TRY_CUDA(cudaSetDevice(copy->device)); /* threads begin with the first device */
  SZG_TRY_CUDA(cudaEventSynchronize(is_free));
  return copy->goes_up ? send_piece(copy, piece, is_free, first_byte, byte_count)
                       : bring_piece(copy, piece, is_free, first_byte, byte_count);
}

szgpu_status open_events(szg_staging *staging) {
  for (int i = 0; i < staging->worker_count * SZG_STAGING_PIECES; i++)
    SZG_TRY_CUDA(cudaEventCreateWithFlags(&staging->is_free[i], cudaEventDisableTiming));
  SZG_TRY_CUDA(cudaMallocHost(&staging->bytes, staging->byte_count));
  return SZGPU_OK;
}

} // namespace

bool szg_staging_suits(const szg_threads *threads, const void *to, const void *from,
                       uint64_t byte_count) {
  if (!threads || threads->count < 2 || byte_count < SZG_STAGING_LEAST_BYTES) return false;
  return (is_ordinary(from) && is_device_memory(to)) || (is_device_memory(from) && is_ordinary(to));
}

bool szg_staging_open(szg_staging *staging, szg_account *account, const szg_threads *threads) {
  int const worker_count = worker_count_of(threads);
  uint64_t const byte_count = (uint64_t)worker_count * SZG_STAGING_PIECES * SZG_STAGING_PIECE_BYTES;
  if (staging->bytes) return true;
  if (account->limit_bytes || szg_account_take(account, byte_count) != SZGPU_OK) return false;
  staging->worker_count = worker_count;
  staging->byte_count = byte_count;
  if (open_events(staging) == SZGPU_OK) return true;
  cudaGetLastError(); /* not an error of the call: the driver copies */
  szg_staging_close(staging, account);
  return false;
}

void szg_staging_close(szg_staging *staging, szg_account *account) {
  if (!staging->byte_count) return;
  for (int i = 0; i < MOST_EVENTS; i++) {
    if (!staging->is_free[i]) continue;
    cudaEventSynchronize(staging->is_free[i]);
    cudaEventDestroy(staging->is_free[i]);
  }
  cudaFreeHost(staging->bytes);
  cudaGetLastError(); /* a lost device has nothing to wait for */
  szg_account_give_back(account, staging->byte_count);
  memset(staging, 0, sizeof *staging);
}

szgpu_status szg_staging_copy(szg_staging *staging, const szg_threads *threads,
                              struct CUstream_st *stream, void *to, const void *from,
                              uint64_t byte_count) {
  szg_threads workers = {};
  workers.count = worker_count_of(threads) < staging->worker_count ? worker_count_of(threads)
                                                                   : staging->worker_count;
  StagedCopy copy = {};
  copy.staging = staging;
  copy.stream = stream;
  copy.to = (uint8_t *)to;
  copy.from = (const uint8_t *)from;
  copy.byte_count = byte_count;
  copy.goes_up = is_device_memory(to);
  SZG_TRY_CUDA(cudaGetDevice(&copy.device));
  szgpu_status const status =
      szg_for_parts(&workers, szg_div_up(byte_count, SZG_STAGING_PIECE_BYTES), 0, copy_part, &copy);
  /* An error of another thread: this one is to know it too, for the text. */
  if (status != SZGPU_OK) SZG_TRY_CUDA(cudaStreamSynchronize(stream));
  return status;
}
