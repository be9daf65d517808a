/* test_cuda_graph.cu - stages captured in CUDA graphs: their work depends on the data only.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph holds what the host knew: the quantizer and so a field's bound, and for reading the sizes
 * of sections. The device finds everything else in a field or an archive, at every replay.
 */
#include <math.h>

#include <algorithm>

#include "container/open.h"
#include "cuda/cuda_test.cuh"
#include "cuda/plain_archive.cuh"
#include "frames/kinds_cuda.h"
#include "frames/open.h"
#include "pipeline/pipeline.h"

using cuda_test::DeviceArray;
using cuda_test::random_unit;
using cuda_test::stream;

namespace {

typedef std::vector<float> Values;
typedef std::vector<uint8_t> Bytes;

const szgpu_shape kShape = {SZGPU_F32, 3, {32, 32, 128}}; /* 32 full tiles, all sampled */

/* ---- fields of one range ---- */

szg_grid grid_of_field() {
  szg_grid grid;
  MUST(szg_grid_of_shape(&kShape, &grid));
  return grid;
}

Values make_waves() {
  Values values(grid_of_field().value_count);
  for (size_t i = 0; i < values.size(); i++)
    values[i] = (float)(40.0 * sin(0.002 * (double)i) + 9.0 * cos(0.3 * (double)(i % 128)) +
                        0.1 * random_unit());
  return values;
}

/* Tiles in reverse order, so that codes and sections are as long as before. */
Values with_tiles_reversed(const Values &values) {
  szg_grid const grid = grid_of_field();
  Values reversed(values.size());
  for (uint64_t t = 0; t < grid.tile_count; t++) {
    szg_tile const to = szg_tile_at(&grid, t), from = szg_tile_at(&grid, grid.tile_count - 1 - t);
    for (uint64_t z = 0; z < to.z_extent; z++)
      for (uint64_t y = 0; y < to.y_extent; y++) {
        uint64_t const offset = z * to.z_stride + y * to.y_stride;
        std::copy_n(values.begin() + (ptrdiff_t)(from.first_value + offset), to.x_extent,
                    reversed.begin() + (ptrdiff_t)(to.first_value + offset));
      }
  }
  return reversed;
}

/* Another field with the same least and greatest value. */
Values make_noise_like(const Values &values) {
  auto const extremes = std::minmax_element(values.begin(), values.end());
  Values noise(values.size());
  for (float &value : noise) value = 0.2f * *extremes.second * (float)random_unit();
  noise[77] = *extremes.first;
  noise[5000] = *extremes.second;
  return noise;
}

szgpu_params params_of_test() {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.predictor = SZGPU_PREDICTOR_LORENZO; /* tile frames are what is captured here */
  params.bound = 1e-3;
  return params;
}

szgpu_ctx *cpu;

Bytes archive_by_cpu(const Values &values) {
  szgpu_params const params = params_of_test();
  size_t byte_count = 0;
  MUST(szgpu_sizes(cpu, &params, &kShape, nullptr, &byte_count));
  Bytes archive(byte_count);
  MUST(szgpu_compress(cpu, &params, &kShape, values.data(), archive.data(), archive.size(),
                      &byte_count));
  archive.resize(byte_count);
  return cuda_test::plain_of(archive); /* as stages write and read it */
}

Values restored_by_cpu(const Bytes &archive) {
  Values values(grid_of_field().value_count);
  MUST(szgpu_decompress(cpu, archive.data(), archive.size(), values.data(), 4 * values.size()));
  return values;
}

/* ---- graphs ---- */

/* Captures what `put` puts in the stream. Runs it once before, because the first launch loads
 * kernels, which a capture may not allow. */
template <class Put>
cudaGraphExec_t capture(Put put) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  put();
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  put();
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaGraphInstantiate(&executable, graph, 0));
  MUST(cudaGraphDestroy(graph));
  return executable;
}

void replay(cudaGraphExec_t graph) {
  MUST(cudaGraphLaunch(graph, stream));
  MUST(cudaStreamSynchronize(stream));
}

