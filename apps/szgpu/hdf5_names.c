/* hdf5_names.c - lists the datasets of an HDF5 file that can be compressed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_names.h"

#include "hdf5_api.h"

#include <stdio.h>
#include <string.h>

enum {
  SHOWN_NAMES = 5,
  MOST_LINKS = 10000, /* that it follows: a longer list helps nobody */
  ROOM_FOR_REST = 40  /* characters of " and 10000 more (h5ls -r)" */
};

struct candidate {
  char name[512]; /* below the group; a longer one is only counted */
  bool is_coordinate;
  uint64_t value_count;
  int ndim;
};

struct visit {
  struct candidate best[SHOWN_NAMES]; /* best first */
  unsigned best_count;
  unsigned count, link_count;
};

/* As h5py makes them; only HDF5 2.0 has names for them. */
static hid_t make_half(size_t mantissa_bits, size_t bias) {
  hid_t const type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, mantissa_bits, 15 - mantissa_bits, 0, mantissa_bits);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, bias);
  return type;
}

hid_t hdf5_type_of_dtype(szgpu_dtype dtype) {
  switch (dtype) {
    case SZGPU_F32:
      return H5Tcopy(H5T_IEEE_F32LE);
    case SZGPU_F64:
      return H5Tcopy(H5T_IEEE_F64LE);
    case SZGPU_F16:
      return make_half(10, 15);
    case SZGPU_BF16:
      return make_half(7, 127);
    case SZGPU_U8:
      return H5Tcopy(H5T_STD_U8LE);
    case SZGPU_I8:
      return H5Tcopy(H5T_STD_I8LE);
    case SZGPU_U16:
      return H5Tcopy(H5T_STD_U16LE);
    case SZGPU_I16:
      return H5Tcopy(H5T_STD_I16LE);
    case SZGPU_I32:
      return H5Tcopy(H5T_STD_I32LE);
    case SZGPU_FP8:
      break;
  }
  return H5I_INVALID_HID;
}

static bool is_type(hid_t type, szgpu_dtype dtype) {
  hid_t const same = hdf5_type_of_dtype(dtype);
  bool is_equal = H5Tequal(type, same) > 0;
  if (!is_equal && H5Tset_order(same, H5T_ORDER_BE) >= 0) is_equal = H5Tequal(type, same) > 0;
  H5Tclose(same);
  return is_equal;
}

bool hdf5_dtype_of_type(hid_t type, szgpu_dtype *dtype) {
  static const szgpu_dtype known[] = {SZGPU_F32, SZGPU_F64, SZGPU_F16, SZGPU_BF16, SZGPU_U8,
                                      SZGPU_I8,  SZGPU_U16, SZGPU_I16, SZGPU_I32};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!is_type(type, known[i])) continue;
    *dtype = known[i];
    return true;
  }
  return false;
}

bool hdf5_dtype(hid_t dataset, szgpu_dtype *dtype) {
  hid_t const type = H5Dget_type(dataset);
  bool const is_known = hdf5_dtype_of_type(type, dtype);
  H5Tclose(type);
  return is_known;
}

/* Whether the dataset has a text attribute of fixed length, as netCDF writes, that begins so. */
static bool has_text(hid_t dataset, const char *attribute_name, const char *beginning) {
  char text[128] = "";
  if (H5Aexists(dataset, attribute_name) <= 0) return false;
  hid_t const attribute = H5Aopen(dataset, attribute_name, H5P_DEFAULT);
  hid_t const type = H5Aget_type(attribute);
  if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
      H5Tget_size(type) < sizeof text && H5Aget_storage_size(attribute) < sizeof text)
    H5Aread(attribute, type, text);
  H5Tclose(type);
  H5Aclose(attribute);
  return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* netCDF stores a dimension without values as a dataset, and says so in its attribute NAME. */
static bool is_bare_dimension(hid_t dataset) {
  return has_text(dataset, "NAME", "This is a netCDF dimension but not a netCDF variable");
}

static bool can_be_compressed(hid_t object, struct candidate *candidate) {
  szgpu_dtype dtype;
  if (H5Iget_type(object) != H5I_DATASET || !hdf5_dtype(object, &dtype)) return false;
  hid_t const space = H5Dget_space(object);
  hssize_t const value_count = H5Sget_simple_extent_npoints(space);
  candidate->value_count = value_count > 0 ? (uint64_t)value_count : 0;
  candidate->ndim = H5Sget_simple_extent_ndims(space);
  H5Sclose(space);
  candidate->is_coordinate = has_text(object, "CLASS", "DIMENSION_SCALE");
  return candidate->value_count > 0 && !is_bare_dimension(object);
}

/* Fields come before coordinates, and large fields before small ones. Other candidates stay in the
 * order of their names. */
static bool comes_before(const struct candidate *a, const struct candidate *b) {
  if (a->is_coordinate != b->is_coordinate) return b->is_coordinate;
  if (a->value_count != b->value_count) return a->value_count > b->value_count;
  return a->ndim > b->ndim;
}

static void add(struct visit *visit, const struct candidate *candidate) {
  visit->count++;
  unsigned place = visit->best_count;
  while (place > 0 && comes_before(candidate, &visit->best[place - 1])) place--;
  if (place == SHOWN_NAMES) return;
  if (visit->best_count < SHOWN_NAMES) visit->best_count++;
  for (unsigned i = visit->best_count - 1; i > place; i--) visit->best[i] = visit->best[i - 1];
  visit->best[place] = *candidate;
}

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *link, void *user) {
  struct visit *const visit = user;
  if (visit->link_count++ == MOST_LINKS) return 1;
  if (link->type != H5L_TYPE_HARD) return 0;
  hid_t const object = H5Oopen(group, name, H5P_DEFAULT);
  if (object < 0) return 0; /* damaged, but the others may help */
  struct candidate candidate;
  if (can_be_compressed(object, &candidate)) {
    int const chars = snprintf(candidate.name, sizeof candidate.name, "%s", name);
    if (chars >= 0 && (size_t)chars < sizeof candidate.name)
      add(visit, &candidate);
    else
      visit->count++;
  }
  H5Oclose(object);
  return 0;
}

struct dataset_names hdf5_names(hid_t group, const char *file, const char *path) {
  struct visit visit = {.count = 0};
  hdf5_visit_links(group, visit_link, &visit);
  struct dataset_names names = {.count = visit.count};
  int path_chars = (int)strlen(path);
  while (path_chars > 0 && path[path_chars - 1] == '/') path_chars--;
  unsigned rest = visit.count;
  size_t used = 0;
  for (unsigned i = 0; i < visit.best_count; i++) {
    size_t const room = sizeof names.text - ROOM_FOR_REST - used;
    int const wanted = snprintf(names.text + used, room, "%s%s:%.*s/%s", used ? ", " : "", file,
                                path_chars, path, visit.best[i].name);
    if (wanted >= 0 && (size_t)wanted < room) {
      used += (size_t)wanted;
      rest--;
    }
    names.text[used] = '\0'; /* counts a name that does not fit, rather than cutting it short */
  }
  if (rest > 0)
    snprintf(names.text + used, sizeof names.text - used,
             used ? " and %u more (h5ls -r)" : "the %u that h5ls -r lists", rest);
  return names;
}
