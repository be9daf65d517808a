/* in_frames.c - fields that are compressed and restored frame by frame, in bounded memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "in_frames.h"

#include "archive.h"
#include "ctxs.h"
#include "file_stream.h"
#include "nameless.h"
#include "values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the way there ---- */

enum {
  HEAD_BYTES = 1 << 20, /* more than the header of a .npy file takes */
  WINDOW_SHARE = 4      /* of --memory: the most for rows of a dataset that are read at once */
};

static uint64_t wanted_head_of_field(const struct input *input, const void *unused) {
  (void)unused;
  return input->byte_count >= HEAD_BYTES ? 0 : UINT64_MAX;
}

/* Of a dataset that names more fill values than an archive has. */
static int look_for_fills(struct compression *work) {
  static double values[1 << 13]; /* of any type */
  szgpu_source const source = hdf5_rows_source(&work->rows);
  szgpu_dtype const dtype = work->field.shape.dtype;
  for (uint64_t done = 0; done < work->field.byte_count;) {
    size_t got = 0;
    if (source.read(source.user, done, values, sizeof values, &got) || got == 0)
      return hdf5_rows_failure(&work->job->report, &work->input, &work->rows);
    fills_look(&work->fills, dtype, values, got / dtype_bytes(dtype));
    done += got;
  }
  return compression_keep_fills(work);
}

int in_frames_load(struct compression *work) {
  const struct report *report = &work->job->report;
  uint64_t const memory = work->job->options->memory;
  int code = CODE_OK;
  if (!work->input.dataset && !input_is_file(&work->input))
    code = input_spool(report, &work->input);
  if (code == CODE_OK) code = input_load_head(report, &work->input, wanted_head_of_field, NULL);
  if (code == CODE_OK) code = compression_read(work);
  if (code == CODE_OK && work->input.dataset)
    code = hdf5_rows_open(report, &work->input, &work->field.dataset,
                          memory ? memory / WINDOW_SHARE : UINT64_MAX, &work->rows);
  return code == CODE_OK && work->fills.count > MOST_FILLS ? look_for_fills(work) : code;
}

/* A --memory that is enough, if need_bytes are needed under this one: the window grows with it. */
static uint64_t enough_memory(const struct compression *work, uint64_t need_bytes) {
  const struct dataset_rows *const rows = &work->rows;
  if (!rows->is_window_cut) return need_bytes;
  return (need_bytes - rows->window.byte_count) / (WINDOW_SHARE - 1) * WINDOW_SHARE + WINDOW_SHARE;
}

/* Sets params->frame_rows to half as many rows as often as it takes, unless --frame says how many.
 * Beside the stream, there is the head of the input, and what a dataset's rows take. Rows are those
 * for one ctx, so that the archive does not depend on how many there are. */
static int choose_frame_rows(struct compression *work) {
  const struct report *report = &work->job->report;
  uint64_t const memory = work->job->options->memory;
  bool const is_chosen = work->params.frame_rows > 0;
  uint64_t need_bytes, rows = 0, asked_rows = work->params.frame_rows;
  if (!memory) return CODE_OK; /* then --frame is given */
  for (;;) {
    size_t stream_bytes;
    uint64_t const former_rows = rows;
    work->params.frame_rows = asked_rows;
    szgpu_status const status = szgpu_stream_sizes(work->job->ctx, 1, &work->params,
                                                   &work->field.shape, &stream_bytes, &rows);
    if (status != SZGPU_OK) return report_status(report, work->name, status, work->job->ctx);
    need_bytes = stream_bytes + 2 * HEAD_BYTES + hdf5_rows_bytes(&work->rows);
    bool const is_least = rows == former_rows || rows == 1; /* whole tiles: no less will do */
    if (need_bytes <= memory || is_chosen || is_least) break;
    asked_rows = rows / 2;
  }
  if (need_bytes <= memory) return CODE_OK;
  need_bytes = enough_memory(work, need_bytes);
  if (is_chosen)
    return report_failure(report, CODE_RESOURCE, work->name,
                          "needs --memory %" PRIu64 "M for frames of %" PRIu64
                          " rows; give more, or a smaller --frame",
                          (need_bytes >> 20) + 1, rows);
  return report_failure(report, CODE_RESOURCE, work->name,
                        "needs --memory %" PRIu64 "M at least; give more", (need_bytes >> 20) + 1);
}

static struct file_source source_of_field(const struct compression *work) {
  return (struct file_source){.input = &work->input,
                              .offset = work->field.offset,
                              .dtype = work->field.shape.dtype,
                              .is_swapped = field_is_swapped(&work->field)};
}

/* from: needed if the field is not a dataset; it must outlive the source. */
static szgpu_source field_source(struct compression *work, struct file_source *from) {
  return work->input.dataset ? hdf5_rows_source(&work->rows) : file_source(from);
}

static int refuse_field(const struct compression *work, int error_number) {
  const struct report *report = &work->job->report;
  if (work->rows.has_failed) return hdf5_rows_failure(report, &work->input, &work->rows);
  return report_errno(report, work->name, "read", error_number);
}

