/* decode_cases.cuh - codes of many kinds, their streams, and the serial decoder's results.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_DECODE_CASES_CUH
#define SZG_DECODE_CASES_CUH

#include <math.h>

#include <algorithm>

#include "core/bytes.h"
#include "cuda/cuda_test.cuh"
#include "huffman/huffman.h"

namespace decode_cases {

using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::random_unit;

typedef std::vector<uint16_t> Codes;

/* ---- codes to encode ---- */

/* Differences of two geometric variables around the middle symbol: P(d) ~ theta^|d|. */
inline uint16_t draw_geometric(uint32_t symbol_count, double theta) {
  double const scale = 1 / log(theta);
  int64_t const d =
      (int64_t)(log(1 - random_unit()) * scale) - (int64_t)(log(1 - random_unit()) * scale);
  int64_t const most = (int64_t)symbol_count / 2 - 1;
  return (uint16_t)((int64_t)symbol_count / 2 + std::max(-most, std::min(most, d)));
}

struct Source {
  const char *name;
  uint32_t symbol_count;
  enum { LONE, FLAT, GEOMETRIC, STEEP, MIXED } kind;
  double parameter; /* LONE: the symbol; FLAT: how many symbols; GEOMETRIC: theta */
};

inline const Source sources[] = {
    {"delta 0 only", 1024, Source::LONE, 512},
    {"one symbol", 1024, Source::LONE, 700},
    {"escapes only", 4, Source::LONE, 0},
    {"one symbol of many", 65536, Source::LONE, 65535},
    {"two symbols", 4, Source::FLAT, 2},
    {"three symbols", 1000, Source::FLAT, 3},
    {"lengths 1 to 16", 64, Source::STEEP, 0},
    {"1.02 bits", 1024, Source::GEOMETRIC, 0.01},
    {"1.2 bits", 1024, Source::GEOMETRIC, 0.1},
    {"2.4 bits", 1024, Source::GEOMETRIC, 0.5},
    {"3.5 bits", 1024, Source::GEOMETRIC, 0.78},
    {"6 bits", 1024, Source::GEOMETRIC, 0.96},
    {"1024 symbols", 1024, Source::FLAT, 1024},
    {"4096 symbols", 4096, Source::FLAT, 4096},
    {"65536 symbols", 65536, Source::FLAT, 65536},
    {"9 bits, wide", 4096, Source::GEOMETRIC, 0.995},
    {"2 bits, wide", 65536, Source::GEOMETRIC, 0.4},
    {"13 bits, wide", 65536, Source::GEOMETRIC, 0.9996},
    {"mixed", 1024, Source::MIXED, 0},
    {"mixed, wide", 8192, Source::MIXED, 0},
};

/* mood: the current distribution of MIXED codes, which changes after a while. */
inline uint16_t draw(const Source &source, int mood) {
  switch (source.kind) {
    case Source::LONE:
      return (uint16_t)source.parameter;
    case Source::FLAT:
      return (uint16_t)random_below((uint64_t)source.parameter);
    case Source::STEEP: { /* each symbol half as likely as the one before */
      uint64_t const bits = random_bits() | (uint64_t)1 << 19;
      return (uint16_t)__builtin_ctzll(bits);
    }
    case Source::GEOMETRIC:
      return draw_geometric(source.symbol_count, source.parameter);
    default:
      return mood == 0   ? (uint16_t)(source.symbol_count / 2)
             : mood == 1 ? (uint16_t)random_below(source.symbol_count)
                         : draw_geometric(source.symbol_count, mood == 2 ? 0.3 : 0.9);
  }
}

inline Codes draw_codes(const Source &source, size_t code_count) {
  Codes codes(code_count);
  int mood = 0;
  size_t left = 0; /* in this mood: enough for a subsequence up to a few sequences */
  for (uint16_t &code : codes) {
    if (left-- == 0) {
      mood = (int)random_below(4);
      left = random_below((uint64_t)1 << (4 + random_below(14)));
    }
    code = draw(source, mood);
  }
  return codes;
}

/* ---- codebooks and streams on the host ---- */

struct Coder { /* large */
  uint64_t counts[SZG_MAX_SYMBOLS];
  szg_codebook_work work;
  szg_codebook book;
  uint32_t table[SZG_MAX_SYMBOLS];
  szg_canonical_index index;
  std::vector<uint8_t> section;

  /* Builds a book for these codes and for others that the source may give. */
  void build(const Source &source, const Codes &codes) {
    memset(counts, 0, sizeof counts);
    for (uint16_t code : codes) counts[code]++;
    for (uint16_t code : draw_codes(source, 20000)) counts[code]++;
    if (source.kind == Source::FLAT) std::fill_n(counts, (size_t)source.parameter, 1);
    szg_codebook_build(counts, source.symbol_count, SZG_MAX_CODE_BITS, &book, &work);
    szg_encoder_table(&book, table);
    szg_canonical_index_build(&book, &index);
    section.resize(SZG_CODEBOOK_MAX_BYTES);
    section.resize(szg_codebook_write(&book, section.data()));
  }
};

