/* self_sync.cuh - a thread's walk through a subsequence, from one start or from all.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_SELF_SYNC_CUH
#define SZG_SELF_SYNC_CUH

#include "huffman/decode_words.cuh"
#include "huffman/decoders/self_sync.h"

namespace szg {

/* ---- how a stream is cut ---- */

/* A piece is what a lane of phase 4 decodes: its words fill a column. */
constexpr uint32_t kPieceWords = SZG_SUBSEQUENCE_WORDS;
constexpr uint32_t kPieceBits = 32 * kPieceWords;
constexpr uint32_t kPieceStartBits = 4; /* of a record; the number of codes is in higher bits */
constexpr uint32_t kPieceStarts = 1u << kPieceStartBits;
static_assert(SZG_MAX_CODE_BITS <= kPieceStarts, "starts");
static_assert((kPieceBits + 1) * kPieceStarts <= UINT16_MAX, "records");

struct SyncGrid {
  uint64_t subsequence_count, sequence_count;
  uint32_t subsequence_words, sequence_subsequences;
  uint32_t piece_count; /* per subsequence */
  uint32_t run_up_words;

  __device__ __host__ uint32_t subsequence_bits() const { return 32 * subsequence_words; }
  __device__ __host__ uint64_t all_piece_count() const { return subsequence_count * piece_count; }
  /* The bits of a subsequence of the stream; 0 beyond the last. */
  __device__ uint32_t bits_of(uint64_t subsequence, uint64_t bit_count) const {
    if (subsequence >= subsequence_count) return 0;
    uint64_t const left = bit_count - subsequence * subsequence_bits();
    return left < subsequence_bits() ? (uint32_t)left : subsequence_bits();
  }
  __device__ uint64_t sequence_end(uint64_t sequence) const {
    uint64_t const end = (sequence + 1) * sequence_subsequences;
    return end < subsequence_count ? end : subsequence_count;
  }
};

constexpr uint32_t kGroupPieces = SZG_SEQUENCE_SUBSEQUENCES; /* that phase 4 decodes at once */

inline SyncGrid sync_grid_of(const szg_self_sync_options_cuda *options, uint64_t word_count) {
  SyncGrid grid = {};
  grid.subsequence_words = options->subsequence_bits / 32;
  grid.sequence_subsequences = options->block_threads;
  grid.piece_count = (grid.subsequence_words + kPieceWords - 1) / kPieceWords;
  grid.run_up_words = options->run_up_bits / 32;
  grid.subsequence_count = (word_count + grid.subsequence_words - 1) / grid.subsequence_words;
  grid.sequence_count =
      (grid.subsequence_count + grid.sequence_subsequences - 1) / grid.sequence_subsequences;
  return grid;
}

inline uint64_t piece_group_count(const SyncGrid &grid) {
  return (grid.all_piece_count() + kGroupPieces - 1) / kGroupPieces;
}

/* The bits of a piece of a subsequence of that many bits. */
inline __device__ uint32_t piece_bits(uint32_t bits, uint32_t piece) {
  uint32_t const first = piece * kPieceBits;
  return bits > first ? min(bits - first, kPieceBits) : 0;
}

/* ---- words, in shared memory or in the stream ---- */

inline __device__ uint32_t word_at(const szg_linear_input_cuda &input, uint64_t index) {
  return word_or_zero(input.words, input.word_count, index);
}

/* Words in the lane's column. */
struct ColumnWords {
  uint32_t column;
  __device__ ColumnWords from(uint32_t words) const { return {column + words * kWordRowBytes}; }
};
inline __device__ uint32_t bits_at(const ColumnWords &words, uint32_t bit) {
  return bits_at(words.column, bit);
}

struct StreamWords {
  const szg_linear_input_cuda &input;
  uint64_t first_word;
  __device__ StreamWords from(uint32_t words) const { return {input, first_word + words}; }
};
/* 32 bits from `bit` on; only the place in `bit`'s low bits counts. */
inline __device__ uint32_t bits_at(const StreamWords &words, uint32_t bit) {
  uint64_t const i = words.first_word + (bit & kSpanPlaceMask) / 32;
  return bits_from(word_at(words.input, i + 1), word_at(words.input, i), bit);
}

/* ---- from one start ---- */

template <class Words>
struct Subsequence {
  Words words;
  uint32_t bits;    /* 0: no such subsequence */
  uint16_t *pieces; /* records */
  uint32_t piece_count;
};

/* Walks the pieces from `start` on and writes their records; returns where codes begin beyond them.
 * kIsAgain: there are records, which lead to known_end. Once a piece begins as its record says, the
 * rest of them holds too. */
template <bool kIsAgain, class Words>
__device__ uint32_t walk(const Subsequence<Words> &own, uint32_t start, uint32_t known_end) {
  for (uint32_t i = 0; i < own.piece_count; i++) {
    if (kIsAgain && i > 0 && start == own.pieces[i] % kPieceStarts) return known_end;
    uint32_t const limit = piece_bits(own.bits, i);
    uint32_t const span = count_codes(own.words.from(i * kPieceWords), start, limit);
    own.pieces[i] = (uint16_t)(span >> kSpanPlaceBits << kPieceStartBits | start);
    start = (span & kSpanPlaceMask) - limit;
  }
  return start;
}

