/* bounds.c - which bound each variable of a file gets: the rules of --var and of a file of them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "bounds.h"

#include "choices.h"
#include "input.h"
#include "values.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading rules ---- */

static const struct choice modes[] = {{"abs=", SZGPU_MODE_ABS},
                                      {"rel=", SZGPU_MODE_REL},
                                      {"psnr=", SZGPU_MODE_PSNR},
                                      {"pwrel=", SZGPU_MODE_PWREL},
                                      {NULL, 0}};

static const char form[] =
    "is not a rule; give it as in --var tos:abs=0.01, with abs= rel= pwrel= "
    "psnr= lossless or keep";

static const char *read_what(const char *text, struct bound *bound) {
  bound->mode = SZGPU_MODE_LOSSLESS;
  bound->is_kept = strcmp(text, "keep") == 0;
  if (bound->is_kept || strcmp(text, "lossless") == 0) return NULL;
  for (const struct choice *mode = modes; mode->name; mode++) {
    size_t const chars = strlen(mode->name);
    if (strncmp(text, mode->name, chars) != 0) continue;
    bound->mode = (szgpu_mode)mode->value;
    if (!read_real(text + chars, &bound->value) || !isfinite(bound->value) || bound->value <= 0)
      return "has a bound that is not a finite number above zero; correct it";
    if (bound->mode == SZGPU_MODE_PWREL && bound->value >= 1)
      return "has a bound of each value that is not below 1; correct it";
    return NULL;
  }
  return form;
}

static enum bound_subject read_subject(const char **which) {
  static const struct choice subjects[] = {{"standard_name=", BOUND_BY_STANDARD_NAME},
                                           {"units=", BOUND_BY_UNITS},
                                           {"name=", BOUND_BY_NAME},
                                           {NULL, 0}};
  for (const struct choice *subject = subjects; subject->name; subject++) {
    size_t const chars = strlen(subject->name);
    if (strncmp(*which, subject->name, chars) != 0) continue;
    *which += chars;
    return (enum bound_subject)subject->value;
  }
  return BOUND_BY_NAME;
}

static bool is_same_bound(const struct bound *a, const struct bound *b) {
  return a->is_kept == b->is_kept && a->mode == b->mode &&
         (a->mode == SZGPU_MODE_LOSSLESS || a->value == b->value);
}

static const char *refuse_twice(const struct bounds *bounds, const struct bound_rule *rule) {
  for (size_t i = 0; i < bounds->count; i++) {
    const struct bound_rule *const former = &bounds->rules[i];
    if (former->is_of_file == rule->is_of_file && former->subject == rule->subject &&
        strcmp(former->which, rule->which) == 0 && !is_same_bound(&former->bound, &rule->bound))
      return "gives the same variable a second bound; leave one of them out";
  }
  return NULL;
}

static const char *add_rule(struct bounds *bounds, struct bound_rule *rule) {
  static const char no_memory[] = "does not fit in memory; give fewer rules";
  if (!rule->text || !rule->which) return no_memory;
  const char *const fault = refuse_twice(bounds, rule);
  if (fault) return fault;
  if (bounds->count == bounds->capacity) {
    size_t const capacity = bounds->capacity ? 2 * bounds->capacity : 16;
    struct bound_rule *const rules = realloc(bounds->rules, capacity * sizeof *rules);
    if (!rules) return no_memory;
    bounds->rules = rules;
    bounds->capacity = capacity;
  }
  bounds->rules[bounds->count++] = *rule;
  return NULL;
}

/* The last colon parts the two, because names may have colons, too. */
const char *bounds_add(struct bounds *bounds, const char *text, bool is_of_file) {
  struct bound_rule rule = {.is_of_file = is_of_file};
  const char *which = text;
  const char *const colon = strrchr(text, ':');
  if (!colon) return form;
  const char *fault = read_what(colon + 1, &rule.bound);
  if (fault) return fault;
  rule.subject = read_subject(&which);
  if (which >= colon) return "names no variable; give one before the colon";
  rule.text = strdup(text);
  rule.which = strndup(which, (size_t)(colon - which));
  rule.is_pattern = rule.which && strpbrk(rule.which, "*?[");
  fault = add_rule(bounds, &rule);
  if (fault) {
    free(rule.text);
    free(rule.which);
  }
  return fault;
}

