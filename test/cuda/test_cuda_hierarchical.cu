/* test_cuda_hierarchical.cu - chained tables on the device give the CPU decoder's values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/hierarchical.h"

#include <memory>

#include "cuda/decode_cases.cuh"
#include "study/hierarchical_forms.h"

namespace {

using namespace cuda_test;
using namespace decode_cases;

constexpr size_t kGuardValues = 64; /* after the stream's values */

/* Symbols of all magnitudes, also 240 to 255, which DFloat11 uses for links. */
const Source byte_sources[] = {
    {"one symbol", 256, Source::LONE, 255},     {"two symbols", 256, Source::FLAT, 2},
    {"256 symbols", 256, Source::FLAT, 256},    {"lengths 1 to 16", 64, Source::STEEP, 0},
    {"1 bit", 256, Source::GEOMETRIC, 0.01},    {"1.8 bits", 256, Source::GEOMETRIC, 0.35},
    {"2.7 bits", 256, Source::GEOMETRIC, 0.57}, {"6 bits", 256, Source::GEOMETRIC, 0.95},
    {"mixed", 256, Source::MIXED, 0},
};

std::unique_ptr<Coder> coder(new Coder);
std::unique_ptr<szg_hierarchical_tables> tables(new szg_hierarchical_tables);

void build(const Source &source, const Codes &codes) {
  coder->build(source, codes);
  szg_hierarchical_build(&coder->book, tables.get());
}

/* A stream with its side data, on the host. */
struct Marked {
  uint64_t bit_count, code_count;
  uint32_t gap_bits, position_bytes;
  std::vector<uint32_t> words;
  std::vector<uint8_t> gaps, positions;

  Marked(const Codes &codes, uint32_t gap_width, uint32_t position_width)
      : code_count(codes.size()), gap_bits(gap_width), position_bytes(position_width) {
    Stream const s(*coder, codes, line_of(codes.size()));
    bit_count = s.bit_count;
    words = s.words;
    gaps.resize(szg_hierarchical_gap_bytes(bit_count, gap_bits));
    positions.resize((szg_hierarchical_block_count(bit_count) + 1) * position_bytes);
    szg_hierarchical_stream const stream = with(words.data(), nullptr, nullptr);
    MUST(szg_hierarchical_mark(tables.get(), &stream, gaps.data(), positions.data()));
  }
  szg_hierarchical_stream with(const void *w, const uint8_t *g, const void *p) const {
    return {w, words.size(), bit_count, code_count, gap_bits, position_bytes, g, p};
  }
};

struct Decoded {
  bool is_refused;
  std::vector<uint8_t> bytes; /* the values' bytes, then the guard */
};

std::vector<uint8_t> rest_of(size_t count) {
  std::vector<uint8_t> rest(count);
  for (size_t i = 0; i < count; i++) rest[i] = (uint8_t)(i * 37 + i / 256);
  return rest;
}

Decoded decode_on_host(const Marked &m, bool is_bf16) {
  std::vector<uint8_t> const rest = rest_of(m.code_count);
  Decoded result = {false,
                    std::vector<uint8_t>((m.code_count + kGuardValues) * (1 + is_bf16), 0xA5)};
  szg_hierarchical_stream const stream = m.with(m.words.data(), m.gaps.data(), m.positions.data());
  szg_bf16_output const bf16 = {(uint16_t *)(void *)result.bytes.data(), rest.data()};
  szg_threads threads = {};
  threads.count = 1;
  szgpu_status const status =
      is_bf16 ? szg_decode_bf16(tables.get(), &stream, &bf16, &threads)
              : szg_decode_hierarchical(tables.get(), &stream, result.bytes.data(), &threads);
  result.is_refused = status != SZGPU_OK;
  return result;
}

Decoded decode_on_device(const Marked &m, bool is_bf16) {
  DeviceArray<uint8_t> const rest(rest_of(m.code_count)), gaps(m.gaps), positions(m.positions);
  DeviceArray<uint32_t> const words(m.words);
  const uint8_t *const table_bytes = (const uint8_t *)tables.get();
  DeviceArray<uint8_t> const device_tables(
      std::vector<uint8_t>(table_bytes, table_bytes + szg_hierarchical_tables_bytes(tables.get())));
  DeviceArray<uint8_t> values((m.code_count + kGuardValues) * (1 + is_bf16));
  DeviceArray<szg_verdict> verdict(1);
  verdict.zero();
  szg_hierarchical_stream const stream = m.with(words.data(), gaps.data(), positions.data());
  szg_bf16_output const bf16 = {(uint16_t *)(void *)values.data(), rest.data()};
  const auto *const on_device = (const szg_hierarchical_tables *)(const void *)device_tables.data();
  szgpu_status const status =
      is_bf16 ? szg_decode_bf16_cuda(on_device, &stream, &bf16, verdict.data(), cuda_test::stream)
              : szg_decode_hierarchical_cuda(on_device, &stream, values.data(), verdict.data(),
                                             cuda_test::stream);
  if (status != SZGPU_BAD_DATA) MUST(status);
  return {status == SZGPU_BAD_DATA || verdict.host()[0].bad_data != 0, values.host()};
}

