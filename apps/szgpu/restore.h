/* restore.h - reads an archive and writes its field or a part of it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_RESTORE_H
#define SZGPU_APP_RESTORE_H

#include "input.h"
#include "job.h"
#include "series_input.h"

/* Restores an archive, whose input is open, or a step of a series: *archive is then the step's.
 * Returns an exit code, and prints a sentence if it is not CODE_OK. */
int restore_archive(const struct job *job, struct input *archive, const struct step_view *step,
                    const char *output_name);

#endif
