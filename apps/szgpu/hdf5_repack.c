/* hdf5_repack.c - szgpu --repack and --unpack on an HDF5 file, and -l of one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "hdf5_repack.h"

#include "hdf5_archive.h"
#include "hdf5_netcdf.h"
#include "hdf5_pack.h"
#include "hdf5_reading.h"
#include "hdf5_record.h"
#include "hdf5_same.h"
#include "hdf5_stored.h"
#include "hdf5_table.h"
#include "hdf5_verify.h"
#include "hdf5_words.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct repack {
  const struct job *job;
  const char *name; /* of the file that is read, for messages */
  const struct repack_files *files;
  hid_t in, like;
  struct tree tree;
  struct plan plan;
  struct squeeze squeeze;
  struct record record;
};

static int open_file(const struct report *report, const char *name, const char *path, hid_t *file) {
  *file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (*file >= 0) return CODE_OK;
  int const error_number = hdf5_last_errno();
  if (error_number && error_number != EAGAIN)
    return report_errno(report, name, "read", error_number);
  if (error_number)
    return report_failure(report, CODE_IO, name,
                          "is locked: another program writes to it; wait until that has ended");
  struct hdf5_sentence const reason = hdf5_last_failure();
  return report_failure(report, CODE_IO, name,
                        "cannot be read (HDF5 says: %s); check it with h5ls -r", reason.text);
}

static int make_plan(struct repack *repack, struct bounds *bounds) {
  const struct options *const options = repack->job->options;
  const struct report *const report = &repack->job->report;
  szgpu_mode const mode = options->params.mode;
  bool const has_rest = options->has_bound || mode == SZGPU_MODE_LOSSLESS;
  struct plan_rules rules = {.bounds = bounds,
                             .has_rest = has_rest,
                             .rest = {.mode = mode, .value = options->params.bound},
                             .like = H5I_INVALID_HID,
                             .is_classic = repack->files->is_classic};
  int code = CODE_OK;
  if (options->command == COMMAND_UNPACK)
    return plan_restore(report, repack->name, repack->in, &repack->tree, &repack->plan);
  if (options->like) code = open_file(report, options->like, options->like, &repack->like);
  rules.like = repack->like;
  if (code == CODE_OK)
    code = plan_make(report, repack->name, repack->in, &repack->tree, &rules, &repack->plan);
  return code;
}

static struct plan_variable *find_variable(const struct plan *plan, size_t object) {
  size_t first = 0, end = plan->count;
  while (end - first > 1) {
    size_t const middle = first + (end - first) / 2;
    *(plan->variables[middle].object <= object ? &first : &end) = middle;
  }
  return &plan->variables[first];
}

static int make(struct copy *copy, size_t index, hid_t link_properties, bool *is_made) {
  struct repack *const repack = copy->user;
  struct plan_variable *const variable = find_variable(&repack->plan, index);
  *is_made = false;
  if (!variable->is_compressed) return CODE_OK;
  if (repack->job->options->command == COMMAND_UNPACK) {
    *is_made = true;
    return pack_restore(copy, &repack->squeeze, variable, link_properties);
  }
  return pack_dataset(copy, &repack->squeeze, variable, link_properties, is_made);
}

static void prepare(const struct copy *copy, size_t index, hid_t dataset, hid_t properties) {
  const struct repack *const repack = copy->user;
  if (find_variable(&repack->plan, index)->lacks_fill) netcdf_give_fill(dataset, properties);
}

static bool replace(struct copy *copy, size_t index, hid_t out_object, const char *attribute,
                    int *code) {
  const struct repack *const repack = copy->user;
  return record_replace(copy, &repack->record, index, out_object, attribute, code);
}

static int estimate_all(struct repack *repack) {
  int code = CODE_OK;
  for (size_t i = 0; i < repack->plan.count && code == CODE_OK; i++)
    if (repack->plan.variables[i].is_compressed)
      code = pack_estimate(repack->in, &repack->squeeze, &repack->plan.variables[i]);
  return code;
}

