/* bench_stages.cu - times the CUDA backend on files: whole calls, their stages, transfers.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_stages [--runs N] [--host-runs N] [--modes rel|abs|pwrel] -e BOUND[,BOUND...]
 *                [--layout tile|linear] [--decoder gap-array|chunked]
 *                [--predictor NAME[,NAME...]] [--json FILE] FIELD...
 *
 * FIELD is a file of raw values with a name like turb_512x512x512.f32 (or .f64, .u16 and so on),
 * slowest axis first. NAME is lorenzo, interpolation or auto. For each field, bound and predictor
 * the bench prints medians of N runs (20 or more) after 3 that do not count, and at its end a table
 * of all:
 *
 *   whole calls     by the clock around them, with field and archive in device memory
 *   stages          by events in the stream. A stage lasts from the previous mark to its own and
 *                   includes what the host does meanwhile: in "range" the host waits for the result
 *                   once. "kernels" is everything except transfers, headers, the codebook, which
 *                   the host builds, and the choice of how a levels frame predicts, for which the
 *                   host waits
 *   decode alone    by the clock: the host builds decoding tables, decodes the codes and waits for
 *                   the stream
 *   from the host   whole calls with field and archive in pageable or pinned memory; --host-runs
 *                   (5) runs
 *
 * GB/s are 10^9 bytes of the field, or of u16 codes if the line says so. Device memory is the
 * field, the archive's capacity (szgpu_sizes) and the workspace. Every run is verified: outputs are
 * poisoned before it; the archive must equal the CPU backend's byte for byte, each restored value
 * must be within the bound or bit-identical, and the codes must be those of the other decoder. The
 * exit code is 1 if verification fails and 2 if something else does. Data that fits the GPU's
 * second-level cache may be read from there.
 */
#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "bench_report.cuh"
#include "core/bytes.h"
#include "core/context.h"
#include "core/cuda_check.cuh"
#include "core/places.h"
#include "frames/open.h"
#include "huffman/decoders/chunked.h"
#include "huffman/huffman.h"
#include "pipeline/pipeline.h"

namespace {

constexpr int kLeastRuns = 20, kWarmUps = 3;

/* ---- arguments ---- */

struct Arguments {
  int runs = kLeastRuns, host_runs = 5;
  szgpu_mode mode = SZGPU_MODE_REL;
  bool is_chunked = false;
  szgpu_layout layout = SZGPU_LAYOUT_TILE;
  std::vector<szgpu_predictor> predictors;
  std::vector<double> bounds;
  std::string json;
  std::vector<std::string> fields;
};

std::vector<double> numbers_of(const char *list) {
  std::vector<double> numbers;
  for (char *end; *list; list = *end == ',' ? end + 1 : end) {
    numbers.push_back(strtod(list, &end));
    if (end == list || (*end && *end != ',')) die("not a list of bounds");
  }
  return numbers;
}

std::vector<szgpu_predictor> predictors_of(const std::string &list) {
  std::vector<szgpu_predictor> predictors;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');)
    predictors.push_back(predictor_named(name));
  return predictors;
}

constexpr std::pair<szgpu_mode, const char *> kModes[] = {
    {SZGPU_MODE_REL, "rel"}, {SZGPU_MODE_ABS, "abs"}, {SZGPU_MODE_PWREL, "pwrel"}};

szgpu_mode mode_of(const std::string &name) {
  for (auto const &mode : kModes)
    if (name == mode.second) return mode.first;
  die("what is the mode " + name + "?");
}

const char *name_of(szgpu_mode mode) {
  return std::find_if(std::begin(kModes), std::end(kModes),
                      [mode](auto const &known) { return known.first == mode; })
      ->second;
}

Arguments parse_arguments(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i++) {
    std::string const name = argv[i];
    if (name[0] != '-') {
      arguments.fields.push_back(name);
      continue;
    }
    if (++i == argc) die(name + " needs a value");
    std::string const value = argv[i];
    if (name == "--runs")
      arguments.runs = atoi(argv[i]);
    else if (name == "--host-runs")
      arguments.host_runs = atoi(argv[i]);
    else if (name == "-e")
      arguments.bounds = numbers_of(argv[i]);
    else if (name == "--json")
      arguments.json = value;
    else if (name == "--modes")
      arguments.mode = mode_of(value);
    else if (name == "--layout" && (value == "tile" || value == "linear"))
      arguments.layout = value == "tile" ? SZGPU_LAYOUT_TILE : SZGPU_LAYOUT_LINEAR;
    else if (name == "--decoder" && (value == "gap-array" || value == "chunked"))
      arguments.is_chunked = value == "chunked";
    else if (name == "--predictor")
      arguments.predictors = predictors_of(value);
    else
      die("what is " + name + " " + value + "?");
  }
  if (arguments.bounds.empty() || arguments.fields.empty()) die("a bound (-e) and a field, please");
  if (arguments.runs < kLeastRuns) die("at least 20 runs");
  if (arguments.predictors.empty())
    arguments.predictors.push_back(szgpu_params(SZGPU_PARAMS_DEFAULTS).predictor);
  return arguments;
}

