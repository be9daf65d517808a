/* test_cuda_tile_places.cu - the device reads codebook sections and places tiles as the CPU does.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/lorenzo/tile_cuda.h"
#include "cuda/cuda_test.cuh"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;

namespace {

typedef std::vector<uint16_t> Sizes;

szg_codebook book;
szg_codebook_work book_work;

/* ---- what is found ---- */

struct Opened {
  szg_tile_decoder decoder;
  std::vector<uint64_t> first_words; /* then a guard */
  uint32_t counter;
  szg_verdict verdict;
};

constexpr uint64_t kGuard = 0xA5A5A5A5A5A5A5A5u; /* DeviceArray's poison */

/* offset: of the section from an aligned address. */
Opened open_tiles(const std::vector<uint8_t> &section, uint32_t offset, const Sizes &sizes,
                  uint64_t word_count) {
  std::vector<uint8_t> placed(offset, 0xFF);
  placed.insert(placed.end(), section.begin(), section.end());
  DeviceArray<uint8_t> bytes(placed);
  DeviceArray<uint16_t> device_sizes(sizes);
  DeviceArray<szg_tile_decoder> decoder(1);
  DeviceArray<uint64_t> first_words(sizes.size() + 2);
  DeviceArray<uint32_t> counters(1);
  DeviceArray<szg_verdict> verdict(1);
  verdict.zero();
  szg_tile_input_cuda input = {};
  input.decoder = decoder.data();
  input.sizes = device_sizes.data();
  input.first_words = first_words.data();
  input.counters = counters.data();
  input.word_count = word_count;
  MUST(szg_tile_open_cuda(bytes.data() + offset, section.size(), &input, sizes.size(),
                          verdict.data(), cuda_test::stream));
  return {decoder.host()[0], first_words.host(), counters.host()[0], verdict.host()[0]};
}

/* ---- sections ---- */

void check_section(const std::vector<uint8_t> &section, uint32_t offset, const char *what) {
  static szg_tile_decoder expected;
  szgpu_status status = szg_codebook_read(section.data(), section.size(), SZG_TILE_SYMBOLS, &book);
  if (status == SZGPU_OK) status = szg_tile_decoder_build(&book, &expected);
  Opened const found = open_tiles(section, offset, {3, 4}, 7);
  bool const is_bad = found.verdict.bad_data != 0;
  CHECK(is_bad == (status != SZGPU_OK), "%s: bad %d, on the CPU status %d", what, is_bad, status);
  if (status == SZGPU_OK)
    CHECK(memcmp(&found.decoder, &expected, sizeof expected) == 0, "%s: another decoder", what);
  uint32_t unfit = 0;
  for (uint32_t entry : found.decoder.entries) {
    uint32_t const length = entry & SZG_ENTRY_LENGTH;
    unfit += length < 1 || length > SZG_TILE_CODE_BITS;
  }
  CHECK(unfit == 0, "%s: %u entries without a length", what, unfit);
  CHECK(found.counter == 0, "%s: %u", what, found.counter);
}

std::vector<uint8_t> random_section(int longest_code) {
  static uint64_t counts[SZG_TILE_SYMBOLS];
  static uint8_t bytes[SZG_CODEBOOK_MAX_BYTES];
  uint64_t const rarity = 1 + random_below(30), steepness = random_below(40);
  for (uint32_t s = 0; s < SZG_TILE_SYMBOLS; s++) {
    uint64_t const distance = s > SZG_TILE_ZERO ? s - SZG_TILE_ZERO : SZG_TILE_ZERO - s;
    counts[s] = random_below(rarity) ? 0 : 1 + (random_bits() >> 40 >> distance * steepness / 640);
  }
  counts[SZG_ESCAPE_SYMBOL] += 1, counts[SZG_TILE_ZERO] += 1;
  szg_codebook_build(counts, SZG_TILE_SYMBOLS, longest_code, &book, &book_work);
  size_t const byte_count = szg_codebook_write(&book, bytes);
  return std::vector<uint8_t>(bytes, bytes + byte_count);
}

void sections_are_read_as_on_the_cpu() {
  for (int i = 0; i < 60; i++) check_section(random_section(12), (uint32_t)i % 5, "sound");
  for (int i = 0; i < 10; i++) check_section(random_section(13), 0, "codes of 13 bits");
}

void malformed_sections_are_refused_and_do_no_harm() {
  for (int i = 0; i < 300; i++) {
    std::vector<uint8_t> section = random_section(12);
    for (uint64_t k = 0; k <= random_below(3); k++)
      section[random_below(random_below(2) ? 6 : section.size())] ^= 1 << random_below(8);
    check_section(section, 0, "flipped");
  }
  for (int i = 0; i < 40; i++) {
    std::vector<uint8_t> section = random_section(12);
    section.resize(random_below(2 * section.size() + 4), (uint8_t)random_bits());
    check_section(section, 0, "cut or drawn out");
  }
  for (int i = 0; i < 40; i++) {
    std::vector<uint8_t> section(random_below(40));
    for (uint8_t &byte : section) byte = (uint8_t)random_bits();
    if (section.size() > 5) section[1] = section[3] = section[5] = 0;
    check_section(section, 0, "random");
  }
}

