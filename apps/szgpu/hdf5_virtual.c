/* hdf5_virtual.c - reads a virtual dataset source by source, each of them checked first.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * HDF5 would open the sources by itself, after any check of ours, and by rules that differ between
 * its versions. Here each source is opened once, checked as any other dataset, and read to where
 * it belongs. Names are relative to the folder of the file that has the virtual dataset. A source
 * that is missing is an error: HDF5 would put fill values in its place and say nothing.
 */
#define _DEFAULT_SOURCE
#include "hdf5_virtual.h"

#include "hdf5_api.h"
#include "hdf5_chunks.h"
#include "hdf5_failure.h"
#include "hdf5_filters.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COPY_IT "copy it to a dataset with values of its own, and name that"

/* One mapping of a virtual dataset: which of its values come from where. */
struct mapping {
  const struct report *report;
  const struct input *input;
  hid_t dataset;   /* the virtual one */
  char *file_name; /* of the source */
  char *dataset_name;
  char *path; /* of the file, or NULL: the file that has the virtual dataset */
  hid_t to, from;
  hid_t file, source;
};

bool hdf5_is_virtual(hid_t dataset) {
  hid_t const properties = H5Dget_create_plist(dataset);
  bool const is_virtual = H5Pget_layout(properties) == H5D_VIRTUAL;
  H5Pclose(properties);
  return is_virtual;
}

static int fail(const struct mapping *mapping, const char *problem) {
  return report_failure(mapping->report, CODE_IO, mapping->input->name,
                        "is a virtual dataset whose source %s:%s %s", mapping->file_name,
                        mapping->dataset_name, problem);
}

/* NULL: out of memory, or HDF5 does not give the name. */
static char *text_of(ssize_t (*get)(hid_t, size_t, char *, size_t), hid_t properties, size_t i) {
  ssize_t const chars = get(properties, i, NULL, 0);
  char *const text = chars >= 0 ? malloc((size_t)chars + 1) : NULL;
  if (text) get(properties, i, text, (size_t)chars + 1);
  return text;
}

/* "." stands for the file itself. Sets mapping->path, which is NULL then. */
static int find_file(struct mapping *mapping) {
  const char *const name = mapping->file_name;
  if (strcmp(name, ".") == 0) return CODE_OK;
  ssize_t const chars = H5Fget_name(mapping->dataset, NULL, 0);
  size_t const room = (chars > 0 ? (size_t)chars : 0) + 1;
  char *const path = malloc(room + strlen(name) + 1);
  if (!path) return report_out_of_memory(mapping->report, mapping->input->name, "a name", room);
  path[0] = '\0';
  if (name[0] != '/' && chars > 0) H5Fget_name(mapping->dataset, path, room);
  char *const slash = strrchr(path, '/');
  strcpy(slash ? slash + 1 : path, name);
  mapping->path = path;
  struct stat status;
  if (stat(path, &status) != 0) return fail(mapping, "does not exist; restore the file");
  return S_ISREG(status.st_mode) ? CODE_OK : fail(mapping, "is not in a file; " COPY_IT);
}

static int open_source(struct mapping *mapping) {
  int const code = find_file(mapping);
  if (code != CODE_OK) return code;
  mapping->file = mapping->path ? H5Fopen(mapping->path, H5F_ACC_RDONLY, H5P_DEFAULT)
                                : H5Iget_file_id(mapping->dataset);
  if (mapping->file >= 0)
    mapping->source = H5Dopen2(mapping->file, mapping->dataset_name, H5P_DEFAULT);
  if (mapping->source < 0) return fail(mapping, "cannot be opened; check it with h5ls -r");
  if (hdf5_is_virtual(mapping->source)) return fail(mapping, "is virtual, too; " COPY_IT);
  struct hdf5_sentence why;
  return hdf5_chunks_are_sound(mapping->source, &why) ? CODE_OK : fail(mapping, why.text);
}

/* Gives the selection the extent of the dataset that it is to be made in. Then HDF5 says whether it
 * lies in there. */
static bool place(hid_t selection, hid_t dataset) {
  hid_t const space = H5Dget_space(dataset);
  bool const is_in = H5Sextent_copy(selection, space) >= 0 && H5Sselect_valid(selection) > 0;
  H5Sclose(space);
  return is_in;
}

