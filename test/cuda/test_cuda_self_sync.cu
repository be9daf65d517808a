/* test_cuda_self_sync.cu - self-synchronization on the device gives the serial decoder's codes and
 * verdicts from bits only, with any options.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <memory>

#include "cuda/decode_cases.cuh"
#include "huffman/decoders/self_sync.h"

namespace {

using namespace cuda_test;
using namespace decode_cases;

constexpr size_t kGuardCodes = 64; /* after the room that the decoder may use */

szg_self_sync_options_cuda const all_options[] = {
    SZG_SELF_SYNC_DEFAULTS_CUDA,
    {256, 32, 0},
    {256, 128, 64},
    {256, 1024, 0},
    {288, 64, 32}, /* pieces of 256 and of 32 bits */
    {512, 256, 256},
    {1024, 32, 96},
    {4000, 96, 64}, /* words without 16-byte alignment */
    {8192, 32, 0},
    {8192, 1024, 64}, /* more words than shared memory holds */
};
constexpr size_t kOptionCount = sizeof all_options / sizeof *all_options;

/* ---- on the device ---- */

struct Decoded {
  bool is_refused, is_guard_whole;
  bool is_unsettled; /* the decoder needed maps */
  Codes codes;
};

template <class Code>
Decoded decode_as(const DeviceBook &book, const Stream &s,
                  const szg_self_sync_options_cuda &options, uint32_t bad_data_before) {
  DeviceArray<uint32_t> const words(s.words);
  DeviceArray<uint64_t> const bit_count(std::vector<uint64_t>{s.bit_count});
  DeviceArray<szg_verdict> const verdict(std::vector<szg_verdict>{{0, bad_data_before, 0}});
  size_t const room = (s.code_count + 7) / 8 * 8;
  DeviceArray<Code> codes(room + kGuardCodes);
  szg_linear_input_cuda input = {};
  input.words = words.data();
  input.word_count = words.count();
  input.code_count = s.code_count;
  input.bit_count = bit_count.data();
  szg_arena arena = {};
  szg_self_sync_decoder_cuda work;
  MUST(szg_self_sync_carve_cuda(&arena, &options, input.word_count, &work));
  DeviceArray<uint8_t> const memory(arena.used_bytes);
  arena = {memory.data(), 0, arena.used_bytes, false};
  MUST(szg_self_sync_carve_cuda(&arena, &options, input.word_count, &work));
  for (int run = 0; run < 2; run++) { /* the second in used memory */
    codes.poison();
    MUST(szg_decode_self_sync_cuda(&work, book.book(), book.symbol_count, &input, sizeof(Code),
                                   codes.data(), verdict.data(), stream));
  }
  uint32_t is_unsettled = 0;
  MUST(cudaStreamSynchronize(stream));
  if (input.word_count > 0)
    MUST(cudaMemcpy(&is_unsettled, work.is_unsettled, sizeof is_unsettled, cudaMemcpyDeviceToHost));
  Decoded result = {verdict.host()[0].bad_data != 0, true, is_unsettled != 0, {}};
  std::vector<Code> const all = codes.host();
  for (size_t i = room; i < room + kGuardCodes; i++)
    result.is_guard_whole &= all[i] == (Code)0xA5A5;
  result.codes.assign(all.begin(), all.begin() + (long)s.code_count);
  return result;
}

Decoded decode(const DeviceBook &book, const Stream &s, const szg_self_sync_options_cuda &options,
               bool are_bytes = false, uint32_t bad_data_before = 0) {
  return are_bytes ? decode_as<uint8_t>(book, s, options, bad_data_before)
                   : decode_as<uint16_t>(book, s, options, bad_data_before);
}

/* The serial decoder's codes from the bits; empty if there are none. */
Codes serial_codes(const Stream &s, const szg_canonical_index &index, bool *is_refused) {
  szg_linear_input const input = s.host_input();
  Codes codes(s.code_count);
  szg_code_run const run = {0, s.bit_count, (uint32_t)s.code_count, codes.data()};
  *is_refused = szg_decode_serial(&index, &input, &run, 1) != SZGPU_OK;
  return codes;
}

/* ---- claims ---- */

std::unique_ptr<Coder> coder(new Coder);

/* The device must refuse a stream if and only if the serial decoder does, or give its codes, and
 * write nothing beyond. Returns whether maps were needed. */
