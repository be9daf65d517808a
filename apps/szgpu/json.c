/* json.c - writes JSON objects, one per line.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Length of the UTF-8 sequence at text; 0 if it is not valid. */
static size_t utf8_length(const unsigned char *text) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t const length = text[0] < 0x80             ? 1
                        : (text[0] & 0xe0) == 0xc0 ? 2
                        : (text[0] & 0xf0) == 0xe0 ? 3
                        : (text[0] & 0xf8) == 0xf0 ? 4
                                                   : 0;
  if (length < 2) return length;
  uint32_t code = text[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((text[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (text[i] & 0x3fu);
  }
  bool const is_surrogate = code >= 0xd800 && code < 0xe000;
  return code < least[length] || code > 0x10ffff || is_surrogate ? 0 : length;
}

static void print_string(FILE *out, const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  fputc('"', out);
  while (*c) {
    size_t const length = utf8_length(c);
    if (length == 0) {
      fprintf(out, "\\udc%02x", *c++); /* a byte that is not UTF-8, written as Python does */
    } else if (*c < 0x20 || *c == 0x7f) {
      fprintf(out, "\\u%04x", *c++);
    } else if (*c == '"' || *c == '\\') {
      fprintf(out, "\\%c", *c++);
    } else {
      fwrite(c, 1, length, out);
      c += length;
    }
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

void json_open(struct json *json, const char *key, char bracket) {
  print_key(json, key);
  fputc(bracket, json->out);
  json->needs_comma = false;
}

void json_close(struct json *json, char bracket) {
  fputc(bracket, json->out);
  json->needs_comma = true;
}
