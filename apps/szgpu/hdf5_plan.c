/* hdf5_plan.c - what happens to each dataset of a file that is packed anew, and why.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What nobody asked for by name is copied if there is any doubt: a coordinate that has moved spoils
 * a file, and takes little room.
 */
#define _DEFAULT_SOURCE
#include "hdf5_plan.h"

#include "hdf5_attributes.h"
#include "hdf5_failure.h"
#include "hdf5_filters.h"
#include "hdf5_names.h"
#include "hdf5_netcdf.h"
#include "hdf5_roles.h"
#include "hdf5_text.h"
#include "hdf5_virtual.h"
#include "hdf5_words.h"
#include "values.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
  LEAST_BYTES = 1 << 14, /* of a dataset: below, an archive saves nothing worth a bound */
  MOST_CHUNKS = 1 << 24, /* each takes a call of HDF5, whether it is there or not */
  DECLINED = -1          /* no exit code: the dataset is copied as it is */
};

struct planning {
  const struct report *report;
  const char *name;
  hid_t file;
  const struct tree *tree;
  const struct role *roles;
  struct plan_rules *rules; /* NULL: what has archives is restored */
};

struct plan_name plan_name_of(const char *file, const char *path) {
  struct plan_name name;
  snprintf(name.text, sizeof name.text, "%.255s:%.255s", file, path);
  return name;
}

/* ---- what HDF5 says of a dataset ---- */

static void read_shape(hid_t dataset, struct plan_variable *variable) {
  hsize_t most[H5S_MAX_RANK];
  hid_t const space = H5Dget_space(dataset), type = H5Dget_type(dataset);
  hid_t const properties = H5Dget_create_plist(dataset);
  bool const is_null = H5Sget_simple_extent_type(space) == H5S_NULL;
  variable->rank = is_null ? 0 : H5Sget_simple_extent_dims(space, variable->dims, most);
  hssize_t const count = is_null ? 0 : H5Sget_simple_extent_npoints(space);
  variable->raw_bytes = count > 0 ? (uint64_t)count * H5Tget_size(type) : 0;
  variable->stored_bytes = H5Dget_storage_size(dataset);
  for (int axis = 0; axis < variable->rank; axis++)
    variable->may_grow[axis] = most[axis] > variable->dims[axis];
  if (H5Pget_layout(properties) == H5D_CHUNKED)
    H5Pget_chunk(properties, H5S_MAX_RANK, variable->chunk);
  H5Pclose(properties);
  H5Tclose(type);
  H5Sclose(space);
}

static void read_values_meant(hid_t dataset, struct plan_variable *variable) {
  struct dataset *const about = &variable->about;
  *about = (struct dataset)DATASET_NONE;
  variable->is_number = hdf5_dtype(dataset, &variable->dtype);
  if (!variable->is_number) return;
  about->id = dataset;
  about->shape.dtype = variable->dtype;
  hdf5_read_attributes(about);
  about->id = 0;
}

void plan_read_dataset(hid_t dataset, struct plan_variable *variable) {
  read_shape(dataset, variable);
  read_values_meant(dataset, variable);
}

/* ---- the bound ---- */

/* Takes the bound that the dataset of this name has in the other file. False: it has none there. */
static bool take_like(const struct planning *planning, struct plan_variable *variable) {
  struct filter_use use;
  struct plan_variable other = {.object = 0};
  if (planning->rules->like < 0) return false;
  hid_t const dataset = H5Dopen2(planning->rules->like, variable->path, H5P_DEFAULT);
  if (dataset < 0) return false;
  bool const is_compressed = hdf5_find_filter(dataset, &use) && use.is_known;
  read_values_meant(dataset, &other);
  H5Dclose(dataset);
  variable->bound = (struct bound){.is_kept = !is_compressed};
  if (!is_compressed) return true;
  variable->bound.mode = use.params.mode;
  variable->bound.value = use.params.bound;
  if (use.params.mode == SZGPU_MODE_ABS && other.about.is_packed)
    variable->bound.value *= fabs(other.about.scale);
  return true;
}

/* Finds what was asked for. *is_asked: by the dataset's own name; *is_rule: by some rule. */
static int find_bound(const struct planning *planning, hid_t dataset,
                      struct plan_variable *variable, bool *is_asked, bool *is_rule) {
  char text[BOUND_CHARS];
  char *const standard_name = hdf5_text_of(dataset, "standard_name");
  char *const units = hdf5_text_of(dataset, "units");
  struct bound_names const names = {variable->path, standard_name, units};
  const struct bound_rule *other;
  const struct bound_rule *const rule = bounds_find(planning->rules->bounds, &names, &other);
  free(standard_name);
  free(units);
  *is_rule = rule != NULL;
  *is_asked = rule && !rule->is_pattern && rule->subject == BOUND_BY_NAME;
  if (rule && other)
    return report_failure(
        planning->report, CODE_USAGE, plan_name_of(planning->name, variable->path).text,
        "has two bounds, by %.100s and %.100s; leave one of them out", rule->text, other->text);
  if (rule) {
    variable->bound = rule->bound;
    snprintf(variable->why, PLAN_WHY_CHARS, "%s %.120s", rule->is_of_file ? "--bounds" : "--var",
             rule->text);
  } else if (take_like(planning, variable)) {
    snprintf(variable->why, PLAN_WHY_CHARS, "--like");
  } else if (planning->rules->has_rest) {
    variable->bound = planning->rules->rest;
    bound_print(&variable->bound, text);
    snprintf(variable->why, PLAN_WHY_CHARS, "-m %s", text);
  } else {
    variable->bound = (struct bound){.is_kept = true};
    snprintf(variable->why, PLAN_WHY_CHARS, "no bound for it");
  }
  return CODE_OK;
}