/* A section: the escape's length, first, count, runs. */
std::vector<uint8_t> section_of(uint32_t escape, uint32_t first, uint32_t count,
                                const std::vector<uint8_t> &runs) {
  std::vector<uint8_t> section = {(uint8_t)escape, 0,
                                  (uint8_t)first,  (uint8_t)(first >> 8),
                                  (uint8_t)count,  (uint8_t)(count >> 8)};
  section.insert(section.end(), runs.begin(), runs.end());
  return section;
}

void sections_at_the_limits() {
  uint8_t const four = 3 << 5, eight = 7 << 5; /* runs */
  check_section(section_of(1, 640, 1, {1}), 0, "two symbols");
  check_section(section_of(1, 641, 1, {1}), 0, "no delta 0");
  check_section(section_of(0, 640, 2, {1 << 5 | 1}), 0, "no escape");
  check_section(section_of(0, 640, 1, {1}), 0, "a lone symbol");
  check_section(section_of(1, 1, 0, {}), 0, "a lone escape");
  check_section(section_of(0, 1, 0, {}), 0, "nothing");
  check_section(section_of(2, 639, 3, {2, 2, 2}), 0, "four symbols");
  check_section(section_of(2, 639, 3, {2 << 5 | 2}), 0, "the same in a run");
  check_section(section_of(2, 638, 4, {four | 2}), 0, "too many codes");
  check_section(section_of(2, 639, 2, {1 << 5 | 2}), 0, "too few codes");
  check_section(section_of(2, 639, 3, {four | 2}), 0, "a run past the end");
  check_section(section_of(2, 639, 3, {1 << 5 | 2, 2, 0}), 0, "a run too many");
  check_section(section_of(1, 1, 1279, std::vector<uint8_t>(1279, 1)), 0, "all of 1 bit");
  std::vector<uint8_t> all_runs(1279, 12); /* 1279 codes of 12 bits do not use up all codes */
  check_section(section_of(12, 1, 1279, all_runs), 0, "incomplete");
  for (uint32_t s = 0; s < 1279; s++) all_runs[s] = s < 513 ? 10 : 11; /* 7 eighths */
  check_section(section_of(3, 1, 1279, all_runs), 0, "every symbol");
  std::vector<uint8_t> eights(32, eight | 8);
  eights[31] = 6 << 5 | 8;
  check_section(section_of(8, 500, 255, eights), 0, "runs of eight");
  check_section(section_of(3, 0, 1279, all_runs), 0, "first is 0");
  check_section(section_of(3, 2, 1279, all_runs), 0, "past the symbols");
  check_section(section_of(3, 65535, 65535, all_runs), 0, "far past the symbols");
  std::vector<uint8_t> long_section = section_of(3, 1, 1279, all_runs);
  long_section.resize(70000, 0);
  check_section(long_section, 0, "long");
}

/* ---- places ---- */

/* Random sizes of tiles, each of at most most_words words. */
Sizes random_sizes(uint64_t tile_count, uint64_t most_words) {
  Sizes sizes(tile_count);
  for (uint16_t &words : sizes) words = (uint16_t)random_below(most_words + 1);
  return sizes;
}

void check_places(const Sizes &sizes) {
  std::vector<uint64_t> expected(1, 0);
  for (uint16_t words : sizes) expected.push_back(expected.back() + words);
  uint64_t const word_count = expected.back();
  expected.push_back(kGuard);
  for (int64_t more : {0, 1, -1}) {
    Opened const found = open_tiles(random_section(12), 0, sizes, word_count + (uint64_t)more);
    CHECK((found.verdict.bad_data != 0) == (more != 0), "%zu tiles, %lld words more: %u",
          sizes.size(), (long long)more, found.verdict.bad_data);
    CHECK(found.counter == 0, "%zu tiles: %u", sizes.size(), found.counter);
    size_t t = 0;
    while (t < expected.size() && found.first_words[t] == expected[t]) t++;
    CHECK(t == expected.size(), "%zu tiles: tile %zu at %llu, not %llu", sizes.size(), t,
          (unsigned long long)found.first_words[t], (unsigned long long)expected[t]);
  }
}

/* A block takes chunks of 2048 tiles; there are at most 64 blocks. */
void tiles_of_every_count_are_placed() {
  uint64_t const counts[] = {0,
                             1,
                             2,
                             3,
                             7,
                             8,
                             63,
                             2047,
                             2048,
                             2049,
                             2050,
                             4095,
                             4096,
                             4097,
                             10001,
                             60000,
                             64 * 2048 - 1,
                             64 * 2048,
                             64 * 2048 + 1,
                             65 * 2048,
                             300007,
                             1000000};
  for (uint64_t count : counts)
    for (uint64_t most_words : {8192, 65535, 1}) check_places(random_sizes(count, most_words));
  check_places(Sizes(5000, 0));
  check_places(Sizes(140000, 65535)); /* more than 2^32 words */
}

} // namespace

int main() {
  cuda_test::begin();
  sections_are_read_as_on_the_cpu();
  malformed_sections_are_refused_and_do_no_harm();
  sections_at_the_limits();
  tiles_of_every_count_are_placed();
  return cuda_test::end();
}
