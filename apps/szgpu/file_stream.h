/* file_stream.h - files and pipes as sources and sinks of the library's streams.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_FILE_STREAM_H
#define SZGPU_APP_FILE_STREAM_H

#include "input.h"
#include "output.h"
#include "szgpu.h"

/* Values in the other byte order are swapped on their way. */
struct file_source {
  const struct input *input; /* a file, or in order: an input whose head is loaded */
  bool is_in_order;
  uint64_t offset; /* of the source's first byte in a file */
  szgpu_dtype dtype;
  bool is_swapped;
  int error_number; /* of a read that failed */
};
szgpu_source file_source(struct file_source *source);

struct file_sink {
  struct output *output; /* a file, or in order: anything */
  bool is_in_order;
  szgpu_dtype dtype;
  bool is_swapped;
  bool is_dropped; /* what comes is checked, but written nowhere */
  int error_number;
  unsigned char swapped[1 << 16];
};
szgpu_sink file_sink(struct file_sink *sink);

/* Tells why a stream failed: the sentence for a status of the library, or for one of the files.
 * Returns an exit code. */
int file_stream_failure(const struct report *report, const char *name, szgpu_status status,
                        const szgpu_ctx *ctx, const struct file_source *source,
                        const struct file_sink *sink);

#endif
