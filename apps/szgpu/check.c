/* check.c - szgpu --test: restores archives in memory, a part at a time, and writes nothing.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "archive.h"
#include "file_names.h"
#include "input.h"
#include "job.h"
#include "memory.h"
#include "series_input.h"
#include "text.h"
#include "values.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
  PART_BYTES = 16 << 20, /* of the field; or a frame, if that is more, */
  MOST_PARTS = 64        /* or this share: each call reads the header, with a word for each frame */
};

struct check {
  const struct job *job;
  const char *name; /* of the archive, as messages show it */
  const struct input *archive;
  struct memory part;
  szgpu_info info;
  double seconds;
};

/* Rows of dims[0] to restore at once: whole frames, because a call on a part of a frame may skip
 * the rest of it. Frames of a field with one such row are parts of that row. */
static uint64_t rows_of_part(const szgpu_info *info) {
  uint64_t const row_count = info->shape.dims[0];
  if (row_count == 1 || info->frame_count <= 1) return row_count;
  uint64_t const frame_bytes = info->field_bytes / row_count * info->frame_rows;
  uint64_t const by_size = PART_BYTES / frame_bytes;
  uint64_t const by_count = info->frame_count / MOST_PARTS + 1;
  uint64_t const frames = by_size > by_count ? by_size : by_count;
  return frames < info->frame_count ? frames * info->frame_rows : row_count;
}

static szgpu_status restore_part(const struct check *work, uint64_t first_row, uint64_t row_count) {
  uint64_t const row_bytes = work->info.field_bytes / work->info.shape.dims[0];
  return szgpu_decompress_slab(work->job->ctx, work->archive->bytes, work->archive->byte_count,
                               first_row, row_count, work->part.bytes,
                               (size_t)(row_count * row_bytes));
}

static int restore_parts(struct check *work) {
  const struct job *job = work->job;
  uint64_t const row_count = work->info.shape.dims[0];
  uint64_t const part_rows = rows_of_part(&work->info);
  uint64_t const part_bytes = work->info.field_bytes / row_count * part_rows;
  work->part = memory_take(part_bytes);
  if (!work->part.bytes)
    return report_out_of_memory(&job->report, work->name, "the restored field", part_bytes);
  progress_begin(job->progress, &job->report, "testing", work->name, work->info.field_bytes);
  szgpu_status status = memory_limit_ctx(job->ctx);
  for (uint64_t row = 0; status == SZGPU_OK && row < row_count; row += part_rows) {
    uint64_t const rows = part_rows < row_count - row ? part_rows : row_count - row;
    progress_part(job->progress, (double)row / (double)row_count, (double)rows / (double)row_count);
    status = restore_part(work, row, rows);
  }
  work->seconds = progress_end(job->progress);
  if (status != SZGPU_OK) return report_status(&job->report, work->name, status, job->ctx);
  report_note(&job->report, job->ctx, job->is_note_told);
  return CODE_OK;
}

static void print_line(const struct check *work) {
  const szgpu_info *info = &work->info;
  FILE *out = work->job->report.out;
  print_name(out, work->name);
  fputs(": OK\n", out);
  if (work->job->report.is_verbose)
    fprintf(out, "  %s %s, %s, %.3g s, %.3g GB/s\n", words_for_dtype(info->shape.dtype),
            info_is_of_empty_file(info) ? "0" : words_for_dims(&info->shape).text,
            words_for_bytes(info_value_bytes(info)).text, work->seconds,
            gigabytes_per_second(info_value_bytes(info), work->seconds));
}

static void print_json(const struct check *work) {
  struct json json = report_json(&work->job->report);
  json_info(&json, &work->info);
  json_real(&json, "seconds", work->seconds);
  json_real(&json, "gb_per_s", gigabytes_per_second(info_value_bytes(&work->info), work->seconds));
  json_count(&json, "exit_code", CODE_OK);
  json_end(&json);
}

/* An archive that is loaded. */
static int check_archive(struct check *work) {
  const struct job *const job = work->job;
  const struct report *const report = &job->report;
  int code = inspect_whole_archive(report, work->name, work->archive->bytes,
                                   work->archive->byte_count, &work->info);
  if (code == CODE_OK)
    code = archive_check_decoder(report, &job->options->context, work->name, &work->info);
  if (code == CODE_OK) code = restore_parts(work);
  memory_give_back(&work->part);
  return code;
}

