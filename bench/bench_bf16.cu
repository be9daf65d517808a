/* bench_bf16.cu - times lossless frames of weights: bf16, fp8, f32 and f64.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_decoders bf16 [--weights COUNT] [--runs N] [--types NAME[,NAME...]] [--json FILE]
 *
 * The bench makes COUNT (2^27) bf16 weights from N(0, 0.02) on the device, from fixed random
 * numbers, and as many bytes of each other type; fp8 is e4m3 of weights scaled to its range. It
 * prints medians of N runs (20 or more) after 3 that do not count, with everything in device
 * memory. GB/s are 10^9 bytes of weights.
 *
 *   count, encode   the stages of compression, by events
 *   read twice      what encodes frames for which one pass has too little shared memory
 *   open, decode    the stages of decompression, by events
 *   compress        szgpu_compress, by the clock: with the choice of planes and books between the
 *                   stages, which the host makes, and with checksums and headers
 *   decompress      szgpu_decompress, by the clock, which also checks them
 *
 * Every run is verified: outputs are poisoned before it, sections must equal the CPU's byte for
 * byte, and the restored weights must be bit-identical.
 */
#include "bench_decoders.h"
#include "bench_events.cuh"
#include "bench_json.cuh"
#include "bench_weights.cuh"

namespace {

constexpr int kLeastRuns = 20, kWarmUps = 3;

struct Arguments {
  uint64_t weight_count = (uint64_t)1 << 27;
  int runs = kLeastRuns;
  std::string types = "bf16,fp8,f32,f64", json;
};

Arguments parse_arguments(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    std::string const name = argv[i];
    if (i + 1 == argc) die(name + " needs a value");
    if (name == "--weights")
      arguments.weight_count = strtoull(argv[i + 1], nullptr, 10);
    else if (name == "--runs")
      arguments.runs = atoi(argv[i + 1]);
    else if (name == "--types")
      arguments.types = argv[i + 1];
    else if (name == "--json")
      arguments.json = argv[i + 1];
    else
      die("what is " + name + "?");
  }
  if (arguments.runs < kLeastRuns) die("at least 20 runs");
  if (arguments.weight_count < 8) die("at least 8 weights");
  return arguments;
}

/* ---- one type ---- */

struct Row {
  std::string type, stage;
  uint64_t value_bytes, weight_bytes, frame_bytes;
  bool is_by_clock, is_verified;
  Times times;
};

class Case {
 public:
  Case(const Arguments &arguments, const std::string &type, cudaStream_t stream)
      : runs_(arguments.runs),
        type_(type),
        stream_(stream),
        checker_(stream),
        values_(Where::kDevice, arguments.weight_count * 2 / 8 * 8),
        restored_(Where::kDevice, values_.byte_count()),
        value_bytes_(make_type(type, values_, stream)),
        value_count_(values_.byte_count() / value_bytes_),
        tile_count_(szg_planes_tile_count(value_count_)),
        reference_(1),
        counts_(Where::kDevice, sizeof(szg_planes_counts)),
        encoder_(Where::kDevice, sizeof(szg_planes_encoder)),
        verdict_(Where::kDevice, sizeof(szg_verdict)),
        found_(Where::kPinned, sizeof(szg_planes_counts)) {
    std::vector<uint8_t> host(values_.byte_count());
    must_cuda(cudaMemcpy(host.data(), values_.bytes(), host.size(), cudaMemcpyDeviceToHost));
    encode_on_cpu(host, value_bytes_, &reference());
  }

