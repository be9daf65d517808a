/* test_cuda_checksum.cu - checksums verified and sealed on a GPU, against libxxhash and the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <xxhash.h>

#include <algorithm>

#include "container/checksum.h"
#include "container/container.h"
#include "cuda/cuda_test.cuh"

using namespace cuda_test;

namespace {

constexpr uint64_t kBlock = SZG_CHECKSUM_BLOCK_BYTES;
szg_summed_leaves const no_sums = {};
constexpr uint64_t kPoison = 0xA5A5A5A5A5A5A5A5u;
constexpr uint32_t kMostRanges = SZG_SECTION_KIND_COUNT;

struct Stretch {
  uint64_t start, byte_count;
};

std::vector<uint8_t> random_bytes(uint64_t byte_count) {
  std::vector<uint8_t> bytes(byte_count);
  for (uint64_t i = 0; i < byte_count; i += sizeof(uint64_t)) {
    uint64_t const word = random_bits();
    memcpy(&bytes[i], &word, std::min<uint64_t>(sizeof word, byte_count - i));
  }
  return bytes;
}

std::vector<uint64_t> leaves_of(const uint8_t *bytes, uint64_t byte_count) {
  std::vector<uint64_t> leaves;
  for (uint64_t start = 0; start < byte_count; start += kBlock)
    leaves.push_back(XXH3_64bits(bytes + start, std::min(kBlock, byte_count - start)));
  return leaves;
}

uint64_t root_of(const uint8_t *bytes, uint64_t byte_count) {
  szg_threads threads = {};
  threads.count = 1;
  std::vector<uint64_t> leaves(szg_checksum_leaf_count(byte_count));
  uint64_t root = 0;
  MUST(szg_checksum_tree(&threads, bytes, byte_count, leaves.data(), &root));
  return root;
}

szg_checksum_ranges ranges_of(const uint8_t *device_bytes, const std::vector<Stretch> &stretches) {
  szg_checksum_ranges ranges;
  memset(&ranges, 0xA5, sizeof ranges); /* ranges beyond the count must not matter */
  ranges.count = (uint32_t)stretches.size();
  for (uint32_t i = 0; i < ranges.count; i++) {
    ranges.kinds[i] = i;
    ranges.bytes[i] = device_bytes + stretches[i].start;
    ranges.byte_counts[i] = stretches[i].byte_count;
  }
  return ranges;
}

uint64_t checksum_word(uint32_t section) {
  return (SZG_FRAME_HEADER_BYTES + (section + 1) * SZG_SECTION_ENTRY_BYTES) / 8 - 1;
}

/* Checks the trees over some stretches of the bytes: every root, and that nothing is written beyond
 * the memory of the leaves. */
void check_trees(const std::vector<uint8_t> &bytes, const DeviceArray<uint8_t> &device_bytes,
                 const std::vector<Stretch> &stretches) {
  std::vector<uint64_t> roots;
  size_t leaf_count = 0;
  for (Stretch const &stretch : stretches) {
    std::vector<uint64_t> const leaves = leaves_of(&bytes[stretch.start], stretch.byte_count);
    roots.push_back(XXH3_64bits(leaves.data(), leaves.size() * sizeof(uint64_t)));
    leaf_count += leaves.size();
  }
  DeviceArray<uint64_t> leaves(leaf_count + 1), header(checksum_word(kMostRanges) + 2);
  DeviceArray<uint32_t> ticket(1);
  ticket.zero();
  szg_checksum_ranges const ranges = ranges_of(device_bytes.data(), stretches);
  std::vector<uint8_t> const host_header(header.bytes());
  for (int run = 0; run < 2; run++) { /* the second in memory that the first has used */
    MUST(szg_checksum_seal_cuda(&ranges, &no_sums, nullptr, host_header.data(), leaves.data(),
                                ticket.data(), (uint8_t *)header.data(), stream));
    std::vector<uint64_t> const found = header.host();
    for (uint32_t i = 0; i < roots.size(); i++)
      CHECK(found[checksum_word(i)] == roots[i], "run %d, root %u of %zu, over %llu bytes", run, i,
            stretches.size(), (unsigned long long)stretches[i].byte_count);
    CHECK(leaves.host()[leaf_count] == kPoison, "run %d, beyond %zu leaves", run, leaf_count);
  }
}

/* All sizes, up to 20 per call, at varying starts. The last range of a call ends with the memory,
 * so that compute-sanitizer sees a read beyond it. */
