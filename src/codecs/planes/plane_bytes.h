/* plane_bytes.h - values to the bytes of a plane, and planes to values, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PLANE_BYTES_H
#define SZG_PLANE_BYTES_H

#include <stdint.h>

#include "codecs/planes/planes_core.h"

/* Takes byte `plane` of each value, turned (szg_planes_turned). */
void szg_plane_take(const uint8_t *values, uint32_t value_count, uint32_t value_bytes,
                    uint32_t plane, uint8_t *symbols);

/* Joins planes, one pointer for each, to up to SZG_TILE_VALUES values. */
void szg_planes_join(const uint8_t *const *planes, uint32_t value_count, uint32_t value_bytes,
                     uint8_t *values);

#endif
