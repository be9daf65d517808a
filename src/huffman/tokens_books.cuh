/* tokens_books.cuh - the books of a section of a levels frame to tables, by one block.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread has a word of units, a warp a book's symbols. Nothing goes symbol by symbol: that would
 * be a chain of hundreds of steps, for which all tiles wait.
 */
#ifndef SZG_TOKENS_BOOKS_CUH
#define SZG_TOKENS_BOOKS_CUH

#include "core/warp.cuh"
#include "huffman/canonical.cuh"
#include "huffman/tokens_cuda.h"
#include "huffman/tokens_units_core.h"

namespace szg {

struct BooksPolicy {
  static constexpr uint32_t kThreads = 256;
  static constexpr uint32_t kWarps = kThreads / 32;
};
constexpr uint32_t kBooksMostWords = SZG_TOKENS_BOOKS_MOST_BYTES / 4, kMostBooks = 3;
static_assert(kBooksMostWords < BooksPolicy::kThreads, "a thread for each word");
static_assert(kMostBooks <= BooksPolicy::kWarps, "a warp for each book");

struct BookLayout {
  CodeLayout<SZG_LEVELS_CODE_BITS> codes;
  uint16_t symbols[SZG_TOKENS_MOST_SYMBOLS]; /* by (length, symbol) */
};

struct BooksMemory {
  uint32_t words[kBooksMostWords + 1];                              /* 0 behind the books */
  uint32_t ways[BooksPolicy::kWarps], symbols[BooksPolicy::kWarps]; /* of each warp's words */
  uint32_t ends[kMostBooks];
  szg_tokens_books lengths;
  BookLayout layouts[kMostBooks];
};

/* ---- units ---- */

/* Where a book ends: the unit behind it, and the symbols that tokens up to there give, those of
 * earlier books included. Ends compare like the units. */
struct BookEnd {
  static constexpr uint32_t kSymbolBits = 17, kNone = UINT32_MAX;
  static_assert(kBooksMostWords * 2 * (SZG_TOKENS_LONGEST_MANY + 1) < 1u << kSymbolBits,
                "four units give as many symbols at most");

  uint32_t unit, symbols;

  static __device__ __forceinline__ BookEnd of(uint32_t packed) {
    return {packed >> kSymbolBits, packed & ((1u << kSymbolBits) - 1)};
  }
  __device__ __forceinline__ uint32_t pack() const { return unit << kSymbolBits | symbols; }
};

/* The tokens that begin in a thread's word. */
struct WordTokens {
  uint64_t units;        /* of the word and the next one */
  uint32_t starts;       /* bit i: one begins at unit i */
  uint32_t before;       /* symbols that tokens of words before give */
  uint32_t first, count; /* the word's first unit; all units */

