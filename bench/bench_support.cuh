/* bench_support.cuh - parts shared by the CUDA benches: memory, checks, times, fields.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BENCH_SUPPORT_CUH
#define SZG_BENCH_SUPPORT_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "container/checksum.h"
#include "core/tiles.h"
#include "szgpu.h"

namespace {

constexpr int kThreads = 256, kBlocks = 2048; /* launch shape of the checks, which are not timed */
constexpr int kPoison = 0xA5;
constexpr size_t kCeilingBytes = (size_t)1 << 29; /* far more than any second-level cache */

[[noreturn]] inline void die(const std::string &what) {
  fprintf(stderr, "bench: %s\n", what.c_str());
  exit(2);
}

inline void must_cuda(cudaError_t error) {
  if (error != cudaSuccess) die(cudaGetErrorString(error));
}

inline void must(const szgpu_ctx *ctx, szgpu_status status) {
  if (status != SZGPU_OK)
    die(std::string(szgpu_status_text(status)) + " (" + szgpu_last_error(ctx) + ")");
}

/* ---- memory ---- */

enum class Where { kDevice, kPinned, kPageable };

class Memory {
 public:
  Memory(Where where, size_t byte_count) : where_(where), byte_count_(byte_count) {
    if (where == Where::kDevice) must_cuda(cudaMalloc(&bytes_, byte_count));
    if (where == Where::kPinned) must_cuda(cudaMallocHost(&bytes_, byte_count));
    if (where == Where::kPageable) bytes_ = (uint8_t *)malloc(byte_count);
    if (!bytes_) die("out of memory");
  }
  ~Memory() {
    if (where_ == Where::kDevice) cudaFree(bytes_);
    if (where_ == Where::kPinned) cudaFreeHost(bytes_);
    if (where_ == Where::kPageable) free(bytes_);
  }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  uint8_t *bytes() const { return bytes_; }
  size_t byte_count() const { return byte_count_; }
  /* Fills the memory, so that checks find values left unwritten. */
  void poison(cudaStream_t stream) const {
    if (where_ != Where::kDevice) memset(bytes_, kPoison, byte_count_);
    if (where_ == Where::kDevice) {
      must_cuda(cudaMemsetAsync(bytes_, kPoison, byte_count_, stream));
      must_cuda(cudaStreamSynchronize(stream));
    }
  }
  void fill(const void *from, size_t byte_count) const {
    must_cuda(cudaMemcpy(bytes_, from, byte_count, cudaMemcpyDefault));
    must_cuda(cudaDeviceSynchronize()); /* other streams do not wait for this copy */
  }

 private:
  Where where_;
  size_t byte_count_;
  uint8_t *bytes_ = nullptr;
};

/* ---- verification, on the device ---- */

template <class Word>
__global__ void __launch_bounds__(kThreads)
    words_compare_kernel(const Word *a, const Word *b, uint64_t count, unsigned long long *wrong) {
  uint64_t const stride = (uint64_t)gridDim.x * kThreads;
  for (uint64_t i = (uint64_t)blockIdx.x * kThreads + threadIdx.x; i < count; i += stride)
    if (a[i] != b[i]) atomicAdd(wrong, 1ull);
}

/* What a value is as a number. */
template <class Value>
__device__ double number_of(Value value) {
  return (double)value;
}
template <>
__device__ inline double number_of(__half value) {
  return (double)__half2float(value);
}
template <>
__device__ inline double number_of(__nv_bfloat16 value) {
  return (double)__bfloat162float(value);
}

/* Counts values that are neither within the bound, as doubles, nor bit-identical (NaN too). */
template <class Value, class Bits>
__global__ void __launch_bounds__(kThreads)
    values_check_kernel(const Value *field, const Value *restored, uint64_t count, double bound,
                        bool is_of_each, unsigned long long *wrong) {
  uint64_t const stride = (uint64_t)gridDim.x * kThreads;
  for (uint64_t i = (uint64_t)blockIdx.x * kThreads + threadIdx.x; i < count; i += stride) {
    double const limit = is_of_each ? bound * fabs(number_of(field[i])) : bound;
    bool const is_within = fabs(number_of(field[i]) - number_of(restored[i])) <= limit;
    if (!is_within && ((const Bits *)field)[i] != ((const Bits *)restored)[i])
      atomicAdd(wrong, 1ull);
  }
}

