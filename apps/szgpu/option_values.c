/* option_values.c - reads the values of options.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "option_values.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "decoders.h"
#include "habits.h"
#include "nearest.h"
#include "option_names.h"
#include "values.h"

enum { MOST_ZSTD_LEVEL = 19 };

static const struct choice dtypes[] = {{"f32", SZGPU_F32},   {"f64", SZGPU_F64}, {"u8", SZGPU_U8},
                                       {"bf16", SZGPU_BF16}, {"f16", SZGPU_F16}, {"fp8", SZGPU_FP8},
                                       {"i8", SZGPU_I8},     {"u16", SZGPU_U16}, {"i16", SZGPU_I16},
                                       {"i32", SZGPU_I32},   {NULL, 0}};
static const struct choice chunk_shapes[] = {{"auto", 0}, {"keep", 1}, {NULL, 0}};

static const struct choice progress_forms[] = {
    {"auto", PROGRESS_AUTO}, {"json", PROGRESS_JSON}, {"none", PROGRESS_NONE}, {NULL, 0}};

bool options_refuse(struct options *options, const char *option, const char *value,
                    const char *sentence) {
  if (options->fault[0] == '\0')
    snprintf(options->fault, sizeof options->fault, "%s%s%.100s %s", option, value ? " " : "",
             value ? value : "", sentence);
  return false;
}

/* Sets *value; refuses a text that is none of the choices. */
static bool choose(struct options *options, const struct choice *choices, const char *option,
                   const char *text, int *value) {
  char sentence[CHOICE_SENTENCE_CHARS];
  return choice_find(choices, text, value, sentence) ||
         options_refuse(options, option, text, sentence);
}

static bool choose_decoder(struct options *options, const char *text) {
  if (find_decoder(text, &options->context.decoder)) return true;
  char sentence[CHOICE_SENTENCE_CHARS];
  struct nearest nearest = {.wrong = text};
  for (int d = 0; szgpu_decoder_name((szgpu_decoder)d); d++)
    nearest_offer(&nearest, szgpu_decoder_name((szgpu_decoder)d));
  choice_refusal(&nearest, words_for_decoders(NULL, SZGPU_BACKEND_AUTO).text, sentence);
  return options_refuse(options, "--decoder", text, sentence);
}

/* A bound of `option`, the first text_chars of text. */
static bool read_bound(struct options *options, const char *option, const char *text,
                       size_t text_chars, double *bound) {
  char word[64], sentence[96];
  snprintf(word, sizeof word, "%.*s", (int)text_chars, text);
  bool const is_number = text_chars < sizeof word && read_real(word, bound);
  if (is_number && isfinite(*bound) && *bound > 0) return true;
  snprintf(sentence, sizeof sentence, "is not a %s; give %s",
           is_number ? "finite number above zero" : "number",
           option[1] == 'e' ? "the bound as in -e 1e-4" : "bounds as in --sweep 1e-2,1e-3");
  return options_refuse(options, option, word, sentence);
}

static bool read_sweep(const char *text, struct options *options) {
  for (const char *at = text;; at++) {
    size_t const chars = strcspn(at, ",");
    if (options->sweep_count == MOST_SWEEP_BOUNDS)
      return options_refuse(options, "--sweep", NULL, "takes up to 32 bounds; leave some out");
    if (!read_bound(options, "--sweep", at, chars, &options->sweep_bounds[options->sweep_count]))
      return false;
    options->sweep_count++;
    at += chars;
    if (*at == '\0') return true;
  }
}

/* Values with commas between them; the option may also be given several times. */
static bool read_fills(const char *text, struct options *options) {
  for (const char *at = text;; at++) {
    char word[64];
    double value;
    size_t const chars = strcspn(at, ",");
    snprintf(word, sizeof word, "%.*s", (int)chars, at);
    if (chars >= sizeof word || !read_real(word, &value))
      return options_refuse(options, "--fill", text,
                            "is not a number; give it as in --fill -9999 or --fill nan,1e20");
    fills_add(&options->fills, value, NULL);
    if (options->fills.count > MOST_FILLS)
      return options_refuse(options, "--fill", NULL, "takes up to 4 values; leave some out");
    at += chars;
    if (*at == '\0') return true;
  }
}
static_assert((int)MOST_FILLS == 4, "as the message says");

static bool read_target(const char *text, struct options *options) {
  double *const ratio = &options->target_ratio;
  if (read_real(text, ratio) && isfinite(*ratio) && *ratio > 1) return true;
  return options_refuse(options, "--target-ratio", text,
                        "is not a number above one; give the ratio as in --target-ratio 20");
}

