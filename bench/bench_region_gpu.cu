/* bench_region_gpu.cu - times szgpu_decompress_region on a GPU, beside that of the whole field.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_region_gpu FIELD RUNS           a table: milliseconds of a call, median and least
 *   bench_region_gpu FIELD KIND EDGE      one call alone, for a profiler started from here
 *
 * FIELD has three dims and a name as in turb_512x512x512.f32. KIND is lorenzo, interpolation or
 * lossless; the first two at 1e-3 of the range. Boxes are cubes at random places, and every one of
 * them is compared with the slice of the whole.
 */
#include <cuda_profiler_api.h>

#include <random>

#include "bench_support.cuh"

namespace {

struct Kind {
  const char *name;
  szgpu_mode mode;
  szgpu_predictor predictor;
};
constexpr Kind kKinds[] = {{"lorenzo", SZGPU_MODE_REL, SZGPU_PREDICTOR_LORENZO},
                           {"interpolation", SZGPU_MODE_REL, SZGPU_PREDICTOR_INTERPOLATION},
                           {"lossless", SZGPU_MODE_LOSSLESS, SZGPU_PREDICTOR_AUTO}};
constexpr uint64_t kEdges[] = {16, 64, 256};

class Bench {
 public:
  explicit Bench(const Field &field)
      : field_(field),
        width_(szg_dtype_bytes(field.shape.dtype)),
        values_(Where::kDevice, field.bytes.size()),
        archive_(Where::kDevice, field.bytes.size() + 65536),
        host_archive_(Where::kPinned, field.bytes.size() + 65536),
        whole_(Where::kDevice, field.bytes.size()),
        checker_(nullptr) {
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    options.backend = SZGPU_BACKEND_CUDA;
    if (szgpu_create(&ctx_, &options) != SZGPU_OK) die("no ctx");
    values_.fill(field.bytes.data(), field.bytes.size());
  }
  ~Bench() { szgpu_destroy(ctx_); }
  Bench(const Bench &) = delete;
  Bench &operator=(const Bench &) = delete;

  void compress(const Kind &kind) {
    szgpu_params params = SZGPU_PARAMS_DEFAULTS;
    params.mode = kind.mode;
    params.bound = 1e-3;
    params.predictor = kind.predictor;
    must(ctx_, szgpu_compress(ctx_, &params, &field_.shape, values_.bytes(), archive_.bytes(),
                              archive_.byte_count(), &archive_bytes_));
    host_archive_.fill(archive_.bytes(), archive_bytes_);
    restore_whole();
  }
  void restore_whole() {
    must(ctx_, szgpu_decompress(ctx_, archive_.bytes(), archive_bytes_, whole_.bytes(),
                                field_.bytes.size()));
  }
  szgpu_region random_cube(uint64_t edge) {
    szgpu_region region = {};
    for (int axis = 0; axis < 3; axis++) {
      region.count[axis] = std::min(edge, field_.shape.dims[axis]);
      region.first[axis] = random_() % (field_.shape.dims[axis] - region.count[axis] + 1);
    }
    return region;
  }
  size_t bytes_of(const szgpu_region &region) const {
    return region.count[0] * region.count[1] * region.count[2] * width_;
  }
  void restore(const szgpu_region &region, bool from_device, const Memory &box) {
    must(ctx_, szgpu_decompress_region(ctx_, from_device ? archive_.bytes() : host_archive_.bytes(),
                                       archive_bytes_, 0, &region, box.bytes(), bytes_of(region)));
  }
  /* Compares with the slice of the whole field. */
  void check(const szgpu_region &region, const Memory &box, const Memory &slice,
             const Memory &copy) {
    size_t const row_bytes = field_.shape.dims[2] * width_, box_row = region.count[2] * width_;
    cudaMemcpy3DParms parms = {};
    parms.srcPtr = make_cudaPitchedPtr(whole_.bytes(), row_bytes, row_bytes, field_.shape.dims[1]);
    parms.srcPos = make_cudaPos(region.first[2] * width_, region.first[1], region.first[0]);
    parms.dstPtr = make_cudaPitchedPtr(slice.bytes(), box_row, box_row, region.count[1]);
    parms.extent = make_cudaExtent(box_row, region.count[1], region.count[0]);
    parms.kind = cudaMemcpyDeviceToDevice;
    must_cuda(cudaMemcpy3D(&parms));
    copy.fill(box.bytes(), bytes_of(region));
    checker_.same<uint32_t>("a box", slice.bytes(), copy.bytes(), bytes_of(region) / 4);
  }
  Times time_boxes(uint64_t edge, int runs, bool from_device, Where to) {
    size_t const most = edge * edge * edge * width_;
    Memory const box(to, most), slice(Where::kDevice, most), copy(Where::kDevice, most);
    szgpu_region region;
    return time_runs(
        3, runs,
        [&] {
          region = random_cube(edge);
          box.poison(nullptr);
        },
        [&] { restore(region, from_device, box); }, [&] { check(region, box, slice, copy); });
  }
  Times time_whole(int runs) {
    auto const nothing = [] {};
    return time_runs(
        3, runs, nothing, [&] { restore_whole(); }, nothing);
  }
  size_t archive_bytes() const { return archive_bytes_; }
  bool is_verified() const { return checker_.is_verified(); }

