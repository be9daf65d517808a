/* test_cuda_mapping.cu - values are widened and narrowed on the GPU as on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda/cuda_test.cuh"
#include "values/mapping.h"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;

namespace {

constexpr szgpu_dtype kTypes[] = {SZGPU_U8,  SZGPU_I8,   SZGPU_U16, SZGPU_I16,
                                  SZGPU_F16, SZGPU_BF16, SZGPU_I32};
constexpr size_t kGuard = 64; /* bytes behind an output that must stay as they are */

/* Bytes of values behind `misplaced` bytes that belong to none. */
std::vector<uint8_t> placed_at(size_t misplaced, const std::vector<uint8_t> &bytes) {
  std::vector<uint8_t> placed(misplaced, 0x77);
  placed.insert(placed.end(), bytes.begin(), bytes.end());
  return placed;
}

/* One way of a mapping, on both backends. */
void compare(szgpu_dtype outer, bool is_inward, const std::vector<uint8_t> &from,
             size_t misplaced_values) {
  szg_mapping const mapping = szg_mapping_of(SZGPU_MODE_ABS, outer);
  size_t const from_width = szg_dtype_bytes(is_inward ? outer : mapping.inner);
  size_t const to_width = szg_dtype_bytes(is_inward ? mapping.inner : outer);
  size_t const count = from.size() / from_width;
  std::vector<uint8_t> expected(count * to_width + kGuard, 0xA5);
  if (is_inward)
    szg_values_to_inner(&mapping, from.data(), count, expected.data());
  else
    szg_values_to_outer(&mapping, from.data(), count, expected.data());
  size_t const misplaced = misplaced_values * from_width;
  DeviceArray<uint8_t> const input(placed_at(misplaced, from));
  size_t const to_misplaced = misplaced_values * to_width;
  DeviceArray<uint8_t> const output(to_misplaced + expected.size());
  const uint8_t *const input_at = input.data() + misplaced;
  uint8_t *const output_at = output.data() + to_misplaced;
  MUST(is_inward
           ? szg_values_to_inner_cuda(&mapping, input_at, count, output_at, NULL, cuda_test::stream)
           : szg_values_to_outer_cuda(&mapping, input_at, count, output_at, cuda_test::stream));
  std::vector<uint8_t> const found = output.host();
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < expected.size(); i++)
    if (found[to_misplaced + i] != expected[i] && wrong++ == 0) first = i;
  CHECK(wrong == 0, "type %d, %s, %zu values, misplaced by %zu: %zu bytes, from value %zu on",
        (int)outer, is_inward ? "inward" : "outward", count, misplaced_values, wrong,
        first / to_width);
}

std::vector<uint8_t> random_bytes(size_t byte_count) {
  std::vector<uint8_t> bytes(byte_count);
  for (uint8_t &byte : bytes) byte = (uint8_t)random_bits();
  return bytes;
}

void every_length_and_place() {
  static const size_t counts[] = {1, 2, 3, 4, 5, 31, 32, 33, 257, 1025, 4099, 100003};
  for (szgpu_dtype const outer : kTypes)
    for (size_t const count : counts)
      for (size_t misplaced = 0; misplaced < 5; misplaced++) {
        szg_mapping const mapping = szg_mapping_of(SZGPU_MODE_ABS, outer);
        compare(outer, true, random_bytes(count * szg_dtype_bytes(outer)), misplaced);
        compare(outer, false, random_bytes(count * szg_dtype_bytes(mapping.inner)), misplaced);
      }
}

/* All values of two bytes, and inner values at and beside every middle between two. */
void every_value_and_every_tie() {
  for (szgpu_dtype const outer : kTypes) {
    szg_mapping const mapping = szg_mapping_of(SZGPU_MODE_ABS, outer);
    size_t const width = szg_dtype_bytes(outer), inner_width = szg_dtype_bytes(mapping.inner);
    std::vector<uint8_t> all(65536 * width);
    for (uint32_t i = 0; i < 65536; i++) {
      uint32_t const bits = width == 4 ? i * 65537u : i;
      memcpy(&all[i * width], &bits, width);
    }
    compare(outer, true, all, 0);
    std::vector<uint8_t> ties;
    for (uint32_t i = 0; i < 65536; i++) {
      uint64_t bits = 0;
      szg_values_to_inner(&mapping, &all[i * width], 1, &bits);
      double number;
      float single;
      memcpy(&number, &bits, sizeof number);
      memcpy(&single, &bits, sizeof single);
      for (int beside = -1; beside <= 1; beside++) {
        double const tie = number + 0.5;
        float const single_tie = single + 0.5f;
        uint64_t at = 0;
        bool const is_half = outer == SZGPU_F16 || outer == SZGPU_BF16;
        if (is_half) at = bits + (outer == SZGPU_F16 ? 1u << 12 : 1u << 15);
        if (!is_half && inner_width == 8) memcpy(&at, &tie, sizeof tie);
        if (!is_half && inner_width == 4) memcpy(&at, &single_tie, sizeof single_tie);
        at += (uint64_t)(int64_t)beside;
        ties.insert(ties.end(), (uint8_t *)&at, (uint8_t *)&at + inner_width);
      }
    }
    compare(outer, false, ties, 0);
  }
}

} // namespace

int main() {
  cuda_test::begin();
  every_length_and_place();
  every_value_and_every_tie();
  return cuda_test::end();
}
