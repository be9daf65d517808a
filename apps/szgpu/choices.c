/* choices.c - the words that an option takes: tables of them, and what is said of other words.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "choices.h"

#include <stdio.h>
#include <string.h>

#include "szgpu.h"

const struct choice choices_of_mode[] = {
    {"rel", SZGPU_MODE_REL},     {"abs", SZGPU_MODE_ABS},           {"psnr", SZGPU_MODE_PSNR},
    {"pwrel", SZGPU_MODE_PWREL}, {"lossless", SZGPU_MODE_LOSSLESS}, {NULL, 0}};
const struct choice choices_of_layout[] = {
    {"tile", SZGPU_LAYOUT_TILE}, {"linear", SZGPU_LAYOUT_LINEAR}, {NULL, 0}};
const struct choice choices_of_predictor[] = {{"auto", SZGPU_PREDICTOR_AUTO},
                                              {"lorenzo", SZGPU_PREDICTOR_LORENZO},
                                              {"interpolation", SZGPU_PREDICTOR_INTERPOLATION},
                                              {NULL, 0}};
const struct choice choices_of_backend[] = {{"auto", SZGPU_BACKEND_AUTO},
                                            {"cpu", SZGPU_BACKEND_CPU},
                                            {"cuda", SZGPU_BACKEND_CUDA},
                                            {NULL, 0}};

void choice_refusal(const struct nearest *nearest, const char *names,
                    char sentence[CHOICE_SENTENCE_CHARS]) {
  if (nearest->name)
    snprintf(sentence, CHOICE_SENTENCE_CHARS, "is not known (did you mean %s?); choose from %s",
             nearest->name, names);
  else
    snprintf(sentence, CHOICE_SENTENCE_CHARS, "is not known; choose from %s", names);
}

bool choice_find(const struct choice *choices, const char *text, int *value,
                 char sentence[CHOICE_SENTENCE_CHARS]) {
  char names[128] = "";
  struct nearest nearest = {.wrong = text};
  for (const struct choice *choice = choices; choice->name; choice++) {
    if (strcmp(choice->name, text) == 0) {
      *value = choice->value;
      return true;
    }
    nearest_offer(&nearest, choice->name);
    size_t const used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", used ? " " : "", choice->name);
  }
  choice_refusal(&nearest, names, sentence);
  return false;
}