static bool read_number(struct options *options, const char *option, const char *text,
                        uint64_t least, uint64_t most, uint64_t *number) {
  char sentence[128];
  if (read_count(text, number) && *number >= least && *number <= most) return true;
  if (most == UINT64_MAX)
    snprintf(sentence, sizeof sentence, "is not a number of rows; give a whole number above zero");
  else
    snprintf(sentence, sizeof sentence, "is out of range; give a whole number from %d to %d",
             (int)least, (int)most);
  return options_refuse(options, option, text, sentence);
}

static bool read_index(const char *text, int *index) {
  uint64_t number;
  if (!read_count(text, &number) || number > INT_MAX) return false;
  *index = (int)number;
  return true;
}

/* Indices with commas between them. */
static bool read_device_list(const char *text, struct options *options) {
  options->device_count = 0;
  for (const char *at = text;; at++) {
    char word[16];
    int index, *const devices = options->devices;
    size_t const chars = strcspn(at, ",");
    snprintf(word, sizeof word, "%.*s", (int)chars, at);
    if (chars >= sizeof word || !read_index(word, &index))
      return options_refuse(options, "--device", text,
                            "is not a list of GPUs; give it as in --device 0,1, or all");
    for (int i = 0; i < options->device_count; i++)
      if (devices[i] == index)
        return options_refuse(options, "--device", text, "names a GPU twice; give each index once");
    if (options->device_count == SZGPU_MAX_CTXS)
      return options_refuse(options, "--device", NULL, "takes up to 32 GPUs; leave some out");
    devices[options->device_count++] = index;
    at += chars;
    if (*at == '\0') return true;
  }
}
static_assert(SZGPU_MAX_CTXS == 32, "as the message says");

static bool read_device(const char *text, struct options *options) {
  bool const is_list = strchr(text, ',') != NULL, are_all = strcmp(text, "all") == 0;
  options->device_list = is_list || are_all ? text : NULL;
  if (is_list) return read_device_list(text, options);
  options->device_count = 0;
  return are_all || read_index(text, &options->context.device) ||
         options_refuse(options, "--device", text,
                        "is not the index of a GPU; give a whole number, 0 for the first");
}

static bool read_slab_option(const char *text, struct options *options) {
  const char *fault = read_slab(text, &options->slab_first_row, &options->slab_end_row);
  options->has_slab = true;
  return !fault || options_refuse(options, "--slab", text, fault);
}

static bool read_region_option(const char *text, struct options *options) {
  const char *fault = read_slices(text, &options->region);
  options->has_region = true;
  return !fault || options_refuse(options, "--region", text, fault);
}

static bool read_step_option(const char *text, struct options *options) {
  const char *fault = read_step(text, &options->step);
  options->has_step = true;
  return !fault || options_refuse(options, "--step", text, fault);
}

static bool read_time(const char *text, struct options *options) {
  options->has_time = true;
  if (read_real(text, &options->time) && isfinite(options->time)) return true;
  return options_refuse(options, "--time", text,
                        "is not a finite number; give the time of the step as in --time 0.25");
}

static bool read_rule(const char *text, struct options *options) {
  const char *const fault = bounds_add(&options->bounds, text, false);
  return !fault || options_refuse(options, "--var", text, fault);
}

static bool read_zstd(const char *level, struct options *options) {
  uint64_t number = DEFAULT_ZSTD_LEVEL;
  if (level && !read_number(options, "--zstd", level, 1, MOST_ZSTD_LEVEL, &number)) return false;
  options->params.zstd_level = (int)number;
  return true;
}

static bool read_command(enum command command, struct options *options) {
  char both[32];
  if (options->command != COMMAND_NONE && options->command != command) {
    snprintf(both, sizeof both, "%s and %s", option_of_command(options->command),
             option_of_command(command));
    return options_refuse(options, both, NULL, "cannot be used together; give one of them");
  }
  options->command = command;
  return true;
}

