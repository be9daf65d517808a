/* bench_offsets.cu - times decoding from every bit at once against decoding in order.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_decoders offsets [--runs N] [--host-runs N] [--threads N] [--least LOG2] [--json FILE]
 *                          FILE...
 *
 * Repeats the figure of B. Johnston and E. C. McCreath, "Parallel Huffman Decoding: Presenting a
 * Fast and Scalable Algorithm for Increasingly Multicore Devices", 2017. The bench codes the bytes
 * of each FILE (a text: the paper uses kjv of the Canterbury corpus) as 256 symbols, with codes of
 * at most 16 bits. It takes the first 2^LOG2 (10) bytes, four times as many, and so on, and all of
 * them, each with its own book, and times these decoders:
 *
 *   serial            the paper's "simple", on one thread
 *   table             its "bigtable", on one thread
 *   all-offsets       on the CPU, on one thread and on N, with the defaults; on one thread in the
 *                     paper's form: the stream as one window, 4 bytes per entry, none skipped
 *   all-offsets, CUDA windows in shared memory; windows in device memory, one launch per row; the
 *                     same in the paper's form
 *
 * Times are medians of --runs (20 or more) on the GPU, by events in the stream with everything in
 * device memory, and of --host-runs (5) on the CPU, by the clock. They leave out the time to build
 * tables from the book, which is build_ms, taken once by the clock. memory_bytes is the size of the
 * windows' tables. Every run is verified: outputs are poisoned before it and must be the file's
 * bytes after it.
 */
#include <functional>
#include <memory>

#include "bench_decoders.h"
#include "bench_events.cuh"
#include "bench_json.cuh"
#include "core/threads.h"
#include "core/workers.h"
#include "huffman/decoders/all_offsets.h"
#include "study/all_offsets_forms.h"

namespace {

constexpr int kLeastRuns = 20, kWarmUps = 3;
constexpr uint32_t kSymbols = 256;

struct Arguments {
  int runs = kLeastRuns, host_runs = 5, threads = szg_usable_cores(), least_log2 = 10;
  std::string json;
  std::vector<std::string> files;
};

Arguments parse_arguments(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i++) {
    std::string const name = argv[i];
    if (name[0] != '-') {
      arguments.files.push_back(name);
      continue;
    }
    if (++i == argc) die(name + " needs a value");
    int const value = atoi(argv[i]);
    if (name == "--runs")
      arguments.runs = value;
    else if (name == "--host-runs")
      arguments.host_runs = value;
    else if (name == "--threads")
      arguments.threads = value;
    else if (name == "--least")
      arguments.least_log2 = value;
    else if (name == "--json")
      arguments.json = argv[i];
    else
      die("what is " + name + "?");
  }
  if (arguments.files.empty()) die("a file, please");
  if (arguments.runs < kLeastRuns) die("at least 20 runs");
  if (arguments.host_runs < 1) die("at least one run on the CPU");
  if (arguments.threads < 1 || arguments.threads > SZG_MAX_THREADS) die("how many threads?");
  if (arguments.least_log2 < 0 || arguments.least_log2 > 30) die("2^0 to 2^30 bytes");
  return arguments;
}

/* ---- a text, coded ---- */

struct Row {
  std::string file, decoder;
  int threads;   /* 0: on the GPU */
  uint64_t hash; /* XXH3-64 of the whole file */
  uint64_t text_bytes, bit_count, memory_bytes;
  double build_milliseconds;
  Times times;
  bool is_verified;
};

struct TextFile {
  std::string name;
  std::vector<uint8_t> bytes;
  uint64_t hash;
};

TextFile read_text(const std::string &path) {
  FILE *const file = fopen(path.c_str(), "rb");
  if (!file) die("cannot open " + path);
  TextFile text = {path.substr(path.find_last_of('/') + 1), {}, 0};
  for (int byte; (byte = fgetc(file)) != EOF;) text.bytes.push_back((uint8_t)byte);
  fclose(file);
  if (text.bytes.empty() || text.bytes.size() > (size_t)1 << 28)
    die(path + ": 1 byte to 256 MiB, please");
  text.hash = szg_checksum_plain(text.bytes.data(), text.bytes.size());
  return text;
}

struct Text { /* large: lives on the heap */
  std::vector<uint16_t> symbols;
  szg_codebook book;
  szg_codebook_work work;
  std::vector<uint8_t> section;
  std::vector<uint32_t> words;
  uint64_t bit_count;

