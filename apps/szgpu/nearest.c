/* nearest.c - the name that somebody meant who wrote another.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum {
  MOST_CHARS = 32,     /* of names to compare: the command's are shorter */
  LEAST_BEGINNING = 2, /* characters by which a beginning tells a name */
  CHARS_PER_EDIT = 3   /* of the written name: three may have one letter wrong, six two */
};

/* What users of other programs and libraries write. */
static const struct {
  const char *other, *name;
} synonyms[] = {
    {"float", "f32"},    {"float32", "f32"},     {"single", "f32"},   {"float64", "f64"},
    {"double", "f64"},   {"float16", "f16"},     {"half", "f16"},     {"bfloat16", "bf16"},
    {"uint8", "u8"},     {"bytes", "u8"},        {"int8", "i8"},      {"uint16", "u16"},
    {"int16", "i16"},    {"int32", "i32"},       {"short", "i16"},    {"int", "i32"},
    {"gpu", "cuda"},     {"error", "e"},         {"bound", "e"},      {"mode", "m"},
    {"dims", "d"},       {"shape", "d"},         {"type", "t"},       {"dtype", "t"},
    {"output", "o"},     {"force", "f"},         {"threads", "j"},    {"backend", "b"},
    {"quiet", "q"},      {"verbose", "v"},       {"compress", "z"},   {"decompress", "x"},
    {"extract", "x"},    {"list", "l"},          {"missing", "fill"}, {"nodata", "fill"},
    {"check", "verify"}, {"uncompress", "x"},    {"restore", "x"},    {"decode", "x"},
    {"unpack", "x"},     {"encode", "z"},        {"pack", "z"},       {"info", "l"},
    {"inspect", "l"},    {"show", "l"},          {"tolerance", "e"},  {"accuracy", "e"},
    {"epsilon", "e"},    {"overwrite", "f"},     {"jobs", "j"},       {"nthreads", "j"},
    {"cores", "j"},      {"device-id", "device"}};

static bool is_synonym(const char *other, const char *name) {
  for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
    if (strcasecmp(synonyms[i].other, other) == 0 && strcmp(synonyms[i].name, name) == 0)
      return true;
  return false;
}

/* Letters to insert, delete, exchange, or swap with their neighbours, to make a of b. */
static size_t edit_distance(const char *a, size_t a_chars, const char *b, size_t b_chars) {
  size_t rows[3][MOST_CHARS + 1]; /* of the prefixes of a: the last but one, the last, this one */
  size_t *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= b_chars; j++) last[j] = j;
  for (size_t i = 1; i <= a_chars; i++) {
    row[0] = i;
    for (size_t j = 1; j <= b_chars; j++) {
      bool const is_same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
      size_t least = last[j - 1] + (is_same ? 0 : 1);
      if (last[j] + 1 < least) least = last[j] + 1;
      if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
      bool const is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap && before[j - 2] + 1 < least) least = before[j - 2] + 1;
      row[j] = least;
    }
    size_t *const free_row = before;
    before = last;
    last = row;
    row = free_row;
  }
  return last[b_chars];
}

void nearest_offer(struct nearest *nearest, const char *name) {
  const char *wrong = nearest->wrong + strspn(nearest->wrong, "-");
  const char *right = name + strspn(name, "-");
  size_t const wrong_chars = strlen(wrong), right_chars = strlen(right);
  if (wrong_chars > MOST_CHARS || right_chars > MOST_CHARS) return;
  size_t const common_chars = wrong_chars < right_chars ? wrong_chars : right_chars;
  size_t distance = edit_distance(wrong, wrong_chars, right, right_chars);
  bool is_near = distance <= wrong_chars / CHARS_PER_EDIT;
  if (common_chars >= LEAST_BEGINNING && strncasecmp(wrong, right, common_chars) == 0) {
    distance = distance > 1 ? 1 : distance;
    is_near = true;
  }
  if (is_synonym(wrong, right)) {
    distance = 0;
    is_near = true;
  }
  if (!is_near || (nearest->name && distance >= nearest->distance)) return;
  nearest->name = name;
  nearest->distance = distance;
}
