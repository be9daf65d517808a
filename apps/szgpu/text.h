/* text.h - names from files and strangers, as UTF-8 that is safe to print on a terminal.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_TEXT_H
#define SZGPU_APP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Gives the character at text, which does not end there, and its length in bytes; length 0 if the
 * bytes are not UTF-8. */
size_t text_character(const char *text, uint32_t *code);

/* False for characters that act on a terminal or on the characters around them: controls (C0, DEL,
 * C1), line separators, and those that set the direction of text, by which a name can pass for
 * another. */
bool text_is_shown(uint32_t code);

/* Prints a name on one line, with '?' for each character that is not shown and each byte that is
 * not UTF-8. All names, and all sentences with names in them, are printed by this or by json.c. */
void print_name(FILE *out, const char *name);
/* The same into copy[capacity]; leaves out the end of a name that is too long. */
void copy_name(char *copy, size_t capacity, const char *name);

#endif
