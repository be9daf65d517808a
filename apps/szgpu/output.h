/* output.h - writes a file that appears complete under its name or not at all.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_OUTPUT_H
#define SZGPU_APP_OUTPUT_H

#include "report.h"

#include <stddef.h>
#include <sys/stat.h>

struct output {
  const char *name; /* "-": standard output */
  char *target;     /* the name that the file gets: that which links in name lead to */
  char *temporary;  /* NULL: writes straight to name, a device, a pipe or an open descriptor */
  int descriptor;   /* -1: not open */
  bool is_forced;
  bool is_aside;      /* a temporary file, of which the output is made later */
  bool has_source;    /* else it takes mode and owner of a new file */
  struct stat source; /* the file whose mode and owner it takes */
};

#define OUTPUT_NONE \
  { .descriptor = -1 }

/* A file that the output must not overwrite, because it is being read. */
struct taken_file {
  const char *name;
  const struct stat *status;
};

/* Opens the output, unless its name is taken. Devices, pipes, descriptors and links stay: a link's
 * target is what is written or replaced. A new file takes mode and owner of taken[0], the
 * input, if that is a file too; until it gets its name only its owner may read it. Every call
 * returns an exit code; it prints a sentence if that is not CODE_OK. */
int output_open(const struct report *report, const char *name, bool is_forced,
                const struct taken_file *taken, size_t taken_count, struct output *output);
/* Opens a temporary file in the folder of `name`, which never gets a name: only output_close is for
 * it. Its path is output->temporary. */
int output_open_beside(const struct report *report, const char *name, struct output *output);
int output_write(const struct report *report, struct output *output, const void *bytes,
                 size_t byte_count);
/* Whether it can be written and read at any place: it is a file that has no name yet. */
bool output_is_file(const struct output *output);
/* Gives the file its name. */
int output_commit(const struct report *report, struct output *output);
/* Without a commit before it, no file is left. */
void output_close(struct output *output);

#endif
