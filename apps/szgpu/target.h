/* target.h - finds the bound that gives an archive of the size that is asked for.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_TARGET_H
#define SZGPU_APP_TARGET_H

#include "compression.h"

/* Finds the tightest bound, to three digits, whose archive of the whole field has at least the
 * ratio, by trials: first on a sample of the rows, if the field is large, and then on all of them.
 * work is loaded; its params then have the bound, and its archive is there. *trial_count gets the
 * number of compressions of the whole field. The ratio is at most 1 % above the one asked for,
 * except where it jumps. Returns an exit code, and prints a sentence if it is not CODE_OK. */
int target_find(struct compression *work, double ratio, int *trial_count);

#endif