static uint64_t want_all(const struct input *input, const void *unused) {
  (void)input, (void)unused;
  return UINT64_MAX;
}

static int read_line(const struct report *report, const char *file_name, const char *line,
                     size_t chars, unsigned number, struct bounds *bounds) {
  while (chars > 0 && strchr(" \t\r", line[chars - 1])) chars--;
  for (; chars > 0 && strchr(" \t", *line); line++) chars--;
  if (chars == 0 || *line == '#') return CODE_OK;
  char *const text = strndup(line, chars);
  if (!text) return report_out_of_memory(report, file_name, "a line", chars);
  const char *const fault = bounds_add(bounds, text, true);
  int const code = fault ? report_failure(report, CODE_USAGE, file_name, "line %u: %.100s %s",
                                          number, text, fault)
                         : CODE_OK;
  free(text);
  return code;
}

int bounds_read(const struct report *report, const char *file_name, struct bounds *bounds) {
  struct input input = INPUT_NONE;
  int code = input_open(report, file_name, &input);
  if (code == CODE_OK) code = input_load(report, &input, want_all, NULL);
  const char *const text = (const char *)input.bytes;
  unsigned number = 1;
  for (size_t at = 0; code == CODE_OK && at < input.byte_count; number++) {
    const char *const end = memchr(text + at, '\n', input.byte_count - at);
    size_t const chars = end ? (size_t)(end - (text + at)) : input.byte_count - at;
    code = read_line(report, file_name, text + at, chars, number, bounds);
    at += chars + 1;
  }
  input_close(&input);
  return code;
}

void bounds_free(struct bounds *bounds) {
  for (size_t i = 0; i < bounds->count; i++) {
    free(bounds->rules[i].text);
    free(bounds->rules[i].which);
  }
  free(bounds->rules);
  *bounds = (struct bounds){NULL, 0, 0};
}

/* ---- using them ---- */

static bool fits(const struct bound_rule *rule, const char *text) {
  return strcmp(rule->which, text) == 0 ||
         (rule->is_pattern && fnmatch(rule->which, text, FNM_NOESCAPE) == 0);
}

/* A name may stand with all its groups, or alone. */
static bool fits_name(const struct bound_rule *rule, const char *path) {
  const char *const whole = path + (path[0] == '/');
  const char *const last = strrchr(path, '/');
  if (rule->which[0] == '/') return fits(rule, path);
  return fits(rule, whole) || (last && !strchr(rule->which, '/') && fits(rule, last + 1));
}

static bool fits_variable(const struct bound_rule *rule, const struct bound_names *names) {
  if (rule->subject == BOUND_BY_NAME) return fits_name(rule, names->path);
  const char *const text = rule->subject == BOUND_BY_UNITS ? names->units : names->standard_name;
  return text && fits(rule, text);
}

/* The lower, the more it counts. */
static int rank_of(const struct bound_rule *rule) {
  bool const is_one = rule->subject == BOUND_BY_NAME && !rule->is_pattern;
  return 2 * rule->is_of_file + !is_one;
}

const struct bound_rule *bounds_find(struct bounds *bounds, const struct bound_names *names,
                                     const struct bound_rule **other) {
  const struct bound_rule *best = NULL;
  *other = NULL;
  for (size_t i = 0; i < bounds->count; i++) {
    struct bound_rule *const rule = &bounds->rules[i];
    if (!fits_variable(rule, names)) continue;
    rule->is_used = true;
    if (!best || rank_of(rule) < rank_of(best)) {
      best = rule;
      *other = NULL;
    } else if (rank_of(rule) == rank_of(best) && !is_same_bound(&rule->bound, &best->bound)) {
      *other = rule;
    }
  }
  return best;
}

void bound_print(const struct bound *bound, char text[BOUND_CHARS]) {
  if (bound->is_kept)
    snprintf(text, BOUND_CHARS, "keep");
  else if (bound->mode == SZGPU_MODE_LOSSLESS)
    snprintf(text, BOUND_CHARS, "lossless");
  else
    snprintf(text, BOUND_CHARS, "%s %g", words_for_mode(bound->mode), bound->value);
}
