/* test_cuda_rle.cu - masks coded and decoded by a block, against the CPU's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rle/rle.cuh"

#include "cuda/cuda_test.cuh"
#include "rle/rle.h"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::stream;

namespace {

typedef std::vector<uint8_t> Bytes;

constexpr uint32_t kMostBytes = UINT16_MAX; /* the largest count that a tile can have */

struct MaskCase {
  uint32_t value_count, distance;
  Bytes bytes;                       /* coded */
  uint32_t words[szg::kMaskThreads]; /* not coded */
};

struct DeviceMask { /* a case in the form for kernels */
  uint32_t value_count, distance, byte_count, first_byte;
  uint32_t words[szg::kMaskThreads];
  uint32_t is_good;
};

constexpr unsigned kBlocks = 64; /* each codes many masks, in the same storage */

__global__ void __launch_bounds__(szg::kMaskThreads)
    masks_encode_kernel(DeviceMask *masks, uint32_t mask_count, uint8_t *bytes) {
  __shared__ szg::MaskStorage storage;
  for (uint32_t i = blockIdx.x; i < mask_count; i += gridDim.x) {
    DeviceMask &mask = masks[i];
    szg::MaskCode const code =
        szg::mask_code(mask.words[threadIdx.x], mask.value_count, mask.distance, storage);
    szg::mask_write(code, bytes + mask.first_byte);
    if (threadIdx.x == 0) mask.byte_count = code.byte_count;
  }
}

__global__ void __launch_bounds__(szg::kMaskThreads)
    masks_decode_kernel(DeviceMask *masks, uint32_t mask_count, const uint8_t *bytes) {
  __shared__ szg::MaskStorage storage;
  for (uint32_t i = blockIdx.x; i < mask_count; i += gridDim.x) {
    DeviceMask &mask = masks[i];
    uint32_t word;
    bool const is_good = szg::mask_decode(bytes + mask.first_byte, mask.byte_count,
                                          mask.value_count, mask.distance, &word, storage);
    mask.words[threadIdx.x] = word;
    if (threadIdx.x == 0) mask.is_good = is_good;
  }
}

std::vector<DeviceMask> device_masks(const std::vector<MaskCase> &cases, bool is_coded) {
  std::vector<DeviceMask> masks(cases.size());
  uint32_t first_byte = 0;
  for (size_t i = 0; i < cases.size(); i++) {
    DeviceMask &mask = masks[i];
    memset(&mask, 0xA5, sizeof mask);
    mask.value_count = cases[i].value_count;
    mask.distance = cases[i].distance;
    mask.first_byte = first_byte;
    if (is_coded) mask.byte_count = (uint32_t)cases[i].bytes.size();
    if (!is_coded) memcpy(mask.words, cases[i].words, sizeof mask.words);
    first_byte += (uint32_t)cases[i].bytes.size();
  }
  return masks;
}

Bytes joined(const std::vector<MaskCase> &cases) {
  Bytes all;
  for (const MaskCase &c : cases) all.insert(all.end(), c.bytes.begin(), c.bytes.end());
  return all;
}

void pack(const uint8_t *mask, uint32_t value_count, uint32_t *words) {
  memset(words, 0, SZG_TILE_VALUES / 8);
  for (uint32_t i = 0; i < value_count; i++) words[i / 32] |= (uint32_t)mask[i] << i % 32;
}

void check_encoding(const std::vector<MaskCase> &cases) {
  DeviceArray<DeviceMask> masks(device_masks(cases, false));
  Bytes const expected = joined(cases);
  DeviceArray<uint8_t> bytes(expected.size());
  masks_encode_kernel<<<kBlocks, szg::kMaskThreads, 0, stream>>>(
      masks.data(), (uint32_t)cases.size(), bytes.data());
  MUST(cudaPeekAtLastError());
  std::vector<DeviceMask> const found = masks.host();
  for (size_t i = 0; i < cases.size(); i++)
    CHECK(found[i].byte_count == cases[i].bytes.size(), "case %zu: %u bytes of %u values, by %u", i,
          found[i].byte_count, cases[i].value_count, cases[i].distance);
  CHECK(bytes.host() == expected, "%zu masks", cases.size());
}

