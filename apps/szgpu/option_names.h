/* option_names.h - the options by their names, and which commands take them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_OPTION_NAMES_H
#define SZGPU_APP_OPTION_NAMES_H

#include <getopt.h>

#include "options.h"

/* The options that have no letter. */
enum {
  OPTION_FRAME = 256, /* above every character */
  OPTION_ZSTD,
  OPTION_FILL,
  OPTION_GREATEST,
  OPTION_DECODER,
  OPTION_DEVICE,
  OPTION_LAYOUT,
  OPTION_PREDICTOR,
  OPTION_NO_GAP,
  OPTION_H5_ARGS,
  OPTION_TEST,
  OPTION_SWEEP,
  OPTION_REPACK,
  OPTION_UNPACK,
  OPTION_VAR,
  OPTION_BOUNDS,
  OPTION_LIKE,
  OPTION_CHUNKS,
  OPTION_DRY_RUN,
  OPTION_TARGET_RATIO,
  OPTION_SLAB,
  OPTION_REGION,
  OPTION_LEVEL,
  OPTION_APPEND,
  OPTION_STEP,
  OPTION_TIME,
  OPTION_COMPARE,
  OPTION_MEMORY_LIMIT,
  OPTION_MEMORY,
  OPTION_JSON,
  OPTION_PROGRESS,
  OPTION_STRICT,
  OPTION_NAMED,
  OPTION_HELP,
  OPTION_VERSION,
  OPTION_END
};

/* For getopt_long. */
extern const char option_letters[];
extern const struct option option_long_names[]; /* the last has no name */

/* An option as messages show it, and the commands that take it, an enum command each. */
struct option_use {
  int option; /* a letter, or one of OPTION_...; 0: the last of the table */
  const char *shown;
  unsigned commands;
};
extern const struct option_use option_uses[];

/* "-z", and "compress" as JSON has it; NULL for COMMAND_NONE. */
const char *option_of_command(enum command command);
const char *word_of_command(enum command command);
/* The option that somebody meant who wrote a wrong one, as messages show it; NULL: there is none.
 * Takes the name without a value. */
const char *option_nearest(const char *wrong);
/* The first of the words that is a long option written with one dash, such as -verify, which is
 * read as letters; NULL: there is none. */
const char *option_with_one_dash(char *const *words, int count);

#endif
