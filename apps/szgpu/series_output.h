/* series_output.h - the series that --append makes longer by a step for each input.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls return an exit code, and print a sentence if it is not CODE_OK.
 */
#ifndef SZGPU_APP_SERIES_OUTPUT_H
#define SZGPU_APP_SERIES_OUTPUT_H

#include "compression.h"
#include "szgpu_series.h"

struct series_output {
  szgpu_series *series;    /* NULL: not open yet */
  uint64_t appended_steps; /* by all files */
};

/* Opens and locks the series, unless it is open already. Its end must be whole or not finished,
 * unless -f says that it may be lost. */
int series_output_open(const struct job *job);
/* Appends the archive of `work`: the bytes that it has, or those of a file if descriptor is not -1.
 * An end that is not whole gives way then, and not before. *step gets the number of the step. */
int series_output_append(const struct compression *work, int descriptor, uint64_t *step);
void series_output_close(struct series_output *output);

#endif
