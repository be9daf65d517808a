/* all_offsets_batches.cuh - decoding from every bit on the device: the batches of a stream.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_ALL_OFFSETS_BATCHES_CUH
#define SZG_ALL_OFFSETS_BATCHES_CUH

#include "core/bytes.h"
#include "core/cuda_check.cuh"
#include "huffman/decoders/all_offsets.cuh"

namespace szg {

/* Decodes a stream batch by batch, for szg_decode_all_offsets_cuda. windows.measure(batch, stream)
 * writes the exits of the batch's windows; windows.place(batch, stream) writes their codes. */
template <class Windows>
szgpu_status decode_batches(const szg_all_offsets_tables_cuda &tables, const Windows &windows,
                            const szg_decode_book_cuda *book, const szg_linear_input_cuda *input,
                            uint16_t *codes, szg_verdict *verdict, cudaStream_t stream) {
  uint64_t const slots = tables.options.slot_count;
  SZG_REQUIRE(input->word_count <= UINT64_MAX / 64, SZGPU_UNSUPPORTED);
  uint64_t const window_count = szg_div_up(32 * input->word_count, tables.options.window_bits);
  SZG_TRY_CUDA(cudaMemsetAsync(tables.carry, 0, sizeof *tables.carry, stream));
  OffsetsBatch batch = {
      book, input->words, input->word_count, input->bit_count, input->code_count, codes, 0,
      0,    tables};
  do {
    uint64_t const left = window_count - batch.first_window;
    batch.window_count = (uint32_t)szg_min_u64(left, slots);
    if (batch.window_count) SZG_TRY(windows.measure(batch, stream));
    SZG_TRY(offsets_chain(batch, left <= slots, verdict, stream));
    if (batch.window_count) SZG_TRY(windows.place(batch, stream));
    batch.first_window += batch.window_count;
  } while (batch.first_window < window_count);
  return SZGPU_OK;
}

} // namespace szg

#endif
