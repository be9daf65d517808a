/* decode_gap.cu - decodes the linear layout by one thread per subsequence, which starts at its gap.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * decode_sequences.cuh has the method. A lane reads its words twice: first it only counts codes, by
 * wide lookups, so that a scan of the counts can tell where they go; the second time it decodes
 * them.
 *
 * Moves: reads the stream and its side data once; writes 2 bytes for each code; writes and reads 12
 * bytes for each sequence of 32,768 bits.
 */
#include "core/operators.cuh"
#include "huffman/decode_sequences.cuh"
#include "huffman/decoders/steps.h"

namespace {

using szg::kAllLanes;
using szg::kClassCount;
using szg::kMediumCodes;
using szg::kSparseCodes;

struct ClassPolicy {
  static constexpr unsigned kThreads = 256;
};

/* ---- the side data: gaps ---- */

struct GapSide {
  szg_linear_input_cuda input;
  const uint16_t *sequence_codes;

  __device__ bool sizes_agree(const uint64_t *first_codes, uint64_t bit_count) const {
    uint64_t const subsequence_count = szg_subsequence_count(bit_count);
    uint64_t const last = input.sequence_count - 1;
    return bit_count > 0 && bit_count <= UINT64_MAX / 2 &&
           input.sequence_count == szg_sequence_count(bit_count) &&
           input.word_count == (bit_count + 31) / 32 &&
           input.gap_bytes == (subsequence_count + 1) / 2 &&
           first_codes[last] + sequence_codes[last] == input.code_count;
  }

  /* The first gap must be 0, and so must unused bits and an unused half byte. */
  __device__ bool ends_are_sound(uint64_t bit_count) const {
    uint32_t const unused_bits = (uint32_t)(input.word_count * 32 - bit_count);
    uint32_t const unused_mask = (1u << unused_bits) - 1;
    bool const has_unused_gap = szg_subsequence_count(bit_count) % 2;
    return (input.gaps[0] & 15) == 0 && (input.words[input.word_count - 1] & unused_mask) == 0 &&
           !(has_unused_gap && input.gaps[input.gap_bytes - 1] >> 4);
  }

  __device__ szg::Stretch enter(uint64_t sequence, uint64_t bit_count, uint32_t warp_memory) const;
};

/* Codes begin at the gap or later and before limit; the last one must end at the next gap. */
__device__ __forceinline__ szg::Stretch GapSide::enter(uint64_t sequence, uint64_t bit_count,
                                                       uint32_t warp_memory) const {
  uint64_t const subsequence =
      sequence * SZG_SEQUENCE_SUBSEQUENCES + threadIdx.x % SZG_SEQUENCE_SUBSEQUENCES;
  uint64_t const first_bit = subsequence * SZG_SUBSEQUENCE_BITS;
  uint32_t gap = 0, limit = 0, end = 0;
  if (first_bit < bit_count) {
    uint64_t const bits_left = bit_count - first_bit;
    bool const is_last = bits_left <= SZG_SUBSEQUENCE_BITS;
    gap = szg::gap_of(input, subsequence);
    limit = is_last ? (uint32_t)bits_left : (uint32_t)SZG_SUBSEQUENCE_BITS;
    end = is_last ? limit : SZG_SUBSEQUENCE_BITS + szg::gap_of(input, subsequence + 1);
  }
  bool const is_zero = szg::stage_words(input, subsequence, warp_memory);
  __syncwarp(); /* words are complete */
  uint32_t const span = szg::count_codes(warp_memory + 4 * (threadIdx.x % 32), gap, limit);
  bool const is_sound =
      (span & szg::kSpanPlaceMask) == end && (is_zero || !szg::shared_tables()->is_lone);
  return {gap, span >> szg::kSpanPlaceBits, is_sound};
}

/* ---- places and classes ---- */

/* Lists sequences by class. Their order in a list is arbitrary and does not affect the codes. */
__global__ void __launch_bounds__(ClassPolicy::kThreads)
    sequences_class_kernel(const uint16_t *code_counts, uint64_t sequence_count, uint32_t *lists,
                           uint32_t *list_counts) {
  uint64_t const i = (uint64_t)blockIdx.x * ClassPolicy::kThreads + threadIdx.x;
  bool const is_there = i < sequence_count;
  uint32_t const codes = is_there ? code_counts[i] : 0;
  unsigned const own = codes <= kSparseCodes ? 0 : codes <= kMediumCodes ? 1 : 2;
  uint32_t const lane = threadIdx.x % 32;
  for (unsigned c = 0; c < kClassCount; c++) {
    unsigned const alike = __ballot_sync(kAllLanes, is_there && own == c);
    uint32_t first = 0;
    if (lane == 0 && alike) first = atomicAdd(&list_counts[c], (uint32_t)__popc(alike));
    first = __shfl_sync(kAllLanes, first, 0);
    uint32_t const place = first + szg::rank_among(alike, lane);
    if (is_there && own == c) lists[c * sequence_count + place] = (uint32_t)i;
  }
}

} // namespace

