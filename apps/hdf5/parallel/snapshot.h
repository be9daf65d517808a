/* snapshot.h - snapshots of a field in an HDF5 file that all ranks have open together.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every function here but snapshot_need_filter is collective: all ranks call it, in the same order.
 * On failure it says so in fault, on the ranks that saw it; ranks_agree then tells the others.
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
  hid_t file, dataset, transfer; /* H5I_INVALID_HID where there is none */
  const char *path;
  char name[32]; /* of the dataset that is open */
  /* Of the dataset that is open. */
  uint64_t dims[FIELD_DIMS], chunk[FIELD_DIMS];
  enum coding coding;
  double bound; /* 0: bits are kept */
  bool has_fill;
  uint64_t stored_bytes; /* of its chunks in the file */
};

/* Looks for the filter, so that its lack is told before anything is made. */
void snapshot_need_filter(struct fault *fault);

void snapshots_create(const struct ranks *ranks, const struct options *options,
                      struct snapshots *snapshots, struct fault *fault);
void snapshots_open(const struct ranks *ranks, const char *path, struct snapshots *snapshots,
                    uint64_t *step_count, struct fault *fault);
void snapshots_close(struct snapshots *snapshots, struct fault *fault);

/* Makes a step's dataset, or opens it, which then is the one that blocks go to and come from. */
void snapshot_create(const struct options *options, uint64_t step, struct snapshots *snapshots,
                     struct fault *fault);
void snapshot_open(uint64_t step, struct snapshots *snapshots, struct fault *fault);
void snapshot_write(const struct block *block, const float *values, struct snapshots *snapshots,
                    struct fault *fault);
void snapshot_read(const struct block *block, float *values, struct snapshots *snapshots,
                   struct fault *fault);
/* Ends a dataset that was written: what was written is on disk when this returns. */
void snapshot_finish(struct snapshots *snapshots, struct fault *fault);
void snapshot_close(struct snapshots *snapshots, struct fault *fault);

#endif