class Checker {
 public:
  explicit Checker(cudaStream_t stream) : stream_(stream), count_(Where::kDevice, 8) {}
  bool is_verified() const { return is_verified_; }
  template <class Word>
  void same(const char *what, const void *a, const void *b, uint64_t word_count) {
    must_cuda(cudaMemsetAsync(count_.bytes(), 0, 8, stream_));
    words_compare_kernel<Word><<<kBlocks, kThreads, 0, stream_>>>(
        (const Word *)a, (const Word *)b, word_count, (unsigned long long *)count_.bytes());
    judge(what);
  }
  /* is_of_each: the bound is relative to each value. */
  void within(const szgpu_shape &shape, const void *field, const void *restored, uint64_t count,
              double bound, bool is_of_each) {
    must_cuda(cudaMemsetAsync(count_.bytes(), 0, 8, stream_));
    auto const check = shape.dtype == SZGPU_F32    ? &Checker::check_values<float, uint32_t>
                       : shape.dtype == SZGPU_F64  ? &Checker::check_values<double, uint64_t>
                       : shape.dtype == SZGPU_F16  ? &Checker::check_values<__half, uint16_t>
                       : shape.dtype == SZGPU_BF16 ? &Checker::check_values<__nv_bfloat16, uint16_t>
                       : shape.dtype == SZGPU_U8   ? &Checker::check_values<uint8_t, uint8_t>
                       : shape.dtype == SZGPU_I8   ? &Checker::check_values<int8_t, uint8_t>
                       : shape.dtype == SZGPU_U16  ? &Checker::check_values<uint16_t, uint16_t>
                       : shape.dtype == SZGPU_I16  ? &Checker::check_values<int16_t, uint16_t>
                                                   : &Checker::check_values<int32_t, uint32_t>;
    (this->*check)(field, restored, count, bound, is_of_each);
    judge("values out of bound");
  }
  void claim(bool is_so, const char *what) {
    if (!is_so) fprintf(stderr, "bench: NOT VERIFIED: %s\n", what);
    is_verified_ = is_verified_ && is_so;
  }

 private:
  template <class Value, class Bits>
  void check_values(const void *field, const void *restored, uint64_t count, double bound,
                    bool is_of_each) {
    values_check_kernel<Value, Bits><<<kBlocks, kThreads, 0, stream_>>>(
        (const Value *)field, (const Value *)restored, count, bound, is_of_each,
        (unsigned long long *)count_.bytes());
  }
  void judge(const char *what) {
    unsigned long long wrong = 0;
    must_cuda(cudaGetLastError());
    must_cuda(cudaMemcpyAsync(&wrong, count_.bytes(), 8, cudaMemcpyDeviceToHost, stream_));
    must_cuda(cudaStreamSynchronize(stream_));
    claim(wrong == 0, what);
  }
  cudaStream_t stream_;
  Memory count_;
  bool is_verified_ = true;
};

/* ---- times ---- */

struct Times { /* milliseconds */
  double median, least, greatest;
};

inline Times times_of(std::vector<double> milliseconds) {
  if (milliseconds.empty()) return {0.0, 0.0, 0.0};
  std::sort(milliseconds.begin(), milliseconds.end());
  size_t const count = milliseconds.size();
  return {(milliseconds[(count - 1) / 2] + milliseconds[count / 2]) / 2, milliseconds.front(),
          milliseconds.back()};
}

inline double gb_per_second(double bytes, double milliseconds) {
  return milliseconds > 0.0 ? bytes / milliseconds / 1e6 : 0.0;
}

/* Times `call` alone, after runs that do not count. */
template <class Prepare, class Call, class Check>
Times time_runs(int warm_ups, int runs, Prepare prepare, Call call, Check check) {
  std::vector<double> milliseconds;
  for (int run = -warm_ups; run < runs; run++) {
    prepare();
    auto const start = std::chrono::steady_clock::now();
    call();
    std::chrono::duration<double, std::milli> const taken =
        std::chrono::steady_clock::now() - start;
    check();
    if (run >= 0) milliseconds.push_back(taken.count());
  }
  return times_of(milliseconds);
}

