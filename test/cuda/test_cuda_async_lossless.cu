/* test_cuda_async_lossless.cu - lossless calls that only put work in a stream: many fields at once.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda/async_lossless.cuh"
#include "cuda/plain_archive.cuh"

#include <fstream>
#include <iterator>
#include <string>

using namespace async_test;
using cuda_test::is_quick;
using cuda_test::plain_of;
using cuda_test::stream;

namespace {

enum { kSampledTiles = 512 }; /* a frame with more tiles is not counted whole */

szgpu_ctx *cpu, *gpu;

void run_and_check(Batch *batch, const std::vector<Bytes> &fields, int repeats) {
  for (int repeat = 0; repeat < repeats; repeat++) { /* the second time in a used workspace */
    batch->poison();
    batch->compress(stream);
    batch->decompress(stream);
    check_batch(*batch, cpu, fields);
  }
}

/* ---- what they make ---- */

const std::vector<std::vector<uint64_t>> kShapes = {
    {1},     {2},      {3},      {15},        {16},         {17},         {127},
    {129},   {255},    {4095},   {4096},      {4097},       {8192},       {12289},
    {70000}, {64, 64}, {65, 63}, {16, 8, 32}, {40, 50, 60}, {3, 1, 5, 7}, {33, 1, 1, 65}};

void archives_and_fields_are_those_of_the_cpu() {
  for (int kind = 0; kind < kLosslessKinds; kind++) {
    Batch batch(gpu, lossless_params());
    std::vector<Bytes> fields;
    for (size_t s = 0; s < kShapes.size(); s++)
      for (int dtype = SZGPU_F32; dtype <= SZGPU_I32; dtype++) {
        if (cuda_test::is_left_out(s * 3 + (size_t)dtype + (size_t)kind, 7)) continue;
        szgpu_shape const shape = shape_of((szgpu_dtype)dtype, kShapes[s]);
        fields.push_back(make_lossless_field(shape, (LosslessKind)kind));
        batch.add(shape, fields.back(), (s + (size_t)dtype) % 3 * value_bytes(shape));
      }
    batch.prepare();
    run_and_check(&batch, fields, 2);
  }
}

/* One type at a time, so that there is one class, which begins with any item. */
void a_call_of_one_type_is_one_class() {
  for (int dtype = SZGPU_F32; dtype <= SZGPU_I32; dtype++) {
    if (cuda_test::is_left_out((uint64_t)dtype, 3)) continue;
    Batch batch(gpu, lossless_params());
    std::vector<Bytes> fields;
    for (uint64_t i = 0; i < 60; i++) {
      szgpu_shape const shape = shape_of((szgpu_dtype)dtype, {1 + random_below(20000)});
      fields.push_back(make_lossless_field(shape, (LosslessKind)(i % kLosslessKinds)));
      batch.add(shape, fields.back());
    }
    batch.prepare();
    run_and_check(&batch, fields, 1);
  }
}

/* The synchronous call on the GPU gives these bytes too. */
void szgpu_compress_gives_the_same_on_the_gpu() {
  for (int kind = 0; kind < kLosslessKinds; kind++) {
    szgpu_shape const shape = shape_of(SZGPU_BF16, {300, 401});
    Bytes const field = make_lossless_field(shape, (LosslessKind)kind);
    CHECK(archive_by(gpu, lossless_params(), shape, field) ==
              archive_by(cpu, lossless_params(), shape, field),
          "kind %d", kind);
  }
}

void many_small_fields_beside_a_large_one() {
  Batch batch(gpu, lossless_params());
  std::vector<Bytes> fields;
  for (uint64_t i = 0; i < (is_quick() ? 30u : 400u); i++) {
    szgpu_shape const shape = shape_of(SZGPU_BF16, {8 + i % 9, 32 + i % 40});
    fields.push_back(make_lossless_field(shape, (LosslessKind)(i % kLosslessKinds)));
    batch.add(shape, fields.back());
  }
  szgpu_shape const large = shape_of(SZGPU_BF16, {1000, is_quick() ? 100u : 1500u});
  fields.push_back(make_lossless_field(large, kWeights));
  batch.add(large, fields.back());
  batch.prepare();
  run_and_check(&batch, fields, 1);
}

