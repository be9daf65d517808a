/* bench_sweep.cu - times self-synchronization by subsequence, block size and phase.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_decoders sweep [--runs N] [--run-ups BITS[,BITS...]] [--json FILE]
 *                        [-e BOUND[,BOUND...] FIELD...] [--bytes FILE]...
 *
 * Repeats the sweep of J. Lim and S. Kaushik, "Parallel Huffman Decoding", 2022, with subsequences
 * of 256 to 8192 bits and 32 to 1024 threads per block. FIELD is named as for bench_stages; bounds
 * are relative; in a file of bytes each byte is a symbol. Times are medians of N runs (20 or more)
 * after 3 that do not count, by events in the stream before, between and after the phases, with
 * everything in device memory and the book's tables made before. GB/s are 10^9 bytes of codes: 2
 * per code, or 1 for a file of bytes. Every run is verified, and outputs are poisoned before it.
 */
#include "bench_decoders.h"
#include "bench_streams.cuh"
#include "huffman/decoders/self_sync.h"

namespace {

constexpr int kPhases = 4;

struct Row {
  szg_self_sync_options_cuda options;
  uint32_t code_bytes;
  Times phases[kPhases], whole;
  uint64_t work_bytes;
  bool is_unsettled, is_verified;
};

class Case {
 public:
  Case(const Stream &s, int runs, cudaStream_t stream)
      : s_(s), runs_(runs), stream_(stream), device_(s, stream) {
    for (cudaEvent_t &event : events_) must_cuda(cudaEventCreate(&event));
  }
  ~Case() {
    for (cudaEvent_t const event : events_) cudaEventDestroy(event);
  }
  Case(const Case &) = delete;
  Case &operator=(const Case &) = delete;

  Row measure(const szg_self_sync_options_cuda &options) {
    Carved<szg_self_sync_decoder_cuda> const decoder(
        [&](szg_arena *arena, szg_self_sync_decoder_cuda *work) {
          return szg_self_sync_carve_cuda(arena, &options, s_.words.size(), work);
        });
    Row row = {};
    row.options = options;
    row.code_bytes = s_.are_bytes ? 1 : 2;
    row.work_bytes = decoder.byte_count();
    Checker checker(stream_);
    std::vector<double> milliseconds[kPhases], whole;
    for (int run = -kWarmUps; run < runs_; run++) {
      device_.poison(stream_);
      decode(decoder.work, row.code_bytes);
      must_cuda(cudaStreamSynchronize(stream_));
      device_.check(&checker, s_, row.code_bytes);
      if (run < 0) continue;
      for (int phase = 0; phase < kPhases; phase++)
        milliseconds[phase].push_back(between(phase, phase + 1));
      whole.push_back(between(0, kPhases));
    }
    for (int phase = 0; phase < kPhases; phase++) row.phases[phase] = times_of(milliseconds[phase]);
    row.whole = times_of(whole);
    uint32_t is_unsettled = 0;
    must_cuda(cudaMemcpy(&is_unsettled, decoder.work.is_unsettled, sizeof is_unsettled,
                         cudaMemcpyDeviceToHost));
    row.is_unsettled = is_unsettled != 0;
    row.is_verified = checker.is_verified();
    return row;
  }

 private:
  void mark(int event) { must_cuda(cudaEventRecord(events_[event], stream_)); }
  double between(int first, int second) {
    float taken = 0.0f;
    must_cuda(cudaEventElapsedTime(&taken, events_[first], events_[second]));
    return taken;
  }
  void decode(const szg_self_sync_decoder_cuda &decoder, uint32_t code_bytes) {
    const szg_decode_book_cuda *const book = device_.device_book();
    szg_verdict *const verdict = device_.device_verdict();
    mark(0);
    must_succeed(szg_self_sync_guess_cuda(&decoder, book, &device_.input, verdict, stream_));
    mark(1);
    must_succeed(szg_self_sync_agree_cuda(&decoder, book, &device_.input, verdict, stream_));
    mark(2);
    must_succeed(szg_self_sync_place_cuda(&decoder, &device_.input, verdict, stream_));
    mark(3);
    must_succeed(szg_self_sync_write_cuda(&decoder, book, s_.symbol_count, &device_.input,
                                          code_bytes, device_.decoded.bytes(), verdict, stream_));
    mark(4);
  }

  const Stream &s_;
  int runs_;
  cudaStream_t stream_;
  DeviceStream device_;
  cudaEvent_t events_[kPhases + 1];
};

std::string json_of(const Stream &s, const Row &row) {
  static const char *const names[kPhases] = {"guess_ms", "agree_ms", "place_ms", "write_ms"};
  Members members = stream_members(s);
  members.push_back({"subsequence_bits", number((uint64_t)row.options.subsequence_bits)});
  members.push_back({"block_threads", number((uint64_t)row.options.block_threads)});
  members.push_back({"run_up_bits", number((uint64_t)row.options.run_up_bits)});
  members.push_back({"code_bytes", number((uint64_t)row.code_bytes)});
  members.push_back({"work_bytes", number(row.work_bytes)});
  for (int phase = 0; phase < kPhases; phase++)
    members.push_back({names[phase], number(row.phases[phase].median)});
  double const bytes = (double)s.code_count * row.code_bytes;
  members.push_back({"median_ms", number(row.whole.median)});
  members.push_back({"min_ms", number(row.whole.least)});
  members.push_back({"max_ms", number(row.whole.greatest)});
  members.push_back({"gb_per_s", number(gb_per_second(bytes, row.whole.median))});
  members.push_back({"maps", truth(row.is_unsettled)});
  members.push_back({"verified", truth(row.is_verified)});
  return object(members);
}

void print_row(const Stream &s, const Row &row) {
  printf("  %4u x %4u, run-up %3u: %8.3f ms (%.3f to %.3f) %7.1f GB/s,",
         row.options.subsequence_bits, row.options.block_threads, row.options.run_up_bits,
         row.whole.median, row.whole.least, row.whole.greatest,
         gb_per_second((double)s.code_count * row.code_bytes, row.whole.median));
  for (const Times &phase : row.phases) printf(" %.3f", phase.median);
  printf("%s%s\n", row.is_unsettled ? ", by maps" : "", row.is_verified ? "" : ", NOT VERIFIED");
  fflush(stdout);
}

} // namespace

int szg_bench_sweep(int argc, char **argv) {
  Arguments const arguments = parse_arguments(argc, argv);
  cudaStream_t stream;
  must_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Machine const machine = look_at_machine(stream);
  printf("%s, copies %.0f GB/s\n", machine.gpu.c_str(), machine.copy_gb_per_second);
  std::vector<std::string> rows;
  bool is_verified = true;
  for_streams(arguments, [&](const Stream &s) {
    printf("%s %g: %.3f bits a code; all phases, then each\n", s.name.c_str(), s.bound,
           s.bits_per_code());
    Case c(s, arguments.runs, stream);
    for (uint32_t run_up : arguments.run_ups)
      for (uint32_t bits = SZG_SELF_SYNC_LEAST_BITS; bits <= SZG_SELF_SYNC_MOST_BITS; bits *= 2)
        for (uint32_t threads = SZG_SELF_SYNC_LEAST_THREADS; threads <= SZG_SELF_SYNC_MOST_THREADS;
             threads *= 2) {
          Row const row = c.measure({bits, threads, run_up});
          print_row(s, row);
          rows.push_back(json_of(s, row));
          is_verified &= row.is_verified;
        }
    write_rows("sweep", arguments, machine, rows);
  });
  must_cuda(cudaStreamDestroy(stream));
  return is_verified ? 0 : 1;
}