/* Some of the values, in pieces from all over the field, for the warnings about them. */
static int warn_of_sample(struct compression *work) {
  enum { PIECES = 64, PIECE_VALUES = 1 << 14 };
  struct field sample = work->field;
  size_t const width = dtype_bytes(sample.shape.dtype);
  uint64_t const value_count = shape_values(&work->field.shape);
  struct memory values = memory_take((uint64_t)PIECES * PIECE_VALUES * width);
  size_t used = 0;
  if (!values.bytes)
    return report_out_of_memory(&work->job->report, work->name, "a sample", PIECES * PIECE_VALUES);
  struct file_source from = source_of_field(work);
  szgpu_source const source = field_source(work, &from);
  bool const is_small = value_count <= (uint64_t)PIECES * PIECE_VALUES;
  uint64_t const stride = is_small ? PIECE_VALUES : value_count / PIECES;
  for (uint64_t first = 0, i = 0; i < PIECES && first < value_count; i++, first += stride) {
    size_t got = 0;
    if (source.read(source.user, first * width, values.bytes + used, PIECE_VALUES * width, &got)) {
      memory_give_back(&values);
      return refuse_field(work, from.error_number);
    }
    used += got;
  }
  sample.values = values.bytes;
  sample.shape.ndim = 1;
  sample.shape.dims[0] = used / width;
  int code = CODE_OK;
  if (sample.shape.dims[0] > 0)
    code = warn_of_values(&work->job->report, work->name, &sample, &work->info, &work->warnings);
  memory_give_back(&values);
  return code;
}

/* Reads the header of the archive that was written. */
static int inspect_written(struct compression *work, const struct output *output) {
  struct input written = {.name = output->name, .descriptor = output->descriptor};
  int code = input_load_head(&work->job->report, &written, in_frames_wanted_head, NULL);
  if (code != CODE_OK) return code;
  szgpu_status const status = inspect_archive(written.bytes, written.byte_count, &work->info);
  if (status != SZGPU_OK) code = report_status(&work->job->report, work->name, status, NULL);
  input_unload(&written); /* the descriptor is the output's */
  return code;
}

/* A temporary file without a name. */
static int open_aside(const struct compression *work, const char *name, struct output *target) {
  *target = (struct output){.name = name, .descriptor = nameless_file(), .is_aside = true};
  if (target->descriptor >= 0) return CODE_OK;
  return report_errno_aside(&work->job->report, shown_output(name),
                            "written through a temporary file", errno);
}

/* Sends the archive from the temporary file to where it belongs. */
static int send_target(struct compression *work, const struct output *target,
                       struct output *output) {
  static unsigned char bytes[1 << 16];
  int code = CODE_OK;
  for (uint64_t done = 0; done < work->archive_bytes && code == CODE_OK;) {
    ssize_t const got = pread(target->descriptor, bytes, sizeof bytes, (off_t)done);
    if (got <= 0)
      return report_errno_aside(&work->job->report, shown_output(output->name),
                                "written through a temporary file", got < 0 ? errno : EIO);
    code = output_write(&work->job->report, output, bytes, (size_t)got);
    done += (uint64_t)got;
  }
  return code;
}

static int make_archive(struct compression *work, struct output *target) {
  const struct job *const job = work->job;
  struct file_source from = source_of_field(work);
  struct file_sink to = {.output = target};
  szgpu_source const source = field_source(work, &from);
  szgpu_sink const sink = file_sink(&to);
  uint64_t archive_bytes = 0;
  progress_begin(job->progress, &job->report, "compressing", work->name, work->field.byte_count);
  szgpu_status status = ctxs_limit_memory(job);
  if (status == SZGPU_OK)
    status = szgpu_compress_stream(job->ctxs, job->ctx_count, &work->params, &work->field.shape,
                                   &source, &sink, &archive_bytes);
  work->seconds = progress_end(job->progress);
  if (status == SZGPU_SOURCE_FAILED && work->rows.has_failed) return refuse_field(work, 0);
  if (status != SZGPU_OK)
    return file_stream_failure(&job->report, work->name, status, job->ctx, &from, &to);
  report_note(&job->report, job->ctx, job->is_note_told);
  work->archive_bytes = (size_t)archive_bytes;
  if (ftruncate(target->descriptor, (off_t)archive_bytes) != 0)
    return report_errno(&job->report, shown_output(target->name), "written", errno);
  return CODE_OK;
}

/* Compares what is restored with the field. */
struct comparison {
  struct compression *work;
  struct file_source from;
  struct metrics_sums sums;
  unsigned char original[1 << 16];
};

