/* text.c - names from files and strangers, as UTF-8 that is safe to print on a terminal.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "text.h"

#include <string.h>

size_t text_character(const char *text, uint32_t *code) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char *bytes = (const unsigned char *)text;
  size_t const length = bytes[0] < 0x80             ? 1
                        : (bytes[0] & 0xe0) == 0xc0 ? 2
                        : (bytes[0] & 0xf0) == 0xe0 ? 3
                        : (bytes[0] & 0xf8) == 0xf0 ? 4
                                                    : 0;
  *code = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((bytes[i] & 0xc0) != 0x80) return 0;
    *code = *code << 6 | (bytes[i] & 0x3fu);
  }
  bool const is_surrogate = *code >= 0xd800 && *code < 0xe000;
  return *code < least[length] || *code > 0x10ffff || is_surrogate ? 0 : length;
}

bool text_is_shown(uint32_t code) {
  bool const is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  bool const is_separator = code == 0x2028 || code == 0x2029;
  bool const sets_direction = (code >= 0x202a && code <= 0x202e) || /* embeddings, overrides */
                              (code >= 0x2066 && code <= 0x2069);   /* isolates */
  return !is_control && !is_separator && !sets_direction;
}

/* What to print for the character at *text, *shown_bytes long. Moves *text past the character. */
static const char *take_shown(const char **text, size_t *shown_bytes) {
  uint32_t code;
  const char *const start = *text;
  size_t const length = text_character(start, &code);
  bool const is_shown = length > 0 && text_is_shown(code);
  *text += length > 0 ? length : 1;
  *shown_bytes = is_shown ? length : 1;
  return is_shown ? start : "?";
}

void print_name(FILE *out, const char *name) {
  while (*name) {
    size_t shown_bytes;
    const char *const shown = take_shown(&name, &shown_bytes);
    fwrite(shown, 1, shown_bytes, out);
  }
}

void copy_name(char *copy, size_t capacity, const char *name) {
  size_t used = 0;
  while (*name) {
    size_t shown_bytes;
    const char *const shown = take_shown(&name, &shown_bytes);
    if (shown_bytes >= capacity - used) break;
    memcpy(copy + used, shown, shown_bytes);
    used += shown_bytes;
  }
  copy[used] = '\0';
}
