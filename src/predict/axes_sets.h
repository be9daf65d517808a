/* axes_sets.h - a tile's differences along all sets of axes at once, in 16 bits.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_AXES_SETS_H
#define SZG_AXES_SETS_H

#include "predict/lorenzo.h"

SZG_C_BEGIN

/* What szg_tile_difference would give for each of the sets 1 .. set_count (1, 3 or 7), set 1 first,
 * except that the tile's first point counts as 0. False: the tile's points lie so far from the
 * first that differences may not fit in 16 bits, and there are none. */
bool szg_tile_difference_sets(uint32_t lattice_bits, const szg_tile *tile,
                              const szg_tile_points *lattice, uint32_t set_count,
                              int16_t (*differences)[SZG_TILE_VALUES]) SZG_CHECKED;

SZG_C_END

#endif