/* ---- the machine ---- */

struct Machine {
  std::string gpu, runtime, driver;
  double copy_gb_per_second; /* read and written */
};

inline std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

inline Machine look_at_machine(cudaStream_t stream) {
  cudaDeviceProp properties;
  int runtime = 0, driver = 0;
  must_cuda(cudaGetDeviceProperties(&properties, 0));
  must_cuda(cudaRuntimeGetVersion(&runtime));
  must_cuda(cudaDriverGetVersion(&driver));
  Memory const from(Where::kDevice, kCeilingBytes), to(Where::kDevice, kCeilingBytes);
  from.poison(stream);
  auto const nothing = [] {};
  auto const copy = [&] {
    must_cuda(
        cudaMemcpyAsync(to.bytes(), from.bytes(), kCeilingBytes, cudaMemcpyDeviceToDevice, stream));
    must_cuda(cudaStreamSynchronize(stream));
  };
  Times const times = time_runs(3, 20, nothing, copy, nothing);
  return {properties.name, version_text(runtime), version_text(driver),
          gb_per_second(2.0 * kCeilingBytes, times.median)};
}

/* ---- fields ---- */

struct Field {
  std::string name;
  szgpu_shape shape;
  uint64_t value_count;
  std::vector<uint8_t> bytes;
  uint64_t hash; /* XXH3-64 */
};

/* The names of types in files' names and reports, in the order of szgpu_dtype. */
inline const char *const kDtypeNames[] = {"f32", "f64", "u8",  "bf16", "f16",
                                          "fp8", "i8",  "u16", "i16",  "i32"};

inline szgpu_dtype dtype_named(const std::string &name) {
  for (int dtype = SZGPU_F32; dtype <= SZGPU_I32; dtype++)
    if (name == kDtypeNames[dtype]) return (szgpu_dtype)dtype;
  die(name + " is no type that szgpu has");
}

inline const char *const kPredictorNames[] = {"auto", "lorenzo", "interpolation"};
static_assert(SZGPU_PREDICTOR_AUTO == 0 && SZGPU_PREDICTOR_LORENZO == 1 &&
                  SZGPU_PREDICTOR_INTERPOLATION == 2,
              "names are in the order of szgpu_predictor");

inline szgpu_predictor predictor_named(const std::string &name) {
  for (int i = SZGPU_PREDICTOR_AUTO; i <= SZGPU_PREDICTOR_INTERPOLATION; i++)
    if (name == kPredictorNames[i]) return (szgpu_predictor)i;
  die(name + " is no predictor that szgpu has");
}

inline Field read_field(const std::string &path) {
  Field field;
  field.name = path.substr(path.find_last_of('/') + 1);
  size_t const dims = field.name.find_last_of('_'), type = field.name.find_last_of('.');
  if (dims == std::string::npos || type == std::string::npos || type < dims)
    die(path + " is not named as name_512x512x512.f32");
  memset(&field.shape, 0, sizeof field.shape);
  field.shape.dtype = dtype_named(field.name.substr(type + 1));
  field.value_count = 1;
  for (const char *at = field.name.c_str() + dims; *at != '.' && field.shape.ndim < 4;) {
    char *end;
    uint64_t const extent = strtoull(at + 1, &end, 10);
    if (extent == 0 || (*end != 'x' && *end != '.')) die(path + ": what are its dims?");
    field.shape.dims[field.shape.ndim++] = extent;
    field.value_count *= extent;
    at = end;
  }
  field.bytes.resize(field.value_count * szg_dtype_bytes(field.shape.dtype));
  FILE *const file = fopen(path.c_str(), "rb");
  if (!file) die("cannot open " + path);
  bool const is_read = fread(field.bytes.data(), 1, field.bytes.size(), file) == field.bytes.size();
  if (!is_read || fgetc(file) != EOF) die(path + " is not as long as its dims say");
  fclose(file);
  field.hash = szg_checksum_plain(field.bytes.data(), field.bytes.size());
  return field;
}

} // namespace

#endif