  explicit Text(std::vector<uint16_t> all) : symbols(std::move(all)) {
    std::vector<uint64_t> counts(kSymbols);
    std::vector<uint32_t> encoder(kSymbols);
    for (uint16_t symbol : symbols) counts[symbol]++;
    szg_codebook_build(counts.data(), kSymbols, SZG_MAX_CODE_BITS, &book, &work);
    szg_encoder_table(&book, encoder.data());
    section.resize(SZG_CODEBOOK_MAX_BYTES);
    section.resize(szg_codebook_write(&book, section.data()));
    bit_count = szg_linear_bits(&book, symbols.data(), symbols.size());
    words.resize((bit_count + 31) / 32);
    std::vector<uint8_t> gaps(szg_subsequence_count(bit_count));
    std::vector<uint64_t> sequence_codes(szg_sequence_count(bit_count));
    szg_linear_stream stream = {(uint8_t *)words.data(), bit_count, gaps.data(),
                                sequence_codes.data()};
    szg_linear_run run = {};
    szg_linear_encode(encoder.data(), symbols.data(), symbols.size(), &run, &stream);
    szg_linear_merge(&run, 1, &stream);
  }
  szg_linear_input input() const {
    return {(const uint8_t *)words.data(),
            4 * words.size(),
            bit_count,
            symbols.size(),
            nullptr,
            nullptr};
  }
};

/* ---- its decoders ---- */

double milliseconds_of(const std::function<void()> &call) {
  return time_runs(
             0, 1, [] {}, call, [] {})
      .median;
}

class TextBench {
 public:
  TextBench(const Arguments &arguments, const TextFile &file, const std::vector<uint16_t> &symbols,
            cudaStream_t stream)
      : arguments_(arguments),
        file_(file),
        stream_(stream),
        text_(new Text(symbols)),
        codes_(symbols.size()),
        book_(new szg_all_offsets_book) {
    book_milliseconds_ =
        milliseconds_of([&] { szg_all_offsets_book_build(&text_->book, book_.get()); });
  }

  std::vector<Row> measure() {
    measure_in_order();
    szg_all_offsets_options const best = SZG_ALL_OFFSETS_DEFAULTS;
    szg_all_offsets_options const paper = {whole_window(), 1, false, false};
    measure_offsets("all-offsets", best, 1);
    if (arguments_.threads > 1) measure_offsets("all-offsets", best, arguments_.threads);
    measure_offsets("all-offsets, the paper's", paper, 1);
    measure_on_device();
    return rows_;
  }

 private:
  /* Bits of a window that holds the whole stream. */
  uint32_t whole_window() const {
    uint64_t const bits = (text_->bit_count + 31) / 32 * 32;
    if (bits > SZG_ALL_OFFSETS_MOST_WINDOW_BITS) die(file_.name + " is too long for one window");
    return (uint32_t)bits;
  }

  void add(const std::string &decoder, int threads, uint64_t memory_bytes, double build,
           const Times &times, bool is_verified) {
    rows_.push_back({file_.name, decoder, threads, file_.hash, text_->symbols.size(),
                     text_->bit_count, memory_bytes, build, times, is_verified});
    Row const &row = rows_.back();
    printf("%-24s %9llu bytes  %-24s %s %2d %10.4f ms (%.4f to %.4f) %9.2f MB/s%s\n",
           row.file.c_str(), (unsigned long long)row.text_bytes, row.decoder.c_str(),
           threads ? "CPU" : "GPU", threads, times.median, times.least, times.greatest,
           1e3 * gb_per_second((double)row.text_bytes, times.median),
           is_verified ? "" : " NOT VERIFIED");
    fflush(stdout);
  }

  /* decode(run): a CPU decoder. */
  template <class Decode>
  void measure_on_host(const std::string &decoder, int threads, uint64_t memory_bytes, double build,
                       Decode decode) {
    Checker checker(stream_);
    szg_code_run const run = {0, text_->bit_count, (uint32_t)codes_.size(), codes_.data()};
    szgpu_status status = SZGPU_OK;
    auto const prepare = [&] { memset(codes_.data(), kPoison, 2 * codes_.size()); };
    auto const call = [&] { status = decode(run); };
    auto const check = [&] {
      must_succeed(status);
      checker.claim(codes_ == text_->symbols, "the text");
    };
    Times const times = time_runs(1, arguments_.host_runs, prepare, call, check);
    add(decoder, threads, memory_bytes, build, times, checker.is_verified());
  }