/* ---- one field under one bound ---- */

szgpu_ctx *make_ctx(szgpu_backend backend, szgpu_decoder decoder, cudaStream_t stream) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = backend;
  options.decoder = decoder;
  options.stream = stream;
  szgpu_ctx *ctx;
  szgpu_status const status = szgpu_create(&ctx, &options);
  if (status != SZGPU_OK) die(szgpu_status_text(status));
  return ctx;
}

szgpu_params params_of(const Arguments &arguments, double bound, szgpu_predictor predictor) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.layout = arguments.layout;
  params.mode = arguments.mode;
  params.bound = bound;
  params.predictor = predictor;
  return params;
}

size_t capacity_of(szgpu_ctx *ctx, const szgpu_params &params, const Field &field) {
  size_t capacity = 0;
  must(ctx, szgpu_sizes(ctx, &params, &field.shape, nullptr, &capacity));
  return capacity;
}

std::vector<uint8_t> compress_on_cpu(const szgpu_params &params, const Field &field) {
  szgpu_ctx *const ctx = make_ctx(SZGPU_BACKEND_CPU, SZGPU_DECODER_AUTO, nullptr);
  std::vector<uint8_t> archive(capacity_of(ctx, params, field));
  size_t archive_bytes = 0;
  must(ctx, szgpu_compress(ctx, &params, &field.shape, field.bytes.data(), archive.data(),
                           archive.size(), &archive_bytes));
  archive.resize(archive_bytes);
  szgpu_destroy(ctx);
  return archive;
}

/* Each direction has its own ctx, so that the workspace of each is known. */
class Case {
 public:
  Case(const Arguments &arguments, const Field &field, const szgpu_params &params,
       cudaStream_t stream)
      : arguments(arguments),
        field(field),
        stream(stream),
        params(params),
        compressor(make_ctx(SZGPU_BACKEND_CUDA, SZGPU_DECODER_AUTO, stream)),
        decompressor(make_ctx(SZGPU_BACKEND_CUDA,
                              arguments.layout == SZGPU_LAYOUT_TILE ? SZGPU_DECODER_AUTO
                              : arguments.is_chunked                ? SZGPU_DECODER_CHUNKED
                                                                    : SZGPU_DECODER_GAP_ARRAY,
                              stream)),
        capacity(capacity_of(compressor, params, field)),
        reference(compress_on_cpu(params, field)),
        checker(stream),
        device_field(Where::kDevice, field.bytes.size()),
        device_restored(Where::kDevice, field.bytes.size()),
        device_archive(Where::kDevice, capacity),
        device_reference(Where::kDevice, reference.size()) {
    device_field.fill(field.bytes.data(), field.bytes.size());
    device_reference.fill(reference.data(), reference.size());
    info.struct_bytes = sizeof info;
    must(compressor, szgpu_inspect(reference.data(), reference.size(), &info));
  }
  ~Case() {
    szgpu_destroy(compressor);
    szgpu_destroy(decompressor);
  }
  void compress(const Memory &from, const Memory &archive) {
    must(compressor, szgpu_compress(compressor, &params, &field.shape, from.bytes(),
                                    archive.bytes(), capacity, &archive_bytes));
  }
  void decompress(const Memory &archive, const Memory &restored) {
    must(decompressor, szgpu_decompress(decompressor, archive.bytes(), reference.size(),
                                        restored.bytes(), field.bytes.size()));
  }
  void check_archive() {
    checker.claim(archive_bytes == reference.size(), "an archive is not as long as the CPU's");
    checker.same<uint64_t>("an archive is not the CPU's", device_archive.bytes(),
                           device_reference.bytes(), reference.size() / sizeof(uint64_t));
  }
  void check_restored() {
    bool const is_of_each = info.mode == SZGPU_MODE_PWREL;
    checker.within(field.shape, device_field.bytes(), device_restored.bytes(), field.value_count,
                   is_of_each ? info.bound : info.absolute_bound, is_of_each);
  }

