/* hierarchical_gaps.cu - makes the hierarchical decoder's side data from an archive's.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An archive says where the first code begins in every 256 bits; the decoder needs that for every
 * 64. Each thread takes a subsequence, with its words in registers, and passes the codes of its
 * first three stretches of 64 bits; each lookup passes all whole codes in a byte. Sequences are the
 * decoder's blocks, so positions are running sums of the sequence codes, by CUB's scan; its last
 * item is the end.
 *
 * Moves: reads the stream once; for each 256 bits reads a gap of 4 bits and writes four; for each
 * 32,768 bits reads 2 bytes and writes 8.
 */
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_scan.cuh>

#include "core/cuda_check.cuh"
#include "core/operators.cuh"
#include "huffman/decode_words.cuh"
#include "huffman/decoders/hierarchical_lookup.cuh"

namespace {

using szg::StretchWords;

struct SplitPolicy {
  static constexpr unsigned kThreads = 256;
  static constexpr unsigned kBlocksPerProcessor = 8;
};

constexpr uint32_t kStretches = SZG_SUBSEQUENCE_BITS / szg::kThreadBits;
constexpr uint32_t kGapBits = SZG_HIERARCHICAL_SPLIT_GAP_BITS;
static_assert(kStretches == 4 && kGapBits == 4, "the gaps of a subsequence are 16 bits");

struct HierarchicalSplitJob {
  const szg_hierarchical_tables *tables;
  szg_linear_input_cuda input;
  uint64_t bit_count, subsequence_count, gap_bytes;
  uint8_t *gaps;
  szg_verdict *verdict;
};

/* Passes the codes that begin from bit `at` on and before the stretch's end. Returns how far beyond
 * that end the last one ends, which is less than a code's length. spans: in shared memory. */
__device__ uint32_t pass_stretch(const szg_hierarchical_tables *tables, const uint32_t *spans,
                                 const StretchWords &words, uint32_t at, bool *is_sound) {
  while (at < szg::kThreadBits) {
    uint32_t const bits = words.bits_at(at), span = spans[bits >> 24];
    uint32_t const passed = span == 0 ? szg::chained_span(tables, bits, is_sound)
                                      : szg::cut_span(span, szg::kThreadBits - at);
    at += passed & szg::kSpanBits;
  }
  return at - szg::kThreadBits;
}

/* Returns the gaps of a subsequence, the first one highest; 0 for stretches past the stream's
 * end. */
__device__ uint32_t split_gap(const HierarchicalSplitJob &job, uint64_t subsequence,
                              const uint32_t *spans, bool *is_sound) {
  uint64_t const first_word = subsequence * SZG_SUBSEQUENCE_WORDS;
  uint64_t const bits_left = job.bit_count - subsequence * SZG_SUBSEQUENCE_BITS;
  uint4 const head = szg::words_at(job.input, first_word);
  uint4 const tail = szg::words_at(job.input, first_word + 4);
  StretchWords const stretches[kStretches - 1] = {
      {head.x, head.y, head.z}, {head.z, head.w, tail.x}, {tail.x, tail.y, tail.z}};
  uint32_t gap = szg::gap_of(job.input, subsequence);
  uint32_t gaps = gap << 3 * kGapBits;
#pragma unroll
  for (uint32_t i = 1; i < kStretches; i++) {
    if (i * szg::kThreadBits >= bits_left) continue;
    gap = pass_stretch(job.tables, spans, stretches[i - 1], gap, is_sound);
    gaps |= gap << (3 - i) * kGapBits;
  }
  return gaps;
}

__global__ void __launch_bounds__(SplitPolicy::kThreads)
    gaps_split_kernel(const __grid_constant__ HierarchicalSplitJob job) {
  __shared__ uint32_t spans[256];
  if (__syncthreads_or(job.verdict->bad_data != 0)) return; /* for all threads */
  static_assert(SplitPolicy::kThreads == 256, "a span a thread");
  spans[threadIdx.x] = job.tables->spans[threadIdx.x];
  __syncthreads(); /* spans complete */
  uint64_t const thread = (uint64_t)blockIdx.x * SplitPolicy::kThreads + threadIdx.x;
  uint64_t const stride = (uint64_t)gridDim.x * SplitPolicy::kThreads;
  bool is_sound = true;
  for (uint64_t s = thread; s < job.subsequence_count; s += stride) {
    uint32_t const gaps = split_gap(job, s, spans, &is_sound);
    job.gaps[2 * s] = (uint8_t)(gaps >> 8);
    job.gaps[2 * s + 1] = (uint8_t)gaps;
  }
  /* Sets the byte after the last gap, because decoders read two bytes at once. */
  if (thread == 0 && job.gap_bytes > 2 * job.subsequence_count) job.gaps[job.gap_bytes - 1] = 0;
  if (!is_sound) job.verdict->bad_data = 1;
}

/* ---- positions ---- */

struct SequenceShare { /* codes of a sequence; 0 past the last one */
  const uint16_t *sequence_codes;
  uint64_t sequence_count;

