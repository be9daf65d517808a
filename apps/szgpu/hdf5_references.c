/* hdf5_references.c - references to objects and regions, which a copy must lead to its own.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A reference is an address in its file. Whoever copies values must write the address that the same
 * object has in the new file, wherever a reference is: in records, arrays and lists, too. One that
 * leads to nothing in the file that is read leads to nothing in the new one.
 */
#include "hdf5_references.h"

#include "hdf5_same.h"

#include <stdlib.h>
#include <string.h>

enum { PART_BYTES = 1 << 24 }; /* of a dataset's values, read at once */

/* Null if the object is not in the tree. */
static const char *path_of(const struct copy *copy, hid_t object) {
  size_t const index = tree_find_id(copy->tree, object);
  return index == TREE_NONE ? NULL : copy->tree->objects[index].path;
}

static bool lead_to_object(const struct copy *copy, void *value) {
  hobj_ref_t reference;
  memcpy(&reference, value, sizeof reference);
  size_t const index = tree_find(copy->tree, (haddr_t)reference);
  memset(&reference, 0, sizeof reference);
  bool const is_made =
      index == TREE_NONE ||
      H5Rcreate(&reference, copy->out, copy->tree->objects[index].path, H5R_OBJECT, -1) >= 0;
  memcpy(value, &reference, sizeof reference);
  return is_made;
}

static bool lead_to_region(const struct copy *copy, void *value) {
  static hdset_reg_ref_t const none;
  hdset_reg_ref_t reference;
  memcpy(&reference, value, sizeof reference);
  bool is_made = true;
  bool const is_set = memcmp(&reference, &none, sizeof none) != 0;
  hid_t const dataset =
      is_set ? H5Rdereference2(copy->in, H5P_DEFAULT, H5R_DATASET_REGION, &reference) : -1;
  hid_t const region = is_set ? H5Rget_region(copy->in, H5R_DATASET_REGION, &reference) : -1;
  const char *const path = path_of(copy, dataset);
  memset(&reference, 0, sizeof reference);
  if (path && region >= 0)
    is_made = H5Rcreate(&reference, copy->out, path, H5R_DATASET_REGION, region) >= 0;
  memcpy(value, &reference, sizeof reference);
  if (region >= 0) H5Sclose(region);
  if (dataset >= 0) H5Dclose(dataset);
  return is_made;
}

static bool lead(const struct copy *copy, hid_t type, unsigned char *value);

static bool lead_members(const struct copy *copy, hid_t type, unsigned char *value) {
  int const member_count = H5Tget_nmembers(type);
  bool is_made = true;
  for (int i = 0; i < member_count && is_made; i++) {
    hid_t const member = H5Tget_member_type(type, (unsigned)i);
    is_made = lead(copy, member, value + H5Tget_member_offset(type, (unsigned)i));
    H5Tclose(member);
  }
  return is_made;
}

/* Values of an array or a list. */
static bool lead_all(const struct copy *copy, hid_t type, size_t count, unsigned char *values) {
  size_t const bytes = H5Tget_size(type);
  bool is_made = true;
  for (size_t i = 0; i < count && is_made; i++) is_made = lead(copy, type, values + i * bytes);
  return is_made;
}

/* Changes the references in a value in memory. False: HDF5 failed, or does not say how. */
static bool lead(const struct copy *copy, hid_t type, unsigned char *value) {
  H5T_class_t const class = H5Tget_class(type);
  if (H5Tdetect_class(type, H5T_REFERENCE) <= 0) return true;
  if (class == H5T_COMPOUND) return lead_members(copy, type, value);
  if (class == H5T_REFERENCE) {
    if (H5Tequal(type, H5T_STD_REF_OBJ) > 0) return lead_to_object(copy, value);
    return H5Tequal(type, H5T_STD_REF_DSETREG) > 0 && lead_to_region(copy, value);
  }
  hid_t const element = H5Tget_super(type);
  bool is_made = false;
  if (class == H5T_VLEN) {
    hvl_t list;
    memcpy(&list, value, sizeof list);
    is_made = lead_all(copy, element, list.len, list.p);
  } else if (class == H5T_ARRAY) {
    is_made = lead_all(copy, element, H5Tget_size(type) / H5Tget_size(element), value);
  }
  H5Tclose(element);
  return is_made;
}

static int refuse(const struct copy *copy, const char *path) {
  return report_failure(copy->report, CODE_USAGE, copy->name,
                        "has %s, which has references of a kind that cannot be copied; remove them "
                        "from a copy of the file",
                        path);
}

/* ---- attributes ---- */

/* (HDF5 1.10 does not write to an attribute that was opened by its object's name.) */
static int write_attribute(const struct copy *copy, const struct copy_reference *reference) {
  const char *const path = copy->tree->objects[reference->object].path;
  hid_t const object = H5Oopen(copy->in, path, H5P_DEFAULT);
  hid_t const out_object = H5Oopen(copy->out, path, H5P_DEFAULT);
  hid_t const from = H5Aopen(object, reference->attribute, H5P_DEFAULT);
  hid_t const to = H5Aopen(out_object, reference->attribute, H5P_DEFAULT);
  hid_t const stored = H5Aget_type(from), type = H5Tcopy(stored), space = H5Aget_space(from);
  hssize_t const count = H5Sget_simple_extent_npoints(space);
  unsigned char *const values = count > 0 ? calloc((size_t)count, H5Tget_size(type)) : NULL;
  int code = CODE_OK;
  if (count > 0 && !values)
    code = report_out_of_memory(copy->report, copy->name, "references", (uint64_t)count);
  else if (count > 0 && H5Aread(from, type, values) < 0)
    code = copy_fail_to_read(copy, path);
  else if (count > 0 && !lead_all(copy, type, (size_t)count, values))
    code = refuse(copy, path);
  else if (count > 0 && H5Awrite(to, type, values) < 0)
    code = copy_fail_to_write(copy, path);
  if (code == CODE_OK && values) H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
  free(values);
  H5Sclose(space);
  H5Tclose(type);
  H5Tclose(stored);
  if (to >= 0) H5Aclose(to);
  if (from >= 0) H5Aclose(from);
  H5Oclose(out_object);
  H5Oclose(object);
  return code;
}

