/* bench_async.cu - times stream-ordered calls: one field, and many small ones, in three ways.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * usage: bench_async [fields | tensors | [FILE.f32 Z Y X GREATEST BOUND]...]
 *
 * Each file is a field that is compressed and restored, by szgpu_compress and szgpu_decompress on
 * memory of the GPU, by the stream-ordered calls, and by a graph of them. Without files: 200 fields
 * of 64^3 under a bound and 200 tensors of 1 MiB of bf16 without loss, or one of the two, in a loop
 * of szgpu_compress, as calls of one item in eight streams, and as one call.
 * Every time is the median of kRuns, from event to event (szgpu_*: the host's clock around a call
 * that waits). Outputs are poisoned before a run that is checked, against the synchronous calls.
 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "szgpu.h"

namespace {

constexpr int kRuns = 25, kStreams = 8, kFields = 200;

#define TRY(call)                                                                \
  do {                                                                           \
    int const result = (int)(call);                                              \
    if (result != 0) {                                                           \
      fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, result); \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/* Microseconds of the stream, and of the host in `put`. */
struct Times {
  double stream_us, host_us;
};

template <class Put>
Times time_stream(cudaStream_t stream, Put put) {
  cudaEvent_t begin, end;
  TRY(cudaEventCreate(&begin));
  TRY(cudaEventCreate(&end));
  std::vector<double> of_stream, of_host;
  for (int run = 0; run < kRuns + 3; run++) {
    TRY(cudaStreamSynchronize(stream));
    TRY(cudaEventRecord(begin, stream));
    double const start = now_us();
    put();
    double const host = now_us() - start;
    TRY(cudaEventRecord(end, stream));
    TRY(cudaEventSynchronize(end));
    float ms = 0;
    TRY(cudaEventElapsedTime(&ms, begin, end));
    if (run < 3) continue; /* the first ones load kernels */
    of_stream.push_back(1e3 * ms);
    of_host.push_back(host);
  }
  TRY(cudaEventDestroy(begin));
  TRY(cudaEventDestroy(end));
  return {median(of_stream), median(of_host)};
}

template <class Call>
double time_host(Call call) {
  std::vector<double> times;
  for (int run = 0; run < kRuns + 3; run++) {
    double const start = now_us();
    call();
    if (run >= 3) times.push_back(now_us() - start);
  }
  return median(times);
}

typedef std::vector<char> Bytes;

Bytes bytes_of_values(const std::vector<float> &values) {
  Bytes bytes(values.size() * sizeof(float));
  memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

szgpu_params bounded_params(double bound, double greatest) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_ABS;
  params.bound = bound;
  params.greatest = greatest;
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  params.raw_outliers = 1;
  return params;
}

/* Fields on the GPU with all that calls need. */
struct Fields {
  szgpu_ctx *ctx;
  szgpu_params params;
  cudaStream_t stream;
  std::vector<szgpu_async_item> writes, reads;
  szgpu_outcome *outcomes;
  void *workspace;
  size_t workspace_bytes = 0;
  std::vector<size_t> sizes;                   /* of fields, in bytes */
  uint64_t field_bytes = 0, archive_bytes = 0; /* of all */

  Fields(const std::vector<szgpu_shape> &shapes, const std::vector<Bytes> &values,
         const szgpu_params &asked)
      : params(asked) {
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    options.backend = SZGPU_BACKEND_CUDA;
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    options.stream = stream;
    TRY(szgpu_create(&ctx, &options));
    TRY(cudaMalloc(&outcomes, 2 * shapes.size() * sizeof *outcomes));
    for (size_t i = 0; i < shapes.size(); i++) {
      size_t const bytes = values[i].size();
      szgpu_async_item item = {shapes[i], NULL, NULL, 0, NULL, outcomes + i};
      size_t room = 0;
      TRY(szgpu_sizes(ctx, &params, &shapes[i], NULL, &room));
      item.archive_bytes = room;
      TRY(cudaMalloc(&item.field, bytes));
      TRY(cudaMalloc(&item.archive, room));
      TRY(cudaMemcpy(item.field, values[i].data(), bytes, cudaMemcpyHostToDevice));
      writes.push_back(item);
      TRY(cudaMalloc(&item.field, bytes));
      item.archive_bytes_at = &item.outcome->bytes;
      item.outcome = outcomes + shapes.size() + i;
      reads.push_back(item);
      sizes.push_back(bytes);
      field_bytes += bytes;
    }
    TRY(szgpu_async_bytes(ctx, &params, writes.data(), writes.size(), &workspace_bytes));
    TRY(cudaMalloc(&workspace, workspace_bytes));
  }

