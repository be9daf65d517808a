/* all_offsets.cu - decoding from every bit at once: one warp for each window, batch by batch.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/all_offsets_kernels.cuh"

szgpu_status szg_all_offsets_carve_cuda(szg_arena *arena, const szg_all_offsets_options *options,
                                        uint32_t shortest, uint32_t longest,
                                        szg_all_offsets_tables_cuda *tables) {
  return szg::carve_windows<szg::WarpTeam>(arena, options, 32, shortest, longest, tables);
}

szgpu_status szg_decode_all_offsets_cuda(const szg_all_offsets_tables_cuda *tables,
                                         const szg_decode_book_cuda *book,
                                         const szg_linear_input_cuda *input, uint16_t *codes,
                                         szg_verdict *verdict, struct CUstream_st *stream) {
  return szg::decode_batches(*tables, szg::TeamWindows<szg::WarpTeam>(), book, input, codes,
                             verdict, stream);
}
