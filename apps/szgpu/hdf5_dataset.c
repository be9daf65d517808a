/* hdf5_dataset.c - reads one dataset of an HDF5 file; a netCDF-4 file is one, too.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "hdf5_dataset.h"

#include "hdf5_attributes.h"
#include "hdf5_chunks.h"
#include "hdf5_failure.h"
#include "hdf5_filters.h"
#include "hdf5_names.h"
#include "hdf5_reading.h"
#include "hdf5_virtual.h"
#include "values.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(hid_t) <= sizeof(int64_t), "struct dataset holds ids of HDF5");

void hdf5_silence(void) { H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }

static int open_file(const struct report *report, const struct input *input, const char *file,
                     int64_t *file_id) {
  hdf5_silence();
  *file_id = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (*file_id >= 0) return CODE_OK;
  struct hdf5_sentence const reason = hdf5_last_failure();
  *file_id = 0;
  return report_failure(report, CODE_IO, input->name,
                        "cannot be read (HDF5 says: %s); check %s with h5ls -r", reason.text, file);
}

/* Checks each link on the way, because for HDF5 a missing one before the last is an error. */
static bool has_link(hid_t file, const char *path) {
  char *const part = strdup(path);
  bool is_there = part != NULL;
  for (char *at = part; is_there && *at;) {
    at += strspn(at, "/");
    at += strcspn(at, "/");
    char const after = *at;
    *at = '\0';
    is_there = strspn(part, "/") == strlen(part) || H5Lexists(file, part, H5P_DEFAULT) > 0;
    *at = after;
  }
  free(part);
  return is_there;
}

static int refuse_missing(const struct report *report, const struct input *input, hid_t file) {
  struct dataset_names const names = hdf5_names(file, input->file, "");
  if (names.count == 0)
    return report_failure(report, CODE_USAGE, input->name,
                          "is not in the file, which has no dataset of values that szgpu "
                          "compresses; name another file");
  return report_failure(report, CODE_USAGE, input->name, "is not in the file; choose from %s",
                        names.text);
}

static int refuse_group(const struct report *report, const struct input *input, hid_t group) {
  struct dataset_names const names = hdf5_names(group, input->file, input->dataset);
  if (names.count == 0)
    return report_failure(report, CODE_USAGE, input->name,
                          "is a group without datasets of values that szgpu compresses; "
                          "name another");
  return report_failure(report, CODE_USAGE, input->name, "is a group; choose from %s", names.text);
}

static int open_dataset(const struct report *report, const struct input *input,
                        struct dataset *dataset) {
  hid_t const file = dataset->file_id;
  const char *path = input->dataset[0] ? input->dataset : "/";
  hid_t const object = H5Oopen(file, path, H5P_DEFAULT);
  if (object < 0) {
    struct hdf5_sentence const reason = hdf5_last_failure();
    if (!has_link(file, path)) return refuse_missing(report, input, file);
    return report_failure(report, CODE_IO, input->name,
                          "cannot be opened (HDF5 says: %s); check %s with h5ls -r", reason.text,
                          input->file);
  }
  H5I_type_t const kind = H5Iget_type(object);
  if (kind == H5I_DATASET) {
    dataset->id = object;
    return CODE_OK;
  }
  int const code = kind == H5I_GROUP ? refuse_group(report, input, object)
                                     : report_failure(report, CODE_USAGE, input->name,
                                                      "is a type, not a dataset; name a dataset");
  H5Oclose(object);
  return code;
}

static const char *words_for_class(H5T_class_t class) {
  switch (class) {
    case H5T_INTEGER:
      return "other integers";
    case H5T_FLOAT:
      return "other floats";
    case H5T_COMPOUND:
      return "records or complex numbers";
    case H5T_STRING:
      return "text";
    case H5T_ENUM:
      return "an enumeration";
    case H5T_ARRAY:
    case H5T_VLEN:
      return "arrays";
    default:
      return "values that are not numbers";
  }
}

static int read_type(const struct report *report, const struct input *input,
                     struct dataset *dataset) {
  if (hdf5_dtype(dataset->id, &dataset->shape.dtype)) return CODE_OK;
  hid_t const type = H5Dget_type(dataset->id);
  H5T_class_t const class = H5Tget_class(type);
  H5Tclose(type);
  return report_failure(
      report, CODE_USAGE, input->name,
      "holds %s, not floats of 2, 4 or 8 bytes or integers of 1, 2 or, signed, 4; "
      "convert them with numpy's astype",
      words_for_class(class));
}

