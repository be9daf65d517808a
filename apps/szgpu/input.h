/* input.h - a file's bytes, mapped if possible and otherwise read; never changed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_INPUT_H
#define SZGPU_APP_INPUT_H

#include "report.h"

#include <stddef.h>
#include <sys/stat.h>

struct input {
  const char *name;    /* "-": standard input */
  char *file;          /* the file to open if name is that of a dataset, else NULL */
  const char *dataset; /* the dataset's path, a part of name; else NULL */
  int descriptor;      /* -1: not open */
  struct stat status;
  const unsigned char *bytes;
  size_t byte_count;
  size_t held_bytes; /* of the buffer, if the bytes are not mapped */
  bool is_mapped;
  bool is_cut; /* more bytes follow, which were not wanted */
};

#define INPUT_NONE \
  { .descriptor = -1 }

/* Says, by the first bytes of an input, which has some, how many it should have: UINT64_MAX if they
 * do not tell, 0 if whatever follows is of no use. Called again while the answer is UINT64_MAX. */
typedef uint64_t (*input_wanted)(const struct input *input, const void *user);

/* All three return an exit code, and print a sentence if it is not CODE_OK. */
int input_open(const struct report *report, const char *name, struct input *input);
/* name may also be that of a dataset: FILE:PATH opens FILE. */
int input_open_field(const struct report *report, const char *name, struct input *input);
/* A pipe or a device is read only until it has more than the wanted bytes. */
int input_load(const struct report *report, struct input *input, input_wanted wanted,
               const void *user);
/* Releases the bytes; the rest stays. */
void input_unload(struct input *input);
void input_close(struct input *input);

#endif
