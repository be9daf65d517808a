/* test_cuda_async.cu - calls that only put work in a stream: their archives, fields and outcomes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <thread>

#include "cuda/async_batch.cuh"

using namespace async_test;
using cuda_test::is_quick;
using cuda_test::stream;

namespace {

szgpu_ctx *cpu, *gpu;

/* ---- what they make ---- */

const std::vector<std::vector<uint64_t>> kShapes = {
    {1},          {31},          {4096},         {4097},         {70000},
    {1, 1, 1},    {64, 64},      {65, 63},       {3, 1000},      {1000, 3},
    {130, 257},   {16, 8, 32},   {17, 9, 33},    {2, 2, 2},      {40, 50, 60},
    {64, 64, 64}, {5, 200, 3},   {2, 17, 9, 33}, {4, 16, 8, 32}, {3, 1, 5, 7},
    {1, 128, 96}, {33, 1, 1, 65}};

struct Asked {
  double bound, greatest;
  bool has_fill;
};

/* Narrow, wide, 32-bit and 64-bit lattices, both f32 arithmetics. */
const Asked kAsked[] = {{1e-2, 102, false}, {0.5, 102, true},     {3e-3, 102, false},
                        {1e-5, 102, false}, {1e-12, 1e3, false},  {1e3, 1, true},
                        {1e-2, 20, false},  {1e-30, 1e30, false}, {1e-2, 1e15, false}};

void add_all_shapes(Batch *batch, std::vector<Bytes> *fields, uint64_t turn) {
  for (size_t s = 0; s < kShapes.size(); s++)
    for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++) {
      if (cuda_test::is_left_out(s + (size_t)dtype, 3)) continue;
      szgpu_shape const shape = shape_of((szgpu_dtype)dtype, kShapes[s]);
      fields->push_back(make_field(shape, (FieldKind)((s + turn + (size_t)dtype) % kFieldKinds)));
      batch->add(shape, fields->back());
    }
  batch->prepare();
}

void archives_and_fields_are_those_of_the_cpu() {
  uint64_t turn = 0;
  for (const Asked &asked : kAsked) {
    szgpu_params params = params_of(asked.bound, asked.greatest);
    params.has_fill = asked.has_fill;
    params.fill = -9999.0;
    Batch batch(gpu, params);
    std::vector<Bytes> fields;
    add_all_shapes(&batch, &fields, turn++);
    for (int repeat = 0; repeat < 2; repeat++) { /* the second time in a used workspace */
      batch.poison();
      batch.compress(stream);
      batch.decompress(stream);
      check_batch(batch, cpu, fields);
    }
  }
}

/* The synchronous call on the GPU gives these bytes too. */
void szgpu_compress_gives_the_same_on_the_gpu() {
  for (int kind = 0; kind < kFieldKinds; kind++) {
    szgpu_shape const shape = shape_of(SZGPU_F32, {40, 70, 90});
    Bytes const field = make_field(shape, (FieldKind)kind);
    szgpu_params const params = params_of(1e-2, 102);
    CHECK(archive_by(gpu, params, shape, field) == archive_by(cpu, params, shape, field), "kind %d",
          kind);
  }
}

void many_small_fields_are_one_call() {
  Batch batch(gpu, params_of(1e-2, 102));
  std::vector<Bytes> fields;
  for (uint64_t i = 0; i < (is_quick() ? 30u : 300u); i++) {
    szgpu_shape const shape = shape_of(SZGPU_F32, {8 + i % 9, 16, 32 + i % 40});
    fields.push_back(make_field(shape, (FieldKind)(i % kFieldKinds)));
    batch.add(shape, fields.back());
  }
  szgpu_shape const large = shape_of(SZGPU_F32, {96, 100, 200});
  fields.push_back(make_field(large, kSpeckled));
  batch.add(large, fields.back());
  batch.prepare();
  batch.poison();
  batch.compress(stream);
  batch.decompress(stream);
  check_batch(batch, cpu, fields);
}

void no_items_are_no_work() {
  szgpu_params const params = params_of(1e-2, 102);
  size_t bytes = 1;
  MUST(szgpu_async_bytes(gpu, &params, nullptr, 0, &bytes));
  CHECK(bytes == 0, "%zu", bytes);
  MUST(szgpu_compress_async(gpu, &params, nullptr, 0, nullptr, 0, stream));
  MUST(szgpu_decompress_async(gpu, &params, nullptr, 0, nullptr, 0, stream));
}

