/* test_cuda_decode.cu - the decoders on the device give the codes back, and refuse bad streams.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <memory>

#include "cuda/decode_cases.cuh"
#include "huffman/decoders/chunked.h"
#include "huffman/decoders/decoders.h"

namespace {

using namespace cuda_test;
using namespace decode_cases;

/* ---- on the device ---- */

constexpr size_t kGuardCodes = 64; /* after the room that the decoder may use */
enum Decoder { GAP, CHUNKED };

struct Decoded {
  bool is_refused, is_guard_whole;
  Codes codes;
};

/* Decodes `runs` times in the same memory and returns the last result. */
Decoded decode(Decoder decoder, const DeviceBook &book, const Stream &s, const szg_grid &grid,
               uint32_t bad_data_before = 0, int runs = 1) {
  DeviceArray<uint32_t> const words(s.words);
  DeviceArray<uint8_t> const gaps(s.gaps);
  DeviceArray<uint16_t> const sequence_codes(s.sequence_codes);
  DeviceArray<szg_tile_place> const places(s.places);
  DeviceArray<uint64_t> const bit_count(std::vector<uint64_t>{s.bit_count});
  DeviceArray<szg_verdict> const verdict(std::vector<szg_verdict>{{0, bad_data_before, 0}});
  size_t const room = (s.code_count + 7) / 8 * 8;
  DeviceArray<uint16_t> codes(room + kGuardCodes);
  szg_linear_input_cuda const input = {words.data(), words.count(),         gaps.data(),
                                       gaps.count(), sequence_codes.data(), sequence_codes.count(),
                                       s.code_count, places.data(),         bit_count.data()};
  szg_arena arena = {};
  szg_gap_decoder_cuda work;
  MUST(szg_gap_decoder_carve_cuda(&arena, input.sequence_count, &work));
  DeviceArray<uint8_t> const memory(arena.used_bytes);
  arena = {memory.data(), 0, arena.used_bytes, false};
  MUST(szg_gap_decoder_carve_cuda(&arena, input.sequence_count, &work));
  for (int run = 0; run < runs; run++) {
    codes.poison();
    if (decoder == CHUNKED)
      MUST(szg_decode_chunked_cuda(book.book(), book.symbol_count, &grid, &input, codes.data(),
                                   verdict.data(), stream));
    else
      MUST(szg_decode_gap_cuda(&work, book.book(), book.symbol_count, &input, codes.data(),
                               verdict.data(), stream));
  }
  Decoded result = {verdict.host()[0].bad_data != 0, true, codes.host()};
  for (size_t i = room; i < room + kGuardCodes; i++)
    result.is_guard_whole &= result.codes[i] == 0xA5A5;
  result.codes.resize(s.code_count);
  return result;
}

/* ---- claims ---- */

std::unique_ptr<Coder> coder(new Coder);

void gives_the_codes_back(const Source &source, const DeviceBook &book, const Codes &codes,
                          const szg_grid &grid) {
  Stream const s(*coder, codes, grid);
  for (int decoder = GAP; decoder <= CHUNKED; decoder++) {
    Decoded const result = decode((Decoder)decoder, book, s, grid, 0, 2);
    CHECK(!result.is_refused, "%s, %zu codes, decoder %d", source.name, codes.size(), decoder);
    CHECK(result.codes == codes, "%s, %zu codes, decoder %d", source.name, codes.size(), decoder);
    CHECK(result.is_guard_whole, "%s, %zu codes, decoder %d", source.name, codes.size(), decoder);
  }
}

void both_decoders_give_the_codes_back() {
  size_t const counts[] = {1,    2,    7,    8,    9,    31,    32,    33,     63,    255,
                           2047, 2049, 4095, 4096, 4097, 32768, 32769, 100003, 600011};
  for (const Source &source : sources) {
    coder->build(source, {});
    DeviceBook const book(*coder, source.symbol_count);
    for (size_t count : counts) {
      /* The book covers 20,000 draws; other symbols that are drawn are replaced. */
      Codes codes = draw_codes(source, count);
      for (uint16_t &code : codes)
        while (!coder->book.lengths[code]) code = draw(source, 0);
      gives_the_codes_back(source, book, codes, line_of(count));
    }
  }
}

void books_for_each_length_of_code() {
  for (uint32_t bits = 1; bits <= 16; bits++)
    for (uint32_t symbol_count : {1u << bits, (uint32_t)SZG_MAX_SYMBOLS}) {
      Source const source = {"flat", std::max(symbol_count, 4u), Source::FLAT,
                             (double)(1u << bits)};
      Codes const codes = draw_codes(source, 70001);
      coder->build(source, codes);
      DeviceBook const book(*coder, source.symbol_count);
      gives_the_codes_back(source, book, codes, line_of(codes.size()));
    }
}

