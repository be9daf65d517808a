/* main.c - the szgpu command: works on the files of the command line one by one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "cleanup.h"
#include "ctxs.h"
#include "job.h"
#include "memory.h"
#include "series_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* If a standard descriptor is closed, an output file could get its number. So this puts /dev/null
 * there, opened the wrong way round: using it fails. */
static void hold_standard_descriptors(void) {
  static int const flags[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int descriptor = 0; descriptor < 3; descriptor++)
    if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF) {
      int const opened = open("/dev/null", flags[descriptor]); /* the lowest free one: descriptor */
      if (opened != descriptor) _exit(CODE_IO);
    }
}

typedef int (*file_work)(const struct job *job);

static file_work work_of_command(enum command command) {
  switch (command) {
    case COMMAND_COMPRESS:
      return compress_file;
    case COMMAND_RESTORE:
      return restore_file;
    case COMMAND_SWEEP:
      return sweep_file;
    case COMMAND_TEST:
      return test_file;
    case COMMAND_REPACK:
    case COMMAND_UNPACK:
      return repack_file;
    default:
      return list_file;
  }
}

/* Text that does not fit in the buffer fails when it is printed: this notes why. */
static void note_print_failure(FILE *out, int *error_number) {
  if (ferror(out) && !*error_number) *error_number = errno ? errno : EIO;
}

static int run_files(struct job *job, int *print_error) {
  const struct options *options = job->options;
  file_work const work = work_of_command(options->command);
  int worst = CODE_OK;
  for (int i = 0; i < options->file_count; i++) {
    job->report.file = options->files[i];
    int const code = work(job);
    if (code > worst) worst = code;
    note_print_failure(job->report.out, print_error);
  }
  return worst;
}

/* Printed text may still be in the buffer, and its disk may be full. Steps are in their series all
 * the same: an exit code would let them be appended once more. */
static int flush_report(const struct report *report, int print_error,
                        const struct series_output *series) {
  struct report after_files = *report;
  after_files.file = NULL;
  errno = 0;
  (void)fflush(report->out); /* sets what ferror tells */
  note_print_failure(report->out, &print_error);
  if (!print_error) return CODE_OK;
  if (!series->appended_steps)
    return report_errno(&after_files, "standard output", "written", print_error);
  fprintf(
      stderr,
      "szgpu: warning: standard output cannot be written: %s; steps appended all the same: %" PRIu64
      "; see szgpu -l\n",
      strerror(print_error), series->appended_steps);
  return CODE_OK;
}

int main(int argc, char **argv) {
  static char stderr_buffer[BUFSIZ];
  struct options options;
  int code;
  hold_standard_descriptors();
  setvbuf(stderr, stderr_buffer, _IOLBF, sizeof stderr_buffer); /* one write per sentence */
  if (!options_read(argc, argv, &options, &code)) {
    struct report const report = options_report(&options);
    int const flushed = flush_report(&report, 0, &(struct series_output){NULL, 0});
    return code > flushed ? code : flushed;
  }
  cleanup_install();
  if (options.memory)
    memory_set_limit(options.memory, "--memory");
  else
    memory_set_limit(options.context.memory_limit, "--memory-limit");
  bool const has_bar =
      options.progress == PROGRESS_AUTO && !options.is_json && isatty(STDERR_FILENO);
  bool const has_lines = options.progress == PROGRESS_JSON;
  struct progress progress = {.is_wanted = !options.is_quiet && (has_bar || has_lines)};
  bool is_note_told = false;
  struct series_output series = {NULL, 0};
  int print_error = 0;
  struct job job = {.options = &options,
                    .progress = &progress,
                    .is_note_told = &is_note_told,
                    .series = &series,
                    .report = options_report(&options)};
  struct ctxs ctxs = {.count = 0};
  code = options.command == COMMAND_LIST ? CODE_OK : ctxs_create(&options, &progress, &ctxs);
  job.ctx = ctxs.all[0];
  job.ctxs = ctxs.all;
  job.ctx_count = ctxs.count;
  if (code == CODE_OK) {
    code = run_files(&job, &print_error);
    series_output_close(&series);
  }
  ctxs_close(&ctxs);
  int const flushed = flush_report(&job.report, print_error, &series);
  return code > flushed ? code : flushed;
}
