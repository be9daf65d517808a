/* codebook.cu - reads and checks a codebook section, and builds the decoders' tables.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One block does it all: a book is small, and the point is not to wait for the host. It sums run
 * lengths to find their symbols; its warps rank symbols by (length, symbol), each over a range of
 * them; then it looks up every window in the canonical order and builds the tables of several codes
 * from that.
 *
 * Moves: reads the section, and the lengths twice; writes 3 bytes per symbol and 32 KiB of tables.
 */
#include "core/cuda_check.cuh"
#include "huffman/book_section.cuh"
#include "huffman/canonical.cuh"
#include "huffman/decode.cuh"

namespace {

struct LinearBookPolicy {
  static constexpr int kThreads = 1024;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kStripsAhead = 8; /* loads in flight, of a warp that reads lengths */
};

constexpr int kLengths = SZG_MAX_CODE_BITS + 1;
constexpr uint32_t kAllBits = 1u << SZG_MAX_CODE_BITS;

typedef szg::BookSection<LinearBookPolicy::kThreads> Section;

struct LinearBookMemory {
  Section::Memory section;
  szg::CodeParts<LinearBookPolicy::kWarps, SZG_MAX_CODE_BITS, uint32_t>
      codes; /* a part for each warp */
  uint32_t mask;
  uint32_t is_lone, is_bad;
  uint32_t single[szg::kWindows];
};

/* Reads the lengths of all symbols. If the section is bad, all are 0 and it returns false. The
 * whole block calls. */
__device__ bool read_lengths(const uint8_t *bytes, uint64_t byte_count, uint32_t symbol_count,
                             LinearBookMemory *memory, uint8_t *lengths) {
  uint32_t *const length_words = reinterpret_cast<uint32_t *>(lengths);
  for (uint32_t i = threadIdx.x; i < (symbol_count + 3) / 4; i += LinearBookPolicy::kThreads)
    length_words[i] = 0;
  __syncthreads(); /* lengths are 0 */
  return Section::read(bytes, byte_count, symbol_count, SZG_MAX_CODE_BITS, &memory->section,
                       lengths);
}

/* A warp's symbols: consecutive whole strips of 32, in the order of warps. */
struct WarpStrips {
  uint32_t next, end; /* symbols */

  __device__ explicit WarpStrips(uint32_t symbol_count) {
    uint32_t const strips = (symbol_count + 31) / 32;
    uint32_t const share = (strips + LinearBookPolicy::kWarps - 1) / LinearBookPolicy::kWarps * 32;
    next = min(threadIdx.x / 32 * share, symbol_count);
    end = min(next + share, symbol_count);
  }

