/* hdf5_dataset.h - reads one dataset of an HDF5 file, which a netCDF-4 file is too.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_DATASET_H
#define SZGPU_APP_HDF5_DATASET_H

#include "input.h"

struct dataset {
  szgpu_shape shape; /* f32 or f64; of more than 4 dims some that are 1 are left out */
  bool has_fill;
  double fill;
  const char *fill_origin; /* "_FillValue" or "HDF5's fill value" */
  int64_t file_id, id;     /* HDF5's; 0: none */
};

#define DATASET_NONE \
  { .fill_origin = "" }

/* False in a build without HDF5, where all calls say so. */
bool hdf5_is_built_in(void);

/* Each returns an exit code, after the sentence where it is not CODE_OK.
 * input->dataset is the path, in input->file. */
int hdf5_open(const struct report *report, const struct input *input, struct dataset *dataset);
/* Into native byte order; values has room for the shape. */
int hdf5_read(const struct report *report, const struct input *input, const struct dataset *dataset,
              void *values);
/* What was learnt of it stays. */
void hdf5_close(struct dataset *dataset);
/* For an HDF5 file without a dataset's name: says which there are. */
int hdf5_refuse_file(const struct report *report, const struct input *input);

#endif