/* ---- samples ---- */

/* Fields of more tiles than are counted. In every second one, values that no sampled tile has take
 * the sample's choice apart: a symbol without a code, or a plane that is not constant. */
void samples_that_mislead_are_counted_again() {
  Batch batch(gpu, lossless_params());
  std::vector<Bytes> fields;
  uint64_t const tiles = 2 * kSampledTiles + 3;
  for (int i = 0; i < (is_quick() ? 4 : 12); i++) {
    szgpu_dtype const dtype = i % 3 == 0 ? SZGPU_U8 : i % 3 == 1 ? SZGPU_BF16 : SZGPU_I8;
    szgpu_shape const shape = shape_of(dtype, {tiles * 4096 - (uint64_t)i * 5});
    uint32_t const width = (uint32_t)value_bytes(shape);
    Bytes field = make_planes(value_count(shape) * width, width, i % 4 < 2 ? kWeights : kConstant);
    uint64_t unsampled = 1; /* a tile */
    for (uint32_t k = 0; k < kSampledTiles; k++)
      unsampled += szg_sample_tile(tiles, kSampledTiles, k) == unsampled;
    if (i % 2)
      for (uint64_t k = 0; k < 50; k++)
        field[(unsampled * 4096 + 7 * k) * width + width - 1] = (uint8_t)(0xF0 + k % 8);
    fields.push_back(field);
    batch.add(shape, field);
  }
  batch.prepare();
  run_and_check(&batch, fields, 1);
}

/* ---- room ---- */

void an_archive_fits_its_size_and_no_less() {
  for (uint64_t less : {0, 1, 16, 300, 100000000}) {
    Batch batch(gpu, lossless_params());
    std::vector<uint64_t> sizes, plain_sizes;
    for (int i = 0; i < 5 * kLosslessKinds; i++) {
      szgpu_shape const shape = shape_of((szgpu_dtype)(i % 10), {20, 300 + (uint64_t)i});
      Bytes const field = make_lossless_field(shape, (LosslessKind)(i % kLosslessKinds));
      Bytes const archive = archive_by(cpu, lossless_params(), shape, field);
      sizes.push_back(archive.size());
      plain_sizes.push_back(plain_of(archive).size());
      batch.add(shape, field);
      bool const lacks = less > 0 && i % 2 == 0;
      batch.items.back()->room =
          lacks ? sizes.back() - szg_min_u64(less, sizes.back()) : sizes.back();
    }
    batch.prepare();
    batch.poison();
    batch.compress(stream);
    batch.decompress(stream);
    std::vector<szgpu_outcome> const written = batch.written->host(), read = batch.read->host();
    for (size_t i = 0; i < sizes.size(); i++) {
      bool const lacks = batch.items[i]->room < sizes[i];
      CHECK(written[i].status == (lacks ? SZGPU_CAPACITY : SZGPU_OK), "%u", written[i].status);
      bool const suffices = written[i].bytes == sizes[i] || written[i].bytes == plain_sizes[i];
      CHECK(lacks ? suffices : written[i].bytes == sizes[i], "%llu, not %llu",
            (unsigned long long)written[i].bytes, (unsigned long long)sizes[i]);
      CHECK(read[i].status == (lacks ? SZGPU_TRUNCATED : SZGPU_OK), "%u", read[i].status);
      check_bytes(batch.items[i]->archive.host(), {}, batch.items[i]->room, "the archive",
                  batch.items[i]->shape);
    }
  }
}

/* ---- fields that something writes to ---- */