  std::vector<Row> measure() {
    Memory const books(Where::kDevice, reference().books.size());
    Memory const sizes(Where::kDevice, 2 * tile_count_);
    Memory const own_sizes(Where::kDevice, szg_align_up(sizes.byte_count(), SZG_ALIGNMENT));
    Memory const words(Where::kDevice, 4 * reference().words.size());
    Memory const own_words(Where::kDevice, szg_align_up(words.byte_count(), SZG_ALIGNMENT));
    Memory const stored(Where::kDevice, reference().stored.size() + 1);
    Memory const own_stored(Where::kDevice, stored.byte_count());
    Memory const sums(Where::kDevice, sizeof(uint64_t) * szg_planes_most_sums(stored.byte_count()));
    books.fill(reference().books.data(), books.byte_count());
    sizes.fill(reference().sizes.data(), sizes.byte_count());
    words.fill(reference().words.data(), words.byte_count());
    stored.fill(reference().stored.data(), reference().stored.size());
    encoder_.fill(&reference().encoder, sizeof(szg_planes_encoder));
    output_ = {reference().choice.layout,
               values_.bytes(),
               value_count_,
               (const szg_planes_encoder *)encoder_.bytes(),
               (uint16_t *)own_sizes.bytes(),
               own_stored.bytes(),
               (uint32_t *)own_words.bytes(),
               own_words.byte_count() / sizeof(uint32_t),
               nullptr,
               nullptr,
               (uint64_t *)sums.bytes()};
    input_ = {reference().choice.layout,
              value_count_,
              books.bytes(),
              (const uint16_t *)sizes.bytes(),
              (const uint32_t *)words.bytes(),
              reference().words.size(),
              stored.bytes(),
              nullptr, /* no list: all tiles */
              nullptr,
              nullptr,
              nullptr,
              (uint64_t *)sums.bytes()};
    auto const carve_work = [&](szg_arena *arena) { return carve(arena); };
    Memory const work(Where::kDevice, carved_bytes(carve_work));
    work.poison(stream_);
    carve_in(work, carve_work);
    measure_compression(sizes, words, stored);
    measure_decompression();
    measure_calls();
    return rows_;
  }

 private:
  Reference &reference() { return reference_[0]; }

  szgpu_status carve(szg_arena *arena) {
    const szg_planes_layout *const layout = &reference().choice.layout;
    must_succeed(szg_planes_output_carve_cuda(arena, layout, value_count_, false, &output_));
    return szg_planes_input_carve_cuda(arena, layout, value_count_, &input_);
  }

  /* Times a stage by events in the stream. */
  template <class Prepare, class Call, class Check>
  void time_stage(const char *stage, Prepare prepare, Call call, Check check) {
    cudaEvent_t begin, end;
    must_cuda(cudaEventCreate(&begin));
    must_cuda(cudaEventCreate(&end));
    std::vector<double> milliseconds;
    for (int run = -kWarmUps; run < runs_; run++) {
      float taken = 0.0f;
      prepare();
      must_cuda(cudaEventRecord(begin, stream_));
      call();
      must_cuda(cudaEventRecord(end, stream_));
      must_cuda(cudaStreamSynchronize(stream_));
      must_cuda(cudaEventElapsedTime(&taken, begin, end));
      check();
      if (run >= 0) milliseconds.push_back(taken);
    }
    must_cuda(cudaEventDestroy(begin));
    must_cuda(cudaEventDestroy(end));
    note(stage, false, times_of(milliseconds));
  }

  void note(const char *stage, bool is_by_clock, const Times &times) {
    Row const row = {type_,
                     stage,
                     value_bytes_,
                     values_.byte_count(),
                     frame_bytes(reference()),
                     is_by_clock,
                     checker_.is_verified(),
                     times};
    rows_.push_back(row);
    printf("%-5s %-11s %9.4f ms (%.4f to %.4f) %8.1f GB/s%s%s\n", row.type.c_str(), stage,
           times.median, times.least, times.greatest,
           gb_per_second((double)row.weight_bytes, times.median), is_by_clock ? ", by clock" : "",
           row.is_verified ? "" : " NOT VERIFIED");
    fflush(stdout);
  }

  /* ---- compression ---- */

  void count() {
    must_cuda(cudaMemsetAsync(counts_.bytes(), 0, counts_.byte_count(), stream_));
    must_succeed(szg_planes_count_cuda(values_.bytes(), value_count_, value_bytes_,
                                       is_sample(value_count_),
                                       (szg_planes_counts *)counts_.bytes(), stream_));
  }
  void fetch(const void *from, size_t byte_count) {
    must_cuda(cudaMemcpyAsync(found_.bytes(), from, byte_count, cudaMemcpyDeviceToHost, stream_));
    must_cuda(cudaStreamSynchronize(stream_));
  }

  void encode(const uint32_t *typical_bits) {
    uint64_t summed_bytes = 0;
    must_succeed(szg_planes_output_clear_cuda(&output_, stream_));
    must_succeed(szg_planes_encode_cuda(&output_, typical_bits, &summed_bytes, stream_));
  }

