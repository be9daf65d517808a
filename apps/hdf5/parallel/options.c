/* options.c - the command line of szgpu_parallel.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "options.h"

#include <stdlib.h>
#include <string.h>

const char options_help[] =
    "usage: mpirun -n RANKS szgpu_parallel write FILE [options]\n"
    "       mpirun -n RANKS szgpu_parallel read FILE [--unaligned]\n"
    "\n"
    "write: all ranks together write a field of f32 values by parallel HDF5 and the szgpu filter.\n"
    "read: any number of ranks read it and check every value against the bound.\n"
    "\n"
    "  --dims ZxYxX    dims of the field, slowest axis first; default 256x256x256\n"
    "  --chunk ZxYxX   dims of a chunk; default 64x64x64, or the field's if they are smaller\n"
    "  -m MODE         abs or lossless; default abs\n"
    "  -e BOUND        with abs, the largest error of any value; default 1e-3\n"
    "  --predictor P   with abs: auto, lorenzo or interpolation; default auto\n"
    "  --raw           write without the filter\n"
    "  --steps K       write K snapshots, each to its own dataset: step_0000, step_0001, ...\n"
    "  --hole          set the values in a box to the fill value, 1e20\n"
    "  --unaligned     let the ranks' blocks begin and end anywhere, not only at chunks\n"
    "  --direct        each rank compresses its chunks by itself, and rank 0 writes the archives\n"
    "                  with H5Dwrite_chunk, without HDF5's filters; SZGPU_H5_* say how and where\n"
    "  -f              overwrite an existing file\n"
    "\n"
    "HDF5_PLUGIN_PATH must name the folder of libh5zszgpu.so, unless HDF5 looks there anyway.\n";

static bool read_count(const char *text, const char **end, uint64_t most, uint64_t *count) {
  uint64_t value = 0;
  const char *digit = text;
  for (; *digit >= '0' && *digit <= '9' && value <= most; digit++)
    value = value * 10 + (uint64_t)(*digit - '0');
  *end = digit;
  *count = value;
  return digit != text && value >= 1 && value <= most;
}

/* All of text must be "ZxYxX". */
static bool read_dims(const char *text, uint64_t *dims) {
  for (int axis = 0; axis < FIELD_DIMS; axis++) {
    char const after = axis + 1 < FIELD_DIMS ? 'x' : '\0';
    if (!read_count(text, &text, MOST_DIM, &dims[axis]) || *text != after) return false;
    text++;
  }
  return true;
}

static bool read_bound(const char *text, double *bound) {
  char *end;
  *bound = strtod(text, &end);
  return end != text && *end == '\0' && *bound > 0 && *bound <= 1e300;
}

static bool read_predictor(const char *text, szgpu_predictor *predictor) {
  static const char *const names[] = {"auto", "lorenzo", "interpolation"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(text, names[i]) == 0) {
      *predictor = (szgpu_predictor)i;
      return true;
    }
  return false;
}

/* Reads an option without a value. False if name is none of them. */
static bool read_switch(const char *name, struct options *options) {
  if (strcmp(name, "--unaligned") == 0)
    options->is_unaligned = true;
  else if (strcmp(name, "--raw") == 0)
    options->coding = CODING_RAW;
  else if (strcmp(name, "--hole") == 0)
    options->has_hole = true;
  else if (strcmp(name, "--direct") == 0)
    options->is_direct = true;
  else if (strcmp(name, "-f") == 0)
    options->is_forced = true;
  else if (strcmp(name, "--help") == 0)
    options->command = COMMAND_HELP;
  else
    return false;
  return true;
}

/* Reads an option and its value, NULL if the command line ends. False if name is none of them. */
static bool read_setting(const char *name, const char *value, struct options *options,
                         struct fault *fault) {
  static const char *const names[] = {"--dims", "--chunk", "-m", "-e", "--predictor", "--steps"};
  bool is_one = false;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    is_one = is_one || strcmp(name, names[i]) == 0;
  if (!is_one) return false;

  if (!value) {
    fault_set(fault, EXIT_USAGE, "'%s' needs a value; see --help", name);
    return true;
  }
  const char *end;
  bool is_good;
  if (strcmp(name, "--dims") == 0) {
    is_good = read_dims(value, options->dims);
  } else if (strcmp(name, "--chunk") == 0) {
    is_good = read_dims(value, options->chunk);
  } else if (strcmp(name, "-e") == 0) {
    is_good = read_bound(value, &options->bound);
  } else if (strcmp(name, "--predictor") == 0) {
    is_good = read_predictor(value, &options->predictor);
  } else if (strcmp(name, "--steps") == 0) {
    is_good = read_count(value, &end, MOST_STEPS, &options->steps) && *end == '\0';
  } else {
    is_good = strcmp(value, "abs") == 0 || strcmp(value, "lossless") == 0;
    options->coding = strcmp(value, "lossless") == 0 ? CODING_LOSSLESS : CODING_ABS;
  }
  if (!is_good) fault_set(fault, EXIT_USAGE, "'%s' does not take '%s'; see --help", name, value);
  return true;
}

static void fit_chunk(struct options *options, struct fault *fault) {
  enum { USUAL_CHUNK = 64 }; /* 1 MiB of f32 */
  for (int axis = 0; axis < FIELD_DIMS; axis++) {
    uint64_t const dim = options->dims[axis];
    if (options->chunk[axis] == 0) options->chunk[axis] = dim < USUAL_CHUNK ? dim : USUAL_CHUNK;
    if (options->chunk[axis] > dim)
      fault_set(fault, EXIT_USAGE, "a chunk cannot be larger than the field: see --dims, --chunk");
  }
}

void options_read(int argc, char **argv, struct options *options, struct fault *fault) {
  *options = (struct options){.command = COMMAND_HELP,
                              .dims = {256, 256, 256},
                              .coding = CODING_ABS,
                              .bound = 1e-3,
                              .steps = 1};
  if (argc < 2 || strcmp(argv[1], "--help") == 0) return;
  if (strcmp(argv[1], "write") == 0)
    options->command = COMMAND_WRITE;
  else if (strcmp(argv[1], "read") == 0)
    options->command = COMMAND_READ;
  else
    fault_set(fault, EXIT_USAGE, "'%s' is neither write nor read; see --help", argv[1]);

  for (int i = 2; i < argc && !has_fault(fault); i++) {
    if (read_switch(argv[i], options)) continue;
    if (read_setting(argv[i], i + 1 < argc ? argv[i + 1] : NULL, options, fault))
      i++;
    else if (argv[i][0] != '-' && !options->path)
      options->path = argv[i];
    else
      fault_set(fault, EXIT_USAGE, "'%s' is not an option; see --help", argv[i]);
  }
  if (options->command == COMMAND_HELP || has_fault(fault)) return;
  if (!options->path) fault_set(fault, EXIT_USAGE, "no FILE was given; see --help");
  if (options->is_direct && options->coding == CODING_RAW)
    fault_set(fault, EXIT_USAGE, "--direct does not go with --raw: it writes archives");
  if (options->is_direct && options->is_unaligned)
    fault_set(fault, EXIT_USAGE, "--direct does not go with --unaligned: ranks have whole chunks");
  fit_chunk(options, fault);
}