/* ---- from all starts ---- */

constexpr szg_self_sync_map kIdentityMap = 0xFEDCBA9876543210u;
constexpr uint32_t kMapStepBits = 64; /* after this, starts that have met continue as one */

inline __device__ uint32_t map_at(szg_self_sync_map map, uint32_t start) {
  return (uint32_t)(map >> start * kPieceStartBits) % kPieceStarts;
}

/* Applies one map, then another. */
struct ThenMap {
  __device__ szg_self_sync_map operator()(szg_self_sync_map first, szg_self_sync_map then) const {
    szg_self_sync_map both = 0;
#pragma unroll
    for (uint32_t s = 0; s < kPieceStarts; s++)
      both |= (szg_self_sync_map)map_at(then, map_at(first, s)) << s * kPieceStartBits;
    return both;
  }
};

/* The map of that many bits. */
template <class Words>
__device__ szg_self_sync_map map_of(const Words &words, uint32_t bits) {
  szg_self_sync_map map = kIdentityMap;
  uint32_t starts = (1u << kPieceStarts) - 1;
  for (uint32_t first = 0; first < bits; first += kMapStepBits) {
    uint32_t const limit = min(bits - first, kMapStepBits);
    szg_self_sync_map step = 0;
    uint32_t ends = 0;
    for (uint32_t left = starts; left != 0; left &= left - 1) {
      uint32_t const start = __ffs((int)left) - 1;
      uint32_t const span = count_codes(words.from(first / 32), start, limit);
      uint32_t const end = (span & kSpanPlaceMask) - limit;
      step |= (szg_self_sync_map)end << start * kPieceStartBits;
      ends |= 1u << end;
    }
    map = ThenMap()(map, step);
    starts = ends;
  }
  return map;
}

/* ---- what phases 1 and 2 share ---- */

constexpr uint32_t kMostWarps = SZG_SELF_SYNC_MOST_THREADS / 32;

/* What phases 1 and 2 work on. */
struct SyncWork {
  szg_linear_input_cuda input;
  SyncGrid grid;
  szg_self_sync_decoder_cuda memory;

  template <class Words>
  __device__ Subsequence<Words> subsequence_of(const Words &words, uint64_t i,
                                               uint64_t bit_count) const {
    return {words, grid.bits_of(i, bit_count), memory.pieces + i * grid.piece_count,
            grid.piece_count};
  }
  __device__ StreamWords stream_words(uint64_t i) const {
    return {input, i * grid.subsequence_words};
  }
};

/* The start of a block's shared memory; the warps' columns follow. */
struct SyncMemory {
  SpanTables tables;
  uint32_t warp_ends[kMostWarps];
  szg_self_sync_map warp_maps[kMostWarps];
};
static_assert(sizeof(SyncMemory) % 16 == 0, "columns are aligned");

inline __device__ SyncMemory *sync_memory() { return reinterpret_cast<SyncMemory *>(block_memory); }

/* The whole block calls. */
inline __device__ void load_tables(const szg_decode_book_cuda *book) {
  const SpanTables *const tables = &book->tables;
  for (uint32_t i = threadIdx.x; i < sizeof(SpanTables) / sizeof(uint4); i += blockDim.x)
    block_memory[i] = reinterpret_cast<const uint4 *>(tables)[i];
  __syncthreads(); /* tables are complete */
}

inline __host__ __device__ uint32_t column_rows(const SyncGrid &grid) {
  return grid.run_up_words + grid.subsequence_words + 1;
}

/* Puts the words of a subsequence in the lane's column, with those of the run-up before and one
 * word after. Returns where the subsequence's words begin. */
inline __device__ ColumnWords stage_column(const SyncWork &work, uint64_t subsequence) {
  const SyncGrid &grid = work.grid;
  uint32_t const warp_bytes = column_rows(grid) * kWordRowBytes;
  ColumnWords const column = {shared_address(block_memory) + (uint32_t)sizeof(SyncMemory) +
                              threadIdx.x / 32 * warp_bytes + 4 * (threadIdx.x % 32)};
  uint64_t const first = subsequence * grid.subsequence_words;
  for (uint32_t i = 0; subsequence > 0 && i < grid.run_up_words; i++)
    *shared_at<uint32_t>(column.from(i).column) =
        word_at(work.input, first - grid.run_up_words + i);
  ColumnWords const own = column.from(grid.run_up_words);
  uint32_t const quads = grid.subsequence_words % 4 == 0 ? grid.subsequence_words / 4 : 0;
#pragma unroll 4
  for (uint32_t i = 0; i < quads; i++)
    put_words(words_at(work.input, first + 4 * i), own.from(4 * i).column);
  for (uint32_t i = 4 * quads; i <= grid.subsequence_words; i++)
    *shared_at<uint32_t>(own.from(i).column) = word_at(work.input, first + i);
  return own;
}

} // namespace szg

#endif
