/* hdf5_roles.c - datasets that are no fields by CF's conventions, netCDF's or their names.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* FNM_CASEFOLD */
#include "hdf5_roles.h"

#include "hdf5_text.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* ---- what names other variables ---- */

/* Attributes of CF, UGRID and NeXus whose words are names of variables; words that end in a colon
 * are not. Areas and volumes of cells, and terms of formulas, are among what CF 8.4 does not want
 * changed. */
static const char *const naming[] = {"coordinates",
                                     "bounds",
                                     "climatology",
                                     "cell_measures",
                                     "formula_terms",
                                     "grid_mapping",
                                     "geometry",
                                     "node_coordinates",
                                     "node_count",
                                     "part_node_count",
                                     "interior_ring",
                                     "edge_coordinates",
                                     "face_coordinates",
                                     "volume_coordinates",
                                     "coordinate_interpolation",
                                     "axes"};
enum { NAMING_COUNT = sizeof naming / sizeof *naming };

static size_t find_at(hid_t file, const struct tree *tree, const char *path) {
  hid_t const object = H5Oopen(file, path, H5P_DEFAULT);
  size_t const index = tree_find_id(tree, object);
  if (object >= 0) H5Oclose(object);
  return index;
}

/* A name is looked up in the group of who names it, then in the groups around that. */
static size_t resolve(hid_t file, const struct tree *tree, size_t group, const char *name) {
  if (name[0] == '/') return find_at(file, tree, name);
  for (;;) {
    const char *const folder = tree->objects[group].path;
    char *const path = malloc(strlen(folder) + strlen(name) + 2);
    if (!path) hdf5_note_fault(TEXT_NO_MEMORY);
    if (!path) return TREE_NONE;
    sprintf(path, "%s%s%s", folder, strcmp(folder, "/") == 0 ? "" : "/", name);
    size_t const found = find_at(file, tree, path);
    free(path);
    if (found != TREE_NONE || group == 0) return found;
    group = tree->objects[group].group;
  }
}

/* NeXus before 2014 separates names by colons or commas, and may put them in brackets. */
static const char *separators_of(const char *attribute) {
  return strcmp(attribute, "axes") == 0 ? " \t\n:,[]" : " \t\n";
}

static void mark(hid_t file, const struct tree *tree, size_t index, const char *attribute,
                 char *words, struct role *roles) {
  const char *const separators = separators_of(attribute);
  const struct tree_object *const object = &tree->objects[index];
  size_t const group = object->type == H5O_TYPE_GROUP ? index : object->group;
  char *rest = NULL;
  for (char *word = strtok_r(words, separators, &rest); word;
       word = strtok_r(NULL, separators, &rest)) {
    if (word[strlen(word) - 1] == ':') continue;
    size_t const named = resolve(file, tree, group, word);
    if (named != TREE_NONE && named != index && !roles[named].attribute)
      roles[named] = (struct role){attribute, index};
  }
}

struct role *roles_find(hid_t file, const struct tree *tree) {
  struct role *const roles = calloc(tree->object_count + 1, sizeof *roles);
  for (size_t i = 0; i < tree->object_count && roles; i++) {
    if (tree->objects[i].type == H5O_TYPE_NAMED_DATATYPE) continue;
    hid_t const object = H5Oopen(file, tree->objects[i].path, H5P_DEFAULT);
    for (int k = 0; k < NAMING_COUNT && object >= 0; k++) {
      char *const words = hdf5_text_of(object, naming[k]);
      if (words) mark(file, tree, i, naming[k], words, roles);
      free(words);
    }
    if (object >= 0) H5Oclose(object);
  }
  return roles;
}

/* ---- what a dataset says about itself ---- */

struct habit {
  const char *attribute; /* NULL: the name of the dataset */
  const char *pattern;
  const char *what;
};

