/* bench_run_length.cu - times run-length coding: on the CPU, in four steps, in one kernel, by CUB.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_decoders rle [--runs N] [--host-runs N] [--threads N] [--least LOG2] [--most LOG2]
 *                      [--data NAME[,NAME...]] [--json FILE]
 *
 * For each kind of data below and 2^LOG2 symbols, LOG2 from 16 to 28 in steps of 2, the bench
 * prints medians of N runs (20 or more) on the GPU, timed by events in the stream with everything
 * in device memory and all launches included, and of --host-runs (5) on the CPU, timed by the
 * clock. GB/s are 10^9 bytes of symbols; "moved" is the least that any method must read and write:
 * the symbols once, the runs once. Every run is verified: outputs are poisoned before it, and the
 * counts and symbols must equal those of the serial encoder. Data that fits the GPU's second-level
 * cache may be read from there.
 *
 *   random    u8: random bytes
 *   runs      u8: runs of 1 to 16 bytes, all lengths equally often
 *   codes     u16: codes of a smooth plane, quantized and predicted
 *   mask      u8: 0 and 1, the fill mask of such a plane
 */
#include <cub/cub.cuh>

#include "bench_decoders.h"
#include "bench_events.cuh"
#include "bench_runs.cuh"
#include "core/workers.h"
#include "study/run_length.h"

namespace {

constexpr int kLeastRuns = 20, kWarmUps = 3;

struct Arguments {
  int runs = kLeastRuns, host_runs = 5, threads = szg_usable_cores();
  int least_log2 = 16, most_log2 = 28;
  std::string data = "random,runs,codes,mask", json;
};

Arguments parse_arguments(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    std::string const name = argv[i];
    if (i + 1 == argc) die(name + " needs a value");
    int const value = atoi(argv[i + 1]);
    if (name == "--runs")
      arguments.runs = value;
    else if (name == "--host-runs")
      arguments.host_runs = value;
    else if (name == "--threads")
      arguments.threads = value;
    else if (name == "--least")
      arguments.least_log2 = value;
    else if (name == "--most")
      arguments.most_log2 = value;
    else if (name == "--data")
      arguments.data = argv[i + 1];
    else if (name == "--json")
      arguments.json = argv[i + 1];
    else
      die("what is " + name + "?");
  }
  if (arguments.runs < kLeastRuns) die("at least 20 runs");
  if (arguments.host_runs < 1) die("at least one run on the CPU");
  if (arguments.threads < 1 || arguments.threads > SZG_MAX_THREADS) die("how many threads?");
  if (arguments.least_log2 < 1 || arguments.most_log2 > 30) die("2^1 to 2^30 symbols");
  return arguments;
}

/* ---- one kind of data in one size ---- */

template <class Symbol>
class Case {
 public:
  Case(const Arguments &arguments, const std::string &data, size_t symbol_count,
       cudaStream_t stream)
      : arguments_(arguments),
        data_(data),
        stream_(stream),
        symbols_(make_symbols<Symbol>(data, symbol_count)),
        counts_(symbol_count),
        run_symbols_(symbol_count) {
    code_serially(); /* once, to get the expected runs */
    run_count_ = coded_;
    expected_counts_.assign(counts_.begin(), counts_.begin() + (ptrdiff_t)run_count_);
    expected_symbols_.assign(run_symbols_.begin(), run_symbols_.begin() + (ptrdiff_t)run_count_);
  }

  std::vector<Row> measure() {
    measure_on_cpu();
    measure_on_gpu();
    return rows_;
  }

 private:
  void note(const char *way, bool is_coding, bool is_verified, const Times &times) {
    double const serial = is_coding ? serial_coding_ : serial_decoding_;
    rows_.push_back({data_, way, symbols_.size(), sizeof(Symbol), run_count_, is_verified, times,
                     serial > 0.0 ? serial : times.median});
    if (serial == 0.0) (is_coding ? serial_coding_ : serial_decoding_) = times.median;
    print_row(rows_.back());
  }

  /* ---- on the CPU ---- */

  void code_serially() {
    szg_run_output output = {counts_.data(), run_symbols_.data(), counts_.size(), 0};
    must_succeed(szg_runs_encode_serial(sizeof(Symbol), symbols_.data(), symbols_.size(), &output));
    coded_ = output.count;
  }
  void code_by_threads() {
    szg_threads threads = {};
    threads.count = arguments_.threads;
    szg_run_output output = {counts_.data(), run_symbols_.data(), counts_.size(), 0};
    std::vector<uint64_t> scratch(szg_runs_encode_scratch_bytes(symbols_.size()) / 8 + 1);
    must_succeed(szg_runs_encode(&threads, sizeof(Symbol), symbols_.data(), symbols_.size(),
                                 scratch.data(), &output));
    coded_ = output.count;
  }
  void decode(bool is_by_threads, std::vector<Symbol> *restored) {
    szg_threads threads = {};
    threads.count = arguments_.threads;
    szg_run_input const input = {expected_counts_.data(), expected_symbols_.data(), run_count_};
    std::vector<uint64_t> scratch(szg_runs_decode_scratch_bytes(run_count_) / 8 + 1);
    must_succeed(is_by_threads ? szg_runs_decode(&threads, sizeof(Symbol), &input, scratch.data(),
                                                 restored->data(), restored->size())
                               : szg_runs_decode_serial(sizeof(Symbol), &input, restored->data(),
                                                        restored->size()));
  }