 private:
  const Field &field_;
  size_t width_, archive_bytes_ = 0;
  Memory values_, archive_, host_archive_, whole_;
  Checker checker_;
  szgpu_ctx *ctx_ = nullptr;
  std::mt19937_64 random_{20};
};

void print_row(Bench *bench, const Kind &kind, uint64_t edge, int runs) {
  Times const device = bench->time_boxes(edge, runs, true, Where::kDevice);
  Times const to_host = bench->time_boxes(edge, runs, true, Where::kPinned);
  Times const from_host = bench->time_boxes(edge, runs, false, Where::kDevice);
  printf("%-14s %4llu^3  %8.3f (%.3f)  %8.3f (%.3f)  %8.3f (%.3f)\n", kind.name,
         (unsigned long long)edge, device.median, device.least, to_host.median, to_host.least,
         from_host.median, from_host.least);
}

void print_table(Bench *bench, int runs) {
  printf("%-14s %6s  %-17s %-17s %s\n", "ms", "box", "device to device", "to host", "from host");
  for (const Kind &kind : kKinds) {
    bench->compress(kind);
    Times const whole = bench->time_whole(runs);
    printf("%-14s  whole  %8.3f (%.3f)  archive of %zu bytes\n", kind.name, whole.median,
           whole.least, bench->archive_bytes());
    for (uint64_t edge : kEdges) print_row(bench, kind, edge, runs);
  }
}

void profile_one(Bench *bench, const char *name, uint64_t edge) {
  for (const Kind &kind : kKinds) {
    if (strcmp(kind.name, name) != 0) continue;
    Memory const box(Where::kDevice, edge * edge * edge * 8);
    bench->compress(kind);
    for (int i = 0; i < 3; i++) bench->restore(bench->random_cube(edge), true, box);
    must_cuda(cudaProfilerStart());
    bench->restore(bench->random_cube(edge), true, box);
    must_cuda(cudaProfilerStop());
    return;
  }
  die("KIND is lorenzo, interpolation or lossless");
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) die("usage: bench_region_gpu FIELD RUNS, or FIELD KIND EDGE");
  Field const field = read_field(argv[1]);
  if (field.shape.ndim != 3) die("the field must have three dims");
  Bench bench(field);
  if (argc == 4) {
    profile_one(&bench, argv[2], strtoull(argv[3], nullptr, 10));
    return 0;
  }
  print_table(&bench, atoi(argv[2]));
  if (!bench.is_verified()) die("not verified");
  return 0;
}
