/* decoders.cu - the table of decoders: the steps on CUDA; the twin of decoders.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/decoders.h"

#include "huffman/decoders/table.h"

namespace {

const szg_decoder_cuda *const rows[] = {
#define ROW_OF(decoder, backends, needs, cpu, cuda) cuda,
    SZG_DECODER_TABLE(ROW_OF)
#undef ROW_OF
};

constexpr bool has_steps(const szg_decoder_cuda *steps) { return steps != nullptr; }

/* decoders.c checks that each row has its decoder's number as index. */
#define CHECK_ROW(decoder, backends, needs, cpu, cuda)                                     \
  static_assert(                                                                           \
      decoder == SZGPU_DECODER_AUTO || has_steps(cuda) == (((backends)&SZG_ON_CUDA) != 0), \
      "steps if it runs here");
SZG_DECODER_TABLE(CHECK_ROW)
#undef CHECK_ROW

} // namespace

const szg_decoder_cuda *szg_decoder_for_cuda(szgpu_decoder decoder, bool has_gaps) {
  return rows[szg_decoder_resolve(decoder, SZGPU_BACKEND_CUDA, has_gaps)];
}