void check_decoding(const std::vector<MaskCase> &cases) {
  DeviceArray<DeviceMask> masks(device_masks(cases, true));
  DeviceArray<uint8_t> const bytes(joined(cases));
  masks_decode_kernel<<<kBlocks, szg::kMaskThreads, 0, stream>>>(
      masks.data(), (uint32_t)cases.size(), bytes.data());
  MUST(cudaPeekAtLastError());
  std::vector<DeviceMask> const found = masks.host();
  for (size_t i = 0; i < cases.size(); i++) {
    const MaskCase &c = cases[i];
    uint8_t decoded[SZG_TILE_VALUES];
    uint32_t words[szg::kMaskThreads];
    bool const is_good =
        szg_mask_decode(c.bytes.data(), c.bytes.size(), c.value_count, c.distance, decoded);
    CHECK((found[i].is_good != 0) == is_good, "case %zu: %zu bytes for %u values", i,
          c.bytes.size(), c.value_count);
    if (!is_good) continue;
    pack(decoded, c.value_count, words);
    CHECK(memcmp(found[i].words, words, sizeof words) == 0, "case %zu: %u values, by %u", i,
          c.value_count, c.distance);
  }
}

MaskCase coded(Bytes mask, uint32_t distance) {
  MaskCase c = {(uint32_t)mask.size(), distance, Bytes(SZG_MASK_MAX_BYTES), {}};
  pack(mask.data(), c.value_count, c.words);
  c.bytes.resize(szg_mask_encode(mask.data(), c.value_count, distance, c.bytes.data()));
  return c;
}

/* Runs of `run` values, or of 1 to `run`. With a distance, planes may be nearly alike. */
Bytes mask_of_runs(uint32_t value_count, uint32_t distance, uint32_t run, bool is_random) {
  Bytes mask(value_count);
  uint8_t symbol = (uint8_t)random_below(2);
  for (uint32_t i = 0; i < value_count; symbol ^= 1)
    for (uint64_t left = is_random ? 1 + random_below(run) : run; left && i < value_count; left--)
      mask[i++] = symbol;
  if (distance && random_below(2))
    for (uint32_t i = distance; i < value_count; i++)
      mask[i] = (uint8_t)(mask[i - distance] ^ (random_below(300) == 0));
  return mask;
}

void masks_are_coded_and_decoded_as_on_the_cpu() {
  std::vector<MaskCase> cases;
  for (uint32_t count : {1, 2, 31, 32, 33, 127, 255, 256, 257, 511, 1021, 2047, 2049, 4095, 4096})
    for (uint32_t distance : {0, 1, 5, 31, 32, 33, 64, 96, 256, 2048, 4096})
      for (uint32_t run : {1, 2, 33, 254, 255, 256, 510, 4096})
        for (bool is_random : {false, true})
          cases.push_back(coded(mask_of_runs(count, distance, run, is_random), distance));
  check_encoding(cases);
  check_decoding(cases);
}

void arbitrary_bytes_are_refused_as_on_the_cpu() {
  std::vector<MaskCase> cases;
  for (int round = 0; round < 2000; round++) {
    uint32_t const count = 1 + (uint32_t)random_below(SZG_TILE_VALUES);
    MaskCase c = {count, (uint32_t)random_below(2) * (1 + (uint32_t)random_below(count)), {}, {}};
    uint64_t const byte_count = random_below((uint64_t)1 << random_below(13)),
                   shift = random_below(9);
    for (uint64_t i = 0; i < byte_count; i++)
      c.bytes.push_back(random_below(50) ? (uint8_t)((uint8_t)random_bits() >> shift) : 255);
    cases.push_back(c);
  }
  uint32_t const full = SZG_TILE_VALUES;
  for (uint32_t last : {0, 1, 2}) { /* 16 * 255 + 15 values, then up to the end and beyond */
    Bytes bytes(16, 255);
    bytes.push_back(15);
    bytes.push_back((uint8_t)last);
    cases.push_back({full, 0, bytes, {}});
    cases.push_back({full, 256, bytes, {}});
  }
  for (uint32_t byte_count : {0u, (uint32_t)SZG_MASK_MAX_BYTES, kMostBytes})
    for (uint8_t byte : {0, 1, 255}) cases.push_back({full, 0, Bytes(byte_count, byte), {}});
  check_decoding(cases);
}

} // namespace

int main() {
  cuda_test::begin();
  masks_are_coded_and_decoded_as_on_the_cpu();
  arbitrary_bytes_are_refused_as_on_the_cpu();
  return cuda_test::end();
}
