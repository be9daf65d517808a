/* simple.h - frames of kind "constant": one value, with exceptions; of kind "raw": byte planes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_SIMPLE_H
#define SZG_SIMPLE_H

#include "codecs/kind.h"

SZG_C_BEGIN

SZG_DECLARE_KIND(constant);
SZG_DECLARE_KIND(raw);

/* After the frame that the writer has last written under zstd, before it ends: writes it again as a
 * raw frame if that is smaller. Whole bytes repeat more often than codes and packed planes do.
 * values: the frame's, of `width` bytes; before: the writer before the frame. */
szgpu_status szg_raw_frame_replace(const void *values, size_t width, const szg_writer *before,
                                   szg_writer *writer) SZG_CHECKED;

SZG_C_END

#endif
