/* staging.cu - copies between a GPU and ordinary host memory, by several threads.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/staging.h"

#include <string.h>

#include "core/bytes.h"
#include "core/cuda_check.cuh"

namespace {

enum { MOST_EVENTS = SZG_STAGING_MOST_WORKERS * SZG_STAGING_PIECES };

/* Memory that the runtime does not know is ordinary: neither pinned nor a device's. */
cudaMemoryType memory_of(const void *pointer) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess) return attributes.type;
  cudaGetLastError();
  return cudaMemoryTypeUnregistered;
}

bool is_device_memory(const void *pointer) { return memory_of(pointer) == cudaMemoryTypeDevice; }

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
};

/* A worker takes as many pieces at once as it has places for. */
constexpr uint64_t kPartBytes = (uint64_t)SZG_STAGING_PIECES * SZG_STAGING_PIECE_BYTES;

/* A piece of a part, and its place in pinned memory. */
struct Piece {
  uint64_t first_byte, byte_count;
  uint8_t *place;
  cudaEvent_t is_free;
};

Piece piece_of(const StagedCopy *copy, uint64_t part, int worker, int i) {
  int const number = worker * SZG_STAGING_PIECES + i;
  uint64_t const first_byte = part * kPartBytes + (uint64_t)i * SZG_STAGING_PIECE_BYTES;
  uint64_t const left = copy->byte_count > first_byte ? copy->byte_count - first_byte : 0;
  return {first_byte, szg_min_u64(SZG_STAGING_PIECE_BYTES, left),
          copy->staging->bytes + (uint64_t)number * SZG_STAGING_PIECE_BYTES,
          copy->staging->is_free[number]};
}

szgpu_status put_on_link(const StagedCopy *copy, const Piece &piece, void *to, const void *from) {
  SZG_TRY_CUDA(cudaMemcpyAsync(to, from, piece.byte_count, cudaMemcpyDefault, copy->stream));
  SZG_TRY_CUDA(cudaEventRecord(piece.is_free, copy->stream));
  return SZGPU_OK;
}

szgpu_status send_part(const StagedCopy *copy, uint64_t part, int worker) {
  for (int i = 0; i < SZG_STAGING_PIECES; i++) {
    Piece const piece = piece_of(copy, part, worker, i);
    if (piece.byte_count == 0) break;
    SZG_TRY_CUDA(cudaEventSynchronize(piece.is_free));
    memcpy(piece.place, copy->from + piece.first_byte, piece.byte_count);
    SZG_TRY(put_on_link(copy, piece, copy->to + piece.first_byte, piece.place));
  }
  return SZGPU_OK;
}

szgpu_status bring_part(const StagedCopy *copy, uint64_t part, int worker) {
  for (int i = 0; i < SZG_STAGING_PIECES; i++) {
    Piece const piece = piece_of(copy, part, worker, i);
    if (piece.byte_count == 0) break;
    SZG_TRY_CUDA(cudaEventSynchronize(piece.is_free));
    SZG_TRY(put_on_link(copy, piece, piece.place, copy->from + piece.first_byte));
  }
  for (int i = 0; i < SZG_STAGING_PIECES; i++) {
    Piece const piece = piece_of(copy, part, worker, i);
    if (piece.byte_count == 0) break;
    SZG_TRY_CUDA(cudaEventSynchronize(piece.is_free));
    memcpy(copy->to + piece.first_byte, piece.place, piece.byte_count);
  }
  return SZGPU_OK;
}

szgpu_status copy_part(void *job, uint64_t part, int worker) {
  auto const *const copy = (const StagedCopy *)job;
  SZG_TRY_CUDA(cudaSetDevice(copy->device)); /* threads begin with the first device */
  return copy->goes_up ? send_part(copy, part, worker) : bring_part(copy, part, worker);
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
  cudaMemoryType const source = memory_of(from), target = memory_of(to);
  return (source == cudaMemoryTypeUnregistered && target == cudaMemoryTypeDevice) ||
         (source == cudaMemoryTypeDevice && target == cudaMemoryTypeUnregistered);
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
      szg_for_parts(&workers, szg_div_up(byte_count, kPartBytes), 0, copy_part, &copy);
  /* An error of another thread: this one is to know it too, for the text. */
  if (status != SZGPU_OK) SZG_TRY_CUDA(cudaStreamSynchronize(stream));
  return status;
}
