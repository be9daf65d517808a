/* check.c - szgpu --test: restores archives in memory, a part at a time, and writes nothing.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "archive.h"
#include "file_names.h"
#include "input.h"
#include "job.h"
#include "memory.h"
#include "text.h"
#include "values.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

enum {
  PART_BYTES = 16 << 20, /* of the field; or a frame, if that is more, */
  MOST_PARTS = 64        /* or this share: each call reads the header, with a word for each frame */
};

struct check {
  const struct job *job;
  const char *name; /* of the archive, as messages show it */
  struct input archive;
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
  return szgpu_decompress_slab(work->job->ctx, work->archive.bytes, work->archive.byte_count,
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
  progress_begin(job->progress, "testing", work->name);
  szgpu_status status = memory_limit_ctx(job->ctx);
  for (uint64_t row = 0; status == SZGPU_OK && row < row_count; row += part_rows)
    status = restore_part(work, row, part_rows < row_count - row ? part_rows : row_count - row);
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
            words_for_dims(&info->shape).text, words_for_bytes(info->field_bytes).text,
            work->seconds, gigabytes_per_second(info->field_bytes, work->seconds));
}

static void print_json(const struct check *work) {
  struct json json = report_json(&work->job->report);
  json_info(&json, &work->info);
  json_real(&json, "seconds", work->seconds);
  json_real(&json, "gb_per_s", gigabytes_per_second(work->info.field_bytes, work->seconds));
  json_count(&json, "exit_code", CODE_OK);
  json_end(&json);
}

static int test_archive(const struct job *job) {
  const struct report *report = &job->report;
  struct check work = {.job = job, .name = shown_input(report->file), .archive = INPUT_NONE};
  int code = input_open(report, report->file, &work.archive);
  if (code == CODE_OK) code = input_load(report, &work.archive, archive_wanted_bytes, NULL);
  if (code == CODE_OK)
    code = inspect_whole_archive(report, work.name, work.archive.bytes, work.archive.byte_count,
                                 &work.info);
  if (code == CODE_OK)
    code = archive_check_decoder(report, &job->options->context, work.name, &work.info);
  if (code == CODE_OK) code = restore_parts(&work);
  if (code == CODE_OK && !report->is_quiet) report->is_json ? print_json(&work) : print_line(&work);
  memory_give_back(&work.part);
  input_close(&work.archive);
  return code;
}

static int by_name(const FTSENT **a, const FTSENT **b) {
  return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int report_search(const struct report *report, const char *name, int error_number) {
  if (error_number != ENOMEM) return report_errno(report, name, "read", error_number);
  return report_failure(report, CODE_RESOURCE, name,
                        "out of memory: its files cannot be listed; free some memory or name them "
                        "one by one");
}

/* Links to archives are tested, links to folders are not followed. */
static int test_entry(struct job *job, const FTSENT *entry, uint64_t *archive_count) {
  job->report.file = entry->fts_path;
  switch (entry->fts_info) {
    case FTS_F:
    case FTS_SL:
    case FTS_SLNONE:
      if (!has_extension(entry->fts_name, ".szg")) return CODE_OK;
      ++*archive_count;
      return test_archive(job);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
      return report_search(&job->report, entry->fts_path, entry->fts_errno);
    default: /* a folder, before or after its files, or something that is no file */
      return CODE_OK;
  }
}

static int test_folder(const struct job *job) {
  const struct report *report = &job->report;
  struct job of_entry = *job;
  char *const roots[] = {(char *)(uintptr_t)report->file, NULL};
  uint64_t archive_count = 0;
  int worst = CODE_OK;
  FTS *const search = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
  if (!search) return report_search(report, report->file, errno);
  errno = 0;
  for (FTSENT *entry = fts_read(search); entry; entry = fts_read(search)) {
    int const code = test_entry(&of_entry, entry, &archive_count);
    if (code > worst) worst = code;
    errno = 0;
  }
  if (errno != 0) {
    int const code = report_search(report, report->file, errno);
    if (code > worst) worst = code;
  }
  fts_close(search);
  if (worst == CODE_OK && archive_count == 0)
    return report_failure(report, CODE_IO, report->file,
                          "is a folder without archives; name one with files in .szg");
  return worst;
}

int test_file(const struct job *job) {
  const char *name = job->report.file;
  struct stat status;
  bool const is_folder =
      strcmp(name, "-") != 0 && stat(name, &status) == 0 && S_ISDIR(status.st_mode);
  return is_folder ? test_folder(job) : test_archive(job);
}