/* ---- the verdict ---- */

/* Notes why the dataset is copied. One that was asked for by its name is an error instead. */
__attribute__((format(printf, 4, 5))) static int decline(const struct planning *planning,
                                                         struct plan_variable *variable,
                                                         bool is_asked, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(variable->why, PLAN_WHY_CHARS, format, arguments);
  va_end(arguments);
  if (!is_asked) return DECLINED;
  return report_failure(planning->report, CODE_USAGE,
                        plan_name_of(planning->name, variable->path).text,
                        "cannot get a bound: %s; leave it out of the rules", variable->why);
}

static uint64_t chunk_count_of(const struct plan_variable *variable) {
  uint64_t count = 1;
  for (int axis = 0; axis < variable->rank; axis++)
    if (variable->chunk[axis] > 0 && count <= MOST_CHUNKS)
      count *= (variable->dims[axis] - 1) / variable->chunk[axis] + 1;
  return count;
}

/* What no bound can be given to. */
static int check_storage(const struct planning *planning, hid_t dataset,
                         struct plan_variable *variable, bool is_asked) {
  struct filter_words filter;
  struct filter_use use;
  hid_t const properties = H5Dget_create_plist(dataset);
  int const external_count = H5Pget_external_count(properties);
  H5Pclose(properties);
  if (!variable->is_number)
    return decline(planning, variable, is_asked, "no numbers that it takes");
  if (variable->raw_bytes == 0) return decline(planning, variable, is_asked, "no values");
  if (variable->rank == 0) return decline(planning, variable, is_asked, "a single value");
  if (hdf5_is_virtual(dataset))
    return decline(planning, variable, is_asked, "virtual: its values are elsewhere");
  if (external_count > 0) return decline(planning, variable, is_asked, "its values are elsewhere");
  if (variable->stored_bytes == 0) return decline(planning, variable, is_asked, "never written");
  if (chunk_count_of(variable) > MOST_CHUNKS)
    return decline(planning, variable, is_asked, "more than 16 million chunks");
  if (hdf5_find_filter(dataset, &use) && !(use.is_known && use.params.mode == SZGPU_MODE_LOSSLESS))
    return decline(planning, variable, is_asked, "compressed with a bound before");
  if (hdf5_find_missing_filter(dataset, &filter))
    return decline(planning, variable, is_asked, "its filter %.100s is missing", filter.text);
  return CODE_OK;
}

/* What a bound could be given to, but is not what bounds are for. */
static int check_role(const struct planning *planning, hid_t dataset,
                      struct plan_variable *variable, bool is_rule) {
  char why[ROLE_CHARS];
  if (role_is_exact(planning->tree, planning->roles, variable->object, dataset, why))
    return decline(planning, variable, false, "%s", why);
  if (dtype_is_integer(variable->dtype) && !(is_rule && variable->about.is_packed))
    return decline(planning, variable, false, "%s",
                   variable->about.is_packed ? "packed integers" : "integers");
  if (variable->raw_bytes < LEAST_BYTES) return decline(planning, variable, false, "small");
  if (variable->rank == 1 && role_is_slope(dataset))
    return decline(planning, variable, false, "a coordinate: it rises or falls throughout");
  return CODE_OK;
}

/* Whether the bound suits the values. */
static int check_bound(const struct planning *planning, struct plan_variable *variable,
                       bool is_asked) {
  const struct dataset *const about = &variable->about;
  if (variable->bound.mode == SZGPU_MODE_LOSSLESS) return CODE_OK;
  if (about->fault) return decline(planning, variable, is_asked, "%s", about->fault);
  if (about->stored_dtype != about->shape.dtype)
    return decline(planning, variable, is_asked, "unsigned by _Unsigned");
  if (variable->bound.mode != SZGPU_MODE_PWREL) return CODE_OK;
  if (variable->dtype > SZGPU_F64)
    return decline(planning, variable, is_asked, "pwrel is for f32 and f64");
  if (about->is_packed)
    return decline(planning, variable, is_asked, "pwrel is not for packed values");
  if (about->fills.has_valid)
    return decline(planning, variable, is_asked, "pwrel does not keep to its valid values");
  return CODE_OK;
}