  /* take(token, unit, symbols before it) for each, in order. */
  template <class Take>
  __device__ __forceinline__ void each(Take take) const {
    uint32_t symbols = before;
#pragma unroll
    for (uint32_t i = 0; i < SZG_UNITS_WORD; i++) {
      szg_units_token const token = szg_units_token_at(units, i);
      if (!(starts >> i & 1) || first + i >= count) continue;
      take(token, first + i, symbols);
      symbols += token.symbols;
    }
  }
};

/* The whole block calls; words are there. */
__device__ inline WordTokens find_tokens(uint32_t unit_count, BooksMemory *memory) {
  uint32_t const t = threadIdx.x, lane = t % 32, warp = t / 32;
  bool const has_word = t < kBooksMostWords;
  WordTokens own = {0, 0, 0, t * SZG_UNITS_WORD, unit_count};
  if (has_word) own.units = szg_units_of_words(memory->words[t], memory->words[t + 1]);
  uint32_t way = szg_units_way(own.units);
#pragma unroll
  for (uint32_t step = 1; step < 32; step *= 2) {
    uint32_t const before = __shfl_up_sync(kAllLanes, way, step);
    if (lane >= step) way = szg_units_join(before, way);
  }
  if (lane == 31) memory->ways[warp] = way;
  way = __shfl_up_sync(kAllLanes, way, 1);
  __syncthreads(); /* ways through warps' words are known */
  uint32_t at = 0;
  for (uint32_t i = 0; i < warp; i++) at = szg_units_exit(memory->ways[i], at);
  if (lane > 0) at = szg_units_exit(way, at);
  uint32_t symbols = 0;
#pragma unroll
  for (uint32_t i = 0; i < SZG_UNITS_WORD; i++) {
    szg_units_token const token = szg_units_token_at(own.units, i);
    if (i != at) continue;
    own.starts |= 1u << i;
    at += token.units;
    symbols += token.symbols;
  }
  uint32_t const end = sum_to_lane(symbols, lane);
  if (lane == 31) memory->symbols[warp] = end;
  __syncthreads(); /* and the symbols of warps' words */
  own.before = end - symbols;
  for (uint32_t i = 0; i < warp; i++) own.before += memory->symbols[i];
  return own;
}

/* Finds where a book ends that begins where `begin` says; false: it does not. The whole block
 * calls. */
__device__ inline bool find_book_end(const WordTokens &own, uint32_t symbol_count,
                                     const BookEnd &begin, uint32_t *memory, BookEnd *end) {
  uint32_t first = BookEnd::kNone;
  own.each([&](const szg_units_token &token, uint32_t unit, uint32_t symbols) {
    BookEnd const here = {unit + token.units, symbols + token.symbols};
    bool const is_end =
        token.unit == SZG_TOKENS_UNIT_END || here.symbols - begin.symbols >= symbol_count;
    if (unit >= begin.unit && is_end) first = min(first, here.pack());
  });
  if (first != BookEnd::kNone) atomicMin(memory, first);
  __syncthreads(); /* the first end is known */
  uint32_t const packed = *memory;
  *end = BookEnd::of(packed);
  return packed != BookEnd::kNone && end->unit <= own.count &&
         end->symbols - begin.symbols <= symbol_count;
}

/* Sets the lengths of all books of a mode. False: the units break a rule. The whole block calls;
 * words are there, lengths are 0, and ends are kNone. */
__device__ inline bool read_lengths(uint32_t mode, uint32_t book_bytes, BooksMemory *memory) {
  WordTokens const own = find_tokens(2 * book_bytes, memory);
  uint32_t const book_count = szg_tokens_book_count(mode);
  BookEnd begins[kMostBooks + 1] = {};
#pragma unroll
  for (uint32_t i = 0; i < kMostBooks; i++) {
    if (i >= book_count) continue; /* the whole block */
    szg_tokens_book_kind const kind = szg_tokens_book_kind_of(szg_tokens_book_of(mode, i));
    if (!find_book_end(own, kind.symbol_count, begins[i], &memory->ends[i], &begins[i + 1]))
      return false;
  }
  BookEnd const end = BookEnd::of(memory->ends[book_count - 1]);
  bool is_bad = (end.unit + SZG_UNITS_WORD - 1) / SZG_UNITS_WORD * 4 != book_bytes;
  if (end.unit % SZG_UNITS_WORD != 0 && threadIdx.x == end.unit / SZG_UNITS_WORD)
    is_bad |= (uint32_t)(own.units >> 32) << 4 * (end.unit % SZG_UNITS_WORD) != 0;
  own.each([&](const szg_units_token &token, uint32_t unit, uint32_t symbols) {
    if (unit >= end.unit) return;
    is_bad |= token.unit > SZG_TOKENS_UNIT_END;
    if (token.unit == SZG_TOKENS_UNIT_NONE || token.unit >= SZG_TOKENS_UNIT_END) return;
    uint32_t book = 0, book_begin = 0;
#pragma unroll
    for (uint32_t i = 1; i < kMostBooks; i++)
      if (i < book_count && unit >= begins[i].unit) book = i, book_begin = begins[i].symbols;
    szg_tokens_book_kind const kind = szg_tokens_book_kind_of(szg_tokens_book_of(mode, book));
    ((uint8_t *)&memory->lengths)[kind.lengths_at + symbols - book_begin] = (uint8_t)token.unit;
  });
  return !__syncthreads_or(is_bad); /* lengths are there */
}

/* ---- codes ---- */

/* The whole warp calls. */
__device__ inline void lay_out_book(const uint8_t *lengths, uint32_t symbol_count,
                                    BookLayout *layout) {
  constexpr uint32_t kRounds = (SZG_TOKENS_MOST_SYMBOLS + 31) / 32;
  uint32_t const lane = threadIdx.x % 32;
  uint32_t own_count = 0; /* symbols so far whose length is this lane's number */
  uint32_t own_lengths[kRounds], ranks[kRounds];
#pragma unroll
  for (uint32_t i = 0; i < kRounds; i++) {
    uint32_t const s = 32 * i + lane, length = s < symbol_count ? lengths[s] : 0;
    uint32_t alike = kAllLanes, own = kAllLanes;
#pragma unroll
    for (uint32_t bit = 0; bit < 4; bit++) {
      uint32_t const set = __ballot_sync(kAllLanes, length >> bit & 1);
      alike &= length >> bit & 1 ? set : ~set;
      own &= lane >> bit & 1 ? set : ~set;
    }
    own_lengths[i] = length;
    ranks[i] = __shfl_sync(kAllLanes, own_count, (int)length) + rank_among(alike, lane);
    own_count += (uint32_t)__popc((int)own);
  }
  layout->codes.lay_out(own_count, lane);
  __syncwarp(); /* the layout is complete */
#pragma unroll
  for (uint32_t i = 0; i < kRounds; i++) {
    uint32_t const rank = layout->codes.first_ranks[own_lengths[i]] + ranks[i];
    if (own_lengths[i] > 0) layout->symbols[rank] = (uint16_t)(32 * i + lane);
  }
}
static_assert(SZG_LEVELS_CODE_BITS < 16, "a length has four bits");

/* Lays out the books of a mode; false: one of them is no code. The whole block calls; lengths are
 * there. */
__device__ inline bool lay_out_books(uint32_t mode, BooksMemory *memory) {
  uint32_t const book_count = szg_tokens_book_count(mode), warp = threadIdx.x / 32;
  if (warp < book_count) {
    szg_tokens_book_kind const kind = szg_tokens_book_kind_of(szg_tokens_book_of(mode, warp));
    lay_out_book((const uint8_t *)&memory->lengths + kind.lengths_at, kind.symbol_count,
                 &memory->layouts[warp]);
  }
  __syncthreads(); /* layouts are there */
  bool are_codes = true;
  for (uint32_t i = 0; i < book_count; i++)
    are_codes &= szg_tokens_is_code(memory->layouts[i].codes.symbol_count(),
                                    memory->layouts[i].codes.window_count());
  return are_codes;
}

/* ---- tables ---- */

/* The code at the start of a window: symbol << 4 | length, or 0. */
__device__ __forceinline__ uint32_t code_of_window(const BookLayout &layout, uint32_t window) {
  if (window >= layout.codes.window_count()) return 0;
  uint32_t const length = layout.codes.length_at(window);
  return (uint32_t)layout.symbols[layout.codes.rank_at(window, length)] << 4 | length;
}

/* has_zero: a value may be 0. */
__device__ inline uint32_t value_entry(uint32_t symbol, uint32_t length, bool has_zero) {
  static_assert(SZG_TOKENS_NO_SYMBOL == 0, "the symbol of 0 is none where no value is 0");
  if (length == 0 || (symbol == 0 && !has_zero))
    return (uint32_t)SZG_TOKENS_NO_SYMBOL << 16 | SZG_TOKENS_RARE;
  if (symbol >= SZG_LEVELS_FIRST_CLASS) return symbol << 16 | SZG_TOKENS_RARE | length;
  uint32_t const magnitude = (symbol + 1) / 2;
  return (symbol % 2 ? magnitude : 0 - magnitude) << 16 | length;
}

__device__ inline uint32_t pair_entry(uint32_t symbol, uint32_t length) {
  if (length == 0) return (uint32_t)SZG_TOKENS_NO_SYMBOL << 16 | SZG_TOKENS_RARE;
  if (symbol == SZG_LEVELS_PAIR_ESCAPE) return symbol << 16 | SZG_TOKENS_RARE | length;
  uint32_t const a = symbol / SZG_LEVELS_PAIR_SIDE - SZG_LEVELS_PAIR_REACH;
  uint32_t const b = symbol % SZG_LEVELS_PAIR_SIDE - SZG_LEVELS_PAIR_REACH;
  return b << 24 | (a & 255) << 16 | length;
}

/* Two windows of a thread. */
template <class EntryOf>
__device__ __forceinline__ void set_two(uint32_t *table, uint32_t window, EntryOf entry_of) {
  *(uint2 *)(table + window) = make_uint2(entry_of(window), entry_of(window + 1));
}

/* Sets the entries of `window` and the one after it. Books are those of the mode, laid out. */
__device__ inline void set_entries(uint32_t mode, const BooksMemory &memory, uint32_t window,
                                   szg_tokens_tables_cuda *tables) {
  bool const has_zero = mode != SZG_LEVELS_MODE_MASKS;
  const BookLayout &values = memory.layouts[szg_tokens_book_count(mode) - 1];
  set_two(tables->values, window, [&](uint32_t i) {
    uint32_t const code = code_of_window(values, i);
    return value_entry(code >> 4, code & SZG_TOKENS_LENGTH, has_zero);
  });
  if (mode == SZG_LEVELS_MODE_PLAIN) return;
  const BookLayout &first = memory.layouts[0];
  if (mode == SZG_LEVELS_MODE_PAIRS) {
    set_two(tables->others, window, [&](uint32_t i) {
      uint32_t const code = code_of_window(first, i);
      return pair_entry(code >> 4, code & SZG_TOKENS_LENGTH);
    });
    return;
  }
  const BookLayout &second = memory.layouts[1];
  set_two(tables->others, window,
          [&](uint32_t i) { return code_of_window(first, i) | code_of_window(second, i) << 16; });
}

/* ---- all of it ---- */

/* Reads the books of a mode, which are book_bytes long and a multiple of 4. word: of those bytes,
 * this thread's. False: they break a rule. The whole block calls. */
__device__ inline bool read_books(uint32_t mode, uint32_t book_bytes, uint32_t word,
                                  BooksMemory *memory) {
  uint32_t const t = threadIdx.x;
  if (t <= kBooksMostWords) memory->words[t] = t < book_bytes / 4 ? word : 0;
  if (t < kMostBooks) memory->ends[t] = BookEnd::kNone;
  for (uint32_t i = t; i < sizeof memory->lengths; i += BooksPolicy::kThreads)
    ((uint8_t *)&memory->lengths)[i] = 0;
  __syncthreads(); /* words are there, and lengths are 0 */
  return read_lengths(mode, book_bytes, memory) && lay_out_books(mode, memory);
}

} // namespace szg

#endif