  const Arguments &arguments;
  const Field &field;
  cudaStream_t stream;
  szgpu_params params;
  szgpu_ctx *compressor, *decompressor;
  size_t capacity;
  std::vector<uint8_t> reference; /* the CPU's archive */
  szgpu_info info = {};
  Checker checker;
  Memory device_field, device_restored, device_archive, device_reference;
  size_t archive_bytes = 0; /* from the last compression */
};

/* Adds up a call's marks by name, in order of appearance. not_kernels: stages that are none. */
void take_marks(const szg_device &device, const std::vector<std::string> &not_kernels, size_t run,
                std::vector<Stage> *stages) {
  for (int i = 1; i < device.mark_count; i++) {
    std::string const name = device.mark_names[i];
    auto stage = std::find_if(stages->begin(), stages->end(),
                              [&](const Stage &known) { return known.name == name; });
    if (stage == stages->end()) {
      bool const is_kernels =
          std::find(not_kernels.begin(), not_kernels.end(), name) == not_kernels.end();
      stage = stages->insert(stages->end(), {name, is_kernels, {}});
    }
    float taken = 0.0f;
    must_cuda(cudaEventElapsedTime(&taken, device.marks[i - 1], device.marks[i]));
    stage->milliseconds.resize(run + 1, 0.0);
    stage->milliseconds[run] += taken;
  }
}

template <class Prepare, class Call, class Check>
Direction measure(int runs, szgpu_ctx *ctx, const std::vector<std::string> &not_kernels,
                  Prepare prepare, Call call, Check check) {
  Direction direction = {};
  direction.whole = time_runs(kWarmUps, runs, prepare, call, check);
  ctx->device.is_timed = true;
  for (int run = -1; run < runs; run++) { /* the first creates the events */
    prepare();
    call();
    check();
    if (run >= 0) take_marks(ctx->device, not_kernels, (size_t)run, &direction.stages);
  }
  ctx->device.is_timed = false;
  direction.has_all_stages = ctx->device.mark_count < SZG_MOST_STAGE_TIMES;
  direction.round_trips = ctx->device.round_trips;
  direction.workspace_bytes = ctx->device.arena_bytes;
  return direction;
}

void measure_on_device(Case &c, Result *result) {
  result->compression = measure(
      c.arguments.runs, c.compressor,
      {"begin", "field to device", "choice", "counts to host", "codebook", "header",
       "archive to host"},
      [&] { c.device_archive.poison(c.stream); },
      [&] { c.compress(c.device_field, c.device_archive); }, [&] { c.check_archive(); });
  result->decompression = measure(
      c.arguments.runs, c.decompressor,
      {"headers", "archive to device", "field to host", "verdict"},
      [&] { c.device_restored.poison(c.stream); },
      [&] { c.decompress(c.device_reference, c.device_restored); }, [&] { c.check_restored(); });
}

/* Times both directions with everything in host memory, after one run that does not count. */
void measure_from_host(Case &c, Where where, Times *compression, Times *decompression) {
  Memory const from(where, c.field.bytes.size()), to(where, c.field.bytes.size());
  Memory const archive(where, c.capacity);
  from.fill(c.field.bytes.data(), c.field.bytes.size());
  *compression = time_runs(
      1, c.arguments.host_runs, [&] { archive.poison(c.stream); },
      [&] { c.compress(from, archive); },
      [&] {
        c.checker.claim(c.archive_bytes == c.reference.size() &&
                            memcmp(archive.bytes(), c.reference.data(), c.archive_bytes) == 0,
                        "an archive in host memory is not the CPU's");
      });
  archive.fill(c.reference.data(), c.reference.size());
  *decompression = time_runs(
      1, c.arguments.host_runs, [&] { to.poison(c.stream); }, [&] { c.decompress(archive, to); },
      [&] {
        c.device_restored.fill(to.bytes(), to.byte_count());
        c.check_restored();
      });
}

/* ---- decode alone ---- */

/* The first frame of the archive, and the decoders' input and output. */
struct Decoding {
  szg_grid grid;
  szg_frame_header header;
  const uint8_t *sections[SZG_SECTION_KIND_COUNT]; /* on the device */
  uint64_t section_bytes[SZG_SECTION_KIND_COUNT];
  szg_verdict *verdict;
  uint64_t *bit_count;
  uint16_t *codes, *other_codes;
  szg_decode_book_cuda *book;
  szg_places_cuda places;
  szg_gap_decoder_cuda gap_decoder;
};

