/* decoders.c - the names of decoders, and which is for what.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "decoders.h"

#include <stdio.h>

const struct choice decoder_choices[] = {{"auto", SZGPU_DECODER_AUTO},
                                         {"serial", SZGPU_DECODER_SERIAL},
                                         {"table", SZGPU_DECODER_TABLE},
                                         {"gap-array", SZGPU_DECODER_GAP_ARRAY},
                                         {"chunked", SZGPU_DECODER_CHUNKED},
                                         {"self-sync", SZGPU_DECODER_SELF_SYNC},
                                         {"all-offsets", SZGPU_DECODER_ALL_OFFSETS},
                                         {"hierarchical", SZGPU_DECODER_HIERARCHICAL},
                                         {NULL, 0}};

const char *decoder_name(szgpu_decoder decoder) {
  const struct choice *choice = decoder_choices;
  while (choice->name && choice->value != (int)decoder) choice++;
  return choice->name;
}

bool decoder_is_for(szgpu_decoder decoder, szgpu_backend backend) {
  if (decoder == SZGPU_DECODER_GAP_ARRAY || decoder == SZGPU_DECODER_CHUNKED)
    return backend != SZGPU_BACKEND_CPU;
  if (decoder == SZGPU_DECODER_SERIAL || decoder == SZGPU_DECODER_TABLE)
    return backend != SZGPU_BACKEND_CUDA;
  return true;
}

struct words words_for_decoders(const szgpu_info *info, szgpu_backend backend) {
  struct words words = {""};
  size_t used = 0;
  for (const struct choice *choice = decoder_choices; choice->name; choice++) {
    szgpu_decoder const decoder = (szgpu_decoder)choice->value;
    if (used < sizeof words.text && decoder_is_for(decoder, backend) &&
        !szgpu_decoder_refusal(decoder, info))
      used += (size_t)snprintf(words.text + used, sizeof words.text - used, "%s%s", used ? " " : "",
                               choice->name);
  }
  return words;
}
