/* in_frames.h - fields that are compressed and restored frame by frame, in bounded memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each call returns an exit code, and prints a sentence if it is not CODE_OK.
 */
#ifndef SZGPU_APP_IN_FRAMES_H
#define SZGPU_APP_IN_FRAMES_H

#include "compression.h"
#include "output.h"

/* Frame by frame: for the input's head what compression_load does for all of it. A pipe is copied
 * to a temporary file first, because the library reads the field more than once. */
int in_frames_load(struct compression *work);
/* Compresses into `output`, which is complete then; sets archive_bytes, info and seconds. Without
 * --frame, frames are as large as --memory permits. */
int in_frames_compress(struct compression *work, struct output *output);

/* The same, but into a temporary file without a name, because an archive's header comes last. The
 * file is the caller's to close, whatever the code is; -1: there is none. name: of the output, for
 * messages. */
int in_frames_compress_aside(struct compression *work, const char *name, int *descriptor);

/* Restores the archive, whose head is loaded, into `output`, behind what is written there. */
struct restoring {
  const struct job *job;
  const char *name;
  const struct input *archive;
  const szgpu_info *info;
  uint64_t step_offset; /* of a step's archive in its series, which is a file; 0: it is none */
  struct output *output;
  bool is_swapped; /* the values go out in the other byte order */
  double seconds;  /* result */
};
int in_frames_restore(struct restoring *work);

/* An input_wanted: the header of an archive. */
uint64_t in_frames_wanted_head(const struct input *input, const void *unused);

#endif
