/* hdf5_verify.c - reads a new file back, before it gets its name, and compares it with the old one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_verify.h"

#include "hdf5_references.h"
#include "hdf5_same.h"
#include "hdf5_stored.h"
#include "hdf5_words.h"

#include <inttypes.h>
#include <string.h>

static int judge(const struct copy *copy, const struct squeeze_work *work) {
  const struct difference *const difference = &work->difference;
  struct plan_name const name = plan_name_of(copy->name, work->variable->path);
  if (difference->wrong_count == 0) return CODE_OK;
  return report_failure(copy->report, CODE_BOUND, name.text,
                        "%" PRIu64
                        " values exceed the bound, by up to %.3g times the bound, or are missing "
                        "in one file alone, so the new file was not written; please report this, "
                        "unless something wrote to the old one meanwhile",
                        difference->wrong_count, difference->most_over_bound);
}

/* What is expected of it: of one that was restored, the restored values. */
static struct plan_variable expected(const struct squeeze *squeeze,
                                     const struct plan_variable *variable) {
  struct plan_variable own = *variable;
  if (squeeze->job->options->command == COMMAND_UNPACK) own.bound.mode = SZGPU_MODE_LOSSLESS;
  return own;
}

static bool is_as_planned(const struct squeeze *squeeze, const struct plan_variable *variable,
                          hid_t after, const struct plan_variable *there) {
  struct filter_use use = {.is_known = false};
  bool const is_packed = hdf5_find_filter(after, &use);
  bool const is_wanted = squeeze->job->options->command == COMMAND_REPACK;
  return is_packed == is_wanted && there->is_number && there->dtype == variable->dtype &&
         there->rank == variable->rank &&
         memcmp(there->dims, variable->dims, sizeof there->dims) == 0;
}

/* The chunks of the new dataset are those that both are read in. */
static int compare(const struct copy *copy, struct squeeze *squeeze,
                   const struct plan_variable *variable, hid_t before, hid_t after) {
  struct hdf5_sentence why;
  szgpu_params const defaults = SZGPU_PARAMS_DEFAULTS;
  struct plan_variable const own = expected(squeeze, variable);
  struct plan_variable there = {.object = variable->object, .path = variable->path};
  struct squeeze_work work = {.kind = SQUEEZE_COMPARE,
                              .variable = &own,
                              .params = defaults,
                              .shape = {variable->dtype, 1, {1}},
                              .out = H5I_INVALID_HID,
                              .fills = variable->about.fills};
  plan_read_dataset(after, &there);
  memcpy(work.chunk, there.chunk, sizeof work.chunk);
  const char *const path = plan_name_of(copy->name, variable->path).text;
  for (int axis = 0; axis < there.rank; axis++) work.shape.dims[0] *= there.chunk[axis];
  if (!is_as_planned(squeeze, variable, after, &there))
    return copy_fail_as_other(copy, variable->path);
  if (!pieces_open(&own, before, &work.source, &why))
    return report_failure(copy->report, CODE_IO, path, "%s", why.text);
  int code = CODE_OK;
  if (!pieces_open(&there, after, &work.other, &why))
    code = copy_fail_as_other(copy, variable->path);
  if (code == CODE_OK && own.raw_bytes > 0) code = squeeze_run(squeeze, &work);
  if (code == CODE_OK) code = judge(copy, &work);
  pieces_close(&work.other);
  pieces_close(&work.source);
  return code;
}

static bool has_chunks(hid_t dataset) {
  hid_t const properties = H5Dget_create_plist(dataset);
  bool const is_chunked = H5Pget_layout(properties) == H5D_CHUNKED;
  H5Pclose(properties);
  return is_chunked;
}

static int check_dataset(const struct copy *copy, struct squeeze *squeeze,
                         const struct plan_variable *variable) {
  hid_t const before = H5Dopen2(copy->in, variable->path, H5P_DEFAULT);
  hid_t const after = H5Dopen2(copy->out, variable->path, H5P_DEFAULT);
  hid_t const type = before >= 0 ? H5Dget_type(before) : H5I_INVALID_HID;
  int code;
  if (before < 0)
    code = copy_fail_to_read(copy, variable->path);
  else if (after < 0)
    code = copy_fail_as_other(copy, variable->path);
  else if (variable->is_compressed)
    code = compare(copy, squeeze, variable, before, after);
  else if (has_chunks(before) && !copy_type_has_places(type))
    code = copy_chunks(copy, variable->path, before, after);
  else
    code = copy_values(copy, variable->path, before, after);
  if (type >= 0) H5Tclose(type);
  if (after >= 0) H5Dclose(after);
  if (before >= 0) H5Dclose(before);
  return code;
}

int verify_copy(struct copy *copy, struct squeeze *squeeze, const struct plan *plan) {
  int code = CODE_OK;
  for (size_t i = 0; i < copy->tree->object_count && code == CODE_OK; i++)
    code = copy_what_belongs(copy, i);
  for (size_t i = 0; i < plan->count && code == CODE_OK; i++)
    code = check_dataset(copy, squeeze, &plan->variables[i]);
  return code;
}
