/* codec_json.c - reads and writes the configuration, independent of locale and rounding mode.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* uselocale */

#include "codec_json.h"

#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk_codec.h" /* CHUNK_SENTENCE_BYTES */
#include "szgpu_hdf5.h"

enum { KEY_BYTES = 32, MOST_ZSTD = 19 };

/* By szgpu_mode. */
static const char *const modes[] = {"rel", "abs", "psnr", "lossless", "pwrel"};
enum { MODE_COUNT = sizeof modes / sizeof *modes };

static const struct {
  const char *name;
  unsigned bits;
} predictors[] = {
    {"auto", 0}, {"lorenzo", SZGPU_H5_LORENZO}, {"interpolation", SZGPU_H5_INTERPOLATION}};
enum { PREDICTOR_COUNT = sizeof predictors / sizeof *predictors };

/* JSON that not all values have: as text, in place of a number. */
static const char *const not_finite[] = {"nan", "inf", "-inf"};
enum { NOT_FINITE_COUNT = sizeof not_finite / sizeof *not_finite };

/* What was read so far. */
typedef struct codec_config {
  const char *at; /* the rest of the text */
  char *why;
  unsigned given; /* a bit for each mode */
  double bound;
  unsigned options;
  size_t fill_count;
  double fills[SZGPU_H5_MOST_FILLS];
} codec_config;

__attribute__((format(printf, 2, 3))) static bool fail(const codec_config *config,
                                                       const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(config->why, CHUNK_SENTENCE_BYTES, format, arguments);
  va_end(arguments);
  return false;
}

static bool takes(codec_config *config, const char *text) {
  config->at += strspn(config->at, " \t\r\n");
  size_t const char_count = strlen(text);
  if (strncmp(config->at, text, char_count) != 0) return false;
  config->at += char_count;
  return true;
}

/* A text without escapes, which no name of ours has. */
static bool take_text(codec_config *config, char text[KEY_BYTES]) {
  if (!takes(config, "\"")) return false;
  size_t const char_count = strcspn(config->at, "\"\\");
  if (char_count >= KEY_BYTES || config->at[char_count] != '"') return false;
  memcpy(text, config->at, char_count);
  text[char_count] = '\0';
  config->at += char_count + 1;
  return true;
}

static bool take_number(codec_config *config, double *number) {
  char text[KEY_BYTES], *end;
  config->at += strspn(config->at, " \t\r\n");
  if (*config->at == '"') {
    if (!take_text(config, text)) return false;
    for (int i = 0; i < NOT_FINITE_COUNT; i++) {
      if (strcmp(text, not_finite[i]) != 0) continue;
      *number = strtod(text, NULL);
      return true;
    }
    return false;
  }
  size_t const char_count = strspn(config->at, "+-0123456789.eE");
  *number = strtod(config->at, &end);
  if (char_count == 0 || end != config->at + char_count) return false;
  config->at = end;
  return isfinite(*number);
}

static bool take_fills(codec_config *config) {
  config->fill_count = 0;
  bool const is_list = takes(config, "[");
  if (is_list && takes(config, "]")) return true;
  do {
    double fill;
    if (!take_number(config, &fill)) return fail(config, "szgpu: fill is not a number or a list");
    if (config->fill_count == SZGPU_H5_MOST_FILLS)
      return fail(config, "szgpu: fill has more than four values: at most 4 are kept exactly");
    config->fills[config->fill_count++] = fill;
  } while (is_list && takes(config, ","));
  return !is_list || takes(config, "]") || fail(config, "szgpu: fill is not a number or a list");
}

static bool take_predictor(codec_config *config) {
  char name[KEY_BYTES] = "";
  take_text(config, name);
  for (int i = 0; i < PREDICTOR_COUNT; i++) {
    if (strcmp(name, predictors[i].name) != 0) continue;
    config->options |= predictors[i].bits;
    return true;
  }
  return fail(config, "szgpu: predictor is not one of auto, lorenzo, interpolation");
}

static bool take_zstd(codec_config *config) {
  double level;
  if (!take_number(config, &level) || level != rint(level) || level < 0 || level > MOST_ZSTD)
    return fail(config, "szgpu: zstd is not a whole number in the range 0 to %d", MOST_ZSTD);
  config->options |= (unsigned)level;
  return true;
}

static bool take_mode(codec_config *config, szgpu_mode mode) {
  if (mode == SZGPU_MODE_LOSSLESS) {
    if (takes(config, "false")) return true;
    if (!takes(config, "true")) return fail(config, "szgpu: lossless is neither true nor false");
  } else if (!take_number(config, &config->bound)) {
    return fail(config, "szgpu: %s is not a number", modes[mode]);
  }
  config->given |= 1u << mode;
  return true;
}

static bool take_value(codec_config *config, const char *key) {
  char id[KEY_BYTES] = "";
  if (strcmp(key, "id") == 0) {
    take_text(config, id);
    return strcmp(id, "szgpu") == 0 || fail(config, "szgpu: the codec's id is not \"szgpu\"");
  }
  if (strcmp(key, "fill") == 0) return take_fills(config);
  if (strcmp(key, "predictor") == 0) return take_predictor(config);
  if (strcmp(key, "zstd") == 0) return take_zstd(config);
  for (int mode = 0; mode < MODE_COUNT; mode++)
    if (strcmp(key, modes[mode]) == 0) return take_mode(config, (szgpu_mode)mode);
  return fail(config, "szgpu has no setting '%s' in netCDF: a newer version may have it", key);
}

