/* all_offsets_steps.cu - the steps of the all-offsets decoder on a GPU; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/all_offsets.h"
#include "huffman/decoders/steps.h"

using OwnMemory = szg_all_offsets_tables_cuda;
static_assert(sizeof(OwnMemory) <= SZG_DECODER_MEMORY_BYTES, "it is kept between steps");

/* Only the device knows what lengths the codes have. */
static szgpu_status carve(szg_arena *arena, const szg_code_stream_sizes_cuda *,
                          szg_decoder_memory *memory) {
  szg_all_offsets_options const options = SZG_ALL_OFFSETS_DEFAULTS_CUDA;
  OwnMemory own = {};
  SZG_TRY(szg_all_offsets_carve_cuda(arena, &options, 1, SZG_MAX_CODE_BITS, &own));
  szg_decoder_keep(memory, &own, sizeof own);
  return SZGPU_OK;
}

static szgpu_status decode(const szg_code_stream_cuda *stream, const szg_decoder_memory *memory,
                           uint32_t, void *codes) {
  OwnMemory own;
  szg_decoder_recall(memory, &own, sizeof own);
  return szg_decode_all_offsets_cuda(&own, stream->book, &stream->input, (uint16_t *)codes,
                                     stream->verdict, stream->device->stream);
}

const szg_decoder_cuda szg_all_offsets_cuda = {carve, nullptr, decode, false};