/* If scratch is NULL, only sets *scratch_bytes. */
static cudaError_t scan_counts(void *scratch, size_t *scratch_bytes, const uint16_t *counts,
                               uint64_t *first_codes, uint64_t sequence_count,
                               cudaStream_t stream) {
  return cub::DeviceScan::ExclusiveScan(scratch, *scratch_bytes, counts, first_codes, szg::Sum(),
                                        uint64_t{0}, (int)sequence_count, stream);
}

szgpu_status szg_gap_decoder_carve_cuda(szg_arena *arena, uint64_t sequence_count,
                                        szg_gap_decoder_cuda *decoder) {
  SZG_REQUIRE(sequence_count <= INT32_MAX, SZGPU_UNSUPPORTED);
  size_t scan_bytes = 0;
  SZG_TRY_CUDA(scan_counts(nullptr, &scan_bytes, nullptr, nullptr, sequence_count, nullptr));
  decoder->sequence_first_codes =
      (uint64_t *)szg_arena_take(arena, sequence_count, sizeof *decoder->sequence_first_codes);
  decoder->class_sequences = (uint32_t *)szg_arena_take(arena, kClassCount * sequence_count,
                                                        sizeof *decoder->class_sequences);
  decoder->class_counts =
      (uint32_t *)szg_arena_take(arena, kClassCount, sizeof *decoder->class_counts);
  decoder->scan_temp = szg_arena_take(arena, scan_bytes, 1);
  decoder->scan_temp_bytes = scan_bytes;
  return SZGPU_OK;
}

szgpu_status szg_sequences_place_cuda(const szg_gap_decoder_cuda *places,
                                      const uint16_t *sequence_codes, uint64_t sequence_count,
                                      cudaStream_t stream) {
  SZG_REQUIRE(sequence_count <= INT32_MAX, SZGPU_UNSUPPORTED);
  size_t scan_bytes = places->scan_temp_bytes;
  SZG_TRY_CUDA(scan_counts(places->scan_temp, &scan_bytes, sequence_codes,
                           places->sequence_first_codes, sequence_count, stream));
  SZG_TRY_CUDA(
      cudaMemsetAsync(places->class_counts, 0, kClassCount * sizeof *places->class_counts, stream));
  unsigned const blocks =
      (unsigned)((sequence_count + ClassPolicy::kThreads - 1) / ClassPolicy::kThreads);
  sequences_class_kernel<<<blocks, ClassPolicy::kThreads, 0, stream>>>(
      sequence_codes, sequence_count, places->class_sequences, places->class_counts);
  return szg_launched();
}

szgpu_status szg_decode_gap_cuda(const szg_gap_decoder_cuda *decoder,
                                 const szg_decode_book_cuda *book, uint32_t symbol_count,
                                 const szg_linear_input_cuda *input, uint16_t *codes,
                                 szg_verdict *verdict, struct CUstream_st *stream) {
  uint64_t const sequence_count = input->sequence_count;
  if (sequence_count == 0) return SZGPU_OK;
  SZG_TRY(szg_sequences_place_cuda(decoder, input->sequence_codes, sequence_count, stream));
  szg::DecodeCall<GapSide> const call = {
      {*input, input->sequence_codes}, decoder, sequence_count, book, codes, verdict, stream, 0, 0};
  return symbol_count <= szg::kNarrowSymbols
             ? szg::launch_classes<szg::NarrowEntry, szg::HalfWords>(call)
             : szg::launch_classes<szg::WideEntry, szg::HalfWords>(call);
}

/* ---- the steps that frames call ---- */

static szgpu_status carve(szg_arena *arena, const szg_code_stream_sizes_cuda *sizes,
                          szg_decoder_memory *memory) {
  szg_gap_decoder_cuda own = {};
  static_assert(sizeof own <= SZG_DECODER_MEMORY_BYTES, "it is kept between steps");
  SZG_TRY(szg_gap_decoder_carve_cuda(arena, sizes->sequence_count, &own));
  szg_decoder_keep(memory, &own, sizeof own);
  return SZGPU_OK;
}

static szgpu_status decode(const szg_code_stream_cuda *stream, const szg_decoder_memory *memory,
                           uint32_t, void *codes) {
  szg_gap_decoder_cuda own;
  szg_decoder_recall(memory, &own, sizeof own);
  return szg_decode_gap_cuda(&own, stream->book, stream->symbol_count, &stream->input,
                             (uint16_t *)codes, stream->verdict, stream->device->stream);
}

const szg_decoder_cuda szg_gap_array_cuda = {carve, nullptr, decode, false};