void check_sizes(const std::vector<uint64_t> &sizes) {
  for (size_t first = 0; first < sizes.size(); first += kMostRanges) {
    size_t const end = std::min<size_t>(first + kMostRanges, sizes.size());
    std::vector<Stretch> stretches;
    uint64_t byte_count = 0;
    for (size_t i = first; i < end; i++) {
      byte_count += 16 * random_below(20);
      stretches.push_back({byte_count, sizes[i]});
      byte_count += sizes[i];
    }
    std::vector<uint8_t> const bytes = random_bytes(byte_count);
    DeviceArray<uint8_t> const device_bytes(bytes);
    check_trees(bytes, device_bytes, stretches);
  }
}

void hashes_every_size_to_20_kib() {
  std::vector<uint64_t> sizes;
  for (uint64_t size = 0; size <= 20 * 1024; size += 16) sizes.push_back(size);
  check_sizes(sizes);
}

/* These sizes take all paths of roots: up to 30 leaves are hashed as short input. */
void hashes_sizes_around_whole_leaves() {
  std::vector<uint64_t> sizes;
  for (uint64_t leaf_count = 1; leaf_count <= 40; leaf_count++)
    for (int step = -1; step <= 1; step++) sizes.push_back(leaf_count * kBlock + 16 * step);
  check_sizes(sizes);
}

/* A link of a root's chain is 128 leaves. 16 links are read at once, 4 by each warp, and chaining
 * reads 8 sums at once. */
void hashes_long_ranges() {
  uint64_t const leaf_counts[] = {127,  128,  129,  255,  256,  257,  1023, 1024, 1025,
                                  1152, 1153, 1160, 2048, 2049, 2177, 3841, 8100};
  std::vector<uint8_t> const bytes = random_bytes(8100 * kBlock);
  DeviceArray<uint8_t> const device_bytes(bytes);
  for (uint64_t leaf_count : leaf_counts)
    check_trees(bytes, device_bytes, {{bytes.size() - leaf_count * kBlock, leaf_count * kBlock}});
  check_trees(bytes, device_bytes,
              {{16, 40000000}, {0, 16}, {48, 4000 * kBlock - 16}, {0, 100 * kBlock + 16}});
}

void hashes_empty_ranges_among_others() {
  std::vector<uint8_t> const bytes = random_bytes(1 << 20);
  DeviceArray<uint8_t> const device_bytes(bytes);
  check_trees(bytes, device_bytes, {});
  check_trees(bytes, device_bytes, {{0, 0}});
  check_trees(bytes, device_bytes, std::vector<Stretch>(kMostRanges, {32, 0}));
  check_trees(bytes, device_bytes, {{0, 0}, {0, 16}, {16, 0}, {16, 0}, {16, 100000}, {512, 0}});
  check_trees(bytes, device_bytes, {{0, 16}, {0, 0}, {0, 3 * kBlock}, {0, 0}, {0, kBlock}});
  std::vector<Stretch> stretches;
  for (uint64_t i = 0; i < kMostRanges; i++) stretches.push_back({16 * i, i % 3 * 270000});
  check_trees(bytes, device_bytes, stretches);
  uint64_t const nothing = root_of(bytes.data(), 0);
  CHECK(nothing == 0x2D06800538D394C2u, "%016llx", (unsigned long long)nothing);
}

/* Contents that show a lost carry, a swapped half or a lost word, which noise would hide. */
void hashes_contents_that_are_not_random() {
  uint64_t const byte_count = 3 * kBlock + 1040;
  std::vector<std::vector<uint8_t>> contents(5, std::vector<uint8_t>(byte_count));
  std::fill(contents[1].begin(), contents[1].end(), 0xFF);
  for (uint64_t i = 0; i < byte_count; i++) {
    contents[2][i] = i % 8 < 4 ? 0xFF : 0;
    contents[3][i] = i % 8 < 4 ? 0 : 0xFF;
    contents[4][i] = (uint8_t)(i / 64);
  }
  for (std::vector<uint8_t> const &bytes : contents) {
    DeviceArray<uint8_t> const device_bytes(bytes);
    check_trees(bytes, device_bytes,
                {{0, byte_count}, {16, byte_count - 16}, {32, 240}, {32, 256}, {0, kBlock}});
  }
}

/* ---- Comparison ---- */

struct Comparison {
  szg_checksum_ranges ranges;
  DeviceArray<uint64_t> leaves;
  DeviceArray<szg_verdict> verdict{1};

  Comparison(const szg_checksum_ranges &compared, uint64_t leaf_count)
      : ranges(compared), leaves(leaf_count) {}

  /* Compares, beginning with the verdict `before`, and returns the verdict. */
  szg_verdict compare(szg_verdict before) {
    MUST(cudaMemcpyAsync(verdict.data(), &before, sizeof before, cudaMemcpyHostToDevice, stream));
    MUST(szg_checksum_verify_cuda(&ranges, &no_sums, leaves.data(), verdict.data(), stream));
    return verdict.host()[0];
  }
};

