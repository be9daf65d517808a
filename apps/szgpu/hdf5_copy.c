/* hdf5_copy.c - copies an HDF5 file link by link: groups, attributes, types, datasets.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Datasets are made anew, and their chunks copied as they are stored, so filters need not be known.
 * A committed type must be there before what has it, although its link may come later: types are
 * made first, in a group that is removed at the end. References are written when all objects are
 * there (hdf5_references.c).
 */
#define _DEFAULT_SOURCE
#include "hdf5_copy.h"

#include "hdf5_references.h"
#include "hdf5_same.h"
#include "hdf5_stored.h"

#include <stdlib.h>
#include <string.h>

/* ---- the file ---- */

/* Gives the properties of a group to another one, or to a file, as those of its root. They are
 * taken one by one: the list also has the place in the file of a group with many links, where HDF5
 * 1.10 would look for those of the new group. */
static void take_group(hid_t group, hid_t properties) {
  unsigned order = 0, most_compact = 0, least_dense = 0, names = 0, chars = 0;
  hid_t const own = H5Gget_create_plist(group);
  if (H5Pget_link_creation_order(own, &order) >= 0) H5Pset_link_creation_order(properties, order);
  if (H5Pget_attr_creation_order(own, &order) >= 0) H5Pset_attr_creation_order(properties, order);
  if (H5Pget_link_phase_change(own, &most_compact, &least_dense) >= 0)
    H5Pset_link_phase_change(properties, most_compact, least_dense);
  if (H5Pget_attr_phase_change(own, &most_compact, &least_dense) >= 0)
    H5Pset_attr_phase_change(properties, most_compact, least_dense);
  if (H5Pget_est_link_info(own, &names, &chars) >= 0)
    H5Pset_est_link_info(properties, names, chars);
  H5Pclose(own);
}

/* A new file has objects that readers of the old one know: those of its superblock's version. */
hid_t copy_create_file(hid_t in, const char *path) {
  H5F_info2_t info;
  hid_t const properties = H5Fget_create_plist(in), access = H5Pcreate(H5P_FILE_ACCESS);
  hid_t const root = H5Gopen2(in, "/", H5P_DEFAULT);
  take_group(root, properties);
  H5Gclose(root);
  bool const is_old = H5Fget_info2(in, &info) < 0 || info.super.version < 2;
  H5Pset_libver_bounds(access, is_old ? H5F_LIBVER_EARLIEST : H5F_LIBVER_V18, H5F_LIBVER_LATEST);
  hid_t const file = H5Fcreate(path, H5F_ACC_TRUNC, properties, access);
  H5Pclose(access);
  H5Pclose(properties);
  return file;
}

/* ---- committed types ---- */

static const char types_group[] = "/.szgpu types";

enum { TYPE_CHARS = sizeof types_group + 24 };

static bool path_of_type(const struct copy *copy, hid_t type, char path[TYPE_CHARS]) {
  if (!copy->types || H5Tcommitted(type) <= 0) return false;
  size_t const index = tree_find_id(copy->tree, type);
  if (index == TREE_NONE) return false;
  snprintf(path, TYPE_CHARS, "%s/%zu", copy->types, index);
  return true;
}

hid_t copy_map_type(const struct copy *copy, hid_t type) {
  char path[TYPE_CHARS];
  return path_of_type(copy, type, path) ? H5Topen2(copy->out, path, H5P_DEFAULT) : H5Tcopy(type);
}

static bool commit_type(const struct copy *copy, const char *in_path, const char *path) {
  hid_t const type = H5Topen2(copy->in, in_path, H5P_DEFAULT);
  hid_t const own = H5Tcopy(type), properties = H5Tget_create_plist(type);
  bool const is_made = H5Tcommit2(copy->out, path, own, H5P_DEFAULT, properties, H5P_DEFAULT) >= 0;
  H5Pclose(properties);
  H5Tclose(own);
  H5Tclose(type);
  return is_made;
}