  /* Lengths of the lane's symbols in the next kStripsAhead strips; 0 past the end. */
  __device__ void load(const uint8_t *lengths, uint32_t *loaded) const {
#pragma unroll
    for (int i = 0; i < LinearBookPolicy::kStripsAhead; i++) {
      uint32_t const s = next + 32 * i + threadIdx.x % 32;
      loaded[i] = s < end ? lengths[s] : 0;
    }
  }
};

/* Counts each warp's symbols of each length. */
__device__ void count_lengths(const uint8_t *lengths, uint32_t symbol_count,
                              LinearBookMemory *memory) {
  uint32_t const lane = threadIdx.x % 32;
  uint32_t *const counts = memory->codes.ranks[threadIdx.x / 32];
  if (lane < kLengths) counts[lane] = 0;
  __syncwarp();
  for (WarpStrips strips(symbol_count); strips.next < strips.end;
       strips.next += 32 * LinearBookPolicy::kStripsAhead) {
    uint32_t loaded[LinearBookPolicy::kStripsAhead];
    strips.load(lengths, loaded);
#pragma unroll
    for (int i = 0; i < LinearBookPolicy::kStripsAhead; i++) {
      if (strips.next + 32 * i >= strips.end) break; /* for the whole warp */
      uint32_t const alike = szg::lanes_alike<SZG_BOOK_LENGTH_BITS>(loaded[i]);
      if ((alike & szg::lanes_below(lane)) == 0) counts[loaded[i]] += __popc(alike);
      __syncwarp(); /* another lane may be the one that counts this length next */
    }
  }
}

/* Where the windows of a length end. */
__device__ uint32_t limit_of(const LinearBookMemory &memory, uint32_t length) {
  return memory.codes.layout.first_windows[length + 1];
}

/* Says what the layout is. One thread calls. In a book of one symbol, or a bad one, all codes have
 * one bit, so that every bit is a code. */
__device__ void check_layout(bool is_section_bad, LinearBookMemory *memory) {
  auto &layout = memory->codes.layout;
  memory->mask = 0;
  memory->is_lone = layout.symbol_count() == 1 && layout.first_ranks[2] == 1;
  memory->is_bad = is_section_bad || !(memory->is_lone || layout.window_count() == kAllBits);
  if (memory->is_lone || memory->is_bad)
    for (int length = 1; length < kLengths; length++) layout.first_windows[length + 1] = kAllBits;
}

/* Symbols by (length, symbol), and the mask, from delta 0's code. */
__device__ void rank_symbols(const uint8_t *lengths, uint32_t symbol_count,
                             LinearBookMemory *memory, uint16_t *symbols) {
  uint32_t const lane = threadIdx.x % 32;
  uint32_t *const ranks = memory->codes.ranks[threadIdx.x / 32];
  for (WarpStrips strips(symbol_count); strips.next < strips.end;
       strips.next += 32 * LinearBookPolicy::kStripsAhead) {
    uint32_t loaded[LinearBookPolicy::kStripsAhead];
    strips.load(lengths, loaded);
#pragma unroll
    for (int i = 0; i < LinearBookPolicy::kStripsAhead; i++) {
      if (strips.next + 32 * i >= strips.end) break; /* for the whole warp */
      uint32_t const length = loaded[i], alike = szg::lanes_alike<SZG_BOOK_LENGTH_BITS>(length);
      uint32_t const s = strips.next + 32 * i + threadIdx.x % 32;
      uint32_t const rank = ranks[length] + szg::rank_among(alike, lane);
      __syncwarp(); /* all have read */
      if ((alike & szg::lanes_below(lane)) == 0) ranks[length] += __popc(alike);
      __syncwarp(); /* the next strip's ranks follow */
      if (length > 0) symbols[memory->codes.layout.first_ranks[length] + rank] = (uint16_t)s;
      if (length > 0 && memory->is_lone) symbols[1] = (uint16_t)s; /* for the bit 1 */
      if (length > 0 && s == symbol_count / 2)
        memory->mask = (memory->codes.layout.first_code(length) + rank)
                       << (SZG_MAX_CODE_BITS - length);
    }
  }
}

/* The code of first_length to last_length bits at the start of `canonical`, which has 16 bits:
 * length << 16 | symbol, or 0. */
__device__ uint32_t code_among(uint32_t canonical, uint32_t first_length, uint32_t last_length,
                               const LinearBookMemory *memory, const uint16_t *symbols) {
  for (uint32_t length = first_length; length <= last_length; length++) {
    if (canonical >= limit_of(*memory, length)) continue;
    return length << 16 | symbols[memory->codes.layout.rank_at(canonical, length)];
  }
  return 0;
}

/* Fills a window's entries in the tables of several codes. */
template <class Entry>
__device__ void fill_window(uint32_t window, const uint32_t *single, szg::DecodeTables *tables) {
  uint64_t symbols = 0;
  uint32_t code_count = 0, bits = 0, borders = 1, entry_bits = 0, entry_count = 0;
  while (bits < szg::kWindowBits) {
    uint32_t const code = single[window << bits & (szg::kWindows - 1)];
    uint32_t const length = code >> 16;
    if (length == 0 || bits + length > szg::kWindowBits) break; /* it ends beyond the window */
    bits += length;
    borders |= 1u << bits;
    if (code_count < Entry::kMostSymbols) {
      symbols |= (uint64_t)(code & 0xFFFF) << 16 * code_count;
      entry_bits = bits;
      entry_count = code_count + 1;
    }
    code_count++;
  }
  tables->entries[window] = Entry::of(symbols, entry_count, entry_bits);
  tables->spans[window] = (uint16_t)szg::span_of(code_count, bits);
  tables->borders[window] = (uint16_t)borders;
}

/* Fills the table of single codes. */
__device__ void fill_single(LinearBookMemory *memory, szg_decode_book_cuda *book) {
  for (uint32_t w = threadIdx.x; w < szg::kWindows; w += LinearBookPolicy::kThreads) {
    uint32_t const canonical = w << (SZG_MAX_CODE_BITS - szg::kWindowBits) ^ memory->mask;
    uint32_t const code = code_among(canonical, 1, szg::kWindowBits, memory, book->symbols);
    book->single[w] = memory->single[w] = code;
  }
  uint32_t const first_long = limit_of(*memory, szg::kWindowBits);
  for (uint32_t i = threadIdx.x; i < szg::kLongSlots; i += LinearBookPolicy::kThreads) {
    uint32_t const code =
        code_among(first_long + i, szg::kWindowBits + 1, SZG_MAX_CODE_BITS, memory, book->symbols);
    uint32_t const longer = code ? (code >> 16) - szg::kWindowBits - 1 : 0;
    book->tables.long_codes[i] =
        (uint16_t)(longer * szg::kNarrowSymbols | code % szg::kNarrowSymbols);
  }
}

__device__ void fill_tables(uint32_t symbol_count, LinearBookMemory *memory,
                            szg_decode_book_cuda *book) {
  fill_single(memory, book);
  __syncthreads(); /* single codes are complete */
  for (uint32_t w = threadIdx.x; w < szg::kWindows; w += LinearBookPolicy::kThreads)
    if (symbol_count <= szg::kNarrowSymbols)
      fill_window<szg::NarrowEntry>(w, memory->single, &book->tables);
    else
      fill_window<szg::WideEntry>(w, memory->single, &book->tables);
  szg::DecodeTables *const tables = &book->tables;
  if (threadIdx.x < kLengths) {
    uint32_t const length = threadIdx.x;
    auto const &layout = memory->codes.layout;
    tables->limits[length] = length ? limit_of(*memory, length) : 0;
    tables->ranks[length] =
        length ? (int32_t)(layout.first_ranks[length] - layout.first_code(length)) : 0;
  }
  if (threadIdx.x == 0) {
    tables->mask = memory->mask;
    tables->first_long = limit_of(*memory, szg::kWindowBits);
    tables->is_lone = memory->is_lone;
    tables->unused[0] = tables->unused[1] = tables->unused[2] = 0;
  }
}

__global__ void __launch_bounds__(LinearBookPolicy::kThreads)
    book_build_kernel(const uint8_t *section, uint64_t section_bytes, uint32_t symbol_count,
                      szg_decode_book_cuda *book, szg_verdict *verdict) {
  __shared__ LinearBookMemory memory;
  bool const is_read = read_lengths(section, section_bytes, symbol_count, &memory, book->lengths);
  __syncthreads(); /* lengths are complete */
  count_lengths(book->lengths, symbol_count, &memory);
  __syncthreads(); /* counts are complete */
  if (threadIdx.x < 32) memory.codes.lay_out(threadIdx.x);
  __syncwarp(); /* lengths have places */
  if (threadIdx.x == 0) {
    check_layout(!is_read, &memory);
    if (memory.is_bad) {
      verdict->bad_data = 1;
      book->symbols[0] = book->symbols[1] = SZG_ESCAPE_SYMBOL;
    }
  }
  __syncthreads(); /* the layout is complete */
  if (!memory.is_bad) rank_symbols(book->lengths, symbol_count, &memory, book->symbols);
  __syncthreads(); /* symbols and mask are complete */
  fill_tables(symbol_count, &memory, book);
}

} // namespace

uint64_t szg_decode_book_bytes_cuda(void) { return sizeof(szg_decode_book_cuda); }

const uint8_t *szg_decode_book_lengths_cuda(const szg_decode_book_cuda *book) {
  return book->lengths;
}

szgpu_status szg_decode_book_build_cuda(const uint8_t *section, uint64_t section_bytes,
                                        uint32_t symbol_count, szg_decode_book_cuda *book,
                                        szg_verdict *verdict, struct CUstream_st *stream) {
  book_build_kernel<<<1, LinearBookPolicy::kThreads, 0, stream>>>(section, section_bytes,
                                                                  symbol_count, book, verdict);
  return szg_launched();
}
