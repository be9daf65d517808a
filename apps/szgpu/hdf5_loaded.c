/* hdf5_loaded.c - hdf5_dataset.h, _rows.h and _repack.h in a wheel, by way of a libhdf5 there.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A wheel would have to hold all that libhdf5 links, and Python's users have one: that of h5py or
 * netCDF4. Its file has a name that nobody knows beforehand, so the command links none. What reads
 * HDF5 is in a module, whose symbols are found in the libhdf5 that is loaded before it. python -m
 * szgpu says which, in SZGPU_HDF5_LIBRARY.
 */
#define _DEFAULT_SOURCE
#include "hdf5_calls.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char module_name[] = "libszgpu_hdf5.so"; /* beside libszgpu.so: in the RPATH */

static const struct hdf5_calls *calls;
static char why[512]; /* there are none */

static const struct hdf5_calls *fail(const char *reason) {
  snprintf(why, sizeof why, "%s", reason ? reason : "no reason is known");
  return NULL;
}

/* hid_t had 32 bits before 1.10, and H5Dget_chunk_info is of 1.10.5. */
static bool is_new_enough(void *library) {
  int (*version)(unsigned *, unsigned *, unsigned *);
  unsigned major = 0, minor = 0, release = 0;
  void *const function = dlsym(library, "H5get_libversion");
  if (!function) return false;
  memcpy(&version, &function, sizeof function);
  return version(&major, &minor, &release) >= 0 &&
         (major > 1 || minor > 10 || (minor == 10 && release >= 5));
}

static const struct hdf5_calls *load(void) {
  static const char *const usual[] = {"libhdf5.so", "libhdf5_serial.so"};
  const char *const given = getenv("SZGPU_HDF5_LIBRARY");
  int const flags = RTLD_NOW | RTLD_GLOBAL;
  void *library = given ? dlopen(given, flags) : NULL;
  for (int i = 0; !given && !library && i < 2; i++) library = dlopen(usual[i], flags);
  if (!library) return fail(given ? dlerror() : "there is none");
  if (!is_new_enough(library)) return fail("it is not a libhdf5 of version 1.10.5 or later");
  void *const module = dlopen(module_name, RTLD_NOW);
  if (!module) return fail(dlerror());
  const struct hdf5_calls *const found = dlsym(module, HDF5_CALLS_NAME);
  return found ? found : fail(dlerror());
}

/* Loads the module once, if it can be loaded. */
static bool is_loaded(void) {
  if (!calls && !why[0]) calls = load();
  return calls != NULL;
}

static int refuse_name(const struct report *report, const char *name) {
  return report_failure(report, CODE_USAGE, name,
                        "needs the HDF5 of h5py or netCDF4 (%s); pip install h5py, or save the "
                        "field as .npy",
                        why);
}

static int refuse(const struct report *report, const struct input *input) {
  return refuse_name(report, input->name);
}

bool hdf5_is_there(void) { return is_loaded(); }

int hdf5_open(const struct report *report, const struct input *input, struct dataset *dataset) {
  *dataset = (struct dataset)DATASET_NONE;
  return is_loaded() ? calls->open(report, input, dataset) : refuse(report, input);
}

int hdf5_read(const struct report *report, const struct input *input, const struct dataset *dataset,
              void *values) {
  return is_loaded() ? calls->read(report, input, dataset, values) : refuse(report, input);
}

void hdf5_close(struct dataset *dataset) {
  if (calls) calls->close(dataset);
}

int hdf5_refuse_file(const struct report *report, const struct input *input) {
  return is_loaded() ? calls->refuse_file(report, input) : refuse(report, input);
}

int hdf5_rows_open(const struct report *report, const struct input *input,
                   const struct dataset *dataset, uint64_t most_bytes, struct dataset_rows *rows) {
  *rows = (struct dataset_rows){0};
  return is_loaded() ? calls->rows_open(report, input, dataset, most_bytes, rows)
                     : refuse(report, input);
}

uint64_t hdf5_rows_bytes(const struct dataset_rows *rows) {
  return calls ? calls->rows_bytes(rows) : 0;
}

int hdf5_rows_failure(const struct report *report, const struct input *input,
                      const struct dataset_rows *rows) {
  return is_loaded() ? calls->rows_failure(report, input, rows) : refuse(report, input);
}

szgpu_source hdf5_rows_source(struct dataset_rows *rows) {
  return calls ? calls->rows_source(rows) : (szgpu_source){.user = rows};
}

void hdf5_rows_close(struct dataset_rows *rows) {
  if (calls) calls->rows_close(rows);
}

int hdf5_repack(const struct job *job, const struct repack_files *files, struct bounds *bounds,
                const struct repack_end *end, struct json *json, struct repack_total *total) {
  return is_loaded() ? calls->repack(job, files, bounds, end, json, total)
                     : refuse_name(&job->report, job->report.file);
}

int hdf5_list(const struct job *job) {
  return is_loaded() ? calls->list(job) : refuse_name(&job->report, job->report.file);
}