  void compress() {
    TRY(szgpu_compress_async(ctx, &params, writes.data(), writes.size(), workspace, workspace_bytes,
                             stream));
  }
  void decompress() {
    TRY(szgpu_decompress_async(ctx, &params, reads.data(), reads.size(), workspace, workspace_bytes,
                               stream));
  }

  /* Compares archives and fields with those of the synchronous calls. */
  void check() {
    for (size_t i = 0; i < writes.size(); i++) {
      TRY(cudaMemset(writes[i].archive, 0xA5, writes[i].archive_bytes));
      TRY(cudaMemset(reads[i].field, 0xA5, sizes[i]));
    }
    compress();
    decompress();
    TRY(cudaStreamSynchronize(stream));
    std::vector<szgpu_outcome> found(2 * writes.size());
    TRY(cudaMemcpy(found.data(), outcomes, found.size() * sizeof found[0], cudaMemcpyDeviceToHost));
    void *archive;
    TRY(cudaMalloc(&archive, writes[0].archive_bytes));
    for (size_t i = 0; i < writes.size(); i++) {
      size_t bytes = 0;
      size_t const field = sizes[i];
      TRY(found[i].status | found[writes.size() + i].status);
      std::vector<char> a(found[i].bytes), b(found[i].bytes), c(field), d(field);
      TRY(cudaMemcpy(a.data(), writes[i].archive, a.size(), cudaMemcpyDeviceToHost));
      TRY(cudaMemcpy(c.data(), reads[i].field, field, cudaMemcpyDeviceToHost));
      TRY(szgpu_compress(ctx, &params, &writes[i].shape, writes[i].field, archive,
                         writes[i].archive_bytes, &bytes));
      TRY(bytes != a.size());
      TRY(cudaMemcpy(b.data(), archive, bytes, cudaMemcpyDeviceToHost));
      TRY(szgpu_decompress(ctx, archive, bytes, reads[i].field, field));
      TRY(cudaMemcpy(d.data(), reads[i].field, field, cudaMemcpyDeviceToHost));
      TRY(a != b);
      TRY(c != d);
      archive_bytes += bytes;
    }
    TRY(cudaFree(archive));
  }

  void print(const char *what, double us, double host_us = -1) const {
    printf("  %-34s %10.1f us  %8.1f GB/s", what, us, 1e-3 * (double)field_bytes / us);
    if (host_us >= 0) printf("  host %8.1f us", host_us);
    printf("\n");
  }

  /* Each synchronous call, one after the other. */
  void time_sync() {
    std::vector<size_t> bytes(writes.size());
    double const write_us = time_host([&] {
      for (size_t i = 0; i < writes.size(); i++)
        TRY(szgpu_compress(ctx, &params, &writes[i].shape, writes[i].field, writes[i].archive,
                           writes[i].archive_bytes, &bytes[i]));
    });
    double const read_us = time_host([&] {
      for (size_t i = 0; i < writes.size(); i++)
        TRY(szgpu_decompress(ctx, writes[i].archive, bytes[i], reads[i].field, sizes[i]));
    });
    print("szgpu_compress", write_us);
    print("szgpu_decompress", read_us);
  }

  void time_async() {
    Times const write = time_stream(stream, [&] { compress(); });
    Times const read = time_stream(stream, [&] { decompress(); });
    print("szgpu_compress_async", write.stream_us, write.host_us);
    print("szgpu_decompress_async", read.stream_us, read.host_us);
    cudaGraph_t graph;
    cudaGraphExec_t both;
    TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    compress();
    decompress();
    TRY(cudaStreamEndCapture(stream, &graph));
    TRY(cudaGraphInstantiate(&both, graph, 0));
    Times const replay = time_stream(stream, [&] { TRY(cudaGraphLaunch(both, stream)); });
    print("both, a graph replayed", replay.stream_us, replay.host_us);
    TRY(cudaGraphExecDestroy(both));
    TRY(cudaGraphDestroy(graph));
  }
};

/* ---- many small fields, as calls of one item in several streams ---- */

