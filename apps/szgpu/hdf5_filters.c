/* hdf5_filters.c - a dataset's filters: those that are missing, and what szgpu's own one states.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_filters.h"

#include <stdio.h>
#include <string.h>

#include "hdf5_names.h"
#include "szgpu_hdf5.h"

bool hdf5_find_missing_filter(hid_t dataset, struct filter_words *filter) {
  bool is_missing = false;
  hid_t const properties = H5Dget_create_plist(dataset);
  int const filter_count = H5Pget_nfilters(properties);
  for (int i = 0; i < filter_count && !is_missing; i++) {
    char name[128] = "";
    unsigned flags, settings;
    size_t value_count = 0;
    H5Z_filter_t const id = H5Pget_filter2(properties, (unsigned)i, &flags, &value_count, NULL,
                                           sizeof name, name, &settings);
    is_missing = id >= 0 && H5Zfilter_avail(id) <= 0;
    if (is_missing)
      snprintf(filter->text, sizeof filter->text, "%d%s%.128s%s", (int)id, name[0] ? " (" : "",
               name, name[0] ? ")" : "");
  }
  H5Pclose(properties);
  return is_missing;
}

/* Whether cd_values state the chunk's own type and dims. Those that it refuses do no harm. */
static bool is_same_chunk(const unsigned *stated, size_t stated_count, const unsigned *own,
                          size_t own_count) {
  enum { SHAPE_BITS = 0xFFFF }; /* of the word for the type; a bit above them is for a fill value */
  szgpu_params params;
  szgpu_shape shape;
  if (szgpu_h5_chunk(stated, stated_count, &params, &shape)) return true;
  return stated_count == own_count &&
         (stated[SZGPU_H5_WORD_TYPE] & SHAPE_BITS) == own[SZGPU_H5_WORD_TYPE] &&
         memcmp(stated + SZGPU_H5_WORD_DIMS, own + SZGPU_H5_WORD_DIMS,
                (own_count - SZGPU_H5_WORD_DIMS) * sizeof *own) == 0;
}

bool hdf5_chunks_are_as_stated(hid_t dataset) {
  hsize_t sizes[H5S_MAX_RANK];
  uint64_t dims[H5S_MAX_RANK];
  unsigned own[SZGPU_H5_MOST_WORDS];
  bool are_same = true;
  hid_t const properties = H5Dget_create_plist(dataset);
  int const rank = H5Pget_chunk(properties, H5S_MAX_RANK, sizes);
  for (int axis = 0; axis < rank; axis++) dims[axis] = sizes[axis];
  szgpu_dtype dtype;
  bool const is_known = hdf5_dtype(dataset, &dtype);
  size_t const own_count = is_known ? szgpu_h5_set_chunk(dtype, rank, dims, NULL, own) : 0;
  int const filter_count = H5Pget_nfilters(properties);
  for (int i = 0; i < filter_count && are_same; i++) {
    unsigned flags, stated[SZGPU_H5_MOST_WORDS];
    size_t stated_count = SZGPU_H5_MOST_WORDS;
    if (H5Pget_filter2(properties, (unsigned)i, &flags, &stated_count, stated, 0, NULL, NULL) ==
        SZGPU_H5_FILTER_ID)
      are_same = is_same_chunk(stated, stated_count, own, own_count);
  }
  H5Pclose(properties);
  return are_same;
}
