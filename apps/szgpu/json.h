/* json.h - writes JSON objects, one per line.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_JSON_H
#define SZGPU_APP_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
  FILE *out;
  bool needs_comma;
};

/* Opens an object; json_end closes it and ends the line. */
struct json json_begin(FILE *out);
void json_end(struct json *json);

/* key is NULL inside an array. */
void json_text(struct json *json, const char *key, const char *text);
void json_count(struct json *json, const char *key, uint64_t count);
void json_counts(struct json *json, const char *key, const uint64_t *counts, int how_many);
void json_real(struct json *json, const char *key, double value); /* NaN and Inf: null */
void json_bool(struct json *json, const char *key, bool value);

void json_open(struct json *json, const char *key, char bracket); /* '[' or '{' */
void json_close(struct json *json, char bracket);                 /* ']' or '}' */

#endif
