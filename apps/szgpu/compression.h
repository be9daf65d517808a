/* compression.h - one field of the command line and its archive, in memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_COMPRESSION_H
#define SZGPU_APP_COMPRESSION_H

#include "field.h"
#include "hdf5_rows.h"
#include "input.h"
#include "job.h"
#include "memory.h"
#include "metrics.h"
#include "warnings.h"

struct compression {
  const struct job *job;
  const char *name; /* of the input, as messages show it */
  struct input input;
  struct field field;
  struct dataset_rows rows; /* of a dataset that is read frame by frame */
  szgpu_params params;      /* what the options and the field say; callers may change the bound */
  struct fills fills;       /* that options and attributes name; params has them */
  struct memory archive;
  size_t archive_bytes;
  szgpu_info info;
  struct metrics metrics; /* of compression_verify */
  double seconds, verify_seconds;
  struct warnings warnings;
};

/* The field of job->report.file, which is still to be opened. */
struct compression compression_of(const struct job *job);
/* Each returns an exit code, and prints a sentence if it is not CODE_OK. In this order: */
int compression_open(struct compression *work);
/* Reads the field, and warns of what options say about it. */
int compression_load(struct compression *work);
int compression_read(struct compression *work); /* the same if the input is loaded already */
/* Puts what is missing into params. compression_read does so, unless more fill values are named
 * than an archive has and the field is not in memory: then fills_look has to see all of it first.
 */
int compression_keep_fills(struct compression *work);
/* Warns of what the values and the bound in params say about each other. */
int compression_warn(struct compression *work);
/* Makes the archive and its info, under params; again if there is one already. */
int compression_make(struct compression *work);
/* Restores the archive in memory and compares. CODE_BOUND: a value exceeds the bound. */
int compression_verify(struct compression *work);
/* What follows from the status of restoring it and, if that is SZGPU_OK, from metrics. */
int compression_judge(const struct compression *work, szgpu_status status);
void compression_close(struct compression *work);

#endif