static int compare_values(void *user, uint64_t offset, const void *bytes, size_t byte_count) {
  struct comparison *const comparison = user;
  const unsigned char *const restored = bytes;
  szgpu_source const source = field_source(comparison->work, &comparison->from);
  size_t const width = dtype_bytes(comparison->work->field.shape.dtype);
  for (size_t done = 0, got = 0; done < byte_count; done += got) {
    size_t const left = byte_count - done;
    size_t const wanted = left < sizeof comparison->original ? left : sizeof comparison->original;
    int const code = source.read(source.user, offset + done, comparison->original, wanted, &got);
    if (code != 0 || got != wanted) return code ? code : EIO;
    metrics_add(&comparison->sums, &comparison->work->info, comparison->original, restored + done,
                got / width);
  }
  return 0;
}

/* As compression_verify does, but frame by frame. */
static int verify_archive(struct compression *work, const struct output *target) {
  const struct job *const job = work->job;
  struct input const written = {.descriptor = target->descriptor};
  struct file_source from = {.input = &written};
  static struct comparison comparison;
  comparison.work = work;
  comparison.from = source_of_field(work);
  comparison.sums = metrics_begin();
  szgpu_source const source = file_source(&from);
  szgpu_sink const sink = {.write = compare_values, .user = &comparison};
  uint64_t archive_bytes = 0;
  progress_begin(job->progress, &job->report, "verifying", work->name, work->field.byte_count);
  szgpu_status const status =
      szgpu_decompress_stream(job->ctxs, job->ctx_count, &source, &sink, &archive_bytes);
  work->verify_seconds = progress_end(job->progress);
  int const error_number = comparison.from.error_number;
  if (status == SZGPU_SINK_FAILED) return refuse_field(work, error_number ? error_number : EIO);
  if (status == SZGPU_SOURCE_FAILED)
    return report_errno(&job->report, shown_output(target->name), "read back", from.error_number);
  work->metrics = metrics_end(&comparison.sums, &work->info);
  return compression_judge(work, status);
}

static int compress_to(struct compression *work, struct output *target) {
  int code = make_archive(work, target);
  if (code == CODE_OK) code = inspect_written(work, target);
  if (code == CODE_OK) code = warn_of_sample(work);
  if (code == CODE_OK && work->job->options->is_verified) code = verify_archive(work, target);
  return code;
}

int in_frames_compress_aside(struct compression *work, const char *name, int *descriptor) {
  struct output target = OUTPUT_NONE;
  int code = choose_frame_rows(work);
  if (code == CODE_OK) code = open_aside(work, name, &target);
  if (code == CODE_OK) code = compress_to(work, &target);
  *descriptor = target.descriptor;
  return code;
}

int in_frames_compress(struct compression *work, struct output *output) {
  struct output target = OUTPUT_NONE;
  if (output_is_file(output)) {
    int const code = choose_frame_rows(work);
    return code == CODE_OK ? compress_to(work, output) : code;
  }
  int code = in_frames_compress_aside(work, output->name, &target.descriptor);
  if (code == CODE_OK) code = send_target(work, &target, output);
  if (target.descriptor >= 0) close(target.descriptor);
  return code;
}

/* ---- the way back ---- */

uint64_t in_frames_wanted_head(const struct input *input, const void *unused) {
  (void)unused;
  szgpu_info info;
  return inspect_archive(input->bytes, input->byte_count, &info) == SZGPU_TRUNCATED ? UINT64_MAX
                                                                                    : 0;
}

/* Nothing may follow the archive. */
static int check_end(const struct restoring *work, struct file_source *from,
                     uint64_t archive_bytes) {
  szgpu_source const source = file_source(from);
  unsigned char more;
  size_t got = 0;
  if (source.read(source.user, archive_bytes, &more, 1, &got))
    return report_errno(&work->job->report, work->name, "read", from->error_number);
  return got == 0 ? CODE_OK
                  : report_status(&work->job->report, work->name, SZGPU_TRAILING_BYTES, NULL);
}

int in_frames_restore(struct restoring *work) {
  const struct job *const job = work->job;
  bool const is_step = work->step_offset > 0;
  struct file_source from = {
      .input = work->archive, .is_in_order = !is_step, .offset = work->step_offset};
  struct file_sink to = {.output = work->output,
                         .is_in_order = true,
                         .dtype = work->info->shape.dtype,
                         .is_dropped = info_is_of_empty_file(work->info),
                         .is_swapped = work->is_swapped};
  szgpu_source const source = file_source(&from);
  szgpu_sink const sink = file_sink(&to);
  uint64_t archive_bytes = 0;
  ctxs_start_cuda(job);
  progress_begin(job->progress, &job->report, "restoring", work->name, work->info->field_bytes);
  szgpu_status status = ctxs_limit_memory(job);
  if (status == SZGPU_OK)
    status = szgpu_decompress_stream(job->ctxs, job->ctx_count, &source, &sink, &archive_bytes);
  work->seconds = progress_end(job->progress);
  if (status != SZGPU_OK)
    return file_stream_failure(&job->report, work->name, status, job->ctx, &from, &to);
  report_note(&job->report, job->ctx, job->is_note_told);
  return is_step ? CODE_OK : check_end(work, &from, archive_bytes);
}
