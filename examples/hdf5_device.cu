/* hdf5_device.cu - compresses a field on the GPU and writes it to HDF5.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * nvcc hdf5_device.cu $(pkg-config --cflags --libs szgpu) $(pkg-config --cflags --libs hdf5-serial)
 * HDF5_PLUGIN_PATH=/usr/local/lib/hdf5/plugin ./a.out field.h5
 *
 * Only archives leave the GPU, for H5Dwrite_chunk. They are bit-identical to those that the filter
 * would write, so readers of the file need the plugin but no GPU. Also writes the same field
 * through the filter, compares both and checks the bound. Exit code 77: there is no GPU.
 */
#include <cuda_runtime_api.h>
#include <hdf5.h> /* before szgpu_hdf5.h, for its properties */

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "szgpu_hdf5.h"

namespace {

constexpr int kRank = 3;
constexpr hsize_t kDims[kRank] = {64, 300, 400};
constexpr hsize_t kChunk[kRank] = {16, 300, 400}; /* whole rows, so that a chunk is contiguous */
constexpr size_t kValues = kDims[0] * kDims[1] * kDims[2];
constexpr double kBound = 0.01;

#define TRY(call)                                                    \
  do {                                                               \
    if (!(call)) {                                                   \
      std::fprintf(stderr, "line %d: %s failed\n", __LINE__, #call); \
      return false;                                                  \
    }                                                                \
  } while (0)

/* Stands in for a simulation. */
__global__ void __launch_bounds__(256) make_field_kernel(float *field, size_t value_count) {
  size_t const i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= value_count) return;
  float const x = float(i % kDims[2]), y = float(i / kDims[2] % kDims[1]);
  float const z = float(i / (kDims[1] * kDims[2]));
  field[i] = 280.0f + 15.0f * sinf(0.02f * x + 0.1f * z) * cosf(0.03f * y);
}

/* What a program holds while it writes a dataset from the GPU. */
struct Writer {
  szgpu_ctx *ctx = nullptr;
  szgpu_params params;
  szgpu_shape chunk;
  std::vector<uint8_t> archive; /* in host memory, from where HDF5 writes it */
  ~Writer() { szgpu_destroy(ctx); }
};

bool open_writer(hid_t dataset, Writer *writer) {
  unsigned words[SZGPU_H5_MOST_WORDS];
  size_t const word_count = szgpu_h5_dataset_words(dataset, words);
  size_t capacity = 0;
  TRY(szgpu_h5_chunk(words, word_count, &writer->params, &writer->chunk) == nullptr);
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CUDA;
  TRY(szgpu_create(&writer->ctx, &options) == SZGPU_OK);
  TRY(szgpu_sizes(writer->ctx, &writer->params, &writer->chunk, nullptr, &capacity) == SZGPU_OK);
  writer->archive.resize(capacity);
  return true;
}

bool write_chunks(Writer *writer, hid_t dataset, const float *d_field) {
  for (hsize_t row = 0; row < kDims[0]; row += kChunk[0]) {
    const float *const d_chunk = d_field + row * kChunk[1] * kChunk[2];
    hsize_t const offset[kRank] = {row, 0, 0};
    herr_t written = -1;
    TRY(szgpu_h5_write_chunk(writer->ctx, &writer->params, &writer->chunk, d_chunk,
                             writer->archive.data(), writer->archive.size(), dataset, offset,
                             &written) == SZGPU_OK);
    TRY(written >= 0);
  }
  return true;
}

hid_t make_dataset(hid_t file, const char *name) {
  hid_t const space = H5Screate_simple(kRank, kDims, nullptr);
  hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
  hid_t dataset = H5I_INVALID_HID;
  H5Pset_chunk(properties, kRank, kChunk);
  if (H5Pset_szgpu_abs(properties, kBound) >= 0)
    dataset = H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  H5Pclose(properties);
  H5Sclose(space);
  return dataset;
}

bool read_chunk(hid_t dataset, hsize_t row, std::vector<uint8_t> *bytes) {
  hsize_t const offset[kRank] = {row, 0, 0};
  hsize_t byte_count = 0;
  uint32_t skipped_filters = 0;
  TRY(H5Dget_chunk_storage_size(dataset, offset, &byte_count) >= 0);
  bytes->resize(byte_count);
  TRY(H5Dread_chunk(dataset, H5P_DEFAULT, offset, &skipped_filters, bytes->data()) >= 0);
  return skipped_filters == 0;
}

/* Reads the file as any reader would: the filter restores every value within the bound. */
bool check_file(const char *path, const std::vector<float> &field) {
  std::vector<float> restored(kValues);
  std::vector<uint8_t> from_gpu, from_filter;
  size_t stored_bytes = 0;
  hid_t const file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  hid_t const by_gpu = H5Dopen2(file, "by_gpu", H5P_DEFAULT);
  hid_t const by_filter = H5Dopen2(file, "by_filter", H5P_DEFAULT);
  TRY(H5Dread(by_gpu, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored.data()) >= 0);
  for (size_t i = 0; i < kValues; i++)
    TRY(std::fabs(double(field[i]) - double(restored[i])) <= kBound); /* false for NaN */
  for (hsize_t row = 0; row < kDims[0]; row += kChunk[0]) {
    TRY(read_chunk(by_gpu, row, &from_gpu) && read_chunk(by_filter, row, &from_filter));
    TRY(from_gpu == from_filter);
    stored_bytes += from_gpu.size();
  }
  H5Dclose(by_filter);
  H5Dclose(by_gpu);
  H5Fclose(file);
  std::printf("%zu bytes became %zu on the GPU, as through the filter; all within %g\n",
              kValues * sizeof(float), stored_bytes, kBound);
  return true;
}

bool write_file(const char *path, const float *d_field, const std::vector<float> &field) {
  Writer writer;
  hid_t const file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t const by_gpu = make_dataset(file, "by_gpu");
  hid_t const by_filter = make_dataset(file, "by_filter");
  TRY(by_gpu >= 0 && by_filter >= 0); /* HDF5 has said why */
  TRY(open_writer(by_gpu, &writer));
  TRY(write_chunks(&writer, by_gpu, d_field));
  TRY(H5Dwrite(by_filter, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field.data()) >= 0);
  TRY(H5Dclose(by_filter) >= 0 && H5Dclose(by_gpu) >= 0 && H5Fclose(file) >= 0);
  return true;
}

bool run(const char *path) {
  float *d_field = nullptr;
  std::vector<float> field(kValues);
  TRY(cudaMalloc(&d_field, kValues * sizeof(float)) == cudaSuccess);
  cudaStream_t stream = nullptr;
  TRY(cudaStreamCreate(&stream) == cudaSuccess);
  make_field_kernel<<<unsigned((kValues + 255) / 256), 256, 0, stream>>>(d_field, kValues);
  TRY(cudaGetLastError() == cudaSuccess);
  TRY(cudaMemcpyAsync(field.data(), d_field, kValues * sizeof(float), cudaMemcpyDeviceToHost,
                      stream) == cudaSuccess);
  /* The ctx has its own stream, so the field must be complete before the call. Or else pass this
   * stream in szgpu_options.stream. */
  TRY(cudaStreamSynchronize(stream) == cudaSuccess);
  bool const done = write_file(path, d_field, field) && check_file(path, field);
  cudaStreamDestroy(stream);
  cudaFree(d_field);
  return done;
}

} // namespace

int main(int argument_count, char **arguments) {
  int device_count = 0;
  if (cudaGetDeviceCount(&device_count) != cudaSuccess || device_count == 0) {
    std::fprintf(stderr, "skipped: no GPU\n");
    return 77;
  }
  return run(argument_count > 1 ? arguments[1] : "device.h5") ? 0 : 1;
}
