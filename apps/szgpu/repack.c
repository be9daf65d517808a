/* repack.c - szgpu --repack and --unpack: whole files of HDF5 or netCDF, compressed and back.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "archive.h"
#include "classic.h"
#include "dataset.h"
#include "hdf5_dataset.h"
#include "hdf5_repack.h"
#include "input.h"
#include "job.h"
#include "links.h"
#include "output.h"
#include "text.h"
#include "warnings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct repacking {
  const struct job *job;
  struct input input;
  bool is_classic;
  struct output output, copy; /* copy: of a classic file, as netCDF-4 */
  struct bounds bounds;
  struct warnings warnings;
  struct repack_total total;
  uint64_t out_bytes;
  double seconds;
};

enum { HEAD_BYTES = 1 << 16 };

static uint64_t want_head(const struct input *input, const void *unused) {
  (void)unused;
  return input->byte_count >= HEAD_BYTES ? 0 : UINT64_MAX;
}

/* HDF5's signature may come after a block of any size, so only HDF5 can tell that there is none. */
static int check_input(struct repacking *work) {
  const struct report *const report = &work->job->report;
  const char *const name = work->input.name;
  if (!S_ISREG(work->input.status.st_mode))
    return report_failure(report, CODE_USAGE, name,
                          "is not a file, which HDF5 needs; save it as one first");
  if (work->input.status.st_size == 0)
    return report_failure(report, CODE_USAGE, name,
                          "is empty, not a file of HDF5 or netCDF; check the name");
  int const code = input_load_head(report, &work->input, want_head, NULL);
  if (code != CODE_OK) return code;
  enum container const container = container_of_bytes(work->input.bytes, work->input.byte_count);
  bool const is_short = (uint64_t)work->input.status.st_size <= HEAD_BYTES;
  bool const is_classic = container == CONTAINER_NETCDF && hdf5_is_there();
  if (is_classic && work->job->options->command == COMMAND_UNPACK)
    return report_failure(
        report, CODE_USAGE, name,
        "is a netCDF file in the classic format, which holds no archives; there is "
        "nothing to unpack");
  work->is_classic = is_classic;
  if (work->is_classic) return classic_check(report, &work->input);
  if (container == CONTAINER_NONE && is_short)
    return report_failure(report, CODE_USAGE, name,
                          "is not a file of HDF5 or netCDF; use szgpu -z for other files");
  return CODE_OK;
}

static int open_output(struct repacking *work) {
  const struct options *const options = work->job->options;
  const struct report *const report = &work->job->report;
  if (options->is_dry) return CODE_OK;
  struct taken_file const taken = {work->input.name, &work->input.status};
  int const code =
      output_open(report, options->output, options->is_forced, &taken, 1, &work->output);
  if (code != CODE_OK || output_is_file(&work->output)) return code;
  return report_failure(report, CODE_USAGE, options->output,
                        "is not a file, which HDF5 needs; name a file");
}

/* Beside the output; of what is not written, in TMPDIR or /tmp. */
static int convert(struct repacking *work) {
  const struct report *const report = &work->job->report;
  char path[MOST_PATH_BYTES];
  const char *beside = work->output.target;
  if (!work->is_classic) return CODE_OK;
  if (!beside) {
    const char *const given = getenv("TMPDIR"), *const slash = strrchr(work->input.name, '/');
    snprintf(path, sizeof path, "%s/%s", given && *given ? given : "/tmp",
             slash ? slash + 1 : work->input.name);
    beside = path;
  }
  int const code = output_open_beside(report, beside, &work->copy);
  return code == CODE_OK ? classic_convert(report, &work->input, &work->copy) : code;
}

static bool restores(const struct repacking *work) {
  return work->job->options->command == COMMAND_UNPACK;
}

static double ratio_of(uint64_t before, uint64_t after) {
  return after ? (double)before / (double)after : 0;
}