  void measure_in_order() {
    auto const index = std::make_unique<szg_canonical_index>();
    auto const table = std::make_unique<szg_decode_table>();
    szg_linear_input const input = text_->input();
    double const index_build =
        milliseconds_of([&] { szg_canonical_index_build(&text_->book, index.get()); });
    double const table_build =
        milliseconds_of([&] { szg_decode_table_build(&text_->book, table.get()); });
    measure_on_host("serial", 1, 0, index_build, [&](const szg_code_run &run) {
      return szg_decode_serial(index.get(), &input, &run, 1);
    });
    measure_on_host("table", 1, 0, table_build, [&](const szg_code_run &run) {
      return szg_decode_runs(table.get(), &input, &run, 1);
    });
  }

  void measure_offsets(const std::string &decoder, const szg_all_offsets_options &options,
                       int thread_count) {
    szg_all_offsets_tables tables;
    auto const carve = [&](szg_arena *arena) {
      szg_all_offsets_carve(arena, &options, book_->shortest, book_->longest, &tables);
      return SZGPU_OK;
    };
    Memory const memory(Where::kPageable, carved_bytes(carve));
    carve_in(memory, carve);
    szg_linear_input const input = text_->input();
    szg_threads threads = {};
    threads.count = thread_count;
    measure_on_host(decoder, thread_count, memory.byte_count(), book_milliseconds_,
                    [&](const szg_code_run &run) {
                      return szg_decode_all_offsets(book_.get(), &tables, &input, &run, &threads);
                    });
  }

  /* ---- on the GPU ---- */

  void measure_on_device() {
    Memory const words(Where::kDevice, 4 * text_->words.size()), bits(Where::kDevice, 8);
    Memory const section(Where::kDevice, text_->section.size());
    Memory const book(Where::kDevice, szg_decode_book_bytes_cuda());
    Memory const verdict(Where::kDevice, sizeof(szg_verdict));
    copy_to(words, text_->words);
    copy_to(section, text_->section);
    bits.fill(&text_->bit_count, 8);
    szg_linear_input_cuda input = {};
    input.words = (const uint32_t *)words.bytes();
    input.word_count = text_->words.size();
    input.code_count = codes_.size();
    input.bit_count = (const uint64_t *)bits.bytes();
    must_cuda(cudaMemsetAsync(verdict.bytes(), 0, sizeof(szg_verdict), stream_));
    double const build = milliseconds_of([&] {
      must_succeed(szg_decode_book_build_cuda(section.bytes(), section.byte_count(), kSymbols,
                                              (szg_decode_book_cuda *)book.bytes(),
                                              (szg_verdict *)verdict.bytes(), stream_));
      must_cuda(cudaStreamSynchronize(stream_));
    });
    szg_all_offsets_options const shared = SZG_ALL_OFFSETS_DEFAULTS_CUDA;
    szg_all_offsets_options rows = shared;
    rows.slot_count = 1 << 16;
    DeviceRun const run = {(const szg_decode_book_cuda *)book.bytes(), input,
                           (szg_verdict *)verdict.bytes(), build};
    measure_form<szg_all_offsets_tables_cuda>("all-offsets", shared, szg_all_offsets_carve_cuda,
                                              szg_decode_all_offsets_cuda, run);
    measure_rows("all-offsets, rows", rows, run);
    measure_rows("all-offsets, the paper's", {whole_window(), 1, false, false}, run);
  }

  struct DeviceRun {
    const szg_decode_book_cuda *book;
    szg_linear_input_cuda input;
    szg_verdict *verdict;
    double build; /* milliseconds to build the book's tables */
  };

  void measure_rows(const char *decoder, const szg_all_offsets_options &options,
                    const DeviceRun &run) {
    measure_form<szg_all_offsets_rows_cuda>(decoder, options, szg_all_offsets_rows_carve_cuda,
                                            szg_decode_all_offsets_rows_cuda, run);
  }