/* Options that take a value. */
static bool read_value(int option, const char *text, struct options *options) {
  int chosen = 0;
  uint64_t number = 0;
  bool is_good = true;
  switch (option) {
    case 'e':
      options->has_bound = true;
      return read_bound(options, "-e", text, strlen(text), &options->params.bound);
    case OPTION_SWEEP:
      options->is_verified = true;
      return read_command(COMMAND_SWEEP, options) && read_sweep(text, options);
    case OPTION_VAR:
      return read_rule(text, options);
    case OPTION_CHUNKS:
      is_good = choose(options, chunk_shapes, "--chunks", text, &chosen);
      options->are_chunks_kept = chosen == 1;
      return is_good;
    case OPTION_TARGET_RATIO:
      return read_target(text, options);
    case 'm':
      is_good = choose(options, choices_of_mode, "-m", text, &chosen);
      options->params.mode = (szgpu_mode)chosen;
      return is_good;
    case 't':
      is_good = choose(options, dtypes, "-t", text, &chosen);
      options->shape.dtype = (szgpu_dtype)chosen;
      options->has_dtype = true;
      return is_good;
    case 'b':
      is_good = choose(options, choices_of_backend, "-b", text, &chosen);
      options->context.backend = (szgpu_backend)chosen;
      return is_good;
    case OPTION_LAYOUT:
      is_good = choose(options, choices_of_layout, "--layout", text, &chosen);
      options->params.layout = (szgpu_layout)chosen;
      return is_good;
    case OPTION_PREDICTOR:
      is_good = choose(options, choices_of_predictor, "--predictor", text, &chosen);
      options->params.predictor = (szgpu_predictor)chosen;
      return is_good;
    case OPTION_PROGRESS:
      is_good = choose(options, progress_forms, "--progress", text, &chosen);
      options->progress = (enum progress_form)chosen;
      return is_good;
    case OPTION_DECODER:
      return choose_decoder(options, text);
    case OPTION_DEVICE:
      return read_device(text, options);
    case 'j':
      is_good = read_number(options, "-j", text, 0, SZGPU_MAX_THREADS, &number);
      options->context.threads = (int)number;
      return is_good;
    case OPTION_FRAME:
      return read_number(options, "--frame", text, 1, UINT64_MAX, &options->params.frame_rows);
    case OPTION_FILL:
      return read_fills(text, options);
    case OPTION_GREATEST:
      return (read_real(text, &options->params.greatest) && isfinite(options->params.greatest) &&
              options->params.greatest > 0.0) ||
             options_refuse(options, "--greatest", text,
                            "is not a finite number above zero; give it as in --greatest 1e3");
    case OPTION_LEVEL:
      is_good = read_number(options, "--level", text, 0, SZGPU_MAX_LEVEL, &number);
      options->level = (int)number;
      options->has_level = true;
      return is_good;
    case OPTION_SLAB:
      return read_slab_option(text, options);
    case OPTION_REGION:
      return read_region_option(text, options);
    case OPTION_STEP:
      return read_step_option(text, options);
    case OPTION_TIME:
      return read_time(text, options);
    case OPTION_MEMORY_LIMIT:
      return read_size(text, &options->context.memory_limit) ||
             options_refuse(options, "--memory-limit", text,
                            "is not a size; give it as in --memory-limit 500M or 4G");
    case OPTION_MEMORY:
      return read_size(text, &options->memory) ||
             options_refuse(options, "--memory", text,
                            "is not a size; give it as in --memory 500M or 4G");
    default:
      return false;
  }
}

bool option_read(int option, char *text, struct options *options) {
  const char *const habit =
      option == 'd' || option == 'e' || option == 't' ? habit_of_value((char)option, text) : NULL;
  if (habit) {
    char const name[] = {'-', (char)option, '\0'};
    return options_refuse(options, name, text, habit);
  }
  switch (option) {
    case 'z':
      return read_command(COMMAND_COMPRESS, options);
    case 'x':
      return read_command(COMMAND_RESTORE, options);
    case 'l':
      return read_command(COMMAND_LIST, options);
    case OPTION_TEST:
      return read_command(COMMAND_TEST, options);
    case OPTION_H5_ARGS:
      return read_command(COMMAND_H5_ARGS, options);
    case OPTION_REPACK:
      return read_command(COMMAND_REPACK, options);
    case OPTION_UNPACK:
      return read_command(COMMAND_UNPACK, options);
    case OPTION_DRY_RUN:
      return options->is_dry = true;
    case OPTION_BOUNDS:
      options->bounds_file = text;
      return true;
    case OPTION_LIKE:
      options->like = text;
      return true;
    case 'd': {
      enum dims_fault const fault = read_dims(text, strlen(text), &options->shape);
      options->has_dims = true;
      return fault == DIMS_OK || options_refuse(options, "-d", text, words_for_dims_fault(fault));
    }
    case 'o':
      options->output = text;
      return true;
    case OPTION_APPEND:
      options->series = text;
      return true;
    case OPTION_COMPARE:
      options->original = text;
      return true;
    case OPTION_ZSTD:
      return read_zstd(text, options);
    case OPTION_NO_GAP:
      options->params.without_gaps = 1;
      return true;
    case 'f':
      return options->is_forced = true;
    case 'q':
      return options->is_quiet = true;
    case 'v':
      return options->is_verbose = true;
    case 'V':
      return options->is_verified = true;
    case OPTION_STRICT:
      return options->is_strict = true;
    case OPTION_NAMED:
      return options->is_named = true;
    case OPTION_JSON:
      return options->is_json = true;
    default:
      return read_value(option, text, options);
  }
}
