/* device.cu - compresses and restores a field that is in a GPU's memory and stays there.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * nvcc device.cu $(pkg-config --cflags --libs szgpu)
 *
 * Field, archive and restored field are device pointers; only the archive's size and the largest
 * error come to the host. Exit code 77: there is no GPU.
 */
#include <cuda_runtime.h>
#include <szgpu.h>

#include <cstdio>

namespace {

constexpr size_t kLevels = 64, kRows = 256, kColumns = 256;
constexpr size_t kValues = kLevels * kRows * kColumns;
constexpr double kBound = 1e-3;

#define TRY(call)                                                    \
  do {                                                               \
    if (!(call)) {                                                   \
      std::fprintf(stderr, "line %d: %s failed\n", __LINE__, #call); \
      return false;                                                  \
    }                                                                \
  } while (0)

/* Stands in for a simulation. */
__global__ void make_field_kernel(float *field) {
  size_t const i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= kValues) return;
  float const x = float(i % kColumns), y = float(i / kColumns % kRows);
  field[i] = sinf(0.05f * x) * cosf(0.03f * y) + 0.01f * float(i / (kRows * kColumns));
}

__global__ void count_wrong_kernel(const float *field, const float *restored, unsigned *wrong) {
  size_t const i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= kValues) return;
  double const distance = fabs(double(field[i]) - double(restored[i]));
  if (!(distance <= kBound)) atomicAdd(wrong, 1u); /* not "> kBound": NaN is wrong too */
}

/* Whatever was made is freed at the end, also after a failure. */
struct Work {
  cudaStream_t stream = nullptr;
  szgpu_ctx *ctx = nullptr;
  float *d_field = nullptr, *d_restored = nullptr;
  unsigned *d_wrong = nullptr;
  void *d_archive = nullptr;
  ~Work() {
    szgpu_destroy(ctx); /* before its stream */
    cudaFree(d_archive);
    cudaFree(d_wrong);
    cudaFree(d_restored);
    cudaFree(d_field);
    if (stream) cudaStreamDestroy(stream);
  }
};

bool run() {
  Work work;
  unsigned const blocks = unsigned((kValues + 255) / 256);
  TRY(cudaStreamCreate(&work.stream) == cudaSuccess);
  TRY(cudaMalloc(&work.d_field, kValues * sizeof(float)) == cudaSuccess);
  TRY(cudaMalloc(&work.d_restored, kValues * sizeof(float)) == cudaSuccess);
  TRY(cudaMalloc(&work.d_wrong, sizeof(unsigned)) == cudaSuccess);
  TRY(cudaMemsetAsync(work.d_wrong, 0, sizeof(unsigned), work.stream) == cudaSuccess);
  make_field_kernel<<<blocks, 256, 0, work.stream>>>(work.d_field);
  TRY(cudaGetLastError() == cudaSuccess);

  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CUDA;
  options.stream = work.stream; /* so the calls below come after the kernel */
  TRY(szgpu_create(&work.ctx, &options) == SZGPU_OK);

  szgpu_shape const shape = {SZGPU_F32, 3, {kLevels, kRows, kColumns}};
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_ABS;
  params.bound = kBound;
  size_t capacity = 0, archive_bytes = 0;
  TRY(szgpu_sizes(work.ctx, &params, &shape, nullptr, &capacity) == SZGPU_OK);
  TRY(cudaMalloc(&work.d_archive, capacity) == cudaSuccess);
  TRY(szgpu_compress(work.ctx, &params, &shape, work.d_field, work.d_archive, capacity,
                     &archive_bytes) == SZGPU_OK);
  TRY(szgpu_decompress(work.ctx, work.d_archive, archive_bytes, work.d_restored,
                       kValues * sizeof(float)) == SZGPU_OK);

  unsigned wrong_count = 0;
  count_wrong_kernel<<<blocks, 256, 0, work.stream>>>(work.d_field, work.d_restored, work.d_wrong);
  TRY(cudaGetLastError() == cudaSuccess);
  TRY(cudaMemcpyAsync(&wrong_count, work.d_wrong, sizeof wrong_count, cudaMemcpyDeviceToHost,
                      work.stream) == cudaSuccess);
  TRY(cudaStreamSynchronize(work.stream) == cudaSuccess);
  TRY(wrong_count == 0);
  std::printf("%zu bytes became %zu on the GPU; no value is off by more than %g\n",
              kValues * sizeof(float), archive_bytes, kBound);
  return true;
}

} // namespace

int main() {
  int device_count = 0;
  if (cudaGetDeviceCount(&device_count) != cudaSuccess || device_count == 0) {
    std::fprintf(stderr, "skipped: no GPU\n");
    return 77;
  }
  return run() ? 0 : 1;
}
