/* joins.h - neighbouring axes of a field that are taken for one, because that takes fewer bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A grid predicts along three axes. Of four, the first is a batch, unless two neighbours are
 * joined: then lines of the faster one follow one another, and there are three. An axis of a few
 * values leaves tiles nearly empty; joined with its neighbour it fills them. What values of a
 * sample take decides which axes to join, if any.
 */
#ifndef SZG_JOINS_H
#define SZG_JOINS_H

#include "quant/bound.h"

SZG_C_BEGIN

/* The grids that a field of this shape may have; the first has no joined axes. It is the only one
 * if the sample would take too large a share of the time, unless its tiles are nearly empty. */
enum { SZG_MOST_GRIDS = 8 };
uint32_t szg_joins_grids(const szgpu_shape *shape, szg_grid grids[SZG_MOST_GRIDS]);

/* Picks one of them. missing: bits of the field's type. */
szgpu_status szg_joins_choose(const szgpu_shape *shape, szgpu_mode mode, double bound,
                              const szg_missing *missing, const szg_value_source *source,
                              szg_grid *chosen) SZG_CHECKED;

SZG_C_END

#endif
