/* options.h - reads the command line into one struct.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_OPTIONS_H
#define SZGPU_APP_OPTIONS_H

#include "bounds.h"
#include "fills.h"
#include "report.h"
#include "slices.h"
#include "szgpu.h"

#include <stdbool.h>

enum command {
  COMMAND_NONE = 0,
  COMMAND_COMPRESS = 1, /* -z */
  COMMAND_RESTORE = 2,  /* -x */
  COMMAND_LIST = 4,     /* -l */
  COMMAND_H5_ARGS = 8,  /* --h5-args */
  COMMAND_TEST = 16,    /* --test */
  COMMAND_SWEEP = 32,   /* --sweep */
  COMMAND_REPACK = 64,  /* --repack */
  COMMAND_UNPACK = 128  /* --unpack */
};

enum { MOST_SWEEP_BOUNDS = 32 };

enum progress_form {
  PROGRESS_AUTO, /* on a terminal a line that is rewritten, unless --json */
  PROGRESS_JSON, /* lines of JSON */
  PROGRESS_NONE
};

enum { DEFAULT_ZSTD_LEVEL = 3 }; /* of --zstd alone */

struct options {
  enum command command;
  szgpu_params params; /* without fill values */
  szgpu_options context;
  struct fills fills;      /* --fill; none has an origin */
  const char *output;      /* -o, or OUT of --repack and --unpack; NULL: named after the input */
  const char *original;    /* --compare; NULL: none */
  struct bounds bounds;    /* --var */
  const char *bounds_file; /* --bounds; NULL: none */
  const char *like;        /* --like; NULL: none */
  char *command_line;      /* all of it, with blanks; only with --repack and --unpack, which
                                   free it */
  bool is_dry, are_chunks_kept; /* --dry-run, --chunks keep */
  bool has_dtype, has_dims, has_slab, has_region, has_level, has_bound;
  szgpu_shape shape;                      /* -t and -d */
  uint64_t slab_first_row, slab_end_row;  /* end UINT64_MAX: the field's end */
  struct slices region;                   /* --region */
  double sweep_bounds[MOST_SWEEP_BOUNDS]; /* --sweep; each finite and above 0 */
  int sweep_count;
  double target_ratio;     /* --target-ratio; 0: none */
  uint64_t memory;         /* --memory, in bytes; 0: not given */
  const char *device_list; /* --device, if it names several GPUs; NULL: context.device */
  int devices[SZGPU_MAX_CTXS], device_count; /* of the list; none: all there are */
  enum progress_form progress;               /* --progress */
  const char *series;                        /* --append; NULL: none */
  bool has_step, has_time;
  struct slice step; /* --step */
  double time;       /* --time */
  int level;         /* --level; 0: the whole field */
  bool is_forced, is_quiet, is_verbose, is_json, is_verified, is_strict;
  bool is_named;        /* --h5-args: the words are for datasets that are named */
  bool is_stdout_taken; /* by data, so that reports go to standard error */
  char **files;
  int file_count;
  char fault[512]; /* the first error in the command line; "": none */
};

/* False if nothing is left to do (help, version, --h5-args or a usage error): *exit_code is then
 * the run's. */
bool options_read(int argc, char **argv, struct options *options, int *exit_code);
/* The option because of which the field and the archive are not in memory; NULL: they are. */
const char *options_frame_by_frame(const struct options *options);
/* For messages about the whole run; names the file if there is only one. */
struct report options_report(const struct options *options);

#endif