static bool take_config(codec_config *config) {
  char key[KEY_BYTES];
  bool has_id = false;
  if (!takes(config, "{")) return fail(config, "szgpu: the codec's configuration is no object");
  do {
    if (!take_text(config, key) || !takes(config, ":"))
      return fail(config, "szgpu: the codec's configuration is not JSON as szgpu writes it");
    if (!take_value(config, key)) return false;
    has_id = has_id || strcmp(key, "id") == 0;
  } while (takes(config, ","));
  if (!takes(config, "}") || *(config->at + strspn(config->at, " \t\r\n")))
    return fail(config, "szgpu: the codec's configuration is not JSON as szgpu writes it");
  if (!has_id) return fail(config, "szgpu: the codec's configuration has no id");
  if (config->given == 0 || (config->given & (config->given - 1)) != 0)
    return fail(config,
                "szgpu: the codec's configuration does not say how exact the result must be by "
                "exactly one of abs, rel, psnr, pwrel and lossless");
  return true;
}

static bool config_words(const codec_config *config, unsigned *words, size_t *word_count) {
  szgpu_params params;
  int mode = 0;
  while (!(config->given >> mode & 1)) mode++;
  *word_count = szgpu_h5_cd_values((szgpu_mode)mode, config->bound, words);
  words[SZGPU_H5_WORD_OPTIONS] = config->options;
  if (mode != SZGPU_MODE_LOSSLESS) words[SZGPU_H5_WORD_OPTIONS] |= SZGPU_H5_NAMED;
  for (size_t i = 0; i < config->fill_count; i++)
    *word_count = szgpu_h5_add_fill(words, config->fills[i]);
  const char *const sentence = szgpu_h5_params(words, *word_count, &params);
  return !sentence || fail(config, "szgpu: %s", sentence);
}

/* Numbers are read and written as the locale "C" and the default rounding do. */
typedef struct number_rules {
  locale_t neutral, callers;
  fenv_t environment;
} number_rules;

static bool enter(number_rules *rules) {
  rules->neutral = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  if (!rules->neutral) return false;
  rules->callers = uselocale(rules->neutral);
  fegetenv(&rules->environment);
  fesetenv(FE_DFL_ENV);
  return true;
}
static void leave(const number_rules *rules) {
  fesetenv(&rules->environment);
  uselocale(rules->callers);
  freelocale(rules->neutral);
}

bool codec_json_read(const char *json, unsigned *words, size_t *word_count, char *why) {
  number_rules rules;
  codec_config config = {.at = json, .why = why};
  if (!enter(&rules)) return fail(&config, "szgpu: out of memory");
  bool const is_read = take_config(&config) && config_words(&config, words, word_count);
  leave(&rules);
  return is_read;
}

/* ---- Writing ---- */

typedef struct json_text {
  char *chars;
  size_t used;
} json_text;

__attribute__((format(printf, 2, 3))) static void put(json_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  text->used +=
      (size_t)vsnprintf(text->chars + text->used, CODEC_JSON_BYTES - text->used, format, arguments);
  va_end(arguments);
}

/* As few digits as bring it back, and whole numbers without an exponent. */
static void put_number(json_text *text, double number) {
  enum { ENOUGH_DIGITS = 17 };
  static const double least_long = 1e15;
  char digits[KEY_BYTES];
  if (isnan(number) || isinf(number)) {
    put(text, "\"%s\"", isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
    return;
  }
  if (number == rint(number) && fabs(number) < least_long) {
    put(text, "%.0f", number);
    return;
  }
  for (int digit_count = 1; digit_count <= ENOUGH_DIGITS; digit_count++) {
    snprintf(digits, sizeof digits, "%.*g", digit_count, number);
    if (strtod(digits, NULL) == number) break;
  }
  put(text, "%s", digits);
}

static void put_fills(json_text *text, const unsigned *words) {
  size_t const count = (szgpu_h5_user_words(words) - SZGPU_H5_USER_WORDS) / 2;
  if (count == 0) return;
  put(text, ", \"fill\": %s", count > 1 ? "[" : "");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) put(text, ", ");
    put_number(text, szgpu_h5_get_double(words + SZGPU_H5_WORD_FILLS + 2 * i));
  }
  if (count > 1) put(text, "]");
}

static void put_config(json_text *text, const unsigned *words, const szgpu_params *params) {
  put(text, "{\"id\": \"szgpu\", \"%s\": ", modes[params->mode]);
  if (params->mode == SZGPU_MODE_LOSSLESS)
    put(text, "true");
  else
    put_number(text, params->bound);
  put_fills(text, words);
  for (int i = 1; i < PREDICTOR_COUNT; i++)
    if (szgpu_h5_predictor_bits(params->predictor) == predictors[i].bits)
      put(text, ", \"predictor\": \"%s\"", predictors[i].name);
  if (params->zstd_level > 0) put(text, ", \"zstd\": %d", params->zstd_level);
  put(text, "}");
}

bool codec_json_write(const unsigned *words, size_t word_count, char *json, char *why) {
  static const unsigned lossless[SZGPU_H5_USER_WORDS] = {SZGPU_H5_VERSION, SZGPU_MODE_LOSSLESS};
  number_rules rules;
  szgpu_params params;
  json_text text = {.chars = json};
  codec_config const config = {.why = why};
  const char *const sentence = szgpu_h5_params(words, word_count, &params);
  if (sentence) return fail(&config, "szgpu: %s", sentence);
  if (params.layout == SZGPU_LAYOUT_LINEAR)
    return fail(&config, "szgpu: zarr's codec has no linear layout: leave that option out");
  if (!enter(&rules)) return fail(&config, "szgpu: out of memory");
  put_config(&text, word_count > SZGPU_H5_WORD_OPTIONS ? words : lossless, &params);
  leave(&rules);
  return true;
}