  void measure_on_cpu() {
    for (bool const is_by_threads : {false, true}) {
      bool is_right = true;
      Times const times = time_runs(
          1, arguments_.host_runs,
          [&] {
            memset(counts_.data(), kPoison, run_count_ * sizeof(uint32_t));
            memset(run_symbols_.data(), kPoison, run_count_ * sizeof(Symbol));
          },
          [&] { is_by_threads ? code_by_threads() : code_serially(); },
          [&] {
            is_right &=
                coded_ == run_count_ &&
                std::equal(expected_counts_.begin(), expected_counts_.end(), counts_.begin()) &&
                std::equal(expected_symbols_.begin(), expected_symbols_.end(),
                           run_symbols_.begin());
          });
      note(is_by_threads ? "cpu threads" : "cpu serial", true, is_right, times);
    }
    std::vector<Symbol> restored(symbols_.size());
    for (bool const is_by_threads : {false, true}) {
      bool is_right = true;
      Times const times = time_runs(
          1, arguments_.host_runs,
          [&] { memset(restored.data(), kPoison, restored.size() * sizeof(Symbol)); },
          [&] { decode(is_by_threads, &restored); }, [&] { is_right &= restored == symbols_; });
      note(is_by_threads ? "decode threads" : "decode serial", false, is_right, times);
    }
  }

  /* ---- on the GPU ---- */

  /* Input, expected results and outputs in device memory. */
  struct Device {
    explicit Device(const Case &c)
        : symbols(Where::kDevice, c.symbols_.size() * sizeof(Symbol)),
          restored(Where::kDevice, c.symbols_.size() * sizeof(Symbol)),
          expected_counts(Where::kDevice, c.run_count_ * sizeof(uint32_t)),
          expected_symbols(Where::kDevice, c.run_count_ * sizeof(Symbol)),
          counts(Where::kDevice, c.run_count_ * sizeof(uint32_t)),
          run_symbols(Where::kDevice, c.run_count_ * sizeof(Symbol)),
          count(Where::kDevice, sizeof(uint64_t)),
          verdict(Where::kDevice, sizeof(szg_verdict)) {
      symbols.fill(c.symbols_.data(), symbols.byte_count());
      expected_counts.fill(c.expected_counts_.data(), expected_counts.byte_count());
      expected_symbols.fill(c.expected_symbols_.data(), expected_symbols.byte_count());
    }
    szg_run_output_cuda output(uint64_t capacity) const {
      return {(uint32_t *)counts.bytes(), run_symbols.bytes(), capacity, (uint64_t *)count.bytes()};
    }
    Memory symbols, restored, expected_counts, expected_symbols, counts, run_symbols, count,
        verdict;
  };

  template <class Call>
  void measure_coding(const char *way, const Device &device, Call call) {
    Checker checker(stream_);
    Times const times = time_by_events(
        kWarmUps, arguments_.runs, stream_,
        [&] {
          for (const Memory *const memory : {&device.counts, &device.run_symbols})
            memory->poison(stream_);
          must_cuda(cudaMemsetAsync(device.count.bytes(), 0, sizeof(uint64_t), stream_));
        },
        call,
        [&] {
          uint64_t found = 0;
          must_cuda(cudaMemcpyAsync(&found, device.count.bytes(), sizeof found,
                                    cudaMemcpyDeviceToHost, stream_));
          must_cuda(cudaStreamSynchronize(stream_));
          checker.claim(found == run_count_, way);
          checker.same<uint32_t>(way, device.counts.bytes(), device.expected_counts.bytes(),
                                 run_count_);
          checker.same<Symbol>(way, device.run_symbols.bytes(), device.expected_symbols.bytes(),
                               run_count_);
        });
    note(way, true, checker.is_verified(), times);
  }

  void measure_staged(const Device &device) {
    Carved<szg_run_stages_cuda> const stages([&](szg_arena *arena, szg_run_stages_cuda *work) {
      return szg_run_stages_carve_cuda(arena, symbols_.size(), work);
    });
    szg_run_output_cuda const output = device.output(run_count_);
    measure_coding("staged", device, [&] {
      must_succeed(szg_runs_encode_staged_cuda(&stages.work, sizeof(Symbol), device.symbols.bytes(),
                                               symbols_.size(), &output, stream_));
    });
  }