/* What stands before HDF5's part of a file belongs to other programs. */
static int copy_user_block(const struct repack *repack) {
  const char *const out_path = repack->files->out;
  const struct report *const report = &repack->job->report;
  unsigned char bytes[4096]; /* the sizes of blocks are powers of two, of 512 at least */
  hsize_t left = 0;
  hid_t const properties = H5Fget_create_plist(repack->in);
  H5Pget_userblock(properties, &left);
  H5Pclose(properties);
  if (left == 0) return CODE_OK;
  FILE *const from = fopen(repack->files->in, "rb"), *const to = fopen(out_path, "r+b");
  bool is_read = from != NULL, is_written = to != NULL;
  while (left > 0 && is_read && is_written) {
    size_t const part = left < sizeof bytes ? (size_t)left : sizeof bytes;
    is_read = fread(bytes, 1, part, from) == part;
    is_written = is_read && fwrite(bytes, 1, part, to) == part;
    left -= part;
  }
  int const error_number = errno;
  if (from) fclose(from);
  bool const is_closed = !to || fclose(to) == 0;
  if (!is_read) return report_errno(report, repack->name, "read", error_number);
  if (is_written && is_closed) return CODE_OK;
  return report_errno(report, repack->job->options->output, "written", errno);
}

static struct copy begin_copy(struct repack *repack) {
  return (struct copy){.report = &repack->job->report,
                       .name = repack->name,
                       .out_name = repack->job->options->output,
                       .in = repack->in,
                       .tree = &repack->tree,
                       .user = repack};
}

static int copy_all(struct repack *repack) {
  const struct options *const options = repack->job->options;
  struct copy copy = begin_copy(repack);
  copy.make = make;
  copy.prepare = prepare;
  copy.replace = replace;
  record_begin(repack->in, options->command_line, &repack->plan, options->command == COMMAND_UNPACK,
               &repack->record);
  copy.out = copy_create_file(repack->in, repack->files->out);
  int code = copy.out >= 0 ? CODE_OK : copy_fail_to_write(&copy, "created");
  if (code == CODE_OK) code = copy_tree(&copy);
  if (code == CODE_OK) code = record_end(&copy, &repack->record, &repack->plan);
  bool const is_closed = copy.out < 0 || H5Fclose(copy.out) >= 0;
  if (!is_closed && code == CODE_OK) code = copy_fail_to_write(&copy, "closed");
  copy_free(&copy);
  return code == CODE_OK ? copy_user_block(repack) : code;
}

/* Attributes that are not what they were: the history, and the bounds of earlier losses. */
static bool is_replaced(struct copy *copy, size_t index, hid_t out_object, const char *attribute,
                        int *code) {
  static const char own[] = "szgpu_maximum_";
  (void)copy, (void)out_object, (void)code;
  return (index == 0 && strcmp(attribute, "history") == 0) ||
         strncmp(attribute, own, sizeof own - 1) == 0;
}

static int verify(struct repack *repack) {
  struct copy copy = begin_copy(repack);
  copy.is_check = true;
  copy.replace = is_replaced;
  repack->squeeze.done_bytes = 0;
  progress_begin(repack->job->progress, copy.report, "verifying", repack->name,
                 repack->squeeze.total_bytes);
  copy.out = H5Fopen(repack->files->out, H5F_ACC_RDONLY, H5P_DEFAULT);
  int const code = copy.out >= 0 ? verify_copy(&copy, &repack->squeeze, &repack->plan)
                                 : copy_fail_as_other(&copy, "/");
  if (copy.out >= 0) H5Fclose(copy.out);
  return code;
}

static void sum_up(const struct plan *plan, struct repack_total *total) {
  *total = (struct repack_total){.dataset_count = plan->count};
  for (size_t i = 0; i < plan->count; i++) {
    const struct plan_variable *const variable = &plan->variables[i];
    if (!variable->is_compressed) continue;
    total->compressed_count++;
    total->raw_bytes += variable->raw_bytes;
    total->written_bytes += variable->written_bytes;
  }
}

static int run(struct repack *repack) {
  const struct job *const job = repack->job;
  bool const is_dry = job->options->is_dry, restores = job->options->command == COMMAND_UNPACK;
  const char *const verb = is_dry ? "estimating" : restores ? "restoring" : "compressing";
  int code = squeeze_open(job, repack->name, &repack->squeeze);
  for (size_t i = 0; i < repack->plan.count; i++)
    if (repack->plan.variables[i].is_compressed)
      repack->squeeze.total_bytes += repack->plan.variables[i].raw_bytes;
  progress_begin(job->progress, &job->report, verb, repack->name, repack->squeeze.total_bytes);
  if (code == CODE_OK) code = is_dry ? estimate_all(repack) : copy_all(repack);
  progress_end(job->progress);
  if (code == CODE_OK && job->options->is_verified && !is_dry) {
    code = verify(repack);
    progress_end(job->progress);
  }
  squeeze_close(&repack->squeeze);
  return code;
}

