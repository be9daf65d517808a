/* hdf5_names.c - lists the datasets of an HDF5 file that can be compressed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_names.h"

#include <stdio.h>
#include <string.h>

enum {
  SHOWN_NAMES = 5,
  MOST_LINKS = 10000, /* that it follows: a longer list helps nobody */
  ROOM_FOR_REST = 40  /* characters of " and 10000 more (h5ls -r)" */
};

struct visit {
  struct dataset_names names;
  const char *file, *path;
  int path_chars;
  unsigned shown_count, link_count;
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

/* netCDF stores a dimension without values as a dataset, and says so in its attribute NAME. */
static bool is_bare_dimension(hid_t dataset) {
  static const char beginning[] = "This is a netCDF dimension but not a netCDF variable";
  char name[128] = "";
  if (H5Aexists(dataset, "NAME") <= 0) return false;
  hid_t const attribute = H5Aopen(dataset, "NAME", H5P_DEFAULT);
  hid_t const type = H5Aget_type(attribute);
  if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
      H5Tget_size(type) < sizeof name && H5Aget_storage_size(attribute) < sizeof name)
    H5Aread(attribute, type, name);
  H5Tclose(type);
  H5Aclose(attribute);
  return strncmp(name, beginning, sizeof beginning - 1) == 0;
}

static bool can_be_compressed(hid_t object) {
  szgpu_dtype dtype;
  if (H5Iget_type(object) != H5I_DATASET || !hdf5_dtype(object, &dtype)) return false;
  hid_t const space = H5Dget_space(object);
  bool const has_values = H5Sget_simple_extent_npoints(space) > 0;
  H5Sclose(space);
  return has_values && !is_bare_dimension(object);
}

/* Counts a name that does not fit, rather than cutting it short. */
static void append(struct visit *visit, const char *name) {
  size_t const used = strlen(visit->names.text);
  size_t const room = sizeof visit->names.text - ROOM_FOR_REST - used;
  visit->names.count++;
  if (visit->shown_count == SHOWN_NAMES) return;
  int const wanted =
      snprintf(visit->names.text + used, room, "%s%s:%.*s/%s", visit->shown_count ? ", " : "",
               visit->file, visit->path_chars, visit->path, name);
  if (wanted >= 0 && (size_t)wanted < room)
    visit->shown_count++;
  else
    visit->names.text[used] = '\0';
}

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *link, void *user) {
  struct visit *const visit = user;
  if (visit->link_count++ == MOST_LINKS) return 1;
  if (link->type != H5L_TYPE_HARD) return 0;
  hid_t const object = H5Oopen(group, name, H5P_DEFAULT);
  if (object < 0) return 0; /* damaged, but the others may help */
  if (can_be_compressed(object)) append(visit, name);
  H5Oclose(object);
  return 0;
}

struct dataset_names hdf5_names(hid_t group, const char *file, const char *path) {
  struct visit visit = {.file = file, .path = path, .path_chars = (int)strlen(path)};
  while (visit.path_chars > 0 && path[visit.path_chars - 1] == '/') visit.path_chars--;
  H5Lvisit(group, H5_INDEX_NAME, H5_ITER_INC, visit_link, &visit);
  struct dataset_names *const names = &visit.names;
  unsigned const rest = names->count - visit.shown_count;
  size_t const used = strlen(names->text);
  if (rest > 0)
    snprintf(names->text + used, sizeof names->text - used,
             used ? " and %u more (h5ls -r)" : "the %u that h5ls -r lists", rest);
  return visit.names;
}