/* ---- datasets ---- */

struct values {
  const char *path;
  hid_t from, to, type;
  hid_t space; /* of the dataset */
  hid_t part;  /* of the values in memory */
  size_t count;
  unsigned char *bytes, *others; /* others: of the new dataset, in a check */
};

static int check_part(const struct copy *copy, const struct values *values) {
  memset(values->others, 0, values->count * H5Tget_size(values->type));
  bool const is_same =
      H5Dread(values->to, values->type, values->part, values->space, H5P_DEFAULT, values->others) >=
          0 &&
      values_are_same(copy, values->type, values->count, values->bytes, values->others);
  if (is_same) H5Dvlen_reclaim(values->type, values->part, H5P_DEFAULT, values->others);
  return is_same ? CODE_OK : copy_fail_as_other(copy, values->path);
}

static int write_part(const struct copy *copy, struct values *values) {
  memset(values->bytes, 0, values->count * H5Tget_size(values->type));
  if (H5Dread(values->from, values->type, values->part, values->space, H5P_DEFAULT, values->bytes) <
      0)
    return copy_fail_to_read(copy, values->path);
  int code = CODE_OK;
  if (copy->is_check)
    code = check_part(copy, values);
  else if (!lead_all(copy, values->type, values->count, values->bytes))
    code = refuse(copy, values->path);
  else if (H5Dwrite(values->to, values->type, values->part, values->space, H5P_DEFAULT,
                    values->bytes) < 0)
    code = copy_fail_to_write(copy, values->path);
  H5Dvlen_reclaim(values->type, values->part, H5P_DEFAULT, values->bytes);
  return code;
}

/* As many rows at a time as PART_BYTES hold, but one at least. */
static int write_parts(const struct copy *copy, struct values *values) {
  hsize_t dims[H5S_MAX_RANK] = {1}, start[H5S_MAX_RANK] = {0}, count[H5S_MAX_RANK];
  int const rank = H5Sget_simple_extent_dims(values->space, dims, NULL);
  hsize_t row = 1;
  for (int axis = 1; axis < rank; axis++) row *= dims[axis];
  if (dims[0] == 0 || row == 0) return CODE_OK;
  hsize_t rows = PART_BYTES / H5Tget_size(values->type) / row;
  if (rows == 0) rows = 1;
  if (rows > dims[0]) rows = dims[0];
  values->bytes = calloc((size_t)(rows * row), H5Tget_size(values->type));
  if (copy->is_check) values->others = calloc((size_t)(rows * row), H5Tget_size(values->type));
  if (!values->bytes || (copy->is_check && !values->others))
    return report_out_of_memory(copy->report, copy->name, "references", rows);
  int code = CODE_OK;
  for (start[0] = 0; start[0] < dims[0] && code == CODE_OK; start[0] += rows) {
    memcpy(count, dims, sizeof count);
    count[0] = rows < dims[0] - start[0] ? rows : dims[0] - start[0];
    if (rank > 0) H5Sselect_hyperslab(values->space, H5S_SELECT_SET, start, NULL, count, NULL);
    values->count = (size_t)(count[0] * row);
    values->part = rank > 0 ? H5Screate_simple(rank, count, NULL) : H5Scopy(values->space);
    code = write_part(copy, values);
    H5Sclose(values->part);
  }
  return code;
}

static bool is_elsewhere(hid_t dataset) {
  hid_t const properties = H5Dget_create_plist(dataset);
  bool const is_external = H5Pget_external_count(properties) > 0;
  bool const is_virtual = H5Pget_layout(properties) == H5D_VIRTUAL;
  H5Pclose(properties);
  return is_external || is_virtual;
}

int copy_values(const struct copy *copy, const char *path, hid_t from, hid_t to) {
  struct values values = {.path = path, .from = from, .to = to};
  if (is_elsewhere(from) || H5Dget_storage_size(from) == 0) return CODE_OK;
  hid_t const stored = H5Dget_type(from);
  values.type = H5Tcopy(stored);
  values.space = H5Dget_space(from);
  int code = CODE_OK;
  if (H5Sget_simple_extent_type(values.space) != H5S_NULL) code = write_parts(copy, &values);
  free(values.others);
  free(values.bytes);
  H5Sclose(values.space);
  H5Tclose(values.type);
  H5Tclose(stored);
  return code;
}

static int write_dataset(const struct copy *copy, const struct copy_reference *reference) {
  const char *const path = copy->tree->objects[reference->object].path;
  hid_t const from = H5Dopen2(copy->in, path, H5P_DEFAULT);
  if (from < 0) return copy_fail_to_read(copy, path);
  hid_t const to = H5Dopen2(copy->out, path, H5P_DEFAULT);
  int const code = to >= 0 ? copy_values(copy, path, from, to) : copy_fail_to_write(copy, path);
  if (to >= 0) H5Dclose(to);
  H5Dclose(from);
  return code;
}

int copy_references(const struct copy *copy, const struct copy_reference *reference) {
  return reference->attribute ? write_attribute(copy, reference) : write_dataset(copy, reference);
}
