/* decoders.c - decoders by their names on the command line.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "decoders.h"

#include <stdio.h>
#include <string.h>

bool find_decoder(const char *name, szgpu_decoder *decoder) {
  for (int d = 0; szgpu_decoder_name((szgpu_decoder)d); d++) {
    if (strcmp(szgpu_decoder_name((szgpu_decoder)d), name) != 0) continue;
    *decoder = (szgpu_decoder)d;
    return true;
  }
  return false;
}

struct words words_for_decoders(const szgpu_info *info, szgpu_backend backend) {
  struct words words = {""};
  size_t used = 0;
  for (int d = 0; szgpu_decoder_name((szgpu_decoder)d); d++) {
    szgpu_decoder const decoder = (szgpu_decoder)d;
    bool const is_read = !info || szgpu_decoder_reads(decoder, info);
    if (used < sizeof words.text && is_read && szgpu_decoder_runs_on(decoder, backend))
      used += (size_t)snprintf(words.text + used, sizeof words.text - used, "%s%s", used ? " " : "",
                               szgpu_decoder_name(decoder));
  }
  return words;
}
