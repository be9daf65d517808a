/* bench_hierarchical.cu - times DFloat11's form of bf16 weights: exponents from chained tables.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_decoders hierarchical [--weights COUNT] [--runs N] [--json FILE]
 *
 * The form is that of T. Zhang et al., "70% Size, 100% Accuracy: Lossless LLM Compression for
 * Efficient GPU Inference via Dynamic-Length Float", 2025. COUNT (2^27) weights of bf16 from N(0,
 * 0.02) are made on the device from fixed random numbers. One kernel decodes the stream, with gaps
 * of 4 or 5 bits, to bf16 weights or to the exponents alone. Times are medians of N runs (20 or
 * more) by events in the stream, after 3 that do not count, with everything in device memory. GB/s
 * are 10^9 bytes of output. Outputs are poisoned before each run and compared after it.
 */
#include "bench_hierarchical.cuh"

#include "bench_decoders.h"
#include "bench_json.cuh"
#include "bench_weights.cuh"

namespace {

std::string json_of(const HierarchicalRow &row) {
  double const bytes = (double)row.value_bytes;
  return object({{"output", quoted(row.output)},
                 {"gap_bits", number((uint64_t)row.gap_bits)},
                 {"value_bytes", number(row.value_bytes)},
                 {"coded_bytes", number(row.coded_bytes)},
                 {"ratio", number(bytes / (double)row.coded_bytes)},
                 {"bits_per_exponent", number(row.bits_of_code)},
                 {"median_ms", number(row.times.median)},
                 {"min_ms", number(row.times.least)},
                 {"max_ms", number(row.times.greatest)},
                 {"gb_per_s", number(gb_per_second(bytes, row.times.median))},
                 {"verified", truth(row.is_verified)}});
}

void print_row(const HierarchicalRow &row) {
  double const bytes = (double)row.value_bytes;
  printf(
      "%-10s gaps of %u bits, ratio %.4f, %.3f bits an exponent: %.4f ms (%.4f to %.4f) %.1f "
      "GB/s%s\n",
      row.output.c_str(), row.gap_bits, bytes / (double)row.coded_bytes, row.bits_of_code,
      row.times.median, row.times.least, row.times.greatest, gb_per_second(bytes, row.times.median),
      row.is_verified ? "" : " NOT VERIFIED");
}

std::vector<uint16_t> weights_on_host(uint64_t count, cudaStream_t stream) {
  Memory const memory(Where::kDevice, 2 * count);
  make_weights<Bf16>(memory, count, stream);
  std::vector<uint16_t> weights(count);
  must_cuda(cudaMemcpy(weights.data(), memory.bytes(), 2 * count, cudaMemcpyDefault));
  return weights;
}

} // namespace

int szg_bench_hierarchical(int argc, char **argv) {
  uint64_t count = (uint64_t)1 << 27;
  int runs = 20;
  std::string json;
  for (int i = 1; i < argc; i += 2) {
    std::string const name = argv[i];
    if (i + 1 == argc) die(name + " needs a value");
    if (name == "--weights")
      count = strtoull(argv[i + 1], nullptr, 10);
    else if (name == "--runs")
      runs = atoi(argv[i + 1]);
    else if (name == "--json")
      json = argv[i + 1];
    else
      die("what is " + name + "?");
  }
  if (runs < 20) die("at least 20 runs");
  if (count < 8) die("at least 8 weights");
  cudaStream_t stream;
  must_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Machine const machine = look_at_machine(stream);
  std::vector<HierarchicalRow> const rows =
      HierarchicalBench(weights_on_host(count, stream), runs, stream).measure();
  std::vector<std::string> items;
  bool is_verified = true;
  for (const HierarchicalRow &row : rows) {
    print_row(row);
    items.push_back(json_of(row));
    is_verified = is_verified && row.is_verified;
  }
  if (!json.empty()) {
    FILE *const file = fopen(json.c_str(), "w");
    if (!file) die("cannot write " + json);
    std::string const text = object({{"bench", quoted("hierarchical")},
                                     {"gpu", quoted(machine.gpu)},
                                     {"cuda_runtime", quoted(machine.runtime)},
                                     {"cuda_driver", quoted(machine.driver)},
                                     {"copy_gb_per_s", number(machine.copy_gb_per_second)},
                                     {"weights", number(count)},
                                     {"rows", array(items)}});
    if (fprintf(file, "%s\n", text.c_str()) < 0 || fclose(file) != 0) die("cannot write " + json);
  }
  must_cuda(cudaStreamDestroy(stream));
  return is_verified ? 0 : 1;
}