/* Such a selection grows with its sources, which may be any number of files. */
static bool is_unlimited(hid_t selection) {
  hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
  int const rank = H5Sget_simple_extent_ndims(selection);
  if (H5Sget_select_type(selection) != H5S_SEL_HYPERSLABS) return false;
  if (H5Sis_regular_hyperslab(selection) <= 0) return false;
  if (H5Sget_regular_hyperslab(selection, start, stride, count, block) < 0) return true;
  for (int axis = 0; axis < rank; axis++)
    if (count[axis] == H5S_UNLIMITED || block[axis] == H5S_UNLIMITED) return true;
  return false;
}

static int read_source(struct mapping *mapping, hid_t type, void *values) {
  if (is_unlimited(mapping->to) || is_unlimited(mapping->from))
    return fail(mapping, "has an unlimited mapping to it; " COPY_IT);
  int const code = open_source(mapping);
  if (code != CODE_OK) return code;
  if (!place(mapping->to, mapping->dataset) || !place(mapping->from, mapping->source))
    return fail(mapping, "is smaller than it says; check both with h5ls -rv");
  if (H5Dread(mapping->source, type, mapping->to, mapping->from, H5P_DEFAULT, values) >= 0)
    return CODE_OK;
  struct hdf5_sentence const reason = hdf5_last_failure();
  struct filter_words filter;
  if (hdf5_find_missing_filter(mapping->source, &filter))
    return report_failure(mapping->report, CODE_IO, mapping->input->name,
                          "needs the filter %s (HDF5 says: %s); add its plugin's folder to "
                          "HDF5_PLUGIN_PATH",
                          filter.text, reason.text);
  return report_failure(mapping->report, CODE_IO, mapping->input->name,
                        "is a virtual dataset whose source %s:%s cannot be read (HDF5 says: %s); "
                        "check the file with h5dump",
                        mapping->file_name, mapping->dataset_name, reason.text);
}

static void close_mapping(struct mapping *mapping) {
  if (mapping->source >= 0) H5Dclose(mapping->source);
  if (mapping->file >= 0) H5Fclose(mapping->file);
  if (mapping->from >= 0) H5Sclose(mapping->from);
  if (mapping->to >= 0) H5Sclose(mapping->to);
  free(mapping->path);
  free(mapping->dataset_name);
  free(mapping->file_name);
}

static int read_mapping(const struct report *report, const struct input *input, hid_t dataset,
                        hid_t properties, size_t i, hid_t type, void *values) {
  struct mapping mapping = {
      .report = report,
      .input = input,
      .dataset = dataset,
      .file_name = text_of(H5Pget_virtual_filename, properties, i),
      .dataset_name = text_of(H5Pget_virtual_dsetname, properties, i),
      .to = H5Pget_virtual_vspace(properties, i),
      .from = H5Pget_virtual_srcspace(properties, i),
      .file = -1,
      .source = -1,
  };
  bool const is_known =
      mapping.file_name && mapping.dataset_name && mapping.to >= 0 && mapping.from >= 0;
  int const code = is_known ? read_source(&mapping, type, values)
                            : report_failure(report, CODE_IO, input->name,
                                             "is a virtual dataset that HDF5 cannot describe; "
                                             "check the file with h5dump -pH");
  close_mapping(&mapping);
  return code;
}

int hdf5_read_virtual(const struct report *report, const struct input *input, hid_t dataset,
                      hid_t type, size_t value_bytes, uint64_t value_count, void *values) {
  size_t mapping_count = 0;
  int code = CODE_OK;
  unsigned char fill[8] = {0};
  hid_t const properties = H5Dget_create_plist(dataset);
  H5Pget_fill_value(properties, type, fill);
  for (uint64_t i = 0; i < value_count; i++)
    memcpy((unsigned char *)values + i * value_bytes, fill, value_bytes);
  H5Pget_virtual_count(properties, &mapping_count);
  for (size_t i = 0; i < mapping_count && code == CODE_OK; i++)
    code = read_mapping(report, input, dataset, properties, i, type, values);
  H5Pclose(properties);
  return code;
}