/* Writes other bytes to a field for so long; in between it is calm. */
__global__ void rewrite_kernel(uint8_t *bytes, uint64_t count, long long nanoseconds) {
  long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  uint32_t turn = 0;
  do {
    turn++;
    for (uint64_t i = threadIdx.x; i < count; i += blockDim.x)
      ((volatile uint8_t *)bytes)[i] = turn % 2 ? (uint8_t)(i * 37 + turn) : 77;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

/* It must not, but then the outcome may say so, and the other items' archives are as ever. Under
 * compute-sanitizer kernels run one after another, so nothing changes. */
void a_field_that_changes_spoils_no_other() {
  Batch batch(gpu, lossless_params());
  std::vector<Bytes> expected;
  cudaStream_t other;
  uint32_t noticed = 0;
  for (szgpu_dtype dtype : {SZGPU_U8, SZGPU_I8, SZGPU_BF16, SZGPU_F32, SZGPU_F64}) {
    szgpu_shape const shape = shape_of(dtype, {9000});
    for (int i = 0; i < 2; i++) { /* of a class: one that changes, one that does not */
      Bytes const field = make_lossless_field(shape, kWeights);
      batch.add(shape, field);
      expected.push_back(archive_by(cpu, lossless_params(), shape, field));
    }
  }
  batch.prepare();
  MUST(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  for (size_t run = 0; run < (is_quick() ? 20u : 200u); run++) {
    size_t const changing = 2 * run % batch.items.size();
    const DeviceArray<uint8_t> &field = batch.items[changing]->field;
    batch.poison(); /* waits for the writer of the run before */
    Bytes const before = field.host();
    rewrite_kernel<<<1, 256, 0, other>>>(field.data(), field.bytes() / 2, 1000000);
    batch.compress(stream);
    std::vector<szgpu_outcome> const written = batch.written->host();
    for (size_t i = 0; i < written.size(); i++) {
      const Item &item = *batch.items[i];
      bool const may_say_so = i == changing && written[i].status == SZGPU_FIELD_CHANGED;
      CHECK(written[i].status == SZGPU_OK || may_say_so, "%s: status %u", name_of(item.shape),
            written[i].status);
      check_bytes(item.archive.host(), i == changing ? Bytes() : expected[i], item.room,
                  "the archive", item.shape);
      noticed += may_say_so;
    }
    MUST(cudaStreamSynchronize(other));
    batch.items[changing]->set_field(before);
  }
  MUST(cudaStreamDestroy(other));
  printf("%u outcomes say that a field has changed\n", noticed);
  CHECK(is_quick() || noticed > 0, "none was noticed");
}

/* ---- archives of older versions ---- */

/* Programs built on another machine find the files by SZGPU_SOURCE_DIR in the environment. */
Bytes read_golden(const std::string &name) {
  const char *const moved = getenv("SZGPU_SOURCE_DIR");
  std::string const path = std::string(moved ? moved : SZGPU_SOURCE_DIR) + "/test/golden/" + name;
  std::ifstream file(path, std::ios::binary);
  CHECK(file.good(), "%s cannot be read", path.c_str());
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

/* Before version 7, words came before stored planes. */
void archives_of_older_versions_are_restored() {
  Batch batch(gpu, lossless_params());
  std::vector<Bytes> archives, fields;
  for (const char *name :
       {"v3_bf16", "v3_fp8", "v3_f32", "v3_specials_f64", "v3_stored_f32", "v3_u8_of_4", "v6_i8"}) {
    std::string const file = std::string("lossless_") + name;
    archives.push_back(read_golden(file + ".szg"));
    fields.push_back(read_golden(file + ".raw"));
    szgpu_info info = {};
    info.struct_bytes = sizeof info;
    MUST(szgpu_inspect(archives.back().data(), archives.back().size(), &info));
    CHECK(info.frame_count == 1 && info.format_version < 7, "%s: version %u", name,
          info.format_version);
    batch.add(info.shape, fields.back());
  }
  batch.prepare();
  batch.poison();
  std::vector<szgpu_outcome> written(archives.size());
  for (size_t i = 0; i < archives.size(); i++) {
    Item &item = *batch.items[i];
    written[i].bytes = item.room = archives[i].size();
    MUST(cudaMemcpy(item.archive.data(), archives[i].data(), archives[i].size(),
                    cudaMemcpyHostToDevice));
  }
  MUST(cudaMemcpy(batch.written->data(), written.data(), batch.written->bytes(),
                  cudaMemcpyHostToDevice));
  MUST(cudaDeviceSynchronize());
  batch.decompress(stream);
  std::vector<szgpu_outcome> const read = batch.read->host();
  for (size_t i = 0; i < archives.size(); i++) {
    const Item &item = *batch.items[i];
    CHECK(read[i].status == SZGPU_OK && read[i].bytes == fields[i].size(),
          "%s: status %u, %llu bytes", name_of(item.shape), read[i].status,
          (unsigned long long)read[i].bytes);
    check_bytes(item.restored_values(), fields[i], fields[i].size(), "the field", item.shape);
  }
}

/* ---- refusals ---- */

void what_cannot_be_done_is_refused() {
  szgpu_shape const shape = shape_of(SZGPU_BF16, {130, 64});
  auto const refused = [&](szgpu_params params, const char *why) {
    szgpu_async_item const item = {shape, nullptr, nullptr, 0, nullptr, nullptr};
    size_t bytes = 0;
    szgpu_status const status = szgpu_async_bytes(gpu, &params, &item, 1, &bytes);
    CHECK(status == SZGPU_UNSUPPORTED && strstr(szgpu_last_error(gpu), why), "%d: '%s', not '%s'",
          (int)status, szgpu_last_error(gpu), why);
  };
  szgpu_params p = lossless_params();
  p.layout = SZGPU_LAYOUT_LINEAR;
  refused(p, "the tile layout");
  p = lossless_params(), p.zstd_level = 3;
  refused(p, "no zstd");
  p = lossless_params(), p.frame_rows = 10;
  refused(p, "fields of one frame");
  p = params_of(1e-2, 102);
  refused(p, "with a bound take values of f32 and f64");
}

/* ---- graphs, and a host that does not wait ---- */

void a_graph_is_replayed_on_other_contents() {
  Batch batch(gpu, lossless_params());
  for (uint64_t i = 0; i < 20; i++) {
    szgpu_shape const shape = shape_of((szgpu_dtype)(i % 10), {16 + i, 40, 33});
    batch.add(shape, make_lossless_field(shape, kWeights));
  }
  batch.prepare();
  check_graph(&batch, cpu, stream, kLosslessKinds, [](const szgpu_shape &shape, size_t number) {
    return make_lossless_field(shape, (LosslessKind)(number % kLosslessKinds));
  });
}

void calls_return_while_the_stream_is_busy() {
  Batch batch(gpu, lossless_params());
  std::vector<Bytes> fields;
  for (uint64_t i = 0; i < 40; i++) {
    szgpu_shape const shape = shape_of((szgpu_dtype)(i % 10), {1000 + 100 * i});
    fields.push_back(make_lossless_field(shape, kWeights));
    batch.add(shape, fields.back());
  }
  batch.prepare();
  check_that_nothing_waits(&batch, stream, 2.0); /* all five classes, there and back */
  check_batch(batch, cpu, fields);
}

} // namespace

int main() {
  cuda_test::begin();
  cpu = make_ctx(SZGPU_BACKEND_CPU);
  gpu = make_ctx(SZGPU_BACKEND_CUDA);
  archives_and_fields_are_those_of_the_cpu();
  a_call_of_one_type_is_one_class();
  szgpu_compress_gives_the_same_on_the_gpu();
  many_small_fields_beside_a_large_one();
  samples_that_mislead_are_counted_again();
  an_archive_fits_its_size_and_no_less();
  a_field_that_changes_spoils_no_other();
  archives_of_older_versions_are_restored();
  what_cannot_be_done_is_refused();
  a_graph_is_replayed_on_other_contents();
  calls_return_while_the_stream_is_busy();
  szgpu_destroy(gpu);
  szgpu_destroy(cpu);
  return cuda_test::end();
}
