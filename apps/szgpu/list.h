/* list.h - lists what the headers of an archive say.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_LIST_H
#define SZGPU_APP_LIST_H

#include "job.h"
#include "series_input.h"

/* Lists an archive that is loaded, or a step of a series: *archive is then the step's. Returns an
 * exit code, and prints a sentence if it is not CODE_OK. */
int list_archive(const struct job *job, const struct input *archive, const struct step_view *step);

#endif
