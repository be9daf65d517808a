/* bench_frames.cu - times frames from host memory through one GPU or several, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * usage: bench_frames FILE... [--bound B] [--copies N] [--rows N] [--ctxs N] [--runs N]
 *                     [--predictor NAME]
 *   FILE        a field, named as name_512x512x512.f32
 *   --bound B   the absolute bound; 1e-3 by default
 *   --copies N  the field so many times, one after the other along its slowest axis; 8
 *   --rows N    of a frame; 64
 *   --ctxs N    for each GPU; 2: transfers of one overlap with kernels of the other
 *   --runs N    of which the median counts; 5
 *   --predictor NAME  auto, lorenzo or interpolation; lorenzo
 *
 * For pinned and for ordinary memory: GB/s of the field with szgpu_compress_stream and
 * szgpu_decompress_stream on the first GPU, the first two, and so on, beside what the links carry:
 * plain copies between pinned memory and as many GPUs at once. All archives are compared with each
 * other, and all values with the bound; outputs are poisoned before each run.
 */
#include "bench_support.cuh"

namespace {

constexpr int kMostGpus = 16, kWarmUps = 1;
constexpr size_t kLinkBytes = (size_t)1 << 28; /* of a copy that shows what a link carries */

struct Arguments {
  std::vector<std::string> fields;
  double bound = 1e-3;
  int copies = 8, rows = 64, ctxs = 2, runs = 5;
  szgpu_predictor predictor = SZGPU_PREDICTOR_LORENZO;
};

Arguments parse_arguments(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i++) {
    std::string const name = argv[i];
    if (name[0] != '-') {
      arguments.fields.push_back(name);
      continue;
    }
    if (++i == argc) die(name + " needs a value");
    int *const number = name == "--copies" ? &arguments.copies
                        : name == "--rows" ? &arguments.rows
                        : name == "--ctxs" ? &arguments.ctxs
                        : name == "--runs" ? &arguments.runs
                                           : nullptr;
    if (number)
      *number = atoi(argv[i]);
    else if (name == "--bound")
      arguments.bound = atof(argv[i]);
    else if (name == "--predictor")
      arguments.predictor = predictor_named(argv[i]);
    else
      die(name + " is no option");
    if ((number && *number < 1) || !(arguments.bound > 0.0))
      die(std::string(argv[i]) + " is not above zero");
  }
  if (arguments.fields.empty()) die("which field?");
  return arguments;
}

/* What the links of gpu_count GPUs carry at the same time, in GB/s. */
double link_gb_per_second(int gpu_count, cudaMemcpyKind way) {
  struct Link {
    Memory host{Where::kPinned, kLinkBytes}, device{Where::kDevice, kLinkBytes};
    cudaStream_t stream;
  };
  std::vector<Link *> links;
  for (int gpu = 0; gpu < gpu_count; gpu++) {
    must_cuda(cudaSetDevice(gpu));
    links.push_back(new Link);
    must_cuda(cudaStreamCreate(&links.back()->stream));
    links.back()->host.poison(links.back()->stream);
  }
  auto const copy = [&] {
    for (int gpu = 0; gpu < gpu_count; gpu++) {
      Link *const link = links[gpu];
      bool const goes_up = way == cudaMemcpyHostToDevice;
      must_cuda(cudaSetDevice(gpu));
      must_cuda(cudaMemcpyAsync(goes_up ? link->device.bytes() : link->host.bytes(),
                                goes_up ? link->host.bytes() : link->device.bytes(), kLinkBytes,
                                way, link->stream));
    }
    for (const Link *link : links) must_cuda(cudaStreamSynchronize(link->stream));
  };
  auto const nothing = [] {};
  Times const times = time_runs(2, 10, nothing, copy, nothing);
  for (int gpu = 0; gpu < gpu_count; gpu++) {
    must_cuda(cudaSetDevice(gpu));
    must_cuda(cudaStreamDestroy(links[gpu]->stream));
    delete links[gpu];
  }
  must_cuda(cudaSetDevice(0));
  return gb_per_second((double)gpu_count * kLinkBytes, times.median);
}

std::vector<szgpu_ctx *> make_ctxs(int gpu_count, int ctxs_each) {
  std::vector<szgpu_ctx *> ctxs;
  for (int i = 0; i < gpu_count * ctxs_each; i++) {
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    options.backend = SZGPU_BACKEND_CUDA;
    options.device = i % gpu_count; /* the first frames go to different GPUs */
    ctxs.push_back(nullptr);
    must(ctxs.back(), szgpu_create(&ctxs.back(), &options));
  }
  return ctxs;
}

/* The field of a run, its archive and what is restored, all in one kind of memory. */
struct Work {
  szgpu_shape shape;
  szgpu_params params;
  Memory field, archive, restored;
  uint64_t archive_bytes = 0;
  uint64_t archive_hash = 0; /* of the first run */

