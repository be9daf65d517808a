/* self_sync_steps.cu - the decoder self-sync as frames call it on CUDA; twin of self_sync_steps.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/self_sync.h"
#include "huffman/decoders/steps.h"

using OwnMemory = szg_self_sync_decoder_cuda;
static_assert(sizeof(OwnMemory) <= SZG_DECODER_MEMORY_BYTES, "it is kept between steps");

static szgpu_status carve(szg_arena *arena, const szg_code_stream_sizes_cuda *sizes,
                          szg_decoder_memory *memory) {
  szg_self_sync_options_cuda const options = SZG_SELF_SYNC_DEFAULTS_CUDA;
  OwnMemory own = {};
  SZG_TRY(szg_self_sync_carve_cuda(arena, &options, sizes->word_count, &own));
  szg_decoder_keep(memory, &own, sizeof own);
  return SZGPU_OK;
}

static szgpu_status decode(const szg_code_stream_cuda *stream, const szg_decoder_memory *memory,
                           uint32_t code_bytes, void *codes) {
  OwnMemory own;
  szg_decoder_recall(memory, &own, sizeof own);
  return szg_decode_self_sync_cuda(&own, stream->book, stream->symbol_count, &stream->input,
                                   code_bytes, codes, stream->verdict, stream->device->stream);
}

const szg_decoder_cuda szg_self_sync_cuda = {carve, nullptr, decode, true};
