/* test_cuda_all_offsets.cu - decoding from every bit on the device gives the serial decoder's
 * codes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/all_offsets.h"

#include <memory>
#include <string>

#include "cuda/decode_cases.cuh"
#include "study/all_offsets_forms.h"

namespace {

using namespace cuda_test;
using namespace decode_cases;

/* Options of a form of the decoder. */
struct Options {
  szg_all_offsets_options tables;
  bool is_shared;          /* windows in shared memory, else rows in device memory */
  uint32_t window_threads; /* if is_shared: 32 (archives' decoder) or a block's */
};

constexpr size_t kGuardCodes = 64; /* after the codes */

std::unique_ptr<Coder> coder(new Coder);

/* The tables of each form. */
struct Tables {
  Options options;
  szg_all_offsets_tables_cuda windows;
  szg_all_offsets_rows_cuda rows;

  szgpu_status carve(szg_arena *arena, uint32_t shortest, uint32_t longest) {
    if (!options.is_shared)
      return szg_all_offsets_rows_carve_cuda(arena, &options.tables, shortest, longest, &rows);
    if (options.window_threads == 32)
      return szg_all_offsets_carve_cuda(arena, &options.tables, shortest, longest, &windows);
    return szg_all_offsets_blocks_carve_cuda(arena, &options.tables, options.window_threads,
                                             shortest, longest, &windows);
  }
  szgpu_status decode(const DeviceBook &book, const szg_linear_input_cuda &input, uint16_t *codes,
                      szg_verdict *verdict) const {
    if (!options.is_shared)
      return szg_decode_all_offsets_rows_cuda(&rows, book.book(), &input, codes, verdict, stream);
    if (options.window_threads == 32)
      return szg_decode_all_offsets_cuda(&windows, book.book(), &input, codes, verdict, stream);
    return szg_decode_all_offsets_blocks_cuda(&windows, book.book(), &input, codes, verdict,
                                              stream);
  }
};

/* ---- choices ---- */

/* Whether a block of the device has room for the tables. */
bool is_possible(const Options &options) {
  szg_arena arena = {};
  Tables tables = {options, {}, {}};
  szgpu_status const status = tables.carve(&arena, 1, 16);
  if (status != SZGPU_UNSUPPORTED) MUST(status);
  return status == SZGPU_OK;
}

/* Windows of one and more words, in batches that the stream fills or does not fill. */
std::vector<Options> all_options() {
  std::vector<Options> all, possible;
  for (bool skips : {false, true})
    for (bool is_narrow : {false, true}) {
      all.push_back({{32, 70, skips, is_narrow}, true, 32});
      all.push_back({{96, 1, skips, is_narrow}, true, 32});
      all.push_back({{256, 1 << 17, skips, is_narrow}, true, 32});
      all.push_back({{256, 1000, skips, is_narrow}, true, 64});
      all.push_back({{1024, 130, skips, is_narrow}, true, 1024});
      all.push_back({{2048, 64, skips, is_narrow}, true, 256});
      all.push_back({{256, 500, skips, is_narrow}, false, 0});
      all.push_back({{32, 4097, skips, is_narrow}, false, 0});
      all.push_back({{1 << 15, 3, skips, is_narrow}, false, 0});
      all.push_back({{1 << 22, 1, skips, is_narrow}, false, 0}); /* the paper's form */
    }
  for (const Options &options : all)
    if (is_possible(options)) possible.push_back(options);
  return possible;
}

std::string text_of(const Options &o) {
  return std::to_string(o.tables.window_bits) + " bits x " + std::to_string(o.tables.slot_count) +
         (o.tables.skips_none ? " skips" : "") + (o.tables.is_narrow ? " narrow" : "") +
         (o.is_shared ? " shared, " + std::to_string(o.window_threads) : "");
}

/* ---- on the device ---- */

/* The book's shortest and longest code. */
struct Lengths {
  uint32_t shortest = 16, longest = 1;
  explicit Lengths(bool is_any) {
    for (uint32_t s = 0; s < coder->book.symbol_count; s++) {
      uint32_t const length = coder->book.lengths[s];
      if (!length) continue;
      shortest = std::min(shortest, length);
      longest = std::max(longest, length);
    }
    if (is_any) shortest = 1, longest = 16;
  }
};

