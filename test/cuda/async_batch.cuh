/* async_batch.cuh - fields on the GPU and what stream-ordered calls make of them, for tests.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_ASYNC_BATCH_CUH
#define SZG_TEST_ASYNC_BATCH_CUH

#include <math.h>

#include <chrono>
#include <memory>

#include "cuda/cuda_test.cuh"
#include "szgpu.h"

namespace async_test {

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_unit;

typedef std::vector<uint8_t> Bytes;

/* ---- fields ---- */

inline szgpu_shape shape_of(szgpu_dtype dtype, const std::vector<uint64_t> &dims) {
  szgpu_shape shape = {dtype, (int)dims.size(), {}};
  for (size_t i = 0; i < dims.size(); i++) shape.dims[i] = dims[i];
  return shape;
}

inline uint64_t value_count(const szgpu_shape &shape) {
  uint64_t count = 1;
  for (int i = 0; i < shape.ndim; i++) count *= shape.dims[i];
  return count;
}

inline size_t value_bytes(const szgpu_shape &shape) { return szg_dtype_bytes(shape.dtype); }

inline void set_value(const szgpu_shape &shape, uint64_t i, double value, Bytes *field) {
  float const single = (float)value;
  const void *const from = shape.dtype == SZGPU_F32 ? (const void *)&single : (const void *)&value;
  memcpy(field->data() + i * value_bytes(shape), from, value_bytes(shape));
}

enum FieldKind { kWaves, kSpeckled, kStrange, kNoise, kZeros, kFieldKinds };

/* Waves between -102 and 102; speckled: a few values are special; strange: many are; noise: random
 * bits, which do not shrink. */
inline Bytes make_field(const szgpu_shape &shape, FieldKind kind) {
  static const double special[] = {NAN,     INFINITY, -INFINITY, 1e20, -9999.0,
                                   -1.7e30, 1e-310,   700.0,     -0.0, 3e38};
  uint64_t const count = value_count(shape), row = shape.dims[shape.ndim - 1];
  Bytes field(count * value_bytes(shape));
  if (kind == kNoise)
    for (uint8_t &byte : field) byte = (uint8_t)cuda_test::random_bits();
  if (kind == kNoise || kind == kZeros) return field;
  double const phase = 6 * random_unit();
  for (uint64_t i = 0; i < count; i++)
    set_value(
        shape, i,
        90 * sin(phase + 0.05 * (double)(i % row) + 0.01 * (double)(i / row)) + 10 * random_unit(),
        &field);
  uint64_t const every = kind == kSpeckled ? 9000 : 40;
  if (kind != kWaves)
    for (uint64_t i = random_below(every); i < count; i += 1 + random_below(2 * every))
      set_value(shape, i, special[random_below(sizeof special / sizeof *special)], &field);
  return field;
}

/* ---- params ---- */

inline szgpu_params params_of(double bound, double greatest) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_ABS;
  params.bound = bound;
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  params.greatest = greatest;
  params.raw_outliers = 1;
  return params;
}

/* ---- ctxs ---- */

inline szgpu_ctx *make_ctx(szgpu_backend backend) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = backend;
  szgpu_ctx *ctx;
  MUST(szgpu_create(&ctx, &options));
  return ctx;
}

inline Bytes archive_by(szgpu_ctx *ctx, const szgpu_params &params, const szgpu_shape &shape,
                        const Bytes &field) {
  size_t bytes = 0;
  MUST(szgpu_sizes(ctx, &params, &shape, nullptr, &bytes));
  Bytes archive(bytes);
  MUST(szgpu_compress(ctx, &params, &shape, field.data(), archive.data(), archive.size(), &bytes));
  archive.resize(bytes);
  return archive;
}

inline szgpu_status restored_by(szgpu_ctx *ctx, const Bytes &archive, Bytes *field) {
  const void *const bytes = archive.empty() ? (const void *)"" : archive.data();
  return szgpu_decompress(ctx, bytes, archive.size(), field->data(), field->size());
}

/* ---- a batch ---- */

enum { kGuardBytes = 64 };