  void measure_compression(const Memory &sizes, const Memory &words, const Memory &stored) {
    auto const check_counts = [&] {
      static szg_planes_choice choice;
      static szg_planes_encoder encoder;
      fetch(counts_.bytes(), sizeof(szg_planes_counts));
      choose(*(const szg_planes_counts *)(const void *)found_.bytes(), value_count_, value_bytes_,
             &choice, &encoder);
      checker_.claim(memcmp(&choice, &reference().choice, sizeof choice) == 0, "another choice");
    };
    auto const check_sizes = [&] {
      checker_.same<uint16_t>("sizes are not the CPU's", output_.sizes, sizes.bytes(), tile_count_);
    };
    auto const check_sections = [&] {
      check_sizes();
      checker_.same<uint32_t>("words are not the CPU's", output_.words, words.bytes(),
                              reference().words.size());
      checker_.same<uint8_t>("stored bytes are not the CPU's", output_.stored, stored.bytes(),
                             reference().stored.size());
    };
    auto const poison = [&](void *memory, size_t byte_count) {
      must_cuda(cudaMemsetAsync(memory, kPoison, byte_count, stream_));
      must_cuda(cudaStreamSynchronize(stream_));
    };
    auto const poison_all = [&] {
      poison(output_.sizes, sizes.byte_count());
      poison(counts_.bytes(), counts_.byte_count());
      poison(output_.words, words.byte_count());
      poison(output_.stored, stored.byte_count());
    };
    time_stage(
        "count", poison_all, [&] { count(); }, check_counts);
    time_stage(
        "encode", poison_all, [&] { encode(reference().choice.typical_bits); }, check_sections);
    time_stage(
        "read twice", poison_all, [&] { encode(nullptr); }, check_sections);
  }

  /* ---- decompression ---- */

  void open() {
    must_cuda(cudaMemsetAsync(verdict_.bytes(), 0, sizeof(szg_verdict), stream_));
    must_succeed(szg_planes_open_cuda(&input_, (szg_verdict *)verdict_.bytes(), stream_));
  }
  void decode() {
    must_succeed(szg_planes_decode_cuda(&input_, 0, restored_.byte_count(), restored_.bytes(),
                                        (szg_verdict *)verdict_.bytes(), stream_));
  }

  void measure_decompression() {
    auto const poison = [&] { restored_.poison(stream_); };
    auto const check_verdict = [&] {
      fetch(verdict_.bytes(), sizeof(szg_verdict));
      checker_.claim(((const szg_verdict *)(const void *)found_.bytes())->bad_data == 0,
                     "the decoder refuses the frame");
    };
    auto const check_values = [&] {
      check_verdict();
      checker_.same<uint64_t>("weights do not come back", restored_.bytes(), values_.bytes(),
                              values_.byte_count() / sizeof(uint64_t));
    };
    time_stage(
        "open", [] {}, [&] { open(); }, check_verdict);
    time_stage(
        "decode", poison, [&] { decode(); }, check_values);
  }

  /* ---- whole calls ---- */

  szgpu_ctx *make_ctx(szgpu_backend backend) {
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    szgpu_ctx *ctx = nullptr;
    options.backend = backend;
    if (backend == SZGPU_BACKEND_CUDA) options.stream = stream_;
    must_succeed(szgpu_create(&ctx, &options));
    return ctx;
  }

  void measure_calls() {
    szgpu_params params = SZGPU_PARAMS_DEFAULTS;
    szgpu_shape const shape = {dtype_named(type_), 1, {value_count_}};
    szgpu_ctx *const ctx = make_ctx(SZGPU_BACKEND_CUDA);
    size_t capacity = 0, archive_bytes = 0, expected_bytes = 0;
    params.mode = SZGPU_MODE_LOSSLESS;
    must_succeed(szgpu_sizes(ctx, &params, &shape, nullptr, &capacity));
    Memory const archive(Where::kDevice, capacity);
    Memory const expected(Where::kDevice, capacity);
    {
      szgpu_ctx *const cpu = make_ctx(SZGPU_BACKEND_CPU);
      std::vector<uint8_t> host(values_.byte_count()), archive_on_host(capacity);
      must_cuda(cudaMemcpy(host.data(), values_.bytes(), host.size(), cudaMemcpyDeviceToHost));
      must_succeed(szgpu_compress(cpu, &params, &shape, host.data(), archive_on_host.data(),
                                  capacity, &expected_bytes));
      expected.fill(archive_on_host.data(), expected_bytes);
      szgpu_destroy(cpu);
    }
    auto const write = [&] {
      must_succeed(szgpu_compress(ctx, &params, &shape, values_.bytes(), archive.bytes(), capacity,
                                  &archive_bytes));
    };
    auto const check_archive = [&] {
      checker_.claim(archive_bytes == expected_bytes, "another size than the CPU's");
      checker_.same<uint8_t>("the archive is not the CPU's", archive.bytes(), expected.bytes(),
                             expected_bytes);
    };
    note("compress", true,
         time_runs(
             kWarmUps, runs_, [&] { archive.poison(stream_); }, write, check_archive));
    auto const restore = [&] {
      must_succeed(szgpu_decompress(ctx, archive.bytes(), archive_bytes, restored_.bytes(),
                                    restored_.byte_count()));
    };
    auto const check_values = [&] {
      checker_.same<uint64_t>("weights do not come back", restored_.bytes(), values_.bytes(),
                              values_.byte_count() / sizeof(uint64_t));
    };
    note("decompress", true,
         time_runs(
             kWarmUps, runs_, [&] { restored_.poison(stream_); }, restore, check_values));
    szgpu_destroy(ctx);
  }

