/* hdf5_tree.c - all links and objects of an HDF5 file, read before any of them is copied.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "hdf5_tree.h"

#include "hdf5_failure.h"

#include <stdlib.h>
#include <string.h>

struct reading {
  const struct report *report;
  const char *name;
  hid_t file;
  struct tree *tree;
};

static int fail(const struct reading *reading, const char *path) {
  struct hdf5_sentence const reason = hdf5_last_failure();
  return report_failure(reading->report, CODE_IO, reading->name,
                        "has %s, which cannot be read (HDF5 says: %s); check it with h5ls -r", path,
                        reason.text);
}

static int out_of_memory(const struct reading *reading, size_t bytes) {
  return report_out_of_memory(reading->report, reading->name, "the list of its links", bytes);
}

/* ---- objects by their addresses ---- */

static size_t *place_of(const struct tree *tree, haddr_t address) {
  size_t const mask = tree->place_count - 1;
  size_t at = (size_t)(address * 0x9e3779b97f4a7c15u >> 20) & mask;
  while (tree->places[at] != TREE_NONE && tree->objects[tree->places[at]].address != address)
    at = (at + 1) & mask;
  return &tree->places[at];
}

size_t tree_find(const struct tree *tree, haddr_t address) {
  return tree->place_count ? *place_of(tree, address) : TREE_NONE;
}

/* Twice as many places as objects, a power of two. */
static bool make_places(struct tree *tree) {
  size_t const count = tree->place_count ? 2 * tree->place_count : 64;
  size_t *const places = malloc(count * sizeof *places);
  if (!places) return false;
  free(tree->places);
  tree->places = places;
  tree->place_count = count;
  for (size_t i = 0; i < count; i++) places[i] = TREE_NONE;
  for (size_t i = 0; i < tree->object_count; i++) *place_of(tree, tree->objects[i].address) = i;
  return true;
}

size_t tree_find_id(const struct tree *tree, hid_t object) {
  hdf5_object_info info;
  bool const is_known = object >= 0 && H5Oget_info2(object, &info, H5O_INFO_BASIC) >= 0;
  return is_known && info.fileno == tree->file_number ? tree_find(tree, info.addr) : TREE_NONE;
}

/* ---- reading ---- */

/* Makes room for one more element. */
static bool grow(void **elements, size_t count, size_t *capacity, size_t element_bytes) {
  if (count < *capacity) return true;
  size_t const more = *capacity ? 2 * *capacity : 64;
  void *const grown = realloc(*elements, more * element_bytes);
  if (!grown) return false;
  *elements = grown;
  *capacity = more;
  return true;
}

/* Takes path, which it frees if there is no room for the object. */
static int add_object(struct reading *reading, const hdf5_object_info *info, char *path,
                      size_t group) {
  struct tree *const tree = reading->tree;
  bool has_room = path && grow((void **)&tree->objects, tree->object_count, &tree->object_capacity,
                               sizeof *tree->objects);
  if (has_room && 2 * (tree->object_count + 1) > tree->place_count) has_room = make_places(tree);
  if (!has_room) {
    free(path);
    return out_of_memory(reading, tree->object_count * sizeof *tree->objects);
  }
  *place_of(tree, info->addr) = tree->object_count;
  tree->objects[tree->object_count++] =
      (struct tree_object){.address = info->addr, .type = info->type, .path = path, .group = group};
  return CODE_OK;
}

static char *path_below(const char *group, const char *name) {
  size_t const room = strlen(group) + strlen(name) + 2;
  char *const path = malloc(room);
  if (path) snprintf(path, room, "%s/%s", strcmp(group, "/") == 0 ? "" : group, name);
  return path;
}

/* Finds where a hard link leads, and adds the object if it is new. */
static int follow(struct reading *reading, hid_t group, struct tree_link *link) {
  struct tree *const tree = reading->tree;
  hdf5_object_info info;
  hid_t const object = H5Oopen(group, link->name, H5P_DEFAULT);
  bool const is_known = object >= 0 && H5Oget_info2(object, &info, H5O_INFO_BASIC) >= 0;
  if (!is_known) {
    int const code = fail(reading, link->name);
    if (object >= 0) H5Oclose(object);
    return code;
  }
  H5Oclose(object);
  link->object = tree_find(tree, info.addr);
  link->is_first = link->object == TREE_NONE;
  if (!link->is_first) return CODE_OK;
  link->object = tree->object_count;
  return add_object(reading, &info, path_below(tree->objects[link->group].path, link->name),
                    link->group);
}