  __host__ __device__ uint64_t operator()(uint64_t i) const {
    return i < sequence_count ? sequence_codes[i] : 0;
  }
};

} // namespace

/* If scratch is NULL, only sets *scratch_bytes. */
static cudaError_t scan_sequences(void *scratch, size_t *scratch_bytes, const SequenceShare &share,
                                  uint64_t *positions, cudaStream_t stream) {
  auto const shares =
      thrust::make_transform_iterator(thrust::make_counting_iterator<uint64_t>(0), share);
  return cub::DeviceScan::ExclusiveScan(scratch, *scratch_bytes, shares, positions, szg::Sum(),
                                        uint64_t{0}, (int)(share.sequence_count + 1), stream);
}

szgpu_status szg_hierarchical_gaps_carve_cuda(szg_arena *arena, uint64_t most_bits,
                                              szg_hierarchical_gaps_cuda *made) {
  uint64_t const block_count = szg_hierarchical_block_count(most_bits);
  SZG_REQUIRE(block_count < INT32_MAX, SZGPU_UNSUPPORTED); /* CUB may count items in an int */
  size_t scan_bytes = 0;
  SequenceShare const share = {nullptr, block_count};
  SZG_TRY_CUDA(scan_sequences(nullptr, &scan_bytes, share, nullptr, nullptr));
  made->gaps = (uint8_t *)szg_arena_take(
      arena, szg_hierarchical_gap_bytes(most_bits, SZG_HIERARCHICAL_SPLIT_GAP_BITS), 1);
  made->positions = (uint64_t *)szg_arena_take(arena, block_count + 1, sizeof *made->positions);
  made->scan_temp = szg_arena_take(arena, scan_bytes, 1);
  made->scan_temp_bytes = scan_bytes;
  return SZGPU_OK;
}

szgpu_status szg_hierarchical_split_gaps_cuda(const szg_hierarchical_tables *tables,
                                              const szg_linear_input_cuda *input,
                                              uint64_t bit_count,
                                              const szg_hierarchical_gaps_cuda *made,
                                              szg_verdict *verdict, struct CUstream_st *stream) {
  SequenceShare const share = {input->sequence_codes, input->sequence_count};
  size_t scan_bytes = made->scan_temp_bytes;
  SZG_TRY_CUDA(scan_sequences(made->scan_temp, &scan_bytes, share, made->positions, stream));
  HierarchicalSplitJob const job = {
      tables,
      *input,
      bit_count,
      szg_subsequence_count(bit_count),
      szg_hierarchical_gap_bytes(bit_count, SZG_HIERARCHICAL_SPLIT_GAP_BITS),
      made->gaps,
      verdict};
  unsigned blocks = 0;
  SZG_TRY(szg_spread_blocks(job.subsequence_count, SplitPolicy::kThreads,
                            SplitPolicy::kBlocksPerProcessor, &blocks));
  gaps_split_kernel<<<blocks, SplitPolicy::kThreads, 0, stream>>>(job);
  return szg_launched();
}