/* ---- room ---- */

/* Each archive gets just its size, or `less` bytes less. */
void check_room(uint64_t less) {
  szgpu_params const params = params_of(1e-2, 102);
  Batch batch(gpu, params);
  std::vector<uint64_t> sizes;
  std::vector<Bytes> fields;
  for (int kind = 0; kind < kFieldKinds; kind++) {
    szgpu_shape const shape = shape_of(SZGPU_F32, {20, 30, 41});
    fields.push_back(make_field(shape, (FieldKind)kind));
    sizes.push_back(archive_by(cpu, params, shape, fields.back()).size());
    batch.add(shape, fields.back());
    bool const lacks = less > 0 && kind % 2 == 0;
    batch.items.back()->room = sizes.back() - (lacks ? less : 0);
  }
  batch.prepare();
  batch.poison();
  batch.compress(stream);
  batch.decompress(stream);
  std::vector<szgpu_outcome> const written = batch.written->host(), read = batch.read->host();
  for (size_t i = 0; i < sizes.size(); i++) {
    bool const lacks = batch.items[i]->room < sizes[i];
    CHECK(written[i].status == (lacks ? SZGPU_CAPACITY : SZGPU_OK), "%u", written[i].status);
    CHECK(written[i].bytes == sizes[i], "%llu", (unsigned long long)written[i].bytes);
    CHECK(read[i].status == (lacks ? SZGPU_TRUNCATED : SZGPU_OK), "%u", read[i].status);
    check_bytes(batch.items[i]->archive.host(), {}, batch.items[i]->room, "the archive",
                batch.items[i]->shape);
  }
}

void an_archive_fits_its_size_and_no_less() {
  for (uint64_t less : {0, 1, 16, 300, 2000}) check_room(less);
}

/* ---- refusals ---- */

void check_refusal(const szgpu_params &params, const szgpu_async_item &item, void *workspace,
                   size_t workspace_bytes, szgpu_status expected, const char *why) {
  szgpu_status const status =
      szgpu_compress_async(gpu, &params, &item, 1, workspace, workspace_bytes, stream);
  CHECK(status == expected && strstr(szgpu_last_error(gpu), why), "%d: '%s', not '%s'", (int)status,
        szgpu_last_error(gpu), why);
}

void what_cannot_be_done_is_refused() {
  szgpu_params const params = params_of(1e-2, 102);
  szgpu_shape const shape = shape_of(SZGPU_F32, {130, 64});
  Batch batch(gpu, params);
  batch.add(shape, make_field(shape, kWaves));
  batch.prepare();
  szgpu_async_item const item = batch.list(false)[0];
  void *const memory = batch.workspace->data();
  size_t const bytes = batch.workspace->bytes();
  auto const params_refused = [&](szgpu_params changed, const char *why) {
    check_refusal(changed, item, memory, bytes, SZGPU_UNSUPPORTED, why);
  };
  auto const item_refused = [&](szgpu_async_item changed, const char *why) {
    check_refusal(params, changed, memory, bytes, SZGPU_BAD_ARGUMENT, why);
  };
  szgpu_params p = params;
  p.raw_outliers = 0;
  params_refused(p, "params.raw_outliers");
  p = params, p.zstd_level = 3;
  params_refused(p, "no zstd");
  p = params, p.frame_rows = 1;
  params_refused(p, "fields of one frame");
  p = params, p.bound = 1e-310;
  params_refused(p, "no value can be coded");
  p = SZGPU_PARAMS_DEFAULTS;
  params_refused(p, "SZGPU_MODE_ABS");
  p.mode = SZGPU_MODE_ABS;
  params_refused(p, "predictor lorenzo");
  p = params, p.keep = SZGPU_KEEP_RANGE;
  check_refusal(p, item, memory, bytes, SZGPU_BAD_ARGUMENT, "skips the scan of the values");
  szgpu_async_item i = item;
  i.field = nullptr;
  item_refused(i, "item 0 lacks");
  i = item, i.field = (char *)i.field + 2;
  item_refused(i, "item 0 has a field that is not aligned");
  i = item, i.archive = (char *)i.archive + 8;
  item_refused(i, "aligned to 16 bytes");
  i = item, i.outcome = (szgpu_outcome *)((char *)i.outcome + 4);
  item_refused(i, "aligned to 8 bytes");
  i = item, i.archive_bytes_at = &item.outcome->bytes;
  item_refused(i, "does not exist yet");
  check_refusal(params, item, memory, bytes - 1, SZGPU_BAD_ARGUMENT, "see szgpu_async_bytes");
  check_refusal(params, item, (char *)memory + 64, bytes, SZGPU_BAD_ARGUMENT, "256 bytes");
  CHECK(szgpu_compress_async(cpu, &params, &item, 1, memory, bytes, stream) == SZGPU_UNSUPPORTED,
        "%s", szgpu_last_error(cpu));
}

