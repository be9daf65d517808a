/* job.h - the work on one file of the command line.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_JOB_H
#define SZGPU_APP_JOB_H

#include "options.h"
#include "progress.h"
#include "report.h"

struct series_output;

struct job {
  const struct options *options;
  struct progress *progress;
  szgpu_ctx *ctx;         /* NULL for -l */
  szgpu_ctx *const *ctxs; /* one for each GPU of a list; the first is ctx */
  int ctx_count;
  bool *is_note_told;           /* shared by all files: the library's note was printed */
  struct series_output *series; /* with --append; shared by all files */
  struct report report;
};

/* job->report.file is the file. Each returns an exit code, and prints a sentence if it is not
 * CODE_OK. */
int compress_file(const struct job *job);
int restore_file(const struct job *job);
int list_file(const struct job *job);
int sweep_file(const struct job *job);
int test_file(const struct job *job); /* or a folder */
int repack_file(const struct job *job);

#endif