bool agrees(const DeviceBook &book, const Stream &s, const szg_self_sync_options_cuda &options,
            const char *what) {
  bool is_refused;
  Codes const expected = serial_codes(s, coder->index, &is_refused);
  bool is_unsettled = false;
  for (bool are_bytes : {false, true}) {
    if (are_bytes && book.symbol_count > 256) continue;
    Decoded const result = decode(book, s, options, are_bytes);
    CHECK(result.is_refused == is_refused, "%s, %u x %u, bytes %d: %srefused", what,
          options.subsequence_bits, options.block_threads, are_bytes,
          result.is_refused ? "" : "not ");
    CHECK(is_refused || result.is_refused || result.codes == expected,
          "%s, %u x %u, bytes %d: other codes", what, options.subsequence_bits,
          options.block_threads, are_bytes);
    CHECK(result.is_guard_whole, "%s: written past the end", what);
    is_unsettled = result.is_unsettled;
  }
  return is_unsettled;
}

/* The book covers 20,000 draws; other symbols that are drawn are replaced. */
Codes draw_covered(const Source &source, size_t count) {
  Codes codes = draw_codes(source, count);
  for (uint16_t &code : codes)
    while (!coder->book.lengths[code]) code = draw(source, 0);
  return codes;
}

Source const byte_sources[] = {
    {"bytes, 4 bits", 256, Source::GEOMETRIC, 0.85},
    {"bytes, flat", 256, Source::FLAT, 256},
    {"bytes, one", 256, Source::LONE, 65},
};

void every_choice_gives_the_codes_back() {
  size_t const counts[] = {1, 9, 33, 255, 2049, 4097, 32769, 100003};
  std::vector<Source> all(sources, sources + sizeof sources / sizeof *sources);
  all.insert(all.end(), byte_sources, byte_sources + sizeof byte_sources / sizeof *byte_sources);
  size_t next = 0;
  for (const Source &source : all) {
    coder->build(source, {});
    DeviceBook const book(*coder, source.symbol_count);
    for (size_t count : counts) {
      if (is_left_out(next, 3)) {
        next++;
        continue;
      }
      Codes const codes = draw_covered(source, count);
      Stream const s(*coder, codes, line_of(count));
      size_t const step = (count > 5000 ? 3 : 1) * (is_quick() ? 11 : 1); /* saves time */
      for (size_t o = next++ % step; o < kOptionCount; o += step) {
        CHECK(!decode(book, s, all_options[o]).is_refused, "%s, %zu codes", source.name, count);
        agrees(book, s, all_options[o], source.name);
      }
    }
  }
}

/* Codes of one length never fall into step, so maps must say where they begin. */
void books_for_each_length_of_code() {
  for (uint32_t bits = 1; bits <= 16; bits++) {
    Source const source = {"flat", std::max(1u << bits, 4u), Source::FLAT, (double)(1u << bits)};
    coder->build(source, {});
    DeviceBook const book(*coder, source.symbol_count);
    Stream const s(*coder, draw_codes(source, 70001), line_of(70001));
    for (size_t o = 0; o < kOptionCount; o += (1 + bits % 2) * (is_quick() ? 6 : 1)) {
      bool const is_unsettled = agrees(book, s, all_options[o], "flat");
      bool const falls_in_step =
          (all_options[o].subsequence_bits % bits) == 0 && (all_options[o].run_up_bits % bits) == 0;
      bool const is_short = s.bit_count < 40 * (uint64_t)all_options[o].subsequence_bits;
      CHECK(is_short || is_unsettled == !falls_in_step, "%u bits, %u x %u", bits,
            all_options[o].subsequence_bits, all_options[o].block_threads);
    }
  }
}

/* Codes of many lengths fall into step. */
void mostly_guesses_settle() {
  for (double theta : {0.3, 0.5, 0.78, 0.9}) {
    if (is_quick() && theta != 0.5) continue;
    Source const source = {"geometric", 1024, Source::GEOMETRIC, theta};
    coder->build(source, {});
    DeviceBook const book(*coder, source.symbol_count);
    size_t const count = is_quick() ? 50000 : 500000;
    Stream const s(*coder, draw_covered(source, count), line_of(count));
    for (const szg_self_sync_options_cuda &options : all_options)
      CHECK(!agrees(book, s, options, "geometric"), "theta %g, %u x %u", theta,
            options.subsequence_bits, options.block_threads);
  }
}

