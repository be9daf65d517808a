/* file_stream.c - files and pipes as sources and sinks of the library's streams.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "file_stream.h"

#include "field.h"
#include "values.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_PIECE_BYTES = 1 << 30 }; /* Linux takes at most 2 GiB - 4 KiB per call */

static size_t piece_of(size_t byte_count) {
  return byte_count < LARGEST_PIECE_BYTES ? byte_count : LARGEST_PIECE_BYTES;
}

/* What is loaded of the input, if that has the place. */
static size_t copy_loaded(const struct file_source *source, uint64_t offset, unsigned char *bytes,
                          size_t byte_count) {
  const struct input *const input = source->input;
  if (!source->is_in_order || offset >= input->byte_count) return 0;
  size_t const there = input->byte_count - (size_t)offset;
  size_t const copied = byte_count < there ? byte_count : there;
  memcpy(bytes, input->bytes + offset, copied);
  return copied;
}

static int read_source(void *user, uint64_t offset, void *bytes, size_t byte_count,
                       size_t *got_bytes) {
  struct file_source *const source = user;
  unsigned char *const target = bytes;
  int const descriptor = source->input->descriptor;
  size_t done = copy_loaded(source, offset, target, byte_count);
  while (done < byte_count) {
    size_t const piece = piece_of(byte_count - done);
    ssize_t const got = source->is_in_order ? read(descriptor, target + done, piece)
                                            : pread(descriptor, target + done, piece,
                                                    (off_t)(source->offset + offset + done));
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      source->error_number = errno;
      return source->error_number;
    }
    done += (size_t)got;
  }
  *got_bytes = done;
  if (source->is_swapped)
    swap_bytes(bytes, bytes, done / dtype_bytes(source->dtype), source->dtype);
  return 0;
}

szgpu_source file_source(struct file_source *source) {
  return (szgpu_source){.read = read_source, .user = source};
}

/* The next bytes in the file's byte order, and how many of them at most; swapped ones are in a
 * buffer of the sink's. */
static const unsigned char *next_piece(struct file_sink *sink, const unsigned char *bytes,
                                       size_t *byte_count) {
  size_t const width = dtype_bytes(sink->dtype);
  *byte_count = piece_of(*byte_count);
  if (!sink->is_swapped) return bytes;
  if (*byte_count > sizeof sink->swapped) *byte_count = sizeof sink->swapped;
  swap_bytes(sink->swapped, bytes, *byte_count / width, sink->dtype);
  return sink->swapped;
}

static int write_sink(void *user, uint64_t offset, const void *bytes, size_t byte_count) {
  struct file_sink *const sink = user;
  int const descriptor = sink->output->descriptor;
  if (sink->is_dropped) return 0;
  for (size_t done = 0; done < byte_count;) {
    size_t piece = byte_count - done;
    const unsigned char *const from = next_piece(sink, (const unsigned char *)bytes + done, &piece);
    for (size_t sent = 0; sent < piece;) {
      off_t const at = (off_t)(offset + done + sent);
      ssize_t const written = sink->is_in_order ? write(descriptor, from + sent, piece - sent)
                                                : pwrite(descriptor, from + sent, piece - sent, at);
      if (written < 0 && errno != EINTR) {
        sink->error_number = errno;
        return sink->error_number;
      }
      if (written > 0) sent += (size_t)written;
    }
    done += piece;
  }
  return 0;
}

szgpu_sink file_sink(struct file_sink *sink) {
  return (szgpu_sink){.write = write_sink, .user = sink};
}

int file_stream_failure(const struct report *report, const char *name, szgpu_status status,
                        const szgpu_ctx *ctx, const struct file_source *source,
                        const struct file_sink *sink) {
  if (status == SZGPU_SOURCE_FAILED && source->error_number)
    return report_errno(report, name, "read", source->error_number);
  if (status == SZGPU_SINK_FAILED && sink->error_number && sink->output->is_aside)
    return report_errno_aside(report, shown_output(sink->output->name),
                              "written through a temporary file", sink->error_number);
  if (status == SZGPU_SINK_FAILED && sink->error_number)
    return report_errno(report, shown_output(sink->output->name), "written", sink->error_number);
  if (status == SZGPU_MEMORY_LIMIT)
    return report_failure(report, CODE_RESOURCE, name, "%s; give a larger --memory",
                          szgpu_last_error(ctx));
  return report_status(report, name, status, ctx);
}