  void measure_fused(const Device &device) {
    Carved<szg_run_encoder_cuda> const encoder([&](szg_arena *arena, szg_run_encoder_cuda *work) {
      return szg_run_encoder_carve_cuda(arena, sizeof(Symbol), symbols_.size(), work);
    });
    szg_run_output_cuda const output = device.output(run_count_);
    measure_coding("one kernel", device, [&] {
      must_succeed(szg_runs_encode_cuda(&encoder.work, sizeof(Symbol), device.symbols.bytes(),
                                        symbols_.size(), &output, stream_));
    });
  }

  void measure_cub(const Device &device) {
    auto const encode = [&](void *scratch, size_t *scratch_bytes) {
      must_cuda(cub::DeviceRunLengthEncode::Encode(
          scratch, *scratch_bytes, (const Symbol *)device.symbols.bytes(),
          (Symbol *)device.run_symbols.bytes(), (uint32_t *)device.counts.bytes(),
          (int *)device.count.bytes(), (int)symbols_.size(), stream_));
    };
    size_t scratch_bytes = 0;
    encode(nullptr, &scratch_bytes);
    Memory const scratch(Where::kDevice, scratch_bytes);
    measure_coding("cub", device, [&] { encode(scratch.bytes(), &scratch_bytes); });
  }

  void measure_decoding(const Device &device) {
    Carved<szg_run_decoder_cuda> const decoder([&](szg_arena *arena, szg_run_decoder_cuda *work) {
      return szg_run_decoder_carve_cuda(arena, run_count_, work);
    });
    szg_run_input const input = {(const uint32_t *)device.expected_counts.bytes(),
                                 device.expected_symbols.bytes(), run_count_};
    szg_verdict *const verdict = (szg_verdict *)device.verdict.bytes();
    Checker checker(stream_);
    Times const times = time_by_events(
        kWarmUps, arguments_.runs, stream_,
        [&] {
          device.restored.poison(stream_);
          must_cuda(cudaMemsetAsync(verdict, 0, sizeof *verdict, stream_));
        },
        [&] {
          must_succeed(szg_runs_decode_cuda(&decoder.work, sizeof(Symbol), &input,
                                            device.restored.bytes(), symbols_.size(), verdict,
                                            stream_));
        },
        [&] {
          checker.same<Symbol>("decode", device.restored.bytes(), device.symbols.bytes(),
                               symbols_.size());
        });
    note("decode gpu", false, checker.is_verified(), times);
  }

  void measure_on_gpu() {
    Device const device(*this);
    measure_staged(device);
    measure_fused(device);
    measure_cub(device);
    measure_decoding(device);
  }

  const Arguments &arguments_;
  std::string data_;
  cudaStream_t stream_;
  std::vector<Symbol> symbols_;
  std::vector<uint32_t> counts_, expected_counts_;
  std::vector<Symbol> run_symbols_, expected_symbols_;
  uint64_t run_count_ = 0, coded_ = 0;
  double serial_coding_ = 0.0, serial_decoding_ = 0.0;
  std::vector<Row> rows_;
};

std::vector<std::string> names_in(const std::string &list) {
  std::vector<std::string> names;
  for (size_t at = 0; at <= list.size();) {
    size_t const end = std::min(list.find(',', at), list.size());
    names.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

} // namespace

int szg_bench_rle(int argc, char **argv) {
  Arguments const arguments = parse_arguments(argc, argv);
  cudaStream_t stream;
  must_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Machine const machine = look_at_machine(stream);
  printf("%s, copies %.0f GB/s, %d CPU threads\n", machine.gpu.c_str(), machine.copy_gb_per_second,
         arguments.threads);
  std::vector<std::string> rows;
  bool is_verified = true;
  for (const std::string &data : names_in(arguments.data)) {
    if (data != "random" && data != "runs" && data != "codes" && data != "mask")
      die("what data are " + data + "?");
    for (int log2 = arguments.least_log2; log2 <= arguments.most_log2; log2 += 2) {
      size_t const count = (size_t)1 << log2;
      std::vector<Row> const measured =
          data == "codes" ? Case<uint16_t>(arguments, data, count, stream).measure()
                          : Case<uint8_t>(arguments, data, count, stream).measure();
      for (const Row &row : measured) {
        rows.push_back(json_of(row));
        is_verified &= row.is_verified;
      }
    }
  }
  must_cuda(cudaStreamDestroy(stream));
  std::string const text = object({{"bench", quoted("rle")},
                                   {"gpu", quoted(machine.gpu)},
                                   {"cuda_runtime", quoted(machine.runtime)},
                                   {"cuda_driver", quoted(machine.driver)},
                                   {"copy_gb_per_s", number(machine.copy_gb_per_second)},
                                   {"szgpu", quoted(szgpu_version())},
                                   {"cpu_threads", number(arguments.threads)},
                                   {"runs", number(arguments.runs)},
                                   {"host_runs", number(arguments.host_runs)},
                                   {"rows", array(rows)}});
  if (!arguments.json.empty()) {
    FILE *const file = fopen(arguments.json.c_str(), "w");
    if (!file || fprintf(file, "%s\n", text.c_str()) < 0 || fclose(file) != 0)
      die("cannot write " + arguments.json);
  }
  return is_verified ? 0 : 1;
}