  Work(Where where, const Field &from, const Arguments &arguments)
      : field(where, from.bytes.size() * arguments.copies),
        archive(where, from.bytes.size() * arguments.copies),
        restored(where, from.bytes.size() * arguments.copies) {
    shape = from.shape;
    shape.dims[0] *= arguments.copies;
    params = SZGPU_PARAMS_DEFAULTS;
    params.mode = SZGPU_MODE_ABS;
    params.bound = arguments.bound;
    params.frame_rows = arguments.rows;
    params.predictor = arguments.predictor;
    for (int i = 0; i < arguments.copies; i++)
      memcpy(field.bytes() + i * from.bytes.size(), from.bytes.data(), from.bytes.size());
  }
};

Times time_compression(const std::vector<szgpu_ctx *> &ctxs, Work *work, int runs,
                       Checker *checker) {
  szgpu_source const source = {nullptr, nullptr, work->field.bytes(), work->field.byte_count()};
  szgpu_sink const sink = {nullptr, nullptr, work->archive.bytes(), work->archive.byte_count()};
  auto const poison = [&] { work->archive.poison(nullptr); };
  auto const call = [&] {
    must(ctxs[0], szgpu_compress_stream(ctxs.data(), (int)ctxs.size(), &work->params, &work->shape,
                                        &source, &sink, &work->archive_bytes));
  };
  auto const check = [&] {
    uint64_t const hash = szg_checksum_plain(work->archive.bytes(), work->archive_bytes);
    if (!work->archive_hash) work->archive_hash = hash;
    checker->claim(hash == work->archive_hash, "archives differ");
  };
  return time_runs(kWarmUps, runs, poison, call, check);
}

Times time_restoration(const std::vector<szgpu_ctx *> &ctxs, const Work &work, int runs,
                       Checker *checker) {
  szgpu_source const source = {nullptr, nullptr, work.archive.bytes(), work.archive_bytes};
  szgpu_sink const sink = {nullptr, nullptr, work.restored.bytes(), work.restored.byte_count()};
  auto const poison = [&] { work.restored.poison(nullptr); };
  auto const call = [&] {
    uint64_t read_bytes;
    must(ctxs[0],
         szgpu_decompress_stream(ctxs.data(), (int)ctxs.size(), &source, &sink, &read_bytes));
  };
  auto const check = [&] {
    const float *const values = (const float *)(const void *)work.field.bytes();
    const float *const restored = (const float *)(const void *)work.restored.bytes();
    uint64_t const count = work.field.byte_count() / sizeof(float);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i++)
      wrong += !(fabs((double)values[i] - (double)restored[i]) <= work.params.bound);
    checker->claim(wrong == 0, "values out of bound");
  };
  return time_runs(kWarmUps, runs, poison, call, check);
}

void time_field(const Field &field, const Arguments &arguments, int gpu_count, Checker *checker) {
  if (field.shape.dtype != SZGPU_F32) die(field.name + ": f32 only");
  for (Where const where : {Where::kPinned, Where::kPageable}) {
    Work work(where, field, arguments);
    double const field_bytes = (double)work.field.byte_count();
    for (int gpus = 1; gpus <= gpu_count; gpus++) {
      std::vector<szgpu_ctx *> const ctxs = make_ctxs(gpus, arguments.ctxs);
      Times const there = time_compression(ctxs, &work, arguments.runs, checker);
      Times const back = time_restoration(ctxs, work, arguments.runs, checker);
      for (szgpu_ctx *ctx : ctxs) szgpu_destroy(ctx);
      printf("%s, %s memory, %d GPU%s: compress %.1f, decompress %.1f GB/s; ratio %.2f\n",
             field.name.c_str(), where == Where::kPinned ? "pinned" : "ordinary", gpus,
             gpus > 1 ? "s" : "", gb_per_second(field_bytes, there.median),
             gb_per_second(field_bytes, back.median), field_bytes / (double)work.archive_bytes);
      fflush(stdout);
    }
  }
}

} // namespace

int main(int argc, char **argv) {
  Arguments const arguments = parse_arguments(argc, argv);
  int gpu_count = 0;
  must_cuda(cudaGetDeviceCount(&gpu_count));
  gpu_count = std::min(gpu_count, kMostGpus);
  for (int gpus = 1; gpus <= gpu_count; gpus++)
    printf("links of %d GPU%s: %.1f GB/s there, %.1f GB/s back\n", gpus, gpus > 1 ? "s" : "",
           link_gb_per_second(gpus, cudaMemcpyHostToDevice),
           link_gb_per_second(gpus, cudaMemcpyDeviceToHost));
  Checker checker(nullptr);
  for (const std::string &path : arguments.fields)
    time_field(read_field(path), arguments, gpu_count, &checker);
  return checker.is_verified() ? 0 : 1;
}