/* ---- graphs ---- */

void a_graph_is_replayed_on_other_contents() {
  Batch batch(gpu, params_of(1e-2, 102));
  for (uint64_t i = 0; i < 7; i++) {
    szgpu_shape const shape = shape_of(i % 2 ? SZGPU_F64 : SZGPU_F32, {16 + i, 40, 33});
    batch.add(shape, make_field(shape, kWaves));
  }
  batch.prepare();
  check_graph(&batch, cpu, stream, 6, [](const szgpu_shape &shape, size_t number) {
    return make_field(shape, (FieldKind)(number % kFieldKinds));
  });
}

/* ---- the host does not wait ---- */

void calls_return_while_the_stream_is_busy() {
  Batch batch(gpu, params_of(1e-2, 102));
  std::vector<Bytes> fields;
  for (uint64_t i = 0; i < 20; i++) {
    szgpu_shape const shape = shape_of(SZGPU_F32, {32, 32, 32 + i});
    fields.push_back(make_field(shape, kWaves));
    batch.add(shape, fields.back());
  }
  batch.prepare();
  check_that_nothing_waits(&batch, stream, 1.0);
  check_batch(batch, cpu, fields);
}

/* ---- two ctxs ---- */

void run_alone(uint64_t seed) {
  szgpu_ctx *const own_gpu = make_ctx(SZGPU_BACKEND_CUDA), *const own_cpu =
                                                               make_ctx(SZGPU_BACKEND_CPU);
  cuda_test::random_state = seed;
  MUST(cudaStreamCreateWithFlags(&cuda_test::stream, cudaStreamNonBlocking));
  Batch batch(own_gpu, params_of(1e-2, 102));
  std::vector<Bytes> fields;
  for (uint64_t i = 0; i < 12; i++) {
    szgpu_shape const shape = shape_of(SZGPU_F32, {30, 40 + i, 50});
    fields.push_back(make_field(shape, (FieldKind)(i % kFieldKinds)));
    batch.add(shape, fields.back());
  }
  batch.prepare();
  for (int repeat = 0; repeat < (is_quick() ? 1 : 5); repeat++) {
    batch.poison();
    batch.compress(cuda_test::stream);
    batch.decompress(cuda_test::stream);
    check_batch(batch, own_cpu, fields);
  }
  MUST(cudaStreamDestroy(cuda_test::stream));
  szgpu_destroy(own_gpu);
  szgpu_destroy(own_cpu);
}

void two_ctxs_work_side_by_side() {
  std::thread first(run_alone, 11), second(run_alone, 22);
  first.join();
  second.join();
}

} // namespace

int main() {
  cuda_test::begin();
  cpu = make_ctx(SZGPU_BACKEND_CPU);
  gpu = make_ctx(SZGPU_BACKEND_CUDA);
  archives_and_fields_are_those_of_the_cpu();
  szgpu_compress_gives_the_same_on_the_gpu();
  many_small_fields_are_one_call();
  no_items_are_no_work();
  an_archive_fits_its_size_and_no_less();
  what_cannot_be_done_is_refused();
  a_graph_is_replayed_on_other_contents();
  calls_return_while_the_stream_is_busy();
  two_ctxs_work_side_by_side();
  szgpu_destroy(gpu);
  szgpu_destroy(cpu);
  return cuda_test::end();
}