static int plan_variable(const struct planning *planning, hid_t dataset,
                         struct plan_variable *variable) {
  bool is_asked, is_rule;
  double fill;
  plan_read_dataset(dataset, variable);
  variable->lacks_fill = planning->rules->is_classic && netcdf_lacks_fill(dataset, &fill);
  if (variable->lacks_fill && variable->is_number)
    fills_add(&variable->about.fills, fill, HDF5_OWN_FILL);
  int code = find_bound(planning, dataset, variable, &is_asked, &is_rule);
  if (code != CODE_OK || variable->bound.is_kept) return code;
  code = check_storage(planning, dataset, variable, is_asked);
  if (code == CODE_OK && !is_asked) code = check_role(planning, dataset, variable, is_rule);
  if (code == CODE_OK) code = check_bound(planning, variable, is_asked);
  variable->is_compressed = code == CODE_OK;
  return code == DECLINED ? CODE_OK : code;
}

static int refuse_unused(const struct planning *planning) {
  const struct bounds *const bounds = planning->rules->bounds;
  for (size_t i = 0; i < bounds->count; i++) {
    const struct bound_rule *const rule = &bounds->rules[i];
    if (rule->is_used || rule->is_of_file) continue;
    struct dataset_names const names = hdf5_names(planning->file, planning->name, "");
    return report_failure(planning->report, CODE_USAGE, planning->name,
                          "has no variable for --var %.100s%s%s", rule->text,
                          names.count ? "; choose from " : "", names.count ? names.text : "");
  }
  return CODE_OK;
}

/* Without an attribute a coordinate might pass for a field. */
static int check_texts(const struct planning *planning) {
  enum text_fault const fault = hdf5_text_fault();
  if (fault == TEXT_NO_MEMORY)
    return report_out_of_memory(planning->report, planning->name, "its attributes", 1);
  if (fault == TEXT_OK) return CODE_OK;
  return report_failure(planning->report, CODE_IO, planning->name,
                        "has attributes or values that cannot be read; check it with h5dump");
}

bool plan_read_archives(hid_t dataset, struct plan_variable *variable) {
  struct filter_use use;
  plan_read_dataset(dataset, variable);
  variable->is_compressed = hdf5_find_filter(dataset, &use);
  variable->written_bytes = variable->stored_bytes;
  if (!variable->is_compressed) return true;
  variable->bound = (struct bound){.mode = use.params.mode, .value = use.params.bound};
  if (use.is_known)
    bound_print(&variable->bound, variable->why);
  else
    snprintf(variable->why, PLAN_WHY_CHARS, "by a later version");
  if (use.is_known && use.params.mode == SZGPU_MODE_ABS)
    variable->absolute_bound =
        use.params.bound * (variable->about.is_packed ? fabs(variable->about.scale) : 1);
  return use.is_known;
}

static int plan_to_restore(const struct planning *planning, hid_t dataset,
                           struct plan_variable *variable) {
  if (plan_read_archives(dataset, variable)) return CODE_OK;
  return report_failure(planning->report, CODE_ARCHIVE,
                        plan_name_of(planning->name, variable->path).text,
                        "was compressed by a later version of szgpu; use that one");
}

static int plan_all(const struct planning *planning, struct plan *plan) {
  const struct tree *const tree = planning->tree;
  int code = CODE_OK;
  for (size_t i = 0; i < tree->object_count && code == CODE_OK; i++) {
    if (tree->objects[i].type != H5O_TYPE_DATASET) continue;
    struct plan_variable *const variable = &plan->variables[plan->count++];
    variable->object = i;
    variable->path = tree->objects[i].path;
    hid_t const dataset = H5Dopen2(planning->file, variable->path, H5P_DEFAULT);
    if (dataset < 0) {
      struct hdf5_sentence const reason = hdf5_last_failure();
      return report_failure(
          planning->report, CODE_IO, plan_name_of(planning->name, variable->path).text,
          "cannot be opened (HDF5 says: %s); check %s with h5ls -r", reason.text, planning->name);
    }
    code = planning->rules ? plan_variable(planning, dataset, variable)
                           : plan_to_restore(planning, dataset, variable);
    H5Dclose(dataset);
  }
  if (code == CODE_OK) code = check_texts(planning);
  return code == CODE_OK && planning->rules ? refuse_unused(planning) : code;
}

int plan_make(const struct report *report, const char *name, hid_t file, const struct tree *tree,
              struct plan_rules *rules, struct plan *plan) {
  *plan = (struct plan){calloc(tree->object_count + 1, sizeof *plan->variables), 0};
  struct role *const roles = roles_find(file, tree);
  struct planning const planning = {report, name, file, tree, roles, rules};
  int const code = plan->variables && roles
                       ? plan_all(&planning, plan)
                       : report_out_of_memory(report, name, "the list of its datasets",
                                              tree->object_count * sizeof *plan->variables);
  free(roles);
  return code;
}

int plan_restore(const struct report *report, const char *name, hid_t file, const struct tree *tree,
                 struct plan *plan) {
  struct planning const planning = {report, name, file, tree, NULL, NULL};
  *plan = (struct plan){calloc(tree->object_count + 1, sizeof *plan->variables), 0};
  return plan->variables ? plan_all(&planning, plan)
                         : report_out_of_memory(report, name, "the list of its datasets",
                                                tree->object_count * sizeof *plan->variables);
}

void plan_free(struct plan *plan) {
  free(plan->variables);
  *plan = (struct plan){NULL, 0};
}
