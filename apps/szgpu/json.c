/* json.c - writes JSON objects, one per line.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "text.h"

static void print_string(FILE *out, const char *text) {
  fputc('"', out);
  while (*text) {
    uint32_t code;
    size_t const length = text_character(text, &code);
    if (length == 0) { /* a byte that is not UTF-8, written as Python does */
      fprintf(out, "\\udc%02x", (unsigned)(unsigned char)*text);
    } else if (!text_is_shown(code)) {
      fprintf(out, "\\u%04x", (unsigned)code);
    } else {
      if (code == '"' || code == '\\') fputc('\\', out);
      fwrite(text, 1, length, out);
    }
    text += length > 0 ? length : 1;
  }
  fputc('"', out);
}

static void print_key(struct json *json, const char *key) {
  if (json->needs_comma) fputs(", ", json->out);
  json->needs_comma = true;
  if (key) {
    print_string(json->out, key);
    fputs(": ", json->out);
  }
}

struct json json_begin(FILE *out) {
  fputc('{', out);
  return (struct json){out, false};
}

void json_end(struct json *json) {
  fputs("}\n", json->out);
  fflush(json->out);
}

void json_text(struct json *json, const char *key, const char *text) {
  print_key(json, key);
  print_string(json->out, text);
}

void json_count(struct json *json, const char *key, uint64_t count) {
  print_key(json, key);
  fprintf(json->out, "%" PRIu64, count);
}

void json_real(struct json *json, const char *key, double value) {
  char text[40] = "null";
  print_key(json, key);
  /* 17 digits always read back; fewer often do. */
  for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  fputs(text, json->out);
}

void json_bool(struct json *json, const char *key, bool value) {
  print_key(json, key);
  fputs(value ? "true" : "false", json->out);
}

void json_counts(struct json *json, const char *key, const uint64_t *counts, int how_many) {
  json_open(json, key, '[');
  for (int i = 0; i < how_many; i++) json_count(json, NULL, counts[i]);
  json_close(json, ']');
}

void json_open(struct json *json, const char *key, char bracket) {
  print_key(json, key);
  fputc(bracket, json->out);
  json->needs_comma = false;
}

void json_close(struct json *json, char bracket) {
  fputc(bracket, json->out);
  json->needs_comma = true;
}
