/* canonical_core.h - which code each symbol of a book has, for both backends.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Codes rise by (length, symbol). A window is as many bits as the longest code may have, and a code
 * of fewer bits takes all windows that begin with it. So each length takes a run of windows behind
 * those of the shorter ones, and each of its codes an equal share of it.
 */
#ifndef SZG_CANONICAL_CORE_H
#define SZG_CANONICAL_CORE_H

#include <stdint.h>

#include "core/hd.h"

/* Windows of `longest` bits that `count` codes of a length take. */
SZG_HD uint32_t szg_code_windows(uint32_t count, uint32_t length, uint32_t longest) {
  return count << (longest - length);
}

/* The code of a length that a window begins with. */
SZG_HD uint32_t szg_code_of_window(uint32_t window, uint32_t length, uint32_t longest) {
  return window >> (longest - length);
}

/* The first code of each length, 1 to `longest`. length_counts: how many symbols have each length;
 * their codes fit. */
SZG_HD void szg_canonical_firsts(const uint32_t *length_counts, uint32_t longest,
                                 uint32_t *first_codes) {
  uint32_t window = 0;
  for (uint32_t length = 1; length <= longest; length++) {
    first_codes[length] = szg_code_of_window(window, length, longest);
    window += szg_code_windows(length_counts[length], length, longest);
  }
}

#endif
