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
  uint64_t total_bytes; /* of the input: more than byte_count if only its head is loaded */
  size_t held_bytes;    /* of the buffer, if the bytes are not mapped */
  bool is_mapped;
  bool is_cut; /* more bytes follow, which were not wanted */
};

#define INPUT_NONE \
  { .descriptor = -1 }

/* Says, by the first bytes of an input, which has some, how many it should have: UINT64_MAX if they
 * do not tell, 0 if whatever follows is of no use. Called again while the answer is UINT64_MAX. */
typedef uint64_t (*input_wanted)(const struct input *input, const void *user);

/* All return an exit code, and print a sentence if it is not CODE_OK. */
int input_open(const struct report *report, const char *name, struct input *input);
/* name may also be that of a dataset: FILE:PATH opens FILE. */
int input_open_field(const struct report *report, const char *name, struct input *input);
/* A pipe or a device is read only until it has more than the wanted bytes. */
int input_load(const struct report *report, struct input *input, input_wanted wanted,
               const void *user);
/* Loads the first bytes alone, until `wanted` says how many there should be. The descriptor is then
 * behind them. total_bytes is right for a file only. */
int input_load_head(const struct report *report, struct input *input, input_wanted wanted,
                    const void *user);
/* Whether the input can be read at any place, as a file can. If not, input_spool copies all of it
 * to a temporary file without a name, in TMPDIR or /tmp, which then takes its place. */
bool input_is_file(const struct input *input);
int input_spool(const struct report *report, struct input *input);
/* Releases the bytes; the rest stays. */
void input_unload(struct input *input);
void input_close(struct input *input);

#endif