void large_streams_and_fields_of_three_axes() {
  Source const source = {"mixed", 1024, Source::MIXED, 0};
  Codes codes = draw_codes(source, 4999999);
  coder->build(source, codes);
  DeviceBook const book(*coder, source.symbol_count);
  gives_the_codes_back(source, book, codes, line_of(codes.size()));
  szgpu_shape shape = {};
  shape.dtype = SZGPU_F64;
  shape.ndim = 4;
  uint64_t const dims[4] = {3, 21, 17, 45};
  std::copy_n(dims, 4, shape.dims);
  codes.resize(3 * 21 * 17 * 45);
  gives_the_codes_back(source, book, codes, grid_of(shape));
}

void lengths_are_those_of_the_book() {
  for (const Source &source : sources) {
    coder->build(source, {});
    DeviceBook const book(*coder, source.symbol_count);
    const uint8_t *const lengths = szg_decode_book_lengths_cuda(book.book());
    std::vector<uint8_t> const bytes = book.memory.host();
    CHECK(!memcmp(bytes.data() + (lengths - book.memory.data()), coder->book.lengths,
                  source.symbol_count),
          "%s", source.name);
  }
}

/* The device must refuse a stream if and only if the serial decoder does, or give its codes. */
void agrees(Decoder decoder, const DeviceBook &book, const Stream &s, const szg_grid &grid,
            const char *what, bool must_refuse) {
  Codes const expected =
      decoder == GAP ? s.serial(coder->index) : s.serial_tiles(coder->index, grid);
  Decoded const result = decode(decoder, book, s, grid);
  CHECK(result.is_refused == expected.empty(), "%s: %srefused", what,
        result.is_refused ? "" : "not ");
  CHECK(!must_refuse || expected.empty(), "%s: the test expects a refusal", what);
  CHECK(result.is_refused || result.codes == expected, "%s: other codes", what);
  CHECK(result.is_guard_whole, "%s: written past the end", what);
}

void lying_gaps(const DeviceBook &book, const Stream &sound, const szg_grid &grid) {
  size_t const step = sound.gaps.size() / 15 + 1;
  for (size_t i = 0; i < 2 * sound.gaps.size(); i += i < 4 ? 1 : step) {
    Stream s = sound;
    s.gaps[i / 2] ^= (uint8_t)((1 + random_below(15)) << i % 2 * 4);
    agrees(GAP, book, s, grid, "gap", true);
  }
  Stream s = sound;
  s.gaps.back() ^= 0x10; /* a gap, or the unused half byte */
  agrees(GAP, book, s, grid, "last gap", true);
}

void lying_counts(const DeviceBook &book, const Stream &sound, const szg_grid &grid) {
  for (size_t i = 0; i < sound.sequence_codes.size(); i += 1 + i / 2)
    for (int change : {1, -1, 8, 1000, 32000}) {
      Stream s = sound;
      s.sequence_codes[i] = (uint16_t)(s.sequence_codes[i] + change);
      agrees(GAP, book, s, grid, "count", true);
      size_t const other = (i + 1) % s.sequence_codes.size();
      s.sequence_codes[other] = (uint16_t)(s.sequence_codes[other] - change);
      if (other != i) agrees(GAP, book, s, grid, "counts of the same sum", true);
    }
  for (int change : {1, -1, 9, -9}) {
    Stream s = sound;
    s.code_count += (uint64_t)change;
    if (change + (int64_t)sound.code_count > 0) agrees(GAP, book, s, grid, "codes", true);
  }
}

void lying_bits(const DeviceBook &book, const Stream &sound, const szg_grid &grid) {
  for (int round = 0; round < 40; round++) {
    Stream s = sound;
    uint64_t const first =
        round < 32 ? 32 * s.words.size() - 1 - (uint64_t)round : random_below(32 * s.words.size());
    s.words[first / 32] ^= 0x80000000u >> first % 32;
    agrees(GAP, book, s, grid, "bit", first >= s.bit_count);
    agrees(CHUNKED, book, s, grid, "bit", false);
  }
  for (int round = 0; round < 9; round++) {
    Stream s = sound;
    uint64_t const first = random_below(s.words.size());
    for (uint64_t i = first; i < s.words.size(); i++)
      s.words[i] = round % 3 == 0 ? 0 : round % 3 == 1 ? ~0u : (uint32_t)random_bits();
    agrees(GAP, book, s, grid, "words", false);
    agrees(CHUNKED, book, s, grid, "words", false);
  }
  for (uint64_t size : {0, 1, 31, 32, 33, 255, 256, 257, 32768}) { /* not the sections' size */
    Stream s = sound;
    if ((s.bit_count + 31) / 32 == (size + 31) / 32) continue;
    s.bit_count = size;
    Decoded const result = decode(GAP, book, s, grid);
    CHECK(result.is_refused && result.is_guard_whole, "%llu bits", (unsigned long long)size);
  }
}

