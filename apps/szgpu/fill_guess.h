/* fill_guess.h - finds a value that is probably fill although nobody said so.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_FILL_GUESS_H
#define SZGPU_APP_FILL_GUESS_H

#include "report.h"
#include "szgpu.h"

struct fill_guess {
  double value;         /* least or greatest of the finite values */
  double share;         /* of all values, 1/256 or more; at least three */
  double range_without; /* of the other finite values, above 0; at most 1/8 of the whole range */
};

/* known_fill has the bits of the value that is fill already, NULL: none is. Takes a sample of 2^14
 * values, and reads all values only if the sample has such a value. False: there is none. */
bool guess_fill(const void *values, const szgpu_shape *shape, const uint64_t *known_fill,
                struct fill_guess *guess);

/* Whether a sample of the values is such that guess_fill may find one, or that an absolute bound,
 * INFINITY if there is none, may be over their range. Of small fields, always. */
bool may_be_suspicious(const void *values, const szgpu_shape *shape, double absolute_bound);

/* The distance to the next larger magnitude. */
/* A value in as few digits as give it again. */
struct words words_for_value(szgpu_dtype dtype, double value);

#endif
