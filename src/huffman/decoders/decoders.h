/* decoders.h - what can be asked of the table of decoders.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A decoder is a line of SZGPU_DECODER_LIST in szgpu.h, a row of SZG_DECODER_TABLE in table.h, and
 * files of its own that define its steps. Other code asks here and names no decoder.
 */
#ifndef SZG_DECODERS_H
#define SZG_DECODERS_H

#include "huffman/decoders/steps.h"

SZG_C_BEGIN

/* Whether the decoder exists. The other functions take only decoders that exist. */
bool szg_decoder_exists(szgpu_decoder decoder);
/* NULL if the decoder does not exist. */
const char *szg_decoder_name(szgpu_decoder decoder);
const char *szg_decoder_summary(szgpu_decoder decoder);

/* Whether the backend has the decoder; AUTO: whether either of the two has. */
bool szg_decoder_runs_on(szgpu_decoder decoder, szgpu_backend backend);

/* Why the decoder does not read such archives, as a predicate of the archive: "has no gap array".
 * NULL: it reads them. */
const char *szg_decoder_refusal(szgpu_decoder decoder, szgpu_mode mode, szgpu_layout layout,
                                bool has_gaps);

/* The decoder that SZGPU_DECODER_AUTO stands for; any other stands for itself. backend: CPU or
 * CUDA; has_gaps: of the archive. */
szgpu_decoder szg_decoder_resolve(szgpu_decoder decoder, szgpu_backend backend, bool has_gaps);

/* The steps of a decoder that runs on the backend. has_gaps: of the archive. */
const szg_decoder_cpu *szg_decoder_for_cpu(szgpu_decoder decoder, bool has_gaps);
const szg_decoder_cuda *szg_decoder_for_cuda(szgpu_decoder decoder, bool has_gaps);

SZG_C_END

#endif