void lying_places(const DeviceBook &book, const Stream &sound, const szg_grid &grid) {
  for (size_t i = 0; i < sound.places.size(); i++)
    for (int change : {1, -1, 40, -400}) {
      Stream s = sound;
      if (change < 0 && s.places[i].bit < (uint64_t)-change) continue;
      s.places[i].bit += (uint64_t)change;
      agrees(CHUNKED, book, s, grid, "place", false);
    }
}

void lies_are_refused_as_the_serial_decoder_does() {
  for (const Source &source : sources) {
    Codes const codes = draw_codes(source, source.kind == Source::LONE ? 70000 : 20000);
    coder->build(source, codes);
    DeviceBook const book(*coder, source.symbol_count);
    for (size_t count : {codes.size(), (size_t)40}) {
      szg_grid const grid = line_of(count);
      Stream const sound(*coder, Codes(codes.begin(), codes.begin() + (long)count), grid);
      lying_gaps(book, sound, grid);
      lying_counts(book, sound, grid);
      lying_bits(book, sound, grid);
      lying_places(book, sound, grid);
    }
  }
}

std::vector<uint8_t> change_section(std::vector<uint8_t> section, int round) {
  if (round < 10) {
    section.resize(std::min((size_t)round, section.size()));
  } else if (round < 16) {
    section[(size_t)round - 10] ^= (uint8_t)(1 + random_below(255));
  } else if (round < 30) {
    section[random_below(section.size())] = (uint8_t)random_bits();
  } else if (round < 34) {
    section.push_back((uint8_t)random_bits());
  } else if (round < 36) { /* one more symbol: of impossible length, or of none */
    szg_store_u16(&section[4], (uint16_t)(szg_load_u16(&section[4]) + 1));
    section.push_back(round == 34 ? SZG_MAX_CODE_BITS + 1 : 0);
  } else {
    for (uint8_t &byte : section) byte = (uint8_t)(random_bits() & random_bits());
  }
  return section;
}

/* Bad sections are refused, and decoding with the tables made from them does no harm. */
void bad_books_are_refused_and_harmless() {
  for (const Source &source : sources) {
    Codes const codes = draw_codes(source, 50000);
    coder->build(source, codes);
    szg_grid const grid = line_of(codes.size());
    Stream const s(*coder, codes, grid);
    std::unique_ptr<szg_codebook> read(new szg_codebook);
    for (int round = 0; round < 40; round++) {
      std::vector<uint8_t> const section = change_section(coder->section, round);
      bool const is_sound = szg_codebook_read(section.data(), section.size(), source.symbol_count,
                                              read.get()) == SZGPU_OK;
      bool const is_empty =
          is_sound && !std::any_of(read->lengths, read->lengths + source.symbol_count,
                                   [](uint8_t length) { return length > 0; });
      DeviceBook book;
      CHECK(book.build(section, source.symbol_count) == (is_sound && !is_empty), "%s, round %d",
            source.name, round);
      CHECK(decode(GAP, book, s, grid).is_guard_whole, "%s, round %d", source.name, round);
      CHECK(decode(CHUNKED, book, s, grid).is_guard_whole, "%s, round %d", source.name, round);
    }
  }
}

void nothing_is_decoded_after_a_verdict() {
  Source const source = sources[9];
  Codes const codes = draw_codes(source, 50000);
  coder->build(source, codes);
  DeviceBook const book(*coder, source.symbol_count);
  szg_grid const grid = line_of(codes.size());
  Stream const s(*coder, codes, grid);
  for (Decoder decoder : {GAP, CHUNKED}) {
    Decoded const result = decode(decoder, book, s, grid, 1);
    CHECK(result.is_refused, "decoder %d", decoder);
    CHECK(result.codes == Codes(codes.size(), 0xA5A5), "decoder %d", decoder);
  }
}

void every_decoder_of_the_backend_has_its_steps() {
  for (int d = SZGPU_DECODER_AUTO; szg_decoder_exists((szgpu_decoder)d); d++) {
    if (!szg_decoder_runs_on((szgpu_decoder)d, SZGPU_BACKEND_CUDA)) continue;
    for (bool has_gaps : {false, true}) {
      const szg_decoder_cuda *const steps = szg_decoder_for_cuda((szgpu_decoder)d, has_gaps);
      CHECK(steps && steps->decode, "%s", szg_decoder_name((szgpu_decoder)d));
    }
  }
}

} // namespace

int main() {
  begin();
  every_decoder_of_the_backend_has_its_steps();
  both_decoders_give_the_codes_back();
  books_for_each_length_of_code();
  large_streams_and_fields_of_three_axes();
  lengths_are_those_of_the_book();
  lies_are_refused_as_the_serial_decoder_does();
  bad_books_are_refused_and_harmless();
  nothing_is_decoded_after_a_verdict();
  return end();
}
