/* hdf5_repack.h - szgpu --repack on an HDF5 file, and -l of one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_REPACK_H
#define SZGPU_APP_HDF5_REPACK_H

#include "bounds.h"
#include "job.h"

/* What there was to tell of a file. */
struct repack_total {
  uint64_t dataset_count, compressed_count;
  uint64_t raw_bytes;     /* of the values of those that were compressed */
  uint64_t written_bytes; /* of their archives */
};

struct repack_end {
  int (*finish)(void *user); /* called when the new file is whole; returns an exit code */
  void *user;
};

/* Copies job->report.file to the file at out_path, which is overwritten, and then prints what has
 * happened to each dataset, if the options ask for that: as text, or with --json as a member of an
 * object that it begins in *json. With --dry-run nothing is written, and out_path may be NULL. Each
 * returns an exit code, and prints a sentence if it is not CODE_OK. */
int hdf5_repack(const struct job *job, const char *out_path, struct bounds *bounds,
                const struct repack_end *end, struct json *json, struct repack_total *total);
/* Lists the datasets of the file job->report.file. */
int hdf5_list(const struct job *job);

#endif
