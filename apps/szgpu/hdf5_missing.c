/* hdf5_missing.c - hdf5_dataset.h, _rows.h and _repack.h without HDF5: refuses every call.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_repack.h"
#include "hdf5_rows.h"

static int refuse_name(const struct report *report, const char *name) {
  return report_failure(report, CODE_USAGE, name,
                        "needs HDF5, which this build of szgpu lacks; build szgpu with "
                        "-DSZGPU_HDF5=ON, or save the field as .npy");
}

static int refuse(const struct report *report, const struct input *input) {
  return refuse_name(report, input->name);
}

bool hdf5_is_there(void) { return false; }

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

int hdf5_rows_open(const struct report *report, const struct input *input,
                   const struct dataset *dataset, uint64_t most_bytes, struct dataset_rows *rows) {
  (void)dataset;
  (void)most_bytes;
  *rows = (struct dataset_rows){0};
  return refuse(report, input);
}

uint64_t hdf5_rows_bytes(const struct dataset_rows *rows) {
  (void)rows;
  return 0;
}

int hdf5_rows_failure(const struct report *report, const struct input *input,
                      const struct dataset_rows *rows) {
  (void)rows;
  return refuse(report, input);
}

szgpu_source hdf5_rows_source(struct dataset_rows *rows) { return (szgpu_source){.user = rows}; }

void hdf5_rows_close(struct dataset_rows *rows) { (void)rows; }

int hdf5_refuse_file(const struct report *report, const struct input *input) {
  return refuse(report, input);
}

int hdf5_repack(const struct job *job, const struct repack_files *files, struct bounds *bounds,
                const struct repack_end *end, struct json *json, struct repack_total *total) {
  (void)files, (void)bounds, (void)end, (void)json, (void)total;
  return refuse_name(&job->report, job->report.file);
}

int hdf5_list(const struct job *job) { return refuse_name(&job->report, job->report.file); }
