/* all_offsets_blocks.cu - decoding from every bit at once: one block for each window.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of the decoder of archives, with a block as the team instead of a warp, for windows
 * of up to SZG_ALL_OFFSETS_MOST_SHARED_BITS, if the block's shared memory has room.
 */
#include "huffman/decoders/all_offsets_batches.cuh"
#include "huffman/decoders/all_offsets_kernels.cuh"
#include "study/all_offsets_forms.h"

using szg::BlockTeam;

szgpu_status szg_all_offsets_blocks_carve_cuda(szg_arena *arena,
                                               const szg_all_offsets_options *options,
                                               uint32_t block_threads, uint32_t shortest,
                                               uint32_t longest,
                                               szg_all_offsets_tables_cuda *tables) {
  SZG_REQUIRE(block_threads >= 64 && block_threads % 32 == 0 &&
                  block_threads <= (uint32_t)BlockTeam::kMostThreads,
              SZGPU_BAD_ARGUMENT);
  return szg::carve_windows<BlockTeam>(arena, options, block_threads, shortest, longest, tables);
}

szgpu_status szg_decode_all_offsets_blocks_cuda(const szg_all_offsets_tables_cuda *tables,
                                                const szg_decode_book_cuda *book,
                                                const szg_linear_input_cuda *input, uint16_t *codes,
                                                szg_verdict *verdict, struct CUstream_st *stream) {
  return szg::decode_batches(*tables, szg::TeamWindows<BlockTeam>(), book, input, codes, verdict,
                             stream);
}
