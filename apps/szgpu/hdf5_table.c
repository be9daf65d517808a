/* hdf5_table.c - prints what happens, or has happened, to each dataset of a file.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_table.h"

#include "text.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_NAME_CHARS = 40, DIMS_CHARS = 128 };

static const char *words_for_type(hid_t file, const struct plan_variable *variable) {
  if (variable->is_number) return words_for_dtype(variable->dtype);
  hid_t const dataset = H5Dopen2(file, variable->path, H5P_DEFAULT), type = H5Dget_type(dataset);
  H5T_class_t const class = H5Tget_class(type);
  H5Tclose(type);
  H5Dclose(dataset);
  switch (class) {
    case H5T_INTEGER:
      return "integer";
    case H5T_FLOAT:
      return "float";
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "compound";
    case H5T_ENUM:
      return "enum";
    case H5T_OPAQUE:
      return "opaque";
    case H5T_REFERENCE:
      return "reference";
    case H5T_VLEN:
    case H5T_ARRAY:
      return "array";
    default:
      return "other";
  }
}

static void print_dims(const struct plan_variable *variable, char text[DIMS_CHARS]) {
  size_t used = 0;
  text[0] = '\0';
  for (int axis = 0; axis < variable->rank && used < DIMS_CHARS - 24; axis++)
    used += (size_t)snprintf(text + used, DIMS_CHARS - used, "%s%" PRIu64, axis ? "x" : "",
                             (uint64_t)variable->dims[axis]);
  if (variable->rank == 0) snprintf(text, DIMS_CHARS, "-");
}

static double ratio_of(const struct plan_variable *variable) {
  return variable->written_bytes ? (double)variable->raw_bytes / (double)variable->written_bytes
                                 : 0;
}

static int name_chars(const struct plan *plan) {
  size_t most = 0;
  for (size_t i = 0; i < plan->count; i++) {
    size_t const chars = strlen(plan->variables[i].path);
    if (chars > most && chars <= MOST_NAME_CHARS) most = chars;
  }
  return (int)most;
}

void table_print(const struct plan *plan, const char *verb, hid_t file, FILE *out) {
  int const width = name_chars(plan);
  for (size_t i = 0; i < plan->count; i++) {
    const struct plan_variable *const variable = &plan->variables[i];
    char dims[DIMS_CHARS];
    int const chars = (int)strlen(variable->path);
    print_dims(variable, dims);
    fputs("  ", out);
    print_name(out, variable->path);
    fprintf(out, "%*s  %-8s %-14s ", chars < width ? width - chars : 0, "",
            words_for_type(file, variable), dims);
    fprintf(out, "%9s ", words_for_bytes(variable->raw_bytes).text);
    if (variable->is_compressed)
      fprintf(out, "-> %9s  ratio %-7.4g ", words_for_bytes(variable->written_bytes).text,
              ratio_of(variable));
    else
      fprintf(out, "%-25s ", verb);
    print_name(out, variable->why);
    if (variable->is_compressed && variable->bound.mode != SZGPU_MODE_LOSSLESS &&
        variable->bound.mode != SZGPU_MODE_PWREL && variable->absolute_bound > 0)
      fprintf(out, " (bound %.3g)", variable->absolute_bound);
    fputc('\n', out);
  }
}

void table_print_json(const struct plan *plan, hid_t file, struct json *json) {
  json_open(json, "datasets", '[');
  for (size_t i = 0; i < plan->count; i++) {
    const struct plan_variable *const variable = &plan->variables[i];
    uint64_t dims[H5S_MAX_RANK];
    for (int axis = 0; axis < variable->rank; axis++) dims[axis] = variable->dims[axis];
    json_open(json, NULL, '{');
    json_text(json, "name", variable->path);
    json_text(json, "type", words_for_type(file, variable));
    json_counts(json, "dims", dims, variable->rank);
    json_bool(json, "is_compressed", variable->is_compressed);
    json_text(json, "why", variable->why);
    json_count(json, "raw_bytes", variable->raw_bytes);
    json_count(json, "stored_bytes", variable->stored_bytes);
    if (variable->is_compressed) {
      json_text(json, "mode", words_for_mode(variable->bound.mode));
      json_real(json, "bound", variable->bound.value);
      json_real(json, "absolute_bound", variable->absolute_bound);
      json_count(json, "written_bytes", variable->written_bytes);
      json_real(json, "ratio", ratio_of(variable));
    }
    json_close(json, '}');
  }
  json_close(json, ']');
}