void find_sections(const Case &c, Decoding *frame) {
  szg_opened opened;
  must(c.decompressor, szg_open_in_place(c.reference.data(), c.reference.size(), &opened));
  uint64_t offset = szg_frame_offset(&opened, 0);
  must(c.decompressor, szg_frame_open(&opened, 0, c.reference.data() + offset,
                                      c.reference.size() - offset, &frame->header, nullptr));
  frame->grid = szg_grid_of_rows(&opened.grid, szg_frame_row_count(&opened, 0));
  offset += szg_frame_header_bytes(frame->header.section_count);
  for (uint32_t i = 0; i < frame->header.section_count; i++) {
    const szg_section *const section = &frame->header.sections[i];
    frame->sections[section->kind] = c.device_reference.bytes() + offset;
    frame->section_bytes[section->kind] = section->stored_bytes;
    offset += szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
  }
}

szgpu_status carve(szg_arena *arena, Decoding *frame) {
  uint64_t const code_room = szg_align_up(frame->grid.value_count, 8);
  frame->verdict = (szg_verdict *)szg_arena_take(arena, 1, sizeof *frame->verdict);
  frame->bit_count = (uint64_t *)szg_arena_take(arena, 1, sizeof *frame->bit_count);
  frame->codes = (uint16_t *)szg_arena_take(arena, code_room, sizeof *frame->codes);
  frame->other_codes = (uint16_t *)szg_arena_take(arena, code_room, sizeof *frame->codes);
  frame->book = (szg_decode_book_cuda *)szg_arena_take(arena, szg_decode_book_bytes_cuda(), 1);
  SZG_TRY(szg_places_carve_cuda(arena, frame->grid.tile_count, &frame->places));
  return szg_gap_decoder_carve_cuda(arena, frame->section_bytes[SZG_SECTION_SEQUENCE_CODES] / 2,
                                    &frame->gap_decoder);
}

/* Where tiles begin, and the length of the stream. */
szgpu_status prepare_decoding(const Decoding &frame, cudaStream_t stream) {
  szg_tile_counts counts = {};
  counts.bits = (const uint16_t *)frame.sections[SZG_SECTION_TILE_SIZES];
  SZG_TRY_CUDA(cudaMemsetAsync(frame.verdict, 0, sizeof *frame.verdict, stream));
  SZG_TRY(szg_places_scan_cuda(&frame.places, &frame.grid, &counts, stream));
  SZG_TRY_CUDA(cudaMemcpyAsync(frame.bit_count, &frame.places.places[frame.grid.tile_count].bit,
                               sizeof *frame.bit_count, cudaMemcpyDeviceToDevice, stream));
  return SZGPU_OK;
}

szgpu_status decode(const Decoding &frame, bool is_chunked, uint16_t *codes, cudaStream_t stream) {
  uint32_t const symbol_count = 2 * frame.header.radius;
  SZG_TRY(szg_decode_book_build_cuda(frame.sections[SZG_SECTION_CODEBOOK],
                                     frame.section_bytes[SZG_SECTION_CODEBOOK], symbol_count,
                                     frame.book, frame.verdict, stream));
  szg_linear_input_cuda input = {};
  input.words = (const uint32_t *)frame.sections[SZG_SECTION_BITSTREAM];
  input.word_count = frame.section_bytes[SZG_SECTION_BITSTREAM] / 4;
  input.gaps = frame.sections[SZG_SECTION_GAPS];
  input.gap_bytes = frame.section_bytes[SZG_SECTION_GAPS];
  input.sequence_codes = (const uint16_t *)frame.sections[SZG_SECTION_SEQUENCE_CODES];
  input.sequence_count = frame.section_bytes[SZG_SECTION_SEQUENCE_CODES] / 2;
  input.code_count = frame.grid.value_count;
  input.places = frame.places.places;
  input.bit_count = frame.bit_count;
  if (is_chunked)
    SZG_TRY(szg_decode_chunked_cuda(frame.book, symbol_count, &frame.grid, &input, codes,
                                    frame.verdict, stream));
  else
    SZG_TRY(szg_decode_gap_cuda(&frame.gap_decoder, frame.book, symbol_count, &input, codes,
                                frame.verdict, stream));
  SZG_TRY_CUDA(cudaStreamSynchronize(stream));
  return SZGPU_OK;
}