static int read_value(const struct reading *reading, hid_t group, struct tree_link *link) {
  if (link->info.type != H5L_TYPE_SOFT && link->info.type != H5L_TYPE_EXTERNAL)
    return report_failure(reading->report, CODE_USAGE, reading->name,
                          "has a link of a user's own type, %s, which cannot be copied; remove it "
                          "with h5py or NCO from a copy of the file",
                          link->name);
  link->value = calloc(1, link->info.value_bytes + 1);
  if (!link->value) return out_of_memory(reading, link->info.value_bytes);
  return H5Lget_val(group, link->name, link->value, link->info.value_bytes, H5P_DEFAULT) >= 0
             ? CODE_OK
             : fail(reading, link->name);
}

static int read_link(struct reading *reading, hid_t group, size_t group_index, H5_index_t order,
                     hsize_t i) {
  struct tree *const tree = reading->tree;
  ssize_t const chars = H5Lget_name_by_idx(group, ".", order, H5_ITER_INC, i, NULL, 0, H5P_DEFAULT);
  if (chars < 0) return fail(reading, tree->objects[group_index].path);
  if (!grow((void **)&tree->links, tree->link_count, &tree->link_capacity, sizeof *tree->links))
    return out_of_memory(reading, tree->link_count * sizeof *tree->links);
  struct tree_link *const link = &tree->links[tree->link_count++];
  *link = (struct tree_link){.group = group_index, .name = malloc((size_t)chars + 1)};
  if (!link->name) return out_of_memory(reading, (size_t)chars + 1);
  if (H5Lget_name_by_idx(group, ".", order, H5_ITER_INC, i, link->name, (size_t)chars + 1,
                         H5P_DEFAULT) < 0 ||
      !hdf5_link_info(group, link->name, &link->info))
    return fail(reading, tree->objects[group_index].path);
  return link->info.type == H5L_TYPE_HARD ? follow(reading, group, link)
                                          : read_value(reading, group, link);
}

H5_index_t hdf5_order_of(hid_t properties, herr_t (*get_order)(hid_t, unsigned *)) {
  unsigned flags = 0;
  bool const is_tracked = get_order(properties, &flags) >= 0 && (flags & H5P_CRT_ORDER_TRACKED);
  return is_tracked ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

hid_t hdf5_properties_of(hid_t dataset) {
  hdf5_object_info info;
  hid_t const properties = H5Dget_create_plist(dataset);
  if (H5Oget_info2(dataset, &info, H5O_INFO_TIME) >= 0 && info.mtime == 0)
    H5Pset_obj_track_times(properties, false);
  return properties;
}

static int read_group(struct reading *reading, size_t index) {
  hid_t const group = H5Gopen2(reading->file, reading->tree->objects[index].path, H5P_DEFAULT);
  if (group < 0) return fail(reading, reading->tree->objects[index].path);
  H5G_info_t info = {.nlinks = 0};
  hid_t const properties = H5Gget_create_plist(group);
  H5_index_t const order = hdf5_order_of(properties, H5Pget_link_creation_order);
  int code =
      H5Gget_info(group, &info) >= 0 ? CODE_OK : fail(reading, reading->tree->objects[index].path);
  for (hsize_t i = 0; i < info.nlinks && code == CODE_OK; i++)
    code = read_link(reading, group, index, order, i);
  H5Pclose(properties);
  H5Gclose(group);
  return code;
}

int tree_read(const struct report *report, const char *name, hid_t file, struct tree *tree) {
  struct reading reading = {report, name, file, tree};
  hdf5_object_info info;
  *tree = (struct tree){.objects = NULL};
  hid_t const root = H5Gopen2(file, "/", H5P_DEFAULT);
  bool const is_known = root >= 0 && H5Oget_info2(root, &info, H5O_INFO_BASIC) >= 0;
  if (is_known) tree->file_number = info.fileno;
  int code = is_known ? add_object(&reading, &info, strdup("/"), 0) : fail(&reading, "/");
  if (root >= 0) H5Gclose(root);
  for (size_t i = 0; i < tree->object_count && code == CODE_OK; i++)
    if (tree->objects[i].type == H5O_TYPE_GROUP) code = read_group(&reading, i);
  return code;
}

void tree_free(struct tree *tree) {
  for (size_t i = 0; i < tree->object_count; i++) free(tree->objects[i].path);
  for (size_t i = 0; i < tree->link_count; i++) {
    free(tree->links[i].name);
    free(tree->links[i].value);
  }
  free(tree->objects);
  free(tree->links);
  free(tree->places);
  *tree = (struct tree){.objects = NULL};
}