  /* carve_form and decode_form: the functions of one form of the decoder. */
  template <class Tables, class Carve, class Decode>
  void measure_form(const char *decoder, const szg_all_offsets_options &options, Carve carve_form,
                    Decode decode_form, const DeviceRun &run) {
    Tables tables;
    auto const carve = [&](szg_arena *arena) {
      return carve_form(arena, &options, book_->shortest, book_->longest, &tables);
    };
    szg_verdict *const verdict = run.verdict;
    Memory const memory(Where::kDevice, carved_bytes(carve));
    carve_in(memory, carve);
    Memory const codes(Where::kDevice, 2 * codes_.size()),
        expected(Where::kDevice, 2 * codes_.size());
    copy_to(expected, text_->symbols);
    Checker checker(stream_);
    auto const prepare = [&] {
      codes.poison(stream_);
      must_cuda(cudaMemsetAsync(verdict, 0, sizeof *verdict, stream_));
    };
    auto const call = [&] {
      must_succeed(
          decode_form(&tables, run.book, &run.input, (uint16_t *)codes.bytes(), verdict, stream_));
    };
    auto const check = [&] {
      szg_verdict found;
      must_cuda(cudaMemcpyAsync(&found, verdict, sizeof found, cudaMemcpyDefault, stream_));
      must_cuda(cudaStreamSynchronize(stream_));
      checker.claim(found.bad_data == 0, "the stream is refused");
      checker.same<uint16_t>("the text", codes.bytes(), expected.bytes(), codes_.size());
    };
    Times const times = time_by_events(kWarmUps, arguments_.runs, stream_, prepare, call, check);
    add(decoder, 0, memory.byte_count(), run.build, times, checker.is_verified());
  }

  const Arguments &arguments_;
  const TextFile &file_;
  cudaStream_t stream_;
  std::unique_ptr<Text> text_;
  std::vector<uint16_t> codes_;
  std::unique_ptr<szg_all_offsets_book> book_;
  double book_milliseconds_ = 0.0;
  std::vector<Row> rows_;
};

/* ---- the bench ---- */

std::string json_of(const Row &row) {
  double const bytes = (double)row.text_bytes;
  return object({{"input", quoted(row.file)},
                 {"kind", quoted("bytes")},
                 {"input_xxh3", hexadecimal(row.hash)},
                 {"decoder", quoted(row.decoder)},
                 {"backend", quoted(row.threads ? "cpu" : "cuda")},
                 {"threads", number(row.threads)},
                 {"decoded_codes", number(row.text_bytes)},
                 {"code_bytes", number((uint64_t)sizeof(uint16_t))},
                 {"bits", number(row.bit_count)},
                 {"memory_bytes", number(row.memory_bytes)},
                 {"build_ms", number(row.build_milliseconds)},
                 {"median_ms", number(row.times.median)},
                 {"min_ms", number(row.times.least)},
                 {"max_ms", number(row.times.greatest)},
                 {"gb_per_s", number(gb_per_second(bytes, row.times.median))},
                 {"verified", truth(row.is_verified)}});
}

void write_json(const std::string &path, const Machine &machine, const std::vector<Row> &rows) {
  std::vector<std::string> items;
  for (const Row &row : rows) items.push_back(json_of(row));
  FILE *const file = fopen(path.c_str(), "w");
  if (!file) die("cannot write " + path);
  std::string const text = object({{"bench", quoted("offsets")},
                                   {"gpu", quoted(machine.gpu)},
                                   {"cuda_runtime", quoted(machine.runtime)},
                                   {"cuda_driver", quoted(machine.driver)},
                                   {"rows", array(items)}});
  if (fprintf(file, "%s\n", text.c_str()) < 0 || fclose(file) != 0) die("cannot write " + path);
}

} // namespace

int szg_bench_offsets(int argc, char **argv) {
  Arguments const arguments = parse_arguments(argc, argv);
  cudaStream_t stream;
  must_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Machine const machine = look_at_machine(stream);
  std::vector<Row> rows;
  bool is_verified = true;
  for (const std::string &path : arguments.files) {
    TextFile const file = read_text(path);
    for (size_t count = (size_t)1 << arguments.least_log2;; count *= 4) {
      size_t const decoded = std::min(count, file.bytes.size());
      std::vector<uint16_t> const symbols(file.bytes.begin(),
                                          file.bytes.begin() + (ptrdiff_t)decoded);
      for (const Row &row : TextBench(arguments, file, symbols, stream).measure()) {
        rows.push_back(row);
        is_verified = is_verified && row.is_verified;
      }
      if (!arguments.json.empty()) write_json(arguments.json, machine, rows);
      if (decoded == file.bytes.size()) break;
    }
  }
  must_cuda(cudaStreamDestroy(stream));
  return is_verified ? 0 : 1;
}
