/* limited_fields.h - fields that would leave their range if archives had no limits, and how to
 * compress them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_LIMITED_FIELDS_H
#define SZG_TEST_LIMITED_FIELDS_H

#include <stdbool.h>

#include "support.h"

/* RAIN: nothing is below 0, and much of it is 0, of either sign. NEGATIVE: the same below 0, but
 * RAIN of types without negative numbers. PLATEAUS: much of it is the least or the greatest value,
 * which no lattice has. FAR: so far from 0 that a large bound makes all of it one lattice point,
 * which is beyond the range. */
enum { LIMITED_RAIN, LIMITED_NEGATIVE, LIMITED_PLATEAUS, LIMITED_FAR, LIMITED_FIELDS };

/* A new field, of a range of about 100; of FAR, of 10. */
void *limited_make(int kind, const szgpu_shape *shape);

/* Layouts and predictors, with frames and zstd. */
enum { LIMITED_WAYS = 7 };
/* Modes and bounds, all of which keep the range. */
enum { LIMITED_BOUNDS = 6 };
szgpu_params limited_params(size_t way, size_t bound);
/* Of these bounds, whether some values may be kept exactly. */
bool limited_is_close(size_t bound);

/* Calls use for all types, ways and bounds, with one of the shapes and one or all kinds of
 * field. */
typedef struct limited_case {
  szgpu_params params;
  szgpu_shape shape;
  int kind;
  bool is_close;
} limited_case;
void limited_each_case(void (*use)(const limited_case *c, void *user), void *user);

/* What frames of an archive may be: the kind of the first one, and the bits of its lattice. */
enum {
  LIMITED_LINEAR,
  LIMITED_TILE_16,
  LIMITED_TILE_32,
  LIMITED_TILE_64,
  LIMITED_LEVELS_32,
  LIMITED_LEVELS_64,
  LIMITED_OTHERS, /* without codes */
  LIMITED_FRAMES
};
int limited_frame_of(const test_archive *archive);

/* The archive with limits close around one of its values, so that most are beyond them. */
test_archive limited_closer(const test_archive *archive, const szgpu_info *info,
                            const void *restored, double limits[2]);

#endif