static struct habit const habits[] = {
    {"CLASS", "DIMENSION_SCALE", "a dimension scale"},
    {"axis", "*", "a coordinate by its axis"},
    {"flag_values", "*", "flags"},
    {"flag_masks", "*", "flags"},
    {"flag_meanings", "*", "flags"},
    {"units", "* since *", "times by its units"},
    {"units", "degree*north", "a coordinate by its units"},
    {"units", "degree*east", "a coordinate by its units"},
    {"units", "degree*_[ne]", "a coordinate by its units"},
    {"units", "degree[ne]", "a coordinate by its units"},
    {"units", "degrees[ne]", "a coordinate by its units"},
    {"standard_name", "*latitude", "a coordinate by its standard_name"},
    {"standard_name", "*longitude", "a coordinate by its standard_name"},
    {"standard_name", "*_coordinate", "a coordinate by its standard_name"},
    {"standard_name", "time", "a coordinate by its standard_name"},
    {"standard_name", "forecast_*", "a coordinate by its standard_name"},
    {"standard_name", "height", "a coordinate by its standard_name"},
    {"standard_name", "depth", "a coordinate by its standard_name"},
    {"standard_name", "altitude", "a coordinate by its standard_name"},
    {"standard_name", "cell_area", "sizes of cells by its standard_name"},
    {"standard_name", "cell_volume", "sizes of cells by its standard_name"},
    {"standard_name", "*_mask", "a mask by its standard_name"},
    {"standard_name", "*status_flag*", "flags by its standard_name"},
    {"standard_name", "*quality_flag*", "flags by its standard_name"},
    {NULL, "lat", "a coordinate by its name"},
    {NULL, "lon", "a coordinate by its name"},
    {NULL, "latitude", "a coordinate by its name"},
    {NULL, "longitude", "a coordinate by its name"},
    {NULL, "time", "a coordinate by its name"},
    {NULL, "mask", "a mask by its name"},
    {NULL, "mask_*", "a mask by its name"},
    {NULL, "*_mask", "a mask by its name"},
    {NULL, "*landmask", "a mask by its name"},
    {NULL, "flag*", "flags by its name"},
    {NULL, "*_flag*", "flags by its name"},
};
enum { HABIT_COUNT = sizeof habits / sizeof *habits };

/* Flags are numbers, which fit "*" all the same. */
static bool fits(const struct habit *habit, hid_t dataset, const char *name) {
  if (!habit->attribute) return fnmatch(habit->pattern, name, FNM_CASEFOLD) == 0;
  if (!hdf5_has_attribute(dataset, habit->attribute)) return false;
  if (strcmp(habit->pattern, "*") == 0) return true;
  char *const text = hdf5_text_of(dataset, habit->attribute);
  bool const does_fit = text && fnmatch(habit->pattern, text, FNM_CASEFOLD) == 0;
  free(text);
  return does_fit;
}

bool role_is_exact(const struct tree *tree, const struct role *roles, size_t index, hid_t dataset,
                   char why[ROLE_CHARS]) {
  const struct role *const role = &roles[index];
  const char *const name = strrchr(tree->objects[index].path, '/') + 1;
  if (role->attribute) {
    snprintf(why, ROLE_CHARS, "%s of %.90s", role->attribute, tree->objects[role->by].path);
    return true;
  }
  for (int i = 0; i < HABIT_COUNT; i++) {
    if (!fits(&habits[i], dataset, name)) continue;
    snprintf(why, ROLE_CHARS, "%s", habits[i].what);
    return true;
  }
  return false;
}

/* ---- what its values say ---- */

enum { SLOPE_VALUES = 1 << 16 }; /* read at once */

struct slope {
  bool may_rise, may_fall;
  double first, last;
  bool has_values;
};

/* False for a NaN, too. */
static void look(struct slope *slope, const double *values, hsize_t count) {
  for (hsize_t i = 0; i < count; i++) {
    if (!slope->has_values) slope->first = slope->last = values[i];
    slope->has_values = true;
    slope->may_rise = slope->may_rise && values[i] >= slope->last;
    slope->may_fall = slope->may_fall && values[i] <= slope->last;
    slope->last = values[i];
  }
}

bool role_is_slope(hid_t dataset) {
  static double values[SLOPE_VALUES];
  struct slope slope = {.may_rise = true, .may_fall = true};
  hid_t const space = H5Dget_space(dataset);
  hsize_t const total = (hsize_t)H5Sget_simple_extent_npoints(space);
  bool is_read = H5Sget_simple_extent_ndims(space) == 1;
  for (hsize_t at = 0; at < total && is_read && (slope.may_rise || slope.may_fall);) {
    hsize_t const count = total - at < SLOPE_VALUES ? total - at : SLOPE_VALUES;
    hid_t const part = H5Screate_simple(1, &count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &count, NULL);
    is_read = H5Dread(dataset, H5T_NATIVE_DOUBLE, part, space, H5P_DEFAULT, values) >= 0;
    H5Sclose(part);
    look(&slope, values, is_read ? count : 0);
    at += count;
  }
  H5Sclose(space);
  if (!is_read) hdf5_note_fault(TEXT_UNREADABLE);
  return is_read && slope.has_values && slope.first != slope.last &&
         (slope.may_rise || slope.may_fall);
}