void expect_bad(Comparison *comparison, uint32_t bad_sections, const char *what) {
  szg_verdict const verdict = comparison->compare({0, 0, 0});
  CHECK(verdict.bad_sections == bad_sections, "%s: %x for %x", what, verdict.bad_sections,
        bad_sections);
  CHECK(verdict.bad_data == 0, "%s: %x", what, verdict.bad_data);
  CHECK(verdict.ticket == 0, "%s: %x", what, verdict.ticket);
}

void flip_bit(uint8_t *device_byte, uint64_t bit) {
  uint8_t byte;
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaMemcpy(&byte, device_byte, 1, cudaMemcpyDeviceToHost));
  byte ^= (uint8_t)(1u << bit % 8);
  MUST(cudaMemcpyAsync(device_byte, &byte, 1, cudaMemcpyHostToDevice, stream));
}

void finds_single_bits() {
  std::vector<Stretch> stretches;
  uint64_t byte_count = 0, leaf_count = 0;
  uint64_t const sizes[kMostRanges] = {
      16,           48,          240,   256,         1024,           kBlock,
      1040,         kBlock - 16, 70000, 40 * kBlock, 33 * 4096,      2 * kBlock,
      130 * kBlock, 32,          80,    512,         4096,           kBlock + 16,
      9000,         3 * kBlock,  64,    5 * kBlock,  2048,           16 * 77,
      160,          7 * kBlock,  3008,  48,          9 * kBlock + 32};
  static_assert(sizeof sizes / sizeof *sizes == 29 && kMostRanges == 29, "a size for each kind");
  for (uint64_t size : sizes) {
    stretches.push_back({byte_count, size});
    byte_count += size;
    leaf_count += szg_checksum_leaf_count(size);
  }
  std::vector<uint8_t> const bytes = random_bytes(byte_count);
  DeviceArray<uint8_t> const device_bytes(bytes);
  Comparison comparison(ranges_of(device_bytes.data(), stretches), leaf_count);
  szg_checksum_ranges *const ranges = &comparison.ranges;
  for (uint32_t i = 0; i < kMostRanges; i++) {
    ranges->kinds[i] = (i * 3 + 3) % kMostRanges; /* the bit is of the kind, not the range */
    ranges->expected[i] = root_of(bytes.data() + stretches[i].start, stretches[i].byte_count);
  }
  expect_bad(&comparison, 0, "sound");
  for (int round = 0; round < 8; round++)
    for (uint32_t i = 0; i < kMostRanges; i++) {
      uint64_t const bits = 8 * sizes[i];
      uint64_t const bit = round == 0 ? 0 : round == 1 ? bits - 1 : random_below(bits);
      uint8_t *const byte = device_bytes.data() + stretches[i].start + bit / 8;
      flip_bit(byte, bit);
      expect_bad(&comparison, 1u << ranges->kinds[i], "one bit");
      flip_bit(byte, bit);
    }
  expect_bad(&comparison, 0, "sound again");
}

void compares_all_64_bits_of_each_range() {
  DeviceArray<uint8_t> const device_bytes(std::vector<uint8_t>(4096, 7));
  for (uint32_t count = 0; count <= kMostRanges; count++) {
    std::vector<Stretch> const stretches(count, {64, 4000});
    Comparison comparison(ranges_of(device_bytes.data(), stretches), count);
    szg_checksum_ranges *const ranges = &comparison.ranges;
    uint64_t const root = root_of(std::vector<uint8_t>(4000, 7).data(), 4000);
    for (uint32_t i = 0; i < count; i++) ranges->expected[i] = root;
    expect_bad(&comparison, 0, "as expected");
    for (uint32_t i = 0; i < count; i++) {
      uint64_t const wrong_bit = (uint64_t)1 << random_below(64);
      ranges->expected[i] ^= wrong_bit;
      expect_bad(&comparison, 1u << ranges->kinds[i], "one wrong");
      ranges->expected[i] ^= wrong_bit;
    }
    for (uint32_t i = 0; i < count; i++) ranges->expected[i] ^= (uint64_t)1 << i * 3;
    expect_bad(&comparison, (1u << count) - 1, "all wrong");
    szg_verdict const verdict = comparison.compare({1u << 31, 77, 0});
    CHECK(verdict.bad_sections == ((1u << count) - 1 + (1u << 31)), "%x", verdict.bad_sections);
    CHECK(verdict.bad_data == 77, "%x", verdict.bad_data);
  }
}

/* ---- Seal ---- */

