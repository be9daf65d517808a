/* test_cuda_histogram.cu - counts of codes on a GPU, against the CPU's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/huffman.h"

#include "cuda/cuda_test.cuh"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::stream;

namespace {

constexpr uint32_t kGuardCounts = 16; /* after the counts; must not change */

/* How codes are drawn. */
enum Kind {
  PEAKED,  /* around delta 0, as fields have them */
  UNIFORM, /* all symbols equally likely */
  MIDDLE,  /* delta 0 only */
  ESCAPES, /* escapes only */
  LAST,    /* the last symbol only */
  BORDERS, /* the ends of the book and of a window of 4096 symbols around its middle */
  MIXED,   /* half escapes, half around delta 0 */
  KIND_COUNT
};
const char *const kind_names[KIND_COUNT] = {"peaked", "uniform", "middle", "escapes",
                                            "last",   "borders", "mixed"};

uint16_t peaked_symbol(uint32_t radius) {
  int64_t const root = __builtin_ctzll(random_bits() | (uint64_t)1 << 40);
  int64_t const delta = random_below(2) ? root * root : -root * root;
  int64_t const symbol = (int64_t)radius + delta;
  return (uint16_t)(symbol < 0 ? 0 : symbol >= 2 * (int64_t)radius ? 2 * radius - 1 : symbol);
}

uint16_t border_symbol(uint32_t radius) {
  int64_t const window = radius < 2048 ? radius : 2048;
  int64_t const borders[] = {0, radius - window, radius + window, 2 * (int64_t)radius};
  int64_t const symbol = borders[random_below(4)] + (int64_t)random_below(4) - 2;
  return (uint16_t)(symbol < 0 ? 1 : symbol >= 2 * (int64_t)radius ? 2 * radius - 2 : symbol);
}

uint16_t symbol_of_kind(Kind kind, uint32_t radius) {
  switch (kind) {
    case PEAKED:
      return peaked_symbol(radius);
    case UNIFORM:
      return (uint16_t)random_below(2 * (uint64_t)radius);
    case MIDDLE:
      return (uint16_t)radius;
    case LAST:
      return (uint16_t)(2 * radius - 1);
    case BORDERS:
      return border_symbol(radius);
    case MIXED:
      return random_below(2) ? peaked_symbol(radius) : (uint16_t)SZG_ESCAPE_SYMBOL;
    default:
      return SZG_ESCAPE_SYMBOL;
  }
}

std::vector<uint16_t> make_codes(Kind kind, uint32_t radius, uint64_t code_count) {
  std::vector<uint16_t> codes(code_count);
  for (uint16_t &code : codes) code = symbol_of_kind(kind, radius);
  return codes;
}

/* Adds what the CPU counts. */
void add_on_host(std::vector<uint16_t> const &codes, uint32_t symbol_count,
                 std::vector<uint64_t> *counts) {
  std::vector<uint32_t> tables(SZG_HISTOGRAM_COPIES * (size_t)symbol_count);
  szg_histogram_add(codes.data(), codes.size(), symbol_count, tables.data());
  for (size_t i = 0; i < tables.size(); i++) (*counts)[i % symbol_count] += tables[i];
}

/* Adds to counts that are not 0, some of them beyond 32 bits; runs twice on the same buffers. */
void counts_as_the_cpu(Kind kind, uint32_t radius, uint64_t code_count) {
  uint32_t const symbol_count = 2 * radius;
  std::vector<uint16_t> const codes = make_codes(kind, radius, code_count);
  std::vector<uint64_t> expected(symbol_count + kGuardCounts);
  for (uint64_t &count : expected) count = random_bits() >> (8 + random_below(50));
  DeviceArray<uint16_t> const device_codes(codes);
  DeviceArray<uint32_t> const device_radius(std::vector<uint32_t>{radius});
  DeviceArray<uint64_t> const device_counts(expected);
  for (int turn = 0; turn < 2; turn++) {
    MUST(szg_histogram_cuda(device_codes.data(), code_count, device_radius.data(),
                            device_counts.data(), stream));
    add_on_host(codes, symbol_count, &expected);
    std::vector<uint64_t> const found = device_counts.host();
    size_t wrong = 0;
    while (wrong < expected.size() && found[wrong] == expected[wrong]) wrong++;
    CHECK(wrong == expected.size(),
          "%s, radius %u, %llu codes, turn %d: count %zu is %llu and not %llu", kind_names[kind],
          radius, (unsigned long long)code_count, turn, wrong, (unsigned long long)found[wrong],
          (unsigned long long)expected[wrong]);
  }
}

void counts_five_codes_as_a_hand_does() {
  DeviceArray<uint16_t> const codes(std::vector<uint16_t>{3, 0, 2, 3, 3});
  DeviceArray<uint32_t> const radius(std::vector<uint32_t>{2});
  DeviceArray<uint64_t> const counts(std::vector<uint64_t>{0, 0, 0, 0, 77});
  MUST(szg_histogram_cuda(codes.data(), 5, radius.data(), counts.data(), stream));
  CHECK((counts.host() == std::vector<uint64_t>{1, 0, 1, 3, 77}), "of 3 0 2 3 3");
}

void counts_any_number_of_codes() {
  uint64_t const code_counts[] = {1,   2,    7,    8,    9,    15,   16,   17,   31,    32,    33,
                                  255, 2047, 2048, 2049, 4093, 4095, 4096, 4097, 65537, 300007};
  uint32_t const radii[] = {512, 32768};
  for (uint32_t const radius : radii)
    for (uint64_t const code_count : code_counts) counts_as_the_cpu(PEAKED, radius, code_count);
}

void counts_codes_of_any_kind() {
  uint32_t const radii[] = {2, 3, 100, 512, 2047, 2048, 2049, 8192, 32767, 32768};
  for (uint32_t const radius : radii)
    for (int kind = 0; kind < KIND_COUNT; kind++) counts_as_the_cpu((Kind)kind, radius, 70001);
}

void counts_large_fields() {
  uint64_t const code_count = ((uint64_t)1 << 24) + 5; /* several rounds for each block */
  counts_as_the_cpu(PEAKED, 512, code_count);
  counts_as_the_cpu(MIDDLE, 512, code_count);
  counts_as_the_cpu(ESCAPES, 32768, code_count);
}

void counts_nothing() {
  DeviceArray<uint16_t> const codes(1);
  DeviceArray<uint32_t> const radius(std::vector<uint32_t>{512});
  DeviceArray<uint64_t> const counts(std::vector<uint64_t>(1024, 5));
  MUST(szg_histogram_cuda(codes.data(), 0, radius.data(), counts.data(), stream));
  CHECK(counts.host() == std::vector<uint64_t>(1024, 5), "of no codes");
}

} // namespace

int main() {
  cuda_test::begin();
  counts_five_codes_as_a_hand_does();
  counts_nothing();
  counts_any_number_of_codes();
  counts_codes_of_any_kind();
  counts_large_fields();
  return cuda_test::end();
}
