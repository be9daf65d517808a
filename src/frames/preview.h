/* preview.h - a frame's part of a preview: every 2^level-th value along each axis except a batch's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PREVIEW_H
#define SZG_PREVIEW_H

#include "frames/frame.h"

SZG_C_BEGIN

/* Which values of a frame are in the preview of a field. The frame may begin between two rows of
 * the preview, so its own first one need not be row 0. */
typedef struct szg_preview {
  uint32_t level;
  uint64_t step;                      /* 2^level */
  uint64_t z_first, y_first, x_first; /* in the frame */
  uint64_t batch_count, z_count, y_count, x_count;
  uint64_t value_count;
  uint8_t *values; /* where they go, without gaps, x fastest */
} szg_preview;

/* The part of a frame that begins at row first_row of the field, which is `whole`. value_count can
 * be 0. */
szg_preview szg_preview_of_frame(const szg_grid *whole, const szg_grid *frame, uint64_t first_row,
                                 uint32_t level);

/* Overwrites the preview's values with the exact and fill values of the frame, which has been
 * opened. */
szgpu_status szg_preview_apply_outliers(szg_read_job *job) SZG_CHECKED;

SZG_C_END

#endif