/* If there are more than four dims, drops those that are 1, slowest first, until four are left. */
static const char *take_dims(const hsize_t *dims, int rank, szgpu_shape *shape) {
  int surplus = rank > MAX_DIMS ? rank - MAX_DIMS : 0;
  shape->ndim = 0;
  for (int axis = 0; axis < rank; axis++) {
    if (dims[axis] == 0) return "has no values; there is nothing to compress";
    if (dims[axis] == 1 && surplus > 0) {
      surplus--;
      continue;
    }
    if (shape->ndim == MAX_DIMS)
      return "has more than 4 dims other than 1; join some with numpy's reshape";
    shape->dims[shape->ndim++] = dims[axis];
  }
  if (shape->ndim == 0) shape->dims[shape->ndim++] = 1; /* a single value */
  uint64_t byte_count;
  return shape_bytes(shape, &byte_count) ? NULL
                                         : "has dims that do not fit in 64 bits; write it again";
}

static int read_shape(const struct report *report, const struct input *input,
                      struct dataset *dataset) {
  hsize_t dims[H5S_MAX_RANK];
  hid_t const space = H5Dget_space(dataset->id);
  bool const is_null = H5Sget_simple_extent_type(space) == H5S_NULL;
  int const rank = is_null ? 0 : H5Sget_simple_extent_dims(space, dims, NULL);
  H5Sclose(space);
  const char *fault = is_null    ? "has no values; there is nothing to compress"
                      : rank < 0 ? "has no shape; check the file with h5ls -r"
                                 : take_dims(dims, rank, &dataset->shape);
  return fault ? report_failure(report, CODE_USAGE, input->name, "%s", fault) : CODE_OK;
}

int hdf5_open(const struct report *report, const struct input *input, struct dataset *dataset) {
  *dataset = (struct dataset)DATASET_NONE;
  int code = open_file(report, input, input->file, &dataset->file_id);
  if (code == CODE_OK) code = open_dataset(report, input, dataset);
  if (code == CODE_OK) code = read_type(report, input, dataset);
  if (code == CODE_OK) code = read_shape(report, input, dataset);
  if (code == CODE_OK) hdf5_read_attributes(dataset);
  if (code != CODE_OK) hdf5_close(dataset);
  return code;
}

int hdf5_check_chunks(const struct report *report, const struct input *input, hid_t dataset) {
  struct hdf5_sentence why;
  if (hdf5_chunks_are_sound(dataset, &why)) return CODE_OK;
  return report_failure(report, CODE_IO, input->name, "%s", why.text);
}

int hdf5_refuse_values(const struct report *report, const struct input *input, hid_t dataset,
                       const struct hdf5_sentence *reason) {
  struct filter_words filter;
  if (hdf5_find_missing_filter(dataset, &filter))
    return report_failure(report, CODE_IO, input->name,
                          "needs the filter %s (HDF5 says: %s); add its plugin's folder to "
                          "HDF5_PLUGIN_PATH",
                          filter.text, reason->text);
  return report_failure(report, CODE_IO, input->name,
                        "cannot be read (HDF5 says: %s); check the file with h5dump", reason->text);
}

static int read_itself(const struct report *report, const struct input *input, hid_t dataset,
                       hid_t type, void *values) {
  int const code = hdf5_check_chunks(report, input, dataset);
  if (code != CODE_OK) return code;
  if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0) return CODE_OK;
  struct hdf5_sentence const reason = hdf5_last_failure();
  return hdf5_refuse_values(report, input, dataset, &reason);
}

int hdf5_read(const struct report *report, const struct input *input, const struct dataset *dataset,
              void *values) {
  size_t const value_bytes = dtype_bytes(dataset->shape.dtype);
  uint64_t byte_count;
  if (!shape_bytes(&dataset->shape, &byte_count)) return CODE_USAGE; /* hdf5_open refused it */
  hid_t const type = hdf5_type_of_dtype(dataset->stored_dtype); /* also the host's: little-endian */
  int const code = hdf5_is_virtual(dataset->id)
                       ? hdf5_read_virtual(report, input, dataset->id, type, value_bytes,
                                           byte_count / value_bytes, values)
                       : read_itself(report, input, dataset->id, type, values);
  H5Tclose(type);
  return code;
}

void hdf5_close(struct dataset *dataset) {
  if (dataset->id > 0) H5Dclose(dataset->id);
  if (dataset->file_id > 0) H5Fclose(dataset->file_id);
  dataset->id = dataset->file_id = 0;
}

int hdf5_refuse_file(const struct report *report, const struct input *input) {
  int64_t file_id;
  if (strcmp(input->name, "-") == 0)
    return report_failure(report, CODE_USAGE, input->name,
                          "is HDF5, which cannot be read from standard input; name the file");
  int const code = open_file(report, input, input->name, &file_id);
  if (code != CODE_OK) return code;
  struct dataset_names const names = hdf5_names(file_id, input->name, "");
  H5Fclose(file_id);
  if (names.count == 0)
    return report_failure(
        report, CODE_USAGE, input->name,
        "has no dataset of values that szgpu compresses; there is nothing to compress");
  return report_failure(report, CODE_USAGE, input->name, "is an HDF5 file; name %s: %s",
                        names.count == 1 ? "its dataset" : "one of its datasets", names.text);
}