szg_frame_header random_header(uint32_t section_count) {
  szg_frame_header frame = {};
  frame.kind = (uint32_t)random_below(3);
  frame.axes = (uint32_t)random_below(8);
  frame.escape_bytes = (uint32_t)random_below(9);
  frame.radius = (uint32_t)random_bits();
  frame.index = random_bits();
  frame.value_count = random_bits();
  frame.constant_bits = random_bits();
  frame.section_count = section_count;
  for (uint32_t i = 0; i < section_count; i++)
    frame.sections[i] = {(uint32_t)random_bits(), (uint32_t)random_bits(), random_bits(),
                         random_bits(), random_bits()};
  return frame;
}

void seals_as_the_container_writes() {
  size_t const margin = 48; /* before and after, as in an archive; must not change */
  std::vector<uint8_t> const bytes = random_bytes(2 * kBlock);
  DeviceArray<uint8_t> const device_bytes(bytes);
  DeviceArray<uint64_t> leaves(2 * kMostRanges);
  DeviceArray<uint32_t> ticket(1);
  ticket.zero();
  for (uint32_t n = 0; n <= kMostRanges; n++) {
    std::vector<Stretch> stretches;
    for (uint32_t i = 0; i < n; i++) stretches.push_back({16 * i, 16 * random_below(1500)});
    szg_checksum_ranges const ranges = ranges_of(device_bytes.data(), stretches);
    szg_frame_header frame = random_header(n);
    size_t const header_bytes = szg_frame_header_bytes(n);
    std::vector<uint8_t> sealed(header_bytes + 2 * margin, 0x5A), open(header_bytes);
    DeviceArray<uint8_t> const device_header(sealed);
    szg_frame_header_write(&frame, open.data());
    memset(&open[header_bytes - 8], 0xA5, 8);
    for (uint32_t i = 0; i < n; i++)
      frame.sections[i].checksum =
          root_of(bytes.data() + stretches[i].start, stretches[i].byte_count);
    szg_frame_header_write(&frame, &sealed[margin]);
    for (int run = 0; run < 2; run++) {
      MUST(szg_checksum_seal_cuda(&ranges, &no_sums, nullptr, open.data(), leaves.data(),
                                  ticket.data(), device_header.data() + margin, stream));
      std::vector<uint8_t> const found = device_header.host();
      for (size_t i = 0; i < found.size(); i++)
        CHECK(found[i] == sealed[i], "%u sections, run %d, byte %zu of %zu", n, run, i - margin,
              header_bytes);
    }
  }
}

/* Sections end anywhere; the rest up to the next one is whatever was there. */
void pads_before_it_hashes() {
  std::vector<uint8_t> bytes = random_bytes(kMostRanges * 17 * 1024);
  DeviceArray<uint8_t> const device_bytes(bytes);
  DeviceArray<uint64_t> leaves(2 * kMostRanges), header(checksum_word(kMostRanges) + 2);
  DeviceArray<uint32_t> ticket(1);
  ticket.zero();
  std::vector<uint8_t> const host_header(header.bytes());
  std::vector<Stretch> stretches;
  std::vector<uint64_t> held_bytes;
  for (uint32_t i = 0; i < kMostRanges; i++) {
    uint64_t const start = i * 17 * 1024, held = random_below(i % 2 ? 40 : 17000);
    uint64_t const end = start + (held + 15) / 16 * 16;
    std::fill(bytes.begin() + (ptrdiff_t)(start + held), bytes.begin() + (ptrdiff_t)end, 0);
    stretches.push_back({start, end - start});
    held_bytes.push_back(held);
  }
  szg_checksum_ranges const ranges = ranges_of(device_bytes.data(), stretches);
  MUST(szg_checksum_seal_cuda(&ranges, &no_sums, held_bytes.data(), host_header.data(),
                              leaves.data(), ticket.data(), (uint8_t *)header.data(), stream));
  std::vector<uint64_t> const found = header.host();
  CHECK(device_bytes.host() == bytes, "other bytes than the padding are 0");
  for (uint32_t i = 0; i < kMostRanges; i++)
    CHECK(found[checksum_word(i)] ==
              root_of(bytes.data() + stretches[i].start, stretches[i].byte_count),
          "section %u of %llu bytes", i, (unsigned long long)held_bytes[i]);
}

} // namespace

int main() {
  begin();
  hashes_every_size_to_20_kib();
  hashes_sizes_around_whole_leaves();
  hashes_long_ranges();
  hashes_empty_ranges_among_others();
  hashes_contents_that_are_not_random();
  finds_single_bits();
  compares_all_64_bits_of_each_range();
  seals_as_the_container_writes();
  pads_before_it_hashes();
  return end();
}
