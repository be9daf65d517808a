/* hdf5_missing.c - hdf5_dataset.h in a build without HDF5: refuses every call.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_dataset.h"

static int refuse(const struct report *report, const struct input *input) {
  return report_failure(report, CODE_USAGE, input->name,
                        "needs HDF5, which this build of szgpu lacks; build szgpu with "
                        "-DSZGPU_HDF5=ON, or save the field as .npy");
}

bool hdf5_is_built_in(void) { return false; }

int hdf5_open(const struct report *report, const struct input *input, struct dataset *dataset) {
  *dataset = (struct dataset)DATASET_NONE;
  return refuse(report, input);
}

int hdf5_read(const struct report *report, const struct input *input, const struct dataset *dataset,
              void *values) {
  (void)dataset;
  (void)values;
  return refuse(report, input);
}

void hdf5_close(struct dataset *dataset) { (void)dataset; }

int hdf5_refuse_file(const struct report *report, const struct input *input) {
  return refuse(report, input);
}
