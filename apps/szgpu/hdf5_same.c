/* hdf5_same.c - whether values of the new file are those of the old one, references included.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "hdf5_same.h"

#include <string.h>

int copy_fail_as_other(const struct copy *copy, const char *path) {
  return report_failure(copy->report, CODE_IO, copy->name,
                        "has %s, which is not the same in the new file, so that was not written; "
                        "check the disk and the memory of this machine, and that nothing writes to "
                        "the file",
                        path);
}

bool copy_type_has_places(hid_t type) {
  H5T_class_t const class = H5Tget_class(type);
  bool has_places = class == H5T_REFERENCE || class == H5T_VLEN ||
                    (class == H5T_STRING && H5Tis_variable_str(type) > 0);
  int const member_count = class == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
  for (int i = 0; i < member_count && !has_places; i++) {
    hid_t const member = H5Tget_member_type(type, (unsigned)i);
    has_places = copy_type_has_places(member);
    H5Tclose(member);
  }
  if (class != H5T_ARRAY) return has_places;
  hid_t const element = H5Tget_super(type);
  has_places = copy_type_has_places(element);
  H5Tclose(element);
  return has_places;
}

/* Whether objects of the two files, each known by its address, are of the same path. */
static bool are_same_object(const struct copy *copy, haddr_t before, haddr_t after) {
  hdf5_object_info info;
  size_t const index = tree_find(copy->tree, before);
  if (index == TREE_NONE) return after == 0; /* it leads to nothing, as the copy does */
  hid_t const object = H5Oopen(copy->out, copy->tree->objects[index].path, H5P_DEFAULT);
  bool const is_same =
      object >= 0 && H5Oget_info2(object, &info, H5O_INFO_BASIC) >= 0 && info.addr == after;
  if (object >= 0) H5Oclose(object);
  return is_same;
}

static bool is_same_object(const struct copy *copy, const void *before, const void *after) {
  hobj_ref_t one, other;
  memcpy(&one, before, sizeof one);
  memcpy(&other, after, sizeof other);
  return one == 0 ? other == 0 : are_same_object(copy, (haddr_t)one, (haddr_t)other);
}

/* Where a reference to a region leads. */
struct region {
  hid_t dataset, space; /* < 0: nowhere */
};

static struct region open_region(hid_t file, const void *value) {
  static hdset_reg_ref_t const none;
  hdset_reg_ref_t reference;
  memcpy(&reference, value, sizeof reference);
  bool const is_set = memcmp(&reference, &none, sizeof none) != 0;
  struct region region = {H5I_INVALID_HID, H5I_INVALID_HID};
  if (is_set) region.dataset = H5Rdereference2(file, H5P_DEFAULT, H5R_DATASET_REGION, &reference);
  if (is_set) region.space = H5Rget_region(file, H5R_DATASET_REGION, &reference);
  return region;
}

static bool have_same_selection(hid_t one, hid_t other) {
  hsize_t start[2][H5S_MAX_RANK], end[2][H5S_MAX_RANK];
  int const rank = H5Sget_simple_extent_ndims(one);
  size_t const bytes = (size_t)rank * sizeof **start;
  return rank == H5Sget_simple_extent_ndims(other) &&
         H5Sget_select_npoints(one) == H5Sget_select_npoints(other) &&
         H5Sget_select_type(one) == H5Sget_select_type(other) &&
         (H5Sget_select_npoints(one) == 0 ||
          (H5Sget_select_bounds(one, start[0], end[0]) >= 0 &&
           H5Sget_select_bounds(other, start[1], end[1]) >= 0 &&
           memcmp(start[0], start[1], bytes) == 0 && memcmp(end[0], end[1], bytes) == 0));
}

static bool is_same_region(const struct copy *copy, const void *before, const void *after) {
  struct region const one = open_region(copy->in, before), other = open_region(copy->out, after);
  hdf5_object_info from = {.addr = HADDR_UNDEF}, to = {.addr = 0};
  bool const is_there = one.space >= 0 && tree_find_id(copy->tree, one.dataset) != TREE_NONE;
  bool is_same = is_there == (other.space >= 0);
  if (is_same && is_there)
    is_same = H5Oget_info2(one.dataset, &from, H5O_INFO_BASIC) >= 0 &&
              H5Oget_info2(other.dataset, &to, H5O_INFO_BASIC) >= 0 &&
              are_same_object(copy, from.addr, to.addr) &&
              have_same_selection(one.space, other.space);
  hid_t const spaces[] = {one.space, other.space}, datasets[] = {one.dataset, other.dataset};
  for (int i = 0; i < 2; i++) {
    if (spaces[i] >= 0) H5Sclose(spaces[i]);
    if (datasets[i] >= 0) H5Dclose(datasets[i]);
  }
  return is_same;
}

static bool is_same(const struct copy *copy, hid_t type, const unsigned char *before,
                    const unsigned char *after);

static bool are_same_members(const struct copy *copy, hid_t type, const unsigned char *before,
                             const unsigned char *after) {
  int const member_count = H5Tget_nmembers(type);
  bool same = true;
  for (int i = 0; i < member_count && same; i++) {
    hid_t const member = H5Tget_member_type(type, (unsigned)i);
    size_t const offset = H5Tget_member_offset(type, (unsigned)i);
    same = is_same(copy, member, before + offset, after + offset);
    H5Tclose(member);
  }
  return same;
}

static bool is_same_list(const struct copy *copy, hid_t type, const void *before,
                         const void *after) {
  hvl_t one, other;
  memcpy(&one, before, sizeof one);
  memcpy(&other, after, sizeof other);
  hid_t const element = H5Tget_super(type);
  bool const same = one.len == other.len && values_are_same(copy, element, one.len, one.p, other.p);
  H5Tclose(element);
  return same;
}

static bool is_same_text(const void *before, const void *after) {
  const char *one, *other;
  memcpy(&one, before, sizeof one);
  memcpy(&other, after, sizeof other);
  return one && other ? strcmp(one, other) == 0 : one == other;
}

/* Of a type that has places. */
static bool is_same(const struct copy *copy, hid_t type, const unsigned char *before,
                    const unsigned char *after) {
  H5T_class_t const class = H5Tget_class(type);
  if (!copy_type_has_places(type)) return memcmp(before, after, H5Tget_size(type)) == 0;
  if (class == H5T_COMPOUND) return are_same_members(copy, type, before, after);
  if (class == H5T_VLEN) return is_same_list(copy, type, before, after);
  if (class == H5T_STRING) return is_same_text(before, after);
  if (class == H5T_REFERENCE)
    return H5Tequal(type, H5T_STD_REF_OBJ) > 0 ? is_same_object(copy, before, after)
                                               : is_same_region(copy, before, after);
  hid_t const element = H5Tget_super(type); /* of an array */
  bool const same =
      values_are_same(copy, element, H5Tget_size(type) / H5Tget_size(element), before, after);
  H5Tclose(element);
  return same;
}

bool values_are_same(const struct copy *copy, hid_t type, size_t count, const unsigned char *before,
                     const unsigned char *after) {
  size_t const bytes = H5Tget_size(type);
  if (count == 0) return true;
  if (!copy_type_has_places(type)) return memcmp(before, after, count * bytes) == 0;
  bool same = true;
  for (size_t i = 0; i < count && same; i++)
    same = is_same(copy, type, before + i * bytes, after + i * bytes);
  return same;
}