/* A constant stretch, such as fill values, keeps a guess out of step for its whole length. */
void constant_stretches() {
  Source const source = {"geometric", 1024, Source::GEOMETRIC, 0.8};
  coder->build(source, {});
  DeviceBook const book(*coder, source.symbol_count);
  uint32_t const length = coder->book.lengths[512];
  CHECK(length > 1, "the test expects a delta 0 of more than a bit");
  for (size_t stretch : {300, 3000, 30000, 90000}) {
    if (is_quick() && stretch != 3000) continue;
    Codes codes = draw_covered(source, 150000);
    std::fill_n(codes.begin() + 20001, stretch, (uint16_t)512);
    Stream const s(*coder, codes, line_of(codes.size()));
    for (const szg_self_sync_options_cuda &options : all_options)
      agrees(book, s, options, "a constant stretch");
  }
}

/* Symbols of 1, 2, 3, ... bits, and one of 16 that is not drawn. */
void build_steep_book(const Source &source, uint16_t rare) {
  memset(coder->counts, 0, sizeof coder->counts);
  for (uint32_t s = 0; s < SZG_MAX_CODE_BITS; s++)
    coder->counts[s] = (uint64_t)1 << (SZG_MAX_CODE_BITS - 1 - s);
  coder->counts[rare] = 1;
  szg_codebook_build(coder->counts, source.symbol_count, SZG_MAX_CODE_BITS, &coder->book,
                     &coder->work);
  szg_encoder_table(&coder->book, coder->table);
  szg_canonical_index_build(&coder->book, &coder->index);
  coder->section.resize(SZG_CODEBOOK_MAX_BYTES);
  coder->section.resize(szg_codebook_write(&coder->book, coder->section.data()));
}

/* The same with a code of 16 bits for delta 0: codes may begin at any of 16 places throughout. */
void constant_stretches_of_the_longest_code() {
  Source const source = {"steep", 64, Source::STEEP, 0};
  uint16_t const rare = 32;
  build_steep_book(source, rare);
  DeviceBook const book(*coder, source.symbol_count);
  CHECK(coder->book.lengths[rare] == SZG_MAX_CODE_BITS, "the test expects a rare delta 0");
  uint32_t seen_places = 0;
  for (size_t count = 5000; seen_places != 0xFFFF && count < 6000; count++) {
    Codes codes = draw_covered(source, count);
    uint32_t const place =
        (uint32_t)szg_linear_bits(&coder->book, codes.data(), count) % SZG_MAX_CODE_BITS;
    if (seen_places >> place & 1) continue;
    seen_places |= 1u << place;
    codes.insert(codes.end(), 20000, rare);
    codes.insert(codes.end(), codes.begin(), codes.begin() + 5000);
    Stream const s(*coder, codes, line_of(codes.size()));
    for (size_t o = place % 3; o < kOptionCount; o += 3)
      CHECK(agrees(book, s, all_options[o], "long codes") || place == 0, "place %u", place);
  }
  CHECK(seen_places == 0xFFFF, "places %x", seen_places);
}

void large_streams() {
  Source const source = {"mixed", 1024, Source::MIXED, 0};
  Codes const codes = draw_codes(source, 2999999);
  coder->build(source, codes);
  DeviceBook const book(*coder, source.symbol_count);
  Stream const s(*coder, codes, line_of(codes.size()));
  for (size_t o = 0; o < kOptionCount; o += 4) agrees(book, s, all_options[o], "large");
}

void change(Stream *s, int round) {
  uint64_t const last = 32 * s->words.size() - 1;
  uint64_t const bit = round < 10 ? last - (uint64_t)round : random_below(last + 1);
  switch (round % 5) {
    case 0:
      s->code_count += random_below(2) ? 1 : random_below(1000);
      break;
    case 1:
      if (s->code_count > 1) s->code_count -= 1 + random_below(s->code_count - 1);
      break;
    case 2: /* as many words, or the sections would not agree */
      s->bit_count = 32 * s->words.size() - random_below(32);
      break;
    case 3:
      s->words[bit / 32] ^= 0x80000000u >> bit % 32;
      break;
    default:
      for (size_t i = bit / 32; i < s->words.size(); i++)
        s->words[i] = round % 3 == 0 ? 0 : round % 3 == 1 ? ~0u : (uint32_t)random_bits();
  }
}

