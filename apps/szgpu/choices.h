/* choices.h - the words that an option takes: tables of them, and what is said of other words.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_CHOICES_H
#define SZGPU_APP_CHOICES_H

#include "nearest.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A word that an option takes, and its value. A table of them ends with a NULL name. */
struct choice {
  const char *name;
  int value;
};

extern const struct choice choices_of_mode[], choices_of_layout[], choices_of_predictor[],
    choices_of_backend[];

enum { CHOICE_SENTENCE_CHARS = 256 };

/* Sets *value. False: the text is none of the choices, and the sentence says so; it follows the
 * text. */
bool choice_find(const struct choice *choices, const char *text, int *value,
                 char sentence[CHOICE_SENTENCE_CHARS]);
/* That sentence, for words that are in no table. The nearest of them may be none. */
void choice_refusal(const struct nearest *nearest, const char *names,
                    char sentence[CHOICE_SENTENCE_CHARS]);

#ifdef __cplusplus
}
#endif

#endif
