/* bench_runs.cuh - the data of bench_run_length, and its results as text.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BENCH_RUNS_CUH
#define SZG_BENCH_RUNS_CUH

#include <cmath>

#include "bench_json.cuh"
#include "bench_support.cuh"

namespace {

/* ---- data ---- */

/* splitmix64 */
inline uint64_t random_bits(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* A product of waves: smooth, and flat in places. */
class Plane {
 public:
  static constexpr size_t kRow = 4096;
  explicit Plane(size_t value_count) : along_(kRow), across_(value_count / kRow + 1) {
    for (size_t x = 0; x < kRow; x++) along_[x] = std::sin(0.011 * (double)x);
    for (size_t y = 0; y < across_.size(); y++)
      across_[y] = std::sin(0.007 * (double)y + 1.0) + 0.2 * std::sin(0.15 * (double)y);
  }
  double at(size_t i) const { return along_[i % kRow] * across_[i / kRow]; }

 private:
  std::vector<double> along_, across_;
};

/* Codes below 1,024 of a plane, quantized and predicted from its neighbours. */
template <class Symbol>
void fill_codes(std::vector<Symbol> *symbols) {
  constexpr double kSteps = 300.0; /* per wave height */
  constexpr int32_t kMiddle = 512;
  Plane const plane(symbols->size());
  std::vector<int32_t> upper(Plane::kRow); /* the last row's step in each column */
  int32_t left = 0, corner = 0;
  for (size_t i = 0; i < symbols->size(); i++) {
    size_t const x = i % Plane::kRow;
    if (x == 0) left = corner = 0;
    int32_t const step = (int32_t)std::lround(kSteps * plane.at(i));
    (*symbols)[i] = (Symbol)(step - left - upper[x] + corner + kMiddle);
    corner = upper[x];
    upper[x] = left = step;
  }
}

/* data: a kind of data listed in bench_run_length.cu. */
template <class Symbol>
std::vector<Symbol> make_symbols(const std::string &data, size_t count) {
  std::vector<Symbol> symbols(count);
  uint64_t state = 20261122;
  if (data == "random")
    for (Symbol &symbol : symbols) symbol = (Symbol)random_bits(&state);
  if (data == "runs")
    for (size_t i = 0; i < count;) {
      uint64_t const bits = random_bits(&state);
      for (uint64_t left = 1 + bits % 16; left > 0 && i < count; left--)
        symbols[i++] = (Symbol)(bits >> 8);
    }
  if (data == "mask") {
    Plane const plane(count);
    for (size_t i = 0; i < count; i++) symbols[i] = plane.at(i) > 0.3;
  }
  if (data == "codes") fill_codes(&symbols);
  return symbols;
}

/* ---- results ---- */

struct Row {
  std::string data, way;
  uint64_t symbol_count, symbol_bytes, run_count;
  bool is_verified;
  Times times;
  double serial_milliseconds; /* time of the serial coder on the CPU */
};

inline double moved_bytes(const Row &row) {
  return (double)(row.symbol_count * row.symbol_bytes) +
         (double)(row.run_count * (4 + row.symbol_bytes));
}

inline std::string json_of(const Row &row) {
  double const bytes = (double)(row.symbol_count * row.symbol_bytes);
  return object({{"data", quoted(row.data)},
                 {"way", quoted(row.way)},
                 {"symbols", number(row.symbol_count)},
                 {"symbol_bytes", number(row.symbol_bytes)},
                 {"runs", number(row.run_count)},
                 {"median_ms", number(row.times.median)},
                 {"min_ms", number(row.times.least)},
                 {"max_ms", number(row.times.greatest)},
                 {"gb_per_s", number(gb_per_second(bytes, row.times.median))},
                 {"moved_gb_per_s", number(gb_per_second(moved_bytes(row), row.times.median))},
                 {"over_serial", number(row.serial_milliseconds / row.times.median)},
                 {"verified", truth(row.is_verified)}});
}

inline void print_row(const Row &row) {
  double const bytes = (double)(row.symbol_count * row.symbol_bytes);
  printf("%-7s %10llu u%llu %10llu runs  %-15s %9.4f ms (%.4f to %.4f) %8.1f GB/s, moved %7.1f%s\n",
         row.data.c_str(), (unsigned long long)row.symbol_count,
         (unsigned long long)row.symbol_bytes * 8, (unsigned long long)row.run_count,
         row.way.c_str(), row.times.median, row.times.least, row.times.greatest,
         gb_per_second(bytes, row.times.median), gb_per_second(moved_bytes(row), row.times.median),
         row.is_verified ? "" : " NOT VERIFIED");
  fflush(stdout);
}

} // namespace

#endif