/* Both must refuse the stream or give the same values, and write nothing else. True: sound. */
bool agrees(const Marked &m, const char *what) {
  bool is_sound = true;
  for (bool is_bf16 : {false, true}) {
    Decoded const expected = decode_on_host(m, is_bf16), found = decode_on_device(m, is_bf16);
    CHECK(found.is_refused == expected.is_refused, "%s, bf16 %d: %srefused", what, is_bf16,
          found.is_refused ? "" : "not ");
    CHECK(expected.is_refused || found.bytes == expected.bytes, "%s, bf16 %d, %zu values", what,
          is_bf16, (size_t)m.code_count);
    bool is_guard_whole = true;
    for (size_t i = m.code_count * (1 + is_bf16); i < found.bytes.size(); i++)
      is_guard_whole &= found.bytes[i] == 0xA5;
    CHECK(is_guard_whole, "%s, bf16 %d: written past the end", what, is_bf16);
    is_sound &= !expected.is_refused;
  }
  return is_sound;
}

/* ---- claims ---- */

void values_are_those_of_the_cpu() {
  size_t const counts[] = {1,   2,   7,    8,    9,     31,    33,    63,    64,
                           255, 511, 2049, 4097, 16384, 32768, 40009, 65537, 200003};
  for (const Source &source : byte_sources) {
    build(source, {});
    uint32_t round = 0;
    for (size_t count : counts) {
      Codes codes = draw_codes(source, count);
      for (uint16_t &code : codes)
        while (!coder->book.lengths[code]) code = draw(source, 0);
      Marked const m(codes, 4 + round % 2, round % 3 ? 4 : 8);
      CHECK(agrees(m, source.name), "%s: the CPU refuses", source.name);
      round++;
    }
  }
}

void large_streams() {
  for (const Source &source : byte_sources) {
    Codes const codes = draw_codes(source, 6000011);
    build(source, codes);
    CHECK(agrees(Marked(codes, 4, 4), source.name), "%s: the CPU refuses", source.name);
  }
}

void lying_side_data(const Marked &sound) {
  for (int round = 0; round < 24; round += is_quick() ? 7 : 1) {
    Marked m = sound;
    uint64_t const gap_bits = szg_hierarchical_thread_count(m.bit_count) * m.gap_bits;
    uint64_t const bit = round < 8    ? (uint64_t)round
                         : round < 12 ? gap_bits - 1 - (uint64_t)(round - 8)
                                      : random_below(gap_bits);
    m.gaps[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
    CHECK(!agrees(m, "gap"), "bit %llu", (unsigned long long)bit);
  }
  for (size_t i = 0; i < sound.positions.size(); i += 1 + i / 8) {
    Marked m = sound;
    m.positions[i] ^= (uint8_t)(1 << random_below(8));
    CHECK(!agrees(m, "position"), "byte %zu", i);
  }
  for (int change : {1, -1, 1000, -1000}) {
    Marked m = sound;
    m.code_count += (uint64_t)change;
    CHECK(!agrees(m, "values"), "%d", change);
  }
  for (int change : {1, -1, 33}) {
    Marked m = sound;
    m.bit_count += (uint64_t)change;
    agrees(m, "bits");
  }
}

void damaged_streams_are_refused_as_on_the_cpu() {
  for (const Source &source : byte_sources) {
    Codes const codes = draw_codes(source, 30011);
    build(source, codes);
    Marked const sound(codes, 5, 8);
    lying_side_data(sound);
    for (int round = 0; round < (is_quick() ? 2 : 20); round++) {
      Marked m = sound;
      uint64_t const bit = random_below(m.bit_count);
      m.words[bit / 32] ^= 0x80000000u >> bit % 32;
      agrees(m, "bit");
    }
    Marked m = sound;
    for (uint32_t &word : m.words) word = (uint32_t)random_bits();
    agrees(m, "garbage");
    for (uint8_t &byte : m.gaps) byte = (uint8_t)random_bits();
    agrees(m, "garbage, gaps too");
  }
}

void streams_of_nothing() {
  build(byte_sources[2], {});
  Marked m({7}, 4, 4);
  m.words.clear();
  m.bit_count = m.code_count = 0;
  CHECK(agrees(m, "nothing"), "the CPU refuses");
  m.code_count = 3;
  CHECK(!agrees(m, "nothing for three"), "the CPU does not refuse");
}

} // namespace

int main() {
  begin();
  values_are_those_of_the_cpu();
  if (!is_quick()) large_streams();
  damaged_streams_are_refused_as_on_the_cpu();
  streams_of_nothing();
  return end();
}
