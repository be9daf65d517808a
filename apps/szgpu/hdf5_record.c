/* hdf5_record.c - what a file that was packed anew says about it, by CF 8.4 and in its history.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "hdf5_record.h"

#include "hdf5_text.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char history[] = "history";

static bool loses(const struct plan_variable *variable) {
  return variable->is_compressed && variable->bound.mode != SZGPU_MODE_LOSSLESS;
}

/* A name that is free. */
static void choose_name(hid_t in, struct record *record) {
  snprintf(record->variable, sizeof record->variable, "szgpu_quantization");
  for (int i = 2; H5Lexists(in, record->variable, H5P_DEFAULT) > 0; i++)
    snprintf(record->variable, sizeof record->variable, "szgpu_quantization_%d", i);
}

void record_begin(hid_t in, const char *command, const struct plan *plan, bool is_of_restored,
                  struct record *record) {
  static const char *const marks[] = {"_NCProperties", "Conventions", "_nc3_strict", history};
  *record = (struct record){.command = command, .is_of_restored = is_of_restored};
  hid_t const root = H5Gopen2(in, "/", H5P_DEFAULT);
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    record->is_cf |= hdf5_has_attribute(root, marks[i]);
  H5Gclose(root);
  for (size_t i = 0; i < plan->count; i++)
    record->is_needed |=
        is_of_restored ? plan->variables[i].is_compressed : loses(&plan->variables[i]);
  choose_name(in, record);
}

/* ---- the history ---- */

/* The newest line first, with its time, as NCO and CDO write it. NULL: memory is out. */
static char *make_history(const struct record *record, const char *former) {
  char when[64];
  struct tm parts;
  time_t const now = time(NULL);
  strftime(when, sizeof when, "%a %b %d %H:%M:%S %Y", localtime_r(&now, &parts));
  size_t const room = sizeof when + strlen(record->command) + (former ? strlen(former) : 0) + 64;
  char *const text = malloc(room);
  if (text)
    snprintf(text, room, "%s: %s (szgpu %s)%s%s", when, record->command, szgpu_version(),
             former && former[0] ? "\n" : "", former ? former : "");
  return text;
}

static int write_history(const struct copy *copy, const struct record *record, hid_t root,
                         const char *former, bool is_variable) {
  char *const text = make_history(record, former);
  if (!text) return report_out_of_memory(copy->report, copy->name, "its history", 1);
  bool const is_written = hdf5_write_text(root, history, text, is_variable);
  free(text);
  return is_written ? CODE_OK : copy_fail_to_write(copy, "its history");
}

static bool is_variable_text(hid_t object, const char *name) {
  hid_t const attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute);
  bool const is_variable = H5Tis_variable_str(type) > 0;
  H5Tclose(type);
  H5Aclose(attribute);
  return is_variable;
}

/* A history that is no text stays. */
bool record_replace(const struct copy *copy, const struct record *record, size_t object,
                    hid_t out_object, const char *attribute, int *code) {
  if (object != 0 || !record->is_cf || !record->is_needed || strcmp(attribute, history) != 0)
    return false;
  hid_t const root = H5Gopen2(copy->in, "/", H5P_DEFAULT);
  char *const former = hdf5_text_of(root, history);
  if (former)
    *code = write_history(copy, record, out_object, former, is_variable_text(root, history));
  free(former);
  H5Gclose(root);
  return former != NULL;
}

/* ---- the loss ---- */

/* dataset: the new one, with the attributes of the original. */
static int record_loss(const struct copy *copy, const struct record *record,
                       const struct plan_variable *variable, hid_t dataset) {
  static const char named[] = "quantization";
  static const char absolute[] = "quantization_maximum_absolute_error";
  static const char relative[] = "quantization_maximum_relative_error";
  bool const is_relative = variable->bound.mode == SZGPU_MODE_PWREL;
  bool const is_own = dtype_is_integer(variable->dtype) || hdf5_has_attribute(dataset, named) ||
                      hdf5_has_attribute(dataset, is_relative ? relative : absolute);
  const char *const name = is_own && is_relative ? "szgpu_maximum_relative_error"
                           : is_own              ? "szgpu_maximum_absolute_error"
                           : is_relative         ? relative
                                                 : absolute;
  if (hdf5_has_attribute(dataset, name)) H5Adelete(dataset, name); /* of an earlier loss */
  double const error = is_relative ? variable->bound.value : variable->absolute_bound;
  bool const is_written =
      (is_own || !record->is_cf || hdf5_write_text(dataset, named, record->variable, false)) &&
      hdf5_write_real(dataset, name, error);
  return is_written ? CODE_OK : copy_fail_to_write(copy, variable->path);
}

/* A single character without a value, as CF's example has it. */
static bool write_variable(const struct copy *copy, const struct record *record) {
  char implementation[64];
  hid_t const type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_attr_creation_order(properties, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  hid_t const dataset =
      H5Dcreate2(copy->out, record->variable, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  snprintf(implementation, sizeof implementation, "szgpu version %s", szgpu_version());
  bool const is_written = dataset >= 0 && hdf5_write_text(dataset, "algorithm", "szgpu", false) &&
                          hdf5_write_text(dataset, "implementation", implementation, false);
  if (dataset >= 0) H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
  H5Tclose(type);
  return is_written;
}

int record_end(const struct copy *copy, const struct record *record, const struct plan *plan) {
  for (size_t i = 0; i < plan->count && !record->is_of_restored; i++) {
    const struct plan_variable *const variable = &plan->variables[i];
    if (!loses(variable)) continue;
    hid_t const dataset = H5Dopen2(copy->out, variable->path, H5P_DEFAULT);
    int const code = dataset >= 0 ? record_loss(copy, record, variable, dataset)
                                  : copy_fail_to_write(copy, variable->path);
    if (dataset >= 0) H5Dclose(dataset);
    if (code != CODE_OK) return code;
  }
  if (!record->is_cf || !record->is_needed) return CODE_OK;
  if (!record->is_of_restored && !write_variable(copy, record))
    return copy_fail_to_write(copy, record->variable);
  hid_t const root = H5Gopen2(copy->out, "/", H5P_DEFAULT);
  int code = CODE_OK;
  if (!hdf5_has_attribute(root, history)) code = write_history(copy, record, root, NULL, false);
  H5Gclose(root);
  return code;
}