static int copy_types(struct copy *copy) {
  const struct tree *const tree = copy->tree;
  int code = CODE_OK;
  for (size_t i = 0; i < tree->object_count && code == CODE_OK; i++) {
    char path[TYPE_CHARS];
    if (tree->objects[i].type != H5O_TYPE_NAMED_DATATYPE) continue;
    if (!copy->types) {
      hid_t const group = H5Gcreate2(copy->out, types_group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      if (group < 0) return copy_fail_to_write(copy, "its types");
      H5Gclose(group);
      copy->types = strdup(types_group);
      if (!copy->types) return report_out_of_memory(copy->report, copy->name, "a name", TYPE_CHARS);
    }
    snprintf(path, sizeof path, "%s/%zu", copy->types, i);
    if (!commit_type(copy, tree->objects[i].path, path))
      code = copy_fail_to_write(copy, tree->objects[i].path);
  }
  return code;
}

/* ---- attributes ---- */

static int note_reference(struct copy *copy, size_t object, const char *attribute) {
  if (copy->reference_count == copy->reference_capacity) {
    size_t const capacity = copy->reference_capacity ? 2 * copy->reference_capacity : 64;
    struct copy_reference *const references =
        realloc(copy->references, capacity * sizeof *references);
    if (!references)
      return report_out_of_memory(copy->report, copy->name, "its references", capacity);
    copy->references = references;
    copy->reference_capacity = capacity;
  }
  char *const name = attribute ? strdup(attribute) : NULL;
  if (attribute && !name) return report_out_of_memory(copy->report, copy->name, "a name", 1);
  copy->references[copy->reference_count++] = (struct copy_reference){object, name};
  return CODE_OK;
}

/* The values of one that has no references. */
static int copy_attribute_values(const struct copy *copy, const char *path, hid_t from, hid_t to,
                                 hid_t type, hid_t space) {
  hssize_t const count = H5Sget_simple_extent_npoints(space);
  hid_t const memory_type = H5Tcopy(type);
  size_t const value_bytes = H5Tget_size(memory_type);
  void *const values = count > 0 ? calloc((size_t)count, value_bytes) : NULL;
  void *const others = count > 0 && copy->is_check ? calloc((size_t)count, value_bytes) : NULL;
  int code = CODE_OK;
  if (count > 0 && (!values || (copy->is_check && !others)))
    code = report_out_of_memory(copy->report, copy->name, "an attribute", (uint64_t)count);
  else if (count > 0 && H5Aread(from, memory_type, values) < 0)
    code = copy_fail_to_read(copy, path);
  else if (count > 0 && copy->is_check)
    code = H5Aread(to, memory_type, others) >= 0 &&
                   values_are_same(copy, memory_type, (size_t)count, values, others)
               ? CODE_OK
               : copy_fail_as_other(copy, path);
  else if (count > 0 && H5Awrite(to, memory_type, values) < 0)
    code = copy_fail_to_write(copy, path);
  if (code == CODE_OK && values) H5Dvlen_reclaim(memory_type, space, H5P_DEFAULT, values);
  if (code == CODE_OK && others) H5Dvlen_reclaim(memory_type, space, H5P_DEFAULT, others);
  free(others);
  free(values);
  H5Tclose(memory_type);
  return code;
}

static int copy_attribute(struct copy *copy, size_t index, hid_t from, hid_t out_object,
                          const char *name) {
  const char *const path = copy->tree->objects[index].path;
  int code = CODE_OK;
  if (copy->replace && copy->replace(copy, index, out_object, name, &code)) return code;
  hid_t const type = H5Aget_type(from), space = H5Aget_space(from);
  hid_t const properties = H5Aget_create_plist(from), out_type = copy_map_type(copy, type);
  hid_t const to = H5Acreate2(out_object, name, out_type, space, properties, H5P_DEFAULT);
  if (type < 0 || space < 0)
    code = copy_fail_to_read(copy, path);
  else if (to < 0)
    code = copy_fail_to_write(copy, path);
  else if (H5Tdetect_class(type, H5T_REFERENCE) > 0)
    code = note_reference(copy, index, name);
  else
    code = copy_attribute_values(copy, path, from, to, type, space);
  if (to >= 0) H5Aclose(to);
  H5Tclose(out_type);
  H5Pclose(properties);
  H5Sclose(space);
  H5Tclose(type);
  return code;
}

/* The same attribute of the other file. */
static int check_attribute(struct copy *copy, size_t index, hid_t from, hid_t out_object,
                           const char *name) {
  const char *const path = copy->tree->objects[index].path;
  int code = CODE_OK;
  if (copy->replace && copy->replace(copy, index, out_object, name, &code)) return code;
  if (H5Aexists(out_object, name) <= 0) return copy_fail_as_other(copy, path);
  hid_t const to = H5Aopen(out_object, name, H5P_DEFAULT);
  hid_t const type = H5Aget_type(from), space = H5Aget_space(from);
  hid_t const out_type = H5Aget_type(to), out_space = H5Aget_space(to);
  bool const is_same_kind =
      H5Tget_size(type) == H5Tget_size(out_type) && H5Tget_class(type) == H5Tget_class(out_type) &&
      H5Sget_simple_extent_npoints(space) == H5Sget_simple_extent_npoints(out_space);
  code = is_same_kind ? copy_attribute_values(copy, path, from, to, type, space)
                      : copy_fail_as_other(copy, path);
  H5Sclose(out_space);
  H5Tclose(out_type);
  H5Sclose(space);
  H5Tclose(type);
  H5Aclose(to);
  return code;
}

/* properties: those that the object was created with. */
static int copy_attributes(struct copy *copy, size_t index, hid_t object, hid_t out_object,
                           hid_t properties) {
  const char *const path = copy->tree->objects[index].path;
  H5_index_t const order = hdf5_order_of(properties, H5Pget_attr_creation_order);
  hdf5_object_info info;
  if (H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS) < 0) return copy_fail_to_read(copy, path);
  int code = CODE_OK;
  for (hsize_t i = 0; i < info.num_attrs && code == CODE_OK; i++) {
    hid_t const attribute =
        H5Aopen_by_idx(object, ".", order, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
    ssize_t const chars = attribute >= 0 ? H5Aget_name(attribute, 0, NULL) : -1;
    char *const name = chars >= 0 ? malloc((size_t)chars + 1) : NULL;
    if (chars >= 0 && !name)
      code = report_out_of_memory(copy->report, copy->name, "a name", (uint64_t)chars);
    else if (chars < 0 || H5Aget_name(attribute, (size_t)chars + 1, name) < 0)
      code = copy_fail_to_read(copy, path);
    else
      code = copy->is_check ? check_attribute(copy, index, attribute, out_object, name)
                            : copy_attribute(copy, index, attribute, out_object, name);
    free(name);
    if (attribute >= 0) H5Aclose(attribute);
  }
  return code;
}

/* A text that HDF5 keeps beside an object's attributes. */
static int copy_comment(const struct copy *copy, hid_t object, hid_t out_object) {
  ssize_t const chars = H5Oget_comment(object, NULL, 0);
  if (chars <= 0) return CODE_OK;
  char *const text = malloc((size_t)chars + 1);
  if (!text) return report_out_of_memory(copy->report, copy->name, "a text", (uint64_t)chars);
  bool const is_copied =
      H5Oget_comment(object, text, (size_t)chars + 1) >= 0 && H5Oset_comment(out_object, text) >= 0;
  free(text);
  return is_copied ? CODE_OK : copy_fail_to_write(copy, "a comment");
}

int copy_what_belongs(struct copy *copy, size_t index) {
  const struct tree_object *const of = &copy->tree->objects[index];
  hid_t const object = H5Oopen(copy->in, of->path, H5P_DEFAULT);
  hid_t const out_object = H5Oopen(copy->out, of->path, H5P_DEFAULT);
  hid_t properties = H5I_INVALID_HID;
  if (of->type == H5O_TYPE_GROUP) properties = H5Gget_create_plist(object);
  if (of->type == H5O_TYPE_DATASET) properties = H5Dget_create_plist(object);
  if (of->type == H5O_TYPE_NAMED_DATATYPE) properties = H5Tget_create_plist(object);
  int code = object < 0       ? copy_fail_to_read(copy, of->path)
             : out_object < 0 ? copy_fail_to_write(copy, of->path)
                              : copy_attributes(copy, index, object, out_object, properties);
  if (code == CODE_OK && !copy->is_check) code = copy_comment(copy, object, out_object);
  if (properties >= 0) H5Pclose(properties);
  if (out_object >= 0) H5Oclose(out_object);
  if (object >= 0) H5Oclose(object);
  return code;
}

/* ---- objects and links ---- */

static int copy_group(struct copy *copy, const char *path, hid_t link_properties) {
  hid_t const group = H5Gopen2(copy->in, path, H5P_DEFAULT);
  hid_t const properties = H5Pcreate(H5P_GROUP_CREATE);
  take_group(group, properties);
  hid_t const made = H5Gcreate2(copy->out, path, link_properties, properties, H5P_DEFAULT);
  int const code = made >= 0 ? CODE_OK : copy_fail_to_write(copy, path);
  if (made >= 0) H5Gclose(made);
  H5Pclose(properties);
  H5Gclose(group);
  return code;
}

static hid_t create_dataset(const struct copy *copy, size_t index, hid_t dataset, hid_t type,
                            hid_t link_properties) {
  const char *const path = copy->tree->objects[index].path;
  hid_t const properties = hdf5_properties_of(dataset), space = H5Dget_space(dataset);
  hid_t const out_type = copy_map_type(copy, type);
  hid_t made = H5I_INVALID_HID;
  if (H5Pget_layout(properties) == H5D_CHUNKED) /* else HDF5 might write chunks at once */
    H5Pset_alloc_time(properties, H5D_ALLOC_TIME_INCR);
  copy->prepare(copy, index, dataset, properties);
  if (hdf5_stand_in_for_filters(properties))
    made = H5Dcreate2(copy->out, path, out_type, space, link_properties, properties, H5P_DEFAULT);
  H5Tclose(out_type);
  H5Sclose(space);
  H5Pclose(properties);
  return made;
}

static bool has_chunks(hid_t dataset) {
  hid_t const properties = H5Dget_create_plist(dataset);
  bool const is_chunked = H5Pget_layout(properties) == H5D_CHUNKED;
  H5Pclose(properties);
  return is_chunked;
}

/* Values that are stored elsewhere stay there. Those that have places in the file are written when
 * these are known. */
static int copy_dataset(struct copy *copy, size_t index, hid_t link_properties) {
  const char *const path = copy->tree->objects[index].path;
  bool is_made = false;
  int code = copy->make(copy, index, link_properties, &is_made);
  if (code != CODE_OK || is_made) return code;
  hid_t const dataset = H5Dopen2(copy->in, path, H5P_DEFAULT);
  if (dataset < 0) return copy_fail_to_read(copy, path);
  hid_t const type = H5Dget_type(dataset);
  hid_t const made = create_dataset(copy, index, dataset, type, link_properties);
  if (made < 0)
    code = copy_fail_to_write(copy, path);
  else if (copy_type_has_places(type))
    code = note_reference(copy, index, NULL);
  else if (has_chunks(dataset))
    code = copy_chunks(copy, path, dataset, made);
  else
    code = copy_values(copy, path, dataset, made);
  if (made >= 0 && H5Dclose(made) < 0 && code == CODE_OK) code = copy_fail_to_write(copy, path);
  H5Tclose(type);
  H5Dclose(dataset);
  return code;
}

static int copy_object(struct copy *copy, size_t index, hid_t link_properties) {
  const struct tree_object *const object = &copy->tree->objects[index];
  char path[TYPE_CHARS];
  int code = CODE_OK;
  switch (object->type) {
    case H5O_TYPE_GROUP:
      code = copy_group(copy, object->path, link_properties);
      break;
    case H5O_TYPE_DATASET:
      code = copy_dataset(copy, index, link_properties);
      break;
    case H5O_TYPE_NAMED_DATATYPE:
      snprintf(path, sizeof path, "%s/%zu", copy->types, index);
      if (H5Lcreate_hard(copy->out, path, copy->out, object->path, link_properties, H5P_DEFAULT) <
          0)
        code = copy_fail_to_write(copy, object->path);
      break;
    default:
      return report_failure(copy->report, CODE_USAGE, copy->name,
                            "has %s, which is neither a group nor a dataset nor a type, so that "
                            "it cannot be copied; remove it from a copy of the file",
                            object->path);
  }
  return code == CODE_OK ? copy_what_belongs(copy, index) : code;
}

/* group: the one of the new file. */
static int copy_link(struct copy *copy, const struct tree_link *link, hid_t group,
                     hid_t properties) {
  const struct tree_object *const objects = copy->tree->objects;
  const char *file = NULL, *object = NULL;
  unsigned flags;
  herr_t made = -1;
  if (link->info.type == H5L_TYPE_HARD && link->is_first)
    return copy_object(copy, link->object, properties);
  if (link->info.type == H5L_TYPE_HARD)
    made = H5Lcreate_hard(copy->out, objects[link->object].path, group, link->name, properties,
                          H5P_DEFAULT);
  else if (link->info.type == H5L_TYPE_SOFT)
    made = H5Lcreate_soft((const char *)link->value, group, link->name, properties, H5P_DEFAULT);
  else if (H5Lunpack_elink_val(link->value, link->info.value_bytes, &flags, &file, &object) >= 0)
    made = H5Lcreate_external(file, object, group, link->name, properties, H5P_DEFAULT);
  return made >= 0 ? CODE_OK : copy_fail_to_write(copy, link->name);
}

static int copy_links(struct copy *copy) {
  const struct tree *const tree = copy->tree;
  hid_t group = H5I_INVALID_HID;
  int code = CODE_OK;
  for (size_t i = 0; i < tree->link_count && code == CODE_OK; i++) {
    const struct tree_link *const link = &tree->links[i];
    if (i == 0 || link->group != tree->links[i - 1].group) {
      if (group >= 0) H5Gclose(group);
      group = H5Gopen2(copy->out, tree->objects[link->group].path, H5P_DEFAULT);
    }
    hid_t const properties = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_char_encoding(properties, link->info.name_set);
    code = copy_link(copy, link, group, properties);
    H5Pclose(properties);
  }
  if (group >= 0) H5Gclose(group);
  return code;
}

int copy_tree(struct copy *copy) {
  int code = copy_types(copy);
  if (code == CODE_OK) code = copy_what_belongs(copy, 0);
  if (code == CODE_OK) code = copy_links(copy);
  for (size_t i = 0; i < copy->reference_count && code == CODE_OK; i++)
    code = copy_references(copy, &copy->references[i]);
  if (code == CODE_OK && copy->types && H5Ldelete(copy->out, copy->types, H5P_DEFAULT) < 0)
    code = copy_fail_to_write(copy, "its types");
  return code;
}

void copy_free(struct copy *copy) {
  for (size_t i = 0; i < copy->reference_count; i++) free(copy->references[i].attribute);
  free(copy->references);
  free(copy->types);
  copy->references = NULL;
  copy->types = NULL;
  copy->reference_count = copy->reference_capacity = 0;
}
