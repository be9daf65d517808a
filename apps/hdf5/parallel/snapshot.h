/* snapshot.h - snapshots of a field in an HDF5 file that all ranks have open together.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All functions except snapshot_need_filter and snapshot_write_chunk are collective: all ranks call
 * them, in the same order. With options->is_direct only rank 0 has a file, and calls of other ranks
 * do nothing. A rank that sees a failure sets its fault; ranks_agree then tells the others.
 */
#ifndef SZGPU_PARALLEL_SNAPSHOT_H
#define SZGPU_PARALLEL_SNAPSHOT_H

#include "blocks.h"
#include "options.h"
#include "ranks.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

struct snapshots {
  hid_t file, dataset, transfer; /* H5I_INVALID_HID: none */
  const char *path;
  bool is_shared; /* false: rank 0 alone has the file open, and the others have none */
  /* Of the dataset that is open: */
  char name[32];
  uint64_t dims[FIELD_DIMS], chunk[FIELD_DIMS];
  enum coding coding;
  double bound; /* 0: lossless or raw */
  bool has_fill;
  uint64_t stored_bytes; /* of its chunks in the file */
};

/* Sets a fault if HDF5 does not find the filter; to be called before anything is created. */
void snapshot_need_filter(struct fault *fault);

void snapshots_create(const struct ranks *ranks, const struct options *options,
                      struct snapshots *snapshots, struct fault *fault);
void snapshots_open(const struct ranks *ranks, const char *path, struct snapshots *snapshots,
                    uint64_t *step_count, struct fault *fault);
void snapshots_close(struct snapshots *snapshots, struct fault *fault);

/* Creates or opens a step's dataset, which snapshot_write and snapshot_read then use. */
void snapshot_create(const struct options *options, uint64_t step, struct snapshots *snapshots,
                     struct fault *fault);
void snapshot_open(uint64_t step, struct snapshots *snapshots, struct fault *fault);
void snapshot_write(const struct block *block, const float *values, struct snapshots *snapshots,
                    struct fault *fault);
/* Writes one archive of a file that rank 0 alone has open. */
void snapshot_write_chunk(const struct snapshots *snapshots, const hsize_t *offset,
                          size_t archive_bytes, const void *archive, struct fault *fault);
void snapshot_read(const struct block *block, float *values, struct snapshots *snapshots,
                   struct fault *fault);
/* Closes a dataset that was written. When this returns, its data are on disk. */
void snapshot_finish(struct snapshots *snapshots, struct fault *fault);
void snapshot_close(struct snapshots *snapshots, struct fault *fault);

#endif