/* A field with room for its archive. offset: of values, from an aligned address. */
struct Item {
  szgpu_shape shape;
  size_t offset;
  DeviceArray<uint8_t> field, archive, restored;
  uint64_t room;

  Item(const szgpu_shape &of, const Bytes &values, uint64_t archive_bytes, size_t values_offset)
      : shape(of),
        offset(values_offset),
        field(values.size() + offset),
        archive(archive_bytes + kGuardBytes),
        restored(values.size() + offset + kGuardBytes),
        room(archive_bytes) {
    set_field(values);
  }
  void set_field(const Bytes &values) {
    MUST(cudaMemcpy(field.data() + offset, values.data(), values.size(), cudaMemcpyHostToDevice));
    MUST(cudaDeviceSynchronize()); /* as in DeviceArray */
  }
  Bytes restored_values() const {
    Bytes values = restored.host();
    values.erase(values.begin(), values.begin() + (long)offset);
    return values;
  }
};

struct Batch {
  szgpu_ctx *ctx;
  szgpu_params params;
  std::vector<std::unique_ptr<Item>> items;
  std::unique_ptr<DeviceArray<szgpu_outcome>> written, read;
  std::unique_ptr<DeviceArray<uint8_t>> workspace;

  Batch(szgpu_ctx *of, const szgpu_params &asked) : ctx(of), params(asked) {}

  uint64_t most_archive_bytes(const szgpu_shape &shape) const {
    size_t bytes = 0;
    MUST(szgpu_sizes(ctx, &params, &shape, nullptr, &bytes));
    return bytes;
  }
  void add(const szgpu_shape &shape, const Bytes &field, size_t offset = 0) {
    items.emplace_back(new Item(shape, field, most_archive_bytes(shape), offset));
  }

  std::vector<szgpu_async_item> list(bool is_read) const {
    std::vector<szgpu_async_item> all(items.size());
    for (size_t i = 0; i < items.size(); i++) {
      Item &item = *items[i];
      all[i] = {item.shape,
                (is_read ? item.restored.data() : item.field.data()) + item.offset,
                item.archive.data(),
                item.room,
                is_read ? &(written->data() + i)->bytes : nullptr,
                (is_read ? read : written)->data() + i};
    }
    return all;
  }

  /* Takes the memory; no item may be added later. */
  void prepare() {
    written.reset(new DeviceArray<szgpu_outcome>(items.size()));
    read.reset(new DeviceArray<szgpu_outcome>(items.size()));
    size_t bytes = 0;
    std::vector<szgpu_async_item> const all = list(false);
    MUST(szgpu_async_bytes(ctx, &params, all.data(), all.size(), &bytes));
    workspace.reset(new DeviceArray<uint8_t>(bytes));
  }
  void poison() {
    written->poison(), read->poison(), workspace->poison();
    for (auto const &item : items) item->archive.poison(), item->restored.poison();
  }
  void compress(cudaStream_t stream) {
    std::vector<szgpu_async_item> const all = list(false);
    szgpu_status const status = szgpu_compress_async(ctx, &params, all.data(), all.size(),
                                                     workspace->data(), workspace->bytes(), stream);
    CHECK(status == SZGPU_OK, "%d: %s", (int)status, szgpu_last_error(ctx));
  }
  void decompress(cudaStream_t stream) {
    std::vector<szgpu_async_item> const all = list(true);
    szgpu_status const status = szgpu_decompress_async(
        ctx, &params, all.data(), all.size(), workspace->data(), workspace->bytes(), stream);
    CHECK(status == SZGPU_OK, "%d: %s", (int)status, szgpu_last_error(ctx));
  }
};

inline const char *name_of(const szgpu_shape &shape) {
  static const char *const types[] = {"f32", "f64", "u8",  "bf16", "f16",
                                      "fp8", "i8",  "u16", "i16",  "i32"};
  static thread_local char text[96];
  snprintf(text, sizeof text, "%s %llu x %llu x %llu x %llu (%d)", types[shape.dtype],
           (unsigned long long)shape.dims[0], (unsigned long long)shape.dims[1],
           (unsigned long long)shape.dims[2], (unsigned long long)shape.dims[3], shape.ndim);
  return text;
}

