/* rle.c - run-length coding of a mask, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rle/rle.h"

#include <string.h>

enum { CONTINUED = 255 };

size_t szg_mask_encode(uint8_t *mask, uint32_t value_count, uint32_t distance, uint8_t *bytes) {
  if (distance)
    for (uint32_t i = value_count; i-- > distance;) mask[i] ^= mask[i - distance];
  size_t byte_count = 0;
  uint8_t symbol = 0;
  for (uint32_t i = 0;;) {
    const uint8_t *const change = memchr(mask + i, !symbol, value_count - i);
    if (!change) return byte_count; /* the last run */
    uint32_t run = (uint32_t)(change - mask) - i;
    i += run;
    for (; run >= CONTINUED; run -= CONTINUED) bytes[byte_count++] = CONTINUED;
    bytes[byte_count++] = (uint8_t)run;
    symbol = !symbol;
  }
}

bool szg_mask_decode(const uint8_t *bytes, size_t byte_count, uint32_t value_count,
                     uint32_t distance, uint8_t *mask) {
  uint32_t filled = 0;
  uint8_t symbol = 0;
  for (size_t i = 0; i < byte_count; i++) {
    if (bytes[i] > value_count - filled) return false;
    memset(mask + filled, symbol, bytes[i]);
    filled += bytes[i];
    if (bytes[i] != CONTINUED) symbol = !symbol;
  }
  memset(mask + filled, symbol, value_count - filled);
  if (distance)
    for (uint32_t i = distance; i < value_count; i++) mask[i] ^= mask[i - distance];
  return true;
}
