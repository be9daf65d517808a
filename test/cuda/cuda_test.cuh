/* cuda_test.cuh - what the tests of kernels share: device memory, comparisons, seeded numbers.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A test is a program: main calls cuda_test_begin, then its claims, then returns cuda_test_end().
 * Exit codes: 0 all hold, 1 one does not, 77 there is no GPU (ctest reports it as skipped). If
 * SZGPU_REQUIRE_GPU is set in the environment, a missing GPU is a failure.
 */
#ifndef SZG_CUDA_TEST_CUH
#define SZG_CUDA_TEST_CUH

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <vector>

#include "core/cuda_check.cuh"
#include "core/tiles.h"

namespace cuda_test {

inline std::atomic<int> failure_count{0};
/* Each thread has a state of its own. */
inline thread_local uint64_t random_state = 0;
inline thread_local cudaStream_t stream = nullptr; /* never the default one */

/* If the condition is false, prints it with what was found, and goes on. */
#define CHECK(condition, ...)                                        \
  do {                                                               \
    if (!(condition)) {                                              \
      cuda_test::failure_count++;                                    \
      printf("%s:%d: not so: %s: ", __FILE__, __LINE__, #condition); \
      printf(__VA_ARGS__);                                           \
      printf("\n");                                                  \
    }                                                                \
  } while (0)

/* Calls CUDA or a launcher; if it fails, the test ends. */
#define MUST(call)                                                               \
  do {                                                                           \
    int const must_result = (int)(call);                                         \
    if (must_result != 0) {                                                      \
      printf("%s:%d: %s gave %d (%s)\n", __FILE__, __LINE__, #call, must_result, \
             cudaGetErrorString(cudaPeekAtLastError()));                         \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

inline void begin() {
  int device_count = 0;
  cudaError_t const error = cudaGetDeviceCount(&device_count);
  if (error != cudaSuccess || device_count == 0) {
    printf("no usable GPU (%s)\n", cudaGetErrorString(error));
    exit(getenv("SZGPU_REQUIRE_GPU") ? 1 : 77);
  }
  const char *const seed = getenv("SZGPU_TEST_SEED");
  random_state = seed ? strtoull(seed, nullptr, 0) : 20261121;
  printf("SZGPU_TEST_SEED=%llu\n", (unsigned long long)random_state);
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
}

inline int end() {
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaGetLastError());
  printf("%s\n", failure_count ? "FAILED" : "passed");
  return failure_count != 0;
}

/* splitmix64 */
inline uint64_t random_bits() {
  uint64_t z = random_state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
inline uint64_t random_below(uint64_t limit) { return random_bits() % limit; }
inline double random_unit() { return (double)(random_bits() >> 11) * 0x1p-53; }

/* Device memory of count elements, poisoned with 0xA5 and freed at the end of its scope. */
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    MUST(cudaMalloc(&data_, bytes() ? bytes() : 1));
    poison();
  }
  explicit DeviceArray(const std::vector<T> &values) : DeviceArray(values.size()) {
    if (bytes()) MUST(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice));
    MUST(cudaDeviceSynchronize()); /* the copy may return early, and streams do not wait for it */
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;
  T *data() const { return data_; }
  size_t count() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }
  void poison() { set_bytes(0xA5); }
  void zero() { set_bytes(0); }
  /* Waits for the test's stream first. */
  std::vector<T> host() const {
    MUST(cudaStreamSynchronize(stream));
    std::vector<T> values(count_);
    if (bytes()) MUST(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  void set_bytes(int value) {
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaMemset(data_, value, bytes()));
    MUST(cudaDeviceSynchronize());
  }
  T *data_ = nullptr;
  size_t count_;
};

/* Whether SZGPU_TEST_QUICK is set: fewer cases, for runs under compute-sanitizer. */
inline bool is_quick() { return getenv("SZGPU_TEST_QUICK") != NULL; }
/* In quick runs, all cases except those with a number that is a multiple of `share`. */
inline bool is_left_out(uint64_t number, uint64_t share) {
  return is_quick() && number % share != 0;
}

/* Tiles do not depend on the type. */
inline szg_grid grid_of(const std::vector<uint64_t> &dims) {
  szgpu_shape shape = {};
  shape.dtype = SZGPU_F64;
  shape.ndim = (int)dims.size();
  for (size_t i = 0; i < dims.size(); i++) shape.dims[i] = dims[i];
  szg_grid grid;
  MUST(szg_grid_of_shape(&shape, &grid));
  return grid;
}

} // namespace cuda_test

#endif