struct Stream {
  uint64_t code_count = 0, bit_count = 0;
  std::vector<uint32_t> words;
  std::vector<uint8_t> gaps;
  std::vector<uint16_t> sequence_codes;
  std::vector<szg_tile_place> places;

  Stream(const Coder &coder, const Codes &codes, const szg_grid &grid) : code_count(codes.size()) {
    bit_count = szg_linear_bits(&coder.book, codes.data(), codes.size());
    words.resize((bit_count + 31) / 32);
    std::vector<uint8_t> gap_bytes(szg_subsequence_count(bit_count));
    std::vector<uint64_t> firsts(szg_sequence_count(bit_count));
    szg_linear_stream out = {(uint8_t *)words.data(), bit_count, gap_bytes.data(), firsts.data()};
    szg_linear_run run = {};
    szg_linear_encode(coder.table, codes.data(), codes.size(), &run, &out);
    szg_linear_merge(&run, 1, &out);
    gaps.resize((gap_bytes.size() + 1) / 2);
    szg_gaps_pack(gap_bytes.data(), gap_bytes.size(), gaps.data());
    firsts.push_back(code_count);
    for (size_t i = 0; i + 1 < firsts.size(); i++)
      sequence_codes.push_back((uint16_t)(firsts[i + 1] - firsts[i]));
    szg_tile_place place = {};
    for (uint64_t t = 0; t < grid.tile_count; t++) {
      szg_tile const tile = szg_tile_at(&grid, t);
      places.push_back(place);
      place.bit += szg_linear_bits(&coder.book, &codes[tile.first_code], tile.value_count);
    }
    places.push_back(place);
  }

  szg_linear_input host_input() const {
    return {
        (const uint8_t *)words.data(),         4 * words.size(), bit_count, code_count, gaps.data(),
        (const uint8_t *)sequence_codes.data()};
  }
  /* The codes of the serial decoder, which checks everything. Empty: it refuses. */
  Codes serial(const szg_canonical_index &index) const {
    szg_linear_input const input = host_input();
    Codes codes(code_count);
    szg_code_run const run = {0, bit_count, (uint32_t)code_count, codes.data()};
    bool const is_sound = szg_linear_verify(&index, &input) == SZGPU_OK &&
                          szg_decode_serial(&index, &input, &run, 1) == SZGPU_OK;
    return is_sound ? codes : Codes();
  }
  /* The same from the tiles' places only. */
  Codes serial_tiles(const szg_canonical_index &index, const szg_grid &grid) const {
    szg_linear_input const input = host_input();
    Codes codes(code_count);
    bool is_sound = true;
    for (uint64_t t = 0; t < grid.tile_count; t++) {
      szg_tile const tile = szg_tile_at(&grid, t);
      szg_code_run const run = {places[t].bit, places[t + 1].bit - places[t].bit, tile.value_count,
                                &codes[tile.first_code]};
      is_sound &= szg_decode_serial(&index, &input, &run, 1) == SZGPU_OK;
    }
    return is_sound ? codes : Codes();
  }
};

/* ---- codebooks on the device ---- */

struct DeviceBook {
  cuda_test::DeviceArray<uint8_t> memory{szg_decode_book_bytes_cuda()};
  cuda_test::DeviceArray<szg_verdict> verdict{1};
  uint32_t symbol_count = 0;

  szg_decode_book_cuda *book() const { return (szg_decode_book_cuda *)memory.data(); }
  /* Whether the section is sound. */
  bool build(const std::vector<uint8_t> &section, uint32_t symbols) {
    cuda_test::DeviceArray<uint8_t> const bytes(section);
    symbol_count = symbols;
    verdict.zero();
    MUST(szg_decode_book_build_cuda(bytes.data(), bytes.count(), symbols, book(), verdict.data(),
                                    cuda_test::stream));
    return verdict.host()[0].bad_data == 0;
  }
  DeviceBook() = default;
  /* The coder's book must be sound. */
  DeviceBook(const Coder &coder, uint32_t symbols) {
    CHECK(build(coder.section, symbols), "%u symbols", symbols);
  }
};

/* ---- grids ---- */

inline szg_grid grid_of(szgpu_shape shape) {
  szg_grid grid;
  MUST(szg_grid_of_shape(&shape, &grid));
  return grid;
}
inline szg_grid line_of(uint64_t value_count) {
  szgpu_shape shape = {};
  shape.dtype = SZGPU_F32;
  shape.ndim = 1;
  shape.dims[0] = value_count;
  return grid_of(shape);
}

} // namespace decode_cases

#endif