DecodeAlone measure_decoding(Case &c) {
  Decoding frame = {};
  find_sections(c, &frame);
  if (frame.header.kind != SZG_FRAME_LINEAR) return {};
  szg_arena measured = {}, arena = {};
  must(c.decompressor, carve(&measured, &frame));
  Memory const memory(Where::kDevice, measured.used_bytes);
  memory.poison(c.stream);
  arena.base = memory.bytes();
  arena.capacity_bytes = memory.byte_count();
  must(c.decompressor, carve(&arena, &frame));
  must(c.decompressor, prepare_decoding(frame, c.stream));
  bool const is_chunked = c.arguments.is_chunked;
  must(c.decompressor, decode(frame, !is_chunked, frame.other_codes, c.stream));
  uint64_t const count = frame.grid.value_count;
  Times const times = time_runs(
      kWarmUps, c.arguments.runs,
      [&] {
        must_cuda(cudaMemsetAsync(frame.codes, kPoison, count * sizeof *frame.codes, c.stream));
        must_cuda(cudaStreamSynchronize(c.stream));
      },
      [&] { must(c.decompressor, decode(frame, is_chunked, frame.codes, c.stream)); },
      [&] {
        c.checker.same<uint16_t>("codes are not the other decoder's", frame.codes,
                                 frame.other_codes, count);
      });
  szg_verdict verdict;
  must_cuda(cudaMemcpy(&verdict, frame.verdict, sizeof verdict, cudaMemcpyDeviceToHost));
  c.checker.claim(verdict.bad_data == 0, "a decoder refuses the archive");
  return {true, times, count, frame.header.axes, frame.header.radius};
}

/* ---- the bench ---- */

/* How the first frame became: "levels", or another kind if it gained nothing. */
std::string kind_of(const Case &c) {
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  must(c.compressor, szgpu_inspect_frames(c.reference.data(), c.reference.size(), 0, 1, &frame));
  return frame.kind;
}

Result run_case(const Arguments &arguments, const Field &field, const szgpu_params &params,
                const Machine &machine, cudaStream_t stream) {
  Case c(arguments, field, params, stream);
  Result result = {};
  measure_on_device(c, &result);
  result.decode_alone = measure_decoding(c);
  if (arguments.host_runs > 0) {
    Direction *const there = &result.compression, *const back = &result.decompression;
    measure_from_host(c, Where::kPageable, &there->pageable, &back->pageable);
    measure_from_host(c, Where::kPinned, &there->pinned, &back->pinned);
  }
  result.machine = machine;
  result.field = field.name;
  result.predictor = kPredictorNames[params.predictor];
  result.kind = kind_of(c);
  result.shape = field.shape;
  result.mode = name_of(arguments.mode);
  result.is_chunked = arguments.is_chunked;
  result.is_verified = c.checker.is_verified();
  result.bound = params.bound;
  result.absolute_bound = c.info.absolute_bound;
  result.runs = arguments.runs;
  result.host_runs = arguments.host_runs;
  result.value_count = field.value_count;
  result.field_bytes = field.bytes.size();
  result.archive_bytes = c.reference.size();
  result.capacity = c.capacity;
  result.frame_count = c.info.frame_count;
  result.field_hash = field.hash;
  result.archive_hash = szg_checksum_plain(c.reference.data(), c.reference.size());
  return result;
}

/* Rewrites the file after each case, so that results stay if a later case fails. */
void write_json(const std::string &path, const std::vector<std::string> &cases) {
  FILE *const file = fopen(path.c_str(), "w");
  if (!file) die("cannot write " + path);
  for (size_t i = 0; i < cases.size(); i++)
    fprintf(file, "%s%s", i ? ",\n " : "[", cases[i].c_str());
  if (fprintf(file, "]\n") < 0 || fclose(file) != 0) die("cannot write " + path);
}

} // namespace

int main(int argc, char **argv) {
  Arguments const arguments = parse_arguments(argc, argv);
  cudaStream_t stream;
  must_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Machine const machine = look_at_machine(stream);
  printf("%s, CUDA %s (driver for %s), copies at %.0f GB/s read and written; szgpu %s\n",
         machine.gpu.c_str(), machine.runtime.c_str(), machine.driver.c_str(),
         machine.copy_gb_per_second, szgpu_version());
  std::vector<Result> results;
  std::vector<std::string> cases;
  bool is_verified = true;
  for (const std::string &path : arguments.fields) {
    Field const field = read_field(path);
    for (double const bound : arguments.bounds)
      for (szgpu_predictor const predictor : arguments.predictors) {
        szgpu_params const params = params_of(arguments, bound, predictor);
        results.push_back(run_case(arguments, field, params, machine, stream));
        print_result(results.back());
        cases.push_back(json_of(results.back()));
        if (!arguments.json.empty()) write_json(arguments.json, cases);
        is_verified = is_verified && results.back().is_verified;
      }
  }
  print_table(results);
  return is_verified ? 0 : 1;
}
