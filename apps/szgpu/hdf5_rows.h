/* hdf5_rows.h - a dataset's values, some rows at a time, as a source of the library's streams.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_ROWS_H
#define SZGPU_APP_HDF5_ROWS_H

#include "hdf5_dataset.h"
#include "hdf5_failure.h"
#include "memory.h"
#include "szgpu.h"

/* A row: all values with one index along the slowest axis that is longer than 1. */
struct dataset_rows {
  const struct dataset *dataset; /* open; NULL: none */
  int row_axis;                  /* of the dataset's own dims */
  uint64_t row_count, row_bytes;
  uint64_t window_rows;   /* that are read at once: whole chunks, if they fit */
  bool is_window_cut;     /* by most_bytes */
  uint64_t library_bytes; /* that HDF5 may take meanwhile: chunks, their packed bytes, its caches */
  struct memory window;
  uint64_t first_row, held_rows; /* in the window */
  bool is_counted;               /* library_bytes are */
  bool has_failed;
  struct hdf5_sentence reason;
};

/* Returns an exit code, and prints a sentence if it is not CODE_OK. most_bytes: of a window; one
 * of a single row may be larger. The dataset must outlive the rows. */
int hdf5_rows_open(const struct report *report, const struct input *input,
                   const struct dataset *dataset, uint64_t most_bytes, struct dataset_rows *rows);
/* What the rows take, counted against the limit on memory. */
uint64_t hdf5_rows_bytes(const struct dataset_rows *rows);
/* Prints why a read has failed, and returns the exit code. */
int hdf5_rows_failure(const struct report *report, const struct input *input,
                      const struct dataset_rows *rows);
szgpu_source hdf5_rows_source(struct dataset_rows *rows);
void hdf5_rows_close(struct dataset_rows *rows);

#endif
