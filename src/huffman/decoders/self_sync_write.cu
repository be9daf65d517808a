/* self_sync_write.cu - self-synchronization, once starts are known: counts and writes codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Phases 3 and 4 of self_sync.h. Pieces of subsequences, and groups of 128 pieces, are the
 * subsequences and sequences of the gap-array decoder; from here on this is that decoder, except
 * that lanes need not count.
 *
 * Moves: reads the stream once, and 2 bytes twice for each 256 bits; writes 2 bytes (or 1) for each
 * code; writes and reads 14 bytes for each group.
 */
#include "huffman/decode_sequences.cuh"
#include "huffman/decoders/self_sync.cuh"

namespace {

using szg::kGroupPieces;
using szg::kPieceStarts;
using szg::kPieceWords;
using szg::SyncGrid;

struct SumPolicy {
  static constexpr unsigned kThreads = 256;
};

/* ---- phase 3 ---- */

/* Sums the codes of each group of pieces, one warp per group. */
__global__ void __launch_bounds__(SumPolicy::kThreads)
    pieces_sum_kernel(const uint16_t *pieces, uint64_t piece_count, uint64_t group_count,
                      uint16_t *code_counts, const szg_verdict *verdict) {
  bool const is_bad = verdict->bad_data != 0; /* then there are no records */
  typedef cub::WarpReduce<uint32_t> WarpReduce;
  typename WarpReduce::TempStorage reduce_memory; /* empty: the sum uses shuffles */
  uint64_t const group = (uint64_t)blockIdx.x * (SumPolicy::kThreads / 32) + threadIdx.x / 32;
  uint32_t codes = 0;
#pragma unroll
  for (uint32_t k = 0; k < kGroupPieces; k += 32) {
    uint64_t const i = group * kGroupPieces + k + threadIdx.x % 32;
    codes += !is_bad && i < piece_count ? pieces[i] / kPieceStarts : 0;
  }
  codes = WarpReduce(reduce_memory).Sum(codes);
  if (threadIdx.x % 32 == 0 && group < group_count) code_counts[group] = (uint16_t)codes;
}

/* ---- phase 4 ---- */

/* The Side of decode_sequences.cuh: what is known about pieces. */
struct SyncSide {
  szg_linear_input_cuda input;
  const uint16_t *sequence_codes;
  SyncGrid grid;
  const uint16_t *pieces;
  const uint8_t *exits;
  uint64_t group_count;

  __device__ bool sizes_agree(const uint64_t *first_codes, uint64_t) const {
    return first_codes[group_count - 1] + sequence_codes[group_count - 1] == input.code_count;
  }
  /* The last code must end with the stream. */
  __device__ bool ends_are_sound(uint64_t) const { return exits[grid.sequence_count - 1] == 0; }
  __device__ szg::Stretch enter(uint64_t sequence, uint64_t bit_count, uint32_t warp_memory) const;
};

/* stage_words for pieces that are not kPieceBits apart. */
__device__ void stage_piece(const szg_linear_input_cuda &input, uint64_t first_word,
                            uint32_t warp_memory) {
  uint32_t *const column = szg::shared_at<uint32_t>(warp_memory + 4 * (threadIdx.x % 32));
  for (uint32_t i = 0; i < kPieceWords + szg::kNextWords; i++)
    column[32 * i] = szg::word_at(input, first_word + i);
}

/* Whether the piece in a column is all 0. */
__device__ bool is_zero(uint32_t column, uint32_t bits) {
  uint32_t set = 0;
  for (uint32_t first = 0; first < bits; first += 32)
    set |= szg::bits_at(column, first) >> (32 - min(bits - first, 32u));
  return set == 0;
}

__device__ __forceinline__ szg::Stretch SyncSide::enter(uint64_t sequence, uint64_t bit_count,
                                                        uint32_t warp_memory) const {
  uint64_t const piece = sequence * kGroupPieces + threadIdx.x % kGroupPieces;
  uint32_t const record = piece < grid.all_piece_count() ? pieces[piece] : 0;
  uint64_t subsequence = piece;
  uint32_t part = 0;
  if (grid.subsequence_words % kPieceWords == 0) {
    szg::stage_words(input, piece, warp_memory);
  } else {
    subsequence = piece / grid.piece_count;
    part = (uint32_t)(piece % grid.piece_count);
    stage_piece(input, subsequence * grid.subsequence_words + part * kPieceWords, warp_memory);
  }
  __syncwarp(); /* words are complete */
  bool is_sound = true;
  if (szg::shared_tables()->is_lone) {
    subsequence = piece / grid.piece_count;
    part = (uint32_t)(piece % grid.piece_count);
    uint32_t const bits = szg::piece_bits(grid.bits_of(subsequence, bit_count), part);
    is_sound = is_zero(warp_memory + 4 * (threadIdx.x % 32), bits);
  }
  return {record % kPieceStarts, record / kPieceStarts, is_sound};
}

} // namespace

szgpu_status szg_self_sync_place_cuda(const szg_self_sync_decoder_cuda *decoder,
                                      const szg_linear_input_cuda *input, szg_verdict *verdict,
                                      struct CUstream_st *stream) {
  if (input->word_count == 0) return SZGPU_OK;
  SyncGrid const grid = szg::sync_grid_of(&decoder->options, input->word_count);
  uint64_t const group_count = szg::piece_group_count(grid),
                 groups_a_block = SumPolicy::kThreads / 32;
  unsigned const blocks = (unsigned)((group_count + groups_a_block - 1) / groups_a_block);
  pieces_sum_kernel<<<blocks, SumPolicy::kThreads, 0, stream>>>(
      decoder->pieces, grid.all_piece_count(), group_count, decoder->piece_codes, verdict);
  SZG_TRY_LAUNCH();
  return szg_sequences_place_cuda(&decoder->piece_decoder, decoder->piece_codes, group_count,
                                  stream);
}

szgpu_status szg_self_sync_write_cuda(const szg_self_sync_decoder_cuda *decoder,
                                      const szg_decode_book_cuda *book, uint32_t symbol_count,
                                      const szg_linear_input_cuda *input, uint32_t code_bytes,
                                      void *codes, szg_verdict *verdict,
                                      struct CUstream_st *stream) {
  SZG_REQUIRE(code_bytes == 2 || (code_bytes == 1 && symbol_count <= 256), SZGPU_BAD_ARGUMENT);
  if (input->word_count == 0) return SZGPU_OK;
  SyncGrid const grid = szg::sync_grid_of(&decoder->options, input->word_count);
  uint64_t const group_count = szg::piece_group_count(grid);
  SyncSide const side = {*input,          decoder->piece_codes, grid,
                         decoder->pieces, decoder->exits,       group_count};
  szg::DecodeCall<SyncSide> const call = {
      side, &decoder->piece_decoder, group_count, book, codes, verdict, stream, 0, 0};
  if (code_bytes == 1) return szg::launch_classes<szg::NarrowEntry, szg::Bytes>(call);
  return symbol_count <= szg::kNarrowSymbols
             ? szg::launch_classes<szg::NarrowEntry, szg::HalfWords>(call)
             : szg::launch_classes<szg::WideEntry, szg::HalfWords>(call);
}
