/* tokens_decode.cu - tiles of an opened section of a levels frame to codes: one warp per tile, one
 * thread per lane.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory traffic: reads the words and writes the codes twice, with zeros first.
 */
#include "core/cuda_check.cuh"
#include "huffman/tokens_lanes.cuh"

namespace szg {
namespace {

struct TokensDecodePolicy {
  static constexpr uint32_t kThreads = 256;
  static constexpr uint32_t kWarps = kThreads / 32;
  static constexpr unsigned kMostBlocks = 2048; /* each loads the tables */
};

struct TokensDecodeJob {
  szg_tokens_input_cuda input;
  uint64_t first_tile, end_tile;
  void *codes;
  szg_verdict *verdict;
};

struct DecodeMemory {
  szg_tokens_tables_cuda tables;
  uint64_t existing[TokensDecodePolicy::kWarps][SZG_TOKENS_MOST_GROUPS];
};

/* In plain mode others are not set. The whole block calls, and synchronizes before it reads. */
__device__ void load_tables(const szg_tokens_opened_cuda &opened, szg_tokens_tables_cuda *to) {
  bool const has_others = opened.mode != SZG_LEVELS_MODE_PLAIN;
  for (uint32_t i = threadIdx.x; i < SZG_TOKENS_ENTRIES; i += TokensDecodePolicy::kThreads) {
    to->values[i] = opened.tables.values[i];
    if (has_others) to->others[i] = opened.tables.others[i];
  }
}

template <class Code>
__global__ void __launch_bounds__(TokensDecodePolicy::kThreads)
    tokens_decode_kernel(const __grid_constant__ TokensDecodeJob job) {
  __shared__ DecodeMemory memory;
  const szg_tokens_opened_cuda &opened = *job.input.opened;
  uint32_t const warp = threadIdx.x / 32, group_count = job.input.tiles.group_count;
  uint64_t const warp_count = (uint64_t)gridDim.x * TokensDecodePolicy::kWarps;
  bool const is_coded = opened.is_coded != 0;
  if (is_coded) load_tables(opened, &memory.tables);
  __syncthreads(); /* the tables are there */
  for (uint64_t t = job.first_tile + (uint64_t)blockIdx.x * TokensDecodePolicy::kWarps + warp;
       t < job.end_tile; t += warp_count) {
    Code *const codes =
        (Code *)job.codes + (t - job.first_tile) * group_count * (uint64_t)kGroupPlaces;
    bool is_sound = true;
    if (is_coded)
      is_sound = decode_tile(job.input, t, memory.tables, memory.existing[warp], codes);
    else
      clear_codes(group_count, codes);
    if (!is_sound && threadIdx.x % 32 == 0) job.verdict->bad_data = 1;
    __syncwarp(); /* nobody needs to know any more which places exist */
  }
}

template <class Code>
szgpu_status decode(const TokensDecodeJob &job, cudaStream_t stream) {
  uint64_t const tile_count = job.end_tile - job.first_tile;
  unsigned const blocks =
      szg_grid_blocks(tile_count, TokensDecodePolicy::kWarps, TokensDecodePolicy::kMostBlocks);
  tokens_decode_kernel<Code><<<blocks, TokensDecodePolicy::kThreads, 0, stream>>>(job);
  return szg_launched();
}

} // namespace
} // namespace szg

/* ---- launchers ---- */

szgpu_status szg_tokens_decode_cuda(const szg_tokens_input_cuda *input, uint64_t first_tile,
                                    uint64_t end_tile, void *codes, szg_verdict *verdict,
                                    struct CUstream_st *stream) {
  if (first_tile >= end_tile) return SZGPU_OK;
  szg::TokensDecodeJob const job = {*input, first_tile, end_tile, codes, verdict};
  return input->tiles.is_wide ? szg::decode<int64_t>(job, stream)
                              : szg::decode<int32_t>(job, stream);
}