struct Decoded {
  bool is_refused, is_guard_whole;
  Codes codes;
};

/* Decodes twice in the same memory and returns the second result. */
Decoded decode(const Options &options, const Lengths &lengths, const DeviceBook &book,
               const Stream &s) {
  DeviceArray<uint32_t> const words(s.words);
  DeviceArray<uint64_t> const bit_count(std::vector<uint64_t>{s.bit_count});
  DeviceArray<szg_verdict> verdict(1);
  DeviceArray<uint16_t> codes(s.code_count + kGuardCodes);
  szg_linear_input_cuda input = {};
  input.words = words.data();
  input.word_count = words.count();
  input.code_count = s.code_count;
  input.bit_count = bit_count.data();
  szg_arena arena = {};
  Tables tables = {options, {}, {}};
  MUST(tables.carve(&arena, lengths.shortest, lengths.longest));
  DeviceArray<uint8_t> const memory(arena.used_bytes);
  arena = {memory.data(), 0, arena.used_bytes, false};
  MUST(tables.carve(&arena, lengths.shortest, lengths.longest));
  for (int run = 0; run < 2; run++) {
    codes.poison();
    verdict.zero();
    MUST(tables.decode(book, input, codes.data(), verdict.data()));
  }
  Decoded result = {verdict.host()[0].bad_data != 0, true, codes.host()};
  for (size_t i = s.code_count; i < result.codes.size(); i++)
    result.is_guard_whole &= result.codes[i] == 0xA5A5;
  result.codes.resize(s.code_count);
  return result;
}

/* The serial decoder's verdict and codes, from the bits only. */
bool serial(const Stream &s, Codes *codes) {
  szg_linear_input const input = s.host_input();
  codes->assign(s.code_count, 0);
  szg_code_run const run = {0, s.bit_count, (uint32_t)s.code_count, codes->data()};
  return szg_decode_serial(&coder->index, &input, &run, 1) == SZGPU_OK;
}

/* The device must refuse the stream if and only if the serial decoder does, or give its codes. */
bool agrees(const Options &options, const Lengths &lengths, const DeviceBook &book, const Stream &s,
            const char *what) {
  Codes expected;
  bool const is_sound = serial(s, &expected);
  Decoded const result = decode(options, lengths, book, s);
  std::string const text = text_of(options);
  CHECK(result.is_refused == !is_sound, "%s, %s: %srefused", what, text.c_str(),
        result.is_refused ? "" : "not ");
  CHECK(!is_sound || result.codes == expected, "%s, %s: other codes", what, text.c_str());
  CHECK(result.is_guard_whole, "%s, %s: written past the end", what, text.c_str());
  return is_sound;
}

/* ---- claims ---- */

void every_choice_gives_the_codes_back() {
  size_t const counts[] = {1, 2, 31, 33, 255, 1000, 4097, 40009};
  std::vector<Options> const all = all_options();
  size_t round = 0;
  for (const Source &source : sources) {
    coder->build(source, {});
    DeviceBook const book(*coder, source.symbol_count);
    for (size_t count : counts) {
      Codes codes = draw_codes(source, count);
      for (uint16_t &code : codes)
        while (!coder->book.lengths[code]) code = draw(source, 0);
      Stream const s(*coder, codes, line_of(count));
      for (size_t i = 0; i < all.size(); i++, round++) {
        if (count > 300 && (i + round / all.size()) % 4) continue; /* saves time */
        if (is_left_out(i + round / all.size(), 41)) continue;
        if (all[i].tables.slot_count == 1 && all[i].tables.window_bits < 256 && count > 1000)
          continue; /* one batch per window */
        bool const is_sound = agrees(all[i], Lengths(round % 3 == 0), book, s, source.name);
        CHECK(is_sound, "%s: the serial decoder refuses", source.name);
      }
    }
  }
}

void large_streams() {
  for (double theta : {0.05, 0.5, 0.97}) {
    Source const source = {"large", 1024, Source::GEOMETRIC, theta};
    Codes const codes = draw_codes(source, 5000011);
    coder->build(source, codes);
    DeviceBook const book(*coder, source.symbol_count);
    Stream const s(*coder, codes, line_of(codes.size()));
    Options shared = {SZG_ALL_OFFSETS_DEFAULTS_CUDA, true, 32}, rows = shared;
    rows.is_shared = false;
    rows.tables.slot_count = 1 << 13;
    Options paper = {{1 << 25, 1, false, false}, false, 0};
    Options blocks = {{4096, 1 << 10, true, true}, true, 512};
    for (const Options &options : {shared, rows, paper, blocks})
      if (is_possible(options)) agrees(options, Lengths(false), book, s, source.name);
  }
}