static int check_one(const struct job *job, struct input *archive) {
  struct check work = {.job = job, .name = shown_input(job->report.file), .archive = archive};
  int code = input_load(&job->report, archive, archive_wanted_bytes, NULL);
  if (code == CODE_OK) code = check_archive(&work);
  if (code == CODE_OK && !job->report.is_quiet)
    job->report.is_json ? print_json(&work) : print_line(&work);
  return code;
}

/* A series is OK if all its steps are, and its end; only what is wrong is told of each. */
static int check_series(struct series_input *series) {
  const struct report *const report = &series->job->report;
  int worst = CODE_OK;
  for (uint64_t index = series->first; index < series->end; index++) {
    struct step_view view;
    struct check work = {.job = series->job, .name = view.name, .archive = &view.archive};
    int code = series_input_view(series, index, &view);
    if (code == CODE_OK) code = check_archive(&work);
    if (code > worst) worst = code;
  }
  int const end = series_input_end(series);
  if (end > worst) worst = end;
  if (worst != CODE_OK || report->is_quiet) return worst;
  if (report->is_json) {
    struct json json = report_json(report);
    json_count(&json, "first_step", series->first);
    json_count(&json, "step_count", series->end - series->first);
    json_count(&json, "exit_code", CODE_OK);
    json_end(&json);
  } else {
    print_name(report->out, series->name);
    fprintf(report->out, ": OK, %" PRIu64 " of %" PRIu64 " steps\n", series->end - series->first,
            series->count);
  }
  return CODE_OK;
}

static int test_archive(const struct job *job) {
  return work_on_input(job, check_one, check_series);
}

/* What a search of folders needs: each file is tested with its own name in the report. */
struct search {
  struct job job;
  uint64_t archive_count;
};

static int test_folder(struct search *search, const char *folder);

static int report_search(struct search *search, const char *name, int error_number) {
  struct report *const report = &search->job.report;
  report->file = name;
  if (error_number != ENOMEM) return report_errno(report, name, "read", error_number);
  return report_failure(report, CODE_RESOURCE, name,
                        "out of memory: its files cannot be listed; free some memory or name them "
                        "one by one");
}

/* Links to archives are tested, links to folders are not followed. */
static int test_entry(struct search *search, const char *name) {
  struct stat status;
  search->job.report.file = name;
  if (lstat(name, &status) != 0) return report_search(search, name, errno);
  if (S_ISDIR(status.st_mode)) return test_folder(search, name);
  bool const is_file = S_ISREG(status.st_mode) || S_ISLNK(status.st_mode);
  bool const is_archive = has_extension(name, ".szg") || has_extension(name, ".szgs");
  if (!is_file || !is_archive) return CODE_OK;
  search->archive_count++;
  return test_archive(&search->job);
}

static int test_entry_of(struct search *search, const char *folder, const char *entry) {
  size_t const folder_chars = strlen(folder);
  bool const has_slash = folder_chars > 0 && folder[folder_chars - 1] == '/';
  size_t const capacity = folder_chars + strlen(entry) + sizeof "/";
  char *const name = malloc(capacity);
  if (!name) return report_search(search, folder, ENOMEM);
  snprintf(name, capacity, "%s%s%s", folder, has_slash ? "" : "/", entry);
  int const code = test_entry(search, name);
  free(name);
  return code;
}

static int is_listed(const struct dirent *entry) {
  return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int test_folder(struct search *search, const char *folder) {
  struct dirent **entries;
  int worst = CODE_OK;
  search->job.report.file = folder;
  int const count = scandir(folder, &entries, is_listed, alphasort);
  if (count < 0) return report_search(search, folder, errno);
  for (int i = 0; i < count; i++) {
    int const code = test_entry_of(search, folder, entries[i]->d_name);
    if (code > worst) worst = code;
    free(entries[i]);
  }
  free(entries);
  return worst;
}

int test_file(const struct job *job) {
  const char *name = job->report.file;
  struct stat status;
  bool const is_folder =
      strcmp(name, "-") != 0 && stat(name, &status) == 0 && S_ISDIR(status.st_mode);
  if (!is_folder) return test_archive(job);
  struct search search = {.job = *job};
  int const worst = test_folder(&search, name);
  if (worst == CODE_OK && search.archive_count == 0)
    return report_failure(&job->report, CODE_IO, name,
                          "is a folder without archives; name one with files in .szg or .szgs");
  return worst;
}