void time_side_by_side(Fields *fields) {
  cudaStream_t streams[kStreams];
  cudaEvent_t fork, join;
  void *workspaces[kStreams];
  size_t bytes = 0;
  TRY(szgpu_async_bytes(fields->ctx, &fields->params, fields->writes.data(), 1, &bytes));
  TRY(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  TRY(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  for (int s = 0; s < kStreams; s++) {
    TRY(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
    TRY(cudaMalloc(&workspaces[s], bytes));
  }
  auto const in_all = [&](auto call) {
    TRY(cudaEventRecord(fork, fields->stream));
    for (int s = 0; s < kStreams; s++) TRY(cudaStreamWaitEvent(streams[s], fork, 0));
    for (size_t i = 0; i < fields->writes.size(); i++) call(i, (int)(i % kStreams));
    for (int s = 0; s < kStreams; s++) {
      TRY(cudaEventRecord(join, streams[s]));
      TRY(cudaStreamWaitEvent(fields->stream, join, 0));
    }
  };
  Times const write = time_stream(fields->stream, [&] {
    in_all([&](size_t i, int s) {
      TRY(szgpu_compress_async(fields->ctx, &fields->params, &fields->writes[i], 1, workspaces[s],
                               bytes, streams[s]));
    });
  });
  Times const read = time_stream(fields->stream, [&] {
    in_all([&](size_t i, int s) {
      TRY(szgpu_decompress_async(fields->ctx, &fields->params, &fields->reads[i], 1, workspaces[s],
                                 bytes, streams[s]));
    });
  });
  fields->print("one by one in 8 streams, compress", write.stream_us, write.host_us);
  fields->print("one by one in 8 streams, restore", read.stream_us, read.host_us);
}

std::vector<float> small_field(uint64_t seed) {
  std::vector<float> values(64 * 64 * 64);
  for (size_t i = 0; i < values.size(); i++) {
    double const x = (double)(i % 64), y = (double)(i / 64 % 64), z = (double)(i / 4096);
    uint64_t noise = (i + 1) * 0x9E3779B97F4A7C15u ^ seed * 0xBF58476D1CE4E5B9u;
    noise = (noise ^ noise >> 29) * 0x94D049BB133111EBu;
    values[i] = (float)(sin(0.1 * x + (double)seed) * cos(0.07 * y) + sin(0.05 * z) +
                        1e-3 * (double)(noise >> 40) * 0x1p-24);
  }
  return values;
}

/* bf16 weights from N(0, 0.02), rounded towards 0. */
Bytes small_tensor(uint64_t seed) {
  std::mt19937_64 numbers(seed);
  std::normal_distribution<float> weights(0.0f, 0.02f);
  Bytes bytes(1 << 20);
  for (size_t i = 0; i < bytes.size(); i += 2) {
    float const weight = weights(numbers);
    memcpy(&bytes[i], (const char *)&weight + 2, 2);
  }
  return bytes;
}

void bench_small(const char *what, const szgpu_shape &shape, const std::vector<Bytes> &values,
                 const szgpu_params &params) {
  Fields fields(std::vector<szgpu_shape>(kFields, shape), values, params);
  fields.check();
  printf("%d %s, ratio %.3f\n", kFields, what,
         (double)fields.field_bytes / (double)fields.archive_bytes);
  fields.time_sync();
  time_side_by_side(&fields);
  fields.time_async();
}

void bench_small_fields() {
  std::vector<Bytes> values;
  for (int i = 0; i < kFields; i++) values.push_back(bytes_of_values(small_field((uint64_t)i)));
  bench_small("fields of 64^3", {SZGPU_F32, 3, {64, 64, 64}}, values, bounded_params(1e-3, 2.5));
}

void bench_small_tensors() {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  std::vector<Bytes> values;
  params.mode = SZGPU_MODE_LOSSLESS;
  for (int i = 0; i < kFields; i++) values.push_back(small_tensor((uint64_t)i));
  bench_small("tensors of 1 MiB of bf16", {SZGPU_BF16, 2, {512, 1024}}, values, params);
}

void bench_file(char **arguments) {
  szgpu_shape const shape = {SZGPU_F32,
                             3,
                             {strtoull(arguments[1], NULL, 10), strtoull(arguments[2], NULL, 10),
                              strtoull(arguments[3], NULL, 10)}};
  double const greatest = atof(arguments[4]), bound = atof(arguments[5]);
  std::vector<float> values(shape.dims[0] * shape.dims[1] * shape.dims[2]);
  FILE *const file = fopen(arguments[0], "rb");
  TRY(!file || fread(values.data(), 4, values.size(), file) != values.size());
  fclose(file);
  Fields fields({shape}, {bytes_of_values(values)}, bounded_params(bound, greatest));
  fields.check();
  printf("%s, bound %g, ratio %.2f\n", arguments[0], bound,
         (double)fields.field_bytes / (double)fields.archive_bytes);
  fields.time_sync();
  fields.time_async();
}

} // namespace

int main(int argc, char **argv) {
  bool const is_named = argc == 2;
  if (argc < 7 && (!is_named || !strcmp(argv[1], "fields"))) bench_small_fields();
  if (argc < 7 && (!is_named || !strcmp(argv[1], "tensors"))) bench_small_tensors();
  for (int i = 1; i + 5 < argc; i += 6) bench_file(argv + i);
  return 0;
}