static void print_line(const struct repacking *work) {
  const struct options *const options = work->job->options;
  FILE *const out = work->job->report.out;
  const struct repack_total *const total = &work->total;
  uint64_t const in_bytes = (uint64_t)work->input.status.st_size;
  print_name(out, work->input.name);
  if (!options->is_dry) {
    fputs(" -> ", out);
    print_name(out, options->output);
    if (!restores(work)) fprintf(out, "  ratio %.2f", ratio_of(in_bytes, work->out_bytes));
    fprintf(out, "  %s -> %s", words_for_bytes(in_bytes).text,
            words_for_bytes(work->out_bytes).text);
  }
  fprintf(out, "  %" PRIu64 " of %" PRIu64 " dataset%s %s", total->compressed_count,
          total->dataset_count, total->dataset_count == 1 ? "" : "s",
          restores(work) ? "restored" : "compressed");
  if (total->written_bytes > 0 && !restores(work))
    fprintf(out, "%s ratio %.2f", options->is_dry ? ", estimated" : ", their",
            ratio_of(total->raw_bytes, total->written_bytes));
  if (!options->is_dry)
    fprintf(out, "%s  %.3g GB/s", options->is_verified ? "  verified" : "",
            gigabytes_per_second(total->raw_bytes, work->seconds));
  fputc('\n', out);
}

static void finish_json(const struct repacking *work, struct json *json) {
  const struct options *const options = work->job->options;
  uint64_t const in_bytes = (uint64_t)work->input.status.st_size;
  if (!options->is_dry) {
    json_text(json, "output", options->output);
    json_count(json, "in_bytes", in_bytes);
    json_count(json, "out_bytes", work->out_bytes);
    if (!restores(work)) json_real(json, "ratio", ratio_of(in_bytes, work->out_bytes));
    json_bool(json, "is_verified", options->is_verified);
  }
  json_bool(json, "is_estimate", options->is_dry);
  json_count(json, "dataset_count", work->total.dataset_count);
  json_count(json, restores(work) ? "restored_count" : "compressed_count",
             work->total.compressed_count);
  json_real(json, "seconds", work->seconds);
  warnings_print_json(&work->warnings, json);
  json_count(json, "exit_code", CODE_OK);
  json_end(json);
}

/* When the new file is whole. */
static int finish_file(void *user) {
  struct repacking *const work = user;
  struct stat status;
  if (work->job->options->is_dry) return CODE_OK;
  if (fstat(work->output.descriptor, &status) == 0) work->out_bytes = (uint64_t)status.st_size;
  return output_commit(&work->job->report, &work->output);
}

static int run(struct repacking *work) {
  const struct job *const job = work->job;
  const struct report *const report = &job->report;
  const struct options *const options = job->options;
  struct json json;
  int code = input_open(report, report->file, &work->input);
  if (code == CODE_OK) code = check_input(work);
  if (code == CODE_OK && options->bounds_file)
    code = bounds_read(report, options->bounds_file, &work->bounds);
  if (code == CODE_OK && options->has_bound)
    code = warn_of_bound(report, work->input.name, &options->params, &work->warnings);
  if (code == CODE_OK) code = open_output(work);
  double const start = seconds_now();
  if (code == CODE_OK) code = convert(work);
  struct repack_end const end = {finish_file, work};
  struct repack_files const files = {
      .in = work->is_classic ? work->copy.temporary : work->input.name,
      .is_classic = work->is_classic,
      .out = work->output.temporary};
  if (code == CODE_OK) code = hdf5_repack(job, &files, &work->bounds, &end, &json, &work->total);
  work->seconds = seconds_now() - start;
  if (code != CODE_OK || report->is_quiet) return code;
  if (report->is_json)
    finish_json(work, &json);
  else
    print_line(work);
  return CODE_OK;
}

int repack_file(const struct job *job) {
  struct repacking work = {.job = job,
                           .input = INPUT_NONE,
                           .output = OUTPUT_NONE,
                           .copy = OUTPUT_NONE,
                           .bounds = job->options->bounds, /* this is the only file */
                           .warnings = {.count = 0}};
  int const code = run(&work);
  output_close(&work.output);
  output_close(&work.copy);
  input_close(&work.input);
  bounds_free(&work.bounds);
  free(job->options->command_line);
  return code;
}
