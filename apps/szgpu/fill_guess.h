/* fill_guess.h - finds a value that is probably fill although nobody said so.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_FILL_GUESS_H
#define SZGPU_APP_FILL_GUESS_H

#include "szgpu.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FILL_SENTENCE_CHARS = 400 };

/* Writes a sentence if one of the values, those of info->shape, looks like fill and their archive
 * does not keep it exactly or has a looser bound because of it. option is what comes before the
 * value where a user names it, such as "--fill ". Takes a sample of 2^14 values, and reads all
 * values only if the sample has such a value. False: there is nothing to say. */
bool warn_of_fill(const void *values, const szgpu_info *info, const char *option,
                  char sentence[FILL_SENTENCE_CHARS]);

/* Whether a sample of the values is such that warn_of_fill may find one, or that an absolute bound,
 * INFINITY if there is none, may be over their range. Of small fields, always. */
bool may_be_suspicious(const void *values, const szgpu_shape *shape, double absolute_bound);

#ifdef __cplusplus
}
#endif

#endif
