/* hdf5_dataset.h - reads one dataset of an HDF5 file; a netCDF-4 file is one, too.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_DATASET_H
#define SZGPU_APP_HDF5_DATASET_H

#include "fills.h"
#include "input.h"

struct dataset {
  szgpu_shape shape;        /* of more than 4 dims, some that are 1 are dropped */
  szgpu_dtype stored_dtype; /* whose bits are read: signed where the values meant are unsigned */
  struct fills fills;
  const char *fault; /* why nobody knows what is missing; NULL: that is known */
  bool is_packed;    /* the values that are meant are scale * stored + offset */
  double scale, offset;
  int64_t file_id, id; /* HDF5's ids; 0: none */
};

#define DATASET_NONE \
  { .fault = NULL }

/* False in a build without HDF5, or if none can be loaded: every call then fails and says so. */
bool hdf5_is_there(void);

/* Each returns an exit code, and prints a sentence if it is not CODE_OK.
 * input->dataset is the path in input->file. */
int hdf5_open(const struct report *report, const struct input *input, struct dataset *dataset);
/* Into native byte order; values has room for the shape. */
int hdf5_read(const struct report *report, const struct input *input, const struct dataset *dataset,
              void *values);
/* Closes the file; the shape, and what attributes say, stay. */
void hdf5_close(struct dataset *dataset);
/* For an HDF5 file given without a dataset's name: lists the datasets to choose from. */
int hdf5_refuse_file(const struct report *report, const struct input *input);

#endif