/* Whether `found` begins with `expected`, and the poison after `room` bytes is untouched. */
inline void check_bytes(const Bytes &found, const Bytes &expected, uint64_t room, const char *what,
                        const szgpu_shape &shape) {
  size_t i = 0;
  while (i < expected.size() && i < found.size() && found[i] == expected[i]) i++;
  CHECK(i == expected.size(), "%s of %s: another byte at %zu of %zu", what, name_of(shape), i,
        expected.size());
  for (size_t k = room; k < found.size(); k++)
    if (found[k] != 0xA5) {
      CHECK(false, "%s of %s: byte %zu beyond its room", what, name_of(shape), k);
      break;
    }
}

/* Compares what the batch has made with the CPU. fields: of the items. */
inline void check_batch(const Batch &batch, szgpu_ctx *cpu, const std::vector<Bytes> &fields) {
  std::vector<szgpu_outcome> const written = batch.written->host(), read = batch.read->host();
  for (size_t i = 0; i < batch.items.size(); i++) {
    const Item &item = *batch.items[i];
    Bytes const archive = archive_by(cpu, batch.params, item.shape, fields[i]);
    Bytes restored(fields[i].size());
    MUST(restored_by(cpu, archive, &restored));
    CHECK(written[i].status == SZGPU_OK && written[i].bytes == archive.size(),
          "%s: status %u, %llu bytes, not %zu", name_of(item.shape), written[i].status,
          (unsigned long long)written[i].bytes, archive.size());
    CHECK(read[i].status == SZGPU_OK && read[i].bytes == restored.size(),
          "%s: status %u, %llu bytes", name_of(item.shape), read[i].status,
          (unsigned long long)read[i].bytes);
    check_bytes(item.archive.host(), archive, item.room, "the archive", item.shape);
    check_bytes(item.restored_values(), restored, restored.size(), "the field", item.shape);
  }
}

/* Replays a graph of both calls on fields of make(shape, i + replay), i being the item's number. */
template <class Make>
void check_graph(Batch *batch, szgpu_ctx *cpu, cudaStream_t stream, size_t replays, Make make) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  batch->compress(stream); /* loads the kernels */
  batch->decompress(stream);
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  batch->compress(stream);
  batch->decompress(stream);
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaGraphInstantiate(&executable, graph, 0));
  MUST(cudaGraphDestroy(graph));
  for (size_t replay = 0; replay < replays; replay++) {
    std::vector<Bytes> fields;
    for (size_t i = 0; i < batch->items.size(); i++) {
      fields.push_back(make(batch->items[i]->shape, i + replay));
      batch->items[i]->set_field(fields.back());
    }
    batch->poison();
    MUST(cudaGraphLaunch(executable, stream));
    check_batch(*batch, cpu, fields);
  }
  MUST(cudaGraphExecDestroy(executable));
}

static __global__ void spin_kernel(long long nanoseconds) {
  long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
}

/* Calls both behind 0.1 s of other work, and checks that they return before it ends and hold the
 * host for less than most_ms. */
inline void check_that_nothing_waits(Batch *batch, cudaStream_t stream, double most_ms) {
  batch->compress(stream);
  batch->decompress(stream);
  batch->poison();
  spin_kernel<<<1, 1, 0, stream>>>(100000000);
  auto const begin = std::chrono::steady_clock::now();
  batch->compress(stream);
  batch->decompress(stream);
  auto const end = std::chrono::steady_clock::now();
  bool const is_busy = cudaStreamQuery(stream) == cudaErrorNotReady;
  double const ms = std::chrono::duration<double, std::milli>(end - begin).count();
  printf("the host was held for %.3f ms behind 100 ms of work\n", ms);
  CHECK(is_busy, "the stream has already done its work");
  CHECK(cuda_test::is_quick() || ms < most_ms, "%.3f ms", ms);
}

} // namespace async_test

#endif
