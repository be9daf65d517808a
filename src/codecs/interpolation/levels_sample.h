/* levels_sample.h - counts of all stages of a levels frame on the GPU, from its values alone.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What szg_levels_estimate_tile and szg_tokens_count do with the counted tiles of all stages
 * (szg_number_in_part), in one launch. docs/format.md, section 16, "Counts", has the rules.
 */
#ifndef SZG_LEVELS_SAMPLE_H
#define SZG_LEVELS_SAMPLE_H

#include "codecs/interpolation/levels.h"
#include "huffman/tokens_cuda.h"

SZG_C_BEGIN

/* Memory that blocks need if the frame is wide: for each block one of these pieces, as many as
 * there are. */
enum { SZG_LEVELS_SAMPLE_BYTES = 49152 };

/* values: the frame's. tiles: [stages], host memory. tallies: [stages], overwritten. scratch: at
 * least one piece, aligned to 16; not used unless the frame is wide. Nothing waits for the
 * device. */
szgpu_status szg_levels_sample_cuda(const szg_levels *levels, const szg_levels_lattice *lattice,
                                    const szg_tokens_tiles *tiles, const void *values,
                                    szg_tokens_tally *tallies, void *scratch,
                                    uint64_t scratch_bytes, struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
