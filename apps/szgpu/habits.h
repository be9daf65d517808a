/* habits.h - what users of other programs write, and how szgpu is asked for the same.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each gives the end of a sentence, which names the right call; NULL: nobody writes that.
 */
#ifndef SZGPU_APP_HABITS_H
#define SZGPU_APP_HABITS_H

/* An option that szgpu lacks, with its dashes and without a value: "-c", "--keep". */
const char *habit_of_option(const char *name);
/* The first word of a command line without a mode: "compress". */
const char *habit_of_word(const char *word);
/* The value of -d, -e or -t, which gzip, zstd and others have without a value: "x.szg", or the
 * letters of other options, as in -dc. */
const char *habit_of_value(char option, const char *value);

#endif