  int runs_;
  std::string type_;
  cudaStream_t stream_;
  Checker checker_;
  Memory values_, restored_;
  uint32_t value_bytes_;
  uint64_t value_count_, tile_count_;
  std::vector<Reference> reference_; /* one; large */
  Memory counts_, encoder_, verdict_, found_;
  szg_planes_output_cuda output_ = {};
  szg_planes_input_cuda input_ = {};
  std::vector<Row> rows_;
};

/* ---- the bench ---- */

std::string json_of(const Row &row) {
  double const bytes = (double)row.weight_bytes;
  return object({{"type", quoted(row.type)},
                 {"stage", quoted(row.stage)},
                 {"value_bytes", number(row.value_bytes)},
                 {"weights", number(row.weight_bytes / row.value_bytes)},
                 {"weight_bytes", number(row.weight_bytes)},
                 {"frame_bytes", number(row.frame_bytes)},
                 {"ratio", number(bytes / (double)row.frame_bytes)},
                 {"by_clock", truth(row.is_by_clock)},
                 {"median_ms", number(row.times.median)},
                 {"min_ms", number(row.times.least)},
                 {"max_ms", number(row.times.greatest)},
                 {"gb_per_s", number(gb_per_second(bytes, row.times.median))},
                 {"verified", truth(row.is_verified)}});
}

void write_json(const std::string &path, const Machine &machine, const std::vector<Row> &rows) {
  FILE *const file = fopen(path.c_str(), "w");
  if (!file) die("cannot write " + path);
  fprintf(file, "{\"bench\": \"bf16\", \"gpu\": %s, \"cuda_runtime\": %s, \"cuda_driver\": %s,\n",
          quoted(machine.gpu).c_str(), quoted(machine.runtime).c_str(),
          quoted(machine.driver).c_str());
  fprintf(file, " \"copy_gb_per_s\": %s, \"rows\": [", number(machine.copy_gb_per_second).c_str());
  for (size_t i = 0; i < rows.size(); i++)
    fprintf(file, "%s%s", i ? ",\n  " : "\n  ", json_of(rows[i]).c_str());
  if (fprintf(file, "]}\n") < 0 || fclose(file) != 0) die("cannot write " + path);
}

} // namespace

int szg_bench_bf16(int argc, char **argv) {
  Arguments const arguments = parse_arguments(argc, argv);
  cudaStream_t stream;
  must_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Machine const machine = look_at_machine(stream);
  printf("%s, CUDA %s (driver for %s), copies at %.0f GB/s read and written\n", machine.gpu.c_str(),
         machine.runtime.c_str(), machine.driver.c_str(), machine.copy_gb_per_second);
  std::vector<Row> rows;
  bool is_verified = true;
  std::string left = arguments.types;
  while (!left.empty()) {
    size_t const end = left.find(',');
    std::string const type = left.substr(0, end);
    left = end == std::string::npos ? "" : left.substr(end + 1);
    for (const Row &row : Case(arguments, type, stream).measure()) {
      rows.push_back(row);
      is_verified = is_verified && row.is_verified;
    }
    printf("%-5s ratio %.4f\n", type.c_str(),
           (double)rows.back().weight_bytes / (double)rows.back().frame_bytes);
    if (!arguments.json.empty()) write_json(arguments.json, machine, rows);
  }
  must_cuda(cudaStreamDestroy(stream));
  return is_verified ? 0 : 1;
}