template <class T>
void fill(const DeviceArray<T> &array, const std::vector<T> &values) {
  MUST(cudaMemcpy(array.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  MUST(cudaDeviceSynchronize()); /* the copy may return early, and streams do not wait for it */
}

void open_device(szgpu_ctx *ctx) {
  *ctx = {};
  MUST(szg_device_open(0, stream, &ctx->device));
}

/* ---- compression ---- */

struct Compression {
  szgpu_ctx ctx;
  szg_grid grid = grid_of_field();
  szg_bound_plan bound;
  szg_header header;
  szg_write_request request;
  szg_frame_layout_cuda layout = {}; /* with the frame's header, without sizes */
  DeviceArray<float> field{grid.value_count};
  DeviceArray<uint8_t> archive{8 * grid.value_count};
  DeviceArray<szg_tile_found> found{1};
  DeviceArray<uint8_t> choice_work{szg_choice_work_bytes_cuda()};
  DeviceArray<uint8_t> book_work{szg_tile_book_work_bytes_cuda()};
  DeviceArray<uint8_t> tile_work{szg_tile_compress_work_bytes_cuda(grid.tile_count)};
  DeviceArray<uint8_t> tile_marks{grid.tile_count};
  DeviceArray<uint64_t> leaves{szg_checksum_leaf_count(4 * grid.value_count) +
                               2 * SZG_SECTION_KIND_COUNT};
  DeviceArray<uint32_t> ticket{1};
  szg_tile_found *told = nullptr; /* pinned */
  szg_write_plan_cuda plan = {};
  szg_write_job_cuda job = {};

  /* Takes the bound from this field. */
  explicit Compression(const Values &values) {
    open_device(&ctx);
    szgpu_params const params = params_of_test();
    szg_threads threads = {};
    threads.count = 1;
    szg_value_source const source =
        szg_value_source_cpu(&threads, SZGPU_F32, values.data(), values.size());
    MUST(szg_call_bound(&params, NULL, &source, {true, false, true}, &bound));
    header = szg_call_header(&params, &kShape, &grid, &bound);
    request = szg_call_request(cpu, &params, SZGPU_F32, &grid);
    szg_frame_header &frame_header = layout.header;
    frame_header.kind = SZG_FRAME_TILE;
    frame_header.value_count = grid.value_count;
    for (uint32_t kind : {SZG_SECTION_CODEBOOK, SZG_SECTION_TILE_SIZES, SZG_SECTION_BITSTREAM,
                          SZG_SECTION_EXACT_COUNTS, SZG_SECTION_EXACT_MASK,
                          SZG_SECTION_EXACT_VALUES, SZG_SECTION_FILL_COUNTS, SZG_SECTION_FILL_MASK})
      szg_layout_add_cuda(&layout, kind, 0);
    MUST(cudaMallocHost(&told, sizeof *told));
    plan.tile.found = found.data();
    plan.tile.found_back = told;
    plan.leaves = leaves.data();
    plan.ticket = ticket.data();
    job.ctx = &ctx;
    job.request = &request;
    job.raw_bytes = 4 * grid.value_count;
    job.bound = &bound;
    job.grid = grid;
    job.plan = &plan;
    job.archive = archive.data();
    job.capacity = archive.bytes();
    MUST(!szg_header_bytes(&header, &job.first_byte));
    job.archive_header = &header;
    job.quantizer = bound.quantizer;
    frame_header.has_16_bits = szg_quantizer_take_16_bits(bound.greatest, &job.quantizer);
  }
  ~Compression() {
    szg_device_close(&ctx.device);
    cudaFreeHost(told);
  }

  template <class T>
  void clear(const DeviceArray<T> &array) {
    MUST(szg_device_set(&ctx.device, array.data(), 0, array.bytes()));
  }

  void put() {
    uint64_t const first_section = job.first_byte + szg_frame_header_bytes(SZG_TILE_SECTION_COUNT);
    uint32_t const lattice_bits =
        szg_tile_lattice_bits(job.quantizer.arithmetic, layout.header.has_16_bits);
    uint32_t *const axes = &found.data()->choice.axes;
    clear(found), clear(choice_work), clear(book_work), clear(tile_work), clear(ticket);
    MUST(szg_choose_cuda(&job.quantizer, &grid, field.data(), SZG_COST_RADIUS, choice_work.data(),
                         &found.data()->choice, stream));
    MUST(szg_tile_book_make_cuda(&job.quantizer, lattice_bits, &grid, field.data(), axes,
                                 book_work.data(), &found.data()->book, stream));
    double const greatest_point = bound.greatest * job.quantizer.inverse;
    MUST(szg_tile_compress_cuda(&job.quantizer, lattice_bits, greatest_point, &grid, field.data(),
                                axes, &found.data()->book, false, archive.data() + first_section,
                                archive.bytes() - first_section, tile_marks.data(),
                                tile_work.data(), &found.data()->result, stream));
    MUST(szg_tile_archive_complete_cuda(&job, &layout.header));
  }
};

void check_compression(Compression &work, cudaGraphExec_t graph, const Values &values,
                       const char *which) {
  Bytes const expected = archive_by_cpu(values);
  fill(work.field, values);
  work.archive.poison();
  replay(graph);
  Bytes archive = work.archive.host();
  uint64_t const byte_count = work.job.first_byte + work.told->frame_bytes;
  CHECK(byte_count == expected.size(), "%s: %llu bytes, not %zu", which,
        (unsigned long long)byte_count, expected.size());
  size_t i = 0;
  while (i < expected.size() && archive[i] == expected[i]) i++;
  CHECK(i == expected.size(), "%s: another byte at %zu of %zu", which, i, expected.size());
}

void compressions_are_replayed_on_other_fields() {
  Values const waves = make_waves(), reversed = with_tiles_reversed(waves),
               noise = make_noise_like(waves);
  Compression work(waves);
  fill(work.field, waves);
  cudaGraphExec_t const graph = capture([&] { work.put(); });
  check_compression(work, graph, waves, "waves");
  check_compression(work, graph, noise, "noise");
  check_compression(work, graph, reversed, "tiles reversed");
  check_compression(work, graph, waves, "waves again");
  MUST(cudaGraphExecDestroy(graph));
}

/* ---- decompression ---- */

struct Restoration {
  szgpu_ctx ctx;
  szg_opened opened;
  szg_read_frame_cuda frame = {};
  DeviceArray<uint8_t> archive;
  DeviceArray<float> field{grid_of_field().value_count};
  DeviceArray<szg_verdict> verdict{1};
  DeviceArray<uint64_t> leaves;
  DeviceArray<szg_tile_decoder> decoder{1};
  DeviceArray<uint64_t> first_words{grid_of_field().tile_count + 1};
  DeviceArray<uint32_t> counters{1};
  szg_read_plan_cuda plan = {};

  /* Takes sizes and checksums from this archive. */
  explicit Restoration(const Bytes &bytes)
      : archive(bytes), leaves(szg_checksum_leaf_count(bytes.size()) + 2 * SZG_SECTION_KIND_COUNT) {
    open_device(&ctx);
    MUST(szg_open_in_place(bytes.data(), bytes.size(), &opened));
    uint64_t const offset = szg_frame_offset(&opened, 0);
    MUST(szg_frame_open(&opened, 0, bytes.data() + offset, bytes.size() - offset, &frame.header,
                        nullptr));
    frame.kind = szg_kind_of(&opened.header, &frame.header);
    frame.grid = opened.grid;
    frame.end_row = opened.grid.row_extent;
    frame.values = field.data();
    frame.verdict = verdict.data();
    szg_read_frame_place_cuda(&frame, archive.data() + offset);
    plan.leaves = leaves.data();
    plan.tile.decoder = decoder.data();
    plan.tile.first_words = first_words.data();
    plan.tile.counters = counters.data();
  }
  ~Restoration() { szg_device_close(&ctx.device); }

  /* Verifies the checksums beside the rest, as a call does. */
  void put() {
    szg_read_job_cuda job;
    MUST(szg_device_set(&ctx.device, verdict.data(), 0, verdict.bytes()));
    MUST(szg_device_fork(&ctx.device, SZG_SIDE_CHECKS));
    MUST(szg_frame_open_cuda(&ctx, &opened.header, &plan, &frame, &job));
    MUST(szg_frame_verify_cuda(&job, NULL));
    MUST(szg_frame_prepare_cuda(&job));
    MUST(szg_frame_restore_cuda(&job, 0, frame.end_row, frame.values));
    MUST(szg_device_join(&ctx.device, SZG_SIDE_CHECKS));
  }
};

void check_restoration(Restoration &work, cudaGraphExec_t graph, const Bytes &archive,
                       bool has_its_checksums, const char *which) {
  Values const expected = restored_by_cpu(archive);
  fill(work.archive, archive);
  work.field.poison();
  replay(graph);
  szg_verdict const found = work.verdict.host()[0];
  CHECK(found.bad_data == 0, "%s", which);
  CHECK((found.bad_sections == 0) == has_its_checksums, "%s: sections %x", which,
        found.bad_sections);
  Values const restored = work.field.host();
  CHECK(memcmp(restored.data(), expected.data(), 4 * expected.size()) == 0, "%s", which);
}

void decompressions_are_replayed_on_other_archives() {
  Values const waves = make_waves();
  Bytes const archive = archive_by_cpu(waves), other = archive_by_cpu(with_tiles_reversed(waves));
  CHECK(archive.size() == other.size() && archive != other, "%zu bytes", archive.size());
  Restoration work(archive);
  cudaGraphExec_t const graph = capture([&] { work.put(); });
  check_restoration(work, graph, archive, true, "waves");
  check_restoration(work, graph, other, false, "tiles reversed");
  check_restoration(work, graph, archive, true, "waves again");
  MUST(cudaGraphExecDestroy(graph));
}

} // namespace

int main() {
  cuda_test::begin();
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CPU;
  MUST(szgpu_create(&cpu, &options));
  compressions_are_replayed_on_other_fields();
  decompressions_are_replayed_on_other_archives();
  szgpu_destroy(cpu);
  return cuda_test::end();
}