void counts_that_lie_are_refused(const DeviceBook &book, const Stream &sound,
                                 const Options &options) {
  for (int change : {1, -1, 5, 100000}) {
    Stream s = sound;
    s.code_count += (uint64_t)change;
    CHECK(!agrees(options, Lengths(false), book, s, "codes"), "%d codes", change);
  }
  for (int change : {-1, -7, -31}) { /* as many words as before */
    Stream s = sound;
    s.bit_count += (uint64_t)change;
    if ((s.bit_count + 31) / 32 == s.words.size()) agrees(options, Lengths(false), book, s, "bits");
  }
  /* More bits than there are words, and far fewer. */
  for (uint64_t bits : {sound.bit_count + 3200, sound.bit_count / 2, (uint64_t)0, UINT64_MAX}) {
    Stream s = sound;
    s.bit_count = bits;
    Decoded const result = decode(options, Lengths(false), book, s);
    CHECK(result.is_refused, "%s: bits that words are not", text_of(options).c_str());
    CHECK(result.is_guard_whole, "%s: written past the end", text_of(options).c_str());
  }
}

void damaged_streams_are_decoded_as_serially() {
  std::vector<Options> const all = all_options();
  for (const Source &source : sources) {
    if (source.symbol_count > 4096) continue; /* saves time */
    Codes const codes = draw_codes(source, 3001);
    coder->build(source, codes);
    DeviceBook const book(*coder, source.symbol_count);
    Stream const sound(*coder, codes, line_of(codes.size()));
    for (size_t i = 0; i < all.size(); i += is_quick() ? 19 : 1) {
      if (all[i].tables.slot_count == 1 && all[i].tables.window_bits < 256) continue;
      for (int round = 0; round < (is_quick() ? 1 : 4); round++) {
        Stream s = sound;
        for (int bit = 0; bit <= round; bit++) {
          uint64_t const at = random_below(s.bit_count);
          s.words[at / 32] ^= 0x80000000u >> at % 32;
        }
        agrees(all[i], Lengths(false), book, s, source.name);
      }
      if (i % 5 == 0) counts_that_lie_are_refused(book, sound, all[i]);
    }
  }
}

/* Tables for longer or shorter codes than the book's are refused. */
void books_that_do_not_fit_are_refused() {
  Source const source = {"lengths 1 to 16", 64, Source::STEEP, 0};
  Codes const codes = draw_codes(source, 20011);
  coder->build(source, codes);
  DeviceBook const book(*coder, source.symbol_count);
  Stream const s(*coder, codes, line_of(codes.size()));
  Lengths few(false);
  few.shortest = 2;
  few.longest = 7;
  for (const Options &options : all_options()) {
    if (options.tables.slot_count == 1 && options.tables.window_bits < 256) continue;
    Decoded const result = decode(options, few, book, s);
    CHECK(result.is_refused && result.is_guard_whole, "%s", text_of(options).c_str());
  }
}

void streams_of_nothing() {
  Source const source = {"2.4 bits", 1024, Source::GEOMETRIC, 0.5};
  coder->build(source, {});
  DeviceBook const book(*coder, source.symbol_count);
  Stream empty(*coder, {512}, line_of(1));
  empty.words.clear();
  empty.bit_count = empty.code_count = 0;
  for (const Options &options : all_options()) {
    Stream s = empty;
    CHECK(!decode(options, Lengths(false), book, s).is_refused, "%s", text_of(options).c_str());
    s.code_count = 3;
    CHECK(decode(options, Lengths(false), book, s).is_refused, "%s", text_of(options).c_str());
  }
}

} // namespace

int main() {
  begin();
  every_choice_gives_the_codes_back();
  if (!is_quick()) large_streams();
  damaged_streams_are_decoded_as_serially();
  books_that_do_not_fit_are_refused();
  streams_of_nothing();
  return end();
}