void changed_streams_fare_as_with_the_serial_decoder() {
  std::vector<Source> all(sources, sources + sizeof sources / sizeof *sources);
  all.insert(all.end(), byte_sources, byte_sources + sizeof byte_sources / sizeof *byte_sources);
  for (const Source &source : all) {
    size_t const counts[] = {40, 20000};
    if (is_left_out(random_below(4), 4)) continue;
    coder->build(source, {});
    DeviceBook const book(*coder, source.symbol_count);
    for (size_t count : counts) {
      Stream const sound(*coder, draw_covered(source, count), line_of(count));
      for (int round = 0; round < (is_quick() ? 3 : 20); round++) {
        Stream s = sound;
        change(&s, round);
        agrees(book, s, all_options[(size_t)round % kOptionCount], source.name);
      }
    }
  }
}

/* Contradictory sizes are refused, and so is a stream without bits for some codes. */
void sizes_that_contradict_each_other() {
  Source const source = {"geometric", 256, Source::GEOMETRIC, 0.5};
  coder->build(source, {});
  DeviceBook const book(*coder, source.symbol_count);
  Stream const sound(*coder, draw_covered(source, 20000), line_of(20000));
  uint64_t const sizes[] = {0, 1, 256, sound.bit_count + 32, UINT64_MAX, UINT64_MAX / 2};
  for (uint64_t bit_count : sizes) {
    Stream s = sound;
    s.bit_count = bit_count;
    for (const szg_self_sync_options_cuda &options : all_options) {
      Decoded const result = decode(book, s, options);
      CHECK(result.is_refused && result.is_guard_whole, "%llu bits", (unsigned long long)bit_count);
    }
  }
  Stream empty = sound;
  empty.words.clear();
  empty.bit_count = 0;
  CHECK(decode(book, empty, all_options[0]).is_refused, "codes of no bits");
  empty.code_count = 0;
  CHECK(!decode(book, empty, all_options[0]).is_refused, "no codes of no bits");
}

void bad_books_do_no_harm() {
  for (const Source &source : sources) {
    coder->build(source, {});
    Stream const s(*coder, draw_covered(source, 5000), line_of(5000));
    for (int round = 0; round < 4; round++) {
      std::vector<uint8_t> section = coder->section;
      for (uint8_t &byte : section) byte = (uint8_t)(random_bits() & random_bits());
      DeviceBook book;
      bool const is_sound = book.build(section, source.symbol_count);
      for (uint32_t is_known : {0u, 1u}) { /* after a good verdict and after a bad one */
        Decoded const result = decode(book, s, all_options[(size_t)round], false, is_known);
        CHECK(result.is_guard_whole, "%s, sound %d", source.name, is_sound);
      }
    }
  }
}

void nothing_is_decoded_after_a_verdict() {
  Source const source = {"geometric", 256, Source::GEOMETRIC, 0.5};
  coder->build(source, {});
  DeviceBook const book(*coder, source.symbol_count);
  Stream const s(*coder, draw_covered(source, 50000), line_of(50000));
  for (bool are_bytes : {false, true}) {
    Decoded const result = decode(book, s, all_options[0], are_bytes, 1);
    CHECK(result.is_refused, "bytes %d", are_bytes);
    CHECK(result.codes == Codes(s.code_count, are_bytes ? 0xA5 : 0xA5A5), "bytes %d", are_bytes);
  }
}

void choices_beyond_the_limits_are_refused() {
  szg_self_sync_options_cuda const wrong[] = {
      {0, 128, 0},  {224, 128, 0}, {272, 128, 0},  {8224, 128, 0}, {256, 0, 0},
      {256, 31, 0}, {256, 48, 0},  {256, 1056, 0}, {256, 32, 16},  {256, 32, 288},
  };
  for (const szg_self_sync_options_cuda &options : wrong) {
    szg_arena arena = {};
    szg_self_sync_decoder_cuda work;
    CHECK(szg_self_sync_carve_cuda(&arena, &options, 1000, &work) == SZGPU_BAD_ARGUMENT,
          "%u x %u, %u", options.subsequence_bits, options.block_threads, options.run_up_bits);
  }
}

} // namespace

int main() {
  begin();
  choices_beyond_the_limits_are_refused();
  sizes_that_contradict_each_other();
  every_choice_gives_the_codes_back();
  books_for_each_length_of_code();
  mostly_guesses_settle();
  constant_stretches();
  if (!is_quick()) constant_stretches_of_the_longest_code();
  changed_streams_fare_as_with_the_serial_decoder();
  bad_books_do_no_harm();
  nothing_is_decoded_after_a_verdict();
  if (!is_quick()) large_streams();
  return end();
}
