/* classic.h - files of classic netCDF (CDF-1, CDF-2, CDF-5): whether they are whole, and a copy as
 * netCDF-4.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_CLASSIC_H
#define SZGPU_APP_CLASSIC_H

#include "input.h"
#include "output.h"

/* Each returns an exit code, and prints a sentence if it is not CODE_OK. */

/* Refuses a file that has fewer bytes than its header says: netCDF reads zeros in their place. */
int classic_check(const struct report *report, const struct input *input);
/* Makes the open file `copy` the same as netCDF-4, by the program nccopy. */
int classic_convert(const struct report *report, const struct input *input,
                    const struct output *copy);

#endif
