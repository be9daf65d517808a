/* hdf5_repack.h - szgpu --repack and --unpack on an HDF5 file, and -l of one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_REPACK_H
#define SZGPU_APP_HDF5_REPACK_H

#include "bounds.h"
#include "job.h"

/* What there was to tell of a file. */
struct repack_total {
  uint64_t dataset_count, compressed_count; /* or restored */
  uint64_t raw_bytes;                       /* of the values of those that were compressed */
  uint64_t written_bytes;                   /* of their archives */
};

/* The files, by their paths. */
struct repack_files {
  const char *in;  /* job->report.file, or a copy of it: messages name the former */
  bool is_classic; /* the copy is of a file of classic netCDF, by nccopy */
  const char *out; /* overwritten; with --dry-run it may be NULL */
};

struct repack_end {
  int (*finish)(void *user); /* called when the new file is whole; returns an exit code */
  void *user;
};

/* Copies one file to the other, as the command of the options says, and then prints what has
 * happened to each dataset, if the options ask for that: as text, or with --json as a member of an
 * object that it begins in *json. With --dry-run nothing is written. Each returns an exit code, and
 * prints a sentence if it is not CODE_OK. */
int hdf5_repack(const struct job *job, const struct repack_files *files, struct bounds *bounds,
                const struct repack_end *end, struct json *json, struct repack_total *total);
/* Lists the datasets of the file job->report.file. */
int hdf5_list(const struct job *job);

#endif
