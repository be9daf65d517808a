/* status.c - what each status means, in words.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/status.h"

#include <stddef.h>

const char *szgpu_status_text(szgpu_status status) {
  static const char *const texts[] = {
#define TEXT_OF_STATUS(name, text) text,
      SZGPU_STATUS_LIST(TEXT_OF_STATUS)
#undef TEXT_OF_STATUS
  };
  size_t const count = sizeof texts / sizeof *texts;
  return (size_t)status < count ? texts[status] : "unknown status";
}
