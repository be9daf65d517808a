/* bench_events.cuh - times by events in a stream, and memory laid out by carve functions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BENCH_EVENTS_CUH
#define SZG_BENCH_EVENTS_CUH

#include "bench_support.cuh"
#include "core/arena.h"

namespace {

inline void must_succeed(szgpu_status status) {
  if (status != SZGPU_OK) die(szgpu_status_text(status));
}

/* Times `call` by events in the stream, after runs that do not count. */
template <class Prepare, class Call, class Check>
Times time_by_events(int warm_ups, int runs, cudaStream_t stream, Prepare prepare, Call call,
                     Check check) {
  cudaEvent_t begin, end;
  must_cuda(cudaEventCreate(&begin));
  must_cuda(cudaEventCreate(&end));
  std::vector<double> milliseconds;
  for (int run = -warm_ups; run < runs; run++) {
    float taken = 0.0f;
    prepare();
    must_cuda(cudaEventRecord(begin, stream));
    call();
    must_cuda(cudaEventRecord(end, stream));
    must_cuda(cudaStreamSynchronize(stream));
    must_cuda(cudaEventElapsedTime(&taken, begin, end));
    check();
    if (run >= 0) milliseconds.push_back(taken);
  }
  must_cuda(cudaEventDestroy(begin));
  must_cuda(cudaEventDestroy(end));
  return times_of(milliseconds);
}

/* Device memory, laid out by a carve function. */
template <class Work>
class Carved {
 public:
  template <class Carve>
  explicit Carved(Carve carve) : memory_(Where::kDevice, bytes_of(carve)) {
    szg_arena arena = {memory_.bytes(), 0, memory_.byte_count(), false};
    must_succeed(carve(&arena, &work));
  }
  size_t byte_count() const { return memory_.byte_count(); }
  Work work = {};

 private:
  template <class Carve>
  static size_t bytes_of(Carve carve) {
    szg_arena arena = {};
    Work work = {};
    must_succeed(carve(&arena, &work));
    return arena.used_bytes > 0 ? arena.used_bytes : 1;
  }
  Memory memory_;
};

/* Bytes that carve(arena) needs. */
template <class Carve>
uint64_t carved_bytes(Carve carve) {
  szg_arena arena = {};
  must_succeed(carve(&arena));
  if (arena.overflowed) die("more memory than there can be");
  return arena.used_bytes;
}

/* Lays out memory, of carved_bytes(carve) bytes. */
template <class Carve>
void carve_in(const Memory &memory, Carve carve) {
  szg_arena arena = {memory.bytes(), 0, memory.byte_count(), false};
  must_succeed(carve(&arena));
}

/* A copy of a host array on the device. */
template <class T>
void copy_to(const Memory &memory, const std::vector<T> &values) {
  memory.fill(values.data(), values.size() * sizeof(T));
}

} // namespace

#endif