/* ---- -l ---- */

static void describe(hid_t file, struct plan_variable *variable) {
  hid_t const dataset = H5Dopen2(file, variable->path, H5P_DEFAULT);
  if (dataset < 0) return;
  (void)plan_read_archives(dataset, variable); /* what is not known is shown so */
  H5Dclose(dataset);
}

static int list_all(struct repack *repack) {
  const struct report *const report = &repack->job->report;
  const struct tree *const tree = &repack->tree;
  struct plan *const plan = &repack->plan;
  struct repack_total total;
  plan->variables = calloc(tree->object_count + 1, sizeof *plan->variables);
  if (!plan->variables)
    return report_out_of_memory(report, repack->name, "the list of its datasets",
                                tree->object_count);
  for (size_t i = 0; i < tree->object_count; i++) {
    if (tree->objects[i].type != H5O_TYPE_DATASET) continue;
    plan->variables[plan->count] =
        (struct plan_variable){.object = i, .path = tree->objects[i].path};
    describe(repack->in, &plan->variables[plan->count++]);
  }
  if (report->is_quiet) return CODE_OK;
  sum_up(plan, &total);
  if (report->is_json) {
    struct json json = report_json(report);
    table_print_json(plan, repack->in, &json);
    json_count(&json, "exit_code", CODE_OK);
    json_end(&json);
    return CODE_OK;
  }
  print_name(report->out, repack->name);
  fprintf(report->out, "\n  HDF5     %llu dataset%s, %llu by szgpu",
          (unsigned long long)total.dataset_count, total.dataset_count == 1 ? "" : "s",
          (unsigned long long)total.compressed_count);
  if (total.written_bytes > 0)
    fprintf(report->out, "  ratio %.2f  %s -> %s",
            (double)total.raw_bytes / (double)total.written_bytes,
            words_for_bytes(total.raw_bytes).text, words_for_bytes(total.written_bytes).text);
  fputc('\n', report->out);
  table_print(plan, "", repack->in, report->out);
  return CODE_OK;
}

static void close_all(struct repack *repack) {
  plan_free(&repack->plan);
  tree_free(&repack->tree);
  if (repack->like >= 0) H5Fclose(repack->like);
  if (repack->in >= 0) H5Fclose(repack->in);
}

int hdf5_list(const struct job *job) {
  struct repack repack = {
      .job = job, .name = job->report.file, .in = H5I_INVALID_HID, .like = H5I_INVALID_HID};
  hdf5_silence();
  int code = open_file(&job->report, repack.name, repack.name, &repack.in);
  if (code == CODE_OK) code = tree_read(&job->report, repack.name, repack.in, &repack.tree);
  if (code == CODE_OK) code = list_all(&repack);
  close_all(&repack);
  return code;
}

/* ---- --repack and --unpack ---- */

int hdf5_repack(const struct job *job, const struct repack_files *files, struct bounds *bounds,
                const struct repack_end *end, struct json *json, struct repack_total *total) {
  const struct options *const options = job->options;
  struct repack repack = {.job = job,
                          .name = job->report.file,
                          .files = files,
                          .in = H5I_INVALID_HID,
                          .like = H5I_INVALID_HID};
  H5dont_atexit(); /* a file that could not be written is still open then, and HDF5 would crash */
  hdf5_silence();
  int code = archive_register_filter()
                 ? open_file(&job->report, repack.name, files->in, &repack.in)
                 : report_failure(&job->report, CODE_RESOURCE, repack.name,
                                  "cannot be read: HDF5 takes no filter; please report this");
  if (code == CODE_OK) code = tree_read(&job->report, repack.name, repack.in, &repack.tree);
  if (code == CODE_OK) code = make_plan(&repack, bounds);
  if (code == CODE_OK) code = run(&repack);
  if (code == CODE_OK) code = end->finish(end->user);
  sum_up(&repack.plan, total);
  bool const is_told = code == CODE_OK && !options->is_quiet;
  if (is_told && options->is_json) {
    *json = report_json(&job->report);
    table_print_json(&repack.plan, repack.in, json);
  } else if (is_told && (options->is_dry || options->is_verbose)) {
    table_print(&repack.plan, "copied", repack.in, job->report.out);
  }
  close_all(&repack);
  return code;
}
