/* options.h - reads the command line of szgpu_parallel into one struct.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_PARALLEL_OPTIONS_H
#define SZGPU_PARALLEL_OPTIONS_H

#include "blocks.h"
#include "ranks.h"
#include "szgpu.h"

#include <stdbool.h>
#include <stdint.h>

enum command { COMMAND_HELP, COMMAND_WRITE, COMMAND_READ };
enum coding { CODING_ABS, CODING_LOSSLESS, CODING_RAW };

/* MOST_DIM keeps the bytes of a field within 64 bits. */
enum { MOST_DIM = 1 << 20, MOST_STEPS = 10000 };

struct options {
  enum command command;
  const char *path;
  uint64_t dims[FIELD_DIMS], chunk[FIELD_DIMS]; /* slowest axis first */
  enum coding coding;
  double bound;
  szgpu_predictor predictor;
  uint64_t steps;
  bool is_unaligned, has_hole, is_forced, is_direct;
};

extern const char options_help[];

/* Every rank reads the same command line and so gets the same options or the same fault. */
void options_read(int argc, char **argv, struct options *options, struct fault *fault);

#endif
